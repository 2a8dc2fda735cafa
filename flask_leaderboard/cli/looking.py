"""Look at boards: ``boards``, ``top``, ``rank``."""

from __future__ import annotations

from typing import Unpack

import click
from flask.cli import AppGroup

from ..engine.reading import How
from ..globals import current_leaderboards
from .choosing import find_board, place_options
from .output import print_table


def add_commands(group: AppGroup) -> None:
    """Add the commands of this module."""
    for name, command in (("boards", show_boards), ("top", show_top), ("rank", show_rank)):
        group.command(name)(command)


def show_boards() -> None:
    """List the boards with their windows, running periods and sizes."""
    rows = []
    for leaderboard in current_leaderboards.values():
        totals = leaderboard.totals()
        for window in leaderboard.board.windows:
            period = leaderboard.place(window=window.name).period
            rows.append((leaderboard.board.name, window.name, period or "-", f"{totals.get(window.name, 0):,}"))
    print_table(("board", "window", "period", "users"), rows)


@place_options
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many entries.")
def show_top(board: str | None, limit: int, **how: Unpack[How]) -> None:
    """Show the best of a ranking."""
    page = find_board(board).top(limit, **how)
    print_table(("rank", "user", "name", "score"), [(e.rank, e.user_id, e.user_name or "", f"{e.score:,}") for e in page.entries])
    where = " ".join(part for part in (page.window, page.period or "no period runs", page.segment) if part)
    click.echo(f"\n{len(page.entries):,} of {page.total:,} in {where}")


@click.argument("user_id")
@place_options
def show_rank(board: str | None, user_id: str, **how: Unpack[How]) -> None:
    """Show where a user stands: in every window, or in the one that is named."""
    leaderboard = find_board(board)
    if how.get("window") or how.get("period"):
        place = leaderboard.place(**how)
        found = [(place.window, place.period, leaderboard.rank(user_id, **how))]
    else:
        found = [(s.window, s.period, s.entry) for s in leaderboard.standings(user_id, **how)]
    rows = [(window, period or "-", e.rank, f"{e.score:,}", f"{e.percentile} %") for window, period, e in found if e]
    if not rows:
        raise click.ClickException(f"user {user_id!r} is not ranked there")
    print_table(("window", "period", "rank", "score", "percentile"), rows)
