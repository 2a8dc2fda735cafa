"""Rebuilding Redis from the totals: exactly the fold, whatever Redis had, whoever writes meanwhile, wherever it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import update

from flask_leaderboard import AllTime, Board, Daily, Every, Leaderboard, LeaderboardError, Segment, Submission
from flask_leaderboard.engine.rebuilding import DUTY, Rebuilder
from flask_leaderboard.errors import LayoutError, LogMismatchError, NoLogError, StoreUnavailableError, UnknownWindowError
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.tables import boards
from flask_leaderboard.rules.instants import to_datetime, to_instant
from flask_leaderboard.store.calls import Caller
from flask_leaderboard.store.shadow import Shadow
from flask_leaderboard.store.streams import ConnectionStream
from tests.conftest import SetClock
from tests.model import Model, RefusedError
from tests.waiting import until

MINUTE = 60_000_000
WINDOWS = ("all", "daily", "hourly")
COUNTRIES = (None, "NL", "BE", "DE")


def arena(**rules: Any) -> Board:
    windows = [AllTime(), Daily(), Every(timedelta(hours=1), name="hourly")]
    return Board("arena", **{"mode": "ledger", "windows": windows, "segments": [Segment("country", limit=2)], **rules})


KINDS: dict[str, dict[str, Any]] = {
    "packed": {"score_range": (-50, 100), "tie_resolution": timedelta(seconds=1)},
    "exact": {"tie_break": "last"},
    "member": {"tie_break": "member", "order": "asc", "update": "best"},
    "dense": {"ranking": "dense", "score_range": (-50, 100)},
    "float": {"score_type": "float", "update": "latest"},
}


class Game:
    """A board that is played beside the model."""

    def __init__(self, board: Leaderboard, clock: SetClock) -> None:
        self.board = board
        self.clock = clock
        rules = board.board
        lowest, highest = rules.bounds
        resolution = rules.tie_resolution // timedelta(microseconds=1)
        self.model = Model(
            rules.update, tuple(rules.updates), rules.order, rules.tie_break, resolution, lowest, highest, WINDOWS, 2
        )  # fmt: skip

    def play(self, moves: int = 120, first: int = 0) -> None:
        """Play with ties, removals, refusals, a new hour now and then, and more segment values than there may be."""
        waiting: list[Submission] = []
        for move in range(first, first + moves):
            self.clock.now += 7_000_000 if move % 40 else 61 * MINUTE
            if move % 29 == 17:
                self._submit(waiting)
                self.board.remove(f"user{move % 7}")
                self._remove(f"user{move % 7}")
                waiting = []
            else:
                country = COUNTRIES[move % 4]
                segments = {"country": country} if country else None
                at = to_datetime(self.clock.now)
                waiting.append(Submission(f"user{move * move % 13}", (move * 37) % 23 - 4, at=at, segments=segments))
        self._submit(waiting)

    def _submit(self, submissions: list[Submission]) -> None:
        """Submit at once: a commit for each would take the time of the test."""
        for item, outcome in zip(submissions, self.board.submit_many(submissions), strict=True):
            with suppress(RefusedError):
                segment = next((f"{name}={value}" for name, value in (item.segments or {}).items()), None)
                at = to_instant(item.at) if item.at else self.clock.now
                self.model.submit(item.user_id, float(item.points), at, self.clock.now, None, segment, None)
                assert not isinstance(outcome, LeaderboardError)

    def _remove(self, user: str) -> None:
        for (window, _, _), held in self.model.rankings.items():
            found = held.get(user)
            hour = 60 * MINUTE * (24 if window == "daily" else 1)
            if found and (window == "all" or self.clock.now < found[1] - found[1] % hour + hour + MINUTE):
                del held[user]

    def tables(self) -> dict[Any, Any]:
        """Give all rankings as the model has them."""
        return {target: self.model.table(target) for target in self.model.rankings if self.model.table(target)}

    def shown(self) -> dict[Any, Any]:
        """Give all rankings as Redis has them, without a look at the log."""
        resolution = self.model.resolution
        found = {}
        for window, period, segment in self.model.rankings:
            page = self.board.top(1000, window=window, period=period, segment=segment, ranking="unique")
            at = [None if e.at is None else e.at // resolution for e in page.entries]
            rows = [(e.user_id, e.score, tick) for e, tick in zip(page.entries, at, strict=True)]
            if rows:
                found[window, period, segment] = rows
        return found

    def check(self) -> None:
        wanted = self.tables()
        if self.board.board.tie_break == "member":
            wanted = {target: [(user, score, None) for user, score, _ in rows] for target, rows in wanted.items()}
        assert self.shown() == wanted
        self.check_levels()
        assert set(self.board.store.segment_labels()) == self.model.segments

    def check_levels(self) -> None:
        if self.board.board.dense:
            for target, rows in self.tables().items():
                window, period, segment = target
                page = self.board.top(1000, window=window, period=period, segment=segment, ranking="dense")
                assert [e.rank for e in page.entries] == self.model.ranks(target, "dense")
                assert len(page.entries) == len(rows)


@pytest.fixture
def file_database(tmp_path: Path) -> Iterator[Database]:
    database = Database(database_url(None, tmp_path), own=True)
    yield database
    database.close()


Keep = Callable[..., Leaderboard]


@pytest.fixture
def keep(file_database: Database, clock: SetClock) -> Keep:
    """Give a process's view of a board: several of them are as many processes on one Redis and one log."""

    def make(client: Redis, board: Board | None = None, **more: Any) -> Leaderboard:
        rules = board or arena()
        return Leaderboard(rules, client, clock=clock, log=EventLog(rules, file_database), **more)

    return make


