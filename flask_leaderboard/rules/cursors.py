"""Cursors: a position of a ranking as text, bound to the ranking and ranking kind it belongs to."""

from __future__ import annotations

import base64
import binascii
import json

from ..errors import CursorError, InputError
from .board import Board
from .identity import check_user_id
from .instants import LATEST
from .results import Position
from .scores import number_text


def write_cursor(place: str, position: Position) -> str:
    """Give a position behind which to go on reading; `place` says of what."""
    fields = [place, number_text(position.score), position.at, position.user_id]
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str, place: str, board: Board) -> tuple[str, int | None, str]:
    """Give score text, time and user of a cursor that was written for this place of the board."""
    strange = CursorError(f"cursor {cursor!r} is not one that this board gave: start again without it")
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        fields = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        written_for, score, at, user_id = fields
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise strange from None
    if written_for != place:
        raise CursorError(
            f"the cursor belongs to {written_for!r}, not {place!r}: repeat the call it came from, or start without it"
        )
    try:
        check_user_id(user_id)
        if number_text(board.number(board.read_number(score))) != score or not (
            at is None or (type(at) is int and 0 <= at < LATEST)
        ):
            raise strange
    except (ValueError, TypeError, InputError):
        raise strange from None
    return score, at, user_id
