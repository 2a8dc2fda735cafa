"""The worker: does the duties of all boards, round after round. Several may run; each duty is done by one at a time."""

from __future__ import annotations

import logging
import threading
import time

from ..errors import LeaderboardError, StoreUnavailableError
from .duties import Duty
from .hub import Hub
from .leaderboard import Leaderboard

CLAIM_SECONDS = 10
TURN_SECONDS = 1.0
"""How long one duty goes on before the next has its turn."""
PAUSE_SECONDS = 0.5
_logger = logging.getLogger("flask_leaderboard")


class Worker:
    """Does the duties of a hub's boards.

    A duty is claimed in Redis, so that workers do not get into each other's way; what keeps the data right is not the claim but
    the locked rows in SQL. So where Redis is away, the duties that need it not go on without one.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._claims: dict[tuple[str, str], str] = {}
        self._troubles: dict[tuple[str, str], str] = {}

    def run(self, stop: threading.Event) -> None:
        """Work until told to stop."""
        while not stop.is_set():
            try:
                busy = self.work(stop)
            except LeaderboardError as error:
                self._tell_trouble("-", "open", error)
                busy = False
            stop.wait(0 if busy else PAUSE_SECONDS)
        self.rest()

    def work(self, stop: threading.Event | None = None) -> bool:
        """Give every duty of every board a turn; tell whether one has more to do."""
        busy = False
        for board in self._hub.values():
            for duty in board.duties:
                if stop is None or not stop.is_set():
                    busy = self._turn(board, duty) or busy
        self._hub.tell_of_closed()
        return self._tend_users() or busy

    def _tend_users(self) -> bool:
        """Bring profiles to Redis that it misses, and forget those of the erased; that is for all boards together."""
        try:
            return self._hub.tend_users()
        except LeaderboardError as error:
            self._tell_trouble("-", "users", error)
            return False

    def _turn(self, board: Leaderboard, duty: Duty) -> bool:
        place = (board.board.name, duty.name)
        try:
            busy = self._claim(board, duty.name) and self._do(duty)
        except LeaderboardError as error:
            self._tell_trouble(*place, error)
            return False
        if self._troubles.pop(place, None) is not None:
            _logger.info("board '%s': %s goes on", *place)
        return busy

    def _do(self, duty: Duty) -> bool:
        until = time.monotonic() + TURN_SECONDS
        while duty.step(self._hub.clock()):
            if time.monotonic() > until:
                return True
        return False

    def _claim(self, board: Leaderboard, duty: str) -> bool:
        """Claim a duty, or keep the claim; False where another worker has it."""
        place, name = (board.board.name, duty), f"worker-{duty}"
        try:
            held = self._claims.get(place)
            if held is not None and board.store.renew(name, held, CLAIM_SECONDS):
                return True
            self._claims.pop(place, None)
            claim = board.store.claim(name, CLAIM_SECONDS)
        except StoreUnavailableError:
            return True
        if claim is not None:
            self._claims[place] = claim
        return claim is not None

    def rest(self) -> None:
        """Give up the claims, for others to go on."""
        for (board, duty), claim in self._claims.items():
            try:
                self._hub[board].store.release(f"worker-{duty}", claim)
            except LeaderboardError as error:
                _logger.warning("board '%s': the claim of %s could not be given up: %s", board, duty, error)
        self._claims.clear()

    def _tell_trouble(self, board: str, duty: str, error: LeaderboardError) -> None:
        """Log what went wrong, once as long as it goes on."""
        if self._troubles.get((board, duty)) != error.code:
            self._troubles[board, duty] = error.code
            _logger.warning("board '%s': %s has to wait: %s", board, duty, error)


class WorkerThread:
    """A worker inside a process of the app, for apps that run no other."""

    def __init__(self, hub: Hub) -> None:
        self._worker = Worker(hub)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._worker.run, args=(self._stop,), name="leaderboard-worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float = 5.0) -> None:
        """Let it finish the step it is at."""
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join(seconds)
