"""A short run of the chaos harness, and proof that it sees what is broken. `make chaos` is the long one."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.chaos.harness import Round, playing
from tests.databases import DatabaseServer, PostgreSQL

Servers = Callable[[str], DatabaseServer]


def postgresql(servers: Servers) -> PostgreSQL:
    server = servers("postgresql")
    assert isinstance(server, PostgreSQL)
    return server


@pytest.mark.parametrize(
    ("seed", "mode"), [(1, "ledger"), (2, "ledger"), (3, "write_behind"), (4, "write_behind"), (5, "coalesced")]
)
def test_promises_hold_whatever_is_killed(database_servers: Servers, seed: int, mode: str) -> None:
    with playing(postgresql(database_servers), seed, mode) as round_:
        round_.play(6)
        wrong, events = round_.verdict()
    assert wrong == []
    assert events > 50


@pytest.mark.parametrize(
    ("mode", "sabotage", "deed", "told"),
    [
        ("ledger", "detector", Round.set_back_redis, "was shown"),
        ("ledger", "order", Round.empty_redis, "no prefix of the log"),
        ("ledger", "once", Round.kill_player, "an id is in the log twice"),
        ("write_behind", "numbering", Round.set_back_redis, "the journal"),
    ],
)
def test_the_judge_sees_what_is_broken(
    database_servers: Servers, mode: str, sabotage: str, deed: Callable[[Round], None], told: str
) -> None:
    with playing(postgresql(database_servers), 7, mode, sabotage) as round_:
        for _ in range(4):
            time.sleep(0.5)
            deed(round_)
        time.sleep(0.5)
        wrong, _ = round_.verdict()
    assert any(told in line for line in wrong), wrong
