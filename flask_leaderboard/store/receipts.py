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
    refusal = refusal_of(line)
    if refusal is not None:
        return refusal
    words = line.split()
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
    return Receipt(user_id, tuple(changes), closed, event, words[0] == b"duplicate")


def refusal_of(line: bytes) -> LeaderboardError | None:
    """Give the error that a receipt line tells of, if it does."""
    if not line.startswith(b"refused "):
        return None
    message = line.removeprefix(b"refused ").decode()
    return error_of(message) or ProtocolError(message)


def _rank(word: bytes) -> int | None:
    return None if word == b"-" else int(word)
