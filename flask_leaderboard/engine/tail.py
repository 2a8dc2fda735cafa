"""What Redis has numbered and the log has not got yet: brought to the log, and held where it must not grow for a moment."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Protocol

from ..errors import LeaderboardError, LogMismatchError, StoreUnavailableError
from ..log.event_log import EventLog
from ..store.board_store import BoardStore
from .claims import ClaimedError
from .draining import Drainer

STILL = "still"
LONGEST_SECONDS = 3
POLL_SECONDS = 0.005
NEVER = 2**53 - 1
"""A number that no board stands at: where this is the least, no other is given."""
MOST_STEPS = 20


class Tail(Protocol):
    """Knows what Redis has and the log has not."""

    def reach(self, number: int) -> None:
        """See that the log has all events up to a number that Redis stands at."""

    def still(self) -> AbstractContextManager[None]:
        """Have Redis give no numbers for as long as the block takes."""

    def keep(self) -> None:
        """Go on to have it so; called often."""

    @property
    def spare(self) -> int:
        """How many of the log's last events data may lack that takes the place of the live: they are folded then."""


class NoTail:
    """The tail of a board that writes to its log first: there is none, ever."""

    spare = 1000

    def reach(self, number: int) -> None:
        pass

    def still(self) -> AbstractContextManager[None]:
        return nullcontext()

    def keep(self) -> None:
        pass


class JournalTail:
    """The tail of a board that counts in Redis first: its journal."""

    spare = 0  # else Redis could give the numbers of those anew

    def __init__(self, store: BoardStore, log: EventLog, drainer: Drainer) -> None:
        self._store = store
        self._log = log
        self._drainer = drainer
        self._closing = (0, 0)
        self._claim: str | None = None

    def reach(self, number: int) -> None:
        """Drain until the log has all up to a number; others may drain meanwhile."""
        while self._log.head() < number:
            self.keep()
            if not self._drainer.step() and (head := self._log.head()) < number:
                raise LogMismatchError(
                    f"board {self._store.board.name!r} stands at {number} in Redis and at {head} in its log, and its journal is"
                    " empty: name the database that belongs to it, or another key prefix"
                )

    def settle(self, until: int) -> bool:
        """Take no event any more of a time before `until`; tell whether the log has all that there are.

        What was numbered by the first call is waited for, not what has come since: else a busy board would never close.
        """
        if self._closing[0] != until:
            self._closing = until, self._store.close(until)
        number = min(self._closing[1], self._store.number())
        for _ in range(MOST_STEPS):
            if self._log.head() >= number or not self._drainer.step():
                break
        return self._log.head() >= number

    @contextmanager
    def still(self) -> Iterator[None]:
        """Have the script refuse to number. Who is still and dies is found out by who is refused: his claim runs out."""
        claim = self._store.claim(STILL, LONGEST_SECONDS)
        if claim is None:
            raise ClaimedError(f"board {self._store.board.name!r} is held by another process: repeat it")
        try:
            least = self._store.insists_on()
            least = self._log.head() if least == NEVER else least
            self._store.insist(NEVER)
            self._claim = claim
            try:
                yield
            finally:
                self._claim = None
                self._go_on(least)
        finally:
            with suppress(LeaderboardError):  # it runs out by itself, and who is refused then mends the rest
                self._store.release(STILL, claim)

    def keep(self) -> None:
        claim = self._claim
        if claim is not None:
            self._store.renew(STILL, claim, LONGEST_SECONDS)

    def wait(self) -> int:
        """Wait while the board is held, as long as that may take; give the number that it must stand at."""
        deadline = time.monotonic() + LONGEST_SECONDS
        while (least := self._store.insists_on()) == NEVER:
            if time.monotonic() > deadline:
                raise StoreUnavailableError(f"board {self._store.board.name!r} is held for longer than usual: try again shortly")
            if not self._store.is_claimed(STILL):
                self._go_on(self._log.head())
            time.sleep(POLL_SECONDS)
        return least

    def _go_on(self, least: int) -> None:
        if self._store.insists_on() == NEVER:
            self._store.insist(least)
