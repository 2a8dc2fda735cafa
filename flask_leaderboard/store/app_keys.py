"""What the processes of an app share in Redis beside their boards: a secret, and texts that were seen."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress

from ..errors import StoreUnavailableError
from .calls import Caller

SECRET_SECONDS = 10.0
"""For how long a process trusts its copy of the secret: a Redis that lost its data has another one."""


class AppKeys:
    """Keeps them for one process."""

    def __init__(self, caller: Caller, prefix: str) -> None:
        self._caller = caller
        self._prefix = prefix
        self._secret: bytes | None = None
        self._own = secrets.token_hex(32).encode()
        self.secret_until = 0.0

    def remember(self, text: str, seconds: int) -> bool:
        """Remember a text for a while, for all processes; False where it was known."""
        (answer,) = self._caller.ask(("SET", f"{self._prefix}:{{@seen:{text}}}", "1", "NX", "EX", seconds))
        return answer is not None

    def knows(self, text: str) -> bool:
        """Tell whether a text is remembered."""
        return bool(self._caller.ask(("EXISTS", f"{self._prefix}:{{@seen:{text}}}"))[0])

    def secrets(self) -> list[bytes]:
        """Give the secrets to sign by, the best last: the one that all processes share, made by the first that asks; while Redis
        is away the last one known, and one of the process's own where it knows none."""
        if self._secret is None or time.monotonic() > self.secret_until:
            with suppress(StoreUnavailableError):
                self._secret = self._ask_for_secret()
            self.secret_until = time.monotonic() + SECRET_SECONDS
        return [self._own] if self._secret is None else [self._own, self._secret]

    def _ask_for_secret(self) -> bytes:
        key = f"{self._prefix}:{{@app}}:secret"
        (known,) = self._caller.ask(("GET", key))
        if known is None:
            _, known = self._caller.ask(("SET", key, secrets.token_hex(32), "NX"), ("GET", key))
        return bytes(known)
