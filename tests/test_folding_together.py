"""Entries of one call to `apply`: folded together they give what they give one by one, at one write for each user and ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis

from flask_leaderboard import AllTime, Board, Every, Segment
from flask_leaderboard.rules.scores import number_text
from flask_leaderboard.store.batch import Batch
from flask_leaderboard.store.board_store import BoardStore
from flask_leaderboard.store.calls import Caller
from flask_leaderboard.store.rankings import Ranking
from tests.conftest import SetClock
from tests.model import Model, RefusedError, period_id
from tests.servers import Fake, Server

SECOND = 1_000_000
NOW = SetClock().now + 1800 * SECOND
USERS = ["a", "b", "é", "10"]


class Played(NamedTuple):
    """An entry of the log; no points for a removal."""

    user: str
    points: float | None
    age: int = 0
    update: str = ""
    segment: str | None = None


submissions = st.builds(
    Played,
    st.sampled_from(USERS),
    st.sampled_from([0, 1, 1, 2, -1, 3, 7, 0.5, 0.1, 0.2, -5, 1e300, 2**53 - 1]),
    st.sampled_from([0, 0, 400, 1400, 7 * SECOND, 3601 * SECOND]),
    st.sampled_from(["", "", "increment", "best", "latest"]),
    st.sampled_from([None, None, "NL", "DE", "FR"]),
)
removals = st.sampled_from(USERS).map(lambda user: Played(user, None))
boards = st.fixed_dictionaries(
    {
        "update": st.sampled_from(["increment", "best", "latest"]),
        "order": st.sampled_from(["desc", "asc"]),
        "tie_break": st.sampled_from(["first", "last", "member"]),
        "tie_resolution": st.sampled_from([timedelta(milliseconds=1), timedelta(seconds=7)]),
        "dense": st.booleans(),
        "score_type": st.sampled_from(["integer", "float"]),
        "score_range": st.sampled_from([None, (-5, 8), (0, 1000)]),
    }
)


def store_of(client: Redis, rules: dict[str, Any]) -> BoardStore:
    windows = [AllTime(), Every(timedelta(hours=1), name="hourly")]
    updates = ("increment", "best", "latest")
    board = Board("b", windows=windows, segments=[Segment("land", limit=2)], updates=updates, **rules)
    return BoardStore(board, Caller(client), "lb1")


def targets_of(store: BoardStore, played: Played) -> list[Ranking]:
    cuts = [None] if played.segment is None else [None, f"land={played.segment}"]
    at = NOW - played.age
    if played.points is None:
        cuts = [None, *store.segment_labels()]
    pairs = [(window, window.period_at(at)) for window in store.board.windows]
    return [store.rankings.get(window, period, cut) for cut in cuts for window, period in pairs if period is not None]


def apply(store: BoardStore, played: Sequence[Played], first: int, kind: str) -> list[bytes]:
    batch = Batch(store.board, kind)
    for item in played:
        targets = targets_of(store, item)
        action, points = ("remove", "") if item.points is None else ("submit", number_text(item.points))
        at = NOW - item.age
        batch.add(f"{action}\t{item.user}\t{points}\t{at}\t{item.update}\t{batch.target_list(targets)}", targets)
    _, lines = store.apply(batch, first)
    assert lines is not None
    return lines


def data_of(client: Redis) -> dict[str, Any]:
    """Give all that Redis holds, and what expires."""
    found: dict[str, Any] = {}
    for key in sorted(map(bytes.decode, client.keys("*"))):
        kind = client.type(key)
        readers: dict[bytes, Callable[[], Any]] = {
            b"zset": lambda key=key: client.zrange(key, 0, -1, withscores=True),
            b"hash": lambda key=key: client.hgetall(key),
            b"set": lambda key=key: client.smembers(key),
        }
        found[key] = readers[kind](), client.pexpiretime(key)
    return found


def without_ranks(line: bytes) -> bytes:
    """Take the ranks out of a receipt."""
    status, *rest = line.split(b" ")
    if status not in (b"accepted", b"removed"):
        return line
    number, *changes = rest
    scores = [word for place, word in enumerate(changes) if place % 4 < 2]
    return b" ".join((status, number, *scores))


@settings(max_examples=150)
@given(rules=boards, played=st.lists(st.one_of(submissions, submissions, submissions, removals), max_size=25))
def test_together_is_the_same_as_one_by_one(
    backends: Callable[[str], Server | Fake], rules: dict[str, Any], played: list[Played]
) -> None:
    """Scores, tie order, levels, segment values, expiry, receipts and refusals."""
    client = backends("valkey9").client
    client.flushall()
    played = [item for item in played if item.points is None or fits(rules["score_type"], item.points)]
    alone = store_of(client, rules)
    lines = [without_ranks(apply(alone, [item], number, "sparse")[0]) for number, item in enumerate(played, 1)]
    wanted = data_of(client)
    check_with_model(alone, rules, played)
    client.flushall()
    together, given_ = store_of(client, rules), list[bytes]()
    for part in parts(played):
        given_ += apply(together, part, len(given_) + 1, "-")
    assert given_ == lines
    assert data_of(client) == wanted


def parts(played: Sequence[Played]) -> list[list[Played]]:
    """Cut where a removal needs to know the segment values of all before it."""
    found: list[list[Played]] = [[]]
    for item in played:
        if item.points is None and any(other.segment for other in found[-1]):
            found.append([])
        found[-1].append(item)
    return [part for part in found if part]


def fits(score_type: str, points: float) -> bool:
    return score_type == "float" or (points == int(points) and abs(points) < 2**53)


def check_with_model(store: BoardStore, rules: dict[str, Any], played: Sequence[Played]) -> None:
    resolution = rules["tie_resolution"] // timedelta(microseconds=1)
    updates = ("increment", "best", "latest")
    tie = rules["tie_break"]
    model = Model(rules["update"], updates, rules["order"], tie, resolution, *store.board.bounds, ("all", "hourly"), 2)
    for item in played:
        at = NOW - item.age
        if item.points is None:
            for (window, period, _), users in model.rankings.items():
                if period == period_id(window, at):
                    users.pop(item.user, None)
            continue
        with suppress(RefusedError):
            model.submit(item.user, item.points, at, at, None, item.segment and f"land={item.segment}", item.update or None)
    for target in model.rankings:
        window, period, segment = target
        key = f"lb1:{{b}}:{window}:{period}" + (f":{segment}" if segment else "")
        ranking = next(
            found
            for age in (0, 3601 * SECOND)
            for found in targets_of(store, Played("a", 1, age, segment=segment and segment.removeprefix("land=")))
            if found.keys[0] == key
        )
        rows = store.page(ranking, "unique", 0, 100)[0].entries
        assert [(row.user_id, row.score) for row in rows] == [(user, score) for user, score, _ in model.table(target)]


def commands(client: Redis) -> dict[str, int]:
    return {name.removeprefix("cmdstat_"): entry["calls"] for name, entry in client.info("commandstats").items()}


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("score_range", [None, (0, 10**6)], ids=["exact", "packed"])
def test_many_entries_of_a_user_are_one_write_a_ranking(valkey: Redis, dense: bool, score_range: Any) -> None:
    store = store_of(valkey, {"dense": dense, "score_range": score_range, "tie_resolution": timedelta(seconds=20)})
    apply(store, [Played("a", 1), Played("b", 1)], 1, "-")
    valkey.config_resetstat()
    lines = apply(store, [Played("ab"[place % 2], 2, segment="NL") for place in range(400)], 3, "-")
    counted = commands(valkey)
    assert lines[-1].split()[-1] == b"400"
    rankings, users = 4, 2
    assert counted["zadd"] == rankings * users * (1 + dense)
    assert counted["zscore"] <= rankings * users
    assert counted.get("hset", 0) == (0 if score_range else rankings * users) + 1
    assert counted["evalsha"] == 1


def test_floats_are_folded_one_by_one(valkey: Redis) -> None:
    """Summed before, 0.1 + 0.2 + 0.3 of who has 1e16 would be other digits."""
    points = [1e16, 0.1, 0.7, 1.3, -1e16, 0.1]
    store = store_of(valkey, {"score_type": "float"})
    lines = apply(store, [Played("a", value) for value in points], 1, "-")
    total = 0.0
    for value in points:
        total += value
    assert float(lines[-1].split()[-1]) == total != sum([0.1, 0.7, 1.3, 0.1])
