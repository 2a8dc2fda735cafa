"""What requests and answers look like: requests are loaded through these, answers are described by them."""

from __future__ import annotations

from typing import Any, get_args

from marshmallow import RAISE, Schema, fields, validate

from ..rules.results import RANKING_KINDS
from ..rules.submission import Update
from .fields import POINTS, USER_ID, AnyNumber, CountText, Moment, NumberText, UserId


class Strict(Schema):
    class Meta:
        unknown = RAISE


def told(text: str, **more: Any) -> dict[str, Any]:
    return {"description": text, **more}


# What is asked


class SubmissionSchema(Strict):
    user_id = UserId(required=True, metadata=told("Who won the points. Whole numbers are taken as their text", **USER_ID))
    points = AnyNumber(required=True, metadata=told("Points, exact to the last digit", **POINTS))
    board = fields.Str(metadata=told("The board; the first one declared, if left out", example="arena"))
    submission_id = UserId(
        allow_none=True,
        metadata=told("Makes sending it again harmless", type=["string", "integer"], example="match-789"),
    )
    at = Moment(
        allow_none=True,
        metadata=told("When the points were won, with a zone; now, if left out", type="string", format="date-time"),
    )
    segments = fields.Dict(
        keys=fields.Str(),
        values=fields.Str(),
        allow_none=True,
        metadata=told("One value for each segment", example={"country": "NL"}),
    )
    user_name = fields.Str(allow_none=True, metadata=told("Display name, kept for all boards", example="Mary"))
    update = fields.Str(
        allow_none=True,
        validate=validate.OneOf(get_args(Update)),
        metadata=told("Another update than the board's own"),
    )

    def load(self, data: Any, **options: Any) -> Any:
        """Load a submission. The usual one has text wherever text belongs: nothing of it needs to be converted field by field."""
        return dict(data) if _is_plain(data) else super().load(data, **options)


_NEEDED = {"user_id", "points"}
_TEXTS = {"user_id", "board", "submission_id", "user_name"}


def _is_plain(data: Any) -> bool:
    if not isinstance(data, dict) or not data.keys() >= _NEEDED or data["points"] is None:
        return False
    return all(type(value) is str and name in _TEXTS for name, value in data.items() if name != "points")


class BatchSchema(Strict):
    submissions = fields.List(
        fields.Raw(allow_none=True, metadata={"allOf": [{"$ref": "#/components/schemas/Submission"}]}),
        required=True,
        metadata=told("Submissions in their order, 1000 at most unless the server says otherwise"),
    )
    ranks = fields.Bool(
        load_default=True, truthy={True}, falsy={False}, metadata=told("Whether receipts have ranks; without they are cheaper")
    )


class PlaceSchema(Strict):
    """Which ranking is read."""

    board = fields.Str(metadata=told("The board; the first one declared, if left out"))
    window = fields.Str(metadata=told("The window; the board's first, if left out", example="weekly"))
    period = fields.Str(metadata=told("A period's id, or 'previous'; the running one, if left out", example="2026-W47"))
    segment = fields.Str(metadata=told("A segment's ranking", example="country=NL"))
    ranking = fields.Str(
        validate=validate.OneOf(RANKING_KINDS), metadata=told("How ties are numbered; the board's kind, if left out")
    )


class ReadSchema(PlaceSchema):
    include = fields.Str(validate=validate.OneOf(("metadata",)), metadata=told("'metadata' brings the users' metadata along"))


class TopSchema(ReadSchema):
    limit = CountText(metadata=told("How many entries", type="integer", minimum=0, default=10))
    cursor = fields.Str(metadata=told("Where to go on: the cursor of the page before"))
    min = NumberText(metadata=told("The lowest score", **POINTS))
    max = NumberText(metadata=told("The highest score", **POINTS))


class NeighborsSchema(ReadSchema):
    above = CountText(metadata=told("How many entries above", type="integer", minimum=0, default=4))
    below = CountText(metadata=told("How many entries below", type="integer", minimum=0, default=4))


class FriendsSchema(ReadSchema):
    user_ids = fields.List(UserId(metadata=USER_ID), required=True, metadata=told("The users to rank among themselves"))


class HistoryQuerySchema(Strict):
    board = fields.Str(metadata=told("The board; the first one declared, if left out"))
    limit = CountText(metadata=told("How many events", type="integer", minimum=0, default=10))
    before = CountText(metadata=told("Where to go on: the 'before' of the page before", type="integer", minimum=0))


