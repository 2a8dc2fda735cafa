"""Commands that make Redis whole by the log: rebuild it, and verify that it is."""

from __future__ import annotations

import click
from flask.cli import AppGroup

from ..engine.leaderboard import Leaderboard
from ..globals import current_leaderboards
from .choosing import find_board, options
from .output import print_table
from .progress import Progress

MOST_TOLD = 100
_which = options(
    click.option("--board", metavar="NAME", help="The board; all that keep a log, if left out."),
    click.option("--window", "windows", metavar="NAME", multiple=True, help="A window, may be repeated; all, if left out."),
)


def add_commands(group: AppGroup) -> None:
    group.command("rebuild")(rebuild)
    group.command("verify")(verify)


@_which
@click.option("--from-log", is_flag=True, help="Fold the whole log anew before, by the rules as they are now.")
def rebuild(board: str | None, windows: tuple[str, ...], from_log: bool) -> None:
    """Make the data in Redis anew from the log, beside the live data, and swap it in."""
    for leaderboard in _boards(board):
        _rebuild(leaderboard, windows, from_log=from_log)


@_which
@click.option("--repair", is_flag=True, help="Rebuild the windows that differ.")
def verify(board: str | None, windows: tuple[str, ...], repair: bool) -> None:
    """Compare the data in Redis with the log. Ends with 1 where something differs that was not repaired."""
    differing = sum(_verify(leaderboard, windows, repair=repair) for leaderboard in _boards(board))
    if differing:
        raise SystemExit(1)


def _boards(name: str | None) -> list[Leaderboard]:
    if name is not None:
        return [find_board(name)]
    return [leaderboard for leaderboard in current_leaderboards.values() if leaderboard.keeps_log]


def _rebuild(leaderboard: Leaderboard, windows: tuple[str, ...], *, from_log: bool = False) -> None:
    with Stages() as stages:
        rebuilt = leaderboard.rebuild(windows=windows, from_log=from_log, progress=stages)
    loaded = "it was gone on with" if rebuilt.resumed else f"{rebuilt.rows:,} rows loaded"
    click.echo(f"Board {leaderboard.board.name} is rebuilt up to event {rebuilt.number:,}: {loaded}.")


def _verify(leaderboard: Leaderboard, windows: tuple[str, ...], *, repair: bool) -> bool:
    """Verify a board; tell whether it differs, after the repair where that is wanted."""
    name = leaderboard.board.name
    with Stages() as stages:
        found = leaderboard.verify(windows=windows, progress=stages)
    click.echo(f"Board {name}: {found.entries:,} entries in {found.rankings:,} rankings, {len(found.differences):,} differences.")
    if found.unsettled:
        click.echo(f"{found.unsettled:,} were written too often to be compared: verify again when it is quieter.")
    if not found.differences:
        return False
    print_table(
        ("what", "ranking", "user", "in Redis", "by the log"),
        [(one.what, one.ranking, one.user_id or "-", one.redis, one.log) for one in found.differences[:MOST_TOLD]],
    )
    if not repair:
        return True
    _rebuild(leaderboard, found.to_rebuild)
    return _verify(leaderboard, windows, repair=False)


class Stages:
    """Tells the progress of work that has several stages, a line for each."""

    def __init__(self) -> None:
        self._what = ""
        self._line: Progress | None = None

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        if what != self._what or self._line is None:
            self._end()
            self._what, self._line = what, Progress(what).__enter__()
        self._line.show(done, done / total if total else None)

    def _end(self) -> None:
        if self._line is not None:
            self._line.__exit__(None, None, None)
            self._line = None
