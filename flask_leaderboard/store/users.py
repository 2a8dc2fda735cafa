"""What is known of users on all boards: display names, and metadata such as a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .calls import Caller

Metadata = Mapping[str, Any]


class Profile(NamedTuple):
    """A user's display name and metadata."""

    user_name: str | None = None
    metadata: Metadata | None = None


class Users:
    """Keeps profiles in two hashes of one slot; those of a whole page are read in one trip."""

    def __init__(self, caller: Caller, prefix: str) -> None:
        self._caller = caller
        self._names = f"{prefix}:{{@users}}:names"
        self._metadata = f"{prefix}:{{@users}}:metadata"

    def put_names(self, names: Mapping[str, str]) -> None:
        """Keep display names; metadata stays as it is."""
        if names:
            self._caller.ask(("HSET", self._names, *(text for pair in names.items() for text in pair)))

    def put(self, user_id: str, profile: Profile) -> None:
        """Keep a profile in place of the one before."""
        metadata = None if profile.metadata is None else json.dumps(profile.metadata, separators=(",", ":"))

        def write(client: Any) -> None:
            pipeline = client.pipeline(transaction=True)
            for key, value in ((self._names, profile.user_name), (self._metadata, metadata)):
                if value is None:
                    pipeline.hdel(key, user_id)
                else:
                    pipeline.hset(key, user_id, value)
            pipeline.execute()

        self._caller.use(write)

    def get(self, user_ids: Sequence[str], *, metadata: bool = False) -> list[Profile]:
        """Give the users' profiles, in one trip; metadata only where asked for."""
        if not user_ids:
            return []
        return self.read(self._caller.ask(*self.commands(user_ids, metadata=metadata)))

    def commands(self, user_ids: Sequence[str], *, metadata: bool = False) -> list[tuple[str, ...]]:
        """Give the commands that ask for profiles; `read` understands the replies."""
        keys = (self._names, self._metadata) if metadata else (self._names,)
        return [("HMGET", key, *user_ids) for key in keys]

    @staticmethod
    def read(replies: Sequence[Sequence[bytes | None]]) -> list[Profile]:
        """Make profiles of the replies to `commands`."""
        names, *rest = replies
        texts = rest[0] if rest else [None] * len(names)
        return [_profile(name, text) for name, text in zip(names, texts, strict=True)]

    def erase(self, user_id: str) -> None:
        """Forget a user's name and metadata."""
        self.put(user_id, Profile())


def _profile(name: bytes | None, metadata: bytes | None) -> Profile:
    return Profile(None if name is None else name.decode(), None if metadata is None else json.loads(metadata))
