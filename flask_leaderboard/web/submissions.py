"""Submitting scores."""

from __future__ import annotations

from typing import NamedTuple

from .. import errors as e
from ..engine.leaderboard import Leaderboard
from ..rules.results import Receipt
from ..rules.submission import Submission
from . import replies, schemas
from .bodies import json_text
from .dispatch import load
from .operations import Call, Operation, Written
from .problems import describe
from .receipts import write_receipt

SUBMISSION = schemas.SubmissionSchema()


class Result(NamedTuple):
    """What became of an item of a batch, as JSON; the receipt where it has one."""

    text: str
    receipt: Receipt | None = None


def submit(call: Call) -> Written:
    fields = dict(call.body)
    board = call.board(fields.pop("board", None))
    receipt = board.submit(**fields)
    return Written(write_receipt(board.board.name, receipt), _status(receipt))


def submit_batch(call: Call) -> Written:
    items, most = call.body["submissions"], call.service.settings.max_batch
    if len(items) > most:
        raise e.InputError(f"{len(items)} submissions are too many at once: send at most {most}")
    results = [Result("")] * len(items)
    by_board: dict[str | None, list[tuple[int, Submission]]] = {}
    for place, item in enumerate(items):
        try:
            fields = load(SUBMISSION, item, "submission")
            by_board.setdefault(fields.pop("board", None), []).append((place, Submission(**fields)))
        except e.LeaderboardError as error:
            results[place] = _refusal(error)
    for name, placed in by_board.items():
        for (place, _), result in zip(placed, _submit_to(call, name, [item for _, item in placed]), strict=True):
            results[place] = result
    receipts = [result.receipt for result in results if result.receipt is not None]
    duplicates = sum(receipt.duplicate for receipt in receipts)
    accepted, refused = len(receipts) - duplicates, len(results) - len(receipts)
    listed = ",".join([result.text for result in results])
    return Written(f'{{"results":[{listed}],"accepted":{accepted},"duplicates":{duplicates},"refused":{refused}}}')


def _submit_to(call: Call, name: str | None, submissions: list[Submission]) -> list[Result]:
    """Submit to one board; what stops the whole call is the answer to each of its items."""
    try:
        board = call.board(name)
        outcomes = board.submit_many(submissions, ranks=call.body["ranks"])
    except e.TemporaryError as error:
        if len(submissions) == len(call.body["submissions"]):
            raise
        return [_refusal(error)] * len(submissions)
    except e.LeaderboardError as error:
        return [_refusal(error)] * len(submissions)
    return [_refusal(outcome) if isinstance(outcome, e.LeaderboardError) else _taken(board, outcome) for outcome in outcomes]


def _taken(board: Leaderboard, receipt: Receipt) -> Result:
    return Result(f'{{"status":{_status(receipt)},"receipt":{write_receipt(board.board.name, receipt)}}}', receipt)


def _refusal(error: e.LeaderboardError) -> Result:
    problem = describe(error)
    return Result(json_text({"status": problem["status"], "error": problem}))


def _status(receipt: Receipt) -> int:
    return 202 if receipt.pending else 200


_SUBMIT_ERRORS = (
    e.PointsError,
    e.IdentityError,
    e.TimeError,
    e.ClosedPeriodError,
    e.ScoreRangeError,
    e.UpdateError,
    e.SegmentLimitError,
    e.UnknownBoardError,
    e.ConflictError,
    e.RateLimitError,
    e.JournalFullError,
    e.ReplayError,
)

OPERATIONS = (
    Operation(
        "submit_score", "POST", "/scores", submit, "Count points for a user in every window, at once and once",
        replies.ReceiptSchema, role="submit", body=SUBMISSION, errors=_SUBMIT_ERRORS, may_pend=True,
    ),
    Operation(
        "submit_scores", "POST", "/scores/batch", submit_batch, "Count many submissions; a refused one stops no other",
        replies.OutcomesSchema, role="submit", body=schemas.BatchSchema(), errors=(e.InputError, e.ReplayError),
    ),
)  # fmt: skip
