"""The blueprint: every path of the operations, and nothing outside its prefix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from flask import Blueprint, Request, Response, current_app, request, url_for
from werkzeug.exceptions import HTTPException

from ..config import Settings
from ..errors import LeaderboardError
from . import boards, health, rankings, submissions, users
from .bodies import write_json
from .dispatch import dispatch
from .docs import POLICY, render_docs
from .live import routes as live
from .openapi import describe_api
from .operations import METHODS, Operation
from .pages import add_pages
from .problems import answer_error, answer_http_error, answering
from .public import public
from .service import service_of

NAME = "flask_leaderboard"
OPERATIONS: tuple[Operation, ...] = (
    *submissions.OPERATIONS,
    *rankings.OPERATIONS,
    *boards.OPERATIONS,
    *users.OPERATIONS,
    *health.OPERATIONS,
    *live.OPERATIONS,
)


def make_blueprint(settings: Settings) -> Blueprint:
    """Make an app's blueprint. Errors are handled for its own paths only."""
    blueprint = Blueprint(NAME, __name__, url_prefix=settings.url_prefix)
    blueprint.register_error_handler(LeaderboardError, answer_error)
    blueprint.register_error_handler(HTTPException, answer_http_error)
    offered = tuple(operation for operation in OPERATIONS if settings.live or operation.tag != "live")
    for path, operations in _by_path(offered).items():
        rule = path.replace("{", "<").replace("}", ">")
        blueprint.add_url_rule(rule, _endpoint(operations), _view(operations), methods=_methods(path, operations))
    if settings.live:
        live.add_routes(blueprint, settings)
    if settings.docs:
        _add_docs(blueprint, offered)
    if settings.pages:
        add_pages(blueprint)
    return blueprint


def _by_path(offered: tuple[Operation, ...]) -> dict[str, dict[str, Operation]]:
    paths: dict[str, dict[str, Operation]] = {}
    for operation in offered:
        paths.setdefault(operation.path, {})[operation.method] = operation
    return paths


def _endpoint(operations: Mapping[str, Operation]) -> str:
    return next(iter(operations.values())).name


def _methods(path: str, operations: Mapping[str, Operation]) -> list[str]:
    """Take all methods, so that a wrong one is answered like other errors; those of `/scores/batch` and `/scores/query` that are
    not their own belong to `/scores/{user_id}`: a user may be called "batch"."""
    return list(operations) if path in ("/scores/batch", "/scores/query") else list(METHODS)


def _view(operations: Mapping[str, Operation]) -> Callable[..., Response]:
    @answering
    def view(**path: str) -> Response:
        return dispatch(service_of(current_app), _behind(request), operations, path)

    return view


def _behind(proxy: Any) -> Request:
    """Give the request behind Flask's proxy, which costs time at every touch."""
    found: Request = proxy._get_current_object()
    return found


def _add_docs(blueprint: Blueprint, offered: tuple[Operation, ...]) -> None:
    def api() -> dict[str, Any]:
        return _described(offered, request.script_root + request.path.rpartition("/")[0])

    def openapi() -> Response:
        return Response(write_json(api()), mimetype="application/json")

    def docs() -> Response:
        page = render_docs(api(), document=url_for(".openapi"), stylesheet=url_for(".docs_style"))
        return Response(page, mimetype="text/html", headers={"Content-Security-Policy": POLICY})

    def docs_style() -> Response:
        with blueprint.open_resource("static/docs.css", "rb") as style:
            return Response(style.read(), mimetype="text/css")

    for path, view in (("/openapi.json", openapi), ("/docs", docs), ("/docs.css", docs_style)):
        blueprint.add_url_rule(path, view.__name__, public(view), methods=METHODS)


@lru_cache(maxsize=8)
def _described(offered: tuple[Operation, ...], server: str) -> dict[str, Any]:
    return describe_api(offered, server)
