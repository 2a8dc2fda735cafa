"""The game's leaderboard: points add up, and every ten minutes a new round begins, so that newcomers can win one."""

from datetime import timedelta

from flask_leaderboard import AllTime, Board, Daily, Every, Segment, Weekly

BOARD = Board(
    "starfall",
    windows=[Every(timedelta(minutes=10), name="round"), Daily(), Weekly(), AllTime()],
    segments=[Segment("country", pattern="[A-Z]{2}")],
)
