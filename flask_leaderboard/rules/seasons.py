"""Seasons that were played, and who keeps a register of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..errors import SeasonError


@dataclass(frozen=True, slots=True)
class Played:
    """A season that was started; `end` is None while it runs.

    Where there is a log, the numbers of its events say what the season takes: those behind `after`, up to `last`.
    """

    window: str
    name: str
    start: int
    end: int | None = None
    after: int = 0
    last: int | None = None

    def takes(self, number: int) -> bool:
        """Tell whether it ran when an event got its number."""
        return self.after < number and (self.last is None or number <= self.last)


class Record(NamedTuple):
    """The seasons of a board; exact for events up to the number `through`, also if more have begun or ended meanwhile."""

    played: Collection[Played]
    through: int = 0


class Register(Protocol):
    """Where it is written which seasons run: for all processes the same."""

    def read(self) -> Record:
        """Give all seasons there have been."""

    def start(self, window: str, name: str, now: int) -> None:
        """Start a season, or refuse it with a `SeasonError`."""

    def end(self, running: Played, now: int) -> None:
        """End a season, or refuse it with a `SeasonError` where it does not run."""


def not_running(window: str, running: str, expected: str) -> SeasonError:
    return SeasonError(
        f"window {window!r} runs {running!r}, not {expected!r}: end that one first, or read the season again and repeat the call"
    )


def played_before(window: str, name: str) -> SeasonError:
    return SeasonError(f"{name!r} of window {window!r} was played before: choose another name")
