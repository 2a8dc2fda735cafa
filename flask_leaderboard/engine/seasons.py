"""Which seasons run: written in a register that all processes share, remembered by each for a moment."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..errors import LogUnavailableError, SeasonError, UnknownWindowError
from ..rules.board import Board
from ..rules.names import check_name
from ..rules.seasons import Played, Record, Register
from ..rules.windows import Period, Season

NONE = "-"
LONGEST_TRUST_SECONDS = 1.0
_logger = logging.getLogger("flask_leaderboard")


class Running(NamedTuple):
    """The running seasons by window, and the word by which submissions name them, so that a script notices others."""

    periods: Mapping[str, Period]
    word: str

    @property
    def names(self) -> set[tuple[str, str]]:
        """The windows with the names of their seasons."""
        return {(window, period.id) for window, period in self.periods.items()}


class Look(NamedTuple):
    """What the register said at one moment; the ended seasons by window and name, the latest first."""

    record: Record
    running: Running
    ended: Mapping[tuple[str, str], Period]


class Seasons:
    """Starts, ends and finds the seasons of a board."""

    def __init__(self, board: Board, register: Register) -> None:
        self._windows = {window.name: window for window in board.windows if isinstance(window, Season)}
        self._register = register
        self._reading = threading.Lock()
        self._look: Look | None = None if self._windows else Look(Record(()), Running({}, NONE), {})
        self._trusted_until = -math.inf if self._windows else math.inf

    @property
    def running(self) -> Running:
        """What runs, from a look not older than a second: reads name no season, so no script would tell them."""
        return self._last_look().running

    def refresh(self) -> Running:
        """Ask the register what runs."""
        return self._look_again().running

    def running_at(self, number: int) -> Mapping[str, Period]:
        """Give the seasons that an event of the log may count in, by window: those that ran when it got its number.

        They are as they were then, not yet ended: only so they take in a replay what they took before.
        """
        return self.taking(number)(number)

    def taking(self, through: int) -> Callable[[int], Mapping[str, Period]]:
        """Give what tells, for any event up to a number, the seasons it may count in; it asks nobody any more."""
        played = [season for season in self._record(through).played if season.window in self._windows]
        return lambda number: {s.window: self._period(s, number) for s in played if s.takes(number)}

    def ended_as(self, window: Season, period: Period) -> Period | None:
        """Give a season with the end it had, None where it has not ended."""
        return self._last_look().ended.get((window.name, period.id))

    def start(self, window_name: str, season: str, now: int) -> Period:
        """Start a season; the one before must have been ended."""
        window = self._season_window(window_name)
        if check_name(season, "season") == "previous":
            raise SeasonError("a season can't be called 'previous', which reads the one before: choose another name")
        self._register.start(window_name, season, now)
        self._distrust()
        return window.running(season, now)

    def end(self, window_name: str, now: int) -> Period:
        """End the running season: from now on it takes no submission."""
        window = self._season_window(window_name)
        running = self.refresh().periods.get(window_name)
        if running is None:
            raise SeasonError(f"no season of window {window_name!r} is running: start one first")
        end = min(now, running.end)  # one that had run its longest ended then
        self._register.end(Played(window_name, running.id, running.start), end)
        self._distrust()
        return window.running(running.id, running.start, end)

    def find(self, window: Season, name: str | None) -> Period | None:
        """Find a season: the running one, ``previous``, or one by its name."""
        running = self.running.periods.get(window.name)
        if name is None or (running is not None and running.id == name):
            return running
        ended = self.ended(window)
        if name == "previous" and ended:
            return ended[0]
        for period in ended:
            if period.id == name:
                return period
        raise UnknownWindowError(f"window {window.name!r} has had no season {name!r}")

    def live(self, window: Season, now: int, number: int | None = None) -> list[Period]:
        """List the seasons that Redis may hold, the running one first; with a `number`, as it was at that event of the log."""
        known = self.known(window) if number is None else self._known_at(window, number)
        return [period for period in known if now < period.end + window.retention_us]

    def known(self, window: Season) -> list[Period]:
        """List all seasons there have been, the running one first."""
        running = self.running.periods.get(window.name)
        ended = self.ended(window)
        return [running, *ended] if running else ended

    def ended(self, window: Season) -> list[Period]:
        """List the ended seasons, the latest first."""
        return [period for (window_name, _), period in self._last_look().ended.items() if window_name == window.name]

    def as_kept(self, window: Season, period: Period) -> Period:
        """Give a season with the end that it has by now: that decides for how long it is kept."""
        return self._last_look().ended.get((window.name, period.id), period)

    def _known_at(self, window: Season, number: int) -> list[Period]:
        played = self._record(number).played
        return [self._period(season, number) for season in played if season.window == window.name and season.after < number]

    def _period(self, season: Played, number: int | None = None) -> Period:
        """Give a season as it is, or as it was at an event of the log."""
        ran = number is not None and season.takes(number)
        return self._windows[season.window].running(season.name, season.start, None if ran else season.end)

    def _record(self, number: int) -> Record:
        """Give all seasons, known well enough to tell which ran at an event of the log."""
        record = self._last_look().record
        return record if number <= record.through else self._look_again().record

    def _last_look(self) -> Look:
        """Give the last look, or a new one after a second. While the log is away the seasons last known go on."""
        if self._look is not None and time.monotonic() < self._trusted_until:
            return self._look
        try:
            return self._look_again()
        except LogUnavailableError as error:
            if self._look is None:
                raise
            _logger.warning("which seasons run could not be looked up: %s", error)
            self._trusted_until = time.monotonic() + LONGEST_TRUST_SECONDS
            return self._look

    def _distrust(self) -> None:
        """Let the next call look again; a look that is under way may be from before, so it is waited for."""
        with self._reading:
            self._trusted_until = -math.inf

    def _look_again(self) -> Look:
        if not self._windows and self._look is not None:
            return self._look
        with self._reading:
            self._look = self._as_look(self._register.read())
            self._trusted_until = time.monotonic() + LONGEST_TRUST_SECONDS
            return self._look

    def _as_look(self, record: Record) -> Look:
        played = sorted((s for s in record.played if s.window in self._windows), key=lambda s: s.start, reverse=True)
        running = {season.window: season for season in played if season.end is None}
        word = ",".join(f"{name}={_word(running.get(name))}" for name in self._windows)
        periods = {name: self._period(season) for name, season in running.items()}
        ended = {(season.window, season.name): self._period(season) for season in played if season.end is not None}
        return Look(record, Running(periods, word), ended)

    def _season_window(self, name: str) -> Season:
        try:
            return self._windows[name]
        except KeyError:
            raise UnknownWindowError(f"window {name!r} is not a season of this board") from None


def _word(season: Played | None) -> str:
    return NONE if season is None else f"{season.name}@{season.start}"
