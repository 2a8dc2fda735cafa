"""Rankings read from Redis, from totals and from an archive: the same answers to every question, on every database."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from redis import Redis
from sqlalchemy import Connection, delete, insert, select, update

from flask_leaderboard import AllTime, Board, Daily, Every, Leaderboard, Segment
from flask_leaderboard.engine.shelf import Shelf
from flask_leaderboard.engine.sources import Live, Source
from flask_leaderboard.log.database import Database
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.events import Draft
from flask_leaderboard.log.tables import metadata, periods, rankings, standings, totals, users
from flask_leaderboard.rules.results import Position
from flask_leaderboard.store.rankings import Ranking
from tests.conftest import SetClock

NOW = SetClock().now
MINUTE = 60_000_000
USERS = ("a", "b", "é", "e\u0301", "Z", "😀", "a b", "ü" * 127)
KINDS = ("sparse", "unique", "modified", "dense")
Answers = dict[str, Any]


def arena(**rules: Any) -> Board:
    windows = [AllTime(), Every(timedelta(hours=1), name="hourly"), Daily()]
    return Board("arena", **{"mode": "ledger", "windows": windows, "segments": [Segment("country", limit=3)], **rules})


def open_board(rules: Board, client: Redis, database: Database, clock: Any = None, **more: Any) -> Leaderboard:
    return Leaderboard(rules, client, clock=clock or SetClock(), log=EventLog(rules, database), **more)


def clear(database: Database) -> None:
    with database.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(delete(table))


def archive(database: Database, windows: Iterable[str] = ("hourly", "daily")) -> None:
    """Work out standings in plain Python and put them in the place of totals, as if the periods were over."""
    with database.begin() as connection:
        found = select(rankings.c.id).join(periods).where(periods.c.window.in_(list(windows)), periods.c.archived.is_(None))
        for ranking in list(connection.scalars(found)):
            _archive(connection, ranking)
        connection.execute(update(periods).where(periods.c.window.in_(list(windows))).values(archived=NOW))


def _archive(connection: Connection, ranking: int) -> None:
    query = select(totals, users.c.user_id).join(users, users.c.id == totals.c.user).where(totals.c.ranking == ranking)
    rows = sorted(connection.execute(query), key=lambda row: (row.standing, row.tie, row.user_id.encode()))
    scores = [row.standing for row in rows]
    for position, row in enumerate(rows, start=1):
        numbers = {
            "position": position,
            "first": scores.index(row.standing) + 1,
            "last": len(scores) - scores[::-1].index(row.standing),
            "level": sorted(set(scores)).index(row.standing) + 1,
        }
        fields = {name: getattr(row, name) for name in ("ranking", "user", "standing", "tie", "at")}
        connection.execute(insert(standings), fields | numbers)
    connection.execute(delete(totals).where(totals.c.ranking == ranking))
    connection.execute(update(rankings).where(rankings.c.id == ranking).values(size=len(rows)))


def parts_of(board: Leaderboard) -> tuple[Live, Shelf, list[Ranking]]:
    inside: Any = board
    everywhere, hourly, daily = (board.board.window(name) for name in ("all", "hourly", "daily"))
    cuts = ((everywhere, None), (hourly, None), (hourly, "country=NL"), (daily, "country=NL"))
    spots = [board.store.rankings.get(window, window.period_at(NOW), segment) for window, segment in cuts]  # type: ignore[arg-type]
    return inside._live, inside._route._shelf, spots


def ask_everything(source: Source, spots: list[Ranking], positions: list[Position]) -> Answers:
    """Ask a source all there is to ask; positions are those of cursors that any source may have given."""
    told: Answers = {}
    bounds = [(None, None), (-2, 3), (None, 0), (1, None), (3, -2)]
    for place, spot in enumerate(spots):
        for kind in KINDS:
            for offset, limit in ((0, 3), (1, 100), (2, 2), (50, 5), (0, 0)):
                told[f"page {place} {kind} {offset} {limit}"] = source.page(spot, kind, offset, limit)[:3]
            for lowest, highest in bounds:
                told[f"range {place} {kind} {lowest} {highest}"] = source.range(spot, kind, lowest, highest, 1, 3)[:3]
            told[f"around {place} {kind}"] = [source.around(spot, kind, user, 2, 1)[:3] for user in (*USERS[:4], "nobody")]
            told[f"entries {place} {kind}"] = source.entries([spot], kind, [*USERS, "nobody"])
            for position in positions:
                told[f"after {place} {kind} {position}"] = source.after(spot, kind, position, 3, lowest=-4, highest=5)[:3]
        told[f"count {place}"] = [source.count(spot, *pair) for pair in bounds]
        told[f"percentile {place}"] = [source.percentile(spot, user) for user in (*USERS, "nobody")]
        told[f"score_at {place}"] = [source.score_at(spot, tenths) for tenths in (0, 1, 333, 500, 900, 999, 1000)]
    told["several"] = source.entries(spots, "sparse", USERS[:2])
    return told


SUBMIT = st.tuples(
    st.just("submit"),
    st.sampled_from(USERS),
    st.sampled_from((0, 1, 1, 2, -1, 3)),
    st.integers(0, 3),
    st.sampled_from((None, "NL")),
)
EVENT = st.one_of(SUBMIT, SUBMIT, SUBMIT, SUBMIT, st.tuples(st.just("remove"), st.sampled_from(USERS)))


@settings(max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    steps=st.lists(EVENT, min_size=1, max_size=25),
    rules=st.fixed_dictionaries(
        {
            "update": st.sampled_from(("increment", "best")),
            "order": st.sampled_from(("desc", "asc")),
            "tie_break": st.sampled_from(("first", "last", "member")),
            "tie_resolution": st.sampled_from((timedelta(milliseconds=1), timedelta(minutes=2))),
            "score_type": st.sampled_from(("integer", "float")),
            "score_range": st.sampled_from((None, (-100, 100))),
        }
    ),
)
def test_every_source_answers_the_same(database: Database, valkey: Redis, steps: list[Any], rules: dict[str, Any]) -> None:
    clear(database)
    valkey.flushall()
    clock = SetClock(NOW + 10 * MINUTE)
    board = open_board(arena(dense=True, **rules), valkey, database, clock)
    play(board, clock, steps)
    live, shelf, spots = parts_of(board)
    positions = [Position(entry.score, entry.at, entry.user_id) for entry in live.page(spots[0], "unique", 0, 3).entries]
    positions += [Position(1, None if board.board.tie_break == "member" else NOW, "b")]
    wanted = ask_everything(live, spots, positions)
    counted, degraded = shelf.read(spots, lambda source: ask_everything(source, spots, positions))
    assert (repr(counted), degraded) == (repr(wanted), True)
    archive(database)
    kept = [spot for spot in spots if wanted[f"count {spots.index(spot)}"][0].total and spot.window != "all"]
    if not kept:
        return
    answers, degraded = shelf.read(kept, lambda source: ask_everything(source, kept, positions))
    assert not degraded
    assert repr(answers) == repr(ask_everything(live, kept, positions))


def play(board: Leaderboard, clock: SetClock, steps: list[Any]) -> None:
    for step in steps:
        clock.now += MINUTE // 3
        if step[0] == "remove":
            board.remove(step[1])
        else:
            _, user, points, minutes, country = step
            log_submit(board, user, points, clock.now - minutes * MINUTE, clock.now, country)


def log_submit(board: Leaderboard, user: str, points: int, at: int, now: int, country: str | None) -> None:
    inside: Any = board
    segments = (f"country={country}",) if country else ()
    inside._ledger.log.append([Draft("submit", user, points, at, now, board.board.update, segments)])
    inside._ledger.folder.catch_up()
