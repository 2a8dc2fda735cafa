"""Which pages may open a connection. Browsers say where a page is from; what is no browser says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from flask import Request

from ...errors import OriginError


def check_origin(request: Request, allowed: Sequence[str] | None) -> None:
    """Refuse pages of other origins than those allowed: the app's own host where none are listed, all with ``*``."""
    origin = request.headers.get("Origin")
    if origin is None or _fits(origin, request.host, allowed):
        return
    raise OriginError(f"pages of {origin[:200]!r} may not connect: name them in LEADERBOARD_LIVE_ORIGINS")


def _fits(origin: str, host: str, allowed: Sequence[str] | None) -> bool:
    if allowed is None:
        return urlsplit(origin).netloc.lower() == host.lower()
    return "*" in allowed or origin in allowed
