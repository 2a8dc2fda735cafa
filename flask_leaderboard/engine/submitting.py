"""Submissions on their way through Redis: as few calls as may be, and an answer for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import LeaderboardError, SeasonError
from ..rules.board import Board
from ..rules.results import Receipt
from ..rules.submission import Submission
from ..store.board_store import BoardStore, SubmitStream
from ..store.receipts import read_receipt
from .planning import Planner, Waiting
from .seasons import Seasons

Outcome = Receipt | LeaderboardError


class Submitter:
    """Folds submissions into a board."""

    def __init__(self, board: Board, store: BoardStore, seasons: Seasons) -> None:
        self._board = board
        self._store = store
        self._seasons = seasons
        self._planner = Planner(board, store, seasons)

    def submit(self, submissions: Sequence[Submission], now: int, *, ranks: bool) -> list[Outcome]:
        """Give a receipt or an error for each submission, in their order."""
        outcomes = dict(self._outcomes(iter(enumerate(submissions)), now, ranks))
        return [outcomes[place] for place in range(len(submissions))]

    def _outcomes(self, submissions: Iterator[tuple[int, Submission]], now: int, ranks: bool) -> Iterator[tuple[int, Outcome]]:
        kind = self._board.ranking if ranks else "-"
        sent: list[Waiting] = []
        with self._store.submitting() as stream:
            for batch, waiting, refused in self._planner.batches(submissions, kind, now):
                yield from refused
                if waiting:
                    stream.send(batch)
                yield from self._settle(stream, sent, now, ranks)
                sent = waiting
            yield from self._settle(stream, sent, now, ranks)

    def _settle(self, stream: SubmitStream, sent: list[Waiting], now: int, ranks: bool) -> Iterator[tuple[int, Outcome]]:
        """Give the outcomes of a batch that was sent."""
        if not sent:
            return
        try:
            lines = stream.receive()
        except SeasonError:
            # A season began or ended since we looked. What was sent behind is refused for the same reason.
            self._seasons.refresh()
            yield from self._outcomes(((item.place, item.submission) for item in sent), now, ranks)
            return
        for item, line in zip(sent, lines, strict=True):
            yield item.place, read_receipt(self._board, line, item.submission.user_id, item.targets, item.closed, ranks)
