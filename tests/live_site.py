"""A game under gunicorn for the tests of the live part: on a port of its own, with a clock that the test moves."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.live_player import Player
from tests.waiting import end, until

APP = '''
import gc, json, os, socket, sys, threading, time
from pathlib import Path
from flask import Flask, abort, current_app, request
from flask_sqlalchemy import SQLAlchemy
from flask_sock import Sock
from flask_leaderboard import AllTime, Board, Daily, Leaderboards, Segment

CLOCK = Path(os.environ["CLOCK"])
app = Flask(__name__, instance_path=os.environ["INSTANCE"])
app.config.update(json.loads(os.environ["CONFIG"]))
app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{CLOCK.parent}/host.sqlite3"
app.config["SQLALCHEMY_ENGINE_OPTIONS"] = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 5}
database = SQLAlchemy(app)
sock = Sock(app)


def clock():
    return time.time_ns() // 1000 + int(CLOCK.read_text()) * 1_000_000


def authorize(role, user_id):
    """Like a login: it reads the database, and keeps the connection until the context ends."""
    if "AUTHORIZE" not in app.config or role != "read":
        return None
    database.session.execute(database.text("select 1"))
    who = request.cookies.get("who")
    return who is not None and user_id in (None, who)


windows = [AllTime(), Daily(tz="Europe/Amsterdam")]
rules = {"windows": windows, "segments": [Segment("country")]}
boards = [Board("arena", **rules), Board("cup", update="latest", **rules)]
leaderboards = Leaderboards(app, boards=boards, clock=clock, authorize=authorize if "AUTHORIZE" in app.config else None)


@app.before_request
def shrink():
    """Let little be on its way to a client, so that one who does not read is noticed soon."""
    if "Little" in request.headers:
        request.environ["gunicorn.socket"].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)


def passing(inner):
    """Pass bodies on piece by piece, as what measures and watches apps does."""

    def wrapped(environ, start_response):
        body = inner(environ, start_response)
        return pieces(body) if "Upgrade" in environ.get("HTTP_CONNECTION", "") else body

    def pieces(body):
        try:
            yield from body
        finally:
            getattr(body, "close", int)()

    return wrapped


app.wsgi_app = passing(app.wsgi_app)


@app.get("/state")
def state():
    gc.collect()
    live = current_app.extensions["leaderboard"].live
    lent = database.engine.pool.checkedout()
    gevent = sys.modules.get("gevent")
    greenlets = sum(isinstance(item, gevent.Greenlet) for item in gc.get_objects()) if gevent else 0
    return {
        "pid": os.getpid(), "clients": len(live.clients), "threads": threading.active_count() + greenlets, "lent": lent,
        "topics": len(live.memory._lists),
    }


@app.get("/sealed")
def sealed():
    """Count the clients that were said goodbye to."""
    guests = list(current_app.extensions["leaderboard"].live.clients._guests)
    return str(sum(guest._wire.sealed for guest in guests if hasattr(guest, "_wire")))


@sock.route("/echo")
def echo(ws):
    while True:
        ws.send(ws.receive())
'''
LITTLE = {"Little": "yes"}
"""Asks the app to let little be on its way to this client."""
KINDS = {
    "gthread": ("-k", "gthread", "--threads", "64"),
    "gevent": ("-k", "gevent", "--worker-connections", "3000"),
}
OPTIONS = {**KINDS, "sync": ("-k", "sync")}


class Site:
    """A gunicorn with an app, on the Redis of the test."""

    def __init__(self, folder: Path, redis_url: str, kind: str, *options: str, tls: bool = False, **settings: Any) -> None:
        self.folder = folder
        self.clock = folder / "clock"
        self._tls = tls
        self.move_clock(0)
        (folder / "game.py").write_text(APP)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = free.getsockname()
        config = {
            "SECRET_KEY": "the same for all workers",
            "LEADERBOARD_REDIS_URL": redis_url,
            "LEADERBOARD_MODE": "redis_only",
            "LEADERBOARD_TOKENS": {"submit": ["s3cret"]},
            "LEADERBOARD_LIVE_INTERVAL_MS": 100,
            **{name if name.isupper() else f"LEADERBOARD_{name.upper()}": value for name, value in settings.items()},
        }
        told = {"INSTANCE": str(folder / "instance"), "CONFIG": json.dumps(config), "CLOCK": str(self.clock)}
        environ = {**os.environ, **told, "PYTHONPATH": f"{folder}{os.pathsep}{Path.cwd()}"}
        bind = ("--bind", f"{self.address[0]}:{self.address[1]}")
        command = [sys.executable, "-m", "gunicorn", "game:app", *bind, "--graceful-timeout", "60", *OPTIONS[kind], *options]
        with (folder / "gunicorn.log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
        until(lambda: self.call("GET", "/state")[0] == 200, self.log, passing=(OSError, http.client.HTTPException))

    def log(self) -> str:
        return (self.folder / "gunicorn.log").read_text()

    def move_clock(self, seconds: int) -> None:
        """Set the app's clock so many seconds before or after the real one."""
        self.clock.with_suffix(".new").write_text(str(seconds))
        self.clock.with_suffix(".new").rename(self.clock)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = self.connect()
        try:
            told = {"Authorization": "Bearer s3cret", "Content-Type": "application/json", "Connection": "close", **headers}
            connection.request(method, path, None if body is None else json.dumps(body), told)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def connect(self) -> http.client.HTTPConnection:
        if self._tls:
            unverified = ssl._create_unverified_context()
            return http.client.HTTPSConnection(*self.address, timeout=20, context=unverified)
        return http.client.HTTPConnection(*self.address, timeout=20)

    def state(self) -> dict[str, Any]:
        status, told = self.call("GET", "/state")
        assert status == 200, self.log()
        return dict(told)

    def submit(self, user_id: str, points: int = 1, board: str = "arena", **more: Any) -> int:
        status, told = self.call("POST", "/v1/scores", {"user_id": user_id, "points": points, "board": board, **more})
        assert status == 200, told
        return int(told["number"])

    def play(self, path: str = "/v1/live", **options: Any) -> Player:
        return Player(self.address, path, **options)

    def workers(self) -> list[psutil.Process]:
        return list(psutil.Process(self.process.pid).children())

    def reload(self) -> None:
        """Have all workers replaced."""
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> float:
        """Stop, and tell how many seconds it took."""
        started = time.monotonic()
        end(self.process, 55)
        return time.monotonic() - started


