"""Times as whole microseconds since 1970 in UTC: exact in a double, and the same in every language."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from ..errors import TimeError

MICROSECONDS = 1_000_000
DAY = 86_400 * MICROSECONDS
LATEST = 7_258_118_400 * MICROSECONDS
FUTURE_SKEW = 5 * MICROSECONDS
"""How far ahead a submission's time may lie: clocks differ."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ONE = timedelta(microseconds=1)


def to_instant(moment: datetime) -> int:
    """Give an aware datetime as microseconds."""
    if not isinstance(moment, datetime):
        raise TimeError(f"time {moment!r} must be a datetime, not {type(moment).__name__}")
    if moment.tzinfo is None:
        raise TimeError(f"time {moment.isoformat()!r} has no time zone: use an aware datetime, such as datetime.now(UTC)")
    instant = (moment - EPOCH) // _ONE
    if not 0 <= instant < LATEST:
        raise TimeError(f"time {moment.isoformat()!r} must lie between 1970 and 2200")
    return instant


def read_moment(text: Any) -> datetime:
    """Read a time in ISO 8601 with its zone."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise TimeError("must be a time in ISO 8601, such as '2026-11-18T12:00:00Z'") from None
    if moment.tzinfo is None:
        raise TimeError("must have a time zone, such as the Z of '2026-11-18T12:00:00Z'")
    return moment


def to_datetime(instant: int) -> datetime:
    """Give microseconds as an aware datetime in UTC."""
    return EPOCH + timedelta(microseconds=instant)


def duration(length: timedelta) -> int:
    """Give a timedelta as microseconds."""
    return length // _ONE
