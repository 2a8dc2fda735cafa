"""Work of concurrent threads, brought to Redis together.

A call to Redis costs the client about the same for one item as for many. The first thread to come leads: it takes what
waits, makes the call and hands out the outcomes. Whoever comes meanwhile waits for the next call, led by one of them. A thread
that is alone calls at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast

from ..errors import LeaderboardError, StoreUnavailableError

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
MOST_AT_ONCE = 200


class Ticket(Generic[Item, Outcome]):
    """An item on its way. Its thread waits at `wake` until it has an outcome, or is to lead."""

    __slots__ = ("failure", "item", "leads", "outcome", "wake")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.wake = threading.Lock()
        self.wake.acquire()
        self.outcome: Outcome | None = None
        self.failure: Exception | None = None
        self.leads = False


class Shared(Generic[Item, Outcome]):
    """Lets threads share calls to `run`, which takes items and gives an outcome for each."""

    def __init__(self, run: Callable[[Sequence[Item]], Sequence[Outcome]]) -> None:
        self._run_all = run
        self._lock = threading.Lock()
        self._waiting: list[Ticket[Item, Outcome]] = []
        self._busy = False

    def run(self, item: Item) -> Outcome:
        """Give the outcome of an item."""
        ticket: Ticket[Item, Outcome] = Ticket(item)
        with self._lock:
            self._waiting.append(ticket)
            ticket.leads, self._busy = not self._busy, True
        if not ticket.leads:
            self._wait(ticket)
        if ticket.leads:
            self._lead()
        if ticket.failure is not None:
            raise _again(ticket.failure)
        return cast(Outcome, ticket.outcome)

    def _wait(self, ticket: Ticket[Item, Outcome]) -> None:
        try:
            ticket.wake.acquire()
        except BaseException:  # the thread is being stopped: nobody may wait for it to lead
            with self._lock:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                if ticket.leads:
                    self._appoint()
            raise

    def _lead(self) -> None:
        with self._lock:
            taken, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        try:
            outcomes = self._run_all([ticket.item for ticket in taken])
            for ticket, outcome in zip(taken, outcomes, strict=True):
                ticket.outcome = outcome
        except Exception as failure:
            for ticket in taken:
                ticket.failure = failure
        except BaseException:
            cut_off = StoreUnavailableError(
                "the call was cut off, and may have been run or not: repeat it, a submission with the same submission_id"
            )
            for ticket in taken:
                ticket.failure = cut_off
            raise
        finally:
            with self._lock:
                self._appoint()
            for ticket in taken:
                ticket.wake.release()

    def _appoint(self) -> None:
        """Let the thread that has waited longest lead. Called with the lock held."""
        self._busy = bool(self._waiting)
        if self._waiting:
            self._waiting[0].leads = True
            self._waiting[0].wake.release()


def _again(failure: Exception) -> Exception:
    """Give each thread an exception of its own: one object raised in several would mix their tracebacks."""
    if not isinstance(failure, LeaderboardError):
        return failure
    own = type(failure)(*failure.args)
    own.__dict__.update(failure.__dict__)
    own.__cause__ = failure.__cause__
    return own
