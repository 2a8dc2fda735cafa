"""What a client has been told of a topic, and what is to be told next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...errors import LeaderboardError
from ...live.topics import Topic
from ...live.views import View
from . import messages
from .memory import Memory
from .messages import Message, Reason
from .shown import Place, Shown, place_in, shown_in


class Outlet(Protocol):
    """A client's end: what is told goes out there. Called by the feed's thread: it returns at once."""

    def show(self, subscription: Subscription, view: View) -> None: ...

    def stall(self, subscription: Subscription) -> None: ...


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client wants to follow: the best so many of a topic, a user's own rank, or both; `since` is a checksum it has."""

    name: str
    topic: Topic
    top: int
    user_id: str | None
    since: str | None = None


class Told(NamedTuple):
    """What the client has."""

    shown: Shown | None = None
    place: Place | None = None


class Subscription:
    """A client's wish, followed in a feed. It knows what the client has, so that what is left out is made up for later."""

    __slots__ = ("_memory", "_outlet", "behind", "newest", "ready", "stale", "told", "wish")

    def __init__(self, wish: Wish, outlet: Outlet, memory: Memory) -> None:
        self.wish = wish
        self.newest: View | None = None
        self.ready = False
        self.behind = False
        self.stale = False
        self.told = Told()
        self._outlet = outlet
        self._memory = memory

    def tell(self, previous: View | None, view: View) -> None:
        """Pass on what the feed tells. What came before does not matter: the client's own state does."""
        self._outlet.show(self, view)

    def lose(self, error: LeaderboardError) -> None:
        self._outlet.stall(self)

    def begin(self, view: View) -> list[Message]:
        """Give the first messages."""
        self.ready = True
        since = self.wish.since
        if since is not None and self.wish.top:
            self.told = Told(self._known(view, since))
        return self._advance(view, "subscribed")

    def _known(self, view: View, since: str) -> Shown | None:
        now = shown_in(view, self.wish.top)
        if now.sum == since:
            self.stale = True  # say that it is so
            return now
        return self._memory.find(self.wish.topic, self.wish.top, since)

    def advance(self, view: View) -> list[Message]:
        """Give the messages that bring the client from what it has to a view, if there are any."""
        return self._advance(view, "period")

    def catch_up(self, view: View) -> list[Message]:
        """Give the messages for a client that could not keep up: the newest state, nothing of what came between."""
        self.behind = False
        shown = self.told.shown
        if shown is not None and shown_in(view, self.wish.top).sum != shown.sum:
            self.told = Told(None, self.told.place)
        return self._advance(view, "behind")

    def _advance(self, view: View, reason: Reason) -> list[Message]:
        found = [*self._list(view, reason), *self._rank(view)]
        self.stale = False
        return found

    def _list(self, view: View, reason: Reason) -> Iterator[Message]:
        top = self.wish.top
        if not top:
            return
        old, new = self.told.shown, shown_in(view, top)
        self.told = Told(new, self.told.place)
        self._memory.keep(self.wish.topic, top, new)
        if old is None or old.period != new.period:
            yield messages.snapshot(view, top, reason)
        elif old.sum != new.sum:
            yield messages.update(view, top, old)
        elif self.stale:
            yield messages.resumed(view, top)

    def _rank(self, view: View) -> Iterator[Message]:
        user_id = self.wish.user_id
        if user_id is None:
            return
        old, new = self.told.place, place_in(view, user_id)
        self.told = Told(self.told.shown, new)
        if old != new or (self.stale and not self.wish.top):
            yield messages.rank(user_id, view.number, old, new)
