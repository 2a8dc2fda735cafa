"""The way to Redis: open while it answers. While it does not, a caller now and then tries, and the others hear so at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from redis import exceptions

from ..errors import StoreUnavailableError

UNREACHABLE = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ClusterError,
    exceptions.RedisClusterException,
)


class Gate:
    """Turns a Redis that is away into our error, and after `failures` of them in a row closes for `rest_seconds`.

    Use it as a context around what talks to Redis. When the rest is over, one caller is let through to try, and the rest begins
    anew: so a dead Redis holds one thread at a time, not all of them.
    """

    def __init__(self, *, failures: int = 3, rest_seconds: float = 1.0, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._most_failures = failures
        self._rest = rest_seconds
        self._monotonic = monotonic
        self._failed = 0
        self._closed_until = 0.0

    def __enter__(self) -> None:
        if self._failed < self._most_failures:
            return
        now = self._monotonic()
        if now < self._closed_until:
            raise StoreUnavailableError("Redis did not answer a moment ago: try again shortly", self._closed_until - now)
        self._closed_until = now + self._rest

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, exceptions.MaxConnectionsError):
            raise StoreUnavailableError("all connections to Redis are in use: raise max_connections", self._rest) from error
        if isinstance(error, UNREACHABLE):
            self._failed += 1
            self._closed_until = self._monotonic() + self._rest
            raise StoreUnavailableError(
                f"Redis can't be reached ({_told(error)}): see that it runs and that LEADERBOARD_REDIS_URL is right", self._rest
            ) from error
        if error is None or isinstance(error, exceptions.ResponseError):
            self._failed = 0


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
