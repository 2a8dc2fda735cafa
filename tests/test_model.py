"""The board against a plain Python model, step by step, over boards of every combination."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from redis import Redis

from flask_leaderboard import AllTime, Board, Daily, Every, Leaderboard, LeaderboardError, Receipt, Segment, Submission, Weekly
from flask_leaderboard.store.calls import Functions
from tests.conftest import SetClock
from tests.model import Model, RefusedError, period_id
from tests.servers import FLAVOURS, Fake, Server

WINDOWS = {"all": AllTime(), "hourly": Every(timedelta(hours=1), name="hourly"), "daily": Daily(), "weekly": Weekly()}
USERS = ["a", "b", "{a}", "a:b", "a b", " ", "-", "%s", "é", "😀", "A", "10", "9", "a\\n", "ü" * 127, "z" * 255]
KINDS = ["sparse", "unique", "modified", "dense"]
SECOND = 1_000_000

users = st.sampled_from(USERS)
ages = st.sampled_from(
    [0, 0, 0, 400, 1000, 1400, 61 * SECOND, 3601 * SECOND, 86_400 * SECOND, 8 * 86_400 * SECOND, -4 * SECOND, -9 * SECOND]
)
kinds = st.sampled_from(KINDS)


def boards() -> st.SearchStrategy[dict[str, Any]]:
    """Draw the rules of a board."""
    return st.fixed_dictionaries(
        {
            "update": st.sampled_from(["increment", "best", "latest"]),
            "updates": st.sampled_from([(), ("latest",), ("increment", "best", "latest")]),
            "order": st.sampled_from(["desc", "asc"]),
            "tie_break": st.sampled_from(["first", "last", "member"]),
            "tie_resolution": st.sampled_from([timedelta(milliseconds=1), timedelta(microseconds=1), timedelta(seconds=7)]),
            "ranking": kinds,
            "dense": st.booleans(),
            "score_type": st.sampled_from(["integer", "float"]),
            "score_range": st.sampled_from([None, (-5, 5), (0, 1000), (-(2**53 - 1), 2**53 - 1)]),
            "windows": st.lists(st.sampled_from(sorted(WINDOWS)), min_size=1, unique=True),
        }
    )


@st.composite
def submissions(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a submission; half of the points tie."""
    small = st.sampled_from([0, 1, 1, 1, 2, -1, 3])
    large = st.sampled_from([0.5, 0.1, 0.2, -0.0, 5, -5, 1000, 2**53 - 1, -(2**53 - 1), 1e300, 2**52 + 1])
    return {
        "user": draw(users),
        "points": draw(st.one_of(small, large)),
        "age": draw(ages),
        "identity": draw(st.one_of(st.none(), st.sampled_from(["m1", "m2", "m:{3}", "é"]))),
        "segment": draw(st.one_of(st.none(), st.sampled_from(["NL", "DE", "FR"]))),
        "update": draw(st.sampled_from([None, None, None, "increment", "best", "latest"])),
    }


