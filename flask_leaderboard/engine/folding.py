"""Folding the log into Redis: in order, each event once, by whoever finds Redis behind."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..errors import LeaderboardError, StoreUnavailableError
from ..log.event_log import EventLog
from ..log.events import Draft, Event
from ..rules.board import Board
from ..rules.instants import MICROSECONDS
from ..rules.scores import number_text
from ..rules.spots import Spots
from ..rules.windows import Period, Season, Window
from ..store.batch import Batch
from ..store.board_store import Applied, BoardStore
from ..store.rankings import Ranking
from ..store.receipts import refusal_of
from ..store.terms import write_data
from .places import Places

GAP_SECONDS = 0.1
"""How long events that another process has written are waited for before they are folded in its place."""
SHORTEST_PAUSE = 0.0005
LONGEST_PAUSE = 0.01
"""Between two looks whether they are there: most are about to be folded, within a millisecond or two."""
LONGEST_CATCH_UP_SECONDS = 1.0
PATIENCE_SECONDS = 0.2
"""How long a thread waits for another one that catches up: as long as a few events take, not as many do."""
EVENTS_A_READ = 1000
MOST_REPLAYED = 20_000
"""Where Redis is further behind, its data is loaded from the totals instead."""
LAST = 2**63 - 1
SINCE = "since"
"""In the board's hash: the log's last event when Redis began to be filled from nothing."""
LENT_US = 3600 * MICROSECONDS
_logger = logging.getLogger("flask_leaderboard")


Settle = Callable[[dict[int, bytes]], None]
"""Takes in the receipts of events that were sent, by their numbers."""


class Entry(NamedTuple):
    """A numbered event with the rankings it touches; none where the board's rules have no place for it any more."""

    number: int
    event: Draft | Event
    targets: tuple[Ranking, ...]


