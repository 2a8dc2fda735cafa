"""Which rankings an event counts in: a matter of its own times and number, so that every replay gives the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import ClosedPeriodError
from .board import Board
from .slices import Slice, slice_at
from .windows import Period, Season, Window

Seasons = Mapping[str, Period]
"""The seasons that run, by window."""
NO_SEASONS: Seasons = {}


class Spot(NamedTuple):
    """A ranking by its names; `segment` as ``country=NL``, None for the whole board."""

    window: Window
    period: Period
    segment: str | None


class Spots:
    """Finds the rankings of a board that events count in. Events in a row mostly have the same, so the last are remembered."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._recent: tuple[Seasons, Slice] | None = None

    def of(self, at: int, taken_at: int, labels: Sequence[str], seasons: Seasons) -> tuple[Spot, ...]:
        """Give the rankings of an event; none where the rules as they are now have no place for it."""
        try:
            part = self._slice(at, taken_at, seasons)
        except ClosedPeriodError:
            return ()
        known = self._board.segment_names
        cuts = (None, *(label for label in labels if label.partition("=")[0] in known))
        return tuple(Spot(window, period, cut) for cut in cuts for window, period in part.open)

    def _slice(self, at: int, taken_at: int, seasons: Seasons) -> Slice:
        if self._recent is not None:
            same, part = self._recent
            if same == seasons and part.covers(at, taken_at):
                return part
        part = slice_at(self._board, at, taken_at, seasons)
        self._recent = seasons, part
        return part


def is_open(window: Window, period: Period, now: int, seasons: Seasons) -> bool:
    """Tell whether a period takes events: a season does as long as it runs, others until their grace is over."""
    if isinstance(window, Season):
        running = seasons.get(window.name)
        return running is not None and running.id == period.id
    return window.is_open(period, now)
