"""Submissions on their way to Redis, batch by batch."""

from __future__ import annotations

from .batch import Batch
from .guards import Guard
from .streams import Stream
from .terms import Terms


class SubmitStream:
    """Sends batches of submissions that were planned at one time, and gives a receipt line for each item in the same order."""

    def __init__(self, stream: Stream, board_key: str, terms: Terms, guard: Guard, planned_at: int) -> None:
        self._stream = stream
        self._board_key = board_key
        self._terms = terms
        self._guard = guard
        self._planned_at = planned_at

    def send(self, batch: Batch) -> None:
        terms = self._terms.line(self._guard.least, self._planned_at)
        self._stream.send(batch.keys(self._board_key, self._terms.batch_keys(batch)), batch.args(terms))

    def receive(self) -> list[bytes]:
        reply = self._stream.receive()
        self._guard.expect(reply[0])
        lines: list[bytes] = reply[1:]
        return lines
