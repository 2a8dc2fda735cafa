"""Boards that write to Redis once an interval: what is logged meanwhile waits in the log, and is folded together.

Nothing waits in memory but the number of the last event, so a process that dies takes nothing with it: who folds next, folds all
that the log has, whoever wrote it.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress

from ..errors import LeaderboardError, LogUnavailableError, StoreUnavailableError
from ..log.event_log import EventLog
from ..log.events import Logged
from ..rules.board import Board
from ..rules.instants import FUTURE_SKEW, MICROSECONDS
from ..rules.results import Receipt
from ..store.board_store import BoardStore
from .folding import Entry, Folder, Settle
from .ledger import Ledger, Outcome, Planned, Sent, refused_before, unknown
from .places import Places
from .standing import Standing

Clock = Callable[[], int]
MOST_WAITING = 5000
"""So many events are folded before their interval is over: beyond 20,000 Redis would be taken for one that lost its data."""
LATE_SECONDS = 1.0
"""How long after its interval an event is left to the process that is about to fold it."""
RETRY_SECONDS = 0.5
SHUTDOWN_SECONDS = 2.0
_logger = logging.getLogger("flask_leaderboard")


class Coalescer:
    """Folds what the log has when an interval is over, in a thread that lives as long as something waits.

    The interval is claimed in Redis: there is one fold an interval, however many processes write. What was logged before the
    claim is in that fold, so whoever finds it claimed has to wait for its end only with what came later.
    """

    def __init__(self, board: Board, store: BoardStore, log: EventLog, folder: Folder) -> None:
        self._name = board.name
        self._ms = board.coalesce_ms
        self._store = store
        self._log = log
        self._folder = folder
        self._lock = threading.Lock()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = 0
        self._last = self._folded = 0
        self._told = False

    def expect(self, last: int) -> None:
        """See that the log's events up to a number are folded, when their interval is over."""
        with self._lock:
            self._last = max(self._last, last)
            if self._last > self._folded and not (self._thread and self._thread.is_alive()):
                self._start()
        if last - self._folded > MOST_WAITING:
            self._hurry.set()

    def note(self, folded: int) -> None:
        """Note how far Redis is known to be."""
        with self._lock:
            self._folded = max(self._folded, folded)
            if self._thread and self._last <= self._folded:
                self._hurry.set()  # it has nothing to wait for

    def close(self) -> None:
        """Fold what waits, before the process ends; where Redis can't now, others will."""
        deadline = time.monotonic() + SHUTDOWN_SECONDS
        while self._process == os.getpid() and not self._is_folded(self._last) and time.monotonic() < deadline:
            try:
                self._fold(self._last)
            except LeaderboardError:
                time.sleep(RETRY_SECONDS / 10)
        self.note(self._last)

    def _start(self) -> None:
        self._process = os.getpid()
        _close_at_exit(self)
        self._thread = threading.Thread(target=self._run, name=f"leaderboard-coalesce-{self._name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wait = self._ms / 1000
        while True:
            self._hurry.wait(wait)
            self._hurry.clear()
            with self._lock:
                if self._last <= self._folded:
                    self._thread = None
                    return
                hurried = self._last - self._folded > MOST_WAITING
            wait = self._turn(hurried)

    def _is_folded(self, number: int) -> bool:
        with self._lock:
            return number <= self._folded

    def _turn(self, hurried: bool) -> float:
        """Fold, unless another process has begun the interval; give for how long to wait then."""
        try:
            self.note(self._store.number())
            if self._is_folded(self._last):
                return 0.0
            left = self._store.begin_interval(self._ms)
            if left and not hurried:
                return left / 1000
            self._fold(self._log.head())
        except LeaderboardError as error:
            if not self._told:  # once, not for every interval
                _logger.warning("board '%s' has events in its log that wait for Redis: %s", self._name, error)
            self._told = True
            return RETRY_SECONDS
        self._told = False
        return self._ms / 1000

    def _fold(self, through: int) -> None:
        """Fold what the log has up to a number; what takes long is gone on with as long as Redis gets further by it."""
        while not self._is_folded(through):
            before = self._store.number()
            try:
                self._folder.catch_up(through)
                self.note(through)
            except StoreUnavailableError:
                if self._store.number() <= before:
                    raise


class CoalescingStanding(Standing):
    """Lets Redis be behind the log by what waits for the end of its interval.

    What Redis had once and has no more is lost, whenever it was written; so is what it should have had by now.
    """

    def __init__(
        self, board: Board, store: BoardStore, log: EventLog, folder: Folder, coalescer: Coalescer, clock: Clock
    ) -> None:
        super().__init__(store, log, folder)
        self._longest = board.coalesce_ms * 1000 + int(LATE_SECONDS * MICROSECONDS)
        self._coalescer = coalescer
        self._clock = clock
        self._began = self._looked = clock()

    def behind(self) -> int:
        """Give the age of what may be missing: what was late at the last look has been folded."""
        return self._clock() - self._looked + self._longest

    def _compare(self) -> None:
        self._began = self._clock()
        super()._compare()

    def _settle(self, folded: int, head: int) -> None:
        self._coalescer.note(folded)
        if folded < self.least or (folded < head and self._is_overdue(folded)):
            super()._settle(folded, head)
        else:
            self.expect(folded)
            if folded < head:
                self._coalescer.expect(head)
        self._looked = self._began

    def _is_overdue(self, folded: int) -> bool:
        """Tell whether the event behind a number has waited for too long, or was taken at a time that can't be, or is pruned."""
        try:
            waiting = self._log.read(folded, 1)
        except LogUnavailableError:
            self._began = self._looked  # reads go on, and say since when nobody knows
            return False
        age = self._clock() - waiting[0].taken_at if waiting and waiting[0].number == folded + 1 else math.inf
        return not -FUTURE_SKEW <= age <= self._longest


class CoalescingLedger(Ledger):
    """Answers when an event is logged. What it does to the scores is not known before its interval is over."""

    def __init__(
        self, board: Board, store: BoardStore, places: Places, log: EventLog, *, clock: Clock, keep_days: int | None = None
    ) -> None:
        self._clock = clock
        super().__init__(board, store, places, log, keep_days=keep_days)

    def close(self) -> None:
        self._coalescer.close()

    def fold_all(self) -> None:
        head = self.log.head()
        self.folder.reach(head)
        self._coalescer.note(head)

    def _watch(self) -> Standing:
        self._coalescer = Coalescer(self._board, self._store, self.log, self.folder)
        return CoalescingStanding(self._board, self._store, self.log, self.folder, self._coalescer, self._clock)

    def _begin(self, new: Sequence[Entry], ranks: bool) -> Settle:
        return lambda lines: None

    def _take_in(self, sent: Sent) -> None:
        if sent.last:
            self._coalescer.expect(sent.last)

    def _duplicate(self, item: Planned, logged: Logged, ranks: bool) -> Outcome:
        """Tell how a user stands only where Redis has what was sent before; whether it was refused is looked up behind that."""
        with suppress(LeaderboardError):
            if self._store.number() >= logged.number:
                self._standing.expect(logged.number)
                event = next(iter(self.log.read(logged.number - 1, 1)), None)
                refused = event is not None and event.number == logged.number and event.refused
                return refused_before(refused) if refused else super()._duplicate(item, logged, ranks)
        user_id, changes = item.draft.user_id, unknown(item.targets)
        return Receipt(user_id, changes, item.closed, logged.number, duplicate=True, pending=True)


_open: weakref.WeakSet[Coalescer] = weakref.WeakSet()


def _close_at_exit(coalescer: Coalescer) -> None:
    if not _open:
        atexit.unregister(_close_all)
        atexit.register(_close_all)
    _open.add(coalescer)


def _close_all() -> None:
    for coalescer in list(_open):
        coalescer.close()
