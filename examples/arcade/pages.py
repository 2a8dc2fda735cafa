"""The game's pages, and the calls of the script in the browser."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, abort, flash, g, jsonify, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from flask_leaderboard import LeaderboardError, Receipt, current_leaderboards

from . import matches
from .board import BOARD
from .courses import CheatError, Course
from .database import Match, Player, db
from .people import COUNTRIES

LONGEST_NAME = 24
MATCHES_SHOWN = 8
blueprint = Blueprint("pages", __name__)


@blueprint.before_request
def load_player() -> None:
    g.player = db.session.get(Player, session["player"]) if "player" in session else None


@blueprint.get("/")
def home() -> str:
    return render_template("play.html", board=BOARD.name, countries=COUNTRIES)


@blueprint.post("/join")
def join() -> ResponseReturnValue:
    name, country = " ".join(request.form.get("name", "").split()), request.form.get("country")
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable() or country not in COUNTRIES:
        flash(f"Choose a name of 1 to {LONGEST_NAME} characters, and a country.")
        return redirect(url_for(".home"))
    player = Player(name=name, country=country)
    db.session.add(player)
    db.session.commit()
    session["player"] = player.id
    return redirect(url_for(".home"))


@blueprint.post("/leave")
def leave() -> ResponseReturnValue:
    session.clear()
    return redirect(url_for(".home"))


@blueprint.get("/players/<int:player_id>")
def profile(player_id: int) -> str:
    player = db.get_or_404(Player, player_id)
    recent = db.select(Match).filter_by(player_id=player.id).where(Match.points.is_not(None)).order_by(Match.id.desc())
    board = current_leaderboards[BOARD.name]
    entries = {window.name: board.rank(player.user_id, window=window.name) for window in BOARD.windows}
    flights = db.session.scalars(recent.limit(MATCHES_SHOWN)).all()
    return render_template("player.html", player=player, country=COUNTRIES[player.country], entries=entries, flights=flights)


@blueprint.post("/matches")
def start_match() -> ResponseReturnValue:
    match = matches.start(_me())
    course = Course(match.seed)
    return jsonify(url=url_for(".end_match", match_id=match.id), rows=course.rows, times_ms=course.times_ms)


@blueprint.post("/matches/<int:match_id>/end")
def end_match(match_id: int) -> ResponseReturnValue:
    match = db.session.get(Match, match_id)
    if match is None or match.player_id != _me().id:
        abort(404)
    sent: Any = request.get_json()
    path = sent.get("path") if isinstance(sent, dict) else None
    receipt = matches.end(match, path if isinstance(path, str) else "")
    return jsonify(points=match.points, pending=receipt.pending, standings=_standings(receipt))


@blueprint.errorhandler(CheatError)
def refuse(error: CheatError) -> ResponseReturnValue:
    return jsonify(error=f"This flight does not count: {error}."), 422


@blueprint.errorhandler(LeaderboardError)
def wait(error: LeaderboardError) -> ResponseReturnValue:
    return jsonify(error="The leaderboard is away for a moment. The flight is kept: send it again."), 503


def _me() -> Player:
    player: Player | None = g.player
    return player or abort(401)


def _standings(receipt: Receipt) -> list[dict[str, Any]]:
    """List what the flight did on the whole board, window by window."""
    whole = [change for change in receipt.changes if change.segment is None]
    return [{"window": change.window, "rank": change.new_rank, "old_rank": change.old_rank} for change in whole]
