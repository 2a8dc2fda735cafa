from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from redis import Redis

from flask_leaderboard import Board, Leaderboard
from flask_leaderboard.log.database import Database, database_url
from tests.databases import DATABASES, KINDS, DatabaseServer
from tests.servers import BACKENDS, Fake, Server, start_backend

settings.register_profile("house", deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--examples", type=int, default=40, help="how many boards the model test plays on each server")


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--examples"))


@pytest.fixture(scope="session")
def backends() -> Iterator[Callable[[str], Server | Fake]]:
    """Give servers by name, each started once and stopped at the end."""
    running: dict[str, Server | Fake] = {}

    def get(name: str) -> Server | Fake:
        if name not in running:
            running[name] = start_backend(name)
        return running[name]

    yield get
    for backend in running.values():
        backend.stop()


@pytest.fixture(params=BACKENDS)
def backend_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(backend_name: str, backends: Callable[[str], Server | Fake]) -> Redis:
    """An empty Redis of each kind."""
    client = backends(backend_name).client
    client.flushall()
    return client


@pytest.fixture
def valkey(backends: Callable[[str], Server | Fake]) -> Redis:
    """An empty real server, where one kind is enough."""
    client = backends("valkey9").client
    client.flushall()
    return client


class SetClock:
    """A clock that stands until it is moved. It starts far ahead: servers expire keys by their own clock."""

    def __init__(self, now: int = 2_540_376_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> SetClock:
    """2050-07-02 12:00 UTC, a Saturday."""
    return SetClock()


@pytest.fixture
def make(client: Redis, clock: SetClock) -> Callable[[Board], Leaderboard]:
    """Make leaderboards on the backend under test, with a clock that the test moves."""
    return lambda board: Leaderboard(board, client, clock=clock)


@pytest.fixture(scope="session")
def database_servers() -> Iterator[Callable[[str], DatabaseServer]]:
    """Give database servers by name, each started once and stopped at the end."""
    running: dict[str, DatabaseServer] = {}

    def get(name: str) -> DatabaseServer:
        if name not in running:
            running[name] = KINDS[name]()
        return running[name]

    yield get
    for server in running.values():
        server.stop()


@pytest.fixture(params=DATABASES)
def empty_database(
    request: pytest.FixtureRequest, database_servers: Callable[[str], DatabaseServer], tmp_path: Path
) -> Iterator[Database]:
    """A database of each kind, without tables."""
    url = f"sqlite:///{tmp_path}/log.sqlite3" if request.param == "sqlite" else database_servers(request.param).empty()
    database = Database(database_url(url, tmp_path))
    yield database
    database.close()


@pytest.fixture
def database(empty_database: Database) -> Database:
    """A database of each kind, with all tables."""
    empty_database.migrate()
    return empty_database
