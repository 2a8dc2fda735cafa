"""The feed: tells those who follow a topic what has changed in it.

Every process has one, with one subscription and one thread for all boards and followers. A script that changes a ranking signals
it at most once in an interval. Whoever hears that looks at once, if the last look is an interval ago, and once more when the next
change would be signalled again: so the last change before a silence is always seen. A look is one call to Redis for the best
and for up to a thousand users, however many follow, and one more for names that nobody asked for before.
"""

from __future__ import annotations

import os

from ..engine.hub import Hub
from ..engine.reading import as_count
from ..rules.identity import check_user_id
from .following import Follower, Wish
from .rounds import Rounds
from .topics import Topic, find_topic
from .views import View

__all__ = ["Feed", "Follower"]


class Feed:
    """Lets followers follow topics of a hub's boards. Nothing is started before the first of them, and anew after a fork."""

    def __init__(self, hub: Hub, *, interval_ms: int = 500) -> None:
        self._hub = hub
        self._interval = interval_ms / 1000
        self._rounds: dict[int, Rounds] = {}
        hub.before_close(self.close)

    def topic(self, board: str | None, window: str | None, segment: str | None, ranking: str | None) -> Topic:
        """Give the topic of these names; those left out are the board's own."""
        return find_topic(self._hub, board, window, segment, ranking)

    def follow(self, topic: Topic, follower: Follower, *, top: int = 0, user_id: str | None = None) -> View:
        """Follow the best of a topic, a user, or both; give the view as it is now.

        Later ones come by `tell`, which may be called before this returns. Who follows already follows in these words from now
        on. Where Redis can't be read it raises, and nothing is followed.
        """
        wish = Wish(as_count(top, "top"), user_id)
        if user_id is not None:
            check_user_id(user_id)
        process = os.getpid()
        rounds = self._rounds.get(process) or self._rounds.setdefault(process, Rounds(self._hub, self._interval))
        return rounds.follow(topic, follower, wish)

    def unfollow(self, topic: Topic, follower: Follower) -> None:
        """Follow no longer; a view that is on its way may still come."""
        rounds = self._rounds.get(os.getpid())
        if rounds is not None:
            rounds.unfollow(topic, follower)

    def close(self) -> None:
        """Forget this process's followers, and end its thread and subscription."""
        rounds = self._rounds.pop(os.getpid(), None)
        if rounds is not None:
            rounds.stop()
