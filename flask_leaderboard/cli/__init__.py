"""The commands ``flask leaderboard …``, for an operator in a terminal: one module for each thing they are about."""

from __future__ import annotations

from typing import Any

import click
from flask.cli import AppGroup

from ..errors import LeaderboardError
from . import files, looking, recovery, seasons, tables, users, working


class LeaderboardGroup(AppGroup):
    """Commands whose errors are told in a line, not with a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LeaderboardError as error:
            raise click.ClickException(str(error)) from error


def make_commands() -> AppGroup:
    """Make the group of commands for an app."""
    group = LeaderboardGroup(
        "leaderboard",
        help="""Look at the leaderboards, run their seasons, forget users.

        \b
        flask leaderboard boards                       all boards, windows and sizes
        flask leaderboard top --window weekly          the first ten
        flask leaderboard rank mary1934                a user in every window
        flask leaderboard season start season-4        begin a season
        flask leaderboard season end                   end it
        flask leaderboard worker                       see to what nobody waits for
        flask leaderboard verify --repair              compare Redis with the log, and mend it
        flask leaderboard rebuild                      make Redis anew from the log
        flask leaderboard export --what log a.csv      write the log, or a ranking, to a file
        flask leaderboard import scores.csv            count the submissions of a file
        flask leaderboard db upgrade                   make or update the tables of the log
        """,
    )
    for module in (looking, users, seasons, tables, files, working, recovery):
        module.add_commands(group)
    return group
