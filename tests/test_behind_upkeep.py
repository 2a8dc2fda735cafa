"""Boards that count in Redis first: rebuilt and verified while others write, pruned, and their periods closed for good."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_leaderboard import AllTime, Daily, Every, Leaderboard, LeaderboardError, Submission
from flask_leaderboard.engine.tail import NEVER, STILL, JournalTail
from flask_leaderboard.errors import LogMismatchError, LogUnavailableError, StoreUnavailableError
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.rules.instants import DAY
from flask_leaderboard.store.shadow import Shadow
from flask_leaderboard.store.streams import ConnectionStream
from tests.chaos.victims import RedisVictim
from tests.conftest import SetClock
from tests.test_behind import JOURNAL, MINUTE, arena, board, copy, drain, logged, other, play, set_back
from tests.test_ledger import file_database, keep, state
from tests.waiting import until

__all__ = ["board", "file_database", "keep", "other"]
Keep = Callable[..., Leaderboard]
HOURLY = [AllTime(), Daily(), Every(timedelta(hours=1), name="hourly")]


def engine(leaderboard: Leaderboard) -> Any:
    return cast(Any, leaderboard)._ledger


def work(leaderboard: Leaderboard, clock: SetClock) -> None:
    """Do all that a worker does, until there is no more of it."""
    for _ in range(100):
        steps = [duty.step(clock.now) for duty in leaderboard.duties]
        if not any(steps):
            return
    raise AssertionError("there is always more to do")


def recovered(leaderboard: Leaderboard) -> bool:
    return cast(Any, leaderboard)._upkeep.recovery.wait(20)


def assert_whole(leaderboard: Leaderboard, client: Redis) -> None:
    """Redis equals the fold of the log: verified, and worked out anew from nothing."""
    assert leaderboard.verify().differences == []
    before, events = state(leaderboard), len(logged(leaderboard))
    client.flushall()
    assert state(leaderboard) == before
    assert [item.number for item in logged(leaderboard)] == list(range(1, events + 1))


def test_rebuild_takes_the_journal_in(board: Leaderboard, valkey: Redis, clock: SetClock) -> None:
    play(board, clock, 40)
    drain(board)
    play(board, clock, 20, first=40)
    before = state(board)
    rebuilt = board.rebuild()
    assert (rebuilt.number, rebuilt.resumed) == (63, False)
    assert state(board) == before
    assert len(board.store.journal) == 0
    assert board.submit("mary", 1).number == 64
    assert_whole(board, valkey)


def test_rebuild_of_a_window_leaves_the_others(board: Leaderboard, valkey: Redis, clock: SetClock) -> None:
    play(board, clock, 40)
    before = state(board)
    valkey.delete("lb1:{arena}:all:all")
    board.rebuild(windows=["all"])
    assert state(board) == before
    assert_whole(board, valkey)


def submit_until(done: threading.Event, leaderboard: Leaderboard, who: str, acknowledged: list[str], failures: list[Any]) -> None:
    place = 0
    while not done.is_set():
        place += 1
        done.wait(0.02)  # one machine has to write and to fold it all several times over
        identity = f"{who}-{place}"
        try:
            found = leaderboard.submit_many(
                [Submission(f"user{(place + n) % 9}", n, f"{identity}-{n}", segments={"country": "NL"}) for n in range(3)]
            )
        except LeaderboardError as error:
            failures.append(error)
            continue
        acknowledged += [f"{identity}-{n}" for n, item in enumerate(found) if not isinstance(item, LeaderboardError)]
        failures += [item for item in found if isinstance(item, LeaderboardError)]


@pytest.mark.parametrize("windows", [[], ["hourly"]])
def test_rebuild_and_verify_while_others_write_and_drain(
    board: Leaderboard, other: Leaderboard, valkey: Redis, clock: SetClock, windows: list[str]
) -> None:
    play(board, clock)
    done, acknowledged, failures = threading.Event(), list[str](), list[Any]()
    players = [
        threading.Thread(target=submit_until, args=(done, leaderboard, who, acknowledged, failures))
        for leaderboard, who in ((board, "one"), (other, "two"))
    ]

    def keep_draining() -> None:
        while not done.is_set():
            other.drain(100)
            done.wait(0.02)

    workers = [threading.Thread(target=keep_draining)]
    for thread in players + workers:
        thread.start()
    try:
        until(lambda: len(acknowledged) > 30)
        board.rebuild(windows=windows)
        assert other.verify(windows=windows).differences == []
        board.rebuild(windows=windows)
        seen = len(acknowledged)
        until(lambda: len(acknowledged) > seen)
    finally:
        done.set()
        for thread in players + workers:
            thread.join(60)
    assert failures == []
    drain(board)
    known = [item.submission_id for item in logged(board) if item.submission_id is not None]
    assert len(known) == len(set(known))
    assert set(acknowledged) <= set(known)
    assert_whole(board, valkey)


def test_nobody_numbers_while_the_fresh_data_takes_its_place(
    board: Leaderboard, other: Leaderboard, valkey: Redis, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a board that is always written to could never be swapped."""
    play(board, clock)
    swap_in, seen, players = Shadow.swap_in, list[bool](), list[threading.Thread]()

    def late(self: Shadow, *args: Any) -> bool:
        player = threading.Thread(target=other.submit, args=("mary", 1))
        player.start()
        players.append(player)
        until(lambda: any(client["cmd"] == "hget" or client["cmd"] == "hmget" for client in valkey.client_list()) or True)
        seen.append(swap_in(self, *args))
        return seen[-1]

    monkeypatch.setattr(Shadow, "swap_in", late)
    board.rebuild()
    players[0].join(20)
    assert seen == [True]
    assert board.store.number() == 64
    assert_whole(board, valkey)


