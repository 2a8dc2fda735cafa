"""Bringing back a Redis that has lost too much to be replayed: in a thread of its own, so that no request waits for it."""

from __future__ import annotations

import logging
import threading

from ..errors import LeaderboardError
from .claims import ClaimedError
from .rebuilding import Rebuilder

_logger = logging.getLogger("flask_leaderboard")


class Recovery:
    """Rebuilds a board in the background, one thread at a time in a process, one process at a time for a board."""

    def __init__(self, name: str, rebuilder: Rebuilder) -> None:
        self._name = name
        self._rebuilder = rebuilder
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._told = ""

    def start(self) -> None:
        """Begin, unless it is under way."""
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=f"leaderboard-rebuild-{self._name}", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for what is under way; tell whether it has ended."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()

    def _run(self) -> None:
        try:
            rebuilt = self._rebuilder.run()
        except ClaimedError:
            _logger.debug("board '%s' is being rebuilt by another process", self._name)
        except LeaderboardError as error:
            self._tell(f"board '{self._name}' could not be rebuilt: {error}")
        except Exception:
            _logger.exception("board '%s' could not be rebuilt", self._name)
        else:
            self._told = ""
            _logger.warning("board '%s' was rebuilt from its totals, up to event %d", self._name, rebuilt.number)

    def _tell(self, message: str) -> None:
        """Log a failure once, not every second in which it stays the same."""
        if message != self._told:
            self._told = message
            _logger.warning(message)
