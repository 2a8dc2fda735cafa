"""The log of one board: events in one order, numbered 1, 2, 3 … without gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from itertools import takewhile
from typing import Any

from sqlalchemy import Connection, Select, and_, delete, func, select, update

from ..rules.board import Board
from .appending import Appender, Outcome, Seasons
from .board_row import BoardRow, BoardState
from .database import Database
from .events import Draft, Event, Numbered, stand_in
from .season_book import SeasonBook
from .tables import boards, erased, events, submission_ids, users

EVENTS_A_PRUNE = 2000


class EventLog:
    """Appends to a board's log and reads it."""

    def __init__(self, board: Board, database: Database) -> None:
        self._board = board
        self._database = self.database = database
        self._points = events.c.points_integer if board.score_type == "integer" else events.c.points_float
        self._row = BoardRow(board.name, database)
        self.seasons = SeasonBook(board, database, self._row.locked)
        self._appender = Appender(board, database, self._row, self.seasons)

    def append(self, drafts: Sequence[Draft], seasons: Seasons | None = None) -> list[Outcome]:
        """Write events in one transaction; give for each its number, a conflict, or None for one too late and not known.

        An id that is known writes nothing; events of a time before the last closing are an `OutdatedPlan`. Where the reply to
        the commit is lost, the log is asked whether it was written.
        """
        return self._appender.append(drafts, seasons)

    def append_removal(self, connection: Connection, board: int, user_id: str, now: int) -> int:
        """Write the removal of a user in a transaction of the caller's, to the board with this row; give its number."""
        return self._appender.append_removal(connection, board, user_id, now)

    def append_numbered(self, numbered: Sequence[Numbered], *, still_there: Callable[[], bool]) -> tuple[int, int]:
        """Write events that have numbers already, without those that the log has; give up to which of them it has all then.

        `still_there` is asked when nobody else can write: where it says no, nothing is written and the answer is 0.
        An id that the log knows was forgotten by who gave the number: the event counts, and is written without it.
        Those of a time before the last closing are written as taken then, and how many they are is given too.
        """
        return self._appender.append_numbered(numbered, still_there=still_there)

    @property
    def profile_version(self) -> int:
        """The version of the profiles that has the names of all that was appended here."""
        return self._appender.profile_version

    def settled_head(self) -> int:
        """Give the number of the last event, when nobody is writing any more."""
        return self._row.locked(lambda connection, board, head: head)

    def state(self) -> BoardState:
        """Tell how the board stands."""
        query = select(boards.c.head, boards.c.closed_until).where(boards.c.name == self._board.name)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return BoardState(0, 0) if row is None else BoardState(*row)

    def head(self, connection: Connection | None = None) -> int:
        """Give the number of the last event, 0 where there is none; as a connection sees it, where one is given."""
        return self._row.head(connection)

    def extent(self) -> tuple[int, int]:
        """Give the number up to which events are not kept any more, and the number of the last one."""
        with self._database.reading() as connection:
            row = connection.execute(select(boards.c.pruned, boards.c.head).where(boards.c.name == self._board.name)).first()
        return (0, 0) if row is None else (row.pruned, row.head)

    def read(self, after: int, limit: int, connection: Connection | None = None) -> list[Event]:
        """Give the events behind a number, in order; through a connection where its transaction needs them."""
        query = self._events().where(events.c.number > after).order_by(events.c.number).limit(limit)
        return self._fetch(query) if connection is None else _read(connection, query)

    def history(self, user_id: str, limit: int, before: int | None = None) -> list[Event]:
        """Give a user's events, newest first; `before` is a number to go on from."""
        query = self._events().where(users.c.user_id == user_id).order_by(events.c.number.desc()).limit(limit)
        return self._fetch(query if before is None else query.where(events.c.number < before))

    def note_refusals(self, refusals: Iterable[tuple[int, str]], connection: Connection | None = None) -> None:
        """Note with which codes the fold refused events, for those who ask later."""
        board = self.board_row()
        with nullcontext(connection) if connection else self._database.begin() as used:
            for number, code in sorted(refusals):
                row = and_(events.c.board == board, events.c.number == number)
                used.execute(update(events).where(row).values(refused=code))

    def prune(self, *, before: int, through: int, most: int = EVENTS_A_PRUNE) -> bool:
        """Forget the oldest events, up to a number and of a time before; submission ids stay. Tell whether there may be more."""
        board = self.board_row()

        def work(connection: Connection) -> bool:
            self.lock(connection, board)
            pruned = connection.scalar(select(boards.c.pruned).where(boards.c.id == board)) or 0
            oldest = select(events.c.number, events.c.taken_at).where(events.c.board == board, events.c.number > pruned)
            rows = connection.execute(oldest.where(events.c.number <= through).order_by(events.c.number).limit(most))
            old = [row.number for row in takewhile(lambda row: row.taken_at < before, rows)]
            if old:
                connection.execute(update(boards).where(boards.c.id == board).values(pruned=old[-1]))
                connection.execute(delete(events).where(events.c.board == board, events.c.number <= old[-1]))
            return len(old) == most

        return self._database.attempt(work)

    def board_row(self) -> int:
        """Give the id of the board's row, made at the first use."""
        return self._row.id

    def lock(self, connection: Connection, board: int) -> BoardState:
        """Lock the board until the end of the transaction; tell how it stands."""
        return self._row.lock(connection, board)

    def _events(self) -> Select[Any]:
        named = and_(submission_ids.c.board == events.c.board, submission_ids.c.number == events.c.number)
        return (
            select(
                events.c.number,
                events.c.kind,
                func.coalesce(users.c.user_id, erased.c.user_id).label("user_id"),
                self._points.label("points"),
                events.c.at,
                events.c.taken_at,
                events.c["update"],  # a method of columns in SQLAlchemy 2.0
                events.c.segments,
                events.c.refused,
                submission_ids.c.submission_id,
                events.c.user,
            )
            .select_from(
                events.join(users, events.c.user == users.c.id)
                .join(boards, events.c.board == boards.c.id)
                .outerjoin(erased, erased.c.user == events.c.user)
                .outerjoin(submission_ids, named)
            )
            .where(boards.c.name == self._board.name)
        )

    def _fetch(self, query: Select[Any]) -> list[Event]:
        with self._database.reading() as connection:
            return _read(connection, query)


def _read(connection: Connection, query: Select[Any]) -> list[Event]:
    return [_event(row) for row in connection.execute(query)]


def _event(row: Any) -> Event:
    segments = tuple(row.segments.split("\t")) if row.segments else ()
    user_id = stand_in(row.user) if row.user_id is None else row.user_id
    what = (row.number, row.kind, user_id, row.points, row.at, row.taken_at, row.update)
    return Event(*what, segments, row.refused, row.submission_id, row.user)
