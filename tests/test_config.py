"""Settings and boards out of an app's configuration, and clients by URL."""

from __future__ import annotations

import logging
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from redis import Redis
from redis.cluster import RedisCluster
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from flask_leaderboard import Board, Daily, Every, Leaderboard, Leaderboards, Segment, Tournament
from flask_leaderboard.backends.clients import connector
from flask_leaderboard.backends.late_cluster import LateCluster
from flask_leaderboard.config import Settings, config_key, read_settings
from flask_leaderboard.errors import ConfigurationError
from flask_leaderboard.rules.declaration import declare_board
from flask_leaderboard.web.service import service_of
from tests.servers import FLAVOURS, Server
from tests.waiting import until
from tests.web import make_app

DOCS = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"


def test_defaults() -> None:
    settings = read_settings({})
    assert settings == Settings()
    assert (settings.redis_url, settings.url_prefix, settings.cache_ms) == ("embedded://", "/v1", 250)


def test_zero_and_false_can_be_chosen() -> None:
    settings = read_settings({"LEADERBOARD_CACHE_MS": 0, "LEADERBOARD_DOCS": False, "LEADERBOARD_MAX_AGE_S": 0})
    assert (settings.cache_ms, settings.docs, settings.max_age_s) == (0, False, 0)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("REDIS_URL", 5),
        ("REDIS_URL", ""),
        ("REDIS_TIMEOUT_MS", "1000"),
        ("REDIS_TIMEOUT_MS", 0),
        ("REDIS_FUNCTIONS", 1),
        ("KEY_PREFIX", "a b"),
        ("KEY_PREFIX", "{x}"),
        ("URL_PREFIX", "v1"),
        ("URL_PREFIX", "/v1/"),
        ("URL_PREFIX", ""),
        ("URL_PREFIX", "/v1?x"),
        ("BOARDS", [{"name": "arena", "dense": "no"}]),
        ("BOARDS", [{"name": "arena", "windows": [{"type": "daily", "retention": 60 * 366 * 86400}]}]),
        ("TOKENS", {"submit": ["sécret"]}),
        ("TOKENS", {"submit": [" pad "]}),
        ("BOARDS", "arena"),
        ("BOARDS", [5]),
        ("BOARDS", [{"update": "best"}]),
        ("BOARDS", [{"name": "Arena"}]),
        ("BOARDS", [{"name": "arena", "colour": "red"}]),
        ("TOKENS", ["s3cret"]),
        ("TOKENS", {"write": ["s3cret"]}),
        ("TOKENS", {"submit": [""]}),
        ("TOKENS", {"submit": [5]}),
        ("TOKENS", {"submit": ["sha256:abc"]}),
        ("SIGNATURE_SECRETS", {"a": 1}),
        ("CACHE_MS", True),
        ("MAX_LIMIT", 0),
        ("MAX_BATCH", 1e3),
    ],
)
def test_wrong_value_is_named_by_its_key(key: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"LEADERBOARD_{key}"):
        read_settings({f"LEADERBOARD_{key}": value})


def test_secrets_are_not_told() -> None:
    for key, value in (("TOKENS", {"submit": "sha256:hush"}), ("SIGNATURE_SECRETS", ["hush", 5])):
        with pytest.raises(ConfigurationError) as caught:
            read_settings({f"LEADERBOARD_{key}": value})
        assert "hush" not in str(caught.value)


def test_unknown_key_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "flask_leaderboard"):
        read_settings({"LEADERBOARD_REDIS_ULR": "redis://"})
    assert "did you mean 'LEADERBOARD_REDIS_URL'" in caplog.text


def test_every_setting_is_in_the_docs() -> None:
    table = DOCS.read_text("utf-8")
    assert [name for name in Settings.__dataclass_fields__ if f"`{config_key(name)}`" not in table] == []


def test_board_out_of_plain_values() -> None:
    declared = declare_board(
        {
            "name": "arena",
            "update": "best",
            "score_range": [0, 100],
            "tie_resolution": 0.01,
            "windows": [
                "all",
                {"type": "daily", "tz": "Europe/Amsterdam", "grace": 90},
                {"type": "every", "length": 3600, "name": "hourly"},
                {"type": "tournament", "name": "cup", "start": "2026-11-18T12:00:00Z", "end": "2026-11-19T12:00:00+01:00"},
            ],
            "segments": ["country", {"name": "league", "pattern": "gold|silver", "limit": 2}],
        }
    )
    assert declared.windows[1] == Daily(tz="Europe/Amsterdam", grace=timedelta(seconds=90))
    assert declared.windows[2] == Every(timedelta(hours=1), name="hourly")
    assert isinstance(declared.windows[3], Tournament)
    assert declared.segments == (Segment("country"), Segment("league", "gold|silver", 2))
    assert (declared.score_range, declared.tie_resolution) == ((0, 100), timedelta(milliseconds=10))
    assert declare_board(declared) is declared


