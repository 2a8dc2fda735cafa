"""Calls of one command in a row, each prepared while the server still works on the one before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from redis import Redis
from redis.exceptions import NoScriptError, ResponseError

from .bundle import manifest
from .calls import Arg, Caller, ScriptCaller, as_error

Call = tuple[Sequence[str], Sequence[Arg]]


class Stream(Protocol):
    """Sends calls, and gives their replies in the same order."""

    def send(self, keys: Sequence[str], args: Sequence[Arg]) -> None: ...

    def receive(self) -> Any: ...


class PlainStream:
    """Makes each call when its reply is asked for; works with every client and caller."""

    def __init__(self, caller: Caller, command: str) -> None:
        self._caller = caller
        self._command = command
        self._waiting: deque[Call] = deque()

    def send(self, keys: Sequence[str], args: Sequence[Arg]) -> None:
        self._waiting.append((keys, args))

    def receive(self) -> Any:
        return self._caller.call(self._command, *self._waiting.popleft())


class ConnectionStream:
    """Sends calls down one connection without waiting, so they are run in order; nothing is sent twice by itself."""

    def __init__(self, client: Any, connection: Any, caller: Caller, command: str) -> None:
        self._client = client
        self._connection = connection
        self._fallback = caller
        self._command = command
        self._sha = manifest()["commands"][command]["sha1"]
        self.waiting: deque[Call] = deque()

    def send(self, keys: Sequence[str], args: Sequence[Arg]) -> None:
        self.waiting.append((keys, args))
        self._connection.send_command("EVALSHA", self._sha, len(keys), *keys, *args)

    def receive(self) -> Any:
        try:
            reply = self._client.parse_response(self._connection, "EVALSHA")
        except NoScriptError:
            # What was sent behind this call is refused in the same way, so the order holds.
            return self._fallback.call(self._command, *self.waiting.popleft())
        except ResponseError as error:
            self.waiting.popleft()
            raise as_error(error) from error
        self.waiting.popleft()
        return reply


@contextmanager
def open_stream(client: Redis, caller: Caller, command: str) -> Iterator[Stream]:
    """Give a stream of calls; replies that nobody asked for are dropped with their connection."""
    if type(client) is not Redis or not isinstance(caller, ScriptCaller):
        yield PlainStream(caller, command)
        return
    pool = client.connection_pool
    connection: Any = pool.get_connection()
    stream = ConnectionStream(client, connection, caller, command)
    try:
        yield stream
    finally:
        if stream.waiting:
            connection.disconnect()
        pool.release(connection)
