"""Marshmallow fields for what boards take. What they let through, the boards check themselves."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from marshmallow import ValidationError, fields

from ..errors import PointsError, TimeError
from ..rules.decimals import read_number
from ..rules.instants import read_moment


class UserId(fields.Field[str]):
    """An id as text, or a whole number that is taken as its text."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if isinstance(value, str):
            return value
        if type(value) is int:
            return str(value)
        raise ValidationError("must be text or a whole number")


class AnyNumber(fields.Field[Any]):
    """A number of JSON as it came: the board tells whether it can hold it."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        return value


class NumberText(fields.Field[Any]):
    """A number in a query string."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        try:
            return read_number(value)
        except PointsError as error:
            raise ValidationError(str(error)) from None


class CountText(fields.Field[int]):
    """A count in a query string: digits and nothing else."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if not (isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 16):
            raise ValidationError("must be a whole number from 0")
        return int(value)


class Moment(fields.Field[datetime]):
    """A time in ISO 8601 with its zone."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> datetime:
        try:
            return read_moment(value)
        except TimeError as error:
            raise ValidationError(str(error)) from None


USER_ID = {"type": ["string", "integer"], "minLength": 1, "maxLength": 255, "example": "mary1934"}
POINTS = {"type": "number", "example": 10}
