"""Cursors that only this app can have given."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache

from itsdangerous import BadSignature, Signer

from ..errors import CursorError

Secrets = Callable[[], Sequence[bytes]]


class CursorSigner:
    """Signs cursors with the newest of the app's secrets, and takes those signed with any of them (the newest comes last)."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def sign(self, cursor: str | None) -> str | None:
        return None if cursor is None else _sign(tuple(self._secrets()), cursor)

    def unsign(self, signed: str | None) -> str | None:
        """Give the cursor that was signed, or refuse it."""
        if signed is None:
            return None
        try:
            return _signer_of(tuple(self._secrets())).unsign(signed.encode()).decode()
        except (BadSignature, UnicodeError):
            raise CursorError("the cursor is not one that this server gave: start again without it") from None


@lru_cache(maxsize=1024)
def _sign(secrets: tuple[bytes, ...], cursor: str) -> str:
    """Sign a cursor; pages are read again and again, and most of them end where they did before."""
    return _signer_of(secrets).sign(cursor).decode()


@lru_cache(maxsize=16)
def _signer_of(secrets: tuple[bytes, ...]) -> Signer:
    return Signer(secrets, salt="flask-leaderboard.cursor", digest_method=hashlib.sha256)
