"""Real-time leaderboards for Flask games, on Redis."""

from __future__ import annotations

from .engine.leaderboard import Leaderboard
from .errors import LeaderboardError
from .extension import Leaderboards
from .globals import current_leaderboards
from .rules.board import Board
from .rules.calendar import Daily, Monthly, Weekly
from .rules.results import Change, Entry, FriendEntry, Page, Receipt
from .rules.segments import Segment
from .rules.submission import Submission
from .rules.windows import AllTime, Every, Season, Tournament
from .signals import period_closed, submission_counted

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
    "Leaderboards",
    "Monthly",
    "Page",
    "Receipt",
    "Season",
    "Segment",
    "Submission",
    "Tournament",
    "Weekly",
    "current_leaderboards",
    "period_closed",
    "submission_counted",
]
