"""What is found when Redis is compared with the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..rules.instants import to_datetime
from ..rules.scores import Number

What = Literal["entry", "level", "ticks", "expiry", "layout", "data", "segment"]


class Difference(NamedTuple):
    """Something that Redis has otherwise than the log gives it. `user_id` is None where it is not about one user."""

    what: What
    ranking: str
    user_id: str | None
    redis: str
    log: str


@dataclass
class Verified:
    """What came of a comparison. `unsettled` are those that were written too often to be compared at one number."""

    rankings: int = 0
    entries: int = 0
    differences: list[Difference] = field(default_factory=list)
    windows: set[str] = field(default_factory=set)
    unsettled: int = 0

    def add(self, window: str | None, found: list[Difference]) -> None:
        """Add what was found in a window, or about the whole board."""
        self.differences += found
        if found:
            self.windows.add(window or "*")

    @property
    def to_rebuild(self) -> tuple[str, ...]:
        """Name the windows that a rebuild must make anew; none for the whole board."""
        whole = "*" in self.windows or any(found.what == "layout" for found in self.differences)
        return () if whole else tuple(sorted(self.windows))


def told(score: Number, at: int | None) -> str:
    """Tell an entry in words."""
    return f"{score:,}" if at is None else f"{score:,} since {to_datetime(at).isoformat()}"
