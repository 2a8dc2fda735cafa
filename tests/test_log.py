"""The log on every database: numbered without gaps, exactly once, whatever runs beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from flask import Flask
from sqlalchemy import Connection, event, insert, text, update
from sqlalchemy.exc import OperationalError

from flask_leaderboard import Board, Leaderboards
from flask_leaderboard.errors import ConfigurationError, ConflictError, LogUnavailableError
from flask_leaderboard.log.appending import Appender
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.events import Draft, Logged
from flask_leaderboard.log.migrating import VERSION_TABLE, current, newest, upgrade, upgrade_sql
from flask_leaderboard.log.short_way import ADD_USERS, ShortWay
from flask_leaderboard.log.tables import events, metadata, users
from tests.databases import DatabaseServer
from tests.waiting import until

NOW = 1_763_424_000_000_000
STRANGE = ("é", "e\u0301", "E", "e", "e ", "😀", "user'; --", "%s", "\\")


def draft(user_id: str = "mary", points: Any = 1, identity: str | None = None, **more: Any) -> Draft:
    return Draft(
        more.pop("kind", "submit"), user_id, points, more.pop("at", NOW), NOW, "increment", submission_id=identity, **more
    )


@pytest.fixture
def log(database: Database) -> EventLog:
    return EventLog(Board("arena"), database)


@pytest.fixture
def postgresql(database_servers: Callable[[str], DatabaseServer], tmp_path: Path) -> Iterator[Database]:
    database = Database(database_url(database_servers("postgresql").empty(), tmp_path))
    database.migrate()
    yield database
    database.close()


def numbers(outcomes: list[Any]) -> list[int]:
    return [outcome.number for outcome in outcomes]


def test_events_come_back_as_they_were_written(log: EventLog) -> None:
    drafts = [draft(user, 2**53 - 1, f"match {user}", at=NOW + 1, segments=("country=NL", "league=ü")) for user in STRANGE]
    assert numbers(log.append(drafts)) == list(range(1, len(drafts) + 1))
    found = log.read(0, 100)
    assert [event.user_id for event in found] == list(STRANGE)
    assert [event.submission_id for event in found] == [f"match {user}" for user in STRANGE]
    assert {(e.points, e.at, e.taken_at, e.update, e.segments) for e in found} == {
        (2**53 - 1, NOW + 1, NOW, "increment", ("country=NL", "league=ü"))
    }
    assert [event.number for event in log.read(3, 2)] == [4, 5]


@pytest.mark.parametrize("points", [0.1, 1e308, -5e-324, 1 / 3, 2.0**70])
def test_doubles_come_back_to_the_last_bit(database: Database, points: float) -> None:
    log = EventLog(Board("race", score_type="float"), database)
    log.append([draft(points=points)])
    assert log.read(0, 1)[0].points == points


def test_numbers_are_given_per_board(database: Database) -> None:
    one, other = EventLog(Board("one"), database), EventLog(Board("other"), database)
    assert (one.head(), other.head()) == (0, 0)
    one.append([draft(), draft()])
    assert numbers(other.append([draft()])) == [1]
    assert (one.head(), other.head()) == (2, 1)


def test_an_id_is_written_once_for_ever(log: EventLog) -> None:
    assert log.append([draft(identity="m1"), draft(identity="m1"), draft("bob", identity="m1")]) == [
        Logged(1),
        Logged(1, known=True),
        Logged(2),
    ]
    assert log.append([draft(identity="m1"), draft(identity="M1")]) == [Logged(1, known=True), Logged(3)]
    assert log.head() == 3


def test_an_id_with_other_points_is_a_conflict_and_stops_no_other(log: EventLog) -> None:
    log.append([draft(identity="m1")])
    refused, taken = log.append([draft(points=2, identity="m1"), draft(identity="m2")])
    assert isinstance(refused, ConflictError)
    assert taken == Logged(2)


def test_what_is_too_late_is_only_looked_up(log: EventLog) -> None:
    log.append([draft(identity="m1")])
    late = [draft(identity="m1", too_late=True), draft(identity="m2", too_late=True)]
    assert log.append(late) == [Logged(1, known=True), None]
    assert log.head() == 1


def test_refusals_are_told_to_who_sends_it_again(log: EventLog) -> None:
    log.append([draft(identity="m1")])
    log.note_refusals([(1, "score_range")])
    assert log.append([draft(identity="m1")]) == [Logged(1, known=True, refused="score_range")]


def test_history_is_the_users_own_newest_first(log: EventLog) -> None:
    log.append([draft("mary", 1), draft("bob", 2), draft("mary", 3), draft("mary", 4)])
    assert [event.points for event in log.history("mary", 2)] == [4, 3]
    assert [event.points for event in log.history("mary", 2, before=3)] == [1]
    assert log.history("nobody", 5) == []


def test_a_thousand_in_one_transaction(log: EventLog) -> None:
    outcomes = log.append([draft(f"user{place % 700}", place, f"m{place}") for place in range(1200)])
    assert numbers(outcomes) == list(range(1, 1201))
    assert [event.points for event in log.read(0, 2000)] == list(range(1200))


def test_writers_at_once_leave_no_gap_and_write_no_id_twice(database: Database) -> None:
    def write(writer: int) -> None:
        log = EventLog(Board("arena"), database)
        for turn in range(10):
            try:
                log.append([draft(f"user{(writer + turn + step) % 7}", 1, f"m{turn}-{step}") for step in range(5)])
            except BaseException as failure:
                failures.append(failure)
                raise

    failures: list[BaseException] = []
    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    found = EventLog(Board("arena"), database).read(0, 1000)
    assert [event.number for event in found] == list(range(1, len(found) + 1))
    keys = [(event.user_id, event.submission_id) for event in found]
    wanted = {(f"user{(w + t + s) % 7}", f"m{t}-{s}") for w in range(4) for t in range(10) for s in range(5)}
    assert sorted(keys) == sorted(wanted)


@pytest.mark.parametrize("written", [True, False])
def test_a_lost_reply_to_the_commit_is_looked_up(
    log: EventLog, database: Database, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    monkeypatch.setattr(ShortWay, "takes", lambda *_: False)
    log.append([draft()])
    armed = [True]

    def lose_reply(connection: Connection) -> None:
        if armed.pop() if armed else False:
            raw: Any = connection.connection.dbapi_connection
            if written and database.engine.dialect.name == "sqlite":
                raw.execute("COMMIT")
            elif written:
                raw.commit()
            else:
                raw.rollback()
            raise OperationalError("COMMIT", None, Exception("the connection was lost"))

    event.listen(database.engine, "commit", lose_reply)
    try:
        if written:
            assert log.append([draft("bob"), draft("bob")]) == [Logged(2), Logged(3)]
        else:
            with pytest.raises(LogUnavailableError):
                log.append([draft("bob"), draft("bob")])
    finally:
        event.remove(database.engine, "commit", lose_reply)
    assert log.head() == (3 if written else 1)


@pytest.mark.parametrize("written", [True, False])
def test_a_lost_reply_on_the_short_way_is_looked_up(postgresql: Database, monkeypatch: pytest.MonkeyPatch, written: bool) -> None:
    log = EventLog(Board("arena"), postgresql)
    log.append([draft("ann", identity="m1"), draft("ann", identity="m2")])
    write = ShortWay.write

    def lose_reply(*args: Any) -> Any:
        if written:
            write(*args)
        raise OperationalError("COMMIT", None, Exception("the connection was lost"))

    monkeypatch.setattr(ShortWay, "write", lose_reply)
    drafts = [
        draft("bob"),
        draft("ann", identity="m1"),
        draft("bob", identity="m3"),
        draft("ann", 2, identity="m2"),
        draft("cid"),
    ]
    if written:
        first, known, second, conflict, third = log.append(drafts)
        assert [first, known, second, third] == [Logged(3), Logged(1, known=True), Logged(4), Logged(5)]
        assert isinstance(conflict, ConflictError)
    else:
        with pytest.raises(LogUnavailableError):
            log.append(drafts)
    assert log.head() == (5 if written else 2)


def test_both_ways_write_and_answer_the_same(postgresql: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [
        [draft(user, 7, f"match {user}", at=NOW + 1, segments=("country=NL", "league=ü")) for user in STRANGE],
        [draft(), draft("bob", -3, "m1"), draft("bob", 0, "match e"), draft("e", 7, "match e"), draft("e", 8, "match e ")],
        [draft("e ", 8, "match e "), draft("ann", 1, "m1"), draft("ann", 1, "m2", at=NOW - 9)],
    ]
    answers, contents = [], []
    for name, takes in (("short", ShortWay.takes), ("long", lambda *_: False)):
        monkeypatch.setattr(ShortWay, "takes", takes)
        log = EventLog(Board(name), postgresql)
        answers.append([log.append(batch) for batch in batches])
        log.note_refusals([(1, "score_range")])
        answers[-1].append(log.append(batches[0]))
        contents.append([event._replace(user=0) for event in log.read(0, 100)])
    assert repr(answers[0]) == repr(answers[1])
    assert contents[0] == contents[1]
    assert answers[0][-1][0] == Logged(1, known=True, refused="score_range")


def test_plain_submissions_go_the_short_way(postgresql: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    log = EventLog(Board("arena"), postgresql)
    log.append([draft(user_name="Mary")])
    monkeypatch.setattr(Appender, "_write_long", None)
    assert numbers(log.append([draft(identity="m1"), draft("bob"), draft(user_name="Mary")])) == [2, 3, 4]
    for other in (draft(user_name="Maria"), draft("cid", user_name="Cid"), draft(too_late=True), draft(kind="remove")):
        with pytest.raises(TypeError):
            log.append([other])
    assert log.head() == 4


def test_who_is_erased_meanwhile_comes_back_as_somebody_else(postgresql: Database) -> None:
    log, outcomes = EventLog(Board("arena"), postgresql), list[Any]()
    log.append([draft(), draft("bob")])

    def append() -> None:
        outcomes.extend(log.append([draft("bob"), draft()]))

    with postgresql.begin() as connection:
        log.lock(connection, log.board_row())
        connection.execute(update(users).where(users.c.user_id == "mary").values(user_id=None))
        writer = threading.Thread(target=append)
        writer.start()
        until(lambda: _waiting(postgresql) == 1)
    writer.join(30)
    assert outcomes == [Logged(3), Logged(4)]
    assert [event.nameless for event in log.read(0, 10)] == [True, False, False, False]
    assert log.read(0, 10)[0].user != log.read(0, 10)[3].user


def _waiting(database: Database) -> Any:
    with database.begin() as connection:
        return connection.scalar(text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))


def test_the_short_way_finds_its_indexes_in_small_tables(postgresql: Database) -> None:
    """A server keeps its plan while the tables grow: one that goes through a table would slow down every submission for ever."""
    short = ShortWay(Board("arena"), postgresql, ())
    words = short.words([draft(identity="m1")]) | {"board": 1, "writer": "w", "windows": "", "seasons": ""}
    with postgresql.begin() as connection, postgresql.driven(connection) as driver:
        for statement in (ADD_USERS, *short.statements):
            driver.execute("SET plan_cache_mode = force_generic_plan")
            plan = "\n".join(row[0] for row in driver.execute(f"EXPLAIN {statement}", words))
            assert "Seq Scan" not in plan
            assert "number_board" not in plan


def test_migrations_make_the_tables_of_the_code(empty_database: Database) -> None:
    with empty_database.connect() as connection:
        assert current(connection) is None
    empty_database.migrate()
    empty_database.migrate()
    with empty_database.connect() as connection:
        assert current(connection) == newest()
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": False})
        assert compare_metadata(context, metadata) == []


def test_migrations_keep_what_an_older_revision_wrote(empty_database: Database) -> None:
    names = {"leaderboard_board": "name, head", "leaderboard_user": "user_id"}
    with empty_database.connect() as connection, connection.begin():
        upgrade(connection, "0001")
        for table, values in (("leaderboard_board", "'arena', 1"), ("leaderboard_user", "'mary'")):
            connection.execute(text(f"INSERT INTO {table} ({names[table]}) VALUES ({values})"))
        row = {"board": 1, "number": 1, "kind": "submit", "user": 1, "points_integer": 5, "at": 9, "taken_at": 9}
        connection.execute(insert(events), row | {"update": "increment", "segments": "", "writer": "w"})
    empty_database.migrate()
    log = EventLog(Board("arena"), empty_database)
    assert [(event.user_id, event.points) for event in log.read(0, 10)] == [("mary", 5)]
    assert log.append([draft("bob")]) == [Logged(2)]


def test_missing_tables_are_told_with_the_remedy(empty_database: Database) -> None:
    with pytest.raises(LogUnavailableError, match="flask leaderboard db upgrade"):
        EventLog(Board("arena"), empty_database).head()


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "mariadb"])
def test_sql_for_operators(dialect: str) -> None:
    assert upgrade_sql(dialect).count("CREATE TABLE") == len(metadata.tables) + 1


def test_own_file_is_made_once_by_many(tmp_path: Any) -> None:
    def use() -> None:
        database = Database(database_url(None, tmp_path / "instance"), own=True)
        EventLog(Board("arena"), database).append([draft()])
        database.close()

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    database = Database(database_url(None, tmp_path / "instance"), own=True)
    assert EventLog(Board("arena"), database).head() == 4
    with database.begin() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(text("PRAGMA synchronous")) == 2
    database.close()


def test_files_of_several_apps_are_made_at_once(tmp_path: Any) -> None:
    databases = [Database(database_url(None, tmp_path / str(number)), own=True) for number in range(4)]
    begin, failures = threading.Barrier(4), list[BaseException]()

    def use(database: Database) -> None:
        begin.wait(20)
        try:
            assert EventLog(Board("arena"), database).head() == 0
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=use, args=(database,)) for database in databases]
    for thread in threads:
        thread.start()
    for thread, database in zip(threads, databases, strict=True):
        thread.join(60)
        database.close()
    assert failures == []


def test_own_file_that_can_not_be_made_is_told(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(LogUnavailableError, match="can't be kept"):
        EventLog(Board("arena"), Database(database_url(None, tmp_path / "file"), own=True)).head()


def test_tables_of_a_later_version_are_told(tmp_path: Any) -> None:
    database = Database(database_url(None, tmp_path), own=True)
    EventLog(Board("arena"), database).head()
    with database.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(LogUnavailableError, match="another version"):
        EventLog(Board("arena"), Database(database_url(None, tmp_path), own=True)).head()


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("nonsense", ConfigurationError, "can't be read"),
        ("oracle+nothing://x", ConfigurationError, "must be of one of sqlite, postgresql, mysql, mariadb, not 'oracle'"),
        ("postgresql+nothing://x", ConfigurationError, "driver"),
        ("sqlite://", ConfigurationError, "in memory"),
        ("sqlite:///:memory:", ConfigurationError, "in memory"),
        ("postgresql://127.0.0.1:1/x", LogUnavailableError, "can't be reached"),
        ("sqlite:////nowhere/at/all.db", LogUnavailableError, "can't be reached"),
    ],
)
def test_wrong_urls(url: str, error: type[Exception], message: str, tmp_path: Any) -> None:
    open_log: Callable[[], int] = lambda: EventLog(Board("arena"), Database(database_url(url, tmp_path))).head()  # noqa: E731
    with pytest.raises(error, match=message):
        open_log()


@pytest.mark.parametrize(("kind", "extra"), [("postgresql", "postgresql"), ("mysql", "mysql"), ("mariadb", "mysql")])
def test_missing_driver_is_told_at_once(kind: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_leaderboard.log.database.find_spec", lambda name: None)
    app = Flask("game")
    app.config.update(LEADERBOARD_REDIS_URL="redis://127.0.0.1:1", LEADERBOARD_DATABASE_URL=f"{kind}://x/y")
    with pytest.raises(ConfigurationError, match=rf'install "flask-leaderboard\[{extra}\]"'):
        Leaderboards(app)
