"""How many Redis commands a call runs does not depend on the size of the ranking."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from redis import Redis

from flask_leaderboard import AllTime, Board, Daily, Leaderboard
from flask_leaderboard.rules.results import RANKING_KINDS
from flask_leaderboard.rules.windows import Period
from flask_leaderboard.store.batch import Batch
from flask_leaderboard.store.bundle import manifest, script_text
from flask_leaderboard.store.rankings import Ranking
from tests.conftest import SetClock

SMALL, LARGE = 10**3, 10**6
LEVELS = 500


def fill(lb: Leaderboard, clock: SetClock, members: int) -> Ranking:
    """Load a ranking of many ties; the last 20 users stand alone on scores of their own."""
    ranking = lb.store.rankings.get(lb.board.windows[0], current_period(lb, clock))
    for first in range(0, members, 2000):
        rows = [
            (f"u{i}", i % LEVELS if i < members - 20 else 1000 + members - i, clock.now - i) for i in range(first, first + 2000)
        ]
        lb.store.restore(ranking, rows[: members - first])
    return ranking


def current_period(lb: Leaderboard, clock: SetClock) -> Period:
    period = lb.board.windows[0].period_at(clock.now)
    assert period is not None
    return period


def calls(lb: Leaderboard, client: Redis, ranking: Ranking, clock: SetClock, members: int) -> dict[str, Callable[[], Any]]:
    """Give a call of every command that works on a ranking."""
    store, tied, alone = lb.store, f"u{members // 2}", f"u{members - 7}"
    other = store.rankings.get(lb.board.windows[0], Period("other", ranking.period.start, ranking.period.end))

    def apply() -> None:
        batch = Batch(lb.board, "sparse")
        batch.add(f"submit\t{alone}\t1\t{clock.now}\t\t{batch.target_list([ranking])}", [ranking])
        number = int(client.hget(store.keys.board, "seq") or 0)  # type: ignore[arg-type]
        assert store.apply(batch, number + 1)[1] is not None

    found: dict[str, Callable[[], Any]] = {
        "submit": lambda: lb.submit(tied, 1, submission_id="m"),
        "submit duplicate": lambda: lb.submit(tied, 1, submission_id="m"),
        "submit new": lambda: lb.submit("new", 3, submission_id="n"),
        "remove": lambda: lb.remove("new"),
        "apply": apply,
        "range": lambda: lb.range(10, 300, limit=25),
        "count": lambda: lb.count(10, 300),
        "percentile": lambda: lb.percentile(tied),
        "score_at": lambda: lb.score_at_percentile(50),
        "entries": lambda: lb.among([tied, alone, "nobody"]),
        "after": lambda: lb.top(10, cursor=lb.top(10, offset=members // 3).cursor),
        "move": lambda: store.move(ranking, other, alone, None, None),
        "restore": lambda: store.restore(other, [("r", 1, clock.now)]),
        "swap": lambda: store.swap(f"{store.keys.board}:@shadow", [f"{store.keys.board}:@{i}" for i in range(3)], []),
        "season": lambda: store.season("season", "-", "-", 0),
        "admit": lambda: store.admit([tied, alone, tied], 2, clock.now),
        "drop": lambda: store.drop(["lb1:{size}:@nothing"]),
        "close": lambda: store.close(1),
    }
    for kind in ("sparse", "unique", "modified", "dense"):
        found[f"page {kind}"] = lambda kind=kind: lb.top(25, offset=members // 2, ranking=kind)
        found[f"around {kind}"] = lambda kind=kind: lb.around(tied, ranking=kind)
        found[f"rank {kind}"] = lambda kind=kind: lb.rank(tied, ranking=kind)
    return found


def count_commands(client: Redis, call: Callable[[], Any]) -> dict[str, int]:
    client.config_resetstat()
    call()
    stats = client.info("commandstats")
    ignored = {"cmdstat_config|resetstat", "cmdstat_info", "cmdstat_script|load"}
    return {name: entry["calls"] for name, entry in stats.items() if name not in ignored}


def check_watch(found: dict[str, int]) -> None:
    """See that two users who are ranked cost two commands each, and few more where a tie is longer than what is in sight."""
    assert (found["cmdstat_evalsha"], found["cmdstat_zmscore"], found["cmdstat_zrank"], found["cmdstat_zrange"]) == (1, 1, 2, 3)
    assert sum(found.values()) <= 1 + 5 + 2 * (2 + 4) + 2


@pytest.mark.parametrize(
    "rules", [{"score_range": (0, 10_000_000), "windows": [Daily()]}, {"windows": [AllTime()]}], ids=["packed", "exact"]
)
def test_commands_are_the_same_at_any_size(rules: dict[str, Any], valkey: Redis, clock: SetClock) -> None:
    board = Board("size", dense=True, **rules)
    seen: dict[int, dict[str, dict[str, int]]] = {}
    for command in manifest()["commands"]:
        valkey.script_load(script_text(command))
    for members in (SMALL, LARGE):
        valkey.flushall()
        lb = Leaderboard(board, valkey, clock=clock)
        ranking = fill(lb, clock, members)
        found = calls(lb, valkey, ranking, clock, members)
        seen[members] = {name: count_commands(valkey, call) for name, call in found.items()}
        gone = count_commands(valkey, partial(lb.store.after, ranking, "sparse", ("7", clock.now, "gone"), 10))
        assert gone["cmdstat_zrange"] <= 3 + math.log2(members / LEVELS), "a search among the tied, no walk"
        for kind in RANKING_KINDS:
            watch = partial(lb.watch, ranking, kind, 10, [f"u{members // 2}", f"u{members - 5}", "nobody"])
            check_watch(count_commands(valkey, watch))
    assert seen[SMALL] == seen[LARGE]
    assert {"watch", *(name.split()[0] for name in seen[SMALL])} >= set(manifest()["commands"])
    one_trip = [name for name in seen[SMALL] if name not in ("after", "apply")]
    assert {name: seen[SMALL][name]["cmdstat_evalsha"] for name in one_trip} == dict.fromkeys(one_trip, 1)
