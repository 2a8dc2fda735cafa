"""Which seasons run: a fact in Redis that every process remembers, and asks for again when a script says it has changed."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import NamedTuple

from ..errors import SeasonError, UnknownWindowError
from ..rules.board import Board
from ..rules.names import check_name
from ..rules.windows import Period, Season
from ..store.board_store import BoardStore

NONE = "-"
LONGEST_TRUST_SECONDS = 1.0


class Running(NamedTuple):
    """The running seasons by window, and the word by which submissions name them, so that a script notices others."""

    periods: Mapping[str, Period]
    word: str


class Seasons:
    """Starts, ends and finds the seasons of a board."""

    def __init__(self, board: Board, store: BoardStore) -> None:
        self._windows = {window.name: window for window in board.windows if isinstance(window, Season)}
        self._store = store
        self._last_look = Running({}, NONE)
        self._looked_at = -math.inf

    @property
    def running(self) -> Running:
        """What runs, from a look not older than a second: reads name no season, so no script would tell them."""
        if self._windows and time.monotonic() - self._looked_at > LONGEST_TRUST_SECONDS:
            return self.refresh()
        return self._last_look

    def refresh(self) -> Running:
        """Ask Redis what runs."""
        found = {}
        words = []
        running = self._store.running_seasons(list(self._windows))
        for (name, window), text in zip(self._windows.items(), running, strict=True):
            words.append(f"{name}={text or NONE}")
            if text is not None:
                season, _, start = text.rpartition("@")
                found[name] = window.running(season, int(start))
        self._last_look = Running(found, ",".join(words) or NONE)
        self._looked_at = time.monotonic()
        return self._last_look

    def start(self, window_name: str, season: str, now: int) -> Period:
        """Start a season; the one before must have been ended."""
        window = self._season_window(window_name)
        if check_name(season, "season") == "previous":
            raise SeasonError("a season can't be called 'previous', which reads the one before: choose another name")
        self._store.season(window_name, NONE, f"{season}@{now}", now)
        self.refresh()
        return window.running(season, now)

    def end(self, window_name: str, now: int) -> Period:
        """End the running season: from now on it takes no submission."""
        window = self._season_window(window_name)
        running = self.refresh().periods.get(window_name)
        if running is None:
            raise SeasonError(f"no season of window {window_name!r} is running: start one first")
        end = min(now, running.end)  # one that had run its longest ended then
        self._store.season(window_name, f"{running.id}@{running.start}", NONE, end)
        self.refresh()
        return window.running(running.id, running.start, end)

    def find(self, window: Season, name: str | None) -> Period | None:
        """Find a season: the running one, ``previous``, or one by its name."""
        running = self.running.periods.get(window.name)
        if name is None or (running is not None and running.id == name):
            return running
        ended = self._ended(window)
        if name == "previous" and ended:
            return ended[0]
        for period in ended:
            if period.id == name:
                return period
        raise UnknownWindowError(f"window {window.name!r} has had no season {name!r}")

    def live(self, window: Season, now: int) -> list[Period]:
        """List the seasons that Redis may hold, the running one first."""
        return [period for period in self.known(window) if now < period.end + window.retention_us]

    def known(self, window: Season) -> list[Period]:
        """List all seasons there have been, the running one first."""
        running = self.running.periods.get(window.name)
        ended = self._ended(window)
        return [running, *ended] if running else ended

    def _ended(self, window: Season) -> list[Period]:
        """List the ended seasons, the latest first."""
        spans = self._store.ended_seasons(window.name)
        periods = [window.running(name, start, end) for name, (start, end) in spans.items()]
        return sorted(periods, key=lambda period: period.start, reverse=True)

    def _season_window(self, name: str) -> Season:
        try:
            return self._windows[name]
        except KeyError:
            raise UnknownWindowError(f"window {name!r} is not a season of this board") from None
