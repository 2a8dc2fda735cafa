"""Periods that are over: read from the archive by the same calls, when Redis has let go of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy import delete, update

from flask_leaderboard import Leaderboard, Submission
from flask_leaderboard.errors import CursorError, LogUnavailableError, UnknownWindowError
from flask_leaderboard.log.database import Database
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.tables import periods, totals, users
from flask_leaderboard.rules.cursors import write_cursor
from flask_leaderboard.rules.results import Position
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.test_sql_reads import archive, arena, open_board
from tests.web import make_app

DAY = 86_400_000_000
TODAY = "2050-07-02"
WHERE: dict[str, Any] = {"window": "daily", "period": TODAY}


@pytest.fixture
def played(valkey: Redis, database: Database, clock: SetClock) -> Leaderboard:
    """A board on which a day was played that is over and archived; Redis has let go of it."""
    board = open_board(arena(dense=True), valkey, database, clock)
    scores = [(f"user{n}", n % 4) for n in range(12)]
    board.submit_many([Submission(user, points, segments={"country": "NL"}) for user, points in scores])
    board.seen = everything(board)  # type: ignore[attr-defined]
    archive_all(board, database)
    clock.now += 3 * DAY
    forget_days(valkey)
    return board


def archive_all(board: Leaderboard, database: Database) -> None:
    inside: Any = board
    assert inside._ledger.totals.catch_up(inside._ledger.log.head(), 30)
    archive(database)


def forget_days(client: Redis) -> None:
    for key in client.scan_iter("*:daily:*"):
        client.delete(key)


def everything(board: Leaderboard) -> list[Any]:
    """Read a day in every way."""
    told: list[Any] = []
    for kind in ("sparse", "unique", "modified", "dense"):
        for segment in (None, "country=NL"):
            how = {**WHERE, "ranking": kind, "segment": segment}
            page = board.top(5, **how)
            told += [page.entries, page.total]
            while page.cursor:
                page = board.top(5, cursor=page.cursor, **how)
                told.append(page.entries)
            told += [board.rank("user3", **how), board.around("user5", above=2, below=2, **how).entries]
            told += [board.range(1, 2, **how).entries, board.among(["user1", "user9", "nobody"], **how)]
    told += [board.percentile("user2", **WHERE), board.score_at_percentile(70, **WHERE)]
    return [*told, board.count(**WHERE), board.count(1, 2, **WHERE), board.rank("nobody", **WHERE)]


def test_archived_days_are_read_as_they_were(played: Leaderboard) -> None:
    assert everything(played) == played.seen  # type: ignore[attr-defined]
    assert not played.top(**WHERE).degraded


def test_previous_is_read_from_the_archive_where_redis_has_it_not(played: Leaderboard, clock: SetClock, valkey: Redis) -> None:
    """A period that was archived is not brought back to Redis by a rebuild, though its time there is not over."""
    clock.now -= 2 * DAY
    page = played.top(3, window="daily", period="previous")
    assert (page.period, page.total, page.degraded) == (TODAY, 12, False)
    assert played.rank("user3", window="daily", period="previous") is not None
    assert played.percentile("user3", **WHERE) == 100.0
    assert played.count(**WHERE) == 12
    assert played.top(window="daily").total == 0


def test_archived_days_are_read_without_redis(played: Leaderboard, database: Database, tmp_path: Path, clock: SetClock) -> None:
    away = Redis(unix_socket_path=f"{tmp_path}/none.sock", retry=Retry(NoBackoff(), 0))
    for days in (0, 2):
        clock.now -= days * DAY
        board = open_board(arena(dense=True), away, database, clock)
        assert everything(board) == played.seen  # type: ignore[attr-defined]
        assert not board.top(**WHERE).degraded


def test_erased_users_keep_their_place_without_a_name(played: Leaderboard, database: Database) -> None:
    whole = played.top(100, **WHERE).entries
    gone = {whole[place].user_id for place in (1, 4, 5, 11)}
    with database.begin() as connection:
        connection.execute(update(users).where(users.c.user_id.in_(gone)).values(user_id=None, name="still here"))
    wanted = [(entry.rank, "" if entry.user_id in gone else entry.user_id, entry.score) for entry in whole]
    for size in (1, 2, 5):
        page = played.top(size, **WHERE)
        seen = list(page.entries)
        while page.cursor:
            page = played.top(size, cursor=page.cursor, **WHERE)
            seen += page.entries
        assert [(entry.rank, entry.user_id, entry.score) for entry in seen] == wanted
        assert {entry.user_name for entry in seen} == {None}
    assert all(played.rank(user, **WHERE) is None for user in gone)


def test_cursor_at_an_erased_user_holds_when_redis_has_the_day(
    played: Leaderboard, database: Database, valkey: Redis, clock: SetClock
) -> None:
    first = played.top(1, **WHERE).entries[0].user_id
    with database.begin() as connection:
        connection.execute(update(users).where(users.c.user_id == first).values(user_id=None))
    page = played.top(1, **WHERE)
    assert page.cursor is not None
    clock.now -= 2 * DAY
    assert len(played.top(100, cursor=page.cursor, **WHERE).entries) == 11


def test_cursor_of_someone_erased_since_goes_on(played: Leaderboard, database: Database) -> None:
    whole = played.top(100, ranking="unique", **WHERE).entries
    page = played.top(5, ranking="unique", **WHERE)
    with database.begin() as connection:
        connection.execute(update(users).where(users.c.user_id == whole[4].user_id).values(user_id=None))
    rest = played.top(100, cursor=page.cursor, ranking="unique", **WHERE).entries
    assert [entry.user_id for entry in rest][-7:] == [entry.user_id for entry in whole[5:]]
    assert len(rest) in (7, 8)  # who was erased may be met again, as nobody


@pytest.mark.parametrize("place", [-1, 2**60, True, 1.5])
def test_strange_cursors_are_refused(played: Leaderboard, place: Any) -> None:
    cursor = write_cursor(f"arena daily {TODAY} - sparse", Position(1, None, place))
    with pytest.raises(CursorError):
        played.top(cursor=cursor, **WHERE)


def test_rules_that_changed_since_do_not_turn_an_archive_over(
    played: Leaderboard, database: Database, valkey: Redis, clock: SetClock
) -> None:
    other = arena(order="asc", tie_break="last", dense=True)
    inside: Any = Leaderboard(other, valkey, clock=clock, log=EventLog(other, database))
    before, after = played.top(100, **WHERE).entries, inside.top(100, **WHERE).entries
    assert [(entry.rank, entry.user_id, entry.score) for entry in before] == [
        (entry.rank, entry.user_id, entry.score) for entry in after
    ]


def test_days_that_nobody_archived_are_read_from_totals(valkey: Redis, database: Database, clock: SetClock) -> None:
    board = open_board(arena(dense=True), valkey, database, clock)
    board.submit_many([Submission(f"user{n}", n % 4, segments={"country": "NL"}) for n in range(12)])
    before = everything(board)
    clock.now += 3 * DAY
    forget_days(valkey)
    assert everything(board) == before
    assert not board.top(**WHERE).degraded
    assert board.top(window="daily", period="2050-06-01").total == 0
    with pytest.raises(UnknownWindowError):
        board.top(window="daily", period="nonsense")


def test_users_erased_before_the_archive_keep_their_place(valkey: Redis, database: Database, clock: SetClock) -> None:
    board = open_board(arena(tie_break="member"), valkey, database, clock)
    board.submit_many([Submission(f"user{n}", n % 2) for n in range(8)])
    assert board.count() == 8
    clock.now += 3 * DAY
    assert board.top(**WHERE).total == 8
    gone = ["user3", "user5", "user0"]
    with database.begin() as connection:
        connection.execute(update(users).where(users.c.user_id.in_(gone)).values(user_id=None, name="still here"))
    wanted = [(1, ""), (2, ""), (3, "user1"), (4, "user7"), (5, ""), (6, "user2"), (7, "user4"), (8, "user6")]
    how: dict[str, Any] = {**WHERE, "ranking": "unique"}
    for size in (1, 3):
        page = board.top(size, **how)
        seen = list(page.entries)
        while page.cursor:
            page = board.top(size, cursor=page.cursor, **how)
            seen += page.entries
        assert [(entry.rank, entry.user_id) for entry in seen] == wanted
        assert {entry.user_name for entry in seen} == {None}
    entry = board.rank("user7", **how)
    assert entry is not None
    assert entry.rank == 4


def test_half_an_archive_is_not_read(played: Leaderboard, database: Database) -> None:
    """Standings count only when the period is marked as archived: before, the totals are the truth."""
    with database.begin() as connection:
        connection.execute(update(periods).values(archived=None))
        assert connection.execute(delete(totals)).rowcount >= 0
    assert played.top(**WHERE).total == 0


def test_archived_periods_are_listed(played: Leaderboard, monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    assert played.archived_periods("daily") == [TODAY]
    assert played.periods("daily") == ["2050-07-05", "2050-07-04", TODAY]
    assert played.archived_periods("all") == []

    def down(*_: Any) -> Any:
        raise LogUnavailableError("away")

    monkeypatch.setattr(database, "snapshot", down)
    assert played.archived_periods("daily") == [TODAY]
    inside: Any = played
    inside._route._archived.clear()
    with pytest.raises(LogUnavailableError):
        played.periods("daily")


def test_rest_reads_the_archive(database: Database, clock: SetClock, tmp_path: Path) -> None:
    place = database.engine.url.render_as_string(hide_password=False)
    app = make_app([arena()], clock=clock, instance=tmp_path, database_url=place)
    hub = service_of(app).hub
    with app.app_context():
        hub["arena"].submit_many([Submission(f"user{n}", n) for n in range(5)])
        archive_all(hub["arena"], database)
    get: Callable[..., Any] = app.test_client().get
    clock.now += DAY
    assert get("/v1/scores/user3?window=daily&period=previous").json["user_info"]["rank"] == 2
    clock.now += 2 * DAY
    page = get(f"/v1/scores?window=daily&period={TODAY}&limit=2")
    assert [entry["user_id"] for entry in page.json["data"]] == ["user4", "user3"]
    assert "degraded" not in page.json
    assert "max-age" in page.headers["Cache-Control"]
    cursor = page.json["cursor"]
    rest = get(f"/v1/scores?window=daily&limit=9&cursor={cursor}").json
    assert [entry["rank"] for entry in rest["data"]] == [3, 4, 5]
    around = get(f"/v1/scores/user2/neighbors?window=daily&period={TODAY}&above=1&below=1").json
    assert [entry["user_id"] for entry in around["data"]] == ["user3", "user2", "user1"]
    (daily,) = [window for window in get("/v1/boards/arena").json["windows"] if window["name"] == "daily"]
    assert (daily["archived"], daily["periods"][-1]) == ([TODAY], TODAY)
    hub.close()
