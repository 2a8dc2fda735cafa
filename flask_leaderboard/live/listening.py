"""Hearing of changes: one subscription for a process, made anew whenever it breaks."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import RedisError

from ..errors import LeaderboardError

SILENCE_SECONDS = 5.0
"""After so long without a word the server is asked for one, and after as long again it is given up."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
MOST_AT_ONCE = 1000
_logger = logging.getLogger("flask_leaderboard")


class Signal(NamedTuple):
    """What was heard on a channel: the entries keys of rankings that have changed; None where any may have."""

    channel: str
    entries: frozenset[str] | None


class Listener:
    """Listens on channels. It belongs to one thread.

    A subscription does not recover by itself, and what was signalled meanwhile is lost. So a new client makes a new one, and
    whenever one begins any ranking may have changed.
    """

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._client: Any = None
        self._subscription: Any = None
        self._channels: frozenset[str] = frozenset()
        self._heard_at = 0.0
        self._asked = False
        self._rest_until = 0.0
        self._pause = FIRST_PAUSE

    def hear(self, channels: frozenset[str], seconds: float) -> list[Signal]:
        """Give the signals that come on these channels; wait for the first no longer than so many seconds."""
        rest = self._rest_until - time.monotonic()
        if rest > 0 or not channels:
            time.sleep(min(seconds, rest) if rest > 0 else seconds)
            return []
        try:
            self._tune(channels)
            signals = list(self._receive(seconds))
        except (RedisError, OSError, LeaderboardError) as error:
            self._give_up(error)
            return []
        return signals

    def close(self) -> None:
        """End the subscription; the next call makes a new one."""
        subscription, client = self._subscription, self._client
        self._subscription = self._client = None
        self._channels = frozenset()
        for closing in (subscription, client):
            try:
                if closing is not None:
                    closing.close()
            except (RedisError, OSError):
                pass  # it is being closed because it is broken

    def _tune(self, channels: frozenset[str]) -> None:
        if self._subscription is None:
            self._client = self._connect()
            self._subscription = self._client.pubsub()
            self._spoken()
        new, old = channels - self._channels, self._channels - channels
        if new:
            self._subscription.subscribe(*sorted(new))
        if old:
            self._subscription.unsubscribe(*sorted(old))
        self._channels = channels

    def _receive(self, seconds: float) -> Iterator[Signal]:
        message = self._subscription.get_message(timeout=seconds)
        if message is None:
            self._mind_silence()
        for _ in range(MOST_AT_ONCE):
            if message is None:
                return
            self._spoken()
            if message["type"] == "subscribe":
                self._pause = FIRST_PAUSE
                yield Signal(message["channel"].decode(), None)
            elif message["type"] == "message":
                yield _read(message["channel"].decode(), message["data"])
            message = self._subscription.get_message(timeout=0)

    def _spoken(self) -> None:
        self._heard_at, self._asked = time.monotonic(), False

    def _mind_silence(self) -> None:
        """Ask a silent server for a word: a connection can be gone without anybody being told."""
        if time.monotonic() - self._heard_at < SILENCE_SECONDS:
            return
        if self._asked:
            raise ConnectionLost("the server has not spoken for a while")
        self._subscription.ping()
        self._heard_at, self._asked = time.monotonic(), True

    def _give_up(self, error: Exception) -> None:
        if self._pause == FIRST_PAUSE:  # once, not for every try
            _logger.warning("changes are not heard of, the subscription is made anew: %s", error)
        self.close()
        self._rest_until = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)


def _read(channel: str, data: bytes) -> Signal:
    """Read ``number key key``."""
    _, *entries = data.decode().split(" ")
    return Signal(channel, frozenset(entries) or None)
