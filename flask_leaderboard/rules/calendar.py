"""Windows whose periods begin at local midnights: days, weeks, months."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass, field
from datetime import date, timedelta, tzinfo
from typing import ClassVar

from ..errors import ConfigurationError
from .instants import DAY, duration
from .windows import Period, Window
from .zones import day_start, load_zone, local_date, zone_name

LONGEST_SHIFT = DAY // 12
"""By how much a change of the clock lengthens a period at most: two hours, at Troll in Antarctica."""


@dataclass(frozen=True, kw_only=True)
class CalendarWindow(Window):
    """A window whose periods begin at local midnights."""

    tz: str | tzinfo = "UTC"
    zone: tzinfo = field(init=False, repr=False, compare=False)
    form: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "zone", load_zone(self.tz))
        super().__post_init__()

    @property
    def calendar(self) -> str:
        return zone_name(self.zone)

    @property
    def retention_us(self) -> int:
        return self.longest - LONGEST_SHIFT if self.retention is None else duration(self.retention)

    @abstractmethod
    def _first_day(self, day: date) -> date:
        """Give the first date of the period that a date lies in."""

    @abstractmethod
    def _next_first_day(self, first: date) -> date:
        """Give the first date of the period behind."""

    @abstractmethod
    def _id(self, first: date) -> str:
        """Name the period that begins on a date."""

    @abstractmethod
    def _parse(self, period_id: str) -> date:
        """Give the first date of a named period; ValueError where the name has not the right form."""

    def period_at(self, instant: int) -> Period | None:
        return self._beginning(self._first_day(local_date(instant, self.zone)))

    def period(self, period_id: str) -> Period:
        try:
            first = self._parse(period_id)
            if self._id(first) == period_id and first.year >= 1970:
                return self._beginning(first)
        except (ValueError, OverflowError):
            pass
        raise self._no_period(period_id, self.form)

    def _beginning(self, first: date) -> Period:
        return Period(self._id(first), day_start(first, self.zone), day_start(self._next_first_day(first), self.zone))


@dataclass(frozen=True, kw_only=True)
class Daily(CalendarWindow):
    """A ranking for each local date: ``2026-11-18``."""

    name: str = "daily"
    form: ClassVar[str] = "like '2026-11-18'"

    @property
    def longest(self) -> int:
        return DAY + LONGEST_SHIFT

    def _first_day(self, day: date) -> date:
        return day

    def _next_first_day(self, first: date) -> date:
        return first + timedelta(days=1)

    def _id(self, first: date) -> str:
        return first.isoformat()

    def _parse(self, period_id: str) -> date:
        return date.fromisoformat(period_id)


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, kw_only=True)
class Weekly(CalendarWindow):
    """A ranking for each week: ``2026-W47``.

    Weeks that begin on another day than Monday have the number of the ISO week that holds their fourth day.
    """

    name: str = "weekly"
    first_day: str = "monday"
    form: ClassVar[str] = "like '2026-W47'"

    def __post_init__(self) -> None:
        if self.first_day not in WEEKDAYS:
            raise ConfigurationError(f"first_day {self.first_day!r} of window {self.name!r} is none of {', '.join(WEEKDAYS)}")
        super().__post_init__()

    @property
    def longest(self) -> int:
        return 7 * DAY + LONGEST_SHIFT

    @property
    def calendar(self) -> str:
        return f"{super().calendar},{self.first_day}"

    def _first_day(self, day: date) -> date:
        return day - timedelta(days=(day.weekday() - WEEKDAYS.index(self.first_day)) % 7)

    def _next_first_day(self, first: date) -> date:
        return first + timedelta(days=7)

    def _id(self, first: date) -> str:
        year, week, _ = (first + timedelta(days=3)).isocalendar()
        return f"{year:04d}-W{week:02d}"

    def _parse(self, period_id: str) -> date:
        if not re.fullmatch(r"\d{4}-W\d{2}", period_id):
            raise ValueError(period_id)
        fourth_day = (WEEKDAYS.index(self.first_day) + 3) % 7 + 1
        return date.fromisocalendar(int(period_id[:4]), int(period_id[6:]), fourth_day) - timedelta(days=3)


@dataclass(frozen=True, kw_only=True)
class Monthly(CalendarWindow):
    """A ranking for each month: ``2026-11``."""

    name: str = "monthly"
    form: ClassVar[str] = "like '2026-11'"

    @property
    def longest(self) -> int:
        return 31 * DAY + LONGEST_SHIFT

    def _first_day(self, day: date) -> date:
        return day.replace(day=1)

    def _next_first_day(self, first: date) -> date:
        return (first + timedelta(days=31)).replace(day=1)

    def _id(self, first: date) -> str:
        return f"{first.year:04d}-{first.month:02d}"

    def _parse(self, period_id: str) -> date:
        return date.fromisoformat(f"{period_id}-01")
