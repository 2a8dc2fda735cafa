"""Reading rankings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import errors as e
from ..engine.leaderboard import Leaderboard
from ..engine.reading import How
from ..log.events import Event
from ..rules.instants import to_datetime
from ..rules.results import Entry, Page, Place
from . import replies, schemas
from .operations import Call, Operation


def top(call: Call) -> dict[str, Any]:
    query, how = call.query, call.how(call.query)
    limit = _limited(call, query.get("limit", 10), "limit")
    board, cursor = call.board(query.get("board")), call.service.cursors.unsign(query.get("cursor"))
    lowest, highest = query.get("min"), query.get("max")
    if lowest is None and highest is None:
        page = board.top(limit, cursor=cursor, **how)
    else:
        page = board.range(lowest, highest, limit=limit, cursor=cursor, **how)
    return {**_page(board, page, how), "cursor": call.service.cursors.sign(page.cursor)}


def neighbors(call: Call) -> dict[str, Any]:
    query = call.query
    above, below = (_limited(call, query.get(side, 4), side) for side in ("above", "below"))
    board, user_id = call.board(query.get("board")), call.path["user_id"]
    place, how = _settle(board, call.how(query))
    page = board.around(user_id, above=above, below=below, **how)
    if not page.entries:
        raise _not_ranked(board, user_id, place)
    return _page(board, page, how)


def rank(call: Call) -> dict[str, Any]:
    board, user_id = call.board(call.query.get("board")), call.path["user_id"]
    if call.query.get("window") == "*":
        return _standings(board, user_id, call)
    place, how = _settle(board, call.how(call.query))
    entry = board.rank(user_id, **how)
    if entry is None:
        raise _not_ranked(board, user_id, place)
    return {"user_info": {**_entry(entry, how), "percentile": entry.percentile}, **_where(board, place)}


def _standings(board: Leaderboard, user_id: str, call: Call) -> dict[str, Any]:
    how = call.how(call.query)
    if how.get("period") is not None:
        raise e.InputError("window=* reads the running periods: leave 'period' out, or name one window")
    found = [(standing, standing.entry) for standing in board.standings(user_id, **how) if standing.entry is not None]
    if not found:
        raise e.NotRankedError(f"user {user_id!r} is not ranked in any window of board {board.board.name!r}")
    windows = [
        {
            "window": standing.window,
            "period": standing.period,
            "rank": entry.rank,
            "score": entry.score,
            "percentile": entry.percentile,
        }
        for standing, entry in found
    ]
    _, first = found[0]
    return {
        "user_info": {key: value for key, value in _entry(first, how).items() if key not in ("rank", "score")},
        "windows": windows,
        "board": board.board.name,
        "segment": how.get("segment"),
        "ranking": board.board.check_ranking(how.get("ranking")),
    }


def history(call: Call) -> dict[str, Any]:
    board, user_id = call.board(call.query.get("board")), call.path["user_id"]
    limit = _limited(call, call.query.get("limit", 10), "limit")
    events = board.history(user_id, limit=limit + 1, before=call.query.get("before"))
    shown = events[:limit]
    return {
        "data": [_event(event) for event in shown],
        "count": len(shown),
        "board": board.board.name,
        "user_id": user_id,
        "before": shown[-1].number if shown and len(events) > limit else None,
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "number": event.number,
        "kind": event.kind,
        "points": event.points,
        "update": event.update or None,
        "at": to_datetime(event.at).isoformat(),
        "segments": dict(label.split("=", 1) for label in event.segments),
        "submission_id": event.submission_id,
        "refused": event.refused,
    }


def friends(call: Call) -> dict[str, Any]:
    body, most = call.body, call.service.settings.max_friends
    if len(body["user_ids"]) > most:
        raise e.InputError(f"{len(body['user_ids'])} users are too many at once: send at most {most}")
    board = call.board(body.get("board"))
    place, how = _settle(board, call.how(body))
    found = board.among(body["user_ids"], **how)
    data = [
        {
            **_entry(friend.entry, how),
            "rank": friend.rank,
            "board_rank": friend.entry.rank,
            "percentile": friend.entry.percentile,
        }
        for friend in found
    ]
    ranked = {friend.entry.user_id for friend in found}
    missing = [user_id for user_id in dict.fromkeys(body["user_ids"]) if user_id not in ranked]
    return {"data": data, "count": len(data), "missing": missing, **_where(board, place)}


def _settle(board: Leaderboard, how: How) -> tuple[Place, How]:
    """Settle which period is read before it is read, so that the answer names the right one at midnight too."""
    place = board.place(**how)
    settled = How(**how)
    if place.period is not None:
        settled["period"] = place.period
    return place, settled


def _where(board: Leaderboard, place: Place | Page) -> dict[str, Any]:
    return {
        "board": board.board.name,
        "window": place.window,
        "period": place.period,
        "segment": place.segment,
        "ranking": place.ranking,
    }


def _page(board: Leaderboard, page: Page, how: How) -> dict[str, Any]:
    data = [_entry(entry, how) for entry in page.entries]
    return {"data": data, "count": len(data), "total": page.total, **_where(board, page)}


def _entry(entry: Entry, how: Mapping[str, Any]) -> dict[str, Any]:
    told = {"rank": entry.rank, "user_id": entry.user_id, "user_name": entry.user_name, "score": entry.score}
    if how.get("metadata"):
        told["metadata"] = entry.metadata
    return told


def _limited(call: Call, value: int, what: str) -> int:
    most = call.service.settings.max_limit
    if value > most:
        raise e.InputError(f"{what} {value} is too much: ask for at most {most}")
    return value


def _not_ranked(board: Leaderboard, user_id: str, place: Place) -> e.NotRankedError:
    period = f", period {place.period!r}" if place.period else ""
    return e.NotRankedError(f"user {user_id!r} is not ranked in window {place.window!r}{period} of board {board.board.name!r}")


_READ_ERRORS = (e.InputError, e.IdentityError, e.DenseRankError, e.UnknownBoardError, e.UnknownWindowError)
_RANK_ERRORS = (*_READ_ERRORS, e.NotRankedError)


OPERATIONS = (
    Operation(
        "read_top", "GET", "/scores", top, "Read a ranking from the top, behind a cursor, or between two scores",
        replies.PageSchema, role="read", query=schemas.TopSchema(), errors=(*_READ_ERRORS, e.CursorError, e.PointsError),
        shared=True, dated=True,
    ),
    Operation(
        "read_rank", "GET", "/scores/{user_id}", rank, "Read a user's rank, score and percentile",
        replies.UserRankSchema, role="read", query=schemas.RankSchema(), errors=_RANK_ERRORS, dated=True,
    ),
    Operation(
        "read_neighbors", "GET", "/scores/{user_id}/neighbors", neighbors, "Read the entries around a user",
        replies.PageSchema, role="read", query=schemas.NeighborsSchema(), errors=_RANK_ERRORS, dated=True,
    ),
    Operation(
        "read_history", "GET", "/scores/{user_id}/history", history, "Read a user's own events in the log, newest first",
        replies.HistorySchema, role="read", query=schemas.HistoryQuerySchema(),
        errors=(e.InputError, e.IdentityError, e.UnknownBoardError, e.NoLogError),
    ),
    Operation(
        "rank_friends", "POST", "/scores/query", friends, "Rank a list of users among themselves",
        replies.FriendsAnswerSchema, role="read", body=schemas.FriendsSchema(), errors=_READ_ERRORS,
        dated=True,
    ),
)  # fmt: skip
