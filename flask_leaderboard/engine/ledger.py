"""A board whose truth is the log: an event is written there first, then folded into Redis, in the order of the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ..errors import ClosedPeriodError, LeaderboardError, ScoreRangeError, SegmentLimitError, StoreUnavailableError
from ..log.event_log import EventLog
from ..log.events import Draft, Logged
from ..rules.board import Board
from ..rules.results import Change, Receipt
from ..rules.submission import Submission
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from ..store.receipts import read_receipt
from .folding import Entry, Folder
from .places import Places
from .planning import Planner
from .seasons import NONE, Running
from .standing import Standing

Outcome = Receipt | LeaderboardError
NO_SEASONS = Running({}, NONE)
_REFUSALS: dict[str, type[LeaderboardError]] = {kind.code: kind for kind in (ScoreRangeError, SegmentLimitError)}
_logger = logging.getLogger("flask_leaderboard")


class _Planned(NamedTuple):
    """A submission on its way: what is written, and what its receipt is about."""

    draft: Draft
    targets: tuple[Ranking, ...]
    closed: tuple[str, ...]
    too_late: ClosedPeriodError | None = None


class Ledger:
    """Writes events to the log and folds them. Threads take turns, so that a process never waits for itself."""

    def __init__(self, board: Board, store: BoardStore, places: Places, log: EventLog) -> None:
        self._board = board
        self._store = store
        self._places = places
        self.log = log
        self._planner = Planner(board, store)
        self._folder = Folder(board, store, places, log)
        self._standing = store.guard = Standing(store, log, self._folder)
        self._turn = threading.Lock()
        self._waits_for_redis = False

    def submit(self, submissions: Sequence[Submission], now: int, *, ranks: bool) -> list[Outcome]:
        """Give a receipt or an error for each submission, in their order; each that has a receipt is in the log."""
        self._look()
        outcomes: dict[int, Outcome] = {}
        planned: dict[int, _Planned] = {}
        for place, submission in enumerate(submissions):
            try:
                planned[place] = self._plan(submission, now)
            except LeaderboardError as error:
                outcomes[place] = error
        if planned:
            outcomes.update(zip(planned, self._write(list(planned.values()), ranks), strict=True))
        return [outcomes[place] for place in range(len(submissions))]

    def remove(self, user_id: str, now: int, *, ranks: bool) -> Receipt:
        """Take a user out of every ranking that is kept."""
        self._look()
        live = tuple(self._places.live(now))
        (outcome,) = self._write([_Planned(Draft("remove", user_id, None, now, now), live, ())], ranks)
        if isinstance(outcome, LeaderboardError):
            raise outcome
        outcome.changes = tuple(change for change in outcome.changes if change.old_score is not None)
        return outcome

    def _look(self) -> None:
        """See that Redis and the log belong together; where Redis is away, the log takes what comes."""
        with suppress(StoreUnavailableError):
            self._standing.look()

    def _plan(self, submission: Submission, now: int) -> _Planned:
        checked = self._planner.check(submission, now, NO_SEASONS)
        draft = Draft(
            "submit",
            checked.user_id,
            checked.points,
            checked.at,
            now,
            checked.update or self._board.update,
            self._board.segment_labels(submission.segments),
            submission.submission_id,
            too_late=checked.too_late is not None,
        )
        return _Planned(draft, checked.targets, checked.closed, checked.too_late)

    def _write(self, planned: Sequence[_Planned], ranks: bool) -> list[Outcome]:
        with self._turn:
            logged = self.log.append([item.draft for item in planned])
            new = [
                Entry(found.number, item.draft, item.targets)
                for item, found in zip(planned, logged, strict=True)
                if isinstance(found, Logged) and not found.known
            ]
            lines = self._fold(new, ranks) if new else {}
        outcomes = [self._outcome(item, found, lines, ranks) for item, found in zip(planned, logged, strict=True)]
        self._note_refusals(new, outcomes, logged)
        return outcomes

    def _fold(self, new: Sequence[Entry], ranks: bool) -> dict[int, bytes]:
        """Fold events that have just been written; give the receipt lines by number. They count whatever happens here."""
        self._standing.expect(new[-1].number)
        try:
            lines = self._folder.fold(new, self._board.ranking if ranks else "-")
        except LeaderboardError as error:
            if not self._waits_for_redis:
                _logger.warning("board '%s' has events in its log that wait for Redis: %s", self._board.name, error)
            self._waits_for_redis = True
            return {}
        self._waits_for_redis = False
        return lines

    def _outcome(self, item: _Planned, logged: Logged | LeaderboardError | None, lines: dict[int, bytes], ranks: bool) -> Outcome:
        if isinstance(logged, LeaderboardError):
            return logged
        if logged is None:
            assert item.too_late is not None  # noqa: S101 - the log passes over no other
            return item.too_late
        if logged.known and logged.refused is not None:
            return _REFUSALS.get(logged.refused, LeaderboardError)("the submission was refused when it was first sent")
        line = lines.get(logged.number)
        if line is None or line == b"skipped":
            return self._standing_receipt(item, logged, pending=line is None and not logged.known, ranks=ranks)
        return read_receipt(self._board, line, item.draft.user_id, item.targets, item.closed, ranks)

    def _standing_receipt(self, item: _Planned, logged: Logged, *, pending: bool, ranks: bool) -> Receipt:
        """Tell how a user stands: of a duplicate, and of an event that another process has folded."""
        user_id, changes = item.draft.user_id, tuple(Change(t.window, t.period.id, t.segment, None, None) for t in item.targets)
        if not pending and item.targets:
            try:
                found, _ = self._store.entries(item.targets, self._board.ranking, [user_id])
            except LeaderboardError:
                pending = True
            else:
                changes = tuple(
                    change if entry is None else _unmoved(change, entry.score, entry.rank if ranks else None)
                    for change, (_, (entry,)) in zip(changes, found, strict=True)
                )
        return Receipt(user_id, changes, item.closed, logged.number, duplicate=logged.known, pending=pending)

    def _note_refusals(
        self, new: Sequence[Entry], outcomes: Sequence[Outcome], logged: Sequence[Logged | LeaderboardError | None]
    ) -> None:
        numbers = {entry.number for entry in new}
        refused = [
            (found.number, outcome.code)
            for outcome, found in zip(outcomes, logged, strict=True)
            if isinstance(outcome, LeaderboardError) and isinstance(found, Logged) and found.number in numbers
        ]
        if refused:
            try:
                self.log.note_refusals(refused)
            except LeaderboardError as error:
                _logger.warning("%d refusals were not noted in the log: %s", len(refused), error)


def _unmoved(change: Change, score: int | float, rank: int | None) -> Change:
    return change._replace(old_score=score, new_score=score, old_rank=rank, new_rank=rank)
