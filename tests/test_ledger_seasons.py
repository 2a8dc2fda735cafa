"""Seasons of boards with a log: the number of an event tells for ever in which one it counts."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_leaderboard import (
    AllTime,
    Board,
    Daily,
    Leaderboard,
    LeaderboardError,
    Receipt,
    Season,
    Segment,
    Submission,
    current_leaderboards,
    period_closed,
)
from flask_leaderboard.errors import ClosedPeriodError, LogUnavailableError, SeasonError, UnknownWindowError
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.rules.instants import DAY, MICROSECONDS, to_datetime
from flask_leaderboard.rules.seasons import Played
from flask_leaderboard.store.rankings import BACKSTOP_US
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.servers import FLAVOURS
from tests.waiting import until
from tests.web import make_app

MINUTE = 60 * MICROSECONDS
Keep = Callable[..., Leaderboard]


def arena(**rules: Any) -> Board:
    return Board("arena", **{"mode": "ledger", "windows": [AllTime(), Season()], "segments": [Segment("country")], **rules})


@pytest.fixture
def file_database(tmp_path: Path) -> Iterator[Database]:
    database = Database(database_url(None, tmp_path), own=True)
    yield database
    database.close()


@pytest.fixture
def keep(file_database: Database, valkey: Redis, clock: SetClock) -> Keep:
    """Give a process's view of a board: several of them are as many processes on one Redis and one log."""

    def make(board: Board | None = None, client: Redis = valkey) -> Leaderboard:
        rules = board or arena()
        return Leaderboard(rules, client, clock=clock, log=EventLog(rules, file_database))

    return make


def rows(board: Leaderboard, period: str | None = None, **where: Any) -> list[tuple[str, Any, Any]]:
    """Give a season's entries in their order."""
    found = board.top(1000, window="season", period=period, ranking="unique", **where).entries
    return [(entry.user_id, entry.score, entry.at) for entry in found]


def users(board: Leaderboard, period: str | None = None, **where: Any) -> list[tuple[str, Any]]:
    return [(user, score) for user, score, _ in rows(board, period, **where)]


def log_of(board: Leaderboard) -> EventLog:
    assert board._ledger is not None
    return board._ledger.log


def test_seasons_start_end_and_stay_readable_on_every_database(valkey: Redis, database: Database, clock: SetClock) -> None:
    rules = arena()
    board = Leaderboard(rules, valkey, clock=clock, log=EventLog(rules, database))
    assert board.submit("ann", 1).closed == ("season",)
    assert users(board) == []
    board.start_season("one")
    with pytest.raises(SeasonError, match="end that one first"):
        board.start_season("two")
    assert board.submit("ann", 5)["season"].period == "one"
    clock.now += MINUTE
    assert board.end_season().end == clock.now
    clock.now += MINUTE
    assert board.submit("ann", 7).closed == ("season",)
    board.start_season("two")
    board.submit("bob", 2)
    for _ in range(2):
        assert (users(board), users(board, "previous"), users(board, "one")) == ([("bob", 2)], [("ann", 5)], [("ann", 5)])
        valkey.flushall()
    board.end_season()
    with pytest.raises(SeasonError, match="was played before"):
        board.start_season("one")
    with pytest.raises(SeasonError, match="'previous'"):
        board.start_season("previous")
    with pytest.raises(SeasonError, match="no season"):
        board.end_season()
    with pytest.raises(UnknownWindowError, match="'three'"):
        users(board, "three")
    board.start_season("three")
    assert users(board, "previous") == [("bob", 2)]
    ended = [(season.name, season.after, season.last) for season in log_of(board).seasons.read().played]
    assert ended == [("three", 4, None), ("two", 3, 4), ("one", 1, 2)]


def test_boards_have_seasons_of_their_own(valkey: Redis, file_database: Database, clock: SetClock) -> None:
    one, other = (
        Leaderboard(rules, valkey, clock=clock, log=EventLog(rules, file_database))
        for rules in (arena(), Board("other", mode="ledger", windows=[Season(), Season("cup")]))
    )
    one.start_season("one")
    other.start_season("one", window="cup")
    assert [window.window for window in other.submit("ann", 1).changes] == ["cup"]
    with pytest.raises(UnknownWindowError, match="not a season"):
        other.start_season("one", window="all")
    assert one.submit("ann", 1)["season"].period == "one"


