"""What live clients see when a worker, Redis or a period ends."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.live_site import KINDS, Ranking, Site
from tests.servers import FLAVOURS, Server
from tests.waiting import until


class LastingServer(Server):
    """A server that has its data again when it is killed and started again."""

    def __init__(self) -> None:
        binary = FLAVOURS["valkey9"].find()
        if binary is None:
            FLAVOURS["valkey9"].start()  # fails or skips
        super().__init__(Path(str(binary)), "--appendonly", "yes", "--appendfsync", "always")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def again(self) -> None:
        self.process = subprocess.Popen(self.process.args, stdout=subprocess.DEVNULL)
        self._wait()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    sites: list[Site] = []

    def run(*arguments: Any, **settings: Any) -> Site:
        sites.append(Site(tmp_path, *arguments, **settings))
        return sites[-1]

    yield run
    for site in sites:
        site.stop()


@pytest.fixture
def redis(backends: Callable[[str], Server]) -> Server:
    server = backends("valkey9")
    server.client.flushall()
    return server


@pytest.fixture
def lasting() -> Iterator[LastingServer]:
    server = LastingServer()
    yield server
    server.stop()


def test_workers_that_are_replaced_send_their_clients_to_the_next(kind: str, start: Callable[..., Site], redis: Server) -> None:
    site = start(f"unix://{redis.socket}", kind)
    ranking = Ranking(site, "reload")
    ranking.submit("ann", 5)
    with site.play() as player:
        mirror = player.subscribe(**ranking.where)
        player.receive()
        old = {worker.pid for worker in site.workers()}
        site.reload()
        (told,), code = player.closing()
        assert (told["type"], told["code"], code) == ("bye", "restarting", 1012)
    until(lambda: not old & {worker.pid for worker in site.workers()}, site.log, seconds=40)  # not the whole graceful timeout
    until(lambda: site.state()["pid"] not in old, site.log)
    with site.play() as player:
        player.mirrors["s1"] = mirror
        player.subscribe(**ranking.where, since=mirror.since)
        assert player.receive()["type"] == "resumed"
        ranking.submit("bob", 9)
        player.until(lambda: mirror.ids == ["bob", "ann"])
    assert "Traceback" not in site.log()


def test_another_worker_goes_on_where_one_ended(kind: str, start: Callable[..., Site], redis: Server) -> None:
    site = start(f"unix://{redis.socket}", kind, "--workers", "2")
    ranking = Ranking(site, "both")
    ranking.submit("ann", 5)
    until(lambda: len({site.state()["pid"] for _ in range(4)}) == 2)
    players = [site.play() for _ in range(12)]
    try:
        mirrors = [player.subscribe(**ranking.where) for player in players]
        for player in players:
            player.receive()
        ranking.submit("bob", 9)
        for player, mirror in zip(players, mirrors, strict=True):
            player.until(lambda mirror=mirror: mirror.ids == ["bob", "ann"])
        assert len({(mirror.sum, mirror.seq) for mirror in mirrors}) == 1
        for player, mirror in zip(players, mirrors[1:], strict=False):  # a state that another client, of any worker, was told
            player.mirrors["again"] = mirror
            player.subscribe("again", **ranking.where, since=mirror.since)
            assert player.receive()["type"] == "resumed"
    finally:
        for player in players:
            player.socket.close()


def test_a_new_day_begins_where_the_board_says_so(kind: str, start: Callable[..., Site], redis: Server) -> None:
    site = start(f"unix://{redis.socket}", kind)
    now = datetime.now(ZoneInfo("Europe/Amsterdam"))
    midnight = (now + timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0)
    site.move_clock(int(midnight.timestamp() - now.timestamp()) - 30)
    site.submit("ann", 5)
    connection = site.connect()
    connection.request("GET", "/v1/live/events?window=daily")
    response = connection.getresponse()
    with site.play() as player:
        mirror = player.subscribe(window="daily", top=10, user_id="ann")
        player.until(lambda: mirror.rank)
        assert (mirror.period, mirror.ids) == ((midnight - timedelta(hours=1)).strftime("%Y-%m-%d"), ["ann"])
        site.move_clock(int(midnight.timestamp() - now.timestamp()) + 30)
        told = player.receive()
        assert (told["type"], told["reason"], told["period"]) == ("snapshot", "period", midnight.strftime("%Y-%m-%d"))
        assert mirror.ids == []
        player.until(lambda: mirror.rank["rank"] is None)
        site.submit("bob", 1)
        player.until(lambda: mirror.ids == ["bob"])
    lines = [response.readline() for _ in range(8)]
    assert sum(line == b"event: snapshot\n" for line in lines) == 2
    connection.close()
    response.close()


def test_redis_may_go_and_come_back(kind: str, start: Callable[..., Site], lasting: LastingServer) -> None:
    site = start(f"unix://{lasting.socket}", kind, redis_rest_ms=100)
    ranking = Ranking(site, "heal")
    ranking.submit("ann", 5)
    with site.play() as player:
        mirror = player.subscribe(**ranking.where, user_id="bob", top=10)
        player.until(lambda: mirror.rank)
        lasting.kill()
        player.until(lambda: mirror.stale)
        player.subscribe("late", **ranking.where)
        assert player.receive()["code"] == "store_unavailable"
        lasting.again()
        player.until(lambda: not mirror.stale)
        assert mirror.ids == ["ann"]
        until(lambda: site.call("GET", "/v1/health")[0] == 200)
        ranking.submit("bob", 9)
        player.until(lambda: mirror.ids == ["bob", "ann"] and mirror.rank["rank"] == 1)
        assert len(lasting.client.client_list(_type="pubsub")) == 1