def leftovers(client: Redis) -> list[bytes]:
    return [key for key in client.scan_iter() if b"@fresh" in key or b"@shadows" in key or b"@claim:rebuild" in key]


@pytest.mark.parametrize("kind", KINDS)
def test_after_all_is_lost_it_is_the_fold(valkey: Redis, database: Database, clock: SetClock, kind: str) -> None:
    rules = arena(**KINDS[kind])
    game = Game(Leaderboard(rules, valkey, clock=clock, log=EventLog(rules, database)), clock)
    game.play()
    game.check()
    valkey.flushall()
    rebuilt = game.board.rebuild()
    assert rebuilt.number == game.board.store.number() == EventLog(rules, database).head()
    assert rebuilt.rows == sum(map(len, game.tables().values()))
    game.check()
    assert leftovers(valkey) == []
    game.play(40)
    game.check()


def test_on_every_server(client: Redis, keep: Keep, clock: SetClock) -> None:
    game = Game(keep(client, arena(**KINDS["dense"])), clock)
    game.play(60)
    client.flushall()
    game.board.rebuild()
    game.check()
    periods = [key for key in client.scan_iter() if b":daily:" in key or b":hourly:" in key]
    assert periods
    assert all(client.pttl(key) > 0 for key in periods)
    assert [key for key in client.scan_iter() if b":all:" in key and client.pttl(key) != -1] == []


