"""The REST API's speed beside bare Flask routes in the same process: ``python -m benchmarks.web``."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import NamedTuple

from flask_leaderboard.rules.submission import Submission
from flask_leaderboard.web.service import service_of
from tests.servers import Server

from .measure import compare, own_server, say
from .open_loop import Latencies
from .report import Figure, figure_at, figure_of, publish
from .web_app import BOARD, TOKEN, create_app
from .web_load import CLASSES, THREADS, WORKERS, Load, Site, Slice, serving

USERS = 10_000
BATCH = 1000
BATCHES_AT_ONCE = 4
LEAST_BATCH_SECONDS = 2
BATCH_AIM = 8000
DEFAULT_CACHE_MS = 250
WRITING = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
PACKAGES = ("flask", "gunicorn", "gevent", "redis", "werkzeug")


class Settings(NamedTuple):
    """How much is run."""

    seconds: int
    rounds: int
    classes: list[str]
    only: list[str]
    server: str

    def lasting(self, load: Load) -> int:
        """Give the length of a slice; on a slow machine no batch would be answered in a very short one."""
        return max(self.seconds, LEAST_BATCH_SECONDS) if load.counts > 1 else self.seconds


@dataclass(frozen=True)
class Contest:
    """One figure: a path of ours and the bare route of the same method, with the same requests."""

    name: str
    title: str
    ours: Load
    bare: Load
    aim: float
    cache_ms: int = DEFAULT_CACHE_MS

    @property
    def unit(self) -> str:
        return "submission" if self.ours.batch > 1 else "request"

    @property
    def beside(self) -> str:
        method = "POST" if self.ours.counts else "GET"
        return f"bare {method}" + (", same body" if self.ours.counts else "")


def contests() -> list[Contest]:
    read, bare = Load("fixed", "/v1/scores"), Load("fixed", "/bare")
    posting = submit_contest(0.7)
    submit = posting.ours
    batch = replace(submit, kind="batch", path="/v1/scores/batch", batch=BATCH, counts=BATCH, connections=BATCHES_AT_ONCE)
    lean = replace(batch, ranks=False)
    user = Load("user", "/v1/scores/user")
    return [
        Contest("top", "GET /v1/scores", read, bare, 0.8),
        Contest("top-304", "GET /v1/scores, 304", replace(read, status=304), bare, 0.85),
        Contest("rank", "GET /v1/scores/{user_id}", user, replace(user, path="/bare?user="), 0.45),
        posting,
        Contest("batch", f"POST /v1/scores/batch of {BATCH}", batch, _echo(batch), 1.0),
        Contest("batch-no-ranks", f"POST /v1/scores/batch of {BATCH}, no ranks", lean, _echo(lean), 1.0),
        Contest("top-uncached", "GET /v1/scores, no cache", read, bare, 0.45, cache_ms=0),
    ]


def submit_contest(aim: float) -> Contest:
    """Give the contest of single submissions, which a log changes most."""
    submit = Load("submission", "/v1/scores", headers=WRITING, counts=1)
    return Contest("submit", "POST /v1/scores", submit, _echo(submit), aim)


def _echo(load: Load) -> Load:
    return replace(load, path="/bare", counts=0)


@dataclass
class Found:
    """The slices of a contest, round by round, and the latencies of both sides at half of their rates."""

    ours: list[Slice] = field(default_factory=list)
    bare: list[Slice] = field(default_factory=list)
    ours_paced: Latencies | None = None
    bare_paced: Latencies | None = None


def fill(server: Server) -> None:
    """Give the board its users, all of them with names."""
    app = create_app(f"unix://{server.socket}", 0)
    hub = service_of(app).hub
    submissions = [Submission(f"user{number}", 1 + number * 7919 % USERS, user_name=f"User {number}") for number in range(USERS)]
    hub[BOARD].submit_many(submissions, ranks=False)
    found = hub[BOARD].totals()
    hub.close()
    if set(found.values()) != {USERS}:
        raise SystemExit(f"the board was not filled: {found}")


def measure(site: Site, contest: Contest, settings: Settings) -> Found:
    """Let both sides take turns, every other round backwards; then pace each at half of what it reached."""
    if contest.ours.status == 304:
        _, headers, _ = site.ask(contest.ours.path)
        contest = replace(contest, ours=contest.ours.with_header("If-None-Match", headers["ETag"]))
    found = Found()
    sides = [(contest.ours, found.ours), (contest.bare, found.bare)]
    for number in range(settings.rounds):
        for load, slices in sides if number % 2 else reversed(sides):
            slices.append(site.saturate(load, settings.lasting(load)))
    found.ours_paced = _pace(site, contest.ours, found.ours, settings)
    found.bare_paced = _pace(site, contest.bare, found.bare, settings)
    return found


def _pace(site: Site, load: Load, slices: list[Slice], settings: Settings) -> Latencies:
    rates = sorted(one.rate for one in slices)
    return site.pace(load, rates[len(rates) // 2] / load.batch / 2, settings.seconds - 0.5)


def measure_class(worker_class: str, settings: Settings, server: Server) -> dict[str, Found]:
    wanted = [contest for contest in contests() if contest.name in settings.only]
    found: dict[str, Found] = {}
    for cache_ms in sorted({contest.cache_ms for contest in wanted}, reverse=True):
        with serving(worker_class, cache_ms, server) as site:
            site.saturate(Load("user", "/v1/scores/user"), 1)  # warms up
            for contest in wanted:
                if contest.cache_ms == cache_ms:
                    say(f"{worker_class}: {contest.title}")
                    found[contest.name] = measure(site, contest, settings)
    return found


def figures_of(worker_class: str, found: dict[str, Found]) -> list[Figure]:
    """Make the figures of one class of workers, group by group."""
    told = f"{worker_class}, {THREADS} threads" if worker_class == "gthread" else worker_class
    pairs = [(contest, found[contest.name]) for contest in contests() if contest.name in found]
    return [
        *(_rate(f"Saturated, {told}", contest, one) for contest, one in pairs),
        *(_workers(f"CPU of the workers, {told}", contest, one) for contest, one in pairs),
        *(_redis(f"CPU of Redis, {told}", contest, one) for contest, one in pairs),
        *(figure for contest, one in pairs for figure in _latencies(f"Latency at half of the rate, {told}", contest, one)),
    ]


def figures_of_contest(told: str, contest: Contest, found: Found) -> list[Figure]:
    """Make the figures of one contest alone."""
    return [
        _rate(f"Saturated, {told}", contest, found),
        _workers(f"CPU of the workers, {told}", contest, found),
        _redis(f"CPU of Redis, {told}", contest, found),
        *_latencies(f"Latency at half of the rate, {told}", contest, found),
    ]


def _rate(group: str, contest: Contest, found: Found) -> Figure:
    ours, bare = [one.rate for one in found.ours], [one.rate for one in found.bare]
    if contest.ours.batch > 1:
        compared = compare(ours, [float(BATCH_AIM)] * len(ours))
        figure = replace(figure_of(group, contest.title, "the aim", "submissions/s", compared), noise=None)
    else:
        figure = figure_of(group, contest.title, contest.beside, "requests/s", compare(ours, bare))
    return figure.aiming(contest.aim, at_least=True)


def _workers(group: str, contest: Contest, found: Found) -> Figure:
    compared = compare([one.workers_us for one in found.ours], [one.workers_us for one in found.bare])
    return figure_of(group, contest.title, contest.beside, f"us/{contest.unit}", compared)


def _redis(group: str, contest: Contest, found: Found) -> Figure:
    compared = compare([one.redis_us for one in found.ours], [one.workers_us for one in found.ours])
    return figure_of(group, contest.title, "the workers' own", f"us/{contest.unit}", compared)


def _latencies(group: str, contest: Contest, found: Found) -> list[Figure]:
    ours, bare = found.ours_paced, found.bare_paced
    if ours is None or bare is None:
        return []
    return [
        figure_at(group, f"{contest.title}, p50", ours.p50_ms, contest.beside, bare.p50_ms, "ms"),
        figure_at(group, f"{contest.title}, p99", ours.p99_ms, contest.beside, bare.p99_ms, "ms"),
    ]


def run(settings: Settings) -> tuple[dict[str, object], list[Figure]]:
    """Measure everything, one class of workers after the other."""
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not here: install your system's package 'wrk'")
    figures: list[Figure] = []
    with own_server(settings.server) as server:
        about = {"redis_version": server.client.info("server")["redis_version"], "python": platform.python_version()}
        fill(server)
        for worker_class in settings.classes:
            figures += figures_of(worker_class, measure_class(worker_class, settings, server))
    packages = {name: version(name) for name in PACKAGES}
    return settings._asdict() | about | packages | {"workers": WORKERS, "users": USERS, "cores": os.cpu_count()}, figures


def _listed(known: list[str]) -> type[list[str]]:
    def read(text: str) -> list[str]:
        names = text.split(",")
        if not set(names) <= set(known):
            raise argparse.ArgumentTypeError(f"must be some of {','.join(known)}")
        return names

    return read  # type: ignore[return-value]


def main() -> None:
    classes, names = list(CLASSES), [contest.name for contest in contests()]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.web", description=__doc__)
    parser.add_argument("--seconds", type=int, default=2, help="length of a slice")
    parser.add_argument("--rounds", type=int, default=4, help="slices of each side")
    parser.add_argument("--classes", type=_listed(classes), default=classes, help="of workers: " + ",".join(classes))
    parser.add_argument("--only", type=_listed(names), default=names, help="some of " + ",".join(names))
    parser.add_argument("--server", choices=["redis62", "redis70", "redis82", "valkey9"], default="redis70")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too; - for stdout")
    given = vars(parser.parse_args())
    json_to = given.pop("json")
    settings, figures = run(Settings(**given))
    publish("web", settings, figures, json_to)


if __name__ == "__main__":
    main()
