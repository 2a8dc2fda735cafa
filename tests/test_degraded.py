"""Reads while Redis is away, emptied or being repaired: from SQL, exact, and marked as degraded; or a refusal, never a guess."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy import update

from flask_leaderboard import AllTime, Leaderboard, Submission
from flask_leaderboard.engine.routing import noting_reads
from flask_leaderboard.errors import DenseRankError, LogUnavailableError, StoreUnavailableError
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.events import Draft
from flask_leaderboard.log.tables import users
from flask_leaderboard.log.totals import Totals
from flask_leaderboard.web.cache import MicroCache
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.servers import FLAVOURS, Server
from tests.test_sql_reads import NOW, arena, clear, open_board
from tests.waiting import until
from tests.web import SUBMIT, code, make_app

PATHS = (
    "/v1/scores?limit=3",
    "/v1/scores?window=daily&ranking=unique&segment=country=NL&include=metadata",
    "/v1/scores?min=1&max=4&window=hourly",
    "/v1/scores/user3?ranking=modified",
    "/v1/scores/user3?window=*",
    "/v1/scores/user3/neighbors?above=2&below=2&ranking=dense",
    "/v1/boards/arena?percentile=50",
    "/v1/boards",
)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that may be stopped before the test's end."""
    running = FLAVOURS["valkey9"].start()
    assert isinstance(running, Server)
    yield running
    running.stop()


def client_of(server: Server) -> Redis:
    return Redis(unix_socket_path=str(server.socket), retry=Retry(NoBackoff(), 0))


@pytest.fixture
def make(server: Server, database: Database, tmp_path: Path) -> Iterator[Callable[..., Flask]]:
    apps: list[Flask] = []
    place = database.engine.url.render_as_string(hide_password=False)

    def make_one(**config: Any) -> Flask:
        settings = {"redis_url": f"unix://{server.socket}", "database_url": place, "redis_rest_ms": 20, **config}
        apps.append(make_app([arena(dense=True)], clock=SetClock(), instance=tmp_path, **settings))
        apps[-1].secret_key = "fixed"
        return apps[-1]

    yield make_one
    for app in apps:
        service_of(app).hub.close()


def fill(app: Flask) -> None:
    batch = [
        {"user_id": f"user{n}", "points": n % 4, "segments": {"country": "NL"} if n % 2 else {"country": "BE"}} for n in range(12)
    ]
    assert app.test_client().post("/v1/scores/batch", json={"submissions": batch}, headers=SUBMIT).json["accepted"] == 12


def told(answer: Any) -> dict[str, Any]:
    return {name: value for name, value in answer.json.items() if name not in ("as_of", "degraded")}


def test_reads_go_on_without_redis(make: Callable[..., Flask], server: Server) -> None:
    app = make()
    fill(app)
    get = app.test_client().get
    friends = {"user_ids": ["user1", "user5", "nobody"]}
    before = [told(get(path)) for path in PATHS] + [told(app.test_client().post("/v1/scores/query", json=friends))]
    assert not any("degraded" in get(path).json for path in PATHS)
    server.stop()
    after = [get(path) for path in PATHS] + [app.test_client().post("/v1/scores/query", json=friends)]
    assert [answer.json["degraded"] for answer in after] == [True] * len(after)
    assert [told(answer) for answer in after] == before
    assert {answer.headers["Cache-Control"] for answer in after} == {"no-store"}
    assert not any("ETag" in answer.headers for answer in after)
    assert code(get("/v1/scores/nobody")) == (404, "not_ranked")
    assert code(get("/v1/scores?ranking=none")) == (400, "bad_input")


def test_cursors_cross_from_redis_to_sql(make: Callable[..., Flask], server: Server) -> None:
    app = make()
    fill(app)
    get = app.test_client().get
    whole = get("/v1/scores?limit=100&ranking=modified").json["data"]
    first = get("/v1/scores?limit=3&ranking=modified").json
    server.stop()
    seen, cursor = first["data"], first["cursor"]
    while cursor:
        page = get(f"/v1/scores?limit=3&ranking=modified&cursor={cursor}").json
        assert page["degraded"] is True
        seen, cursor = seen + page["data"], page["cursor"]
    assert seen == whole


def test_cursors_without_a_secret_key_hold_where_the_secret_is_known(make: Callable[..., Flask], server: Server) -> None:
    app, other = make(), make()
    app.secret_key = other.secret_key = None
    fill(app)
    cursor = app.test_client().get("/v1/scores?limit=3").json["cursor"]
    server.stop()
    service_of(app).hub.app_keys.secret_until = 0.0
    assert app.test_client().get(f"/v1/scores?limit=100&cursor={cursor}").json["count"] == 9
    assert other.test_client().get("/v1/scores?limit=100").json["count"] == 12


