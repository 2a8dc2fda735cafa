"""Making a board's data in Redis anew from the totals, beside the live data, and swapping it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import Connection

from ..errors import LayoutError, LeaderboardError, LogMismatchError, NoLogError, ScoreRangeError, StoreUnavailableError
from ..log.event_log import EventLog
from ..log.ranking_dump import count_rows, dump
from ..log.ranking_rows import RankingRow
from ..log.totals import Totals
from ..rules.board import Board
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from ..store.shadow import Shadow, lost
from .claims import Claim, claiming
from .folding import Folder
from .live_rankings import LiveRankings
from .seasons import Seasons
from .shadowing import ShadowFolder
from .tail import Tail

DUTY = "rebuild"
MOST_RESUMED = 500_000
"""So many events a rebuild that was stopped may lack to be gone on with; beyond, loading anew takes less."""
NEAR = 1000
"""So many events one may lack of the other to be waited for: the live data, or the fresh while nobody writes."""
MOST_CHASES = 10
CALL_US = 5000
Progress = Callable[[str, int, int | None], None]
"""Told what is being done, how much of it is done, and of how much."""


class Rebuilt(NamedTuple):
    """What came of a rebuild: how many rows were loaded, and the number that Redis stands at since.

    `resumed` says that they had been loaded before, by a rebuild that was stopped.
    """

    rows: int
    number: int
    resumed: bool = False


class _Job(NamedTuple):
    """A rebuild on its way: of some windows, or of all where none is named."""

    windows: tuple[str, ...]
    claim: Claim
    progress: Progress


class Rebuilder:
    """Rebuilds a board. What is live stays as it is until the one step that swaps.

    `bring_back` prepares Redis for events that it has lost, behind a number and up to another.
    """

    def __init__(
        self,
        board: Board,
        store: BoardStore,
        seasons: Seasons,
        log: EventLog,
        totals: Totals,
        folder: Folder,
        live: LiveRankings,
        tail: Tail,
        bring_back: Callable[[int, int], None],
    ) -> None:
        self._board = board
        self._store = store
        self._seasons = seasons
        self._log = log
        self._totals = totals
        self._folder = folder
        self._live = live
        self._tail = tail
        self._bring_back = bring_back

    def run(self, windows: Sequence[str] = (), *, from_log: bool = False, progress: Progress | None = None) -> Rebuilt:
        """Rebuild windows of the board, or all; `from_log` makes the totals anew before, by the rules as they are now."""
        names = tuple(sorted({self._board.window(name).name for name in windows}))
        with claiming(self._store, DUTY) as claim:
            job = _Job(names, claim, progress or _say_nothing)
            _, head = self._numbers()
            if from_log:
                self._forget_totals()
            self._fold_totals(job, head)
            resumed = self._resume(job, from_log=from_log)
            shadow, rows = self._load(job) if resumed is None else (resumed, 0)
            number = self._bring_in(job, shadow)
            shadow.clear()
        return Rebuilt(rows, number, resumed is not None)

    def _numbers(self) -> tuple[int, int]:
        """Give how far the live data and the log are; they must belong together."""
        live = self._store.number()
        self._tail.reach(live)
        head = self._log.head()  # asked for last: what Redis has folded was in the log before
        if live > head:
            raise LogMismatchError(
                f"Redis has {live} events and the log {head}: name the database that belongs to it, or another key prefix"
            )
        return live, head

    def _forget_totals(self) -> None:
        pruned, _ = self._log.extent()
        if pruned:
            raise NoLogError(
                f"events up to {pruned} of board {self._board.name!r} are not in its log any more, so its totals can't be made"
                " anew: rebuild it without the log, or go back to the old rules"
            )
        self._totals.forget()

    def _fold_totals(self, job: _Job, through: int) -> None:
        first = folded = self._totals.number()
        while folded < through:
            job.progress("events folded", folded - first, through - first)
            if not self._totals.fold():
                return
            folded = self._totals.number()
            job.claim.keep()

    def _resume(self, job: _Job, *, from_log: bool) -> Shadow | None:
        """Find what a rebuild that was stopped had loaded, and drop all that can't be gone on with."""
        found: Shadow | None = None
        for shadow in Shadow.all_of(self._store):
            if found is None and not from_log and self._can_go_on(shadow, job.windows):
                found = shadow
            else:
                shadow.clear()
        return found

    def _can_go_on(self, shadow: Shadow, windows: Sequence[str]) -> bool:
        if not shadow.is_loaded(windows):
            return False
        pruned, head = self._log.extent()
        return pruned <= shadow.number() and head - shadow.number() <= MOST_RESUMED

    def _load(self, job: _Job) -> tuple[Shadow, int]:
        """Load the rows of every ranking that Redis keeps, as they are at one number."""
        shadow = Shadow(self._store)
        try:
            shadow.begin(job.windows)
            with self._totals.snapshot() as (connection, number):
                shadow.add_labels(self._live.labels(connection))
                sizes = self._load_rankings(job, shadow, connection)
            shadow.finish(number, {ranking: size for ranking, size in sizes.items() if self._live.is_kept(ranking)})
            job.claim.check()
        except ScoreRangeError as error:
            self._give_up(shadow)
            raise LayoutError(
                f"the totals of board {self._board.name!r} hold scores that its rules have no room for ({error}):"
                " run 'flask leaderboard rebuild --from-log', or go back to the old rules"
            ) from error
        except LeaderboardError:
            self._give_up(shadow)
            raise
        return shadow, sum(sizes.values())

    @staticmethod
    def _give_up(shadow: Shadow) -> None:
        with suppress(LeaderboardError):  # what can't be dropped now is dropped by the next rebuild
            shadow.clear()

    def _load_rankings(self, job: _Job, shadow: Shadow, connection: Connection) -> dict[Ranking, int]:
        rows = self._live.in_totals(connection, job.windows)
        total = sum(count_rows(connection, row) for row in rows) if job.progress is not _say_nothing else None
        sizes: dict[Ranking, int] = {}
        for row in rows:
            ranking = shadow.rankings.get(self._board.window(row.window), row.period, row.segment)
            parts = self._lines(job, connection, row, sum(sizes.values()), total)
            try:
                sizes[ranking] = shadow.load(ranking, parts)
            except StoreUnavailableError:
                if self._live.is_kept(ranking):
                    raise
        return sizes

    def _lines(self, job: _Job, connection: Connection, ranking: RankingRow, done: int, total: int | None) -> Iterator[list[str]]:
        as_line = _integer_line if self._board.score_type == "integer" else _float_line
        sign = -1 if self._board.order == "desc" else 1
        for part in dump(connection, ranking, self._rows_a_call(ranking.window)):
            yield [as_line(row, sign) for row in part]
            done += len(part)
            job.progress("rows loaded", done, total)
            job.claim.keep()

    def _rows_a_call(self, window: str) -> int:
        """Tell how many rows may be loaded in one call, by what one costs the server."""
        exact = self._board.encoding(window).kind == "exact"
        return CALL_US // (3 + 3 * exact + 3 * self._board.dense)

    def _bring_in(self, job: _Job, shadow: Shadow) -> int:
        folder = ShadowFolder(shadow, self._seasons, self._log, job.windows)
        self._come_near(job, shadow, folder)
        self._bring_back(self._store.number(), shadow.number())
        while True:
            with self._tail.still():
                self._catch_up(job, shadow, folder)
                folder.give_back()
                job.claim.check()
                if shadow.swap_in(self._live.keys(job.windows), job.windows):
                    return self._store.number()

    def _come_near(self, job: _Job, shadow: Shadow, folder: ShadowFolder) -> None:
        """Fold nearly all, while others write; not for ever, where they write faster than that."""
        for _ in range(MOST_CHASES):
            self._catch_up(job, shadow, folder)
            if self._store.number() - shadow.number() <= NEAR:
                return

    def _catch_up(self, job: _Job, shadow: Shadow, folder: ShadowFolder) -> None:
        """Fold what the live data has, and where that is behind itself, nearly all that the log has."""
        first, (live, head) = shadow.number(), self._numbers()
        if live < first and (job.windows or first - live <= NEAR):
            self._wait_for_live(job, first)
            live = self._store.number()
        through = live if live >= first or job.windows else head - self._tail.spare
        if job.windows:
            self._fold_totals(job, through)
        folded = first
        while folded < through and folder.advance(through):
            before, folded = folded, shadow.number()
            if folded <= before:
                raise lost()
            job.progress("events caught up", folded - first, through - first)
            job.claim.keep()
            self._tail.keep()

    def _wait_for_live(self, job: _Job, number: int) -> None:
        """Let the live data come as far as the fresh: who has just written an event is to hear how it went."""
        try:
            self._folder.reach(number)
        except LeaderboardError:
            if job.windows:
                raise  # a part can only be swapped into a board that stands where it does


def _integer_line(row: Sequence[Any], sign: int) -> str:
    return f"{row[0]}\t{sign * int(row[1])}\t{row[3]}"


def _float_line(row: Sequence[Any], sign: int) -> str:
    return f"{row[0]}\t{sign * row[1] + 0.0:.17g}\t{row[3]}"


def _say_nothing(what: str, done: int, total: int | None) -> None:
    pass
