"""How far a long command is, as a terminal shows it."""

from __future__ import annotations

import io
from contextlib import suppress

import pytest

from flask_leaderboard.cli.progress import SECONDS_BETWEEN, Progress, describe


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Ticks:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("done", "fraction", "seconds", "told"),
    [
        (0, 0.0, 0.0, "0 events"),
        (12_000, 0.25, 2.0, "12,000 events, 6,000/s, 25%, 0:00:06 left"),
        (12_000, None, 2.0, "12,000 events, 6,000/s"),
        (10, 1.0, 4.0, "10 events, 2/s, 100%, 0:00:00 left"),
    ],
)
def test_describe(done: int, fraction: float | None, seconds: float, told: str) -> None:
    assert describe("events", done, fraction, seconds) == told


def test_is_shown_in_a_terminal_and_cleared_at_the_end() -> None:
    terminal, clock = Terminal(), Ticks()
    with Progress("lines", stream=terminal, clock=clock) as progress:
        progress.show(1)
        progress.show(2)  # too soon
        clock.now += SECONDS_BETWEEN
        progress.show(3, 0.5)
    shown = terminal.getvalue().split("\r\x1b[K")
    assert [text.partition(",")[0] for text in shown] == ["", "1 lines", "3 lines", ""]


def test_is_cleared_when_the_command_breaks() -> None:
    terminal = Terminal()
    with suppress(KeyboardInterrupt), Progress("lines", stream=terminal) as progress:
        progress.show(1)
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_says_nothing_to_a_file() -> None:
    stream = io.StringIO()
    with Progress("lines", stream=stream) as progress:
        progress.show(1)
    assert stream.getvalue() == ""
