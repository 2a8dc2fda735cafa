"""A board's ready page: the component, and under it what the server says to who runs no scripts."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from typing import Any

from flask import Blueprint, Request, Response, current_app, request, url_for
from jinja2 import Environment, PackageLoader
from marshmallow import EXCLUDE, Schema, fields, validate

from .. import errors as e
from ..engine.leaderboard import Leaderboard
from ..engine.routing import noting_reads
from ..rules.identity import check_user_id
from ..rules.results import RANKING_KINDS, Page
from .answers import Answer
from .assets import add_assets, assets_url
from .dispatch import NO_STORE, load, shared_cache_control
from .fields import CountText
from .operations import METHODS
from .problems import answer_error
from .public import only_read
from .service import Service, service_of

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src {connect}; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HOST = re.compile(r"[A-Za-z0-9.-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")
_TOP = 10


class PageQuerySchema(Schema):
    """What the page's address may say. More than that is let be: links get decorated on their way."""

    class Meta:
        unknown = EXCLUDE

    window = fields.Str()
    segment = fields.Str()
    ranking = fields.Str(validate=validate.OneOf(RANKING_KINDS))
    top = CountText(validate=validate.Range(min=1))
    user = fields.Str()
    theme = fields.Str(validate=validate.OneOf(("light", "dark")))


_QUERY = PageQuerySchema()


def add_pages(blueprint: Blueprint) -> None:
    """Serve the component and the ready page of every board."""
    add_assets(blueprint)

    @only_read
    def board_page(board: str) -> Response:
        try:
            response = _answer(service_of(current_app), board).respond(request)
        except e.LeaderboardError as error:
            response = _refusal(error)
        return _guarded(response, request)

    blueprint.add_url_rule("/board/<board>", "board_page", board_page, methods=METHODS)


def _answer(service: Service, name: str) -> Answer:
    service.access.check(request, "read")
    board = service.hub[name]
    query = load(_QUERY, request.args.to_dict(), "query")
    if query.get("top", 0) > service.settings.max_limit:
        raise e.InputError(f"top {query['top']} is too much: ask for at most {service.settings.max_limit}")
    if "user" in query:
        check_user_id(query["user"])
    key = ("board_page", request.script_root, name, *sorted(query.items()))
    return service.cache.get(key, lambda: _write(service, board, query), lambda answer: answer.cache_control != NO_STORE)


def _write(service: Service, board: Leaderboard, query: dict[str, Any]) -> Answer:
    with noting_reads() as notes:
        page = _read(board, query)
    heading = readable(board.board.name)
    how = {} if service.settings.live else {"live": "poll"}
    attributes = {"board": board.board.name, "heading": heading, **query, **how}
    text = _render(
        title=f"{heading} leaderboard",
        heading=heading,
        theme=query.get("theme"),
        user=query.get("user"),
        attributes=attributes,
        page=page,
        component=url_for(".component"),
    )
    kept = page is not None and not notes.degraded
    tag = hashlib.sha256(text).hexdigest()[:24] if kept else None
    return Answer(text, tag, shared_cache_control(service) if kept else NO_STORE, 200, "text/html")


def _read(board: Leaderboard, query: dict[str, Any]) -> Page | None:
    """Read the top, or nothing where it can't be read now: the component goes on trying."""
    try:
        return board.top(
            query.get("top", _TOP), window=query.get("window"), segment=query.get("segment"), ranking=query.get("ranking")
        )
    except e.TemporaryError:
        return None


def readable(name: str) -> str:
    """Make a heading out of a board's name: ``race-times`` becomes "Race times"."""
    return name.replace("-", " ").replace("_", " ").strip().capitalize()


def _refusal(error: e.LeaderboardError) -> Response:
    """Answer as the API does, for people."""
    response = answer_error(error)
    problem = response.get_json()
    response.set_data(_render(title=problem["title"], error=problem))
    response.mimetype = "text/html"
    return response


def _render(**what: Any) -> bytes:
    return _environment().get_template("board.html").render(assets=assets_url(), **what).strip().encode()


def _guarded(response: Response, request: Request) -> Response:
    response.headers["Content-Security-Policy"] = _POLICY.format(connect=_connect(request.host))
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def _connect(host: str) -> str:
    """Say what the page may connect to: not every browser takes 'self' for the host's WebSockets too."""
    return f"'self' ws://{host} wss://{host}" if _HOST.fullmatch(host) else "'self'"


@cache
def _environment() -> Environment:
    return Environment(loader=PackageLoader("flask_leaderboard.web"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
