"""What live clients are held to, and what happens to those who go beyond."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.live_player import ClosedError, Player
from tests.live_site import KINDS, LITTLE, Ranking, Site
from tests.servers import Server
from tests.waiting import until


@pytest.fixture(scope="module", params=KINDS)
def site(
    request: pytest.FixtureRequest, backends: Callable[[str], Server], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A site that is strict."""
    limits = {
        "live_max_clients": 4,
        "live_max_subscriptions": 2,
        "live_max_top": 60,
        "live_ping_s": 1,
        "live_send_timeout_ms": 300,
    }
    server = backends("valkey9")
    server.client.flushall()
    site = Site(tmp_path_factory.mktemp("site"), f"unix://{server.socket}", request.param, **limits)
    yield site
    site.stop()


@pytest.fixture(autouse=True)
def empty(site: Site) -> None:
    until(lambda: site.state()["clients"] == 0, site.log)


def test_more_clients_than_fit_are_refused(site: Site) -> None:
    players = [site.play() for _ in range(4)]
    try:
        until(lambda: site.state()["clients"] == 4)
        with site.play() as late:
            (told,), code = late.closing()
            assert (told["code"], code) == ("live_full", 1013)
        status, told = site.call("GET", "/v1/live/events")
        assert (status, told["code"]) == (503, "live_full")
        players.pop().socket.close()
        until(lambda: site.state()["clients"] == 3)
        with site.play() as player:
            player.subscribe()
            assert player.receive()["type"] == "snapshot"
    finally:
        for player in players:
            player.socket.close()


def test_more_subscriptions_than_one_may_have_are_refused(site: Site) -> None:
    with site.play() as player:
        for name in ("a", "b"):
            player.subscribe(name)
            player.receive()
        player.subscribe("c")
        told = player.receive()
        assert (told["id"], told["code"]) == ("c", "too_many_subscriptions")
        player.subscribe("b", top=1)  # in the place of another
        assert player.receive()["type"] == "snapshot"
        player.send({"type": "unsubscribe", "id": "a"})
        player.subscribe("c")
        assert player.receive()["type"] == "snapshot"


def test_longer_lists_than_allowed_are_refused(site: Site) -> None:
    with site.play() as player:
        player.subscribe(top=61)
        assert player.receive()["code"] == "bad_input"
        player.subscribe(top=60)
        assert player.receive()["type"] == "snapshot"


@contextmanager
def listening(player: Player) -> Iterator[None]:
    """Let a player read all the time: one who does not for two and a half seconds is taken for dead here."""
    over = threading.Event()

    def listen() -> None:
        while not over.is_set():
            player.drain(0.1)

    with ThreadPoolExecutor(1) as pool:
        listened = pool.submit(listen)
        try:
            yield
        finally:
            over.set()
        listened.result()


def test_quiet_connections_have_a_heartbeat_and_dead_ones_are_dropped(site: Site) -> None:
    with site.play() as alive, site.play(pongs=False) as dead:
        for player in (alive, dead):
            player.subscribe()
            player.receive()
        alive.times.clear()
        with listening(alive):
            until(lambda: site.state()["clients"] == 1, site.log)
            until(lambda: alive.beats >= 3 and alive.times)  # messages too: pages don't see pings
            assert site.state()["clients"] == 1


def test_who_only_listens_is_not_taken_for_dead(site: Site) -> None:
    ranking = Ranking(site, "busy")
    with site.play() as player:
        mirror = player.subscribe(**ranking.where)
        player.receive()
        with listening(player):
            until(lambda: ranking.submit("ann") and player.beats >= 4)  # two and a half heartbeats, none of them quiet
            points = ranking.submit("bob", 1000)
            until(lambda: mirror.ids[:1] == ["bob"])
        assert mirror.seq >= points


def test_heartbeats_come_over_plain_http_too(site: Site) -> None:
    connection = site.connect()
    connection.request("GET", "/v1/live/events")
    response = connection.getresponse()
    lines = [response.readline() for _ in range(7)]
    assert lines.count(b": \n") >= 2
    assert sum(line.startswith(b"event") for line in lines) == 1
    assert site.state()["clients"] == 1
    response.close()
    connection.close()
    until(lambda: site.state()["clients"] == 0, site.log)


def test_who_never_reads_is_sent_away(site: Site) -> None:
    ranking = Ranking(site, "never", "cup")
    ranking.fill()
    with site.play(headers=LITTLE, buffer=4096) as slow:
        slow.subscribe(**ranking.where, top=60)
        slow.receive()
        turn = 0
        while site.state()["clients"]:
            turn += 1
            assert turn < 100
            ranking.churn(turn)
        with pytest.raises((ClosedError, ConnectionResetError), match=r"1006|reset"):
            slow.drain(5)
    until(lambda: site.state()["threads"] < 40)


def test_who_reads_too_slowly_is_told_why(site: Site) -> None:
    ranking = Ranking(site, "slowly", "cup")
    ranking.fill()

    def be_slow(turn: int) -> list[Any]:
        with site.play(headers=LITTLE, buffer=4096) as slow:
            slow.subscribe(**ranking.where, top=60)
            slow.receive()
            ranking.churn(turn)
            ranking.churn(turn + 1)
            until(lambda: site.call("GET", "/sealed")[1])
            try:
                told, code = slow.closing()
            except ConnectionResetError:
                return []
            return [told and told[-1]["code"], code]

    # what is left is kept for two seconds: a machine that is very busy may read too late
    assert ["too_slow", 4408] in (be_slow(turn) for turn in range(0, 50, 10))


def test_a_stream_that_is_not_read_is_broken_off(site: Site) -> None:
    ranking = Ranking(site, "stream", "cup")
    ranking.fill()
    query = "&".join(f"{name}={value}" for name, value in ranking.where.items())
    connection = site.connect()
    connection.sock = socket.socket()
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sock.connect(site.address)
    connection.request("GET", f"/v1/live/events?top=60&{query}", headers=LITTLE)
    turn = 0
    until(lambda: site.state()["clients"] == 1)
    while site.state()["clients"]:
        turn += 1
        assert turn < 200
        ranking.churn(turn)
    connection.close()
    assert "Traceback" not in site.log()


def test_more_bytes_than_may_be_end_the_connection(site: Site) -> None:
    with site.play() as player:
        ping = b"\x89\xfd" + bytes(4) + bytes(125)
        for _ in range(120 * 4096 // len(ping) + 200):
            player.socket.sendall(ping)
        try:
            told, code = player.closing()
            assert (told[-1]["code"], code) == ("too_many_messages", 4429)
        except OSError:
            pytest.fail("the end was not told")


def test_players_are_still_served(site: Site) -> None:
    with site.play() as player:
        player.subscribe()
        assert player.receive()["type"] == "snapshot"
    assert isinstance(player, Player)
    assert "Traceback" not in site.log()
