"""Rows of events and of their submission ids, as they are written and looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, select, update

from ..rules.board import Board
from .bulk import insert_rows, parts, select_rows
from .events import Draft, Logged
from .tables import boards, events, submission_ids
from .users import UserRow

Identity = tuple[int, str]
"""A user's row and a submission id."""


class EventRows:
    """Collects the rows of new events behind a board's head, and writes them in a few statements. The board's lock is held."""

    def __init__(self, board: Board, row: int, head: int, users: Mapping[str, UserRow]) -> None:
        self._whole = board.score_type == "integer"
        self._board = row
        self._head = head
        self._users = users
        self._events: list[dict[str, Any]] = []
        self._ids: list[dict[str, Any]] = []

    @property
    def next_number(self) -> int:
        return self._head + len(self._events) + 1

    def identity(self, draft: Draft) -> Identity | None:
        """Give what a submission id belongs to; None for a draft without one."""
        return None if draft.submission_id is None else (self._users[draft.user_id].id, draft.submission_id)

    def known(self, connection: Connection, drafts: Sequence[Draft]) -> dict[Identity, tuple[Logged, str]]:
        """Give what the log knows of the ids of drafts: the event, and the fact it stood for."""
        wanted = sorted({identity for draft in drafts if (identity := self.identity(draft)) is not None})
        ids = submission_ids.c
        same_event = and_(events.c.board == ids.board, events.c.number == ids.number)
        query = (
            select(ids.user, ids.submission_id, ids.number, ids.fact, events.c.refused)
            .select_from(submission_ids.outerjoin(events, same_event))
            .where(ids.board == self._board)
        )
        found: dict[Identity, tuple[Logged, str]] = {}
        for part in parts(wanted):
            for row in connection.execute(select_rows(connection, query, (ids.user, ids.submission_id), part)):
                found[row.user, row.submission_id] = (Logged(row.number, known=True, refused=row.refused), row.fact)
        return found

    def add(self, draft: Draft, writer: str, *, with_id: bool = True) -> int:
        """Add an event; give the number it gets."""
        number, user = self.next_number, self._users[draft.user_id].id
        self._events.append(
            {
                "board": self._board,
                "number": number,
                "kind": draft.kind,
                "user": user,
                "points_integer": draft.points if self._whole else None,
                "points_float": None if self._whole else draft.points,
                "at": draft.at,
                "taken_at": draft.taken_at,
                "update": draft.update,
                "segments": "\t".join(draft.segments),
                "writer": writer,
            }
        )
        if with_id and draft.submission_id is not None:
            fields = (self._board, user, draft.submission_id, number, draft.fact)
            self._ids.append(dict(zip(("board", "user", "submission_id", "number", "fact"), fields, strict=True)))
        return number

    def insert(self, connection: Connection) -> None:
        """Write all that was added, and move the board's head."""
        if self._events:
            insert_rows(connection, events, self._events)
            insert_rows(connection, submission_ids, self._ids)
            connection.execute(update(boards).where(boards.c.id == self._board).values(head=self.next_number - 1))