class BoardQuerySchema(Strict):
    percentile = NumberText(metadata=told("Also tell the score it takes to be at this percentile", **POINTS))


class ProfileSchema(Strict):
    user_name = fields.Str(allow_none=True, metadata=told("Display name", example="Mary"))
    metadata = fields.Dict(
        keys=fields.Str(), allow_none=True, metadata=told("A small JSON object", example={"picture": "cat.png"})
    )


class NothingSchema(Strict):
    """No query."""


# What is answered


class ReadingSchema(Strict):
    degraded = fields.Bool(metadata=told("true where Redis could not be used, and SQL was read in its place; else left out"))


class ChangeSchema(Strict):
    window = fields.Str(required=True)
    period = fields.Str(required=True)
    segment = fields.Str(required=True, allow_none=True)
    old_score = fields.Float(required=True, allow_none=True)
    new_score = fields.Float(required=True, allow_none=True)
    old_rank = fields.Int(required=True, allow_none=True)
    new_rank = fields.Int(required=True, allow_none=True)
    changed = fields.Bool(required=True)


class ReceiptSchema(Strict):
    board = fields.Str(required=True)
    user_id = fields.Str(required=True)
    duplicate = fields.Bool(required=True, metadata=told("Whether the submission_id had counted before: nothing was changed"))
    pending = fields.Bool(required=True)
    number = fields.Int(required=True, allow_none=True, metadata=told("The event's place in the board's order"))
    changes = fields.List(fields.Nested(ChangeSchema), required=True)
    closed = fields.List(fields.Str(), required=True, metadata=told("The windows that no longer took it"))


class ProblemSchema(Strict):
    type = fields.Str(required=True)
    title = fields.Str(required=True)
    status = fields.Int(required=True)
    code = fields.Str(required=True, metadata=told("Stable: programs may decide by it"))
    detail = fields.Str(required=True, metadata=told("What is wrong, and what to do"))
    errors = fields.Dict(keys=fields.Str(), metadata=told("The fields that are wrong"))


class OutcomeSchema(Strict):
    status = fields.Int(required=True)
    receipt = fields.Nested(ReceiptSchema)
    error = fields.Nested(ProblemSchema)


class OutcomesSchema(Strict):
    results = fields.List(fields.Nested(OutcomeSchema), required=True, metadata=told("One for each submission, in their order"))
    accepted = fields.Int(required=True)
    duplicates = fields.Int(required=True)
    refused = fields.Int(required=True)


class EntrySchema(Strict):
    rank = fields.Int(required=True)
    user_id = fields.Str(required=True)
    user_name = fields.Str(required=True, allow_none=True)
    score = fields.Float(required=True)
    metadata = fields.Dict(allow_none=True)


class RatedEntrySchema(EntrySchema):
    percentile = fields.Float(required=True)


class FriendSchema(RatedEntrySchema):
    board_rank = fields.Int(required=True, metadata=told("The rank on the board; 'rank' is the one among those asked for"))


class WhereSchema(ReadingSchema):
    board = fields.Str(required=True)
    window = fields.Str(required=True)
    period = fields.Str(required=True, allow_none=True, metadata=told("null where the window has none running"))
    segment = fields.Str(required=True, allow_none=True)
    ranking = fields.Str(required=True)
    as_of = fields.DateTime(required=True)


class PageSchema(WhereSchema):
    data = fields.List(fields.Nested(EntrySchema), required=True)
    count = fields.Int(required=True, metadata=told("How many entries the page has"))
    total = fields.Int(required=True, metadata=told("How many the ranking has"))
    cursor = fields.Str(allow_none=True, metadata=told("Give it back to go on behind this page; null at the end"))


class StandingSchema(Strict):
    window = fields.Str(required=True)
    period = fields.Str(required=True)
    rank = fields.Int(required=True)
    score = fields.Float(required=True)
    percentile = fields.Float(required=True)


class UserInfoSchema(Strict):
    user_id = fields.Str(required=True)
    user_name = fields.Str(required=True, allow_none=True)
    metadata = fields.Dict(allow_none=True)
    rank = fields.Int()
    score = fields.Float()
    percentile = fields.Float()