class Folder:
    """Folds events of a board.

    `prepare` is called with events that Redis has lost, before they are folded again; `recover`, where there is one, when
    Redis is too far behind for that.
    """

    def __init__(
        self,
        board: Board,
        store: BoardStore,
        places: Places,
        log: EventLog,
        *,
        prepare: Callable[[Sequence[Event]], None] | None = None,
    ) -> None:
        self._board = board
        self._store = store
        self._places = places
        self._log = log
        self._spots = Spots(board)
        self._prepare = prepare
        self._catching_up = threading.Lock()
        self.recover: Callable[[], None] | None = None
        self._lent: dict[tuple[str, str, str | None], Ranking] = {}

    def fold(self, entries: Sequence[Entry], kind: str, lines: dict[int, bytes]) -> None:
        """Fold events without gaps between them; what lies before is folded first. `lines` gets their receipts by number."""
        self.begin(entries, kind)(lines)

    def begin(self, entries: Sequence[Entry], kind: str) -> Settle:
        """Send events to be folded, and give what takes in their receipts: until it is called, Redis works by itself."""
        batches = list(self._batches(entries, kind))
        answers = self._begin((batch, part[0].number) for part, batch in batches)

        def settle(lines: dict[int, bytes]) -> None:
            for (part, batch), (_, replies) in zip(batches, answers(), strict=True):
                found = self._fold_behind(part, batch) if replies is None else replies
                lines.update(zip((entry.number for entry in part), found, strict=True))

        return settle

    def _begin(self, batches: Iterable[tuple[Batch, int]]) -> Callable[[], list[Applied]]:
        """Send batches with their first numbers; why that failed is told to who waits for the answers."""
        try:
            return self._store.begin_apply(batches)
        except StoreUnavailableError as error:
            failure = error

        def fail() -> list[Applied]:
            raise failure

        return fail

    def _fold_behind(self, part: Sequence[Entry], batch: Batch) -> list[bytes]:
        """Fold what lies before some events, then them."""
        self.reach(part[0].number - 1)
        _, replies = self._store.apply(batch, part[0].number)
        if replies is None:
            raise StoreUnavailableError("Redis is being brought up to date")
        return replies

    def removal(self, number: int, event: Draft | Event) -> Entry:
        """Give a removal with the rankings it touches: which there are depends on the segments of all events before it."""
        self.reach(number - 1)
        return self._removal(number, event)

    def _removal(self, number: int, event: Draft | Event) -> Entry:
        return Entry(number, event, tuple(self._places.open(event.taken_at, number)))

    def reach(self, number: int) -> None:
        """See that Redis has all events up to a number: wait a moment for who wrote them, then fold them.

        Where events wait for the end of an interval, nobody is about to fold them.
        """
        deadline, pause = time.monotonic() + (0.0 if self._board.coalesce_ms else GAP_SECONDS), SHORTEST_PAUSE
        while self._store.number() < number:
            if time.monotonic() >= deadline:
                self.catch_up(through=number)
                return
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def catch_up(self, through: int = LAST) -> None:
        """Fold what the log has up to a number and Redis has not; say so where it takes long, the next call goes on."""
        deadline = time.monotonic() + LONGEST_CATCH_UP_SECONDS
        if not self._catching_up.acquire(timeout=PATIENCE_SECONDS):
            raise StoreUnavailableError("Redis has lost events that it had, and is being brought up to date")
        try:
            if self.recover is not None and self._is_far_behind():
                self.recover()
                raise StoreUnavailableError("Redis has lost events that it had, and is being brought up to date")
            while self.advance(through):
                if time.monotonic() > deadline:
                    raise StoreUnavailableError("Redis has lost events that it had, and is being brought up to date")
            self.give_back()
        finally:
            self._catching_up.release()

    def _is_far_behind(self) -> bool:
        """Tell whether there is more to replay than it takes to load the totals, or something that can't be replayed."""
        folded = self._store.number()
        pruned, head = self._log.extent()
        return folded < pruned or head - folded > MOST_REPLAYED

    def advance(self, through: int) -> bool:
        """Fold the next events up to a number; False where there is none."""
        events = self._missing(through)
        if events and self._prepare is not None:
            self._prepare(events)
        self._replay(events)
        return bool(events)

    def _missing(self, through: int) -> list[Event]:
        folded = self._store.number()
        if not folded:
            self._store.move_mark(SINCE, self._log.head())
        return self._log.read(folded, min(EVENTS_A_READ, through - folded)) if folded < through else []

    def _replay(self, events: Sequence[Event]) -> None:
        waiting: list[Entry] = []
        for event in events:
            if event.kind == "remove":
                self._check_nameless(event)
                self._replay_part(waiting)
                waiting = []
                self._replay_part([self._removal(event.number, event)])
            else:
                waiting.append(Entry(event.number, event, self._targets(event)))
        self._replay_part(waiting)

    def _check_nameless(self, event: Event) -> None:
        """Refuse a removal where Redis may have the user by an id that nobody knows: it has older data than the erasure."""
        (since,) = self._store.marks([SINCE]) if event.nameless else [None]
        if event.nameless and event.number > int(since or 0):
            raise StoreUnavailableError(
                "Redis came back with data from before a user was erased, too old to be mended:"
                f" drop the keys of board {self._board.name!r}, or rebuild it"
            )

    def _replay_part(self, entries: Sequence[Entry]) -> None:
        for part, batch in self._batches(entries, "-"):
            _, lines = self._store.apply(batch, part[0].number)
            if lines is None:
                return  # Redis fell back again: the next read of the log begins there
            self.note_refusals(zip((entry.number for entry in part), lines, strict=True))

    def note_refusals(self, lines: Iterable[tuple[int, bytes]]) -> None:
        """Note in the log what was refused, for who sends it again. It has been folded, so a failure here stops nothing."""
        refusals = [(number, refusal_of(line)) for number, line in lines]
        refused = [(number, error.code) for number, error in refusals if error is not None]
        if refused:
            try:
                self._log.note_refusals(refused)
            except LeaderboardError as error:
                _logger.warning("%d refusals were not noted in the log: %s", len(refused), error)

    def _targets(self, event: Event) -> tuple[Ranking, ...]:
        spots = self._spots.of(event.at, event.taken_at, event.segments, self._places.seasons.running_at(event.number))
        return tuple(self._ranking(*spot) for spot in spots)

    def _ranking(self, window: Window, period: Period, label: str | None) -> Ranking:
        """Give a ranking; one whose time in Redis is over is lent some, since what it refuses counts nowhere else either."""
        if isinstance(window, Season):
            period = self._places.seasons.as_kept(window, period)
        kept_until, now = window.kept_until(period), time.time_ns() // 1000  # Redis expires keys by the clock on the wall
        if kept_until is None or kept_until > now:
            return self._store.rankings.get(window, period, label)
        identity = (window.name, period.id, label)
        if identity not in self._lent:
            self._lent[identity] = self._store.rankings.lend(window, period, label, now + LENT_US)
        return self._lent[identity]

    def give_back(self) -> None:
        """Drop what was lent."""
        keys = [key for ranking in self._lent.values() for key in ranking.data_keys]
        if keys:
            self._store.drop(keys)
        self._lent.clear()

    def _batches(self, entries: Sequence[Entry], kind: str) -> Iterator[tuple[list[Entry], Batch]]:
        """Put events into batches, each small enough for one call."""
        batch, part = Batch(self._board, kind), list[Entry]()
        for entry in entries:
            line = _line(entry, batch, told=self._board.events is not None)
            batch.add(line, entry.targets, user=entry.event.user_id if kind == "-" else None)
            part.append(entry)
            if batch.full:
                yield part, batch
                batch, part = Batch(self._board, kind), []
        if part:
            yield part, batch


def _line(entry: Entry, batch: Batch, *, told: bool) -> str:
    if not entry.targets:
        return "skip"
    event = entry.event
    points = "" if event.points is None else number_text(event.points)
    line = f"{event.kind}\t{event.user_id}\t{points}\t{event.at}\t{event.update}\t{batch.target_list(entry.targets)}"
    return f"{line}\t{event.submission_id or ''}\t{write_data(event.taken_at, event.segments)}" if told else line
