"""What a board with a log wants done when nobody waits for it. Nothing is wrong while it is not done, only later."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..log.archive import Archive
from ..log.event_log import EventLog
from ..log.totals import Totals
from ..rules.instants import DAY
from ..store.board_store import BoardStore
from .retention import Retention
from .standing import Standing


class Duty(NamedTuple):
    """A piece of work by its name. `step` gets the time, does a bounded part, and tells whether there is more of it.

    Every step may be the last, and two processes may be at the same one: rows that are locked in SQL see to that.
    """

    name: str
    step: Callable[[int], bool]


class Chores:
    """The duties of one board.

    `keep_days` is for how long events are kept after they are folded, `at_least` the shortest that may be; None for ever.
    """

    def __init__(
        self,
        store: BoardStore,
        log: EventLog,
        totals: Totals,
        archive: Archive,
        standing: Standing,
        keep_days: int | None = None,
        at_least: int = 0,
    ) -> None:
        self._store = store
        self._log = log
        self._totals = totals
        self._archive = archive
        self._standing = standing
        self._retention = Retention(store, totals)
        self._kept = None if keep_days is None else max(keep_days * DAY, at_least)

    @property
    def duties(self) -> tuple[Duty, ...]:
        return (
            Duty("apply", self._apply),
            Duty("fold", lambda now: bool(self._totals.fold())),
            Duty("archive", self._close_and_archive),
            Duty("unlink", self._retention.step),
            *([] if self._kept is None else [Duty("prune", self._prune)]),
        )

    def _apply(self, now: int) -> bool:
        """Fold into Redis what waits in the log."""
        self._standing.look(rests=False)
        return False

    def _close_and_archive(self, now: int) -> bool:
        self._archive.close_due(now)
        return self._archive.step(now)

    def _prune(self, now: int) -> bool:
        """Forget events that are old, and that Redis and the totals have both folded."""
        folded = min(self._totals.number(), self._store.number())
        return self._log.prune(before=now - (self._kept or 0), through=folded)
