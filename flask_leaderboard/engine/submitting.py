"""Submissions on their way into Redis: checked, put into as few calls as may be, and answered one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import LeaderboardError, SeasonError
from ..rules.board import Board
from ..rules.identity import check_id, check_user_id
from ..rules.instants import to_instant
from ..rules.results import Receipt
from ..rules.scores import number_text
from ..rules.slices import Slice, check_not_future, slice_at
from ..rules.submission import Submission
from ..store.batch import Batch
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from ..store.receipts import read_receipt
from .seasons import Seasons

Outcome = Receipt | LeaderboardError


@dataclass(slots=True)
class _Waiting:
    """A submission that is in the batch: its place among the caller's, and what its receipt is about."""

    place: int
    submission: Submission
    targets: tuple[Ranking, ...]
    closed: tuple[str, ...]


class Submitter:
    """Folds submissions into a board."""

    def __init__(self, board: Board, store: BoardStore, seasons: Seasons) -> None:
        self._board = board
        self._store = store
        self._seasons = seasons
        self._recent: tuple[str, Slice, tuple[Ranking, ...]] | None = None

    def submit(self, submissions: Sequence[Submission], now: int, *, ranks: bool) -> list[Outcome]:
        """Give a receipt or an error for each submission, in their order."""
        outcomes: list[Outcome | None] = [None] * len(submissions)
        places = iter(enumerate(submissions))
        exhausted = False
        while not exhausted:
            batch, waiting = self._new_batch(ranks), []
            while not batch.full:
                place, submission = next(places, (-1, None))
                if submission is None:
                    exhausted = True
                    break
                try:
                    waiting.append(self._add(batch, place, submission, now))
                except LeaderboardError as error:
                    outcomes[place] = error
            self._send(batch, waiting, outcomes, now, ranks)
        return [outcome for outcome in outcomes if outcome is not None]

    def _new_batch(self, ranks: bool) -> Batch:
        return Batch(self._board, self._board.ranking if ranks else "-", self._seasons.word)

    def _send(self, batch: Batch, waiting: list[_Waiting], outcomes: list[Outcome | None], now: int, ranks: bool) -> None:
        if not waiting:
            return
        try:
            _, lines = self._store.submit(batch)
        except SeasonError:
            waiting, lines = self._send_for_new_season(waiting, outcomes, now, ranks)
        for item, line in zip(waiting, lines, strict=True):
            outcomes[item.place] = read_receipt(self._board, line, item.submission.user_id, item.targets, item.closed, ranks)

    def _send_for_new_season(
        self, waiting: list[_Waiting], outcomes: list[Outcome | None], now: int, ranks: bool
    ) -> tuple[list[_Waiting], list[bytes]]:
        """Send what waits again after a season began or ended since we looked."""
        self._seasons.refresh()
        batch, again = self._new_batch(ranks), []
        for item in waiting:
            try:
                again.append(self._add(batch, item.place, item.submission, now))
            except LeaderboardError as error:
                outcomes[item.place] = error
        return again, self._store.submit(batch)[1] if again else []

    def _add(self, batch: Batch, place: int, submission: Submission, now: int) -> _Waiting:
        board = self._board
        user_id = check_user_id(submission.user_id)
        points = board.check_points(submission.points)
        update = "" if submission.update is None else board.check_update(submission.update)
        at = now if submission.at is None else to_instant(submission.at)
        check_not_future(at, now)
        if submission.user_name is not None:
            check_id(submission.user_name, "user_name")
        targets, closed = self._targets(submission, at, now)
        identity, pair, forget_at = submission.submission_id or "", 0, 0
        if submission.submission_id is not None:
            check_id(identity, "submission_id")
            id_place = self._store.ids.place(user_id, identity, now)
            pair, forget_at = batch.bucket_pair(id_place), id_place.forget_at
        number = batch.target_list(targets)
        batch.add(f"{user_id}\t{identity}\t{pair}\t{forget_at}\t{number_text(points)}\t{at}\t{update}\t{number}\t", targets)
        return _Waiting(place, submission, targets, closed)

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
