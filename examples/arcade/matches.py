"""A match from its start to the leaderboard."""

from __future__ import annotations

import secrets
import time

from flask_leaderboard import Receipt, current_leaderboards

from .board import BOARD
from .courses import CheatError, Course
from .database import Match, Player, db

LATEST_S = 300


def start(player: Player) -> Match:
    """Begin a match on a course that nobody knows yet."""
    match = Match(player_id=player.id, seed=secrets.randbits(31))
    db.session.add(match)
    db.session.commit()
    return match


def end(match: Match, path: str) -> Receipt:
    """Check the flight, keep its points and put them on the board. Called again it changes nothing, and gives the standing.

    The game's own transaction is over before the submission: the board's log may be in the same database.
    """
    if match.points is None:
        elapsed = time.time() - match.started_at
        if elapsed > LATEST_S:
            raise CheatError("the match is too long ago")
        match.points, match.rows = Course(match.seed).points(path, elapsed * 1000), len(path)
    player, points, submission_id = match.player, match.points, f"match-{match.id}"
    db.session.commit()
    return current_leaderboards[BOARD.name].submit(
        player.user_id,
        points,
        submission_id=submission_id,
        user_name=player.name,
        segments={"country": player.country},
    )
