"""Boards: their rules, windows and sizes."""

from __future__ import annotations

from typing import Any

from .. import errors as e
from ..engine.leaderboard import Leaderboard
from ..rules.instants import duration
from ..rules.scores import Points
from ..rules.windows import Window
from . import replies, schemas
from .operations import Call, Operation


def list_boards(call: Call) -> dict[str, Any]:
    data = [_describe(board, None) for board in call.service.hub.values()]
    return {"data": data, "count": len(data)}


def read_board(call: Call) -> dict[str, Any]:
    percentile = call.query.get("percentile")
    if percentile is not None and not 0 <= percentile <= 100:
        raise e.InputError("percentile must be 0 to 100 with at most one decimal")
    return _describe(call.board(call.path["board"]), percentile)


def _describe(leaderboard: Leaderboard, percentile: Points | None) -> dict[str, Any]:
    board, totals = leaderboard.board, leaderboard.totals()
    return {
        "name": board.name,
        "mode": board.mode,
        "update": board.update,
        "updates": list(board.updates),
        "order": board.order,
        "ranking": board.ranking,
        "dense": board.dense,
        "tie_break": board.tie_break,
        "tie_resolution_us": duration(board.tie_resolution),
        "score_type": board.score_type,
        "score_range": None if board.score_range is None else list(board.score_range),
        "points_range": None if board.points_range is None else list(board.points_range),
        "per_minute": board.per_minute,
        "coalesce_ms": board.coalesce_ms,
        "segments": list(board.segment_names),
        "windows": [_window(leaderboard, window, totals, percentile) for window in board.windows],
    }


def _window(leaderboard: Leaderboard, window: Window, totals: dict[str, int], percentile: Points | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": window.name,
        "type": type(window).__name__.lower(),
        "calendar": window.calendar,
        "encoding": leaderboard.board.encoding(window.name).kind,
        "period": leaderboard.place(window=window.name).period,
        "periods": leaderboard.periods(window.name),
        "archived": leaderboard.archived_periods(window.name),
        "count": totals.get(window.name, 0),
    }
    if percentile is not None:
        told["score_at_percentile"] = leaderboard.score_at_percentile(float(percentile), window=window.name)
    return told


OPERATIONS = (
    Operation(
        "list_boards", "GET", "/boards", list_boards, "List the boards with their rules and sizes",
        replies.BoardsSchema, role="read", shared=True, tag="boards",
    ),
    Operation(
        "read_board", "GET", "/boards/{board}", read_board, "Read a board's rules, periods and sizes",
        replies.BoardSchema, role="read", query=schemas.BoardQuerySchema(), errors=(e.UnknownBoardError, e.InputError),
        shared=True, tag="boards",
    ),
)  # fmt: skip
