"""What /health tells load balancers and operators: what can be served, and by what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from flask_leaderboard import Board
from flask_leaderboard.errors import StoreUnavailableError
from flask_leaderboard.log.tables import boards
from flask_leaderboard.web.service import service_of
from tests.servers import FLAVOURS, Server
from tests.web import SUBMIT, code, make_app

NOWHERE = "unix:///nonexistent/redis.sock"
NO_DATABASE = "sqlite:////nonexistent/log.sqlite3"
LOGGED, PLAIN, BEHIND = Board("logged", mode="ledger"), Board("plain", mode="redis_only"), Board("behind", mode="write_behind")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Flask]]:
    apps: list[Flask] = []

    def make(*rules: Board, **config: Any) -> Flask:
        apps.append(make_app(rules, instance=tmp_path, **config))
        return apps[-1]

    yield make
    for app in apps:
        service_of(app).hub.close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = FLAVOURS["valkey9"].start()
    assert isinstance(running, Server)
    yield running
    running.stop()


def look(app: Flask) -> tuple[str, str, str | None, dict[str, int]]:
    """Give the status of all, of Redis and of the log, and how many boards are in which state."""
    told = app.test_client().get("/v1/health")
    assert told.status_code == 200, told.text
    parts = (told.json["redis"], told.json.get("log", {"status": None}))
    assert all((part["answered_in_ms"] is None) == (part["status"] == "down") for part in parts if part["status"])
    return (
        told.json["status"],
        parts[0]["status"],
        parts[1]["status"],
        {name: count for name, count in told.json["boards"].items() if count},
    )


def test_all_is_well(make: Callable[..., Flask]) -> None:
    assert look(make(PLAIN)) == ("ok", "ok", None, {"ok": 1})
    assert look(make(LOGGED, PLAIN, BEHIND)) == ("ok", "ok", "ok", {"ok": 3})


def test_redis_away(make: Callable[..., Flask]) -> None:
    assert look(make(LOGGED, redis_url=NOWHERE)) == ("degraded", "down", "ok", {"degraded": 1})
    assert look(make(LOGGED, PLAIN, BEHIND, redis_url=NOWHERE)) == ("degraded", "down", "ok", {"degraded": 1, "down": 2})
    answer = make(PLAIN, redis_url=NOWHERE).test_client().get("/v1/health")
    assert (code(answer), answer.headers["Retry-After"]) == ((503, "store_unavailable"), "1")
    assert "nonexistent" not in answer.text


def test_database_away(make: Callable[..., Flask]) -> None:
    assert look(make(LOGGED, PLAIN, BEHIND, database_url=NO_DATABASE)) == ("degraded", "ok", "down", {"degraded": 2, "ok": 1})


def test_both_away(make: Callable[..., Flask], caplog: pytest.LogCaptureFixture) -> None:
    app = make(LOGGED, redis_url=NOWHERE, database_url=NO_DATABASE)
    assert code(app.test_client().get("/v1/health")) == (503, "store_unavailable")
    assert "Redis is not well: Redis can't be reached" in caplog.text
    assert "the log is not well: the log can't be reached" in caplog.text


@pytest.mark.parametrize("trouble", ["full", "replica"])
def test_redis_that_refuses_writes(make: Callable[..., Flask], server: Server, trouble: str) -> None:
    app = make(LOGGED, PLAIN, redis_url=f"unix://{server.socket}")
    assert look(app) == ("ok", "ok", "ok", {"ok": 2})
    server.client.flushall()  # forgets the last probe
    if trouble == "full":
        server.client.config_set("maxmemory", "1")
    else:
        server.client.replicaof("127.0.0.1", "1")
    assert look(app) == ("degraded", "degraded", "ok", {"degraded": 2})


def test_redis_that_is_behind_its_log(make: Callable[..., Flask], monkeypatch: pytest.MonkeyPatch) -> None:
    app = make(LOGGED, PLAIN)
    assert app.test_client().post("/v1/scores", json={"user_id": "ann", "points": 1}, headers=SUBMIT).status_code == 200
    hub = service_of(app).hub
    hub.caller.client.flushall()
    standing = hub["logged"]._ledger.standing
    standing._look_at = 0.0

    def not_now(number: int) -> None:
        raise StoreUnavailableError("it takes long")

    with monkeypatch.context() as patch:
        patch.setattr(standing._folder, "reach", not_now)
        assert look(app) == ("degraded", "ok", "ok", {"degraded": 1, "ok": 1})
    assert look(app) == ("ok", "ok", "ok", {"ok": 2})


def test_redis_with_events_that_the_log_does_not_have(make: Callable[..., Flask]) -> None:
    app = make(LOGGED, PLAIN)
    assert app.test_client().post("/v1/scores", json={"user_id": "ann", "points": 1}, headers=SUBMIT).status_code == 200
    hub = service_of(app).hub
    with hub.database.begin() as connection:
        connection.execute(boards.update().values(head=0))
    hub["logged"]._ledger.standing._look_at = 0.0
    assert look(app) == ("degraded", "ok", "ok", {"down": 1, "ok": 1})
