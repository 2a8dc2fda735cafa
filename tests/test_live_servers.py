"""Live as a guest: under which servers it works, and what it leaves alone."""

from __future__ import annotations

import re
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.serving import make_server

from flask_leaderboard import Leaderboards
from flask_leaderboard.errors import ConfigurationError
from flask_leaderboard.web.live.budget import Budget
from flask_leaderboard.web.live.clients import is_ending
from tests.live_player import Player
from tests.live_site import KINDS, LITTLE, Ranking, Site
from tests.servers import Server
from tests.web import API, arena, make_app

CERTIFICATE = Path(__file__).parent / "certificates" / "localhost.pem"


@pytest.fixture
def redis_url(backends: Callable[[str], Server]) -> str:
    server = backends("valkey9")
    server.client.flushall()
    return f"unix://{server.socket}"


@pytest.fixture
def secure(redis_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    site = Site(tmp_path, redis_url, request.param, "--certfile", str(CERTIFICATE), "--keyfile", str(CERTIFICATE), tls=True)
    yield site
    site.stop()


@pytest.mark.parametrize("secure", KINDS, indirect=True)
def test_slow_and_quick_readers_over_tls(secure: Site) -> None:
    trusting = ssl.create_default_context(cafile=str(CERTIFICATE))
    ranking = Ranking(secure, "tls", "cup")
    ranking.fill()
    slow_one = secure.play(headers=LITTLE, buffer=4096, tls=trusting)
    with slow_one as slow, secure.play(tls=trusting) as quick:
        behind, seen = (player.subscribe(**ranking.where, top=60) for player in (slow, quick))
        slow.receive()
        quick.receive()
        for turn in range(1, 6):
            ranking.churn(turn)
            ranking.submit("lead", 100_000 + turn)
            quick.until(lambda turn=turn: seen.entries[0]["score"] == 100_000 + turn, 5)
        slow.until(lambda: behind.sum == seen.sum, 10)
        slow.send({"type": "ping"})
        slow.until(lambda: True)
        ranking.submit("lead", 200_000)
        slow.until(lambda: behind.entries[0]["score"] == 200_000, 10)
    assert "Traceback" not in secure.log()


def test_a_server_that_serves_one_at_a_time_says_so(redis_url: str, tmp_path: Path) -> None:
    site = Site(tmp_path, redis_url, "sync")
    try:
        with pytest.raises(ConnectionRefusedError, match="501"):
            site.play()
        status, told = site.call("GET", "/v1/live/events")
        assert (status, told["code"]) == (501, "live_unsupported")
    finally:
        site.stop()


@pytest.fixture
def serve() -> Iterator[Callable[[Flask], tuple[str, int]]]:
    """Serve apps by Flask's own server."""
    servers = []

    def run(app: Flask) -> tuple[str, int]:
        server = make_server("127.0.0.1", 0, app, threaded=True)
        servers.append((server, threading.Thread(target=server.serve_forever, daemon=True)))
        servers[-1][1].start()
        return "127.0.0.1", server.server_port

    yield run
    for server, thread in servers:
        server.shutdown()
        thread.join(10)
        server.server_close()


@pytest.mark.parametrize("prefix", ["/v1", "/game/api"])
def test_flasks_own_server_will_do(serve: Callable[[Flask], tuple[str, int]], prefix: str) -> None:
    app = make_app([arena()], url_prefix=prefix, live_interval_ms=50, token={"submit": ["s3cret"]})
    before = dict(app.config)
    with Player(serve(app), f"{prefix}/live") as player:
        mirror = player.subscribe(user_id="ann", top=3)
        player.until(lambda: mirror.rank)
        with app.app_context():
            app.extensions["leaderboard"].hub["arena"].submit("ann", 3)
        player.until(lambda: mirror.ids == ["ann"] and mirror.rank["rank"] == 1)
    assert app.config == before
    app.extensions["leaderboard"].hub.close()


def test_it_can_be_left_out() -> None:
    app = make_app([arena()], live=False)
    paths = {rule.rule for rule in app.url_map.iter_rules()}
    assert not any(re.match("/v1/live(/|$)", path) for path in paths)
    assert not any("live" in path for path in app.test_client().get("/v1/openapi.json").json["paths"])
    assert app.test_client().get("/v1/live").status_code == 404


def test_the_host_is_left_as_it_was() -> None:
    app = Flask("host")
    app.config["LEADERBOARD_REDIS_URL"] = "memory://"
    app.config["SOCK_SERVER_OPTIONS"] = {"ping_interval": 7}
    before, handlers = set(app.config), len(app.error_handler_spec)
    threads = threading.active_count()
    Leaderboards(app, boards=[arena()])
    assert set(app.config) == before
    assert app.config["SOCK_SERVER_OPTIONS"] == {"ping_interval": 7}
    assert len(app.error_handler_spec) <= handlers + 1  # the blueprint's
    assert threading.active_count() == threads
    assert app.before_request_funcs == {}
    assert app.teardown_appcontext_funcs == []


def test_the_stream_is_in_the_openapi_document() -> None:
    told = API["paths"]["/live/events"]["get"]
    assert list(told["responses"]["200"]["content"]) == ["text/event-stream"]
    assert "`live_unsupported`" in told["responses"]["501"]["description"]
    assert "`live_full`" in told["responses"]["503"]["description"]
    assert b"Server-Sent Events" in make_app([arena()]).test_client().get("/v1/docs").data


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("live_origins", ["game.example"]), ("live_origins", ["https://game.example/"]), ("live_origins", 7),
        ("live_max_clients", 0), ("live_max_top", 1001), ("live_ping_s", 0.5), ("live", "yes"), ("live_message_bytes", 10),
    ],
)  # fmt: skip
def test_settings_are_checked(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"LEADERBOARD_{name.upper()}"):
        make_app([arena()], **{name: value})


def test_only_a_gunicorn_that_was_told_to_end_is_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    class Worker:
        alive = True

        def handle_exit(self, *signal: Any) -> None:
            self.alive = False

    worker = Worker()
    for handler, ending in ((signal.SIG_DFL, False), (lambda *_: None, False), (None, False), (worker.handle_exit, False)):
        monkeypatch.setattr(signal, "getsignal", lambda _, handler=handler: handler)
        assert is_ending() is ending
    worker.handle_exit()
    assert is_ending()


def test_a_budget_fills_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    budget = Budget(60)
    assert [budget.spend() for _ in range(61)] == [True] * 60 + [False]
    now[0] += 3
    assert [budget.spend() for _ in range(3)] == [True, True, False]
