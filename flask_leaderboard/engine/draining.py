"""Draining the journal of a board into its log: in order, each event once, by any number of workers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import blake2s

from ..errors import ProtocolError
from ..log.event_log import EventLog
from ..log.events import Draft, Numbered
from ..rules.board import Board
from ..store.journal import Journal, JournalEntry
from ..store.terms import read_data

ENTRIES_A_STEP = 1000


class Drainer:
    """Takes what is oldest in the journal to the log, and drops it from the journal when it is there.

    Whoever dies on the way has done no harm: the next one finds the same entries, and passes over those that the log has.
    `late` is told how many came that were planned at a time that the log had closed.
    """

    def __init__(self, board: Board, journal: Journal, log: EventLog, late: Callable[[int], None]) -> None:
        self._board = board
        self._journal = journal
        self._log = log
        self._late = late

    def step(self, most: int = ENTRIES_A_STEP) -> bool:
        """Drain so many entries at most; tell whether there may be more."""
        entries = self._journal.oldest(most)
        if not entries:
            return False
        numbered = [self._read(entry) for entry in entries]
        logged, late = self._log.append_numbered(numbered, still_there=partial(self._journal.holds, entries))
        if logged:
            self._journal.drop(entries[:logged])
        if late:
            self._late(late)
        return True

    def _read(self, entry: JournalEntry) -> Numbered:
        try:
            return Numbered(int(entry.fields["number"]), self._draft(entry.fields), _fingerprint(entry))
        except (KeyError, ValueError) as error:
            raise ProtocolError(
                f"entry {entry.id} of the journal of board {self._board.name!r} can't be read: {error}"
            ) from error

    def _draft(self, fields: dict[str, str]) -> Draft:
        points = self._board.read_number(fields["points"]) if fields["points"] else None
        taken_at, labels = read_data(fields["data"])
        kind = fields["kind"]
        if kind not in ("submit", "remove"):
            raise ValueError(f"there is no event of kind {kind!r}")
        at, identity = int(fields["at"]), fields["id"] or None
        return Draft(kind, fields["user"], points, at, taken_at, fields["update"], labels, identity)  # type: ignore[arg-type]


def _fingerprint(entry: JournalEntry) -> str:
    """Give what tells this entry from any other that has the same number."""
    return blake2s(repr((entry.id, sorted(entry.fields.items()))).encode(), digest_size=8).hexdigest()
