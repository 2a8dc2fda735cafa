"""What reads cost that come from SQL while Redis is away: ``python -m benchmarks.fallback``."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy import insert, update

from flask_leaderboard.engine.leaderboard import Leaderboard
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.tables import boards, projections, totals, users
from flask_leaderboard.rules.board import Board
from flask_leaderboard.rules.spots import Spot
from flask_leaderboard.rules.windows import AllTime
from tests.databases import DATABASES, KINDS

from .measure import say

NOW = 1_795_000_000_000_000
ROWS_AT_ONCE = 10_000


@contextmanager
def opened(kind: str) -> Iterator[Database]:
    """Give a new database of a kind."""
    with tempfile.TemporaryDirectory() as folder:
        server = None if kind == "sqlite" else KINDS[kind]()
        url = f"sqlite:///{folder}/log.sqlite3" if server is None else server.empty()
        database = Database(database_url(url, Path(folder)))
        database.migrate()
        try:
            yield database
        finally:
            database.close()
            if server is not None:
                server.stop()


def fill(database: Database, board: Leaderboard, members: int, scores: int) -> None:
    """Put totals there as if every member had submitted once."""
    inside: Any = board
    ledger = inside._ledger
    (window,) = board.board.windows
    spot = Spot(window, window.period("all"), None)
    ledger.totals._make_row()
    with database.begin() as connection:
        ranking = ledger.totals.rows().make(connection, [spot])[spot].id
        connection.execute(update(boards).values(head=members))
        connection.execute(update(projections).values(folded=members))
    for first in range(1, members + 1, ROWS_AT_ONCE):
        part = range(first, min(first + ROWS_AT_ONCE, members + 1))
        with database.begin() as connection:
            connection.execute(insert(users), [{"id": n, "user_id": f"user{n:09}"} for n in part])
            rows = ({"user": n, "ranking": ranking, "standing": -(n * 7919 % scores), "tie": NOW + n, "at": NOW} for n in part)
            connection.execute(insert(totals), list(rows))
    settle(database)


def settle(database: Database) -> None:
    """Let the database learn what its tables hold, as it does by itself in time."""
    kind = database.engine.dialect.name
    command = {"postgresql": "VACUUM ANALYZE", "sqlite": "ANALYZE"}.get(kind, "ANALYZE TABLE leaderboard_total, leaderboard_user")
    options = {"isolation_level": "AUTOCOMMIT"} if kind == "postgresql" else {}
    with database.engine.connect().execution_options(**options) as connection:
        connection.exec_driver_sql(command)
        connection.commit()


def reads(board: Leaderboard, members: int) -> dict[str, Callable[[], object]]:
    last, friends = f"user{members - 3:09}", [f"user{n * members // 50 + 1:09}" for n in range(50)]
    return {
        "top 10": lambda: board.top(10),
        "rank": lambda: board.rank(last),
        "unique rank": lambda: board.rank(last, ranking="unique"),
        "dense rank": lambda: board.rank(last, ranking="dense"),
        "neighbours": lambda: board.around(last),
        "50 friends": lambda: board.among(friends),
        "page in the middle": lambda: board.top(100, offset=members // 2),
    }


def measure(call: Callable[[], object], times: int) -> float:
    """Give the median of some calls, in milliseconds."""
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        spent.append((time.perf_counter() - began) * 1000)
    return statistics.median(spent)


def run(kind: str, members: int, scores: int, times: int) -> dict[str, float]:
    away = Redis(unix_socket_path="/nowhere/redis.sock", retry=Retry(NoBackoff(), 0))
    rules = Board("arena", mode="ledger", dense=True, windows=[AllTime()])
    with opened(kind) as database:
        board = Leaderboard(rules, away, clock=lambda: NOW, log=EventLog(rules, database), fallback_rows=10**9)
        say(f"filling {kind} with {members} members")
        fill(database, board, members, scores)
        return {name: measure(call, times) for name, call in reads(board, members).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=list(DATABASES))
    parser.add_argument("--scores", type=int, default=10_000, help="how many different scores the members have")
    parser.add_argument("--times", type=int, default=7)
    chosen = parser.parse_args()
    columns = {
        f"{kind}, {members:,}": run(kind, members, chosen.scores, chosen.times)
        for kind in chosen.databases
        for members in chosen.members
    }
    print("| ms, median | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name in next(iter(columns.values())):
        print(f"| {name} | " + " | ".join(f"{column[name]:.1f}" for column in columns.values()) + " |")


if __name__ == "__main__":
    main()
