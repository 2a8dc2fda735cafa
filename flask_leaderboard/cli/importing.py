"""Submissions out of a file into a board, in batches; a line that is refused stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import click

from ..engine.leaderboard import Leaderboard
from ..errors import LeaderboardError
from ..rules.identity import check_id
from ..rules.results import Receipt
from ..rules.submission import Submission
from .lines import Line

LINES_A_BATCH = 1000
Outcome = Receipt | LeaderboardError | None
Reject = Callable[[int, LeaderboardError], None]


@dataclass
class Counts:
    """What became of the lines of a file."""

    lines: int = 0
    refused: int = 0
    duplicates: int = 0
    pending: int = 0

    def add(self, outcome: Outcome) -> None:
        """Count a line by its outcome; None for one that was only checked."""
        self.lines += 1
        self.refused += isinstance(outcome, LeaderboardError)
        if isinstance(outcome, Receipt):
            self.duplicates += outcome.duplicate
            self.pending += outcome.pending and not outcome.duplicate

    @property
    def taken(self) -> int:
        return self.lines - self.refused - self.duplicates


class Importer:
    """Sends lines to a board, or only checks them, and hands those that are refused to `reject`."""

    def __init__(self, leaderboard: Leaderboard, reject: Reject, *, id_prefix: str | None = None, dry_run: bool = False) -> None:
        self._leaderboard = leaderboard
        self._reject = reject
        self._id_prefix = None if id_prefix is None else check_id(id_prefix, "--ids-from-lines")
        self._settle = self._check if dry_run else self._submit
        self.counts = Counts()

    def run(self, lines: Iterable[Line]) -> Iterator[int]:
        """Import lines batch by batch; give how many are done after each."""
        left = iter(lines)
        while batch := list(islice(left, LINES_A_BATCH)):
            self._import(batch)
            yield self.counts.lines

    def _import(self, batch: Sequence[Line]) -> None:
        good = [(line.number, self._named(line.number, line.found)) for line in batch if isinstance(line.found, Submission)]
        outcomes: dict[int, Outcome] = {line.number: line.found for line in batch if isinstance(line.found, LeaderboardError)}
        outcomes.update(zip((number for number, _ in good), self._settle(good), strict=True))
        for number, outcome in sorted(outcomes.items()):
            self.counts.add(outcome)
            if isinstance(outcome, LeaderboardError):
                self._reject(number, outcome)

    def _named(self, number: int, submission: Submission) -> Submission:
        if self._id_prefix is None or submission.submission_id is not None:
            return submission
        return replace(submission, submission_id=f"{self._id_prefix}{number}")

    def _submit(self, numbered: Sequence[tuple[int, Submission]]) -> Sequence[Outcome]:
        if not numbered:
            return []
        try:
            return self._leaderboard.submit_many([submission for _, submission in numbered], ranks=False)
        except LeaderboardError as error:
            raise click.ClickException(self._told(numbered, error)) from error

    def _check(self, numbered: Sequence[tuple[int, Submission]]) -> Sequence[Outcome]:
        return [self._outcome_of_check(submission) for _, submission in numbered]

    def _outcome_of_check(self, submission: Submission) -> LeaderboardError | None:
        try:
            self._leaderboard.check(submission)
        except LeaderboardError as error:
            return error
        return None

    @staticmethod
    def _told(numbered: Sequence[tuple[int, Submission]], error: LeaderboardError) -> str:
        first, last = numbered[0][0], numbered[-1][0]
        remedy = "run it again: what has counted is known by its submission_id"
        if any(submission.submission_id is None for _, submission in numbered):
            remedy = "some have no submission_id, so look what counted before you send them again"
        return f"{error}. The lines before {first} are done, {first} to {last} may be or not; {remedy}"
