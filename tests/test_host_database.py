"""The log in the database of the host's Flask-SQLAlchemy, which notices nothing of it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Connection, Engine, String, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_leaderboard import Board, Leaderboards, current_leaderboards
from flask_leaderboard.config import read_settings
from flask_leaderboard.errors import ConfigurationError
from flask_leaderboard.log.database import Database, _gave_way
from flask_leaderboard.log.migrating import VERSION_TABLE, is_ours, not_ours
from flask_leaderboard.log.tables import metadata
from flask_leaderboard.web.service import service_of
from tests.databases import DatabaseServer

HOSTS = ("sqlite", "postgresql", "psycopg2", "mariadb")


class Base(DeclarativeBase):
    pass


db = SQLAlchemy(model_class=Base)


class Player(db.Model):  # type: ignore[name-defined,misc]
    name: Mapped[str] = mapped_column(String(50), primary_key=True)


@pytest.fixture(params=HOSTS)
def url(request: pytest.FixtureRequest, tmp_path: Path, database_servers: Callable[[str], DatabaseServer]) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/host.sqlite3"
    if request.param == "psycopg2":
        return database_servers("postgresql").empty().replace("+psycopg:", "+psycopg2:")
    return database_servers(request.param).empty()


@pytest.fixture
def make_host(tmp_path: Path) -> Iterator[Callable[..., Flask]]:
    """Make apps with a Flask-SQLAlchemy of their own and the log in its database."""
    apps: list[Flask] = []

    def make(uri: str | None, bind: bool | str = True, **config: Any) -> Flask:
        app = Flask("host", instance_path=str(tmp_path / "instance"))
        app.config.update(LEADERBOARD_REDIS_URL="memory://", LEADERBOARD_DATABASE_BIND=bind, **config)
        if uri is not None:
            app.config["SQLALCHEMY_DATABASE_URI"] = uri
        Leaderboards(boards=[Board("arena", mode="ledger")]).init_app(app)
        db.init_app(app)  # later than the leaderboards: the engine is looked for when it is needed
        apps.append(app)
        return app

    yield make
    for app in apps:
        service_of(app).hub.close()
        with app.app_context():
            for engine in db.engines.values():
                engine.dispose()


def upgrade(app: Flask) -> None:
    told = app.test_cli_runner().invoke(args=["leaderboard", "db", "upgrade"])
    assert told.exit_code == 0, told.output


def settings_of(connection: Connection) -> list[Any]:
    """Tell what a connection of the host's is set to."""
    if connection.dialect.name == "sqlite":
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]
    return [connection.get_isolation_level(), connection.dialect.default_isolation_level]


def state_of(engine: Engine) -> list[Any]:
    """Tell all of a host's engine that the log could have changed."""
    listeners = [(name, len(list(getattr(engine.dispatch, name)))) for name in ("begin", "commit", "before_cursor_execute")]
    on_pool = [(name, len(list(getattr(engine.pool.dispatch, name)))) for name in ("connect", "checkout", "reset")]
    with engine.connect() as connection:
        return [listeners, on_pool, engine.pool, dict(engine.get_execution_options()), settings_of(connection)]


def test_host_notices_nothing(url: str, make_host: Callable[..., Flask]) -> None:
    options = {} if url.startswith("sqlite") else {"isolation_level": "REPEATABLE READ"}
    app = make_host(url, SQLALCHEMY_ENGINE_OPTIONS=options)
    with app.app_context():
        db.create_all()
        before = state_of(db.engine)
        upgrade(app)
        db.session.add(Player(name="half"))  # the host is in the middle of something
        board = current_leaderboards["arena"]
        assert board.submit("mary", 5, submission_id="m1").number == 1
        assert board.submit("mary", 5, submission_id="m1").duplicate
        assert [player.name for player in db.session.new] == ["half"]
        db.session.rollback()
        assert db.session.query(Player).count() == 0
        db.session.add(Player(name="whole"))
        db.session.commit()
        service_of(app).hub.close()
        assert state_of(db.engine) == before
        assert board.history("mary")[0].points == 5
        assert {VERSION_TABLE, "leaderboard_event", "player"} <= set(inspect(db.engine).get_table_names())


def commits_by_itself(engine: Engine) -> bool:
    with engine.connect() as connection:
        connection.execute(text("DELETE FROM player"))
        connection.execute(text("INSERT INTO player (name) VALUES ('mary')"))
        connection.rollback()
        return connection.execute(text("SELECT count(*) FROM player")).scalar() == 1


def test_log_has_transactions_of_its_own_whatever_the_host_does(url: str, make_host: Callable[..., Flask]) -> None:
    app = make_host(url, SQLALCHEMY_ENGINE_OPTIONS={"isolation_level": "AUTOCOMMIT"})
    with app.app_context():
        db.create_all()
        upgrade(app)
        database = current_leaderboards.database
        with database.begin() as connection:
            found = settings_of(connection)
        assert found == (["delete", 3, 1, 10_000] if url.startswith("sqlite") else ["READ COMMITTED", found[1]])
        assert not commits_by_itself(database.engine)
        assert commits_by_itself(db.engine)


def test_events_of_the_host_fire_as_before(make_host: Callable[..., Flask], tmp_path: Path) -> None:
    app = make_host(f"sqlite:///{tmp_path}/host.sqlite3")
    heard: list[str] = []
    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", lambda *words: heard.append(words[2]))
        upgrade(app)
        current_leaderboards["arena"].submit("mary", 5)
        assert heard == []  # SQLite has an engine of its own on the file
        db.session.execute(text("SELECT 1"))
        assert heard == ["SELECT 1"]


