"""Rows of users. Locks are taken in one order by all: new users, versions of profiles, boards, users who are there."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, select

from ..errors import LogUnavailableError
from .bulk import parts, select_rows
from .database import Database
from .tables import users


class UserRow(NamedTuple):
    """A user's surrogate key and display name."""

    id: int
    name: str | None


def find_users(connection: Connection, user_ids: Collection[str]) -> dict[str, UserRow]:
    """Give the rows of those users who have one."""
    found: dict[str, UserRow] = {}
    for part in parts(sorted(user_ids)):
        query = select(users.c.user_id, users.c.id, users.c.name)
        rows = connection.execute(select_rows(connection, query, (users.c.user_id,), [(user_id,) for user_id in part]))
        found.update((row.user_id, UserRow(row.id, row.name)) for row in rows)
    return found


def get_users(connection: Connection, user_ids: Collection[str]) -> dict[str, UserRow]:
    """Give the rows of users who were added before, and can be erased no more in this transaction."""
    rows = find_users(connection, user_ids)
    if len(rows) < len(user_ids):
        raise LogUnavailableError("a user was taken out of the log at this moment: repeat the call")
    return rows


def add_users(connection: Connection, database: Database, user_ids: Collection[str]) -> dict[str, UserRow]:
    """Add users that are new, sorted so that two transactions never wait for each other; give those who were there."""
    known = find_users(connection, user_ids)
    missing = sorted(set(user_ids) - known.keys())
    if missing:
        connection.execute(database.insert_new(users), [{"user_id": user_id} for user_id in missing])
    return known
