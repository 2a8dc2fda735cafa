"""The rows that stand for periods and rankings in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, select, tuple_

from ..errors import LayoutError
from ..rules.board import Board
from ..rules.instants import duration
from ..rules.spots import Spot
from ..rules.windows import Period, Window
from .bulk import parts
from .database import Database
from .tables import periods, rankings

WHOLE_BOARD = ""


class RankingRow(NamedTuple):
    """A ranking in SQL: its number, and what it is of. One that is `archived` is not folded into any more."""

    id: int
    window: str
    period: Period
    segment: str | None
    last: int | None
    archived: bool


class RankingRows:
    """Finds the rows of a board's rankings, and makes those that are new."""

    def __init__(self, board: Board, database: Database, board_row: int) -> None:
        self._board = board
        self._database = database
        self._board_row = board_row
        self._rules = {window.name: _rules_of(board, window) for window in board.windows}

    def make(self, connection: Connection, spots: Iterable[Spot]) -> dict[Spot, RankingRow]:
        """Give the rows of rankings, made where they are not there yet."""
        wanted = list(dict.fromkeys(spots))
        found = self._find(connection, wanted)
        missing = [spot for spot in wanted if spot not in found]
        if missing:
            self._add(connection, missing)
            found |= self._find(connection, missing)
        return found

    def find(self, connection: Connection, window: str, period: str, segment: str | None) -> RankingRow | None:
        """Give the row of one ranking, if there is one."""
        one = and_(periods.c.window == window, periods.c.name == period, rankings.c.segment == (segment or WHOLE_BOARD))
        rows = self.read(connection, one)
        return rows[0] if rows else None

    def read(self, connection: Connection, *conditions: Any) -> list[RankingRow]:
        """Give the rows of the board's rankings that meet conditions."""
        query = (
            select(
                rankings.c.id,
                rankings.c.segment,
                periods.c.window,
                periods.c.name,
                periods.c.start,
                periods.c.end,
                periods.c.rules,
                periods.c.last,
                periods.c.archived,
            )
            .select_from(rankings.join(periods))
            .where(periods.c.board == self._board_row, *conditions)
            .order_by(rankings.c.id)
        )
        return [self._row(row) for row in connection.execute(query)]

    def _row(self, row: Any) -> RankingRow:
        rules = self._rules.get(row.window, row.rules)
        if row.archived is None and row.rules != rules:
            raise LayoutError(
                f"the totals of window {row.window!r} of board {self._board.name!r} were folded as '{row.rules}',"
                f" not as '{rules}': run 'flask leaderboard rebuild --from-log', or go back to the old rules"
            )
        period = Period(row.name, row.start, row.end)
        return RankingRow(row.id, row.window, period, row.segment or None, row.last, row.archived is not None)

    def _find(self, connection: Connection, spots: Sequence[Spot]) -> dict[Spot, RankingRow]:
        named = {(spot.window.name, spot.period.id, spot.segment): spot for spot in spots}
        found: dict[Spot, RankingRow] = {}
        for part in parts(sorted({(window, period) for window, period, _ in named})):
            for row in self.read(connection, tuple_(periods.c.window, periods.c.name).in_(part)):
                spot = named.get((row.window, row.period.id, row.segment))
                if spot is not None:
                    found[spot] = row
        return found

    def _add(self, connection: Connection, spots: Sequence[Spot]) -> None:
        rows = {
            (spot.window.name, spot.period.id): {
                "board": self._board_row,
                "window": spot.window.name,
                "name": spot.period.id,
                "start": spot.period.start,
                "end": spot.period.end,
                "rules": self._rules[spot.window.name],
            }
            for spot in spots
        }
        connection.execute(self._database.insert_new(periods), [rows[name] for name in sorted(rows)])
        ids: dict[tuple[str, str], int] = {}
        for part in parts(sorted(rows)):
            query = select(periods.c.id, periods.c.window, periods.c.name).where(
                periods.c.board == self._board_row, tuple_(periods.c.window, periods.c.name).in_(part)
            )
            ids.update(((row.window, row.name), row.id) for row in connection.execute(query))
        new = [(ids[spot.window.name, spot.period.id], spot.segment or WHOLE_BOARD) for spot in spots]
        listed = [{"period": period, "segment": segment} for period, segment in sorted(new)]
        connection.execute(self._database.insert_new(rankings), listed)


def _rules_of(board: Board, window: Window) -> str:
    """All that decides what the totals of a window mean."""
    return f"{board.order} {board.tie_break} {duration(board.tie_resolution)} {board.score_type} {window.calendar}"
