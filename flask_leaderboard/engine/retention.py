"""Letting go of periods in Redis when their time is over, without holding it up as an expiring key would."""

from __future__ import annotations

from sqlalchemy import Connection

from ..log.ranking_rows import RankingRow
from ..log.tables import periods
from ..log.totals import Totals
from ..store.board_store import BoardStore
from ..store.rankings import BACKSTOP_US

KEYS_A_CALL = 200


class Retention:
    """Unlinks the keys of periods past their retention. They expire by themselves a while later, where no worker runs."""

    def __init__(self, store: BoardStore, totals: Totals) -> None:
        self._store = store
        self._totals = totals
        self._windows = {window.name: window for window in store.board.windows}
        self._gone: set[int] = set()

    def step(self, now: int) -> bool:
        """Unlink what is due."""
        with self._totals.reading() as (connection, _):
            due = [row for row in self._ended(connection, now) if self._is_due(row, now)]
        keys = [key for row in due for key in self._keys(row)]
        for first in range(0, len(keys), KEYS_A_CALL):
            self._store.drop(keys[first : first + KEYS_A_CALL])
        self._gone.update(row.id for row in due)
        return False

    def _ended(self, connection: Connection, now: int) -> list[RankingRow]:
        """List the rankings of periods that ended, but not so long ago that even the backstop has taken them."""
        longest = max(window.retention_us for window in self._windows.values())
        return self._totals.rows().read(connection, periods.c.end.between(now - longest - BACKSTOP_US, now))

    def _is_due(self, row: RankingRow, now: int) -> bool:
        window = self._windows.get(row.window)
        kept_until = None if window is None else window.kept_until(row.period)
        return kept_until is not None and kept_until <= now < kept_until + BACKSTOP_US and row.id not in self._gone

    def _keys(self, row: RankingRow) -> tuple[str, ...]:
        return self._store.rankings.get(self._windows[row.window], row.period, row.segment).data_keys
