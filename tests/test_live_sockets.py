"""Live over real sockets, under gunicorn with threads and with gevent."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from simple_websocket import Client
from wsproto.events import CloseConnection, Message

from tests.live_mirror import Mirror
from tests.live_site import KINDS, LITTLE, Ranking, Site, events
from tests.servers import Server
from tests.waiting import until

COUNTRIES = (f"c{number}" for number in itertools.count())


@pytest.fixture(scope="module", params=KINDS)
def site(
    request: pytest.FixtureRequest, backends: Callable[[str], Server], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A site that tests share: each takes a segment of its own."""
    server = backends("valkey9")
    server.client.flushall()
    site = Site(tmp_path_factory.mktemp("site"), f"unix://{server.socket}", request.param)
    yield site
    site.stop()


@pytest.fixture
def country() -> str:
    return next(COUNTRIES)


@pytest.fixture
def ranking(site: Site, country: str) -> Ranking:
    return Ranking(site, country)


def test_snapshot_then_what_changes(site: Site, ranking: Ranking) -> None:
    ranking.submit("ann", 5, user_name="Ann")
    with site.play() as player, site.play() as other:
        mirror, same = player.subscribe(**ranking.where), other.subscribe("x", **ranking.where)
        assert player.receive()["reason"] == "subscribed"
        assert other.receive()["entries"] == mirror.entries == [{"rank": 1, "user_id": "ann", "user_name": "Ann", "score": 5}]
        number = ranking.submit("bob", 9)
        for each, seen in ((player, mirror), (other, same)):
            assert each.receive()["type"] == "update"
            assert seen.ids == ["bob", "ann"]
            assert seen.seq >= number
        assert mirror.sum == same.sum


def test_own_rank_and_who_is_directly_above(site: Site, ranking: Ranking) -> None:
    ranking.submit("ann", 5)
    with site.play() as player:
        mirror = player.subscribe(**ranking.where, user_id="bob")
        assert player.receive()["rank"] is None
        ranking.submit("bob", 3)
        player.until(lambda: mirror.rank["rank"] == 2)
        assert mirror.rank["above"]["user_id"] == "ann"
        assert mirror.rank["below"] is None
        ranking.submit("bob", 3)
        player.until(lambda: mirror.rank["rank"] == 1)
        assert (mirror.rank["old_rank"], mirror.rank["old_score"], mirror.rank["score"]) == (2, 3, 6)
        assert mirror.rank["below"]["user_id"] == "ann"
        assert set(mirror.kinds) == {"rank"}


def test_who_comes_back_gets_what_was_missed(site: Site, ranking: Ranking) -> None:
    for number in range(5):
        ranking.submit(f"u{number}", number + 1)
    with site.play() as witness:
        seen = witness.subscribe(**ranking.where, top=3)
        witness.receive()
        with site.play() as player:
            mirror = player.subscribe(**ranking.where, top=3)
            player.receive()
        with site.play() as player:
            player.mirrors["s1"] = mirror
            player.subscribe(**ranking.where, top=3, since=mirror.since)
            assert player.receive()["type"] == "resumed"
        ranking.submit("u0", 10)
        witness.until(lambda: seen.ids[0] == "u0")
        with site.play() as player:
            player.mirrors["s1"] = mirror
            player.subscribe(**ranking.where, top=3, since=mirror.since)
            assert player.receive()["type"] == "update"
            assert mirror.ids == seen.ids
            player.subscribe(**ranking.where, top=3, since={"seq": 1, "sum": "0123456789abcdef"})
            assert player.receive()["type"] == "snapshot"


def test_nobody_is_told_more_often_than_the_interval_and_the_last_change_always_comes(site: Site, ranking: Ranking) -> None:
    with site.play() as player:
        mirror = player.subscribe(**ranking.where)
        player.receive()
        started, player.times = time.monotonic(), []
        for number in range(80):
            ranking.submit(f"u{number % 15}", number)
        ranking.submit("last", 100_000)
        player.until(lambda: mirror.ids[:1] == ["last"])
        took = time.monotonic() - started
        assert len(player.times) <= took / 0.1 + 2
        assert mirror.ids == ranking.top()
        assert player.drain(0.4) == []


def test_what_is_unsubscribed_is_told_no_more(site: Site, ranking: Ranking) -> None:
    with site.play() as player:
        player.subscribe("a", **ranking.where)
        player.receive()
        player.subscribe("b", **ranking.where, top=1)
        player.receive()
        player.send({"type": "unsubscribe", "id": "a"})
        player.send({"type": "ping"})
        assert player.receive() == {"type": "pong"}
        ranking.submit("ann")
        assert player.receive()["id"] == "b"
        assert player.drain(0.3) == []


