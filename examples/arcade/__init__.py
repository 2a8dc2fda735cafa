"""Starfall, a small arcade game: ``make demo``.

Or by hand, in two terminals: ``flask --app examples/arcade run`` and ``flask --app examples/arcade bots``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Flask

from flask_leaderboard import Leaderboards

from . import bots, pages, secret
from .board import BOARD
from .database import db

HERE = Path(__file__).parent


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Make the game. What it keeps is in the folder that the environment names in ``ARCADE_INSTANCE``."""
    app = Flask(__name__, instance_path=os.environ.get("ARCADE_INSTANCE", str(HERE / "instance")))
    app.config["SECRET_KEY"] = secret.kept_in(Path(app.instance_path))
    app.config["SESSION_COOKIE_SAMESITE"] = "Lax"
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite:///arcade.sqlite3"
    app.config.from_mapping(config)
    db.init_app(app)
    with app.app_context():
        db.create_all()
    app.register_blueprint(pages.blueprint)
    app.cli.add_command(bots.play)
    Leaderboards(app, boards=[BOARD])
    return app
