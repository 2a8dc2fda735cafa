"""Names and metadata of users: SQL has the truth, Redis a copy of it, whatever it loses."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_leaderboard import AllTime, Board, Daily, Leaderboard, Submission
from flask_leaderboard.engine.profiles import LoggedUsers
from flask_leaderboard.errors import LogMismatchError, LogUnavailableError, StoreUnavailableError
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.profiles import ProfileTable
from flask_leaderboard.store.calls import Caller
from flask_leaderboard.store.users import Mark, Profile, Users
from tests.conftest import SetClock
from tests.servers import FLAVOURS

STRANGE = "é 😀 e\u0301 '; --"


def users_of(client: Redis, database: Database) -> LoggedUsers:
    """Give a process's view of the users: several of them are as many processes."""
    return LoggedUsers(Caller(client), "lb1", ProfileTable(database))


def board_of(client: Redis, database: Database, clock: SetClock, **rules: Any) -> Leaderboard:
    board = Board("arena", **{"windows": [AllTime(), Daily()], "mode": "ledger", **rules})
    caller = Caller(client)
    return Leaderboard(board, caller, clock=clock, users=users_of(client, database), log=EventLog(board, database))


def names(board: Leaderboard) -> dict[str, str | None]:
    return {entry.user_id: entry.user_name for entry in board.top(100).entries}


def in_redis(client: Redis) -> dict[str, str]:
    return {user.decode(): name.decode() for user, name in client.hgetall("lb1:{@users}:names").items()}  # type: ignore[union-attr]


@pytest.fixture
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.profiles.LOOK_SECONDS", 0.0)


def test_profiles_come_back_as_they_were_put(valkey: Redis, database: Database) -> None:
    users = users_of(valkey, database)
    profile = Profile(STRANGE, {"picture": STRANGE, "n": [1, 0.5, None]})
    users.put("mary", profile)
    users.put("bob", Profile("Bob"))
    assert users.get(["mary", "bob", "eve"], metadata=True) == [profile, Profile("Bob"), Profile()]
    assert users.get(["mary"]) == [Profile(STRANGE)]
    valkey.flushall()
    assert users_of(valkey, database).get(["mary", "bob"], metadata=True) == [profile, Profile("Bob")]
    users.put("mary", Profile(None, {"a": 1}))
    assert users_of(valkey, database).get(["mary"], metadata=True) == [Profile(None, {"a": 1})]


def test_names_come_with_events_and_survive_an_emptied_redis(valkey: Redis, database: Database, clock: SetClock) -> None:
    board = board_of(valkey, database, clock)
    board.submit("mary", 5, user_name="Mary")
    board.submit_many([Submission("bob", 3, user_name="Bobby"), Submission("bob", 1, user_name=STRANGE), Submission("eve", 1)])
    wanted = {"mary": "Mary", "bob": STRANGE, "eve": None}
    assert names(board) == wanted
    valkey.flushall()
    assert names(board) == wanted
    assert names(board_of(valkey, database, clock)) == wanted
    assert in_redis(valkey) == {"mary": "Mary", "bob": STRANGE}


def test_names_on_every_kind_of_redis(client: Redis, tmp_path: Any, clock: SetClock) -> None:
    database = Database(database_url(None, tmp_path), own=True)
    board = board_of(client, database, clock)
    board.submit("mary", 5, user_name="Mary")
    assert names(board) == {"mary": "Mary"}
    client.flushall()
    assert names(board) == {"mary": "Mary"}
    database.close()


def test_only_a_new_name_takes_a_version(valkey: Redis, database: Database, clock: SetClock) -> None:
    board, table = board_of(valkey, database, clock), ProfileTable(database)
    for name in ("Mary", "Mary", "Mary II", None, "Mary II"):
        board.submit("mary", 1, user_name=name)
    assert table.changes(0, 10).newest == 2
    assert [profile.version for profile in table.changes(0, 10).profiles] == [2]
    assert users_of(valkey, database).mark() == Mark(2)


