"""The time slices a board keeps, and the periods they fall into. `calendar` has those that follow local dates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from ..errors import ConfigurationError, TimeError, UnknownWindowError
from .instants import DAY, FUTURE_SKEW, MICROSECONDS, duration, to_datetime, to_instant
from .names import check_name

DEFAULT_GRACE = timedelta(minutes=1)
MOST_PERIODS = 2000
"""How many periods of a window may be kept at a time: erasing a user touches each of them."""


@dataclass(frozen=True, slots=True)
class Period:
    """One instance of a window: from `start` to before `end`, in microseconds."""

    id: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Window(ABC):
    """A time slice.

    `grace` is how long after its end a period still takes late events, `retention` how long it stays in Redis after its end
    (one more period, if not given).
    """

    name: str
    grace: timedelta | None = None
    retention: timedelta | None = None
    timed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_name(self.name, "window")
        for label, span in (("grace", self.grace), ("retention", self.retention)):
            if span is not None and (not isinstance(span, timedelta) or span < timedelta(0)):
                raise ConfigurationError(f"{label} of window {self.name!r} must be a timedelta of zero or more, not {span!r}")
        if self.grace_us > self.retention_us:
            raise ConfigurationError(
                f"window {self.name!r} takes events for {self.grace} after its end but is kept only for"
                f" {timedelta(microseconds=self.retention_us)}: raise its retention"
            )

        if self._most_kept > MOST_PERIODS:
            raise ConfigurationError(
                f"window {self.name!r} would keep {self._most_kept} periods at a time, and {MOST_PERIODS} is the most:"
                " lower its retention"
            )

    @property
    def _most_kept(self) -> int:
        """How many periods Redis may hold at a time."""
        return self.retention_us // self.longest + 2

    @property
    @abstractmethod
    def longest(self) -> int:
        """The length of its longest period."""

    @property
    @abstractmethod
    def calendar(self) -> str:
        """All that decides where periods begin, as one word."""

    @abstractmethod
    def period_at(self, instant: int) -> Period | None:
        """Find the period that an instant lies in."""

    @abstractmethod
    def period(self, period_id: str) -> Period:
        """Find a period by its id."""

    @property
    def grace_us(self) -> int:
        return duration(min(DEFAULT_GRACE, timedelta(microseconds=self.longest)) if self.grace is None else self.grace)

    @property
    def retention_us(self) -> int:
        return self.longest if self.retention is None else duration(self.retention)

    def is_open(self, period: Period, now: int) -> bool:
        """Tell whether a period still takes submissions."""
        return now < self.closes_at(period)

    def closes_at(self, period: Period) -> int:
        """Tell from when on a period takes no more submissions."""
        return period.end + self.grace_us

    def kept_until(self, period: Period) -> int | None:
        """Tell when a period may leave Redis; None for never."""
        return period.end + self.retention_us

    def live_periods(self, now: int) -> list[Period]:
        """List the periods that Redis may hold, the newest first; one may lie ahead by as much as clocks may differ."""
        periods = []
        period = self.period_at(now + FUTURE_SKEW)
        while period and period.start >= 0 and now < period.end + self.retention_us:
            periods.append(period)
            period = self.period_at(period.start - 1) if period.start else None
        return periods

    def closing_after(self, since: int, now: int) -> list[Period]:
        """List the begun periods that close after an instant, the newest first; of very many that have closed the newest."""
        periods: list[Period] = []
        closed = 0
        period = self.period_at(now)
        while period and period.start >= 0 and self.closes_at(period) > since and closed < MOST_PERIODS:
            periods.append(period)
            closed += self.closes_at(period) <= now
            period = self.period_at(period.start - 1) if period.start else None
        return periods

    def previous(self, now: int) -> Period:
        """Find the period before the running one."""
        running = self.period_at(now)
        before = self.period_at(running.start - 1) if running else None
        if before is None:
            raise UnknownWindowError(f"window {self.name!r} has no period before the present one")
        return before

    def _no_period(self, period_id: str, form: str) -> UnknownWindowError:
        return UnknownWindowError(f"window {self.name!r} has no period {period_id!r}: its periods are named {form}")


@dataclass(frozen=True, kw_only=True)
class AllTime(Window):
    """The ranking that never ends. Times from 2000 to before 2100 can be told apart."""

    name: str = "all"
    timed: ClassVar[bool] = False
    _forever: ClassVar[Period] = Period(
        "all", to_instant(datetime(2000, 1, 1, tzinfo=UTC)), to_instant(datetime(2100, 1, 1, tzinfo=UTC))
    )

    @property
    def longest(self) -> int:
        return self._forever.end - self._forever.start

    @property
    def calendar(self) -> str:
        return "all"

    def period_at(self, instant: int) -> Period | None:
        return self._forever if self._forever.start <= instant < self._forever.end else None

    def period(self, period_id: str) -> Period:
        if period_id != self._forever.id:
            raise self._no_period(period_id, "'all'")
        return self._forever

    def kept_until(self, period: Period) -> int | None:
        return None

    def live_periods(self, now: int) -> list[Period]:
        return [self._forever]


@dataclass(frozen=True)
class Every(Window):
    """A ranking for each stretch of a fixed length, counted from 1970 in UTC: ``20261118T100000Z``."""

    length: timedelta
    name: str = field(default="every", kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.length, timedelta) or self.longest < MICROSECONDS or self.longest % MICROSECONDS:
            raise ConfigurationError(
                f"length {self.length!r} of window {self.name!r} must be a timedelta of whole seconds, one or more"
            )
        super().__post_init__()

    @property
    def longest(self) -> int:
        return duration(self.length)

    @property
    def calendar(self) -> str:
        return f"{self.longest // MICROSECONDS}s"

    def period_at(self, instant: int) -> Period | None:
        start = instant - instant % self.longest
        return Period(f"{to_datetime(start):%Y%m%dT%H%M%SZ}", start, start + self.longest)

    def period(self, period_id: str) -> Period:
        try:
            start = to_instant(datetime.strptime(period_id, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC))
        except (ValueError, TimeError):
            start = 1
        found = self.period_at(start)
        if found is None or found.id != period_id:
            raise self._no_period(period_id, f"like '20261118T100000Z', a multiple of {self.length} after 1970")
        return found


@dataclass(frozen=True)
class Tournament(Window):
    """A ranking with a start and an end of its own. Its one period has the window's name."""

    name: str
    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        for label, moment in (("start", self.start), ("end", self.end)):
            if not isinstance(moment, datetime) or moment.tzinfo is None:
                raise ConfigurationError(
                    f"{label} of tournament {self.name!r} must be a datetime with a time zone, not {moment!r}"
                )
        if self.start >= self.end:
            raise ConfigurationError(f"tournament {self.name!r} must end after its start {self.start.isoformat()}")
        super().__post_init__()

    @property
    def longest(self) -> int:
        return to_instant(self.end) - to_instant(self.start)

    @property
    def calendar(self) -> str:
        return f"{to_instant(self.start)}-{to_instant(self.end)}"

    @property
    def _most_kept(self) -> int:
        return 1

    def period_at(self, instant: int) -> Period | None:
        only = self.period(self.name)
        return only if only.start <= instant < only.end else None

    def period(self, period_id: str) -> Period:
        if period_id != self.name:
            raise self._no_period(period_id, repr(self.name))
        return Period(self.name, to_instant(self.start), to_instant(self.end))

    def closing_after(self, since: int, now: int) -> list[Period]:
        only = self.period(self.name)
        return [only] if self.closes_at(only) > since else []

    def live_periods(self, now: int) -> list[Period]:
        only = self.period(self.name)
        return [only] if only.start - FUTURE_SKEW <= now < only.end + self.retention_us else []


