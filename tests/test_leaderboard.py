"""What a game sees: receipts, reads, refusals, seasons."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from signal import SIGCONT, SIGSTOP
from typing import Any

import pytest
from redis import ConnectionPool, Redis, UnixDomainSocketConnection

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
    Tournament,
    Weekly,
)
from flask_leaderboard import errors as e
from flask_leaderboard.rules.instants import DAY, to_datetime
from flask_leaderboard.store.batch import Batch
from flask_leaderboard.store.calls import Caller, Functions, Scripts
from flask_leaderboard.store.submit_stream import SubmitStream
from flask_leaderboard.store.users import Profile, Users
from tests.conftest import SetClock

Make = Callable[[Board], Leaderboard]


def test_one_submission_counts_in_every_window_by_one_call(valkey: Redis, clock: SetClock) -> None:
    lb = Leaderboard(Board("arena", windows=[AllTime(), Daily(), Weekly()], segments=["country"]), valkey, clock=clock)
    lb.submit("warm", 1)
    valkey.config_resetstat()
    receipt = lb.submit("mary", 5, submission_id="match-1", segments={"country": "NL"})
    assert valkey.info("commandstats")["cmdstat_evalsha"]["calls"] == 1
    assert list(receipt) == ["all", "daily", "weekly", "all:country=NL", "daily:country=NL", "weekly:country=NL"]
    assert (receipt["daily"].old_score, receipt["daily"].new_score, receipt["daily"].new_rank) == (None, 5, 1)
    assert (receipt.changed, receipt.duplicate, receipt.pending, receipt.number) == (True, False, False, 2)


def test_receipts_tell_old_and_new(make: Make) -> None:
    lb = make(Board("arena"))
    lb.submit("bob", 10)
    lb.submit("mary", 4)
    change = lb.submit("mary", 8)["all"]
    assert (change.old_score, change.new_score, change.old_rank, change.new_rank, change.changed) == (4, 12, 2, 1, True)
    assert not lb.submit("mary", 0).changed
    bare = lb.submit("mary", 1, ranks=False)["all"]
    assert (bare.new_score, bare.new_rank) == (13, None)


def test_a_score_reached_again_keeps_its_place(make: Make, clock: SetClock) -> None:
    lb = make(Board("arena", update="latest"))
    for user, points in (("ann", 5), ("bob", 5), ("ann", 5)):
        lb.submit(user, points)
        clock.now += 10_000
    assert [entry.user_id for entry in lb.top().entries] == ["ann", "bob"]
    lb.submit("ann", 4)
    lb.submit("ann", 5)
    assert [entry.user_id for entry in lb.top().entries] == ["bob", "ann"]


def test_a_user_who_left_comes_back_as_new(make: Make) -> None:
    lb = make(Board("arena", windows=[AllTime(), Daily()], segments=["country"]))
    lb.submit("bob", 5, segments={"country": "NL"})
    gone = lb.remove("bob")
    assert [(change.label, change.old_score, change.new_score) for change in gone.changes] == [
        ("all", 5, None),
        ("all:country=NL", 5, None),
        ("daily", 5, None),
        ("daily:country=NL", 5, None),
    ]
    assert lb.rank("bob") is None
    assert lb.remove("bob").changes == ()
    assert lb.submit("bob", 2)["all"].old_score is None


def test_refused_items_stop_no_others(make: Make) -> None:
    lb = make(Board("arena", score_range=(0, 10)))
    outcomes = lb.submit_many(
        [
            Submission("ann", 5),
            Submission("a/b", 5),
            Submission("ann", -6),
            Submission("bob", 1.5),
            Submission("bob", 5, update="latest"),
            Submission("cat", 5, segments={"country": "NL"}),
            Submission("dan", 5, at=datetime(2050, 1, 1)),
            Submission("ann", 5),
        ]
    )
    codes = [outcome.code if isinstance(outcome, LeaderboardError) else "ok" for outcome in outcomes]
    assert codes == ["ok", "bad_id", "score_range", "bad_points", "update_not_allowed", "bad_id", "bad_time", "ok"]
    assert [(entry.user_id, entry.score) for entry in lb.top().entries] == [("ann", 10)]


@pytest.mark.parametrize("user", ["", "a/b", "a\nb", "a\x00", "a\x85", "x" * 256, "é" * 128, "\ud800", 5, None, b"bob", True])
def test_bad_user_ids_are_refused_everywhere(user: Any, valkey: Redis) -> None:
    lb = Leaderboard(Board("arena"), valkey)
    for call in (lb.rank, lb.around, lb.percentile, lb.remove, lambda user: lb.submit(user, 1), lambda user: lb.among([user])):
        with pytest.raises(e.IdentityError):
            call(user)
    assert valkey.dbsize() == 0


@pytest.mark.parametrize("identity", ["", "a\tb", "x" * 256, 7])
def test_bad_submission_ids_are_refused(identity: Any, valkey: Redis) -> None:
    with pytest.raises(e.IdentityError, match="submission_id"):
        Leaderboard(Board("arena"), valkey).submit("ann", 1, submission_id=identity)
    assert valkey.dbsize() == 0


def test_an_id_counts_once_for_each_user(make: Make) -> None:
    lb = make(Board("arena"))
    lb.submit("ann", 5, submission_id="m")
    lb.submit("bob", 7, submission_id="m")
    again = lb.submit("ann", 5, submission_id="m")
    assert (again.duplicate, again["all"].new_score, again["all"].new_rank, again.changed) == (True, 5, 2, False)
    with pytest.raises(e.ConflictError, match="used before for '5 increment'"):
        lb.submit("ann", 6, submission_id="m")


def test_a_refused_submission_may_use_its_id_again(make: Make) -> None:
    lb = make(Board("arena", score_range=(0, 10)))
    with pytest.raises(e.ScoreRangeError):
        lb.submit("ann", 11, submission_id="m")
    assert not lb.submit("ann", 10, submission_id="m").duplicate


def test_ids_are_remembered_for_the_span_and_then_expire(make: Make, client: Redis, clock: SetClock) -> None:
    lb = make(Board("arena", remember_ids=timedelta(hours=24)))
    lb.submit("ann", 1, submission_id="m")
    (bucket,) = client.keys("lb1:{arena}:@ids:*")
    assert client.pttl(bucket) > 0
    clock.now += DAY - 1
    assert lb.submit("ann", 1, submission_id="m").duplicate
    clock.now += DAY + DAY // 2
    assert not lb.submit("ann", 1, submission_id="m").duplicate


@pytest.mark.parametrize("skew_ms", [1, 1000, 299_000])
def test_an_id_counts_once_where_clocks_differ(client: Redis, clock: SetClock, skew_ms: int) -> None:
    ahead = SetClock()
    board = Board("arena", id_buckets=1)
    games = [Leaderboard(board, client, clock=one) for one in (ahead, clock)]
    length = 87_000_000_000
    boundary = clock.now - clock.now % length + length
    for number, before in enumerate((0, skew_ms // 2, skew_ms)):
        clock.now = boundary - before * 1000
        ahead.now = clock.now + skew_ms * 1000
        for order in (games, games[::-1]):
            identity = f"m{number}{order[0] is games[0]}"
            receipts = [game.submit("ann", 1, submission_id=identity) for game in order]
            assert [receipt.duplicate for receipt in receipts] == [False, True]


def test_a_retry_after_the_period_closed_is_a_duplicate(make: Make, clock: SetClock) -> None:
    lb = make(Board("arena", windows=[AllTime(), Daily()]))
    at = to_datetime(clock.now)
    lb.submit("ann", 5, submission_id="m", at=at)
    clock.now += 13 * DAY // 24
    again = lb.submit("ann", 5, submission_id="m", at=at)
    assert (again.duplicate, again.changes, again.closed) == (True, (), ("all", "daily"))
    with pytest.raises(e.ClosedPeriodError, match="is closed in 'daily'"):
        lb.submit("ann", 5, submission_id="other", at=at)
    with pytest.raises(e.ConflictError):
        lb.submit("ann", 6, submission_id="m", at=at)


def test_batches_keep_their_order_on_a_server_without_the_script(client: Redis, clock: SetClock) -> None:
    lb = Leaderboard(Board("arena", update="latest"), client, clock=clock)
    client.script_flush()
    receipts = lb.submit_many([Submission("ann", i) for i in range(900)])
    assert [receipt.number for receipt in receipts if isinstance(receipt, Receipt)] == list(range(1, 901))
    entry = lb.rank("ann")
    assert entry is not None
    assert entry.score == 899


@pytest.mark.parametrize("dialect", [Scripts(), Functions()], ids=["scripts", "functions"])
@pytest.mark.parametrize("flushed_before", [2, 3])
def test_batches_survive_a_server_that_forgets_the_script(
    valkey: Redis, clock: SetClock, monkeypatch: pytest.MonkeyPatch, dialect: Any, flushed_before: int
) -> None:
    lb, sent, send = Leaderboard(Board("arena", update="latest"), valkey, clock=clock, dialect=dialect), [], SubmitStream.send

    def send_and_forget(stream: SubmitStream, batch: Batch) -> None:
        sent.append(batch)
        if len(sent) == flushed_before:
            valkey.script_flush()
            valkey.function_flush()
        send(stream, batch)

    monkeypatch.setattr(SubmitStream, "send", send_and_forget)
    receipts = lb.submit_many([Submission("ann", i) for i in range(2000)])
    assert len(sent) > 4
    assert [receipt.number for receipt in receipts if isinstance(receipt, Receipt)] == list(range(1, 2001))
    entry = lb.rank("ann")
    assert entry is not None
    assert entry.score == 1999


def test_batches_keep_their_order_when_the_season_changes(client: Redis, clock: SetClock) -> None:
    board = Board("arena", update="latest", windows=[AllTime(), Season()])
    operator, game = (Leaderboard(board, client, clock=clock) for _ in range(2))
    operator.start_season("one")
    game.submit("ann", 0)
    operator.end_season()
    operator.start_season("two")
    receipts = game.submit_many([Submission("ann", i) for i in range(700)])
    assert {receipt["season"].period for receipt in receipts if isinstance(receipt, Receipt)} == {"two"}
    assert [entry.score for entry in game.top(window="season").entries] == [699]
    assert len(operator.remove("ann").changes) == 3


def test_one_connection_is_enough(valkey: Redis, clock: SetClock) -> None:
    pool = ConnectionPool(
        connection_class=UnixDomainSocketConnection, path=valkey.connection_pool.connection_kwargs["path"], max_connections=1
    )
    lb = Leaderboard(Board("arena", windows=[AllTime(), Season()]), Redis(connection_pool=pool), clock=clock)
    valkey.script_flush()
    lb.start_season("one")
    assert all(isinstance(outcome, Receipt) for outcome in lb.submit_many([Submission("ann", 1)] * 700))
    pool.disconnect()


def test_what_is_not_known_to_have_run_is_not_sent_again(backends: Any, clock: SetClock) -> None:
    server = backends("valkey9")
    server.client.flushall()
    for dialect in (Scripts(), Functions()):
        client = Redis(unix_socket_path=str(server.socket), socket_timeout=0.2)
        lb = Leaderboard(Board("arena"), client, clock=clock, dialect=dialect)
        before = lb.submit("ann", 1)["all"].new_score
        server.process.send_signal(SIGSTOP)
        try:
            with pytest.raises(e.StoreUnavailableError, match="TimeoutError"):
                lb.submit("ann", 1)
        finally:
            server.process.send_signal(SIGCONT)
        assert lb.submit("ann", 0)["all"].new_score == before + 1
        client.close()


def test_a_failed_read_leaves_no_id_behind(make: Make, client: Redis) -> None:
    lb = make(Board("arena"))
    client.set("lb1:{arena}:all:all/ticks", "not ours")
    with pytest.raises(Exception, match="WRONGTYPE"):
        lb.submit("ann", 5, submission_id="m")
    client.delete("lb1:{arena}:all:all/ticks")
    assert not lb.submit("ann", 5, submission_id="m").duplicate


def test_a_ranking_that_lost_its_entries_gets_its_time_to_live_again(make: Make, client: Redis) -> None:
    lb = make(Board("arena", windows=[Daily()]))
    lb.submit("ann", 5)
    client.delete("lb1:{arena}:daily:2050-07-02")
    assert lb.submit("ann", 5)["daily"].old_score is None
    assert client.pttl("lb1:{arena}:daily:2050-07-02") > 0


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"at": "2026-01-01"}, "bad_time"),
        ({"at": datetime.min.replace(tzinfo=UTC)}, "bad_time"),
        ({"at": datetime.max.replace(tzinfo=UTC)}, "bad_time"),
        ({"segments": "country=NL"}, "bad_id"),
        ({"segments": ["country"]}, "bad_id"),
        ({"segments": {"country": "\ud800"}}, "bad_id"),
        ({"points": 2**2000}, "bad_points"),
        ({"update": 5}, "update_not_allowed"),
        ({"submission_id": 5}, "bad_id"),
    ],
)
def test_a_strange_item_is_refused_alone(wrong: dict[str, Any], code: str, valkey: Redis, clock: SetClock) -> None:
    lb = Leaderboard(Board("arena", segments=[Segment("country", pattern=".+")]), valkey, clock=clock)
    bad, good = lb.submit_many([Submission(**{"user_id": "ann", "points": 1, **wrong}), Submission("bob", 1)])
    assert (getattr(bad, "code", None), isinstance(good, Receipt)) == (code, True)


@pytest.mark.parametrize(
    "where", [{"period": 5}, {"window": []}, {"segment": ["a"]}, {"segment": 5}, {"segment": "a"}, {"period": "x"}]
)
def test_strange_places_are_refused(where: dict[str, Any], valkey: Redis) -> None:
    lb = Leaderboard(Board("arena", segments=["country"]), valkey)
    for read in (lb.top, lb.count):
        with pytest.raises(LeaderboardError) as caught:
            read(**where)
        assert caught.value.code in ("bad_input", "unknown_window", "bad_id")


def test_tampered_cursors_are_refused(valkey: Redis, clock: SetClock) -> None:
    lb = Leaderboard(Board("arena", score_type="float"), valkey, clock=clock)
    place = "arena all all - sparse"
    for fields in (
        ["1" * 400 + "x", 5, "ann"],
        ["5", -1, "ann"],
        ["5", 2**60, "ann"],
        ["5", 5, "\ud800"],
        [5, 5, "ann"],
        ["nan", 5, "a"],
    ):
        text = json.dumps([place, *fields]).encode()
        with pytest.raises(e.CursorError):
            lb.top(cursor=base64.urlsafe_b64encode(text).decode().rstrip("="))


def test_clients_must_give_bytes(valkey: Redis) -> None:
    with pytest.raises(e.ConfigurationError, match="decode_responses"):
        Leaderboard(Board("arena"), Redis(decode_responses=True))
    with pytest.raises(e.InputError, match="Submission objects"):
        Leaderboard(Board("arena"), valkey).submit_many([None])  # type: ignore[list-item]
    assert Leaderboard(Board("arena", windows=[Season()]), valkey).ranks("ann") == {}


def test_late_submissions_count_where_windows_are_open(make: Make, clock: SetClock) -> None:
    lb = make(Board("arena", windows=[AllTime(), Daily(), Weekly()]))
    yesterday = to_datetime(clock.now - DAY)
    receipt = lb.submit("ann", 5, at=yesterday)
    assert (list(receipt), receipt.closed) == (["all", "weekly"], ("daily",))
    with pytest.raises(e.ClosedPeriodError, match="'daily', 'weekly'"):
        lb.submit("ann", 5, at=to_datetime(clock.now - 8 * DAY))
    assert lb.top().entries[0].score == 5


def test_a_period_takes_late_events_within_its_grace(make: Make, clock: SetClock) -> None:
    lb = make(Board("arena", windows=[Daily(grace=timedelta(minutes=10))]))
    clock.now += DAY // 2 + 9 * 60 * 10**6
    receipt = lb.submit("ann", 5, at=to_datetime(clock.now - 20 * 60 * 10**6))
    assert receipt["daily"].period == "2050-07-02"
    assert [entry.user_id for entry in lb.top(period="previous").entries] == ["ann"]
    assert lb.top().entries == ()


def test_period_keys_expire_one_period_after_their_end(make: Make, client: Redis, clock: SetClock) -> None:
    make(Board("arena", windows=[AllTime(), Daily()], dense=True)).submit("ann", 5)
    assert client.pttl("lb1:{arena}:all:all") == -1
    for part in ("", "/ticks", "/levels"):
        left = client.pttl(f"lb1:{{arena}}:daily:2050-07-02{part}")
        expires_at = datetime.now(UTC) + timedelta(milliseconds=left)
        assert abs(expires_at - datetime(2050, 7, 4, tzinfo=UTC)) < timedelta(minutes=1)


def test_friends_are_ranked_among_themselves(make: Make) -> None:
    lb = make(Board("arena"))
    for user, points in (("ann", 9), ("bob", 5), ("cat", 5), ("dan", 7)):
        lb.submit(user, points)
    friends = lb.among(["cat", "ann", "bob", "ann", "nobody"])
    assert [(friend.rank, friend.entry.user_id, friend.entry.rank) for friend in friends] == [
        (1, "ann", 1),
        (2, "bob", 3),
        (2, "cat", 3),
    ]
    assert lb.among([]) == []
    with pytest.raises(e.InputError, match="too many"):
        lb.among([str(i) for i in range(501)])


def test_ranks_tells_of_every_window(make: Make) -> None:
    lb = make(Board("arena", windows=[AllTime(), Daily()]))
    lb.submit("ann", 5)
    ranks = lb.ranks("ann")
    assert {window: entry and entry.rank for window, entry in ranks.items()} == {"all": 1, "daily": 1}
    assert lb.ranks("bob") == {"all": None, "daily": None}


@pytest.mark.parametrize(
    "wrong", [{"limit": -1}, {"limit": 1001}, {"limit": "5"}, {"limit": True}, {"offset": -1}, {"ranking": "best"}]
)
def test_wrong_page_arguments_are_refused(wrong: dict[str, Any], valkey: Redis) -> None:
    with pytest.raises(e.InputError):
        Leaderboard(Board("arena"), valkey).top(**wrong)


@pytest.mark.parametrize("cursor", ["", "x", "eA", "é", "[1]", "W10", "A" * 5000])
def test_foreign_cursors_are_refused(cursor: str, valkey: Redis) -> None:
    with pytest.raises(e.CursorError, match="is not one that this board gave"):
        Leaderboard(Board("arena"), valkey).top(cursor=cursor)


def test_a_cursor_belongs_to_its_ranking(make: Make) -> None:
    lb = make(Board("arena", windows=[AllTime(), Daily()]))
    lb.submit("ann", 5)
    lb.submit("bob", 5)
    cursor = lb.top(1).cursor
    with pytest.raises(e.CursorError, match="belongs to"):
        lb.top(1, cursor=cursor, window="daily")
    with pytest.raises(e.CursorError, match="belongs to"):
        lb.top(1, cursor=cursor, ranking="unique")
    page = lb.top(1, cursor=cursor)
    assert ([entry.user_id for entry in page.entries], page.cursor) == (["bob"], None)


def test_points_may_be_exact_decimals(make: Make) -> None:
    lb = make(Board("arena", score_type="float"))
    assert lb.submit("ann", Decimal("0.5"))["all"].new_score == 0.5
    with pytest.raises(e.PointsError, match="not exactly a double"):
        lb.submit("ann", Decimal("0.1"))


def test_percentiles(make: Make) -> None:
    lb = make(Board("arena"))
    assert lb.score_at_percentile(50) is None
    for i in range(8):
        lb.submit(f"u{i}", i)
    assert (lb.percentile("u7"), lb.percentile("u0"), lb.percentile("u6"), lb.percentile("x")) == (100.0, 12.5, 87.5, None)
    assert [lb.score_at_percentile(p) for p in (100, 87.5, 50, 0)] == [7, 6, 3, 0]
    for wrong in (101, -0.1, float("nan"), "x", None):
        with pytest.raises(e.InputError, match="0 to 100"):
            lb.score_at_percentile(wrong)  # type: ignore[arg-type]


def test_changed_rules_are_refused_until_the_data_is_dropped(make: Make) -> None:
    make(Board("arena", order="desc")).submit("ann", 5)
    other = make(Board("arena", order="asc"))
    for call in (lambda: other.submit("ann", 5), other.top, lambda: other.rank("ann"), other.count):
        with pytest.raises(e.LayoutError, match="rebuild or drop"):
            call()
    ranking = other.store.rankings.get(other.board.windows[0], AllTime().period("all"))
    other.store.drop(ranking.keys, ["all"])
    assert other.submit("ann", 5)["all"].old_score is None


def test_rules_that_do_not_touch_the_data_may_change(make: Make) -> None:
    make(Board("arena", windows=[AllTime()])).submit("ann", 5)
    changed = make(Board("arena", update="best", ranking="unique", windows=[AllTime(), Daily()], score_range=None))
    assert changed.submit("ann", 3)["all"].new_score == 5


def test_seasons_start_end_and_stay_readable(make: Make, clock: SetClock, client: Redis) -> None:
    lb = make(Board("arena", windows=[AllTime(), Season()]))
    assert lb.submit("ann", 1).closed == ("season",)
    assert lb.top(window="season").entries == ()
    lb.start_season("season-1")
    with pytest.raises(e.SeasonError, match="end that one first"):
        lb.start_season("season-2")
    lb.submit("ann", 5)
    clock.now += DAY
    lb.end_season()
    lb.start_season("season-2")
    lb.submit("bob", 7)
    assert [entry.user_id for entry in lb.top(window="season").entries] == ["bob"]
    for name in ("previous", "season-1"):
        assert [entry.user_id for entry in lb.top(window="season", period=name).entries] == ["ann"]
    assert client.pttl("lb1:{arena}:season:season-1") > 0
    lb.end_season()
    with pytest.raises(e.SeasonError, match="was played before"):
        lb.start_season("season-1")
    with pytest.raises(e.SeasonError, match="no season"):
        lb.end_season()
    assert len(lb.remove("ann").changes) == 2


def test_a_process_that_missed_the_new_season_learns_of_it(client: Redis, clock: SetClock) -> None:
    board = Board("arena", windows=[AllTime(), Season()])
    operator, game = (Leaderboard(board, client, clock=clock) for _ in range(2))
    assert game.submit("ann", 5).closed == ("season",)
    operator.start_season("one")
    assert game.submit("ann", 5)["season"].period == "one"
    clock.now += 10
    operator.end_season()
    operator.start_season("two")
    assert game.submit("ann", 5)["season"].period == "two"
    assert operator.top(window="season", period="one").entries[0].score == 5
    clock.now += 10
    operator.end_season()
    assert game.submit("ann", 5).closed == ("season",)


def test_a_tournament_takes_only_its_own_time(make: Make, clock: SetClock) -> None:
    start = to_datetime(clock.now + DAY)
    lb = make(Board("arena", windows=[AllTime(), Tournament("cup", start, start + timedelta(days=1))]))
    assert lb.submit("ann", 5).closed == ("cup",)
    clock.now += DAY
    assert list(lb.submit("ann", 5)) == ["all", "cup"]
    assert lb.top(window="cup").entries[0].score == 5


def test_names_come_with_entries(client: Redis, clock: SetClock) -> None:
    users = Users(Caller(client), "lb1")
    lb = Leaderboard(Board("arena"), client, clock=clock, users=users)
    lb.submit("ann", 5, user_name="Ann ✨")
    lb.submit("bob", 3)
    assert [entry.user_name for entry in lb.top().entries] == ["Ann ✨", None]
    entry = lb.rank("ann")
    assert entry is not None
    assert entry.user_name == "Ann ✨"
    bad, good = lb.submit_many([Submission("cat", 1, user_name="a\nb"), Submission("dan", 1, user_name="Dan")])
    assert (getattr(bad, "code", None), isinstance(good, Receipt)) == ("bad_id", True)
    users.put("ann", Profile("Ann", {"picture": "cat.png"}))
    assert [entry.metadata for entry in lb.top(metadata=True).entries] == [{"picture": "cat.png"}, None, None]
    users.erase("ann")
    assert users.get(["ann"], metadata=True) == [Profile()]
    with pytest.raises(e.ConfigurationError, match="users="):
        Leaderboard(Board("arena"), client).submit("ann", 5, user_name="Ann")


def test_a_key_of_another_kind_stops_the_call_before_it_writes(make: Make, client: Redis) -> None:
    lb = make(Board("arena", windows=[AllTime(), Daily()]))
    client.set("lb1:{arena}:daily:2050-07-02/ticks", "not ours")
    with pytest.raises(Exception, match="WRONGTYPE"):
        lb.submit("ann", 5)
    assert not client.exists("lb1:{arena}:all:all")


def test_ten_thousand_items_in_one_call(make: Make) -> None:
    lb = make(Board("arena", windows=[Daily()], score_range=(0, 10**6)))
    outcomes = lb.submit_many([Submission(f"u{i % 100}", 1) for i in range(10_000)], ranks=False)
    assert sum(isinstance(outcome, Receipt) for outcome in outcomes) == 10_000
    assert {entry.score for entry in lb.top(100).entries} == {100}


def test_times_need_a_zone(make: Make) -> None:
    with pytest.raises(e.TimeError, match="has no time zone"):
        make(Board("arena")).submit("ann", 5, at=datetime(2050, 1, 1))
    with pytest.raises(e.TimeError, match="lies in the future"):
        make(Board("arena")).submit("ann", 5, at=datetime(2050, 7, 2, 12, 0, 6, tzinfo=UTC))


def test_as_many_submissions_a_minute_as_the_board_allows(make: Make, clock: SetClock) -> None:
    lb = make(Board("arena", per_minute=2))
    clock.now += 45_000_000
    assert lb.submit("ann", 1, submission_id="m1").number == 1
    assert lb.submit("ann", 1).number == 2
    with pytest.raises(e.RateLimitError, match="2 submissions") as caught:
        lb.submit("ann", 1, submission_id="m2")
    assert caught.value.retry_after == 15
    assert lb.submit("ann", 1, submission_id="m1").duplicate
    assert lb.submit("bob", 1)["all"].new_score == 1
    clock.now += 15_000_000
    assert lb.submit("ann", 1, submission_id="m2")["all"].new_score == 3


def test_names_of_a_page_come_with_it_and_are_never_old(valkey: Redis, clock: SetClock) -> None:
    caller = Caller(valkey)
    users = Users(caller, "lb1")
    lb = Leaderboard(Board("arena"), caller, clock=clock, users=users)
    for number, user in enumerate(("ann", "bob", "cat", "dan")):
        lb.submit(user, number, user_name=user.upper())

    def trips() -> int:
        return int(valkey.info("commandstats")["cmdstat_hmget"]["calls"])

    def names(limit: int) -> list[str | None]:
        return [entry.user_name for entry in lb.top(limit).entries]

    assert names(2) == ["DAN", "CAT"]
    users.put("dan", Profile("Daniel"))
    users.erase("cat")
    assert names(2) == ["Daniel", None]
    lb.submit("ann", 10)
    assert names(2) == ["ANN", "Daniel"]
    assert names(4) == ["ANN", "Daniel", None, "BOB"]
    before = trips()
    assert names(4) == ["ANN", "Daniel", None, "BOB"]
    assert trips() == before + 2  # one inside the script
    lb.remove("dan")
    assert names(4) == ["ANN", None, "BOB"]


@pytest.mark.parametrize("given", [None, 5, Submission("ann", 1), ["ann"], [("ann", 1)], {"ann": 1}])
def test_many_submissions_are_a_list_of_them(valkey: Redis, given: Any) -> None:
    with pytest.raises(e.InputError, match="list of Submission objects"):
        Leaderboard(Board("arena"), valkey).submit_many(given)


@pytest.mark.parametrize("name", [None, 5, [], {}, "no"])
def test_window_that_is_no_name_is_not_known(valkey: Redis, name: Any) -> None:
    with pytest.raises(e.UnknownWindowError, match="has no window"):
        Leaderboard(Board("arena"), valkey).periods(name)
