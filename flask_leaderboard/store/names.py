"""Display names of users, shared by all boards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from redis import Redis


class Names:
    """Keeps names in one hash; a whole page of them is read in one trip."""

    def __init__(self, client: Redis, prefix: str) -> None:
        self._client = client
        self._key = f"{prefix}:{{users}}:names"

    def put(self, names: Mapping[str, str]) -> None:
        if names:
            self._client.hset(self._key, items=[text for pair in names.items() for text in pair])

    def get(self, user_ids: Sequence[str]) -> list[str | None]:
        if not user_ids:
            return []
        found = cast(list[bytes | None], self._client.hmget(self._key, list(user_ids)))
        return [None if name is None else name.decode() for name in found]
