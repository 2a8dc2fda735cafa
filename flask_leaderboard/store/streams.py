"""Calls of one command in a row, each prepared while the server still works on the one before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from redis import Redis
from redis.exceptions import ResponseError

from .calls import Arg, Caller, as_error, pack


class Stream(Protocol):
    """Sends calls, and gives their replies in the same order."""

    def send(self, keys: Sequence[str], args: Sequence[Arg]) -> None: ...

    def receive(self) -> Any: ...


class PlainStream:
    """Makes each call when its reply is asked for: for clients of a cluster, whose connections are their own affair."""

    def __init__(self, caller: Caller, command: str) -> None:
        self._caller = caller
        self._command = command
        self._waiting: deque[tuple[Sequence[str], Sequence[Arg]]] = deque()

    def send(self, keys: Sequence[str], args: Sequence[Arg]) -> None:
        self._waiting.append((keys, args))

    def receive(self) -> Any:
        return self._caller.call(self._command, *self._waiting.popleft())


class ConnectionStream:
    """Sends calls down one connection without waiting, so they are run in order. What may have been run is not sent again."""

    def __init__(self, connection: Any, caller: Caller, command: str) -> None:
        self._connection = connection
        self._caller = caller
        self._command = command
        self._surely_loaded = False
        self.in_flight: deque[bytes] = deque()

    def send(self, keys: Sequence[str], args: Sequence[Arg]) -> None:
        call = pack((*self._caller.dialect.words(self._command), len(keys), *keys, *args))
        self.in_flight.append(call)
        if len(self.in_flight) == 1 or self._surely_loaded:
            self._connection.send_packed_command([call])

    def receive(self) -> Any:
        try:
            reply = self._answer()
        except ResponseError as error:
            self._go_on()
            raise as_error(error) from error
        self._go_on()
        return reply

    def _answer(self) -> Any:
        try:
            return self._connection.read_response()
        except ResponseError as error:
            if not self._caller.dialect.is_missing(error):
                raise
            if self._surely_loaded:
                self._take_back(error)
        self._connection.send_packed_command([pack(self._caller.dialect.loading(self._command))])
        self._connection.read_response()
        self._connection.send_packed_command([self.in_flight[0]])
        return self._connection.read_response()

    def _take_back(self, missing: ResponseError) -> None:
        """See that what was sent behind a call did not run either, for all of it to be sent again in its order."""
        for _ in list(self.in_flight)[1:]:
            try:
                self._connection.read_response()
            except ResponseError as error:
                if self._caller.dialect.is_missing(error):
                    continue
            raise missing
        self._surely_loaded = False

    def _go_on(self) -> None:
        """Let go what waited for the first reply: sent behind a call that is not loaded, it would be run before it."""
        self.in_flight.popleft()
        if not self._surely_loaded:
            self._surely_loaded = True
            if self.in_flight:
                self._connection.send_packed_command(list(self.in_flight))


@contextmanager
def open_stream(caller: Caller, command: str) -> Iterator[Stream]:
    """Give a stream of calls; replies that nobody asked for are dropped with their connection."""
    if not isinstance(caller.client, Redis):
        yield PlainStream(caller, command)
        return
    pool = caller.client.connection_pool
    with caller.gate:
        connection: Any = pool.get_connection()
        caller.connects.see(connection)
        stream = ConnectionStream(connection, caller, command)
        try:
            yield stream
        finally:
            if stream.in_flight:
                connection.disconnect()
            pool.release(connection)
