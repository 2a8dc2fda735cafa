"""Boards whose truth is the log: what is acknowledged is logged, and Redis equals the fold of the log, whatever it loses."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_leaderboard import (
    AllTime,
    Board,
    Daily,
    Every,
    Leaderboard,
    LeaderboardError,
    Receipt,
    Segment,
    Submission,
    Weekly,
)
from flask_leaderboard.engine.standing import Standing
from flask_leaderboard.errors import (
    ConfigurationError,
    ConflictError,
    LogMismatchError,
    LogUnavailableError,
    NoLogError,
    ScoreRangeError,
    SegmentLimitError,
    StoreUnavailableError,
)
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.events import Draft
from flask_leaderboard.rules.instants import to_datetime
from flask_leaderboard.store.board_store import BoardStore
from flask_leaderboard.store.calls import Caller
from tests.conftest import SetClock
from tests.servers import FLAVOURS, Server
from tests.waiting import until

MINUTE = 60_000_000


def arena(**rules: Any) -> Board:
    windows = [AllTime(), Daily(), Every(timedelta(hours=1), name="hourly")]
    return Board("arena", **{"mode": "ledger", "windows": windows, "segments": [Segment("country", limit=2)], **rules})


@pytest.fixture
def file_database(tmp_path: Path) -> Iterator[Database]:
    database = Database(database_url(None, tmp_path), own=True)
    yield database
    database.close()


@pytest.fixture
def keep(file_database: Database, clock: SetClock) -> Callable[..., Leaderboard]:
    """Give a process's view of a board: several of them are as many processes on one Redis and one log."""

    def make(client: Redis, board: Board | None = None, **more: Any) -> Leaderboard:
        rules = board or arena()
        return Leaderboard(rules, client, clock=clock, log=EventLog(rules, file_database), **more)

    return make


def state(board: Leaderboard) -> list[Any]:
    """Tell all of a board's rankings, tie order included."""
    segments = [None, "country=NL", "country=BE"] if board.board.segments else [None]
    pages = [
        board.top(1000, window=window.name, segment=segment, ranking="unique")
        for window in board.board.windows
        for segment in segments
    ]
    return [[(e.rank, e.user_id, e.score, e.at) for e in page.entries] for page in pages]


def test_receipts_are_those_of_a_board_without_a_log(client: Redis, keep: Callable[..., Leaderboard], clock: SetClock) -> None:
    plain = Leaderboard(arena(mode="redis_only"), client, clock=clock, prefix="plain")
    ledger = keep(client)
    for place in range(30):
        clock.now += MINUTE
        wanted, given_ = (
            board.submit(f"user{place % 4}", place % 3, segments={"country": "NL"} if place % 2 else None)
            for board in (plain, ledger)
        )
        assert (given_.changes, given_.number, given_.pending) == (wanted.changes, wanted.number, False)
    assert state(ledger) == state(plain)
    assert ledger.remove("user1").changes == plain.remove("user1").changes
    assert state(ledger) == state(plain)


def test_works_on_every_database(valkey: Redis, database: Database, clock: SetClock) -> None:
    rules = arena()
    board = Leaderboard(rules, valkey, clock=clock, log=EventLog(rules, database))
    board.submit_many([Submission(f"user{place % 9}", place, f"m{place}") for place in range(100)])
    assert board.submit("user1", 1, submission_id="m1").duplicate
    board.remove("user2")
    before = state(board)
    valkey.flushall()
    assert state(board) == before


def test_ids_are_known_for_ever(valkey: Redis, keep: Callable[..., Leaderboard], clock: SetClock) -> None:
    board = keep(valkey)
    board.submit("mary", 5, submission_id="m1")
    board.submit("mary", 2)
    clock.now += 90 * 24 * 60 * MINUTE
    again = board.submit("mary", 5, submission_id="m1")
    assert (again.duplicate, again.number, again["all"].new_score, again["all"].new_rank) == (True, 1, 7, 1)
    with pytest.raises(ConflictError):
        board.submit("mary", 6, submission_id="m1")
    assert board.count() == 1


