"""A WebSocket client for the tests. It reads only when told to, so that it can be slow."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Message, Ping, RejectConnection, Request, TextMessage

from tests.live_mirror import SERVER, Mirror


class ClosedError(Exception):
    """The server has closed the connection, with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Player:
    """One connection. Messages are held against the protocol, and applied to the mirror of their subscription."""

    def __init__(
        self,
        address: tuple[str, int],
        path: str = "/v1/live",
        *,
        headers: dict[str, str] | None = None,
        protocols: tuple[str, ...] = (),
        buffer: int | None = None,
        tls: Any = None,
        pongs: bool = True,
    ) -> None:
        plain = socket.socket()
        if buffer is not None:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        plain.settimeout(20)
        plain.connect(address)
        self.socket = plain if tls is None else tls.wrap_socket(plain, server_hostname="localhost")
        self.ws = WSConnection(ConnectionType.CLIENT)
        self.mirrors: dict[str, Mirror] = {}
        self.times: list[float] = []
        self.pongs = pongs
        self.beats = 0
        self._events: list[Any] = []
        self._text = ""
        told = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        host = f"{address[0]}:{address[1]}"
        self.write(Request(host=host, target=path, subprotocols=list(protocols), extra_headers=told))
        answer = self._next(20)
        if isinstance(answer, RejectConnection):
            self.socket.close()
            raise ConnectionRefusedError(answer.status_code)
        assert isinstance(answer, AcceptConnection), answer
        self.protocol = answer.subprotocol
        assert not answer.extensions

    def __enter__(self) -> Player:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def write(self, event: Any) -> None:
        self.socket.sendall(self.ws.send(event))

    def send(self, message: Any) -> None:
        self.write(Message(data=message if isinstance(message, str | bytes) else json.dumps(message)))

    def subscribe(self, name: str = "s1", **wish: Any) -> Mirror:
        """Subscribe, and give the mirror that what comes is applied to; one that is known already goes on."""
        self.mirrors.setdefault(name, Mirror())
        self.send({"type": "subscribe", "id": name, **wish})
        return self.mirrors[name]

    def _next(self, seconds: float) -> Any:
        deadline = time.monotonic() + seconds
        while not self._events:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.socket.settimeout(left)
            data = self.socket.recv(65_536)
            self.ws.receive_data(data or None)
            self._events.extend(self.ws.events())
        return self._events.pop(0)

    def receive(self, seconds: float = 20.0) -> dict[str, Any]:
        """Give the next message that is no heartbeat."""
        deadline = time.monotonic() + seconds
        while True:
            event = self._next(deadline - time.monotonic())
            if isinstance(event, CloseConnection):
                raise ClosedError(int(event.code))
            if isinstance(event, Ping):
                self.beats += 1
                if self.pongs:
                    self.write(event.response())
            elif isinstance(event, TextMessage):
                self._text += event.data
                if event.message_finished:
                    text, self._text = self._text, ""
                    self.times.append(time.monotonic())
                    if (message := json.loads(text))["type"] != "ping":
                        return self._apply(message)
            else:
                assert not isinstance(event, BytesMessage)

    def _apply(self, message: dict[str, Any]) -> dict[str, Any]:
        mirror = self.mirrors.get(message.get("id", ""))
        if mirror is None:
            SERVER.validate(message)
            return message
        return mirror.apply(message)

    def until(self, check: Any, seconds: float = 20.0) -> None:
        """Receive until something is so."""
        deadline = time.monotonic() + seconds
        while not check():
            self.receive(deadline - time.monotonic())

    def drain(self, seconds: float) -> list[dict[str, Any]]:
        """Give all messages that come within a time."""
        found, deadline = [], time.monotonic() + seconds
        while True:
            try:
                found.append(self.receive(deadline - time.monotonic()))
            except TimeoutError:
                return found

    def closing(self, seconds: float = 20.0) -> tuple[list[dict[str, Any]], int]:
        """Give what comes before the end, and its code."""
        found, deadline = [], time.monotonic() + seconds
        while True:
            try:
                found.append(self.receive(deadline - time.monotonic()))
            except ClosedError as error:
                return found, error.code
