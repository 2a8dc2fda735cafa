"""Names and metadata of users in SQL: the truth, of which Redis has a copy.

Each change takes the next version, under a lock that is held until it is committed. So who has all changes up to a version
lacks exactly the profiles with a higher one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Insert, Select, func, select, update
from sqlalchemy.dialects import mysql, postgresql, sqlite

from .bulk import parts
from .database import Database
from .tables import erased, users, versions
from .users import add_users, get_users

PROFILE = "profile"


class StoredProfile(NamedTuple):
    """A user's name, and metadata as JSON. Without a `user_id` the user was erased, and nobody knows who it was."""

    user_id: str | None
    name: str | None
    metadata: str | None
    version: int


class Changes(NamedTuple):
    """Profiles that changed behind a version, in that order; `newest` is the latest version there is."""

    newest: int
    profiles: Sequence[StoredProfile]


class ProfileTable:
    """Changes profiles and reads them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, user_id: str, name: str | None, metadata: str | None) -> int:
        """Keep a profile in place of the one before; give its version."""

        def write(connection: Connection) -> int:
            add_users(connection, self._database, [user_id])
            lock_versions(connection, self._database)
            row = get_users(connection, [user_id])[user_id]
            return write_profiles(connection, self._database, [{"id": row.id, "name": name, "profile": metadata}])

        return self._database.attempt(write)

    def put_names(self, names: Mapping[str, str]) -> int:
        """Keep display names, where they are not those that are kept; give the version that has them all."""

        def write(connection: Connection) -> int:
            known = add_users(connection, self._database, names)
            if all(user_id in known and known[user_id].name == name for user_id, name in names.items()):
                return latest_version(connection)
            lock_versions(connection, self._database)
            return write_names(connection, self._database, names)

        return self._database.attempt(write)

    def get(self, user_ids: Collection[str]) -> dict[str, StoredProfile]:
        """Give the profiles of those who have one."""
        found: dict[str, StoredProfile] = {}
        with self._database.begin() as connection:
            for part in parts(sorted(user_ids)):
                rows = connection.execute(_profiles().where(users.c.user_id.in_(part)))
                found.update((row.user_id, StoredProfile(*row)) for row in rows)
        return found

    def changes(self, after: int, limit: int) -> Changes:
        """Give what changed behind a version, in the order of versions."""
        with self._database.begin() as connection:
            newest = latest_version(connection)  # asked for first: whatever has a version up to it is committed
            behind = users.c.version.between(after + 1, newest)
            rows = connection.execute(_profiles().where(behind).order_by(users.c.version).limit(limit))
            return Changes(newest, [StoredProfile(*row) for row in rows])


def latest_version(connection: Connection) -> int:
    """Give the version of the latest change that was committed, 0 where there is none."""
    return connection.scalar(_version()) or 0


def lock_versions(connection: Connection, database: Database) -> int:
    """Let nobody else change a profile until the end of the transaction; give the latest version."""
    version = connection.scalar(_version().with_for_update())
    if version is None:
        connection.execute(database.insert_new(versions), {"what": PROFILE, "version": 0})
        version = connection.scalars(_version().with_for_update()).one()
    return int(version)


def write_names(connection: Connection, database: Database, names: Mapping[str, str]) -> int:
    """Store the names that are new, under the lock of the versions; give the latest version."""
    rows = get_users(connection, names)
    changed = sorted((rows[user_id].id, name) for user_id, name in names.items() if rows[user_id].name != name)
    return write_profiles(connection, database, [{"id": row, "name": name} for row, name in changed])


def write_profiles(connection: Connection, database: Database, changed: Sequence[dict[str, Any]]) -> int:
    """Store values in rows of users, each with a version of its own, under their lock; give the latest version."""
    version = latest_version(connection)
    if not changed:
        return version
    numbered = [{**values, "version": version + place} for place, values in enumerate(changed, 1)]
    connection.execute(_overwrite(database, tuple(numbered[0].keys() - {"id"})), numbered)
    last = version + len(changed)
    connection.execute(update(versions).where(versions.c.what == PROFILE).values(version=last))
    return last


def _version() -> Select[Any]:
    return select(versions.c.version).where(versions.c.what == PROFILE)


def _profiles() -> Select[Any]:
    known = func.coalesce(users.c.user_id, erased.c.user_id).label("user_id")
    return select(known, users.c.name, users.c.profile, users.c.version).select_from(users.outerjoin(erased))


def _overwrite(database: Database, columns: Sequence[str]) -> Insert:
    """Give a statement that puts values into rows that are there: unlike an update it takes many rows at once everywhere."""
    if database.engine.dialect.name in ("mysql", "mariadb"):
        inserted = mysql.insert(users)
        return inserted.on_duplicate_key_update({column: inserted.inserted[column] for column in columns})
    given: Any = (postgresql if database.engine.dialect.name == "postgresql" else sqlite).insert(users)
    values = {column: given.excluded[column] for column in columns}
    return given.on_conflict_do_update(index_elements=[users.c.id], set_=values)  # type: ignore[no-any-return]