def test_data_that_is_wrong_is_replaced(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    game = Game(keep(valkey), clock)
    game.play()
    valkey.zadd("lb1:{arena}:all:all", {b"garbage": 7.0})
    valkey.zadd("lb1:{arena}:all:all:country=XX", {b"garbage": 7.0})
    valkey.sadd("lb1:{arena}:@segment:country", "country=XX")
    game.board.rebuild()
    game.check()
    assert not valkey.exists("lb1:{arena}:all:all:country=XX")


def test_older_data_comes_up_to_date(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    game = Game(keep(valkey), clock)
    game.play(30)
    older = {key: (max(0, valkey.pttl(key)), valkey.dump(key)) for key in valkey.scan_iter()}
    game.play(60)
    valkey.flushall()
    for key, (ttl, value) in older.items():
        valkey.restore(key, ttl, value)
    game.board.rebuild()
    game.check()


def test_changed_layout_is_made_good(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    Game(keep(valkey), clock).play(60)
    changed = keep(valkey, arena(ranking="dense", score_range=(-1000, 1000)))
    with pytest.raises(LayoutError):
        changed.top(1)
    changed.rebuild()
    ranks = [entry.rank for entry in changed.top(100).entries]
    assert ranks == sorted(ranks)
    assert ranks
    assert [key for key in valkey.scan_iter() if key.endswith(b"all/ticks")] == []
    changed.submit("mary", 5)


def test_changed_fold_needs_the_log(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    old = keep(valkey)
    for user, points in (("mary", 5), ("bob", 3), ("mary", 1)):
        old.submit(user, points)
    old.rebuild()
    changed = keep(valkey, arena(order="asc"))
    with pytest.raises(LayoutError, match="--from-log"):
        changed.rebuild()
    assert changed.rebuild(from_log=True).rows == 6
    assert [(entry.user_id, entry.score) for entry in changed.top(10).entries] == [("bob", 3), ("mary", 6)]


def test_scores_that_the_rules_have_no_room_for_are_told(valkey: Redis, keep: Keep) -> None:
    old = keep(valkey, arena(score_range=(0, 10**6)))
    old.submit("mary", 500_000)
    old.rebuild()
    narrower = keep(valkey, arena(score_range=(0, 10)))
    with pytest.raises(LayoutError, match="--from-log"):
        narrower.rebuild()
    assert leftovers(valkey) == []
    assert old.rank("mary") is not None
    narrower.rebuild(from_log=True)
    assert narrower.rank("mary") is None


def test_pruned_log_can_not_be_folded_anew(valkey: Redis, keep: Keep, file_database: Database) -> None:
    board = keep(valkey)
    board.submit("mary", 5)
    with file_database.begin() as connection:
        connection.execute(update(boards).values(pruned=1))
    with pytest.raises(NoLogError, match="events up to 1"):
        board.rebuild(from_log=True)
    assert board.rebuild().rows == 3
    assert leftovers(valkey) == []


@pytest.mark.parametrize("window", WINDOWS)
def test_one_window_alone(valkey: Redis, keep: Keep, clock: SetClock, window: str) -> None:
    game = Game(keep(valkey, arena(**KINDS["packed"])), clock)
    game.play()
    others = {key: valkey.dump(key) for key in valkey.scan_iter() if f":{window}:".encode() not in key and b":" in key[11:]}
    for key in valkey.scan_iter(f"*:{window}:*"):
        valkey.delete(key)
    game.board.rebuild(windows=[window])
    game.check()
    assert {key: valkey.dump(key) for key in others} == others
    assert leftovers(valkey) == []


def test_unknown_window_and_board_without_a_log_are_refused(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    with pytest.raises(UnknownWindowError):
        keep(valkey).rebuild(windows=["yearly"])
    with pytest.raises(NoLogError, match="ledger"):
        Leaderboard(arena(mode="redis_only"), valkey, clock=clock).rebuild()
    assert list(valkey.scan_iter()) == []


def test_redis_that_is_ahead_of_the_log_is_left_alone(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    Leaderboard(arena(mode="redis_only"), valkey, clock=clock).submit("mary", 5)
    before = valkey.zrange("lb1:{arena}:all:all", 0, -1)
    with pytest.raises(LogMismatchError):
        keep(valkey).rebuild()
    assert valkey.zrange("lb1:{arena}:all:all", 0, -1) == before
    assert leftovers(valkey) == []


def test_empty_log_gives_an_empty_board(valkey: Redis, keep: Keep) -> None:
    board = keep(valkey)
    assert board.rebuild() == (0, 0, False)
    assert board.submit("mary", 5)["all"].new_rank == 1


def test_one_at_a_time(valkey: Redis, keep: Keep) -> None:
    board = keep(valkey)
    board.submit("mary", 5)
    claim = board.store.claim(DUTY, 60)
    with pytest.raises(StoreUnavailableError, match="another process"):
        board.rebuild()
    assert claim is not None
    board.store.release(DUTY, claim)
    assert board.rebuild().rows == 3


class Killed(BaseException):
    """Stands for a kill -9: nothing that would be tidied up is."""


STEPS = [
    (Shadow, "begin"),
    (Shadow, "add_labels"),
    (Shadow, "load"),
    (Shadow, "finish"),
    (Shadow, "swap_in"),
    (Shadow, "clear"),
]


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize(("owner", "step"), STEPS, ids=lambda part: getattr(part, "__name__", part))
@pytest.mark.parametrize("lost", [True, False])
def test_killed_between_two_steps(
    valkey: Redis, keep: Keep, clock: SetClock, monkeypatch: pytest.MonkeyPatch, owner: Any, step: str, place: str, lost: bool
) -> None:
    game = Game(keep(valkey, arena(**KINDS["packed"])), clock)
    game.play(60)
    before = game.shown()
    if lost:
        valkey.flushall()
    real = getattr(owner, step)

    def killed(*args: Any) -> Any:
        if place == "after":
            real(*args)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, killed)
        patch.setattr("flask_leaderboard.store.board_store.BoardStore.release", lambda *_: None)
        with pytest.raises(Killed):
            game.board.rebuild()
    if not lost:
        assert game.shown() == before
    valkey.delete("lb1:{arena}:@claim:rebuild")  # it would run out by itself
    Game.play(game, 20)
    anew = keep(valkey, game.board.board)
    anew.rebuild()
    game.check()
    assert leftovers(valkey) == []


class Dying:
    """Kills a process before one of its calls to Redis; what it would tidy up on its way is not done either."""

    def __init__(self, patch: pytest.MonkeyPatch, calls: int) -> None:
        self._left = calls
        for owner, name in ((Caller, "_send"), (ConnectionStream, "send")):
            patch.setattr(owner, name, self._dying(getattr(owner, name)))

    def _dying(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def send(*args: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                raise Killed
            return real(*args)

        return send


@pytest.mark.parametrize("windows", [(), ("daily",)])
def test_killed_before_any_call_to_redis(
    valkey: Redis, keep: Keep, clock: SetClock, monkeypatch: pytest.MonkeyPatch, windows: tuple[str, ...]
) -> None:
    """The totals are behind, so that there is something to catch up with from the log."""
    game, calls, killed = Game(keep(valkey, arena(**KINDS["packed"])), clock), 0, True
    game.play(30)
    while killed:
        game.play(4, first=1)
        dying = keep(valkey, game.board.board)
        before = game.shown()
        with monkeypatch.context() as patch:
            if not windows:
                patch.setattr(Rebuilder, "_fold_totals", lambda *_: None)
            Dying(patch, calls)
            try:
                dying.rebuild(windows=windows)
                killed = False
            except Killed:
                calls += 1
        assert game.shown() == before
        valkey.delete("lb1:{arena}:@claim:rebuild")
        if calls % 3 == 0:
            game.board.rebuild(windows=windows)
            assert leftovers(valkey) == []
    game.check()
    assert calls > 15


def test_goes_on_where_it_was_stopped_behind_the_loading(
    valkey: Redis, keep: Keep, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = Game(keep(valkey), clock)
    game.play(60)

    def killed(*_: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Shadow, "swap_in", killed)
        with pytest.raises(Killed):
            game.board.rebuild()
    game.play(30)
    rebuilt = game.board.rebuild()
    assert rebuilt == (0, game.board.store.number(), True)
    game.check()
    assert leftovers(valkey) == []


@pytest.mark.parametrize("step", ["load", "finish", "swap_in"])
def test_redis_emptied_in_the_middle_is_noticed(
    valkey: Redis, keep: Keep, clock: SetClock, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    game = Game(keep(valkey), clock)
    game.play(60)
    real, left = getattr(Shadow, step), [2 if step == "load" else 1]

    def emptied(self: Shadow, *args: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            valkey.flushall()
        return real(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Shadow, step, emptied)
        with suppress(StoreUnavailableError):
            game.board.rebuild()
    game.check()
    game.board.rebuild()
    game.check()
    assert leftovers(valkey) == []


def test_who_lost_its_claim_while_loading_does_not_swap(
    valkey: Redis, keep: Keep, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = Game(keep(valkey), clock)
    game.play(60)
    finish = Shadow.finish

    def overtaken(self: Shadow, *args: Any) -> None:
        monkeypatch.setattr(Shadow, "finish", finish)
        valkey.delete("lb1:{arena}:@claim:rebuild")
        keep(valkey).rebuild()
        finish(self, *args)

    monkeypatch.setattr(Shadow, "finish", overtaken)
    with pytest.raises(StoreUnavailableError):
        game.board.rebuild()
    game.check()
    assert leftovers(valkey) == []


class Threads:
    """Threads whose failures are kept."""

    def __init__(self) -> None:
        self.failures: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def start(self, work: Callable[[Leaderboard], None], board: Leaderboard) -> None:
        def guarded() -> None:
            try:
                work(board)
            except BaseException as failure:
                self.failures.append(failure)

        thread = threading.Thread(target=guarded)
        self._threads.append(thread)
        thread.start()

    def end(self) -> None:
        for thread in self._threads:
            thread.join(60)
        assert self.failures == []


def test_beside_writers_nothing_is_lost_or_doubled_and_nobody_sees_half(valkey: Redis, keep: Keep) -> None:
    rules = arena(ranking="dense")
    views = [keep(Redis(connection_pool=valkey.connection_pool), rules) for _ in range(4)]
    views[0].submit_many([Submission(f"user{place}", 1) for place in range(500)], ranks=False)
    stopped, threads, written = threading.Event(), Threads(), list[int]()

    def write(board: Leaderboard) -> None:
        while not stopped.is_set():
            board.submit("mary", 1, segments={"country": "NL"})
            written.append(1)

    def watch(board: Leaderboard) -> None:
        scores = [0]
        while not stopped.is_set():
            entry = board.rank("mary")
            scores.append(0 if entry is None else int(entry.score))
            assert board.count() in (500, 501)
        assert scores == sorted(scores)

    threads.start(watch, views[3])
    for board in views[:2]:
        threads.start(write, board)
    for turn in range(30):
        views[2].rebuild(windows=["daily"] if turn % 3 == 2 else [])
    until(lambda: len(written) > 10)
    stopped.set()
    threads.end()
    for window in WINDOWS:
        entry = views[0].rank("mary", window=window)
        assert entry is not None
        assert entry.score == len(written)
        assert views[0].count(window=window) == 501


def test_two_at_once_leave_one_to_wait(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    game = Game(keep(valkey), clock)
    game.play(80)
    outcomes: list[Any] = []

    def rebuild() -> None:
        try:
            outcomes.append(keep(valkey).rebuild())
        except StoreUnavailableError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=rebuild) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(outcomes) == 4
    assert any(not isinstance(outcome, StoreUnavailableError) for outcome in outcomes)
    game.check()
    assert leftovers(valkey) == []


def test_a_redis_that_lost_much_is_rebuilt_in_the_background(
    valkey: Redis, keep: Keep, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.folding.MOST_REPLAYED", 50)
    run, may_begin = Rebuilder.run, threading.Event()
    monkeypatch.setattr(Rebuilder, "run", lambda self: (may_begin.wait(30), run(self))[1])
    game = Game(keep(valkey), clock)
    game.play()
    valkey.flushall()
    assert game.board.top(1).degraded
    assert game.board.submit("late", 1).pending
    may_begin.set()
    until(lambda: not game.board.top(1).degraded)
    game.model.submit("late", 1, clock.now, clock.now, None, None, None)
    game.check()
    assert leftovers(valkey) == []


def test_a_redis_behind_the_pruned_log_is_rebuilt(valkey: Redis, keep: Keep, clock: SetClock, file_database: Database) -> None:
    game = Game(keep(valkey), clock)
    game.play(60)
    game.board.rebuild()
    with file_database.begin() as connection:
        connection.execute(update(boards).values(pruned=40))
    valkey.flushall()
    until(lambda: not game.board.top(1).degraded)
    game.check()


def test_recovery_that_fails_is_told_once(
    valkey: Redis, keep: Keep, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.folding.MOST_REPLAYED", 1)
    old = keep(valkey)
    old.submit_many([Submission("mary", 1)] * 5)
    old.rebuild()
    valkey.flushall()
    changed = keep(valkey, arena(order="asc"), fallback_rows=0)
    for _ in range(3):
        with pytest.raises(StoreUnavailableError):
            changed.top(1)
        assert changed._upkeep is not None
        assert changed._upkeep.recovery.wait(30)
    assert sum("--from-log" in record.getMessage() for record in caplog.records) == 1
