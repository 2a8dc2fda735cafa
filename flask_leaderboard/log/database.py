"""The database that the log is in: its connections, and what is particular to each kind."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, Insert, Table, insert, make_url, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from ..errors import ConfigurationError, LogUnavailableError
from .engines import SNAPSHOT, borrow_engine, is_in_memory, make_engine
from .migrating import current, newest, upgrade
from .tables import boards

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
EXTRAS = {"psycopg": "flask-leaderboard[postgresql]", "pymysql": "flask-leaderboard[mysql]"}
TRIES = 5
_SNAPSHOTS: dict[str, dict[str, Any]] = {
    "sqlite": {SNAPSHOT: True},
    "postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
}
T = TypeVar("T")


def database_url(text: str | None, folder: Path) -> URL:
    """Read the URL of a database; without one it is a SQLite file in the folder."""
    if text is None:
        return URL.create("sqlite", database=str(folder / "log.sqlite3"))
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise ConfigurationError(f"LEADERBOARD_DATABASE_URL can't be read: {error}") from None
    kind, url = url.get_backend_name(), url.set(drivername=DRIVERS.get(url.drivername, url.drivername))
    if kind not in ("sqlite", *DRIVERS):
        raise ConfigurationError(f"LEADERBOARD_DATABASE_URL must be of one of {', '.join(('sqlite', *DRIVERS))}, not {kind!r}")
    if kind == "sqlite" and is_in_memory(url):
        raise ConfigurationError(
            "LEADERBOARD_DATABASE_URL is a SQLite database in memory, where the log would be lost: name a file"
        )
    driver = url.drivername.partition("+")[2]
    if driver in EXTRAS and find_spec(driver) is None:
        raise ConfigurationError(f'LEADERBOARD_DATABASE_URL needs {driver!r}, which is not installed: install "{EXTRAS[driver]}"')
    return url


class Database:
    """One process's connections. Whatever goes wrong on the way comes as a `LogUnavailableError`.

    An engine in place of a URL is the host's: it is shared, and left open.
    `own` says that the database is the extension's own file: it is created and migrated at the first use. Others are migrated by
    their operator, with ``flask leaderboard db upgrade``.
    """

    def __init__(self, source: URL | Engine, *, own: bool = False) -> None:
        self._own = own
        self._borrowed = isinstance(source, Engine)
        self._lock = threading.Lock()
        self._ready = False
        self.engine = borrow_engine(source) if isinstance(source, Engine) else make_engine(source)

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
        with self.connect() as connection, connection.execution_options(**{SNAPSHOT: True}).begin():
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Give a connection that sees all tables as they are at one moment, for reading; it keeps nobody waiting."""
        self._see_to_tables()
        with self.connect() as connection:
            chosen = connection.execution_options(
                **_SNAPSHOTS.get(connection.dialect.name, {"isolation_level": "REPEATABLE READ"})
            )
            with chosen.begin():
                yield chosen

    def probe(self) -> None:
        """See that the tables can be read."""
        with self.reading() as connection:
            connection.execute(select(boards.c.id).limit(1))

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

    @property
    def driver(self) -> str:
        """The kind of database and its driver, as URLs name them."""
        return f"{self.engine.dialect.name}+{self.engine.dialect.driver}"

    @contextmanager
    def driven(self, connection: Connection) -> Iterator[Any]:
        """Give the driver's own connection behind one, for what takes too long by way of SQLAlchemy."""
        own: Any = connection.connection.dbapi_connection
        try:
            yield own
        except self.engine.dialect.loaded_dbapi.Error as error:
            if self.engine.dialect.is_disconnect(error, own, None):
                connection.invalidate(error)
            raise DBAPIError(None, None, error) from error

    def insert_new(self, table: Table) -> Insert:
        """Give an insert that passes over rows that are there already."""
        if self.engine.dialect.name == "postgresql":
            return postgresql.insert(table).on_conflict_do_nothing()
        if self.engine.dialect.name == "sqlite":
            return sqlite.insert(table).on_conflict_do_nothing()
        return insert(table).prefix_with("IGNORE")

    def migrate(self) -> None:
        """Bring the tables up to date."""
        try:
            with self.connect() as connection, connection.begin():
                upgrade(connection)
        except CommandError as error:
            raise LogUnavailableError(f"the log's tables were made by another version of this package: {error}") from error

    def close(self) -> None:
        if not self._borrowed:
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
                _lock_alone(lock.fileno())
                if not self._is_current():
                    self.migrate()
        except OSError as error:
            raise LogUnavailableError(f"the log can't be kept in {str(file.parent)!r}: {error}") from error


def _lock_alone(file: int) -> None:
    """Lock an open file until it is closed; wait for who has it."""
    if sys.platform == "win32":
        msvcrt.locking(file, msvcrt.LK_LOCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX)


def _gave_way(error: DBAPIError) -> bool:
    """Tell whether a transaction was undone only because of another one: a deadlock, or a lock that took too long."""
    state = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)  # psycopg 3, psycopg 2
    code = state or next(iter(getattr(error.orig, "args", ())), None)
    return code in ("40001", "40P01", 1205, 1213)


def _told(error: SQLAlchemyError) -> str:
    cause = getattr(error, "orig", None) or error
    return f"{type(cause).__name__}: {cause}".splitlines()[0]
