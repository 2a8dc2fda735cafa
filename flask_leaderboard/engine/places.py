"""Which ranking a read or a removal is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from ..errors import InputError
from ..rules.board import Board
from ..rules.spots import is_open
from ..rules.windows import Period, Season, Window
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from .seasons import Seasons


class Where(TypedDict, total=False):
    """The ranking a read is about; what is left out is the board's first window, its running period, and the whole board.

    `period` is an id such as ``2026-W47``, or ``previous``; `segment` is ``{"country": "NL"}`` or ``country=NL``.
    """

    window: str | None
    period: str | None
    segment: Mapping[str, str] | str | None


class Places:
    """Finds rankings of a board by window, period and segment."""

    def __init__(self, board: Board, store: BoardStore, seasons: Seasons) -> None:
        self._board = board
        self._store = store
        self.seasons = seasons

    def find(self, now: int, where: Where) -> Ranking | None:
        """Find the ranking; None where the window has no running period and none was named."""
        for label, value in (("window", where.get("window")), ("period", where.get("period"))):
            if not isinstance(value, str | None):
                raise InputError(f"{label} {value!r} must be text")
        window_name = where.get("window")
        window = self._board.windows[0] if window_name is None else self._board.window(window_name)
        period = self._period(window, where.get("period"), now)
        segment = self._board.segment_label(where.get("segment"))
        return None if period is None else self._store.rankings.get(window, period, segment)

    def running(self, now: int, segment: Mapping[str, str] | str | None = None) -> list[Ranking]:
        """List the rankings of every window's running period."""
        found = (self.find(now, {"window": window.name, "segment": segment}) for window in self._board.windows)
        return [ranking for ranking in found if ranking is not None]

    def live(self, now: int) -> list[Ranking]:
        """List every ranking that Redis may hold, segments included."""
        return self._cuts((window, period) for window in self._board.windows for period in self._live_periods(window, now))

    def open(self, now: int, number: int | None = None) -> list[Ranking]:
        """List every ranking that takes submissions, or took them at an event of the log, segments included."""
        seasons = self.seasons.running.periods if number is None else self.seasons.running_at(number)
        periods = ((window, period) for window in self._board.windows for period in self._live_periods(window, now, number))
        return self._cuts((window, period) for window, period in periods if is_open(window, period, now, seasons))

    def _cuts(self, periods: Iterable[tuple[Window, Period]]) -> list[Ranking]:
        labels = [None, *self._store.segment_labels()]
        return [self._store.rankings.get(window, period, label) for window, period in periods for label in labels]

    def periods(self, now: int, window_name: str) -> list[str]:
        """List the ids of a window's periods that Redis may hold, the newest first; none that lies ahead."""
        periods = self._live_periods(self._board.window(window_name), now)
        return [period.id for period in periods if period.start <= now]

    def _live_periods(self, window: Window, now: int, number: int | None = None) -> list[Period]:
        return self.seasons.live(window, now, number) if isinstance(window, Season) else window.live_periods(now)

    def _period(self, window: Window, period_id: str | None, now: int) -> Period | None:
        if isinstance(window, Season):
            return self.seasons.find(window, period_id)
        if period_id is None:
            return window.period_at(now)
        return window.previous(now) if period_id == "previous" else window.period(period_id)
