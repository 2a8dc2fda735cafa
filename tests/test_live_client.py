"""A client between a feed that tells what the test wants and a socket that the test reads."""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from wsproto.frame_protocol import FrameProtocol, Opcode

from flask_leaderboard.config import Settings
from flask_leaderboard.errors import StoreUnavailableError
from flask_leaderboard.live.topics import Topic
from flask_leaderboard.live.views import View
from flask_leaderboard.rules.results import Entry
from flask_leaderboard.web.live import clients
from flask_leaderboard.web.live.client import Client
from flask_leaderboard.web.live.clients import Clients
from flask_leaderboard.web.live.live import Live
from flask_leaderboard.web.live.wire import Wire
from tests.live_mirror import Mirror
from tests.waiting import until

TOPIC = Topic("arena", "weekly", None, "sparse")


def view_of(*user_ids: str, number: int = 0) -> View:
    entries = tuple(Entry(rank, user_id, None, -rank) for rank, user_id in enumerate(user_ids, 1))
    return View(TOPIC, "w1", number, len(entries), entries, {})


class FakeFeed:
    """Gives a view to those who come, and remembers them."""

    def __init__(self) -> None:
        self.view = view_of("ann")
        self.followers: list[Any] = []
        self.left: list[Any] = []
        self.meanwhile: Callable[[Any], None] = lambda follower: None

    def topic(self, *names: str | None) -> Topic:
        return TOPIC

    def follow(self, topic: Topic, follower: Any, *, top: int = 0, user_id: str | None = None) -> View:
        self.followers.append(follower)
        self.meanwhile(follower)
        return self.view

    def unfollow(self, topic: Topic, follower: Any) -> None:
        self.left.append(follower)


class Table:
    """The client, its feed, and the other end of its wire."""

    def __init__(self) -> None:
        here, self.end = socket.socketpair()
        self.end.setblocking(False)
        self.here = here
        self.feed = FakeFeed()
        parts: Any = SimpleNamespace(feed=self.feed, tickets=None, doorkeeper=None)
        live = Live(parts.feed, Settings(live_max_subscriptions=2), parts.tickets, parts.doorkeeper, Clients(10))
        self.wire = Wire(here)
        self.client = Client(self.wire, live, lambda user_id: None)
        self.mirror = Mirror()
        self._frames = FrameProtocol(client=True, extensions=[])

    def say(self, **message: Any) -> None:
        self.client.hear(json.dumps(message))

    def read(self) -> list[dict[str, Any]]:
        """Give what has come."""
        try:
            while data := self.end.recv(65_536):
                self._frames.receive_bytes(data)
        except BlockingIOError:
            pass
        texts = [frame.payload for frame in self._frames.received_frames() if frame.opcode is Opcode.TEXT]
        return [self.mirror.apply(json.loads(str(text))) for text in texts]


@pytest.fixture
def table() -> Iterator[Table]:
    table = Table()
    yield table
    table.here.close()
    table.end.close()


def test_what_the_feed_tells_before_it_answers_counts(table: Table) -> None:
    newer = view_of("bob", "ann", number=2)
    table.feed.meanwhile = lambda follower: follower.tell(table.feed.view, newer)
    table.say(type="subscribe", id="a")
    assert [message["type"] for message in table.read()] == ["snapshot"]
    assert table.mirror.ids == ["bob", "ann"]


def test_what_is_on_its_way_when_a_subscription_ends_is_not_passed_on(table: Table) -> None:
    table.say(type="subscribe", id="a")
    table.say(type="subscribe", id="a", top=1)
    table.read()
    old, new = table.feed.followers
    assert table.feed.left == [old]
    old.tell(table.feed.view, view_of("bob", "ann", number=2))
    old.lose(StoreUnavailableError("away"))
    assert table.read() == []
    table.say(type="unsubscribe", id="a")
    new.tell(table.feed.view, view_of("bob", "ann", number=2))
    assert table.read() == []


def test_a_feed_that_can_not_read_makes_stale_until_it_can(table: Table) -> None:
    table.say(type="subscribe", id="a")
    (follower,) = table.feed.followers
    follower.lose(StoreUnavailableError("away"))
    follower.lose(StoreUnavailableError("away"))
    assert [message["type"] for message in table.read()] == ["snapshot", "stale"]
    follower.tell(table.feed.view, view_of("ann", number=3))
    follower.tell(table.feed.view, view_of("ann", number=4))
    assert [message["type"] for message in table.read()] == ["resumed"]
    assert not table.mirror.stale


def test_a_view_that_shows_the_same_is_not_told(table: Table) -> None:
    table.say(type="subscribe", id="a", top=1)
    (follower,) = table.feed.followers
    table.read()
    follower.tell(table.feed.view, view_of("ann", number=9))
    assert table.read() == []


def test_a_client_that_leaves_follows_nothing(table: Table) -> None:
    table.say(type="subscribe", id="a")
    table.say(type="subscribe", id="b")
    table.client.leave()
    assert table.feed.left == table.feed.followers


def test_nothing_goes_out_after_the_goodbye(table: Table) -> None:
    table.say(type="subscribe", id="a", top=1)
    table.client.dismiss(500)
    table.say(type="ping")
    table.feed.followers[0].tell(table.feed.view, view_of("bob", number=2))
    table.client.tend(0)
    assert [message["type"] for message in table.read()] == ["snapshot", "bye"]


def test_a_failure_of_our_own_is_told_and_ends_the_connection(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    def fail(follower: Any) -> None:
        raise ZeroDivisionError

    table.feed.meanwhile = fail
    table.say(type="subscribe", id="a")
    assert table.wire.sealed
    assert "ZeroDivisionError" in caplog.text


class NotedGuest:
    """Notes who is tended to, and in which tick."""

    def __init__(self, notes: list[tuple[float, NotedGuest]]) -> None:
        self.notes = notes

    def tend(self, now: float) -> None:
        self.notes.append((now, self))

    def dismiss(self, retry_in_ms: int) -> None:
        raise AssertionError("nothing ends here")


def test_clients_are_tended_to_in_shares_and_none_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "TICK_SECONDS", 0.001)
    monkeypatch.setattr(clients, "IDLE_TICKS", 1)
    notes: list[tuple[float, NotedGuest]] = []
    kept, guests = Clients(100), [NotedGuest(notes) for _ in range(40)]
    for guest in guests:
        kept.enter(guest)
    began = len(notes)
    until(lambda: len(notes) > began + 7 * len(guests))
    for guest in guests:
        kept.leave(guest)
    settled = notes[began + len(guests) : began + 6 * len(guests)]  # all had entered when these rounds began
    assert max(Counter(now for now, _ in settled).values()) == len(guests) // clients.ROUND_TICKS + 1
    counts = Counter(guest for _, guest in settled)
    assert len(counts) == len(guests)
    assert max(counts.values()) - min(counts.values()) <= 2


def test_who_has_left_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round that began with many ends in as many ticks as any, also where all of them have gone meanwhile."""
    monkeypatch.setattr(clients, "TICK_SECONDS", 0.01)
    crowd_notes, notes = list[tuple[float, NotedGuest]](), list[tuple[float, NotedGuest]]()
    kept, crowd = Clients(2000), [NotedGuest(crowd_notes) for _ in range(2000)]
    for guest in crowd:
        kept.enter(guest)
    until(lambda: crowd_notes)
    for guest in crowd:
        kept.leave(guest)
    last = NotedGuest(notes)
    kept.enter(last)
    until(lambda: notes, seconds=5)
    kept.leave(last)
