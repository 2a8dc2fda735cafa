"""The engine's speed and memory beside bare Redis commands: ``python -m benchmarks.engine``."""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import NamedTuple

from redis import Redis

from flask_leaderboard.engine.leaderboard import Leaderboard
from flask_leaderboard.rules.calendar import Daily
from flask_leaderboard.rules.results import RANKING_KINDS, RankingKind, Receipt
from flask_leaderboard.rules.submission import Submission
from flask_leaderboard.store.bundle import manifest, script_text
from tests.servers import FLAVOURS, Server

from .boards import KINDS, Filled, Kind, Population, clock, fill, fill_bare, fill_ids, new_board
from .measure import CountingConnection, Series, ServerClock, Variant, by_turns, commands_run, compare, own_server, say
from .report import Figure, figure_at, figure_of, publish

BATCH = 100
SMALL = 10_000
FEW_SCORES = 1000
AT_ONCE = "packed, one call"
SERVER_AIMS: dict[Kind, float] = {"packed": 1.6, "dense": 2.7, "exact": 2.3}
MEMORY_AIMS: dict[Kind, float] = {"packed": 1.05, "exact": 2.0}
PEER = "leaderboard-python 3.7"
PEER_TRIPS_PER_DENSE_WRITE = 4
PEER_TRIPS_PER_DENSE_PAGE = 27

Event = tuple[str, int]


class Settings(NamedTuple):
    """How much is run."""

    members: int
    events: int
    reads: int
    repeat: int
    scores: int
    ids: int
    server: str

    def per_round(self, total: int) -> int:
        return max(BATCH, total // self.repeat // BATCH * BATCH)


@dataclass
class Site:
    """All boards of one size, with the same members: bare sorted sets and one board per kind."""

    client: Redis
    population: Population
    bare: Filled
    boards: dict[Kind, Leaderboard] = field(default_factory=dict)
    filled: dict[Kind, Filled] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=count)

    def zincrby(self, events: list[Event]) -> None:
        """Do by hand what three windows take: three ZINCRBY per event, pipelined."""
        keys = [key for (key,) in self.bare.keys]
        for start in range(0, len(events), BATCH):
            pipeline = self.client.pipeline(transaction=False)
            for user, points in events[start : start + BATCH]:
                for key in keys:
                    pipeline.zincrby(key, points, user)
            pipeline.execute()

    def submit(self, kind: Kind, events: list[Event], size: int = BATCH) -> None:
        """Submit, each event once and for all by an id of its own, `size` events a call of `submit_many`."""
        board, ids = self.boards[kind], self._ids
        for start in range(0, len(events), size):
            part = events[start : start + size]
            outcomes = board.submit_many([Submission(user, points, f"match-{next(ids)}") for user, points in part], ranks=False)
            for outcome in outcomes:
                if not isinstance(outcome, Receipt) or outcome.duplicate:
                    raise SystemExit(f"a submission did not count, so its cost means nothing: {outcome}")

    def zrevrank(self, users: list[str]) -> None:
        (key,) = self.bare.keys[0]
        for user in users:
            self.client.zrevrank(key, user)

    def rank(self, kind: Kind, ranking: RankingKind, users: list[str]) -> None:
        board = self.boards[kind]
        for user in users:
            board.rank(user, ranking=ranking)


def build_site(client: Redis, size: int, settings: Settings) -> Site:
    population = Population(size, settings.scores)
    site = Site(client, population, fill_bare(client, str(size), population))
    for kind in KINDS:
        board = Leaderboard(new_board(f"{kind}-{size}", kind), client, clock=clock)
        site.boards[kind], site.filled[kind] = board, fill(client, board, population)
        fill_ids(client, board, population, settings.ids)
    return site


def events_of(site: Site, settings: Settings) -> Iterator[list[Event]]:
    """Give each round its users and points, the first one to warm up."""
    chance = random.Random(site.population.size)
    for _ in range(settings.repeat + 1):
        users = (site.population.user(chance.randrange(site.population.size)) for _ in range(settings.per_round(settings.events)))
        yield [(user, chance.randint(1, 100)) for user in users]


def measure_writes(site: Site, settings: Settings, watch: ServerClock) -> dict[str, Series]:
    say(f"writing {settings.events} events to each of 4 variants at {site.population.size} members")
    variants = [Variant("bare", site.zincrby), *(Variant[list[Event]](kind, partial(site.submit, kind)) for kind in KINDS)]
    variants.append(Variant(AT_ONCE, partial(site.submit, "packed", size=settings.per_round(settings.events))))
    return by_turns(variants, events_of(site, settings), settings.per_round(settings.events), watch)


