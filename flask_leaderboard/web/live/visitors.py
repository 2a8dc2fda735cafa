"""Who is at the other end, and what may be followed from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Flask, Request

from ...errors import ForbiddenError
from ..access import Access
from .tickets import Ticket, Tickets

PROTOCOL = "leaderboard.v1"
"""The subprotocol, for browsers: they can send a token as another one, and need one that is chosen."""
_BEARER = "bearer."

Visitor = Callable[[str], None]
"""Refuses what may not be read of a user."""


class Doorkeeper:
    """Lets in who may read, by token, ticket or the host's own check."""

    def __init__(self, app: Flask, access: Access, tickets: Tickets) -> None:
        self._app = app
        self._access = access
        self._tickets = tickets

    def admit(self, request: Request, user_id: str | None = None) -> Visitor:
        """Let a request in, or refuse it; `user_id` is whom it asks for already."""
        ticket = request.args.get("ticket")
        if ticket is not None:
            holder = _holder(self._tickets.read(ticket))
            if user_id is not None:
                holder(user_id)
            return holder
        token = _token(request)
        self._access.check(request, "read", user_id, token=token)
        return self._guest(request.environ, token) if self._access.asks_host else _anyone

    def _guest(self, environ: dict[str, Any], token: str | None) -> Visitor:
        """Ask the host about each user, in a context of the request that opened the connection: its own has ended."""

        def check(user_id: str) -> None:
            with self._app.request_context(environ) as context:
                self._access.check(context.request, "read", user_id, token=token)

        return check


def _anyone(user_id: str) -> None:
    """Who may read may read of every user."""


def _holder(ticket: Ticket) -> Visitor:
    def check(user_id: str) -> None:
        if ticket.user_ids is not None and user_id not in ticket.user_ids:
            raise ForbiddenError("the ticket is not for this user: ask for one that names the user")

    return check


def _token(request: Request) -> str | None:
    """Give the token that came as a subprotocol, where one did."""
    offered = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
    return next((item.strip().removeprefix(_BEARER) for item in offered if item.strip().startswith(_BEARER)), None)
