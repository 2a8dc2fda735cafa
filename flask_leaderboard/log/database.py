"""The database that the log is in: its connections, and what is particular to each kind."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, Insert, Table, create_engine, event, insert, make_url
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import NullPool

from ..errors import ConfigurationError, LogUnavailableError
from .migrating import current, newest, upgrade

DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
BUSY_SECONDS = 10
TRIES = 5
_DEFERRED = "leaderboard_deferred"
"""Marks a connection that only reads: SQLite takes the lock of writers for others at once."""
T = TypeVar("T")


def database_url(text: str | None, folder: Path) -> URL:
    """Read the URL of a database; without one it is a SQLite file in the folder."""
    if text is None:
        return URL.create("sqlite", database=str(folder / "log.sqlite3"))
    try:
        url = make_url(text)
        return url.set(drivername=DRIVERS.get(url.drivername, url.drivername))
    except ArgumentError as error:
        raise ConfigurationError(f"LEADERBOARD_DATABASE_URL can't be read: {error}") from None


class Database:
    """One process's connections. Whatever goes wrong on the way comes as a `LogUnavailableError`.

    `own` says that the database is the extension's own file: it is created and migrated at the first use. Others are migrated by
    their operator, with ``flask leaderboard db upgrade``.
    """

    def __init__(self, url: URL, *, own: bool = False) -> None:
        self._own = own
        self._lock = threading.Lock()
        self._ready = False
        self.engine = _make_engine(url)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Give a connection with a transaction that is committed at the end of the block."""
        self._see_to_tables()
        with self.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection to read with: on SQLite it does not wait for who writes."""
        self._see_to_tables()
        with self.connect() as connection, connection.execution_options(**{_DEFERRED: True}).begin():
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Give a connection that sees all as it is now, whatever others write meanwhile; it keeps nobody waiting."""
        self._see_to_tables()
        options: dict[str, Any] = {_DEFERRED: True}
        if self.engine.dialect.name != "sqlite":
            options["isolation_level"] = "REPEATABLE READ"
        with self.connect() as connection, connection.execution_options(**options).begin():
            yield connection

    def attempt(self, work: Callable[[Connection], T]) -> T:
        """Do work in a transaction, again where the database gave it up in favour of another one."""
        self._see_to_tables()
        for left in reversed(range(TRIES)):
            with self.connect() as connection:
                try:
                    with connection.begin():
                        return work(connection)
                except DBAPIError as error:
                    if not left or not _gave_way(error):
                        raise
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Give a connection; tables may be missing or old."""
        try:
            with self.engine.connect() as connection:
                yield connection
        except (DBAPIError, PoolTimeoutError) as error:
            raise LogUnavailableError(
                f"the log can't be reached ({_told(error)}): see that the database runs and LEADERBOARD_DATABASE_URL is right"
            ) from error

    def insert_new(self, table: Table) -> Insert:
        """Give an insert that passes over rows that are there already."""
        if self.engine.dialect.name == "postgresql":
            return postgresql.insert(table).on_conflict_do_nothing()
        if self.engine.dialect.name == "sqlite":
            return sqlite.insert(table).on_conflict_do_nothing()
        return insert(table).prefix_with("IGNORE")

    def upsert(self, table: Table) -> Insert:
        """Give an insert that writes over rows with the same primary key."""
        keys = list(table.primary_key.columns)
        others = [column.name for column in table.columns if not column.primary_key]
        if self.engine.dialect.name in ("mysql", "mariadb"):
            row: Any = mysql.insert(table)
            return cast(Insert, row.on_duplicate_key_update({name: row.inserted[name] for name in others}))
        new: Any = (postgresql if self.engine.dialect.name == "postgresql" else sqlite).insert(table)
        return cast(Insert, new.on_conflict_do_update(index_elements=keys, set_={name: new.excluded[name] for name in others}))

    def migrate(self) -> None:
        """Bring the tables up to date."""
        try:
            with self.connect() as connection, connection.begin():
                upgrade(connection)
        except CommandError as error:
            raise LogUnavailableError(f"the log's tables were made by another version of this package: {error}") from error

    def close(self) -> None:
        self.engine.dispose()

    def _see_to_tables(self) -> None:
        if self._ready:
            return
        with self._lock:
            if self._own:
                self._see_to_own_tables(Path(str(self.engine.url.database)))
            elif not self._is_current():
                raise LogUnavailableError("the log's tables are missing or old: run 'flask leaderboard db upgrade'")
            self._ready = True

    def _is_current(self) -> bool:
        with self.connect() as connection:
            return current(connection) == newest()

    def _see_to_own_tables(self, file: Path) -> None:
        """Make the file and its tables; of processes that start together one does, before any other opens the file."""
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not self._is_current():
                    self.migrate()
        except OSError as error:
            raise LogUnavailableError(f"the log can't be kept in {str(file.parent)!r}: {error}") from error


def _make_engine(url: URL) -> Engine:
    options: dict[str, Any] = {"pool_pre_ping": True, "pool_recycle": 1800}
    if url.get_backend_name() == "sqlite":
        # No connection outlives its transaction: a forked child would share SQLite's locks with its parent, and write to
        # files that the parent has removed.
        options = {"connect_args": {"timeout": BUSY_SECONDS}, "poolclass": NullPool}
    else:
        options["isolation_level"] = "READ COMMITTED"  # what is read under the board's lock must be as it is now
    try:
        engine = create_engine(url, **options)
    except (ImportError, NoSuchModuleError) as error:
        raise ConfigurationError(
            f"LEADERBOARD_DATABASE_URL needs a driver that is not here ({error}):"
            ' install "flask-leaderboard[postgresql]" or "flask-leaderboard[mysql]"'
        ) from error
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_immediate)
    return engine


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # we begin transactions ourselves: the driver would begin them too late
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}").close()


def _begin_immediate(connection: Connection) -> None:
    deferred = connection.get_execution_options().get(_DEFERRED, False)
    connection.exec_driver_sql("BEGIN" if deferred else "BEGIN IMMEDIATE")


def _gave_way(error: DBAPIError) -> bool:
    """Tell whether a transaction was undone only because of another one: a deadlock, or a lock that took too long."""
    code = getattr(error.orig, "sqlstate", None) or next(iter(getattr(error.orig, "args", ())), None)
    return code in ("40001", "40P01", 1205, 1213)


def _told(error: SQLAlchemyError) -> str:
    cause = getattr(error, "orig", None) or error
    return f"{type(cause).__name__}: {cause}".splitlines()[0]
