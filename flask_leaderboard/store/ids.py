"""The memory of submission ids: many small hashes that expire by themselves.

An id's bucket follows from a checksum of user and id, so every process looks in the same place. Each bucket begins a new
generation once per memory span, at a moment of its own, so that they do not all expire at once; an id is looked up in
the present generation and the one before.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from .keys import BoardKeys


class IdPlace(NamedTuple):
    """Where an id is remembered: the bucket it goes to, the one before in time, and the ms at which the first is forgotten."""

    newer: str
    older: str
    forget_at: int


class IdMemory:
    """Finds the buckets of submission ids. `span_us` is for how long an id is remembered at least."""

    def __init__(self, keys: BoardKeys, buckets: int, span_us: int) -> None:
        self._keys = keys
        self._buckets = buckets
        self._span_ms = span_us // 1000

    def place(self, user_id: str, submission_id: str, now: int) -> IdPlace:
        bucket = crc32(f"{user_id}\t{submission_id}".encode()) % self._buckets
        phase = bucket * self._span_ms // self._buckets
        generation = (now // 1000 + phase) // self._span_ms
        return IdPlace(
            self._keys.ids(bucket, generation),
            self._keys.ids(bucket, generation - 1),
            (generation + 2) * self._span_ms - phase,
        )
