"""How far Redis must be: never behind what this process has seen, nor behind the log."""

from __future__ import annotations

import logging
import threading
import time

from ..errors import LogMismatchError, LogUnavailableError
from ..log.event_log import EventLog
from ..store.board_store import BoardStore
from .folding import Folder

LOOK_SECONDS = 1.0
_logger = logging.getLogger("flask_leaderboard")


class Standing:
    """Watches the number at the front of every reply. What is behind is brought up to date from the log."""

    def __init__(self, store: BoardStore, log: EventLog, folder: Folder) -> None:
        self._store = store
        self._log = log
        self._folder = folder
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._seen = 0
        self._look_at = 0.0

    def look(self) -> None:
        """Compare Redis with the log: at the first use, and then once a second. Where it fails, the next call looks again."""
        if time.monotonic() < self._look_at:
            return
        with self._looking:
            if time.monotonic() >= self._look_at:
                self._compare()
                self._look_at = time.monotonic() + LOOK_SECONDS

    def _compare(self) -> None:
        folded = self._store.number()
        needed = self._needed(folded)
        try:
            head = self._head()  # asked for last: what Redis has folded was in the log before
        except LogUnavailableError as error:
            _logger.warning("the log could not be compared with Redis: %s", error)
            return
        if needed > head:
            raise LogMismatchError(
                f"Redis has {folded} events and the log {head}: name the database that belongs to it, or another key prefix"
            )
        self._settle(folded, head)

    def _head(self) -> int:
        return self._log.head()

    def _needed(self, folded: int) -> int:
        """Give the number up to which the log must have what Redis has."""
        return folded

    def _settle(self, folded: int, head: int) -> None:
        self.expect(max(folded, head))
        if folded < head:
            self.repair()

    @property
    def least(self) -> int:
        """The number that Redis must stand at, at least."""
        return self._seen

    def expect(self, number: int) -> None:
        """Expect Redis to be as far as this from now on: the log is."""
        with self._lock:
            self._seen = max(self._seen, number)

    def is_behind(self, number: int, least: int | None = None) -> bool:
        """Tell whether a reply is older than what this process had seen; `least` is what it had seen when it asked."""
        with self._lock:
            behind = number < (self._seen if least is None else least)
            self._seen = max(self._seen, number)
        return behind

    def repair(self) -> None:
        """Bring Redis up to date, after a moment in which another process may finish what it is at."""
        self._folder.reach(self._seen)

    def _give_up(self, number: int) -> int:
        """Expect no more than Redis has; give how many events that is less than before."""
        with self._lock:
            lost, self._seen = self._seen - number, min(self._seen, number)
        return max(0, lost)
