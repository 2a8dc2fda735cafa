"""Reads of rankings in SQL: the same answers as the Lua gives, from a connection that sees one state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection, select

from ..errors import StoreUnavailableError
from ..rules.board import Board
from ..rules.results import Entry, Found, Measure, Position, RankingKind, Rows
from ..rules.scales import Scale, percentile_of
from ..rules.scores import Number
from ..rules.windows import Period
from .counted_ranks import CountedRanks, count_rows
from .kept_ranks import KeptRanks
from .ranking_rows import RankingRow, RankingRows
from .ranks import Ranks, Row
from .tables import periods, rankings

NOWHERE = 0
"""The number of no ranking."""


class Spot(Protocol):
    """A ranking by its names."""

    @property
    def window(self) -> str: ...

    @property
    def period(self) -> Period: ...

    @property
    def segment(self) -> str | None: ...


class SqlReader:
    """Reads rankings of a board as they are at `number`; those with more than `most_rows` only where they are archived.

    `counted` tells whether one of them was not.
    """

    def __init__(self, board: Board, connection: Connection, rows: RankingRows, number: int, most_rows: int) -> None:
        self._scale = Scale.of(board)
        self._connection = connection
        self._rows = rows
        self._number = number
        self._most_rows = most_rows
        self.counted = False

    def page(self, ranking: Spot, kind: RankingKind, offset: int, limit: int, *, metadata: bool = False) -> Rows:
        ranks = self._open(ranking, metadata)
        return self._piece(ranks, kind, offset, min(ranks.total, offset + limit))

    def after(
        self,
        ranking: Spot,
        kind: RankingKind,
        position: Position,
        limit: int,
        *,
        lowest: Number | None = None,
        highest: Number | None = None,
        metadata: bool = False,
    ) -> Rows:
        ranks = self._open(ranking, metadata)
        first, stop = _bounds(ranks, lowest, highest)
        scale = ranks.scale
        behind = ranks.index_after(scale.standing(position.score), scale.tie(position.at), position.user_id)
        first = max(first, behind)
        return self._piece(ranks, kind, first, min(stop, first + limit))

    def range(
        self,
        ranking: Spot,
        kind: RankingKind,
        lowest: Number | None,
        highest: Number | None,
        offset: int,
        limit: int,
        *,
        metadata: bool = False,
    ) -> Rows:
        ranks = self._open(ranking, metadata)
        first, stop = _bounds(ranks, lowest, highest)
        return self._piece(ranks, kind, first + offset, min(stop, first + offset + limit))

    def around(self, ranking: Spot, kind: RankingKind, user_id: str, above: int, below: int, *, metadata: bool = False) -> Rows:
        ranks = self._open(ranking, metadata)
        for row in ranks.of_users([user_id], "unique"):
            first, stop = max(0, row.rank - 1 - above), min(ranks.total, row.rank + below)
            return self._piece(ranks, kind, first, stop)
        return self._piece(ranks, kind, 0, 0)

    def entries(
        self, spots: Sequence[Spot], kind: RankingKind, user_ids: Sequence[str], *, metadata: bool = False
    ) -> list[Found]:
        return [self._found(self._open(spot, metadata), kind, user_ids) for spot in spots]

    def count(self, ranking: Spot, lowest: Number | None, highest: Number | None) -> Measure[int]:
        ranks = self._open(ranking)
        first, stop = _bounds(ranks, lowest, highest)
        return Measure(ranks.total, max(0, stop - first))

    def percentile(self, ranking: Spot, user_id: str) -> Measure[float | None]:
        found = self._found(self._open(ranking), "sparse", [user_id])
        (entry,) = found.entries
        return Measure(found.total, entry and entry.percentile)

    def score_at(self, ranking: Spot, tenths: int) -> Measure[Number | None]:
        ranks = self._open(ranking)
        if not ranks.total:
            return Measure(0, None)
        index = min(ranks.total - 1, ranks.total * (1000 - tenths) // 1000)
        return Measure(ranks.total, ranks.scale.score(ranks.standing_at(index)))

    def has_archived(self, spots: Sequence[Spot]) -> bool:
        """Tell whether all of the rankings are in the archive."""
        rows = [self._find(spot) for spot in spots]
        return all(row is not None and row.archived for row in rows)

    def _find(self, spot: Spot) -> RankingRow | None:
        return self._rows.find(self._connection, spot.window, spot.period.id, spot.segment)

    def _open(self, spot: Spot, metadata: bool = False) -> Ranks:
        row = self._find(spot)
        if row is not None and row.archived:
            query = select(rankings.c.size, periods.c.rules).select_from(rankings.join(periods)).where(rankings.c.id == row.id)
            kept = self._connection.execute(query).one()
            return KeptRanks(self._connection, row.id, Scale.read(kept.rules), kept.size or 0, metadata=metadata)
        self.counted = True
        ranking = NOWHERE if row is None else row.id
        total = count_rows(self._connection, ranking, self._most_rows)
        if total > self._most_rows:
            raise StoreUnavailableError(
                f"the ranking has more than {self._most_rows} users, too many to count in SQL:"
                " wait until Redis is back or the period is archived, or raise LEADERBOARD_FALLBACK_ROWS"
            )
        return CountedRanks(self._connection, ranking, self._scale, total, metadata=metadata)

    def _piece(self, ranks: Ranks, kind: RankingKind, first: int, stop: int) -> Rows:
        rows = ranks.between(first, stop, kind) if first < stop else []
        return Rows(self._number, ranks.total, [_entry(ranks.scale, row) for row in rows], first)

    @staticmethod
    def _found(ranks: Ranks, kind: RankingKind, user_ids: Sequence[str]) -> Found:
        rows = {row.user_id: row for row in ranks.of_users(user_ids, kind)}
        found = (rows.get(user_id) for user_id in user_ids)
        return Found(ranks.total, [row and _entry(ranks.scale, row, ranks.total) for row in found])


def _bounds(ranks: Ranks, lowest: Number | None, highest: Number | None) -> tuple[int, int]:
    """Give the indexes of the first row between two scores and of the first behind them."""
    best, worst = (highest, lowest) if ranks.scale.sign == -1 else (lowest, highest)
    first = 0 if best is None else ranks.better(ranks.scale.standing(best))
    return first, ranks.total if worst is None else ranks.through(ranks.scale.standing(worst))


def _entry(scale: Scale, row: Row, total: int | None = None) -> Entry:
    percentile = None if total is None or row.better is None else percentile_of(row.better, total)
    metadata = None if row.profile is None else json.loads(row.profile)
    score, at = scale.score(row.standing), scale.time(row.at)
    return Entry(row.rank, row.user_id or "", row.name, score, percentile, at, metadata)
