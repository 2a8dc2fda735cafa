"""The current app's leaderboards, for code that has not the extension object at hand."""

from __future__ import annotations

from flask import current_app
from werkzeug.local import LocalProxy

from .engine.hub import Hub
from .web.service import service_of


def _find() -> Hub:
    return service_of(current_app).hub


current_leaderboards: Hub = LocalProxy(_find)  # type: ignore[assignment]
"""The boards of the current app by name: ``current_leaderboards["arena"]``."""
