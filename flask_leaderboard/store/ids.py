"""The memory of submission ids: many small hashes that expire by themselves.

An id's bucket follows from a checksum of user and id, so every process looks in the same place. Each bucket begins a new
generation a little less often than once per memory span, at a moment of its own, so that they do not all expire at once.

An id goes to the present generation and is looked up there and in one other. That is the one before, as long as it may hold
an id young enough to be remembered; then, until the next begins, it is the next one, where a process whose clock is ahead
may have put the id.
"""

from __future__ import annotations

import time
from typing import NamedTuple
from zlib import crc32

from .keys import BoardKeys

CLOCK_SKEW_MS = 300_000
"""How far the clocks of two processes may differ without an id counting twice."""


class IdPlace(NamedTuple):
    """Where an id is remembered: its bucket, the other one it may be in, and the ms at which its bucket is forgotten."""

    bucket: str
    other: str
    forget_at: int


class IdMemory:
    """Finds the buckets of submission ids. `span_us` is for how long an id is remembered at least."""

    def __init__(self, keys: BoardKeys, buckets: int, span_us: int) -> None:
        self._keys = keys
        self._buckets = buckets
        self._span_ms = span_us // 1000
        self._trusted_ms = self._span_ms + CLOCK_SKEW_MS
        self._length_ms = self._trusted_ms + CLOCK_SKEW_MS

    def place(self, user_id: str, submission_id: str, now: int) -> IdPlace:
        bucket = crc32(f"{user_id}\t{submission_id}".encode()) % self._buckets
        phase = bucket * self._length_ms // self._buckets
        generation, age = divmod(now // 1000 + phase, self._length_ms)
        other = generation - 1 if age < self._trusted_ms else generation + 1
        ends_at = (generation + 1) * self._length_ms - phase
        forget_at = ends_at + self._trusted_ms + CLOCK_SKEW_MS
        return IdPlace(self._keys.ids(bucket, generation), self._keys.ids(bucket, other), forget_at)

    def remembering(self, user_id: str, submission_id: str, fact: str, taken_at: int) -> list[tuple[str | int, ...]]:
        """Give the commands that remember an id as `submit` did at that time; none where that is forgotten by now."""
        place = self.place(user_id, submission_id, taken_at)
        if place.forget_at <= time.time_ns() // 1_000_000:  # Redis expires keys by the clock on the wall
            return []
        field = f"{user_id}\t{submission_id}"
        return [("HSETNX", place.bucket, field, fact), ("PEXPIREAT", place.bucket, place.forget_at)]
