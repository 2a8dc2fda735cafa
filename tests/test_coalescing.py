"""Boards that write to Redis once an interval: all is logged at once, Redis gets it together, and nothing is lost on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_leaderboard import AllTime, Board, Daily, Every, Leaderboard, LeaderboardError, Receipt, Segment, Submission
from flask_leaderboard.config import read_settings
from flask_leaderboard.engine.coalescing import Coalescer
from flask_leaderboard.engine.folding import Folder
from flask_leaderboard.errors import ConfigurationError, LogUnavailableError, ScoreRangeError, StoreUnavailableError
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.rules.instants import to_datetime
from flask_leaderboard.signals import period_closed
from flask_leaderboard.store.board_store import BoardStore
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.servers import FLAVOURS, Server
from tests.test_folding_together import commands
from tests.test_gunicorn import Gunicorn
from tests.waiting import until
from tests.web import SUBMIT, make_app

SECOND = 1_000_000
HOURLY = Every(timedelta(hours=1), name="hourly")


def arena(**rules: Any) -> Board:
    """A board whose interval is never over by itself in a test, unless it says so."""
    windows = [AllTime(), Daily(), HOURLY]
    segments = [Segment("country", limit=2)]
    return Board("arena", **{"mode": "ledger", "windows": windows, "segments": segments, "coalesce_ms": 10_000, **rules})


@pytest.fixture
def file_database(tmp_path: Path) -> Iterator[Database]:
    database = Database(database_url(None, tmp_path), own=True)
    yield database
    database.close()


@pytest.fixture
def keep(file_database: Database, clock: SetClock) -> Iterator[Callable[..., Leaderboard]]:
    """Give a process's view of a board: several of them are as many processes on one Redis and one log."""
    made: list[Leaderboard] = []

    def make(client: Redis, board: Board | None = None, **more: Any) -> Leaderboard:
        rules = board or arena()
        made.append(Leaderboard(rules, client, clock=clock, log=EventLog(rules, file_database), **more))
        return made[-1]

    yield make
    for board in made:
        board.close()


def state(board: Leaderboard) -> list[Any]:
    """Tell all of a board's rankings, tie order included."""
    pages = [
        board.top(1000, window=window.name, segment=segment, ranking="unique")
        for window in board.board.windows
        for segment in (None, "country=NL", "country=BE")
    ]
    return [[(e.rank, e.user_id, e.score, e.at) for e in page.entries] for page in pages]


def folded(board: Leaderboard) -> int:
    return board.store.number()


def coalescer_of(board: Leaderboard) -> Coalescer:
    found: Coalescer = cast(Any, board)._ledger._coalescer
    return found


@pytest.mark.parametrize("wrong", [-1, 10_001, 0.5, True, "100", None])
def test_an_interval_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"coalesce_ms .* must be a whole number from 0 to 10,000"):
        arena(coalesce_ms=wrong)


@pytest.mark.parametrize("mode", ["redis_only", "write_behind"])
def test_boards_that_count_in_redis_first_have_no_interval(mode: Any, valkey: Redis) -> None:
    with pytest.raises(ConfigurationError, match=f"coalesce_ms in mode '{mode}': use mode='ledger'"):
        arena(mode=mode)
    with pytest.raises(ConfigurationError, match="use mode='ledger'"):
        Leaderboard(arena(mode=None), valkey)
    assert arena(mode=mode, coalesce_ms=0).mode == mode


def test_an_interval_is_declared_in_the_configuration() -> None:
    settings = read_settings({"LEADERBOARD_BOARDS": [{"name": "arena", "mode": "ledger", "coalesce_ms": 250}]})
    assert settings.boards[0].coalesce_ms == 250
    with pytest.raises(ConfigurationError, match=r"LEADERBOARD_BOARDS.*coalesce_ms"):
        read_settings({"LEADERBOARD_BOARDS": [{"name": "arena", "coalesce_ms": "250"}]})


