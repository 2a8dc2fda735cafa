"""One topic with those who follow it: when it is to be looked at, and who is to be told."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..errors import LeaderboardError
from ..store.sharing import Shared
from .looking import Look
from .topics import Topic
from .views import View

SAFETY_SECONDS = 10.0
"""How often a topic is looked at that nothing is heard of: signals can be lost, and names change without one."""
MARGIN_SECONDS = 0.02
"""How much longer than the interval a second look waits: clocks differ by a little."""
LONGEST_PAUSE = 5.0


class Follower(Protocol):
    """Somebody who follows a topic. Both calls come from the feed's thread, must return at once and not raise."""

    def tell(self, previous: View, view: View) -> None:
        """Take in a new view; `previous` shows this follower the same as the last one that was given."""

    def lose(self, error: LeaderboardError) -> None:
        """Take in that Redis can't be read now; the next `tell` ends that."""


class Wish(NamedTuple):
    """What a follower wants to see."""

    top: int
    user_id: str | None


@dataclass(slots=True, eq=False)
class Seat:
    """A follower's place. `base` is what was shown last; None until it has been."""

    follower: Follower
    wish: Wish
    base: Look | None = None
    lost: bool = False


class Followed:
    """A topic that is followed. All but `joins` is used with the lock of its rounds held; times are those of `time.monotonic`."""

    def __init__(self, topic: Topic, channel: str, interval: float, look: Callable[[int, list[str]], Look]) -> None:
        self.topic = topic
        self.channel = channel
        self.latest: Look | None = None
        self.joins: Shared[Wish, Look] = Shared(lambda wishes: [look(*_sum_up(wishes))] * len(wishes))
        self._interval = interval
        self._seats: dict[int, Seat] = {}
        self._wanted_at = math.inf
        self._again_at = -math.inf
        self._free_at = -math.inf
        self._safe_until = math.inf
        self._pause = interval
        self._is_lost = False

    def __bool__(self) -> bool:
        return bool(self._seats)

    @property
    def look_at(self) -> float:
        """When the topic is to be looked at."""
        return min(self._wanted_at, self._safe_until)

    @property
    def wish(self) -> tuple[int, list[str]]:
        """What all followers together want to see."""
        return _sum_up([seat.wish for seat in self._seats.values()])

    def take_seat(self, follower: Follower, wish: Wish, now: float) -> Seat:
        """Let somebody follow; who follows already wants something else from now on."""
        if not self._seats:  # what is signalled already is not signalled again
            self._again_at = self._wanted_at = now + self._interval + MARGIN_SECONDS
        seat = self._seats[id(follower)] = Seat(follower, wish)
        if self.latest is not None and self.latest.covers(*wish) and now < self._safe_until and not self._is_lost:
            seat.base = self.latest
        return seat

    def leave(self, follower: Follower) -> None:
        self._seats.pop(id(follower), None)

    def give_up(self, seat: Seat) -> None:
        """Let a seat go that nothing could be shown to."""
        if self._seats.get(id(seat.follower)) is seat:
            del self._seats[id(seat.follower)]

    def settle(self, seat: Seat, look: Look) -> Look:
        """Show a follower who has just come the newest there is: a look begun after the own one has all that is wanted too."""
        if self.latest is None:
            self._keep(look)
        elif self.latest.began > look.began:
            look = self.latest
        seat.base = look
        return look

    def hear(self, now: float) -> None:
        """Note that something has changed: look as soon as may be, and once more when the next change would be signalled."""
        self._again_at = now + self._interval + MARGIN_SECONDS
        self._wanted_at = min(self._wanted_at, max(now, self._free_at))

    def turn(self, now: float) -> None:
        """Note that another period runs: that is told at once."""
        self.hear(now)
        self._wanted_at = now

    def begin(self, now: float) -> None:
        """Note that a look begins."""
        self._wanted_at = max(self._again_at, now + self._interval) if now < self._again_at else math.inf

    def see(self, look: Look, now: float) -> list[tuple[Follower, View]]:
        """Take in a look; give those who are to be told, with what they were shown before."""
        self._keep(look)
        self._free_at, self._pause, self._is_lost = now + self._interval, self._interval, False
        told: list[tuple[Follower, View]] = []
        known: dict[tuple[int, int], bool] = {}
        for seat in self._seats.values():
            base = seat.base
            if base is None or base.began >= look.began:
                continue
            if seat.lost or _differs(base.view, look.view, seat.wish, known):
                told.append((seat.follower, base.view))
            seat.base, seat.lost = look, False
        return told

    def fail(self, now: float) -> list[Follower]:
        """Take in that a look failed; give those who do not know yet."""
        self._wanted_at = now + self._pause
        self._safe_until, self._is_lost = math.inf, True
        self._pause = min(2 * self._pause, max(LONGEST_PAUSE, self._interval))
        lost = [seat for seat in self._seats.values() if seat.base is not None and not seat.lost]
        for seat in lost:
            seat.lost = True
        return [seat.follower for seat in lost]

    def _keep(self, look: Look) -> None:
        self.latest = look
        self._safe_until = look.began + SAFETY_SECONDS


def _sum_up(wishes: Sequence[Wish]) -> tuple[int, list[str]]:
    users = dict.fromkeys(wish.user_id for wish in wishes if wish.user_id is not None)
    return max((wish.top for wish in wishes), default=0), list(users)


def _differs(before: View, after: View, wish: Wish, known: dict[tuple[int, int], bool]) -> bool:
    """Tell whether somebody would see two views differ; `known` has what was compared before."""
    key = (id(before), wish.top)
    if key not in known:
        known[key] = (before.period, before.total, before.entries[: wish.top]) != (
            after.period,
            after.total,
            after.entries[: wish.top],
        )
    return known[key] or (wish.user_id is not None and before.standings.get(wish.user_id) != after.standings.get(wish.user_id))
