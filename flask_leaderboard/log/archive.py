"""The archive: closed periods with their standings worked out, so that Redis may let go of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select, update
from sqlalchemy.sql.functions import coalesce

from ..rules.board import Board
from ..rules.instants import FUTURE_SKEW
from ..rules.windows import Period, Season
from .database import Database
from .event_log import EventLog
from .tables import boards, periods, rankings, standings, totals, users
from .totals import Totals

CLOSING_DELAY = FUTURE_SKEW
"""How long after its grace a period is closed: the clocks of those who write and of who closes may differ."""
ROWS_A_BATCH = 5000
Ended = Callable[[Season, Period], Period | None]


class _Progress(NamedTuple):
    """How far a ranking is archived: the last position, its standing, and its level."""

    position: int = 0
    standing: float | None = None
    level: int = 0


class _Closed(NamedTuple):
    """How a period closed: its end, and the time before which no event may be taken any more. Seasons go by numbers: 0."""

    end: int
    until: int


class Archive:
    """Closes a board's periods and archives what the totals have of them, in steps that each may be the last.

    `ended` gives a season with its end, None where it has not ended. `settle` sees that nothing is taken any more that was
    planned before a time, and tells whether the log has all that was.
    """

    def __init__(
        self,
        board: Board,
        database: Database,
        log: EventLog,
        folded: Totals,
        ended: Ended = lambda window, period: None,
        *,
        settle: Callable[[int], bool] = lambda until: True,
    ) -> None:
        self._windows = {window.name: window for window in board.windows}
        self._database = database
        self._log = log
        self._totals = folded
        self._ended = ended
        self._settle = settle

    def close_due(self, now: int) -> int:
        """Close the periods whose grace is over: from then on no event is written that counts in them. Give how many were due."""
        board = self._log.board_row()
        open_rows = select(periods).where(periods.c.board == board, periods.c.last.is_(None))
        with self._database.begin() as connection:
            rows = connection.execute(open_rows).all()
        due = {row.id: closed for row in rows if (closed := self._closed(row, now))}
        if due and self._settle(max(closed.until for closed in due.values())):
            self._database.attempt(lambda connection: self._close(connection, board, due))
        return len(due)

    def step(self, now: int) -> bool:
        """Archive a part of the oldest closed period; False where there is none."""
        board = self._log.board_row()
        closed = (periods.c.board == board, periods.c.last.is_not(None), periods.c.archived.is_(None))
        with self._database.begin() as connection:
            oldest = connection.execute(select(periods).where(*closed).order_by(periods.c.end, periods.c.id).limit(1)).first()
        if oldest is None:
            return self._clear(board)
        if self._totals.number() < oldest.last:
            return bool(self._totals.fold())
        return self._database.attempt(lambda connection: self._advance(connection, oldest.id, now))

    def _closed(self, row: Any, now: int) -> _Closed | None:
        """Tell how a period has closed, if it has; one of a window that the rules have no more stays as it is."""
        window, period = self._windows.get(row.window), Period(row.name, row.start, row.end)
        season = self._ended(window, period) if isinstance(window, Season) else None
        if season is not None:
            return _Closed(season.end, 0)
        if window is None or not window.timed or window.closes_at(period) + CLOSING_DELAY > now:
            return None
        return _Closed(period.end, window.closes_at(period))

    def _close(self, connection: Connection, board: int, due: Mapping[int, _Closed]) -> None:
        head = self._log.lock(connection, board).head
        for period, closed in due.items():
            open_row = (periods.c.id == period, periods.c.last.is_(None))
            connection.execute(update(periods).where(*open_row).values(last=head, end=closed.end))
        until = max(closed.until for closed in due.values())
        later = (boards.c.id == board, boards.c.closed_until < until)
        connection.execute(update(boards).where(*later).values(closed_until=until))

    def _advance(self, connection: Connection, period: int, now: int) -> bool:
        """Archive the next batch of a period, or note that it is complete. Its row is locked: one works on it at a time."""
        row = connection.execute(select(periods).where(periods.c.id == period).with_for_update()).one()
        unfinished = select(rankings.c.id).where(rankings.c.period == period, rankings.c.size.is_(None)).order_by(rankings.c.id)
        ranking = connection.scalar(unfinished.limit(1))
        if row.archived is None and ranking is not None:
            self._copy(connection, ranking)
        elif row.archived is None:
            connection.execute(update(periods).where(periods.c.id == period).values(archived=now))
        return True

    def _copy(self, connection: Connection, ranking: int) -> None:
        """Archive the next batch of a ranking; scores are never cut in two, so that equals are numbered together."""
        done = self._progress(connection, ranking)
        wanted: list[ColumnElement[bool]] = [totals.c.ranking == ranking]
        if done.standing is not None:
            wanted.append(totals.c.standing > done.standing)
        following = select(totals.c.standing).where(*wanted).order_by(totals.c.standing)
        end = connection.scalar(following.limit(1).offset(ROWS_A_BATCH - 1))
        if end is not None:
            wanted.append(totals.c.standing <= end)
        names = ("ranking", "user", "standing", "tie", "at", "position", "first", "last", "level")
        connection.execute(insert(standings).from_select(names, _numbered(done, wanted)))
        if end is None:
            size = self._progress(connection, ranking).position
            connection.execute(update(rankings).where(rankings.c.id == ranking).values(size=size))

    @staticmethod
    def _progress(connection: Connection, ranking: int) -> _Progress:
        columns = (standings.c.position, standings.c.standing, standings.c.level)
        query = select(*columns).where(standings.c.ranking == ranking).order_by(standings.c.position.desc()).limit(1)
        row = connection.execute(query).first()
        return _Progress() if row is None else _Progress(*row)

    def _clear(self, board: int) -> bool:
        """Drop a batch of totals that the archive has; False where there are none."""
        archived = rankings.join(periods)
        left = exists().where(totals.c.ranking == rankings.c.id)
        query = select(rankings.c.id).select_from(archived).where(periods.c.board == board, periods.c.archived.is_not(None), left)
        with self._database.begin() as connection:
            ranking = connection.scalar(query.limit(1))
            if ranking is None:
                return False
            some = select(totals.c.user).where(totals.c.ranking == ranking).limit(ROWS_A_BATCH).subquery()
            mine = totals.c.user.in_(select(some.c.user))
            connection.execute(delete(totals).where(totals.c.ranking == ranking, mine))
        return True


def _numbered(done: _Progress, wanted: list[ColumnElement[bool]]) -> Any:
    """Give totals with their ranks of every kind, counted on from what is done."""
    standing = totals.c.standing
    in_order = [totals.c.standing, totals.c.tie, coalesce(users.c.user_id, ""), totals.c.user]
    return (
        select(
            totals.c.ranking,
            totals.c.user,
            totals.c.standing,
            totals.c.tie,
            totals.c.at,
            func.row_number().over(order_by=in_order) + done.position,
            func.rank().over(order_by=standing) + done.position,
            func.count().over(order_by=standing) + done.position,
            func.dense_rank().over(order_by=standing) + done.level,
        )
        .select_from(totals.join(users, users.c.id == totals.c.user))
        .where(*wanted)
    )
