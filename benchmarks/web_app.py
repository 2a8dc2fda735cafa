"""The app that gunicorn serves here: the leaderboard's blueprint, and beside it the least a Flask route can do."""

from __future__ import annotations

import os
from typing import Any

from flask import Flask, Response, jsonify, request

from flask_leaderboard.extension import Leaderboards
from flask_leaderboard.rules.board import Board, Mode
from flask_leaderboard.rules.calendar import Daily, Weekly
from flask_leaderboard.rules.windows import AllTime

BOARD = "arena"
TOKEN = "benchmark"
"""What submissions are allowed by; the bare route gets it too and does not look at it."""


def create_app(redis_url: str, cache_ms: int, database_url: str | None = None) -> Flask:
    """Make the app; with a database its board keeps a log there."""
    app = Flask(__name__)
    app.config["LEADERBOARD_REDIS_URL"] = redis_url
    app.config["LEADERBOARD_CACHE_MS"] = cache_ms
    app.config["LEADERBOARD_TOKENS"] = {"submit": [TOKEN]}
    app.config["SECRET_KEY"] = "signs cursors"
    app.config["LEADERBOARD_DATABASE_URL"] = database_url
    mode: Mode = "redis_only" if database_url is None else "ledger"
    Leaderboards(app, boards=[Board(BOARD, mode=mode, windows=[AllTime(), Weekly(), Daily()])])
    app.add_url_rule("/bare", "read_bare", read_bare, methods=["GET"])
    app.add_url_rule("/bare", "echo_bare", echo_bare, methods=["POST"])
    app.add_url_rule("/worker", "tell_worker", tell_worker, methods=["GET"])
    return app


def read_bare() -> Response:
    return jsonify(rank=1, user_id="user1", user_name="Mary", score=1000)


def tell_worker() -> Response:
    """Tell which worker has the connection, so that a client can share out its connections."""
    return jsonify(os.getpid())


def echo_bare() -> Response:
    sent: Any = request.get_json()
    return jsonify(sent)
