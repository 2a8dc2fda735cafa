"""Messages to clients as JSON text. All but the client's own name for its subscription is the same for all, and written once."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ...live.topics import Topic
from ...live.views import View
from ...rules.results import Entry
from ..bodies import json_text
from .shown import Place, Shown, compare, row, shown_in

Reason = Literal["subscribed", "period", "behind"]


class Message(NamedTuple):
    """A message: its kind and the members behind ``type`` and ``id``, without braces.

    `point` is the number and the checksum that it brings a list to. What is `shared` is the same for many clients.
    """

    kind: str
    rest: str
    point: tuple[int, str] | None = None
    shared: bool = False

    def text(self, name: str | None) -> str:
        """Give the message as JSON, to a subscription or (without a name) to the client."""
        named = "" if name is None else f',"id":{json_text(name)}'
        return f'{{"type":"{self.kind}"{named}{self.rest}}}'


def _message(kind: str, members: dict[str, Any], point: tuple[int, str] | None = None, *, shared: bool = False) -> Message:
    return Message(kind, f",{json_text(members)[1:-1]}" if members else "", point, shared)


PING = _message("ping", {})
PONG = _message("pong", {})
STALE = _message("stale", {})


def snapshot(view: View, top: int, reason: Reason) -> Message:
    """Tell a list in full."""
    key = ("snapshot", top, reason)
    found = view.written.get(key)
    if found is None:
        found = view.written[key] = _snapshot(view.topic, view.number, shown_in(view, top), reason)
    return found


def _snapshot(topic: Topic, number: int, shown: Shown, reason: Reason) -> Message:
    where = {"board": topic.board, "window": topic.window, "period": shown.period, "segment": topic.segment}
    stand = {"ranking": topic.ranking, "seq": number, "sum": shown.sum, "total": shown.total}
    entries = [row(entry) for entry in shown.entries]
    return _message("snapshot", {"reason": reason, **where, **stand, "entries": entries}, (number, shown.sum), shared=True)


def update(view: View, top: int, base: Shown) -> Message:
    """Tell what changed since a list of the same period."""
    key = ("update", top, base.sum)
    found = view.written.get(key)
    if found is None:
        found = view.written[key] = _update(view.number, shown_in(view, top), base)
    return found


def _update(number: int, shown: Shown, base: Shown) -> Message:
    entries, left = compare(base, shown)
    stand = {"period": shown.period, "seq": number, "sum": shown.sum, "base": base.sum, "total": shown.total}
    changed = {"count": len(shown.entries), "entries": entries, "left": left}
    return _message("update", {**stand, **changed}, (number, shown.sum), shared=True)


def resumed(view: View, top: int) -> Message:
    """Tell that a list is as the client has it."""
    key = ("resumed", top)
    found = view.written.get(key)
    if found is None:
        shown = shown_in(view, top)
        members = {"seq": view.number, "sum": shown.sum, "total": shown.total}
        found = view.written[key] = _message("resumed", members, (view.number, shown.sum), shared=True)
    return found


def rank(user_id: str, number: int, old: Place | None, new: Place) -> Message:
    """Tell where a user stands, and stood when it was last told in this period."""
    entry = new.standing.entry
    was = old.standing.entry if old is not None and old.period == new.period else None
    members = {
        "period": new.period,
        "seq": number,
        "user_id": user_id,
        "rank": entry and entry.rank,
        "old_rank": was and was.rank,
        "score": entry and entry.score,
        "old_score": was and was.score,
        "percentile": entry and entry.percentile,
        "total": new.total,
        "user_name": entry and entry.user_name,
        "above": _neighbor(new.standing.above),
        "below": _neighbor(new.standing.below),
    }
    return _message("rank", members)


def _neighbor(entry: Entry | None) -> dict[str, Any] | None:
    return None if entry is None else row(entry)


def error(code: str, detail: str) -> Message:
    return _message("error", {"code": code, "detail": detail})


def bye(code: str, retry_in_ms: int) -> Message:
    """Tell that the connection is about to be closed, and when to come again."""
    return _message("bye", {"code": code, "retry_in_ms": retry_in_ms})
