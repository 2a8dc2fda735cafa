"""A cache of a moment, so that a thousand readers of the same page cost one call to Redis."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class _Slot(Generic[T]):
    """A value with the time until which it is fresh: one tuple, so that readers need no lock."""

    __slots__ = ("kept", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: tuple[T, float] | None = None


class MicroCache(Generic[T]):
    """Keeps values for `milliseconds`. Of those who ask for one that is not there, the first makes it and the others wait."""

    MOST_SLOTS = 1000

    def __init__(self, milliseconds: int) -> None:
        self._seconds = milliseconds / 1000
        self._slots: dict[Hashable, _Slot[T]] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Give the value of a key, made anew where it is older than a moment."""
        if not self._seconds:
            return make()
        slot = self._slots.get(key)
        if slot is None:
            if len(self._slots) >= self.MOST_SLOTS:
                self._slots.clear()
            slot = self._slots.setdefault(key, _Slot())
        kept = slot.kept
        if kept is None or time.monotonic() >= kept[1]:
            kept = self._renew(slot, make)
        return kept[0]

    def _renew(self, slot: _Slot[T], make: Callable[[], T]) -> tuple[T, float]:
        with slot.lock:
            kept, now = slot.kept, time.monotonic()
            if kept is None or now >= kept[1]:
                kept = slot.kept = (make(), now + self._seconds)
            return kept
