"""The totals in SQL: the same fold as the Lua's and the model's, on every database, whatever is folded when."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select

from flask_leaderboard import AllTime, Board, Daily, Every, Segment, Weekly
from flask_leaderboard.errors import LayoutError
from flask_leaderboard.log.database import Database
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.events import Draft
from flask_leaderboard.log.tables import boards, events, projections, segment_values, totals, users
from flask_leaderboard.log.totals import Totals
from tests.model import Model, RefusedError

NOW = 2_540_376_000_000_000
HOUR = 3_600_000_000
USERS = ("mary", "bob", "é", "e\u0301", "Z")
WINDOWS = ("all", "hourly", "daily")


def arena(**rules: Any) -> Board:
    windows = [AllTime(), Every(timedelta(hours=1), name="hourly"), Daily()]
    return Board("arena", **{"mode": "ledger", "windows": windows, "segments": [Segment("country", limit=2)], **rules})


def model_of(board: Board) -> Model:
    lowest, highest = board.bounds
    resolution = board.tie_resolution // timedelta(microseconds=1)
    return Model(
        board.update, tuple(board.updates), board.order, board.tie_break, resolution, lowest, highest, WINDOWS, 2
    )  # fmt: skip


def table(all_totals: Totals, board: Board, window: str, period: str, segment: str | None) -> list[tuple[str, float]]:
    with all_totals.reading() as (connection, _):
        row = all_totals.rows().find(connection, window, period, segment)
        if row is None:
            return []
        order = (totals.c.standing, totals.c.tie, users.c.user_id)
        query = select(users.c.user_id, totals.c.standing).join(users, users.c.id == totals.c.user)
        sign = -1 if board.order == "desc" else 1
        found = connection.execute(query.where(totals.c.ranking == row.id).order_by(*order))
        return [(name, sign * standing + 0.0) for name, standing in found]


def clear(database: Database) -> None:
    with database.begin() as connection:
        for name in ("total", "ranking", "period", "segment_value", "projection", "submission_id", "event", "user", "board"):
            connection.execute(delete(totals.metadata.tables[f"leaderboard_{name}"]))


SUBMIT = st.tuples(
    st.just("submit"),
    st.sampled_from(USERS),
    st.integers(-9, 9),
    st.integers(0, 40),
    st.sampled_from((None, "country=NL", "country=BE", "country=DE")),
    st.sampled_from(("increment", "best", "latest")),
)
REMOVE = st.tuples(st.just("remove"), st.sampled_from(USERS))
STEP = st.one_of(SUBMIT, SUBMIT, SUBMIT, REMOVE, st.tuples(st.just("wait"), st.integers(1, 50)), st.tuples(st.just("fold")))


@settings(max_examples=25)
@given(
    steps=st.lists(STEP, max_size=40),
    rules=st.fixed_dictionaries(
        {
            "order": st.sampled_from(("desc", "asc")),
            "tie_break": st.sampled_from(("first", "last", "member")),
            "tie_resolution": st.sampled_from((timedelta(milliseconds=1), timedelta(minutes=7))),
            "score_type": st.sampled_from(("integer", "float")),
        }
    ),
)
def test_totals_are_the_fold_of_the_log(database: Database, steps: list[Any], rules: dict[str, Any]) -> None:
    clear(database)
    board = arena(updates=("best", "latest"), score_range=(-15, 15), **rules)
    model, log, now, played = model_of(board), EventLog(board, database), NOW, 0
    folded = Totals(board, database, log)
    for step in steps:
        if step[0] == "wait":
            now += step[1] * 60_000_000
        elif step[0] == "fold":
            folded.fold(3)
        elif step[0] == "remove":
            log.append([Draft("remove", step[1], None, now, now)])
            _remove(model, step[1], now)
            played += 1
        else:
            played += _submit(model, log, board, now, step)
    assert folded.catch_up(played, 30)
    assert folded.number() == log.head() == played
    for window, period, segment in model.rankings:
        wanted = [(user, float(score)) for user, score, _ in model.table((window, period, segment))]
        assert table(folded, board, window, period, segment) == wanted
    with folded.reading() as (connection, _):
        assert set(folded.labels(connection)) == model.segments


def _submit(model: Model, log: EventLog, board: Board, now: int, step: Any) -> int:
    _, user, points, minutes, segment, update = step
    at = now - minutes * 60_000_000
    try:
        model.open_windows(at, now, known=False)
    except RefusedError:
        return 0  # such are refused before they are logged
    log.append([Draft("submit", user, points, at, now, update, (segment,) if segment else ())])
    with suppress(RefusedError):
        model.submit(user, points, at, now, None, segment, update)
    return 1


def _remove(model: Model, user: str, now: int) -> None:
    """Take the user out of what is open: what has closed stays as it is."""
    for (window, _, _), held in model.rankings.items():
        found = held.get(user)
        if found is not None and (window == "all" or now < _end(window, found[1]) + 60_000_000):
            del held[user]


def _end(window: str, at: int) -> int:
    length = HOUR if window == "hourly" else 24 * HOUR
    return at - at % length + length


def test_threads_fold_each_event_once(database: Database) -> None:
    board = arena()
    log = EventLog(board, database)
    log.append([Draft("submit", USERS[n % 5], 1, NOW, NOW, "increment") for n in range(300)])
    failures: list[BaseException] = []

    def fold() -> None:
        try:
            own = Totals(board, database, log)
            while own.fold(7):
                pass
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=fold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert table(Totals(board, database, log), board, "all", "all", None) == [
        (user, 60.0) for user in sorted(USERS, key=str.encode)
    ]


def test_dying_before_the_commit_leaves_all_as_it_was(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    board = arena()
    log = EventLog(board, database)
    log.append([Draft("submit", "mary", 5, NOW, NOW, "increment", ("country=NL",))])
    folded = Totals(board, database, log)
    for step in ("_held", "_write", "_move_to"):
        with monkeypatch.context() as patch:
            patch.setattr(Totals, step, _die)
            with pytest.raises(KeyboardInterrupt):
                folded.fold()
        with database.begin() as connection:
            assert connection.scalar(select(totals.c.standing)) is None
            assert connection.scalar(select(segment_values.c.label)) is None
            assert connection.scalar(select(projections.c.folded)) == 0
    assert folded.fold() == 1
    assert table(folded, board, "all", "all", "country=NL") == [("mary", 5.0)]


def _die(*_: Any) -> None:
    raise KeyboardInterrupt


def test_other_rules_are_told_and_the_totals_made_anew(database: Database) -> None:
    old, new = arena(), arena(order="asc", windows=[AllTime(), Weekly()])
    log = EventLog(old, database)
    log.append([Draft("submit", user, points, NOW, NOW, "increment") for user, points in (("mary", 5), ("bob", 3))])
    Totals(old, database, log).catch_up(2, 10)
    changed = Totals(new, database, EventLog(new, database))
    log.append([Draft("submit", "bob", 1, NOW, NOW, "increment")])
    with pytest.raises(LayoutError, match="--from-log"):
        changed.fold()
    changed.forget()
    assert changed.catch_up(3, 10)
    assert table(changed, new, "all", "all", None) == [("bob", 4.0), ("mary", 5.0)]
    assert table(changed, new, "weekly", "2050-W26", None) == [("bob", 4.0), ("mary", 5.0)]


def test_boards_are_folded_apart(database: Database) -> None:
    first, second = arena(), Board("race", mode="ledger")
    logs = [EventLog(board, database) for board in (first, second)]
    for log, points in zip(logs, (1, 2), strict=True):
        log.append([Draft("submit", "mary", points, NOW, NOW, "increment")])
    folded = [Totals(board, database, log) for board, log in zip((first, second), logs, strict=True)]
    for one in folded:
        assert one.fold() == 1
        assert one.fold() == 0
    assert table(folded[0], first, "all", "all", None) == [("mary", 1.0)]
    assert table(folded[1], second, "all", "all", None) == [("mary", 2.0)]
    with database.begin() as connection:
        assert connection.execute(select(boards.c.name).join(events, events.c.board == boards.c.id)).scalars().all()
