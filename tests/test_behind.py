"""Boards that count in Redis first: drained into the log exactly once and in order, and never numbered twice."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from flask_leaderboard import AllTime, Board, Daily, Every, Leaderboard, Season, Segment, Submission, current_leaderboards
from flask_leaderboard.engine.places import Places
from flask_leaderboard.errors import (
    ConfigurationError,
    JournalFullError,
    LogMismatchError,
    LogUnavailableError,
    ProtocolError,
    StoreUnavailableError,
)
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.store.journal import Journal
from tests.conftest import SetClock
from tests.servers import FLAVOURS
from tests.test_ledger import file_database, keep, state  # noqa: F401 - fixtures
from tests.web import SUBMIT, code, make_app

MINUTE = 60_000_000
JOURNAL = "lb1:{arena}:@journal"


class Killed(BaseException):
    pass


def arena(**rules: Any) -> Board:
    windows = [AllTime(), Daily(), Every(timedelta(hours=1), name="hourly")]
    segments = [Segment("country", limit=3)]
    return Board("arena", **{"mode": "write_behind", "windows": windows, "segments": segments, **rules})


@pytest.fixture
def board(valkey: Redis, keep: Callable[..., Leaderboard]) -> Leaderboard:  # noqa: F811
    return keep(valkey, arena())


@pytest.fixture
def other(board: Leaderboard, valkey: Redis, keep: Callable[..., Leaderboard]) -> Leaderboard:  # noqa: F811
    """The same board as another process sees it."""
    return keep(valkey, board.board)


def drain(board: Leaderboard, most: int = 1000) -> None:
    while board.drain(most):
        pass


def logged(board: Leaderboard) -> list[Any]:
    return cast(Any, board)._ledger.log.read(0, 100_000)


def play(board: Leaderboard, clock: SetClock, count: int = 60, first: int = 0) -> None:
    for place in range(first, first + count):
        clock.now += MINUTE
        country = {"country": ("NL", "BE")[place % 4 // 2]} if place % 2 else None
        board.submit(f"user{place % 7}", place % 5, submission_id=f"m{place}", segments=country)
        if place % 20 == 13:
            board.remove(f"user{place % 7}")


def copy(client: Redis) -> dict[bytes, bytes]:
    return {key: cast(bytes, client.dump(key)) for key in client.scan_iter()}


def set_back(client: Redis, saved: dict[bytes, bytes]) -> None:
    client.flushall()
    for key, value in saved.items():
        client.restore(key, 0, value)


def test_receipts_are_those_of_a_board_without_a_log(client: Redis, keep: Callable[..., Leaderboard], clock: SetClock) -> None:  # noqa: F811
    plain = Leaderboard(arena(mode="redis_only"), client, clock=clock, prefix="plain")
    behind = keep(client, arena())
    for place in range(20):
        clock.now += MINUTE
        wanted, found = (
            lb.submit(f"user{place % 4}", place % 3, segments={"country": "NL"} if place % 2 else None) for lb in (plain, behind)
        )
        assert (found.changes, found.number, found.pending) == (wanted.changes, wanted.number, False)
    assert behind.remove("user1").changes == plain.remove("user1").changes
    assert not behind.remove("user1").changes
    before = state(behind)
    assert before == state(plain)
    drain(behind, 7)
    assert [item.number for item in logged(behind)] == list(range(1, 22))
    client.flushall()
    assert state(behind) == before


@pytest.mark.parametrize("score_type", ["integer", "float"])
def test_works_on_every_database(valkey: Redis, database: Database, clock: SetClock, score_type: Any) -> None:
    rules = arena(score_type=score_type)
    board = Leaderboard(rules, valkey, clock=clock, log=EventLog(rules, database))
    play(board, clock)
    board.submit("mary", 0.1 if score_type == "float" else 2**53 - 1, segments={"country": "DE"}, submission_id="last")
    before = state(board)
    drain(board, 17)
    events = logged(board)
    assert [item.number for item in events] == list(range(1, 65))
    last = events[-1]
    assert (last.submission_id, last.segments, last.taken_at, last.update) == ("last", ("country=DE",), clock.now, "increment")
    assert sum(item.kind == "remove" for item in events) == 3
    valkey.flushall()
    assert state(Leaderboard(rules, valkey, clock=clock, log=EventLog(rules, database))) == before
    assert not board.drain()


def test_history_has_what_is_drained(board: Leaderboard) -> None:
    board.submit("mary", 5, submission_id="m1")
    assert board.history("mary") == []
    drain(board)
    assert [(item.points, item.submission_id) for item in board.history("mary")] == [(5, "m1")]


@pytest.mark.parametrize("moment", ["oldest", "append_numbered", "holds", "drop", "commit"])
def test_killed_between_two_steps_of_draining(
    board: Leaderboard,
    other: Leaderboard,
    clock: SetClock,
    monkeypatch: pytest.MonkeyPatch,
    file_database: Database,  # noqa: F811
    moment: str,
) -> None:
    play(board, clock)

    def killed(*_: Any, **__: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patch:
        if moment == "commit":
            event.listen(file_database.engine, "commit", killed)
        else:
            patch.setattr(EventLog if moment == "append_numbered" else Journal, moment, killed)
        with pytest.raises(Killed):
            board.drain(10)
        if moment == "commit":
            event.remove(file_database.engine, "commit", killed)
    drain(other, 10)
    assert [item.number for item in logged(other)] == list(range(1, 64))
    assert len(board.store.journal) == 0


def test_lost_reply_to_the_commit_is_harmless(database: Database, valkey: Redis, clock: SetClock) -> None:
    rules = arena()
    board = Leaderboard(rules, valkey, clock=clock, log=EventLog(rules, database))
    play(board, clock)
    commit = database.engine.dialect.do_commit

    def lose_reply(connection: Any) -> None:
        database.engine.dialect.do_commit = commit  # type: ignore[method-assign]
        commit(connection)
        raise OperationalError("COMMIT", {}, Exception("the connection was lost"))

    board.drain(10)
    database.engine.dialect.do_commit = lose_reply  # type: ignore[method-assign]
    with pytest.raises((LogUnavailableError, OperationalError)):
        board.drain(10)
    drain(board, 10)
    assert [item.number for item in logged(board)] == list(range(1, 64))


def test_full_journal_is_refused_and_nothing_is_dropped(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:  # noqa: F811
    board = keep(valkey, arena(journal_limit=1000))
    outcomes = board.submit_many([Submission(f"user{place}", 1) for place in range(1500)], ranks=False)
    refused = [item for item in outcomes if isinstance(item, JournalFullError)]
    counted = 1500 - len(refused)
    assert refused
    assert board.count() == counted == len(board.store.journal)
    for place in range(counted, 1000):
        board.submit(f"more{place}", 1)
    for call in (lambda: board.submit("mary", 1), lambda: board.remove("user1")):
        with pytest.raises(JournalFullError, match="worker") as told:
            call()
        assert told.value.retry_after == 1.0
    board.drain(1)
    board.submit("mary", 1)
    drain(board)
    assert len(logged(board)) == 1001


def test_emptied_redis_is_brought_back_before_anything_is_numbered(board: Leaderboard, valkey: Redis, clock: SetClock) -> None:
    play(board, clock)
    drain(board)
    valkey.flushall()
    receipt = board.submit("mary", 1)
    assert receipt.number == 64
    drain(board)
    assert [item.number for item in logged(board)] == list(range(1, 65))


def test_the_script_itself_refuses_to_number_where_events_are_lost(
    board: Leaderboard, valkey: Redis, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis is emptied behind the look, in the middle of a submission."""
    play(board, clock)
    drain(board)
    guard: Any = board.store.guard
    look, left = guard.look, [0]

    def look_too_early() -> None:
        look()
        left[0] -= 1
        if left[0] == 0:
            valkey.flushall()

    monkeypatch.setattr(guard, "look", look_too_early)
    left[0] = 2  # a submission looks before it is planned, and when it has its connection
    assert board.submit("mary", 1).number == 64
    drain(board)
    left[0] = 2
    assert board.remove("mary").number == 65


