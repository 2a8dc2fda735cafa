"""Cursors: a position of a ranking as text, bound to the ranking and ranking kind it belongs to."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from ..errors import CursorError, InputError
from .board import Board
from .identity import check_user_id
from .instants import LATEST
from .results import Position
from .scores import LARGEST_INTEGER, number_text


def write_cursor(place: str, position: Position) -> str:
    """Give a position behind which to go on reading; `place` says of what."""
    fields = [place, number_text(position.score), position.at, position.user_id]
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str, place: str, board: Board) -> Position:
    """Give the position behind a cursor that was written for this place of the board."""
    written_for, score, at, user_id = _fields(cursor)
    if written_for != place:
        raise CursorError(
            f"the cursor belongs to {written_for!r}, not {place!r}: repeat the call it came from, or start without it"
        )
    try:
        if type(user_id) is not int or not 0 <= user_id <= LARGEST_INTEGER:
            check_user_id(user_id)
        number = board.number(board.read_number(score))
        if number_text(number) != score or not (at is None or (type(at) is int and 0 <= at < LATEST)):
            raise _strange(cursor)
    except (ValueError, TypeError, InputError):
        raise _strange(cursor) from None
    return Position(number, at, user_id)


def period_of(cursor: str, board_name: str, window_name: str) -> str | None:
    """Give the id of the period that a cursor points into, or None where it belongs to another board or window."""
    try:
        board, window, period, _, _ = str(_fields(cursor)[0]).split(" ")
    except ValueError:
        raise _strange(cursor) from None
    return period if (board, window) == (board_name, window_name) else None


def _fields(cursor: str) -> list[Any]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        place, score, at, user_id = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise _strange(cursor) from None
    return [place, score, at, user_id]


def _strange(cursor: str) -> CursorError:
    return CursorError(f"cursor {cursor!r} is not one that this board gave: start again without it")
