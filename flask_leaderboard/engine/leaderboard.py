"""A board with its data: what games call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from redis import Redis

from ..errors import ConfigurationError, InputError, LeaderboardError, NoLogError, TemporaryError
from ..log.event_log import EventLog
from ..log.events import Event
from ..rules.board import Board
from ..rules.identity import check_user_id
from ..rules.results import Receipt
from ..rules.scores import Points
from ..rules.submission import Submission, Update
from ..rules.windows import Period, Season
from ..store.board_store import BoardStore
from ..store.bundle import manifest
from ..store.calls import Caller, Dialect
from ..store.season_hash import SeasonHash
from ..store.sharing import Shared
from ..store.users import Users
from .behind import WriteBehind
from .closings import Closed, Closings
from .coalescing import CoalescingLedger
from .differences import Verified
from .draining import ENTRIES_A_STEP
from .duties import Duty
from .ledger import Ledger
from .places import Places
from .reading import LARGEST_PAGE, Clock, Reader, as_count, system_clock
from .rebuilding import Progress, Rebuilt
from .removing import remove_user
from .routing import ToRedisOrSql
from .seasons import Seasons
from .shelf import MOST_ROWS, Shelf
from .submitting import Submitter
from .upkeep import Upkeep

_logger = logging.getLogger("flask_leaderboard")


class Leaderboard(Reader):
    """A board on a Redis server.

    `clock` gives the time in microseconds; `dialect` says how the Lua commands are called (`Scripts()`, or `Functions()`). In
    place of a client, several boards may share a `Caller`. `users` keeps display names, and without it none can be given.
    `counted` is called with the board's name and the receipt of every submission that counted. A board that is `logged` needs its
    `log`, whose events a worker forgets after `keep_days`, if given; its rankings of up to `fallback_rows` users are read from
    SQL while Redis can't be used. With `signal_ms`, changes of a ranking are signalled to those who listen, so many ms apart.
    """

    def __init__(
        self,
        board: Board,
        client: Redis | Caller,
        *,
        prefix: str | None = None,
        clock: Clock = system_clock,
        dialect: Dialect | None = None,
        users: Users | None = None,
        counted: Callable[[str, Receipt], None] | None = None,
        log: EventLog | None = None,
        keep_days: int | None = None,
        fallback_rows: int = MOST_ROWS,
        signal_ms: int | None = None,
    ) -> None:
        board = board.settled("redis_only" if log is None else "ledger")
        caller = client if isinstance(client, Caller) else Caller(client, dialect)
        if caller.client.get_encoder().decode_responses:
            raise ConfigurationError("the Redis client must give bytes: create it without decode_responses=True")
        store = BoardStore(board, caller, prefix or manifest()["key_prefix"], signal_ms=signal_ms)
        if board.logged and log is None:
            raise ConfigurationError(f"board {board.name!r} keeps a log: create it with log=EventLog(board, database)")
        own_log = log if board.logged else None
        self._seasons = Seasons(board, own_log.seasons if own_log else SeasonHash(store))
        super().__init__(board, store, Places(board, store, self._seasons), users, clock)
        self._users = users
        self._closings = Closings(board, store, self._seasons)
        self._counted = counted
        self._ledger = self._keep_log(own_log, keep_days) if own_log else None
        self._upkeep: Upkeep | None = None
        if self._ledger is not None:
            self._upkeep = Upkeep(board, store, self._places, self._ledger, clock)
            shelf = Shelf(board, self._ledger.log, self._ledger.totals, self._ledger.standing, most_rows=fallback_rows)
            self._route = ToRedisOrSql(board, self._live, shelf, clock, self._ledger.standing.behind)
        self._submitter = self._ledger or Submitter(board, store, self._seasons)
        self._shared = {ranks: Shared(partial(self._submit, ranks=ranks)) for ranks in (True, False)}

    def submit(
        self,
        user_id: str,
        points: Points,
        *,
        submission_id: str | None = None,
        at: datetime | None = None,
        segments: Mapping[str, str] | None = None,
        user_name: str | None = None,
        update: Update | None = None,
        ranks: bool = True,
    ) -> Receipt:
        """Count points for a user in every window, at once and once. Threads that submit at the same time share a call."""
        submission = Submission(user_id, points, submission_id, at, segments, user_name, update)
        self._check_names([submission])
        outcome = self._shared[ranks].run(submission)
        if isinstance(outcome, LeaderboardError):
            raise outcome
        self._tell_of([outcome])
        return outcome

    def submit_many(self, submissions: Iterable[Submission], *, ranks: bool = True) -> list[Receipt | LeaderboardError]:
        """Count many submissions, in their order; a receipt for each, or the error it was refused with."""
        listed = list(submissions) if isinstance(submissions, Iterable) else None
        if listed is None or not all(isinstance(item, Submission) for item in listed):
            raise InputError("submit_many takes a list of Submission objects: [Submission(user_id, points)]")
        self._check_names(listed)
        outcomes = self._submit(listed, ranks=ranks)
        self._tell_of(outcomes)
        return outcomes

    def check(self, submission: Submission) -> None:
        """Refuse a submission that would be refused whatever the scores are. Nothing is counted."""
        self._check_names([submission])
        self._submitter.check(submission, self._clock())

    def remove(self, user_id: str, *, ranks: bool = True) -> Receipt:
        """Take a user out of every ranking that is kept; the receipt tells where he stood."""
        if self._ledger is not None:
            return self._ledger.remove(check_user_id(user_id), self._clock(), ranks=ranks)
        return remove_user(self.store, self._places, self._seasons, check_user_id(user_id), self._clock(), ranks=ranks)

    def look(self) -> None:
        """See that Redis has what the log has, and bring it up to date where that is soon done; raise where it is not."""
        if self._ledger is not None:
            self._ledger.standing.look()

    @property
    def log(self) -> EventLog:
        """The board's log."""
        if self._ledger is None:
            raise NoLogError(f"board {self.board.name!r} keeps no log: declare it with mode='ledger'")
        return self._ledger.log

    def history(self, user_id: str, *, limit: int = 10, before: int | None = None) -> list[Event]:
        """Give a user's events in the log, newest first; `before` is the number of one to go on from."""
        log = self.log
        if before is not None:
            as_count(before, "before", 2**53 - 1)
        return log.history(check_user_id(user_id), as_count(limit, "limit", LARGEST_PAGE + 1), before)

    def rebuild(self, *, windows: Sequence[str] = (), from_log: bool = False, progress: Progress | None = None) -> Rebuilt:
        """Make the data in Redis anew from the log's totals, beside the live data, and swap it in: all, or some windows.

        `from_log` makes the totals anew before, by the rules as they are now.
        """
        return self._kept_up.rebuilder.run(windows, from_log=from_log, progress=progress)

    def verify(self, *, windows: Sequence[str] = (), progress: Progress | None = None) -> Verified:
        """Compare the data in Redis with the fold of the log, while others write: of all windows, or of some."""
        return self._kept_up.verifier.run(windows, progress=progress)

    @property
    def _kept_up(self) -> Upkeep:
        if self._upkeep is None:
            raise NoLogError(f"board {self.board.name!r} keeps no log: declare it with mode='ledger'")
        return self._upkeep

    @property
    def keeps_log(self) -> bool:
        return self._ledger is not None

    @property
    def counts_first(self) -> bool:
        """Whether events are counted in Redis before they come to the log."""
        return isinstance(self._ledger, WriteBehind)

    def fold_through(self, number: int) -> None:
        """See that Redis has the log's events up to a number; where it can't now, they wait for it."""
        if self._ledger is not None:
            self._ledger.fold_through(number)

    @property
    def duties(self) -> tuple[Duty, ...]:
        """What a worker does for the board: nothing without a log."""
        if self._ledger is None:
            return ()
        if not any(isinstance(window, Season) for window in self.board.windows):
            return self._ledger.duties
        return (*self._ledger.duties, Duty("seasons", lambda now: self.expire_ended_seasons()))

    def start_season(self, season: str, *, window: str = "season") -> Period:
        """Start a season by its name."""
        return self._seasons.start(window, season, self._clock())

    def end_season(self, *, window: str = "season") -> Period:
        """End the running season; it stays readable for the window's retention."""
        ended = self._seasons.end(window, self._clock())
        try:
            self.expire_ended_seasons()
        except TemporaryError as error:
            _logger.warning("season '%s' has ended, but when its keys expire could not be set: %s", ended.id, error)
        return ended

    def expire_ended_seasons(self) -> bool:
        """Set when Redis drops what it holds of ended seasons; repeated, it mends what a process left that died in `end_season`.

        What is in the log is folded before: it may bring keys that are not there yet. False: there is never more to do.
        """
        windows = [window for window in self.board.windows if isinstance(window, Season)]
        if windows and self._ledger is not None:
            self._ledger.fold_all()
        now = self._clock()
        for window in windows:
            for period in self._seasons.live(window, now):
                self.store.expire_period(window, period)
        return False

    def tell_of_closed(self, told: Callable[[str, Closed], None]) -> int:
        """Call `told` with the board's name and each period that has closed since anybody was told, at least once.

        Give the time before which there is nothing to look for.
        """

        def tell(closed: Closed) -> None:
            if self.board.coalesce_ms:
                self.flush()  # who is told reads what it closed with
            told(self.board.name, closed)

        return self._closings.tell(self._clock(), tell)

    def flush(self) -> None:
        """Let Redis have now what is in the log and waits there for the end of an interval (`coalesce_ms`)."""
        if self._ledger is not None:
            self._ledger.fold_all()

    def close(self) -> None:
        """See that nothing waits for this process, which is about to end."""
        if isinstance(self._ledger, Ledger):
            self._ledger.close()

    def drain(self, most: int = ENTRIES_A_STEP) -> bool:
        """Take what is oldest in the board's journal to its log; tell whether there may be more. Any number of processes may."""
        return isinstance(self._ledger, WriteBehind) and self._ledger.drain(most)

    def drain_all(self) -> None:
        """Take all to the log that the board has counted by now."""
        if isinstance(self._ledger, WriteBehind):
            self._ledger.drain_all()

    def _keep_log(self, log: EventLog, keep_days: int | None) -> Ledger | WriteBehind:
        if self.board.mode == "write_behind":
            return WriteBehind(self.board, self.store, self._places, log, keep_days=keep_days)
        if self.board.coalesce_ms:
            return CoalescingLedger(self.board, self.store, self._places, log, clock=self._clock, keep_days=keep_days)
        return Ledger(self.board, self.store, self._places, log, keep_days=keep_days)

    def _check_names(self, submissions: Sequence[Submission]) -> None:
        if self._users is None and any(item.user_name is not None for item in submissions):
            raise ConfigurationError("user_name can't be kept: create the Leaderboard with users=Users(caller, prefix)")

    def _tell_of(self, outcomes: Sequence[Receipt | LeaderboardError]) -> None:
        if self._counted is not None:
            for outcome in outcomes:
                if isinstance(outcome, Receipt) and not outcome.duplicate:
                    self._counted(self.board.name, outcome)

    def _submit(self, submissions: Sequence[Submission], *, ranks: bool) -> list[Receipt | LeaderboardError]:
        outcomes = self._submitter.submit(submissions, self._clock(), ranks=ranks)
        if self._users is not None:
            taken = (item for item, outcome in zip(submissions, outcomes, strict=True) if isinstance(outcome, Receipt))
            self._keep_names(self._users, {item.user_id: item.user_name for item in taken if item.user_name is not None})
        return outcomes

    def _keep_names(self, users: Users, names: dict[str, str]) -> None:
        """Keep display names. The scores have counted, so a failure here must not look as if they had not."""
        try:
            if self._ledger is None:
                users.put_names(names)
            else:
                users.put_logged_names(names, self._ledger.log.profile_version)
        except LeaderboardError as error:
            _logger.warning("%d display names were not kept: %s", len(names), error)