@dataclass(frozen=True)
class Season(Window):
    """A ranking that an operator starts and ends by name: ``season-3``.

    Which season runs is not a rule but a fact kept beside the scores, so the methods that find periods by time or name know
    nothing here: see `running`. A season that nobody ends closes after `at_most`.
    """

    name: str = "season"
    at_most: timedelta = field(default=timedelta(days=366), kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.at_most, timedelta) or self.at_most < timedelta(seconds=1):
            raise ConfigurationError(f"at_most of season {self.name!r} must be a timedelta of a second or more")
        super().__post_init__()

    @property
    def longest(self) -> int:
        return duration(self.at_most)

    @property
    def calendar(self) -> str:
        return "season"

    @property
    def _most_kept(self) -> int:
        return 1  # as many as operators start: no rule tells

    @property
    def retention_us(self) -> int:
        return 28 * DAY if self.retention is None else duration(self.retention)

    def running(self, period_id: str, start: int, end: int | None = None) -> Period:
        """Give the period of a season that was started, and perhaps ended, at these instants."""
        return Period(check_name(period_id, "season"), start, start + self.longest if end is None else end)

    @property
    def grace_us(self) -> int:
        return 0

    def period_at(self, instant: int) -> Period | None:
        return None

    def period(self, period_id: str) -> Period:
        raise self._no_period(period_id, "by the operator who starts them")
