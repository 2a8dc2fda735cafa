"""What is exported: the log of a board, or a ranking, in pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from ..engine.leaderboard import Leaderboard
from ..engine.reading import LARGEST_PAGE, How
from ..errors import InputError
from ..log.events import Event
from ..rules.instants import to_datetime
from ..rules.results import Entry

LOG_COLUMNS = (
    "number", "kind", "user_id", "points", "at", "taken_at", "update", "segments", "submission_id", "refused",
)  # fmt: skip
RANKING_COLUMNS = ("rank", "user_id", "user_name", "score", "at")


@dataclass
class Export:
    """Rows in pages, how many there will be, and what the operator must know of them when all are read."""

    columns: Sequence[str]
    total: int
    pages: Iterator[list[Sequence[Any]]]
    notes: list[str] = field(default_factory=list)


def export_log(leaderboard: Leaderboard) -> Export:
    """Export the events of a board, from the first that is kept to the last there is now."""
    head = leaderboard.log.head()
    export = Export(LOG_COLUMNS, head, iter(()))
    export.pages = _log_pages(leaderboard, head, export.notes)
    return export


def _log_pages(leaderboard: Leaderboard, head: int, notes: list[str]) -> Iterator[list[Sequence[Any]]]:
    last = 0
    while last < head:
        events = leaderboard.log.read(last, min(LARGEST_PAGE, head - last))
        if not events or (last and events[0].number != last + 1):
            raise InputError(f"events behind {last} were taken out of the log meanwhile: export it again")
        if not last and events[0].number > 1:
            notes.append(f"Events 1 to {events[0].number - 1:,} are not kept any more.")
        yield [_event_row(event) for event in events if event.number <= head]
        last = events[-1].number


def _event_row(event: Event) -> Sequence[Any]:
    segments = dict(label.split("=", 1) for label in event.segments)
    times = (to_datetime(instant).isoformat() for instant in (event.at, event.taken_at))
    who = (event.number, event.kind, event.user_id, event.points)
    return (*who, *times, event.update or None, segments, event.submission_id, event.refused)


def export_ranking(leaderboard: Leaderboard, **how: Unpack[How]) -> Export:
    """Export a ranking, best first."""
    first = leaderboard.top(LARGEST_PAGE, **how)
    export = Export(RANKING_COLUMNS, first.total, iter(()))
    if first.period is None:
        export.notes.append(f"Window {first.window!r} has no running period: name one with --period.")

    def pages() -> Iterator[list[Sequence[Any]]]:
        page = first
        while True:
            yield [_entry_row(entry) for entry in page.entries]
            if page.cursor is None:
                break
            page = leaderboard.top(LARGEST_PAGE, cursor=page.cursor, **how)
        if page.number != first.number:
            export.notes.append("Scores changed meanwhile: who moved may be missing or stand there twice.")

    export.pages = pages()
    return export


def _entry_row(entry: Entry) -> Sequence[Any]:
    at = None if entry.at is None else to_datetime(entry.at).isoformat()
    return (entry.rank, entry.user_id, entry.user_name, entry.score, at)
