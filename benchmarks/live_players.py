"""Submissions at a fixed rate: ``python -m benchmarks.live_players``, with the order as a line of JSON on stdin.

It prints a line when it is ready, and begins at a second line on stdin. Then it prints what it was given in return: after each
call the moment (of the machine's monotonic clock, which is the same for all processes) and the number the board stood at.
"""

from __future__ import annotations

import json
import random
import sys
import time
from dataclasses import asdict, dataclass

from flask_leaderboard import LeaderboardError
from flask_leaderboard.engine.leaderboard import Leaderboard
from flask_leaderboard.rules.submission import Submission
from flask_leaderboard.web.service import service_of

from .live_app import BOARD, create_app

LEADERS = 10
USERS = 10_000
HEAD_START = 1_000_000
CALLS_A_SECOND = 50


@dataclass(frozen=True)
class Order:
    """How much is submitted."""

    redis_url: str
    rate: float
    seconds: float


@dataclass
class Played:
    """What was done, and how far behind its schedule the last call came."""

    marks: list[tuple[float, int]]
    submissions: int
    behind: float


def fill(board: Leaderboard) -> None:
    """Give the board its users: some leaders, and many far below them."""
    points = [HEAD_START + number if number < LEADERS else 1 + number * 7919 % USERS for number in range(USERS)]
    each = [Submission(f"user{number}", score, user_name=f"User {number}") for number, score in enumerate(points)]
    refused = [receipt for receipt in board.submit_many(each, ranks=False) if isinstance(receipt, LeaderboardError)]
    if refused:
        raise SystemExit(f"the board was not filled: {refused[0]}")


def play(board: Leaderboard, order: Order) -> Played:
    """Submit on a schedule that waits for nobody. The first of each call is for a leader, so that every call can be seen."""
    calls_a_second = min(CALLS_A_SECOND, order.rate)
    size = max(1, round(order.rate / calls_a_second))
    played = Played([], 0, 0.0)
    start = time.monotonic()
    for call in range(round(order.seconds * calls_a_second)):
        due = start + call / calls_a_second
        time.sleep(max(0.0, due - time.monotonic()))
        last = board.submit_many([_leader(), *(_follower() for _ in range(size - 1))], ranks=False)[-1]
        if isinstance(last, LeaderboardError):
            raise SystemExit(f"a submission was refused: {last}")
        played.marks.append((time.monotonic(), last.number or 0))
        played.submissions += size
        played.behind = played.marks[-1][0] - due
    return played


def _leader() -> Submission:
    return Submission(f"user{random.randrange(LEADERS)}", random.randint(1, 1000))


def _follower() -> Submission:
    return Submission(f"user{random.randrange(LEADERS, USERS)}", random.randint(1, 100))


def main() -> None:
    order = Order(**json.loads(sys.stdin.readline()))
    hub = service_of(create_app(order.redis_url, 1)).hub
    hub[BOARD].submit_many([_leader()], ranks=False)
    print("{}", flush=True)
    sys.stdin.readline()
    print(json.dumps(asdict(play(hub[BOARD], order))), flush=True)
    hub.close()


if __name__ == "__main__":
    main()
