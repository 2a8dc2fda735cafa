"""What all live clients of an app share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...config import Settings
from ...errors import InputError
from ...live.feed import Feed
from ...live.views import View
from ...rules.identity import check_user_id
from .clients import Clients
from .memory import Memory
from .subscription import Subscription, Wish
from .tickets import Tickets
from .visitors import Doorkeeper

DEFAULT_TOP = 10


@dataclass(frozen=True)
class Live:
    """The feed, and what the clients of it are held to."""

    feed: Feed
    settings: Settings
    tickets: Tickets
    doorkeeper: Doorkeeper
    clients: Clients
    memory: Memory = field(default_factory=Memory)

    def wish(self, asked: Mapping[str, Any]) -> Wish:
        """Read what a client wants to follow, or refuse it."""
        user_id, top = asked.get("user_id"), asked.get("top")
        if user_id is not None:
            check_user_id(user_id)
        if top is None:
            top = DEFAULT_TOP if user_id is None else 0
        if top > self.settings.live_max_top:
            raise InputError(f"top {top} is too much: ask for at most {self.settings.live_max_top}")
        if not top and user_id is None:
            raise InputError("nothing would be told: ask for a 'top' from 1, or name a 'user_id'")
        topic = self.feed.topic(asked.get("board"), asked.get("window"), asked.get("segment"), asked.get("ranking"))
        since = asked.get("since")
        return Wish(asked["id"], topic, top, user_id, since and since["sum"])

    def follow(self, subscription: Subscription) -> View:
        wish = subscription.wish
        return self.feed.follow(wish.topic, subscription, top=wish.top, user_id=wish.user_id)

    def unfollow(self, subscription: Subscription) -> None:
        self.feed.unfollow(subscription.wish.topic, subscription)
