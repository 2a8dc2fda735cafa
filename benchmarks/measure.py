"""Costs of a server and of its client, taken in short slices by turns.

A shared machine is never quiet for long. So what is compared runs in slices of a fraction of a second, one after the other
and in turning order; ratios are taken inside one round, and the median of the rounds counts.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import psutil  # type: ignore[import-untyped]
from redis import Redis
from redis.connection import UnixDomainSocketConnection

from tests.servers import FLAVOURS, Server

Work = TypeVar("Work")


def say(message: str) -> None:
    """Tell on stderr how far a long run is."""
    print(message, file=sys.stderr, flush=True)


class ServerClock:
    """The CPU time of a process in seconds: user and system, all its threads."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._clock = _process_clock(pid)

    def now(self) -> float:
        if self._clock is not None:
            return time.clock_gettime(self._clock)
        times = self._process.cpu_times()
        return float(times.user + times.system)


def _process_clock(pid: int) -> int | None:
    """Give Linux's own clock of a process: the time that psutil tells in steps of 10 ms, in ns. None elsewhere."""
    if sys.platform != "linux":
        return None
    clock = (~pid << 3) | 2
    try:
        time.clock_gettime(clock)
    except OSError:
        return None
    return clock


class Cost(NamedTuple):
    """What one unit of work took in one slice, in seconds: CPU of the server, CPU of the client, and time on the wall."""

    server: float
    client: float
    wall: float


@dataclass
class Series:
    """The costs of one variant, round by round."""

    costs: list[Cost] = field(default_factory=list)

    @property
    def server_us(self) -> list[float]:
        return [cost.server * 1e6 for cost in self.costs]

    @property
    def client_us(self) -> list[float]:
        return [cost.client * 1e6 for cost in self.costs]

    @property
    def rate(self) -> list[float]:
        return [1 / cost.wall for cost in self.costs]


@dataclass(frozen=True)
class Variant(Generic[Work]):
    """One of the things compared: `run` does a round's work, which is the same for all of them."""

    name: str
    run: Callable[[Work], object]


def by_turns(variants: Sequence[Variant[Work]], rounds: Iterable[Work], units: int, clock: ServerClock) -> dict[str, Series]:
    """Run every variant once per round, every other round backwards; the first round warms up and does not count.

    `units` is how many units of work a round has.
    """
    series = {variant.name: Series() for variant in variants}
    for number, work in enumerate(rounds):
        for variant in variants if number % 2 else reversed(variants):
            cost = _timed(variant, work, units, clock)
            if number:
                series[variant.name].costs.append(cost)
    return series


def _timed(variant: Variant[Work], work: Work, units: int, clock: ServerClock) -> Cost:
    wall, client, server = time.perf_counter(), time.process_time(), clock.now()
    variant.run(work)
    server, client, wall = clock.now() - server, time.process_time() - client, time.perf_counter() - wall
    return Cost(server / units, client / units, wall / units)


class Comparison(NamedTuple):
    """Medians of two series, the median of their ratios round by round, and the quartiles of those.

    `noise` is how far the limit itself strayed: the distance of its quartiles, as a part of its median.
    """

    ours: float
    limit: float
    ratio: float
    low: float
    high: float
    noise: float


def compare(ours: Sequence[float], limit: Sequence[float]) -> Comparison:
    """Compare two series of the same rounds."""
    ratios = [one / other for one, other in zip(ours, limit, strict=True)]
    low, middle, high = _quartiles(ratios)
    limit_low, limit_middle, limit_high = _quartiles(limit)
    noise = (limit_high - limit_low) / limit_middle
    return Comparison(statistics.median(ours), limit_middle, middle, low, high, noise)


def _quartiles(values: Sequence[float]) -> list[float]:
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3


class CountingConnection(UnixDomainSocketConnection):
    """A connection that counts its sendings: each is a round trip, a whole pipeline too."""

    trips = 0

    def send_packed_command(self, command: object, check_health: bool = True) -> None:
        CountingConnection.trips += 1
        super().send_packed_command(command, check_health)  # type: ignore[no-untyped-call]


def commands_run(client: Redis, command: str) -> int:
    """Tell how often the server has run a command, by its own count."""
    found = client.info("commandstats").get(f"cmdstat_{command}", {})
    return int(found.get("calls", 0))


@contextmanager
def own_server(flavour: str) -> Iterator[Server]:
    """Start a server for the time of a block; no other server is touched."""
    binary = FLAVOURS[flavour].find()
    if binary is None:
        raise SystemExit(f"{flavour} is not here: {FLAVOURS[flavour].remedy}")
    server = Server(binary)
    try:
        yield server
    finally:
        server.stop()
