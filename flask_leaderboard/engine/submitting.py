"""Submissions on their way through Redis: as few calls as may be, and an answer for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from ..errors import (
    BehindError,
    ClosedPeriodError,
    JournalFullError,
    LeaderboardError,
    PastError,
    RateLimitError,
    SeasonError,
    StoreUnavailableError,
)
from ..rules.board import Board
from ..rules.results import Receipt
from ..rules.submission import Submission
from ..store.board_store import BoardStore
from ..store.rates import seconds_left
from ..store.receipts import read_receipt
from ..store.submit_stream import SubmitStream
from .planning import Planner, Waiting
from .seasons import Running, Seasons

Outcome = Receipt | LeaderboardError
TRIES = 20


class Submitter:
    """Folds submissions into a board."""

    def __init__(self, board: Board, store: BoardStore, seasons: Seasons) -> None:
        self._board = board
        self._store = store
        self._seasons = seasons
        self._planner = Planner(board, store)

    def submit(self, submissions: Sequence[Submission], now: int, *, ranks: bool) -> list[Outcome]:
        """Give a receipt or an error for each submission, in their order."""
        outcomes: dict[int, Outcome] = {}
        left: Iterator[tuple[int, Submission]] = iter(enumerate(submissions))
        running = self._seasons.running
        for _ in range(TRIES):
            refused = self._stream(left, outcomes, now, ranks, running)
            if not refused:
                return [outcomes[place] for place in range(len(submissions))]
            # A season began or ended since we looked, a period closed, or Redis lost events: go on from the first refused for it.
            running = self._seasons.refresh()
            now = max(now, self._store.closed_until())
            left = chain(((item.place, item.submission) for item in refused), left)
        raise StoreUnavailableError("the board changes faster than it can be submitted to: try again shortly")

    def check(self, submission: Submission, now: int) -> None:
        """Refuse what would be refused whatever the scores are."""
        too_late = self._planner.check(submission, now, self._seasons.running).too_late
        if too_late:
            raise too_late

    def _stream(
        self,
        submissions: Iterator[tuple[int, Submission]],
        outcomes: dict[int, Outcome],
        now: int,
        ranks: bool,
        running: Running,
    ) -> list[Waiting]:
        """Send submissions, one batch ahead of the replies, until the end or until a batch is refused for what is outdated in it.

        Give what was sent and refused so; nothing is sent behind it.
        """
        kind = self._board.ranking if ranks else "-"
        sent: list[Waiting] = []
        refused: list[Waiting] = []
        with self._store.submitting(now) as stream:
            for batch, waiting, wrong in self._planner.batches(submissions, kind, now, running):
                outcomes.update(wrong)
                if waiting:
                    stream.send(batch)
                refused = self._settle(stream, sent, outcomes, now, ranks)
                sent = waiting
                if refused:
                    break
            return refused + self._settle(stream, sent, outcomes, now, ranks)

    def _settle(
        self, stream: SubmitStream, sent: list[Waiting], outcomes: dict[int, Outcome], now: int, ranks: bool
    ) -> list[Waiting]:
        """Take in the reply to a batch; give its items back where they are to be sent again."""
        if not sent:
            return []
        try:
            lines = stream.receive()
        except (SeasonError, PastError):
            return sent
        except BehindError:
            self._store.guard.repair()
            return sent
        except JournalFullError as error:  # what was sent before has counted
            outcomes.update((item.place, JournalFullError(str(error))) for item in sent)
            return []
        for item, line in zip(sent, lines, strict=True):
            outcome = read_receipt(self._board, line, item.submission.user_id, item.targets, item.closed, ranks)
            if isinstance(outcome, RateLimitError):
                outcome.retry_after = seconds_left(now)
            outcomes[item.place] = item.too_late if item.too_late and isinstance(outcome, ClosedPeriodError) else outcome
        return []
