"""Run the worker: ``flask leaderboard worker``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click
from flask.cli import AppGroup

from ..engine.worker import Worker
from ..globals import current_leaderboards


def add_commands(group: AppGroup) -> None:
    """Add the commands of this module."""
    group.command("worker")(run_worker)


@click.option("--once", is_flag=True, help="Do what is due now, then end.")
def run_worker(once: bool) -> None:
    """Fold totals, archive closed periods and tell of them, apply what waits for Redis, drain journals, and free what is past
    its retention.

    Several may run at a time. It ends at SIGTERM or SIGINT, after the step it is at.
    """
    worker = Worker(current_leaderboards)
    duties = sorted({duty.name for board in current_leaderboards.values() for duty in board.duties})
    click.echo(f"Working on {', '.join(duties) or 'signals of closed periods only: no board keeps a log'}.", err=True)
    with _told_to_stop() as stop:
        if not once:
            worker.run(stop)
        while once and worker.work(stop) and not stop.is_set():
            pass
        worker.rest()


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """Give an event that the signals to end set, in place of ending the process at once."""
    stop = threading.Event()
    before = {kind: signal.signal(kind, lambda *_: stop.set()) for kind in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
