"""Periods that have closed are told of, at least once and in order, whatever their length."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from flask_leaderboard import AllTime, Board, Daily, Every, Season, Tournament, current_leaderboards, period_closed
from flask_leaderboard.rules.instants import DAY, MICROSECONDS, to_datetime
from flask_leaderboard.rules.windows import Window
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.waiting import until
from tests.web import make_app

HOUR = 3600 * MICROSECONDS


class Listener:
    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, sender: Flask, board: str, window: str, period: Any) -> None:
        self.told.append(period.id)


def look(app: Flask) -> None:
    app.test_client().get("/v1/health")


def listen(clock: SetClock, window: Window, steps: int, step: int, act: Callable[[Flask], None] = look) -> list[str]:
    """Let time pass in steps, something happen at each, and give what was told."""
    app, listener = make_app([Board("arena", windows=[window])], clock=clock), Listener()
    with period_closed.connected_to(listener, app):
        act(app)
        for _ in range(steps):
            clock.now += step
            act(app)
    return listener.told


@pytest.mark.parametrize("seconds", [1, 60, 300, 3600])
@pytest.mark.parametrize("grace", [None, timedelta(0), timedelta(seconds=1)])
def test_every_period_is_told_once_by_one_process(clock: SetClock, seconds: int, grace: timedelta | None) -> None:
    window = Every(timedelta(seconds=seconds), grace=grace)
    told = listen(clock, window, 40, seconds * MICROSECONDS // 4)
    assert len(told) in (9, 10)
    assert told == sorted(set(told))


def test_grace_as_long_as_the_period(clock: SetClock) -> None:
    five = timedelta(minutes=5)
    told = listen(clock, Every(five, grace=five), 60, 60 * MICROSECONDS)
    assert len(told) == 12


def test_idle_time_longer_than_the_retention_loses_nothing(clock: SetClock) -> None:
    told = listen(clock, Every(timedelta(hours=1)), 4, 6 * HOUR)
    assert len(told) == 24
    assert told == sorted(told)


def test_tournament_is_told_of(clock: SetClock) -> None:
    start = to_datetime(clock.now + 2 * HOUR)
    cup = Tournament("cup", start, start + timedelta(seconds=30), grace=timedelta(0))
    assert listen(clock, cup, 3 * 60, 60 * MICROSECONDS) == ["cup"]


def test_season_is_told_of_within_a_second(clock: SetClock) -> None:
    app, listener = make_app([Board("arena", windows=[Season()])], clock=clock), Listener()
    with period_closed.connected_to(listener, app), app.app_context():
        look(app)
        current_leaderboards["arena"].start_season("one")
        clock.now += MICROSECONDS
        look(app)
        clock.now += MICROSECONDS
        current_leaderboards["arena"].end_season()
        clock.now += MICROSECONDS
        look(app)
    assert listener.told == ["one"]


def test_submissions_of_the_host_are_enough(clock: SetClock) -> None:
    def play(app: Flask) -> None:
        with app.app_context():
            current_leaderboards["arena"].submit("ann", 1)

    assert listen(clock, Daily(), 8, DAY // 2, play) == ["2050-07-02", "2050-07-03", "2050-07-04", "2050-07-05"]


def test_redis_that_is_away_stops_no_request(clock: SetClock, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    app = make_app([Board("arena", windows=[Daily()])], clock=clock, redis_url="unix:///nonexistent/redis.sock")
    assert app.test_client().get("/v1/openapi.json").status_code == 200
    assert app.test_client().get("/v1/health").status_code == 503


def test_season_that_ends_while_another_period_is_told_is_not_lost(clock: SetClock) -> None:
    board = Board("arena", windows=[Every(timedelta(hours=1), grace=timedelta(0)), Season()])
    app, listener = make_app([board], clock=clock), Listener()
    with period_closed.connected_to(listener, app), app.app_context():
        look(app)
        current_leaderboards["arena"].start_season("one")
        clock.now += HOUR
        look(app)
        clock.now -= 3 * MICROSECONDS  # the operator's clock is behind
        current_leaderboards["arena"].end_season()
        clock.now += 4 * MICROSECONDS
        look(app)
    assert listener.told.count("one") == 1


def test_season_that_ran_out_is_told_once(clock: SetClock) -> None:
    app, listener = make_app([Board("arena", windows=[Season(at_most=timedelta(days=1))])], clock=clock), Listener()
    with period_closed.connected_to(listener, app), app.app_context():
        look(app)
        current_leaderboards["arena"].start_season("one")
        clock.now += DAY + HOUR
        look(app)
        current_leaderboards["arena"].end_season()
        clock.now += HOUR
        look(app)
    assert listener.told == ["one"]


def test_receiver_may_submit_and_take_long(clock: SetClock) -> None:
    app, told = make_app([Board("arena", windows=[Every(timedelta(hours=1))])], clock=clock), []

    def reward(sender: Flask, board: str, window: str, period: Any) -> None:
        told.append(period.id)
        clock.now += 20 * MICROSECONDS
        sender.extensions["leaderboard"].hub.caller.client.delete("lb1:{arena}:@claim:closing")
        with sender.app_context():
            current_leaderboards["arena"].submit("ann", 1)

    with period_closed.connected_to(reward, app):
        look(app)
        clock.now += 3 * HOUR
        look(app)
        clock.now += 10 * MICROSECONDS
        look(app)
    assert len(told) == 4 == len(set(told))


def test_several_processes_tell_each_period_once(clock: SetClock) -> None:
    listener, name = Listener(), f"memory://closings-{id(clock)}"
    apps = [make_app([Board("arena", windows=[Every(timedelta(hours=1))])], clock=clock, redis_url=name) for _ in range(4)]
    with ExitStack() as stack:
        for app in apps:
            stack.enter_context(period_closed.connected_to(listener, app))
            look(app)
        for _ in range(20):
            clock.now += HOUR
            threads = [threading.Thread(target=look, args=(app,)) for app in apps]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
    assert len(set(listener.told)) >= 19
    assert len(listener.told) == len(set(listener.told))


def test_clock_that_ran_ahead_silences_nothing(clock: SetClock) -> None:
    app, listener = make_app([Board("arena", windows=[Every(timedelta(hours=1))])], clock=clock), Listener()
    with period_closed.connected_to(listener, app):
        look(app)
        clock.now += 365 * DAY
        look(app)
        listener.told.clear()
        clock.now -= 365 * DAY
        look(app)
        clock.now += 2 * HOUR
        look(app)
    assert len(listener.told) == 2


def test_board_that_fails_silences_no_other(clock: SetClock) -> None:
    boards = [Board(name, windows=[Every(timedelta(hours=1))]) for name in ("broken", "sound")]
    app, listener = make_app(boards, clock=clock), Listener()
    with period_closed.connected_to(listener, app):
        look(app)
        app.extensions["leaderboard"].hub.caller.client.set("lb1:{broken}", "not a hash")
        clock.now += 2 * HOUR
        look(app)
    assert len(listener.told) == 2


def test_long_grace_hides_no_closed_period(clock: SetClock) -> None:
    long = timedelta(minutes=1900)
    told = listen(clock, Every(timedelta(minutes=1), grace=long, retention=long), 1, HOUR)
    assert len(told) == 60


def test_receiver_is_in_the_context_of_the_app_also_in_the_worker(clock: SetClock, tmp_path: Path) -> None:
    board = Board("arena", mode="ledger", windows=[AllTime(), Daily(grace=timedelta(0))])
    app, winners = make_app([board], clock=clock, instance=tmp_path, worker_thread=True), []

    def reward(sender: Flask, board: str, window: str, period: Any) -> None:
        best = current_leaderboards[board].top(1, window=window, period=period.id).entries
        winners.append((threading.current_thread().name, [entry.user_id for entry in best]))

    with period_closed.connected_to(reward, app):
        with app.app_context():
            current_leaderboards["arena"].submit("ann", 1)
        until(lambda: service_of(app).hub["arena"].store.marks(["announced"])[0])
        clock.now += DAY
        until(lambda: winners)
        service_of(app).hub.close()
    assert winners == [("leaderboard-worker", ["ann"])]
