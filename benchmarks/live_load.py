"""Crowds of live clients at a worker, and what they get and cost."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from typing import Any

import psutil  # type: ignore[import-untyped]

from tests.servers import Server

from . import live_clients, live_players
from .live_app import BOARD, INTERVAL_MS
from .live_clients import Summary
from .live_players import Played
from .measure import ServerClock, say
from .served import TOP, Served, gunicorn

WARM_CLIENTS = 20
WARM_RATE = 200
SPARE_ROOM = 500
GATHER_SECONDS = 120
FOLLOW_TOP = json.dumps({"type": "subscribe", "id": "top", "board": BOARD, "window": "all", "top": 10})
FOLLOW_ONE = json.dumps({"type": "subscribe", "id": "me", "board": BOARD, "window": "all", "user_id": "user{}", "top": 0})
SCRIPTS = ("evalsha", "eval", "fcall", "evalsha_ro", "fcall_ro")
_NUMBER = re.compile(r'("seq": ?)\d+')


@dataclass(frozen=True)
class Found:
    """What one crowd of clients got, and what it cost."""

    summary: Summary
    behind: float
    seconds: float
    worker_cpu: float
    memory_kb: float
    """Of the worker, for each client."""
    scripts: float
    """Calls of scripts by the worker, for each refresh."""

    def delay_ms(self, part: float) -> float:
        delays = sorted(self.summary.delays_ms)
        return delays[min(len(delays) - 1, int(len(delays) * part))]

    @property
    def message_us(self) -> float:
        return self.worker_cpu / max(1, self.summary.messages) * 1e6


class Talk:
    """A process that is given lines of JSON, and answers each with one."""

    def __init__(self, module: str, order: Any) -> None:
        command = [sys.executable, "-m", module]
        self._process = subprocess.Popen(command, cwd=TOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._tell(asdict(order))

    def ask(self, told: Any) -> Any:
        self._tell(told)
        return self.hear()

    def hear(self) -> Any:
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise SystemExit("a process of the benchmark gave up: what it says is above")
        return json.loads(line)

    def end(self) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._process.stdout.close()  # type: ignore[union-attr]

    def _tell(self, told: Any) -> None:
        self._process.stdin.write(json.dumps(told) + "\n")  # type: ignore[union-attr]
        self._process.stdin.flush()  # type: ignore[union-attr]


@contextmanager
def talking(module: str, order: Any) -> Iterator[Talk]:
    talk = Talk(module, order)
    try:
        yield talk
    finally:
        talk.end()


class Site:
    """A worker with live clients, and the Redis behind it."""

    def __init__(self, served: Served, redis: Server) -> None:
        self._port = served.port
        self._redis = redis
        (pid,) = served.workers()
        self._worker = psutil.Process(pid)
        self._clock = ServerClock(pid)
        self._idle = 0.0

    def warm(self) -> None:
        """Let a small crowd come and go, so that what the worker has then is no longer for the first of all clients."""
        self.follow(FOLLOW_TOP, WARM_CLIENTS, 1, WARM_RATE)
        self._idle = self._memory()

    def follow(self, hello: str, clients: int, seconds: float, rate: float, *, all_see_all: bool = True) -> Found:
        """Let clients follow while others play, and see what they get."""
        players = live_players.Order(f"unix://{self._redis.socket}", rate, seconds)
        with talking("benchmarks.live_players", players) as playing:
            playing.hear()
            with self._crowd("/v1/live", hello, clients) as crowd:
                cpu, calls = self._clock.now(), self._calls()
                played = Played(**playing.ask({}))
                summary = Summary(**crowd.ask(played.marks if all_see_all else []))
                calls, cpu = self._calls() - calls - len(played.marks), self._clock.now() - cpu
                return self._found(summary, played.behind, seconds, cpu, calls)

    def broadcast(self, text: str, clients: int, seconds: float) -> Found:
        """Send each interval the same bytes to as many clients of a bare route."""
        marks: list[tuple[float, int]] = []
        with self._crowd("/bare", "", clients) as crowd:
            cpu, start = self._clock.now(), time.monotonic()
            for number in range(1, 1 + round(seconds * 1000 / INTERVAL_MS)):
                time.sleep(max(0.0, start + number * INTERVAL_MS / 1000 - time.monotonic()))
                marks.append((time.monotonic(), number))
                self._ask("POST", "/bare", _NUMBER.sub(rf"\g<1>{number}", text))
            summary = Summary(**crowd.ask(marks))
            return self._found(summary, 0.0, seconds, self._clock.now() - cpu, 0)

    def _found(self, summary: Summary, behind: float, seconds: float, cpu: float, calls: int) -> Found:
        if summary.lost or summary.late or not summary.messages:
            told = f"{summary.lost} clients were lost and {summary.late} numbers did not come to all"
            raise SystemExit(f"of {summary.messages} messages figures mean nothing: {told}. The last one: {summary.sample}")
        each_kb = (self._memory() - self._idle) / summary.clients / 1024
        refreshes = summary.numbers + 1  # once more after the last change
        return Found(summary, behind, seconds, cpu, each_kb, calls / refreshes)

    @contextmanager
    def _crowd(self, path: str, hello: str, clients: int) -> Iterator[Talk]:
        with talking("benchmarks.live_clients", live_clients.Order(self._port, path, clients, hello, GATHER_SECONDS)) as crowd:
            say(f"{clients} clients of {path} came in {crowd.hear()['seconds']:.1f} s")
            yield crowd

    def _calls(self) -> int:
        """Count the calls of scripts, by Redis's own count."""
        stats = self._redis.client.info("commandstats")
        return sum(int(stats.get(f"cmdstat_{name}", {}).get("calls", 0)) for name in SCRIPTS)

    def _memory(self) -> float:
        return float(self._worker.memory_full_info().uss)

    def _ask(self, method: str, path: str, body: str) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, body.encode(), {"Content-Type": "text/plain"})
            if connection.getresponse().status != 200:
                raise SystemExit(f"{path} does not answer")
        finally:
            connection.close()


@contextmanager
def serving(redis: Server, clients: int) -> Iterator[Site]:
    """Serve the app by one gevent worker that has room for so many clients."""
    room = clients + SPARE_ROOM
    app = f"benchmarks.live_app:create_app('unix://{redis.socket}', {room})"
    with gunicorn(app, "--workers", "1", "--worker-class", "gevent", "--worker-connections", str(room)) as served:
        served.wait(_answers)
        yield Site(served, redis)


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
