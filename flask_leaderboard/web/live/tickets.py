"""Tickets: what a caller may read, signed, to be handed to a page that can't send a token."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from itsdangerous import BadData, URLSafeSerializer

from ...engine.reading import Clock
from ...errors import TicketError
from ...rules.instants import MICROSECONDS
from ..cursors import Secrets


class Ticket(NamedTuple):
    """What its holder may read: rankings, and the rank of these users (None: of every user)."""

    user_ids: tuple[str, ...] | None


class Tickets:
    """Signs tickets with the newest of the app's secrets, and takes those signed with any of them for a short while."""

    def __init__(self, secrets: Secrets, clock: Clock, seconds: int) -> None:
        self._secrets = secrets
        self._clock = clock
        self.seconds = seconds

    def issue(self, ticket: Ticket) -> str:
        until = self._clock() // MICROSECONDS + self.seconds
        text: str | bytes = _serializer(self._secrets()).dumps([until, ticket.user_ids])
        return text if isinstance(text, str) else text.decode()

    def read(self, text: str) -> Ticket:
        """Give a ticket that is good, or refuse it."""
        try:
            until, user_ids = _serializer(self._secrets()).loads(text)
        except BadData:
            raise TicketError("the ticket is not one that this server gave: ask for a new one") from None
        if until < self._clock() / MICROSECONDS:
            raise TicketError("the ticket has run out: ask for a new one")
        return Ticket(None if user_ids is None else tuple(user_ids))


def _serializer(secrets: Sequence[bytes]) -> Any:
    return URLSafeSerializer(secrets, salt="flask-leaderboard.ticket", signer_kwargs={"digest_method": hashlib.sha256})