@pytest.mark.parametrize("moment", ["held", "swapped"])
def test_board_that_is_held_by_a_dead_process_goes_on(
    board: Leaderboard, other: Leaderboard, valkey: Redis, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    board.submit("mary", 1)

    class Killed(BaseException):
        pass

    def killed(self: Shadow, *args: Any) -> bool:
        if moment == "swapped":
            swap_in(self, *args)
        monkeypatch.setattr(JournalTail, "_go_on", lambda *_: None)
        monkeypatch.setattr(type(board.store), "release", lambda *_: None)
        raise Killed

    swap_in = Shadow.swap_in
    with monkeypatch.context() as patch:
        patch.setattr(Shadow, "swap_in", killed)
        monkeypatch = patch
        with pytest.raises(Killed):
            board.rebuild()
    assert board.store.insists_on() == NEVER
    valkey.pexpire(board.store.keys.claim(STILL), 200)
    assert other.submit("mary", 1).number == 2
    assert other.remove("mary").number == 3
    assert_whole(other, valkey)


def test_board_that_is_held_too_long_refuses(board: Leaderboard, other: Leaderboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.tail.LONGEST_SECONDS", 1)
    board.submit("mary", 1)
    other.submit("mary", 1)
    assert board.store.claim(STILL, 100)
    board.store.insist(NEVER)
    for call in (lambda: other.submit("mary", 1), lambda: other.remove("mary")):
        with pytest.raises(StoreUnavailableError, match="held"):
            call()
    assert other.count() == 1


STEPS: dict[str, tuple[type, str]] = {
    "begin": (Shadow, "begin"),
    "finish": (Shadow, "finish"),
    "apply": (Shadow, "apply"),
    "swap": (Shadow, "swap_in"),
    "clear": (Shadow, "clear"),
    "drain": (EventLog, "append_numbered"),
    "load": (ConnectionStream, "send"),
}


@pytest.mark.parametrize("step", STEPS)
def test_rebuild_that_is_killed_leaves_no_harm(
    board: Leaderboard, other: Leaderboard, valkey: Redis, clock: SetClock, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: Any, **__: Any) -> Any:
        raise Killed

    def loaded(self: Shadow, *args: Any) -> None:
        other.submit("meanwhile", 1)
        finish(self, *args)

    finish = Shadow.finish
    play(board, clock, 40)
    drain(board)
    engine(board).totals.fold()
    play(board, clock, 20, first=40)
    with monkeypatch.context() as patch:
        patch.setattr(Shadow, "finish", loaded)
        patch.setattr(*STEPS[step], killed)
        with pytest.raises(Killed):
            board.rebuild()
    valkey.delete(board.store.keys.claim("rebuild"))
    before, number = state(other), other.store.number()
    assert number in (63, 64)
    assert other.submit("mary", 1).number == number + 1
    other.remove("mary")
    assert state(other) == before
    other.rebuild()
    assert_whole(other, valkey)


def test_verify_tells_what_differs_and_rebuild_mends_it(board: Leaderboard, valkey: Redis, clock: SetClock) -> None:
    play(board, clock)
    before = state(board)
    (member, _) = valkey.zrange("lb1:{arena}:all:all", 0, 0, withscores=True)[0]
    valkey.zincrby("lb1:{arena}:all:all", 7, member)
    found = board.verify()
    assert [(item.what, item.ranking) for item in found.differences] == [("entry", "all all")]
    board.rebuild(windows=found.to_rebuild)
    assert board.verify().differences == []
    assert state(board) == before


def test_journal_that_lacks_events_is_told(board: Leaderboard, valkey: Redis, clock: SetClock) -> None:
    play(board, clock, 10)
    valkey.delete(JOURNAL)
    for call in (board.rebuild, board.verify):
        with pytest.raises(LogMismatchError, match="in its log"):
            call()


def test_redis_that_lost_too_much_to_be_replayed_is_rebuilt(
    board: Leaderboard, other: Leaderboard, valkey: Redis, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(board, clock)
    drain(board)
    work(board, clock)
    before = state(board)
    monkeypatch.setattr("flask_leaderboard.engine.folding.MOST_REPLAYED", 10)
    valkey.flushall()
    with pytest.raises(StoreUnavailableError):
        other.submit("mary", 1)
    assert recovered(other)
    assert until(lambda: other.submit("user3", 3, submission_id="m3", segments={"country": "BE"}), passing=(Exception,)).duplicate
    assert state(other) == before
    assert other.submit("mary", 1).number == 64
    assert_whole(board, valkey)


def keep_pruning(keep: Keep, valkey: Redis, **rules: Any) -> Leaderboard:
    return keep(valkey, arena(**rules), keep_days=2)


def test_old_events_are_pruned_and_redis_still_comes_back(keep: Keep, valkey: Redis, clock: SetClock) -> None:
    board = keep_pruning(keep, valkey)
    play(board, clock, 20)
    work(board, clock)
    assert len(logged(board)) == 21
    clock.now += 3 * DAY
    play(board, clock, 10, first=20)
    board.submit("late", 5)
    work(board, clock)
    assert [item.number for item in logged(board)] == list(range(22, 33))
    before = state(board)
    valkey.flushall()
    with suppress(StoreUnavailableError):
        board.count()
    assert recovered(board)
    assert state(board) == before
    assert board.submit("user3", 24 % 5, submission_id="m24").duplicate
    assert board.submit("mary", 1).number == 33
    assert board.verify().differences == []


def test_nothing_is_pruned_that_is_in_the_journal_or_not_folded(keep: Keep, valkey: Redis, clock: SetClock) -> None:
    board = keep_pruning(keep, valkey)
    play(board, clock, 20)
    board.drain(10)
    duties = {duty.name: duty for duty in board.duties}
    clock.now += 9 * DAY
    duties["prune"].step(clock.now)
    assert len(logged(board)) == 10
    duties["fold"].step(clock.now)
    duties["prune"].step(clock.now)
    assert logged(board) == []
    drain(board)
    assert [item.number for item in logged(board)] == list(range(11, 22))


def test_ids_that_redis_must_know_are_kept_longer_than_events_must(keep: Keep, valkey: Redis, clock: SetClock) -> None:
    board = keep_pruning(keep, valkey, remember_ids=timedelta(days=5))
    board.submit("mary", 1, submission_id="m1")
    clock.now += 4 * DAY
    work(board, clock)
    assert len(logged(board)) == 1
    clock.now += 2 * DAY
    work(board, clock)
    assert logged(board) == []


class Stopped:
    """A process that is stopped when its call is planned, and goes on much later."""

    def __init__(self, leaderboard: Leaderboard, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
        send = ConnectionStream.send
        waiting = [meanwhile]

        def late(stream: ConnectionStream, *args: Any) -> None:
            if stream._caller is leaderboard.store.caller and waiting:
                waiting.pop()()
            send(stream, *args)

        monkeypatch.setattr(ConnectionStream, "send", late)


def hour(leaderboard: Leaderboard, period: str) -> list[Any]:
    page = leaderboard.top(100, window="hourly", period=period, ranking="unique")
    return [(entry.rank, entry.user_id, entry.score, entry.at) for entry in page.entries]


def hour_in_archive(leaderboard: Leaderboard, client: Redis, period: str) -> list[Any]:
    """Read a period from the archive: Redis has let go of it."""
    client.delete(*(key for key in client.scan_iter() if f"hourly:{period}".encode() in key))
    return hour(leaderboard, period)


@pytest.fixture
def hourly(valkey: Redis, keep: Keep, clock: SetClock) -> Leaderboard:
    found = keep(valkey, arena(windows=HOURLY))
    clock.now -= clock.now % (60 * MINUTE)
    clock.now += 30 * MINUTE
    found.submit_many([Submission(f"user{place}", place) for place in range(5)])
    found.submit("mary", 1)
    return found


@pytest.mark.parametrize("action", ["submit", "remove"])
def test_who_was_stopped_in_the_middle_counts_in_no_closed_period(
    hourly: Leaderboard, valkey: Redis, keep: Keep, clock: SetClock, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    stopped = keep(valkey, hourly.board)
    stopped.count()
    period = hourly.board.window("hourly").period_at(clock.now).id  # type: ignore[union-attr]
    before = hour(hourly, period)

    def much_later() -> None:
        clock.now += 40 * MINUTE
        work(hourly, clock)
        assert hourly.archived_periods("hourly") == [period]

    Stopped(stopped, monkeypatch, much_later)
    receipt = stopped.submit("mary", 7) if action == "submit" else stopped.remove("mary")
    touched = {(change.window, change.period) for change in receipt.changes}
    assert ("all", "all") in touched
    assert ("hourly", period) not in touched
    assert hour(stopped, period) == before
    work(hourly, clock)
    assert hourly.verify().differences == []
    assert hour_in_archive(hourly, valkey, period) == before


def test_period_closes_while_others_write_all_the_time(
    hourly: Leaderboard, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number that must be logged is not moved on by what comes after it."""
    monkeypatch.setattr("flask_leaderboard.engine.tail.MOST_STEPS", 0)
    duties = {duty.name: duty for duty in hourly.duties}
    drain(hourly)
    duties["fold"].step(clock.now)
    clock.now += 40 * MINUTE
    hourly.submit("busy", 1)
    for closed in (False, True):
        duties["archive"].step(clock.now)
        assert (engine(hourly).log.state().closed_until > 0) is closed
        hourly.submit("busy", 1)
        hourly.drain(1)
    assert len(hourly.store.journal) == 1


def test_late_event_that_redis_let_in_does_not_count_in_the_archive(
    hourly: Leaderboard,
    valkey: Redis,
    keep: Keep,
    clock: SetClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Redis has lost that the time was closed. The log decides, and Redis is made to follow."""
    stopped = keep(valkey, hourly.board)
    stopped.count()
    period = hourly.board.window("hourly").period_at(clock.now).id  # type: ignore[union-attr]
    before = hour(hourly, period)

    def much_later() -> None:
        clock.now += 40 * MINUTE
        work(hourly, clock)
        valkey.hdel("lb1:{arena}", "closed_until")

    Stopped(stopped, monkeypatch, much_later)
    assert stopped.submit("mary", 7)["hourly"].new_score == 8
    assert hour(stopped, period) != before
    with caplog.at_level(logging.ERROR, "flask_leaderboard"):
        drain(hourly)
    assert "1 events counted in a period that had been closed" in caplog.text
    assert recovered(hourly)
    assert hour(hourly, period) == before
    assert (hourly.rank("mary", window="all").score, hourly.verify().differences) == (8, [])  # type: ignore[union-attr]
    assert hour_in_archive(hourly, valkey, period) == before


def test_older_redis_is_told_what_is_closed_before_anything_counts(
    hourly: Leaderboard, valkey: Redis, keep: Keep, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    period = hourly.board.window("hourly").period_at(clock.now).id  # type: ignore[union-attr]
    drain(hourly)
    saved, before = copy(valkey), hour(hourly, period)
    early = clock.now
    clock.now += 40 * MINUTE
    work(hourly, clock)
    set_back(valkey, saved)
    clock.now = early  # of a process whose clock is slow, or that was stopped
    socket = valkey.connection_pool.connection_kwargs["path"]
    slow = keep(Redis(unix_socket_path=socket), hourly.board)
    receipt = slow.submit("mary", 7)
    assert period not in {change.period for change in receipt.changes}
    assert hour(slow, period) == before


def test_nobody_numbers_between_the_loss_and_the_end_of_the_repair(
    board: Leaderboard, other: Leaderboard, valkey: Redis, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that has seen little meets a Redis that has less than the log, and more than that."""
    other.submit("mary", 1)
    other.store.guard._look_at = 1e12  # type: ignore[attr-defined]
    play(board, clock)
    drain(board)
    valkey.flushall()
    monkeypatch.setattr("flask_leaderboard.engine.folding.EVENTS_A_READ", 20)
    folder = engine(board).folder
    assert folder.advance(2**62)
    assert board.store.number() == 20
    assert other.submit("mary", 1).number == 65
    assert_whole(other, valkey)


def test_redis_started_again_while_the_log_is_away_gives_no_numbers(
    keep: Keep, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """New connections to the same server do no harm."""

    def down(*_: Any) -> Any:
        raise LogUnavailableError("the log can't be reached")

    victim = RedisVictim(tmp_path)
    try:
        client = Redis(unix_socket_path=str(victim.socket), retry=Retry(NoBackoff(), 0))
        board = keep(client, arena())
        board.submit("mary", 5)
        with monkeypatch.context() as patch:
            for name in ("head", "settled_head", "state"):
                patch.setattr(EventLog, name, down)
            client.connection_pool.disconnect()
            assert board.submit("mary", 1).number == 2
            victim.kill()
            victim.start()
            client.connection_pool.disconnect()
            for call in (lambda: board.submit("mary", 1), lambda: board.remove("mary")):
                with pytest.raises(LogUnavailableError, match="since Redis was started"):
                    call()
            assert board.count() == 1
        monkeypatch.setattr("flask_leaderboard.engine.standing.LOOK_SECONDS", 0)
        until(lambda: board.submit("mary", 1).number == 3, passing=(LogUnavailableError,))
    finally:
        victim.stop()


def test_erasing_ends_where_others_write_all_the_time(
    board: Leaderboard, other: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.submit("mary", 1)
    step = engine(board)._drainer.step

    def busy(*args: Any) -> bool:
        other.submit("busy", 1)
        return bool(step(*args))

    monkeypatch.setattr(engine(board)._drainer, "step", busy)
    number = board.store.number()
    board.drain_all()
    assert number <= len(logged(board)) <= number + 2
