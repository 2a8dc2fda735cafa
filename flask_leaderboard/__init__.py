"""Real-time leaderboards for Flask games, on Redis."""

from __future__ import annotations

from .engine.leaderboard import Leaderboard
from .errors import LeaderboardError
from .rules.board import Board
from .rules.calendar import Daily, Monthly, Weekly
from .rules.results import Change, Entry, FriendEntry, Page, Receipt
from .rules.segments import Segment
from .rules.submission import Submission
from .rules.windows import AllTime, Every, Season, Tournament

__all__ = [
    "AllTime",
    "Board",
    "Change",
    "Daily",
    "Entry",
    "Every",
    "FriendEntry",
    "Leaderboard",
    "LeaderboardError",
    "Monthly",
    "Page",
    "Receipt",
    "Season",
    "Segment",
    "Submission",
    "Tournament",
    "Weekly",
]
