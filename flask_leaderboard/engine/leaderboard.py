"""A board with its data: what games call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from redis import Redis

from ..errors import ConfigurationError, InputError, LeaderboardError, NoLogError
from ..log.event_log import EventLog
from ..log.events import Event
from ..rules.board import Board
from ..rules.identity import check_user_id
from ..rules.results import Receipt
from ..rules.scores import Points
from ..rules.submission import Submission, Update
from ..rules.windows import Period
from ..store.board_store import BoardStore
from ..store.bundle import manifest
from ..store.calls import Caller, Dialect
from ..store.sharing import Shared
from ..store.users import Users
from .closings import Closed, Closings
from .differences import Verified
from .ledger import Ledger
from .places import Places
from .reading import LARGEST_PAGE, Clock, Reader, as_count, system_clock
from .rebuilding import Progress, Rebuilt
from .removing import remove_user
from .seasons import Seasons
from .submitting import Submitter
from .upkeep import Upkeep

T = TypeVar("T")
_logger = logging.getLogger("flask_leaderboard")


class Leaderboard(Reader):
    """A board on a Redis server.

    `clock` gives the time in microseconds; `dialect` says how the Lua commands are called (`Scripts()`, or `Functions()`). In
    place of a client, several boards may share a `Caller`. `users` keeps display names, and without it none can be given.
    `counted` is called with the board's name and the receipt of every submission that counted. A board of mode "ledger" needs its
    `log`.
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
    ) -> None:
        caller = client if isinstance(client, Caller) else Caller(client, dialect)
        if caller.client.get_encoder().decode_responses:
            raise ConfigurationError("the Redis client must give bytes: create it without decode_responses=True")
        store = BoardStore(board, caller, prefix or manifest()["key_prefix"])
        self._seasons = Seasons(board, store)
        super().__init__(board, store, Places(board, store, self._seasons), users, clock)
        self._users = users
        self._closings = Closings(board, store, self._seasons)
        self._counted = counted
        if board.mode == "ledger" and log is None:
            raise ConfigurationError(f"board {board.name!r} keeps a log: create it with log=EventLog(board, database)")
        self._ledger = Ledger(board, store, self._places, log) if board.mode == "ledger" and log is not None else None
        self._upkeep: Upkeep | None = None
        if self._ledger is not None:
            self._upkeep = Upkeep(board, store, self._places, self._seasons, self._ledger.log, self._ledger.folder, clock)
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
        listed = list(submissions)
        if not all(isinstance(item, Submission) for item in listed):
            raise InputError("submit_many takes Submission objects: Submission(user_id, points)")
        self._check_names(listed)
        outcomes = self._submit(listed, ranks=ranks)
        self._tell_of(outcomes)
        return outcomes

    def remove(self, user_id: str, *, ranks: bool = True) -> Receipt:
        """Take a user out of every ranking that is kept; the receipt tells where he stood."""
        if self._ledger is not None:
            return self._ledger.remove(check_user_id(user_id), self._clock(), ranks=ranks)
        return remove_user(self.store, self._places, self._seasons, check_user_id(user_id), self._clock(), ranks=ranks)

    def history(self, user_id: str, *, limit: int = 10, before: int | None = None) -> list[Event]:
        """Give a user's events in the log, newest first; `before` is the number of one to go on from."""
        if before is not None:
            as_count(before, "before", 2**53 - 1)
        return self._log_of(self._ledger).log.history(check_user_id(user_id), as_count(limit, "limit", LARGEST_PAGE + 1), before)

    def rebuild(self, *, windows: Sequence[str] = (), from_log: bool = False, progress: Progress | None = None) -> Rebuilt:
        """Make the data in Redis anew from the log's totals, beside the live data, and swap it in: all, or some windows.

        `from_log` makes the totals anew before, by the rules as they are now.
        """
        return self._log_of(self._upkeep).rebuilder.run(windows, from_log=from_log, progress=progress)

    def verify(self, *, windows: Sequence[str] = (), progress: Progress | None = None) -> Verified:
        """Compare the data in Redis with the fold of the log, while others write: of all windows, or of some."""
        return self._log_of(self._upkeep).verifier.run(windows, progress=progress)

    def _log_of(self, part: T | None) -> T:
        if part is None:
            raise NoLogError(f"board {self.board.name!r} keeps no log: declare it with mode='ledger'")
        return part

    def start_season(self, season: str, *, window: str = "season") -> Period:
        """Start a season by its name."""
        return self._seasons.start(window, season, self._clock())

    def end_season(self, *, window: str = "season") -> Period:
        """End the running season; it stays readable for the window's retention."""
        ended = self._seasons.end(window, self._clock())
        self.store.expire_period(self.board.window(window), ended)
        return ended

    def tell_of_closed(self, told: Callable[[str, Closed], None]) -> int:
        """Call `told` with the board's name and each period that has closed since anybody was told, at least once.

        Give the time before which there is nothing to look for.
        """
        return self._closings.tell(self._clock(), lambda closed: told(self.board.name, closed))

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
            users.put_names(names)
        except LeaderboardError as error:
            _logger.warning("%d display names were not kept: %s", len(names), error)
