"""Options that say which board and which ranking a command is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..engine.leaderboard import Leaderboard
from ..globals import current_leaderboards
from ..rules.results import RANKING_KINDS


def options(*chosen: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Put several options into one decorator."""

    def add(command: Any) -> Any:
        for option in reversed(chosen):
            command = option(command)
        return command

    return add


board_option = click.option("--board", metavar="NAME", help="The board; the first one declared, if left out.")
period_options = options(
    click.option("--window", metavar="NAME", help="The window; the board's first, if left out."),
    click.option("--period", metavar="ID", help="A period such as 2026-W47, or 'previous'; the running one, if left out."),
    click.option("--segment", metavar="NAME=VALUE", help="A segment's ranking, such as country=NL."),
)
ranking_option = click.option(
    "--ranking", type=click.Choice(RANKING_KINDS), help="How ties are numbered; as the board says, if left out."
)
place_options = options(board_option, period_options, ranking_option)


def find_board(name: str | None) -> Leaderboard:
    """Find a board by its name; without one it is the default."""
    return current_leaderboards.default if name is None else current_leaderboards[name]
