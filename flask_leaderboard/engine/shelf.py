"""Rankings in SQL, as fresh as the log: for what Redis does not hold, or can't be asked for now."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from sqlalchemy import select

from ..errors import StoreUnavailableError
from ..log.event_log import EventLog
from ..log.reader import SqlReader
from ..log.tables import periods
from ..log.totals import Totals
from ..rules.board import Board
from ..store.rankings import Ranking
from .sources import Source

CATCH_UP_SECONDS = 0.5
"""How long a read may fold what the totals lack."""
MOST_ROWS = 1_000_000
MOST_PERIODS_LISTED = 366
T = TypeVar("T")


class Watch(Protocol):
    """Remembers how far this process has seen the board to be."""

    @property
    def least(self) -> int: ...

    def is_behind(self, number: int, least: int | None = None) -> bool: ...


class Shelf:
    """Reads a board's rankings from the archive and the totals. A ranking with more than `most_rows` is not counted there."""

    def __init__(self, board: Board, log: EventLog, folded: Totals, watch: Watch, *, most_rows: int = MOST_ROWS) -> None:
        self._board = board
        self._log = log
        self._totals = folded
        self._watch = watch
        self._most_rows = most_rows
        self._folding = threading.Lock()

    @property
    def stands_in(self) -> bool:
        """Whether it is read in place of Redis."""
        return self._most_rows > 0

    def read(self, rankings: Sequence[Ranking], ask: Callable[[Source], T]) -> tuple[T, bool]:
        """Give an answer that is not older than any that was given before, and whether totals were counted for it."""
        deadline, least = time.monotonic() + CATCH_UP_SECONDS, self._watch.least
        wanted: int | None = None
        while True:
            with self._totals.snapshot() as (connection, number):
                reader = SqlReader(self._board, connection, self._totals.rows(), number, self._most_rows)
                if wanted is None and not reader.has_archived(rankings):
                    wanted = self._log.head(connection)
                if wanted is None or number >= wanted:
                    if wanted is not None and self._watch.is_behind(number, least):
                        raise StoreUnavailableError("the log has not all that Redis had: wait until Redis is back")
                    return ask(reader), reader.counted
            self._catch_up(wanted, deadline)

    def read_archived(self, rankings: Sequence[Ranking], ask: Callable[[Source], T]) -> T | None:
        """Give an answer from the archive; None where it does not have all of the rankings."""
        with self._totals.snapshot() as (connection, number):
            reader = SqlReader(self._board, connection, self._totals.rows(), number, self._most_rows)
            return ask(reader) if reader.has_archived(rankings) else None

    def archived_periods(self, window: str) -> list[str]:
        """List the ids of a window's archived periods, the newest first; of very many the newest."""
        mine = (periods.c.board == self._log.board_row(), periods.c.window == window, periods.c.archived.is_not(None))
        query = select(periods.c.name).where(*mine).order_by(periods.c.start.desc(), periods.c.id.desc())
        with self._log.database.snapshot() as connection:
            return list(connection.scalars(query.limit(MOST_PERIODS_LISTED)))

    def _catch_up(self, through: int, deadline: float) -> None:
        """Fold what the totals lack, one thread at a time; say so where it takes long, the next read goes on."""
        with self._turn(deadline) as mine:
            if mine and self._totals.catch_up(through, deadline - time.monotonic()):
                return
        raise StoreUnavailableError("the totals in SQL are being brought up to date, in place of Redis")

    @contextmanager
    def _turn(self, deadline: float) -> Iterator[bool]:
        mine = self._folding.acquire(timeout=max(0.0, deadline - time.monotonic()))
        try:
            yield mine
        finally:
            if mine:
                self._folding.release()
