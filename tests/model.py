"""The oracle: a board as plain Python lists. It shares no code with the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

SECOND = 1_000_000
LENGTHS = {"hourly": 3600 * SECOND, "daily": 86_400 * SECOND, "weekly": 7 * 86_400 * SECOND}
GRACE = 60 * SECOND
SKEW = 5 * SECOND


class RefusedError(Exception):
    """Carries the error code that the board should give."""


def period_id(window: str, at: int) -> str:
    moment = datetime.fromtimestamp(at // SECOND, UTC)
    formats = {"all": "all", "hourly": "%Y%m%dT%H0000Z", "daily": "%Y-%m-%d", "weekly": "%G-W%V"}
    return moment.strftime(formats[window])


def period_end(window: str, at: int) -> int:
    # 1970-01-01 was a Thursday: Monday weeks begin four days later.
    shift = 4 * 86_400 * SECOND if window == "weekly" else 0
    return at - (at - shift) % LENGTHS[window] + LENGTHS[window]


@dataclass
class Model:
    """What a board should hold: for each (window, period, segment) the users with score and time."""

    update: str
    updates: tuple[str, ...]
    order: str
    tie_break: str
    resolution: int
    lowest: float
    highest: float
    windows: tuple[str, ...]
    segment_limit: int
    rankings: dict[tuple[str, str, str | None], dict[str, tuple[float, int]]] = field(default_factory=dict)
    ids: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)
    segments: set[str] = field(default_factory=set)
    kept_until: dict[tuple[str, str, str | None], int] = field(default_factory=dict)
    number: int = 0

    def open_windows(self, at: int, now: int, *, known: bool) -> tuple[list[str], list[str]]:
        """Give the windows that take a time and those that don't; what counted before is told so, never refused as late."""
        if at > now + SKEW:
            raise RefusedError("bad_time")
        opened = [w for w in self.windows if w == "all" or now < period_end(w, at) + GRACE]
        closed = [w for w in self.windows if w not in opened]
        if closed and all(window == "all" for window in opened):
            if known:
                return [], list(self.windows)
            raise RefusedError("closed_period")
        return opened, closed

    def submit(
        self, user: str, points: float, at: int, now: int, identity: str | None, segment: str | None, update: str | None
    ) -> tuple[str, dict[tuple[str, str, str | None], tuple[float | None, float]], list[str]]:
        update = self.allowed(update or self.update)
        known = self.ids.get((user, identity)) if identity is not None else None
        opened, closed = self.open_windows(at, now, known=known is not None)
        cuts = [None] if segment is None else [None, segment]
        targets = [(window, period_id(window, at), cut) for cut in cuts for window in opened]
        if known is not None:
            if known != (points, update):
                raise RefusedError("submission_conflict")
            held = {target: self.score(target, user) for target in targets}
            return "duplicate", {target: (score, score) for target, score in held.items()}, closed
        changes = {target: (old := self.score(target, user), self.folded(old, points, update)) for target in targets}
        for (_, _, cut), (_, new) in changes.items():
            if cut is not None and cut not in self.segments and len(self.segments) >= self.segment_limit:
                raise RefusedError("segment_limit")
            if not self.lowest <= new <= self.highest:
                raise RefusedError("score_range")
        for target, (old, new) in changes.items():
            if new != old:
                self.rankings.setdefault(target, {})[user] = (new, at)
                window = target[0]
                self.kept_until[target] = 2**60 if window == "all" else period_end(window, at) + LENGTHS[window]
        if identity is not None:
            self.ids[user, identity] = (points, update)
        if segment is not None:
            self.segments.add(segment)
        self.number += 1
        return "accepted", changes, closed

    def allowed(self, update: str) -> str:
        if update not in (self.update, *self.updates):
            raise RefusedError("update_not_allowed")
        return update

    def folded(self, old: float | None, points: float, update: str) -> float:
        if old is None or update == "latest":
            return points
        if update == "increment":
            return old + points
        return max(old, points) if self.order == "desc" else min(old, points)

    def remove(self, user: str, now: int) -> bool:
        kept = [users for target, users in self.rankings.items() if now < self.kept_until[target]]
        found = [users for users in kept if users.pop(user, None) is not None]
        self.number += bool(found)
        return bool(found)

    def score(self, target: tuple[str, str, str | None], user: str) -> float | None:
        held = self.rankings.get(target, {}).get(user)
        return None if held is None else held[0]

    def table(self, target: tuple[str, str, str | None]) -> list[tuple[str, float, int]]:
        """List user, score and tick in order."""

        def place(row: tuple[str, float, int]) -> tuple[float, int, bytes]:
            user, score, tick = row
            by_time = {"first": tick, "last": -tick, "member": 0}[self.tie_break]
            return (-score if self.order == "desc" else score), by_time, user.encode()

        rows = [(user, score, at // self.resolution) for user, (score, at) in self.rankings.get(target, {}).items()]
        return sorted(rows, key=place)

    def ranks(self, target: tuple[str, str, str | None], kind: str) -> list[int]:
        scores = [score for _, score, _ in self.table(target)]
        if kind == "unique":
            return list(range(1, len(scores) + 1))
        if kind == "sparse":
            return [1 + scores.index(score) for score in scores]
        if kind == "modified":
            return [len(scores) - scores[::-1].index(score) for score in scores]
        return [1 + len(set(scores[: scores.index(score)])) for score in scores]
