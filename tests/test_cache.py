"""The cache of a moment: one maker at a time, nothing kept for long."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from flask_leaderboard.web.cache import MicroCache


def test_value_is_kept_for_a_moment_and_made_anew_then() -> None:
    cache, made = MicroCache[int](50), iter(range(100))
    first = cache.get("key", lambda: next(made))
    assert cache.get("key", lambda: next(made)) == first
    time.sleep(0.06)
    assert cache.get("key", lambda: next(made)) == first + 1
    assert cache.get("other", lambda: next(made)) == first + 2


def test_zero_turns_it_off() -> None:
    cache, made = MicroCache[int](0), iter(range(100))
    assert [cache.get("key", lambda: next(made)) for _ in range(3)] == [0, 1, 2]


def test_of_many_who_ask_at_once_one_makes_it_even_when_making_takes_long() -> None:
    cache, makes, start = MicroCache[str](10), [], threading.Barrier(8)

    def make() -> str:
        makes.append(1)
        time.sleep(0.1)
        return "value"

    def ask() -> None:
        start.wait()
        assert cache.get("key", make) == "value"

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(makes) <= 2


def test_failure_is_not_kept() -> None:
    cache = MicroCache[int](1000)
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: 1 // 0)
    assert cache.get("key", lambda: 5) == 5


def test_old_values_are_let_go() -> None:
    cache = MicroCache[int](20)
    for number in range(100):
        cache.get(number, lambda: 1)
    time.sleep(0.05)
    cache.get("new", lambda: 1)
    assert len(cache._slots) == 1
    for number in range(10 * cache.MOST_SLOTS):
        cache.get(number, lambda: 1)
        assert len(cache._slots) <= cache.MOST_SLOTS


def test_forked_child_waits_for_no_thread_of_its_parent() -> None:
    cache, making, go = MicroCache[int](1000), threading.Event(), threading.Event()

    def make() -> int:
        making.set()
        go.wait(10)
        return 1

    thread = threading.Thread(target=lambda: cache.get("key", make))
    thread.start()
    assert making.wait(10)
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        os._exit(0 if cache.get("key", lambda: 2) == 2 else 1)
    go.set()
    thread.join(10)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_failures_push_out_nothing_and_are_shared_by_those_who_waited() -> None:
    cache, made, failures = MicroCache[int](60_000), iter(range(100)), []
    assert cache.get("hot", lambda: next(made)) == 0
    for number in range(2 * cache.MOST_SLOTS):
        with pytest.raises(ZeroDivisionError):
            cache.get(number, lambda: 1 // 0)
    assert cache.get("hot", lambda: next(made)) == 0

    def fail() -> int:
        failures.append(1)
        time.sleep(0.2)
        raise ZeroDivisionError

    def ask() -> None:
        with pytest.raises(ZeroDivisionError):
            cache.get("slow", fail)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(failures) <= 2
