"""Times as whole microseconds since 1970 in UTC: exact in a double, and the same in every language."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ..errors import TimeError

MICROSECONDS = 1_000_000
DAY = 86_400 * MICROSECONDS
FUTURE_SKEW = 5 * MICROSECONDS
"""How far ahead a submission's time may lie: clocks differ."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ONE = timedelta(microseconds=1)


def to_instant(moment: datetime) -> int:
    """Give an aware datetime as microseconds."""
    if moment.tzinfo is None:
        raise TimeError(f"time {moment.isoformat()!r} has no time zone: use an aware datetime, such as datetime.now(UTC)")
    return (moment - EPOCH) // _ONE


def to_datetime(instant: int) -> datetime:
    """Give microseconds as an aware datetime in UTC."""
    return EPOCH + timedelta(microseconds=instant)


def duration(length: timedelta) -> int:
    """Give a timedelta as microseconds."""
    return length // _ONE
