"""Errors as `application/problem+json` with stable codes."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, cast

from flask import Response
from werkzeug.exceptions import HTTPException
from werkzeug.http import HTTP_STATUS_CODES

from .. import errors as e
from .bodies import write_json

P = ParamSpec("P")
MEDIA_TYPE = "application/problem+json"
_logger = logging.getLogger("flask_leaderboard")

STATUS: dict[type[e.LeaderboardError], int] = {
    e.InputError: 400,
    e.ClosedPeriodError: 400,
    e.ScoreRangeError: 400,
    e.UpdateError: 400,
    e.DenseRankError: 400,
    e.SegmentLimitError: 400,
    e.NoLogError: 400,
    e.UnauthorizedError: 401,
    e.AccessError: 403,
    e.UnknownBoardError: 404,
    e.UnknownWindowError: 404,
    e.UnknownUserError: 404,
    e.NotRankedError: 404,
    e.ConflictError: 409,
    e.SeasonError: 409,
    e.RateLimitError: 429,
    e.ConfigurationError: 500,
    e.UnsupportedError: 501,
    e.ProtocolError: 500,
    e.TemporaryError: 503,
    e.LayoutError: 503,
    e.LogMismatchError: 503,
}
HTTP_CODES = {
    400: "bad_request",
    405: "method_not_allowed",
    411: "length_required",
    413: "body_too_large",
    415: "unsupported_media_type",
}
_TOLD_IN_PUBLIC = {
    "store_unavailable": "the scores can't be reached now: try again shortly",
    "log_unavailable": "the log of the scores can't be reached now: try again shortly",
    "log_mismatch": "the scores and their log do not belong together: the server's log says more",
    "protocol": "the scores answered in a way that was not understood: the server's log says more",
    "configuration": "the server is not set up rightly: its log says more",
    "layout": "the board's data was written under other rules: its operator must rebuild it",
}
"""What callers are told where the message itself is for the operator, and may name servers and keys."""


class FieldsError(e.InputError):
    """Fields of a request are wrong; `fields` says which, and how."""

    def __init__(self, fields: Mapping[str, Any], what: str = "request") -> None:
        names = ", ".join(repr(str(name)) for name in fields)
        super().__init__(f"the {what} is wrong in {names}: see 'errors'")
        self.fields = fields


def status_of(error: e.LeaderboardError | type[e.LeaderboardError]) -> int:
    """Give the HTTP status of an error."""
    kind = error if isinstance(error, type) else type(error)
    return next((STATUS[base] for base in kind.__mro__ if base in STATUS), 500)


def describe(error: e.LeaderboardError) -> dict[str, Any]:
    """Give an error as a problem's members; what is not for callers goes to the log."""
    problem = _problem(status_of(error), error.code, _TOLD_IN_PUBLIC.get(error.code, str(error)))
    if error.code in _TOLD_IN_PUBLIC:
        _logger.error("answered %s: %s", problem["status"], error)
    if isinstance(error, FieldsError):
        problem["errors"] = error.fields
    return problem


def answer_error(error: e.LeaderboardError) -> Response:
    """Answer one of our errors."""
    problem = describe(error)
    response = _respond(problem)
    if isinstance(error, e.TemporaryError):
        response.headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if isinstance(error, e.UnauthorizedError):
        response.headers["WWW-Authenticate"] = 'Bearer realm="leaderboard"'
    return response


def answer_http_error(error: HTTPException) -> Response:
    """Answer an error of HTTP itself, such as a body that is too large."""
    if error.response is not None:  # the host's own, by abort(response)
        return cast(Response, error.response)
    status = error.code or 500
    response = _respond(_problem(status, HTTP_CODES.get(status, "http_error"), error.description or ""))
    for name, value in error.get_headers():
        if name not in ("Content-Type", "Content-Length"):
            response.headers[name] = value
    return response


def answering(view: Callable[P, Response]) -> Callable[P, Response]:
    """Let a view answer errors of HTTP itself: a handler that the host has for their status would go before the blueprint's."""

    @wraps(view)
    def answer(*args: P.args, **kwargs: P.kwargs) -> Response:
        try:
            return view(*args, **kwargs)
        except HTTPException as error:
            return answer_http_error(error)

    return answer


def _problem(status: int, code: str, detail: str) -> dict[str, Any]:
    return {
        "type": f"urn:flask-leaderboard:error:{code}",
        "title": HTTP_STATUS_CODES.get(status, "Error"),
        "status": status,
        "code": code,
        "detail": detail,
    }


def _respond(problem: dict[str, Any]) -> Response:
    response = Response(write_json(problem), status=problem["status"], mimetype=MEDIA_TYPE)
    response.headers["Cache-Control"] = "no-store"
    return response
