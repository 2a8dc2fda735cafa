"""Rows into files: CSV and JSON lines, whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import click

from .lines import Format

Row = Sequence[Any]
Write = Callable[[Row], None]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def row_writer(stream: TextIO, kind: Format, columns: Sequence[str], *, spreadsheet: bool = False) -> Write:
    """Give a function that writes rows; the first line of CSV names the columns.

    For a `spreadsheet`, texts that it would take for formulas get an apostrophe in front.
    """
    if kind == "jsonl":
        return lambda row: _write_json(stream, dict(zip(columns, row, strict=True)))
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    return lambda row: writer.writerow([_harmless(_cell(value)) if spreadsheet else _cell(value) for value in row])


def _write_json(stream: TextIO, record: dict[str, Any]) -> None:
    stream.write(json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n")


def _cell(value: Any) -> Any:
    """Give a value as CSV has it; numbers as they are: their text names the same double."""
    if isinstance(value, dict):
        return " ".join(f"{name}={item}" for name, item in value.items())
    return "" if value is None else value


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


@contextmanager
def whole_file(target: Path | None) -> Iterator[TextIO]:
    """Give a stream to write to; the file gets its name when all is written and on the disk. Without a target it is stdout."""
    if target is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    target = target.resolve()
    if target.exists() and not target.is_file():  # a pipe or a device: there is nothing to rename over
        with _told_by_name(target), target.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    beside = target.with_name(f".export-{secrets.token_hex(8)}.part")
    try:
        with _told_by_name(target):
            with beside.open("x", encoding="utf-8", newline="") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(target)
            _sync_folder(target.parent)
    finally:
        with suppress(OSError):
            beside.unlink()


@contextmanager
def _told_by_name(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise click.FileError(str(target), error.strerror or str(error)) from error


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some file systems can't: the name is then as safe as they make it
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
