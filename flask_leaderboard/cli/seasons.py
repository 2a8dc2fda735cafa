"""Run seasons: ``season start``, ``season end``."""

from __future__ import annotations

import click
from flask.cli import AppGroup

from .choosing import board_option, find_board

_window_option = click.option("--window", default="season", show_default=True, metavar="NAME", help="The season window.")


def add_commands(group: AppGroup) -> None:
    """Add the commands of this module."""
    season = group.group("season", help="Start and end seasons.")(lambda: None)
    season.command("start")(start_season)
    season.command("end")(end_season)


@click.argument("name")
@board_option
@_window_option
def start_season(board: str | None, window: str, name: str) -> None:
    """Start a season by its name; the one before must have been ended."""
    find_board(board).start_season(name, window=window)
    click.echo(f"Season {name} runs.")


@board_option
@_window_option
def end_season(board: str | None, window: str) -> None:
    """End the running season. It stays readable for the window's retention."""
    ended = find_board(board).end_season(window=window)
    click.echo(f"Season {ended.id} has ended.")
