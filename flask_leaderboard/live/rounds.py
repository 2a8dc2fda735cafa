"""Going round the topics that a process follows: hearing of changes, looking, telling."""

from __future__ import annotations

import logging
import threading
import time

from ..engine.hub import Hub
from ..errors import LeaderboardError, StoreUnavailableError
from .following import Followed, Follower, Wish
from .listening import Listener, Signal
from .looking import Look, find_spot, look_at
from .topics import Topic
from .views import View

IDLE_SECONDS = 5.0
"""For how long the thread stays when nobody follows anything any more."""
LONGEST_WAIT = 0.25
_logger = logging.getLogger("flask_leaderboard")


class Rounds:
    """What a process follows, and the thread that looks after it. It begins with the first follower."""

    def __init__(self, hub: Hub, interval: float) -> None:
        self._hub = hub
        self._interval = interval
        self._lock = threading.Lock()
        self._topics: dict[Topic, Followed] = {}
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._idle_since = 0.0

    def follow(self, topic: Topic, follower: Follower, wish: Wish) -> View:
        """Let somebody follow a topic; give what is shown now."""
        channel = self._hub[topic.board].store.keys.channel
        with self._lock:
            followed = self._topics.get(topic) or self._topics.setdefault(topic, self._open(topic, channel))
            seat = followed.take_seat(follower, wish, time.monotonic())
            self._start()
            if seat.base is not None:
                return seat.base.view
        try:
            look = followed.joins.run(wish)
        except BaseException:
            with self._lock:
                followed.give_up(seat)
                self._drop_unfollowed(followed)
            raise
        with self._lock:
            return followed.settle(seat, look).view

    def unfollow(self, topic: Topic, follower: Follower) -> None:
        with self._lock:
            followed = self._topics.get(topic)
            if followed is not None:
                followed.leave(follower)
                self._drop_unfollowed(followed)

    def stop(self, seconds: float = 5.0) -> None:
        """Forget all followers, and let the thread finish what it is at."""
        with self._lock:
            self._stopped = True
            self._topics.clear()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def _open(self, topic: Topic, channel: str) -> Followed:
        return Followed(topic, channel, self._interval, lambda top, users: look_at(self._hub, topic, top, users))

    def _drop_unfollowed(self, followed: Followed) -> None:
        """Forget a topic that nobody follows. Called with the lock held."""
        if not followed and self._topics.get(followed.topic) is followed:
            del self._topics[followed.topic]
            self._idle_since = time.monotonic()

    def _start(self) -> None:
        """See that the thread runs. Called with the lock held."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="leaderboard-feed", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        listener = Listener(self._hub.connect)
        try:
            while self._goes_on():
                self._turn_over()
                for followed in self._due():
                    self._visit(followed)
                for signal in listener.hear(self._channels(), self._wait()):
                    self._take_in(signal)
        finally:
            listener.close()

    def _goes_on(self) -> bool:
        with self._lock:
            idle = not self._topics and time.monotonic() - self._idle_since > IDLE_SECONDS
            if self._stopped or idle:
                self._thread = None
                return False
            return True

    def _turn_over(self) -> None:
        """See where another period has begun to run."""
        for followed in self._listed():
            latest = followed.latest
            if latest is None or latest.spot.holds(self._hub.clock()):
                continue
            try:
                spot = find_spot(self._hub, followed.topic)
            except LeaderboardError:
                continue  # the next look fails as well, and says so
            with self._lock:
                if not spot.is_as(latest.spot):
                    followed.turn(time.monotonic())
                elif followed.latest is latest:
                    followed.latest = latest._replace(spot=spot)

    def _due(self) -> list[Followed]:
        now = time.monotonic()
        return [followed for followed in self._listed() if followed.look_at <= now]

    def _visit(self, followed: Followed) -> None:
        """Look at a topic, and tell those to whom it shows something else than before."""
        with self._lock:
            wish = followed.wish
            followed.begin(time.monotonic())
        try:
            look = look_at(self._hub, followed.topic, *wish)
        except LeaderboardError as error:
            self._lose(followed, error)
        except Exception as error:
            _logger.exception("topic %s could not be looked at", followed.topic)
            self._lose(followed, StoreUnavailableError(f"the ranking could not be read: {error}"))
        else:
            self._show(followed, look)

    def _show(self, followed: Followed, look: Look) -> None:
        with self._lock:
            told = followed.see(look, time.monotonic())
        for follower, previous in told:
            try:
                follower.tell(previous, look.view)
            except Exception:
                _logger.exception("a follower of %s could not be told", followed.topic)

    def _lose(self, followed: Followed, error: LeaderboardError) -> None:
        with self._lock:
            lost = followed.fail(time.monotonic())
        for follower in lost:
            try:
                follower.lose(error)
            except Exception:
                _logger.exception("a follower of %s could not be told", followed.topic)

    def _take_in(self, signal: Signal) -> None:
        """Note of which topics a signal tells."""
        with self._lock:
            for followed in self._topics.values():
                if followed.channel == signal.channel and _concerns(signal, followed):
                    followed.hear(time.monotonic())

    def _wait(self) -> float:
        """Tell how long there is nothing to do but to listen."""
        followed = self._listed()
        next_look = min((item.look_at for item in followed), default=time.monotonic() + LONGEST_WAIT)
        turns = (item.latest.spot.until for item in followed if item.latest is not None)
        next_turn = (min(turns, default=self._hub.clock() + 10**9) - self._hub.clock()) / 1_000_000
        return max(0.0, min(next_look - time.monotonic(), next_turn, LONGEST_WAIT))

    def _channels(self) -> frozenset[str]:
        return frozenset(followed.channel for followed in self._listed())

    def _listed(self) -> list[Followed]:
        with self._lock:
            return list(self._topics.values())


def _concerns(signal: Signal, followed: Followed) -> bool:
    ranking = followed.latest.spot.ranking if followed.latest is not None else None
    return signal.entries is None or followed.latest is None or (ranking is not None and ranking.keys[0] in signal.entries)
