"""The live part of the API."""

from __future__ import annotations

import re
from typing import Any

from flask import Blueprint, Response, current_app, request
from marshmallow import fields, validate
from werkzeug.exceptions import BadRequest

from ... import errors as e
from ...config import Settings
from ...rules.identity import check_user_id
from ..fields import USER_ID, CountText, UserId
from ..operations import METHODS, Call, Operation
from ..problems import answering
from ..public import public
from ..schemas import PlaceSchema, Strict, told
from ..service import service_of
from .door import Door, check_server
from .live import Live
from .origins import check_origin
from .protocol import describe_protocol
from .stream import Stream
from .tickets import Ticket

MOST_USERS = 100
STREAM_NAME = "events"
"""What the one subscription of a stream is called."""
_POINT = re.compile(r"[0-9]{1,16}:([0-9a-f]{16})")


class TicketRequestSchema(Strict):
    user_ids = fields.List(
        UserId(metadata=USER_ID),
        validate=validate.Length(max=MOST_USERS),
        metadata=told("Users whose rank the holder may follow; needed where the app's own `authorize` is asked about users"),
    )


class TicketSchema(Strict):
    ticket = fields.Str(required=True, metadata=told("Give it as ?ticket= when connecting"))
    expires_in_s = fields.Int(required=True)


class EventsQuerySchema(PlaceSchema):
    class Meta(Strict.Meta):
        exclude = ("period",)  # the running one is followed, and the next when it begins

    top = CountText(metadata=told("How many of the best; 10 if left out, 0 where user_id is given", type="integer", minimum=0))
    user_id = UserId(metadata=told("Also tell where this user stands", **USER_ID))
    ticket = fields.Str(metadata=told("A ticket, in place of a token"))


def issue_ticket(call: Call) -> dict[str, Any]:
    service, user_ids = call.service, call.body.get("user_ids")
    for user_id in user_ids or ():
        check_user_id(user_id)
        service.access.check(request, "read", user_id)
    if user_ids is None and service.access.asks_host:
        user_ids = ()
    tickets = _live(call).tickets
    return {"ticket": tickets.issue(Ticket(user_ids)), "expires_in_s": tickets.seconds}


def stream_events(call: Call) -> Response:
    live = _live(call)
    check_server(request.environ)
    check_origin(request, live.settings.live_origins)
    live.doorkeeper.admit(request, call.query.get("user_id"))
    point = _POINT.fullmatch(request.headers.get("Last-Event-ID", ""))
    since = {"since": {"sum": point[1]}} if point else {}
    stream = Stream(live, live.wish({**call.query, **since, "id": STREAM_NAME}), request.environ)
    stream.open()
    response = Response(stream, mimetype="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response


def _live(call: Call) -> Live:
    live: Live = call.service.live
    return live


def add_routes(blueprint: Blueprint, settings: Settings) -> None:
    """Add what is no operation: the WebSocket, and the description of what is said over it."""
    door = Door(settings.live_message_bytes)

    @blueprint.route("/live", websocket=True)
    @answering
    def live() -> Response:
        return door.open(service_of(current_app).live, request._get_current_object())  # type: ignore[attr-defined]

    @answering
    def live_without_upgrade() -> Response:
        raise BadRequest("this is a WebSocket: open it with ws:// or wss://, or read 'live/events'")

    def live_schema() -> Response:
        return Response(describe_protocol(), mimetype="application/schema+json")

    blueprint.add_url_rule("/live", view_func=live_without_upgrade, methods=METHODS)
    blueprint.add_url_rule("/live/schema.json", view_func=public(live_schema), endpoint="live_schema", methods=METHODS)


OPERATIONS = (
    Operation(
        "issue_ticket", "POST", "/live/tickets", issue_ticket, "Give a ticket with which a page can connect, for a short while",
        TicketSchema, role="read", body=TicketRequestSchema(), errors=(e.IdentityError,), tag="live",
    ),
    Operation(
        "stream_events", "GET", "/live/events", stream_events, "Follow a ranking as Server-Sent Events",
        None, role="read", query=EventsQuerySchema(), checks_callers=True, tag="live",
        errors=(
            e.InputError, e.IdentityError, e.DenseRankError, e.UnknownBoardError, e.UnknownWindowError, e.UnsupportedError,
            e.TicketError, e.OriginError, e.ClientsError,
        ),
    ),
)  # fmt: skip
