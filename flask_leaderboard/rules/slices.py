"""Which periods a submission counts in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import ClosedPeriodError, TimeError
from .board import Board
from .instants import FUTURE_SKEW, to_datetime
from .windows import Period, Season, Window


@dataclass(frozen=True, slots=True)
class Slice:
    """The open periods, and the names of the closed windows, for times from `start` to before `end`, as long as it is
    earlier than `closes`."""

    start: int
    end: int
    closes: int
    open: tuple[tuple[Window, Period], ...]
    closed: tuple[str, ...]

    def covers(self, at: int, now: int) -> bool:
        return self.start <= at < self.end and now < self.closes


def check_not_future(at: int, now: int) -> None:
    """Refuse a time that lies ahead by more than clocks may differ."""
    if at > now + FUTURE_SKEW:
        raise TimeError(f"time {to_datetime(at).isoformat()} lies in the future: send the time at which the points were won")


def slice_at(board: Board, at: int, now: int, seasons: Mapping[str, Period]) -> Slice:
    """Find the periods that take a submission, or refuse one that is too late for every timed window.

    `seasons` are the running ones, by window.
    """
    taken: list[tuple[Window, Period]] = []
    closed: list[str] = []
    too_late = False
    for window in board.windows:
        period = _period_for(window, at, seasons)
        if period is not None and window.is_open(period, now):
            taken.append((window, period))
        else:
            closed.append(window.name)
            too_late = too_late or period is not None
    if not taken or (too_late and not any(window.timed for window, _ in taken)):
        raise ClosedPeriodError(
            f"time {to_datetime(at).isoformat()} is closed in {', '.join(repr(name) for name in closed)} of board {board.name!r}:"
            " send submissions within the windows' grace"
        )
    return Slice(
        start=at if closed else max(period.start for _, period in taken),
        end=at + 1 if closed else min(period.end for _, period in taken),
        closes=min(period.end + window.grace_us for window, period in taken),
        open=tuple(taken),
        closed=tuple(closed),
    )


def _period_for(window: Window, at: int, seasons: Mapping[str, Period]) -> Period | None:
    if not isinstance(window, Season):
        return window.period_at(at)
    running = seasons.get(window.name)
    return running if running and running.start <= at < running.end else None
