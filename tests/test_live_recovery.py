"""The feed where Redis goes away and comes back, and on every kind of server that an address can name."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_leaderboard import AllTime, Board, Daily, Leaderboards
from flask_leaderboard.engine.hub import Hub
from flask_leaderboard.errors import StoreUnavailableError
from flask_leaderboard.live.feed import Feed
from flask_leaderboard.log.database import Database, database_url
from tests.conftest import SetClock
from tests.followers import INTERVAL_MS, Fan, followed
from tests.servers import Server
from tests.test_config import _answers, cluster, port, valkey_binary  # noqa: F401
from tests.test_live_feed import feed_threads
from tests.waiting import until


def arena(**rules: Any) -> Board:
    return Board("arena", windows=[AllTime(), Daily()], **rules)


@pytest.fixture
def server(valkey_binary: Path) -> Iterator[Server]:  # noqa: F811
    server = Server(valkey_binary)
    yield server
    server.process.send_signal(signal.SIGCONT)
    server.stop()


def start_again(server: Server) -> None:
    """Kill a server that keeps nothing, and start it on the same socket."""
    server.process.kill()
    server.process.wait(10)
    arguments: Any = server.process.args
    server.process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: _answers(server.client, server.process.pid))


@pytest.fixture
def open_feed(server: Server, clock: SetClock, tmp_path: Path) -> Iterator[Callable[[Board], tuple[Feed, Hub]]]:
    hubs: list[Hub] = []

    def connect() -> Redis:
        return Redis(unix_socket_path=str(server.socket), socket_timeout=0.3, retry=Retry(NoBackoff(), 0))

    def start(board: Board) -> tuple[Feed, Hub]:
        hub = Hub(
            [board],
            connect,
            prefix="lb1",
            clock=clock,
            signal_ms=INTERVAL_MS,
            rest_seconds=0.05,
            open_database=lambda: Database(database_url(None, tmp_path), own=True),
        )
        hubs.append(hub)
        return Feed(hub, interval_ms=INTERVAL_MS), hub

    yield start
    for hub in hubs:
        hub.close()


def test_emptied_server_is_seen_as_it_is(server: Server, open_feed: Callable[[Board], tuple[Feed, Hub]]) -> None:
    feed, hub = open_feed(arena(mode="redis_only"))
    hub["arena"].submit("ann", 5)
    fan = Fan(feed, feed.topic(None, None, None, None), top=3)
    start_again(server)
    fan.sees()
    until(lambda: hub["arena"].submit("bob", 1), passing=(StoreUnavailableError,))
    fan.sees(("bob", 1))
    assert feed_threads() == 1


@pytest.mark.parametrize("mode", ["ledger", "write_behind"])
def test_server_that_lost_all_is_mended_from_the_log_and_shown_again(
    mode: Any, server: Server, open_feed: Callable[[Board], tuple[Feed, Hub]]
) -> None:
    feed, hub = open_feed(arena(mode=mode))
    board = hub["arena"]
    for number in range(30):
        board.submit(f"u{number}", number)
    while board.drain():
        pass
    fan = Fan(feed, feed.topic(None, None, None, None), top=2, user_id="u3")
    for turn in range(2):
        start_again(server)
        until(lambda: board.submit("u29", 1), passing=(StoreUnavailableError,))
        fan.sees(("u29", 30 + turn), ("u28", 28))
        while board.drain():
            pass
    assert fan.shown.total == 30
    assert all(view.total == 30 for view in fan.told), "nothing half mended was shown"


def test_server_that_is_paused_is_lost_once_and_shown_anew(
    server: Server, open_feed: Callable[[Board], tuple[Feed, Hub]]
) -> None:
    feed, hub = open_feed(arena(mode="redis_only"))
    hub["arena"].submit("ann", 5)
    topic = feed.topic(None, None, None, None)
    fan, other = Fan(feed, topic, top=3), Fan(feed, topic, user_id="ann")
    server.client.publish("lb1:{arena}:@live", "1")
    server.process.send_signal(signal.SIGSTOP)
    until(lambda: fan.errors and other.errors, seconds=30)
    with pytest.raises(StoreUnavailableError):
        Fan(feed, topic, top=4)
    assert len(followed(feed)._seats) == 2, "who could be shown nothing does not follow"
    tries = followed(feed)
    until(lambda: tries._pause >= 8 * INTERVAL_MS / 1000, seconds=30)
    assert (len(fan.errors), len(other.errors), fan.told) == (1, 1, [])
    server.process.send_signal(signal.SIGCONT)
    until(lambda: fan.told and other.told)
    assert (fan.scores, len(fan.told)) == ([("ann", 5)], 1), "told that Redis is back, though nothing has changed"
    hub["arena"].submit("bob", 6)
    fan.sees(("bob", 6), ("ann", 5))
    assert isinstance(fan.errors[0], StoreUnavailableError)


def test_subscription_that_breaks_is_made_anew(server: Server, open_feed: Callable[[Board], tuple[Feed, Hub]]) -> None:
    feed, hub = open_feed(arena(mode="redis_only"))
    fan = Fan(feed, feed.topic(None, None, None, None), top=3)
    for turn in range(1, 4):
        until(lambda: server.client.client_list(_type="pubsub"))
        assert server.client.client_kill_filter(_type="pubsub") == 1
        started = time.monotonic()
        hub["arena"].submit("ann", 1)
        fan.sees(("ann", turn))
        assert time.monotonic() - started < 5, "sooner than the look for safety"
    assert fan.errors == []


def test_subscription_on_a_connection_that_is_dead_is_made_anew(
    server: Server, open_feed: Callable[[Board], tuple[Feed, Hub]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_leaderboard.live.listening.SILENCE_SECONDS", 0.2)
    feed, hub = open_feed(arena(mode="redis_only"))
    connect, deaf = hub.connect, []

    def half_dead() -> Any:
        client = connect()
        if not deaf:
            deaf.append(client)
            made = client.pubsub

            def pubsub() -> Any:
                subscription = made()
                monkeypatch.setattr(subscription, "get_message", lambda timeout: time.sleep(timeout))
                return subscription

            client.pubsub = pubsub
        return client

    monkeypatch.setattr(hub, "connect", half_dead)
    fan = Fan(feed, feed.topic(None, None, None, None), top=3)
    until(lambda: deaf)
    started = time.monotonic()
    hub["arena"].submit("ann", 1)
    hub["arena"].submit("ann", 1)
    fan.sees(("ann", 2))
    hub["arena"].submit("ann", 1)
    fan.sees(("ann", 3))
    assert time.monotonic() - started < 5


def play(url: str, folder: Path, **config: Any) -> None:
    """See that a follower is told by another app on the same server, or by the same one where the server is its own."""
    feeds = []
    for name in ("one", "two"):
        app = Flask(name, instance_path=str(folder))
        settings = {"REDIS_URL": url, "MODE": "redis_only", "LIVE_INTERVAL_MS": INTERVAL_MS, "WORKER_THREAD": False, **config}
        app.config.update({f"LEADERBOARD_{key}": value for key, value in settings.items()})
        Leaderboards(app, boards=[arena()])
        feeds.append((app.extensions["leaderboard"].feed, app.extensions["leaderboard"].hub))
    (feed, _), (_, other) = feeds
    until(lambda: other["arena"].submit("ann", 1), passing=(StoreUnavailableError,))
    fan = Fan(feed, feed.topic(None, None, None, None), top=3, user_id="bob")
    for number in range(1, 4):
        other["arena"].submit("bob", 2, user_name=f"Bob {number}")
        fan.sees(("bob", 2 * number), ("ann", 1))
    until(lambda: fan.entries[0].user_name == "Bob 3")
    assert (fan.gaps, fan.errors) == ([], [])
    for _, opened in feeds:
        opened.close()


def test_embedded_server(tmp_path: Path) -> None:
    play("embedded://", tmp_path)


def test_memory_shared_by_name(tmp_path: Path) -> None:
    play("memory://live", tmp_path)


@pytest.mark.parametrize("functions", [False, True])
def test_cluster(functions: bool, cluster: Server, port: int, tmp_path: Path) -> None:  # noqa: F811
    until(lambda: cluster.client.cluster("INFO")["cluster_state"] == "ok")
    play(f"redis+cluster://127.0.0.1:{port}", tmp_path, REDIS_FUNCTIONS=functions)


def test_sentinel(valkey_binary: Path, port: int, tmp_path: Path) -> None:  # noqa: F811
    primary = Server(valkey_binary, "--port", str(port), "--bind", "127.0.0.1")
    config = primary.folder / "sentinel.conf"
    config.write_text(f"port {port + 1}\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 {port} 1\n")
    sentinel = subprocess.Popen([str(valkey_binary), str(config), "--sentinel"], stdout=subprocess.DEVNULL)
    watching = Redis(port=port + 1)
    try:
        until(lambda: _answers(watching, sentinel.pid))
        play(f"redis+sentinel://127.0.0.1:{port + 1}/mymaster/0", tmp_path)
    finally:
        watching.close()
        sentinel.terminate()
        sentinel.wait(10)
        primary.stop()
