"""The totals: the log folded in SQL, off the path of submissions. They know the number up to which they have folded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, select, tuple_, update

from ..rules.board import Board
from ..rules.fold import Fold, Held, Key, Target, tie_of
from ..rules.spots import NO_SEASONS, Seasons, Spot, Spots, is_open
from .bulk import parts, upsert_rows
from .database import Database
from .event_log import EventLog
from .events import Event
from .ranking_rows import RankingRow, RankingRows
from .tables import periods, projections, rankings, segment_values, totals

EVENTS_A_FOLD = 2000
SeasonsAt = Callable[[int], Seasons]
"""Gives the seasons that an event may count in, by its number."""
Taking = Callable[[int], SeasonsAt]
_Rows = dict[Spot, RankingRow]


class Totals:
    """Folds a board's log into rows of user, ranking and standing. `taking` tells of seasons up to a number."""

    def __init__(
        self, board: Board, database: Database, log: EventLog, taking: Taking = lambda through: lambda number: NO_SEASONS
    ) -> None:
        self._board = board
        self._database = database
        self._log = log
        self._taking = taking
        self._spots = Spots(board)
        self._windows = {window.name: window for window in board.windows}
        self._made = False

    def fold(self, most: int = EVENTS_A_FOLD) -> int:
        """Fold the next events in one transaction; give how many."""
        self._make_row()
        head = self._log.head()
        seasons_at = self._taking(head)  # asked for now: inside of a transaction it could wait for itself
        return self._database.attempt(lambda connection: self._fold(connection, most, head, seasons_at))

    def catch_up(self, through: int, seconds: float) -> bool:
        """Fold until a number is reached; False where there is no time left for it."""
        deadline = time.monotonic() + seconds
        while self.number() < through:
            if not self.fold() or time.monotonic() > deadline:
                return self.number() >= through
        return True

    def number(self) -> int:
        """Give the number of the last event folded."""
        mine = projections.c.board == self._log.board_row()
        with self._database.reading() as connection:
            return connection.scalar(select(projections.c.folded).where(mine)) or 0

    @contextmanager
    def reading(self) -> Iterator[tuple[Connection, int]]:
        """Give a connection that sees the totals at one number; nothing is folded meanwhile."""
        self._make_row()
        with self._database.begin() as connection:
            yield connection, self._lock(connection, shared=True)

    @contextmanager
    def snapshot(self) -> Iterator[tuple[Connection, int]]:
        """Give a connection that sees the totals at one number, while others may go on folding."""
        mine = projections.c.board == self._log.board_row()
        with self._database.snapshot() as connection:
            yield connection, connection.scalar(select(projections.c.folded).where(mine)) or 0

    def rows(self) -> RankingRows:
        """Give what finds the rows of the board's rankings."""
        return RankingRows(self._board, self._database, self._log.board_row())

    def labels(self, connection: Connection) -> list[str]:
        """List the segment values that the board has taken."""
        mine = segment_values.c.board == self._log.board_row()
        return sorted(connection.scalars(select(segment_values.c.label).where(mine)))

    def forget(self) -> None:
        """Begin anew at the log's first event, with the rules as they are now. What is archived stays as it is."""
        self._make_row()
        self._database.attempt(self._forget)

    def _forget(self, connection: Connection) -> None:
        self._lock(connection)
        unfinished = select(periods.c.id).where(periods.c.board == self._log.board_row(), periods.c.archived.is_(None))
        ids = list(connection.scalars(unfinished))
        for part in parts(ids):
            of_part = rankings.c.period.in_(part)
            connection.execute(delete(totals).where(totals.c.ranking.in_(select(rankings.c.id).where(of_part))))
            connection.execute(delete(rankings).where(of_part))
            connection.execute(delete(periods).where(periods.c.id.in_(part)))
        connection.execute(delete(segment_values).where(segment_values.c.board == self._log.board_row()))
        self._move_to(connection, 0)

    def _fold(self, connection: Connection, most: int, head: int, seasons_at: SeasonsAt) -> int:
        folded = self._lock(connection)
        events = self._log.read(folded, min(most, head - folded), connection) if folded < head else []
        if not events:
            return 0
        touched = [self._spots_of(event, seasons_at) for event in events]
        rows = self.rows().make(connection, (spot for spots in touched for spot in spots))
        removed = self._removed_users(events)
        kept = self._periods_of(connection, removed) | {row.id: row for row in rows.values()}
        fold = Fold(self._board, self._held(connection, events, rows, removed), self.labels(connection))
        refused: list[tuple[int, str]] = []
        for event, spots in zip(events, touched, strict=True):
            refusal = self._take(fold, event, [rows[spot] for spot in spots], kept, seasons_at)
            if refusal is not None and event.refused is None:
                refused.append((event.number, refusal))
        self._write(connection, fold)
        self._log.note_refusals(refused, connection)
        self._move_to(connection, events[-1].number)
        return len(events)

    def _spots_of(self, event: Event, seasons_at: SeasonsAt) -> tuple[Spot, ...]:
        if event.kind != "submit":
            return ()
        return self._spots.of(event.at, event.taken_at, event.segments, seasons_at(event.number))

    def _take(
        self, fold: Fold, event: Event, rows: Sequence[RankingRow], kept: dict[int, RankingRow], seasons_at: SeasonsAt
    ) -> str | None:
        """Fold an event; give the code of its refusal, if it is refused."""
        if event.kind == "remove":
            held, seasons = [kept[ranking] for ranking in fold.rankings_of(event.user)], seasons_at(event.number)
            fold.remove(event.user, [row.id for row in held if self._is_open(row, event.taken_at, seasons)])
        elif rows:
            targets = [Target(row.id, row.segment) for row in rows if not row.archived]
            return fold.submit(event.user, targets, event.points or 0, event.at, event.update)
        return None

    def _is_open(self, row: RankingRow, now: int, seasons: Seasons) -> bool:
        window = self._windows.get(row.window)
        return window is not None and not row.archived and is_open(window, row.period, now, seasons)

    @staticmethod
    def _removed_users(events: Sequence[Event]) -> list[int]:
        return sorted({event.user for event in events if event.kind == "remove"})

    def _periods_of(self, connection: Connection, users: Sequence[int]) -> dict[int, RankingRow]:
        """Give the rankings in which users hold something, by number."""
        ids: set[int] = set()
        for part in parts(users):
            ids.update(connection.scalars(select(totals.c.ranking).where(totals.c.user.in_(part)).distinct()))
        rows = self.rows()
        return {row.id: row for part in parts(sorted(ids)) for row in rows.read(connection, rankings.c.id.in_(part))}

    def _held(self, connection: Connection, events: Sequence[Event], rows: _Rows, removed: Sequence[int]) -> dict[Key, Held]:
        """Give what the users of the events hold: in the rankings touched, and those to be removed in all."""
        held: dict[Key, Held] = {}
        ids = sorted({row.id for row in rows.values()})
        for part in parts(sorted({event.user for event in events})):
            for some in parts(ids):
                held |= self._read_held(connection, totals.c.user.in_(part) & totals.c.ranking.in_(some))
        for part in parts(removed):
            held |= self._read_held(connection, totals.c.user.in_(part))
        return held

    @staticmethod
    def _read_held(connection: Connection, condition: ColumnElement[bool]) -> dict[Key, Held]:
        query = select(totals.c.user, totals.c.ranking, totals.c.standing, totals.c.at).where(condition)
        return {(row.user, row.ranking): Held(row.standing, row.at) for row in connection.execute(query)}

    def _write(self, connection: Connection, fold: Fold) -> None:
        put: list[dict[str, Any]] = []
        gone: list[Key] = []
        for (user, ranking), held in sorted(fold.changed.items()):
            if held is None:
                gone.append((user, ranking))
            else:
                tie = tie_of(self._board, held.at)
                put.append({"user": user, "ranking": ranking, "standing": held.standing, "tie": tie, "at": held.at})
        upsert_rows(connection, totals, put)
        for part in parts(gone):
            connection.execute(delete(totals).where(tuple_(totals.c.user, totals.c.ranking).in_(part)))
        if fold.new_labels:
            board = self._log.board_row()
            listed = [{"board": board, "label": label} for label in sorted(fold.new_labels)]
            connection.execute(self._database.insert_new(segment_values), listed)

    def _make_row(self) -> None:
        """Make the row that knows how far the totals are, at the first use."""
        if not self._made:
            row = {"board": self._log.board_row(), "folded": 0}
            with self._database.begin() as connection:
                connection.execute(self._database.insert_new(projections), row)
            self._made = True

    def _lock(self, connection: Connection, *, shared: bool = False) -> int:
        """Lock the totals until the end of the transaction; give the number they stand at."""
        mine = projections.c.board == self._log.board_row()
        return int(connection.scalars(select(projections.c.folded).where(mine).with_for_update(read=shared)).one())

    def _move_to(self, connection: Connection, number: int) -> None:
        mine = projections.c.board == self._log.board_row()
        connection.execute(update(projections).where(mine).values(folded=number))
