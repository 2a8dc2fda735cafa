"""The register of seasons of a board with a log. They begin and end under the board's lock: every event has a definite side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, and_, insert, select, update

from ..errors import SeasonError
from ..rules.board import Board
from ..rules.seasons import Played, Record, not_running, played_before
from ..rules.windows import Season
from .database import Database
from .tables import boards, seasons

T = TypeVar("T")


class Locked(Protocol):
    """Does work in a transaction that holds the board's lock: with the connection, the board's row and its last number."""

    def __call__(self, work: Callable[[Connection, int, int], T]) -> T: ...


class SeasonBook:
    """Starts, ends and tells the seasons of a board."""

    def __init__(self, board: Board, database: Database, locked: Locked) -> None:
        self._board = board
        self._database = database
        self._locked = locked
        self.windows = [window.name for window in board.windows if isinstance(window, Season)]

    def read(self) -> Record:
        """Give all seasons. The head is asked for first: what begins or ends behind it changes nothing up to there."""
        of_board = boards.c.name == self._board.name
        with self._database.begin() as connection:
            head = connection.scalar(select(boards.c.head).where(of_board)) or 0
            query = select(seasons).join(boards, seasons.c.board == boards.c.id).where(of_board).order_by(seasons.c.after.desc())
            return Record([_played(row) for row in connection.execute(query)], head)

    def start(self, window: str, name: str, now: int) -> None:
        def write(connection: Connection, board: int, head: int) -> None:
            running = self._running(connection, board).get(window)
            if running is not None:
                raise not_running(window, running.name, "-")
            same = and_(seasons.c.board == board, seasons.c.window == window, seasons.c.name == name)
            if connection.execute(select(seasons.c.start).where(same)).first():
                raise played_before(window, name)
            connection.execute(insert(seasons), {"board": board, "window": window, "name": name, "start": now, "after": head})

        self._locked(write)

    def end(self, running: Played, now: int) -> None:
        def write(connection: Connection, board: int, head: int) -> None:
            found = self._running(connection, board).get(running.window)
            if found is None or found.name != running.name:
                raise not_running(running.window, "-" if found is None else found.name, running.name)
            same = and_(seasons.c.board == board, seasons.c.window == running.window, seasons.c.name == running.name)
            connection.execute(update(seasons).where(same).values(end=now, last=head))

        self._locked(write)

    def insist(self, connection: Connection, board: int, expected: Iterable[tuple[str, str]]) -> None:
        """Refuse to go on where other seasons run than these, given as window and name; the board's lock is held."""
        if not self.windows:
            return
        running = {(season.window, season.name) for season in self._running(connection, board).values()}
        if running != set(expected):
            raise SeasonError("a season began or ended meanwhile: read the seasons again and repeat the call")

    def _running(self, connection: Connection, board: int) -> dict[str, Played]:
        query = select(seasons).where(seasons.c.board == board, seasons.c.end.is_(None), seasons.c.window.in_(self.windows))
        return {row.window: _played(row) for row in connection.execute(query)}


def _played(row: Any) -> Played:
    return Played(row.window, row.name, row.start, row.end, row.after, row.last)
