"""Erased users: off the boards at once, nameless in the log, and gone for good whatever Redis comes back with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy import MetaData, select

from flask_leaderboard import AllTime, Board, Daily, Segment, Submission
from flask_leaderboard.engine.erasing import KEPT, Eraser
from flask_leaderboard.engine.hub import Hub
from flask_leaderboard.errors import LogUnavailableError, StoreUnavailableError
from flask_leaderboard.log.database import Database
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.log.event_rows import EventRows
from flask_leaderboard.log.short_way import ShortWay
from flask_leaderboard.store.board_store import BoardStore
from flask_leaderboard.store.calls import Caller
from flask_leaderboard.store.users import Mark, Profile, Users
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.web import ADMIN, SUBMIT, arena, code, make_app

LEDGER = Board("arena", mode="ledger", windows=[AllTime(), Daily()], segments=[Segment("country")])
OTHER = Board("other", mode="ledger", windows=[AllTime()], tie_break="last", score_type="float")
UNUSED = Board("unused", mode="ledger")
PLAIN = Board("plain", mode="redis_only", windows=[AllTime()])


@pytest.fixture
def open_hub(valkey: Redis, database: Database, clock: SetClock) -> Callable[..., Hub]:
    """Give a process's view of the boards: several of them are as many processes."""

    def make(connect: Callable[[], Redis] = lambda: Redis(connection_pool=valkey.connection_pool)) -> Hub:
        boards = (LEDGER, OTHER, UNUSED, PLAIN)
        return Hub(boards, connect, prefix="lb1", clock=clock, rest_seconds=0.0, open_database=lambda: database)

    return make


def play(hub: Hub) -> None:
    for board in (LEDGER, OTHER, PLAIN):
        hub[board.name].submit_many([Submission("mary", 5, "m1", user_name="Mary"), Submission("bob", 3, user_name="Bob")])
    hub["arena"].submit("mary", 1, segments={"country": "NL"})
    hub.users.put("mary", Profile("Mary", {"picture": "mary.png"}))


def shown(hub: Hub) -> dict[str, Any]:
    """Tell who stands where, with names."""
    return {name: [(e.user_id, e.user_name, e.score) for e in board.top(100).entries] for name, board in hub.items()}


WITHOUT_MARY = {
    "arena": [("bob", "Bob", 3)],
    "other": [("bob", "Bob", 3.0)],
    "unused": [],
    "plain": [("bob", "Bob", 3)],
}


def redis_tells(client: Redis, text: str) -> bool:
    return any(text.encode() in (client.dump(key) or b"") for key in client.scan_iter())  # type: ignore[operator]


def sql_tells(database: Database, text: str, *but: str) -> bool:
    """Look through every column of every table."""
    metadata = MetaData()
    with database.begin() as connection:
        metadata.reflect(connection)
        tables = [table for name, table in metadata.tables.items() if name not in but]
        rows = [row for table in tables for row in connection.execute(select(table))]
    values = (value.decode() if isinstance(value, bytes) else str(value) for row in rows for value in row)
    return any(text in value for value in values)


def snapshot(client: Redis) -> dict[bytes, Any]:
    return {key: client.dump(key) for key in client.scan_iter()}


def set_back(client: Redis, older: dict[bytes, Any]) -> None:
    client.flushall()
    for key, value in older.items():
        client.restore(key, 0, value)


def finish(hub: Hub, clock: SetClock) -> None:
    """Let so much time pass that the id is not kept any more."""
    clock.now += KEPT + 1
    while hub.tend_users():
        pass


