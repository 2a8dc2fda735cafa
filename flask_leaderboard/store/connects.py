"""How often connections were made: behind each new one may be a server that has lost data."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet


class Connects:
    """Counts connections of a client, and each time that one of them is made again."""

    def __init__(self) -> None:
        self.count = 0
        self._seen: WeakSet[Any] = WeakSet()

    def see(self, connection: Any) -> None:
        """Take note of a connection that is about to be used."""
        if connection not in self._seen:
            self._seen.add(connection)
            connection.register_connect_callback(self._made)
            self._made(connection)

    def _made(self, _connection: Any) -> None:
        self.count += 1