def test_the_name_of_what_was_not_taken_is_not_kept(valkey: Redis, database: Database, clock: SetClock) -> None:
    board = board_of(valkey, database, clock)
    board.submit("mary", 5, submission_id="m1", user_name="Mary")
    board.submit_many([Submission("mary", 6, "m1", user_name="Conflict")])
    assert names(board) == {"mary": "Mary"}


def test_a_name_that_came_with_a_duplicate_is_kept(valkey: Redis, database: Database, clock: SetClock) -> None:
    board = board_of(valkey, database, clock)
    board.submit("mary", 5, submission_id="m1")
    assert board.submit("mary", 5, submission_id="m1", user_name="Mary").duplicate
    assert names(board) == {"mary": "Mary"}


def test_older_data_is_noticed_by_another_process_in_a_second(
    valkey: Redis, database: Database, clock: SetClock, quick_looks: None
) -> None:
    writer, reader = board_of(valkey, database, clock), board_of(valkey, database, clock)
    writer.submit("mary", 5, user_name="Mary")
    assert names(reader) == {"mary": "Mary"}
    older = {key: valkey.dump(key) for key in valkey.scan_iter()}
    writer.submit("mary", 5, user_name="Mary II")
    valkey.flushall()
    for key, value in older.items():
        valkey.restore(key, 0, value)
    assert names(reader) == {"mary": "Mary II"}


class Killed(BaseException):
    pass


def _die(*_: Any, **__: Any) -> Any:
    raise Killed


@pytest.mark.parametrize("point", ["mark", "advance", "follow"])
@pytest.mark.parametrize("by", ["put", "put_names", "submit"])
def test_dying_between_commit_and_redis_loses_nothing(
    valkey: Redis, database: Database, clock: SetClock, monkeypatch: pytest.MonkeyPatch, point: str, by: str
) -> None:
    dying = board_of(valkey, database, clock)
    living = board_of(valkey, database, clock)
    living.submit("mary", 5, user_name="Mary")
    users: Any = dying._users
    users.step()
    monkeypatch.setattr(users, point, _die)
    if by == "put":
        monkeypatch.setattr(users, "step", lambda: False)
        monkeypatch.setattr(users, "follow", _die)
    calls: dict[str, Callable[[], Any]] = {
        "put": lambda: users.put("mary", Profile("Mary II")),
        "put_names": lambda: users.put_names({"mary": "Mary II"}),
        "submit": lambda: dying.submit_many([Submission("mary", 1, user_name="Mary II")]),
    }
    with pytest.raises(Killed):
        calls[by]()
    assert in_redis(valkey) == {"mary": "Mary"}
    assert names(board_of(valkey, database, clock)) == {"mary": "Mary II"}
    assert in_redis(valkey) == {"mary": "Mary II"}


def test_a_later_change_that_is_first_in_redis_brings_the_earlier(valkey: Redis, database: Database) -> None:
    late, early = users_of(valkey, database), users_of(valkey, database)
    version = ProfileTable(database).put("mary", "Mary", None)
    early.put("bob", Profile("Bob"))
    assert (in_redis(valkey), early.mark().version) == ({"mary": "Mary", "bob": "Bob"}, version + 1)
    late.follow(version)
    assert late.mark().version == version + 1


