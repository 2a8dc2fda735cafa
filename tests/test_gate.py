"""The gate: a Redis that does not answer costs few callers a short wait, and comes as our own error."""

from __future__ import annotations

import pytest
from redis import Redis, exceptions

from flask_leaderboard import Board, Leaderboard
from flask_leaderboard.errors import ProtocolError, StoreUnavailableError
from flask_leaderboard.store.calls import Caller
from flask_leaderboard.store.gate import Gate


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


@pytest.mark.parametrize(
    "error",
    [
        exceptions.ReadOnlyError("READONLY You can't write against a read only replica."),
        exceptions.OutOfMemoryError("OOM command not allowed"),
        exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left on device"),
        exceptions.ResponseError("NOREPLICAS Not enough good replicas to write."),
    ],
)
def test_refused_writes_pass_by_without_closing_the_gate(gate: Gate, error: Exception) -> None:
    for _ in range(5):
        assert "takes no writes" in str(fail(gate, error))


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
