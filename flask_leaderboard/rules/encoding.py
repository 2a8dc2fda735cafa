"""How a tie-break is stored, chosen for each window of a board.

*Packed* puts score and time into the 53 bits of a double: one sorted set, no more memory than bare scores. *Exact* puts the
time in front of the member and keeps a map from user to time: any score, any time, about twice the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..errors import ConfigurationError
from .scores import LARGEST_INTEGER


@dataclass(frozen=True, slots=True)
class Encoding:
    """What a window's data looks like.

    `slots` is how many times are told apart in a period, `centre` the standing at zero (packed), `width` the bytes of a time
    (exact). `headroom` is how many times larger the range of scores could be and still be packed; below 1 it is not.
    """

    kind: Literal["packed", "exact"]
    slots: int
    centre: int
    width: int
    headroom: float
    reason: str

    @property
    def parameter(self) -> int:
        return self.centre if self.kind == "packed" else self.width


def slots_for(longest: int, resolution: int) -> int:
    """Count the multiples of the resolution that can lie in a period, wherever it begins."""
    return -(-longest // resolution) + 1


def choose_encoding(
    lowest: int | None, highest: int | None, *, by_time: bool, longest: int, resolution: int, best_first: int
) -> Encoding:
    """Pick the smallest encoding that loses nothing. `best_first` is 1 where low scores win, -1 where high ones do."""
    if not by_time:
        return Encoding("packed", 1, 0, 0, float("inf"), "ties go by member, so no time is stored")
    slots = slots_for(longest, resolution)
    if lowest is None or highest is None:
        return _exact(slots, 0.0, "no score_range of whole numbers is declared")
    values = highest - lowest + 1
    headroom = (2 * LARGEST_INTEGER + 1) / (values * slots)
    ends = sorted((best_first * lowest, best_first * highest))
    centre = (ends[0] + ends[1] + 1) // 2
    first, last = (ends[0] - centre) * slots, (ends[1] - centre) * slots + slots - 1
    if first < -LARGEST_INTEGER or last > LARGEST_INTEGER:
        return _exact(slots, headroom, f"{values} scores at {slots} times each do not fit into a double")
    return Encoding("packed", slots, centre, 0, headroom, f"{values} scores at {slots} times each fit into a double")


def _exact(slots: int, headroom: float, reason: str) -> Encoding:
    width = next((width for width in (4, 6, 7) if slots <= 256**width and slots <= LARGEST_INTEGER), None)
    if width is None:
        raise ConfigurationError(f"{slots} moments of a period can't be told apart: declare a coarser tie_resolution")
    return Encoding("exact", slots, 0, width, headroom, reason)
