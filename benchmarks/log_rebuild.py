"""Rebuilding a board from the log's totals, beside plain ZADDs of the same rows: ``python -m benchmarks.log_rebuild``."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import psutil  # type: ignore[import-untyped]
from redis import Redis
from sqlalchemy import insert, select, update

from flask_leaderboard.engine.leaderboard import Leaderboard
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.tables import boards, projections, totals, users
from flask_leaderboard.log.totals import Totals
from flask_leaderboard.rules.board import Board
from flask_leaderboard.rules.fold import tie_of
from flask_leaderboard.rules.spots import NO_SEASONS, Spots
from flask_leaderboard.rules.windows import AllTime
from tests.databases import KINDS as DATABASES
from tests.servers import FLAVOURS

from .boards import KINDS, Kind, Population, clock
from .measure import Series, ServerClock, Variant, by_turns, compare, own_server, say
from .report import Figure, figure_at, figure_of, publish

BATCH = 10_000
AIM = 0.7
Row = tuple[str, int, int]


class Settings(NamedTuple):
    """How much is run."""

    members: int
    repeat: int
    scores: int
    server: str
    database: str


def new_board(kind: Kind) -> Board:
    score_range = None if kind == "exact" else (0, 1000)
    return Board(kind, mode="ledger", windows=[AllTime()], score_range=score_range, dense=kind == "dense")


@contextmanager
def open_database(kind: str) -> Iterator[Database]:
    """Give an empty database with all tables, for the time of a block."""
    with tempfile.TemporaryDirectory() as folder:
        server = None if kind == "sqlite" else DATABASES[kind]()
        database = Database(database_url(server and server.empty(), Path(folder)))
        try:
            database.migrate()
            yield database
        finally:
            database.close()
            if server is not None:
                server.stop()


def fill_users(database: Database, rows: list[Row]) -> dict[str, int]:
    with database.begin() as connection:
        for first in range(0, len(rows), BATCH):
            connection.execute(insert(users), [{"user_id": user} for user, _, _ in rows[first : first + BATCH]])
        return {row.user_id: row.id for row in connection.execute(select(users.c.user_id, users.c.id))}


def fill_totals(database: Database, board: Board, rows: list[Row], numbers: dict[str, int]) -> EventLog:
    """Put rows into the totals, as if as many events had been folded."""
    log = EventLog(board, database)
    row, (spot,) = log.board_row(), Spots(board).of(clock(), clock(), (), NO_SEASONS)
    with database.begin() as connection:
        ranking = Totals(board, database, log).rows().make(connection, [spot])[spot].id
        for first in range(0, len(rows), BATCH):
            part = rows[first : first + BATCH]
            listed = [
                {"user": numbers[user], "ranking": ranking, "standing": -score, "tie": tie_of(board, at), "at": at}
                for user, score, at in part
            ]
            connection.execute(insert(totals), listed)
        connection.execute(update(boards).where(boards.c.id == row).values(head=len(rows)))
        connection.execute(insert(projections), {"board": row, "folded": len(rows)})
    return log


def zadd_each(client: Redis, rows: list[Row]) -> None:
    """Load rows by hand: a ZADD for each, pipelined."""
    client.unlink("bare")
    for first in range(0, len(rows), BATCH):
        pipeline = client.pipeline(transaction=False)
        for user, score, _ in rows[first : first + BATCH]:
            pipeline.zadd("bare", {user: score})
        pipeline.execute()


def zadd_many(client: Redis, rows: list[Row]) -> None:
    """Load rows by hand: a ZADD with many members at a time."""
    client.unlink("bare")
    for first in range(0, len(rows), BATCH):
        client.zadd("bare", {user: score for user, score, _ in rows[first : first + BATCH]})


class Memory:
    """Watches the memory of this process."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self.before = self.highest = self.now()

    def now(self) -> float:
        return float(self._process.memory_info().rss) / 2**20

    def watch(self, what: str, done: int, total: int | None) -> None:
        self.highest = max(self.highest, self.now())


