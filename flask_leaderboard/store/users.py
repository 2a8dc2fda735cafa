"""What is known of users on all boards: display names, and metadata such as a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from redis.exceptions import WatchError

from .calls import Caller

Metadata = Mapping[str, Any]
Texts = Mapping[str, tuple[str | None, str | None]]
"""Names and metadata as they are kept, by user."""


class Profile(NamedTuple):
    """A user's display name and metadata."""

    user_name: str | None = None
    metadata: Metadata | None = None


class Mark(NamedTuple):
    """How far a Redis has the profiles that are kept in SQL: it has every change up to a version.

    It has been filled from nothing when they were at `since`: who was erased before has never been in it.
    """

    version: int = 0
    since: int = 0


class Users:
    """Keeps profiles in two hashes of one slot; those of a whole page are read in one trip."""

    def __init__(self, caller: Caller, prefix: str) -> None:
        self._caller = caller
        self._names = f"{prefix}:{{@users}}:names"
        self._metadata = f"{prefix}:{{@users}}:metadata"
        self._mark = f"{prefix}:{{@users}}:version"

    def put_names(self, names: Mapping[str, str]) -> None:
        """Keep display names; metadata stays as it is."""
        if names:
            self._caller.ask(("HSET", self._names, *(text for pair in names.items() for text in pair)))

    def put_logged_names(self, names: Mapping[str, str], version: int) -> None:
        """Keep display names that a log has stored already, with profiles at a version."""
        self.put_names(names)

    def put(self, user_id: str, profile: Profile) -> None:
        """Keep a profile in place of the one before."""

        def write(client: Any) -> None:
            pipeline = client.pipeline(transaction=True)
            self._queue(pipeline, {user_id: (profile.user_name, metadata_text(profile.metadata))})
            pipeline.execute()

        self._caller.use(write)

    def mark(self) -> Mark:
        """Tell how far Redis has the profiles that are kept in SQL."""
        return read_mark(self._caller.ask(("GET", self._mark))[0])

    def advance(self, before: Mark, after: Mark, texts: Texts, *, anew: bool = False) -> bool:
        """Write profiles and how far Redis is with them, at once, if it is where it was; `anew` drops all others first."""

        def write(client: Any) -> bool:
            with client.pipeline(transaction=True) as pipeline:
                pipeline.watch(self._mark)
                if read_mark(pipeline.get(self._mark)) != before:
                    return False
                pipeline.multi()
                if anew:
                    pipeline.unlink(self._names, self._metadata)
                self._queue(pipeline, texts)
                pipeline.set(self._mark, f"{after.version} {after.since}")
                pipeline.execute()
                return True

        try:
            return self._caller.use(write)
        except WatchError:
            return False

    def _queue(self, pipeline: Any, texts: Texts) -> None:
        for place, key in enumerate((self._names, self._metadata)):
            kept = {user_id: pair[place] for user_id, pair in texts.items() if pair[place] is not None}
            gone = texts.keys() - kept.keys()
            if kept:
                pipeline.hset(key, mapping=kept)
            if gone:
                pipeline.hdel(key, *gone)

    def get(self, user_ids: Sequence[str], *, metadata: bool = False) -> list[Profile]:
        """Give the users' profiles, in one trip; metadata only where asked for."""
        if not user_ids:
            return []
        return self.read(user_ids, self._caller.ask(*self.commands(user_ids, metadata=metadata)))

    def commands(self, user_ids: Sequence[str], *, metadata: bool = False) -> list[tuple[str, ...]]:
        """Give the commands that ask for profiles; `read` understands the replies."""
        keys = (self._names, self._metadata) if metadata else (self._names,)
        return [("HMGET", key, *user_ids) for key in keys]

    def read(self, user_ids: Sequence[str], replies: Sequence[Any]) -> list[Profile]:
        """Make the users' profiles of the replies to `commands`."""
        names, *rest = replies
        texts = rest[0] if rest else [None] * len(names)
        return [_profile(name, text) for name, text in zip(names, texts, strict=True)]

    def erase(self, user_id: str) -> None:
        """Forget a user's name and metadata."""
        self.put(user_id, Profile())


def metadata_text(metadata: Metadata | None) -> str | None:
    """Write metadata as it is kept: JSON in ASCII."""
    return None if metadata is None else json.dumps(metadata, separators=(",", ":"))


def read_mark(text: bytes | None) -> Mark:
    """Read how far a Redis is; at the very beginning it does not say so."""
    return Mark() if text is None else Mark(*map(int, text.split()))


def _profile(name: bytes | None, metadata: bytes | None) -> Profile:
    return Profile(None if name is None else name.decode(), None if metadata is None else json.loads(metadata))
