"""A client of Server-Sent Events: the same messages, one way, over plain HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from ...live.views import View
from . import messages
from .live import Live
from .messages import Message
from .refusals import RESTARTING
from .subscription import Subscription, Wish
from .wire import SILENCE, break_off, give_up_after, has_left, socket_of

_BEAT = b": \n\n"


class Stream:
    """The body of an answer that goes on: each piece leads from what the client has to the newest state."""

    def __init__(self, live: Live, wish: Wish, environ: dict[str, Any]) -> None:
        self._live = live
        self._socket = environ[socket_of(environ) or ""]
        give_up_after(self._socket, SILENCE * live.settings.live_ping_s)
        self._changed = threading.Condition()
        self._subscription = Subscription(wish, self, live.memory)
        self._view: View | None = None
        self._lost = False
        self._bye: Message | None = None
        self._over = False
        self._handed_at: float | None = None

    def open(self) -> None:
        """Begin to follow, or refuse to."""
        self._live.clients.enter(self)
        try:
            view = self._live.follow(self._subscription)
        except BaseException:
            self._live.clients.leave(self)
            raise
        with self._changed:
            self._subscription.newest = self._subscription.newest or view

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        self._handed_at = None
        with self._changed:
            told = self._wait()
            if self._over and not told:
                raise StopIteration
        self._handed_at = time.monotonic()
        return b"".join(map(self._event, told)) or _BEAT

    def _wait(self) -> list[Message]:
        """Wait for something to tell; nothing where it is time for a heartbeat."""
        until = time.monotonic() + self._live.settings.live_ping_s
        while not (told := self._due()) and not self._over and (left := until - time.monotonic()) > 0:
            self._changed.wait(left)
        return told

    def _due(self) -> list[Message]:
        """Give what the client is to be told now."""
        if self._bye is not None:
            bye, self._bye, self._over = self._bye, None, True
            return [bye]
        subscription, view = self._subscription, self._subscription.newest
        if self._over or view is None:
            return []
        if view is not self._view:
            self._view, first = view, self._view is None
            return subscription.begin(view) if first else subscription.advance(view)
        if self._lost and not subscription.stale:
            subscription.stale = True
            return [messages.STALE]
        return []

    def _event(self, message: Message) -> bytes:
        """Write an event; its id, where it has one, is what a browser sends back when it comes again."""
        point = "" if message.point is None else f"id: {message.point[0]}:{message.point[1]}\n"
        return f"event: {message.kind}\n{point}data: {message.text(self._subscription.wish.name)}\n\n".encode()

    def close(self) -> None:
        """Follow nothing any more. Servers call it however the answer ended."""
        self._live.clients.leave(self)
        self._live.unfollow(self._subscription)

    # What the feed tells

    def show(self, subscription: Subscription, view: View) -> None:
        with self._changed:
            subscription.newest, self._lost = view, False
            self._changed.notify()

    def stall(self, subscription: Subscription) -> None:
        with self._changed:
            self._lost = True
            self._changed.notify()

    # The clients' thread

    def tend(self, now: float) -> None:
        """End where there is nobody any more, and break off where a piece is not taken in time."""
        if has_left(self._socket):
            with self._changed:
                self._over = True
                self._changed.notify()
        since = self._handed_at
        if since is not None and now - since > self._live.settings.live_send_timeout_ms / 1000:
            break_off(self._socket)

    def dismiss(self, retry_in_ms: int) -> None:
        """Say goodbye before the process ends."""
        with self._changed:
            if not self._over and self._bye is None:
                self._bye = messages.bye(RESTARTING.code, retry_in_ms)
                self._changed.notify()
