"""All rows of a ranking, as a stream: however many there are, few are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, select

from .ranking_rows import RankingRow
from .tables import standings, totals, users


class Held(NamedTuple):
    """What a user has in a ranking: `standing` is the score with the sign that makes low better."""

    user_id: str
    standing: float
    tie: int
    at: int


def count_rows(connection: Connection, ranking: RankingRow) -> int:
    """Count the users of a ranking."""
    rows = _rows(ranking).subquery()
    return int(connection.scalar(select(func.count()).select_from(rows)) or 0)


def dump(connection: Connection, ranking: RankingRow, part: int) -> Iterator[Sequence[Row[Any]]]:
    """Give the rows of a ranking in parts, in no order."""
    with connection.execute(_rows(ranking).execution_options(yield_per=part)) as result:
        yield from result.partitions(part)


def dump_in_order(connection: Connection, ranking: RankingRow, part: int) -> Iterator[Held]:
    """Give the rows of a ranking, best first."""
    _, standing, tie, _ = (query := _rows(ranking)).selected_columns
    ordered = query.order_by(standing, tie, users.c.user_id)
    with connection.execute(ordered.execution_options(yield_per=part)) as result:
        yield from (Held(*row) for row in result)


def dump_levels(connection: Connection, ranking: RankingRow, part: int) -> Iterator[float]:
    """Give the different standings of a ranking, best first."""
    standing = _rows(ranking).selected_columns[1]
    levels = _rows(ranking).with_only_columns(standing).distinct().order_by(standing)
    with connection.execute(levels.execution_options(yield_per=part)) as result:
        yield from result.scalars()


def held_by(connection: Connection, ranking: RankingRow, names: Sequence[str]) -> dict[str, Held]:
    """Give what users hold in a ranking."""
    found = connection.execute(_rows(ranking).where(users.c.user_id.in_(names)))
    return {row.user_id: Held(*row) for row in found}


def has_standing(connection: Connection, ranking: RankingRow, standing: float) -> bool:
    """Tell whether a score is held by anybody in a ranking."""
    found = connection.execute(_rows(ranking).where(_source(ranking).c.standing == standing).limit(1))
    return found.first() is not None


def _source(ranking: RankingRow) -> Any:
    return standings if ranking.archived else totals


def _rows(ranking: RankingRow) -> Select[Any]:
    """Select a ranking's rows; users without an id were erased, and are in no ranking of Redis."""
    table = _source(ranking)
    return (
        select(users.c.user_id, table.c.standing, table.c.tie, table.c.at)
        .select_from(table.join(users, users.c.id == table.c.user))
        .where(table.c.ranking == ranking.id, users.c.user_id.is_not(None))
    )
