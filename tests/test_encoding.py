"""Both encodings: the order of what is stored is the order of (score, time, id)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from redis import Redis

from flask_leaderboard import AllTime, Board, Daily, Every, Leaderboard, Monthly, Weekly
from flask_leaderboard.errors import ConfigurationError
from tests.conftest import SetClock

LARGEST = 2**53 - 1
WINDOWS: list[Any] = [AllTime(), Daily(), Weekly(), Monthly(), Every(timedelta(minutes=1), name="minute")]


@st.composite
def boards(draw: st.DrawFn) -> Board:
    """Draw boards whose score range goes up to what just fits, and beyond."""
    window = draw(st.sampled_from(WINDOWS))
    resolution = draw(st.sampled_from([1, 10, 1000, 10**6, 3_600 * 10**6]))
    slots = -(-window.longest // resolution) + 1
    most = max(1, (2 * LARGEST + 1) // slots)
    values = draw(st.sampled_from([1, 2, 3, most - 1, most, most + 1, 2 * most])) or 1
    lowest = draw(st.sampled_from([0, -(values // 2), -LARGEST, LARGEST - values + 1]))
    highest = min(lowest + values - 1, LARGEST)
    return Board(
        "e",
        order=draw(st.sampled_from(["desc", "asc"])),
        tie_break=draw(st.sampled_from(["first", "last"])),
        tie_resolution=timedelta(microseconds=resolution),
        score_range=(max(lowest, -LARGEST), highest),
        windows=[window],
        update="latest",
        dense=True,
    )


@pytest.mark.parametrize("name", ["redis70", "valkey9"])
@settings(max_examples=150)
@given(data=st.data(), board=boards())
def test_stored_order_is_order_of_score_time_and_id(name: str, backends: Any, board: Board, data: st.DataObject) -> None:
    client = backends(name).client
    client.flushall()
    clock = SetClock()
    lb = Leaderboard(board, client, clock=clock)
    window = board.windows[0]
    period = window.period_at(clock.now)
    assert period is not None
    lowest, highest = map(int, board.bounds)
    near = st.integers(0, 3)
    scores = st.one_of(
        near.map(lambda i: min(highest, lowest + i)), near.map(lambda i: max(lowest, highest - i)), st.integers(lowest, highest)
    )
    times = st.one_of(
        near.map(lambda i: period.start + i), near.map(lambda i: period.end - 1 - i), st.integers(period.start, period.end - 1)
    )
    rows = data.draw(st.lists(st.tuples(scores, times), min_size=1, max_size=12))
    ranking = lb.store.rankings.get(window, period)
    lb.store.restore(ranking, [(f"u{i}", score, at) for i, (score, at) in enumerate(rows)])
    resolution = board.tie_resolution // timedelta(microseconds=1)

    def place(i: int) -> tuple[int, int, str]:
        score, tick = rows[i][0], rows[i][1] // resolution
        return (-score if board.order == "desc" else score, tick if board.tie_break == "first" else -tick, f"u{i}")

    expected = sorted(range(len(rows)), key=place)
    seen = lb.store.page(ranking, "unique", 0, 100)[0].entries
    assert [entry.user_id for entry in seen] == [f"u{i}" for i in expected]
    assert [entry.score for entry in seen] == [rows[i][0] for i in expected]
    assert [entry.at for entry in seen] == [rows[i][1] // resolution * resolution for i in expected]


def test_packed_is_chosen_where_it_fits() -> None:
    board = Board("e", score_range=(0, 1_000_000), windows=[Daily(), Weekly(), Monthly(), AllTime()])
    assert [board.encoding(name).kind for name in ("daily", "weekly", "monthly", "all")] == ["packed"] * 3 + ["exact"]
    assert board.encoding("daily").headroom > 100
    assert board.encoding("all").headroom < 1


@pytest.mark.parametrize(
    ("rules", "reason"),
    [({}, "no score_range"), ({"score_type": "float", "score_range": (0, 1)}, "no score_range of whole numbers")],
)
def test_exact_tells_why(rules: dict[str, Any], reason: str) -> None:
    encoding = Board("e", windows=[Daily()], **rules).encoding("daily")
    assert encoding.kind == "exact"
    assert reason in encoding.reason


def test_ties_by_member_need_no_time() -> None:
    encoding = Board("e", tie_break="member", score_type="float").encoding("all")
    assert (encoding.kind, encoding.slots) == ("packed", 1)


def test_insisting_on_packed_tells_what_would_fit() -> None:
    with pytest.raises(ConfigurationError, match=r"tie_resolution of .* or coarser would fit"):
        Board("e", packed=True, score_range=(0, 10**6), windows=[AllTime()])
    with pytest.raises(ConfigurationError, match="declare a score_range"):
        Board("e", packed=True, windows=[Daily()])
    Board("e", packed=True, score_range=(0, 10**6), tie_resolution=timedelta(seconds=1), windows=[AllTime()])


def test_integers_are_exact_at_both_ends(client: Redis, clock: SetClock) -> None:
    lb = Leaderboard(Board("e", updates=("latest",)), client, clock=clock)
    lb.submit("high", LARGEST)
    lb.submit("low", -LARGEST)
    lb.submit("next", LARGEST - 1)
    assert [(entry.user_id, entry.score) for entry in lb.top().entries] == [
        ("high", LARGEST),
        ("next", LARGEST - 1),
        ("low", -LARGEST),
    ]


def test_floats_are_summed_as_doubles(client: Redis, clock: SetClock) -> None:
    lb = Leaderboard(Board("e", score_type="float"), client, clock=clock)
    lb.submit("mary", 0.1)
    assert lb.submit("mary", 0.2)["all"].new_score == 0.1 + 0.2