class Ranking:
    """A ranking that nobody else uses."""

    def __init__(self, site: Site, country: str, board: str = "arena") -> None:
        self._site, self._country, self._board = site, country, board
        self.where = {"board": board, "window": "all", "segment": f"country={country}"}

    def submit(self, user_id: str, points: int = 1, **more: Any) -> int:
        return self._site.submit(user_id, points, self._board, segments={"country": self._country}, **more)

    def submit_all(self, points: dict[str, int], **more: Any) -> None:
        """Submit for many at once."""
        same = {"board": self._board, "segments": {"country": self._country}, **more}
        items = [{"user_id": user_id, "points": number, **same} for user_id, number in points.items()]
        status, told = self._site.call("POST", "/v1/scores/batch", {"submissions": items})
        assert (status, told["accepted"]) == (200, len(items)), told

    def fill(self) -> None:
        """Let sixty users with long names be ranked."""
        self.submit_all({f"u{number}": number for number in range(60)}, user_name="x" * 200)

    def churn(self, turn: int) -> None:
        """Change all of them."""
        self.submit_all({f"u{number}": turn * 100 + number for number in range(60)})

    def top(self, limit: int = 10) -> list[str]:
        query = "&".join(f"{name}={value}" for name, value in self.where.items())
        status, told = self._site.call("GET", f"/v1/scores?limit={limit}&{query}")
        assert status == 200, told
        return [row["user_id"] for row in told["data"]]


def events(response: Any) -> Iterator[dict[str, Any]]:
    """Read Server-Sent Events."""
    found: dict[str, Any] = {}
    for line in response:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            found[name] = value
        elif "data" in found:
            yield {**found, "data": json.loads(found["data"])}
            found = {}
