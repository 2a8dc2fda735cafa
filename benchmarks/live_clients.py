"""Live clients: ``python -m benchmarks.live_clients``, with the order as a line of JSON on stdin.

All of them are in one process, and cheap: plain sockets, and of each message only its kind and its number are read. Once all are
there it prints a line; a second line on stdin has the marks (moments, and the numbers of the board at them), to which it answers
with what came.
"""

from __future__ import annotations

import json
import re
import resource
import selectors
import socket
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from .live_frames import CLOSE, PING, PONG, TEXT, frame_at, masked, upgrade

CONNECTING = 200
"""So many connections are opened at a time."""
PORTS = 20_000
"""So many connections have one address of the loopback network."""
READ_BYTES = 65_536
SETTLE_SECONDS, TRAIL_SECONDS = 10.0, 1.5
_NUMBER = re.compile(rb'"seq": ?(\d+)')
_KIND = re.compile(rb'"type": ?"(\w+)"')


@dataclass(frozen=True)
class Order:
    """Who connects, and what each sends first: `{}` in it is the number of the client. Nothing is awaited where it is empty."""

    port: int
    path: str
    clients: int
    hello: str
    seconds: float
    """When to give up waiting for all of them."""


@dataclass
class Summary:
    """What came from the moment all were there."""

    clients: int
    messages: int
    most_messages: int
    """By the client that got the most."""
    most_span: float
    """Seconds from the first to the last of them."""
    mean_bytes: float
    numbers: int
    """How many different numbers messages had."""
    delays_ms: list[float]
    """For each mark, how long after it the last client had a message with its number or a later one."""
    late: int
    """Marks that never came to all."""
    kinds: dict[str, int]
    cpu: float
    lost: int
    sample: str


