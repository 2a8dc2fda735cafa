"""The stream that tells others of events: once each, in order, kept for a while, on boards of every mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ResponseError

from flask_leaderboard import AllTime, Board, Daily, Leaderboard, Segment, Submission
from flask_leaderboard.errors import ConfigurationError
from flask_leaderboard.rules.declaration import declare_board
from tests.conftest import SetClock
from tests.test_ledger import file_database, keep  # noqa: F401 - fixtures

EVENTS = "lb1:{arena}:@events"
MODES = ("redis_only", "ledger", "write_behind")


def arena(**rules: Any) -> Board:
    segments = [Segment("country", limit=2), Segment("team")]
    return Board("arena", **{"events": timedelta(hours=1), "windows": [AllTime(), Daily()], "segments": segments, **rules})


def told(client: Redis) -> list[dict[str, str]]:
    entries: Any = client.xrange(EVENTS)
    return [{name.decode(): value.decode() for name, value in fields.items()} for _, fields in entries]


@pytest.mark.parametrize("mode", MODES)
def test_every_event_is_told_once_and_in_order(
    client: Redis,
    keep: Callable[..., Leaderboard],  # noqa: F811
    clock: SetClock,
    mode: Any,
) -> None:
    board = keep(client, arena(mode=mode, score_range=(0, 100)))
    board.submit_many(
        [
            Submission("mary", 5, "m1", segments={"country": "NL", "team": "red"}),
            Submission("mary", 5, "m1"),
            Submission("bob", 101),
            Submission("bob", 7),
            Submission("bob", 1, segments={"country": "é"}),
        ]
    )
    board.remove("mary")
    board.submit("bob", 3)
    now = str(clock.now)
    number = iter(("1", "3", "4", "5") if mode == "ledger" else ("1", "2", "3", "4"))
    plain = {"id": "", "at": now, "update": "increment", "segments": "", "kind": "submit"}
    assert told(client) == [
        {**plain, "number": next(number), "user": "mary", "points": "5", "id": "m1", "segments": "country=NL team=red"},
        {**plain, "number": next(number), "user": "bob", "points": "7"},
        {**plain, "number": next(number), "user": "mary", "points": "", "kind": "remove", "update": ""},
        {**plain, "number": next(number), "user": "bob", "points": "3"},
    ]


@pytest.mark.parametrize("mode", ["ledger", "write_behind"])
def test_what_redis_lost_is_told_again_by_the_same_numbers(
    valkey: Redis,
    keep: Callable[..., Leaderboard],  # noqa: F811
    mode: Any,
) -> None:
    board = keep(valkey, arena(mode=mode))
    board.submit_many([Submission("mary", 1, f"m{place}", segments={"country": "NL"}) for place in range(5)])
    while board.drain():
        pass
    before = told(valkey)
    board.top()
    assert told(valkey) == before
    valkey.flushall()
    board.top()
    assert told(valkey) == before


def test_old_events_leave_the_stream(valkey: Redis, keep: Callable[..., Leaderboard], monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    board = keep(valkey, arena(mode="redis_only"))
    board.submit_many([Submission("mary", 1) for _ in range(1000)], ranks=False)
    assert valkey.xlen(EVENTS) == 1000
    monkeypatch.setattr("flask_leaderboard.store.terms.time.time_ns", lambda: 2_540_376_000_000_000_000)
    board.submit("mary", 1)
    assert valkey.xlen(EVENTS) <= 200


def test_boards_without_the_option_tell_nothing(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:  # noqa: F811
    keep(valkey, arena(mode="redis_only", events=None)).submit("mary", 1)
    assert valkey.exists(EVENTS) == 0


class Consumer:
    """The example of docs/events.md: reads events as one of a group, and acknowledges what it has worked on."""

    def __init__(self, client: Redis, group: str, name: str) -> None:
        self._client, self._group, self._name = client, group, name
        try:
            client.xgroup_create(EVENTS, group, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

    def read(self, start: str = ">") -> Iterator[dict[bytes, bytes]]:
        """Give new events, or with "0" those that this consumer was given before and has not acknowledged."""
        streams: Any = self._client.xreadgroup(self._group, self._name, {EVENTS: start}, count=100, block=50)
        for _, entries in streams:
            for entry, fields in entries:
                yield fields
                self._client.xack(EVENTS, self._group, entry)


def test_groups_read_at_their_own_pace_and_again_after_a_crash(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:  # noqa: F811
    board = keep(valkey, arena(mode="redis_only"))
    fraud, mail = Consumer(valkey, "fraud", "one"), Consumer(valkey, "mail", "one")
    for points in range(5):
        board.submit("mary", points)
    crashing = fraud.read()
    assert next(crashing)[b"number"] == b"1"
    assert [fields[b"number"] for fields in mail.read()] == [b"1", b"2", b"3", b"4", b"5"]
    again = Consumer(valkey, "fraud", "one")
    assert [fields[b"points"] for fields in again.read("0")] == [b"0", b"1", b"2", b"3", b"4"]
    assert list(again.read("0")) == []
    assert list(mail.read()) == []


def test_rule_is_checked_and_can_be_configured() -> None:
    for age in (timedelta(0), 60, True):
        with pytest.raises(ConfigurationError, match="events"):
            arena(events=age)
    assert declare_board({"name": "arena", "events": 3600}).events == timedelta(hours=1)
