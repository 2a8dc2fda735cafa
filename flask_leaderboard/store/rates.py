"""The count of a user's submissions in a minute: many small hashes that expire by themselves."""

from __future__ import annotations

from zlib import crc32

from .keys import BoardKeys

BUCKETS = 256
MINUTE_US = 60_000_000


class RateCounts:
    """Finds the hash that counts a user's submissions of a minute."""

    def __init__(self, keys: BoardKeys) -> None:
        self._keys = keys

    def place(self, user_id: str, now: int) -> str:
        return self._keys.rate(crc32(user_id.encode()) % BUCKETS, now // MINUTE_US)


def seconds_left(now: int) -> float:
    """Tell how long the minute still lasts."""
    return (MINUTE_US - now % MINUTE_US) / 1_000_000
