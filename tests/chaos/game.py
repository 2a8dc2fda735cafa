"""What players and judge agree on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from flask_leaderboard import AllTime, Board, Every, Segment

BOARD = Board(
    "chaos",
    mode="ledger",
    score_range=(-20, 60),
    windows=[AllTime(), Every(timedelta(hours=1), name="hourly")],
    segments=[Segment("country", limit=3)],
)
BOARDS = {
    "ledger": BOARD,
    "write_behind": replace(BOARD, mode="write_behind"),
    "coalesced": replace(BOARD, coalesce_ms=150),
}
"""What is played on, by its name."""
USERS = tuple(f"user{place}" for place in range(8))
TOKEN = "chaos"
COUNTRIES = (None, None, "NL", "BE", "DE", "FR")
