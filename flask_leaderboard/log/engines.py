"""Engines for the log: one of its own, or one that shares the host's connections and leaves the host as it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from ..errors import ConfigurationError

BUSY_SECONDS = 10
_CONNECT: dict[str, Any] = {"connect_timeout": 5}
_KEEP_ALIVE = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}
PATIENCE: dict[str, dict[str, Any]] = {
    "psycopg": {**_CONNECT, **_KEEP_ALIVE},
    "psycopg2": {**_CONNECT, **_KEEP_ALIVE},
    "pymysql": _CONNECT,
    "mysqldb": _CONNECT,
}
"""How long drivers wait for a host that is gone: without an end, or for some minutes, if they are not told."""
RESTED_SECONDS = 1.0
USED = "leaderboard_used"
ISOLATION = "READ COMMITTED"
"""What is read under the board's lock must be as it is now."""
WRITE_AHEAD = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
AS_THE_HOST_WRITES = ("synchronous=EXTRA", "foreign_keys=ON")
"""The journal's mode belongs to the file, so it stays as the host has it; without a write-ahead log only EXTRA is durable."""
SNAPSHOT = "leaderboard_snapshot"
"""The option of a connection to SQLite that only reads."""


def make_engine(url: URL) -> Engine:
    """Make an engine of the log's own."""
    try:
        if url.get_backend_name() == "sqlite":
            return _make_sqlite_engine(url, WRITE_AHEAD)
        own = {name: value for name, value in PATIENCE.get(url.get_driver_name(), {}).items() if name not in url.query}
        engine = create_engine(url, pool_recycle=1800, isolation_level=ISOLATION, connect_args=own)
    except (ImportError, NoSuchModuleError) as error:
        raise ConfigurationError(
            f"LEADERBOARD_DATABASE_URL needs a driver that is not here ({error}):"
            ' install "flask-leaderboard[postgresql]" or "flask-leaderboard[mysql]"'
        ) from error
    _ping_rested(engine)
    return engine


def _ping_rested(engine: Engine) -> None:
    """Ask connections that were not used for a while whether they live: to ask before each use takes as long as a statement."""

    def check(connection: Any, record: Any, _fairy: Any) -> None:
        if time.monotonic() - record.info.get(USED, -RESTED_SECONDS) < RESTED_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise DisconnectionError from error

    def note_use(_connection: Any, record: Any) -> None:
        record.info[USED] = time.monotonic()

    event.listen(engine, "checkout", check)
    event.listen(engine, "checkin", note_use)


def borrow_engine(host: Engine) -> Engine:
    """Give an engine on the host's database. It shares the host's pool, so it must not be disposed of.

    SQLite needs other settings on its connections than the host may have: there it is an engine of its own on the same file.
    """
    if host.dialect.name == "sqlite":
        if is_in_memory(host.url):
            raise ConfigurationError(
                "LEADERBOARD_DATABASE_BIND names a SQLite database in memory, where the log would be lost and no other connection"
                " sees it: use a file there, or LEADERBOARD_DATABASE_URL in its place"
            )
        return _make_sqlite_engine(host.url, AS_THE_HOST_WRITES)
    if host.dialect.name not in ("postgresql", "mysql", "mariadb"):
        raise ConfigurationError(
            f"LEADERBOARD_DATABASE_BIND names a database of the kind {host.dialect.name!r}, which can't keep the log:"
            " use LEADERBOARD_DATABASE_URL with PostgreSQL, MariaDB, MySQL or SQLite"
        )
    return host.execution_options(isolation_level=ISOLATION)


def _make_sqlite_engine(url: URL, settings: tuple[str, ...]) -> Engine:
    # No connection outlives its transaction: a forked child would share SQLite's locks with its parent, and write to files that
    # the parent has removed.
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, poolclass=NullPool)
    event.listen(engine, "connect", _set_up_sqlite(settings))
    event.listen(engine, "begin", _begin)
    return engine


def _set_up_sqlite(settings: tuple[str, ...]) -> Callable[[Any, Any], None]:
    def set_up(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # we begin transactions ourselves: the driver would begin them too late
        for setting in settings:
            connection.execute(f"PRAGMA {setting}").close()

    return set_up


def _begin(connection: Connection) -> None:
    """Begin as a writer, who waits his turn; one who only reads sees a snapshot."""
    reads = connection.get_execution_options().get(SNAPSHOT, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def is_in_memory(url: URL) -> bool:
    """Tell whether a SQLite database is in memory, where no other connection sees it."""
    name = url.database or ""
    return not name or ":memory:" in name or "mode=memory" in name or url.query.get("mode") == "memory"
