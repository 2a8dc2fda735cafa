"""What answers look like: they are described by these."""

from __future__ import annotations

from marshmallow import fields, validate

from .schemas import Strict, told


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
    mode = fields.Str(required=True, metadata=told("'ledger', 'write_behind' or 'redis_only', which has no history"))
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
    coalesce_ms = fields.Int(required=True)
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
