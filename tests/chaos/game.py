"""What players and judge agree on."""

from __future__ import annotations

import os
from datetime import timedelta

from flask_leaderboard import AllTime, Board, Every, Segment

BOARD = Board(
    "chaos",
    mode="ledger",
    score_range=(-20, 60),
    windows=[AllTime(), Every(timedelta(hours=1), name="hourly")],
    segments=[Segment("country", limit=3)],
    coalesce_ms=int(os.environ.get("CHAOS_COALESCE_MS", "0")),
)
USERS = tuple(f"user{place}" for place in range(8))
TOKEN = "chaos"
COUNTRIES = (None, None, "NL", "BE", "DE", "FR")