def write_figures(small: dict[str, Series], large: dict[str, Series], sites: list[Site]) -> list[Figure]:
    sizes = [site.population.size for site in sites]
    group = f"Server CPU per event into 3 windows, batches of {BATCH}, exactly once, {sizes[1]:,} members"
    figures = []
    for kind in KINDS:
        found = compare(large[kind].server_us, large["bare"].server_us)
        figures.append(figure_of(group, kind, "3 pipelined ZINCRBY", "us", found).aiming(SERVER_AIMS[kind]))
    group = "Events from Python"
    for size, series, aim in zip(sizes, (small, large), (1.3, 1.0), strict=True):
        for name in (AT_ONCE, *KINDS):
            found = compare(series[name].rate, series["bare"].rate)
            told = name if name == AT_ONCE else f"{name}, calls of {BATCH}"
            figure = figure_of(
                group, f"{told}, {size:,} members", f"redis-py pipelines of {BATCH} x 3 ZINCRBY", "events/s", found
            )
            figures.append(figure.aiming(aim, at_least=True) if name == AT_ONCE else figure)
    return figures


def kinds_of_rank() -> list[tuple[Kind, RankingKind]]:
    """List the boards with the ranks asked of them: each kind of rank in each encoding, dense ranks where levels are kept."""
    plain = [ranking for ranking in RANKING_KINDS if ranking != "dense"]
    return [("packed", ranking) for ranking in plain] + [("exact", ranking) for ranking in plain] + [("dense", "dense")]


def measure_ranks(sites: list[Site], settings: Settings, watch: ServerClock) -> dict[str, Series]:
    """Read ranks of both sizes by turns, one call at a time."""
    say(f"reading {settings.reads} ranks of each kind at both sizes")
    units = settings.per_round(settings.reads)
    variants: list[Variant[list[float]]] = []

    def add(site: Site, name: str, read: Callable[[list[str]], None]) -> None:
        def run(places: list[float]) -> None:
            read([site.population.user(int(place * site.population.size)) for place in places])

        variants.append(Variant(f"{name} {site.population.size}", run))

    for site in sites:
        add(site, "bare", site.zrevrank)
        for kind, ranking in kinds_of_rank():
            add(site, f"{kind} {ranking}", partial(site.rank, kind, ranking))
    chance = random.Random(1)
    rounds = ([chance.random() for _ in range(units)] for _ in range(settings.repeat + 1))
    return by_turns(variants, rounds, units, watch)


def rank_figures(series: dict[str, Series], sites: list[Site]) -> list[Figure]:
    small, large = (str(site.population.size) for site in sites)
    cost, growth, client = [], [], []
    for kind, ranking in kinds_of_rank():
        name, ours, bare = f"{ranking}, {kind} board", f"{kind} {ranking} {large}", f"bare {large}"
        found = compare(series[ours].server_us, series[bare].server_us)
        cost.append(figure_of(f"Server CPU per rank, {int(large):,} members", name, "ZREVRANK", "us", found).aiming(3.0))
        grown = compare(_growth(series, f"{kind} {ranking}", small, large), _growth(series, "bare", small, large))
        group = f"Growth of that from {int(small):,} members"
        growth.append(figure_of(group, name, "ZREVRANK's own", "times", grown).aiming(1.0))
        spent = compare(series[ours].client_us, series[bare].client_us)
        client.append(figure_of("Client CPU per rank (redis-py and ours)", name, "redis-py zrevrank", "us", spent))
    return [*cost, *growth, *client]


def _growth(series: dict[str, Series], name: str, small: str, large: str) -> list[float]:
    pairs = zip(series[f"{name} {large}"].server_us, series[f"{name} {small}"].server_us, strict=True)
    return [more / less for more, less in pairs]


def memory_figures(site: Site) -> list[Figure]:
    """Compare what a member of a ranking takes, by MEMORY USAGE and by what used_memory grew."""
    say("counting memory")
    cells = site.population.size * len(site.bare.keys)
    bare = site.bare.usage(site.client) / cells
    group, figures = f"Memory per member and ranking, {site.population.size:,} members", []
    for kind in KINDS:
        filled = site.filled[kind]
        usage = figure_at(group, f"{kind}, MEMORY USAGE", filled.usage(site.client) / cells, "bare sorted set", bare, "bytes")
        grown = figure_at(
            group, f"{kind}, used_memory", filled.grown / cells, "bare sorted set", site.bare.grown / cells, "bytes"
        )
        figures += [figure.aiming(MEMORY_AIMS[kind]) if kind in MEMORY_AIMS else figure for figure in (usage, grown)]
    return figures


def level_figures(site: Site) -> list[Figure]:
    """Show that dense levels take room for distinct scores only: the same members on few scores take little."""
    group = "Dense levels"
    many, many_bytes = _levels(site.client, site.filled["dense"])
    population = Population(site.population.size, FEW_SCORES)
    board = Leaderboard(new_board("few-scores", "dense", [Daily()]), site.client, clock=clock)
    filled = fill(site.client, board, population)
    few, few_bytes = _levels(site.client, filled)
    scores = population.distinct_scores(0)
    return [
        figure_at(group, f"levels, {population.size:,} members", few, "distinct scores", scores, "levels").aiming(1.0),
        figure_at(
            group, f"per level, {many:,} levels", many_bytes / many, f"{few:,} levels, same members", few_bytes / few, "bytes"
        ).aiming(1.25),
    ]


