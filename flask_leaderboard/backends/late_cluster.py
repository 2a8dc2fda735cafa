"""A cluster's client that is made when it is first needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from redis import exceptions
from redis.cluster import RedisCluster


class LateCluster:
    """Stands for a client of redis-py, which asks for the nodes as soon as it is made: a cluster that is away then would keep the
    app from serving what it can without it. Threads that come together make one, or fail together."""

    decode_responses = False

    def __init__(self, make: Callable[[], RedisCluster]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._client: RedisCluster | None = None
        self._failure = ""
        self._failed_at = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client or self._made(time.monotonic()), name)

    def get_encoder(self) -> LateCluster:
        """Tell how replies come, which is known without any node."""
        return self

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _made(self, asked: float) -> RedisCluster:
        with self._lock:
            if self._client is None:
                if self._failed_at >= asked:
                    raise exceptions.ConnectionError(self._failure)
                try:
                    self._client = self._make()
                except exceptions.RedisError as error:
                    self._failure, self._failed_at = str(error), time.monotonic()
                    raise
            return self._client
