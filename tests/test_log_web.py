"""Boards with a log in an app: pending answers, history, and the commands for the tables."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from flask_leaderboard.log.engines import PATIENCE
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.databases import DatabaseServer
from tests.web import SUBMIT, arena, code, make_app

Score = dict[str, Any]


@pytest.fixture
def make_ledger(tmp_path: Path, clock: SetClock) -> Iterator[Callable[..., Flask]]:
    apps: list[Flask] = []

    def make(**config: Any) -> Flask:
        apps.append(make_app([arena(mode="ledger")], clock=clock, instance=tmp_path, **config))
        return apps[-1]

    yield make
    for app in apps:
        service_of(app).hub.close()


def post(app: Flask, **score: Any) -> Any:
    return app.test_client().post("/v1/scores", json={"user_id": "mary", "points": 5, **score}, headers=SUBMIT)


def test_submission_is_counted_and_told_in_the_history(make_ledger: Callable[..., Flask], clock: SetClock) -> None:
    app = make_ledger()
    assert post(app, submission_id="m1", segments={"country": "NL"}).json["changes"][0]["new_score"] == 5
    assert post(app, submission_id="m1", segments={"country": "NL"}).json["duplicate"]
    assert post(app, points=2).status_code == 200
    answer = app.test_client().get("/v1/scores/mary/history?limit=1")
    assert [(event["number"], event["points"]) for event in answer.json["data"]] == [(2, 2)]
    rest = app.test_client().get(f"/v1/scores/mary/history?before={answer.json['before']}").json
    assert rest["before"] is None
    (first,) = rest["data"]
    assert (first["number"], first["submission_id"], first["segments"], first["kind"]) == (1, "m1", {"country": "NL"}, "submit")


def test_scores_outlive_redis(make_ledger: Callable[..., Flask]) -> None:
    post(make_ledger())
    again = make_ledger()  # memory:// is empty in a new app, as a Redis that lost all is
    assert again.test_client().get("/v1/scores/mary").json["user_info"]["score"] == 5


def test_redis_away_is_answered_202_and_counted_later(make_ledger: Callable[..., Flask], tmp_path: Path) -> None:
    away = make_ledger(redis_url=f"unix://{tmp_path}/nobody.sock")
    answer = post(away, submission_id="m1")
    assert (answer.status_code, answer.json["pending"], answer.json["number"]) == (202, True, 1)
    assert {change["new_rank"] for change in answer.json["changes"]} == {None}
    batch = away.test_client().post("/v1/scores/batch", json={"submissions": [{"user_id": "bob", "points": 1}]}, headers=SUBMIT)
    assert [result["status"] for result in batch.json["results"]] == [202]
    assert away.test_client().get("/v1/scores").json["degraded"] is True
    back = make_ledger()
    assert [entry["score"] for entry in back.test_client().get("/v1/scores").json["data"]] == [5, 1]


def test_log_away_is_503(make_ledger: Callable[..., Flask]) -> None:
    app = make_ledger(database_url="postgresql://127.0.0.1:1/none")
    answer = post(app)
    assert code(answer) == (503, "log_unavailable")
    assert answer.headers["Retry-After"] == "1"
    assert "127.0.0.1" not in answer.text


@pytest.mark.parametrize("query", ["", "?connect_timeout=2"])
def test_database_that_never_answers_costs_a_bounded_wait(
    make_ledger: Callable[..., Flask], monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    if not query:
        monkeypatch.setitem(PATIENCE["psycopg"], "connect_timeout", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        app = make_ledger(database_url=f"postgresql://127.0.0.1:{silent.getsockname()[1]}/none{query}")
        started = time.monotonic()
        assert code(app.test_client().get("/v1/scores/mary/history")) == (503, "log_unavailable")
        assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/scores/mary/history?limit=1000", (400, "bad_input")),
        ("/v1/scores/mary/history?before=x", (400, "bad_input")),
        ("/v1/scores/mary/history?board=none", (404, "unknown_board")),
    ],
)
def test_history_refuses(make_ledger: Callable[..., Flask], path: str, expected: tuple[int, str]) -> None:
    assert code(make_ledger().test_client().get(path)) == expected


def test_history_of_a_board_without_a_log(clock: SetClock) -> None:
    app = make_app([arena()], clock=clock)
    assert code(app.test_client().get("/v1/scores/mary/history")) == (400, "no_log")
    told = app.test_cli_runner().invoke(args=["leaderboard", "db", "current"])
    assert (told.exit_code, "mode='ledger'" in told.output) == (1, True)


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_tables_are_made_by_a_command(
    make_ledger: Callable[..., Flask], database_servers: Callable[[str], DatabaseServer], kind: str
) -> None:
    app = make_ledger(database_url=database_servers(kind).empty())
    run = app.test_cli_runner().invoke
    assert code(post(app)) == (503, "log_unavailable")
    assert "no revision; 0002 is needed" in run(args=["leaderboard", "db", "current"]).output
    assert "CREATE TABLE leaderboard_event" in run(args=["leaderboard", "db", "sql"]).output
    assert "at 0002; 0002 is needed" in run(args=["leaderboard", "db", "upgrade"]).output
    assert post(app).json["number"] == 1
