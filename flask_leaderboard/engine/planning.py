"""Submissions before they go to Redis: checked, and put into batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import LeaderboardError
from ..rules.board import Board
from ..rules.identity import check_id, check_user_id
from ..rules.instants import to_instant
from ..rules.scores import number_text
from ..rules.slices import Slice, check_not_future, slice_at
from ..rules.submission import Submission
from ..store.batch import Batch
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from .seasons import Seasons


class Waiting(NamedTuple):
    """A submission that is in a batch: its place among the caller's, and what its receipt is about."""

    place: int
    submission: Submission
    targets: tuple[Ranking, ...]
    closed: tuple[str, ...]


class Refused(NamedTuple):
    """A submission that goes into no batch."""

    place: int
    error: LeaderboardError


Planned = tuple[Batch, list[Waiting], list[Refused]]


class Planner:
    """Works out what submissions touch."""

    def __init__(self, board: Board, store: BoardStore, seasons: Seasons) -> None:
        self._board = board
        self._store = store
        self._seasons = seasons
        self._recent: tuple[str, Slice, tuple[Ranking, ...]] | None = None

    def batches(self, submissions: Iterator[tuple[int, Submission]], kind: str, now: int) -> Iterator[Planned]:
        """Put submissions, each with its place, into batches; `kind` is the ranking kind of the ranks wanted, or ``-``."""
        exhausted = False
        while not exhausted:
            batch = Batch(self._board, kind, self._seasons.word)
            waiting: list[Waiting] = []
            refused: list[Refused] = []
            exhausted = True
            for place, submission in submissions:
                try:
                    waiting.append(self._add(batch, place, submission, now))
                except LeaderboardError as error:
                    refused.append(Refused(place, error))
                if batch.full:
                    exhausted = False
                    break
            yield batch, waiting, refused

    def _add(self, batch: Batch, place: int, submission: Submission, now: int) -> Waiting:
        board = self._board
        user_id = check_user_id(submission.user_id)
        points = board.check_points(submission.points)
        update = "" if submission.update is None else board.check_update(submission.update)
        at = now if submission.at is None else to_instant(submission.at)
        check_not_future(at, now)
        if submission.user_name is not None:
            check_id(submission.user_name, "user_name")
        targets, closed = self._targets(submission, at, now)
        identity, pair, forget_at = submission.submission_id, 0, 0
        if identity is not None:
            id_place = self._store.ids.place(user_id, check_id(identity, "submission_id"), now)
            pair, forget_at = batch.bucket_pair(id_place), id_place.forget_at
        number = batch.target_list(targets)
        batch.add(f"{user_id}\t{identity or ''}\t{pair}\t{forget_at}\t{number_text(points)}\t{at}\t{update}\t{number}\t", targets)
        return Waiting(place, submission, targets, closed)

    def _targets(self, submission: Submission, at: int, now: int) -> tuple[tuple[Ranking, ...], tuple[str, ...]]:
        seasons, part, whole_board = self._recent or (None, None, ())
        if part is None or seasons != self._seasons.word or not part.covers(at, now):
            part = slice_at(self._board, at, now, self._seasons.running)
            whole_board = tuple(self._store.rankings.get(window, period) for window, period in part.open)
            self._recent = self._seasons.word, part, whole_board
        if not submission.segments:
            return whole_board, part.closed
        labels = self._board.segment_labels(submission.segments)
        cuts = (self._store.rankings.get(window, period, label) for label in labels for window, period in part.open)
        return (*whole_board, *cuts), part.closed
