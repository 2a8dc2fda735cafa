"""The commands ``flask leaderboard …``: look at boards in the terminal, run seasons, forget users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Unpack

import click
from flask.cli import AppGroup

from .engine.leaderboard import Leaderboard
from .engine.reading import How
from .errors import LeaderboardError
from .globals import current_leaderboards
from .log.migrating import current, newest, upgrade_sql
from .rules.results import RANKING_KINDS


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
        flask leaderboard db upgrade                   make or update the tables of the log
        """,
    )
    for command in (show_boards, show_top, show_rank, erase):
        group.command(command.__name__.removeprefix("show_"))(command)
    season = group.group("season", help="Start and end seasons.")(lambda: None)
    season.command("start")(start_season)
    season.command("end")(end_season)
    tables = group.group("db", help="The tables of the log.")(lambda: None)
    for name, command in (("upgrade", upgrade_tables), ("current", show_revision), ("sql", show_sql)):
        tables.command(name)(command)
    return group


def _options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_board = click.option("--board", metavar="NAME", help="The board; the first one declared, if left out.")
_place = _options(
    _board,
    click.option("--window", metavar="NAME", help="The window; the board's first, if left out."),
    click.option("--period", metavar="ID", help="A period such as 2026-W47, or 'previous'; the running one, if left out."),
    click.option("--segment", metavar="NAME=VALUE", help="A segment's ranking, such as country=NL."),
    click.option("--ranking", type=click.Choice(RANKING_KINDS), help="How ties are numbered; as the board says, if left out."),
)


def show_boards() -> None:
    """List the boards with their windows, running periods and sizes."""
    rows = []
    for leaderboard in current_leaderboards.values():
        totals = leaderboard.totals()
        for window in leaderboard.board.windows:
            period = leaderboard.place(window=window.name).period
            rows.append((leaderboard.board.name, window.name, period or "-", f"{totals.get(window.name, 0):,}"))
    _print_table(("board", "window", "period", "users"), rows)


@_place
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many entries.")
def show_top(board: str | None, limit: int, **how: Unpack[How]) -> None:
    """Show the best of a ranking."""
    page = _find(board).top(limit, **how)
    _print_table(
        ("rank", "user", "name", "score"), [(e.rank, e.user_id, e.user_name or "", f"{e.score:,}") for e in page.entries]
    )
    where = " ".join(part for part in (page.window, page.period or "no period runs", page.segment) if part)
    click.echo(f"\n{len(page.entries):,} of {page.total:,} in {where}")


@click.argument("user_id")
@_place
def show_rank(board: str | None, user_id: str, **how: Unpack[How]) -> None:
    """Show where a user stands: in every window, or in the one that is named."""
    leaderboard = _find(board)
    if how.get("window") or how.get("period"):
        place = leaderboard.place(**how)
        found = [(place.window, place.period, leaderboard.rank(user_id, **how))]
    else:
        found = [(s.window, s.period, s.entry) for s in leaderboard.standings(user_id, **how)]
    rows = [(window, period or "-", e.rank, f"{e.score:,}", f"{e.percentile} %") for window, period, e in found if e]
    if not rows:
        raise click.ClickException(f"user {user_id!r} is not ranked there")
    _print_table(("window", "period", "rank", "score", "percentile"), rows)


@click.argument("user_id")
@click.confirmation_option(prompt="Take the user off every board and forget the name?")
def erase(user_id: str) -> None:
    """Take a user off every board, and forget the name and metadata."""
    current_leaderboards.erase(user_id)
    click.echo(f"{user_id} is erased.")


@click.argument("name")
@_board
@click.option("--window", default="season", show_default=True, metavar="NAME", help="The season window.")
def start_season(board: str | None, window: str, name: str) -> None:
    """Start a season by its name; the one before must have been ended."""
    _find(board).start_season(name, window=window)
    click.echo(f"Season {name} runs.")


@_board
@click.option("--window", default="season", show_default=True, metavar="NAME", help="The season window.")
def end_season(board: str | None, window: str) -> None:
    """End the running season. It stays readable for the window's retention."""
    ended = _find(board).end_season(window=window)
    click.echo(f"Season {ended.id} has ended.")


def upgrade_tables() -> None:
    """Make the tables of the log, or bring them up to date."""
    current_leaderboards.database.migrate()
    show_revision()


def show_revision() -> None:
    """Tell which revision the tables are at, and which one is needed."""
    with current_leaderboards.database.connect() as connection:
        found = current(connection)
    click.echo(f"The tables are at {found or 'no revision'}; {newest()} is needed.")


def show_sql() -> None:
    """Print the SQL that makes the tables, for the database that is configured."""
    click.echo(upgrade_sql(current_leaderboards.database.engine.dialect.name))


def _find(name: str | None) -> Leaderboard:
    return current_leaderboards.default if name is None else current_leaderboards[name]


def _print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    cells = [tuple(headings), *(tuple(str(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
