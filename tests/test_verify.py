"""Comparing Redis with the log: every difference is found, and none that is not there, also while others write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from flask_leaderboard import Board, Leaderboard, Submission
from flask_leaderboard.engine.differences import Verified
from flask_leaderboard.engine.walking import unmatched
from flask_leaderboard.errors import NoLogError, UnknownWindowError
from flask_leaderboard.log.database import Database
from flask_leaderboard.log.event_log import EventLog
from tests.conftest import SetClock
from tests.test_rebuild import KINDS, Game, Keep, Threads, arena, file_database, keep

__all__ = ["file_database", "keep"]
ALL = "lb1:{arena}:all:all"
USER = "user4"


def described(verified: Verified) -> list[tuple[Any, ...]]:
    return [(found.what, found.ranking, found.user_id, found.redis, found.log) for found in verified.differences]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_found_where_nothing_differs(valkey: Redis, database: Database, clock: SetClock, kind: str) -> None:
    rules = arena(**KINDS[kind])
    game = Game(Leaderboard(rules, valkey, clock=clock, log=EventLog(rules, database)), clock)
    assert game.board.verify() == Verified()
    game.play()
    verified = game.board.verify()
    assert described(verified) == []
    assert verified.entries == sum(map(len, game.tables().values()))
    assert verified.rankings >= len(game.tables())


def member_of(client: Redis, key: str, user: str) -> bytes:
    return next(member for member in client.zrange(key, 0, -1) if member.endswith(user.encode()))


def change_score(client: Redis, by: float) -> None:
    client.zincrby(ALL, by, member_of(client, ALL, USER))


def remove_member(client: Redis) -> None:
    client.zrem(ALL, member_of(client, ALL, USER))


def add_member(client: Redis, member: bytes) -> None:
    client.zadd(ALL, {member: 3.0})


def change_time(client: Redis) -> None:
    """Put the user at another time, with all that goes with it."""
    member = member_of(client, ALL, USER)
    score, ticks = client.zscore(ALL, member), client.hget(f"{ALL}/ticks", USER)
    assert ticks is not None
    earlier = ticks[:-1] + bytes([ticks[-1] ^ 1])
    client.zrem(ALL, member)
    client.zadd(ALL, {earlier + USER.encode(): score})
    client.hset(f"{ALL}/ticks", USER, earlier)


def rename_level(client: Redis) -> None:
    ((_, place),) = client.zpopmax(f"{ALL}/levels")
    client.zadd(f"{ALL}/levels", {"99": place})


SPOILS: dict[str, tuple[str, str, Callable[[Redis], Any]]] = {
    "packed score": ("packed", "entry", lambda client: change_score(client, 3155760001.0)),
    "packed time": ("packed", "entry", lambda client: change_score(client, 1)),
    "packed missing": ("packed", "entry", remove_member),
    "packed extra": ("packed", "entry", lambda client: add_member(client, b"stranger")),
    "exact score": ("exact", "entry", lambda client: change_score(client, 7)),
    "exact missing": ("exact", "entry", remove_member),
    "exact extra": ("exact", "ticks", lambda client: add_member(client, b"\0\0\0\0\0\1stranger")),
    "exact garbage": ("exact", "ticks", lambda client: add_member(client, b"~~~~~~~~~~")),
    "exact time": ("exact", "entry", change_time),
    "exact lost tick": ("exact", "entry", lambda client: client.hdel(f"{ALL}/ticks", USER)),
    "exact stray tick": ("exact", "ticks", lambda client: client.hset(f"{ALL}/ticks", "nobody", b"\0\0\0\0\0\1")),
    "member score": ("member", "entry", lambda client: change_score(client, 1)),
    "float score": ("float", "entry", lambda client: change_score(client, 0.5)),
    "dense level missing": ("dense", "level", lambda client: client.zpopmin(f"{ALL}/levels")),
    "dense level extra": ("dense", "level", lambda client: client.zadd(f"{ALL}/levels", {"99": 99})),
    "dense level misplaced": (
        "dense",
        "level",
        lambda client: client.zadd(f"{ALL}/levels", {"99": client.zpopmax(f"{ALL}/levels")[0][1]}),
    ),
    "segment missing": ("exact", "segment", lambda client: client.srem("lb1:{arena}:@segment:country", "country=NL")),
    "segment extra": ("exact", "segment", lambda client: client.sadd("lb1:{arena}:@segment:country", "country=XX")),
    "ranking gone": ("exact", "entry", lambda client: client.delete(ALL, f"{ALL}/ticks")),
    "ranking too many": ("exact", "entry", lambda client: client.rename(f"{ALL}:country=NL", f"{ALL}:country=DE")),
    "key that expires": ("exact", "expiry", lambda client: client.expire(ALL, 1000)),
    "layout": ("exact", "layout", lambda client: client.hset("lb1:{arena}", "layout:all", "another")),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_what_differs_is_found_and_mended(valkey: Redis, keep: Keep, clock: SetClock, spoil: str) -> None:
    kind, what, spoil_it = SPOILS[spoil]
    game = Game(keep(valkey, arena(**KINDS[kind])), clock)
    game.play(60)
    if spoil == "ranking too many":
        valkey.sadd("lb1:{arena}:@segment:country", "country=DE")
    spoil_it(valkey)
    verified = game.board.verify()
    assert what in {found.what for found in verified.differences}, verified
    if spoil.rsplit(maxsplit=1)[-1] in ("score", "time", "missing", "tick") and what == "entry":
        assert {found.user_id for found in verified.differences if found.what == "entry"} == {USER}
    game.board.rebuild(windows=verified.to_rebuild)
    assert described(game.board.verify()) == []
    game.check()


def test_a_period_key_without_a_time_to_live_is_found(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    game = Game(keep(valkey), clock)
    game.play(30)
    (key,) = [key for key in valkey.scan_iter("*:daily:*") if b"country" not in key and b"/" not in key]
    valkey.persist(key)
    (found,) = game.board.verify(windows=["daily"]).differences
    assert (found.what, found.redis, found.log) == ("expiry", "never expires", "expires")
    assert described(game.board.verify(windows=["all", "hourly"])) == []


def test_many_entries_over_pages(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    board = keep(valkey)
    for first in range(0, 3000, 1000):
        board.submit_many([Submission(f"user{place:04}", place % 7) for place in range(first, first + 1000)], ranks=False)
    assert board.verify().entries == 9000
    gone = [f"user{place:04}" for place in (0, 499, 500, 1999, 2999)]
    for user in gone:
        valkey.zrem(ALL, member_of(valkey, ALL, user))
    verified = board.verify()
    assert sorted(found.user_id or "" for found in verified.differences if found.what == "entry") == gone
    assert verified.to_rebuild == ("all",)


@pytest.mark.parametrize("kind", ["packed", "exact", "dense"])
def test_beside_writers_only_what_differs_is_found(valkey: Redis, keep: Keep, kind: str) -> None:
    rules = arena(**{**KINDS[kind], "score_range": (-50, 10**6)})
    views = [keep(Redis(connection_pool=valkey.connection_pool), rules) for _ in range(3)]
    views[0].submit_many([Submission(f"user{place}", place % 11) for place in range(1200)], ranks=False)
    stopped, writers = threading.Event(), Threads()

    def write(board: Leaderboard) -> None:
        place = 0
        while not stopped.is_set():
            place += 1
            board.submit(f"user{place * 31 % 600}", place % 5, segments={"country": "NL"} if place % 2 else None)
            if place % 50 == 0:
                board.remove(f"user{place % 600}")

    for board in views[:2]:
        writers.start(write, board)
    try:
        quiet = [views[2].verify() for _ in range(3)]
        valkey.zrem(ALL, member_of(valkey, ALL, "user1100"))
        spoiled = views[2].verify()
    finally:
        stopped.set()
        writers.end()
    assert [described(verified) for verified in quiet] == [[], [], []]
    assert {found.user_id for found in spoiled.differences if found.what == "entry"} == {"user1100"}
    assert {found.what for found in spoiled.differences} <= {"entry", "ticks", "level"}


def test_boards_without_a_log_and_unknown_windows_are_refused(valkey: Redis, keep: Keep, clock: SetClock) -> None:
    with pytest.raises(NoLogError):
        Leaderboard(Board("arena"), valkey, clock=clock).verify()
    with pytest.raises(UnknownWindowError):
        keep(valkey).verify(windows=["yearly"])


def test_redis_that_is_behind_is_brought_up_to_date_first(valkey: Redis, keep: Keep) -> None:
    board = keep(valkey)
    board.submit("mary", 5)
    valkey.flushall()
    anew = keep(valkey)
    assert described(anew.verify()) == []
    assert anew.count() == 1


@pytest.mark.parametrize(
    ("ours", "theirs", "only"),
    [
        ([], [], []),
        ([1, 2], [1, 2], []),
        ([1, 2, 3], [2], [1, 3]),
        ([2], [1, 2, 3], [1, 3]),
        ([1, 3], [3, 1], [1, 1]),
        ([1], [], [1]),
    ],
)
def test_unmatched(ours: list[int], theirs: list[int], only: list[int]) -> None:
    assert list(unmatched(ours, theirs)) == only
