"""The feed: what followers are shown, how often, and what it costs Redis."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis

from flask_leaderboard import AllTime, Board, Daily, Leaderboard, Leaderboards, Season
from flask_leaderboard.engine.hub import Hub
from flask_leaderboard.errors import IdentityError, InputError, UnknownBoardError, UnknownWindowError
from flask_leaderboard.live.feed import Feed
from flask_leaderboard.live.topics import Topic
from tests.conftest import SetClock
from tests.followers import INTERVAL_MS, Fan, is_quiet, looks, make_hub
from tests.waiting import until

DAY = 86_400_000_000
Opened = tuple[Feed, Hub]


def arena(**rules: Any) -> Board:
    return Board("arena", **{"windows": [AllTime(), Daily(tz="Europe/Amsterdam")], "segments": ["country"], **rules})


@pytest.fixture
def process(client: Redis, clock: SetClock) -> Iterator[Callable[..., Opened]]:
    """Give the feed and the hub of as many processes as are asked for, on the backend under test."""
    hubs: list[Hub] = []

    def start(*boards: Board, **more: Any) -> Opened:
        hubs.append(make_hub(client, *(boards or [arena()]), clock=clock, **more))
        return Feed(hubs[-1], interval_ms=INTERVAL_MS), hubs[-1]

    yield start
    for hub in hubs:
        hub.close()


def feed_threads() -> int:
    return sum(thread.name == "leaderboard-feed" for thread in threading.enumerate())


def test_follower_sees_the_view_then_every_change(process: Callable[..., Opened]) -> None:
    feed, hub = process()
    hub["arena"].submit("ann", 5, user_name="Ann")
    fan = Fan(feed, feed.topic(None, None, None, None), top=2, user_id="cat")
    assert (fan.scores, fan.shown.period, fan.shown.number, fan.shown.total) == ([("ann", 5)], "all", 1, 1)
    assert (fan.entries[0].user_name, fan.shown.standings["cat"].entry) == ("Ann", None)
    hub["arena"].submit("bob", 7, user_name="Bob")
    fan.sees(("bob", 7), ("ann", 5))
    hub["arena"].submit("cat", 6)
    fan.sees(("bob", 7), ("cat", 6))
    entry, above, below = fan.shown.standings["cat"]
    assert entry is not None
    assert above is not None
    assert below is not None
    assert (entry.rank, entry.percentile, above.user_name, below.user_id) == (2, 66.7, "Bob", "ann")
    hub["arena"].remove("bob")
    fan.sees(("cat", 6), ("ann", 5))
    assert (fan.gaps, fan.errors) == ([], [])


def test_other_processes_are_heard_and_the_last_change_is_always_told(process: Callable[..., Opened]) -> None:
    feed, hub = process()
    _, other = process()
    fan = Fan(feed, feed.topic("arena", "all", None, "unique"), top=3)
    total = 0
    for burst in (1, 2, 17, 5, 1):
        for _ in range(burst):
            total += 1
            other["arena"].submit("ann", 1)
            hub["arena"].submit("bob", 2)
        fan.sees(("bob", 2 * total), ("ann", total))
    assert fan.gaps == []


@pytest.mark.parametrize("backend_name", ["valkey9"])
def test_followers_are_told_at_most_once_an_interval(process: Callable[..., Opened]) -> None:
    feed, hub = process()
    fan = Fan(feed, feed.topic(None, None, None, None), top=3)
    started = time.monotonic()
    while time.monotonic() < started + 1.5:
        hub["arena"].submit("ann", 1)
    score = hub["arena"].rank("ann").score  # type: ignore[union-attr]
    fan.sees(("ann", score))
    assert 4 <= len(fan.told) <= (time.monotonic() - started) * 1000 / INTERVAL_MS + 1


@pytest.mark.parametrize("backend_name", ["valkey9"])
def test_a_look_costs_the_same_however_many_follow(
    process: Callable[..., Opened], client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_leaderboard.live.following.SAFETY_SECONDS", 600.0)  # its look is none of the two
    feed, hub = process()
    board = hub["arena"]
    topic = feed.topic(None, None, None, None)
    board.submit("ann", 1)
    fans: list[Fan] = []
    for count in (10, 1000, 5000):
        fans += [Fan(feed, topic, top=10) for _ in range(count - len(fans))]
        assert one_change(client, hub, fans[0]) == (2, 2, 4), "one look at once, and one when the next would be signalled"
        assert {fan.shown for fan in fans} == {fans[0].shown}, "and all are shown the same object"


def one_change(client: Redis, hub: Hub, fan: Fan, calls: int = 2) -> tuple[int, int, int]:
    """Change a score when all is quiet; give how many looks, calls of scripts and reads of hashes followed."""
    until(lambda: is_quiet(fan.feed))
    client.config_resetstat()
    hub["arena"].submit("ann", 1)
    until(lambda: looks(client) >= calls and is_quiet(fan.feed))
    stats: dict[str, Any] = client.info("commandstats")  # type: ignore[assignment]
    return looks(client), stats["cmdstat_evalsha"]["calls"] - 1, stats["cmdstat_hmget"]["calls"] - 1


@pytest.mark.parametrize("backend_name", ["valkey9"])
def test_a_thousand_users_are_one_call(process: Callable[..., Opened], client: Redis) -> None:
    feed, hub = process()
    board = hub["arena"]
    for number in range(300):
        board.submit(f"u{number}", number)
    topic = feed.topic(None, None, None, None)
    fans = [Fan(feed, topic, user_id=f"u{number}") for number in range(1000)]
    board.submit("ann", 1000)
    until(lambda: all(fan.shown.total == 301 for fan in fans))
    assert one_change(client, hub, fans[0])[:2] == (2, 2)
    more = [Fan(feed, topic, user_id=f"v{number}") for number in range(500)]
    assert one_change(client, hub, fans[0], 4)[:2] == (4, 4), "fifteen hundred are two"
    board.submit("u0", 10_000)
    until(lambda: fans[1].shown.standings["u0"].entry.rank == 1)  # type: ignore[union-attr]
    place = fans[299].shown.standings["u299"]
    assert [entry and entry.user_id for entry in place] == ["u299", "ann", "u298"]
    assert all(fan.gaps == [] for fan in (*fans, *more))


def test_only_the_ranking_that_changed_is_told(process: Callable[..., Opened]) -> None:
    feed, hub = process()
    whole, dutch, belgian = (
        Fan(feed, feed.topic("arena", "all", segment, None), top=5) for segment in (None, "country=NL", "country=BE")
    )
    hub["arena"].submit("ann", 5, segments={"country": "BE"})
    belgian.sees(("ann", 5))
    whole.sees(("ann", 5))
    hub["arena"].submit("bob", 4)
    whole.sees(("ann", 5), ("bob", 4))
    assert (dutch.told, len(belgian.told)) == ([], 1)


@pytest.mark.parametrize("backend_name", ["fake", "valkey9"])
def test_new_day_begins_at_midnight_where_the_board_is(process: Callable[..., Opened], clock: SetClock) -> None:
    clock.now = 2_540_376_000_000_000 + 10 * 3600 * 1_000_000 - 1_000_000  # a second before midnight in Amsterdam (UTC+2)
    feed, hub = process()
    hub["arena"].submit("ann", 5)
    fan, other = (Fan(feed, feed.topic(None, window, None, None), top=5) for window in ("daily", "all"))
    assert (fan.shown.period, fan.scores) == ("2050-07-02", [("ann", 5)])
    clock.now += 1_000_000
    until(lambda: fan.shown.period == "2050-07-03")
    assert (fan.scores, fan.shown.total) == ([], 0)
    hub["arena"].submit("bob", 1)
    fan.sees(("bob", 1))
    assert fan.shown.period == "2050-07-03"
    other.sees(("ann", 5), ("bob", 1))
    assert {view.period for view in other.told} == {"all"}


@pytest.mark.parametrize("backend_name", ["fake", "valkey9"])
def test_seasons_begin_and_end(process: Callable[..., Opened]) -> None:
    feed, hub = process(arena(windows=[Season()]))
    board = hub["arena"]
    fan = Fan(feed, feed.topic(None, "season", None, None), top=5, user_id="ann")
    assert (fan.shown.period, fan.shown.total, fan.shown.standings["ann"].entry) == (None, 0, None)
    board.start_season("one")
    until(lambda: fan.shown.period == "one")
    board.submit("ann", 5)
    fan.sees(("ann", 5))
    board.end_season()
    until(lambda: fan.shown.period is None)
    assert fan.entries == ()
    board.start_season("two")
    until(lambda: fan.shown.period == "two")


@pytest.mark.parametrize("backend_name", ["fake", "valkey9"])
def test_new_name_is_seen_after_a_while_without_any_change(
    process: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_leaderboard.live.following.SAFETY_SECONDS", 0.2)
    feed, hub = process()
    hub["arena"].submit("ann", 5, user_name="Ann")
    fan = Fan(feed, feed.topic(None, None, None, None), top=5)
    hub.users.put_names({"ann": "Anna"})
    until(lambda: fan.entries[0].user_name == "Anna")


def test_topics_are_checked(process: Callable[..., Opened]) -> None:
    feed, _ = process(arena(ranking="unique"), Board("other", windows=[Daily()]))
    assert feed.topic(None, None, None, None) == Topic("arena", "all", None, "unique")
    assert feed.topic("arena", "daily", "country=NL", "sparse") == Topic("arena", "daily", "country=NL", "sparse")
    assert feed.topic("other", None, None, None) == Topic("other", "daily", None, "sparse")
    wrong: list[tuple[type[Exception], Any]] = [
        (UnknownBoardError, ("nowhere", None, None, None)),
        (UnknownWindowError, (None, "hourly", None, None)),
        (IdentityError, (None, None, "league=gold", None)),
        (IdentityError, (None, None, "country=a b", None)),
        (InputError, (None, None, None, "standard")),
        (InputError, (None, ["all"], None, None)),
        (InputError, ({}, None, None, None)),
    ]
    for error, names in wrong:
        with pytest.raises(error):
            feed.topic(*names)
    topic = feed.topic(None, None, None, None)
    for wish in ({"top": -1}, {"top": 1001}, {"top": True}, {"top": "5"}, {"user_id": "a\nb"}, {"user_id": 5}):
        with pytest.raises((InputError, IdentityError)):
            Fan(feed, topic, **wish)  # type: ignore[arg-type]
    assert feed_threads() == 0


@pytest.mark.parametrize("backend_name", ["valkey9"])
def test_nothing_is_left_of_those_who_leave(
    process: Callable[..., Opened], client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_leaderboard.live.rounds.IDLE_SECONDS", 0.1)
    feed, hub = process()
    topics = [feed.topic(None, None, segment, None) for segment in (None, "country=NL", "country=BE")]
    failures: list[BaseException] = []

    def come_and_go(number: int) -> None:
        try:
            for turn in range(40):
                fan = Fan(feed, topics[turn % 3], top=turn % 7, user_id=f"u{number}" if turn % 2 else None)
                hub["arena"].submit(f"u{number}", 1, segments={"country": "NL"})
                fan.leave()
                fan.leave()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=come_and_go, args=(number,)) for number in range(25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    (rounds,) = feed._rounds.values()
    assert rounds._topics == {}
    until(lambda: feed_threads() == 0)
    until(lambda: not client.client_list(_type="pubsub"))
    late = Fan(feed, topics[0], top=1)
    hub["arena"].submit("u1", 1000)
    late.sees(("u1", 1040))


def test_several_follow_one_topic_in_their_own_ways(process: Callable[..., Opened]) -> None:
    feed, hub = process()
    topic = feed.topic(None, None, None, None)
    for number in range(20):
        hub["arena"].submit(f"u{number:02}", 100 - number)
    first = Fan(feed, topic, top=1)
    long, own = Fan(feed, topic, top=15), Fan(feed, topic, user_id="u19")
    assert (len(first.entries), len(long.entries), own.shown.standings["u19"].entry.rank) == (1, 15, 20)  # type: ignore[union-attr]
    hub["arena"].submit("u14", 1)
    until(lambda: long.entries[13].score == 87 and long.entries[13].user_id == "u13" and long.told)
    assert (first.told, own.told) == ([], []), "nothing that they see has changed"
    long.leave()
    told = len(long.told)
    hub["arena"].submit("u00", 1)
    first.sees(("u00", 101))
    assert len(long.told) == told


def test_follower_that_fails_stops_nobody(process: Callable[..., Opened], caplog: pytest.LogCaptureFixture) -> None:
    feed, hub = process()

    class Broken(Fan):
        def tell(self, previous: Any, view: Any) -> None:
            raise RuntimeError("broken")

    topic = feed.topic(None, None, None, None)
    broken, fan = Broken(feed, topic, top=1), Fan(feed, topic, top=1)
    for score in (1, 2):
        hub["arena"].submit("ann", 1)
        fan.sees(("ann", score))
    assert broken.told == []
    assert "could not be told" in caplog.text


@pytest.mark.parametrize("backend_name", ["valkey9"])
def test_forked_child_has_a_feed_of_its_own(process: Callable[..., Opened]) -> None:
    feed, hub = process()
    topic = feed.topic(None, None, None, None)
    fan = Fan(feed, topic, top=3)
    child = os.fork()
    if child == 0:  # what the parent follows is nothing to the child
        try:
            own = Fan(feed, topic, top=3)
            hub["arena"].submit("child", 1)
            own.sees(("child", 1))
            hub.close()
            os._exit(0 if (feed_threads(), fan.told) == (0, []) else 2)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    fan.sees(("child", 1))
    hub["arena"].submit("parent", 2)
    fan.sees(("parent", 2), ("child", 1))


def test_app_has_a_feed_that_starts_with_the_first_follower() -> None:
    app = Flask("game")
    app.config.update(LEADERBOARD_REDIS_URL="memory://", LEADERBOARD_LIVE_INTERVAL_MS=50)
    leaderboards = Leaderboards(app, boards=[arena()])
    feed = app.extensions["leaderboard"].feed
    assert feed_threads() == 0
    with app.app_context():
        fan = Fan(feed, feed.topic(None, None, None, None), top=3)
        assert feed_threads() == 1
        leaderboards["arena"].submit("ann", 5)
        fan.sees(("ann", 5))
        leaderboards.hub.close()
    assert feed_threads() == 0


Step = tuple[str, int, int]
STEPS = st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers(-3, 9), st.integers(0, 3)), max_size=60)


@pytest.mark.parametrize("backend_name", ["fake", "valkey9"])
@pytest.mark.parametrize("rules", [{}, {"order": "asc", "update": "best", "ranking": "dense"}, {"ranking": "modified"}])
def test_who_applies_what_is_told_ends_with_the_board(rules: dict[str, Any], client: Redis, clock: SetClock) -> None:
    @settings(max_examples=15)
    @given(STEPS)
    def play(steps: list[Step]) -> None:
        client.flushall()
        hub = make_hub(client, arena(**rules), clock=clock, signal_ms=20)
        feed = Feed(hub, interval_ms=20)
        try:
            check_play(feed, hub["arena"], steps)
        finally:
            hub.close()

    play()


def check_play(feed: Feed, board: Leaderboard, steps: list[Step]) -> None:
    topic = feed.topic(None, None, None, None)
    fans = [Fan(feed, topic, top=4, user_id="a")]
    for place, (user, points, what) in enumerate(steps):
        if what == 3:
            board.remove(user)
        else:
            board.submit(user, points)
        if place % 20 == 10:
            fans.append(Fan(feed, topic, top=place % 9, user_id=user))
    for fan in fans:
        until(lambda fan=fan: fan.entries == board.top(1000).entries[: fan.top])
        until(lambda fan=fan: fan.shown.standings[fan.user_id or ""].entry == board.rank(fan.user_id or ""))
        assert (fan.gaps, fan.errors) == ([], [])
    assert fans[0].shown.total == board.count()
