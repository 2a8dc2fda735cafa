"""Receipts out of the scripts' replies."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import LeaderboardError, ProtocolError
from ..rules.board import Board
from ..rules.results import Change, Receipt
from .calls import error_of
from .rankings import Ranking


def read_receipt(
    board: Board, line: bytes, user_id: str, targets: Sequence[Ranking], closed: tuple[str, ...], with_ranks: bool
) -> Receipt | LeaderboardError:
    """Read ``STATUS NUMBER CHANGES``, or the refusal in its place."""
    words = line.split()
    status = words[0]
    if status == b"refused":
        message = line[len(status) + 1 :].decode()
        return error_of(message) or ProtocolError(message)
    step = 4 if with_ranks else 2
    number = board.read_number
    changes = []
    for place, ranking in enumerate(targets):
        at = 2 + step * place
        old, new = words[at], words[at + 1]
        changes.append(
            Change(
                ranking.window,
                ranking.period.id,
                ranking.segment,
                None if old == b"-" else number(old),
                None if new == b"-" else number(new),
                _rank(words[at + 2]) if with_ranks else None,
                _rank(words[at + 3]) if with_ranks else None,
            )
        )
    event = None if words[1] == b"-" else int(words[1])
    return Receipt(user_id, tuple(changes), closed, event, status == b"duplicate")


def _rank(word: bytes) -> int | None:
    return None if word == b"-" else int(word)
