"""Waiting for something to come about, without sleeping for a fixed time; and for a process to end."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any


def until(
    check: Callable[[], Any],
    log: Callable[[], str] = str,
    *,
    seconds: float = 30.0,
    passing: tuple[type[Exception], ...] = (),
) -> Any:
    """Give the first true answer; `passing` are errors that may come meanwhile, `log` tells more where none comes in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if found := check():
                return found
        except passing:
            pass
        time.sleep(0.02)
    raise AssertionError(f"it did not come about\n{log()[-3000:]}")


def end(process: subprocess.Popen[bytes], seconds: float = 20.0) -> None:
    """Ask a process to end, and kill it where it does not."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
