"""Live rankings beside a bare broadcast of the same bytes to as many clients: ``python -m benchmarks.live``."""

from __future__ import annotations

import argparse
import math
import os
import platform
import resource
from collections.abc import Sequence
from importlib.metadata import version
from typing import NamedTuple

from flask_leaderboard.web.service import service_of

from .live_app import BOARD, INTERVAL_MS, create_app
from .live_load import FOLLOW_ONE, FOLLOW_TOP, Found, serving
from .live_players import fill
from .measure import own_server, say
from .report import Figure, figure_at, publish

RATE = 2000
FEW, MANY, FOLLOWERS = 10, 1000, 1000
CALLS_SECONDS = 5
DELAY_AIM_MS = INTERVAL_MS + 1000
MEMORY_AIM_KB = 50
CALLS_AIM = 1.1
SPARE_FILES = 500
PACKAGES = ("flask", "flask-sock", "simple-websocket", "gunicorn", "gevent", "redis")


class Settings(NamedTuple):
    """How much is run."""

    clients: int
    seconds: float
    rate: int
    server: str


def crowd_figures(settings: Settings, ours: Found, bare: Found) -> list[Figure]:
    """Make the figures of the large crowd."""
    group = f"{settings.clients:,} clients on one ranking, {settings.rate:,} submissions/s"
    most = math.ceil(ours.summary.most_span * 1000 / INTERVAL_MS) + 1
    return [
        figure_at(group, "messages to a client, most", ours.summary.most_messages, "one an interval", most, "messages").aiming(1),
        figure_at(group, "commit to last client, p50", ours.delay_ms(0.5), "bare broadcast", bare.delay_ms(0.5), "ms"),
        figure_at(group, "commit to last client, p99", ours.delay_ms(0.99), "bare broadcast", bare.delay_ms(0.99), "ms"),
        figure_at(group, "the same", ours.delay_ms(0.99), "interval + 1 s", DELAY_AIM_MS, "ms").aiming(1),
        figure_at(group, "memory of the worker", ours.memory_kb, "the aim", MEMORY_AIM_KB, "KB/client").aiming(1),
        figure_at(group, "the same", ours.memory_kb, "bare broadcast", bare.memory_kb, "KB/client"),
        figure_at(group, "CPU of the worker", ours.message_us, "bare broadcast", bare.message_us, "us/message"),
    ]


def call_figures(found: Sequence[Found]) -> list[Figure]:
    """Make the figures of calls to Redis: the number of clients is to make no difference."""
    group = "Calls of scripts for each refresh"
    return [
        figure_at(group, f"{one.summary.clients:,} clients", one.scripts, "one look", 1, "calls").aiming(CALLS_AIM)
        for one in found
    ]


def follower_figures(found: Found) -> list[Figure]:
    group = f"{found.summary.clients:,} clients, each follows its own rank"
    wanted = math.ceil(found.summary.clients / 1000)
    return [
        figure_at(group, "calls for each refresh", found.scripts, "one for 1000 users", wanted, "calls").aiming(CALLS_AIM),
        figure_at(group, "CPU of the worker", found.message_us, "a core", 1e6, "us/message"),
    ]


def run(settings: Settings) -> tuple[dict[str, object], list[Figure]]:
    """Measure everything: small crowds, own ranks, the large crowd, and the bare route in a worker of its own."""
    make_room(settings.clients)
    seconds = min(CALLS_SECONDS, settings.seconds)
    with own_server(settings.server) as redis:
        about = {"redis_version": redis.client.info("server")["redis_version"], "python": platform.python_version()}
        hub = service_of(create_app(f"unix://{redis.socket}", 1)).hub
        fill(hub[BOARD])
        hub.close()
        with serving(redis, settings.clients) as site:
            sizes = [clients for clients in (FEW, MANY) if clients < settings.clients]
            small = [site.follow(FOLLOW_TOP, clients, seconds, settings.rate) for clients in sizes]
            many = min(FOLLOWERS, settings.clients)
            followers = site.follow(FOLLOW_ONE, many, seconds, settings.rate, all_see_all=False)
        with serving(redis, settings.clients) as site:
            site.warm()
            ours = site.follow(FOLLOW_TOP, settings.clients, settings.seconds, settings.rate)
        with serving(redis, settings.clients) as site:
            site.warm()
            bare = site.broadcast(ours.summary.sample, settings.clients, settings.seconds / 2)
    say(told(ours))
    figures = [*crowd_figures(settings, ours, bare), *call_figures([*small, ours]), *follower_figures(followers)]
    packages = {name: version(name) for name in PACKAGES}
    return settings._asdict() | about | packages | {"interval_ms": INTERVAL_MS, "cores": os.cpu_count()}, figures


def told(found: Found) -> str:
    """Tell what figures rest on."""
    summary = found.summary
    rates = f"{summary.messages / found.seconds:,.0f} messages/s of {summary.mean_bytes:,.0f} bytes"
    cores = f"cores: worker {found.worker_cpu / found.seconds:.2f}, clients {summary.cpu / found.seconds:.2f}"
    return f"{rates}; {cores}; the last submission was {found.behind * 1000:,.0f} ms behind its schedule; kinds: {summary.kinds}"


def make_room(clients: int) -> None:
    """Let this process, and those it starts, have enough files open."""
    wanted = clients + 2 * SPARE_FILES
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < wanted:
        raise SystemExit(f"{clients} clients need {wanted} open files, and only {most} are allowed: raise `ulimit -Hn`")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, wanted), most))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=__doc__)
    parser.add_argument("--clients", type=int, default=5000, help="of the large crowd")
    parser.add_argument("--seconds", type=float, default=20, help="for how long it follows")
    parser.add_argument("--rate", type=int, default=RATE, help="submissions a second")
    parser.add_argument("--server", choices=["redis62", "redis70", "redis82", "valkey9"], default="redis70")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too; - for stdout")
    given = vars(parser.parse_args())
    json_to = given.pop("json")
    settings, figures = run(Settings(**given))
    publish("live", settings, figures, json_to)


if __name__ == "__main__":
    main()
