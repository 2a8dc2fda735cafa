"""Big random boards against SQLite's ROW_NUMBER, RANK and DENSE_RANK."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

import pytest
from redis import Redis

from flask_leaderboard import AllTime, Board, Daily, Leaderboard, Submission
from flask_leaderboard.rules.instants import to_datetime
from tests.conftest import SetClock

MEMBERS = 10_000
BOARDS: list[dict[str, Any]] = [
    {"order": "desc", "tie_break": "first", "score_range": (-500, 500), "windows": [Daily()]},
    {"order": "asc", "tie_break": "last", "score_range": (-500, 500), "windows": [Daily()]},
    {"order": "desc", "tie_break": "last", "windows": [AllTime()]},
    {"order": "asc", "tie_break": "first", "score_type": "float", "windows": [AllTime()]},
    {"order": "desc", "tie_break": "member", "windows": [AllTime()]},
]
QUERY = """
    SELECT user, score, ROW_NUMBER() OVER place, RANK() OVER level, DENSE_RANK() OVER level, COUNT(*) OVER through
    FROM entry WINDOW
        place AS (ORDER BY standing, tie, user),
        level AS (ORDER BY standing),
        through AS (ORDER BY standing RANGE UNBOUNDED PRECEDING)
    ORDER BY standing, tie, user
"""


def sql_ranks(rules: dict[str, Any], entries: list[tuple[str, float, int]]) -> list[tuple[str, float, int, int, int, int]]:
    """Rank by SQL; ids are stored as blobs, which SQLite compares by their bytes."""
    sign = -1 if rules["order"] == "desc" else 1
    by_time = {"first": 1, "last": -1, "member": 0}[rules["tie_break"]]
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE entry (user BLOB, score NUMERIC, standing NUMERIC, tie INTEGER)")
        rows = [(user.encode(), score, sign * score, by_time * (at // 1000)) for user, score, at in entries]
        connection.executemany("INSERT INTO entry VALUES (?, ?, ?, ?)", rows)
        found = connection.execute(QUERY).fetchall()
    connection.close()
    return [(user.decode(), *rest) for user, *rest in found]


@pytest.mark.parametrize("rules", BOARDS, ids=lambda rules: f"{rules['order']}-{rules['tie_break']}")
def test_ranks_equal_sql(rules: dict[str, Any], valkey: Redis, clock: SetClock) -> None:
    rng = random.Random(str(rules))
    entries = []
    for i in range(MEMBERS):
        score = rng.randrange(-300, 300) if rng.random() < 0.9 else rng.randrange(-3, 3)
        entries.append(
            (f"user {rng.random()}é{i}", score / 8 if "score_type" in rules else score, clock.now - rng.randrange(0, 3000) * 500)
        )
    lb = Leaderboard(Board("big", dense=True, **rules), valkey, clock=clock)
    outcomes = lb.submit_many([Submission(user, score, at=to_datetime(at)) for user, score, at in entries], ranks=False)
    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    expected = sql_ranks(rules, entries)
    for column, kind in ((2, "unique"), (3, "sparse"), (4, "dense"), (5, "modified")):
        for offset in (0, 1, 4_321, MEMBERS - 1000):
            page = lb.top(1000, offset=offset, ranking=kind)  # type: ignore[arg-type]
            seen = [(entry.user_id, entry.score, entry.rank) for entry in page.entries]
            assert seen == [(row[0], row[1], row[column]) for row in expected[offset : offset + 1000]]
        for row in rng.sample(expected, 200):
            entry = lb.rank(row[0], ranking=kind)  # type: ignore[arg-type]
            assert entry is not None
            assert (entry.rank, entry.score) == (row[column], row[1])


def test_pages_by_cursor_give_everyone_once(valkey: Redis, clock: SetClock) -> None:
    lb = Leaderboard(Board("big", windows=[AllTime()], tie_break="member"), valkey, clock=clock)
    lb.submit_many([Submission(f"u{i}", i % 7) for i in range(3000)], ranks=False)
    cursor, seen = None, []
    while True:
        page = lb.top(170, cursor=cursor)
        seen += [entry.user_id for entry in page.entries]
        if (cursor := page.cursor) is None:
            break
    assert len(seen) == len(set(seen)) == 3000


def test_submit_many_is_cut_into_short_calls(valkey: Redis, clock: SetClock) -> None:
    lb = Leaderboard(Board("big", windows=[AllTime(), Daily()], dense=True), valkey, clock=clock)
    valkey.config_resetstat()
    lb.submit_many([Submission(f"u{i}", i % 50, submission_id=str(i)) for i in range(2000)])
    stats = valkey.info("commandstats")
    calls = stats["cmdstat_evalsha"]["calls"]
    assert 10 <= calls <= 60
    assert lb.count() == 2000