def test_a_process_that_missed_the_change_learns_of_it_by_writing(keep: Keep) -> None:
    operator, game = keep(), keep()
    assert game.submit("ann", 5).closed == ("season",)
    operator.start_season("one")
    assert game.submit("ann", 5)["season"].period == "one"
    operator.end_season()
    operator.start_season("two")
    receipts = game.submit_many([Submission("ann", 5), Submission("bob", 3)])
    assert {receipt["season"].period for receipt in receipts if isinstance(receipt, Receipt)} == {"two"}
    operator.end_season()
    assert game.submit("ann", 5).closed == ("season",)
    assert (users(operator, "one"), users(operator, "two")) == ([("ann", 5)], [("ann", 5), ("bob", 3)])


def test_what_becomes_too_late_by_the_change_is_refused_and_not_logged(keep: Keep) -> None:
    rules = arena(windows=[Season()])
    operator, game = keep(rules), keep(rules)
    operator.start_season("one")
    game.submit("ann", 5, submission_id="m1")
    operator.end_season()
    with pytest.raises(ClosedPeriodError):
        game.submit("ann", 5)
    assert game.submit("ann", 5, submission_id="m1").duplicate
    assert log_of(game).head() == 1


def test_a_process_that_only_reads_notices(keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.seasons.LONGEST_TRUST_SECONDS", 0.0)
    operator, reader = keep(), keep()
    assert reader.place(window="season").period is None
    operator.start_season("one")
    assert reader.place(window="season").period == "one"
    operator.end_season()
    assert reader.place(window="season", period="previous").period == "one"


def test_reads_go_on_with_the_last_known_seasons_while_the_log_is_away(
    keep: Keep, file_database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.seasons.LONGEST_TRUST_SECONDS", 0.0)
    board, unknowing = keep(), keep()
    board.start_season("one")
    board.submit("ann", 5)
    assert users(board) == [("ann", 5)]

    def down(*_: Any) -> Any:
        raise LogUnavailableError("the log can't be reached")

    with monkeypatch.context() as patch:
        patch.setattr(file_database, "begin", down)
        patch.setattr(file_database, "attempt", down)
        assert users(board) == [("ann", 5)]
        assert "which seasons run could not be looked up" in caplog.text
        with pytest.raises(LogUnavailableError):
            users(unknowing)
        with pytest.raises(LogUnavailableError):
            board.end_season()
        with pytest.raises(LogUnavailableError):
            board.submit("ann", 1)
    assert users(unknowing) == [("ann", 5)]
    assert board.submit("ann", 1)["season"].new_score == 6


def test_a_season_that_nobody_ends_closes_by_itself_and_is_replayed_so(keep: Keep, valkey: Redis, clock: SetClock) -> None:
    board = keep()
    start = board.start_season("one")
    board.submit("ann", 5)
    clock.now = start.end
    assert board.submit("ann", 7).closed == ("season",)
    before = users(board)
    valkey.flushall()
    assert users(board) == before == [("ann", 5)]
    assert board.end_season().end == start.end


def test_what_counted_by_a_clock_ahead_counts_in_the_replay_too(keep: Keep, valkey: Redis, clock: SetClock) -> None:
    """The end of a season is the operator's time; what it takes is told by the numbers."""
    board = keep()
    board.start_season("one")
    clock.now += MINUTE
    board.submit("ann", 5, at=to_datetime(clock.now + 3 * MICROSECONDS))
    clock.now -= MINUTE // 2
    board.end_season()
    valkey.flushall()
    assert users(board, "one") == [("ann", 5)]


def test_removal_is_from_the_seasons_of_its_time_in_every_replay(keep: Keep, valkey: Redis, clock: SetClock) -> None:
    board = keep()
    board.start_season("one")
    board.submit_many([Submission("ann", 5, segments={"country": "NL"}), Submission("bob", 3)])
    board.end_season()
    board.start_season("two")
    board.submit_many([Submission("ann", 5), Submission("bob", 3)])
    changed = {(change.window, change.period, change.segment) for change in board.remove("ann").changes}
    assert changed == {("all", "all", None), ("all", "all", "country=NL"), ("season", "two", None)}  # one that ended is final
    board.submit("ann", 1)
    clock.now += 2 * 28 * DAY
    board.end_season()
    for _ in range(2):
        assert (users(board, "one"), users(board, "two")) == ([("ann", 5), ("bob", 3)], [("bob", 3), ("ann", 1)])
        valkey.flushall()


def expiries(valkey: Redis, name: str) -> set[int]:
    return {valkey.pexpiretime(key) for key in valkey.scan_iter(f"*:season:{name}*")}


def test_keys_of_an_ended_season_expire_after_its_retention(keep: Keep, valkey: Redis, clock: SetClock) -> None:
    board = keep()
    board.start_season("one")
    board.submit("ann", 5, segments={"country": "NL"})
    clock.now += DAY
    wanted = {(clock.now + 28 * DAY + BACKSTOP_US) // 1000}
    assert expiries(valkey, "one") - wanted
    board.end_season()
    assert expiries(valkey, "one") == wanted
    valkey.flushall()
    assert board.count() == 1
    assert expiries(valkey, "one") == wanted


def test_what_a_process_left_that_died_while_ending_is_mended(keep: Keep, valkey: Redis, clock: SetClock) -> None:
    board, other = keep(), keep()
    start = board.start_season("one").start
    board.submit("ann", 5)
    log_of(board).seasons.end(Played("season", "one", start), clock.now)
    wanted = {(clock.now + 28 * DAY + BACKSTOP_US) // 1000}
    (duty,) = [duty for duty in other.duties if duty.name == "seasons"]
    for _ in range(2):
        assert duty.step(clock.now) is False
        assert expiries(valkey, "one") == wanted


def test_ending_a_season_folds_what_is_left_before_it_sets_the_expiry(keep: Keep, valkey: Redis, clock: SetClock) -> None:
    board, dying = keep(), keep()
    board.start_season("one")
    board.submit("ann", 5)
    dying_ledger: Any = dying._ledger

    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    dying_ledger.folder.begin = killed
    with pytest.raises(Killed):
        dying.submit_many([Submission("bob", 3, segments={"country": "BE"})])
    board.end_season()
    assert expiries(valkey, "one") == {(clock.now + 28 * DAY + BACKSTOP_US) // 1000}
    assert users(board, "one", segment="country=BE") == [("bob", 3)]


def test_seasons_past_their_retention_leave_nothing_in_redis(keep: Keep, valkey: Redis, clock: SetClock) -> None:
    clock.now = 1_700_000_000_000_000  # long ago by the server's clock
    board = keep()
    board.start_season("one")
    board.submit("ann", 5)
    clock.now += DAY
    board.end_season()
    valkey.flushall()
    assert keep().count() == 1
    assert list(valkey.scan_iter("*:season:*")) == []


def test_seasons_run_without_redis(keep: Keep, clock: SetClock, caplog: pytest.LogCaptureFixture) -> None:
    server = FLAVOURS["valkey9"].start()
    try:
        board = keep(client=Redis(unix_socket_path=str(server.socket), retry=Retry(NoBackoff(), 0)))
        board.start_season("one")
        board.submit("ann", 5)
        server.process.kill()
        server.process.wait(10)
        receipt = board.submit("ann", 2)
        assert (receipt.pending, receipt["season"].period, receipt["season"].new_score) == (True, "one", None)
        board.end_season()
        assert "when its keys expire could not be set" in caplog.text
        assert board.submit("ann", 2).closed == ("season",)
        board.start_season("two")
    finally:
        server.stop()
    anew = FLAVOURS["valkey9"].start()
    try:
        other = keep(client=anew.client)
        assert (users(other), users(other, "one"), other.score_at_percentile(50)) == ([], [("ann", 7)], 9)
        assert expiries(anew.client, "one") == {(clock.now + 28 * DAY + BACKSTOP_US) // 1000}
    finally:
        anew.stop()


def race_to_start(url: str, socket: str, number: int) -> str:
    database = Database(database_url(url, Path()))
    board = Leaderboard(arena(), Redis(unix_socket_path=socket), log=EventLog(arena(), database))
    try:
        return board.start_season(f"season-{number}").id
    except SeasonError as error:
        return type(error).__name__
    finally:
        database.close()


def test_of_processes_that_race_one_starts(database: Database, backends: Any, valkey: Redis) -> None:
    url, socket = database.engine.url.render_as_string(hide_password=False), str(backends("valkey9").socket)
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        told = pool.starmap(race_to_start, [(url, socket, number) for number in range(4)])
    started = [name for name in told if name != "SeasonError"]
    assert len(started) == 1
    (season,) = EventLog(arena(), database).seasons.read().played
    assert (season.name, season.end) == (started[0], None)


def test_of_threads_that_race_one_ends(database: Database, valkey: Redis) -> None:
    boards = [Leaderboard(arena(), valkey, log=EventLog(arena(), database)) for _ in range(4)]
    boards[0].start_season("one")
    told: list[str] = []

    def end(board: Leaderboard) -> None:
        try:
            told.append(board.end_season().id)
        except SeasonError:
            told.append("-")

    threads = [threading.Thread(target=end, args=(board,)) for board in boards]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(told) == ["-", "-", "-", "one"]


def test_every_event_counts_in_the_season_of_its_number(database: Database, valkey: Redis) -> None:
    boards = [Leaderboard(arena(), valkey, log=EventLog(arena(), database)) for _ in range(3)]
    failures: list[BaseException] = []
    receipts: list[Receipt] = []
    over = threading.Event()

    def play(number: int) -> None:
        turn = 0
        try:
            while not over.wait(0.001):
                turn += 1
                outcomes = boards[number % 3].submit_many([Submission(f"user{(number + turn) % 5}", 1)] * (1 + turn % 2))
                receipts.extend(outcome for outcome in outcomes if isinstance(outcome, Receipt))
                failures.extend(outcome for outcome in outcomes if isinstance(outcome, LeaderboardError))
        except BaseException as failure:
            failures.append(failure)

    def operate() -> None:
        try:
            for number in range(4):
                boards[0].start_season(f"season-{number}")
                played = len(receipts) + 10
                until(lambda played=played: len(receipts) > played)
                boards[1].end_season()
        except BaseException as failure:
            failures.append(failure)
        over.set()

    players = [threading.Thread(target=play, args=(number,)) for number in range(6)]
    operator = threading.Thread(target=operate)
    for thread in (*players, operator):
        thread.start()
    for thread in (operator, *players):
        thread.join(120)
    assert failures == []
    assert_counted_by_number(boards[0], receipts)
    seasons = [season.name for season in log_of(boards[0]).seasons.read().played]
    assert len(seasons) == 4
    before = {name: rows(boards[0], name) for name in seasons}
    valkey.flushall()
    anew = Leaderboard(arena(), valkey, log=EventLog(arena(), database))
    assert {name: rows(anew, name) for name in seasons} == before


def assert_counted_by_number(board: Leaderboard, receipts: list[Receipt]) -> None:
    """Hold receipts and scores against the log and the numbers between which each season ran."""
    log = log_of(board)
    events = {event.number: event for event in log.read(0, 10_000)}
    played = log.seasons.read().played
    wanted: dict[str, dict[str, int]] = {season.name: {} for season in played}
    of_number: dict[int, str | None] = {}
    for number, event in events.items():
        of_number[number] = next((s.name for s in played if s.takes(number) and s.start <= event.at), None)
        if season := of_number[number]:
            wanted[season][event.user_id] = wanted[season].get(event.user_id, 0) + 1
    told = {receipt.number: next((c.period for c in receipt.changes if c.window == "season"), None) for receipt in receipts}
    assert told == of_number
    assert {name: dict(users(board, name)) for name in wanted} == wanted


class PlainSeasons:
    """The oracle: scores by season and user, as plain dictionaries."""

    def __init__(self, update: str) -> None:
        self.update = update
        self.running: tuple[str, int] | None = None
        self.scores: dict[str, dict[str, tuple[int, int]]] = {"all": {}}

    def submit(self, user: str, points: int, at: int) -> None:
        names = ["all", *([self.running[0]] if self.running and self.running[1] <= at else [])]
        for ranking in (self.scores[name] for name in names):
            old = ranking.get(user)
            new = points
            if old is not None:
                new = {"increment": old[0] + points, "best": max(old[0], points), "latest": points}[self.update]
            if old is None or new != old[0]:
                ranking[user] = (new, at)

    def remove(self, user: str) -> None:
        for name in ("all", *([self.running[0]] if self.running else [])):
            self.scores[name].pop(user, None)

    def rows(self, name: str) -> list[tuple[str, int, int]]:
        found = [(user, score, at) for user, (score, at) in self.scores[name].items()]
        return sorted(found, key=lambda row: (-row[1], row[2], row[0]))


@settings(max_examples=50)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["submit", "submit", "submit", "submit", "remove", "switch", "switch", "lose"]),
            st.integers(0, 1),
            st.sampled_from("abcd"),
            st.integers(0, 3),
            st.sampled_from([0, 0, 0, 20]),
        ),
        max_size=40,
    ),
    update=st.sampled_from(["increment", "best", "latest"]),
)
def test_seasons_are_those_of_a_plain_model(
    backends: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory, monkeypatch: Any, steps: list[Any], update: Any
) -> None:
    """Two processes play, start and end seasons and lose Redis at any time; in the end it is emptied once more."""
    monkeypatch.setattr("flask_leaderboard.engine.standing.LOOK_SECONDS", 0.0)
    monkeypatch.setattr("flask_leaderboard.engine.folding.GAP_SECONDS", 0.001)
    client = backends("valkey9").client
    client.flushall()
    clock, rules, model = SetClock(), arena(update=update), PlainSeasons(update)
    database = Database(database_url(None, tmp_path_factory.mktemp("log")), own=True)
    try:
        boards = [Leaderboard(rules, client, clock=clock, log=EventLog(rules, database)) for _ in range(2)]
        for action, process, user, points, minutes_ago in steps:
            clock.now += 7 * MINUTE
            board = boards[process]
            if action == "submit":
                at = clock.now - minutes_ago * MINUTE
                board.submit(user, points, at=to_datetime(at), segments={"country": "NL"} if points else None)
                model.submit(user, points, at)
            elif action == "remove":
                board.remove(user)
                model.remove(user)
            elif action == "lose":
                client.flushall()
            elif model.running:
                board.end_season()
                model.running = None
            else:
                name = f"season-{len(model.scores)}"
                board.start_season(name)
                model.running, model.scores[name] = (name, clock.now), {}
        for judge in (boards[0], boards[1], Leaderboard(rules, client, clock=clock, log=EventLog(rules, database))):
            judge._seasons.refresh()
            for name in model.scores:
                if name != "all":
                    assert [(u, s, _instant(at)) for u, s, at in rows(judge, name)] == model.rows(name)
            whole = judge.top(100, ranking="unique").entries
            assert [(e.user_id, e.score, _instant(e.at)) for e in whole] == model.rows("all")
            client.flushall()
    finally:
        database.close()


def _instant(at: Any) -> int:
    return at if isinstance(at, int) else round(at.timestamp() * MICROSECONDS)


@pytest.fixture
def app(tmp_path: Path, clock: SetClock) -> Iterator[Flask]:
    app = make_app([arena(windows=[Daily(), Season()])], clock=clock, instance=tmp_path)
    yield app
    service_of(app).hub.close()


def test_commands_run_seasons(app: Flask) -> None:
    def run(*words: str) -> str:
        return str(app.test_cli_runner().invoke(args=["leaderboard", "season", *words]).output)

    assert "no season of window 'season' is running" in run("end")
    assert run("start", "one") == "Season one runs.\n"
    assert "end that one first" in run("start", "two")
    assert run("end") == "Season one has ended.\n"
    assert "was played before" in run("start", "one")


def test_the_end_of_a_season_is_told(app: Flask, clock: SetClock) -> None:
    told: list[tuple[str, str]] = []

    def listen(sender: Flask, board: str, window: str, period: Any) -> None:
        told.append((window, period.id))

    with period_closed.connected_to(listen, app), app.app_context():
        board = current_leaderboards["arena"]
        for act in (partial(board.start_season, "one"), board.end_season, partial(board.submit, "ann", 1)):
            app.test_client().get("/v1/health")
            clock.now += MICROSECONDS
            act()
            clock.now += MICROSECONDS
            app.test_client().get("/v1/health")
    assert told == [("season", "one")]