def test_redis_that_loses_all_again_and_again_is_given_up(
    board: Leaderboard, valkey: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.submit("mary", 1)
    drain(board)
    monkeypatch.setattr(board.store.guard, "look", valkey.flushall)
    for call in (lambda: board.submit("mary", 1), lambda: board.remove("mary")):
        with pytest.raises(StoreUnavailableError):
            call()


def test_server_that_came_back_with_older_data_is_met_by_nobody_who_does_not_know(
    board: Leaderboard,
    valkey: Redis,
    keep: Callable[..., Leaderboard],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The idle process has seen all that the older data has, and looks no more by the clock."""
    idle = keep(Redis(unix_socket_path=valkey.connection_pool.connection_kwargs["path"]), board.board)
    board.submit("mary", 1)
    for call in (lambda: idle.submit("mary", 1), lambda: idle.remove("mary")):
        idle.submit("mary", 1)
        monkeypatch.setattr("flask_leaderboard.engine.standing.LOOK_SECONDS", 1e6)
        idle.store.guard._look_at = 1e12  # type: ignore[attr-defined]
        saved, last = copy(valkey), board.submit("mary", 1).number
        drain(board)
        set_back(valkey, saved)
        for client in valkey.client_list():
            if client["cmd"] != "client|list":
                valkey.client_kill_filter(_id=client["id"], skipme=False)
        assert call().number == cast(int, last) + 1
        drain(board)
    assert [item.number for item in logged(board)] == list(range(1, 8))


def test_older_data_with_its_journal_is_completed_from_the_log(
    board: Leaderboard, other: Leaderboard, valkey: Redis, clock: SetClock
) -> None:
    play(board, clock, 20)
    saved = copy(valkey)
    play(board, clock, 20, first=20)
    drain(board)
    before = state(board)
    set_back(valkey, saved)
    assert state(other) == before
    assert len(other.store.journal) == 21
    drain(other)
    assert board.submit("mary", 1).number == 43
    drain(board)
    assert [item.number for item in logged(board)] == list(range(1, 44))


def test_what_was_not_drained_is_told_as_lost_and_the_board_goes_on(
    board: Leaderboard, other: Leaderboard, valkey: Redis, clock: SetClock, caplog: pytest.LogCaptureFixture
) -> None:
    play(board, clock, 10)
    drain(board)
    before = state(board)
    for place in range(5):
        board.submit("late", place)
    other.top()
    valkey.flushall()
    with caplog.at_level(logging.ERROR, "flask_leaderboard"):
        assert state(board) == before
    assert "lost 5 events that were not in the log yet, from number 11 on" in caplog.text
    assert board.submit("mary", 1).number == 11
    assert other.submit("mary", 1).number == 12
    drain(other)
    assert [item.number for item in logged(board)] == list(range(1, 13))


def test_worker_logs_nothing_that_redis_lost_meanwhile(
    board: Leaderboard, other: Leaderboard, valkey: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would get numbers that Redis has given to others since."""
    board.submit("mary", 5)
    append = EventLog.append_numbered

    def late(self: EventLog, *args: Any, **kwargs: Any) -> int:
        valkey.flushall()
        other.submit("bob", 1)
        return append(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(EventLog, "append_numbered", late)
        board.drain()
    drain(board)
    assert [(item.number, item.user_id) for item in logged(board)] == [(1, "bob")]


def test_ids_are_known_again_after_redis_lost_them(board: Leaderboard, valkey: Redis, clock: SetClock) -> None:
    play(board, clock, 10)
    drain(board)
    valkey.flushall()
    again = board.submit("user3", 3, submission_id="m3", segments={"country": "BE"})
    assert (again.duplicate, again["all"].new_score) == (True, 3)
    assert valkey.persist(next(key for key in valkey.scan_iter() if b"@ids" in key)) == 1


def test_id_that_redis_forgot_counts_and_is_logged_without_its_id(database: Database, valkey: Redis, clock: SetClock) -> None:
    rules = arena()
    board = Leaderboard(rules, valkey, clock=clock, log=EventLog(rules, database))
    for _ in range(3):
        board.submit("mary", 5, submission_id="m1")
        valkey.delete(*(key for key in valkey.scan_iter() if b"@ids" in key))
        board.drain(1)
    assert [(item.number, item.submission_id) for item in logged(board)] == [(1, "m1"), (2, None), (3, None)]


def test_gap_in_the_journal_is_told(board: Leaderboard, valkey: Redis) -> None:
    for _ in range(4):
        board.submit("mary", 1)
    valkey.xdel(JOURNAL, valkey.xrange(JOURNAL)[1][0])  # type: ignore[index]
    assert board.drain()
    with pytest.raises(LogMismatchError, match="goes on at 3 and the log ends at 1"):
        board.drain()
    assert len(board.store.journal) == 2


def test_number_that_was_given_twice_is_told(board: Leaderboard, valkey: Redis) -> None:
    board.submit("mary", 1)
    drain(board)
    valkey.flushall()
    valkey.xadd(
        JOURNAL, {"number": 1, "kind": "submit", "user": "bob", "id": "", "points": 1, "at": 1, "update": "", "data": "1"}
    )
    with pytest.raises(LogMismatchError, match="event 1 of board 'arena' is another one"):
        board.drain()
    assert len(board.store.journal) == 1


def test_entry_that_is_no_event_is_told(board: Leaderboard, valkey: Redis) -> None:
    valkey.xadd(JOURNAL, {"number": "one"})
    with pytest.raises(ProtocolError, match="can't be read"):
        board.drain()


def test_redis_ahead_of_the_log_without_a_journal_is_refused(board: Leaderboard, other: Leaderboard, valkey: Redis) -> None:
    board.submit("mary", 1)
    valkey.delete(JOURNAL)
    for call in (lambda: other.submit("mary", 1), lambda: other.top()):
        with pytest.raises(LogMismatchError, match="Redis has 1 events and the log 0"):
            call()


def test_log_that_is_away_stops_draining_only(
    board: Leaderboard,
    other: Leaderboard,
    monkeypatch: pytest.MonkeyPatch,
    file_database: Database,  # noqa: F811
) -> None:
    board.submit("mary", 1)
    monkeypatch.setattr("flask_leaderboard.engine.standing.LOOK_SECONDS", 0.0)

    def down(*_: Any) -> Any:
        raise LogUnavailableError("the log can't be reached")

    with monkeypatch.context() as patch:
        patch.setattr(file_database, "attempt", down)
        patch.setattr(EventLog, "head", down)
        assert board.submit("mary", 1)["all"].new_score == 2
        with pytest.raises(LogUnavailableError):
            board.drain()
        with pytest.raises(LogUnavailableError, match="since this process began"):
            other.submit("mary", 1)
        assert other.count() == 1
    drain(other)
    assert len(logged(other)) == 2
    assert other.submit("mary", 1).number == 3


def test_redis_that_is_away_refuses_submissions(keep: Callable[..., Leaderboard]) -> None:  # noqa: F811
    server = FLAVOURS["valkey9"].start()
    try:
        board = keep(Redis(unix_socket_path=str(server.socket), retry=Retry(NoBackoff(), 0)), arena())
        board.submit("mary", 5)
        server.process.kill()
        server.process.wait(10)
        for call in (lambda: board.submit("mary", 1), lambda: board.remove("mary"), board.drain):
            with pytest.raises(StoreUnavailableError):
                call()
    finally:
        server.stop()


def test_removal_passes_over_no_segment_that_came_meanwhile(
    board: Leaderboard, other: Leaderboard, valkey: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.submit("mary", 1, segments={"country": "NL"})
    takes, late = Places.open, ["BE"]

    def list_early(self: Places, now: int) -> Any:
        found = takes(self, now)
        if late:
            other.submit("mary", 1, segments={"country": late.pop()})
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Places, "open", list_early)
        assert "all:country=BE" in {change.label for change in board.remove("mary").changes}
    drain(board)
    assert [item.kind for item in logged(board)] == ["submit", "submit", "remove"]
    valkey.flushall()
    assert all(page == [] for page in state(board))


def watched(failures: list[BaseException], work: Callable[..., None], *args: Any) -> threading.Thread:
    def run() -> None:
        try:
            work(*args)
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_threads_submit_and_drain_at_once(board: Leaderboard, other: Leaderboard) -> None:
    failures: list[BaseException] = []
    done = threading.Event()

    def submit(player: int) -> None:
        for place in range(40):
            (board, other)[place % 2].submit(f"user{player}", 1, submission_id=f"{player}-{place}")
            assert other.rank(f"user{player}") is not None

    def work(worker: Leaderboard) -> None:
        while not done.is_set():
            worker.drain(5)

    players = [watched(failures, submit, player) for player in range(4)]
    workers = [watched(failures, work, worker) for worker in (board, other)]
    for thread in players:
        thread.join(120)
    done.set()
    for thread in workers:
        thread.join(60)
    drain(board)
    assert failures == []
    events = logged(board)
    assert [item.number for item in events] == list(range(1, 161))
    for player in range(4):
        own = [item.submission_id for item in events if item.user_id == f"user{player}"]
        assert own == [f"{player}-{place}" for place in range(40)]


def test_processes_submit_and_drain_at_once(valkey: Redis, clock: SetClock, tmp_path: Path) -> None:
    database = Database(database_url(None, tmp_path), own=True)
    rules = arena()
    board = Leaderboard(rules, valkey, clock=clock, log=EventLog(rules, database))
    board.count()
    socket = valkey.connection_pool.connection_kwargs["path"]

    def child(number: int) -> None:
        own = Database(database_url(None, tmp_path), own=True)
        lb = Leaderboard(rules, Redis(unix_socket_path=socket), clock=clock, log=EventLog(rules, own))
        for place in range(60):
            lb.submit(f"user{place % 3}", 1, submission_id=f"{number}-{place}")
            lb.drain(7)

    children = []
    for number in range(3):
        process = os.fork()
        if process == 0:
            try:
                child(number)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(process)
    assert [os.waitpid(process, 0)[1] for process in children] == [0, 0, 0]
    drain(board)
    assert [item.number for item in logged(board)] == list(range(1, 181))
    before = state(board)
    valkey.flushall()
    assert state(board) == before
    database.close()


@given(
    events=st.lists(
        st.tuples(
            st.sampled_from(["submit", "submit", "submit", "submit", "remove", "pass", "drain", "empty", "set back"]),
            st.sampled_from("abc"),
            st.integers(-4, 9),
            st.sampled_from([None, "NL", "BE", "DE"]),
            st.sampled_from([None, "m1", "m2"]),
        ),
        max_size=40,
    ),
    order=st.sampled_from(["asc", "desc"]),
    update=st.sampled_from(["increment", "best", "latest"]),
    tie_break=st.sampled_from(["first", "last", "member"]),
    score_type=st.sampled_from(["integer", "float"]),
)
def test_fold_of_the_drained_log_is_what_redis_has(
    backends: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory, events: list[Any], **rules: Any
) -> None:
    """Whatever is played, and whatever Redis loses that was drained."""
    client = backends("valkey9").client
    client.flushall()
    clock, board = SetClock(), arena(score_range=(-5, 30), segments=[Segment("country", limit=2)], **rules)
    database = Database(database_url(None, tmp_path_factory.mktemp("log")), own=True)
    try:
        played = Leaderboard(board, client, clock=clock, log=EventLog(board, database))
        saved = copy(client)
        for action, user, points, country, identity in events:
            clock.now += 7 * MINUTE
            if action == "pass":
                clock.now += 11 * 60 * MINUTE
            elif action == "remove":
                played.remove(user)
            elif action == "drain":
                played.drain(3)
            elif action in ("empty", "set back"):
                drain(played)
                set_back(client, saved if action == "set back" else {})
            else:
                segments = {"country": country} if country else None
                played.submit_many([Submission(user, points, identity, segments=segments)])
                saved = copy(client) if points == 0 else saved
        before = state(played)
        drain(played)
        client.flushall()
        assert state(Leaderboard(board, client, clock=clock, log=EventLog(board, database))) == before
        assert [item.refused for item in EventLog(board, database).read(0, 1000) if item.refused] == []
    finally:
        database.close()


def test_rest_answers_503_with_retry_after_where_the_journal_is_full(clock: SetClock, tmp_path: Path) -> None:
    app = make_app([arena(journal_limit=1000)], clock=clock, instance=tmp_path)
    web, mary = app.test_client(), {"user_id": "mary", "points": 1}
    with app.app_context():
        board = current_leaderboards["arena"]
        board.submit_many([Submission("bob", 1) for _ in range(1000)], ranks=False)
        while len(board.store.journal) < 1000:
            board.submit("bob", 1)
        response = web.post("/v1/scores", json=mary, headers=SUBMIT)
        assert code(response) == (503, "journal_full")
        assert response.headers["Retry-After"] == "1"
        drain(board)
        assert web.post("/v1/scores", json=mary, headers=SUBMIT).status_code == 200
        assert len(cast(Any, web.get("/v1/scores/bob/history?limit=5").json)["data"]) == 5


def test_rules_of_a_board_that_counts_first() -> None:
    assert arena(per_minute=5).logged
    with pytest.raises(ConfigurationError, match="Season in mode 'write_behind'"):
        arena(windows=[Season()])
    for limit in (0, 999, 1e6, "many"):
        with pytest.raises(ConfigurationError, match="journal_limit"):
            arena(journal_limit=limit)
