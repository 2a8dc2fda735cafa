"""Which rankings Redis keeps now: by the totals, and by what is there."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence

from sqlalchemy import Connection

from ..log.ranking_rows import RankingRow
from ..log.totals import Totals
from ..rules.board import Board
from ..rules.windows import Period
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from .places import Places
from .reading import Clock

KEYS_A_TRIP = 500


class LiveRankings:
    """Finds the rankings of a board that are, or should be, in Redis."""

    def __init__(self, board: Board, store: BoardStore, places: Places, totals: Totals, clock: Clock) -> None:
        self._board = board
        self._store = store
        self._places = places
        self._totals = totals
        self._clock = clock

    def in_totals(self, connection: Connection, windows: Collection[str] = ()) -> list[RankingRow]:
        """List the rankings that the totals have and Redis keeps: of some windows, or of all where none is named."""
        names = windows or [window.name for window in self._board.windows]
        rows = self._totals.rows().read(connection)
        known = [row for row in rows if row.window in names and self._knows(row.segment)]
        return [row for row in known if self._is_kept(row.window, row.period)]

    def labels(self, connection: Connection) -> list[str]:
        """List the segment values that the totals have, of the segments that the board has."""
        return [label for label in self._totals.labels(connection) if self._knows(label)]

    def in_redis(self, windows: Collection[str] = ()) -> list[Ranking]:
        """List the rankings that Redis may hold by its own segment values."""
        names = windows or [window.name for window in self._board.windows]
        return [ranking for ranking in self._places.live(self._clock()) if ranking.window in names]

    def keys(self, windows: Collection[str] = ()) -> list[str]:
        """List the keys that Redis has now, those of other layouts included."""
        return [key for part in _parts(self._possible_keys(windows)) for key in self._existing(part)]

    def is_kept(self, ranking: Ranking) -> bool:
        """Tell whether Redis still keeps a ranking."""
        return self._is_kept(ranking.window, ranking.period)

    def _possible_keys(self, windows: Collection[str]) -> list[str]:
        names = self._store.keys
        entries = [ranking.keys[0] for ranking in self.in_redis(windows)]
        return [key for entry in entries for key in (entry, names.ticks(entry), names.levels(entry))]

    def _existing(self, keys: Sequence[str]) -> list[str]:
        found = self._store.caller.ask(*(("EXISTS", key) for key in keys))
        return [key for key, there in zip(keys, found, strict=True) if there]

    def _knows(self, segment: str | None) -> bool:
        return segment is None or segment.partition("=")[0] in self._board.segment_names

    def _is_kept(self, window: str, period: Period) -> bool:
        kept_until = self._board.window(window).kept_until(period)
        return kept_until is None or kept_until > time.time_ns() // 1000  # Redis expires keys by the clock on the wall


def _parts(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[first : first + KEYS_A_TRIP] for first in range(0, len(keys), KEYS_A_TRIP))
