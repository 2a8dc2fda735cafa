"""The app that gunicorn serves here: live rankings, and beside them the least that a WebSocket route can do."""

from __future__ import annotations

from typing import Any

from flask import Flask, request
from flask_sock import Sock  # type: ignore[import-untyped]

from flask_leaderboard import AllTime, Board, Leaderboards

BOARD = "arena"
INTERVAL_MS = 500
_listening: set[Any] = set()


def create_app(redis_url: str, clients: int) -> Flask:
    """Make the app for so many clients."""
    app = Flask(__name__)
    app.config["LEADERBOARD_REDIS_URL"] = redis_url
    app.config["LEADERBOARD_MODE"] = "redis_only"
    app.config["LEADERBOARD_LIVE_INTERVAL_MS"] = INTERVAL_MS
    app.config["LEADERBOARD_LIVE_MAX_CLIENTS"] = clients
    app.config["SECRET_KEY"] = "signs cursors"
    Leaderboards(app, boards=[Board(BOARD, windows=[AllTime()])])
    app.add_url_rule("/ready", "tell_ready", tell_ready, methods=["GET"])
    app.add_url_rule("/bare", "send_bare", send_bare, methods=["POST"])
    Sock(app).route("/bare")(listen_bare)
    return app


def tell_ready() -> str:
    return "ready"


def listen_bare(client: Any) -> None:
    """Keep a client until it goes."""
    _listening.add(client)
    try:
        client.receive()
    finally:
        _listening.discard(client)


def send_bare() -> str:
    """Send the body to all clients, one after the other."""
    text = request.get_data(as_text=True)
    for client in list(_listening):
        client.send(text)
    return str(len(_listening))
