"""Submissions as they stand in files: a record of named values, texts out of CSV or whatever JSON has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from ..errors import IdentityError, InputError, PointsError, TimeError, UpdateError
from .decimals import read_number
from .instants import read_moment
from .submission import Submission, Update

FIELDS = ("user_id", "points", "submission_id", "at", "segments", "user_name", "update")
NEEDED = ("user_id", "points")
Record = Mapping[str, Any]


def from_texts(record: Mapping[str, str]) -> Submission:
    """Make a submission of texts; an empty one is as good as none. Segments stand as ``country=NL league=gold``."""
    values: dict[str, Any] = {name: text for name, text in record.items() if text}
    if "points" in values:
        values["points"] = read_number(values["points"])
    if "segments" in values:
        values["segments"] = read_segments(values["segments"])
    return from_values(values)


def from_values(record: Record) -> Submission:
    """Make a submission of values out of JSON; null is as good as none."""
    values = {name: value for name, value in record.items() if value is not None}
    missing = [repr(name) for name in NEEDED if name not in values]
    if missing:
        raise InputError(f"{' and '.join(missing)} must be given")
    for name, read in _READERS.items():
        if name in values:
            values[name] = read(name, values[name])
    return Submission(**values)


def read_segments(text: str) -> dict[str, str]:
    """Read segments as CSV has them; no value of a segment has a space in it."""
    segments: dict[str, str] = {}
    for label in text.split(" "):
        name, equals, value = label.partition("=")
        if not equals:
            raise IdentityError(f"segments {text[:40]!r} must stand as 'country=NL', with one space between two of them")
        if name in segments:
            raise IdentityError(f"segment {name[:40]!r} stands twice in {text[:40]!r}")
        segments[name] = value
    return segments


def _read_id(name: str, value: Any) -> str:
    if type(value) is int:
        return str(value)
    if not isinstance(value, str):
        raise IdentityError(f"{name!r} must be text or a whole number")
    return value


def _read_points(name: str, value: Any) -> Any:
    if isinstance(value, bool | str | list | dict):
        raise PointsError(f"{name!r} must be a number")
    return value


def _read_time(name: str, value: Any) -> Any:
    try:
        return read_moment(value)
    except TimeError as error:
        raise TimeError(f"{name!r} {error}") from None


def _read_mapping(name: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise IdentityError(f"{name!r} must be an object of texts, such as {{'country': 'NL'}}")
    return value


def _read_name(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise IdentityError(f"{name!r} must be text")
    return value


def _read_update(name: str, value: Any) -> Update:
    if not isinstance(value, str):
        raise UpdateError(f"{name!r} must be text")
    return cast(Update, value)  # the board refuses one that it does not know


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "user_id": _read_id,
    "points": _read_points,
    "submission_id": _read_id,
    "at": _read_time,
    "segments": _read_mapping,
    "user_name": _read_name,
    "update": _read_update,
}
