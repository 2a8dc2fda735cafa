"""How databases find what reads from SQL ask for: by an index, never by going through a whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert

from flask_leaderboard.log.counted_ranks import CountedRanks, count_rows
from flask_leaderboard.log.database import Database
from flask_leaderboard.log.kept_ranks import KeptRanks
from flask_leaderboard.log.ranks import Ranks
from flask_leaderboard.log.tables import standings, totals, users
from flask_leaderboard.rules.results import RANKING_KINDS
from flask_leaderboard.rules.scales import Scale
from tests.test_sql_reads import arena

MEMBERS = 3000
USERS = 30_000
RANKINGS = 12
SCALE = Scale.of(arena())
TABLES = ("leaderboard_total", "leaderboard_standing", "leaderboard_user")


def fill(connection: Connection) -> None:
    connection.execute(insert(users), [{"id": n, "user_id": f"user{n:06}"} for n in range(1, USERS + 1)])
    for ranking in range(1, RANKINGS + 1):
        rows = [{"user": n, "ranking": ranking, "standing": -(n % 50), "tie": n % 7, "at": 0} for n in range(1, MEMBERS + 1)]
        connection.execute(insert(totals), rows)
        numbers = {"first": 1, "last": 1, "level": 1}
        connection.execute(insert(standings), [{**row, "position": row["user"], **numbers} for row in rows])


def settle(database: Database) -> None:
    """Let the database learn what its tables hold."""
    if database.engine.dialect.name == "postgresql":
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
        return
    command = "ANALYZE" if database.engine.dialect.name == "sqlite" else f"ANALYZE TABLE {', '.join(TABLES)}"
    with database.begin() as connection:
        connection.exec_driver_sql(command)


def ask(ranks: Ranks) -> None:
    for kind in RANKING_KINDS:
        ranks.between(0, 11, kind)
        ranks.between(MEMBERS // 2, MEMBERS // 2 + 101, kind)
        ranks.of_users([f"user{n:06}" for n in (5, 70, 900, 901)], kind)
    ranks.better(-20.0)
    ranks.through(-20.0)
    ranks.standing_at(MEMBERS // 3)
    ranks.index_after(-20.0, 3, "user000020")


@contextmanager
def noting_statements(connection: Connection) -> Iterator[list[tuple[str, Any]]]:
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", note)
    yield seen
    event.remove(connection, "before_cursor_execute", note)


def bad_steps(connection: Connection, statement: str, parameters: Any) -> list[str]:
    """List what a database would do to answer that goes through a whole table."""
    if connection.dialect.name == "postgresql":
        plan = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars().all()
        return [line for line in plan if "Seq Scan" in line and "leaderboard" in line]
    if connection.dialect.name == "sqlite":
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
        return [line for line in plan if line.startswith("SCAN leaderboard")]
    rows = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).mappings().all()
    return [str(dict(row)) for row in rows if str(row["table"]).startswith("leaderboard") and row["type"] in ("ALL", "index")]


@pytest.mark.parametrize("kind", [CountedRanks, KeptRanks])
def test_reads_use_the_index(database: Database, kind: Callable[..., Ranks]) -> None:
    with database.begin() as connection:
        fill(connection)
    settle(database)
    with database.snapshot() as connection:
        with noting_statements(connection) as seen:
            ask(kind(connection, 3, SCALE, MEMBERS, metadata=True))
            assert count_rows(connection, 3, 100) == 101
        assert len(seen) > 10
        found = {statement: bad_steps(connection, statement, parameters) for statement, parameters in seen}
    assert {statement: steps for statement, steps in found.items() if steps} == {}
