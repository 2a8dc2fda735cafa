"""All clients of a process: how many there may be, their heartbeat, and their leave when the process is to end."""

from __future__ import annotations

import random
import signal
import threading
import time
from typing import Protocol

from ...errors import ClientsError

TICK_SECONDS = 0.5
"""How late a restart is told of, at most."""
ROUND_TICKS = 4
"""All clients are tended to within so many of them, a share in each: else that costs as much as to write to all of them."""
IDLE_TICKS = 20
"""After how many of them without a client the thread ends."""
TOLD_AT_ONCE = 200
SPREAD_MS = 2000
PER_CLIENT_MS = 2
"""Clients that are sent away come back over so long, so that the next process is not met by all of them at once."""


class Guest(Protocol):
    """A client as this side sees it."""

    def tend(self, now: float) -> None: ...

    def dismiss(self, retry_in_ms: int) -> None: ...


class Clients:
    """The clients that are connected to this process, tended to by one thread while there are any."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._guests: set[Guest] = set()
        self._lock = threading.Lock()
        self._tender: threading.Thread | None = None
        self._told = 0

    def __len__(self) -> int:
        return len(self._guests)

    def enter(self, guest: Guest) -> None:
        """Take a client in, or refuse it."""
        with self._lock:
            if len(self._guests) >= self._most:
                raise ClientsError(f"this process has {self._most} live clients, as many as it takes: try again later", 5.0)
            self._guests.add(guest)
            awake = self._tender is not None and self._tender.is_alive()
            tender = None if awake else self._make_tender()
        if tender is not None:
            tender.start()

    def breathe(self) -> None:
        """Let others run now and then while thousands are told: under gevent nobody else would."""
        self._told += 1
        if self._told % TOLD_AT_ONCE == 0:
            time.sleep(0)

    def leave(self, guest: Guest) -> None:
        self._guests.discard(guest)

    def _make_tender(self) -> threading.Thread:
        self._tender = threading.Thread(target=self._tend, name="leaderboard-live", daemon=True)
        return self._tender

    def _tend(self) -> None:
        idle = share = 0
        waiting: list[Guest] = []
        while not self._rests(idle):
            time.sleep(TICK_SECONDS)
            guests = list(self._guests)
            idle = 0 if guests else idle + 1
            if guests and is_ending():
                self._dismiss(guests)
            if not waiting:
                waiting, share = guests, len(guests) // ROUND_TICKS + 1
            now = time.monotonic()
            for guest in waiting[:share]:
                guest.tend(now)
            del waiting[:share]

    def _rests(self, idle: int) -> bool:
        with self._lock:
            if idle < IDLE_TICKS or self._guests:
                return False
            self._tender = None
            return True

    def _dismiss(self, guests: list[Guest]) -> None:
        spread = SPREAD_MS + PER_CLIENT_MS * len(guests)
        for guest in guests:
            guest.dismiss(random.randint(SPREAD_MS // 10, spread))  # noqa: S311 - only to spread them


def is_ending() -> bool:
    """Tell whether the gunicorn worker that this is was told to end: its own signal handler belongs to an object that knows."""
    worker = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return getattr(worker, "alive", True) is False
