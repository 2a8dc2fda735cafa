"""The log's speed beside bare inserts and bare Flask routes: ``python -m benchmarks.log``."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import psycopg
from redis import Redis

from flask_leaderboard.engine.leaderboard import Leaderboard
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.rules.board import Board
from flask_leaderboard.rules.calendar import Daily, Weekly
from flask_leaderboard.rules.submission import Submission
from flask_leaderboard.rules.windows import AllTime
from tests.databases import PostgreSQL

from .measure import compare, own_server, say
from .report import Figure, figure_of, publish
from .web import Contest, Found, figures_of_contest, measure, submit_contest
from .web import Settings as WebSettings
from .web_load import serving

BATCH = 1000
USERS = 10_000
BARE_AIM = 0.3
REDIS_AIM = 0.6
POST_AIM = 0.5


class DurablePostgreSQL(PostgreSQL):
    """A PostgreSQL that is sure of its disk, as it is by default."""

    def _start(self, binary: Path) -> subprocess.Popen[bytes]:
        return self.launch(str(binary), "-D", str(self.data), "-k", str(self.folder), "-h", "", "-c", "fsync=on")


class Settings(NamedTuple):
    """How much is run."""

    seconds: int
    rounds: int
    classes: list[str]
    events: int
    server: str


@contextmanager
def migrated(server: PostgreSQL) -> Iterator[str]:
    """Give the URL of an empty database with the log's tables."""
    url = server.empty()
    database = Database(database_url(url, Path()))
    database.migrate()
    database.close()
    yield url


def boards(url: str, client: Redis) -> dict[str, Leaderboard]:
    """Give the same board with a log and without."""
    windows = [AllTime(), Weekly(), Daily()]
    kept, loose = Board("kept", mode="ledger", windows=windows), Board("loose", mode="redis_only", windows=windows)
    log = EventLog(kept, Database(database_url(url, Path())))
    return {"ledger": Leaderboard(kept, client, log=log), "redis_only": Leaderboard(loose, client)}


def bare_inserter(url: str) -> Callable[[list[Submission]], None]:
    """Give what a program would do that only wants rows in a table: one executemany for each batch."""
    plain = database_url(url, Path())
    connection = psycopg.connect(host=str(plain.query["host"]), user=plain.username, dbname=plain.database)
    connection.execute("CREATE TABLE bare (id bigserial PRIMARY KEY, user_id text, points bigint, submission_id text, at bigint)")
    connection.commit()
    words = "INSERT INTO bare (user_id, points, submission_id, at) VALUES (%s, %s, %s, %s)"

    def write(batch: list[Submission]) -> None:
        now = time.time_ns() // 1000
        with connection.cursor() as cursor:
            cursor.executemany(words, [(item.user_id, item.points, item.submission_id, now) for item in batch])
        connection.commit()

    return write


def measure_batches(settings: Settings, server: PostgreSQL, client: Redis) -> list[Figure]:
    """Let all sides write the same number of submissions by turns; a second of warming up does not count."""
    with migrated(server) as url:
        ours = boards(url, client)
        sides: dict[str, Callable[[list[Submission]], object]] = {
            "bare": bare_inserter(url),
            "ledger": lambda batch: ours["ledger"].submit_many(batch, ranks=False),
            "redis_only": lambda batch: ours["redis_only"].submit_many(batch, ranks=False),
        }
        rates: dict[str, list[float]] = {name: [] for name in sides}
        ids = count()
        for number in range(settings.rounds + 1):
            say(f"submit_many: round {number} of {settings.rounds}")
            for name in sides if number % 2 else reversed(sides):
                rate = _rate(sides[name], settings.events, ids)
                if number:
                    rates[name].append(rate)
        _check(ours["ledger"], settings)
    group = f"submit_many of {BATCH}, PostgreSQL with fsync"
    aims = (("bare", "bare executemany", BARE_AIM), ("redis_only", "ours without a log", REDIS_AIM))
    return [
        figure_of(group, "with a log", beside, "submissions/s", compare(rates["ledger"], rates[name])).aiming(aim, at_least=True)
        for name, beside, aim in aims
    ]


def _rate(write: Callable[[list[Submission]], object], events: int, ids: Iterator[int]) -> float:
    batches = [
        [Submission(f"user{number % USERS}", 1, f"match-{number}") for number, _ in zip(ids, range(BATCH), strict=False)]
        for _ in range(events // BATCH)
    ]
    start = time.perf_counter()
    for batch in batches:
        write(batch)
    return len(batches) * BATCH / (time.perf_counter() - start)


def _check(board: Leaderboard, settings: Settings) -> None:
    wanted = (settings.rounds + 1) * (settings.events // BATCH) * BATCH
    found = sum(entry.score for entry in _everybody(board))
    if found != wanted or board.log.head() != wanted:
        raise SystemExit(f"{wanted} points were submitted, but the board has {found} and the log {board.log.head()} events")


def _everybody(board: Leaderboard) -> Iterator[object]:
    page = board.top(1000)
    while True:
        yield from page.entries
        if page.cursor is None:
            return
        page = board.top(1000, cursor=page.cursor)


def measure_posts(settings: Settings, server: PostgreSQL, redis_name: str) -> list[Figure]:
    """Measure ``POST /scores`` beside the bare route, with gunicorn's workers on a board with a log."""
    figures: list[Figure] = []
    contest: Contest = submit_contest(POST_AIM)
    web = WebSettings(settings.seconds, settings.rounds, settings.classes, [contest.name], redis_name)
    for worker_class in settings.classes:
        with own_server(redis_name) as redis, migrated(server) as url, serving(worker_class, 250, redis, url) as site:
            say(f"{worker_class}: {contest.title} with a log")
            measure(site, contest, web._replace(rounds=1))  # warms up
            found: Found = measure(site, contest, web)
            figures += figures_of_contest(f"{worker_class}, with a log", contest, found)
    return figures


def run(settings: Settings) -> tuple[dict[str, object], list[Figure]]:
    server = DurablePostgreSQL()
    try:
        with own_server(settings.server) as redis:
            figures = measure_batches(settings, server, redis.client)
        figures += measure_posts(settings, server, settings.server)
    finally:
        server.stop()
    about = {"python": platform.python_version(), "cores": os.cpu_count(), "fsync_ms": fsync_ms()}
    return settings._asdict() | about, figures


def fsync_ms(tries: int = 50) -> float:
    """Tell how long this machine's disk takes to be sure of a write: no commit is faster."""
    path, taken = Path("fsync.tmp"), []
    with path.open("wb", buffering=0) as file:
        for _ in range(tries):
            file.write(b"x" * 4096)
            start = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - start)
    path.unlink()
    return statistics.median(taken) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.log", description=__doc__)
    parser.add_argument("--seconds", type=int, default=2, help="length of a slice of requests")
    parser.add_argument("--rounds", type=int, default=4, help="slices of each side")
    parser.add_argument("--classes", type=lambda text: text.split(","), default=["gevent", "gthread"], help="of workers")
    parser.add_argument("--events", type=int, default=10_000, help="submissions of a round of submit_many")
    parser.add_argument("--server", choices=["redis62", "redis70", "redis82", "valkey9"], default="redis70")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too; - for stdout")
    given = vars(parser.parse_args())
    json_to = given.pop("json")
    settings, figures = run(Settings(**given))
    publish("log", settings, figures, json_to)


if __name__ == "__main__":
    main()
