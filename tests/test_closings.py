"""Periods that have closed are told of, at least once and in order, whatever their length."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from flask_leaderboard import Board, Daily, Every, Season, Tournament, current_leaderboards, period_closed
from flask_leaderboard.rules.instants import DAY, MICROSECONDS, to_datetime
from flask_leaderboard.rules.windows import Window
from tests.conftest import SetClock
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
