"""How far Redis must be: never behind what this process has seen, nor behind the log."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from ..errors import LeaderboardError, LogMismatchError, LogUnavailableError, StoreUnavailableError
from ..log.event_log import EventLog
from ..store.board_store import BoardStore
from .folding import Folder

LOOK_SECONDS = 1.0
PATIENCE_SECONDS = 0.2
"""How long a thread waits for another one that looks or repairs: about as long as that takes where nothing is lost."""
LONG_SECONDS = 0.5
REST_SECONDS = 1.0
"""For how long a process leaves a long repair to others after its own turn: who reads is answered from SQL meanwhile."""
_logger = logging.getLogger("flask_leaderboard")


class Standing:
    """Watches the number at the front of every reply. What is behind is brought up to date from the log."""

    def __init__(self, store: BoardStore, log: EventLog, folder: Folder) -> None:
        self._store = store
        self._log = log
        self._folder = folder
        self._lock = threading.Lock()
        self._looking = threading.RLock()
        self._is_looking = False
        self._trusts = False
        self._takes_long = False
        self._rest_until = 0.0
        self._seen = 0
        self._look_at = 0.0

    def insist(self) -> None:
        """Look: the log gives the numbers, so Redis may have lost any."""
        self.look()

    def look(self, *, rests: bool = True) -> None:
        """Compare Redis with the log: at the first use, and then once a second. Where it fails, the next call looks again.

        While another thread looks, a Redis that was all right before is trusted still. Who has nothing else to do than to repair
        never `rests`.
        """
        if not rests:
            self._rest_until = 0.0
        if time.monotonic() >= self._look_at and not (self._trusts and self._is_looking):
            self._take_turn(self._look)

    def _look(self) -> None:
        if time.monotonic() < self._look_at:
            return  # another thread has looked while this one waited
        self._is_looking = True
        try:
            self._compare()
            self._look_at = time.monotonic() + LOOK_SECONDS
        finally:
            self._is_looking = False

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

    def behind(self) -> int:
        """Give by how many microseconds what Redis answers may be behind the log."""
        return 0

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
        self._trusts = False
        self._take_turn(lambda: self._folder.reach(self._seen))

    def _give_up(self, number: int) -> int:
        """Expect no more than Redis has; give how many events that is less than before."""
        with self._lock:
            lost, self._seen = self._seen - number, min(self._seen, number)
        return max(0, lost)

    def _take_turn(self, work: Callable[[], None]) -> None:
        """Look or repair, one thread at a time. Nobody queues for what takes long: that Redis can't be used is told at once."""
        resting = time.monotonic() < self._rest_until
        patience = 0.0 if self._takes_long else PATIENCE_SECONDS
        if resting or not self._looking.acquire(timeout=patience):
            self._takes_long = True
            raise StoreUnavailableError("Redis is being compared with the log, or brought up to date by it: try again shortly")
        began = time.monotonic()
        try:
            work()
            self._trusts, self._takes_long = True, False
        except LeaderboardError:
            self._trusts = False
            if time.monotonic() - began > LONG_SECONDS:
                self._rest_until = time.monotonic() + REST_SECONDS
            raise
        finally:
            self._looking.release()
