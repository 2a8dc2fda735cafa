"""What a client sees of a topic, and what changed in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...live.views import Standing, View
from ...rules.results import Entry

Row = dict[str, Any]
_write_plainly = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """The best of a topic at one moment, as many as a client wants. `sum` is the same wherever all of it is the same."""

    period: str | None
    total: int
    entries: tuple[Entry, ...]
    sum: str


class Place(NamedTuple):
    """Where a user stands, and all that is told beside it."""

    period: str | None
    total: int
    standing: Standing


class Delta(NamedTuple):
    """What leads from one list to another: those whose place, rank, score or name changed, and those who left."""

    entries: list[Row]
    left: list[str]


def shown_in(view: View, top: int) -> Shown:
    """Give what those see who want so many; made once for all of them."""
    key = ("shown", top)
    found = view.written.get(key)
    if found is None:
        entries = view.entries[:top]
        found = view.written[key] = Shown(view.period, view.total, entries, sum_of(view.period, view.total, entries))
    return found


def sum_of(period: str | None, total: int, entries: Iterable[Entry]) -> str:
    """Give the checksum of a list: clients can make it of what they have."""
    told = [period, total, [[entry.rank, entry.user_id, entry.user_name, entry.score] for entry in entries]]
    return hashlib.sha256(_write_plainly(told).encode()).hexdigest()[:16]


def place_in(view: View, user_id: str) -> Place:
    """Give where a user stands, with nothing in it that is not told."""
    standing = view.standings.get(user_id, Standing(None))
    return Place(view.period, view.total, Standing(*map(_plain, standing)))


def _plain(entry: Entry | None) -> Entry | None:
    return entry and entry._replace(at=None, metadata=None)


def row(entry: Entry) -> Row:
    """Give an entry as messages have it."""
    return {"rank": entry.rank, "user_id": entry.user_id, "user_name": entry.user_name, "score": entry.score}


def compare(old: Shown, new: Shown) -> Delta:
    """Tell what leads from one list to another; who is not named keeps his place."""
    before = {entry.user_id: (place, entry) for place, entry in enumerate(old.entries, 1)}
    entries = []
    for place, entry in enumerate(new.entries, 1):
        was = before.pop(entry.user_id, None)
        if was is None or was[0] != place or row(was[1]) != row(entry):
            entries.append({"place": place, "old_rank": was and was[1].rank, **row(entry)})
    return Delta(entries, list(before))