def _levels(client: Redis, filled: Filled) -> tuple[int, int]:
    """Give number and bytes of the levels of a board's first ranking."""
    key = filled.keys[0][1]
    return int(client.zcard(key)), int(client.memory_usage(key, samples=0) or 0)


def trip_figures(server: Server, site: Site) -> list[Figure]:
    """Count the round trips of every call, at the connection and by the server's count of EVALSHA; the larger counts."""
    client = Redis(unix_socket_path=str(server.socket))
    client.connection_pool.connection_class = CountingConnection
    board = Leaderboard(site.boards["dense"].board, client, clock=clock)
    users = [site.population.user(number) for number in range(BATCH)]
    bulk = [Submission(user, 1, f"trip-{user}") for user in users]
    calls: dict[str, Callable[[], object]] = {
        "submit": lambda: board.submit(users[0], 1, submission_id="trip"),
        "submit_many of 100, without ranks": lambda: board.submit_many(bulk, ranks=False),
        **{f"rank, {ranking}": partial(board.rank, users[0], ranking=ranking) for ranking in RANKING_KINDS},
        "ranks in all windows": lambda: board.ranks(users[0]),
        "top": lambda: board.top(25),
        "around": lambda: board.around(users[0]),
        "among 100": lambda: board.among(users),
        "range": lambda: board.range(100, 200),
        "percentile": lambda: board.percentile(users[0]),
        "score_at_percentile": lambda: board.score_at_percentile(90),
        "count": board.count,
    }
    group = "Round trips per call"
    figures = [figure_at(group, name, _trips(client, call), "one", 1, "trips").aiming(1.0) for name, call in calls.items()]
    return figures + peer_figures(client, board, users)


def peer_figures(client: Redis, board: Leaderboard, users: list[str]) -> list[Figure]:
    """Set dense reads and writes beside what leaderboard-python is known to do; it needs redis-py 2 and is not run."""
    bulk = [Submission(user, 1, f"peer-{user}") for user in users]
    group = f"Round trips beside {PEER}, as published: it needs redis-py 2 and is not run"
    page = _trips(client, lambda: board.top(25, ranking="dense"))
    write = _trips(client, lambda: board.submit_many(bulk))
    peer_write = PEER_TRIPS_PER_DENSE_WRITE * len(users)
    rows = [
        figure_at(group, "dense page of 25", page, PEER, PEER_TRIPS_PER_DENSE_PAGE, "trips"),
        figure_at(group, "100 dense writes into 3 windows, ranks told", write, f"{PEER}, nobody tied", peer_write, "trips"),
    ]
    return [row.aiming(1.0).as_published() for row in rows]


def _trips(client: Redis, call: Callable[[], object]) -> int:
    call()
    scripts, trips = commands_run(client, "evalsha"), CountingConnection.trips
    call()
    trips = CountingConnection.trips - trips
    return max(trips, commands_run(client, "evalsha") - scripts)


def run(settings: Settings) -> tuple[dict[str, object], list[Figure]]:
    """Measure everything. The scripts are all read first, so that none changes under a long run."""
    for command in manifest()["commands"]:
        script_text(command)
    with own_server(settings.server) as server:
        client, watch = server.client, ServerClock(server.process.pid)
        version = client.info("server")["redis_version"]
        sites = [build_site(client, size, settings) for size in (SMALL, settings.members)]
        memory = memory_figures(sites[1])
        small, large = (measure_writes(site, settings, watch) for site in sites)
        ranks = measure_ranks(sites, settings, watch)
        figures = [
            *write_figures(small, large, sites),
            *rank_figures(ranks, sites),
            *trip_figures(server, sites[1]),
            *memory,
            *level_figures(sites[1]),
        ]
    return settings._asdict() | {"redis_version": version}, figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.add_argument("--members", type=int, default=1_000_000, help=f"members of the large boards; the small have {SMALL}")
    parser.add_argument("--events", type=int, default=60_000, help="submissions per variant and size")
    parser.add_argument("--reads", type=int, default=20_000, help="rank reads per variant and size")
    parser.add_argument("--repeat", type=int, default=20, help="rounds that they are cut into")
    parser.add_argument("--scores", type=int, default=100_000, help="how many different scores the members begin with")
    parser.add_argument("--ids", type=int, help="ids that each board remembers from before (default: one per member)")
    parser.add_argument("--server", choices=sorted(FLAVOURS), default="redis70")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too; - for stdout")
    given = vars(parser.parse_args())
    json_to = given.pop("json")
    if given["ids"] is None:
        given["ids"] = given["members"]
    settings, figures = run(Settings(**given))
    publish("engine", settings, figures, json_to)


if __name__ == "__main__":
    main()
