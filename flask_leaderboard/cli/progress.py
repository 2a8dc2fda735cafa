"""How far a long command is: a line on stderr, where that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Self, TextIO

SECONDS_BETWEEN = 0.1
_CLEAR = "\r\x1b[K"


class Progress:
    """Tells how much is done, how fast, and how long it will take.

    Use it as a block: the line is cleared at its end, whatever happens, so that what is printed next stands alone.
    """

    def __init__(self, what: str, *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._clock = clock
        self._began = clock()
        self._next = self._began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._write(_CLEAR)

    def show(self, done: int, fraction: float | None = None) -> None:
        """Tell that so much is done, and which part of the whole that is, where it is known."""
        now = self._clock()
        if now >= self._next:
            self._next = now + SECONDS_BETWEEN
            self._write(_CLEAR + describe(self._what, done, fraction, now - self._began))

    def _write(self, text: str) -> None:
        if self._shown:
            self._stream.write(text)
            self._stream.flush()


def describe(what: str, done: int, fraction: float | None, seconds: float) -> str:
    """Tell how far something is after so many seconds."""
    parts = [f"{done:,} {what}"]
    if seconds > 0:
        parts.append(f"{done / seconds:,.0f}/s")
    if fraction:
        left = timedelta(seconds=round(seconds * (1 - fraction) / fraction))
        parts.append(f"{fraction:.0%}, {left} left")
    return ", ".join(parts)
