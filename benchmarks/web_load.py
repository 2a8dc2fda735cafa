"""An app under gunicorn, and load on it: as much as it takes by wrk, or half of that on a schedule."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from http.client import HTTPConnection
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from tests.servers import Server

from .measure import ServerClock, say
from .open_loop import Latencies, Order
from .served import TOP, gunicorn
from .web_app import BOARD

WORKERS = 2
THREADS = 16
WRK_THREADS = 2
CLASSES = {"gevent": ["--worker-class", "gevent"], "gthread": ["--worker-class", "gthread", "--threads", str(THREADS)]}
SCRIPT = Path(__file__).parent / "wrk" / "requests.lua"
LEAST_SHARE = 0.4
"""How much CPU a worker must have had in a slice, beside the busier one."""
MOST_TRIES = 2
STEP = 0.1
"""For so many seconds the workers must do nothing, and the board count nothing, for a slice to be over."""


@dataclass(frozen=True)
class Load:
    """One kind of request: see `wrk/requests.lua`. `counts` is how many submissions the board counts for each."""

    kind: str
    path: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    connections: int = 64
    users: int = 10_000
    batch: int = 1
    ranks: bool = True
    counts: int = 0

    def with_header(self, name: str, value: str) -> Load:
        return replace(self, headers=self.headers | {name: value})


@dataclass(frozen=True)
class Slice:
    """What was done in one slice: requests (or submissions), for how long, and the CPU seconds of workers and Redis."""

    done: int
    seconds: float
    workers: float
    redis: float

    @property
    def rate(self) -> float:
        return self.done / self.seconds

    @property
    def workers_us(self) -> float:
        return self.workers / self.done * 1e6

    @property
    def redis_us(self) -> float:
        return self.redis / self.done * 1e6


class Site:
    """A gunicorn with its workers, and the Redis behind it."""

    def __init__(self, port: int, master: int, redis: Server) -> None:
        self.port = port
        self._master = psutil.Process(master)
        self._redis = redis
        self._redis_clock = ServerClock(redis.process.pid)
        self._pids = self._children()
        self._clocks = [ServerClock(pid) for pid in self._pids]

    def saturate(self, load: Load, seconds: int) -> Slice:
        """Send as much as the workers take; once more where chance gave one of them hardly any of the connections."""
        for _ in range(MOST_TRIES):
            before = [clock.now() for clock in self._clocks]
            found = self._saturate(load, seconds)
            shares = [clock.now() - then for clock, then in zip(self._clocks, before, strict=True)]
            if min(shares) > max(shares) * LEAST_SHARE:
                break
            say(f"{load.path}: the workers had {', '.join(f'{share:.1f} s' for share in shares)} of CPU, so it is run again")
        return found

    def _saturate(self, load: Load, seconds: int) -> Slice:
        counted, workers, redis, start = self._counted(), self._workers(), self._redis_clock.now(), time.perf_counter()
        found = self._wrk(load, seconds)
        quiet = self._settle() - start
        workers, redis, counted = self._workers() - workers, self._redis_clock.now() - redis, self._counted() - counted
        requests = int(found["requests"])
        self._check(load, requests, counted, spare=load.connections)
        if load.batch > 1 and load.counts:  # so few requests that those cut off at the end matter: they were counted too
            return Slice(counted, quiet, workers, redis)
        return Slice(requests * load.batch, found["seconds"], workers, redis)

    def pace(self, load: Load, rate: float, seconds: float) -> Latencies:
        """Send so many requests a second from a process of its own, and give the latencies."""
        counted, connections = self._counted(), min(load.connections, 32)
        given = {name: value for name, value in asdict(load).items() if name != "counts"} | {"connections": connections}
        order = Order(port=self.port, rate=rate, seconds=seconds, workers=WORKERS, tag=secrets.token_hex(4), **given)
        command = [sys.executable, "-m", "benchmarks.open_loop"]
        ran = subprocess.run(
            command, input=json.dumps(asdict(order)), capture_output=True, text=True, cwd=TOP, timeout=seconds + 60, check=True
        )
        found = Latencies(**json.loads(ran.stdout))
        self._settle()
        if found.unexpected:
            raise SystemExit(f"{load.path}: answers were not as expected, so latencies mean nothing: {found.unexpected}")
        self._check(load, found.requests, self._counted() - counted, spare=0)
        return found

    def ask(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
        """Send one GET."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path, headers=headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def _wrk(self, load: Load, seconds: int) -> dict[str, float]:
        if load.kind == "fixed" and self.ask(load.path, load.headers)[0] != load.status:
            raise SystemExit(f"{load.path} does not answer with {load.status}, so its speed means nothing")
        headers = [part for name, value in load.headers.items() for part in ("-H", f"{name}: {value}")]
        own = [load.kind, secrets.token_hex(4), str(load.users), str(load.batch), str(load.ranks).lower()]
        url = f"http://127.0.0.1:{self.port}{load.path}"
        limits = ["-t", str(WRK_THREADS), "-c", str(load.connections), "-d", f"{seconds}s", "--timeout", "30s"]
        command = ["wrk", *limits, "-s", str(SCRIPT), *headers, url, "--", *own]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=True)
        found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
        wrong = {name: found[name] for name in ("connect", "read", "write", "timeout", "status") if found[name]}
        if wrong or not found["requests"]:
            raise SystemExit(f"{load.path}: {found['requests']:.0f} requests with errors {wrong}: a figure would mean nothing")
        if load.status == 304 and found["bytes"] / found["requests"] > 400:
            raise SystemExit(f"{load.path}: the answers have bodies, so they were not 304 all through")
        return found

    def _check(self, load: Load, requests: int, counted: int, spare: int) -> None:
        """See that the board counted what was answered; requests cut off by wrk's end may have been counted too."""
        least, most = requests * load.counts, (requests + spare) * load.counts
        if not least <= counted <= most:
            raise SystemExit(f"{load.path}: {requests} answers, but the board counted {counted} and not {least} to {most}")
        if self._children() != self._pids:
            raise SystemExit("a worker was started anew in the middle of a slice: its figure means nothing")

    def _settle(self) -> float:
        """Wait until the workers have nothing left to do; give the time since when."""
        while True:
            start, before, counted = time.perf_counter(), self._workers(), self._counted()
            time.sleep(STEP)
            if self._workers() - before < STEP / 20 and self._counted() == counted:
                return start

    def _workers(self) -> float:
        return sum(clock.now() for clock in self._clocks)

    def _counted(self) -> int:
        """Give the number of the board's last event."""
        return int(self._redis.client.hget(f"lb1:{{{BOARD}}}", "seq") or 0)

    def _children(self) -> list[int]:
        return sorted(child.pid for child in self._master.children())


@contextmanager
def serving(worker_class: str, cache_ms: int, redis: Server, database_url: str | None = None) -> Iterator[Site]:
    """Serve the app for the time of a block; with a log where a database is given."""
    app = f"benchmarks.web_app:create_app('unix://{redis.socket}', {cache_ms}, {database_url!r})"
    with gunicorn(app, "--workers", str(WORKERS), *CLASSES[worker_class]) as served:
        answered = set[int]()

        def all_met(port: int) -> bool:
            answered.update(_workers_met(port))
            return len(answered) == WORKERS

        served.wait(all_met)
        time.sleep(0.5)
        yield Site(served.port, served.process.pid, redis)


def _workers_met(port: int) -> set[int]:
    """Give the workers that answer on a handful of connections open at once, so that no single one takes them all."""
    connections = [HTTPConnection("127.0.0.1", port, timeout=2) for _ in range(8)]
    try:
        for connection in connections:
            connection.request("GET", "/worker")
        return {int(connection.getresponse().read()) for connection in connections}
    except OSError:
        return set()
    finally:
        for connection in connections:
            connection.close()
