"""The database of the host app: the engine that its Flask-SQLAlchemy has."""

from __future__ import annotations

from flask import Flask
from sqlalchemy import Engine

from .contexts import inside
from .errors import ConfigurationError

KEY = "LEADERBOARD_DATABASE_BIND"


def host_engine(app: Flask, bind: bool | str) -> Engine:
    """Find the host's engine: the one of a bind key, or its first where `bind` is True."""
    host = app.extensions.get("sqlalchemy")
    if host is None:
        raise ConfigurationError(
            f"{KEY} is set but the app {app.name!r} has no Flask-SQLAlchemy:"
            " call db.init_app(app), or use LEADERBOARD_DATABASE_URL"
        )
    if not hasattr(type(host), "engines"):
        raise ConfigurationError(f"{KEY} needs Flask-SQLAlchemy 3 or later: install it, or use LEADERBOARD_DATABASE_URL")
    with inside(app):
        engines = host.engines
    key = None if bind is True else bind
    if key not in engines:
        known = ", ".join(repr(name) for name in engines if name is not None) or "none"
        wanted = "SQLALCHEMY_DATABASE_URI is not set" if key is None else f"SQLALCHEMY_BINDS has no {key!r}, it has {known}"
        raise ConfigurationError(f"{KEY} names no database: {wanted}")
    engine: Engine = engines[key]
    return engine
