"""Erasing users from the log: what they did stays, who they were goes.

A user's events, totals and archived standings name the row of the user, and that row loses the id, the name and the metadata. The
id itself is kept apart for a while: Redis may still have it, or come back with older data that has it, and is then told whom to
forget. Afterwards nothing tells it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select

from ..rules.board import Board
from .database import Database
from .event_log import EventLog
from .profiles import lock_versions, write_profiles
from .tables import boards, erased, events
from .users import find_users

NOBODY: dict[str, Any] = {"user_id": None, "name": None, "profile": None}


class Erasure(NamedTuple):
    """A user who was erased: the row, the version of the profile that is gone, and the number of the removal on each board."""

    user: int
    version: int
    removals: Mapping[str, int]


class Erasures:
    """Makes users nameless, and forgets in the end who they were. The boards `elsewhere` get their numbers in Redis."""

    def __init__(self, database: Database, elsewhere: Collection[str] = ()) -> None:
        self._database = database
        self._elsewhere = set(elsewhere)

    def erase(self, user_id: str, now: int) -> Erasure | None:
        """Take a user off every board and forget who it was, in one transaction; None where the log knows no such user."""

        def write(connection: Connection) -> Erasure | None:
            row = find_users(connection, [user_id]).get(user_id)
            if row is None:
                return None
            lock_versions(connection, self._database)
            removals = self._remove(connection, row.id, user_id, now)
            version = write_profiles(connection, self._database, [{"id": row.id, **NOBODY}])
            connection.execute(insert(erased), {"user": row.id, "user_id": user_id, "version": version, "at": now})
            return Erasure(row.id, version, removals)

        return self._database.attempt(write)

    def waiting(self, before: int, limit: int) -> list[Erasure]:
        """List users who were erased before an instant and whose id is still kept, the oldest first."""
        with self._database.begin() as connection:
            query = select(erased.c.user, erased.c.version).where(erased.c.at < before).order_by(erased.c.at).limit(limit)
            rows = connection.execute(query).all()
            return [Erasure(row.user, row.version, _last_events(connection, row.user)) for row in rows]

    def forget(self, erasures: Iterable[Erasure]) -> None:
        """Forget the ids of users who were erased."""
        users = sorted(erasure.user for erasure in erasures)
        if users:
            with self._database.begin() as connection:
                connection.execute(delete(erased).where(erased.c.user.in_(users)))

    def _remove(self, connection: Connection, user: int, user_id: str, now: int) -> dict[str, int]:
        """Remove a user from every board that may have him. All are locked: nobody adds an event of his meanwhile."""
        locked = connection.execute(select(boards).order_by(boards.c.id).with_for_update()).all()
        played = _last_events(connection, user)
        return {
            board.name: EventLog(Board(board.name), self._database).append_removal(connection, board.id, user_id, now)
            for board in locked
            if (board.name in played or board.pruned) and board.name not in self._elsewhere
        }


def _last_events(connection: Connection, user: int) -> dict[str, int]:
    """Give the number of a user's last event on each board; that of one who was erased is the removal."""
    query = (
        select(boards.c.name, func.max(events.c.number).label("number"))
        .select_from(boards.join(events, events.c.board == boards.c.id))
        .where(events.c.user == user)
        .group_by(boards.c.name)
    )
    return {row.name: row.number for row in connection.execute(query)}
