"""A look at a topic: which ranking it is about now, and what that shows."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from ..engine.hub import Hub
from ..engine.leaderboard import Leaderboard
from ..rules.instants import MICROSECONDS
from ..rules.results import Watched
from ..rules.windows import Season
from ..store.rankings import Ranking
from .topics import Topic
from .views import Standing, View

USERS_A_CALL = 1000
TRUST_SECONDS = 1.0
"""For how long a spot is believed whose end nobody knows: a season ends when it is told to."""


class Spot(NamedTuple):
    """The ranking that a topic is about from one instant to another; None where the window has no running period.

    What is not known to last is to be looked up again after `trusted_until`, by `time.monotonic`.
    """

    ranking: Ranking | None
    since: int
    until: int
    trusted_until: float = math.inf

    def holds(self, now: int) -> bool:
        return self.since <= now < self.until and time.monotonic() < self.trusted_until

    def is_as(self, other: Spot) -> bool:
        return (self.ranking and self.ranking.keys) == (other.ranking and other.ranking.keys)


class Look(NamedTuple):
    """A view with the `top` that was asked for, the spot it is of, and when it was begun, by `time.monotonic`."""

    view: View
    top: int
    spot: Spot
    began: float

    def covers(self, top: int, user_id: str | None) -> bool:
        """Tell whether it has what a follower wants."""
        return top <= self.top and (user_id is None or user_id in self.view.standings)


def find_spot(hub: Hub, topic: Topic) -> Spot:
    """Find the ranking that a topic is about now."""
    board, now = hub[topic.board], hub.clock()
    ranking = board.spot(window=topic.window, segment=topic.segment)
    if ranking is not None and not isinstance(board.board.window(topic.window), Season):
        return Spot(ranking, ranking.period.start, ranking.period.end)
    trusted_until = time.monotonic() + TRUST_SECONDS
    return Spot(ranking, now, now + MICROSECONDS if ranking is None else ranking.period.end, trusted_until)


def look_at(hub: Hub, topic: Topic, top: int, user_ids: Sequence[str]) -> Look:
    """Look at the best of a topic, and at where users stand: in one call to Redis for each thousand of them."""
    began = time.monotonic()
    spot = find_spot(hub, topic)
    board = hub[topic.board]
    if spot.ranking is None:
        nowhere = dict.fromkeys(user_ids, Standing(None))
        return Look(View(topic, None, board.store.number(), 0, (), nowhere), top, spot, began)
    first, *others = _watch(board, spot.ranking, topic, top, user_ids)
    around = {user_id: around for part in (first, *others) for user_id, around in part.around.items()}
    standings = {user_id: Standing(*place) for user_id, place in around.items()}
    view = View(topic, spot.ranking.period.id, first.number, first.total, tuple(first.entries), standings)
    return Look(view, top, spot, began)


def _watch(board: Leaderboard, ranking: Ranking, topic: Topic, top: int, user_ids: Sequence[str]) -> list[Watched]:
    """Ask for the best with the first users, then for the other users."""
    starts = range(0, len(user_ids), USERS_A_CALL) or (0,)
    return [board.watch(ranking, topic.ranking, 0 if start else top, user_ids[start : start + USERS_A_CALL]) for start in starts]