@pytest.mark.parametrize(
    ("described", "told"),
    [
        ({"windows": ["hourly"]}, "must have a type"),
        ({"windows": "all"}, "must be a list"),
        ({"windows": [{"type": []}]}, "must have a type"),
        ({"windows": [{"type": "every", "length": 1e20}]}, "seconds"),
        ({"windows": [{"type": "daily", "zone": "UTC"}]}, "no rule 'zone'"),
        ({"windows": [{"type": "every"}]}, "not complete"),
        ({"windows": [{"type": "tournament", "name": "cup", "start": "soon", "end": "later"}]}, "ISO 8601"),
        ({"segments": [{"limit": 2}]}, "no 'name'"),
        ({"score_range": [0]}, "pair"),
        ({"tie_resolution": True}, "timedelta"),
    ],
)
def test_wrong_plain_values_say_what_is_wrong(described: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        declare_board({"name": "arena", **described})


def test_operator_adds_a_board_without_code() -> None:
    app = Flask("game")
    app.config.update(LEADERBOARD_REDIS_URL="memory://", LEADERBOARD_BOARDS=[{"name": "cup", "windows": ["weekly"]}])
    Leaderboards(app, boards=[Board("arena")])
    names = [board["name"] for board in app.test_client().get("/v1/boards").json["data"]]
    assert names == ["arena", "cup"]


def connect(url: str, folder: Path = Path("unused"), timeout_ms: int = 2000) -> Any:
    return connector(url, folder, timeout_ms=timeout_ms, connect_timeout_ms=500)()


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost",
        "localhost:6379",
        "",
        "redis://localhost:port",
        "redis+sentinel://localhost:26379",
        "redis+sentinel:///mymaster",
        "redis+cluster://localhost/0",
        "redis+cluster://localhost:x",
        "redis+cluster://localhost?socket_timeout=5",
        "redis://localhost?foo=bar",
        "redis://localhost?decode_responses=1",
        "redis://[::1",
    ],
)
def test_wrong_url_is_refused_before_anything_connects(url: str) -> None:
    with pytest.raises(ConfigurationError, match="LEADERBOARD_REDIS_URL"):
        connector(url, Path("unused"), timeout_ms=1000, connect_timeout_ms=500)


def test_password_is_not_told() -> None:
    for url in (
        "redis+cluster://ann:hush@localhost/0",
        "redis-tls://:hush@localhost",
        "redis://:hush@localhost?foo=bar&password=hush",
    ):
        with pytest.raises(ConfigurationError) as caught:
            connect(url)
        assert "hush" not in str(caught.value)


def test_memory_is_private_unless_it_has_a_name() -> None:
    connect("memory://").set("key", 1)
    assert connect("memory://").get("key") is None
    connect("memory://shared").set("key", 1)
    assert connect("memory://shared").get("key") == b"1"


def test_missing_fakeredis_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_leaderboard.backends.clients.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"flask-leaderboard\[test\]"):
        connect("memory://")


@pytest.fixture
def port(request: pytest.FixtureRequest) -> int:
    """A port below 22000, since a node of a cluster also listens 10000 above."""
    for candidate in range(21000, 21900):
        with socket.socket() as probe, socket.socket() as bus:
            try:
                probe.bind(("127.0.0.1", candidate))
                bus.bind(("127.0.0.1", candidate + 10000))
            except OSError:
                continue
            return candidate
    raise RuntimeError("no port is free")


@pytest.fixture
def valkey_binary() -> Path:
    flavour = FLAVOURS["valkey9"]
    found = flavour.find()
    assert found is not None, flavour.remedy
    return found


@pytest.fixture
def cluster(valkey_binary: Path, port: int) -> Iterator[Server]:
    server = Server(valkey_binary, "--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes")
    try:
        server.client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        yield server
    finally:
        server.stop()


def play(app: Flask) -> None:
    client = app.test_client()
    body = {"user_id": "ann", "points": 5, "submission_id": "m1", "user_name": "Ann"}
    headers = {"Authorization": "Bearer s3cret"}
    until(lambda: client.get("/v1/health").status_code == 200, passing=(AssertionError,))
    assert client.post("/v1/scores", json=body, headers=headers).json["number"] == 1
    assert client.post("/v1/scores", json=body, headers=headers).json["duplicate"]
    assert client.put("/v1/users/ann", json={"user_name": "Ann", "metadata": {"a": 1}}, headers=headers).status_code == 200
    assert client.get("/v1/scores?include=metadata").json["data"][0]["metadata"] == {"a": 1}
    assert client.get("/v1/boards/default").json["windows"][0]["count"] == 1
    assert client.delete("/v1/users/ann", headers={"Authorization": "Bearer r00t"}).status_code == 200


def test_cluster_by_url(cluster: Server, port: int) -> None:
    url = f"redis+cluster://127.0.0.1:{port}"
    until(lambda: cluster.client.cluster("INFO")["cluster_state"] == "ok")
    for functions in (False, True):
        app = make_app(redis_url=url, redis_functions=functions, key_prefix=f"lb-{functions}")
        play(app)
    client = connect(url)
    assert client.cluster_info()["cluster_state"] == "ok"
    client.close()


