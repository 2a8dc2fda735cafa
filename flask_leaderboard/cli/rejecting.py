"""Lines that were refused: told on stderr, or kept in a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ..errors import LeaderboardError
from .importing import Reject
from .lines import Format
from .writing import row_writer

MOST_TOLD = 100
LONGEST_REASON = 300
COLUMNS = ("line", "code", "error")


@contextmanager
def rejects_to(file: Path | None, kind: Format) -> Iterator[Reject]:
    """Give a function that takes refused lines; those for stderr are told at the end, also of an import that broke."""
    with _kept_in(file, kind) if file else _told() as reject:
        yield reject


@contextmanager
def _kept_in(file: Path, kind: Format) -> Iterator[Reject]:
    try:
        stream = file.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise click.FileError(str(file), error.strerror or str(error)) from error
    with stream:
        write = row_writer(stream, kind, COLUMNS)
        yield lambda line, error: write((line, error.code, _reason(error)))


@contextmanager
def _told() -> Iterator[Reject]:
    told: list[str] = []
    more = 0

    def reject(line: int, error: LeaderboardError) -> None:
        nonlocal more
        if len(told) < MOST_TOLD:
            told.append(f"line {line}: {_reason(error)}")
        else:
            more += 1

    try:
        yield reject
    finally:
        for text in told:
            click.echo(text, err=True)
        if more:
            click.echo(f"… and {more:,} more: --rejects FILE keeps them all", err=True)


def _reason(error: LeaderboardError) -> str:
    text = str(error)
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}…"
