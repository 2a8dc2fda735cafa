"""Who may follow what: tokens, tickets, the host's own check, and pages of other origins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.live_player import Player
from tests.live_site import KINDS, Site
from tests.servers import Server
from tests.waiting import until

Factory = pytest.TempPathFactory
BROWSER = "https://game.example"


def serve(backends: Callable[[str], Server], factory: Factory, kind: str, **settings: Any) -> Iterator[Site]:
    server = backends("valkey9")
    server.client.flushall()
    site = Site(factory.mktemp("site"), f"unix://{server.socket}", kind, **settings)
    yield site
    site.stop()


@pytest.fixture(scope="module")
def guarded(backends: Callable[[str], Server], tmp_path_factory: Factory) -> Iterator[Site]:
    """A site where reading takes a token."""
    tokens = {"submit": ["s3cret"], "read": ["r3ad"]}
    yield from serve(backends, tmp_path_factory, "gthread", tokens=tokens, live_origins=[BROWSER])


@pytest.fixture(scope="module", params=KINDS)
def asked(request: pytest.FixtureRequest, backends: Callable[[str], Server], tmp_path_factory: Factory) -> Iterator[Site]:
    """A site whose app is asked who may read."""
    yield from serve(backends, tmp_path_factory, request.param, AUTHORIZE=True)


def assert_open(player: Player) -> None:
    player.subscribe()
    assert player.receive()["type"] == "snapshot"


def assert_refused(player: Player, code: str, close_code: int) -> None:
    (told,), closed = player.closing()
    assert (told["type"], told["code"], closed) == ("error", code, close_code)


def ticket_for(site: Site, body: Any = None, **headers: str) -> str:
    status, told = site.call("POST", "/v1/live/tickets", body or {}, **headers)
    assert status == 200, told
    return str(told["ticket"])


def test_a_token_comes_in_a_header_or_as_a_subprotocol(guarded: Site) -> None:
    for token in ("r3ad", "s3cret"):
        with guarded.play(headers={"Authorization": f"Bearer {token}"}) as player:
            assert_open(player)
        with guarded.play(protocols=("leaderboard.v1", f"bearer.{token}")) as player:
            assert player.protocol == "leaderboard.v1"
            assert_open(player)


def test_without_a_good_token_nobody_comes_in(guarded: Site) -> None:
    for options in (
        {},
        {"headers": {"Authorization": "Bearer wrong"}},
        {"protocols": ("leaderboard.v1", "bearer.wrong")},
        {"protocols": ("leaderboard.v1", "bearer.")},
    ):
        with guarded.play(**options) as player:
            assert_refused(player, "unauthorized", 4401)
    assert guarded.call("GET", "/v1/live/events", Authorization="Bearer wrong")[0] == 401
    assert guarded.call("POST", "/v1/live/tickets", {}, Authorization="Bearer wrong")[0] == 401


def test_a_ticket_stands_in_for_a_token_for_a_while(guarded: Site) -> None:
    ticket = ticket_for(guarded)
    with guarded.play(f"/v1/live?ticket={ticket}") as player:
        player.subscribe(user_id="ann", top=1)
        assert {player.receive()["type"], player.receive()["type"]} == {"snapshot", "rank"}
    guarded.move_clock(59)
    with guarded.play(f"/v1/live?ticket={ticket}") as player:
        assert_open(player)
    guarded.move_clock(62)
    with guarded.play(f"/v1/live?ticket={ticket}") as player:
        assert_refused(player, "bad_ticket", 4401)
    status, told = guarded.call("GET", f"/v1/live/events?ticket={ticket}", Authorization="")
    assert (status, told["code"]) == (401, "bad_ticket")
    guarded.move_clock(0)


def test_a_ticket_opens_a_stream(guarded: Site) -> None:
    connection = guarded.connect()
    connection.request("GET", f"/v1/live/events?ticket={ticket_for(guarded)}")
    response = connection.getresponse()
    assert response.status == 200
    assert response.readline() == b"event: snapshot\n"
    response.close()
    connection.close()


def test_a_ticket_that_was_made_elsewhere_is_refused(guarded: Site) -> None:
    ticket = ticket_for(guarded)
    for other in (ticket[:9] + ("A" if ticket[9] != "A" else "B") + ticket[10:], ticket[:-9], "", "x.y"):
        with guarded.play(f"/v1/live?ticket={other}") as player:
            assert_refused(player, "bad_ticket", 4401)


def test_a_ticket_names_at_most_so_many_users_and_real_ones(guarded: Site) -> None:
    assert guarded.call("POST", "/v1/live/tickets", {"user_ids": ["a"] * 101})[0] == 400
    assert guarded.call("POST", "/v1/live/tickets", {"user_ids": ["a/b"]})[1]["code"] == "bad_id"
    assert guarded.call("POST", "/v1/live/tickets", {"more": 1})[0] == 400


def test_a_ticket_is_for_the_users_it_names(guarded: Site) -> None:
    with guarded.play(f"/v1/live?ticket={ticket_for(guarded, {'user_ids': ['ann']})}") as player:
        assert_open(player)
        player.subscribe("own", user_id="ann")
        assert player.receive()["type"] == "rank"
        player.subscribe("other", user_id="bob")
        told = player.receive()
        assert (told["id"], told["code"]) == ("other", "forbidden")


def test_pages_of_other_origins_are_refused(guarded: Site, asked: Site) -> None:
    token = {"Authorization": "Bearer r3ad"}
    with guarded.play(headers={**token, "Origin": BROWSER}) as player:
        assert_open(player)
    for origin in ("https://evil.example", "http://game.example", "null", f"{BROWSER}.evil.example"):
        with guarded.play(headers={**token, "Origin": origin}) as player:
            assert_refused(player, "bad_origin", 4403)
        assert guarded.call("GET", "/v1/live/events", Origin=origin)[1]["code"] == "bad_origin"
    own = f"http://{asked.address[0]}:{asked.address[1]}"
    with asked.play(headers={"Cookie": "who=ann", "Origin": own}) as player:
        assert_open(player)
    with asked.play(headers={"Cookie": "who=ann", "Origin": BROWSER}) as player:
        assert_refused(player, "bad_origin", 4403)


def test_the_host_is_asked_about_every_user(asked: Site) -> None:
    with asked.play() as player:
        assert_refused(player, "forbidden", 4403)
    with asked.play(headers={"Cookie": "who=ann"}) as player:
        assert_open(player)
        player.subscribe("own", user_id="ann")
        assert player.receive()["type"] == "rank"
        player.subscribe("other", user_id="bob")
        assert player.receive()["code"] == "forbidden"
    assert asked.call("GET", "/v1/live/events?user_id=bob", Cookie="who=ann")[1]["code"] == "forbidden"


def test_a_ticket_carries_what_the_host_allowed(asked: Site) -> None:
    assert asked.call("POST", "/v1/live/tickets", {"user_ids": ["bob"]}, Cookie="who=ann")[0] == 403
    with asked.play(f"/v1/live?ticket={ticket_for(asked, {'user_ids': ['ann']}, Cookie='who=ann')}") as player:
        assert_open(player)
        player.subscribe("own", user_id="ann")
        assert player.receive()["type"] == "rank"
    with asked.play(f"/v1/live?ticket={ticket_for(asked, Cookie='who=ann')}") as player:
        player.subscribe("own", user_id="ann")
        assert player.receive()["code"] == "forbidden"


def test_no_database_session_of_the_host_is_kept(asked: Site) -> None:
    players = [asked.play(headers={"Cookie": "who=ann"}) for _ in range(5)]  # its pool has room for one
    connection = asked.connect()
    try:
        for player in players:
            player.subscribe(user_id="ann", top=1)
            assert {player.receive()["type"], player.receive()["type"]} == {"snapshot", "rank"}
        connection.request("GET", "/v1/live/events?user_id=ann", headers={"Cookie": "who=ann"})
        assert connection.getresponse().readline() == b"event: rank\n"
        until(lambda: asked.state()["lent"] == 0, asked.log)
        assert asked.state()["clients"] == 6
    finally:
        connection.close()
        for player in players:
            player.socket.close()
