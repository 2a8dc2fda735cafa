"""Submitting scores."""

from __future__ import annotations

from typing import Any

from .. import errors as e
from ..engine.leaderboard import Leaderboard
from ..rules.results import Receipt
from ..rules.submission import Submission
from . import schemas
from .dispatch import load
from .operations import Call, Operation
from .problems import describe

SUBMISSION = schemas.SubmissionSchema()


def submit(call: Call) -> dict[str, Any]:
    fields = dict(call.body)
    board = call.board(fields.pop("board", None))
    return _receipt(board, board.submit(**fields))


def submit_batch(call: Call) -> dict[str, Any]:
    items, most = call.body["submissions"], call.service.settings.max_batch
    if len(items) > most:
        raise e.InputError(f"{len(items)} submissions are too many at once: send at most {most}")
    results: list[dict[str, Any]] = [{}] * len(items)
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
    receipts = [result["receipt"] for result in results if "receipt" in result]
    duplicates = sum(receipt["duplicate"] for receipt in receipts)
    return {
        "results": results,
        "accepted": len(receipts) - duplicates,
        "duplicates": duplicates,
        "refused": len(results) - len(receipts),
    }


def _submit_to(call: Call, name: str | None, submissions: list[Submission]) -> list[dict[str, Any]]:
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


def _taken(board: Leaderboard, receipt: Receipt) -> dict[str, Any]:
    return {"status": 202 if receipt.pending else 200, "receipt": _receipt(board, receipt)}


def _refusal(error: e.LeaderboardError) -> dict[str, Any]:
    problem = describe(error)
    return {"status": problem["status"], "error": problem}


def _receipt(board: Leaderboard, receipt: Receipt) -> dict[str, Any]:
    return {
        "board": board.board.name,
        "user_id": receipt.user_id,
        "duplicate": receipt.duplicate,
        "pending": receipt.pending,
        "number": receipt.number,
        "changes": [
            {
                "window": change.window,
                "period": change.period,
                "segment": change.segment,
                "old_score": change.old_score,
                "new_score": change.new_score,
                "old_rank": change.old_rank,
                "new_rank": change.new_rank,
                "changed": change.changed,
            }
            for change in receipt.changes
        ],
        "closed": list(receipt.closed),
    }


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
        schemas.ReceiptSchema, role="submit", body=SUBMISSION, errors=_SUBMIT_ERRORS, may_pend=True,
    ),
    Operation(
        "submit_scores", "POST", "/scores/batch", submit_batch, "Count many submissions; a refused one stops no other",
        schemas.OutcomesSchema, role="submit", body=schemas.BatchSchema(), errors=(e.InputError, e.ReplayError),
    ),
)  # fmt: skip
