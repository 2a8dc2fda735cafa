"""Folding the log into fresh data beside the live one."""

from __future__ import annotations

from collections.abc import Iterable

from ..log.event_log import EventLog
from ..log.events import Draft, Event
from ..store.rankings import Ranking
from ..store.shadow import Shadow
from .folding import Entry, Folder
from .places import Places
from .seasons import Seasons


class ShadowFolder(Folder):
    """Folds events into the windows that are made anew; into all, where none is named.

    What the totals have found to be refused is passed over: a window alone could not tell. Refusals are noted by who folds the
    live data, not here.
    """

    def __init__(self, shadow: Shadow, seasons: Seasons, log: EventLog, windows: Iterable[str]) -> None:
        super().__init__(shadow.board, shadow, Places(shadow.board, shadow, seasons), log)
        self._windows = frozenset(windows)

    def note_refusals(self, lines: Iterable[tuple[int, bytes]]) -> None:
        pass

    def _targets(self, event: Event) -> tuple[Ranking, ...]:
        return () if event.refused else self._made_anew(super()._targets(event))

    def _removal(self, number: int, event: Draft | Event) -> Entry:
        entry = super()._removal(number, event)
        return entry._replace(targets=self._made_anew(entry.targets))

    def _made_anew(self, targets: tuple[Ranking, ...]) -> tuple[Ranking, ...]:
        if not self._windows:
            return targets
        return tuple(target for target in targets if target.window in self._windows)
