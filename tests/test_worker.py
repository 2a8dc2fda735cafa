"""The worker: what it does for boards with a log, beside others, and while parts are away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from flask_leaderboard import AllTime, Board, Every
from flask_leaderboard.engine.hub import Hub
from flask_leaderboard.engine.worker import Worker
from flask_leaderboard.errors import LogUnavailableError
from flask_leaderboard.log.tables import events, periods, standings, totals
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.servers import FLAVOURS, Server
from tests.waiting import end, until
from tests.web import make_app

HOUR = 3_600_000_000
DAY = 24 * HOUR
GAME = """
from flask import Flask
from flask_leaderboard import Board, Leaderboards
app = Flask("game", instance_path={folder!r})
app.config["LEADERBOARD_REDIS_URL"] = {url!r}
Leaderboards(app, boards=[Board("arena", mode="ledger")])
"""


@pytest.fixture
def server() -> Iterator[Server]:
    server = FLAVOURS["valkey9"].start()
    yield server
    server.stop()


@pytest.fixture
def make(tmp_path: Path, clock: SetClock, server: Server) -> Iterator[Callable[..., Flask]]:
    apps: list[Flask] = []

    def make_game(**config: Any) -> Flask:
        board = Board("arena", mode="ledger", windows=[AllTime(), Every(timedelta(hours=1), name="hourly")])
        config.setdefault("redis_url", f"unix://{server.socket}")
        apps.append(make_app([board], clock=clock, instance=tmp_path, **config))
        return apps[-1]

    yield make_game
    for app in apps:
        service_of(app).hub.close()


def hub_of(app: Flask) -> Hub:
    return service_of(app).hub


def count(hub: Hub, column: Any) -> int:
    with hub.database.begin() as connection:
        return connection.scalar(select(func.count(column))) or 0


def test_a_round_folds_closes_archives_and_unlinks(make: Callable[..., Flask], clock: SetClock, server: Server) -> None:
    hub = hub_of(make())
    hub["arena"].submit("mary", 5)
    worker, key = Worker(hub), "lb1:{arena}:hourly:20500702T120000Z"
    worker.work()
    assert count(hub, totals.c.user) == 2
    clock.now += HOUR + HOUR // 2
    while worker.work():
        pass
    assert count(hub, standings.c.user) == 1
    assert count(hub, totals.c.user) == 1
    assert server.client.exists(key)
    clock.now += HOUR
    worker.work()
    assert not server.client.exists(key)
    assert server.client.exists("lb1:{arena}:all:all")


def test_keys_outlive_their_retention_until_a_worker_comes(make: Callable[..., Flask], clock: SetClock, server: Server) -> None:
    hub_of(make())["arena"].submit("mary", 5)
    assert server.client.pexpiretime("lb1:{arena}:hourly:20500702T120000Z") == (clock.now + 3 * HOUR) // 1000


def test_old_events_are_pruned_once_both_have_folded_them(make: Callable[..., Flask], clock: SetClock) -> None:
    hub = hub_of(make(keep_log_days=7))
    arena, worker = hub["arena"], Worker(hub)
    arena.submit("mary", 5, submission_id="m1")
    worker.work()
    assert count(hub, events.c.number) == 1
    clock.now += 8 * DAY
    arena.submit("mary", 1)
    worker.work()
    assert [event.number for event in arena.history("mary")] == [2]
    assert arena.submit("mary", 5, submission_id="m1").duplicate
    assert arena.rank("mary").score == 6  # type: ignore[union-attr]


def test_nothing_is_pruned_unless_asked_for(make: Callable[..., Flask], clock: SetClock) -> None:
    hub = hub_of(make())
    hub["arena"].submit("mary", 5)
    clock.now += 10_000 * DAY
    Worker(hub).work()
    assert count(hub, events.c.number) == 1


def test_a_duty_is_done_by_one_worker_at_a_time(make: Callable[..., Flask], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = hub_of(make()), hub_of(make())
    first["arena"].submit("mary", 5)
    one, other = Worker(first), Worker(second)
    one.work()
    first["arena"].submit("mary", 5)
    other.work()
    assert second["arena"].duties
    assert _folded(first) == 1
    one.rest()
    other.work()
    assert _folded(first) == 2


def _folded(hub: Hub) -> int:
    ledger: Any = hub["arena"]._ledger
    return int(ledger.totals.number())


def test_redis_away_stops_only_what_needs_it(
    make: Callable[..., Flask], server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.standing.LOOK_SECONDS", 0.0)
    hub = hub_of(make(redis_rest_ms=0))
    hub["arena"].submit("mary", 5)
    worker = Worker(hub)
    worker.work()
    server.process.kill()
    server.process.wait(10)
    assert hub["arena"].submit("mary", 1).pending
    worker.work()
    worker.work()
    assert _folded(hub) == 2
    assert sum("apply has to wait" in record.getMessage() for record in caplog.records) == 1


def test_a_database_that_is_away_is_told_once_and_waited_for(
    make: Callable[..., Flask], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hub = hub_of(make())
    hub["arena"].submit("mary", 5)
    worker = Worker(hub)

    def away(*_: Any) -> Any:
        raise LogUnavailableError("away")

    with monkeypatch.context() as patch:
        patch.setattr("flask_leaderboard.log.database.Database.attempt", away)
        worker.work()
        worker.work()
    assert sum("fold has to wait" in record.getMessage() for record in caplog.records) == 1
    worker.work()
    assert _folded(hub) == 1


def test_a_thread_works_where_the_app_says_so(make: Callable[..., Flask]) -> None:
    app = make(worker_thread=True)
    assert "leaderboard-worker" not in {thread.name for thread in threading.enumerate()}
    hub = hub_of(app)
    hub["arena"].submit("mary", 5)
    until(lambda: _folded(hub) == 1)
    hub.close()
    assert "leaderboard-worker" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("config", "works"),
    [
        ({"redis_url": "embedded://"}, True),
        ({"redis_url": "memory://"}, False),
        ({"redis_url": "embedded://", "worker_thread": False}, False),
    ],
)
def test_the_embedded_default_needs_no_other_worker(tmp_path: Path, config: dict[str, Any], works: bool) -> None:
    hub = hub_of(make_app([Board("arena", mode="ledger")], instance=tmp_path, **config))
    hub["arena"].submit("mary", 5)
    try:
        assert ("leaderboard-worker" in {thread.name for thread in threading.enumerate()}) is works
    finally:
        hub.close()


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_the_command_works_until_it_is_told_to_stop(
    make: Callable[..., Flask], tmp_path: Path, server: Server, kind: int
) -> None:
    (tmp_path / "game.py").write_text(GAME.format(folder=str(tmp_path), url=f"unix://{server.socket}"))
    command = [sys.executable, "-m", "flask", "--app", str(tmp_path / "game.py"), "leaderboard", "worker"]
    hub = hub_of(make())
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(command, stderr=out, env={**os.environ, "PYTHONWARNINGS": "error"})
    try:
        hub["arena"].submit("mary", 5)
        until(lambda: _folded(hub) == 1, (tmp_path / "out").read_text)
        process.send_signal(kind)
        assert process.wait(20) == 0, (tmp_path / "out").read_text()
    finally:
        end(process)
    assert "apply, archive, fold, unlink" in (tmp_path / "out").read_text()
    assert not [key for key in server.client.scan_iter() if b"@claim" in key]


def test_once_does_what_is_due_and_ends(make: Callable[..., Flask], clock: SetClock) -> None:
    app = make()
    hub = hub_of(app)
    hub["arena"].submit("mary", 5)
    run = app.test_cli_runner().invoke
    assert run(args=["leaderboard", "worker", "--once"]).exit_code == 0
    clock.now += 2 * HOUR
    assert run(args=["leaderboard", "worker", "--once"]).exit_code == 0
    assert count(hub, periods.c.archived) == 1
