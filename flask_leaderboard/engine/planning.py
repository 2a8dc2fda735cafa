"""Submissions before they go to Redis: checked, and put into batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import ClosedPeriodError, LeaderboardError
from ..log.events import check_labels
from ..rules.board import Board
from ..rules.identity import check_id, check_user_id
from ..rules.instants import to_instant
from ..rules.scores import Number, number_text
from ..rules.slices import Slice, check_not_future, slice_at
from ..rules.submission import Submission
from ..store.batch import Batch
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from ..store.terms import write_data
from .seasons import Running


class Waiting(NamedTuple):
    """A submission that is in a batch: its place among the caller's, and what its receipt is about.

    One that is too late goes there too where it has an id, to find out whether it counted before; else the answer is its error.
    """

    place: int
    submission: Submission
    targets: tuple[Ranking, ...]
    closed: tuple[str, ...]
    too_late: ClosedPeriodError | None


class Checked(NamedTuple):
    """A submission that may be counted: its values, and the rankings it touches. One that is `too_late` touches none."""

    user_id: str
    points: Number
    update: str
    at: int
    targets: tuple[Ranking, ...]
    closed: tuple[str, ...]
    too_late: ClosedPeriodError | None


class Refused(NamedTuple):
    """A submission that goes into no batch."""

    place: int
    error: LeaderboardError


Planned = tuple[Batch, list[Waiting], list[Refused]]


class Planner:
    """Works out what submissions touch."""

    def __init__(self, board: Board, store: BoardStore) -> None:
        self._board = board
        self._store = store
        self._recent: tuple[Running, Slice, tuple[Ranking, ...]] | None = None

    def batches(self, submissions: Iterator[tuple[int, Submission]], kind: str, now: int, running: Running) -> Iterator[Planned]:
        """Put submissions, each with its place, into batches; `kind` is the ranking kind of the ranks wanted, or ``-``."""
        exhausted = False
        while not exhausted:
            batch = Batch(self._board, kind, running.word)
            waiting: list[Waiting] = []
            refused: list[Refused] = []
            exhausted = True
            for place, submission in submissions:
                try:
                    waiting.append(self._add(batch, place, submission, now, running))
                except LeaderboardError as error:
                    refused.append(Refused(place, error))
                if batch.full:
                    exhausted = False
                    break
            yield batch, waiting, refused

    def check(self, submission: Submission, now: int, running: Running) -> Checked:
        """Check a submission and find the rankings it touches."""
        board = self._board
        user_id = check_user_id(submission.user_id)
        points = board.check_points(submission.points)
        update = "" if submission.update is None else board.check_update(submission.update)
        at = now if submission.at is None else to_instant(submission.at)
        check_not_future(at, now)
        if submission.user_name is not None:
            check_id(submission.user_name, "user_name")
        identity = submission.submission_id
        if identity is not None:
            check_id(identity, "submission_id")
        try:
            targets, closed = self._targets(submission, at, now, running)
        except ClosedPeriodError as error:
            if identity is None:
                raise
            return Checked(user_id, points, update, at, (), tuple(window.name for window in board.windows), error)
        return Checked(user_id, points, update, at, targets, closed, None)

    def _add(self, batch: Batch, place: int, submission: Submission, now: int, running: Running) -> Waiting:
        checked = self.check(submission, now, running)
        identity = submission.submission_id
        group, forget_at = self._buckets(batch, checked.user_id, identity, now)
        number = batch.target_list(checked.targets) if checked.targets else 0
        whose = f"{checked.user_id}\t{identity or ''}\t{group}\t{forget_at}"
        data = self._data(submission, now)
        batch.add(f"{whose}\t{number_text(checked.points)}\t{checked.at}\t{checked.update}\t{number}\t{data}", checked.targets)
        return Waiting(place, submission, checked.targets, checked.closed, checked.too_late)

    def _data(self, submission: Submission, now: int) -> str:
        """Give what the journal and the stream of events need beside the item, where the board has one."""
        if not self._store.terms.keys:
            return ""
        return write_data(now, check_labels(self._board.segment_labels(submission.segments)))

    def _buckets(self, batch: Batch, user_id: str, identity: str | None, now: int) -> tuple[int, int]:
        """Give the number of the group of buckets that a submission needs, and when the one of its id is forgotten."""
        limited = self._board.per_minute is not None
        if identity is None and not limited:
            return 0, 0
        place = self._store.ids.place(user_id, identity or "", now)
        rate = (self._store.rates.place(user_id, now),) if limited else ()
        return batch.bucket_group((place.bucket, place.other, *rate)), place.forget_at

    def _targets(
        self, submission: Submission, at: int, now: int, running: Running
    ) -> tuple[tuple[Ranking, ...], tuple[str, ...]]:
        seasons, part, whole_board = self._recent or (None, None, ())
        if part is None or seasons != running or not part.covers(at, now):
            part = slice_at(self._board, at, now, running.periods)
            whole_board = tuple(self._store.rankings.get(window, period) for window, period in part.open)
            self._recent = running, part, whole_board
        if not submission.segments:
            return whole_board, part.closed
        labels = self._board.segment_labels(submission.segments)
        cuts = (self._store.rankings.get(window, period, label) for label in labels for window, period in part.open)
        return (*whole_board, *cuts), part.closed