def test_cluster_that_is_away_is_a_503(port: int) -> None:
    app = make_app(redis_url=f"redis+cluster://127.0.0.1:{port}")
    for _ in range(4):
        answer = app.test_client().get("/v1/scores")
        assert (answer.status_code, answer.json["code"]) == (503, "store_unavailable")


def test_log_takes_what_comes_before_the_cluster_is_there(port: int, valkey_binary: Path, tmp_path: Path) -> None:
    app = make_app(redis_url=f"redis+cluster://127.0.0.1:{port}", mode="ledger", instance=tmp_path, redis_rest_ms=50)
    client, headers = app.test_client(), {"Authorization": "Bearer s3cret"}
    for points in (1, 2):
        assert client.post("/v1/scores", json={"user_id": "ann", "points": points}, headers=headers).status_code == 202
    told = client.get("/v1/scores/ann").json
    assert (told["user_info"]["score"], told["degraded"]) == (3, True)
    server = Server(valkey_binary, "--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes")
    try:
        server.client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        until(lambda: "degraded" not in client.get("/v1/scores/ann").json)
        assert client.get("/v1/scores/ann").json["user_info"]["score"] == 3
    finally:
        service_of(app).hub.close()
        server.stop()


def test_threads_that_find_no_cluster_wait_for_it_together() -> None:
    made, entered, go_on = [], threading.Event(), threading.Event()

    def make() -> RedisCluster:
        made.append(1)
        entered.set()
        go_on.wait(10)
        raise RedisConnectionError("nobody is there")

    cluster, failed = LateCluster(make), []

    def ask() -> None:
        try:
            cluster.get("key")
        except RedisConnectionError as error:
            failed.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    entered.wait(10)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert failed == ["nobody is there"] * 8
    assert len(made) < 8
    cluster.close()


def test_sentinel_by_url(valkey_binary: Path, port: int) -> None:
    primary = Server(valkey_binary, "--port", str(port), "--bind", "127.0.0.1")
    config = primary.folder / "sentinel.conf"
    config.write_text(f"port {port + 1}\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 {port} 1\n")
    sentinel = subprocess.Popen([str(valkey_binary), str(config), "--sentinel"], stdout=subprocess.DEVNULL)
    try:
        watching = Redis(port=port + 1)
        until(lambda: _answers(watching, sentinel.pid))
        play(make_app(redis_url=f"redis+sentinel://127.0.0.1:{port + 1}/mymaster/0"))
        watching.close()
    finally:
        sentinel.terminate()
        sentinel.wait(10)
        primary.stop()


def _answers(client: Redis, pid: int) -> bool:
    try:
        return bool(client.info("server")["process_id"] == pid)
    except RedisError:
        return False


def test_tcp_and_password_by_url(valkey_binary: Path, port: int) -> None:
    server = Server(valkey_binary, "--port", str(port), "--bind", "127.0.0.1")
    try:
        server.client.config_set("requirepass", "hush")
        client = connect(f"redis://:hush@127.0.0.1:{port}/3")
        assert Leaderboard(Board("arena"), client).submit("ann", 1)["all"].new_rank == 1
        client.close()
        answer = make_app(redis_url=f"redis://:wrong@127.0.0.1:{port}/3").test_client().get("/v1/scores")
        assert answer.json["code"] == "store_unavailable"
    finally:
        server.stop()


def test_server_that_hangs_costs_the_timeout_and_then_nothing(valkey_binary: Path) -> None:
    server = Server(valkey_binary)
    try:
        app = make_app(redis_url=f"unix://{server.socket}", redis_timeout_ms=200, redis_rest_ms=60_000)
        client = app.test_client()
        assert client.get("/v1/scores").status_code == 200
        server.process.send_signal(signal.SIGSTOP)
        started = time.monotonic()
        assert [client.get("/v1/scores").status_code for _ in range(100)] == [503] * 100
        assert time.monotonic() - started < 50 * 0.2
    finally:
        server.process.send_signal(signal.SIGCONT)
        server.stop()


@pytest.mark.parametrize(
    ("config", "mode"),
    [
        ({}, "ledger"),
        ({"LEADERBOARD_REDIS_URL": "memory://"}, "redis_only"),
        ({"LEADERBOARD_REDIS_URL": "memory://", "LEADERBOARD_DATABASE_URL": "sqlite:////tmp/x"}, "ledger"),
        ({"LEADERBOARD_REDIS_URL": "memory://", "LEADERBOARD_MODE": "ledger"}, "ledger"),
        ({"LEADERBOARD_MODE": "write_behind"}, "write_behind"),
    ],
)
def test_mode_of_boards_that_state_none(config: dict[str, Any], mode: str, tmp_path: Path) -> None:
    app = Flask("game", instance_path=str(tmp_path))
    app.config.update(config)
    leaderboards = Leaderboards(app, boards=[Board("arena"), Board("own", mode="redis_only")])
    with app.app_context():
        rules = leaderboards.hub._rules
        assert (rules["arena"].mode, rules["own"].mode) == (mode, "redis_only")
