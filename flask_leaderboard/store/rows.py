"""Entries out of the scripts' replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..rules.board import Board
from ..rules.results import Around, Entry, Rows, Watched


def read_rows(board: Board, reply: Sequence[Any]) -> Rows:
    """Read ``[seq, total, user, score, time, rank, ...]``."""
    return Rows(reply[0], reply[1], _entries(board, reply, 2))


def read_watched(board: Board, user_ids: Sequence[str], reply: Sequence[Any]) -> Watched:
    """Read ``[seq, total, [user, score, time, rank, ...], standing...]``."""
    number, total, top, *standings = reply
    around = {user_id: _read_around(board, user_id, fields) for user_id, fields in zip(user_ids, standings, strict=True)}
    return Watched(number, total, _entries(board, top), around)


def _read_around(board: Board, user_id: str, fields: Sequence[Any] | None) -> Around:
    """Read ``[score, time, rank, percentile, user, score, time, rank, user, score, time, rank]``."""
    own = read_entry(board, user_id, fields and fields[:4])
    if own is None or fields is None:
        return Around()
    above, below = (_entries(board, fields[i : i + 4]) if fields[i] is not None else [None] for i in (4, 8))
    return Around(own, above[0], below[0])


def _entries(board: Board, fields: Sequence[Any], first: int = 0) -> list[Entry]:
    number = board.read_number
    return [
        Entry(fields[i + 3], fields[i].decode(), None, number(fields[i + 1]), None, fields[i + 2])
        for i in range(first, len(fields), 4)
    ]


def read_entry(board: Board, user_id: str, fields: Sequence[Any] | None) -> Entry | None:
    """Read ``[score, time, rank, percentile]`` of a user."""
    if fields is None:
        return None
    score, at, rank, percentile = fields
    return Entry(rank, user_id, None, board.read_number(score), None if percentile is None else float(percentile), at)
