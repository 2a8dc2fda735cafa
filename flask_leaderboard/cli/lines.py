"""Files from the outside, line by line: CSV and JSON lines, strictly.

A record is one line in both: nothing that a submission may carry has a line break in it. So one that is broken breaks no other,
its number is where an editor finds it, and a file of any size takes the memory of its longest allowed line.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from typing import BinaryIO, Literal, NamedTuple

from ..errors import InputError, LeaderboardError
from ..rules.records import FIELDS, NEEDED, from_texts, from_values
from ..rules.strict_json import parse_json
from ..rules.submission import Submission

Format = Literal["csv", "jsonl"]
LONGEST_LINE = 65_536
_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line with its number from 1: the submission in it, or what is wrong with it."""

    number: int
    found: Submission | LeaderboardError


def read_lines(file: BinaryIO, kind: Format, ignored: Collection[str] = ()) -> Iterator[Line]:
    """Read a file of submissions; columns or names that are `ignored` may stand in it. Empty lines are passed over."""
    return _read_csv(file, ignored) if kind == "csv" else _read_json(file, ignored)


def _read_csv(file: BinaryIO, ignored: Collection[str]) -> Iterator[Line]:
    columns: list[str] | None = None
    for number, text in _raw_lines(file):
        if columns is None:
            columns = _read_header(text, ignored)
        else:
            yield Line(number, _attempt_csv(text, columns, ignored))
    if columns is None:
        raise InputError("the file is empty: its first line must name the columns")


def _read_json(file: BinaryIO, ignored: Collection[str]) -> Iterator[Line]:
    for number, text in _raw_lines(file):
        yield Line(number, _attempt_json(text, ignored))


def _raw_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | InputError]]:
    """Give lines with their numbers, without line breaks; in place of one that is too long, the error."""
    number = 0
    while data := file.readline(LONGEST_LINE + 2):
        number += 1
        if number == 1:
            data = data.removeprefix(_BOM)
        text = data.removesuffix(b"\n").removesuffix(b"\r")
        if len(text) > LONGEST_LINE:
            _skip_line(file, data)
            yield number, InputError(f"the line has more than {LONGEST_LINE:,} bytes")
        elif text:
            yield number, text


def _skip_line(file: BinaryIO, data: bytes) -> None:
    while data and not data.endswith(b"\n"):
        data = file.readline(LONGEST_LINE)


def _read_header(text: bytes | InputError, ignored: Collection[str]) -> list[str]:
    try:
        columns = _cells(text)
        _check_names(columns, ignored)
    except LeaderboardError as error:
        raise InputError(f"the first line must name the columns: {error}") from None
    repeated = [name for name in columns if columns.count(name) > 1]
    missing = [name for name in NEEDED if name not in columns]
    if repeated or missing:
        wrong = f"{repeated[0]!r} stands there twice" if repeated else f"{missing[0]!r} is not there"
        raise InputError(f"the first line must name the columns: {wrong}")
    return columns


def _attempt_csv(text: bytes | InputError, columns: Sequence[str], ignored: Collection[str]) -> Submission | LeaderboardError:
    try:
        cells = _cells(text)
        if len(cells) != len(columns):
            raise InputError(f"the line has {len(cells)} values for {len(columns)} columns")
        return from_texts({name: cell for name, cell in zip(columns, cells, strict=True) if name not in ignored})
    except LeaderboardError as error:
        return error


def _attempt_json(text: bytes | InputError, ignored: Collection[str]) -> Submission | LeaderboardError:
    try:
        record = parse_json(_whole(text), "the line")
        if not isinstance(record, dict):
            raise InputError('the line must be an object, such as {"user_id": "mary", "points": 5}')
        _check_names(record, ignored)
        return from_values({name: value for name, value in record.items() if name not in ignored})
    except LeaderboardError as error:
        return error


def _cells(text: bytes | InputError) -> list[str]:
    try:
        return next(csv.reader([_whole(text).decode()], strict=True))
    except UnicodeDecodeError as error:
        raise InputError(f"the line is not UTF-8: {error.reason} at byte {error.start}") from None
    except csv.Error as error:
        raise InputError(f"the line is not CSV: {error}") from None


def _whole(text: bytes | InputError) -> bytes:
    if isinstance(text, InputError):
        raise text
    return text


def _check_names(names: Collection[str], ignored: Collection[str]) -> None:
    strange = next((name for name in names if name not in FIELDS and name not in ignored), None)
    if strange is not None:
        raise InputError(
            f"{strange[:40]!r} is none of {', '.join(FIELDS)}: take it out, or let it be with --ignore {strange[:40]!r}"
        )
