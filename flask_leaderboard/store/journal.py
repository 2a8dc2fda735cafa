"""The journal of a board: a stream of events that Redis has counted and the log has not got yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .calls import Caller


class JournalEntry(NamedTuple):
    """An entry as the scripts wrote it: the name that Redis gave it, and its fields."""

    id: str
    fields: dict[str, str]


class Journal:
    """Reads a journal from its beginning. An entry stays until it is dropped by its name."""

    def __init__(self, key: str, caller: Caller) -> None:
        self._key = key
        self._caller = caller

    def oldest(self, most: int, first: str = "-", last: str = "+") -> list[JournalEntry]:
        """Give the oldest entries, in order; `first` and `last` are names to look between."""
        found = self._caller.use(lambda client: client.xrange(self._key, first, last, most))
        return [
            JournalEntry(name.decode(), {field.decode(): value.decode() for field, value in fields.items()})
            for name, fields in found
        ]

    def holds(self, entries: Sequence[JournalEntry]) -> bool:
        """Tell whether entries that were read before are there still."""
        return all(self.oldest(1, entry.id, entry.id) == [entry] for entry in (entries[0], entries[-1]))

    def drop(self, entries: Sequence[JournalEntry]) -> None:
        """Drop exactly these entries: by a bound, others could be met in a Redis that has lost data meanwhile."""
        self._caller.use(lambda client: client.xdel(self._key, *(entry.id for entry in entries)))

    def __len__(self) -> int:
        return int(self._caller.use(lambda client: client.xlen(self._key)))
