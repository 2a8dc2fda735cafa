"""The register of seasons of a board without a log: fields of its hash in Redis."""

from __future__ import annotations

from collections.abc import Iterator

from ..rules.seasons import Played, Record
from ..rules.windows import Season
from .board_store import BoardStore

NONE = "-"


class SeasonHash:
    """Reads and switches the seasons of a board; the scripts compare what submissions say of them."""

    def __init__(self, store: BoardStore) -> None:
        self._store = store
        self._windows = [window.name for window in store.board.windows if isinstance(window, Season)]

    def read(self) -> Record:
        return Record(tuple(self._played(self._store.fields())))

    def start(self, window: str, name: str, now: int) -> None:
        self._store.season(window, NONE, f"{name}@{now}", now)

    def end(self, running: Played, now: int) -> None:
        self._store.season(running.window, f"{running.name}@{running.start}", NONE, now)

    def _played(self, fields: dict[str, str]) -> Iterator[Played]:
        for window in self._windows:
            if f"season:{window}" in fields:
                name, _, start = fields[f"season:{window}"].rpartition("@")
                yield Played(window, name, int(start))
            head = f"ended:{window}:"
            for field, span in fields.items():
                if field.startswith(head):
                    start, _, end = span.partition("-")
                    yield Played(window, field.removeprefix(head), int(start), int(end))
