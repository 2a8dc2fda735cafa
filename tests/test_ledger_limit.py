"""Submissions a minute on boards with a log: all processes count together, and what is refused is not logged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_leaderboard import AllTime, Board, Daily, Leaderboard, LeaderboardError, Receipt, Submission
from flask_leaderboard.errors import LogUnavailableError, PointsError, RateLimitError
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.rules.instants import DAY, MICROSECONDS, to_datetime
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.servers import FLAVOURS
from tests.web import SUBMIT, make_app

Keep = Callable[..., Leaderboard]


def arena(per_minute: int = 2) -> Board:
    return Board("arena", mode="ledger", per_minute=per_minute, windows=[AllTime(), Daily()])


@pytest.fixture
def keep(tmp_path: Path, clock: SetClock) -> Iterator[Keep]:
    database = Database(database_url(None, tmp_path), own=True)

    def make(client: Redis, per_minute: int = 2) -> Leaderboard:
        rules = arena(per_minute)
        return Leaderboard(rules, client, clock=clock, log=EventLog(rules, database))

    yield make
    database.close()


def head(board: Leaderboard) -> int:
    assert board._ledger is not None
    return board._ledger.log.head()


def test_as_many_submissions_a_minute_as_the_board_allows(client: Redis, keep: Keep, clock: SetClock) -> None:
    board, other = keep(client), keep(client)
    clock.now += 45 * MICROSECONDS
    assert board.submit("ann", 1).number == 1
    assert other.submit("ann", 1).number == 2
    for refusing in (board, other):
        with pytest.raises(RateLimitError, match="2 submissions") as caught:
            refusing.submit("ann", 1, submission_id="m2")
        assert caught.value.retry_after == 15
    assert head(board) == 2
    assert board.submit("bob", 1)["all"].new_score == 1
    clock.now += 15 * MICROSECONDS
    assert board.submit("ann", 1, submission_id="m2")["all"].new_score == 3


def test_batches_are_taken_as_far_as_the_limit_goes(valkey: Redis, keep: Keep) -> None:
    board = keep(valkey)
    outcomes = board.submit_many([Submission(user, 1) for user in ("ann", "bob", "ann", "ann", "bob", "bob", "cat")])
    assert [isinstance(outcome, RateLimitError) for outcome in outcomes] == [False, False, False, True, False, True, False]
    assert [(entry.user_id, entry.score) for entry in board.top().entries] == [("ann", 2), ("bob", 2), ("cat", 1)]
    assert head(board) == 5


def test_a_batch_longer_than_a_call_is_counted_whole(valkey: Redis, keep: Keep) -> None:
    board = keep(valkey, 1200)
    outcomes = board.submit_many([Submission("ann", 1)] * 1500, ranks=False)
    assert sum(isinstance(outcome, Receipt) for outcome in outcomes) == 1200
    assert head(board) == 1200


def test_counts_expire_by_themselves(valkey: Redis, keep: Keep) -> None:
    keep(valkey).submit_many([Submission(f"user{number}", 1) for number in range(50)], ranks=False)
    assert {0 < valkey.pttl(key) <= 120_000 for key in valkey.scan_iter("*:@rate:*")} == {True}


def test_what_is_not_taken_for_another_reason_does_not_count(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    board = keep(valkey)
    wrong = [Submission("ann", 0.5), Submission("ann", 1, at=to_datetime(clock.now - 3 * DAY), submission_id="late")]
    assert [type(outcome) for outcome in board.submit_many(wrong)] != [Receipt, Receipt]
    with pytest.raises(PointsError):
        board.submit("ann", 0.5)
    assert len([board.submit("ann", 1) for _ in range(2)]) == 2


def test_an_id_sent_again_counts_as_an_attempt(valkey: Redis, keep: Keep) -> None:
    board = keep(valkey)
    board.submit("ann", 1, submission_id="m1")
    assert board.submit("ann", 1, submission_id="m1").duplicate
    with pytest.raises(RateLimitError):
        board.submit("ann", 1, submission_id="m1")
    assert head(board) == 1


def test_replays_are_not_limited(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    board = keep(valkey)
    for _ in range(5):
        board.submit_many([Submission("ann", 1)] * 2)
        clock.now += 60 * MICROSECONDS
    valkey.flushall()
    assert [entry.score for entry in keep(valkey).top().entries] == [10]


def test_threads_of_several_processes_share_the_limit(valkey: Redis, keep: Keep) -> None:
    boards = [keep(valkey, 20) for _ in range(3)]

    def play(number: int) -> int:
        outcomes = [_try(boards[number % 3], f"user{turn % 2}") for turn in range(20)]
        return sum(isinstance(outcome, Receipt) for outcome in outcomes)

    with ThreadPoolExecutor(6) as pool:
        taken = sum(pool.map(play, range(6)))
    assert taken == head(boards[0]) == 40
    assert {entry.score for entry in boards[0].top().entries} == {20}


def _try(board: Leaderboard, user: str) -> Receipt | LeaderboardError:
    try:
        return board.submit(user, 1)
    except RateLimitError as error:
        return error


def test_without_redis_nothing_is_limited_and_all_is_logged(keep: Keep, caplog: pytest.LogCaptureFixture) -> None:
    server = FLAVOURS["valkey9"].start()
    try:
        board = keep(Redis(unix_socket_path=str(server.socket), retry=Retry(NoBackoff(), 0)))
        board.submit_many([Submission("ann", 1)] * 2)
        server.process.kill()
        server.process.wait(10)
        assert all(board.submit("ann", 1).pending for _ in range(5))
        assert "not limited while Redis is away" in caplog.text
        assert head(board) == 7
    finally:
        server.stop()


def test_a_log_that_is_away_is_told_and_not_the_limit(valkey: Redis, keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    board = keep(valkey)

    def down(*_: Any) -> Any:
        raise LogUnavailableError("the log can't be reached")

    with monkeypatch.context() as patch:
        patch.setattr(EventLog, "append", down)
        with pytest.raises(LogUnavailableError):
            board.submit("ann", 1)
    assert board.submit("ann", 1).number == 1


@pytest.fixture
def app(tmp_path: Path, clock: SetClock) -> Iterator[Flask]:
    app = make_app([arena()], clock=clock, instance=tmp_path)
    yield app
    service_of(app).hub.close()


def test_the_answer_is_429_with_the_time_to_wait(app: Flask, clock: SetClock) -> None:
    clock.now += 45 * MICROSECONDS
    scores = {"submissions": [{"user_id": "mary", "points": 1}] * 3}
    answer = app.test_client().post("/v1/scores/batch", json=scores, headers=SUBMIT)
    assert [result["status"] for result in answer.json["results"]] == [200, 200, 429]
    refused = app.test_client().post("/v1/scores", json=scores["submissions"][0], headers=SUBMIT)
    assert (refused.status_code, refused.json["code"], refused.headers["Retry-After"]) == (429, "rate_limited", "15")
