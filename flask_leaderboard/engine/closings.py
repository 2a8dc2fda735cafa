"""Which periods have closed since anybody last looked: told at least once, by one process at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..rules.board import Board
from ..rules.instants import MICROSECONDS
from ..rules.windows import Period, Season, Window
from ..store.board_store import BoardStore
from .seasons import Seasons

CLAIM_SECONDS = 10
FIELD = "announced"


class Closed(NamedTuple):
    """A period that takes no more submissions."""

    window: str
    period: Period


class Closings:
    """Tells of closed periods.

    The board's hash has the time up to which they were told. Who is to tell claims it for a few seconds, tells, then moves that
    time: a process that dies in between leaves it to the next one, and what it had told is told again.
    """

    def __init__(self, board: Board, store: BoardStore, seasons: Seasons) -> None:
        self._windows = [window for window in board.windows if window.timed]
        self._store = store
        self._seasons = seasons
        self._look_at = 0

    def tell(self, now: int, told: Callable[[Closed], None]) -> None:
        """Call `told` for each period that has closed; does nothing, and asks nobody, until one can have."""
        if not self._windows or now < self._look_at:
            return
        since = self._store.mark(FIELD, now)
        closed = self._closed_between(since, now)
        if closed and not self._store.claim("closing", CLAIM_SECONDS):
            self._look_at = now + CLAIM_SECONDS * MICROSECONDS
            return
        for item in closed:
            told(item)
        if closed:
            self._store.move_mark(FIELD, now)
        self._look_at = min(self._next_close(window, now) for window in self._windows)

    def _closed_between(self, since: int, now: int) -> list[Closed]:
        found = [
            (window.closes_at(period), Closed(window.name, period))
            for window in self._windows
            for period in (self._seasons.live(window, now) if isinstance(window, Season) else window.live_periods(now))
            if since < window.closes_at(period) <= now
        ]
        return [closed for _, closed in sorted(found, key=lambda pair: pair[0])]

    def _next_close(self, window: Window, now: int) -> int:
        soon = now + 60 * MICROSECONDS
        period: Any = None if isinstance(window, Season) else window.period_at(now)
        return soon if period is None else min(window.closes_at(p) for p in window.live_periods(now) if window.closes_at(p) > now)
