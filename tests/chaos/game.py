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
MODES = ("ledger", "write_behind")
USERS = tuple(f"user{place}" for place in range(8))
TOKEN = "chaos"
COUNTRIES = (None, None, "NL", "BE", "DE", "FR")


def board_of(mode: str) -> Board:
    return replace(BOARD, mode=mode)  # type: ignore[arg-type]
