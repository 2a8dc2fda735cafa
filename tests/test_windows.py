"""Windows and their periods."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import pytest
from hypothesis import given

from flask_leaderboard import AllTime, Daily, Every, Monthly, Season, Tournament, Weekly
from flask_leaderboard.errors import ConfigurationError, UnknownWindowError
from flask_leaderboard.rules.instants import to_instant

ZONES = [
    "UTC",
    "Antarctica/Troll",
    "Europe/Amsterdam",
    "America/St_Johns",
    "Pacific/Apia",
    "Asia/Beirut",
    "America/Havana",
    "Africa/Cairo",
    "+05:45",
]
WINDOWS: list[Any] = [
    *(kind(tz=zone) for kind in (Daily, Weekly, Monthly) for zone in ZONES),
    *(Weekly(first_day=day) for day in ("sunday", "saturday", "tuesday")),
    Every(timedelta(hours=7)),
]


def instant(text: str) -> int:
    return to_instant(datetime.fromisoformat(text))


@given(window=st.sampled_from(WINDOWS), at=st.integers(instant("1990-01-01T00:00Z"), instant("2060-01-01T00:00Z")))
def test_periods_cover_time_without_gap_or_overlap(window: Any, at: int) -> None:
    period = window.period_at(at)
    assert period.start <= at < period.end
    assert period.end - period.start <= window.longest or window.tz == "Pacific/Apia"
    following = window.period_at(period.end)
    assert following.start == period.end
    assert following.id > period.id
    assert window.period_at(period.end - 1) == period
    assert window.period(period.id) == period


@given(day=st.dates(date(1990, 1, 2), date(2060, 1, 1)), zone=st.sampled_from(ZONES[:3]))
def test_noon_lies_in_its_own_date(day: date, zone: str) -> None:
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo(zone))
    period = Daily(tz=zone).period_at(to_instant(noon))
    assert period is not None
    assert period.id == day.isoformat()


def test_day_has_23_24_or_25_hours() -> None:
    hours = {}
    for day in ("2026-03-29", "2026-07-01", "2026-10-25"):
        period = Daily(tz="Europe/Amsterdam").period(day)
        hours[day] = (period.end - period.start) // (3600 * 10**6)
    assert list(hours.values()) == [23, 24, 25]


@pytest.mark.parametrize(("day", "week"), [("2027-01-01", "2026-W53"), ("2024-12-30", "2025-W01"), ("2026-11-18", "2026-W47")])
def test_iso_weeks_at_new_year(day: str, week: str) -> None:
    period = Weekly().period_at(instant(f"{day}T12:00Z"))
    assert period is not None
    assert period.id == week


@pytest.mark.parametrize("window", [Daily(), Weekly(), Monthly(), Every(timedelta(hours=1)), AllTime()])
@pytest.mark.parametrize(
    "name",
    [
        "",
        "2026",
        "2026-W60",
        "2026-13",
        "2026-02-30",
        "20261118",
        "2026-11-18T",
        "x" * 300,
        "９９９９-W01",
        "1969-12-31",
        "1960-01",
        "0001-W01",
        "19691231T230000Z",
    ],
)
def test_wrong_period_ids_are_refused(window: Any, name: str) -> None:
    with pytest.raises(UnknownWindowError, match="has no period"):
        window.period(name)


def test_default_retention_is_one_more_period() -> None:
    day = Daily().period("2026-11-18")
    assert Daily().kept_until(day) == day.start + 48 * 3600 * 10**6
    assert AllTime().kept_until(AllTime().period("all")) is None


def test_previous_period() -> None:
    assert Weekly().previous(instant("2027-01-05T00:00Z")).id == "2026-W53"
    with pytest.raises(UnknownWindowError):
        AllTime().previous(instant("2027-01-05T00:00Z"))


def test_tournament_has_one_period() -> None:
    cup = Tournament("cup", datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 3, tzinfo=UTC))
    assert cup.period_at(instant("2026-04-30T23:59Z")) is None
    assert cup.period_at(instant("2026-05-02T00:00Z")) == cup.period("cup")
    assert cup.live_periods(instant("2026-05-04T00:00Z")) == [cup.period("cup")]
    assert cup.live_periods(instant("2026-05-06T00:00Z")) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Daily(tz="Mars/Olympus"), "time zone 'Mars/Olympus' is not known"),
        (lambda: Daily(tz="+99:00"), "is not known"),
        (lambda: Daily(tz=5), "is not an IANA name"),
        (lambda: Daily(name="Big Day"), "name 'Big Day' is not valid"),
        (lambda: Weekly(first_day="someday"), "first_day 'someday'"),
        (lambda: Every(timedelta(milliseconds=5)), "whole seconds"),
        (lambda: Every(5), "whole seconds"),
        (lambda: Daily(grace=timedelta(days=3)), "raise its retention"),
        (lambda: Daily(grace=-timedelta(days=3)), "zero or more"),
        (lambda: Tournament("cup", datetime(2026, 5, 1), datetime(2026, 5, 3)), "with a time zone"),
        (lambda: Tournament("cup", datetime(2026, 5, 3, tzinfo=UTC), datetime(2026, 5, 3, tzinfo=UTC)), "must end after"),
        (lambda: Season("s", at_most=timedelta(0)), "at_most"),
    ],
)
def test_impossible_windows_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message.replace("+", r"\+")):
        make()
