"""Which periods have closed since anybody last looked: told at least once, by one process at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from ..rules.board import Board
from ..rules.instants import FUTURE_SKEW, LATEST, MICROSECONDS
from ..rules.windows import Period, Season, Window
from ..store.board_store import BoardStore
from .seasons import Seasons

CLAIM_SECONDS = 10
DUTY = "closing"
MARK = "announced"
SINCE = "announced_since"
_logger = logging.getLogger("flask_leaderboard")


class Closed(NamedTuple):
    """A period that takes no more submissions, from an instant on."""

    window: str
    period: Period
    at: int


class Closings:
    """Tells of closed periods.

    The board's hash has the time up to which they were told, and the names of seasons that were: those end when an operator says
    so, by a clock of his own. Who is to tell claims it for a few seconds, tells, then notes it: a process that dies in between
    leaves it to the next one, and what it had told is told again.
    """

    def __init__(self, board: Board, store: BoardStore, seasons: Seasons) -> None:
        self._windows = [window for window in board.windows if window.timed and not isinstance(window, Season)]
        self._season_windows = [window for window in board.windows if isinstance(window, Season)]
        self._store = store
        self._seasons = seasons
        self._telling = threading.Lock()
        self._looked_at = 0
        self._look_at = 0

    def tell(self, now: int, told: Callable[[Closed], None]) -> int:
        """Call `told` for each period that has closed; asks nobody before one can have. Give the time to look again."""
        if self._looked_at <= now < self._look_at:
            return self._look_at
        if not self._telling.acquire(blocking=False):  # another thread is at it, or this one: who is told may submit
            return now + MICROSECONDS
        try:
            self._looked_at, self._look_at = now, now + MICROSECONDS
            if not self._closed(now) or self._tell(now, told):
                self._look_at = self._next_look(now)
        finally:
            self._telling.release()
        return self._look_at

    def _tell(self, now: int, told: Callable[[Closed], None]) -> bool:
        """Tell of what has closed, unless another process is doing so."""
        claim = self._store.claim(DUTY, CLAIM_SECONDS)
        if claim is None:
            return False
        try:
            closed = self._closed(now)  # once more: another process may have told it before the claim was ours
            for place, item in enumerate(closed):
                told(item)
                self._note(item, last=place + 1 == len(closed) or closed[place + 1].at > item.at)
                self._store.renew(DUTY, claim, CLAIM_SECONDS)
        finally:
            self._store.release(DUTY, claim)
        return True

    def _note(self, item: Closed, *, last: bool) -> None:
        """Note that a closing was told; several of the same instant only with the last of them."""
        if any(window.name == item.window for window in self._season_windows):
            self._store.mark(_told(item.window, item.period), item.at)
        elif last:
            self._store.move_mark(MARK, item.at)

    def _closed(self, now: int) -> list[Closed]:
        """List what has closed and was not told yet, in the order of time."""
        found: list[Closed] = []
        if self._windows:
            mark = self._mark(now)
            for window in self._windows:
                periods = window.closing_after(mark, now)
                found += [Closed(window.name, period, window.closes_at(period)) for period in periods]
        for season in self._season_windows:
            found += self._ended_seasons(season, now)
        return sorted((item for item in found if item.at <= now), key=lambda item: item.at)

    def _mark(self, now: int) -> int:
        mark = self._store.mark(MARK, now)
        if mark > now + FUTURE_SKEW:
            _logger.warning("closed periods were told up to a time in the future, by a clock that was wrong: put back to now")
            self._store.move_mark(MARK, now)
            return now
        return mark

    def _ended_seasons(self, window: Season, now: int) -> list[Closed]:
        since = self._store.mark(SINCE, now)
        seasons = [period for period in self._seasons.known(window) if since < window.closes_at(period) <= now]
        known = self._store.marks([_told(window.name, period) for period in seasons])
        pairs = zip(seasons, known, strict=True)
        return [Closed(window.name, period, window.closes_at(period)) for period, mark in pairs if mark is None]

    def _next_look(self, now: int) -> int:
        if self._season_windows:
            return now + MICROSECONDS  # another process may end one at any time
        return min((self._next_close(window, now) for window in self._windows), default=LATEST)

    @staticmethod
    def _next_close(window: Window, now: int) -> int:
        return min((window.closes_at(period) for period in window.closing_after(now, now)), default=LATEST)


def _told(window: str, period: Period) -> str:
    return f"told:{window}:{period.id}"
