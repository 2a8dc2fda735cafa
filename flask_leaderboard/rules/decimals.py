"""Numbers out of JSON, query strings and files, without losing a digit."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from ..errors import PointsError
from .scores import Points

_JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_MOST_DIGITS = 330


def read_fraction(digits: str) -> float | Decimal:
    """Give the double that a decimal names, or the decimal itself where it is none: boards refuse that."""
    number = float(digits)
    try:
        exact = Decimal(digits)
    except ArithmeticError:  # an exponent beyond all bounds
        exact = Decimal("Infinity")
    if math.isinf(number) or len(digits) > _MOST_DIGITS:
        return Decimal("Infinity")
    return number if exact in (Decimal(repr(number)), Decimal(number)) else exact


def read_number(digits: str) -> Points:
    """Give the number that a text names in JSON's form."""
    match = _JSON_NUMBER.fullmatch(digits)
    if match is None or len(digits) > _MOST_DIGITS:
        raise PointsError(f"{digits[:40]!r} is not a number")
    return read_fraction(digits) if match[2] or match[3] else int(digits)
