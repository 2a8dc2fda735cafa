"""Comparing Redis with the fold of the log, ranking by ranking, while others write.

A first walk along both finds what may differ; most of it was only written meanwhile. So that is looked at again: users by
users, at numbers between which they have no event.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection

from ..errors import LayoutError, ProtocolError
from ..log.bulk import parts
from ..log.event_log import EventLog
from ..log.events import Event
from ..log.ranking_dump import Held, dump_in_order, dump_levels, has_standing, held_by
from ..log.ranking_rows import RankingRow
from ..log.totals import Totals
from ..rules.board import Board
from ..rules.fold import tie_of
from ..rules.results import Entry
from ..rules.scores import Number
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from .differences import Difference, Verified, told
from .folding import Folder
from .live_rankings import LiveRankings
from .rebuilding import Progress
from .tail import Tail
from .walking import unmatched, walk, walk_levels

ROWS_A_PART = 1000
LOOKS = 50
SECONDS_BETWEEN = 0.02
MOST_EVENTS_BETWEEN = 5000
ABSENT = "absent"
T = TypeVar("T")
Undecided = Iterator[tuple[T, Difference | None]]


class _Mark(NamedTuple):
    """A place in a ranking: marks are ordered as entries are."""

    standing: float
    tie: int
    user: bytes


class Verifier:
    """Compares a board's rankings in Redis with the totals."""

    def __init__(
        self,
        board: Board,
        store: BoardStore,
        log: EventLog,
        totals: Totals,
        live: LiveRankings,
        folder: Folder,
        tail: Tail,
    ) -> None:
        self._board = board
        self._store = store
        self._log = log
        self._totals = totals
        self._live = live
        self._folder = folder
        self._tail = tail
        self._sign = -1 if board.order == "desc" else 1

    def run(self, windows: Sequence[str] = (), *, progress: Progress | None = None) -> Verified:
        """Compare windows of the board, or all."""
        names = [self._board.window(name).name for name in windows]
        self._store.guard.look()
        verified = Verified()
        verified.add(None, self._settle(verified, self._odd_labels(), self._judge_labels))
        for ranking in self._rankings(names):
            found = self._verify(verified, ranking)
            if self._live.is_kept(ranking):
                verified.add(ranking.window, found)
            verified.rankings += 1
            if progress is not None:
                progress("entries compared", verified.entries, None)
        return verified

    def _rankings(self, windows: Collection[str]) -> list[Ranking]:
        """List what the totals have, and what Redis has besides."""
        self._fold()
        with self._totals.snapshot() as (connection, _):
            rows = self._live.in_totals(connection, windows)
        known = [self._store.rankings.get(self._board.window(row.window), row.period, row.segment) for row in rows]
        there = set(self._live.keys(windows))
        others = [ranking for ranking in self._live.in_redis(windows) if not there.isdisjoint(self._keys(ranking))]
        return list({ranking.keys[0]: ranking for ranking in (*known, *others)}.values())

    def _keys(self, ranking: Ranking) -> tuple[str, str, str]:
        entries = ranking.keys[0]
        return entries, self._store.keys.ticks(entries), self._store.keys.levels(entries)

    def _verify(self, verified: Verified, ranking: Ranking) -> list[Difference]:
        try:
            users, levels = self._compare(verified, ranking)
            found = self._settle(verified, users, lambda some: self._judge_users(ranking, some))
            found += self._settle(verified, levels, lambda some: self._judge_levels(ranking, some))
            return found + self._stray_ticks(ranking) + self._wrong_expiry(ranking)
        except LayoutError as error:
            return [Difference("layout", _name(ranking), None, str(error), self._board.layout(ranking.window))]
        except (ProtocolError, UnicodeDecodeError) as error:
            return [Difference("data", _name(ranking), None, f"can't be read: {error}", "entries")]

    def _compare(self, verified: Verified, ranking: Ranking) -> tuple[set[str], set[float]]:
        """Walk along a ranking in both; give the users and the levels that may differ."""
        self._fold()
        odd: set[str] = set()
        with self._totals.snapshot() as (connection, _):
            row = self._row(connection, ranking)
            wanted = (self._mark_of(held) for held in (dump_in_order(connection, row, ROWS_A_PART) if row else ()))
            odd.update(mark.user.decode() for mark in unmatched(wanted, self._marks(verified, ranking, odd)))
            if not self._board.dense:
                return odd, set()
            levels = dump_levels(connection, row, ROWS_A_PART) if row else ()
            return odd, set(unmatched(levels, walk_levels(self._store, ranking)))

    def _marks(self, verified: Verified, ranking: Ranking, odd: set[str]) -> Iterator[_Mark]:
        """Walk along Redis; `odd` gets who stands otherwise in the map from users to times."""
        exact = self._board.encoding(ranking.window).kind == "exact"
        for page in walk(self._store, ranking):
            if exact:
                _, again = self._store.look_up(ranking, [entry.user_id for entry in page])
                pairs = zip(page, again, strict=True)
                odd.update(one.user_id for one, other in pairs if other is None or (one.score, one.at) != (other.score, other.at))
            verified.entries += len(page)
            yield from (self._mark(entry.score, entry.at, entry.user_id) for entry in page)

    def _mark(self, score: Number, at: int | None, user_id: str) -> _Mark:
        return _Mark(self._sign * float(score) + 0.0, 0 if at is None else tie_of(self._board, at), user_id.encode())

    def _mark_of(self, held: Held) -> _Mark:
        return _Mark(held.standing + 0.0, tie_of(self._board, held.at), held.user_id.encode())

    def _settle(self, verified: Verified, odd: Collection[T], judge: Callable[[list[T]], Undecided[T]]) -> list[Difference]:
        """Look again at what may differ, until it is known; what is written all the time is left at last."""
        found: list[Difference] = []
        waiting = list(odd)
        for _ in range(LOOKS):
            if not waiting:
                return found
            decided = dict(judge(waiting))
            found += [difference for difference in decided.values() if difference is not None]
            waiting = [one for one in waiting if one not in decided]
            if waiting:
                time.sleep(SECONDS_BETWEEN)
        verified.unsettled += len(waiting)
        return found

    def _judge_users(self, ranking: Ranking, users: list[str]) -> Undecided[str]:
        for part in parts(sorted(users)):
            self._fold()
            with self._totals.snapshot() as (connection, number):
                row = self._row(connection, ranking)
                held = held_by(connection, row, part) if row else {}
            folded, entries = self._store.look_up(ranking, part)
            events = self._between(number, folded)
            if events is not None:
                touched = {event.user_id for event in events}
                pairs = zip(part, entries, strict=True)
                yield from (
                    (user, self._judge(ranking, user, entry, held.get(user))) for user, entry in pairs if user not in touched
                )

    def _judge(self, ranking: Ranking, user: str, entry: Entry | None, held: Held | None) -> Difference | None:
        mine = None if entry is None else self._mark(entry.score, entry.at, user)
        if mine == (None if held is None else self._mark_of(held)):
            return None
        redis = ABSENT if entry is None else told(entry.score, entry.at)
        log = ABSENT if held is None else told(self._score(held.standing), held.at if self._by_time else None)
        return Difference("entry", _name(ranking), user, redis, log)

    @property
    def _by_time(self) -> bool:
        return self._board.tie_break != "member"

    def _score(self, standing: float) -> Number:
        score = self._sign * standing + 0.0
        return int(score) if self._board.score_type == "integer" else score

    def _judge_levels(self, ranking: Ranking, levels: list[float]) -> Undecided[float]:
        self._fold()
        key = self._store.keys.levels(ranking.keys[0])
        with self._totals.snapshot() as (connection, number):
            row = self._row(connection, ranking)
            wanted = [row is not None and has_standing(connection, row, level) for level in levels]
        before = self._store.number()
        places = self._store.caller.ask(*(("ZSCORE", key, _text(level)) for level in levels))
        if not number == before == self._store.number():
            return
        for level, place, should in zip(levels, places, wanted, strict=True):
            redis = ABSENT if place is None else f"{self._score(float(place)):,}"
            log = f"{self._score(level):,}" if should else ABSENT
            yield level, None if redis == log else Difference("level", _name(ranking), None, redis, log)

    def _odd_labels(self) -> set[str]:
        self._fold()
        with self._totals.snapshot() as (connection, _):
            return set(self._live.labels(connection)) ^ set(self._store.segment_labels())

    def _judge_labels(self, labels: list[str]) -> Undecided[str]:
        self._fold()
        with self._totals.snapshot() as (connection, number):
            wanted = set(self._live.labels(connection))
        before = self._store.number()
        there = set(self._store.segment_labels())
        folded = self._store.number()
        events = self._between(number, folded)
        if before != folded or events is None:
            return
        touched = {label for event in events for label in event.segments}
        for label in labels:
            words = [label if label in known else ABSENT for known in (there, wanted)]
            if label not in touched:
                yield label, None if words[0] == words[1] else Difference("segment", "every ranking", None, *words)

    def _stray_ticks(self, ranking: Ranking) -> list[Difference]:
        """Compare the sizes of the map from users to times and of the entries."""
        if self._board.encoding(ranking.window).kind != "exact":
            return []
        entries, ticks, _ = self._keys(ranking)
        sizes = (0, 0)
        for _ in range(LOOKS):
            sizes = tuple(self._store.caller.ask(("ZCARD", entries), ("HLEN", ticks)))
            if sizes[0] == sizes[1]:
                return []
        return [Difference("ticks", _name(ranking), None, f"{sizes[1]:,} times", f"{sizes[0]:,} entries")]

    def _wrong_expiry(self, ranking: Ranking) -> list[Difference]:
        kept_until = self._board.window(ranking.window).kept_until(ranking.period)
        left = self._store.caller.ask(*(("PTTL", key) for key in ranking.data_keys))
        wrong = any(ms >= 0 for ms in left) if kept_until is None else any(ms == -1 for ms in left)
        words = ("expires", "never expires")
        return [Difference("expiry", _name(ranking), None, *(words if kept_until is None else words[::-1]))] if wrong else []

    def _fold(self) -> None:
        """Bring the totals as far as Redis is; and Redis as far as they are, where events wait for the end of an interval."""
        if self._board.coalesce_ms:
            self._folder.reach(self._totals.number())
        number = self._store.number()
        self._tail.reach(number)
        while self._totals.number() < number and self._totals.fold():
            pass

    def _row(self, connection: Connection, ranking: Ranking) -> RankingRow | None:
        return self._totals.rows().find(connection, ranking.window, ranking.period.id, ranking.segment)

    def _between(self, one: int, other: int) -> Iterable[Event] | None:
        """Give the events between two numbers; None where there are too many."""
        first, last = sorted((one, other))
        self._tail.reach(last)
        return None if last - first > MOST_EVENTS_BETWEEN else self._log.read(first, last - first) if last > first else ()


def _name(ranking: Ranking) -> str:
    return " ".join(part for part in (ranking.window, ranking.period.id, ranking.segment) if part)


def _text(standing: float) -> str:
    return f"{standing:.17g}"
