"""Entries out of the scripts' replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..rules.board import Board
from ..rules.results import Entry, Rows


def read_rows(board: Board, reply: Sequence[Any]) -> Rows:
    """Read ``[seq, total, user, score, time, rank, ...]``."""
    number = board.read_number
    entries = [
        Entry(reply[i + 3], reply[i].decode(), None, number(reply[i + 1]), None, reply[i + 2]) for i in range(2, len(reply), 4)
    ]
    return Rows(reply[0], reply[1], entries)


def read_entry(board: Board, user_id: str, fields: Sequence[Any] | None) -> Entry | None:
    """Read ``[score, time, rank, percentile]`` of a user."""
    if fields is None:
        return None
    score, at, rank, percentile = fields
    return Entry(rank, user_id, None, board.read_number(score), None if percentile is None else float(percentile), at)
