"""What calls that write go by: journal, events for others, how far the board must stand, when they were planned, and signals."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..rules.board import Board
from ..rules.instants import duration
from .batch import Batch
from .keys import BoardKeys

NONE = "-"


class Terms:
    """Writes the terms of one board's calls, and names the keys that they need.

    With `signal_ms`, changes of a ranking are signalled that many ms apart.
    """

    def __init__(self, board: Board, keys: BoardKeys, signal_ms: int | None = None) -> None:
        journaled = board.mode == "write_behind"
        self._limit = str(board.journal_limit) if journaled else NONE
        self._age_ms = None if board.events is None else duration(board.events) // 1000
        self.journaled = journaled
        self._signal = NONE if signal_ms is None else str(signal_ms)
        self._event_keys = () if board.events is None else (keys.events,)
        self.keys = (*((keys.journal,) if journaled else ()), *self._event_keys)

    def line(self, least: int | None, planned_at: int, values: Sequence[int] = ()) -> str:
        """Give the terms; `least` is the number that the board must stand at, `values` how many each segment is known to have."""
        counts = ",".join(map(str, values))
        time = f" {planned_at}" if self.journaled else ""
        return f"{self._limit} {NONE if least is None else least} {self._start()} {counts or NONE} {self._signal}{time}"

    def batch_keys(self, batch: Batch) -> list[str]:
        """Name the keys that a batch needs to give numbers."""
        return [*self.keys, *self._signals(batch)]

    def apply_keys(self, batch: Batch) -> list[str]:
        """Name the keys that a batch needs whose numbers are given."""
        return [*self._event_keys, *self._signals(batch)]

    def first(self, number: int) -> str:
        """Give the number of the first entry to apply, with what the events and signals need."""
        return f"{number} {self._start()} {self._signal}"

    def _signals(self, batch: Batch) -> list[str]:
        return [] if self._signal == NONE else batch.signals

    def _start(self) -> str:
        """Give the ms from which on events are kept; by the clock on the wall, as Redis names the entries of a stream."""
        return NONE if self._age_ms is None else str(max(0, time.time_ns() // 1_000_000 - self._age_ms))


def write_data(taken_at: int, labels: Sequence[str]) -> str:
    """Write what the scripts pass on about an event: when it was taken, and its segments."""
    return "\t".join((str(taken_at), *labels))


def read_data(data: str) -> tuple[int, tuple[str, ...]]:
    """Read when an event was taken, and its segments."""
    taken_at, *labels = data.split("\t")
    return int(taken_at), tuple(labels)
