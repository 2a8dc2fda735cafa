"""Boards out of plain values, as a configuration file has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from ..errors import ConfigurationError
from .board import Board
from .calendar import Daily, Monthly, Weekly
from .segments import Segment
from .windows import AllTime, Every, Season, Tournament, Window

_WINDOWS: dict[str, type[Window]] = {
    "all": AllTime,
    "daily": Daily,
    "weekly": Weekly,
    "monthly": Monthly,
    "every": Every,
    "season": Season,
    "tournament": Tournament,
}
_DURATIONS = ("grace", "retention", "length", "at_most", "tie_resolution", "remember_ids", "events")
_MOMENTS = ("start", "end")


def declare_board(described: Board | Mapping[str, Any]) -> Board:
    """Build a board of its rules by name: durations in seconds, windows by their type, times as ISO 8601."""
    if isinstance(described, Board):
        return described
    rules = _options(described, "a board", Board)
    if "name" not in rules:
        raise ConfigurationError(f"the board {dict(described)!r} has no 'name'")
    for name, build in (("windows", _window), ("segments", _segment)):
        if name in rules:
            rules[name] = _each(rules[name], name, build)
    for name in ("score_range", "points_range"):
        if isinstance(rules.get(name), list):
            rules[name] = tuple(rules[name])
    return Board(rules.pop("name"), **rules)


def _each(values: Any, name: str, build: Callable[[Any], Any]) -> list[Any]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ConfigurationError(f"{name} {values!r} must be a list")
    return [build(value) for value in values]


def _window(described: Any) -> Window:
    if isinstance(described, Window):
        return described
    given = {"type": described} if isinstance(described, str) else described
    if not isinstance(given, Mapping) or not isinstance(given.get("type"), str) or given["type"] not in _WINDOWS:
        raise ConfigurationError(f"window {described!r} must have a type, one of {', '.join(_WINDOWS)}")
    kind = _WINDOWS[given["type"]]
    options = _options({key: value for key, value in given.items() if key != "type"}, f"window {given['type']!r}", kind)
    try:
        return kind(**options)
    except TypeError as error:
        raise ConfigurationError(f"window {described!r} is not complete: {error}") from None


def _segment(described: Any) -> Segment | str:
    if not isinstance(described, Mapping):
        segment: Segment | str = described
        return segment
    options = _options(described, "a segment", Segment)
    if "name" not in options:
        raise ConfigurationError(f"the segment {dict(described)!r} has no 'name'")
    return Segment(**options)


def _options(described: Any, what: str, kind: type) -> dict[str, Any]:
    if not isinstance(described, Mapping):
        raise ConfigurationError(f"{what} must be a mapping, not {described!r}")
    known = [item.name for item in fields(kind) if item.init and not item.name.startswith("_")]
    for name in described:
        if name not in known:
            raise ConfigurationError(f"{what} has no rule {name!r}: it has {', '.join(known)}")
    return {name: _plain(name, value) for name, value in described.items()}


def _plain(name: str, value: Any) -> Any:
    if name in _DURATIONS and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return timedelta(seconds=value)
        except (OverflowError, ValueError):
            raise ConfigurationError(f"{name} {value!r} is no number of seconds that a duration may have") from None
    if name in _MOMENTS and isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise ConfigurationError(f"{name} {value!r} is no time in ISO 8601, such as '2026-11-18T12:00:00Z'") from None
    return value
