"""All boards of an app on one Redis."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import ConfigurationError, LeaderboardError, NoLogError, UnknownBoardError
from ..log.database import Database
from ..log.erasing import Erasures
from ..log.event_log import EventLog
from ..log.profiles import ProfileTable
from ..rules.board import Board, Mode
from ..rules.identity import check_user_id
from ..rules.instants import MICROSECONDS
from ..rules.results import Receipt
from ..store.app_keys import AppKeys
from ..store.calls import Caller, Dialect, Functions, Scripts
from ..store.gate import Gate
from ..store.users import Users
from .closings import Closed
from .erasing import Eraser, erase_user
from .leaderboard import Leaderboard
from .profiles import LoggedUsers
from .reading import Clock
from .shelf import MOST_ROWS

_logger = logging.getLogger("flask_leaderboard")


@dataclass(frozen=True)
class Opened:
    """What one process has open."""

    caller: Caller
    users: Users
    boards: Mapping[str, Leaderboard]
    app_keys: AppKeys
    eraser: Eraser | None = None
    background: Background | None = None


class Background(Protocol):
    """Work that goes on beside the requests of a process."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Hub(Mapping[str, Leaderboard]):
    """Boards by name, the first one declared being the default. Opened when first used, and anew in a forked child."""

    def __init__(
        self,
        boards: Iterable[Board],
        connect: Callable[[], Any],
        *,
        prefix: str,
        clock: Clock,
        functions: bool = False,
        rest_seconds: float = 1.0,
        counted: Callable[[str, Receipt], None] | None = None,
        closed: Callable[[str, Closed], None] | None = None,
        open_database: Callable[[], Database] | None = None,
        background: Callable[[Hub], Background] | None = None,
        keep_days: int | None = None,
        mode: Mode = "ledger",
        fallback_rows: int = MOST_ROWS,
        signal_ms: int | None = None,
    ) -> None:
        self._rules: dict[str, Board] = {}
        for board in boards:
            if board.name in self._rules:
                raise ConfigurationError(f"two boards are called {board.name!r}: give one of them another name")
            self._rules[board.name] = board.settled(mode if open_database else "redis_only")
        if not self._rules:
            raise ConfigurationError("there is no board: declare one, such as boards=[Board('arena')]")
        self._connect = connect
        self._prefix = prefix
        self.clock = clock
        self._dialect: Dialect = Functions() if functions else Scripts()
        self._gate = Gate(rest_seconds=rest_seconds)
        self._counted = counted
        self._closed = closed
        self._open_database = open_database
        self._background = background
        self._keep_days = keep_days
        self._fallback_rows = fallback_rows
        self._signal_ms = signal_ms
        self._closers: list[Callable[[], None]] = []
        self._looked_at = 0
        self._look_at = 0
        self._opened: dict[int, Opened] = {}
        self._databases: dict[int, Database] = {}

    def __getitem__(self, name: str) -> Leaderboard:
        if name not in self._rules:
            known = ", ".join(repr(other) for other in self._rules)
            raise UnknownBoardError(f"there is no board {name!r}: there is {known}")
        return self.opened.boards[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, name: object) -> bool:
        return name in self._rules

    @property
    def default(self) -> Leaderboard:
        """The board of calls that name none: the first one declared."""
        return self[next(iter(self._rules))]

    @property
    def users(self) -> Users:
        return self.opened.users

    @property
    def database(self) -> Database:
        """The database of the log."""
        if self._open_database is None or not self.keeps_log:
            raise NoLogError("no board keeps a log: declare one with mode='ledger'")
        process = os.getpid()
        return self._databases.get(process) or self._databases.setdefault(process, self._open_database())

    @property
    def keeps_log(self) -> bool:
        """Whether a board has a log."""
        return any(board.logged for board in self._rules.values())

    @property
    def caller(self) -> Caller:
        return self.opened.caller

    @property
    def opened(self) -> Opened:
        """What this process has open."""
        process = os.getpid()
        opened = self._opened.get(process)
        if opened is None:
            # A forked child gets connections, locks and batches of its own; two threads that come first settle it here.
            mine = self._open()
            opened = self._opened.setdefault(process, mine)
            if opened is mine and opened.background is not None:
                opened.background.start()
            for warning in self.warnings():
                _logger.warning(warning)
        return opened

    @property
    def app_keys(self) -> AppKeys:
        """What the processes of the app share beside the boards."""
        return self.opened.app_keys

    def _open(self) -> Opened:
        caller = Caller(self._connect(), self._dialect, self._gate)
        logged = LoggedUsers(caller, self._prefix, ProfileTable(self.database)) if self.keeps_log else None
        users = logged or Users(caller, self._prefix)
        boards = {
            name: Leaderboard(
                board,
                caller,
                prefix=self._prefix,
                clock=self.clock,
                users=users,
                counted=self._tell_of_counted,
                log=EventLog(board, self.database) if board.logged else None,
                keep_days=self._keep_days,
                fallback_rows=self._fallback_rows,
                signal_ms=self._signal_ms,
            )
            for name, board in self._rules.items()
        }
        eraser = (
            Eraser(
                boards,
                logged,
                Erasures(self.database, [name for name, board in boards.items() if board.counts_first]),
                caller,
                self._prefix,
            )
            if logged
            else None
        )
        wanted = self._background is not None and any(board.duties for board in boards.values())
        return Opened(
            caller,
            users,
            boards,
            AppKeys(caller, self._prefix),
            eraser,
            self._background(self) if self._background and wanted else None,
        )

    def tell_of_closed(self) -> None:
        """Tell of periods that have closed; asks Redis only where one can have, and a failure is only logged."""
        now = self.clock()
        if self._closed is None or self._looked_at <= now < self._look_at:
            return
        self._looked_at, self._look_at = now, now + MICROSECONDS
        self._look_at = min(self._tell_of_closed(board, self._closed) for board in self._rules)

    def _tell_of_closed(self, name: str, closed: Callable[[str, Closed], None]) -> int:
        try:
            return self[name].tell_of_closed(closed)
        except LeaderboardError as error:
            _logger.warning("could not look for closed periods of board '%s': %s", name, error)
            return self.clock() + MICROSECONDS

    def _tell_of_counted(self, board: str, receipt: Receipt) -> None:
        if self._counted is not None:
            self._counted(board, receipt)
        self.tell_of_closed()

    def erase(self, user_id: str) -> None:
        """Take a user off every board, and forget the name and metadata."""
        check_user_id(user_id)
        opened = self.opened
        if opened.eraser is None:
            erase_user(user_id, opened.boards, opened.users)
        else:
            opened.eraser.erase(user_id, self.clock())

    def tend_users(self) -> bool:
        """Do a step of what users need: bring changes from SQL to Redis, forget ids of the erased; tell whether to go on."""
        opened = self.opened
        if opened.eraser is None or not isinstance(opened.users, LoggedUsers):
            return False
        return opened.users.step() | opened.eraser.forget(self.clock())

    def warnings(self) -> list[str]:
        """Tell what is set up on the server in a way that can lose data; nothing where the server does not say."""
        try:
            memory = self.caller.use(lambda client: client.info("memory"))
        except (LeaderboardError, NotImplementedError):
            return []
        nodes = memory.values() if memory and isinstance(next(iter(memory.values())), dict) else [memory]
        policies = {str(node.get("maxmemory_policy", "noeviction")) for node in nodes if int(node.get("maxmemory", 0))}
        return [
            f"Redis may evict scores: its maxmemory-policy is '{policy}', set it to 'noeviction'"
            for policy in sorted(policies - {"noeviction"})
        ]

    def connect(self) -> Any:
        """Give a client of its own to who waits long for Redis."""
        return self._connect()

    def before_close(self, closer: Callable[[], None]) -> None:
        """Have something called before the connections are closed: what would open them again."""
        self._closers.append(closer)

    def close(self) -> None:
        """Close this process's connections; the next call opens new ones."""
        for closer in self._closers:
            closer()
        opened = self._opened.get(os.getpid())
        if opened is not None:
            if opened.background is not None:
                opened.background.stop()  # before anything is closed: its next step would open it again
            for board in opened.boards.values():
                board.close()
            del self._opened[os.getpid()]
            opened.caller.client.close()
        database = self._databases.pop(os.getpid(), None)
        if database is not None:
            database.close()
