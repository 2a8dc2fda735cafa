"""Closed periods: final from the moment they close, archived with every rank, whatever is killed in between."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import select

from flask_leaderboard import AllTime, Board, Every, Leaderboard, Segment, Submission
from flask_leaderboard.log import archive as archive_module
from flask_leaderboard.log.archive import Archive
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.events import Draft
from flask_leaderboard.log.tables import periods, rankings, standings, totals, users
from flask_leaderboard.log.totals import Totals
from flask_leaderboard.rules.instants import to_datetime
from tests.conftest import SetClock
from tests.model import Model

NOW = 2_540_376_000_000_000
HOUR = 3_600_000_000
LATER = NOW + HOUR + 70_000_000


def arena(**rules: Any) -> Board:
    windows = [AllTime(), Every(timedelta(hours=1), name="hourly")]
    return Board("arena", **{"mode": "ledger", "windows": windows, "segments": [Segment("country")], **rules})


class Kept:
    """A board's log, totals and archive in a database."""

    def __init__(self, board: Board, database: Database) -> None:
        self.database = database
        self.log = EventLog(board, database)
        self.totals = Totals(board, database, self.log)
        self.archive = Archive(board, database, self.log, self.totals)

    def finish(self, now: int = LATER) -> None:
        self.totals.catch_up(self.log.head(), 10)
        self.archive.close_due(now)
        while self.archive.step(now):
            pass

    def standings(self, segment: str = "") -> list[Any]:
        columns = [standings.c[name] for name in ("position", "standing", "at", "first", "last", "level")]
        query = (
            select(users.c.user_id, *columns)
            .select_from(
                standings.join(users, users.c.id == standings.c.user).join(rankings, rankings.c.id == standings.c.ranking)
            )
            .where(rankings.c.segment == segment)
            .order_by(standings.c.position)
        )
        with self.database.begin() as connection:
            return [tuple(row) for row in connection.execute(query)]


@pytest.fixture
def kept(database: Database) -> Kept:
    return Kept(arena(), database)


def played(seed: int, count: int = 60) -> tuple[list[Draft], Model]:
    chance = random.Random(seed)
    model = Model("increment", (), "desc", "first", 1000, -(2**53), 2**53, ("all", "hourly"), 1000)
    drafts = []
    for number in range(count):
        user, points, at = f"user{chance.randrange(20)}", chance.randrange(1, 4), NOW + number * chance.randrange(2) * 1000
        segment = chance.choice([None, "country=NL"])
        drafts.append(Draft("submit", user, points, at, at, "increment", (segment,) if segment else ()))
        model.submit(user, points, at, at, None, segment, None)
    return drafts, model


@pytest.mark.parametrize("batch", [1, 7, 5000])
def test_standings_have_every_rank(kept: Kept, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "ROWS_A_BATCH", batch)
    drafts, model = played(batch)
    kept.log.append(drafts)
    kept.finish()
    for segment in (None, "country=NL"):
        target = ("hourly", "20500702T120000Z", segment)
        ranks = [model.ranks(target, kind) for kind in ("unique", "sparse", "modified", "dense")]
        rows = zip(model.table(target), zip(*ranks, strict=True), strict=True)
        wanted = [(user, place, -score, first, last, level) for (user, score, _), (place, first, last, level) in rows]
        found = [(user, place, s, first, last, level) for user, place, s, _, first, last, level in kept.standings(segment or "")]
        assert found == wanted
    with kept.database.begin() as connection:
        sizes = connection.scalars(select(rankings.c.size).join(periods).where(periods.c.window == "hourly")).all()
        assert connection.scalar(select(periods.c.archived).where(periods.c.window == "hourly")) == LATER
    assert sorted(sizes) == sorted(len(kept.standings(segment)) for segment in ("", "country=NL"))


def test_nothing_is_closed_before_its_grace_is_over(kept: Kept) -> None:
    kept.log.append(played(1)[0])
    kept.totals.catch_up(60, 10)
    assert kept.archive.close_due(NOW + HOUR + 60_000_000) == 0
    assert not kept.archive.step(NOW)
    assert kept.archive.close_due(NOW + HOUR + 65_000_000) == 1
    assert kept.archive.close_due(LATER) == 0


def test_totals_of_the_archived_go_and_others_stay(kept: Kept) -> None:
    kept.log.append(played(2)[0])
    kept.totals.catch_up(60, 10)
    kept.finish()
    with kept.database.begin() as connection:
        left = connection.execute(
            select(periods.c.window).distinct().join(rankings).join(totals, totals.c.ranking == rankings.c.id)
        )
        assert left.scalars().all() == ["all"]
    assert not kept.archive.step(LATER)


@pytest.mark.parametrize("step", ["_copy", "_progress", "_clear"])
def test_dying_in_the_middle_is_gone_on_from(kept: Kept, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "ROWS_A_BATCH", 4)
    drafts, _ = played(3)
    kept.log.append(drafts)
    kept.totals.catch_up(60, 10)
    kept.archive.close_due(LATER)
    whole, seen = getattr(Archive, step), [0]

    def dying(*args: Any) -> Any:
        seen[0] += 1
        if seen[0] % 2:
            raise KeyboardInterrupt
        return whole(*args)

    with monkeypatch.context() as patch:
        patch.setattr(Archive, step, staticmethod(dying) if step == "_progress" else dying)
        for _ in range(200):
            try:
                if not kept.archive.step(LATER):
                    break
            except KeyboardInterrupt:
                continue
    kept.finish()
    other = [row[1] for row in kept.standings()]
    assert other == list(range(1, len(other) + 1))
    assert len(other) == len({draft.user_id for draft in drafts})


@pytest.fixture
def file_database(tmp_path: Path) -> Iterator[Database]:
    database = Database(database_url(None, tmp_path), own=True)
    yield database
    database.close()


@pytest.fixture
def process(valkey: Redis, file_database: Database, clock: SetClock) -> Callable[[], Leaderboard]:
    return lambda: Leaderboard(arena(), valkey, clock=clock, log=EventLog(arena(), file_database))


def test_who_was_slow_finds_the_period_closed(
    process: Callable[[], Leaderboard], file_database: Database, clock: SetClock
) -> None:
    """A process whose clock is behind planned its submission for a period that another one has closed since."""
    slow = process()
    slow.submit("mary", 5)
    kept = Kept(arena(), file_database)
    kept.totals.catch_up(1, 10)
    kept.finish()
    receipt = slow.submit("mary", 1, at=None)
    (closed_for_good,) = (change for change in receipt.changes if change.window == "hourly")
    assert closed_for_good.period == "20500702T130000Z"
    assert receipt["all"].new_score == 6
    refused, taken = slow.submit_many([Submission("bob", 1, at=to_datetime(clock.now)), Submission("bob", 2)])
    assert isinstance(refused, Exception)
    assert not isinstance(taken, Exception)
    kept.finish(LATER + 1)
    assert [row[:3] for row in kept.standings()] == [("mary", 1, -5.0)]
    assert slow.remove("mary").changes[0].window == "all"
    assert [row[0] for row in kept.standings()] == ["mary"]
