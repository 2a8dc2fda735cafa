"""A cache of a moment, so that a thousand readers of the same page cost one call to Redis."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class _Kept(NamedTuple, Generic[T]):
    """A value with the time at which it was made: one tuple, so that readers need no lock."""

    value: T
    made: float
    until: float


class _Slot(Generic[T]):
    """The place of a value."""

    __slots__ = ("failed", "kept", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: _Kept[T] | None = None
        self.failed: tuple[Exception, float] | None = None


class MicroCache(Generic[T]):
    """Keeps values for `milliseconds`. Of those who ask for one that is not there, the first makes it and the others wait."""

    MOST_SLOTS = 256

    def __init__(self, milliseconds: int) -> None:
        self._seconds = milliseconds / 1000
        self._slots: dict[Hashable, _Slot[T]] = {}
        self._process = os.getpid()
        self._sweep_at = 0.0

    def get(self, key: Hashable, make: Callable[[], T], lasts: Callable[[T], bool] = lambda value: True) -> T:
        """Give the value of a key, made anew where it is older than a moment.

        One that does not last is given to those who waited for it, and to nobody after.
        """
        if not self._seconds:
            return make()
        if self._process != os.getpid():  # a thread of the parent may have held a lock when this child was forked
            self._slots, self._process = {}, os.getpid()
        asked = time.monotonic()
        slot = self._slots.get(key) or self._new_slot(key, asked)
        kept = slot.kept
        if kept is None or asked >= kept.until:
            try:
                kept = self._renew(slot, make, asked, lasts)
            except Exception:
                self._slots.pop(key, None)  # failures must not push out what others read
                raise
        return kept.value

    def _renew(self, slot: _Slot[T], make: Callable[[], T], asked: float, lasts: Callable[[T], bool]) -> _Kept[T]:
        """Make a value, unless one has been made, or could not be, since it was asked for."""
        with slot.lock:
            kept = slot.kept
            if kept is not None and kept.made >= asked:
                return kept
            if slot.failed is not None and slot.failed[1] >= asked:
                raise slot.failed[0]
            try:
                value, now = make(), time.monotonic()
                kept = slot.kept = _Kept(value, now, now + self._seconds if lasts(value) else now)
            except Exception as error:
                slot.failed = (error, time.monotonic())
                raise
            return kept

    def _new_slot(self, key: Hashable, now: float) -> _Slot[T]:
        """Give a slot for a key, after those whose values are too old were let go; where there are still too many, all."""
        if now >= self._sweep_at:
            self._sweep_at = now + self._seconds
            kept = list(self._slots.items())
            self._slots = {known: slot for known, slot in kept if slot.kept is None or now < slot.kept.until}
        if len(self._slots) >= self.MOST_SLOTS:
            self._slots = {}
        return self._slots.setdefault(key, _Slot())
