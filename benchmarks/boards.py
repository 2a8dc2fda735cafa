"""Boards full of members, beside bare sorted sets with the same members and scores."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from redis import Redis

from flask_leaderboard.engine.leaderboard import Leaderboard
from flask_leaderboard.rules.board import Board
from flask_leaderboard.rules.calendar import Daily, Monthly, Weekly
from flask_leaderboard.rules.windows import Window
from flask_leaderboard.store.rankings import Ranking

from .measure import say

Kind = Literal["packed", "dense", "exact"]
KINDS: tuple[Kind, ...] = ("packed", "dense", "exact")
ROWS_PER_CALL = 2000
NOON, DAY = 12 * 3600 * 10**6, 24 * 3600 * 10**6
_STARTED = time.time_ns() // 1000


def clock() -> int:
    """Give the time since the start of the run as if that had been today's noon: no period ends in the middle."""
    now = time.time_ns() // 1000
    return _STARTED // DAY * DAY + NOON + now - _STARTED


@dataclass(frozen=True)
class Population:
    """Members and their scores: `distinct` equally likely ones, the same for everybody who asks."""

    size: int
    distinct: int

    def user(self, number: int) -> str:
        return f"user{number}"

    def rows(self, window: int) -> Iterator[tuple[str, int, int]]:
        """Give user, score and time of every member; another window has other scores."""
        chance = random.Random(f"{self.size} {self.distinct} {window}")
        now = clock()
        for number in range(self.size):
            yield self.user(number), chance.randrange(self.distinct), now - chance.randrange(NOON)

    def distinct_scores(self, window: int) -> int:
        return len({score for _, score, _ in self.rows(window)})


@dataclass(frozen=True)
class Filled:
    """A set of sorted sets, ours or bare: `keys` for each ranking, and by how much used_memory grew with them."""

    keys: list[tuple[str, ...]]
    members: int
    grown: int

    def usage(self, client: Redis, part: slice = slice(None)) -> int:
        """Give the bytes that the server counts for them (or for a part of each ranking's keys)."""
        return sum(int(client.memory_usage(key, samples=0) or 0) for keys in self.keys for key in keys[part])


def new_board(name: str, kind: Kind, windows: Sequence[Window] | None = None) -> Board:
    board = Board(
        name,
        score_range=None if kind == "exact" else (-1_000_000, 1_000_000),
        dense=kind == "dense",
        windows=windows or [Daily(), Weekly(), Monthly()],
    )
    for window in board.windows:
        stored = board.encoding(window.name)
        if (stored.kind == "exact") != (kind == "exact"):
            raise SystemExit(f"the {kind} board is kept {stored.kind}: {stored.reason}")
    return board


def running(leaderboard: Leaderboard) -> list[Ranking]:
    """List the rankings of the running periods."""
    found = []
    for window in leaderboard.board.windows:
        period = window.period_at(clock())
        if period is not None:
            found.append(leaderboard.store.rankings.get(window, period))
    return found


def fill(client: Redis, leaderboard: Leaderboard, population: Population) -> Filled:
    """Load the members into every running ranking of a board."""
    rankings = running(leaderboard)

    def load() -> None:
        for window, ranking in enumerate(rankings):
            for rows in _chunks(population.rows(window)):
                leaderboard.store.restore(ranking, rows)

    grown = _growth(client, load, f"{population.size} members into {len(rankings)} rankings of board {leaderboard.board.name}")
    return Filled([ranking.keys for ranking in rankings], population.size, grown)


def fill_bare(client: Redis, name: str, population: Population, windows: int = 3) -> Filled:
    """Load the members into sorted sets without any rules."""
    keys = [f"bare:{name}:{window}" for window in range(windows)]

    def load() -> None:
        for window, key in enumerate(keys):
            for rows in _chunks(population.rows(window)):
                client.zadd(key, {user: score for user, score, _ in rows})

    grown = _growth(client, load, f"{population.size} members into {windows} bare sorted sets")
    return Filled([(key,) for key in keys], population.size, grown)


def fill_ids(client: Redis, leaderboard: Leaderboard, population: Population, count: int) -> None:
    """Let a board remember ids as if it had been in use for days: half of them are in the generation before.

    What the scripts keep of an id is its points and update.
    """
    if not count:
        return
    say(f"remembering {count} ids on board {leaderboard.board.name}")
    buckets: dict[tuple[str, int], list[str]] = {}
    for number in range(count):
        user, identity = population.user(number % population.size), f"before-{number}"
        place = leaderboard.store.ids.place(user, identity, clock())
        bucket = place.bucket if number % 2 else place.other
        buckets.setdefault((bucket, place.forget_at), []).extend((f"{user}\t{identity}", "50 increment"))
    for (key, forget_at), items in buckets.items():
        pipeline = client.pipeline(transaction=False)
        pipeline.hset(key, items=items)
        pipeline.pexpireat(key, forget_at)
        pipeline.execute()


def _growth(client: Redis, load: Callable[[], None], what: str) -> int:
    started, before = time.perf_counter(), _used(client)
    load()
    say(f"loaded {what} in {time.perf_counter() - started:.0f} s")
    return _used(client) - before


def _used(client: Redis) -> int:
    found: dict[str, Any] = client.info("memory")
    return int(found["used_memory"])


def _chunks(rows: Iterator[tuple[str, int, int]]) -> Iterator[list[tuple[str, int, int]]]:
    while chunk := list(islice(rows, ROWS_PER_CALL)):
        yield chunk