def test_erased_user_is_gone_and_the_log_is_intact(
    open_hub: Callable[..., Hub], valkey: Redis, database: Database, clock: SetClock
) -> None:
    hub = open_hub()
    play(hub)
    hub.erase("mary")
    assert shown(hub) == WITHOUT_MARY
    assert hub.users.get(["mary"], metadata=True) == [Profile()]
    assert hub["arena"].history("mary") == []
    assert not sql_tells(database, "mary", "leaderboard_erased")
    finish(hub, clock)
    assert not sql_tells(database, "mary")
    assert not sql_tells(database, "Mary")
    events = EventLog(LEDGER, database).read(0, 100)
    assert [(e.number, e.kind, e.user_id, e.points, e.nameless) for e in events] == [
        (1, "submit", "\x1f2", 5, True),
        (2, "submit", "bob", 3, False),
        (3, "submit", "\x1f2", 1, True),
        (4, "remove", "\x1f2", None, True),
    ]
    assert {event.user for event in events if event.nameless} == {2}
    assert EventLog(UNUSED, database).head() == 0


@pytest.mark.parametrize("finished", [False, True])
def test_a_replay_passes_the_erased_and_leaves_nothing_behind(
    open_hub: Callable[..., Hub], valkey: Redis, database: Database, clock: SetClock, finished: bool
) -> None:
    hub = open_hub()
    play(hub)
    hub.erase("mary")
    if finished:
        finish(hub, clock)
    valkey.flushall()
    wanted = {**WITHOUT_MARY, "plain": []}
    assert shown(hub) == wanted
    assert shown(open_hub()) == wanted
    assert not redis_tells(valkey, "mary")
    assert not redis_tells(valkey, "\x1f2")
    assert hub["arena"].count(segment="country=NL") == 0


