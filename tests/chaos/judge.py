"""Holds what players were told against the log: its fold is worked out by the model, which shares no code with the package."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from flask_leaderboard import Leaderboard
from flask_leaderboard.log.events import Event
from tests.model import GRACE, Model, RefusedError, period_end

Row = tuple[int, str, float]


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Read a player's notes; the last line of one that was killed may be cut off."""
    lines = path.read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


def new_model() -> Model:
    return Model("increment", (), "desc", "first", 1000, -20, 60, ("all", "hourly"), 3)


def fold(model: Model, event: Event) -> None:
    """Fold an event; what the model refuses changes nothing, and what has closed stays."""
    if event.kind == "remove":
        for (window, _, _), held in model.rankings.items():
            found = held.get(event.user_id)
            if found and (window == "all" or event.taken_at < period_end(window, found[1]) + GRACE):
                del held[event.user_id]
        return
    country = event.segments[0] if event.segments else None
    with suppress(RefusedError):
        model.submit(event.user_id, float(event.points or 0), event.at, event.taken_at, None, country, None)


def rows(model: Model) -> list[Row]:
    return [(place, user, score) for place, (user, score, _) in enumerate(model.table(("all", "all", None)), 1)]


def judge(events: list[Event], journals: Iterable[list[dict[str, Any]]], board: Leaderboard) -> list[str]:
    """List all that breaks a promise."""
    journals = list(journals)
    found = _judge_log(events, journals)
    shown: dict[int, list[Row]] = {0: []}
    model = new_model()
    for event in events:
        fold(model, event)
        shown[event.number] = rows(model)
    for journal in journals:
        found += _judge_reads(journal, shown)
    for window, period, segment in model.rankings:
        page = board.top(1000, window=window, period=period, segment=segment, ranking="unique")
        held = [(entry.user_id, float(entry.score)) for entry in page.entries]
        wanted = [(user, score) for user, score, _ in model.table((window, period, segment))]
        if held != wanted:
            found.append(f"Redis has {held} in {window} {period} {segment}, the log gives {wanted}")
    return found


def _judge_log(events: list[Event], journals: list[list[dict[str, Any]]]) -> list[str]:
    notes = [note for journal in journals for note in journal]
    found = _judge_removals(events, notes)
    numbers = [event.number for event in events]
    events = [event for event in events if event.kind == "submit"]
    tried = {note["submission_id"]: note for note in notes if note["what"] == "try"}
    acknowledged = {note["id"]: note["number"] for note in notes if note["what"] == "ack"}
    logged = {str(event.submission_id).partition("#")[0]: event for event in events}  # sabotage writes something behind it
    if numbers != list(range(1, len(numbers) + 1)):
        found.append("the numbers of the log have gaps")
    if len(logged) != len(events):
        found.append("an id is in the log twice")
    for identity, number in acknowledged.items():
        if identity not in logged or number not in (None, logged[identity].number):
            found.append(f"{identity} was acknowledged as {number}, and is not in the log as that")
    for identity, event in logged.items():
        note = tried.get(identity)
        if note is None or (note["user_id"], note["points"]) != (event.user_id, event.points):
            found.append(f"{identity} is in the log, and was not tried so")
    return found


def _judge_removals(events: list[Event], notes: list[dict[str, Any]]) -> list[str]:
    """A removal has no id: no more are logged than were tried, and those that were acknowledged are."""
    removals = {event.number: event.user_id for event in events if event.kind == "remove"}
    logged, tried = Counter(removals.values()), Counter(note["user_id"] for note in notes if note["what"] == "remove")
    found = [f"{user} was removed {count} times, and {tried[user]} were tried" for user, count in (logged - tried).items()]
    acknowledged = [(note["number"], note["user_id"]) for note in notes if note["what"] == "removed"]
    lost = [(number, user) for number, user in acknowledged if removals.get(number) != user]
    return [*found, *(f"{user} was removed as {number}, and that is not in the log" for number, user in lost)]


def _judge_reads(journal: list[dict[str, Any]], shown: dict[int, list[Row]]) -> list[str]:
    found, least = [], 0
    known = {tuple(rows) for rows in shown.values()}
    for note in journal:
        if note["what"] == "ack" and not note["pending"]:
            least = max(least, note["number"] or 0)
        elif note["what"] == "saw" and note["number"] is None:
            if tuple(tuple(row) for row in note["entries"]) not in known:
                found.append(f"over HTTP was shown {note['entries']}, which no prefix of the log gives")
        elif note["what"] == "saw":
            if note["number"] < least:
                found.append(f"a process that had seen {least} was shown {note['number']}")
            least = max(least, note["number"])
            if [tuple(row) for row in note["entries"]] != shown.get(note["number"]):
                found.append(f"at {note['number']} was shown {note['entries']}, which no prefix of the log gives")
    return found
