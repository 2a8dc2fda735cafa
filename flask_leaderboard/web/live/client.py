"""A WebSocket client."""

from __future__ import annotations

import logging
import select
import threading
import time
from typing import Any

from ...errors import InputError, LeaderboardError, MessageError, MessageRateError, SubscriptionsError
from ...live.views import View
from ..problems import describe
from . import messages
from .budget import Budget
from .frames import close_frame, ping_frame, text_frame
from .live import Live
from .messages import Message
from .protocol import read_message
from .refusals import FAILED, RESTARTING, TOO_SLOW, Refusal, refusal_of
from .subscription import Subscription
from .visitors import Visitor
from .wire import SILENCE, Wire

_BEAT = text_frame(messages.PING.text(None))
_ASK = ping_frame()
_PONG = text_frame(messages.PONG.text(None))
_logger = logging.getLogger("flask_leaderboard")


class Client:
    """Follows what it is asked to follow, and writes what it is told of it to a wire.

    Who keeps up is written to at once. Where the wire is full a writer is started, which goes on when the other side reads, tells
    the newest state of what was left out meanwhile, and ends.
    """

    __slots__ = ("_asked_at", "_budget", "_bytes", "_live", "_subscriptions", "_visitor", "_wire", "_writing")

    def __init__(self, wire: Wire, live: Live, visitor: Visitor) -> None:
        settings = live.settings
        self._wire = wire
        self._live = live
        self._visitor = visitor
        self._subscriptions: dict[str, Subscription] = {}
        self._budget = Budget(settings.live_messages_per_minute)
        self._bytes = Budget(settings.live_messages_per_minute * settings.live_message_bytes)
        self._writing = False
        self._asked_at = 0.0

    # What the client says

    def hear(self, text: str | bytes) -> None:
        """Do what a message asks for; one that can't be understood ends the connection."""
        if self._wire.sealed:
            return
        try:
            if not self._budget.spend():
                raise MessageRateError("messages come faster than they may: connect again, and send fewer")
            self._obey(read_message(text))
        except LeaderboardError as error:
            self.refuse(refusal_of(error))
        except Exception:
            _logger.exception("a live client's message was not answered")
            self.refuse(FAILED)

    def _obey(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "ping":
            self._put(_PONG)
        elif kind == "unsubscribe":
            self._drop(message["id"])
        else:
            self._subscribe(message)

    def _subscribe(self, message: dict[str, Any]) -> None:
        name = message["id"]
        try:
            wish = self._live.wish(message)
            if wish.user_id is not None:
                self._visitor(wish.user_id)
            self._drop(name)
            if len(self._subscriptions) >= self._live.settings.live_max_subscriptions:
                raise SubscriptionsError(f"a client may have {len(self._subscriptions)} subscriptions: unsubscribe first")
            subscription = self._subscriptions[name] = Subscription(wish, self, self._live.memory)
            view = self._live.follow(subscription)
        except MessageError:
            raise
        except LeaderboardError as error:
            self._subscriptions.pop(name, None)
            self._put(text_frame(problem(error).text(name)))
            return
        self._begin(subscription, view)

    def _begin(self, subscription: Subscription, view: View) -> None:
        with self._wire.lock:
            view = subscription.newest or view  # the feed may have told more before it answered
            if self._wire.pending:
                subscription.newest, subscription.ready, subscription.behind = view, True, True
            else:
                self._tell(subscription, view, subscription.begin(view))

    def _drop(self, name: str) -> None:
        subscription = self._subscriptions.pop(name, None)
        if subscription is not None:
            with self._wire.lock:
                subscription.ready = False  # what the feed has on its way is not passed on
            self._live.unfollow(subscription)

    def leave(self) -> None:
        """Follow nothing any more."""
        for name in list(self._subscriptions):
            self._drop(name)

    # What the feed tells

    def show(self, subscription: Subscription, view: View) -> None:
        with self._wire.lock:
            subscription.newest = view
            if not subscription.ready or self._wire.sealed:
                return
            if self._wire.pending:
                subscription.behind = True
            else:
                self._tell(subscription, view, subscription.advance(view))
        self._live.clients.breathe()

    def stall(self, subscription: Subscription) -> None:
        with self._wire.lock:
            if subscription.ready and not subscription.stale and not self._wire.pending:
                self._put(text_frame(messages.STALE.text(subscription.wish.name)))
            subscription.stale = True

    def _tell(self, subscription: Subscription, view: View, told: list[Message]) -> None:
        frames = [self._frame(message, subscription.wish.name, view) for message in told]
        if frames:
            self._put(frames[0] if len(frames) == 1 else b"".join(frames))

    @staticmethod
    def _frame(message: Message, name: str, view: View) -> bytes:
        """Frame a message; one that is the same for many is framed once for those who follow under the same name."""
        if not message.shared:
            return text_frame(message.text(name))
        key = ("frame", message)
        known = view.written.get(key)
        if known is not None and known[0] == name:
            return known[1]  # type: ignore[no-any-return]
        frame = text_frame(message.text(name))
        view.written.setdefault(key, (name, frame))
        return frame

    # The wire

    def _put(self, frames: bytes) -> None:
        if not self._wire.put(frames):
            self._start_writer()

    def _start_writer(self) -> None:
        with self._wire.lock:
            if self._writing:
                return
            self._writing = True
        threading.Thread(target=self._write, name="leaderboard-live-writer", daemon=True).start()

    def _write(self) -> None:
        """Go on writing as the other side reads, up to the newest state; who takes too long over it is sent away."""
        limit = self._live.settings.live_send_timeout_ms / 1000
        deadline = time.monotonic() + limit
        while True:
            with self._wire.lock:
                if self._wire.flush():
                    deadline = time.monotonic() + limit
                    if not self._catch_up():
                        self._writing = False
                        return
            if not self._wire.wait(select.POLLOUT, deadline - time.monotonic()):
                if self._wire.sealed:
                    self._wire.cut()
                self.refuse(TOO_SLOW)
                deadline = time.monotonic() + limit

    def _catch_up(self) -> bool:
        """Tell the newest state of what was left out; tell whether there is anything left to write."""
        if not self._wire.sealed:
            for subscription in list(self._subscriptions.values()):
                if subscription.behind and subscription.newest is not None:
                    view = subscription.newest
                    self._tell(subscription, view, subscription.catch_up(view))
        return bool(self._wire.pending)

    def refuse(self, refusal: Refusal) -> None:
        """Say why, and close."""
        told = messages.error(refusal.code, refusal.detail).text(None)
        self._seal(text_frame(told) + close_frame(refusal.close_code, refusal.code))

    def _seal(self, frames: bytes) -> None:
        if not self._wire.seal(frames):
            self._start_writer()

    # The clients' thread

    def tend(self, now: float) -> None:
        """Send a heartbeat where it is quiet, and break off where there is nobody."""
        wire, beat = self._wire, self._live.settings.live_ping_s
        received, wire.received = wire.received, 0
        if now > wire.cut_at or now - wire.heard_at > SILENCE * beat:
            wire.cut()
        elif received and not self._bytes.spend(received):
            self.refuse(refusal_of(MessageRateError("more is sent than may be: connect again, and send less")))
        elif not wire.pending:
            self._beat(now, beat)

    def _beat(self, now: float, seconds: float) -> None:
        """Let a page see that all is well where it was told nothing for a while, and ask it where it said nothing."""
        frames = _BEAT if now - self._wire.sent_at >= seconds else b""
        if now - max(self._wire.heard_at, self._asked_at) >= seconds:
            self._asked_at = now
            frames += _ASK
        if frames:
            self._put(frames)

    def dismiss(self, retry_in_ms: int) -> None:
        """Say goodbye before the process ends."""
        told = messages.bye(RESTARTING.code, retry_in_ms).text(None)
        self._seal(text_frame(told) + close_frame(RESTARTING.close_code, RESTARTING.code))


def problem(error: LeaderboardError) -> Message:
    """Tell of an error as the REST API does."""
    told = describe(error)
    detail = told["detail"]
    if isinstance(error, InputError) and "errors" in told:
        detail = f"{detail}: {told['errors']}"
    return messages.error(error.code, detail)
