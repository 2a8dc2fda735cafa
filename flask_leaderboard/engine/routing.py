"""Which source a read goes to: Redis, what SQL has in its place, or the archive of what Redis has let go."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

from ..errors import LogUnavailableError, StoreUnavailableError
from ..rules.board import Board
from ..rules.results import Found, Measure, Rows
from ..store.rankings import Ranking
from .shelf import Shelf
from .sources import Source

Answer = Rows | list[Found] | Measure[int] | Measure[float | None]
A = TypeVar("A", bound=Answer)
_logger = logging.getLogger("flask_leaderboard")


class ReadNotes:
    """What is to be told of reads: whether one of them was `degraded`, and by how many microseconds they may be `behind`."""

    degraded = False
    behind = 0


_notes: ContextVar[ReadNotes | None] = ContextVar("leaderboard_read_notes", default=None)


@contextmanager
def noting_reads() -> Iterator[ReadNotes]:
    """Note whether reads inside the block came from SQL because Redis could not be used."""
    notes = ReadNotes()
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


class Route(Protocol):
    """Takes reads to a source."""

    def read(self, rankings: Sequence[Ranking], ask: Callable[[Source], A]) -> A:
        """Give what a source answers that has the rankings."""

    def archived_periods(self, window: str) -> list[str]:
        """List the archived periods of a window, the newest first."""


class ToRedis:
    """The route of boards without a log: there is nothing else to read."""

    def __init__(self, live: Source) -> None:
        self._live = live

    def read(self, rankings: Sequence[Ranking], ask: Callable[[Source], A]) -> A:
        return ask(self._live)

    def archived_periods(self, window: str) -> list[str]:
        return []


class ToRedisOrSql:
    """The route of boards with a log. `behind` tells by how many microseconds Redis may be behind it."""

    def __init__(self, board: Board, live: Source, shelf: Shelf, clock: Callable[[], int], behind: Callable[[], int]) -> None:
        self._windows = {window.name: window for window in board.windows}
        self._live = live
        self._shelf = shelf
        self._clock = clock
        self._behind = behind
        self._archived: dict[str, list[str]] = {}
        self._name = board.name
        self._told = False

    def read(self, rankings: Sequence[Ranking], ask: Callable[[Source], A]) -> A:
        now = self._clock()
        if any(self._has_left(ranking, now) for ranking in rankings):
            return self._shelf.read(rankings, ask)[0]
        try:
            answer = ask(self._live)
        except StoreUnavailableError as reason:
            return self._stand_in(rankings, ask, reason)
        self._told = False
        if _is_empty(answer) and any(self._is_over(ranking, now) for ranking in rankings):
            archived = self._shelf.read_archived(rankings, ask)
            return answer if archived is None else archived
        self._note_behind()
        return answer

    def archived_periods(self, window: str) -> list[str]:
        """List them as they were last known where the database is away: more can only have come."""
        try:
            self._archived[window] = self._shelf.archived_periods(window)
        except LogUnavailableError:
            if window not in self._archived:
                raise
        return self._archived[window]

    def _note_behind(self) -> None:
        notes = _notes.get()
        if notes is not None:
            notes.behind = max(notes.behind, self._behind())

    def _stand_in(self, rankings: Sequence[Ranking], ask: Callable[[Source], A], reason: StoreUnavailableError) -> A:
        if not self._shelf.stands_in:
            raise reason
        if not self._told:  # once, not for every read
            _logger.warning("board '%s' is read from SQL: %s", self._name, reason)
        self._told = True
        try:
            answer, degraded = self._shelf.read(rankings, ask)
        except StoreUnavailableError as error:
            error.retry_after = max(error.retry_after, reason.retry_after)
            raise error from reason
        return _mark(answer) if degraded else answer

    def _has_left(self, ranking: Ranking, now: int) -> bool:
        """Tell whether Redis has let go of a ranking."""
        kept_until = self._windows[ranking.window].kept_until(ranking.period)
        return kept_until is not None and kept_until <= now

    def _is_over(self, ranking: Ranking, now: int) -> bool:
        """Tell whether a period may be in the archive already."""
        window = self._windows[ranking.window]
        return window.timed and window.closes_at(ranking.period) <= now


def _is_empty(answer: Answer) -> bool:
    return any(not found.total for found in answer) if isinstance(answer, list) else not answer.total


def _mark(answer: A) -> A:
    """Note that an answer is degraded, on itself where it can tell."""
    notes = _notes.get()
    if notes is not None:
        notes.degraded = True
    return answer._replace(degraded=True) if isinstance(answer, Rows) else answer