def test_what_is_answered_is_logged_and_nothing_else_is_claimed(client: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(client)
    receipt = board.submit("mary", 5, segments={"country": "NL"})
    assert (receipt.number, receipt.pending, receipt.duplicate) == (1, True, False)
    assert {change.label for change in receipt.changes} == {
        *("all", "daily", "hourly"),
        *("all:country=NL", "daily:country=NL", "hourly:country=NL"),
    }
    assert all(change[3:] == (None, None, None, None) for change in receipt.changes)
    assert [event.number for event in board.history("mary")] == [1]
    page = board.top()
    assert (page.entries, page.number) == ((), 0)
    board.flush()
    entry, page = board.rank("mary"), board.top()
    assert entry is not None
    assert (entry.score, entry.rank, page.number) == (5, 1, 1)


def test_redis_gets_one_write_a_user_and_ranking(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    """However many events there are, and whichever process logged them."""
    boards = [keep(valkey), keep(valkey)]
    for board in boards:
        board.count()
    valkey.config_resetstat()
    for place in range(30):
        boards[place % 2].submit_many([Submission(f"user{user}", 1) for user in range(5) for _ in range(4)])
    assert "zadd" not in commands(valkey)
    boards[0].flush()
    counted = commands(valkey)
    assert folded(boards[1]) == 600
    assert [entry.score for entry in boards[1].top().entries] == [120] * 5
    rankings, users = 3, 5
    calls = 2
    assert counted["zadd"] <= rankings * users * calls
    assert counted["evalsha"] <= calls + 2


def test_the_interval_ends_by_itself(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(valkey, arena(coalesce_ms=30))
    for number in (1, 2):
        board.submit("mary", 5)
        until(lambda number=number: folded(board) == number)
        until(lambda: not [thread for thread in threading.enumerate() if thread.name == "leaderboard-coalesce-arena"])


def test_processes_share_an_interval(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    one, other = keep(valkey), keep(valkey)
    one.submit("mary", 1)
    other.submit("mary", 2)
    assert coalescer_of(one)._turn(hurried=False) == 10.0
    assert folded(one) == 2
    other.submit("mary", 4)
    wait = coalescer_of(other)._turn(hurried=False)
    assert 0 < wait <= 10.0
    assert folded(one) == 2
    valkey.delete("lb1:{arena}:@claim:interval")  # it is over
    coalescer_of(other)._turn(hurried=False)
    assert folded(one) == 3


def test_much_is_folded_before_the_interval_is_over(
    valkey: Redis, keep: Callable[..., Leaderboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.coalescing.MOST_WAITING", 50)
    board = keep(valkey)
    board.submit_many([Submission("mary", 1) for _ in range(50)])
    assert folded(board) == 0
    board.submit("mary", 1)
    until(lambda: folded(board) == 51)


def test_gaps_between_processes_are_filled_in_order(valkey: Redis, keep: Callable[..., Leaderboard], clock: SetClock) -> None:
    one, other = keep(valkey, arena(update="latest")), keep(valkey, arena(update="latest"))
    for place in range(20):
        clock.now += 10_000
        (one, other)[place % 2].submit(f"user{place % 3}", place)
    other.flush()
    before = state(one)
    valkey.flushall()
    plain = keep(valkey, arena(update="latest", coalesce_ms=0))
    assert state(plain) == before
    assert [row[2] for row in before[0]] == [19, 18, 17]


def test_an_id_sent_again_is_never_told_a_state_before_it(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(valkey)
    board.submit("mary", 5)
    board.flush()
    for receipt in (board.submit("mary", 2, submission_id="m1"), board.submit("mary", 2, submission_id="m1")):
        assert (receipt.pending, receipt["all"].new_score, receipt.number) == (True, None, 2)
    assert receipt.duplicate
    board.flush()
    again = board.submit("mary", 2, submission_id="m1")
    assert (again.pending, again.duplicate, again["all"].new_score, again["all"].new_rank) == (False, True, 7, 1)


def test_refusals_of_the_fold_are_told_when_sent_again(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(valkey, arena(score_range=(0, 10)))
    board.submit("mary", 8)
    assert board.submit("mary", 8, submission_id="m1").pending
    board.flush()
    with pytest.raises(ScoreRangeError):
        board.submit("mary", 8, submission_id="m1")
    assert [event.refused for event in board.history("mary")] == ["score_range", None]


def test_a_removal_is_not_kept_waiting(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(valkey)
    board.submit("mary", 5, segments={"country": "NL"})
    receipt = board.remove("mary")
    assert receipt["all:country=NL"].old_score == 5
    assert all(page == [] for page in state(board))


def test_what_waits_is_not_taken_for_lost(
    valkey: Redis, keep: Callable[..., Leaderboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who only reads, however often he looks, brings Redis what has to wait."""
    monkeypatch.setattr("flask_leaderboard.engine.standing.LOOK_SECONDS", 0.0)
    writer, reader = keep(valkey), keep(valkey)
    writer.submit("mary", 5)
    for board in (reader, writer, keep(valkey)):
        for _ in range(3):
            assert board.rank("mary") is None
        for duty in board.duties:
            duty.step(board._clock())
    assert folded(writer) == 0


def test_what_a_dead_process_left_is_folded_when_it_is_late(
    valkey: Redis, keep: Callable[..., Leaderboard], clock: SetClock
) -> None:
    keep(valkey).submit("mary", 5)
    clock.now += 11 * SECOND - 1
    assert keep(valkey).count() == 0
    clock.now += 2
    assert keep(valkey).count() == 1


def test_the_worker_folds_what_is_late(valkey: Redis, keep: Callable[..., Leaderboard], clock: SetClock) -> None:
    keep(valkey).submit("mary", 5)
    worker = keep(valkey)
    apply = next(duty for duty in worker.duties if duty.name == "apply")
    clock.now += 12 * SECOND
    apply.step(clock.now)
    assert folded(worker) == 1


def test_lost_data_is_not_taken_for_what_waits(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(valkey)
    board.submit("mary", 5)
    board.flush()
    assert board.count() == 1
    board.submit("bob", 5)
    valkey.flushall()
    assert board.rank("mary") is not None


def test_older_data_is_noticed_by_a_process_that_has_not_seen_more(
    valkey: Redis, keep: Callable[..., Leaderboard], clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.standing.LOOK_SECONDS", 0.0)
    writer, reader = keep(valkey), keep(valkey)
    writer.submit("mary", 5)
    writer.flush()
    assert reader.count() == 1
    older = {key: valkey.dump(key) for key in valkey.scan_iter()}
    writer.submit("mary", 5)
    writer.flush()
    valkey.flushall()
    for key, value in older.items():
        valkey.restore(key, 0, cast(bytes, value))
    clock.now += 12 * SECOND
    entry = reader.rank("mary")
    assert entry is not None
    assert entry.score == 10


def test_events_that_are_pruned_are_not_waited_for(
    valkey: Redis, keep: Callable[..., Leaderboard], file_database: Database
) -> None:
    board = keep(valkey)
    board.submit("mary", 5)
    board.flush()
    fold = next(duty for duty in board.duties if duty.name == "fold")
    fold.step(0)
    board.submit("bob", 5)
    board.log.prune(before=2**60, through=1)
    valkey.flushall()
    fresh = keep(valkey)
    entry = fresh.rank("mary")
    assert entry is not None
    assert entry.score == 5


def test_redis_away_only_makes_it_later(keep: Callable[..., Leaderboard]) -> None:
    server = FLAVOURS["valkey9"].start()
    client = Redis(unix_socket_path=str(server.socket), retry=Retry(NoBackoff(), 0))
    board = keep(client, arena(coalesce_ms=20))
    server.process.kill()
    server.process.wait(10)
    assert board.submit("mary", 5).pending
    entry = board.rank("mary")  # of SQL, which knows all that is logged
    assert entry is not None
    assert entry.score == 5
    board.close()
    server.stop()
    again = FLAVOURS["valkey9"].start()
    try:
        anew = keep(again.client, arena(coalesce_ms=20))
        anew.count()
        until(lambda: folded(anew) == 1)
        anew.close()
    finally:
        again.stop()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("owner", "method", "call"),
    [
        (BoardStore, "begin_interval", 0),
        *((BoardStore, "number", call) for call in (0, 4)),
        *((BoardStore, "apply", call) for call in (0, 1)),
        *((EventLog, method, 0) for method in ("head", "read", "note_refusals")),
    ],
)
def test_dying_anywhere_in_a_fold_loses_and_doubles_nothing(
    valkey: Redis,
    keep: Callable[..., Leaderboard],
    clock: SetClock,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    method: str,
    call: int,
    after: bool,
) -> None:
    """A kill before or after each call to Redis and to the log; the next process goes on when it is late."""

    class Killed(BaseException):
        pass

    rules = arena(score_range=(-10, 8))
    dying = keep(valkey, rules)
    dying.submit_many(
        [Submission(f"user{place % 130}", place % 5, f"m{place}", segments={"country": "NL"}) for place in range(400)]
    )
    done, calls = getattr(owner, method), [0]

    def killed(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        dies = calls[0] == call + 1
        if dies and not after:
            raise Killed
        result = done(self, *args, **kwargs)
        if dies:
            raise Killed
        return result

    with monkeypatch.context() as patch:
        patch.setattr(owner, method, killed)
        with pytest.raises(Killed):
            coalescer_of(dying)._turn(hurried=False)
    clock.now += 60 * SECOND
    living = keep(valkey, rules)
    survived = state(living)
    assert folded(living) == living.log.head()
    valkey.flushall()
    assert state(keep(valkey, arena(score_range=(-10, 8), coalesce_ms=0))) == survived
    assert dying.submit("user1", 1, submission_id="m1").duplicate


@settings(max_examples=15)
@given(
    played=st.lists(
        st.tuples(
            st.sampled_from(["submit", "submit", "submit", "submit", "remove", "flush", "pass", "lose"]),
            st.sampled_from("abc"),
            st.sampled_from([-4, -1, 0, 1, 1, 2, 9, 0.1, 0.7, 1e16]),
            st.sampled_from([None, "NL", "BE", "DE"]),
            st.sampled_from([None, "m1", "m2"]),
            st.booleans(),
        ),
        max_size=30,
    ),
    order=st.sampled_from(["asc", "desc"]),
    update=st.sampled_from(["increment", "best", "latest"]),
    tie_break=st.sampled_from(["first", "last", "member"]),
    score_type=st.sampled_from(["integer", "float"]),
    dense=st.booleans(),
)
def test_it_comes_to_the_same_as_without_an_interval(
    backends: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory, played: list[Any], **rules: Any
) -> None:
    """Two processes with an interval, and a board without one: the same scores, tie order and refusals."""
    client = backends("valkey9").client
    client.flushall()
    clock = SetClock()
    rules |= {"score_range": None if rules["score_type"] == "float" else (-5, 30)}
    board, at_once = arena(**rules), arena(**rules, coalesce_ms=0)
    database, other = (Database(database_url(None, tmp_path_factory.mktemp("log")), own=True) for _ in range(2))
    processes = [Leaderboard(board, client, clock=clock, log=EventLog(board, database)) for _ in range(2)]
    plain = Leaderboard(at_once, client, clock=clock, log=EventLog(at_once, other), prefix="plain")
    try:
        for action, user, points, country, identity, first in played:
            process = processes[first]
            clock.now += 7 * 60 * SECOND
            if action == "pass":
                clock.now += 11 * 3600 * SECOND
            elif action == "flush":
                process.flush()
            elif action == "lose":
                for key in client.keys("lb1:*"):
                    client.delete(key)
            elif action == "remove":
                process.remove(user)
                plain.remove(user)
            else:
                submission = Submission(user, points, identity, segments={"country": country} if country else None)
                outcome, wanted = *process.submit_many([submission]), *plain.submit_many([submission])
                check_outcome(outcome, wanted, all_folded=folded(process) == process.log.head())
        processes[0].flush()
        assert state(processes[1]) == state(plain)
    finally:
        for process in processes:
            process.close()
        database.close()
        other.close()


def check_outcome(given_: Receipt | LeaderboardError, wanted: Receipt | LeaderboardError, *, all_folded: bool) -> None:
    """What is said is what is so; what is not known yet is left open."""
    if isinstance(wanted, Receipt) and isinstance(given_, Receipt):
        assert given_.duplicate == wanted.duplicate
        if given_.pending:
            assert all(change.new_score is None for change in given_.changes)
        elif all_folded:
            assert {c.label: c.new_score for c in given_.changes} == {c.label: c.new_score for c in wanted.changes}
    elif isinstance(given_, LeaderboardError):
        assert isinstance(wanted, LeaderboardError)
        assert given_.code == wanted.code
    else:  # refused by the fold, later
        assert isinstance(wanted, LeaderboardError)
        assert given_.pending
        assert wanted.code in ("score_range", "segment_limit")


def test_verify_and_rebuild_while_events_wait(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(valkey)
    board.submit_many([Submission(f"user{place % 20}", place, segments={"country": "NL"}) for place in range(100)])
    board.flush()
    board.submit_many([Submission(f"user{place % 20}", place) for place in range(100)])
    next(duty for duty in board.duties if duty.name == "fold").step(0)
    verified = board.verify()
    assert (verified.differences, verified.unsettled, folded(board)) == ([], 0, 200)
    board.submit("user1", 1)
    assert board.rebuild(windows=["daily"]).number == 201
    board.submit("user1", 1)
    assert board.rebuild().number == 202
    before = state(board)
    valkey.flushall()
    assert state(keep(valkey, arena(coalesce_ms=0))) == before


def test_over_http_it_is_202_and_no_answer_is_newer_than_it_says(valkey_server: Server, tmp_path: Path, clock: SetClock) -> None:
    app = make_app([arena()], clock=clock, instance=tmp_path, redis_url=f"unix://{valkey_server.socket}")
    client = app.test_client()
    answer = client.post("/v1/scores", json={"user_id": "mary", "points": 5}, headers=SUBMIT)
    assert (answer.status_code, answer.json["pending"], answer.json["changes"][0]["new_score"]) == (202, True, None)
    shown = client.get("/v1/scores").json
    assert (shown["total"], datetime.fromisoformat(shown["as_of"])) == (0, to_datetime(clock.now - 11 * SECOND))
    assert client.get("/v1/boards/arena").json["coalesce_ms"] == 10_000
    hub = service_of(app).hub
    hub.close()
    assert int(valkey_server.client.hget("lb1:{arena}", "seq") or 0) == 1, "a hub that is closed leaves nothing behind"
    assert client.get("/v1/scores/mary").json["user_info"]["score"] == 5
    hub.close()


def test_while_the_database_is_away_reads_say_how_old_they_are(
    valkey_server: Server, tmp_path: Path, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> Any:
        raise LogUnavailableError("away")

    monkeypatch.setattr("flask_leaderboard.engine.standing.LOOK_SECONDS", 0.0)
    app = make_app([arena()], clock=clock, instance=tmp_path, redis_url=f"unix://{valkey_server.socket}")
    client, began = app.test_client(), clock.now
    client.post("/v1/scores", json={"user_id": "mary", "points": 5}, headers=SUBMIT)
    for method in ("head", "read"):
        with monkeypatch.context() as patch:
            patch.setattr(EventLog, method, away)
            clock.now += 60 * SECOND
            shown = client.get("/v1/scores").json
            assert (shown["total"], datetime.fromisoformat(shown["as_of"])) == (0, to_datetime(began - 11 * SECOND))
    shown = client.get("/v1/scores").json
    assert (shown["total"], datetime.fromisoformat(shown["as_of"])) == (1, to_datetime(clock.now - 11 * SECOND))
    service_of(app).hub.close()


def test_who_hears_that_a_period_has_closed_reads_what_it_closed_with(
    valkey_server: Server, tmp_path: Path, clock: SetClock
) -> None:
    app = make_app([arena(windows=[HOURLY])], clock=clock, instance=tmp_path, redis_url=f"unix://{valkey_server.socket}")
    told: list[tuple[str, int]] = []

    def closed(sender: Any, board: str, window: str, period: Any) -> None:
        told.append((period.id, service_of(app).hub["arena"].count(period=period.id)))

    with app.app_context(), period_closed.connected_to(closed, app):
        hub = service_of(app).hub
        hub["arena"].submit("mary", 5)
        clock.now += 3600 * SECOND - SECOND
        hub["arena"].submit("bob", 5, at=to_datetime(clock.now - 60 * SECOND))
        clock.now += 70 * SECOND
        until(lambda: hub.tell_of_closed() or told)
    assert told[-1] == ("20500702T120000Z", 2)
    hub.close()


GAME = """
import os, sys, threading
from flask import Flask
from flask_leaderboard import Board, Leaderboards, current_leaderboards
app = Flask("game", instance_path={folder!r})
app.config["LEADERBOARD_REDIS_URL"] = {url!r}
Leaderboards(app, boards=[Board("arena", mode="ledger", coalesce_ms=10_000)])
assert threading.active_count() == 1, "nothing is started before it is needed"
with app.app_context():
    arena = current_leaderboards["arena"]
    arena.count()
    assert threading.active_count() == 1, "nor by a read where nothing waits"
    for number in range(20):
        assert arena.submit("mary", 1).pending
    assert threading.active_count() == 2
    {end}
"""
ENDS = {
    "exit": "sys.exit(0)",
    "fork": (
        "child = os.fork()\n"
        "    if child == 0:\n"
        "        assert current_leaderboards['arena'].submit('bob', 1).pending\n"
        "        sys.exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0"
    ),
}


@pytest.fixture
def valkey_server() -> Iterator[Server]:
    server = FLAVOURS["valkey9"].start()
    yield server
    server.stop()


@pytest.mark.parametrize("end", ENDS)
def test_a_process_that_ends_folds_what_waits(valkey_server: Server, tmp_path: Path, end: str) -> None:
    script = GAME.format(folder=str(tmp_path), url=f"unix://{valkey_server.socket}", end=ENDS[end])
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env={**os.environ, "PYTHONPATH": str(Path.cwd())})
    assert int(valkey_server.client.hget("lb1:{arena}", "seq") or 0) == (21 if end == "fork" else 20)


def test_a_process_that_is_killed_loses_nothing(valkey_server: Server, tmp_path: Path) -> None:
    script = GAME.format(
        folder=str(tmp_path), url=f"unix://{valkey_server.socket}", end=f"os.kill(os.getpid(), {int(signal.SIGKILL)})"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    ended = subprocess.run([sys.executable, "-c", script], check=False, timeout=60, env=environ)
    assert ended.returncode == -signal.SIGKILL
    assert valkey_server.client.hget("lb1:{arena}", "seq") is None
    app = make_app([arena(windows=[AllTime()])], instance=tmp_path, redis_url=f"unix://{valkey_server.socket}")
    hub = service_of(app).hub
    hub["arena"].flush()
    assert [entry.score for entry in hub["arena"].top().entries] == [20]
    hub.close()


WEB = """
import os
from flask import Flask
from flask_leaderboard import Board, Leaderboards

app = Flask(__name__, instance_path=os.environ["INSTANCE"])
app.config["LEADERBOARD_TOKENS"] = {{"submit": ["s3cret"]}}
app.config["LEADERBOARD_REDIS_URL"] = {url!r}
quick, slow = Board("quick", mode="ledger", coalesce_ms=40), Board("slow", mode="ledger", coalesce_ms=10_000)
leaderboards = Leaderboards(app, boards=[quick, slow])

@app.get("/pid")
def pid():
    return str(os.getpid())
"""


@pytest.mark.parametrize("options", [("-k", "gthread", "--threads", "8", "--preload"), ("-k", "gevent")], ids=" ".join)
def test_under_gunicorn_it_counts_by_itself_and_at_the_end(
    valkey_server: Server, tmp_path: Path, options: tuple[str, ...]
) -> None:
    def seq(board: str) -> int:
        return int(valkey_server.client.hget(f"lb1:{{{board}}}", "seq") or 0)

    def submit(place: int) -> Any:
        body = {"user_id": f"u{place % 7}", "points": 1, "board": ("quick", "slow")[place % 2]}
        return gunicorn.call("POST", "/v1/scores", body)

    gunicorn = Gunicorn(tmp_path, *options, app=WEB.format(url=f"unix://{valkey_server.socket}"))
    try:
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(submit, range(120)))
        assert {(status, receipt["pending"]) for status, receipt in told} == {(202, True)}
        until(lambda: seq("quick") == 60)
    finally:
        gunicorn.stop()
    assert seq("slow") == 60


def test_a_fold_that_fails_is_tried_again_and_told_once(
    valkey: Redis, keep: Callable[..., Leaderboard], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.coalescing.RETRY_SECONDS", 0.01)
    board, tries = keep(valkey, arena(coalesce_ms=10)), [0]
    catch_up = Folder.catch_up

    def failing(self: Folder, *args: Any) -> None:
        tries[0] += 1
        if tries[0] < 4:
            raise StoreUnavailableError("away")
        catch_up(self, *args)

    monkeypatch.setattr(Folder, "catch_up", failing)
    board.submit("mary", 5)
    until(lambda: folded(board) == 1)
    assert caplog.messages.count("board 'arena' has events in its log that wait for Redis: away") == 1
