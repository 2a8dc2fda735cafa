"""Time zones, and the instant at which a local date begins."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..errors import ConfigurationError
from .instants import MICROSECONDS, to_instant

_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})")


def load_zone(zone: str | tzinfo) -> tzinfo:
    """Find a time zone by its IANA name or a fixed offset such as ``+05:30``."""
    if isinstance(zone, timezone) or (isinstance(zone, ZoneInfo) and zone.key):
        return zone
    if not isinstance(zone, str):
        raise ConfigurationError(f"time zone {zone!r} is not an IANA name, an offset such as '+05:30', or a ZoneInfo")
    if match := _OFFSET.fullmatch(zone):
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        if offset < timedelta(hours=24) and int(minutes) < 60:
            return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigurationError(
            f"time zone {zone!r} is not known: use an IANA name such as 'Europe/Amsterdam' or an offset such as '+05:30'"
            " (the package 'tzdata' brings the names where the system has none)"
        ) from error


def zone_name(zone: tzinfo) -> str:
    """Give the name under which a zone is compared and shown."""
    if isinstance(zone, ZoneInfo):
        return zone.key
    return f"{datetime(1970, 1, 1, tzinfo=zone):%z}"


@lru_cache(maxsize=4096)
def day_start(day: date, zone: tzinfo) -> int:
    """Give the first instant of a local date.

    A midnight that happens twice counts the first time. Where the clock jumps over midnight, the day begins with the jump.
    """
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
    before, after = (to_instant(midnight.replace(fold=fold).astimezone(UTC)) for fold in (1, 0))
    if before >= after:
        return after
    return _jump_between(before, after, zone)


def _jump_between(early: int, late: int, zone: tzinfo) -> int:
    """Find the instant in (early, late] at which the zone's offset changes."""

    def offset_at(second: int) -> timedelta | None:
        return datetime.fromtimestamp(second, zone).utcoffset()

    low, high = early // MICROSECONDS, late // MICROSECONDS
    settled = offset_at(high)
    while low < high:
        middle = (low + high) // 2
        if offset_at(middle) == settled:
            high = middle
        else:
            low = middle + 1
    return low * MICROSECONDS


def local_date(instant: int, zone: tzinfo) -> date:
    """Give the date whose day contains an instant."""
    day = datetime.fromtimestamp(instant // MICROSECONDS, zone).date()
    while day_start(day, zone) > instant:
        day -= timedelta(days=1)
    while day_start(day + timedelta(days=1), zone) <= instant:
        day += timedelta(days=1)
    return day