def test_process_that_knows_no_secret_signs_by_one_of_its_own(make: Callable[..., Flask], server: Server) -> None:
    app, other = make(), make()
    app.secret_key = other.secret_key = None
    fill(app)
    server.stop()
    first = app.test_client().get("/v1/scores?limit=3").json
    again = app.test_client().get("/v1/scores?limit=3").json
    assert (first["count"], again["cursor"]) == (3, first["cursor"])
    assert app.test_client().get(f"/v1/scores?limit=100&cursor={first['cursor']}").json["count"] == 9
    assert code(other.test_client().get(f"/v1/scores?cursor={first['cursor']}")) == (400, "bad_cursor")


def test_what_was_submitted_without_redis_is_read(make: Callable[..., Flask], server: Server) -> None:
    app = make()
    fill(app)
    server.stop()
    answer = app.test_client().post("/v1/scores", json={"user_id": "late", "points": 9}, headers=SUBMIT)
    assert answer.status_code == 202
    entry = app.test_client().get("/v1/scores/late").json
    assert (entry["user_info"]["rank"], entry["user_info"]["score"], entry["degraded"]) == (1, 9, True)


def test_names_come_from_sql(make: Callable[..., Flask], server: Server, database: Database) -> None:
    app = make()
    fill(app)
    with database.begin() as connection:
        row = update(users).where(users.c.user_id == "user3")
        connection.execute(row.values(name="Mary ü", profile='{"picture":"cat.png"}'))
    server.stop()
    entry = app.test_client().get("/v1/scores/user3?include=metadata").json["user_info"]
    assert (entry["user_name"], entry["metadata"]) == ("Mary ü", {"picture": "cat.png"})


def test_too_large_a_ranking_is_503(make: Callable[..., Flask], server: Server) -> None:
    app = make(fallback_rows=11)
    fill(app)
    server.stop()
    answer = app.test_client().get("/v1/scores")
    assert code(answer) == (503, "store_unavailable")
    assert int(answer.headers["Retry-After"]) >= 1
    assert app.test_client().get("/v1/scores?segment=country=NL").json["total"] == 6


def test_no_fallback_where_none_is_wanted(make: Callable[..., Flask], server: Server) -> None:
    app = make(fallback_rows=0)
    fill(app)
    server.stop()
    assert code(app.test_client().get("/v1/scores")) == (503, "store_unavailable")


def test_redis_and_database_away_is_503(tmp_path: Path) -> None:
    app = make_app(
        [arena()], instance=tmp_path, redis_url=f"unix://{tmp_path}/none.sock", database_url="postgresql://127.0.0.1:1/none"
    )
    assert code(app.test_client().get("/v1/scores")) == (503, "log_unavailable")


@pytest.fixture
def file_database(tmp_path: Path) -> Iterator[Database]:
    database = Database(database_url(None, tmp_path), own=True)
    yield database
    database.close()


def test_dense_ranks_are_refused_as_by_redis(file_database: Database, tmp_path: Path) -> None:
    away = Redis(unix_socket_path=f"{tmp_path}/none.sock", retry=Retry(NoBackoff(), 0))
    board = open_board(arena(), away, file_database)
    assert board.submit("mary", 5).pending
    with pytest.raises(DenseRankError):
        board.top(ranking="dense")
    page = board.top(ranking="unique")
    assert ([entry.user_id for entry in page.entries], page.degraded, page.number) == (["mary"], True, 1)
    with noting_reads() as notes:
        assert (board.count(), board.percentile("mary"), board.score_at_percentile(50)) == (1, 100.0, 5)
    assert notes.degraded


def test_totals_far_behind_are_folded_turn_by_turn(
    file_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Redis(unix_socket_path=f"{tmp_path}/none.sock", retry=Retry(NoBackoff(), 0))
    board = open_board(arena(), away, file_database)
    board.submit_many([Submission(f"user{n}", 1) for n in range(10)])
    monkeypatch.setattr("flask_leaderboard.engine.shelf.CATCH_UP_SECONDS", 0.0)
    monkeypatch.setattr(Totals.fold, "__defaults__", (3,))
    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match="totals in SQL"):
            board.count()
    assert board.count() == 10


