"""Which periods have closed since anybody last looked: told at least once, by one process at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..rules.board import Board
from ..rules.instants import LATEST, MICROSECONDS
from ..rules.windows import Period, Season, Window
from ..store.board_store import BoardStore
from .seasons import Seasons

CLAIM_SECONDS = 10
DUTY = "closing"
MARK = "announced"


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

    def tell(self, now: int, told: Callable[[Closed], None]) -> int:
        """Call `told` for each period that has closed; asks nobody before one can have. Give the time to look again."""
        if now >= self._look_at:
            self._look_at = self._look(now, told) if self._windows else LATEST
        return self._look_at

    def _look(self, now: int, told: Callable[[Closed], None]) -> int:
        closed = self._closed_between(self._store.mark(MARK, now), now)
        if closed:
            if not self._store.claim(DUTY, CLAIM_SECONDS):
                return now + MICROSECONDS
            for item in closed:
                told(item)
            self._store.move_mark(MARK, now)
            self._store.release(DUTY)
        return min(self._next_close(window, now) for window in self._windows)

    def _closed_between(self, since: int, now: int) -> list[Closed]:
        found = [
            (window.closes_at(period), Closed(window.name, period))
            for window in self._windows
            for period in self._periods(window, since, now)
            if since < window.closes_at(period) <= now
        ]
        return [closed for _, closed in sorted(found, key=lambda pair: pair[0])]

    def _periods(self, window: Window, since: int, now: int) -> Iterable[Period]:
        return self._seasons.known(window) if isinstance(window, Season) else window.closing_after(since, now)

    def _next_close(self, window: Window, now: int) -> int:
        if isinstance(window, Season):
            return now + MICROSECONDS  # another process may end it at any time
        return min((window.closes_at(period) for period in window.closing_after(now, now)), default=LATEST)
