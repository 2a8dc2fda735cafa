"""How an app does: Redis, the database of the log, and what of the boards can be served by them."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Literal, NamedTuple

from ..errors import LeaderboardError, StoreUnavailableError
from ..rules.board import Mode
from .hub import Hub
from .leaderboard import Leaderboard

State = Literal["ok", "degraded", "down"]
PROBE, PROBE_SECONDS = "probe", 1
_WITHOUT: dict[Mode, tuple[State, State]] = {"ledger": ("degraded", "degraded"), "write_behind": ("down", "degraded")}
"""How a board with a log does without Redis, and without the database."""
_logger = logging.getLogger("flask_leaderboard")


class Part(NamedTuple):
    """How a server does: `degraded` is one that can be read, and refuses writes."""

    state: State
    milliseconds: float | None = None


class Condition(NamedTuple):
    """How all of it does; `boards` has how many boards are in which state."""

    redis: Part
    log: Part | None
    boards: dict[State, int]

    @property
    def state(self) -> State:
        """Tell what callers meet: `degraded` where some of it can't be served, `down` where none can."""
        present = {state for state, count in self.boards.items() if count}
        return present.pop() if len(present) == 1 else "degraded"


def examine(hub: Hub) -> Condition:
    """Look how an app does, now. What is wrong is logged."""
    redis = _look_at_redis(hub)
    log = _probe("the log", hub.database.probe) if hub.keeps_log else None
    found = Counter(_look_at_board(board, redis, log) for board in hub.values())
    return Condition(redis, log, {"ok": found["ok"], "degraded": found["degraded"], "down": found["down"]})


def _look_at_redis(hub: Hub) -> Part:
    """Write a text that is forgotten at once: only that tells of a full disk, a full memory, or a replica."""
    written = _probe("Redis", lambda: hub.app_keys.remember(PROBE, PROBE_SECONDS))
    if written.state == "ok":
        return written
    read = _probe("Redis, for reading,", lambda: hub.app_keys.knows(PROBE))
    return read._replace(state="degraded") if read.state == "ok" else read


def _probe(what: str, ask: Callable[[], object]) -> Part:
    started = time.perf_counter()
    try:
        ask()
    except LeaderboardError as error:
        _logger.warning("%s is not well: %s", what, error)
        return Part("down")
    return Part("ok", round((time.perf_counter() - started) * 1000, 3))


def _look_at_board(leaderboard: Leaderboard, redis: Part, log: Part | None) -> State:
    mode = leaderboard.board.mode
    if mode is None or mode not in _WITHOUT or log is None:
        return redis.state
    states = [redis.state, log.state]
    if states == ["ok", "ok"]:
        return _compare_with_log(leaderboard)
    if states == ["down", "down"]:
        return "down"
    without_redis, without_log = _WITHOUT[mode]
    return without_redis if redis.state == "down" else without_log


def _compare_with_log(leaderboard: Leaderboard) -> State:
    """Tell whether a board's Redis stands where its log does. While it is brought up to date, SQL is read in its place."""
    try:
        leaderboard.look()
    except StoreUnavailableError as error:
        _logger.warning("board '%s' is not well: %s", leaderboard.board.name, error)
        return "degraded"
    except LeaderboardError as error:
        _logger.warning("board '%s' can't be used: %s", leaderboard.board.name, error)
        return "down"
    return "ok"
