"""Points and scores: exact numbers or nothing."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Literal

from ..errors import PointsError

ScoreType = Literal["integer", "float"]
Number = int | float
Points = int | float | Decimal

LARGEST_INTEGER = 2**53 - 1
LARGEST_FLOAT = 1.7976931348623157e308


def largest(score_type: ScoreType) -> Number:
    """Give the largest score of a type; the lowest is its negative."""
    return LARGEST_INTEGER if score_type == "integer" else LARGEST_FLOAT


def exact_number(value: Points, score_type: ScoreType, what: str = "points") -> Number:
    """Give a number as the board counts it, or refuse what it can't hold exactly."""
    if isinstance(value, int) and not isinstance(value, bool) and -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        return int(value) if score_type == "integer" else float(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PointsError(f"{what} {value!r} must be a number (int, float or Decimal), not {type(value).__name__}")
    if isinstance(value, int):
        if value.bit_length() > 1024:
            raise PointsError(f"{what} must be a number that a double can hold, not one of {value.bit_length()} bits")
    elif not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise PointsError(f"{what} {value!r} must be finite")
    return _exact_integer(value, what) if score_type == "integer" else _exact_float(value, what)


def _exact_integer(value: Points, what: str) -> int:
    whole = int(value)
    if whole != value:
        raise PointsError(f"{what} {value!r} must be whole: this board counts integers (score_type='float' takes fractions)")
    if abs(whole) > LARGEST_INTEGER:
        raise PointsError(f"{what} {value!r} must be within ±(2^53-1), the largest integers that are exact everywhere")
    return whole


def _exact_float(value: Points, what: str) -> float:
    try:
        double = float(value)
    except OverflowError:
        double = math.inf
    if double != value:
        raise PointsError(f"{what} {value!r} is not exactly a double: round it to one first, with float()")
    return double + 0.0


def number_text(value: Number) -> str:
    """Write a number as the Lua scripts read it: decimal text that names the same double."""
    return str(value) if type(value) is int else f"{value:.17g}"
