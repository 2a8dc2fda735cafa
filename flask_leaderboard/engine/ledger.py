"""A board whose truth is the log: an event is written there first, then folded into Redis, in the order of the log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ..errors import (
    ClosedPeriodError,
    LeaderboardError,
    LogUnavailableError,
    ScoreRangeError,
    SeasonError,
    SegmentLimitError,
    StoreUnavailableError,
)
from ..log.appending import Outcome as Answer
from ..log.appending import OutdatedPlan
from ..log.archive import Archive
from ..log.bulk import parts
from ..log.event_log import EventLog
from ..log.events import Draft, Logged, check_labels
from ..log.totals import Totals
from ..rules.board import Board
from ..rules.results import Change, Receipt
from ..rules.results import Entry as BoardEntry
from ..rules.submission import Submission
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from ..store.receipts import read_receipt, refusal_of
from .duties import Chores
from .folding import Entry, Folder, Settle
from .limiting import Limit
from .places import Places
from .planning import Planner
from .seasons import Running
from .standing import Standing
from .tail import NoTail

Outcome = Receipt | LeaderboardError
SUBMISSIONS_A_PART = 250
"""Go into one transaction: enough to be cheap, and few enough that Redis soon has something to do."""
_REFUSALS: dict[str, type[LeaderboardError]] = {kind.code: kind for kind in (ScoreRangeError, SegmentLimitError)}
_logger = logging.getLogger("flask_leaderboard")


class Planned(NamedTuple):
    """A submission on its way: what is written, and what its receipt is about."""

    draft: Draft
    targets: tuple[Ranking, ...]
    closed: tuple[str, ...]
    too_late: ClosedPeriodError | None = None


class Sent(NamedTuple):
    """Submissions by their places, what the log says of them, its last number then, and what takes in what Redis says."""

    items: Sequence[tuple[int, Planned]]
    logged: Sequence[Answer]
    last: int
    settle: Settle
    lines: dict[int, bytes]


class Ledger:
    """Writes events to the log and folds them. Threads take turns, so that a process never waits for itself."""

    def __init__(self, board: Board, store: BoardStore, places: Places, log: EventLog, *, keep_days: int | None = None) -> None:
        self._board = board
        self._store = store
        self.log = log
        self._seasons = places.seasons
        self.totals = Totals(board, log.database, log, self._seasons.taking)
        self._planner = Planner(board, store)
        self._limit = Limit(board, store)
        self.folder = Folder(board, store, places, log)
        self.tail = NoTail()
        self.standing = self._standing = store.guard = self._watch()
        archive = Archive(board, log.database, log, self.totals, self._seasons.ended_as)
        self.duties = Chores(store, log, self.totals, archive, self._standing, keep_days).duties
        self._turn = threading.Lock()
        self._waits = False

    def submit(self, submissions: Sequence[Submission], now: int, *, ranks: bool) -> list[Outcome]:
        """Give a receipt or an error for each submission, in their order; each that has a receipt is in the log."""
        self._look()
        outcomes: dict[int, Outcome] = {}
        running = self._seasons.running
        planned = self._plan_all(dict(enumerate(submissions)), now, running, outcomes)
        outcomes.update(self._limit.refusals({place: item.draft for place, item in planned.items()}, now))
        left = wanted = {place: item for place, item in planned.items() if place not in outcomes}
        while left:
            try:
                self._write(left, ranks, running, outcomes)
            except SeasonError:  # one began or ended since we looked, and nothing more was written
                running = self._seasons.refresh()
            except OutdatedPlan as outdated:  # periods have been closed since
                now = max(now, outdated.closed_until)
            except LogUnavailableError as error:
                if wanted.keys().isdisjoint(outcomes):
                    raise
                outcomes.update((place, LogUnavailableError(str(error))) for place in left if place not in outcomes)
            left = self._plan_all({place: submissions[place] for place in left if place not in outcomes}, now, running, outcomes)
        return [outcomes[place] for place in range(len(submissions))]

    def check(self, submission: Submission, now: int) -> None:
        """Refuse what would be refused whatever the scores are."""
        too_late = self._plan(submission, now, self._seasons.running).too_late
        if too_late:
            raise too_late

    def remove(self, user_id: str, now: int, *, ranks: bool) -> Receipt:
        """Take a user out of every ranking that is open; closed ones are final."""
        self._look()
        while True:
            try:
                return self._remove(user_id, now, ranks)
            except OutdatedPlan as outdated:
                now = max(now, outdated.closed_until)

    def _remove(self, user_id: str, now: int, ranks: bool) -> Receipt:
        draft, targets = Draft("remove", user_id, None, now, now), tuple[Ranking, ...]()
        lines: dict[int, bytes] = {}
        with self._turn:
            (logged,) = self.log.append([draft])
            assert isinstance(logged, Logged)  # noqa: S101 - a removal has no id that could be known
            with self._folding(logged.number):
                entry = self.folder.removal(logged.number, draft)
                targets = entry.targets
                self.folder.fold([entry], self._kind(ranks), lines)
        line = lines.get(logged.number, b"skipped")
        if line == b"skipped":
            return Receipt(user_id, (), (), logged.number, pending=True)
        receipt = read_receipt(self._board, line, user_id, targets, (), ranks)
        if isinstance(receipt, LeaderboardError):
            raise receipt
        receipt.changes = tuple(change for change in receipt.changes if change.old_score is not None)
        return receipt

    def fold_through(self, number: int) -> None:
        """Fold what the log has up to a number; where Redis can't now, it waits."""
        with self._turn, self._folding(number):
            self.folder.catch_up(through=number)

    def fold_all(self) -> None:
        """See that Redis has all that is in the log by now."""
        self.folder.reach(self.log.head())

    def close(self) -> None:
        """See that nothing waits for this process any more."""

    def bring_back(self, after: int, through: int) -> None:
        """What Redis has lost comes back as a whole: it knows nothing beside the events."""

    def _look(self) -> None:
        """See that Redis and the log belong together; where Redis is away, the log takes what comes."""
        with suppress(StoreUnavailableError):
            self._standing.look()

    def _plan_all(
        self, submissions: Mapping[int, Submission], now: int, running: Running, outcomes: dict[int, Outcome]
    ) -> dict[int, Planned]:
        """Plan submissions by their places; those that are refused go to the outcomes."""
        planned: dict[int, Planned] = {}
        for place, submission in submissions.items():
            try:
                planned[place] = self._plan(submission, now, running)
            except LeaderboardError as error:
                outcomes[place] = error
        return planned

    def _plan(self, submission: Submission, now: int, running: Running) -> Planned:
        checked = self._planner.check(submission, now, running)
        labels = check_labels(self._board.segment_labels(submission.segments))
        draft = Draft(
            "submit",
            checked.user_id,
            checked.points,
            checked.at,
            now,
            checked.update or self._board.update,
            labels,
            submission.submission_id,
            too_late=checked.too_late is not None,
            user_name=submission.user_name,
        )
        return Planned(draft, checked.targets, checked.closed, checked.too_late)

    def _write(self, planned: Mapping[int, Planned], ranks: bool, running: Running, outcomes: dict[int, Outcome]) -> None:
        """Write submissions in parts, the log taking the next one while Redis works; their outcomes go by their places."""
        sent: Sent | None = None
        with self._turn:
            try:
                for items in parts(list(planned.items()), SUBMISSIONS_A_PART):
                    logged = self.log.append([item.draft for _, item in items], running.names)
                    before, sent = sent, None
                    if before is not None:
                        self._take_in(before)
                    sent = self._send(items, logged, ranks)
                    if before is not None:
                        outcomes.update(self._outcomes(before, ranks))
            finally:
                if sent is not None:
                    self._take_in(sent)
                    outcomes.update(self._outcomes(sent, ranks))

    def _send(self, items: Sequence[tuple[int, Planned]], logged: Sequence[Answer], ranks: bool) -> Sent:
        """Send to Redis what was just logged."""
        last = max((found.number for found in logged if isinstance(found, Logged)), default=0)
        new = [
            Entry(found.number, item.draft, item.targets)
            for (_, item), found in zip(items, logged, strict=True)
            if isinstance(found, Logged) and not found.known
        ]
        return Sent(items, logged, last, self._begin(new, ranks), {})

    def _begin(self, new: Sequence[Entry], ranks: bool) -> Settle:
        return self.folder.begin(new, self._kind(ranks))

    def _take_in(self, sent: Sent) -> None:
        with self._folding(sent.last):
            sent.settle(sent.lines)

    def _outcomes(self, sent: Sent, ranks: bool) -> Iterator[tuple[int, Outcome]]:
        """Give what became of submissions, each with its place."""
        self.folder.note_refusals(sent.lines.items())
        for (place, item), found in zip(sent.items, sent.logged, strict=True):
            yield place, self._outcome(item, found, sent.lines, ranks)

    def _watch(self) -> Standing:
        """Give what watches how far Redis is."""
        return Standing(self._store, self.log, self.folder)

    def _kind(self, ranks: bool) -> str:
        return self._board.ranking if ranks else "-"

    @contextmanager
    def _folding(self, last: int) -> Iterator[None]:
        """Let what is in the log wait where Redis can't fold it now; told once, not for every event.

        From then on nothing older than the `last` event is answered. Not before: who reads meanwhile would fold it in our place.
        """
        try:
            yield
        except LeaderboardError as error:
            if not self._waits:
                _logger.warning("board '%s' has events in its log that wait for Redis: %s", self._board.name, error)
            self._waits = True
        else:
            self._waits = False
        finally:
            self._standing.expect(last)

    def _outcome(self, item: Planned, logged: Logged | LeaderboardError | None, lines: dict[int, bytes], ranks: bool) -> Outcome:
        if isinstance(logged, LeaderboardError):
            return logged
        if logged is None:
            assert item.too_late is not None  # noqa: S101 - the log passes over no other
            return item.too_late
        line = lines.get(logged.number, b"skipped")
        refusal = refusal_of(line) or (logged.refused and refused_before(logged.refused))
        if refusal:
            return refusal
        if logged.known:
            return self._duplicate(item, logged, ranks)
        if line == b"skipped":  # not folded, or by another process: how it went is not known here
            return Receipt(item.draft.user_id, unknown(item.targets), item.closed, logged.number, pending=True)
        return read_receipt(self._board, line, item.draft.user_id, item.targets, item.closed, ranks)

    def _duplicate(self, item: Planned, logged: Logged, ranks: bool) -> Outcome:
        """Tell how a user stands whose submission had been logged before."""
        user_id, changes, pending = item.draft.user_id, unknown(item.targets), False
        if item.targets:
            try:
                found, _ = self._store.entries(item.targets, self._board.ranking, [user_id])
                pairs = zip(changes, found, strict=True)
                changes = tuple(_unmoved(change, entry, ranks) if entry else change for change, (_, (entry,)) in pairs)
            except LeaderboardError:
                pending = True
        return Receipt(user_id, changes, item.closed, logged.number, duplicate=True, pending=pending)


def refused_before(code: str) -> LeaderboardError:
    """Give the refusal of a submission that was sent again."""
    return _REFUSALS.get(code, LeaderboardError)("the submission was refused when it was first sent")


def unknown(targets: Sequence[Ranking]) -> tuple[Change, ...]:
    """Give the changes of a receipt that does not know them."""
    return tuple(Change(target.window, target.period.id, target.segment, None, None) for target in targets)


def _unmoved(change: Change, entry: BoardEntry, ranks: bool) -> Change:
    rank = entry.rank if ranks else None
    return change._replace(old_score=entry.score, new_score=entry.score, old_rank=rank, new_rank=rank)
