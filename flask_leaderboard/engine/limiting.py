"""How many submissions of a user are taken in a minute, counted before they are written to the log."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ..errors import LeaderboardError, RateLimitError, StoreUnavailableError
from ..log.events import Draft
from ..rules.board import Board
from ..store.board_store import BoardStore
from ..store.rates import seconds_left
from ..store.receipts import refusal_of

USERS_A_CALL = 1000
_logger = logging.getLogger("flask_leaderboard")


class Limit:
    """Counts in Redis, for all processes together. It is no part of the fold: a replay takes what was taken."""

    def __init__(self, board: Board, store: BoardStore) -> None:
        self._limit = board.per_minute
        self._store = store

    def refusals(self, drafts: Mapping[int, Draft], now: int) -> dict[int, LeaderboardError]:
        """Count drafts by their places and give an error for each that is above the limit. While Redis is away, none is."""
        if self._limit is None:
            return {}
        counted = [place for place, draft in drafts.items() if not draft.too_late]
        refused: dict[int, LeaderboardError] = {}
        try:
            for first in range(0, len(counted), USERS_A_CALL):
                part = counted[first : first + USERS_A_CALL]
                lines = self._store.admit([drafts[place].user_id for place in part], self._limit, now)
                errors = zip(part, map(refusal_of, lines), strict=True)
                refused.update((place, _until_next_minute(error, now)) for place, error in errors if error is not None)
        except StoreUnavailableError as error:
            _logger.warning("submissions a minute are not limited while Redis is away: %s", error)
        return refused


def _until_next_minute(error: LeaderboardError, now: int) -> LeaderboardError:
    if isinstance(error, RateLimitError):
        error.retry_after = seconds_left(now)
    return error
