"""Signals of changed rankings, as somebody hears them who listens on the channel of a board."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from flask_leaderboard import AllTime, Board, Daily, Leaderboard, Submission
from flask_leaderboard.log.database import Database
from flask_leaderboard.log.event_log import EventLog
from tests.conftest import SetClock
from tests.followers import connecting
from tests.test_ledger import file_database  # noqa: F401
from tests.waiting import until

LONG = 60_000
CHANNEL = "lb1:{arena}:@live"
Make = Callable[..., Leaderboard]


def arena(**rules: Any) -> Board:
    return Board("arena", windows=[Daily(), AllTime()], segments=["country"], **rules)


class Ear:
    """Somebody who listens: what was heard, message by message."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._subscription = connecting(client)().pubsub()
        self._subscription.subscribe(CHANNEL)
        until(lambda: self._subscription.get_message(timeout=1))

    def heard(self) -> list[list[str]]:
        """Give what came until now, without the keys' common beginning."""
        self._client.publish(CHANNEL, "end")
        found = []
        while (text := self._next()) != "end":
            found.append(text.replace("lb1:{arena}:", "").split(" "))
        return found

    def _next(self) -> str:
        message: dict[str, Any] = until(lambda: self._subscription.get_message(timeout=1))
        return str(message["data"].decode())

    def close(self) -> None:
        self._subscription.close()


@pytest.fixture
def ear(client: Redis) -> Iterator[Ear]:
    ear = Ear(client)
    yield ear
    ear.close()


@pytest.fixture
def signalling(client: Redis, clock: SetClock) -> Make:
    return lambda board=None, **more: Leaderboard(board or arena(), client, clock=clock, **{"signal_ms": LONG, **more})


def test_each_ranking_that_changed_is_signalled_once_a_call(signalling: Make, ear: Ear) -> None:
    board = signalling()
    board.submit_many([Submission(f"u{n}", n, segments={"country": "NL"}) for n in range(20)])
    (message,) = ear.heard()
    assert message[0] == "20"
    assert sorted(message[1:]) == ["all:all", "all:all:country=NL", "daily:2050-07-02", "daily:2050-07-02:country=NL"]


def test_nothing_is_signalled_again_while_a_signal_lives(signalling: Make, ear: Ear, client: Redis) -> None:
    board, other = signalling(), signalling()
    board.submit("ann", 1)
    other.submit("bob", 1)
    board.submit("cat", 1, segments={"country": "NL"})
    assert [message[1:] for message in ear.heard()] == [
        ["daily:2050-07-02", "all:all"],
        ["daily:2050-07-02:country=NL", "all:all:country=NL"],
    ]
    client.delete("lb1:{arena}:all:all/signal")
    board.submit("ann", 1)
    assert ear.heard() == [["4", "all:all"]]


def test_what_changes_nothing_is_not_signalled(signalling: Make, ear: Ear, client: Redis) -> None:
    board = signalling(arena(update="best", score_range=(0, 100)))
    board.submit("ann", 50, submission_id="m1")
    assert len(ear.heard()) == 1
    client.delete("lb1:{arena}:all:all/signal", "lb1:{arena}:daily:2050-07-02/signal")
    board.submit("ann", 50, submission_id="m1")
    board.submit("ann", 40)
    board.submit_many([Submission("ann", 101)])
    board.remove("nobody")
    board.top()
    assert ear.heard() == []


def test_who_wants_no_signals_makes_none(signalling: Make, ear: Ear, client: Redis) -> None:
    board = signalling(signal_ms=None)
    board.submit("ann", 1)
    board.remove("ann")
    assert ear.heard() == []
    assert list(client.scan_iter("*signal*")) == []


@pytest.mark.parametrize("backend_name", ["fake", "redis62", "redis70", "redis82", "valkey9"])
@pytest.mark.parametrize("mode", ["ledger", "write_behind"])
def test_events_of_a_log_are_signalled_as_they_come_to_redis(
    mode: Any,
    signalling: Make,
    ear: Ear,
    client: Redis,
    file_database: Database,  # noqa: F811
) -> None:
    rules = arena(mode=mode, events=timedelta(minutes=1))
    board = signalling(rules, log=EventLog(rules, file_database))
    board.submit("ann", 1, submission_id="m1")
    assert ear.heard() == [["1", "daily:2050-07-02", "all:all"]]
    client.delete("lb1:{arena}:all:all/signal")
    board.submit("ann", 1, submission_id="m1")
    assert ear.heard() == []
    board.remove("ann")
    assert ear.heard() == [["2", "all:all"]]


@pytest.mark.parametrize("backend_name", ["valkey9"])
def test_rebuild_says_once_that_all_may_have_changed(
    signalling: Make,
    ear: Ear,
    client: Redis,
    file_database: Database,  # noqa: F811
) -> None:
    rules = arena(mode="ledger")
    board = signalling(rules, log=EventLog(rules, file_database))
    board.submit_many([Submission(f"u{n}", n, segments={"country": "NL"}) for n in range(20)])
    client.delete(*client.scan_iter("*/signal"))
    ear.heard()
    board.rebuild()
    assert ear.heard() == [["20"]]
    assert list(client.scan_iter("*/signal")) == []


def test_several_processes_together_signal_a_ranking_once_an_interval(signalling: Make, ear: Ear, clock: SetClock) -> None:
    interval, seconds = 200, 1.5
    until_then = time.monotonic() + seconds

    def play(name: str) -> None:
        board = signalling(signal_ms=interval)
        while time.monotonic() < until_then:
            board.submit(name, 1)

    threads = [threading.Thread(target=play, args=(f"u{n}",)) for n in range(4)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    most = (time.monotonic() - started) * 1000 / interval + 1
    counts = Counter(name for message in ear.heard() for name in message[1:])
    assert set(counts) == {"daily:2050-07-02", "all:all"}
    assert 3 <= min(counts.values()) <= max(counts.values()) <= most


@pytest.mark.parametrize("backend_name", ["redis70", "redis82", "valkey9"])
def test_who_may_not_publish_may_submit(client: Redis, clock: SetClock) -> None:
    path = client.connection_pool.connection_kwargs["path"]
    client.execute_command("ACL", "SETUSER", "game", "on", ">hush", "~*", "+@all", "resetchannels")
    own = Redis(unix_socket_path=path, username="game", password="hush")
    board = Leaderboard(arena(), own, clock=clock, signal_ms=LONG)
    assert board.submit("ann", 1)["all"].new_rank == 1
    assert board.remove("ann")["all"].old_rank == 1
    own.close()
    client.execute_command("ACL", "DELUSER", "game")


def test_signals_cost_one_command_while_they_live(valkey: Redis, clock: SetClock) -> None:
    players = [Submission(f"u{n}", 1, segments={"country": "NL"}) for n in range(5)]
    seen = []
    for signal_ms in (LONG, None):
        board = Leaderboard(arena(), valkey, clock=clock, signal_ms=signal_ms)
        board.submit_many(players)
        valkey.config_resetstat()
        for _ in range(10):
            board.submit_many(players)
        stats: dict[str, Any] = valkey.info("commandstats")  # type: ignore[assignment]
        seen.append(Counter({name: entry["calls"] for name, entry in stats.items()}))
    assert seen[0] - seen[1] == {"cmdstat_exists": 10}
