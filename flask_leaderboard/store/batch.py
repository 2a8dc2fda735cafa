"""Calls that fold many items at once: what they touch is described once and referred to by number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..rules.board import Board
from .rankings import Ranking

LONGEST_CALL_US = 5000
"""What a call may cost by the estimates below; half of the 10 ms that a call may hold the server."""
FOLDED_COST = 2
"""For each ranking that is written for the user anyway."""


class Batch:
    """Collects the items of one call to `submit`, `apply` or `remove`.

    `kind` is the ranking kind of the ranks wanted, `seasons` the ones thought to be running; both may be ``-``.
    """

    def __init__(self, board: Board, kind: str, seasons: str = "-") -> None:
        self._board = board
        self._seasons = seasons
        self._kind = kind
        self._rankings: dict[int, tuple[int, Ranking]] = {}
        self._targets: dict[tuple[int, ...], int] = {}
        self._last_targets: Sequence[Ranking] = ()
        self._last_number = 0
        self._bucket_keys: list[str] = []
        self._groups = 0
        self._cost = 0
        self._item_cost = 6 + 4 * (board.mode == "write_behind") + 5 * (board.events is not None)
        self._touch_cost = 8 + 6 * board.dense + 6 * (kind != "-")
        self._written: set[tuple[str, int]] = set()
        self.items: list[str] = []

    @property
    def full(self) -> bool:
        return self._cost >= LONGEST_CALL_US

    def add(self, item: str, targets: Sequence[Ranking], *, user: str | None = None) -> None:
        """Add an item; the `user` is named where all of his in one call cost one write a ranking."""
        self.items.append(item)
        written = user is not None and (user, self._last_number) in self._written
        self._cost += self._item_cost + (FOLDED_COST if written else self._touch_cost) * len(targets)
        if user is not None:
            self._written.add((user, self._last_number))

    def target_list(self, targets: Sequence[Ranking]) -> int:
        """Give the number of a target list, new ones at the end."""
        if targets is not self._last_targets:
            numbers = tuple(self._number(ranking) for ranking in targets)
            self._last_targets = targets
            self._last_number = self._targets.setdefault(numbers, len(self._targets) + 1)
        return self._last_number

    def bucket_group(self, keys: Iterable[str]) -> int:
        """Give the number of a new group of buckets."""
        self._bucket_keys += keys
        self._groups += 1
        return self._groups

    def _number(self, ranking: Ranking) -> int:
        known = self._rankings.get(id(ranking))
        if known is None:
            known = self._rankings[id(ranking)] = (len(self._rankings) + 1, ranking)
        return known[0]

    @property
    def ranking_keys(self) -> list[str]:
        return [key for _, ranking in self._rankings.values() for key in ranking.keys]

    @property
    def signals(self) -> list[str]:
        return [ranking.signal for _, ranking in self._rankings.values()]

    def keys(self, board_key: str, journal: Sequence[str] = ()) -> list[str]:
        return [board_key, *self.ranking_keys, *journal, *self._bucket_keys]

    def args(self, *own: str) -> list[str]:
        """Give the arguments, the command's own ones before the items."""
        limit = self._board.per_minute
        return [
            f"{self._board.rules_line} {self._seasons}{'' if limit is None else f' {limit}'}",
            self._kind,
            str(len(self._rankings)),
            str(len(self._targets)),
            *(ranking.line for _, ranking in self._rankings.values()),
            *(" ".join(map(str, numbers)) for numbers in self._targets),
            *own,
            *self.items,
        ]
