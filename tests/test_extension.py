"""The extension is a guest: one init call, state in the app only, and the host as it was."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from flask import Blueprint, Flask, abort, jsonify, redirect
from flask.json.provider import DefaultJSONProvider
from flask.testing import FlaskClient

from flask_leaderboard import (
    AllTime,
    Board,
    Daily,
    Leaderboards,
    Season,
    Submission,
    current_leaderboards,
    period_closed,
    submission_counted,
)
from flask_leaderboard.errors import ConfigurationError, LayoutError, ProtocolError, StoreUnavailableError, UnknownBoardError
from flask_leaderboard.rules.instants import DAY
from flask_leaderboard.web.service import service_of
from tests.conftest import SetClock
from tests.web import SUBMIT, arena, code, make_app


def memory_app(name: str = "game", **config: Any) -> Flask:
    app = Flask(name)
    app.config.update(LEADERBOARD_REDIS_URL="memory://", **config)
    return app


def test_one_call_gives_a_default_board() -> None:
    app = memory_app()
    leaderboards = Leaderboards(app)
    with app.app_context():
        board = leaderboards["default"]
        assert [window.name for window in board.board.windows] == ["all", "monthly", "weekly", "daily"]
        receipt = board.submit("mary1934", 1, submission_id="match-789", user_name="Mary")
        assert receipt["weekly"].new_rank == 1
        assert leaderboards.default is board
        assert list(leaderboards) == ["default"]
        assert len(leaderboards) == 1
        assert current_leaderboards["default"] is board
        entry = current_leaderboards.default.rank("mary1934", window="weekly")
        assert entry is not None
        assert (entry.rank, entry.user_name, entry.percentile) == (1, "Mary", 100.0)


def test_one_object_serves_several_apps() -> None:
    leaderboards = Leaderboards(boards=[Board("arena")])
    apps = [memory_app(name) for name in ("one", "two")]
    for app in apps:
        leaderboards.init_app(app)
    for number, app in enumerate(apps, 1):
        with app.app_context():
            leaderboards["arena"].submit("ann", number)
    for number, app in enumerate(apps, 1):
        assert app.test_client().get("/v1/scores/ann").json["user_info"]["score"] == number


def test_several_objects_live_in_one_process() -> None:
    one, two = memory_app("one"), memory_app("two")
    first, second = Leaderboards(one, boards=[Board("a")]), Leaderboards(two, boards=[Board("b")])
    with one.app_context():
        assert list(first) == ["a"]
    with two.app_context():
        assert list(second) == ["b"]
        with pytest.raises(UnknownBoardError, match="'b'"):
            second["a"]
        assert current_leaderboards.get("a") is None


def test_second_and_missing_init_say_what_to_do() -> None:
    app = memory_app()
    leaderboards = Leaderboards(app)
    with pytest.raises(ConfigurationError, match="once for each app"):
        leaderboards.init_app(app)
    with pytest.raises(ConfigurationError, match="once for each app"):
        Leaderboards(app)
    with pytest.raises(ConfigurationError, match="app_context"):
        leaderboards["default"]
    with pytest.raises(ConfigurationError, match="app_context"):
        current_leaderboards["default"]
    assert not isinstance(current_leaderboards, Flask)
    other = Flask("other")
    with other.app_context(), pytest.raises(ConfigurationError, match="init_app"):
        leaderboards["default"]
    with other.app_context(), pytest.raises(ConfigurationError, match="init_app"):
        current_leaderboards["default"]


def test_boards_need_names_of_their_own() -> None:
    with pytest.raises(ConfigurationError, match="two boards are called 'arena'"):
        Leaderboards(memory_app(), boards=[Board("arena"), Board("arena")])


class ShoutingProvider(DefaultJSONProvider):
    def dumps(self, value: Any, **kwargs: Any) -> str:
        return super().dumps(value, **kwargs).upper()


def host_app() -> Flask:
    """An app with habits of its own."""
    app = Flask("host")
    app.json = ShoutingProvider(app)
    app.config["MAX_CONTENT_LENGTH"] = 5000
    app.register_error_handler(404, lambda error: ("<h1>lost</h1>", 404))
    app.register_error_handler(500, lambda error: ("<h1>broken</h1>", 500))
    app.register_error_handler(405, lambda error: ("<h1>not so</h1>", 405))
    app.add_url_rule("/hello", view_func=lambda: jsonify(hello="world"), endpoint="hello")
    app.add_url_rule("/v1/own", view_func=lambda: "mine", endpoint="own")
    app.add_url_rule("/crash", view_func=lambda: 1 // 0, endpoint="crash")  # type: ignore[arg-type, return-value]
    return app


def observe(app: Flask) -> list[tuple[int, str, bytes]]:
    client = app.test_client()
    answers = [client.get(path) for path in ("/hello", "/v1/own", "/nowhere", "/v1/nowhere", "/crash")]
    answers.append(client.post("/hello"))
    return [(answer.status_code, answer.mimetype, answer.data) for answer in answers]


def test_host_stays_as_it_was() -> None:
    before, app = host_app(), host_app()
    app.config["LEADERBOARD_REDIS_URL"] = "memory://"
    config, rules = dict(app.config), set(map(str, app.url_map.iter_rules()))
    Leaderboards(app, boards=[arena()])
    assert observe(app) == observe(before)
    assert dict(app.config) == config
    assert type(app.json) is ShoutingProvider
    assert all(rule.startswith("/v1/") for rule in set(map(str, app.url_map.iter_rules())) - rules)
    for name in ("before_request_funcs", "after_request_funcs", "teardown_request_funcs", "template_context_processors"):
        assert getattr(app, name).get(None) == getattr(before, name).get(None) or name == "template_context_processors"
    assert app.teardown_appcontext_funcs == before.teardown_appcontext_funcs
    assert app.error_handler_spec[None].keys() == before.error_handler_spec[None].keys()
    assert app.jinja_env.filters.keys() == before.jinja_env.filters.keys()


def test_handlers_of_the_host_do_not_answer_for_the_api() -> None:
    app = host_app()
    app.config.update(LEADERBOARD_REDIS_URL="memory://", LEADERBOARD_TOKENS={"submit": ["s3cret"]})
    for status in (400, 401, 413, 415):
        app.register_error_handler(status, lambda error: ("<h1>ours</h1>", error.code))
    app.register_error_handler(Exception, lambda error: ("<h1>ours</h1>", 500))
    Leaderboards(app, boards=[arena()])
    client = app.test_client()
    assert code(client.get("/v1/scores/nobody")) == (404, "not_ranked")
    assert code(client.patch("/v1/scores")) == (405, "method_not_allowed")
    assert code(client.post("/v1/docs")) == (405, "method_not_allowed")
    assert code(client.post("/v1/scores", json={})) == (401, "unauthorized")
    assert code(client.post("/v1/scores", data="{}", headers=SUBMIT)) == (415, "unsupported_media_type")
    assert code(client.post("/v1/scores", data="x" * 6000, headers=SUBMIT)) == (413, "body_too_large")


def test_check_of_the_host_may_answer_itself() -> None:
    def authorize(role: str, user_id: str | None) -> bool:
        abort(redirect("/login") if user_id else 418)

    client = FlaskClient(make_app([arena()], authorize=authorize))
    assert client.get("/v1/scores/ann").headers["Location"] == "/login"
    assert code(client.get("/v1/scores")) == (418, "http_error")


def test_host_limit_of_bodies_is_respected() -> None:
    app = host_app()
    app.config.update(LEADERBOARD_REDIS_URL="memory://", LEADERBOARD_TOKENS={"submit": ["s3cret"]})
    Leaderboards(app)
    body = {"user_id": "x", "points": 1, "user_name": "y" * 6000}
    assert app.test_client().post("/v1/scores", json=body, headers=SUBMIT).json["code"] == "body_too_large"


def test_prefix_and_docs_can_be_chosen() -> None:
    app = memory_app(LEADERBOARD_URL_PREFIX="/api/ranks", LEADERBOARD_DOCS=False)
    Leaderboards(app)
    client = app.test_client()
    assert client.get("/api/ranks/scores").status_code == 200
    assert client.get("/v1/scores").status_code == 404
    assert client.get("/api/ranks/docs").status_code == 404


def test_openapi_names_where_it_is_served() -> None:
    app = memory_app(LEADERBOARD_URL_PREFIX="/api/ranks")
    Leaderboards(app)
    told = app.test_client().get("/api/ranks/openapi.json", environ_overrides={"SCRIPT_NAME": "/game"}).json
    assert told["servers"] == [{"url": "/game/api/ranks"}]


def test_import_needs_nothing_that_windows_lacks() -> None:
    script = (
        "import sys, alembic.command, apispec, flask, marshmallow, redis.cluster, sqlalchemy.dialects.postgresql\n"
        "sys.modules['fcntl'], sys.modules['msvcrt'], sys.platform = None, sys, 'win32'\n"
        "import flask_leaderboard\n"
        "app = flask.Flask('game')\n"
        "app.config['LEADERBOARD_REDIS_URL'] = 'redis://127.0.0.1:1'\n"
        "flask_leaderboard.Leaderboards(app)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_init_connects_to_nothing_and_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket.connect", None)
    threads = threading.active_count()
    app = Flask("game")
    app.config["LEADERBOARD_REDIS_URL"] = "redis://127.0.0.1:1/0"
    Leaderboards(app)
    Leaderboards(boards=[arena()]).init_app(Flask("embedded"))
    assert threading.active_count() == threads


def test_names_that_cannot_be_kept_do_not_undo_what_counted(caplog: pytest.LogCaptureFixture) -> None:
    app, told = make_app([arena()]), []

    def hear(sender: Flask, **details: Any) -> None:
        told.append(details["board"])

    service_of(app).hub.caller.client.set("lb1:{@users}:names", "not a hash")
    with submission_counted.connected_to(hear, app), app.app_context():
        assert current_leaderboards["arena"].submit_many([Submission("ann", 5, user_name="Ann")]) != []
        with pytest.raises(ProtocolError):
            current_leaderboards["arena"].top()
    assert told == ["arena"]
    assert "not kept" in caplog.text


def test_one_board_that_is_stuck_keeps_no_user_on_the_others() -> None:
    app = make_app([Board("stuck"), arena()])
    with app.app_context():
        for name in ("stuck", "arena"):
            current_leaderboards[name].submit("ann", 5, user_name="Ann")
        current_leaderboards.caller.client.hset("lb1:{stuck}", "layout:all", "other rules")
        with pytest.raises(LayoutError):
            current_leaderboards.erase("ann")
        assert current_leaderboards["arena"].rank("ann") is None
        assert current_leaderboards.users.get(["ann"])[0].user_name is None


def test_board_may_be_called_as_it_likes() -> None:
    for name in ("secret", "users", "app", "seen"):
        client = make_app([Board(name)], redis_url=f"memory://called-{name}").test_client()
        for user in ("ann", "bob"):
            client.post("/v1/scores", json={"user_id": user, "points": 1, "user_name": user}, headers=SUBMIT)
        assert client.get("/v1/scores?limit=1").json["cursor"]


def test_thread_that_asks_nonsense_harms_no_other(backends: Any) -> None:
    server = backends("valkey9")
    app = make_app([arena()], redis_url=f"unix://{server.socket}")
    hub, stop, failures = service_of(app).hub, threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            try:
                hub["arena"].top()
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        with pytest.raises(UnicodeEncodeError):
            hub.users.get(["\ud800"])
    stop.set()
    for thread in threads:
        thread.join(10)
    assert failures == []
    hub.close()


def test_blueprint_of_the_same_name_is_no_hindrance() -> None:
    app = memory_app()
    app.register_blueprint(Blueprint("leaderboard", __name__))
    Leaderboards(app)


def test_dead_redis_is_a_503_at_once_and_heals(backends: Any) -> None:
    app = make_app([arena()], redis_url="unix:///nonexistent/redis.sock", redis_rest_ms=200)
    client = app.test_client()
    for _ in range(5):
        for answer in (
            client.get("/v1/scores"),
            client.get("/v1/scores/ann"),
            client.post("/v1/scores", json={"user_id": "ann", "points": 1}, headers=SUBMIT),
            client.post("/v1/scores/batch", json={"submissions": [{"user_id": "ann", "points": 1}]}, headers=SUBMIT),
            client.get("/v1/health"),
        ):
            assert (answer.status_code, answer.json["code"], answer.headers["Retry-After"]) == (503, "store_unavailable", "1")
            assert "nonexistent" not in answer.text
    with app.app_context(), pytest.raises(StoreUnavailableError):
        current_leaderboards["arena"].submit("ann", 1)


def test_evicting_server_is_warned_of(backends: Any, caplog: pytest.LogCaptureFixture) -> None:
    server = backends("valkey9")
    server.client.config_set("maxmemory", "100mb")
    server.client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        app = make_app([arena()], redis_url=f"unix://{server.socket}")
        with caplog.at_level(logging.WARNING, "flask_leaderboard"):
            told = app.test_client().get("/v1/health").json
        assert told["status"] == "ok"
        assert "allkeys-lru" in told["warnings"][0]
        assert "allkeys-lru" in caplog.text
        service_of(app).hub.close()
    finally:
        server.client.config_set("maxmemory-policy", "noeviction")
        server.client.config_set("maxmemory", "0")


def test_signal_tells_of_each_submission_that_counted(caplog: pytest.LogCaptureFixture) -> None:
    app, told = make_app([arena()]), []

    def hear(sender: Flask, board: str, receipt: Any) -> None:
        told.append((sender.name, board, receipt.user_id, receipt["all"].new_score))

    def fail(sender: Flask, **details: Any) -> None:
        raise RuntimeError("the host's own trouble")

    with submission_counted.connected_to(fail, app), submission_counted.connected_to(hear, app):
        client = app.test_client()
        for _ in range(2):
            body = {"user_id": "ann", "points": 5, "submission_id": "m1"}
            assert client.post("/v1/scores", json=body, headers=SUBMIT).status_code == 200
        client.post(
            "/v1/scores/batch", json={"submissions": [{"user_id": "bob", "points": 1}, {"user_id": "cat"}]}, headers=SUBMIT
        )
    assert told == [("game", "arena", "ann", 5), ("game", "arena", "bob", 1)]
    assert "the host's own trouble" in caplog.text


def test_signal_tells_of_closed_periods_at_least_once(clock: SetClock) -> None:
    boards = [Board("arena", windows=[AllTime(), Daily(), Season()])]
    one, two = (make_app(boards, clock=clock, redis_url=f"memory://closing-{id(clock)}") for _ in range(2))
    told: list[tuple[str, str, str]] = []

    def hear(sender: Flask, board: str, window: str, period: Any) -> None:
        told.append((sender.name, window, period.id))

    def ask() -> list[tuple[str, str, str]]:
        told.clear()
        for app in (one, two):
            app.test_client().get("/v1/scores")
        return sorted(set(told))

    with period_closed.connected_to(hear, one), period_closed.connected_to(hear, two):
        assert ask() == []
        with one.app_context():
            current_leaderboards["arena"].start_season("one")
        clock.now += DAY // 2 + 59_000_000
        assert ask() == []
        clock.now += 1_000_000
        assert ask() == [("game", "daily", "2050-07-02")]
        clock.now += 11_000_000
        assert ask() == []
        with two.app_context():
            current_leaderboards["arena"].end_season()
        clock.now += DAY
        assert ask() == [("game", "daily", "2050-07-03"), ("game", "season", "one")]


def test_a_receiver_that_dies_leaves_the_closing_to_the_next(clock: SetClock) -> None:
    app, told = make_app([arena()], clock=clock), []

    class Killed(BaseException):
        pass

    def die(sender: Flask, **details: Any) -> None:
        raise Killed

    client = app.test_client()
    client.get("/v1/scores")
    clock.now += DAY
    with period_closed.connected_to(die, app), pytest.raises(Killed):
        client.get("/v1/scores")
    clock.now += 11_000_000

    def hear(sender: Flask, **details: Any) -> None:
        told.append(details["window"])

    with period_closed.connected_to(hear, app):
        client.get("/v1/scores")
    assert told == ["daily"]


def test_a_forked_child_opens_connections_of_its_own(backends: Any) -> None:
    server = backends("valkey9")
    server.client.flushall()
    app = make_app([arena()], redis_url=f"unix://{server.socket}")
    with app.app_context():
        board = current_leaderboards["arena"]
        board.submit("ann", 1)
        child = os.fork()
        if child == 0:
            try:
                for _ in range(50):
                    current_leaderboards["arena"].submit("ann", 1)
                os._exit(0 if current_leaderboards["arena"] is not board else 3)
            finally:
                os._exit(1)
        for _ in range(50):
            board.submit("ann", 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert board.count() == 1
        entry = board.rank("ann")
        assert entry is not None
        assert entry.score == 101
    service_of(app).hub.close()
