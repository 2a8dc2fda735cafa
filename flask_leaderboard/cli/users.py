"""Forget users: ``erase``."""

from __future__ import annotations

import click
from flask.cli import AppGroup

from ..globals import current_leaderboards


def add_commands(group: AppGroup) -> None:
    """Add the commands of this module."""
    group.command("erase")(erase)


@click.argument("user_id")
@click.confirmation_option(prompt="Take the user off every board and forget the name?")
def erase(user_id: str) -> None:
    """Take a user off every board, and forget the name and metadata."""
    current_leaderboards.erase(user_id)
    click.echo(f"{user_id} is erased.")
