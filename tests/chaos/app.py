"""The game as an app, for gunicorn and for the worker; where its Redis and its log are comes from the environment."""

from __future__ import annotations

import os

from flask import Flask

from flask_leaderboard import Leaderboards
from tests.chaos.game import BOARDS, TOKEN


def create_app() -> Flask:
    app = Flask("chaos")
    app.config["LEADERBOARD_REDIS_URL"] = f"unix://{os.environ['CHAOS_REDIS']}"
    app.config["LEADERBOARD_DATABASE_URL"] = os.environ["CHAOS_DATABASE"]
    app.config["LEADERBOARD_REDIS_TIMEOUT_MS"] = 500
    app.config["LEADERBOARD_REDIS_REST_MS"] = 50
    app.config["LEADERBOARD_TOKENS"] = {"submit": [TOKEN]}
    Leaderboards(app, boards=[BOARDS[os.environ["CHAOS_MODE"]]])
    return app
