"""The log of one board: events in one order, numbered 1, 2, 3 … without gaps."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from sqlalchemy import Connection, Select, and_, func, insert, select, tuple_, update

from ..errors import ConflictError, LogUnavailableError
from ..rules.board import Board
from .database import Database
from .events import Draft, Event, Logged
from .tables import boards, events, submission_ids, users

ROWS_A_STATEMENT = 500
Outcome = Logged | ConflictError | None


class EventLog:
    """Appends to a board's log and reads it."""

    def __init__(self, board: Board, database: Database) -> None:
        self._board = board
        self.database = self._database = database
        self._points = events.c.points_integer if board.score_type == "integer" else events.c.points_float
        self._id: int | None = None

    def append(self, drafts: Sequence[Draft]) -> list[Outcome]:
        """Write events in one transaction; give for each its number, a conflict, or None for one too late and not known.

        An id that is known writes nothing. Where the reply to the commit is lost, the log is asked whether it was written.
        """
        writer = secrets.token_hex(8)
        board = self.board_row()
        given: list[tuple[int, list[Outcome]]] = []

        def write(connection: Connection) -> list[Outcome]:
            self._add_users(connection, {draft.user_id for draft in drafts})
            head = self._lock(connection, board)
            outcomes = self._write(connection, board, head, drafts, writer)
            given[:] = [(head, outcomes)]
            return outcomes

        try:
            return self._database.attempt(write)
        except LogUnavailableError:
            if given and self._was_written(board, *given[0], writer):
                return given[0][1]
            raise

    def head(self) -> int:
        """Give the number of the last event, 0 where there is none."""
        with self._database.reading() as connection:
            return connection.scalar(select(boards.c.head).where(boards.c.name == self._board.name)) or 0

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

    def board_row(self) -> int:
        """Give the id of the board's row, made at the first use."""
        if self._id is None:
            with self._database.begin() as connection:
                connection.execute(self._database.insert_new(boards), {"name": self._board.name, "head": 0})
                self._id = connection.scalar(select(boards.c.id).where(boards.c.name == self._board.name))
        assert self._id is not None  # noqa: S101 - the row was just made
        return self._id

    def _lock(self, connection: Connection, board: int) -> int:
        """Lock the board until the end of the transaction; give the number of its last event."""
        return int(connection.scalars(select(boards.c.head).where(boards.c.id == board).with_for_update()).one())

    def _add_users(self, connection: Connection, names: set[str]) -> None:
        """Add users that are new, sorted so that two transactions never wait for each other."""
        missing = sorted(names - self._user_rows(connection, names).keys())
        if missing:
            connection.execute(self._database.insert_new(users), [{"user_id": name} for name in missing])

    def _user_rows(self, connection: Connection, names: set[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for part in parts(sorted(names)):
            rows = connection.execute(select(users.c.user_id, users.c.id).where(users.c.user_id.in_(part)))
            found.update((row.user_id, row.id) for row in rows)
        return found

    def _write(self, connection: Connection, board: int, head: int, drafts: Sequence[Draft], writer: str) -> list[Outcome]:
        names = {draft.user_id for draft in drafts}
        rows = self._user_rows(connection, names)
        if len(rows) < len(names):
            raise LogUnavailableError("a user was taken out of the log at this moment: repeat the call")
        known = self._known_ids(connection, board, rows, drafts)
        outcomes: list[Outcome] = []
        new: list[dict[str, Any]] = []
        new_ids: list[dict[str, Any]] = []
        for draft in drafts:
            user = rows[draft.user_id]
            identity = None if draft.submission_id is None else (user, draft.submission_id)
            if identity in known:
                outcomes.append(_answer_known(draft, *known[identity]))
            elif draft.too_late:
                outcomes.append(None)
            else:
                number = head + len(new) + 1
                new.append(self._row(draft, board, number, user, writer))
                outcomes.append(Logged(number))
                if identity is not None:
                    known[identity] = (Logged(number, known=True), draft.fact)
                    fields = (board, *identity, number, draft.fact)
                    new_ids.append(dict(zip(("board", "user", "submission_id", "number", "fact"), fields, strict=True)))
        for table, added in ((events, new), (submission_ids, new_ids)):
            if added:
                connection.execute(insert(table), added)
        if new:
            connection.execute(update(boards).where(boards.c.id == board).values(head=head + len(new)))
        return outcomes

    def _known_ids(
        self, connection: Connection, board: int, rows: dict[str, int], drafts: Sequence[Draft]
    ) -> dict[tuple[int, str] | None, tuple[Logged, str]]:
        wanted = sorted({(rows[draft.user_id], draft.submission_id) for draft in drafts if draft.submission_id is not None})
        found: dict[tuple[int, str] | None, tuple[Logged, str]] = {}
        ids = submission_ids.c
        same_event = and_(events.c.board == ids.board, events.c.number == ids.number)
        for part in parts(wanted):
            query = (
                select(ids.user, ids.submission_id, ids.number, ids.fact, events.c.refused)
                .select_from(submission_ids.outerjoin(events, same_event))
                .where(ids.board == board, tuple_(ids.user, ids.submission_id).in_(part))
            )
            for row in connection.execute(query):
                found[row.user, row.submission_id] = (Logged(row.number, known=True, refused=row.refused), row.fact)
        return found

    def _row(self, draft: Draft, board: int, number: int, user: int, writer: str) -> dict[str, Any]:
        return {
            "board": board,
            "number": number,
            "kind": draft.kind,
            "user": user,
            "points_integer": draft.points if self._board.score_type == "integer" else None,
            "points_float": draft.points if self._board.score_type == "float" else None,
            "at": draft.at,
            "taken_at": draft.taken_at,
            "update": draft.update,
            "segments": "\t".join(draft.segments),
            "writer": writer,
        }

    def _was_written(self, board: int, head: int, outcomes: Sequence[Outcome], writer: str) -> bool:
        """Tell whether a transaction whose end was not heard of has been committed."""
        if not any(isinstance(outcome, Logged) and not outcome.known for outcome in outcomes):
            return False
        with self._database.begin() as connection:
            self._lock(connection, board)  # one that still hangs at the server is waited for
            first = and_(events.c.board == board, events.c.number == head + 1, events.c.writer == writer)
            return bool(connection.scalar(select(func.count()).select_from(events).where(first)))

    def _events(self) -> Select[Any]:
        named = and_(submission_ids.c.board == events.c.board, submission_ids.c.number == events.c.number)
        return (
            select(
                events.c.number,
                events.c.kind,
                users.c.user_id,
                self._points.label("points"),
                events.c.at,
                events.c.taken_at,
                events.c.update,
                events.c.segments,
                events.c.refused,
                submission_ids.c.submission_id,
                events.c.user,
            )
            .select_from(events.join(users).join(boards, events.c.board == boards.c.id).outerjoin(submission_ids, named))
            .where(boards.c.name == self._board.name)
        )

    def _fetch(self, query: Select[Any]) -> list[Event]:
        with self._database.reading() as connection:
            return _read(connection, query)


def _answer_known(draft: Draft, logged: Logged, fact: str) -> Outcome:
    if fact == draft.fact:
        return logged
    return ConflictError(f"submission id {draft.submission_id!r} was used before for {fact!r}, not {draft.fact!r}")


def _read(connection: Connection, query: Select[Any]) -> list[Event]:
    return [_event(row) for row in connection.execute(query)]


def _event(row: Any) -> Event:
    segments = tuple(row.segments.split("\t")) if row.segments else ()
    return Event(
        row.number,
        row.kind,
        row.user_id,
        row.points,
        row.at,
        row.taken_at,
        row.update,
        segments,
        row.refused,
        row.submission_id,
        row.user,
    )


def parts(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (values[first : first + ROWS_A_STATEMENT] for first in range(0, len(values), ROWS_A_STATEMENT))