def test_what_was_read_before_another_wrote_is_not_written(
    valkey: Redis, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = users_of(valkey, database), users_of(valkey, database)
    advance = slow.advance

    def late(*args: Any, **more: Any) -> bool:
        monkeypatch.setattr(slow, "advance", advance)
        quick.put("mary", Profile("Mary II"))
        return advance(*args, **more)

    version = ProfileTable(database).put("mary", "Mary", None)
    monkeypatch.setattr(slow, "advance", late)
    slow.follow(version)
    assert in_redis(valkey) == {"mary": "Mary II"}
    assert slow.mark() == Mark(2)


def test_a_write_that_comes_between_watch_and_exec_is_seen(valkey: Redis, database: Database) -> None:
    users = users_of(valkey, database)
    queue = users._queue

    def meanwhile(pipeline: Any, texts: Any) -> None:
        valkey.set("lb1:{@users}:version", "7 0")
        queue(pipeline, texts)

    users._queue = meanwhile  # type: ignore[method-assign]
    assert not users.advance(Mark(), Mark(1), {"mary": ("Mary", None)})
    assert in_redis(valkey) == {}


def test_a_large_redis_is_filled_page_by_page_and_names_come_from_sql_meanwhile(
    valkey: Redis, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_leaderboard.engine.profiles.PROFILES_A_STEP", 10)
    users = users_of(valkey, database)
    given = {f"user{place:02}": f"Name {place}" for place in range(45)}
    users.put_names(given)
    users.put("user00", Profile("Name 0", {"a": 1}))
    valkey.flushall()
    assert users.get(["user44", "user00"]) == [Profile("Name 44"), Profile("Name 0")]
    assert len(in_redis(valkey)) < 45
    assert users.get(["user00"], metadata=True) == [Profile("Name 0", {"a": 1})]
    steps = 1
    while users.step():
        steps += 1
    assert in_redis(valkey) == given
    assert steps <= 5


def test_redis_away_takes_names_and_reads_them_from_sql(database: Database, clock: SetClock) -> None:
    server = FLAVOURS["valkey9"].start()
    try:
        board = board_of(Redis(unix_socket_path=str(server.socket), retry=Retry(NoBackoff(), 0)), database, clock)
        server.process.kill()
        server.process.wait(10)
        assert board.submit("mary", 5, user_name="Mary").pending
        users: Any = board._users
        users.put("bob", Profile("Bob"))
        assert users.get(["mary", "bob"]) == [Profile("Mary"), Profile("Bob")]
    finally:
        server.stop()
    anew = FLAVOURS["valkey9"].start()
    try:
        assert names(board_of(anew.client, database, clock)) == {"mary": "Mary"}
        assert in_redis(anew.client) == {"mary": "Mary", "bob": "Bob"}
    finally:
        anew.stop()


def test_database_away_shows_what_redis_has_and_refuses_changes(
    valkey: Redis, database: Database, monkeypatch: pytest.MonkeyPatch, quick_looks: None
) -> None:
    users = users_of(valkey, database)
    users.put("mary", Profile("Mary"))

    def down(*_: Any) -> Any:
        raise LogUnavailableError("the log can't be reached")

    with monkeypatch.context() as patch:
        for name in ("attempt", "begin"):
            patch.setattr(database, name, down)
        assert users.get(["mary"]) == [Profile("Mary")]
        with pytest.raises(LogUnavailableError):
            users.put("mary", Profile("Mary II"))
    assert users.get(["mary"]) == [Profile("Mary")]


def test_profiles_that_the_database_does_not_know_are_refused(valkey: Redis, database: Database) -> None:
    valkey.set("lb1:{@users}:version", "7 0")
    users = users_of(valkey, database)
    with pytest.raises(LogMismatchError, match="version 7"):
        users.put("mary", Profile("Mary"))
    assert users.get(["mary"]) == [Profile()]
    assert ProfileTable(database).changes(0, 10).newest == 0


def test_names_that_redis_has_from_before_stay(valkey: Redis, database: Database) -> None:
    Users(Caller(valkey), "lb1").put("old", Profile("Old", {"a": 1}))
    users = users_of(valkey, database)
    users.put("mary", Profile("Mary"))
    assert users.get(["old", "mary"], metadata=True) == [Profile("Old", {"a": 1}), Profile("Mary")]


def test_threads_lose_no_name(valkey: Redis, database: Database, clock: SetClock) -> None:
    """Boards and views of several processes change the same users at once, each in another order."""
    boards = [board_of(Redis(connection_pool=valkey.connection_pool), database, clock) for _ in range(3)]
    failures: list[BaseException] = []

    def play(writer: int) -> None:
        board = boards[writer % 3]
        users: Any = board._users
        try:
            for turn in range(8):
                picked = [f"user{(writer * turn + step) % 5}" for step in range(4)]
                board.submit_many([Submission(user, 1, user_name=f"{user} {writer}.{turn}") for user in picked])
                users.put(picked[0], Profile(f"{picked[0]} put {writer}.{turn}", {"turn": turn}))
                users.put_names({user: f"{user} again {writer}.{turn}" for user in reversed(picked[1:])})
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=play, args=(writer,)) for writer in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    while users_of(valkey, database).step():
        pass
    table = ProfileTable(database)
    stored = {user: profile.name for user, profile in table.get([f"user{place}" for place in range(5)]).items()}
    assert in_redis(valkey) == stored
    versions = [profile.version for profile in table.changes(0, 1000).profiles]
    assert len(versions) == len(set(versions))
    assert users_of(valkey, database).mark().version == versions[-1] == table.changes(0, 1).newest


CHILD = """
import sys
from redis import Redis
from flask_leaderboard.engine.profiles import LoggedUsers
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.profiles import ProfileTable
from flask_leaderboard.store.calls import Caller
from flask_leaderboard.store.users import Profile

socket, url, name = sys.argv[1:]
users = LoggedUsers(Caller(Redis(unix_socket_path=socket)), "lb1", ProfileTable(Database(database_url(url, None))))
turn = 0
while True:
    turn += 1
    users.put(f"user{turn % 7}", Profile(f"{name} {turn}"))
    print(turn, flush=True)
"""


def test_killed_processes_leave_nothing_behind_that_is_not_mended(backends: Any, valkey: Redis, database: Database) -> None:
    url = database.engine.url.render_as_string(hide_password=False)
    command = [sys.executable, "-c", CHILD, str(backends("valkey9").socket), url]
    children = [subprocess.Popen([*command, f"writer{n}"], stdout=subprocess.PIPE, text=True) for n in range(2)]
    try:
        for child in children:
            assert child.stdout is not None
            for _ in range(15):
                assert child.stdout.readline()
    finally:
        for child in children:
            child.kill()
            child.communicate(timeout=30)
    users = users_of(valkey, database)
    users.put("last", Profile("Last"))  # waits for what still hangs at the database
    while users.step():
        pass
    ids = [*(f"user{place}" for place in range(7)), "last"]
    stored = {user: profile.name for user, profile in ProfileTable(database).get(ids).items()}
    assert in_redis(valkey) == stored
    assert len(stored) == 8


def test_boards_without_a_log_keep_names_in_sql_where_there_is_a_database(
    valkey: Redis, database: Database, clock: SetClock
) -> None:
    board = Leaderboard(Board("plain", windows=[AllTime()]), valkey, clock=clock, users=users_of(valkey, database))
    board.submit("mary", 5, user_name="Mary")
    valkey.delete("lb1:{@users}:names", "lb1:{@users}:version")
    assert names(board) == {"mary": "Mary"}


def test_plain_users_serve_a_board_with_a_log_too(valkey: Redis, database: Database, clock: SetClock) -> None:
    rules, caller = Board("arena", mode="ledger"), Caller(valkey)
    board = Leaderboard(rules, caller, clock=clock, users=Users(caller, "lb1"), log=EventLog(rules, database))
    board.submit("mary", 5, user_name="Mary")
    assert names(board) == {"mary": "Mary"}


def test_redis_and_database_away_is_told(database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    users = users_of(Redis(unix_socket_path=f"{tmp_path}/nobody", retry=Retry(NoBackoff(), 0)), database)
    monkeypatch.setattr(users, "_stored", lambda *_: (_ for _ in ()).throw(LogUnavailableError("away")))
    with pytest.raises(LogUnavailableError):
        users.get(["mary"])
    with pytest.raises(StoreUnavailableError):
        users.step()
