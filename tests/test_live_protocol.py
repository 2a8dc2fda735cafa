"""The protocol without sockets: whatever is left out, a client that applies its messages has the server's list."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.frame_protocol import FrameProtocol, Opcode

from flask_leaderboard.errors import MessageError
from flask_leaderboard.live.topics import Topic
from flask_leaderboard.live.views import Standing, View
from flask_leaderboard.rules.results import Entry
from flask_leaderboard.web.live import messages
from flask_leaderboard.web.live.frames import text_frame
from flask_leaderboard.web.live.memory import STATES, TOPICS, Memory
from flask_leaderboard.web.live.protocol import read_message
from flask_leaderboard.web.live.shown import shown_in
from flask_leaderboard.web.live.subscription import Subscription, Wish
from tests.live_mirror import PROTOCOL, Mirror

TOPIC = Topic("arena", "weekly", None, "sparse")
USERS = [*"abcdefgh", "ü", "<script>alert(1)</script>", "\u202eevil", "👑"]


def entry(user_id: str, score: float, rank: int) -> Entry:
    return Entry(rank, user_id, f"{user_id}!", score, percentile=50.0)


def view_of(scores: Sequence[tuple[str, float]], *, period: str = "w1", number: int = 0, top: int = 5) -> View:
    """Make a view of users in their order, ties sharing a rank."""
    entries: list[Entry] = []
    for place, (user_id, score) in enumerate(scores, 1):
        tied = entries and entries[-1].score == score
        entries.append(entry(user_id, score, entries[-1].rank if tied else place))
    standings = {
        found.user_id: Standing(found, entries[at - 1] if at else None, entries[at + 1] if at + 1 < len(entries) else None)
        for at, found in enumerate(entries)
    }
    return View(TOPIC, period, number, len(entries), tuple(entries[:top]), standings)


@st.composite
def boards(draw: st.DrawFn) -> list[tuple[str, float]]:
    scores = draw(st.dictionaries(st.sampled_from(USERS), st.integers(0, 6) | st.sampled_from([0.1, 1e300]), max_size=12))
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


class Outlet:
    """A client that is not there."""

    def show(self, subscription: Subscription, view: View) -> None:
        raise AssertionError

    def stall(self, subscription: Subscription) -> None:
        raise AssertionError


def subscribe(top: int = 5, user_id: str | None = None, since: str | None = None, memory: Memory | None = None) -> Subscription:
    return Subscription(Wish("s1", TOPIC, top, user_id, since), Outlet(), memory or Memory())


def send(mirror: Mirror, told: list[messages.Message]) -> list[str]:
    return [mirror.apply(json.loads(message.text("s1")))["type"] for message in told]


def assert_same(mirror: Mirror, view: View, top: int, user_id: str | None) -> None:
    if top:
        told = [Entry(item["rank"], item["user_id"], item["user_name"], item["score"]) for item in mirror.entries]
        assert told == [item._replace(percentile=None) for item in view.entries[:top]]
        assert (mirror.period, mirror.total) == (view.period, view.total)
    if user_id is not None:
        assert mirror.rank is not None
        standing = view.standings.get(user_id, Standing(None))
        for key, has in (("above", standing.above), ("below", standing.below)):
            assert (mirror.rank[key] or {}).get("user_id") == (has and has.user_id)
        assert mirror.rank["rank"] == (standing.entry and standing.entry.rank)
        assert mirror.rank["total"] == view.total


steps = st.tuples(boards(), st.sampled_from(["tell", "tell", "tell", "miss", "period", "resume", "stale"]))


@given(st.lists(steps, min_size=1, max_size=12), st.integers(0, 5), st.sampled_from([None, "a", "👑"]))
def test_client_has_what_the_server_has(history: list[tuple[Any, str]], top: int, user_id: str | None) -> None:
    if not top and user_id is None:
        top = 3
    memory, mirror = Memory(), Mirror()
    subscription = subscribe(top, user_id, memory=memory)
    period, missed = 1, False
    for number, (board, step) in enumerate(history):
        period += step == "period"
        view = view_of(board, period=f"w{period}", number=number)
        if step == "stale":
            subscription.stale = mirror.stale = True
        if not subscription.ready:
            told = subscription.begin(view)
        elif step == "miss":
            missed = True
            continue
        elif step == "resume":
            subscription = subscribe(top, user_id, mirror.sum or None, memory)
            mirror.rank = None
            told = subscription.begin(view)
        else:
            told = subscription.catch_up(view) if missed else subscription.advance(view)
        missed = False
        send(mirror, told)
        assert_same(mirror, view, top, user_id)
        assert not mirror.stale


@given(boards(), boards(), st.integers(1, 5))
def test_nothing_is_told_where_nothing_that_is_seen_changed(old: Any, new: Any, top: int) -> None:
    subscription, mirror = subscribe(top), Mirror()
    first, second = view_of(old, number=1), view_of(new, number=2)
    send(mirror, subscription.begin(first))
    kinds = send(mirror, subscription.advance(second))
    same = (first.total, first.entries[:top]) == (second.total, second.entries[:top])
    assert kinds == ([] if same else ["update"])


def test_first_come_snapshot_and_rank() -> None:
    mirror = Mirror()
    assert send(mirror, subscribe(2, "b").begin(view_of([("a", 9), ("b", 5), ("c", 1)], number=7))) == ["snapshot", "rank"]
    assert mirror.ids == ["a", "b"]
    assert mirror.rank is not None
    assert (mirror.rank["seq"], mirror.rank["above"]["user_id"], mirror.rank["below"]["user_id"]) == (7, "a", "c")


def test_update_names_only_who_changed() -> None:
    subscription, mirror = subscribe(4), Mirror()
    send(mirror, subscription.begin(view_of([("a", 9), ("b", 5), ("c", 4), ("d", 1)])))
    (told,) = subscription.advance(view_of([("a", 9), ("c", 6), ("b", 5), ("d", 1)], number=1))
    message = json.loads(told.text("s1"))
    assert [(item["user_id"], item["place"], item["old_rank"]) for item in message["entries"]] == [("c", 2, 3), ("b", 3, 2)]
    assert message["left"] == []


def test_a_name_alone_is_a_change() -> None:
    subscription, mirror = subscribe(2), Mirror()
    view = view_of([("a", 9)])
    send(mirror, subscription.begin(view))
    renamed = View(TOPIC, "w1", 1, 1, (view.entries[0]._replace(user_name="Ann"),), {})
    assert send(mirror, subscription.advance(renamed)) == ["update"]
    assert mirror.entries[0]["user_name"] == "Ann"


def test_new_period_begins_with_a_snapshot_and_without_an_old_rank() -> None:
    subscription, mirror = subscribe(3, "a"), Mirror()
    send(mirror, subscription.begin(view_of([("a", 9)])))
    told = subscription.advance(view_of([("a", 9)], period="w2", number=2))
    assert [message.kind for message in told] == ["snapshot", "rank"]
    assert json.loads(told[0].text("s1"))["reason"] == "period"
    send(mirror, told)


def test_no_period_at_all_can_be_told() -> None:
    mirror = Mirror()
    nothing = View(TOPIC, None, 0, 0, (), {})
    assert send(mirror, subscribe(3, "a").begin(nothing)) == ["snapshot", "rank"]
    assert mirror.period is None


def test_who_missed_nothing_is_told_so() -> None:
    mirror, memory = Mirror(), Memory()
    view = view_of([("a", 9)])
    send(mirror, subscribe(3, memory=memory).begin(view))
    assert send(mirror, subscribe(3, None, mirror.sum).begin(view)) == ["resumed"]  # also by a process that never told it


def test_who_missed_something_gets_it_where_it_is_known_and_all_else() -> None:
    mirror, memory = Mirror(), Memory()
    send(mirror, subscribe(3, memory=memory).begin(view_of([("a", 9)])))
    view = view_of([("b", 10), ("a", 9)], number=2)
    assert send(mirror, subscribe(3, None, mirror.sum, memory).begin(view)) == ["update"]
    assert send(mirror, subscribe(3, None, "0" * 16, memory).begin(view)) == ["snapshot"]


def test_memory_is_bounded() -> None:
    memory = Memory()
    for topic in range(TOPICS + 10):
        for state in range(STATES + 4):
            view = view_of([("a", state)])
            memory.keep(TOPIC._replace(board=str(topic)), 3, shown_in(view, 3))
    kept = memory._lists
    assert len(kept) == TOPICS
    assert {len(states) for states in kept.values()} == {STATES}
    assert memory.find(TOPIC._replace(board="0"), 3, shown_in(view, 3).sum) is None


def test_who_could_not_keep_up_gets_a_snapshot_that_says_so() -> None:
    subscription, mirror = subscribe(3), Mirror()
    send(mirror, subscription.begin(view_of([("a", 9)])))
    (told,) = subscription.catch_up(view_of([("a", 10)], number=5))
    assert json.loads(told.text("s1"))["reason"] == "behind"
    send(mirror, [told])
    assert subscription.catch_up(view_of([("a", 10)], number=5)) == []


def test_what_is_the_same_for_many_is_written_once() -> None:
    first, second = view_of([("a", 9)]), view_of([("a", 10)], number=1)
    subscriptions = [subscribe(3) for _ in range(3)]
    begun = [subscription.begin(first)[0] for subscription in subscriptions]
    moved = [subscription.advance(second)[0] for subscription in subscriptions]
    assert len({id(message.rest) for message in begun}) == 1
    assert len({id(message.rest) for message in moved}) == 1


def test_names_travel_as_text() -> None:
    name = "</script><img src=x onerror=alert(1)>\u202e\u0000👑"
    view = View(TOPIC, "w1", 1, 1, (Entry(1, "a", name, 1),), {})
    (told,) = subscribe(1).begin(view)
    assert json.loads(told.text('"quo\\te'))["entries"][0]["user_name"] == name
    assert json.loads(told.text('"quo\\te'))["id"] == '"quo\\te'


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
def test_frames_are_what_wsproto_reads(size: int) -> None:
    reader = FrameProtocol(client=True, extensions=[])
    reader.receive_bytes(text_frame("x" * size))
    frames = list(reader.received_frames())
    assert "".join(str(frame.payload) for frame in frames) == "x" * size
    assert frames[0].opcode is Opcode.TEXT
    assert frames[-1].message_finished


def asking(**members: Any) -> str:
    return json.dumps({"type": "subscribe", "id": "a", **members})


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", '"subscribe"', "[" * 4000, '{"a":' * 800, b"{}", '{"type":"subscribe"}', '{"type":["ping"]}'),
        *('{"type":"unsubscribe"}', '{"type":"ping","id":"a"}', '{"type":"subscribe","id":"a","id":"b"}'),
        *('{"type":"subscribe","id":"a","top":NaN}', '{"type":"nothing","id":"a"}'),
        *(asking(id=name) for name in ("", "x" * 65, 7, None, ["a"])),
        *(asking(top=top) for top in (-1, "3", 1.5, True, None)),
        *(asking(since=since) for since in ({}, {"seq": "1", "sum": "x"}, {"seq": 1}, "x", None)),
        *(asking(user_id=[]), asking(ranking="odd"), asking(more=1), asking(board=None)),
    ],
)
def test_what_is_no_message_is_refused(text: str | bytes) -> None:
    with pytest.raises(MessageError):
        read_message(text)


@pytest.mark.parametrize(
    "message",
    [
        {"type": "ping"},
        {"type": "unsubscribe", "id": "a"},
        {"type": "subscribe", "id": "a"},
        {"type": "subscribe", "id": "a", "board": "arena", "window": "weekly", "segment": "country=NL", "ranking": "dense"},
        {"type": "subscribe", "id": "a", "top": 0, "user_id": 17, "since": {"seq": 1, "sum": "9f3c2a7be01d4c58"}},
    ],
)
def test_what_the_schema_takes_is_read(message: dict[str, Any]) -> None:
    jsonschema_rs.validator_for({**PROTOCOL, "anyOf": [{"$ref": "#/$defs/client"}]}).validate(message)
    assert read_message(json.dumps(message))["type"] == message["type"]


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_whatever_is_sent_is_read_or_refused(value: Any) -> None:
    for sent in (value, {"type": "subscribe", "id": value}, {"type": "subscribe", "id": "a", "since": value, "top": value}):
        try:
            read_message(json.dumps(sent))
        except MessageError:
            continue
