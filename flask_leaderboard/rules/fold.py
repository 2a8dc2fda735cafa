"""The fold: the rule that turns events into rankings, on plain values. The Lua has the same rule; tests hold them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..errors import ScoreRangeError, SegmentLimitError, UpdateError
from .board import Board
from .instants import duration
from .scores import Number


class Held(NamedTuple):
    """What a user holds in a ranking: the standing (the score with the sign that makes low better), and since when."""

    standing: float
    at: int


class Target(NamedTuple):
    """A ranking by its number, with its segment."""

    ranking: int
    segment: str | None


Key = tuple[int, int]
"""A user and a ranking, by their numbers."""


class Fold:
    """Rankings in memory. `held` has what the users of the events to come hold before; `changed` what is to be written after."""

    def __init__(self, board: Board, held: dict[Key, Held], labels: Iterable[str]) -> None:
        self._board = board
        self._sign = -1 if board.order == "desc" else 1
        self._lowest, self._highest = board.bounds
        self._allowed = {board.update, *board.updates}
        self._held = held
        self._labels = set(labels)
        self.changed: dict[Key, Held | None] = {}
        self.new_labels: list[str] = []

    def submit(self, user: int, targets: Sequence[Target], points: Number, at: int, update: str) -> str | None:
        """Fold a submission into all its rankings; where one refuses it, into none, and give the code of the refusal."""
        if update not in self._allowed:
            return UpdateError.code
        standings: list[float] = []
        for target in targets:
            refusal = self._refusal_of(target.segment)
            old = self._held.get((user, target.ranking))
            new = fold_points(update, None if old is None else old.standing, self._sign * float(points)) + 0.0
            if refusal is None and not self._lowest <= self._sign * new <= self._highest:
                refusal = ScoreRangeError.code
            if refusal is not None:
                return refusal
            standings.append(new)
        for target, standing in zip(targets, standings, strict=True):
            self._put((user, target.ranking), Held(standing, at), target.segment)
        return None

    def remove(self, user: int, rankings: Iterable[int]) -> None:
        """Take a user out of rankings."""
        for ranking in rankings:
            if self._held.pop((user, ranking), None) is not None:
                self.changed[user, ranking] = None

    def rankings_of(self, user: int) -> list[int]:
        """List the rankings in which a user holds something."""
        return [ranking for holder, ranking in self._held if holder == user]

    def _put(self, key: Key, new: Held, segment: str | None) -> None:
        old = self._held.get(key)
        if old is not None and old.standing == new.standing:
            return  # who stays at his score keeps his place among equals
        self._held[key] = self.changed[key] = new
        if segment is not None and segment not in self._labels:
            self._labels.add(segment)
            self.new_labels.append(segment)

    def _refusal_of(self, segment: str | None) -> str | None:
        if segment is None or segment in self._labels:
            return None
        name = segment.partition("=")[0]
        taken = sum(label.partition("=")[0] == name for label in self._labels)
        return SegmentLimitError.code if taken >= self._board.segment(name).limit else None


def fold_points(update: str, old: float | None, points: float) -> float:
    """Give the standing after an update."""
    if old is None or update == "latest":
        return points
    return old + points if update == "increment" else min(old, points)


def tie_of(board: Board, at: int) -> int:
    """Give what orders equals, the lower before: as fine as the board tells times apart."""
    return tie_at(at, board.tie_break, duration(board.tie_resolution))


def tie_at(at: int, tie_break: str, resolution: int) -> int:
    if tie_break == "member":
        return 0
    tick = at // resolution
    return -tick if tie_break == "last" else tick