def test_the_same_name_again_takes_the_place(site: Site, ranking: Ranking) -> None:
    ranking.submit("ann", 2)
    ranking.submit("bob", 1)
    with site.play() as player:
        mirror = player.subscribe("a", **ranking.where, top=1)
        assert player.receive()["reason"] == "subscribed"
        player.subscribe("a", **ranking.where, top=2)
        assert player.receive()["reason"] == "subscribed"
        assert mirror.ids == ["ann", "bob"]
        ranking.submit("bob", 5)
        assert player.receive()["type"] == "update"
        assert player.drain(0.3) == []


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"board": "nowhere"}, "unknown_board"),
        ({"window": "yearly"}, "unknown_window"),
        ({"segment": "planet=mars"}, "bad_id"),
        ({"ranking": "dense"}, "dense_not_kept"),
        ({"top": 101}, "bad_input"),
        ({"top": 0}, "bad_input"),
        ({"user_id": "a/b"}, "bad_id"),
        ({"user_id": ""}, "bad_id"),
    ],
)
def test_a_subscription_that_can_not_be_ends_nothing_else(site: Site, wish: dict[str, Any], code: str) -> None:
    with site.play() as player:
        player.send({"type": "subscribe", "id": "odd", **wish})
        told = player.receive()
        assert (told["type"], told["id"], told["code"]) == ("error", "odd", code)
        player.send({"type": "ping"})
        assert player.receive() == {"type": "pong"}


def test_names_are_plain_text(site: Site, ranking: Ranking) -> None:
    name = "<img src=x onerror=alert(1)>\u202e 👑 \"'`${1}"
    ranking.submit("<b>", user_name=name)
    with site.play() as player:
        mirror = player.subscribe(**ranking.where, user_id="<b>", top=1)
        player.until(lambda: mirror.rank)
        assert mirror.entries[0] == {"rank": 1, "user_id": "<b>", "user_name": name, "score": 1}
        assert mirror.rank["user_name"] == name


@pytest.mark.parametrize(
    "sent", ["", "{", "[1]", '{"type":"subscribe","id":"a","more":1}', '{"type":"dance"}', b"\x00", "[" * 4000], ids=repr
)
def test_what_is_no_message_ends_the_connection(site: Site, sent: str | bytes) -> None:
    with site.play() as player:
        player.send(sent)
        (told,), code = player.closing()
        assert (told["type"], told["code"], code) == ("error", "bad_message", 4400)


def test_a_message_that_is_too_long_ends_the_connection(site: Site) -> None:
    for pieces in ([b"x" * 1_000_000], [b"x" * 1000] * 10):
        with site.play() as player:
            *first, last = pieces
            for piece in first:
                player.write(Message(data=piece.decode(), message_finished=False))
            player.send(last.decode())
            (told,), code = player.closing()
            assert (told["code"], code) == ("message_too_big", 1009)


def test_a_frame_against_the_rules_ends_the_connection(site: Site) -> None:
    with site.play() as player:
        player.socket.sendall(b"\x81\x01x")  # not masked
        assert player.closing() == ([], 1002)
    with site.play() as player:
        player.socket.sendall(b"\x81\x82\x00\x00\x00\x00\xff\xfe")  # not UTF-8
        assert player.closing() == ([], 1007)


def test_a_flood_of_messages_ends_the_connection(site: Site) -> None:
    with site.play() as player:
        for _ in range(200):
            player.send({"type": "ping"})
        told, code = player.closing()
        assert told[-1]["code"] == "too_many_messages"
        assert len(told) <= 130
        assert code == 4429


def test_who_does_not_read_holds_up_nobody_and_gets_the_newest_state(site: Site, country: str) -> None:
    ranking = Ranking(site, country, "cup")
    ranking.fill()
    with site.play(headers=LITTLE, buffer=4096) as slow, site.play() as quick:
        behind, seen = (player.subscribe(**ranking.where, top=60) for player in (slow, quick))
        slow.receive()
        quick.receive()
        for turn in range(1, 12):
            ranking.churn(turn)
            ranking.submit("lead", 100_000 + turn)
            quick.until(lambda turn=turn: seen.entries[0]["score"] == 100_000 + turn, 5)
        ranking.submit("lead", 200_000)
        quick.until(lambda: seen.entries[0]["score"] == 200_000, 5)
        told: list[dict[str, Any]] = []
        while not behind.entries or behind.sum != seen.sum:
            told.append(slow.receive())
        assert len(told) < 12
        assert any(message.get("reason") == "behind" for message in told)
        ranking.submit("lead", 300_000)  # and is written to at once again
        slow.until(lambda: behind.entries[0]["score"] == 300_000, 5)
        assert behind.kinds[-1] == "update"


