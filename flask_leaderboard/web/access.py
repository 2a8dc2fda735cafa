"""Who may call: bearer tokens with roles, or the host's own login."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Literal

from flask import Request

from ..config import ROLES
from ..errors import ConfigurationError, ForbiddenError, UnauthorizedError

Role = Literal["read", "submit", "admin"]
Authorize = Callable[[Role, str | None], bool | None]
"""A host's own check: gets the role and the user the call is about (or None); None as answer leaves it to the tokens."""

UNKNOWN = -1
"""The level of a token that nobody has; the level of a role is its place in `ROLES`."""


class Access:
    """Tells whether a request has a role. A higher role includes the lower ones: read, submit, admin."""

    def __init__(self, tokens: Mapping[str, tuple[str, ...]], authorize: Authorize | None = None) -> None:
        self._digests = [(level, _digest(token)) for level, role in enumerate(ROLES) for token in tokens[role]]
        self._highest = max((level for level, _ in self._digests), default=UNKNOWN)
        self._authorize = authorize
        self._reads_take_a_token = bool(tokens["read"])
        self.asks_host = authorize is not None
        self.reads_are_public = not self._reads_take_a_token and authorize is None

    def check(self, request: Request, role: Role, user_id: str | None = None, *, token: str | None = None) -> None:
        """Refuse a request that has not the role; `token` is one that came in another way than in its header."""
        allowed = None if self._authorize is None else self._authorize(role, user_id)
        if not isinstance(allowed, bool | None):
            raise ConfigurationError(f"authorize must give True, False or None, not {type(allowed).__name__}")
        if allowed is False:
            raise ForbiddenError(f"you may not do this: it takes the role '{role}'")
        if allowed is None and (role != "read" or self._reads_take_a_token):
            self._check_token(token or _bearer(request), role)

    def _check_token(self, token: str, role: Role) -> None:
        needed = ROLES.index(role)
        if self._highest < needed:
            raise ForbiddenError(
                f"nobody has the role '{role}': set LEADERBOARD_TOKENS = {{'{role}': [...]}} to let callers in,"
                " or submit from the app's own Python code"
            )
        if not token:
            raise UnauthorizedError(f"this takes the role '{role}': send 'Authorization: Bearer TOKEN'")
        held = self._level_of(token)
        if held == UNKNOWN:
            raise UnauthorizedError("the token is not known")
        if held < needed:
            raise ForbiddenError(f"the token's role is not enough: this takes the role '{role}'")

    def _level_of(self, token: str) -> int:
        """Give the level of a token's role, comparing with every one that is known so that time tells nothing."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        return max([level for level, known in self._digests if hmac.compare_digest(digest, known)], default=UNKNOWN)


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _digest(token: str) -> bytes:
    if token.startswith("sha256:"):
        return bytes.fromhex(token.removeprefix("sha256:"))
    return hashlib.sha256(token.encode()).digest()