def rebuilding(leaderboard: Leaderboard, size: int, memory: Memory) -> Callable[[None], None]:
    def rebuild(_: None) -> None:
        rebuilt = leaderboard.rebuild(progress=memory.watch)
        if rebuilt.rows != size or leaderboard.count() != size:
            raise SystemExit(f"not all was rebuilt, so its speed means nothing: {rebuilt}")

    return rebuild


def measure(client: Redis, database: Database, rows: list[Row], settings: Settings, watch: ServerClock) -> list[Figure]:
    numbers = fill_users(database, rows)
    boards_of = {kind: new_board(kind) for kind in KINDS}
    logs = {}
    for kind, board in boards_of.items():
        say(f"filling the totals of the {kind} board with {len(rows):,} rows")
        logs[kind] = fill_totals(database, board, rows, numbers)
    del numbers
    variants = [
        Variant[None]("each", lambda _: zadd_each(client, rows)),
        Variant[None]("many", lambda _: zadd_many(client, rows)),
    ]
    memory = Memory()
    for kind, board in boards_of.items():
        leaderboard = Leaderboard(board, client, clock=clock, log=logs[kind])
        variants.append(Variant(kind, rebuilding(leaderboard, len(rows), memory)))
    say(f"rebuilding {settings.repeat} times")
    series = by_turns(variants, repeat(None, settings.repeat + 1), len(rows), watch)
    return [*rate_figures(series, settings), *memory_figures(memory, settings)]


def rate_figures(series: dict[str, Series], settings: Settings) -> list[Figure]:
    figures = []
    group = f"Rebuild of {settings.members:,} users from {settings.database}, one ranking"
    for kind in KINDS:
        found = compare(series[kind].rate, series["each"].rate)
        figure = figure_of(group, f"{kind} board", f"ZADD each, pipelines of {BATCH:,}", "rows/s", found)
        figures.append(figure.aiming(AIM, at_least=True) if kind == "packed" else figure)
    for kind in KINDS:
        found = compare(series[kind].rate, series["many"].rate)
        figures.append(figure_of(group, f"{kind} board", f"ZADD of {BATCH:,} members", "rows/s", found))
    for kind in KINDS:
        found = compare(series[kind].server_us, series["many"].server_us)
        figures.append(figure_of("Server CPU per row", f"{kind} board", f"ZADD of {BATCH:,} members", "us", found))
    return figures


def memory_figures(memory: Memory, settings: Settings) -> list[Figure]:
    group = "Memory of the process that rebuilds"
    return [
        figure_at(group, "highest while rebuilding", memory.highest, "before", memory.before, "MB").aiming(1.1),
        figure_at(group, "after all rounds", memory.now(), "before", memory.before, "MB"),
    ]


def run(settings: Settings) -> tuple[dict[str, object], list[Figure]]:
    with own_server(settings.server) as server, open_database(settings.database) as database:
        rows = list(Population(settings.members, settings.scores).rows(0))
        figures = measure(server.client, database, rows, settings, ServerClock(server.process.pid))
        version = server.client.info("server")["redis_version"]
    return settings._asdict() | {"redis_version": version}, figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.log_rebuild", description=__doc__)
    parser.add_argument("--members", type=int, default=1_000_000, help="users of the ranking")
    parser.add_argument("--repeat", type=int, default=5, help="rounds, beside one to warm up")
    parser.add_argument("--scores", type=int, default=1000, help="how many different scores they have")
    parser.add_argument("--server", choices=sorted(FLAVOURS), default="redis70")
    parser.add_argument("--database", choices=("sqlite", *DATABASES), default="postgresql")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too; - for stdout")
    given = vars(parser.parse_args())
    json_to = given.pop("json")
    settings, figures = run(Settings(**given))
    publish("log_rebuild", settings, figures, json_to)


if __name__ == "__main__":
    main()
