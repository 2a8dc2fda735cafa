"""Rankings as the scripts know them: their keys and the line that describes them."""

from __future__ import annotations

from dataclasses import dataclass

from ..rules.board import Board
from ..rules.instants import MICROSECONDS
from ..rules.windows import Period, Window
from .keys import BoardKeys

BACKSTOP_US = 3600 * MICROSECONDS
"""How long after their retention keys expire by themselves on boards with a log: their worker unlinks them before."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Board x period x (whole board or one segment value), with its keys and the line that describes it.

    `signal` is the key by which its changes are signalled.
    """

    window: str
    period: Period
    segment: str | None
    keys: tuple[str, ...]
    line: str
    signal: str

    @property
    def data_keys(self) -> tuple[str, ...]:
        """Its own keys, without the one that its segment shares with others."""
        return self.keys[:-1] if self.segment else self.keys


class RankingBook:
    """Builds rankings of a board and keeps those in use."""

    LIMIT = 4096

    def __init__(self, board: Board, keys: BoardKeys) -> None:
        self._board = board
        self._keys = keys
        self._known: dict[tuple[str, str, str | None], Ranking] = {}

    def get(self, window: Window, period: Period, segment: str | None = None) -> Ranking:
        """Give the ranking of a period; `segment` as ``country=NL``."""
        identity = (window.name, period.id, segment)
        ranking = self._known.get(identity)
        if ranking is None or ranking.period != period:
            if len(self._known) >= self.LIMIT:
                self._known.clear()
            ranking = self._known[identity] = self._build(window, period, segment)
        return ranking

    def expires_at(self, window: Window, period: Period) -> int | None:
        """Tell when the keys of a period expire by themselves; None for never."""
        kept_until = window.kept_until(period)
        return kept_until + BACKSTOP_US if kept_until is not None and self._board.logged else kept_until

    def lend(self, window: Window, period: Period, segment: str | None, until: int) -> Ranking:
        """Give the ranking of a period whose time in Redis is over, to be kept until an instant all the same."""
        return self._build(window, period, segment, until)

    def _build(self, window: Window, period: Period, segment: str | None, until: int | None = None) -> Ranking:
        moment = self.expires_at(window, period) if until is None else until
        expire = "-" if moment is None else str(moment // 1000)
        limit = self._board.segment(segment.partition("=")[0]).limit if segment else "-"
        line = f"{window.name} {self._board.layout(window.name)} {period.start} {expire} {segment or '-'} {limit}"
        keys = self._ranking_keys(window, period, segment)
        return Ranking(window.name, period, segment, keys, line, self._keys.signal(keys[0]))

    def _ranking_keys(self, window: Window, period: Period, segment: str | None) -> tuple[str, ...]:
        entries = self._keys.entries(window.name, period.id, segment)
        keys = [entries]
        if self._board.encoding(window.name).kind == "exact":
            keys.append(self._keys.ticks(entries))
        if self._board.dense:
            keys.append(self._keys.levels(entries))
        if segment:
            keys.append(self._keys.segment_values(segment.partition("=")[0]))
        return tuple(keys)
