"""Reading the totals as they are at one number while others write, and what the totals find refused."""

from __future__ import annotations

from redis import Redis
from sqlalchemy import func, select

from flask_leaderboard import Leaderboard, Submission
from flask_leaderboard.errors import ScoreRangeError
from flask_leaderboard.log.database import Database
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.events import Draft
from flask_leaderboard.log.tables import totals
from flask_leaderboard.log.totals import Totals
from tests.conftest import SetClock
from tests.test_rebuild import arena


def submit(user: str, points: int, at: int) -> Draft:
    return Draft("submit", user, points, at, at, "increment")


def test_a_snapshot_stays_at_its_number_and_keeps_nobody_waiting(database: Database, clock: SetClock) -> None:
    board = arena()
    log = EventLog(board, database)
    folded = Totals(board, database, log)
    log.append([submit("mary", 1, clock.now)])
    folded.fold()
    with folded.snapshot() as (connection, number):
        log.append([submit("bob", 1, clock.now)])
        assert folded.fold() == 1
        assert (number, connection.scalar(select(func.count()).select_from(totals))) == (1, 3)
    with folded.snapshot() as (connection, number):
        assert (number, connection.scalar(select(func.count()).select_from(totals))) == (2, 6)
    with database.begin() as connection:  # a connection that comes back to the pool is as it was
        connection.execute(totals.delete())


def test_totals_note_what_is_refused(database: Database, clock: SetClock) -> None:
    board = arena(score_range=(0, 10))
    log = EventLog(board, database)
    log.append([submit("mary", points, clock.now) for points in (8, 8, 1)])
    assert Totals(board, database, log).catch_up(3, 30)
    assert [event.refused for event in log.read(0, 10)] == [None, "score_range", None]


def test_who_was_pending_is_told_of_the_refusal_after_a_rebuild(valkey: Redis, database: Database, clock: SetClock) -> None:
    board = arena(score_range=(0, 10))
    played = Leaderboard(board, valkey, clock=clock, log=EventLog(board, database))
    played.submit("mary", 8)
    EventLog(board, database).append([Draft("submit", "mary", 8, clock.now, clock.now, "increment", submission_id="m1")])
    played.rebuild()
    (outcome,) = played.submit_many([Submission("mary", 8, "m1")])
    assert isinstance(outcome, ScoreRangeError)
