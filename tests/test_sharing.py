"""Submissions of concurrent threads share calls, and each gets its own outcome."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from redis import Redis

from flask_leaderboard import Receipt, Submission
from flask_leaderboard.engine.submitting import Outcome
from flask_leaderboard.errors import StoreUnavailableError
from flask_leaderboard.store.calls import Caller, pack
from flask_leaderboard.store.sharing import MOST_AT_ONCE, Shared
from tests.waiting import until


class Held:
    """A run that stands until it is let go, so that others come meanwhile."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.entered = threading.Event()
        self.go = threading.Event()
        self.failure: BaseException | None = None

    def __call__(self, submissions: Sequence[Submission]) -> list[Outcome]:
        self.batches.append([submission.user_id for submission in submissions])
        self.entered.set()
        assert self.go.wait(10)
        if self.failure:
            raise self.failure
        return [Receipt(submission.user_id, ()) for submission in submissions]


def start(shared: Shared[Submission, Outcome], user_id: str, outcomes: dict[str, object]) -> threading.Thread:
    def run() -> None:
        try:
            outcomes[user_id] = shared.run(Submission(user_id, 1))
        except BaseException as error:
            outcomes[user_id] = error

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def play(held: Held, riders: int) -> dict[str, object]:
    """Let one thread lead and others come while its call is under way."""
    shared, outcomes = Shared(held), dict[str, object]()
    threads = [start(shared, "leader", outcomes)]
    assert held.entered.wait(10)
    threads += [start(shared, f"rider{number}", outcomes) for number in range(riders)]
    until(lambda: len(shared._waiting) == riders)
    held.go.set()
    for thread in threads:
        thread.join(10)
    return outcomes


def test_who_comes_meanwhile_rides_in_the_next_call() -> None:
    held = Held()
    outcomes = play(held, 7)
    assert [len(batch) for batch in held.batches] == [1, 7]
    assert all(isinstance(outcome, Receipt) and outcome.user_id == user for user, outcome in outcomes.items())
    assert len(outcomes) == 8


def test_calls_are_cut_at_the_most_they_take() -> None:
    held = Held()
    play(held, MOST_AT_ONCE + 10)
    assert [len(batch) for batch in held.batches] == [1, MOST_AT_ONCE, 10]


def test_a_failure_reaches_all_who_rode_and_each_as_its_own_error() -> None:
    held = Held()
    held.failure = StoreUnavailableError("gone", 7.0)
    outcomes = play(held, 3)
    errors = list(outcomes.values())
    assert {(str(error), error.retry_after) for error in errors if isinstance(error, StoreUnavailableError)} == {("gone", 7.0)}
    assert len({id(error) for error in errors}) == 4


def test_a_leader_that_is_stopped_leaves_nobody_waiting() -> None:
    held = Held()
    held.failure = SystemExit()
    outcomes = play(held, 3)
    kinds = sorted(type(outcome).__name__ for outcome in outcomes.values())
    assert kinds == ["StoreUnavailableError", "StoreUnavailableError", "SystemExit", "SystemExit"]


def test_alone_it_calls_at_once() -> None:
    held = Held()
    held.go.set()
    assert Shared(held).run(Submission("ann", 1)) == Receipt("ann", ())
    assert held.batches == [["ann"]]


class Interrupted(BaseException):
    pass


def test_a_waiting_thread_that_is_stopped_passes_the_lead_on(monkeypatch: pytest.MonkeyPatch) -> None:
    held, outcomes = Held(), dict[str, object]()
    shared = Shared(held)
    leader = start(shared, "leader", outcomes)
    assert held.entered.wait(10)
    stopped = Submission("stopped", 1)

    class Breaking:
        """A lock that is interrupted while the thread waits, when the lead has just been given to it."""

        def acquire(self) -> None:
            if ticket_is_made.is_set():
                rider.append(start(shared, "rider", outcomes))
                until(lambda: len(shared._waiting) == 2)
                held.go.set()
                until(lambda: shared._waiting[0].leads)
                raise Interrupted
            ticket_is_made.set()
            monkeypatch.undo()

        def release(self) -> None:
            pass

    rider: list[threading.Thread] = []
    ticket_is_made = threading.Event()
    monkeypatch.setattr("flask_leaderboard.store.sharing.threading.Lock", Breaking)
    with pytest.raises(Interrupted):
        shared.run(stopped)
    leader.join(10)
    rider[0].join(10)
    assert isinstance(outcomes["rider"], Receipt)
    assert held.batches == [["leader"], ["rider"]]


def test_what_several_threads_read_at_once_is_read_once(valkey: Redis) -> None:
    valkey.mset({"one": 1, "two": 2})
    valkey.config_resetstat()
    one, two = (pack(("GET", "one")),), (pack(("GET", "two")),)
    assert Caller(valkey)._read_together([one, two, one]) == [[b"1"], [b"2"], [b"1"]]
    assert valkey.info("commandstats")["cmdstat_get"]["calls"] == 2  # type: ignore[index]


def test_what_several_threads_write_at_once_is_written_for_each(valkey: Redis) -> None:
    count = (pack(("INCR", "count")),)
    assert Caller(valkey)._send_together([count, count]) == [[1], [2]]
