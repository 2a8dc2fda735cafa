"""``flask leaderboard rebuild|verify``: what an operator sees, and what cron is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskCliRunner
from redis import Redis

from flask_leaderboard import AllTime, Board, Daily, Leaderboards, current_leaderboards
from flask_leaderboard.cli.recovery import Stages
from tests.conftest import SetClock


@pytest.fixture
def runner(tmp_path: Path, clock: SetClock) -> FlaskCliRunner:
    app = Flask(__name__, instance_path=str(tmp_path))
    app.config["LEADERBOARD_REDIS_URL"] = "memory://"
    windows = [AllTime(), Daily()]
    boards = [Board("arena", mode="ledger", windows=windows), Board("race", mode="ledger"), Board("plain", mode="redis_only")]
    Leaderboards(app, boards=boards, clock=clock)
    with app.app_context():
        for user, points in (("ann", 3000), ("bob", 20)):
            current_leaderboards["arena"].submit(user, points)
    return app.test_cli_runner()


def redis_of(runner: FlaskCliRunner) -> Redis:
    with runner.app.app_context():
        client: Redis = current_leaderboards.caller.client
    return client


def told(runner: FlaskCliRunner, *words: str, code: int = 0) -> list[str]:
    result = runner.invoke(args=["leaderboard", *words])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output.splitlines()


def test_rebuild_all_boards_that_keep_a_log(runner: FlaskCliRunner) -> None:
    redis_of(runner).flushall()
    assert told(runner, "rebuild") == [
        "Board arena is rebuilt up to event 2: 4 rows loaded.",
        "Board race is rebuilt up to event 0: 0 rows loaded.",
    ]
    assert told(runner, "rebuild", "--board", "arena", "--window", "daily") == [
        "Board arena is rebuilt up to event 2: 2 rows loaded."
    ]
    assert told(runner, "rebuild", "--board", "arena", "--from-log") == ["Board arena is rebuilt up to event 2: 4 rows loaded."]


def test_rebuild_refuses_with_a_line(runner: FlaskCliRunner) -> None:
    (line,) = told(runner, "rebuild", "--board", "plain", code=1)
    assert "keeps no log" in line
    (line,) = told(runner, "rebuild", "--board", "arena", "--window", "yearly", code=1)
    assert "no window 'yearly'" in line


def test_verify_tells_what_differs_and_repairs_it(runner: FlaskCliRunner) -> None:
    assert told(runner, "verify", "--board", "arena") == ["Board arena: 4 entries in 2 rankings, 0 differences."]
    client = redis_of(runner)
    client.delete("lb1:{arena}:daily:2050-07-02", "lb1:{arena}:daily:2050-07-02/ticks")
    lines = told(runner, "verify", "--board", "arena", code=1)
    assert lines[0] == "Board arena: 2 entries in 2 rankings, 2 differences."
    assert lines[2].split() == ["entry", "daily", "2050-07-02", "ann", "absent", "3,000", "since", "2050-07-02T12:00:00+00:00"]
    assert told(runner, "verify", "--window", "all", "--board", "arena")[0].endswith("0 differences.")
    lines = told(runner, "verify", "--repair", "--board", "arena")
    assert lines[-2:] == [
        "Board arena is rebuilt up to event 2: 2 rows loaded.",
        "Board arena: 4 entries in 2 rankings, 0 differences.",
    ]


def test_stages_have_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    class Line:
        def __init__(self, what: str) -> None:
            self.what = what

        def __enter__(self) -> Line:
            return self

        def __exit__(self, *_: object) -> None:
            shown.append(f"end {self.what}")

        def show(self, done: int, fraction: float | None) -> None:
            shown.append((self.what, done, fraction))

    monkeypatch.setattr("flask_leaderboard.cli.recovery.Progress", Line)
    with Stages() as stages:
        stages("events folded", 5, 10)
        stages("rows loaded", 3, None)
        stages("rows loaded", 4, None)
    assert shown == [
        ("events folded", 5, 0.5),
        "end events folded",
        ("rows loaded", 3, None),
        ("rows loaded", 4, None),
        "end rows loaded",
    ]
