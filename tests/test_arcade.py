"""The example game: its rules, its checks, and the command that serves it with bots."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from flask import Flask
from flask.testing import FlaskClient
from playwright.sync_api import Browser, expect

from examples.arcade import create_app, matches
from examples.arcade.bots import Bot, find_player
from examples.arcade.courses import LANES, ROCK, ROW_POINTS, STAR, STAR_POINTS, CheatError, Course
from examples.arcade.database import Match, Player, db
from examples.arcade.people import BOTS, COUNTRIES
from flask_leaderboard import current_leaderboards
from tests.browser import launch, open_tab, served
from tests.waiting import end, until

TOP = Path(__file__).parent.parent
DEMO = TOP / "examples" / "arcade" / "demo.py"
LONG_AGO = 100
START_S = 90


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Flask:
    monkeypatch.setenv("ARCADE_INSTANCE", str(tmp_path))
    return create_app({"LEADERBOARD_REDIS_URL": "memory://"})


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    client = app.test_client()
    assert client.post("/join", data={"name": "Zoë <b>", "country": "NL"}).status_code == 302
    return client


def best_path(course: Course, rows: int) -> str:
    return "".join(str(row.index(STAR) if STAR in row else row.index(".")) for row in course.rows[:rows])


def fly(app: Flask, client: FlaskClient, rows: int) -> tuple[dict[str, Any], str]:
    """Start a match, let the time of a flight go by, and give it with the best path."""
    match = client.post("/matches").json
    assert match is not None
    with app.app_context():
        kept = db.session.get(Match, int(match["url"].split("/")[2]))
        assert kept is not None
        kept.started_at -= LONG_AGO
        db.session.commit()
        return match, best_path(Course(kept.seed), rows)


@pytest.mark.parametrize("seed", range(20))
def test_course_has_a_way_through(seed: int) -> None:
    course = Course(seed)
    assert all(len(row) == LANES and set(row) - {ROCK} for row in course.rows)
    assert course.rows == Course(seed).rows
    assert course.times_ms == sorted(set(course.times_ms))


def test_course_counts_rows_and_stars() -> None:
    course = Course(7)
    path = best_path(course, 30)
    stars = sum(STAR in row for row in course.rows[:30])
    assert stars > 3
    assert course.points(path, 1e6) == 30 * ROW_POINTS + stars * STAR_POINTS
    crashed = path + str(course.rows[30].index(ROCK))
    assert course.points(crashed, 1e6) == course.points(path, 1e6)


def test_course_refuses_what_nobody_can_fly() -> None:
    course = Course(7)
    path = best_path(course, 30)
    needed = course.times_ms[29]
    through = str(course.rows[0].index(ROCK)) + path[1:]
    for wrong, elapsed in [(path, needed * 0.5), (through, 1e6), ("", 1e6), ("5", 1e6), ("٣", 1e6), ("0" * 1000, 1e6)]:
        with pytest.raises(CheatError):
            course.points(wrong, elapsed)


def test_match_counts_once_in_every_window_and_the_country(app: Flask, client: FlaskClient) -> None:
    match, path = fly(app, client, 40)
    first, again = (client.post(match["url"], json={"path": path}) for _ in range(2))
    assert first.json is not None
    assert first.json["points"] == again.json["points"] > 0  # type: ignore[index]
    assert [item["rank"] for item in first.json["standings"]] == [1, 1, 1, 1]
    with app.app_context():
        board = current_leaderboards["starfall"]
        assert [board.rank("p1", window=window).score for window in ("round", "all")] == [first.json["points"]] * 2  # type: ignore[union-attr]
        assert board.top(10, segment="country=NL").entries[0].user_name == "Zoë <b>"
    page = client.get("/players/1").text
    assert "Zoë &lt;b&gt;" in page
    assert f"<b>{first.json['points']}</b> points over 40 rows" in page


def test_match_refuses_cheats_and_strangers(app: Flask, client: FlaskClient) -> None:
    match, path = fly(app, client, 40)
    assert client.post(match["url"], json={"path": "0" * 200}).status_code == 422
    assert client.post(match["url"], json=[]).status_code == 422
    quick = client.post("/matches").json
    assert quick is not None
    assert client.post(quick["url"], json={"path": path}).status_code == 422
    stranger = app.test_client()
    assert stranger.post("/matches").status_code == 401
    stranger.post("/join", data={"name": "Eve", "country": "FR"})
    assert stranger.post(match["url"], json={"path": path}).status_code == 404
    with app.app_context():
        assert current_leaderboards["starfall"].count() == 0


@pytest.mark.parametrize(
    "form", [{}, {"name": " ", "country": "NL"}, {"name": "x" * 25, "country": "NL"}, {"name": "A", "country": "XX"}]
)
def test_join_refuses_who_has_no_name_or_country(app: Flask, form: dict[str, str]) -> None:
    client = app.test_client()
    client.post("/join", data=form)
    assert "Choose a name" in client.get("/").text
    with app.app_context():
        assert db.session.scalar(db.select(db.func.count(Player.id))) == 0


def test_page_shows_the_players_own_row(client: FlaskClient) -> None:
    page = client.get("/").text
    assert '<live-leaderboard board="starfall" window="round"' in page
    assert 'user="p1"></live-leaderboard>' in page


def test_bots_fly_by_the_rules(app: Flask) -> None:
    assert len({person.name for person in BOTS}) == len(BOTS)
    assert {person.country for person in BOTS} <= set(COUNTRIES)
    with app.app_context():
        bot = Bot(find_player(BOTS[0]))
        assert find_player(BOTS[0]) is bot.player
        due = bot.take_turn()
        assert due >= Course(bot.match.seed).times_ms[len(bot.path) - 1] / 1000  # type: ignore[union-attr]
        with pytest.raises(CheatError):
            bot.take_turn()
        bot.match.started_at -= LONG_AGO  # type: ignore[union-attr]
        db.session.commit()
        bot.take_turn()
        assert current_leaderboards["starfall"].rank(bot.player.user_id).score >= 0  # type: ignore[union-attr]


@pytest.fixture
def browser() -> Iterator[Browser]:
    yield from launch()


def test_flight_in_a_browser_brings_the_own_row(app: Flask, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    middle = LANES // 2
    seed = next(seed for seed in range(1000) if [row[middle] for row in Course(seed).rows[:3]] == [".", STAR, ROCK])
    monkeypatch.setattr(matches, "secrets", SimpleNamespace(randbits=lambda bits: seed))
    points = 2 * ROW_POINTS + STAR_POINTS
    with served(app) as address, open_tab(browser) as tab:
        tab.page.goto(address)
        tab.page.get_by_label("Name").fill("Zoë <b>")
        tab.page.get_by_label("Country").select_option("NL")
        tab.page.get_by_role("button", name="Join").click()
        expect(tab.page.locator("live-leaderboard")).to_contain_text("You have no score here yet")
        expect(tab.page.locator("live-leaderboard .period")).to_have_text(re.compile(r"Since \d+:\d0"))
        tab.complaints.clear()  # a user who is not ranked is not found, and browsers tell of that
        tab.page.get_by_role("button", name="Fly").click()
        expect(tab.page.locator("#told")).to_contain_text(f"{points} points\nround: rank 1")
        own = tab.page.locator("live-leaderboard .row[aria-current]")
        expect(own).to_contain_text("Zoë <b>")
        expect(own).to_contain_text(str(points))
        with app.app_context():
            current_leaderboards["starfall"].submit("p2", points + 1, user_name="Eve")
        expect(own.locator(".rank")).to_contain_text("2", timeout=3000)
        assert not tab.serious_problems()


class Demo:
    """The command of ``make demo``, with its data in a folder."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        order = ["make", "--no-print-directory", "-n", "demo", f"PORT={port}"]
        alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # the tests run in a make too
        told = subprocess.run(order, cwd=TOP, env=alone, capture_output=True, text=True, check=True)
        command = told.stdout.splitlines()[-1].split()
        assert command[1:] == ["examples/arcade/demo.py", "--port", str(port)]
        with (folder / "demo.log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command[1:]],
                cwd=TOP,
                env={**os.environ, "ARCADE_INSTANCE": str(folder)},
                stdout=log,
                stderr=log,
            )

    def log(self) -> str:
        return (self.folder / "demo.log").read_text()

    def get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def watch_names(self) -> list[str]:
        """Follow the ranking until it has changed, and give the names that were told then; none where it can't be read yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
        try:
            connection.request("GET", "/v1/live/events?board=starfall&window=round&top=10")
            response = connection.getresponse()
            messages = [] if response.status == 503 else (json.loads(line[5:]) for line in response if line.startswith(b"data:"))
            updates = (message["entries"] for message in messages if message["type"] == "update")
            return [entry["user_name"] for entry in next(filter(None, updates), [])]
        finally:
            connection.close()

    def left(self) -> list[str]:
        """List the processes that work on the folder: this one, the game and its worker, the bots, the server and its keeper."""
        return [process.name() for process in self.processes()]

    def processes(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if self._has(process)]

    def _has(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get("ARCADE_INSTANCE") == str(self.folder) or process.cwd().startswith(str(self.folder))
        except psutil.Error:
            return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    demo = Demo(tmp_path, free_port())
    yield demo
    end(demo.process)
    for process in demo.processes():
        process.kill()


def test_demo_serves_the_game_with_bots_and_leaves_nothing_behind(demo: Demo) -> None:
    until(lambda: f"http://127.0.0.1:{demo.port}/" in demo.log(), demo.log, seconds=START_S)
    status, page = demo.get("/")
    assert status == 200
    assert '<live-leaderboard board="starfall"' in page
    assert demo.get("/v1/live-leaderboard.js")[0] == 200
    assert set(until(demo.watch_names, demo.log, seconds=START_S)) <= {person.name for person in BOTS}
    assert len(demo.left()) == 6
    assert any("valkey" in name for name in demo.left())
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(30) == 0
    until(lambda: not demo.left(), demo.log)
    assert "Traceback" not in demo.log()


def test_demo_tells_that_the_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        demo = Demo(tmp_path, port)
        assert demo.process.wait(30) == 1
    assert demo.log() == f"port {port} is taken by another program. Choose another: make demo PORT={port + 1}\n"
