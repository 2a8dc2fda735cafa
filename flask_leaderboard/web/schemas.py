"""What requests look like: they are loaded through these."""

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


class RankSchema(ReadSchema):
    window = fields.Str(metadata=told("The window; the board's first, if left out; '*' for all of them", example="weekly"))


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
