"""What standings mean: scores and times behind what SQL keeps, under the rules it was folded by."""

from __future__ import annotations

from typing import NamedTuple

from .board import Board
from .fold import tie_at
from .instants import duration
from .scores import Number


class Scale(NamedTuple):
    """Turns standings and ties into scores and times, and back."""

    order: str
    tie_break: str
    resolution: int
    score_type: str

    @classmethod
    def of(cls, board: Board) -> Scale:
        return cls(board.order, board.tie_break, duration(board.tie_resolution), board.score_type)

    @classmethod
    def read(cls, rules: str) -> Scale:
        """Read the rules that a period's row names."""
        order, tie_break, resolution, score_type, *_ = rules.split(" ")
        return cls(order, tie_break, int(resolution), score_type)

    @property
    def sign(self) -> int:
        return -1 if self.order == "desc" else 1

    def standing(self, score: Number) -> float:
        return self.sign * float(score) + 0.0

    def score(self, standing: float) -> Number:
        return int(self.sign * standing) if self.score_type == "integer" else self.sign * standing + 0.0

    def tie(self, at: int | None) -> int:
        """Give what orders equals; lower stands first."""
        return tie_at(at or 0, self.tie_break, self.resolution)

    def time(self, at: int) -> int | None:
        """Give a time as fine as it is told apart."""
        return None if self.tie_break == "member" else at // self.resolution * self.resolution


def percentile_of(better: int, total: int) -> float:
    """Give the percentage of users not strictly ahead, to one decimal, half rounds up: as the Lua does."""
    return (2000 * (total - better) + total) // (2 * total) / 10
