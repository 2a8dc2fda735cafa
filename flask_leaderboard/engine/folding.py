"""Folding the log into Redis: in order, each event once, by whoever finds Redis behind."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..errors import ClosedPeriodError, StoreUnavailableError
from ..log.event_log import EventLog
from ..log.events import Draft, Event
from ..rules.board import Board
from ..rules.instants import MICROSECONDS
from ..rules.scores import number_text
from ..rules.slices import slice_at
from ..rules.windows import Period, Window
from ..store.batch import Batch
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from .places import Places

GAP_SECONDS = 0.05
"""How long events that another process has written are waited for before they are folded in its place."""
LONGEST_CATCH_UP_SECONDS = 1.0
EVENTS_A_READ = 1000
LAST = 2**63 - 1
LENT_US = 3600 * MICROSECONDS


class Entry(NamedTuple):
    """A numbered event with the rankings it touches; none where the board's rules have no place for it any more."""

    number: int
    event: Draft | Event
    targets: tuple[Ranking, ...]


class Folder:
    """Folds events of a board."""

    def __init__(self, board: Board, store: BoardStore, places: Places, log: EventLog) -> None:
        self._board = board
        self._store = store
        self._places = places
        self._log = log

    def fold(self, entries: Sequence[Entry], kind: str) -> dict[int, bytes]:
        """Fold events without gaps between them; give their receipt lines by number. What lies before is folded first."""
        lines: dict[int, bytes] = {}
        for part, batch in self._batches(entries, kind):
            _, replies = self._store.apply(batch, part[0].number)
            if replies is None:
                self._close_gap(part[0].number - 1)
                _, replies = self._store.apply(batch, part[0].number)
            if replies is None:
                raise StoreUnavailableError("Redis is being brought up to date")
            lines.update(zip((entry.number for entry in part), replies, strict=True))
        return lines

    def catch_up(self, through: int = LAST) -> None:
        """Fold what the log has up to a number and Redis has not; say so where it takes long, the next call goes on."""
        deadline = time.monotonic() + LONGEST_CATCH_UP_SECONDS
        lent: dict[tuple[str, str, str | None], Ranking] = {}
        while events := self._missing(through):
            self._replay(events, lent)
            if time.monotonic() > deadline:
                raise StoreUnavailableError("Redis has lost events that it had, and is being brought up to date")
        self._give_back(lent.values())

    def _missing(self, through: int) -> list[Event]:
        folded = self._store.number()
        return self._log.read(folded, min(EVENTS_A_READ, through - folded)) if folded < through else []

    def _close_gap(self, last: int) -> None:
        """Wait a moment for the events up to a number, then fold them."""
        deadline = time.monotonic() + GAP_SECONDS
        while time.monotonic() < deadline:
            if self._store.number() >= last:
                return
            time.sleep(GAP_SECONDS / 10)
        self.catch_up(through=last)

    def _replay(self, events: Sequence[Event], lent: dict[tuple[str, str, str | None], Ranking]) -> None:
        waiting: list[Entry] = []
        for event in events:
            if event.kind == "remove":  # which rankings there are depends on the segments of the events before
                self._replay_part(waiting)
                waiting = [Entry(event.number, event, tuple(self._places.live(event.taken_at)))]
            else:
                waiting.append(Entry(event.number, event, self._targets(event, lent)))
        self._replay_part(waiting)

    def _replay_part(self, entries: Sequence[Entry]) -> None:
        for part, batch in self._batches(entries, "-"):
            self._store.apply(batch, part[0].number)  # a gap means that Redis fell back again: the next read of the log tells

    def _targets(self, event: Event, lent: dict[tuple[str, str, str | None], Ranking]) -> tuple[Ranking, ...]:
        try:
            part = slice_at(self._board, event.at, event.taken_at, {})
        except ClosedPeriodError:
            return ()  # no window of the rules as they are now takes it
        known = self._board.segment_names
        labels = (None, *(label for label in event.segments if label.partition("=")[0] in known))
        return tuple(self._ranking(window, period, label, lent) for label in labels for window, period in part.open)

    def _ranking(
        self, window: Window, period: Period, label: str | None, lent: dict[tuple[str, str, str | None], Ranking]
    ) -> Ranking:
        """Give a ranking; one whose time in Redis is over is lent some, since what it refuses counts nowhere else either."""
        kept_until, now = window.kept_until(period), time.time_ns() // 1000  # Redis expires keys by the clock on the wall
        if kept_until is None or kept_until > now:
            return self._store.rankings.get(window, period, label)
        identity = (window.name, period.id, label)
        if identity not in lent:
            lent[identity] = self._store.rankings.lend(window, period, label, now + LENT_US)
        return lent[identity]

    def _give_back(self, lent: Iterable[Ranking]) -> None:
        keys = [key for ranking in lent for key in ranking.data_keys]
        if keys:
            self._store.drop(keys)

    def _batches(self, entries: Sequence[Entry], kind: str) -> Iterator[tuple[list[Entry], Batch]]:
        """Put events into batches, each small enough for one call."""
        batch, part = Batch(self._board, kind), list[Entry]()
        for entry in entries:
            batch.add(_line(entry, batch), entry.targets)
            part.append(entry)
            if batch.full:
                yield part, batch
                batch, part = Batch(self._board, kind), []
        if part:
            yield part, batch


def _line(entry: Entry, batch: Batch) -> str:
    if not entry.targets:
        return "skip"
    event = entry.event
    points = "" if event.points is None else number_text(event.points)
    return f"{event.kind}\t{event.user_id}\t{points}\t{event.at}\t{event.update}\t{batch.target_list(entry.targets)}"