def test_emptied_redis_is_not_believed_while_it_is_repaired(
    valkey: Redis, file_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = arena(windows=[AllTime()])
    open_board(rules, valkey, file_database).submit_many([Submission(f"user{n}", n) for n in range(3000)], ranks=False)
    valkey.flushall()
    monkeypatch.setattr("flask_leaderboard.engine.folding.LONGEST_CATCH_UP_SECONDS", 0.0)
    monkeypatch.setattr("flask_leaderboard.engine.shelf.CATCH_UP_SECONDS", 30.0)
    anew = open_board(rules, valkey, file_database)
    pages = [anew.top(2, offset=2998) for _ in range(6)]
    assert {tuple(entry.user_id for entry in page.entries) for page in pages} == {("user1", "user0")}
    assert {(page.total, page.number) for page in pages} == {(3000, 3000)}
    assert (pages[0].degraded, pages[-1].degraded) == (True, False)


def test_nobody_queues_while_another_repairs(valkey: Redis, file_database: Database) -> None:
    board = open_board(arena(), valkey, file_database)
    board.submit("mary", 5)
    standing: Any = board.store.guard
    standing._look_at, standing._trusts = 0.0, False
    busy, done = threading.Event(), threading.Event()

    def repair() -> None:
        with standing._looking:
            busy.set()
            done.wait(30)

    repairing = threading.Thread(target=repair)
    repairing.start()
    busy.wait(30)
    try:
        assert board.top().degraded  # waits a moment: mostly a look is over by then
        assert all(board.top().degraded for _ in range(5))
    finally:
        done.set()
        repairing.join(30)
    assert not board.top().degraded


def test_redis_is_trusted_while_another_thread_looks(
    valkey: Redis, file_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that is slow to tell its head does not send the readers to itself."""
    monkeypatch.setattr("flask_leaderboard.engine.standing.LOOK_SECONDS", 0.0)
    board = open_board(arena(), valkey, file_database)
    board.submit("mary", 5)
    inside: Any = board
    busy, done, head = threading.Event(), threading.Event(), inside._ledger.log.head

    def slow_head() -> int:
        busy.set()
        done.wait(30)
        return int(head())

    monkeypatch.setattr(inside._ledger.log, "head", slow_head)
    looking = threading.Thread(target=board.top)
    looking.start()
    busy.wait(30)
    try:
        assert not any(board.top().degraded for _ in range(5))
    finally:
        done.set()
        looking.join(30)


def test_after_a_long_turn_the_others_are_left_to_it(
    valkey: Redis, file_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = open_board(arena(), valkey, file_database)
    board.submit("mary", 5)
    standing: Any = board.store.guard
    turns: list[int] = []

    def take_long(number: int) -> None:
        turns.append(number)
        raise StoreUnavailableError("not done yet")

    monkeypatch.setattr("flask_leaderboard.engine.standing.LONG_SECONDS", -1.0)
    monkeypatch.setattr("flask_leaderboard.engine.standing.REST_SECONDS", 600.0)
    monkeypatch.setattr(standing._folder, "reach", take_long)
    valkey.flushall()
    assert all(board.top().degraded for _ in range(5))
    assert len(turns) == 1
    monkeypatch.undo()
    standing.look(rests=False)
    assert not board.top().degraded


def test_nothing_older_than_what_was_seen_is_answered(valkey: Redis, file_database: Database, tmp_path: Path) -> None:
    board = open_board(arena(), valkey, file_database)
    board.submit("mary", 5)
    guard: Any = board.store.guard
    guard.expect(7)
    valkey.flushall()
    with pytest.raises(StoreUnavailableError, match="not all that Redis had"):
        board.top()


def test_reads_and_folds_at_the_same_time_see_whole_states(database: Database, tmp_path: Path) -> None:
    """Every event gives one point: a page must have as many points as its number says."""
    clear(database)
    rules = arena(windows=[AllTime()])
    away = Redis(unix_socket_path=f"{tmp_path}/none.sock", retry=Retry(NoBackoff(), 0))
    boards = [open_board(rules, away, database) for _ in range(3)]
    stop, failures = threading.Event(), list[Any]()
    seen: list[int] = []

    def write() -> None:
        log = EventLog(rules, database)
        while not stop.is_set():
            log.append([Draft("submit", f"user{n}", 1, NOW, NOW, "increment") for n in range(6)])
            boards[0].submit("user6", 1)

    def read(board: Leaderboard) -> None:
        last = 0
        while not stop.is_set():
            try:
                page = board.top(100)
            except (StoreUnavailableError, LogUnavailableError) as error:
                failures.extend([error] if "not all that Redis had" in str(error) else [])
                continue
            if sum(entry.score for entry in page.entries) != page.number or page.number < last:
                failures.append(page)
            last = page.number
            seen.append(last)

    threads = [threading.Thread(target=write), *(threading.Thread(target=read, args=(board,)) for board in boards)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(seen) > 60 and max(seen) > 100, seconds=90)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert not failures


def test_a_value_that_does_not_last_is_made_anew() -> None:
    cache: MicroCache[str] = MicroCache(60_000)
    made = iter(["first", "second", "third"])

    def make() -> str:
        return next(made)

    assert cache.get("key", make, lambda value: value != "first") == "first"
    assert [cache.get("key", make) for _ in range(2)] == ["second", "second"]


class CountingLock:
    """A lock that tells how many have asked for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.asked = 0

    def __enter__(self) -> None:
        self.asked += 1
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_who_waits_for_a_value_that_does_not_last_shares_it() -> None:
    cache: MicroCache[str] = MicroCache(60_000)
    go_on = threading.Event()
    made: list[str] = []
    got: list[str] = []

    def make() -> str:
        go_on.wait(30)
        made.append("value")
        return "value"

    def get() -> None:
        got.append(cache.get("key", make, lambda value: False))

    slot: Any = cache._new_slot("key", 0.0)
    slot.lock = CountingLock()
    threads = [threading.Thread(target=get) for _ in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: slot.lock.asked == 4)
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert (got, made) == (["value"] * 4, ["value"])
