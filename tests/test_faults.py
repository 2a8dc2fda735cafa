"""Processes that die between any two of their steps, and what the next one makes of it.

What was acknowledged is logged, what is logged was attempted, each once, and Redis equals the fold of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from flask_leaderboard import Board, Leaderboard, Submission
from flask_leaderboard.engine.profiles import LoggedUsers
from flask_leaderboard.errors import ScoreRangeError
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.profiles import ProfileTable
from flask_leaderboard.store.calls import Caller
from tests.chaos.game import BOARD
from tests.chaos.judge import judge
from tests.faults import Countdown, survives

BEHIND = replace(BOARD, mode="write_behind")


class Process:
    """What a process has: connections of its own."""

    def __init__(self, board: Board, socket: str, folder: Path, database: Database | None = None) -> None:
        self.database = database or Database(database_url(None, folder), own=True)
        caller = Caller(Redis(unix_socket_path=socket))
        users = LoggedUsers(caller, "lb1", ProfileTable(self.database))
        self.board = Leaderboard(board, caller, log=EventLog(board, self.database), users=users)


class Scene:
    """A board with a past, and processes that come and go."""

    def __init__(self, board: Board, client: Redis, folder: Path) -> None:
        self._board = board
        self._socket = client.connection_pool.connection_kwargs["path"]
        self._folder = folder
        self.database = Database(database_url(None, folder), own=True)
        self.notes: list[dict[str, Any]] = []
        for number in range(4):
            self.submit(self.next(), f"past-{number}", points=5)

    def next(self) -> Leaderboard:
        """Give the board as a process sees it that has seen nothing yet."""
        return Process(self._board, self._socket, self._folder, self.database).board

    def try_(self, identity: str, **score: Any) -> dict[str, Any]:
        """Note that a submission is tried; give it."""
        whole = {"user_id": "user1", "points": 3, "submission_id": identity, **score}
        self.notes.append({"what": "try", **whole})
        return whole

    def submit(self, board: Leaderboard, identity: str, **score: Any) -> None:
        receipt = board.submit(**self.try_(identity, **score))
        self.notes.append({"what": "ack", "id": identity, "number": receipt.number, "pending": receipt.pending})

    def remove(self, board: Leaderboard, user: str) -> None:
        self.notes.append({"what": "remove", "user_id": user})
        number = board.remove(user).number
        if number is not None:
            self.notes.append({"what": "removed", "user_id": user, "number": number})

    def judge(self) -> None:
        """Judge what the next process finds, as it is."""
        board = self.next()
        board.count()
        board.drain_all()
        assert board.store.number() == board.log.head()
        assert judge(board.log.read(0, 10_000), [self.notes], board) == []

    def die(self, work: Callable[[Leaderboard], object], then: Callable[[Leaderboard], object], stride: int = 1) -> int:
        """Do work in a process that dies at its first step, in one that dies at its second …, `then` more in the next one.

        Give at how many steps one died. Each had its connections before, and looks at the log as if for the first time.
        """
        for step in count(1, stride):

            def doomed(countdown: Countdown) -> None:
                process = Process(self._board, self._socket, self._folder)
                process.board.count()
                process.board.store.guard._look_at = 0.0  # type: ignore[attr-defined]
                countdown.watch(process.database.engine)
                work(process.board)

            survived = survives(doomed, step)
            self.judge()
            then(self.next())
            if survived:
                self.judge()
                assert self.next().verify().differences == []
                return step - 1
        raise AssertionError


@pytest.fixture(params=[BOARD, BEHIND], ids=["ledger", "write_behind"])
def scene(request: pytest.FixtureRequest, valkey: Redis, tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(request.param, valkey, tmp_path)
    yield scene
    scene.database.close()


class Turns:
    """Gives each process a submission of its own; the next one sends it again."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._turn = 0

    @property
    def score(self) -> dict[str, Any]:
        return self._scene.try_(f"m{self._turn}", user_id=f"user{self._turn}", segments={"country": "NL"})

    def again(self, board: Leaderboard) -> None:
        self._scene.submit(board, f"m{self._turn}", user_id=f"user{self._turn}", segments={"country": "NL"})
        self._turn += 1
        assert self.score  # noted here: who dies tells nobody


def test_submit(scene: Scene) -> None:
    """A user who is new, with a name and a segment: all that a submission may bring."""
    turns = Turns(scene)
    score = turns.score
    died = scene.die(lambda board: board.submit(**turns.score, user_name="Mary"), turns.again)
    assert score
    assert died > 10


def test_submit_many(scene: Scene) -> None:
    """Some are refused for what the board holds, some come a second time."""
    refused = {"user_id": "user1", "points": 50, "submission_id": "refused"}
    scene.try_(**{"identity": "refused", **{key: refused[key] for key in ("user_id", "points")}})
    turns = Turns(scene)
    score = turns.score

    def submit(board: Leaderboard) -> None:
        score = turns.score
        outcomes = board.submit_many([Submission(**refused), Submission(**score), Submission(**score)])
        assert isinstance(outcomes[0], ScoreRangeError)

    assert score
    assert scene.die(submit, turns.again, stride=3) > 10


def test_remove(scene: Scene) -> None:
    turn = count()

    def remove(board: Leaderboard) -> None:
        board.remove("user1")

    def again(board: Leaderboard) -> None:
        scene.remove(board, "user1")
        scene.submit(board, f"again-{next(turn)}")
        scene.notes.append({"what": "remove", "user_id": "user1"})

    scene.notes.append({"what": "remove", "user_id": "user1"})
    assert scene.die(remove, again, stride=2) > 10


def test_catching_up(scene: Scene, valkey: Redis) -> None:
    """Redis was emptied, and who brings it back dies."""

    def bring_back(board: Leaderboard) -> None:
        valkey.flushall()
        board.count()

    assert scene.die(bring_back, lambda board: None, stride=4) > 5


def test_rebuild(scene: Scene, valkey: Redis) -> None:
    def rebuild(board: Leaderboard) -> None:
        board.rebuild()

    def again(board: Leaderboard) -> None:
        valkey.delete(board.store.keys.claim("rebuild"), board.store.keys.claim("still"))
        board.rebuild()

    assert scene.die(rebuild, again, stride=5) > 50


@pytest.mark.parametrize("scene", [BEHIND], indirect=True)
def test_drain(scene: Scene) -> None:
    turn = count()

    def again(board: Leaderboard) -> None:
        for _ in range(3):
            number = next(turn)
            scene.submit(board, f"again-{number}", user_id=f"user{number}")

    again(scene.next())
    assert scene.die(lambda board: board.drain(2), again) > 10
