"""The rules of Starfall: rows of rocks and stars come down five lanes, faster and faster; who hits a rock is out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from random import Random

LANES = 5
ROWS = 240
ROCK, STAR, FREE = "#", "*", "."
ROW_POINTS, STAR_POINTS = 10, 25
LEAD_MS, SLOWEST_MS, FASTEST_MS = 1500, 640, 230
HASTE = 0.985
HURRY = 0.9
"""A clock in a browser may run this much faster than ours."""


class CheatError(Exception):
    """A flight that can't have been."""


@dataclass(frozen=True)
class Course:
    """What comes down, and when. Everybody who has the seed has the same course."""

    seed: int

    @cached_property
    def rows(self) -> list[str]:
        draw = Random(self.seed)  # noqa: S311 - a game
        return [_row(draw, rocks=min(LANES - 1, 1 + number // 25)) for number in range(ROWS)]

    @cached_property
    def times_ms(self) -> list[int]:
        """When each row is at the ship, from the start of the match."""
        steps = (max(FASTEST_MS, round(SLOWEST_MS * HASTE**number)) for number in range(ROWS - 1))
        return list(accumulate(steps, initial=LEAD_MS))

    def points(self, path: str, elapsed_ms: float) -> int:
        """Count what a flight brought: a digit for each row, the lane in which the ship was. Refuse what can't have been."""
        if not 1 <= len(path) <= ROWS or not set(path) <= set("01234"):
            raise CheatError(f"a path has 1 to {ROWS} lanes, each a digit from 0 to {LANES - 1}")
        if elapsed_ms < self.times_ms[len(path) - 1] * HURRY:
            raise CheatError("nobody is that fast")
        met = [row[int(lane)] for row, lane in zip(self.rows, path, strict=False)]
        if ROCK in met[:-1]:
            raise CheatError("nobody flies on through a rock")
        return ROW_POINTS * (len(met) - met.count(ROCK)) + STAR_POINTS * met.count(STAR)


def _row(draw: Random, rocks: int) -> str:
    """Draw a row: each has a way through, and one of three a star."""
    cells = [ROCK] * draw.randint(max(1, rocks - 1), rocks) + [STAR] * (draw.random() < 1 / 3)
    cells = [FREE] * (LANES - len(cells)) + cells
    draw.shuffle(cells)
    return "".join(cells)