def test_long_replay_in_parts_passes_the_erased(
    open_hub: Callable[..., Hub], valkey: Redis, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = open_hub()
    play(hub)
    hub.erase("mary")
    finish(hub, clock)
    monkeypatch.setattr("flask_leaderboard.engine.folding.EVENTS_A_READ", 1)
    monkeypatch.setattr("flask_leaderboard.engine.folding.LONGEST_CATCH_UP_SECONDS", 0.0)
    monkeypatch.setattr("flask_leaderboard.engine.profiles.PROFILES_A_STEP", 1)
    valkey.flushall()
    for _ in range(10):
        with suppress(StoreUnavailableError):
            shown(open_hub())
    assert shown(open_hub()) == {**WITHOUT_MARY, "plain": []}


def test_redis_that_comes_back_with_the_erased_forgets_them(open_hub: Callable[..., Hub], valkey: Redis, clock: SetClock) -> None:
    hub = open_hub()
    play(hub)
    older = snapshot(valkey)
    hub.erase("mary")
    hub["arena"].submit("bob", 1)
    set_back(valkey, older)
    assert shown(open_hub())["arena"] == [("bob", "Bob", 4)]
    assert shown(open_hub())["other"] == WITHOUT_MARY["other"]
    assert open_hub().users.get(["mary"], metadata=True) == [Profile()]
    assert not redis_tells(valkey, "Mary")


def test_redis_with_data_too_old_to_be_mended_is_not_shown(open_hub: Callable[..., Hub], valkey: Redis, clock: SetClock) -> None:
    hub = open_hub()
    play(hub)
    older = snapshot(valkey)
    hub.erase("mary")
    finish(hub, clock)
    set_back(valkey, older)
    late = open_hub()
    for name in ("arena", "other"):
        page = late[name].top()
        assert page.degraded
        assert [entry.user_id for entry in page.entries] == ["bob"]
    assert late.users.get(["mary", "bob"], metadata=True) == [Profile(), Profile("Bob")]
    while late.tend_users():
        pass
    assert valkey.hgetall("lb1:{@users}:names") == {b"bob": b"Bob"}
    assert valkey.hgetall("lb1:{@users}:metadata") == {}
    for name in ("arena", "other"):
        valkey.delete(*valkey.keys(f"lb1:{{{name}}}*"))
    assert shown(open_hub())["arena"] == [("bob", "Bob", 3)]


def test_names_are_filled_anew_once_and_then_go_on(open_hub: Callable[..., Hub], valkey: Redis, clock: SetClock) -> None:
    hub = open_hub()
    play(hub)
    hub.erase("mary")
    finish(hub, clock)
    valkey.flushall()
    users: Any = open_hub().users
    assert [users.step(), users.step(), users.step()] == [True, False, False]
    newest = users.mark().version
    assert users.mark() == Mark(newest, newest)
    hub.users.put("bob", Profile("Bobby"))
    assert users.mark() == Mark(newest + 1, newest)


def test_redis_away_follows_when_it_is_back(
    open_hub: Callable[..., Hub], valkey: Redis, database: Database, clock: SetClock, tmp_path: Path
) -> None:
    hub = open_hub()
    play(hub)
    away = open_hub(lambda: Redis(unix_socket_path=str(tmp_path / "nobody"), retry=Retry(NoBackoff(), 0)))
    with pytest.raises(StoreUnavailableError):  # a board without a log could not be asked to forget
        away.erase("mary")
    assert not sql_tells(database, "mary", "leaderboard_erased")
    assert redis_tells(valkey, "Mary")
    clock.now += KEPT + 1
    with suppress(StoreUnavailableError):
        away.tend_users()
    assert sql_tells(database, "mary"), "it is kept as long as Redis has not forgotten it"
    again = open_hub()
    again.erase("mary")
    assert shown(again) == {**WITHOUT_MARY}
    assert not redis_tells(valkey, "Mary")
    while again.tend_users():
        pass
    assert not sql_tells(database, "mary")


def test_erased_where_redis_is_away_and_all_boards_have_a_log(
    valkey: Redis, database: Database, clock: SetClock, tmp_path: Path
) -> None:
    def open_(client: Redis) -> Hub:
        return Hub((LEDGER,), lambda: client, prefix="lb1", clock=clock, rest_seconds=0.0, open_database=lambda: database)

    here = open_(valkey)
    here["arena"].submit("mary", 5, user_name="Mary")
    away = open_(Redis(unix_socket_path=str(tmp_path / "nobody"), retry=Retry(NoBackoff(), 0)))
    away.erase("mary")
    with pytest.raises(StoreUnavailableError):
        away.erase("nobody")  # only Redis could know
    assert open_(valkey)["arena"].top().entries == ()
    assert open_(valkey).users.get(["mary"]) == [Profile()]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("point", ["fold", "follow", "advance", "forget"])
def test_dying_on_the_way_is_mended_by_the_next(
    open_hub: Callable[..., Hub], valkey: Redis, database: Database, clock: SetClock, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    hub = open_hub()
    play(hub)

    def die(*_: Any, **__: Any) -> Any:
        raise Killed

    places: dict[str, tuple[Any, str]] = {
        "fold": (BoardStore, "apply"),
        "follow": (hub.users, "follow"),
        "advance": (hub.users, "advance"),
        "forget": (Eraser, "forget"),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*places[point], die)
        with pytest.raises(Killed):
            hub.erase("mary")
    living = open_hub()
    told = shown(living)
    assert {name: told[name] for name in ("arena", "other")} == {name: WITHOUT_MARY[name] for name in ("arena", "other")}
    assert living.users.get(["mary"], metadata=True) == [Profile()]
    assert not redis_tells(valkey, "Mary")
    living.erase("mary")
    assert shown(living) == WITHOUT_MARY
    finish(living, clock)
    assert not sql_tells(database, "mary")


def test_database_away_changes_nothing_that_is_logged(
    open_hub: Callable[..., Hub], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = open_hub()
    play(hub)

    def down(*_: Any) -> Any:
        raise LogUnavailableError("the log can't be reached")

    with monkeypatch.context() as patch:
        patch.setattr(database, "attempt", down)
        with pytest.raises(LogUnavailableError):
            hub.erase("mary")
    assert shown(hub)["arena"] == [("mary", "Mary", 6), ("bob", "Bob", 3)]
    assert shown(hub)["plain"] == WITHOUT_MARY["plain"]
    hub.erase("mary")
    assert shown(hub) == WITHOUT_MARY


def test_erased_twice_and_unknown_users(open_hub: Callable[..., Hub], database: Database, valkey: Redis) -> None:
    hub = open_hub()
    play(hub)
    for user in ("mary", "mary", "nobody"):
        hub.erase(user)
    assert shown(hub) == WITHOUT_MARY
    assert EventLog(LEDGER, database).head() == 4
    Users(Caller(valkey), "lb1").put("old", Profile("Old"))  # from before there was a log
    hub.erase("old")
    assert hub.users.get(["old"]) == [Profile()]


def test_who_plays_again_is_somebody_new(
    open_hub: Callable[..., Hub], valkey: Redis, database: Database, clock: SetClock
) -> None:
    hub = open_hub()
    play(hub)
    hub.erase("mary")
    receipt = hub["arena"].submit("mary", 2, submission_id="m1", user_name="Mary II")
    assert (receipt.duplicate, receipt["all"].new_score) == (False, 2)
    hub["arena"].submit("mary", 2, user_name="Mary III")
    wanted = [("mary", "Mary III", 4), ("bob", "Bob", 3)]
    for _ in range(2):
        assert shown(hub)["arena"] == wanted
        assert [event.points for event in hub["arena"].history("mary")] == [2, 2]
        valkey.flushall()
        assert shown(open_hub())["arena"] == wanted
        finish(hub, clock)
    hub.erase("mary")
    assert shown(hub)["arena"] == WITHOUT_MARY["arena"]
    valkey.flushall()
    assert shown(open_hub())["arena"] == WITHOUT_MARY["arena"]


def test_erasing_while_others_play(open_hub: Callable[..., Hub], valkey: Redis, database: Database) -> None:
    """In the end every event of an erased user has a removal behind it, on every board."""
    failures, stop = list[BaseException](), threading.Event()

    def keep_playing(hub: Hub, board: str) -> None:
        while not stop.is_set():
            with suppress(LogUnavailableError):  # erased at this very moment
                hub[board].submit_many([Submission(user, 1, user_name=f"{user} on {board}") for user in ("mary", "bob")])

    def keep_erasing(hub: Hub) -> None:
        for _ in range(10):
            hub.erase("mary")
        stop.set()

    def run(work: Callable[..., None], *args: Any) -> None:
        try:
            work(*args)
        except BaseException as failure:
            failures.append(failure)
            stop.set()

    works = [(keep_playing, open_hub(), "arena"), (keep_playing, open_hub(), "other"), (keep_erasing, open_hub())]
    threads = [threading.Thread(target=run, args=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    open_hub().erase("mary")
    for rules in (LEDGER, OTHER):
        last = {event.user: event.kind for event in EventLog(rules, database).read(0, 100_000) if event.user_id != "bob"}
        assert set(last.values()) <= {"remove"}
        assert [entry.user_id for entry in open_hub()[rules.name].top(100).entries] == ["bob"]
    assert valkey.hkeys("lb1:{@users}:names") == [b"bob"]


def test_an_event_that_is_being_written_is_removed_too(
    open_hub: Callable[..., Hub], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on a board where the user has never been: it could come behind the erasure, and stay for ever."""
    hub, other = open_hub(), open_hub()
    hub["arena"].submit("mary", 1)
    hub["other"].submit("bob", 1)
    monkeypatch.setattr(ShortWay, "takes", lambda *_: False)  # the server does all of that at once
    known_ids = EventRows.known
    eraser = threading.Thread(target=other.erase, args=("mary",))

    def erased_meanwhile(self: EventRows, *args: Any) -> Any:
        monkeypatch.setattr(EventRows, "known", known_ids)
        eraser.start()
        eraser.join(0.3)
        assert eraser.is_alive(), "it has to wait for the events that are being written"
        return known_ids(self, *args)

    monkeypatch.setattr(EventRows, "known", erased_meanwhile)
    hub["other"].submit("mary", 1)
    eraser.join(30)
    assert [entry.user_id for entry in open_hub()["other"].top().entries] == ["bob"]
    assert [event.kind for event in EventLog(OTHER, database).read(0, 10)] == ["submit", "submit", "remove"]


def test_the_id_is_kept_until_every_board_has_removed_it(
    open_hub: Callable[..., Hub], database: Database, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = open_hub()
    play(hub)

    def refuse(*_: Any) -> Any:
        raise StoreUnavailableError("not now")

    with monkeypatch.context() as patch:
        patch.setattr(BoardStore, "apply", refuse)
        hub.erase("mary")
    hub["arena"].top()
    finish(hub, clock)
    assert sql_tells(database, "mary")
    assert shown(hub) == WITHOUT_MARY
    finish(hub, clock)
    assert not sql_tells(database, "mary")


@pytest.fixture
def make_ledger(tmp_path: Path, clock: SetClock) -> Iterator[Callable[..., Flask]]:
    apps: list[Flask] = []

    def make(**config: Any) -> Flask:
        apps.append(make_app([arena(mode="ledger"), PLAIN], clock=clock, instance=tmp_path, **config))
        return apps[-1]

    yield make
    for app in apps:
        service_of(app).hub.close()


def test_users_over_rest_outlive_redis(make_ledger: Callable[..., Flask], tmp_path: Path) -> None:
    client = make_ledger().test_client()
    assert code(client.get("/v1/users/mary")) == (404, "unknown_user")
    client.post("/v1/scores", json={"user_id": "mary", "points": 5, "user_name": "Mary"}, headers=SUBMIT)
    assert client.get("/v1/users/mary").json["user_name"] == "Mary"
    put = client.put("/v1/users/mary", json={"user_name": "Märy", "metadata": {"a": [1, 0.5]}}, headers=SUBMIT)
    assert put.json == client.get("/v1/users/mary").json
    again = make_ledger().test_client()  # memory:// is empty in a new app, as a Redis that lost all is
    assert again.get("/v1/users/mary").json == put.json
    assert again.get("/v1/scores?include=metadata").json["data"][0]["metadata"] == {"a": [1, 0.5]}
    away = make_ledger(redis_url=f"unix://{tmp_path}/nobody.sock").test_client()
    assert away.get("/v1/users/mary").json == put.json
    assert away.put("/v1/users/mary", json={"user_name": "M"}, headers=SUBMIT).status_code == 200
    assert code(away.get("/v1/users/bob")) == (404, "unknown_user")


def test_erasing_over_rest(make_ledger: Callable[..., Flask]) -> None:
    app = make_ledger()
    client = app.test_client()
    for board in ("arena", "plain"):
        client.post("/v1/scores", json={"user_id": "mary", "points": 5, "user_name": "Mary", "board": board}, headers=SUBMIT)
    for _ in range(2):
        assert client.delete("/v1/users/mary", headers=ADMIN).status_code == 200
        assert code(client.get("/v1/users/mary")) == (404, "unknown_user")
        assert client.get("/v1/scores/mary/history").json["data"] == []
        for board in ("arena", "plain"):
            assert code(client.get(f"/v1/scores/mary?board={board}")) == (404, "not_ranked")
    again = make_ledger().test_client()
    assert again.get("/v1/scores").json["data"] == []
    assert code(again.get("/v1/users/mary")) == (404, "unknown_user")


def test_database_away_over_rest(make_ledger: Callable[..., Flask]) -> None:
    client = make_ledger(database_url="postgresql://127.0.0.1:1/none").test_client()
    assert code(client.put("/v1/users/mary", json={"user_name": "M"}, headers=SUBMIT)) == (503, "log_unavailable")
    assert code(client.delete("/v1/users/mary", headers=ADMIN)) == (503, "log_unavailable")
    assert code(client.get("/v1/users/mary")) == (404, "unknown_user")


def test_erasing_in_the_terminal(make_ledger: Callable[..., Flask]) -> None:
    app = make_ledger()
    app.test_client().post("/v1/scores", json={"user_id": "mary", "points": 5, "user_name": "Mary"}, headers=SUBMIT)
    told = app.test_cli_runner().invoke(args=["leaderboard", "erase", "mary", "--yes"])
    assert told.output == "mary is erased.\n"
    assert app.test_client().get("/v1/scores").json["data"] == []
    assert service_of(app).hub.tend_users() is False
    assert service_of(make_app([PLAIN])).hub.tend_users() is False