class UserRankSchema(ReadingSchema):
    user_info = fields.Nested(UserInfoSchema, required=True)
    windows = fields.List(fields.Nested(StandingSchema), metadata=told("With window=*: every window the user is ranked in"))
    board = fields.Str(required=True)
    window = fields.Str()
    period = fields.Str()
    segment = fields.Str(required=True, allow_none=True)
    ranking = fields.Str(required=True)
    as_of = fields.DateTime(required=True)


class FriendsAnswerSchema(WhereSchema):
    data = fields.List(fields.Nested(FriendSchema), required=True)
    count = fields.Int(required=True)
    missing = fields.List(fields.Str(), required=True, metadata=told("Those asked for who are not ranked"))


class EventSchema(Strict):
    number = fields.Int(required=True, metadata=told("The event's place in the board's order"))
    kind = fields.Str(required=True, metadata=told("'submit' or 'remove'"))
    points = fields.Float(required=True, allow_none=True)
    update = fields.Str(required=True, allow_none=True)
    at = fields.DateTime(required=True, metadata=told("When the points were won"))
    segments = fields.Dict(keys=fields.Str(), values=fields.Str(), required=True)
    submission_id = fields.Str(required=True, allow_none=True)
    refused = fields.Str(required=True, allow_none=True, metadata=told("The code with which it was refused"))


class HistorySchema(Strict):
    data = fields.List(fields.Nested(EventSchema), required=True)
    count = fields.Int(required=True)
    board = fields.Str(required=True)
    user_id = fields.Str(required=True)
    before = fields.Int(required=True, allow_none=True, metadata=told("Give it back to go on; null at the end"))


class WindowSchema(Strict):
    name = fields.Str(required=True)
    type = fields.Str(required=True)
    calendar = fields.Str(required=True, metadata=told("What decides where periods begin: a time zone, a length, start and end"))
    encoding = fields.Str(required=True)
    period = fields.Str(required=True, allow_none=True)
    periods = fields.List(fields.Str(), required=True, metadata=told("Periods that can be read, the newest first"))
    archived = fields.List(fields.Str(), required=True, metadata=told("Those of them that are archived: the newest 366"))
    count = fields.Int(required=True, metadata=told("Users ranked in the running period"))
    score_at_percentile = fields.Float(allow_none=True)


class BoardSchema(ReadingSchema):
    name = fields.Str(required=True)
    mode = fields.Str(
        required=True, metadata=told("'ledger', 'write_behind' or 'redis_only', which has no history")
    )
    update = fields.Str(required=True)
    updates = fields.List(fields.Str(), required=True)
    order = fields.Str(required=True)
    ranking = fields.Str(required=True)
    dense = fields.Bool(required=True)
    tie_break = fields.Str(required=True)
    tie_resolution_us = fields.Int(required=True)
    score_type = fields.Str(required=True)
    score_range = fields.List(fields.Float(), required=True, allow_none=True)
    points_range = fields.List(fields.Float(), required=True, allow_none=True)
    per_minute = fields.Int(required=True, allow_none=True)
    segments = fields.List(fields.Str(), required=True)
    windows = fields.List(fields.Nested(WindowSchema), required=True)


class BoardsSchema(ReadingSchema):
    data = fields.List(fields.Nested(BoardSchema), required=True)
    count = fields.Int(required=True)


class UserSchema(Strict):
    user_id = fields.Str(required=True)
    user_name = fields.Str(required=True, allow_none=True)
    metadata = fields.Dict(required=True, allow_none=True)


class PartSchema(Strict):
    status = fields.Str(
        required=True,
        validate=validate.OneOf(("ok", "degraded", "down")),
        metadata=told("'degraded' where it can be read and refuses writes"),
    )
    answered_in_ms = fields.Float(required=True, allow_none=True)


class StatesSchema(Strict):
    ok = fields.Int(required=True)
    degraded = fields.Int(required=True)
    down = fields.Int(required=True)


class HealthSchema(Strict):
    status = fields.Str(
        required=True,
        validate=validate.OneOf(("ok", "degraded")),
        metadata=told("'degraded' where some of it can't be served, or is served by SQL in place of Redis; none of it is a 503"),
    )
    redis = fields.Nested(PartSchema, required=True)
    log = fields.Nested(PartSchema, metadata=told("The database of the log; left out where no board has one"))
    boards = fields.Nested(StatesSchema, required=True, metadata=told("How many boards are in which state"))
    warnings = fields.List(fields.Str(), required=True)
