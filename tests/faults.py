"""Ending a process between any two of its steps: whatever another one could see, a statement, a commit, a call to Redis."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

from redis.connection import AbstractConnection
from sqlalchemy import Engine, event

SURVIVED, KILLED, FAILED = 0, 9, 1


class Countdown:
    """Ends the process at the step with a number, as `kill -9` would: nothing is cleaned up."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def step(self, *_: Any, **__: Any) -> None:
        self._left -= 1
        if self._left == 0:
            os._exit(KILLED)

    def watch(self, engine: Engine) -> None:
        """Count what goes to a database and to any Redis from now on, each before it goes and when it is answered."""
        event.listen(engine, "before_cursor_execute", self.step)
        event.listen(engine, "after_cursor_execute", self.step)
        engine.dialect.do_commit = self._around(engine.dialect.do_commit)  # type: ignore[method-assign]
        AbstractConnection.send_packed_command = self._before(AbstractConnection.send_packed_command)  # type: ignore[method-assign]
        AbstractConnection.read_response = self._after(AbstractConnection.read_response)  # type: ignore[method-assign]

    def _before(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **more: Any) -> Any:
            self.step()
            return work(*args, **more)

        return watched

    def _after(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **more: Any) -> Any:
            found = work(*args, **more)
            self.step()
            return found

        return watched

    def _around(self, work: Callable[..., Any]) -> Callable[..., Any]:
        return self._after(self._before(work))


def survives(work: Callable[[Countdown], None], step: int) -> bool:
    """Do work in a process that ends at its step with this number; tell whether it came to its end before."""
    child = os.fork()
    if child == 0:
        try:
            work(Countdown(step))
        except BaseException:
            traceback.print_exc()
            os._exit(FAILED)
        os._exit(SURVIVED)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (SURVIVED, KILLED), f"the process ended by itself, with {status}"
    return status == SURVIVED