def test_bind_key_names_another_database(make_host: Callable[..., Flask], tmp_path: Path) -> None:
    binds = {"scores": f"sqlite:///{tmp_path}/scores.sqlite3"}
    app = make_host(f"sqlite:///{tmp_path}/host.sqlite3", "scores", SQLALCHEMY_BINDS=binds)
    with app.app_context():
        upgrade(app)
        current_leaderboards["arena"].submit("mary", 5)
        assert inspect(db.engine).get_table_names() == []
        assert VERSION_TABLE in inspect(db.engines["scores"]).get_table_names()


def test_engine_is_found_outside_of_the_app(make_host: Callable[..., Flask], tmp_path: Path) -> None:
    """A thread of the background has no app around it."""
    app = make_host(f"sqlite:///{tmp_path}/host.sqlite3")
    hub = service_of(app).hub
    thread = threading.Thread(target=lambda: hub.database.migrate())
    thread.start()
    thread.join()
    assert hub["arena"].submit("mary", 5).number == 1


@pytest.mark.parametrize("uri", ["sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true"])
def test_memory_is_no_place_for_a_log(make_host: Callable[..., Flask], uri: str) -> None:
    app = make_host(uri)
    with app.app_context(), pytest.raises(ConfigurationError, match=r"in memory.*LEADERBOARD_DATABASE_URL"):
        current_leaderboards["arena"].submit("mary", 5)


def test_bind_that_is_not_there_is_told(make_host: Callable[..., Flask], tmp_path: Path) -> None:
    app = make_host(f"sqlite:///{tmp_path}/host.sqlite3", "scores")
    with app.app_context(), pytest.raises(ConfigurationError, match="SQLALCHEMY_BINDS has no 'scores', it has none"):
        current_leaderboards["arena"].submit("mary", 5)
    app = make_host(None, True, SQLALCHEMY_BINDS={"a": f"sqlite:///{tmp_path}/a.sqlite3"})
    with app.app_context(), pytest.raises(ConfigurationError, match="SQLALCHEMY_DATABASE_URI is not set"):
        current_leaderboards["arena"].submit("mary", 5)


@pytest.mark.parametrize(("extension", "remedy"), [(None, "db.init_app"), (object(), "3 or later")])
def test_host_without_flask_sqlalchemy_is_told(extension: object, remedy: str) -> None:
    app = Flask("host")
    app.config.update(LEADERBOARD_REDIS_URL="memory://", LEADERBOARD_DATABASE_BIND=True)
    Leaderboards(app, boards=[Board("arena", mode="ledger")])
    if extension:
        app.extensions["sqlalchemy"] = extension
    with app.app_context(), pytest.raises(ConfigurationError, match=remedy):
        current_leaderboards["arena"].submit("mary", 5)


def test_other_kinds_of_databases_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = create_engine("sqlite://")
    monkeypatch.setattr(engine.dialect, "name", "oracle")
    with pytest.raises(ConfigurationError, match="'oracle'"):
        Database(engine)


@pytest.mark.parametrize("value", ["", 1, ["a"]])
def test_bind_that_is_malformed_is_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match="LEADERBOARD_DATABASE_BIND"):
        read_settings({"LEADERBOARD_DATABASE_BIND": value})


def test_two_databases_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="set one of them"):
        read_settings({"LEADERBOARD_DATABASE_BIND": True, "LEADERBOARD_DATABASE_URL": "sqlite:///a"})
    assert not read_settings({"LEADERBOARD_DATABASE_BIND": False, "LEADERBOARD_DATABASE_URL": "sqlite:///a"}).database_bind


def test_flask_sqlalchemy_is_not_imported() -> None:
    code = "import sys, flask_leaderboard; sys.exit(any(name.startswith('flask_sqlalchemy') for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_deadlocks_are_known_by_either_driver() -> None:
    for name in ("sqlstate", "pgcode"):
        cause = type("Deadlock", (Exception,), {name: "40P01"})()
        assert _gave_way(DBAPIError("SELECT 1", None, cause))


def test_tables_are_told_by_name() -> None:
    assert all(is_ours(name) for name in (*metadata.tables, VERSION_TABLE))
    assert not any(is_ours(name) for name in ("player", "leaderboard_of_the_host", None))
    assert not_ours("leaderboard_event", "column", {})
    assert not not_ours("leaderboard_event", "table", {})


MIGRATE = """
import sys
from flask import Flask
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from flask_leaderboard import Board, Leaderboards, current_leaderboards
from flask_leaderboard.log.migrating import not_ours

uri, folder = sys.argv[1:]
app = Flask("host", instance_path=folder)
app.config.update(SQLALCHEMY_DATABASE_URI=uri, LEADERBOARD_DATABASE_BIND=True, LEADERBOARD_REDIS_URL="memory://")
db = SQLAlchemy(app)
class Player(db.Model):
    name = db.Column(db.String(50), primary_key=True)
Leaderboards(app, boards=[Board("arena", mode="ledger")])
Migrate(app, db, directory=folder + "/migrations", include_name=not_ours)
for words in ("leaderboard db upgrade", "db init", "db migrate", "db upgrade", "db migrate", "leaderboard db upgrade"):
    result = app.test_cli_runner().invoke(args=words.split())
    print(words, result.exit_code, result.output, result.exception)
    assert result.exit_code == 0
with app.app_context():
    print("number", current_leaderboards["arena"].submit("mary", 5).number)
"""


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_flask_migrate_works_beside_it(url: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", MIGRATE, url, str(tmp_path)]
    told = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "number 1" in told.stdout
    (revision,) = (tmp_path / "migrations" / "versions").glob("*.py")
    assert "player" in revision.read_text()
    assert "leaderboard_" not in revision.read_text()
