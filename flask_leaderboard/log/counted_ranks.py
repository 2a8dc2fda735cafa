"""Ranks out of the totals: counted along their index when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Select, func, select

from ..rules.results import RankingKind
from ..rules.scales import Scale
from .bulk import parts
from .ranks import Row, known_of, mine, profile_columns
from .tables import totals, users

_standing, _tie = totals.c.standing, totals.c.tie
_user_id = func.coalesce(users.c.user_id, "")
"""Who was erased after a period was over stands in it without an id, before those who have one."""
NAMED = totals.join(users, users.c.id == totals.c.user)
ORDER = (_standing, _tie, _user_id, totals.c.user)
Condition = ColumnElement[bool]


class CountedRanks:
    """A ranking that is still folded into. `metadata` says whether rows come with it.

    Every condition is an equality or one range along the index of ranking, standing and tie: databases differ in what else they
    find by it. Ids order only those whose standing and tie are the same.
    """

    def __init__(self, connection: Connection, ranking: int, scale: Scale, total: int, *, metadata: bool = False) -> None:
        self.scale = scale
        self.total = total
        self._connection = connection
        self._mine = mine(totals, ranking)
        self._profiles = profile_columns(metadata)

    def of_users(self, user_ids: Sequence[str], kind: RankingKind) -> list[Row]:
        rows = [row for part in parts(user_ids) for row in self._fetch(users.c.user_id.in_(part))]
        better = self._before(_standing, (row.standing for row in rows))
        ranks = self._ranks(rows, kind, better)
        return [_row(row, ranks[row.user_id], better[row.standing]) for row in rows]

    def between(self, first: int, stop: int, kind: RankingKind) -> list[Row]:
        if first >= stop:
            return []
        keys = select(_standing, _tie).where(self._mine).order_by(_standing, _tie)
        spots = self._connection.execute(keys.limit(stop - first).offset(first)).all()
        if not spots:
            return []
        better = self.better(spots[0].standing)
        start = better + self._count(_standing == spots[0].standing, _tie < spots[0].tie)
        rows = self._touched(spots, first - start)
        numbers = self._numbers([row.standing for row in rows], kind, first, better)
        return [_row(row, rank) for row, rank in zip(rows, numbers, strict=True)]

    def better(self, standing: float) -> int:
        return self._count(_standing < standing)

    def through(self, standing: float) -> int:
        return self._count(_standing <= standing)

    def standing_at(self, index: int) -> float:
        query = select(_standing).where(self._mine).order_by(_standing, _tie).limit(1).offset(index)
        return float(self._connection.scalars(query).one())

    def index_after(self, standing: float, tie: int, user: str | int) -> int:
        if isinstance(user, int):
            return user
        same = _standing == standing
        upto = self._count(same, _tie == tie, _user_id <= user, source=NAMED)
        return self.better(standing) + self._count(same, _tie < tie) + upto

    def _touched(self, spots: Sequence[Any], skipped: int) -> list[Any]:
        """Give the rows at neighbouring spots; of the first spot's some are skipped, of the last one's the rest is left out."""
        first, last = spots[0], spots[-1]
        if first.standing == last.standing:
            ranges: list[tuple[Condition, ...]] = [(_standing == first.standing, _tie >= first.tie, _tie <= last.tie)]
        else:
            ranges = [
                (_standing == first.standing, _tie >= first.tie),
                (_standing > first.standing, _standing < last.standing),
                (_standing == last.standing, _tie <= last.tie),
            ]
        rows: list[Any] = []
        for conditions in ranges:
            query = self._rows(*conditions).order_by(*ORDER).limit(len(spots) - len(rows))
            rows += self._connection.execute(query if rows else query.offset(skipped))
        return rows

    def _numbers(self, standings: Sequence[float], kind: RankingKind, first: int, better: int) -> list[int]:
        """Number neighbours. Only the first and the last tie can reach beyond them: these are counted."""
        if kind == "unique":
            return list(range(first + 1, first + len(standings) + 1))
        numbers: list[int] = []
        level = self._levels(standings[0]) if kind == "dense" else 0
        for standing, tied in groupby(standings):
            size, level = len(list(tied)), level + 1
            ahead, behind = first + len(numbers) if numbers else better, first + len(numbers) + size
            if kind == "modified" and len(numbers) + size == len(standings):
                behind = self.through(standing)
            numbers += [{"sparse": ahead + 1, "modified": behind, "dense": level}[kind]] * size
        return numbers

    def _ranks(self, rows: Sequence[Any], kind: RankingKind, better: dict[float, int]) -> dict[str, int]:
        if kind == "unique":
            return dict(self._places(rows, better))
        if kind == "dense":
            levels = self._before(_standing, better, count=self._different)
            return {row.user_id: levels[row.standing] + 1 for row in rows}
        if kind == "modified":
            tied = {standing: self._count(_standing == standing) for standing in better}
            return {row.user_id: better[row.standing] + tied[row.standing] for row in rows}
        return {row.user_id: better[row.standing] + 1 for row in rows}

    def _places(self, rows: Sequence[Any], better: dict[float, int]) -> Iterator[tuple[str, int]]:
        """Give users with their places in the list."""
        in_order = sorted(rows, key=lambda row: (row.standing, row.tie))
        for standing, tied in groupby(in_order, key=lambda row: row.standing):
            equals, same = list(tied), _standing == standing
            earlier = self._before(_tie, (row.tie for row in equals), same)
            for tie, twins in groupby(equals, key=lambda row: row.tie):
                named = (row.user_id for row in twins)
                lower = self._before(_user_id, named, same, _tie == tie, count=partial(self._count, source=NAMED))
                yield from ((user, better[standing] + earlier[tie] + count + 1) for user, count in lower.items())

    def _before(
        self,
        column: ColumnElement[Any],
        values: Iterable[Any],
        *within: Condition,
        count: Callable[..., int] | None = None,
    ) -> dict[Any, int]:
        """Count for each value the rows with lower ones: from each value to the next, so that no row is counted twice."""
        counts: dict[Any, int] = {}
        lower, last = 0, None
        for value in sorted(set(values)):  # ids too: by code points is by bytes of UTF-8
            since = () if last is None else (column >= last,)
            lower += (count or self._count)(*within, *since, column < value)
            counts[value], last = lower, value
        return counts

    def _levels(self, standing: float) -> int:
        return self._different(_standing < standing)

    def _different(self, *conditions: Condition) -> int:
        """Count the different standings among rows."""
        levels = select(_standing).where(self._mine, *conditions).distinct().subquery()
        return int(self._connection.scalars(select(func.count()).select_from(levels)).one())

    def _count(self, *conditions: Condition, source: FromClause = totals) -> int:
        query = select(func.count()).select_from(source).where(self._mine, *conditions)
        return int(self._connection.scalars(query).one())

    def _rows(self, *conditions: Condition) -> Select[Any]:
        columns = (_standing, _tie, totals.c.at, *self._profiles)
        return select(*columns).select_from(NAMED).where(self._mine, *conditions)

    def _fetch(self, *conditions: Condition) -> Sequence[Any]:
        return self._connection.execute(self._rows(*conditions)).all()


def count_rows(connection: Connection, ranking: int, most: int) -> int:
    """Count the rows of a ranking; past `most` it is given up, and one more told."""
    some = select(_standing).where(mine(totals, ranking)).limit(most + 1).subquery()
    return int(connection.scalars(select(func.count()).select_from(some)).one())


def _row(row: Any, rank: int, better: int | None = None) -> Row:
    return Row(rank, *known_of(row), row.standing, row.at, better)
