"""The current app's leaderboards, for code that has not the extension object at hand."""

from __future__ import annotations

from werkzeug.local import LocalProxy

from .engine.hub import Hub
from .web.service import current_service

current_leaderboards: Hub = LocalProxy(lambda: current_service().hub)  # type: ignore[assignment]
"""The boards of the current app by name: ``current_leaderboards["arena"]``."""
