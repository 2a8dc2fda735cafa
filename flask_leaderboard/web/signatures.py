"""Signed requests: an HMAC over time, method, path and body, good for a while and for once."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from urllib.parse import quote

from flask import Request

from ..errors import ReplayError, UnauthorizedError

TIMESTAMP = "Leaderboard-Timestamp"
SIGNATURE = "Leaderboard-Signature"
CLOCK_SKEW_SECONDS = 60
"""For how much longer than it is good a signature is remembered: the clocks of processes differ."""
Remember = Callable[[str, int], bool]
"""Remembers a text for so many seconds; False where it was known."""


def sign(secret: str, timestamp: str, method: str, path: str, body: bytes) -> str:
    """Give the signature of a request.

    `path` is percent-encoded, letters, digits, ``-._~`` and ``/`` excepted, and has the query string as it is sent.
    """
    text = f"{timestamp}\n{method}\n{path}\n".encode("latin-1") + body
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


class Signatures:
    """Checks signatures; several secrets may be valid at once, so that they can be changed one after the other."""

    def __init__(self, secrets: tuple[str, ...], window_seconds: int) -> None:
        self._secrets = secrets
        self._window = window_seconds

    def check(self, request: Request, now_us: int, remember: Remember) -> None:
        """Refuse a request that is not signed, or whose signature is wrong, old, or was seen before."""
        if not self._secrets:
            return
        timestamp, given = request.headers.get(TIMESTAMP, ""), request.headers.get(SIGNATURE, "")
        if not timestamp.isdecimal() or len(timestamp) > 16 or not given:
            raise UnauthorizedError(f"the request must be signed: send '{TIMESTAMP}' (ms since 1970) and '{SIGNATURE}'")
        if abs(int(timestamp) - now_us // 1000) > self._window * 1000:
            raise UnauthorizedError(f"'{TIMESTAMP}' is more than {self._window} s from the server's clock: sign the request anew")
        path = quote(request.script_root + request.path, safe="/") + ("?" if request.query_string else "")
        path += request.query_string.decode("latin-1")
        body = request.get_data(cache=True)
        expected = [sign(secret, timestamp, request.method, path, body) for secret in self._secrets]
        fits = [hmac.compare_digest(given.encode(), known.encode()) for known in expected]
        if True not in fits:
            raise UnauthorizedError(f"'{SIGNATURE}' does not fit the request: see the docs page on signatures")
        if not remember(given, 2 * self._window + CLOCK_SKEW_SECONDS):
            raise ReplayError("this signed request was seen before: sign each one anew, with a new time")
