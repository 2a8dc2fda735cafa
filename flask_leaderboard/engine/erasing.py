"""Erasing users: off every board, name and metadata forgotten, and in the log only a number left of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial

from ..errors import LeaderboardError
from ..log.erasing import Erasure, Erasures
from ..rules.instants import duration
from ..store.calls import Caller
from ..store.keys import BoardKeys
from ..store.users import Users
from .leaderboard import Leaderboard
from .profiles import LoggedUsers

KEPT = duration(timedelta(days=7))
"""For how long the log keeps the id of an erased user: a Redis that comes back with data no older than that can be mended."""
ERASURES_A_STEP = 100


def erase_user(user_id: str, boards: Mapping[str, Leaderboard], users: Users) -> None:
    """Erase a user where no board has a log."""
    removals = [partial(board.remove, user_id, ranks=False) for board in boards.values()]
    _try_all(partial(users.erase, user_id), *removals)


class Eraser:
    """Erases users where there is a log."""

    def __init__(
        self, boards: Mapping[str, Leaderboard], users: LoggedUsers, erasures: Erasures, caller: Caller, prefix: str
    ) -> None:
        self._boards = boards
        self._users = users
        self._erasures = erasures
        self._caller = caller
        self._prefix = prefix

    def erase(self, user_id: str, now: int) -> None:
        """Erase a user. Where Redis is away and the log knew the user, Redis follows by itself when it is back."""
        for board in self._boards.values():
            if board.counts_first:
                self._remove_and_drain(board, user_id)
        plain = [board for board in self._boards.values() if not board.keeps_log]
        _try_all(
            partial(self._erase_logged, user_id, now),
            *(partial(board.remove, user_id, ranks=False) for board in plain),
        )
        with suppress(LeaderboardError):
            self.forget(now)

    def forget(self, now: int) -> bool:
        """Forget ids that were kept for long enough and that Redis does not have any more; tell whether there may be more."""
        waiting = self._erasures.waiting(now - KEPT, ERASURES_A_STEP)
        over = [erasure for erasure in waiting if self._is_over(erasure)]
        self._erasures.forget(over)
        return len(over) == ERASURES_A_STEP

    @staticmethod
    def _remove_and_drain(board: Leaderboard, user_id: str) -> None:
        """Remove a user where Redis counts first, and let nothing of him wait in the journal: it would name him anew."""
        board.remove(user_id, ranks=False)
        board.drain_all()

    def _erase_logged(self, user_id: str, now: int) -> None:
        while (erasure := self._erasures.erase(user_id, now)) is None:
            if self._users.forget(user_id):  # a name from before there was a log
                return
        for name, number in erasure.removals.items():
            if name in self._boards and self._boards[name].keeps_log:
                self._boards[name].fold_through(number)
        self._users.follow(erasure.version)

    def _is_over(self, erasure: Erasure) -> bool:
        """Tell whether Redis has removed a user everywhere; a board that it has nothing of has nothing of him."""
        asked = [("HGET", BoardKeys(self._prefix, name).board, "seq") for name in erasure.removals]
        folded = self._caller.ask(*asked) if asked else []
        there = zip(folded, erasure.removals.values(), strict=True)
        return self._users.mark().version >= erasure.version and all(at is None or int(at) >= number for at, number in there)


def _try_all(*steps: Callable[[], object]) -> None:
    """Take all steps: one board that can't be written must not keep the user on the others. Raise the first failure then."""
    failures = []
    for step in steps:
        try:
            step()
        except LeaderboardError as error:
            failures.append(error)
    if failures:
        raise failures[0]
