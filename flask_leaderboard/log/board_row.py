"""The row of a board: it knows the number of the last event, and is locked while numbers are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, select

from .database import Database
from .tables import boards

T = TypeVar("T")


class BoardState(NamedTuple):
    """The number of a board's last event, and the time at which the latest of its closed periods closed."""

    head: int
    closed_until: int


class BoardRow:
    """Finds the row of a board and locks it."""

    def __init__(self, name: str, database: Database) -> None:
        self._name = name
        self._database = database
        self._id: int | None = None

    @property
    def id(self) -> int:
        """The id of the row, made at the first use."""
        if self._id is None:
            with self._database.begin() as connection:
                connection.execute(self._database.insert_new(boards), {"name": self._name, "head": 0})
                self._id = connection.scalar(select(boards.c.id).where(boards.c.name == self._name))
        assert self._id is not None  # noqa: S101 - the row was just made
        return self._id

    def head(self, connection: Connection | None = None) -> int:
        """Give the number of the last event, 0 where there is none; as a connection sees it, where one is given."""
        query = select(boards.c.head).where(boards.c.name == self._name)
        if connection is not None:
            return connection.scalar(query) or 0
        with self._database.reading() as own:
            return own.scalar(query) or 0

    def lock(self, connection: Connection, board: int) -> BoardState:
        """Lock the row with an id until the end of the transaction; tell how it stands."""
        query = select(boards.c.head, boards.c.closed_until).where(boards.c.id == board).with_for_update()
        return BoardState(*connection.execute(query).one())

    def locked(self, work: Callable[[Connection, int, int], T]) -> T:
        """Do work in a transaction that holds the lock; it gets the connection, the row and the last number."""
        board = self.id
        return self._database.attempt(lambda connection: work(connection, board, self.lock(connection, board).head))
