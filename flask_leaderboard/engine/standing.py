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
        try:
            head = self._log.head()  # asked for second: what Redis has folded was in the log before
        except LogUnavailableError as error:
            _logger.warning("the log could not be compared with Redis: %s", error)
            return
        if folded > head:
            raise LogMismatchError(
                f"Redis has {folded} events and the log {head}: name the database that belongs to it, or another key prefix"
            )
        self.expect(head)
        if folded < head:
            self.repair()

    def expect(self, number: int) -> None:
        """Expect Redis to be as far as this from now on: the log is."""
        with self._lock:
            self._seen = max(self._seen, number)

    def is_behind(self, number: int) -> bool:
        with self._lock:
            behind = number < self._seen
            self._seen = max(self._seen, number)
        return behind

    def repair(self) -> None:
        """Bring Redis up to date, after a moment in which another process may finish what it is at."""
        self._folder.reach(self._seen)
