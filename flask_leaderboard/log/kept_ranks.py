"""Ranks out of the archive: they were worked out when the period was closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from ..rules.results import RankingKind
from ..rules.scales import Scale
from .bulk import parts
from .ranks import Row, known_of, mine, profile_columns
from .tables import standings, users

_standing, _tie, _position = standings.c.standing, standings.c.tie, standings.c.position
NUMBERS = {"sparse": standings.c.first, "unique": _position, "modified": standings.c.last, "dense": standings.c.level}
ALL = standings.outerjoin(users, users.c.id == standings.c.user)
NAMED = standings.join(users, users.c.id == standings.c.user)
Condition = ColumnElement[bool]


class KeptRanks:
    """A ranking of an archived period. Who was erased since keeps the place, without a name."""

    def __init__(self, connection: Connection, ranking: int, scale: Scale, total: int, *, metadata: bool = False) -> None:
        self.scale = scale
        self.total = total
        self._connection = connection
        self._mine = mine(standings, ranking)
        self._profiles = profile_columns(metadata)

    def of_users(self, user_ids: Sequence[str], kind: RankingKind) -> list[Row]:
        return [row for part in parts(user_ids) for row in self._rows(kind, users.c.user_id.in_(part), source=NAMED)]

    def between(self, first: int, stop: int, kind: RankingKind) -> list[Row]:
        return self._rows(kind, _position > first, _position <= stop)

    def better(self, standing: float) -> int:
        return self._last_of(_standing < standing)

    def through(self, standing: float) -> int:
        return self._last_of(_standing <= standing)

    def standing_at(self, index: int) -> float:
        query = select(_standing).where(self._mine, _position == index + 1)
        return float(self._connection.scalars(query).one())

    def index_after(self, standing: float, tie: int, user: str | int) -> int:
        if isinstance(user, int):
            return user
        equals = (self._mine, _standing == standing)
        reached = select(func.max(_position)).select_from(NAMED).where(*equals, _tie == tie, users.c.user_id <= user)
        before = select(func.max(_position)).where(*equals, _tie < tie)
        found = self._connection.scalar(reached) or self._connection.scalar(before)
        return self.better(standing) if found is None else int(found)

    def _last_of(self, condition: Condition) -> int:
        """Give the position of the last row that meets a condition on its standing."""
        query = select(standings.c.last).where(self._mine, condition).order_by(_standing.desc()).limit(1)
        return int(self._connection.scalar(query) or 0)

    def _rows(self, kind: RankingKind, *conditions: Condition, source: Any = ALL) -> list[Row]:
        columns = (_standing, standings.c.at, standings.c.first, NUMBERS[kind].label("rank"), *self._profiles)
        query = select(*columns).select_from(source).where(self._mine, *conditions).order_by(_position)
        return [_row(row) for row in self._connection.execute(query)]


def _row(row: Any) -> Row:
    return Row(row.rank, *known_of(row), row.standing, row.at, row.first - 1)