def test_joining_and_leaving_leaves_nothing_behind(site: Site, ranking: Ranking, backends: Callable[[str], Server]) -> None:
    redis = backends("valkey9").client

    def come_and_go(times: int) -> None:
        for number in range(times):
            with site.play() as player:
                player.subscribe(**ranking.where, user_id=f"u{number}", top=3)
                player.receive()
                if number % 3:
                    player.write(CloseConnection(code=1000))

    def usage() -> tuple[int, int, int]:
        state = until(lambda: (found := site.state())["clients"] == 0 and found, site.log)
        return state["threads"], len(redis.client_list()), site.workers()[0].memory_info().rss

    come_and_go(100)
    threads, connections, memory = usage()
    come_and_go(1000)
    until(lambda: usage()[0] <= threads + 2, site.log)
    _, connections_after, memory_after = usage()
    assert connections_after <= connections + 1
    assert memory_after - memory < 6_000_000


def test_the_host_keeps_its_own_sockets(site: Site) -> None:
    client = Client.connect(f"ws://{site.address[0]}:{site.address[1]}/echo")
    client.send("x" * 100_000)
    assert client.receive(timeout=5) == "x" * 100_000
    client.close()


def test_a_plain_request_is_told_what_this_is(site: Site) -> None:
    assert site.call("GET", "/v1/live")[1]["code"] == "bad_request"
    assert site.call("POST", "/v1/live", {})[0] == 400
    status, told = site.call("GET", "/v1/live/schema.json")
    assert status == 200
    assert "Snapshot" in told["$defs"]


def test_a_handshake_that_is_none_is_refused(site: Site) -> None:
    with socket.create_connection(site.address, timeout=5) as plain:
        plain.sendall(b"GET /v1/live HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n")
        assert plain.recv(100).startswith(b"HTTP/1.1 400")
    assert site.state()["clients"] == 0 or until(lambda: site.state()["clients"] == 0)


def test_many_get_the_same_at_once(site: Site, ranking: Ranking) -> None:
    players = [site.play() for _ in range(40)]
    try:
        for number, player in enumerate(players):
            player.subscribe(f"mine-{number % 3}", **ranking.where)
            player.receive()
        ranking.submit("ann", 7)
        sums = {player.receive(5)["sum"] for player in players}
        assert len(sums) == 1
    finally:
        for player in players:
            player.socket.close()


def test_the_same_comes_as_server_sent_events(site: Site, ranking: Ranking) -> None:
    query = "&".join(f"{name}={value}" for name, value in ranking.where.items())
    ranking.submit("ann", 5)
    connection = site.connect()
    connection.request("GET", f"/v1/live/events?{query}&top=3&user_id=bob")
    response = connection.getresponse()
    assert response.status == 200
    assert response.getheader("Content-Type", "").startswith("text/event-stream")
    assert (response.getheader("Cache-Control"), response.getheader("X-Accel-Buffering")) == ("no-store", "no")
    stream, mirror = events(response), Mirror()
    first, second = next(stream), next(stream)
    assert (first["event"], second["event"]) == ("snapshot", "rank")
    for event in (first, second):
        mirror.apply(event["data"])
    assert first["id"] == f"{mirror.seq}:{mirror.sum}"
    ranking.submit("bob", 9)
    event = next(stream)
    mirror.apply(event["data"])
    assert mirror.ids == ["bob", "ann"]
    connection.close()
    response.close()
    connection = site.connect()
    connection.request("GET", f"/v1/live/events?{query}&top=3", headers={"Last-Event-ID": event["id"]})
    again = connection.getresponse()
    assert next(events(again))["event"] == "resumed"
    again.close()
    connection.close()
    until(lambda: site.state()["clients"] == 0, seconds=15)  # long before the next heartbeat would find out


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("board=nowhere", 404, "unknown_board"),
        ("top=1000", 400, "bad_input"),
        ("period=2026-01-01", 400, "bad_input"),
        ("more=1", 400, "bad_input"),
        ("ticket=odd", 401, "bad_ticket"),
    ],
)
def test_events_that_can_not_be_are_refused(site: Site, query: str, status: int, code: str) -> None:
    answer = site.call("GET", f"/v1/live/events?{query}")
    assert (answer[0], answer[1]["code"]) == (status, code)


def test_a_stopped_site_says_goodbye_at_once(site: Site, backends: Callable[[str], Server], tmp_path: Path) -> None:
    other = Site(tmp_path, f"unix://{backends('valkey9').socket}", "gevent" if "gevent" in site.log() else "gthread")
    player, connection = other.play(), other.connect()
    try:
        player.subscribe(board="arena")
        player.receive()
        connection.request("GET", "/v1/live/events")
        stream = events(connection.getresponse())
        next(stream)
        took = other.stop()
        (told,), code = player.closing()
        assert (told["type"], told["code"], code) == ("bye", "restarting", 1012)
        assert told["retry_in_ms"] >= 100
        assert [event["event"] for event in stream][-1] == "bye"
        assert took < 40, other.log()  # not the whole graceful timeout
    finally:
        player.socket.close()
        connection.close()
        other.stop()
