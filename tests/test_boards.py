"""Declaring boards."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_leaderboard import Board, Daily, Segment
from flask_leaderboard.errors import ConfigurationError, IdentityError, PointsError, UnknownWindowError


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"name": "Arena"}, "board name 'Arena' is not valid"),
        ({"name": ""}, "is not valid"),
        ({"name": "a" * 65}, "is not valid"),
        ({"update": "add"}, "update 'add' of board 'arena' is none of increment, best, latest"),
        ({"updates": ["add"]}, "updates 'add'"),
        ({"order": "up"}, "order 'up'"),
        ({"ranking": "olympic"}, "ranking 'olympic'"),
        ({"tie_break": "random"}, "tie_break 'random'"),
        ({"tie_resolution": 1}, "tie_resolution 1"),
        ({"score_type": "decimal"}, "score_type 'decimal'"),
        ({"score_range": (5, 1)}, "the lower number first"),
        ({"score_range": (0, 0.5)}, "must be whole"),
        ({"score_range": 5}, "a pair of numbers"),
        ({"score_range": (0, 2**53)}, "2\\^53-1"),
        ({"points_range": (0, float("nan"))}, "must be finite"),
        ({"windows": []}, "one or more windows"),
        ({"windows": ["daily"]}, "one or more windows"),
        ({"windows": [Daily(), Daily(tz="+01:00")]}, "the same name"),
        ({"segments": ["country", "country"]}, "the same name"),
        ({"segments": ["Country"]}, "segment name 'Country'"),
        ({"segments": [5]}, "names or Segment objects"),
        ({"segments": "country"}, "must be a list"),
        ({"windows": 5}, "must be a list"),
        ({"updates": 5}, "must be a list"),
        ({"id_buckets": 0}, "id_buckets 0"),
        ({"remember_ids": 5}, "remember_ids 5"),
    ],
)
def test_impossible_boards_are_refused(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Board(**{"name": "arena", **rules})


@pytest.mark.parametrize(
    "points",
    [
        True,
        "5",
        " 5 ",
        None,
        b"5",
        1.5,
        Decimal("1.5"),
        float("nan"),
        float("inf"),
        2**53,
        -(2**53),
        Decimal("NaN"),
        Decimal("sNaN"),
        1 + 0j,
    ],
)
def test_points_that_no_integer_board_holds(points: Any) -> None:
    with pytest.raises(PointsError):
        Board("arena").check_points(points)


def test_huge_integers_are_refused_without_printing_them() -> None:
    for score_type in ("integer", "float"):
        with pytest.raises(PointsError, match="16610 bits"):
            Board("arena", score_type=score_type).check_points(10**5000)  # type: ignore[arg-type]


@pytest.mark.parametrize("points", [True, "5", float("-inf"), Decimal("0.1"), 2**53 + 1, 10**400, Decimal("1e400")])
def test_points_that_no_float_board_holds(points: Any) -> None:
    with pytest.raises(PointsError):
        Board("arena", score_type="float").check_points(points)


def test_points_are_taken_exactly() -> None:
    whole, real = Board("arena"), Board("arena", score_type="float")
    assert [whole.check_points(points) for points in (5, 5.0, Decimal("5.0"), -0.0)] == [5, 5, 5, 0]
    assert [real.check_points(points) for points in (5, 0.1, Decimal("0.5"), 2**60)] == [5.0, 0.1, 0.5, 2.0**60]
    assert str(real.check_points(-0.0)) == "0.0"


def test_points_range_limits_one_submission() -> None:
    board = Board("arena", points_range=(1, 100))
    assert board.check_points(100) == 100
    with pytest.raises(PointsError, match="outside 1 to 100"):
        board.check_points(101)


def test_dense_is_implied_by_the_ranking() -> None:
    assert Board("arena", ranking="dense").dense
    assert not Board("arena").dense


def test_unknown_names_tell_what_there_is() -> None:
    with pytest.raises(UnknownWindowError, match="it has 'all'"):
        Board("arena").window("daily")
    with pytest.raises(IdentityError, match="no segment 'country'"):
        Board("arena").segment("country")


@pytest.mark.parametrize("value", ["", "N L", "a/b", "nl", "N" * 65, 5, None, "NL\n"])
def test_segment_values_follow_their_pattern(value: Any) -> None:
    segment = Segment("country", pattern="[A-Z /]*")
    with pytest.raises(IdentityError, match="is no value of segment 'country'"):
        segment.label(value)


def test_a_layout_names_all_that_decides_how_data_is_read() -> None:
    assert Board("arena", windows=[Daily(tz="Europe/Amsterdam")], score_range=(0, 100)).layout("daily") == (
        "packed desc first 1000 93600001 -50 integer - Europe/Amsterdam"
    )
    assert Board("arena", order="asc", dense=True).layout("all") == "exact asc first 1000 3155760000001 6 integer levels all"
