"""Under gunicorn, on the private server that needs no setting up: several workers, killed one after the other."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import waiting
from tests.waiting import end

APP = """
import os
from flask import Flask
from flask_leaderboard import Board, Leaderboards, Weekly

app = Flask(__name__, instance_path=os.environ["INSTANCE"])
app.config["LEADERBOARD_TOKENS"] = {"submit": ["s3cret"]}
leaderboards = Leaderboards(app, boards=[Board("arena", windows=[Weekly()])])

@app.get("/pid")
def pid():
    return str(os.getpid())
"""
THREADS = ("-k", "gthread", "--threads", "8")
HEADERS = {"Authorization": "Bearer s3cret", "Content-Type": "application/json"}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(str(self._path))


class Gunicorn:
    """A gunicorn with two workers in a folder, on a unix socket."""

    def __init__(self, folder: Path, *options: str, app: str = APP) -> None:
        self.folder = folder
        self.socket = folder / "web.sock"
        (folder / "game.py").write_text(app)
        environ = {**os.environ, "INSTANCE": str(folder / "instance"), "PYTHONPATH": f"{folder}{os.pathsep}{Path.cwd()}"}
        command = [sys.executable, "-m", "gunicorn", "game:app", "--bind", f"unix:{self.socket}", "--workers", "2"]
        with (folder / "gunicorn.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--graceful-timeout", "2", *options], cwd=folder, env=environ, stdout=log, stderr=log
            )
        until(lambda: self.get("/pid")[0] == 200, self.log)

    def log(self) -> str:
        return (self.folder / "gunicorn.log").read_text()

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = UnixConnection(self.socket)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), HEADERS)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def get(self, path: str) -> tuple[int, Any]:
        return self.call("GET", path)

    def submit_until_it_counts(self, number: int) -> Any:
        """Send a submission again and again with its id, as a game server does."""
        body = {"user_id": f"u{number % 7}", "points": 1, "submission_id": f"match-{number}"}

        def accepted() -> Any:
            status, told = self.call("POST", "/v1/scores", body)
            assert status in (200, 202, 503), told  # 202: it is in the log, and counts when the killed server is back
            return told if status in (200, 202) else None

        return until(accepted, self.log)

    def total(self) -> int:
        return sum(row["score"] for row in self.get("/v1/scores")[1]["data"])

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def stop(self) -> None:
        end(self.process)


def until(check: Callable[[], Any], log: Callable[[], str] = str) -> Any:
    """Wait; connections may fail meanwhile."""
    return waiting.until(check, log, passing=(OSError, http.client.HTTPException))


def servers_on(folder: Path) -> list[psutil.Process]:
    """List the Redis servers and their keepers that work in a folder."""
    found, data = [], str(folder / "instance")
    for process in psutil.process_iter():
        try:
            if process.cwd().startswith(data) or any(data in part for part in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def is_keeper(process: psutil.Process) -> bool:
    return any(part.endswith("keeper.py") for part in process.cmdline())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Gunicorn]]:
    started: list[Gunicorn] = []

    def run(*options: str) -> Gunicorn:
        started.append(Gunicorn(tmp_path, *options))
        return started[-1]

    yield run
    for gunicorn in started:
        gunicorn.stop()
    until(lambda: not servers_on(tmp_path))


@pytest.mark.parametrize(
    "options",
    [
        ("-k", "gthread", "--threads", "8"),
        ("-k", "gthread", "--threads", "8", "--preload"),
        ("-k", "gevent"),
        ("-k", "gevent", "--preload"),
    ],
    ids=" ".join,
)
def test_workers_share_one_server_and_lose_nothing(
    start: Callable[..., Gunicorn], tmp_path: Path, options: tuple[str, ...]
) -> None:
    gunicorn = start(*options)
    with ThreadPoolExecutor(16) as pool:
        numbers = [told["number"] for told in pool.map(gunicorn.submit_until_it_counts, range(300))]
    assert sorted(numbers) == list(range(1, 301))
    until(lambda: len({gunicorn.get("/pid")[1] for _ in range(10)}) == 2)
    assert gunicorn.total() == 300
    until(lambda: sorted(map(is_keeper, servers_on(tmp_path))) == [False, True])  # a second keeper that finds one there ends


def test_whatever_is_killed_nothing_is_lost_or_counted_twice(start: Callable[..., Gunicorn], tmp_path: Path) -> None:
    gunicorn = start(*THREADS)
    done = 0

    def play(count: int) -> None:
        nonlocal done
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(gunicorn.submit_until_it_counts, range(done, done + count)))
        done += count
        until(lambda: gunicorn.get("/v1/scores")[0] == 200, gunicorn.log)
        assert until(lambda: gunicorn.total() == done or None, gunicorn.log)

    play(50)
    victims = [
        lambda: gunicorn.descendants()[0],
        lambda: next(process for process in servers_on(tmp_path) if not is_keeper(process)),
        lambda: next(process for process in servers_on(tmp_path) if is_keeper(process)),
    ]
    for find in victims:
        with ThreadPoolExecutor(1) as pool:
            playing = pool.submit(play, 100)
            time.sleep(0.05)
            find().kill()
            playing.result(60)
    for process in [*gunicorn.descendants(), *servers_on(tmp_path), psutil.Process(gunicorn.process.pid)]:
        process.send_signal(signal.SIGKILL)
    gunicorn.process.wait(10)
    until(lambda: not servers_on(tmp_path))
    gunicorn = start(*THREADS)
    assert gunicorn.total() == done
    play(20)


def test_a_restart_keeps_the_scores(start: Callable[..., Gunicorn], tmp_path: Path) -> None:
    first = start()
    first.submit_until_it_counts(1)
    first.stop()
    until(lambda: not servers_on(tmp_path))
    assert start().total() == 1