class BoardMachine(RuleBasedStateMachine):
    """Does the same to a board and to the model, and compares what they say."""

    client: Redis
    functions = False

    @initialize(rules=boards())
    def declare(self, rules: dict[str, Any]) -> None:
        self.client.flushall()
        self.clock = SetClock()
        names = rules["windows"]
        rules = {**rules, "segments": [Segment("land", limit=2)], "remember_ids": timedelta(days=3650)}
        board = Board("b", **{**rules, "windows": [WINDOWS[name] for name in names]})
        self.lb = Leaderboard(board, self.client, clock=self.clock, dialect=Functions() if self.functions else None)
        lowest, highest = board.bounds
        resolution = rules["tie_resolution"] // timedelta(microseconds=1)
        self.model = Model(
            rules["update"], rules["updates"], rules["order"], rules["tie_break"], resolution, lowest, highest, tuple(names), 2
        )

    @rule(drawn=submissions())
    def submit(self, drawn: dict[str, Any]) -> None:
        self.check_outcomes([drawn], self.lb.submit_many([self.submission(drawn)]))

    @rule(drawn=st.lists(submissions(), min_size=2, max_size=6), ranks=st.booleans())
    def submit_many(self, drawn: list[dict[str, Any]], ranks: bool) -> None:
        outcomes = self.lb.submit_many([self.submission(item) for item in drawn], ranks=ranks)
        self.check_outcomes(drawn, outcomes, last_ranks=ranks and len({item["user"] for item in drawn}) == 1)

    @rule(user=users)
    def remove(self, user: str) -> None:
        assert bool(self.lb.remove(user).changes) == self.model.remove(user, self.clock.now)

    @rule(seconds=st.sampled_from([1, 30, 3600, 50_000, 86_400]))
    def wait(self, seconds: int) -> None:
        self.clock.now += seconds * SECOND

    @rule(
        window=st.sampled_from(sorted(WINDOWS)), segment=st.sampled_from([None, "NL", "DE"]), kind=kinds, size=st.integers(1, 5)
    )
    def read_pages(self, window: str, segment: str | None, kind: str, size: int) -> None:
        target, where = self.place(window, segment)
        if kind == "dense" and not self.lb.board.dense:
            with pytest.raises(LeaderboardError, match="dense"):
                self.lb.top(ranking=kind, **where)
            return
        expected = self.expected(target, kind)
        page = self.lb.top(size, ranking=kind, **where)
        seen = list(page.entries)
        while page.cursor:
            page = self.lb.top(size, cursor=page.cursor, ranking=kind, **where)
            seen += page.entries
        assert [(entry.rank, entry.user_id, entry.score) for entry in seen] == expected
        assert (page.total, page.number) == (len(expected), self.model.number)
        for offset in range(len(expected)):
            entries = self.lb.top(size, offset=offset, ranking=kind, **where).entries
            assert [(entry.rank, entry.user_id, entry.score) for entry in entries] == expected[offset : offset + size]

    @rule(window=st.sampled_from(sorted(WINDOWS)), segment=st.sampled_from([None, "NL"]), user=users, kind=kinds)
    def read_user(self, window: str, segment: str | None, user: str, kind: str) -> None:
        target, where = self.place(window, segment)
        kind = kind if self.lb.board.dense or kind != "dense" else "sparse"
        expected = self.expected(target, kind)
        index = next((i for i, row in enumerate(expected) if row[1] == user), None)
        entry = self.lb.rank(user, ranking=kind, **where)
        around = self.lb.around(user, above=2, below=1, ranking=kind, **where)
        if index is None:
            assert (entry, around.entries, self.lb.percentile(user, **where)) == (None, (), None)
            return
        better = self.model.ranks(target, "sparse")[index] - 1
        percentile = (2000 * (len(expected) - better) + len(expected)) // (2 * len(expected)) / 10
        assert entry is not None
        assert (entry.rank, entry.user_id, entry.score, entry.percentile) == (*expected[index], percentile)
        assert self.lb.percentile(user, **where) == percentile
        assert [(e.rank, e.user_id, e.score) for e in around.entries] == expected[max(0, index - 2) : index + 2]

    @rule(window=st.sampled_from(sorted(WINDOWS)), low=st.integers(-6, 6), high=st.integers(-6, 6), tenths=st.integers(0, 1000))
    def read_scores(self, window: str, low: int, high: int, tenths: int) -> None:
        target, where = self.place(window, None)
        expected = self.expected(target, "sparse")
        inside = [row for row in expected if low <= row[2] <= high]
        page = self.lb.range(low, high, ranking="sparse", limit=2, **where)
        seen = list(page.entries)
        while page.cursor:
            page = self.lb.range(low, high, ranking="sparse", limit=2, cursor=page.cursor, **where)
            seen += page.entries
        assert [(entry.rank, entry.user_id, entry.score) for entry in seen] == inside
        assert self.lb.count(low, high, **where) == len(inside)
        assert self.lb.count(**where) == len(expected)
        reaching = [row for row in expected if 1000 * (len(expected) - row[0] + 1) >= tenths * len(expected)]
        assert self.lb.score_at_percentile(tenths / 10, **where) == (reaching[-1][2] if reaching else None)

    @rule(window=st.sampled_from(sorted(WINDOWS)), user=users, points=st.sampled_from([1, 2]), size=st.integers(1, 3))
    def go_on_after_a_move(self, window: str, user: str, points: int, size: int) -> None:
        """A cursor goes on behind its position when the entry it stood on has gone."""
        target, where = self.place(window, None)
        page = self.lb.top(size, ranking="unique", **where)
        if page.cursor is None:
            return
        last = page.entries[-1]
        gone = self.model.table(target)[size - 1]
        self.remove(last.user_id)
        rest = self.lb.top(1000, cursor=page.cursor, ranking="unique", **where)
        assert [entry.user_id for entry in rest.entries] == [row[0] for row in self.model.table(target)[size - 1 :]]
        assert gone[0] == last.user_id

    @rule(chosen=st.lists(users, max_size=6), window=st.sampled_from(sorted(WINDOWS)))
    def among(self, chosen: list[str], window: str) -> None:
        target, where = self.place(window, None)
        ordered = [user for user, _, _ in self.model.table(target) if user in chosen]
        friends = self.lb.among(chosen, ranking="unique", **where)
        assert [(friend.rank, friend.entry.user_id) for friend in friends] == list(enumerate(ordered, start=1))

    @precondition(lambda self: hasattr(self, "lb"))
    @rule()
    def keeps_nothing_else(self) -> None:
        """Ticks and levels hold just what the entries need, and every period key has a time to live."""
        for key in map(bytes.decode, self.client.keys("*/ticks")):
            assert self.client.hlen(key) == self.client.zcard(key.removesuffix("/ticks"))
        for target in self.model.rankings:
            window, period, segment = target
            key = f"lb1:{{b}}:{window}:{period}" + (f":land={segment}" if segment else "")
            rows = self.model.table(target)
            assert self.client.zcard(key) == len(rows)
            if self.lb.board.dense:
                assert self.client.zcard(f"{key}/levels") == len({score for _, score, _ in rows})
            if rows and window != "all":
                assert all(self.client.pttl(name) > 0 for name in self.client.keys(f"{key}*") if b"@" not in name)

    def submission(self, drawn: dict[str, Any]) -> Submission:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.clock.now - drawn["age"])
        segments = {"land": drawn["segment"]} if drawn["segment"] else None
        return Submission(drawn["user"], drawn["points"], drawn["identity"], at, segments, None, drawn["update"])

    def check_outcomes(
        self, drawn: list[dict[str, Any]], outcomes: list[Receipt | LeaderboardError], *, last_ranks: bool = True
    ) -> None:
        assert len(outcomes) == len(drawn)
        for item, outcome in zip(drawn, outcomes, strict=True):
            try:
                status, changes, closed = self.told(item)
            except RefusedError as refused:
                code = str(refused)
                assert getattr(outcome, "code", None) == code, (item, outcome)
                continue
            assert isinstance(outcome, Receipt), (item, outcome)
            assert (outcome.duplicate, list(outcome.closed)) == (status == "duplicate", closed)
            scores = {(c.window, c.period, c.segment and c.segment[5:]): (c.old_score, c.new_score) for c in outcome.changes}
            assert scores == changes
        if last_ranks and isinstance(outcome, Receipt):
            for change in outcome.changes:
                target = (change.window, change.period, change.segment and change.segment[5:])
                ranked = {user: rank for rank, user, _ in self.expected(target, self.lb.board.ranking)}
                assert change.new_rank == ranked.get(item["user"])

    def told(self, item: dict[str, Any]) -> Any:
        points = item["points"]
        if self.lb.board.score_type == "integer" and points != int(points):
            raise RefusedError("bad_points")
        if self.lb.board.score_type == "integer" and abs(points) > 2**53 - 1:
            raise RefusedError("bad_points")
        points = float(points) if self.lb.board.score_type == "float" else int(points)
        now = self.clock.now
        return self.model.submit(item["user"], points, now - item["age"], now, item["identity"], item["segment"], item["update"])

    def place(self, window: str, segment: str | None) -> tuple[tuple[str, str, str | None], dict[str, Any]]:
        window = window if window in self.model.windows else self.model.windows[0]
        target = (window, period_id(window, self.clock.now), segment)
        return target, {"window": window, "segment": {"land": segment} if segment else None}

    def expected(self, target: tuple[str, str, str | None], kind: str) -> list[tuple[int, str, float]]:
        table, ranks = self.model.table(target), self.model.ranks(target, kind)
        return [(rank, user, score) for rank, (user, score, _) in zip(ranks, table, strict=True)]


def run_machine(client: Redis, examples: int, *, functions: bool = False) -> None:
    machine = type("Machine", (BoardMachine,), {"client": client, "functions": functions})
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=30))


def test_model_by_scripts(client: Redis, backend_name: str, examples: int) -> None:
    run_machine(client, examples // 2 if backend_name == "fake" else examples)


@pytest.mark.parametrize("name", [name for name, flavour in FLAVOURS.items() if flavour.functions])
def test_model_by_functions(name: str, backends: Callable[[str], Server | Fake], examples: int) -> None:
    run_machine(backends(name).client, examples // 3, functions=True)
