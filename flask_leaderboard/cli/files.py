"""Boards into files and back: ``export``, ``import``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Unpack

import click
from flask.cli import AppGroup

from ..engine.reading import How
from .choosing import board_option, find_board, options, period_options, ranking_option
from .exporting import Export, export_log, export_ranking
from .importing import Counts, Importer
from .lines import Format, read_lines
from .progress import Progress
from .rejecting import rejects_to
from .writing import row_writer, whole_file

STREAM = "-"
SUFFIXES: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_format_option = click.option(
    "--format", "kind", type=click.Choice(("csv", "jsonl")), help="CSV or JSON lines; as the file's name ends, if left out."
)


def add_commands(group: AppGroup) -> None:
    """Add the commands of this module."""
    group.command("export")(export_file)
    group.command("import")(import_file)


@click.argument("file", default=STREAM)
@click.option(
    "--what", type=click.Choice(("log", "ranking")), required=True, help="All events of the board in order, or a ranking."
)
@_format_option
@click.option("--spreadsheet", is_flag=True, help="Put an apostrophe before texts that a spreadsheet would take for formulas.")
@options(board_option, period_options, ranking_option)
def export_file(file: str, what: str, kind: Format | None, spreadsheet: bool, board: str | None, **how: Unpack[How]) -> None:
    """Write the log of a board, or a ranking, to FILE or to stdout.

    The file gets its name when it is whole: an export that breaks leaves the one before as it was.
    """
    chosen = kind or _format_of(file)
    if what == "log" and any(how.values()):
        raise click.UsageError("the log has no --window, --period, --segment or --ranking: those are for --what ranking")
    leaderboard = find_board(board)
    export = export_log(leaderboard) if what == "log" else export_ranking(leaderboard, **how)
    rows = _write(export, None if file == STREAM else Path(file), chosen, spreadsheet)
    for note in export.notes:
        click.echo(note, err=True)
    click.echo(f"{rows:,} rows exported.", err=True)


def _write(export: Export, target: Path | None, kind: Format, spreadsheet: bool) -> int:
    done = 0
    with whole_file(target) as stream, Progress("rows") as progress:
        write = row_writer(stream, kind, export.columns, spreadsheet=spreadsheet)
        for page in export.pages:
            for row in page:
                write(row)
            done += len(page)
            progress.show(done, min(1.0, done / export.total) if export.total else None)
    return done


@click.argument("file")
@board_option
@_format_option
@click.option("--dry-run", is_flag=True, help="Only check the lines; nothing is counted.")
@click.option("--rejects", type=click.Path(path_type=Path, dir_okay=False), help="A file for the lines that are refused.")
@click.option(
    "--ids-from-lines",
    metavar="PREFIX",
    help="Give lines without a submission_id one of PREFIX and the line's number, so that the file can be imported again.",
)
@click.option("--ignore", multiple=True, metavar="NAME", help="A column that may stand in the file and is passed over.")
def import_file(
    file: str,
    board: str | None,
    kind: Format | None,
    dry_run: bool,
    rejects: Path | None,
    ids_from_lines: str | None,
    ignore: tuple[str, ...],
) -> None:
    """Count the submissions in FILE, or in stdin if it is '-'.

    Each line has user_id and points, and may have submission_id, at, segments, user_name and update. Lines that are refused are
    told with their numbers and give an exit status of 1; the others count.
    """
    chosen, leaderboard = kind or _format_of(file), find_board(board)
    with _opened(file) as source, rejects_to(rejects, _format_of(str(rejects), chosen)) as reject:
        importer = Importer(leaderboard, reject, id_prefix=ids_from_lines, dry_run=dry_run)
        with Progress("lines") as progress:
            size = _size_of(source)
            for done in importer.run(read_lines(source, chosen, ignore)):
                progress.show(done, source.tell() / size if size else None)
    click.echo(_summary(importer.counts, dry_run))
    if importer.counts.refused:
        raise click.exceptions.Exit(1)


def _format_of(file: str, default: Format | None = None) -> Format:
    kind = SUFFIXES.get(Path(file).suffix.lower(), default)
    if kind is None:
        raise click.UsageError("name the format: --format csv or --format jsonl, or a file that ends in .csv or .jsonl")
    return kind


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    try:
        stream: Any = click.open_file(file, "rb")
    except OSError as error:
        raise click.FileError(file, error.strerror or str(error)) from error
    with stream:
        yield stream


def _size_of(source: BinaryIO) -> int:
    """Tell how many bytes a file has; 0 for a stream, which does not say."""
    try:
        return os.fstat(source.fileno()).st_size if source.seekable() else 0
    except OSError:
        return 0


def _summary(counts: Counts, dry_run: bool) -> str:
    if dry_run:
        return f"{counts.lines:,} lines: {counts.lines - counts.refused:,} are right, {counts.refused:,} would be refused."
    parts = [f"{counts.taken:,} counted", f"{counts.duplicates:,} had counted before", f"{counts.refused:,} refused"]
    waiting = f" Of those counted {counts.pending:,} wait for Redis." if counts.pending else ""
    return f"{counts.lines:,} lines: {', '.join(parts)}.{waiting}"