class Client:
    """One connection."""

    __slots__ = ("buffer", "came", "name", "numbers", "opened", "socket")

    def __init__(self, name: int, sock: socket.socket) -> None:
        self.name = name
        self.socket = sock
        self.buffer = b""
        self.opened = False
        self.came: list[float] = []
        self.numbers: list[int] = []

    def has(self, number: int) -> bool:
        return bool(self.numbers) and self.numbers[-1] >= number

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Take bytes, and give the frames that are whole."""
        buffer = self.buffer + data if self.buffer else data
        start = 0
        while (frame := frame_at(buffer, start)) is not None:
            opcode, body, start = frame
            yield opcode, body
        self.buffer = buffer[start:]


@dataclass
class Crowd:
    """All clients, and what they got."""

    order: Order
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    clients: list[Client] = field(default_factory=list)
    there: int = 0
    opening: int = 0
    lost: int = 0
    counting: bool = False
    kinds: Counter[str] = field(default_factory=Counter)
    size: int = 0
    sample: bytes = b""

    def gather(self) -> None:
        """Connect all, and wait until each has got its first message (or, where it sent none, its connection)."""
        deadline = time.monotonic() + self.order.seconds
        while self.there < self.order.clients:
            while self.opening < CONNECTING and len(self.clients) < self.order.clients:
                self._connect(len(self.clients))
            self.turn(1.0)
            if time.monotonic() > deadline or self.lost:
                raise SystemExit(f"{self.there} of {self.order.clients} clients are there, {self.lost} were turned away")

    def count_until_told(self) -> str:
        """Take messages until a line comes on stdin, and give it."""
        self.counting = True
        self.selector.register(sys.stdin, selectors.EVENT_READ)
        while not self.turn(5.0):
            pass
        self.selector.unregister(sys.stdin)
        return sys.stdin.readline()

    def settle(self, number: int) -> None:
        """Take what is still on its way, until all have a number or later, or nothing can be on its way any more."""
        deadline = time.monotonic() + (SETTLE_SECONDS if number else TRAIL_SECONDS)
        while time.monotonic() < deadline and not (number and all(client.has(number) for client in self.clients)):
            self.turn(0.1)

    def turn(self, seconds: float) -> bool:
        """Read what has come; tell whether stdin has something."""
        told = False
        for key, _ in self.selector.select(seconds):
            if key.data is None:
                told = True
            else:
                self._read(key.data)
        return told

    def _connect(self, number: int) -> None:
        sock = socket.socket()
        sock.bind((f"127.0.0.{1 + number // PORTS}", 0))
        sock.connect(("127.0.0.1", self.order.port))
        sock.sendall(upgrade(self.order.path, self.order.port))
        sock.setblocking(False)
        client = Client(number, sock)
        self.clients.append(client)
        self.opening += 1
        self.selector.register(sock, selectors.EVENT_READ, client)

    def _read(self, client: Client) -> None:
        try:
            data = client.socket.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose(client)
            return
        if not client.opened:
            data = self._open(client, data)
        now = time.monotonic()
        for opcode, body in client.feed(data):
            self._take(client, opcode, body, now)

    def _open(self, client: Client, data: bytes) -> bytes:
        """Read the answer to the upgrade, and send the first message."""
        data = client.buffer + data
        client.buffer = b""
        head, found, rest = data.partition(b"\r\n\r\n")
        if not found:
            client.buffer = data
            return b""
        if not head.startswith(b"HTTP/1.1 101"):
            raise SystemExit(f"a client was turned away: {data[:500].decode(errors='replace')}")
        client.opened = True
        if self.order.hello:
            hello = self.order.hello.replace("{}", str(client.name))
            client.socket.sendall(masked(TEXT, hello.encode()))
        else:
            self._arrive()
        return rest

    def _take(self, client: Client, opcode: int, body: bytes, now: float) -> None:
        if opcode == PING:
            client.socket.sendall(masked(PONG, body))
        elif opcode == CLOSE:
            self.sample = body
            self._lose(client)
        elif opcode == TEXT:
            self._note(client, body, now)

    def _note(self, client: Client, body: bytes, now: float) -> None:
        number = _NUMBER.search(body)
        if number is None:
            self._note_other(body)
        elif self.counting:
            client.came.append(now)
            client.numbers.append(int(number[1]))
            self._describe(body)
        elif not client.came:
            client.came = [now]
            self._arrive()

    def _note_other(self, body: bytes) -> None:
        kind = _KIND.search(body)
        if kind and kind[1] in (b"error", b"bye"):
            raise SystemExit(f"a client was told: {body.decode()}")

    def _describe(self, body: bytes) -> None:
        kind = _KIND.search(body)
        self.kinds[kind[1].decode() if kind else "?"] += 1
        self.size += len(body)
        self.sample = body

    def _arrive(self) -> None:
        self.there += 1
        self.opening -= 1

    def _lose(self, client: Client) -> None:
        self.selector.unregister(client.socket)
        client.socket.close()
        self.lost += 1

    def forget(self) -> None:
        """Begin to count anew."""
        for client in self.clients:
            client.came, client.numbers = [], []

    def summary(self, marks: Sequence[tuple[float, int]], cpu: float) -> Summary:
        delays = list(delays_of(self.clients, marks))
        most = max(self.clients, key=lambda client: len(client.came))
        messages = sum(self.kinds.values())
        return Summary(
            clients=len(self.clients),
            messages=messages,
            most_messages=len(most.came),
            most_span=most.came[-1] - most.came[0] if most.came else 0.0,
            mean_bytes=self.size / max(1, messages),
            numbers=len({number for client in self.clients for number in client.numbers}),
            delays_ms=[delay * 1000 for delay in delays if delay is not None],
            late=delays.count(None),
            kinds=dict(self.kinds),
            cpu=cpu,
            lost=self.lost,
            sample=self.sample.decode(),
        )


def delays_of(clients: Iterable[Client], marks: Sequence[tuple[float, int]]) -> Iterator[float | None]:
    """Give for each mark how long the last client waited for its number."""
    last: list[float | None] = [0.0] * len(marks)
    for client in clients:
        for place, (moment, number) in enumerate(marks):
            found = bisect_left(client.numbers, number)
            known = last[place]
            if found == len(client.numbers):
                last[place] = None
            elif known is not None:
                last[place] = max(known, client.came[found] - moment)
    yield from last


def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    crowd = Crowd(Order(**json.loads(sys.stdin.readline())))
    started = time.monotonic()
    crowd.gather()
    crowd.forget()
    print(json.dumps({"seconds": time.monotonic() - started}), flush=True)
    cpu = time.process_time()
    marks = json.loads(crowd.count_until_told())
    crowd.settle(marks[-1][1] if marks else 0)
    print(json.dumps(asdict(crowd.summary(marks, time.process_time() - cpu))), flush=True)


if __name__ == "__main__":
    main()
