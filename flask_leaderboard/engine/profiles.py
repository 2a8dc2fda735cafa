"""Profiles that are kept in SQL: changed there first, then brought to Redis, in the order of their versions."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..errors import LeaderboardError, LogMismatchError, LogUnavailableError, StoreUnavailableError
from ..log.profiles import Changes, ProfileTable, StoredProfile
from ..store.calls import Caller
from ..store.users import Mark, Profile, Users, metadata_text, read_mark

LOOK_SECONDS = 1.0
PROFILES_A_STEP = 1000
MOST_STEPS = 5
_logger = logging.getLogger("flask_leaderboard")


class LoggedUsers(Users):
    """Users whose truth is in SQL. Redis has a copy, and knows the version up to which it has all changes.

    Profiles are read from Redis. Where it stands behind a version that this process has seen, or is away, they are read from SQL.
    """

    def __init__(self, caller: Caller, prefix: str, table: ProfileTable) -> None:
        super().__init__(caller, prefix)
        self._table = table
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._seen = 0
        self._reached = 0
        self._look_at = 0.0
        self._waits = False

    def put(self, user_id: str, profile: Profile) -> None:
        with suppress(StoreUnavailableError):
            self.step()  # tells where Redis and the database do not belong together, before anything is changed
        self.follow(self._table.put(user_id, profile.user_name, metadata_text(profile.metadata)))

    def put_names(self, names: Mapping[str, str]) -> None:
        if names:
            self.follow(self._table.put_names(names))

    def put_logged_names(self, names: Mapping[str, str], version: int) -> None:
        self.follow(version)

    def forget(self, user_id: str) -> bool:
        """Forget in Redis alone a user whom the database does not know; False where it does, or something changed meanwhile."""
        mark = self.mark()
        return not self._table.get([user_id]) and self.advance(mark, mark, {user_id: (None, None)})

    def get(self, user_ids: Sequence[str], *, metadata: bool = False) -> list[Profile]:
        try:
            return super().get(user_ids, metadata=metadata)
        except StoreUnavailableError:
            return self._stored(user_ids, metadata)

    def commands(self, user_ids: Sequence[str], *, metadata: bool = False) -> list[tuple[str, ...]]:
        self.look()
        return [("GET", self._mark), *super().commands(user_ids, metadata=metadata)]

    def read(self, user_ids: Sequence[str], replies: Sequence[Any]) -> list[Profile]:
        mark, *found = replies
        if self._is_behind(read_mark(mark)):
            self._look_at = 0.0
            with suppress(LogUnavailableError):
                return self._stored(user_ids, metadata=len(found) > 1)
        return super().read(user_ids, found)

    def look(self) -> None:
        """See whether Redis lacks changes: at the first use, and then once a second; one thread does, the others go on."""
        if time.monotonic() < self._look_at or not self._looking.acquire(blocking=False):
            return
        try:
            more = self._steps(1)
            self._look_at = 0.0 if more else time.monotonic() + LOOK_SECONDS
        finally:
            self._looking.release()

    def follow(self, version: int) -> None:
        """Bring changes up to a version to Redis; what can't be brought now is by the next look."""
        self._expect(version)
        if version > self._reached and self._steps(MOST_STEPS):
            self._look_at = 0.0

    def step(self) -> bool:
        """Bring a page of changes from SQL to Redis; tell whether there are more."""
        mark = self.mark()
        changes = self._table.changes(mark.version, PROFILES_A_STEP)
        if mark.version > changes.newest:
            raise LogMismatchError(
                f"Redis has version {mark.version} of the users' profiles and the database {changes.newest}:"
                " name the database that belongs to it, or another key prefix"
            )
        self._expect(changes.newest)
        after = _next_mark(mark, changes)
        if after.version < mark.version or after.since > mark.since:
            self.advance(mark, after, {}, anew=True)
            return True
        if after == mark or self.advance(mark, after, _texts(changes.profiles)):
            self._reach(after)
            return after.version < changes.newest
        return True

    def _steps(self, most: int) -> bool:
        """Go some steps; tell whether there is more that can be done at once. That they fail is told once, not for each."""
        try:
            more = all(self.step() for _ in range(most))
        except LeaderboardError as error:
            if not self._waits:
                _logger.warning("names and metadata of users wait to be brought to Redis: %s", error)
            self._waits = True
            return False
        self._waits = False
        return more

    def _stored(self, user_ids: Sequence[str], metadata: bool) -> list[Profile]:
        found = self._table.get(set(user_ids))
        return [_profile(found.get(user_id), metadata) for user_id in user_ids]

    def _expect(self, version: int) -> None:
        with self._lock:
            self._seen = max(self._seen, version)

    def _reach(self, mark: Mark) -> None:
        with self._lock:
            self._reached = max(self._reached, mark.version)

    def _is_behind(self, mark: Mark) -> bool:
        with self._lock:
            return mark.version < self._seen


def _next_mark(mark: Mark, changes: Changes) -> Mark:
    """Give where Redis is with these changes; at the beginning, where it may have a user whose id nobody knows any more."""
    if any(profile.user_id is None and profile.version > mark.since for profile in changes.profiles):
        return Mark(0, changes.newest)
    is_last = len(changes.profiles) < PROFILES_A_STEP
    return Mark(changes.newest if is_last else changes.profiles[-1].version, mark.since)


def _texts(profiles: Sequence[StoredProfile]) -> dict[str, tuple[str | None, str | None]]:
    return {profile.user_id: (profile.name, profile.metadata) for profile in profiles if profile.user_id is not None}


def _profile(stored: StoredProfile | None, metadata: bool) -> Profile:
    if stored is None:
        return Profile()
    return Profile(stored.name, json.loads(stored.metadata) if metadata and stored.metadata is not None else None)
