"""Those who follow, and feeds for them, on servers of the tests."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

from fakeredis import FakeRedis
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_leaderboard import Board
from flask_leaderboard.engine.hub import Hub
from flask_leaderboard.engine.reading import Clock
from flask_leaderboard.errors import LeaderboardError
from flask_leaderboard.live.feed import Feed
from flask_leaderboard.live.following import Followed
from flask_leaderboard.live.topics import Topic
from flask_leaderboard.live.views import View
from flask_leaderboard.rules.results import Entry
from tests.waiting import until

INTERVAL_MS = 100


class Fan:
    """A follower who keeps what is shown, and checks that nothing is left out between."""

    def __init__(self, feed: Feed, topic: Topic, *, top: int = 0, user_id: str | None = None) -> None:
        self.feed, self.topic, self.top, self.user_id = feed, topic, top, user_id
        self.told: list[View] = []
        self.errors: list[LeaderboardError] = []
        self.gaps: list[tuple[Any, Any]] = []
        self._lock = threading.Lock()
        with self._lock:  # a first word may come before `follow` has returned
            self.shown = feed.follow(topic, self, top=top, user_id=user_id)

    def tell(self, previous: View, view: View) -> None:
        with self._lock:
            if self._seen(previous) != self._seen(self.shown):
                self.gaps.append((self._seen(self.shown), self._seen(previous)))
            self.shown = view
            self.told.append(view)

    def lose(self, error: LeaderboardError) -> None:
        self.errors.append(error)

    def leave(self) -> None:
        self.feed.unfollow(self.topic, self)

    def _seen(self, view: View) -> Any:
        return view.period, view.total, view.entries[: self.top], view.standings.get(self.user_id or "")

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.shown.entries[: self.top]

    @property
    def scores(self) -> list[tuple[str, Any]]:
        return [(entry.user_id, entry.score) for entry in self.entries]

    def sees(self, *scores: tuple[str, Any]) -> None:
        """Wait until these are the best."""
        until(lambda: self.scores == list(scores), lambda: f"{self.scores}, not {list(scores)}; errors {self.errors}")


def connecting(client: Redis) -> Callable[[], Redis]:
    """Give what makes more clients of the server that a client is for."""
    known = client.connection_pool.connection_kwargs
    if "server" in known:
        return lambda: FakeRedis(server=known["server"])
    return lambda: Redis(unix_socket_path=known["path"], socket_timeout=0.5, retry=Retry(NoBackoff(), 0))


def make_hub(client: Redis, *boards: Board, clock: Clock, signal_ms: int | None = INTERVAL_MS, **more: Any) -> Hub:
    """Give the hub of a process that has boards on a server."""
    return Hub(boards, connecting(client), prefix="lb1", clock=clock, signal_ms=signal_ms, rest_seconds=0.05, **more)


def followed(feed: Feed) -> Followed:
    """Give the one topic that is followed."""
    (rounds,) = feed._rounds.values()
    (found,) = rounds._topics.values()
    return found


def is_quiet(feed: Feed) -> bool:
    """Tell whether nothing is to be looked at but for safety."""
    return followed(feed)._wanted_at == math.inf


def looks(client: Redis) -> int:
    """Count the looks there were since the statistics were reset: each counts the members of its ranking once."""
    stats: dict[str, Any] = client.info("commandstats")  # type: ignore[assignment]
    return int(stats.get("cmdstat_zcard", {}).get("calls", 0))
