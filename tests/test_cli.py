"""``flask leaderboard``: what an operator sees in the terminal."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskCliRunner

from flask_leaderboard import Leaderboards, current_leaderboards
from tests.conftest import SetClock
from tests.web import arena, make_app, seasonal


@pytest.fixture
def app(clock: SetClock) -> Flask:
    app = make_app([arena(), seasonal()], clock=clock)
    with app.app_context():
        board = current_leaderboards["arena"]
        for user, points in (("ann", 3000), ("bob", 20), ("cät 🦊", 20)):
            board.submit(user, points, segments={"country": "NL"}, user_name=user.title())
    return app


@pytest.fixture
def runner(app: Flask) -> FlaskCliRunner:
    return app.test_cli_runner()


def told(runner: FlaskCliRunner, *words: str, code: int = 0) -> list[list[str]]:
    """Run a command; give its output as words, line by line."""
    result = runner.invoke(args=["leaderboard", *words])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return [re.split(r"\s{2,}", line.strip()) for line in result.output.splitlines()]


def test_help_teaches(runner: FlaskCliRunner) -> None:
    text = runner.invoke(args=["leaderboard", "--help"]).output
    assert "flask leaderboard top --window weekly" in text
    for command in ("boards", "top", "rank", "season", "erase"):
        assert re.search(rf"^  {command} +\w", text, re.MULTILINE), command


def test_boards(runner: FlaskCliRunner) -> None:
    rows = told(runner, "boards")
    assert rows[0] == ["board", "window", "period", "users"]
    assert ["arena", "daily", "2050-07-02", "3"] in rows
    assert ["cup", "season", "-", "0"] in rows


def test_top(runner: FlaskCliRunner) -> None:
    rows = told(runner, "top", "--limit", "2", "--window", "daily", "--ranking", "unique", "--segment", "country=NL")
    assert rows[:3] == [["rank", "user", "name", "score"], ["1", "ann", "Ann", "3,000"], ["2", "bob", "Bob", "20"]]
    assert rows[-1] == ["2 of 3 in daily 2050-07-02 country=NL"]


def test_rank(runner: FlaskCliRunner) -> None:
    assert [row[0] for row in told(runner, "rank", "cät 🦊")] == ["window", "all", "daily", "weekly"]
    assert told(runner, "rank", "bob", "--window", "weekly")[1] == ["weekly", "2050-W26", "2", "20", "66.7 %"]
    assert "not ranked" in told(runner, "rank", "zoe", code=1)[0][0]


def test_season(runner: FlaskCliRunner) -> None:
    assert "no season" in told(runner, "season", "end", "--board", "cup", code=1)[0][0]
    assert told(runner, "season", "start", "one", "--board", "cup") == [["Season one runs."]]
    assert ["cup", "season", "one", "0"] in told(runner, "boards")
    assert told(runner, "season", "end", "--board", "cup") == [["Season one has ended."]]


def test_erase_asks_first(runner: FlaskCliRunner, app: Flask) -> None:
    assert runner.invoke(args=["leaderboard", "erase", "ann"], input="n\n").exit_code == 1
    assert told(runner, "rank", "ann")
    assert told(runner, "erase", "ann", "--yes") == [["ann is erased."]]
    told(runner, "rank", "ann", code=1)


def test_errors_are_told_in_a_line(runner: FlaskCliRunner) -> None:
    assert told(runner, "top", "--board", "nope", code=1) == [["Error: there is no board 'nope': there is 'arena', 'cup'"]]
    assert "no window" in told(runner, "top", "--window", "hourly", code=1)[0][0]


def test_dead_redis_is_told_in_a_line() -> None:
    app = make_app([arena()], redis_url="unix:///nonexistent/redis.sock")
    assert "can't be reached" in told(app.test_cli_runner(), "boards", code=1)[0][0]


def test_command_of_the_host_goes_first() -> None:
    app = Flask("game")
    app.config["LEADERBOARD_REDIS_URL"] = "memory://"

    @app.cli.command("leaderboard")
    def own() -> None:
        print("mine")

    Leaderboards(app)
    assert app.test_cli_runner().invoke(args=["leaderboard"]).output == "mine\n"
