"""So much a minute, and not more."""

from __future__ import annotations

import time


class Budget:
    """Lets through so many a minute; what was not used up is there at once, up to a minute's worth."""

    __slots__ = ("_at", "_left", "_most")

    def __init__(self, per_minute: int) -> None:
        self._most = self._left = float(per_minute)
        self._at = time.monotonic()

    def spend(self, amount: float = 1.0) -> bool:
        """Tell whether so much is still left, and take it."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._most / 60)
        self._at = now
        self._left -= amount
        return self._left >= 0
