"""The gate: a Redis that does not answer costs few callers a short wait, and comes as our own error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis, exceptions

from flask_leaderboard import Board, Leaderboard
from flask_leaderboard.errors import ProtocolError, StoreUnavailableError
from flask_leaderboard.store.calls import Caller
from flask_leaderboard.store.gate import Gate
from flask_leaderboard.web.service import service_of
from tests.servers import FLAVOURS, Server
from tests.web import SUBMIT, arena, make_app


class Watch:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def fail(gate: Gate, error: Exception) -> StoreUnavailableError:
    with pytest.raises(StoreUnavailableError) as caught, gate:
        raise error
    return caught.value


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def gate(watch: Watch) -> Gate:
    return Gate(failures=3, rest_seconds=2.0, monotonic=watch)


def test_gate_closes_after_failures_in_a_row(gate: Gate, watch: Watch) -> None:
    for _ in range(3):
        assert "can't be reached" in str(fail(gate, exceptions.ConnectionError("refused")))
    reached = []
    with pytest.raises(StoreUnavailableError, match="a moment ago") as caught, gate:
        reached.append("Redis")
    assert (reached, caught.value.retry_after) == ([], 2.0)


def test_gate_lets_one_through_when_its_rest_is_over(gate: Gate, watch: Watch) -> None:
    for _ in range(3):
        fail(gate, exceptions.TimeoutError("late"))
    watch.now += 2.0
    gate.__enter__()
    with pytest.raises(StoreUnavailableError, match="a moment ago"), gate:
        pass
    gate.__exit__(None, None, None)
    with gate:
        pass


def test_success_between_failures_keeps_the_gate_open(gate: Gate) -> None:
    for _ in range(5):
        fail(gate, exceptions.ConnectionError("refused"))
        with gate:
            pass


def test_refusals_do_not_close_the_gate(gate: Gate) -> None:
    for error in (exceptions.ResponseError("OOM"), exceptions.ReadOnlyError("READONLY"), exceptions.MaxConnectionsError("all")):
        for _ in range(5):
            with pytest.raises((exceptions.ResponseError, StoreUnavailableError)), gate:
                raise error
    with gate:
        pass


@pytest.fixture(params=FLAVOURS)
def own_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    server = FLAVOURS[request.param].start()
    yield server
    server.stop()


@pytest.mark.parametrize("trouble", ["OOM", "READONLY", "NOREPLICAS"])
def test_server_that_takes_no_writes_is_a_503(own_server: Server, trouble: str) -> None:
    app = make_app([arena()], redis_url=f"unix://{own_server.socket}")
    client = app.test_client()
    body = {"user_id": "ann", "points": 1, "user_name": "Ann"}
    for user in ("ann", "bob"):
        assert client.post("/v1/scores", json={**body, "user_id": user}, headers=SUBMIT).status_code == 200
    assert client.get("/v1/scores?limit=1").json["cursor"]
    if trouble == "OOM":
        own_server.client.config_set("maxmemory", "1")
    elif trouble == "READONLY":
        own_server.client.replicaof("127.0.0.1", "1")
    else:
        own_server.client.config_set("min-replicas-to-write", "1")
    for _ in range(4):
        for answer in (
            client.post("/v1/scores", json=body, headers=SUBMIT),
            client.post("/v1/scores/batch", json={"submissions": [body]}, headers=SUBMIT),
            client.put("/v1/users/ann", json={"user_name": "Ann"}, headers=SUBMIT),
        ):
            assert (answer.status_code, answer.json["code"]) == (503, "store_unavailable")
            assert answer.headers["Retry-After"] == "1"
        service_of(app).hub.app_keys.secret_until = 0
        assert client.get("/v1/scores?limit=1").json["total"] == 2


def test_pool_that_is_used_up_is_no_dead_server(own_server: Server) -> None:
    app = make_app([arena()], redis_url=f"unix://{own_server.socket}?max_connections=1", redis_rest_ms=60_000)
    hub = service_of(app).hub
    assert app.test_client().get("/v1/scores").status_code == 200
    held = hub.caller.client.connection_pool.get_connection()
    for _ in range(5):
        assert app.test_client().get("/v1/scores").status_code == 503
    hub.caller.client.connection_pool.release(held)
    assert app.test_client().get("/v1/scores").status_code == 200


def test_other_errors_go_through_as_they_are(gate: Gate) -> None:
    with pytest.raises(exceptions.ResponseError, match="WRONGTYPE"), gate:
        raise exceptions.ResponseError("WRONGTYPE Operation against a key")
    with pytest.raises(ZeroDivisionError), gate:
        raise ZeroDivisionError


def test_every_call_of_a_board_goes_through_the_gate() -> None:
    nobody = Redis(unix_socket_path="/nonexistent/redis.sock", retry=None)
    lb = Leaderboard(Board("arena", segments=["country"]), Caller(nobody, gate=Gate(failures=10**6)))
    for call in (lambda: lb.submit("ann", 1), lambda: lb.top(), lambda: lb.remove("ann"), lambda: lb.store.segment_labels()):
        with pytest.raises(StoreUnavailableError):
            call()


def test_refusal_of_redis_itself_is_our_error(valkey: Redis) -> None:
    caller = Caller(valkey)
    valkey.set("text", "x")
    with pytest.raises(ProtocolError, match="WRONGTYPE"):
        caller.use(lambda client: client.hget("text", "field"))
