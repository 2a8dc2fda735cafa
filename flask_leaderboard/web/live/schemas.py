"""The protocol: what clients send is loaded through these, and all of it is described by them."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields, validate

from ...rules.results import RANKING_KINDS
from ..fields import USER_ID, UserId
from ..schemas import Strict, told

NAME = told("The client's own name for the subscription: every message of it carries the name", minLength=1, maxLength=64)
SEQ = told("The number the board stood at")
SUM = told("Checksum of period, total and entries", example="9f3c2a7be01d4c58")


def _kind(name: str) -> Any:
    return fields.Str(required=True, validate=validate.OneOf((name,)))


# What clients send


class SinceSchema(Strict):
    seq = fields.Int(required=True, strict=True, metadata=SEQ)
    sum = fields.Str(required=True, metadata=SUM)


class SubscribeSchema(Strict):
    type = _kind("subscribe")
    id = fields.Str(required=True, validate=validate.Length(1, 64), metadata=NAME)
    board = fields.Str(metadata=told("The board; the first one declared, if left out", example="arena"))
    window = fields.Str(metadata=told("The window; the board's first, if left out", example="weekly"))
    segment = fields.Str(metadata=told("A segment's ranking", example="country=NL"))
    ranking = fields.Str(
        validate=validate.OneOf(RANKING_KINDS), metadata=told("How ties are numbered; the board's kind, if left out")
    )
    top = fields.Int(
        strict=True,
        validate=validate.Range(0),
        metadata=told("How many of the best; 10 if left out, 0 where user_id is given"),
    )
    user_id = UserId(metadata=told("Also tell where this user stands", **USER_ID))
    since = fields.Nested(SinceSchema, metadata=told("What the client has from before: it gets what it missed"))


class UnsubscribeSchema(Strict):
    type = _kind("unsubscribe")
    id = fields.Str(required=True, validate=validate.Length(1, 64), metadata=NAME)


class AskPingSchema(Strict):
    type = _kind("ping")


# What the server sends


class EntryRowSchema(Strict):
    rank = fields.Int(required=True)
    user_id = fields.Str(required=True)
    user_name = fields.Str(required=True, allow_none=True)
    score = fields.Float(required=True)


class MovedRowSchema(EntryRowSchema):
    place = fields.Int(required=True, metadata=told("The place in the list, from 1"))
    old_rank = fields.Int(required=True, allow_none=True, metadata=told("null: was not in the list"))


class SnapshotSchema(Strict):
    type = _kind("snapshot")
    id = fields.Str(required=True, metadata=NAME)
    reason = fields.Str(
        required=True,
        validate=validate.OneOf(("subscribed", "period", "behind")),
        metadata=told("Asked for, a new period has begun, or the client did not keep up"),
    )
    board = fields.Str(required=True)
    window = fields.Str(required=True)
    period = fields.Str(required=True, allow_none=True, metadata=told("null where the window has none running"))
    segment = fields.Str(required=True, allow_none=True)
    ranking = fields.Str(required=True)
    seq = fields.Int(required=True, metadata=SEQ)
    sum = fields.Str(required=True, metadata=SUM)
    total = fields.Int(required=True, metadata=told("How many the ranking has"))
    entries = fields.List(fields.Nested(EntryRowSchema), required=True)


class UpdateSchema(Strict):
    type = _kind("update")
    id = fields.Str(required=True, metadata=NAME)
    period = fields.Str(required=True, allow_none=True)
    seq = fields.Int(required=True, metadata=SEQ)
    sum = fields.Str(required=True, metadata=SUM)
    base = fields.Str(required=True, metadata=told("Checksum of the list that this builds on"))
    total = fields.Int(required=True)
    count = fields.Int(required=True, metadata=told("The length of the list afterwards"))
    entries = fields.List(
        fields.Nested(MovedRowSchema),
        required=True,
        metadata=told("All whose place, rank, score or name changed; who is not named keeps his place"),
    )
    left = fields.List(fields.Str(), required=True, metadata=told("Users who are no longer in the list"))


class ResumedSchema(Strict):
    type = _kind("resumed")
    id = fields.Str(required=True, metadata=NAME)
    seq = fields.Int(required=True, metadata=SEQ)
    sum = fields.Str(required=True, metadata=SUM)
    total = fields.Int(required=True)


class RankSchema(Strict):
    type = _kind("rank")
    id = fields.Str(required=True, metadata=NAME)
    period = fields.Str(required=True, allow_none=True)
    seq = fields.Int(required=True, metadata=SEQ)
    user_id = fields.Str(required=True)
    rank = fields.Int(required=True, allow_none=True, metadata=told("null: not ranked"))
    old_rank = fields.Int(required=True, allow_none=True, metadata=told("The one told before in this period"))
    score = fields.Float(required=True, allow_none=True)
    old_score = fields.Float(required=True, allow_none=True)
    percentile = fields.Float(required=True, allow_none=True)
    total = fields.Int(required=True)
    user_name = fields.Str(required=True, allow_none=True)
    above = fields.Nested(EntryRowSchema, required=True, allow_none=True, metadata=told("The entry directly above"))
    below = fields.Nested(EntryRowSchema, required=True, allow_none=True, metadata=told("The entry directly below"))


class StaleSchema(Strict):
    type = _kind("stale")
    id = fields.Str(required=True, metadata=NAME)


class ErrorSchema(Strict):
    type = _kind("error")
    id = fields.Str(metadata=told("The subscription that it is about; left out where it is about the connection"))
    code = fields.Str(required=True, metadata=told("Stable: programs may decide by it"))
    detail = fields.Str(required=True)


class ByeSchema(Strict):
    type = _kind("bye")
    code = fields.Str(required=True)
    retry_in_ms = fields.Int(required=True, metadata=told("When to connect again"))


class PingSchema(Strict):
    type = _kind("ping")


class PongSchema(Strict):
    type = _kind("pong")


CLIENT: dict[str, Schema] = {"subscribe": SubscribeSchema(), "unsubscribe": UnsubscribeSchema(), "ping": AskPingSchema()}
SERVER: tuple[Schema, ...] = (
    SnapshotSchema(),
    UpdateSchema(),
    ResumedSchema(),
    RankSchema(),
    StaleSchema(),
    ErrorSchema(),
    ByeSchema(),
    PingSchema(),
    PongSchema(),
)
