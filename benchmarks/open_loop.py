"""Latency at a fixed rate: ``python -m benchmarks.open_loop``, with the order as JSON on stdin, and the answer on stdout.

Requests have a fixed schedule that does not wait for answers, and a latency counts from the scheduled moment: while the
server stalls, requests that should have been sent count as waiting, whether or not a connection was free to send them.
"""

from __future__ import annotations

import json
import random
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import count

HEAD_START = 0.1


@dataclass(frozen=True)
class Order:
    """What is sent. The kinds are those of `wrk/requests.lua`; `tag` tells the ids of one run from those of another."""

    port: int
    kind: str
    path: str
    headers: dict[str, str]
    status: int
    rate: float
    seconds: float
    connections: int
    workers: int
    tag: str
    users: int
    batch: int
    ranks: bool

    @property
    def total(self) -> int:
        return max(1, round(self.rate * self.seconds))


@dataclass
class Latencies:
    """What came back: milliseconds from the scheduled moments, and the answers that were not the expected ones."""

    requests: int
    p50_ms: float
    p99_ms: float
    unexpected: list[str] = field(default_factory=list)


def write_requests(order: Order) -> list[bytes]:
    """Write all requests before the first is sent, so that writing them takes no time from the schedule."""
    ids = count()
    return [_request(order, ids) for _ in range(order.total)]


def _request(order: Order, ids: Iterator[int]) -> bytes:
    if order.kind == "fixed":
        return _http("GET", order.path, order.headers)
    if order.kind == "user":
        return _http("GET", f"{order.path}{random.randrange(order.users)}", order.headers)
    if order.kind == "submission":
        return _http("POST", order.path, order.headers, _submission(order, ids))
    items = [_submission(order, ids) for _ in range(order.batch)]
    return _http("POST", order.path, order.headers, {"ranks": order.ranks, "submissions": items})


def _submission(order: Order, ids: Iterator[int]) -> dict[str, object]:
    user, points = random.randrange(order.users), random.randint(1, 100)
    return {"user_id": f"user{user}", "points": points, "submission_id": f"{order.tag}-{next(ids)}"}


def _http(method: str, path: str, headers: dict[str, str], content: object = None) -> bytes:
    body = b"" if content is None else json.dumps(content, separators=(",", ":")).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


class Connection:
    """A connection that is kept alive."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request, and give status and body of the answer."""
        self._socket.sendall(request)
        head, _, body = self._read_until(lambda data: b"\r\n\r\n" in data).partition(b"\r\n\r\n")
        status, missing = int(head[9:12]), _content_length(head) - len(body)
        return status, body + self._read_until(lambda data: len(data) >= missing)

    def close(self) -> None:
        self._socket.close()

    def _read_until(self, complete: Callable[[bytes], bool]) -> bytes:
        data = b""
        while not complete(data):
            part = self._socket.recv(65536)
            if not part:
                raise ConnectionError("the server hung up")
            data += part
        return data


def _content_length(head: bytes) -> int:
    _, _, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if rest else 0


def connect(order: Order) -> list[Connection]:
    """Open connections, as many to each worker: left to chance, one may get nearly all, and half load is all it can do."""
    share = max(1, order.connections // order.workers)
    kept: dict[bytes, list[Connection]] = {}
    for _ in range(50 * order.connections):
        connection = Connection(order.port)
        _, worker = connection.ask(_http("GET", "/worker", {}))
        shared = kept.setdefault(worker, [])
        if len(shared) < share:
            shared.append(connection)
        else:
            connection.close()
        if sum(map(len, kept.values())) == share * order.workers:
            return [connection for shared in kept.values() for connection in shared]
    raise SystemExit("the connections could not be shared out: a worker takes none")


def send_all(order: Order) -> Latencies:
    """Send the requests when they are due, each by the next thread that is free."""
    requests, turns, lock = write_requests(order), count(), threading.Lock()
    latencies: list[float] = []
    unexpected: list[str] = []
    connections = connect(order)
    start = time.perf_counter() + HEAD_START

    def work(connection: Connection) -> None:
        while True:
            with lock:
                turn = next(turns)
            if turn >= len(requests):
                return
            due = start + turn / order.rate
            time.sleep(max(0.0, due - time.perf_counter()))
            try:
                status, _ = connection.ask(requests[turn])
            except OSError as error:
                unexpected.append(f"{type(error).__name__}: {error}")
                return
            latencies.append(time.perf_counter() - due)
            if status != order.status:
                unexpected.append(f"status {status}")

    threads = [threading.Thread(target=work, args=(connection,)) for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _summed_up(latencies, unexpected)


def _summed_up(latencies: list[float], unexpected: list[str]) -> Latencies:
    known = sorted(latencies) or [0.0]
    p99 = known[min(len(known) - 1, len(known) * 99 // 100)]
    return Latencies(len(latencies), statistics.median(known) * 1000, p99 * 1000, unexpected[:5])


if __name__ == "__main__":
    json.dump(asdict(send_all(Order(**json.load(sys.stdin)))), sys.stdout)
