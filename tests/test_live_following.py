"""When a topic is looked at, and who is told: without a server, and with a clock that the test moves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from flask_leaderboard.errors import LeaderboardError, StoreUnavailableError
from flask_leaderboard.live.following import MARGIN_SECONDS, SAFETY_SECONDS, Followed, Wish
from flask_leaderboard.live.looking import Look, Spot
from flask_leaderboard.live.topics import Topic
from flask_leaderboard.live.views import Standing, View
from flask_leaderboard.rules.results import Entry

TOPIC = Topic("arena", "all", None, "sparse")
INTERVAL = 0.5
AGAIN = INTERVAL + MARGIN_SECONDS


class Silent:
    def tell(self, previous: View, view: View) -> None: ...

    def lose(self, error: LeaderboardError) -> None: ...


def look(began: float, *users: str, total: int | None = None, number: int = 1, period: str = "all", asked: Any = ()) -> Look:
    entries = tuple(Entry(place, user, None, 100 - place) for place, user in enumerate(users, 1))
    standings = {user: Standing(next((entry for entry in entries if entry.user_id == user), None)) for user in asked}
    view = View(TOPIC, period, number, len(users) if total is None else total, entries, standings)
    return Look(view, 10, Spot(None, 0, 2**60), began)


def failing(top: int, users: list[str]) -> Look:
    raise StoreUnavailableError("away")


@pytest.fixture
def followed() -> Followed:
    """A topic that somebody follows since second 0, looked at for the last time at 10 s."""
    followed = Followed(TOPIC, "channel", INTERVAL, failing)
    followed.settle(followed.take_seat(Silent(), Wish(10, None), 0.0), look(0.0, "ann"))
    followed.begin(10.0)
    assert followed.see(look(10.0, "ann"), 10.0) == []
    return followed


def visit(followed: Followed, now: float, *users: str) -> None:
    followed.begin(now)
    followed.see(look(now, *users), now)


def test_quiet_topic_is_looked_at_for_safety(followed: Followed) -> None:
    assert followed.look_at == 10.0 + SAFETY_SECONDS


def test_signal_after_a_while_is_followed_at_once_and_once_more(followed: Followed) -> None:
    followed.hear(12.0)
    assert followed.look_at == 12.0
    visit(followed, 12.0, "ann")
    assert followed.look_at == 12.0 + AGAIN
    visit(followed, 12.0 + AGAIN, "ann")
    assert followed.look_at == 12.0 + AGAIN + SAFETY_SECONDS


def test_signal_soon_after_a_look_waits_for_the_interval(followed: Followed) -> None:
    followed.hear(10.1)
    assert followed.look_at == 10.0 + INTERVAL
    visit(followed, 10.5, "ann")
    assert followed.look_at == pytest.approx(10.5 + INTERVAL), "not before an interval, nor before the next is signalled"


def test_busy_topic_is_looked_at_once_an_interval(followed: Followed) -> None:
    now, looked = 20.0, []
    signalled_until = 0.0
    while now < 30.0:
        if now >= signalled_until:
            followed.hear(now)
            signalled_until = now + INTERVAL
        if followed.look_at <= now:
            looked.append(now)
            visit(followed, now, "ann")
        now += 0.001
    gaps = [later - earlier for earlier, later in pairwise(looked)]
    assert min(gaps) >= INTERVAL - 0.0011
    assert 18 <= len(looked) <= 21


def test_every_change_is_seen_by_a_look_that_begins_after_it(followed: Followed) -> None:
    """A change is signalled, or another was signalled less than an interval before: then the second look comes after both."""
    for offset in (0.0, 0.1, 0.3, 0.499):
        heard = 100.0 + 50 * offset
        followed.hear(heard)
        changed, now = heard + offset, heard
        while followed.look_at < 10_000 and now < heard + 2:
            now = followed.look_at
            if now > heard + 2:
                break
            last = now
            visit(followed, now, "ann")
        assert last >= changed


def test_another_period_is_told_at_once(followed: Followed) -> None:
    visit(followed, 11.0, "ann")
    followed.turn(11.1)
    assert followed.look_at == 11.1


def test_only_who_sees_a_difference_is_told(followed: Followed) -> None:
    all_of_it, best, own, other = Silent(), Silent(), Silent(), Silent()
    wishes = {all_of_it: Wish(10, None), best: Wish(1, None), own: Wish(0, "bob"), other: Wish(0, "cat")}
    users = ["bob", "cat"]
    before = look(10.0, "ann", "bob", "cat", "dan", asked=users)
    for follower, wish in wishes.items():
        followed.settle(followed.take_seat(follower, wish, 10.0), before)
    followed.begin(11.0)
    told = followed.see(look(11.0, "ann", "cat", "bob", "dan", asked=users), 11.0)
    assert {follower for follower, _ in told} >= {all_of_it, own, other}
    assert best not in {follower for follower, _ in told}
    followed.begin(12.0)
    told = followed.see(look(12.0, "ann", "cat", "bob", "eve", asked=users), 12.0)
    assert {follower for follower, _ in told} & set(wishes) == {all_of_it}
    followed.begin(13.0)
    told = followed.see(look(13.0, "ann", "cat", "bob", "eve", total=5, asked=users), 13.0)
    assert {follower for follower, _ in told} >= set(wishes), "all see how many there are"


def test_look_that_began_before_the_view_somebody_has_is_not_told(followed: Followed) -> None:
    late = Silent()
    seat = followed.take_seat(late, Wish(10, "bob"), 20.0)
    followed.settle(seat, look(20.5, "bob", "ann", asked=["bob"], number=7))
    assert late not in {follower for follower, _ in followed.see(look(20.2, "ann", asked=["bob"], number=6), 20.6)}
    told = dict(followed.see(look(21.0, "cat", asked=["bob"], number=8), 21.0))
    assert told[late].number == 7


def test_who_comes_while_others_are_told_gets_the_newer_view(followed: Followed) -> None:
    seat = followed.take_seat(Silent(), Wish(10, "bob"), 20.0)
    own = look(20.1, "ann", asked=["bob"], number=6)
    followed.see(look(20.2, "bob", asked=["bob"], number=7), 20.3)
    assert followed.settle(seat, own).view.number == 7


def test_view_that_has_all_that_is_wanted_is_given_at_once(followed: Followed) -> None:
    assert followed.take_seat(Silent(), Wish(10, None), 10.2).base is followed.latest
    assert followed.take_seat(Silent(), Wish(11, None), 10.2).base is None
    assert followed.take_seat(Silent(), Wish(1, "bob"), 10.2).base is None
    assert followed.take_seat(Silent(), Wish(1, None), 10.2 + SAFETY_SECONDS).base is None


def test_failures_are_told_once_and_tried_again_less_and_less(followed: Followed) -> None:
    gone = followed.fail(12.0)
    assert len(gone) == 1
    assert followed.fail(12.5) == []
    pauses, now = [], 13.0
    for _ in range(8):
        followed.fail(now)
        pauses.append(followed.look_at - now)
        now = followed.look_at
    assert pauses == sorted(pauses)
    assert pauses[-1] == 5.0
    assert followed.take_seat(Silent(), Wish(1, None), now).base is None, "nothing old is shown"
    followed.begin(now)
    assert [follower for follower, _ in followed.see(look(now, "ann"), now)] == gone, "told though nothing has changed"
    followed.begin(now + 1)
    assert followed.see(look(now + 1, "ann"), now + 1) == []


def test_signal_ends_the_pause_between_tries(followed: Followed) -> None:
    for _ in range(5):
        followed.fail(12.0)
    followed.hear(12.1)
    assert followed.look_at == 12.1