def test_known_id_that_comes_too_late_is_a_duplicate(valkey: Redis, keep: Callable[..., Leaderboard], clock: SetClock) -> None:
    board, at = keep(valkey), to_datetime(clock.now)
    board.submit("mary", 5, submission_id="m1", at=at)
    clock.now += 48 * 60 * MINUTE
    assert board.submit("mary", 5, submission_id="m1", at=at).duplicate
    with pytest.raises(LeaderboardError, match="closed"):
        board.submit("mary", 5, submission_id="m2", at=at)


def test_refusals_of_the_fold_are_told_also_when_sent_again(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(valkey, arena(score_range=(0, 10)))
    board.submit("mary", 8)
    for _ in range(2):
        with pytest.raises(ScoreRangeError):
            board.submit("mary", 8, submission_id="m1")
    first, second, third = (Submission(f"user{n}", 1, segments={"country": c}) for n, c in enumerate(("NL", "BE", "DE")))
    *taken, refused = board.submit_many([first, second, third])
    assert isinstance(refused, SegmentLimitError)
    assert all(not isinstance(item, LeaderboardError) for item in taken)
    before = state(board)
    valkey.flushall()
    assert state(board) == before
    assert [event.refused for event in board.history("mary")] == ["score_range", None]


def test_emptied_redis_is_noticed_by_the_next_read(client: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(client)
    board.submit_many([Submission(f"user{place % 50}", place) for place in range(300)])
    before = state(board)
    client.flushall()
    assert board.top(1).total == 50
    assert state(board) == before


def test_emptied_redis_is_noticed_by_a_submission(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(valkey)
    board.submit("mary", 5)
    valkey.flushall()
    receipt = board.submit("mary", 2)
    assert (receipt["all"].old_score, receipt["all"].new_score, receipt.number) == (5, 7, 2)


def test_emptied_redis_is_noticed_by_a_new_process(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    keep(valkey).submit("mary", 5)
    valkey.flushall()
    entry = keep(valkey).rank("mary")
    assert entry is not None
    assert (entry.score, entry.rank) == (5, 1)


def test_older_data_is_noticed_by_another_process_in_a_second(
    valkey: Redis, keep: Callable[..., Leaderboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.standing.LOOK_SECONDS", 0.0)
    writer, reader = keep(valkey), keep(valkey)
    writer.submit("mary", 5)
    assert reader.count() == 1
    older = {key: valkey.dump(key) for key in valkey.scan_iter()}
    writer.submit("mary", 5)
    valkey.flushall()
    for key, value in older.items():
        valkey.restore(key, 0, value)
    entry = reader.rank("mary")
    assert entry is not None
    assert entry.score == 10


def test_without_the_detector_older_data_is_shown(
    valkey: Redis, keep: Callable[..., Leaderboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that the tests above see what they are there for."""
    board = keep(valkey)
    board.submit("mary", 5)
    monkeypatch.setattr(Standing, "is_behind", lambda self, *_: False)
    valkey.flushall()
    assert board.rank("mary") is None


def test_what_another_process_left_in_the_log_is_folded_before(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    dying, living = keep(valkey), keep(valkey)
    living.submit("bob", 1)
    _die_before_folding(dying, Submission("mary", 5))
    receipt = living.submit("mary", 2)
    assert (receipt["all"].old_score, receipt["all"].new_score, receipt.number) == (5, 7, 3)


def _fold_elsewhere(board: Leaderboard, other: Leaderboard) -> None:
    """Let another process fold what a board writes, before it does so itself."""
    folder, elsewhere = (cast(Any, item)._ledger.folder for item in (board, other))
    begin = folder.begin

    def late(*args: Any) -> Any:
        elsewhere.catch_up()
        return begin(*args)

    folder.begin = late


def test_an_event_that_another_process_folded_is_pending(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    slow, quick = keep(valkey), keep(valkey)
    _fold_elsewhere(slow, quick)
    receipt = slow.submit("mary", 5, submission_id="m1")
    assert (receipt["all"].new_score, receipt.number, receipt.pending, receipt.duplicate) == (None, 1, True, False)
    again = slow.submit("mary", 5, submission_id="m1")
    assert (again["all"].new_score, again["all"].new_rank, again.pending, again.duplicate) == (5, 1, False, True)


def test_a_refusal_that_another_process_met_is_told_when_sent_again(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    rules = arena(score_range=(0, 10))
    slow, quick = keep(valkey, rules), keep(valkey, rules)
    slow.submit("mary", 8)
    _fold_elsewhere(slow, quick)
    assert slow.submit("mary", 8, submission_id="m1").pending
    with pytest.raises(ScoreRangeError):
        slow.submit("mary", 8, submission_id="m1")


def test_an_id_twice_in_one_batch_is_a_duplicate(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    counted: list[Any] = []
    board = keep(valkey, counted=lambda name, receipt: counted.append(receipt))
    first, second = board.submit_many([Submission("mary", 5, "m1"), Submission("mary", 5, "m1")])
    assert isinstance(first, Receipt)
    assert isinstance(second, Receipt)
    assert (first.duplicate, first["all"].old_score, first["all"].new_score) == (False, None, 5)
    assert (second.duplicate, second["all"].old_score, second["all"].new_score) == (True, 5, 5)
    assert counted == [first]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.ledger.SUBMISSIONS_A_PART", 10)


@pytest.mark.usefixtures("small_parts")
def test_many_in_parts_have_the_receipts_of_a_board_without_a_log(
    client: Redis, keep: Callable[..., Leaderboard], clock: SetClock
) -> None:
    rules: dict[str, Any] = {"score_range": (-20, 20)}
    plain, ledger = (
        Leaderboard(arena(mode="redis_only", **rules), client, clock=clock, prefix="plain"),
        keep(client, arena(**rules)),
    )
    many = [Submission(f"user{n % 4}", n % 7 - 2, f"m{n % 40}") for n in range(45)]
    for _ in range(2):
        wanted, given_ = plain.submit_many(many), ledger.submit_many(many)
        assert [getattr(item, "duplicate", str(item)) for item in given_] == [getattr(w, "duplicate", str(w)) for w in wanted]
        assert state(ledger) == state(plain)
    anew = [Submission(f"user{n % 4}", n % 7 - 3) for n in range(45)]
    pairs = zip(ledger.submit_many(anew), plain.submit_many(anew), strict=True)
    assert all(getattr(one, "changes", type(one)) == getattr(other, "changes", type(other)) for one, other in pairs)


@pytest.mark.usefixtures("small_parts")
def test_a_log_that_goes_away_between_parts_is_told_to_those_that_are_left(
    valkey: Redis, keep: Callable[..., Leaderboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    board, append, left = keep(valkey), EventLog.append, [False, True, True]

    def failing(self: EventLog, *words: Any) -> Any:
        if not left.pop():
            raise LogUnavailableError("the log can't be reached")
        return append(self, *words)

    with monkeypatch.context() as patch:
        patch.setattr(EventLog, "append", failing)
        outcomes = board.submit_many([Submission("mary", 1) for _ in range(35)])
    assert [getattr(item, "number", None) for item in outcomes] == [*range(1, 21), *[None] * 15]
    assert all(isinstance(item, LogUnavailableError) for item in outcomes[20:])
    assert board.submit("mary", 1)["all"].new_score == 21


@pytest.mark.usefixtures("small_parts")
def test_a_part_that_redis_lost_is_pending_and_folded_before_the_next(
    valkey: Redis, keep: Callable[..., Leaderboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    board, begin, left = keep(valkey), BoardStore.begin_apply, [True, False, True]

    def fail() -> Any:
        raise StoreUnavailableError("cut off")

    def failing(self: BoardStore, batches: Any) -> Any:
        return begin(self, batches) if left.pop() else fail

    with monkeypatch.context() as patch:
        patch.setattr(BoardStore, "begin_apply", failing)
        outcomes: list[Any] = board.submit_many([Submission("mary", 1) for _ in range(30)])
    assert [item.pending for item in outcomes] == [*[False] * 10, *[True] * 10, *[False] * 10]
    assert [item["all"].new_score for item in outcomes[20:]] == list(range(21, 31))


def test_a_duplicate_is_never_told_a_state_before_it(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    dying, living = keep(valkey), keep(valkey)
    living.submit("mary", 5)
    _die_before_folding(dying, Submission("mary", 2, "m2"))
    assert living.submit("mary", 2, submission_id="m2")["all"].new_score == 7


def test_removal_knows_the_segments_of_all_events_before_it(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    board = keep(valkey)
    board.submit("mary", 5, segments={"country": "NL"})
    valkey.flushall()
    receipt = board.remove("mary")
    assert {change.label for change in receipt.changes} >= {"all", "all:country=NL"}
    assert all(page == [] for page in state(board))


def test_a_repair_that_takes_long_shows_nothing_of_what_is_half_done(
    valkey: Redis, keep: Callable[..., Leaderboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(valkey).submit_many([Submission(f"user{place}", 1) for place in range(3000)], ranks=False)
    valkey.flushall()
    monkeypatch.setattr("flask_leaderboard.engine.folding.LONGEST_CATCH_UP_SECONDS", 0.0)
    anew, tries = keep(valkey, fallback_rows=0), []

    def count() -> int:
        tries.append(1)
        return anew.count()

    assert until(count, passing=(StoreUnavailableError,)) == 3000
    assert len(tries) > 2


def test_forked_child_writes_to_the_same_file(file_database: Database, tmp_path: Path) -> None:
    log = EventLog(arena(), file_database)
    log.append([Draft("submit", "mary", 1, 0, 0)])
    child = os.fork()
    if child == 0:
        EventLog(arena(), Database(database_url(None, tmp_path), own=True)).append([Draft("submit", "mary", 1, 0, 0)])
        os._exit(0)
    file_database.close()
    assert os.waitpid(child, 0)[1] == 0
    assert log.head() == 2


def _die_before_folding(board: Leaderboard, submission: Submission) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    ledger: Any = board._ledger
    ledger.folder.begin = killed
    with pytest.raises(Killed):
        board.submit_many([submission])


@pytest.mark.parametrize("calls", range(4))
def test_dying_in_the_middle_of_a_catch_up_is_harmless(
    valkey: Redis, keep: Callable[..., Leaderboard], monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    board = keep(valkey, fallback_rows=0)
    board.submit_many([Submission(f"user{place % 50}", place) for place in range(400)], ranks=False)
    board.remove("user7")
    board.submit("user7", 3)
    before = state(board)
    valkey.flushall()
    apply, left = BoardStore.apply, [calls]

    def failing(self: BoardStore, *args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise StoreUnavailableError("killed")
        return apply(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(BoardStore, "apply", failing)
        with pytest.raises(StoreUnavailableError):
            state(board)
    assert state(keep(valkey)) == before


def test_redis_down_is_pending_and_applied_by_itself(keep: Callable[..., Leaderboard]) -> None:
    server = FLAVOURS["valkey9"].start()
    try:
        client = Redis(unix_socket_path=str(server.socket), retry=Retry(NoBackoff(), 0))
        board = keep(client, fallback_rows=0)
        board.submit("mary", 5, submission_id="m1")
        _stop(server)
        receipt = board.submit("mary", 2, submission_id="m2")
        assert (receipt.pending, receipt.number, receipt.duplicate) == (True, 2, False)
        assert [(c.window, c.new_score, c.new_rank) for c in receipt.changes] == [
            ("all", None, None),
            ("daily", None, None),
            ("hourly", None, None),
        ]
        assert board.submit("mary", 2, submission_id="m2").duplicate
        with pytest.raises(StoreUnavailableError):
            board.rank("mary")
    finally:
        server.stop()
    anew = FLAVOURS["valkey9"].start()
    try:
        entry = keep(anew.client).rank("mary")
        assert entry is not None
        assert entry.score == 7
    finally:
        anew.stop()


def _stop(server: Server) -> None:
    server.process.kill()
    server.process.wait(10)


def test_log_down_refuses_submissions_and_changes_nothing(
    valkey: Redis, keep: Callable[..., Leaderboard], file_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = keep(valkey)
    board.submit("mary", 5)

    def down(*_: Any) -> Any:
        raise LogUnavailableError("the log can't be reached")

    with monkeypatch.context() as patch:
        patch.setattr(file_database, "attempt", down)
        patch.setattr(EventLog, "head", down)
        with pytest.raises(LogUnavailableError):
            board.submit("mary", 1)
        assert board.count() == 1
    assert board.submit("mary", 1)["all"].new_score == 6


def test_data_that_the_log_does_not_know_is_refused(valkey: Redis, keep: Callable[..., Leaderboard], clock: SetClock) -> None:
    Leaderboard(arena(mode="redis_only"), valkey, clock=clock).submit("mary", 5)
    board = keep(valkey)
    for call in (lambda: board.submit("mary", 1), lambda: board.top()):
        with pytest.raises(LogMismatchError, match="Redis has 1 events and the log 0"):
            call()
    assert board.history("mary") == []


def test_threads_and_processes_lose_and_double_nothing(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    boards = [keep(Redis(connection_pool=valkey.connection_pool)) for _ in range(3)]
    failures: list[BaseException] = []

    def play(board: Leaderboard) -> None:
        try:
            for _ in range(15):
                board.submit("mary", 1)
                assert board.rank("mary") is not None
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=play, args=(board,)) for board in boards for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    entry = boards[0].rank("mary")
    assert entry is not None
    assert entry.score == 135
    assert len(boards[0].history("mary", limit=1000)) == 135


@given(
    events=st.lists(
        st.tuples(
            st.sampled_from(["submit", "submit", "submit", "remove", "pass"]),
            st.sampled_from("abc"),
            st.integers(-4, 9),
            st.sampled_from([None, "NL", "BE", "DE"]),
            st.sampled_from([None, "m1", "m2"]),
        ),
        max_size=40,
    ),
    order=st.sampled_from(["asc", "desc"]),
    update=st.sampled_from(["increment", "best", "latest"]),
    tie_break=st.sampled_from(["first", "last", "member"]),
    score_type=st.sampled_from(["integer", "float"]),
)
def test_replaying_the_log_gives_the_same_state(
    backends: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory, events: list[Any], **rules: Any
) -> None:
    """Whatever is played, Redis emptied afterwards is the same again: scores, tie order, refusals, segments."""
    client = backends("valkey9").client
    client.flushall()
    clock, board = SetClock(), arena(score_range=(-5, 30), **rules)
    database = Database(database_url(None, tmp_path_factory.mktemp("log")), own=True)
    try:
        played = Leaderboard(board, client, clock=clock, log=EventLog(board, database))
        for action, user, points, country, identity in events:
            clock.now += 7 * MINUTE
            if action == "pass":
                clock.now += 11 * 60 * MINUTE
            elif action == "remove":
                played.remove(user)
            else:
                segments = {"country": country} if country else None
                played.submit_many([Submission(user, points, identity, segments=segments)])
        before = state(played)
        client.flushall()
        assert state(Leaderboard(board, client, clock=clock, log=EventLog(board, database))) == before
    finally:
        database.close()


def test_periods_past_their_retention_are_replayed_for_what_they_refuse(
    valkey: Redis, keep: Callable[..., Leaderboard], clock: SetClock
) -> None:
    clock.now = 1_700_000_000_000_000  # long ago by the server's clock: the hour's keys expire as they are made
    board = keep(valkey, arena(score_range=(0, 10), windows=[AllTime(), Every(timedelta(hours=1), name="hourly")]))
    store = board.store
    lend = store.rankings.lend
    get = store.rankings.get
    store.rankings.get = lambda w, p, s=None: (  # type: ignore[method-assign]
        get(w, p, s) if w.name == "all" else lend(w, p, s, clock.now + 10**16)
    )
    board.submit("mary", 8, submission_id="m1")
    with pytest.raises(ScoreRangeError):
        board.submit("mary", 8, submission_id="m2", update=None)
    valkey.flushall()
    anew = keep(valkey, board.board)
    entry = anew.rank("mary")
    assert entry is not None
    assert entry.score == 8
    assert [key for key in valkey.scan_iter() if b"hourly" in key] == []


def test_history_needs_a_log(valkey: Redis, clock: SetClock) -> None:
    with pytest.raises(NoLogError, match="mode='ledger'"):
        Leaderboard(arena(mode="redis_only"), valkey, clock=clock).history("mary")
    with pytest.raises(ConfigurationError, match="log="):
        Leaderboard(arena(), Caller(valkey), clock=clock)


def test_new_window_is_filled_by_emptying_redis(valkey: Redis, keep: Callable[..., Leaderboard]) -> None:
    keep(valkey).submit("mary", 5, segments={"country": "NL"})
    valkey.flushall()
    wider = keep(valkey, arena(windows=[Weekly(), AllTime()], segments=[]))
    assert wider.count(window="weekly") == 1
