"""Names and metadata for entries, in as few trips as may be."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ..rules.results import Entry
from ..store.calls import Commands
from ..store.users import Profile, Users

Profiles = Mapping[str, Profile]
NOBODY: Profiles = {}


class Naming:
    """Gives entries their users' names, and metadata where asked for; nothing where no users are kept.

    Who stands on a page is known only when it has been read. But it is mostly who stood there before, so their profiles are
    asked for in the same trip, and only those of newcomers in another.
    """

    MOST_PAGES = 256

    def __init__(self, users: Users | None) -> None:
        self._users = users
        self._stood: dict[Hashable, tuple[str, ...]] = {}

    def likely(self, page: Hashable) -> tuple[str, ...]:
        """Give the users who stood on a page when it was last read."""
        return self._stood.get(page, ())

    def remember(self, page: Hashable, user_ids: tuple[str, ...]) -> None:
        """Remember who stands on a page."""
        if len(self._stood) >= self.MOST_PAGES:
            self._stood.clear()
        self._stood[page] = user_ids

    def commands(self, user_ids: Sequence[str], metadata: bool) -> Commands:
        """Give the commands that ask for the users' profiles."""
        return self._users.commands(user_ids, metadata=metadata) if self._users and user_ids else []

    def read(self, user_ids: Sequence[str], replies: Sequence[Any]) -> Profiles:
        """Give profiles by user, out of the replies to `commands`."""
        return dict(zip(user_ids, self._users.read(user_ids, replies), strict=True)) if self._users and replies else NOBODY

    def name(self, entries: Sequence[Entry], metadata: bool, known: Profiles = NOBODY) -> list[Entry]:
        """Give entries their names; profiles that are not known are asked for."""
        if self._users is None:
            return list(entries)
        missing = [entry.user_id for entry in entries if entry.user_id not in known]
        if missing:
            known = {**known, **dict(zip(missing, self._users.get(missing, metadata=metadata), strict=True))}
        return [with_profile(entry, known[entry.user_id]) for entry in entries]


def with_profile(entry: Entry, profile: Profile) -> Entry:
    """Give an entry with a user's name and metadata."""
    rank, user_id, _, score, percentile, at, _ = entry
    return Entry(rank, user_id, profile.user_name, score, percentile, at, profile.metadata)
