"""Names and metadata for entries, in as few trips as may be."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ..rules.results import Around, Entry, Watched
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
        known = self._complete(self._users, [entry.user_id for entry in entries], metadata, known)
        return [with_profile(entry, known[entry.user_id]) for entry in entries]

    def name_watched(self, watched: Watched, user_ids: Sequence[str], known: Profiles) -> Watched:
        """Give all entries of a ranking that is watched their names; `user_ids` are those it has."""
        if self._users is None:
            return watched
        known = self._complete(self._users, user_ids, False, known)
        named = {
            user_id: Around(*(entry and with_profile(entry, known[entry.user_id]) for entry in around))
            for user_id, around in watched.around.items()
        }
        best = [with_profile(entry, known[entry.user_id]) for entry in watched.entries]
        return watched._replace(entries=best, around=named)

    @staticmethod
    def _complete(users: Users, user_ids: Sequence[str], metadata: bool, known: Profiles) -> Profiles:
        """Ask for the profiles that are not known."""
        missing = [user_id for user_id in user_ids if user_id not in known]
        if not missing:
            return known
        return {**known, **dict(zip(missing, users.get(missing, metadata=metadata), strict=True))}


def with_profile(entry: Entry, profile: Profile) -> Entry:
    """Give an entry with a user's name and metadata."""
    rank, user_id, _, score, percentile, at, _ = entry
    return Entry(rank, user_id, profile.user_name, score, percentile, at, profile.metadata)
