"""The log of one board: events in one order, numbered 1, 2, 3 … without gaps."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Select, and_, delete, func, select, update

from ..errors import ConflictError, LogMismatchError, LogUnavailableError
from ..rules.board import Board
from .bulk import parts
from .database import Database
from .event_rows import EventRows
from .events import Draft, Event, Logged, Numbered, stand_in
from .profiles import lock_versions, write_names
from .season_book import SeasonBook
from .tables import boards, erased, events, submission_ids, users
from .users import UserRow, add_users, get_users

EVENTS_A_PRUNE = 2000
Outcome = Logged | ConflictError | None
T = TypeVar("T")


class BoardState(NamedTuple):
    """The number of a board's last event, and the time at which the latest of its closed periods closed."""

    head: int
    closed_until: int


class OutdatedPlan(Exception):  # noqa: N818 - no error: who writes plans again
    """Periods have been closed since the events were planned; nothing was written. Plan them for `closed_until` or later."""

    def __init__(self, closed_until: int) -> None:
        super().__init__(closed_until)
        self.closed_until = closed_until


class EventLog:
    """Appends to a board's log and reads it.

    Display names that come with events are stored in their transaction; `profile_version` is the version that has them all.
    """

    def __init__(self, board: Board, database: Database) -> None:
        self._board = board
        self._database = self.database = database
        self._points = events.c.points_integer if board.score_type == "integer" else events.c.points_float
        self._id: int | None = None
        self.profile_version = 0
        self.seasons = SeasonBook(board, database, self._locked)

    def append(self, drafts: Sequence[Draft], seasons: Iterable[tuple[str, str]] | None = None) -> list[Outcome]:
        """Write events in one transaction; give for each its number, a conflict, or None for one too late and not known.

        An id that is known writes nothing; events of a time before the last closing are an `OutdatedPlan`. Where the reply to
        the commit is lost, the log is asked whether it was written.
        """
        writer = secrets.token_hex(8)
        board = self.board_row()
        given: list[tuple[int, list[Outcome], int]] = []

        def write(connection: Connection) -> None:
            known = add_users(connection, self._database, {draft.user_id for draft in drafts})
            renaming = _brings_names(drafts, known)
            if renaming:
                lock_versions(connection, self._database)
            head, closed_until = self.lock(connection, board)
            if any(draft.taken_at < closed_until for draft in drafts):
                raise OutdatedPlan(closed_until)
            if seasons is not None:
                self.seasons.insist(connection, board, seasons)
            outcomes = self._write(connection, board, head, drafts, writer)
            names = _names(drafts, outcomes) if renaming else {}
            version = write_names(connection, self._database, names) if names else 0
            given[:] = [(head, outcomes, version)]

        try:
            self._database.attempt(write)
        except LogUnavailableError:
            if not given or not self._was_written(board, *given[0][:2], writer):
                raise
        ((_, outcomes, version),) = given
        self.profile_version = max(self.profile_version, version)
        return outcomes

    def append_removal(self, connection: Connection, board: int, user_id: str, now: int) -> int:
        """Write the removal of a user in a transaction of the caller's, to the board with this row; give its number."""
        head, closed_until = self.lock(connection, board)
        at = max(now, closed_until)
        self._write(connection, board, head, [Draft("remove", user_id, None, at, at)], secrets.token_hex(8))
        return head + 1

    def append_numbered(self, numbered: Sequence[Numbered], *, still_there: Callable[[], bool]) -> tuple[int, int]:
        """Write events that have numbers already, without those that the log has; give up to which of them it has all then.

        `still_there` is asked when nobody else can write: where it says no, nothing is written and the answer is 0.
        An id that the log knows was forgotten by who gave the number: the event counts, and is written without it.
        Those of a time before the last closing are written as taken then, and how many they are is given too.
        """
        board = self.board_row()

        def write(connection: Connection) -> tuple[int, int]:
            add_users(connection, self._database, {item.draft.user_id for item in numbered})
            head, closed_until = self.lock(connection, board)
            if not still_there():
                return 0, 0
            known = [item for item in numbered if item.number <= head]
            self._check_same(connection, board, known)
            new = self._behind(head, [item for item in numbered if item.number > head])
            in_time = [item.taken_from(closed_until) for item in new]
            self._write_numbered(connection, board, head, in_time)
            return len(known) + len(new), sum(one is not other for one, other in zip(new, in_time, strict=True))

        return self._database.attempt(write)

    def settled_head(self) -> int:
        """Give the number of the last event, when nobody is writing any more."""
        board = self.board_row()
        with self._database.begin() as connection:
            return self.lock(connection, board).head

    def state(self) -> BoardState:
        """Tell how the board stands."""
        query = select(boards.c.head, boards.c.closed_until).where(boards.c.name == self._board.name)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return BoardState(0, 0) if row is None else BoardState(*row)

    def head(self, connection: Connection | None = None) -> int:
        """Give the number of the last event, 0 where there is none; as a connection sees it, where one is given."""
        query = select(boards.c.head).where(boards.c.name == self._board.name)
        if connection is not None:
            return connection.scalar(query) or 0
        with self._database.reading() as own:
            return own.scalar(query) or 0

    def extent(self) -> tuple[int, int]:
        """Give the number up to which events are not kept any more, and the number of the last one."""
        with self._database.reading() as connection:
            row = connection.execute(select(boards.c.pruned, boards.c.head).where(boards.c.name == self._board.name)).first()
        return (0, 0) if row is None else (row.pruned, row.head)

    def read(self, after: int, limit: int, connection: Connection | None = None) -> list[Event]:
        """Give the events behind a number, in order; through a connection where its transaction needs them."""
        query = self._events().where(events.c.number > after).order_by(events.c.number).limit(limit)
        return self._fetch(query) if connection is None else _read(connection, query)

    def history(self, user_id: str, limit: int, before: int | None = None) -> list[Event]:
        """Give a user's events, newest first; `before` is a number to go on from."""
        query = self._events().where(users.c.user_id == user_id).order_by(events.c.number.desc()).limit(limit)
        return self._fetch(query if before is None else query.where(events.c.number < before))

    def note_refusals(self, refusals: Iterable[tuple[int, str]], connection: Connection | None = None) -> None:
        """Note with which codes the fold refused events, for those who ask later."""
        board = self.board_row()
        with nullcontext(connection) if connection else self._database.begin() as used:
            for number, code in sorted(refusals):
                row = and_(events.c.board == board, events.c.number == number)
                used.execute(update(events).where(row).values(refused=code))

    def prune(self, *, before: int, through: int, most: int = EVENTS_A_PRUNE) -> bool:
        """Forget the oldest events, up to a number and of a time before; submission ids stay. Tell whether there may be more."""
        board = self.board_row()

        def work(connection: Connection) -> bool:
            self.lock(connection, board)
            pruned = connection.scalar(select(boards.c.pruned).where(boards.c.id == board)) or 0
            oldest = select(events.c.number, events.c.taken_at).where(events.c.board == board, events.c.number > pruned)
            rows = connection.execute(oldest.where(events.c.number <= through).order_by(events.c.number).limit(most))
            old = [row.number for row in takewhile(lambda row: row.taken_at < before, rows)]
            if old:
                connection.execute(update(boards).where(boards.c.id == board).values(pruned=old[-1]))
                connection.execute(delete(events).where(events.c.board == board, events.c.number <= old[-1]))
            return len(old) == most

        return self._database.attempt(work)

    def board_row(self) -> int:
        """Give the id of the board's row, made at the first use."""
        if self._id is None:
            with self._database.begin() as connection:
                connection.execute(self._database.insert_new(boards), {"name": self._board.name, "head": 0})
                self._id = connection.scalar(select(boards.c.id).where(boards.c.name == self._board.name))
        assert self._id is not None  # noqa: S101 - the row was just made
        return self._id

    def lock(self, connection: Connection, board: int) -> BoardState:
        """Lock the board until the end of the transaction; tell how it stands."""
        query = select(boards.c.head, boards.c.closed_until).where(boards.c.id == board).with_for_update()
        return BoardState(*connection.execute(query).one())

    def _locked(self, work: Callable[[Connection, int, int], T]) -> T:
        """Do work in a transaction that holds the board's lock; it gets the connection, the board's row and the last number."""
        board = self.board_row()
        return self._database.attempt(lambda connection: work(connection, board, self.lock(connection, board).head))

    def _write(self, connection: Connection, board: int, head: int, drafts: Sequence[Draft], writer: str) -> list[Outcome]:
        rows = EventRows(self._board, board, head, get_users(connection, {draft.user_id for draft in drafts}))
        known = rows.known(connection, drafts)
        outcomes: list[Outcome] = []
        for draft in drafts:
            identity = rows.identity(draft)
            if identity is not None and identity in known:
                outcomes.append(_answer_known(draft, *known[identity]))
            elif draft.too_late:
                outcomes.append(None)
            else:
                number = rows.add(draft, writer)
                outcomes.append(Logged(number))
                if identity is not None:
                    known[identity] = (Logged(number, known=True), draft.fact)
        rows.insert(connection)
        return outcomes

    def _write_numbered(self, connection: Connection, board: int, head: int, numbered: Sequence[Numbered]) -> None:
        drafts = [item.draft for item in numbered]
        rows = EventRows(self._board, board, head, get_users(connection, {draft.user_id for draft in drafts}))
        known = set(rows.known(connection, drafts))
        for _, draft, writer in numbered:
            identity = rows.identity(draft)
            rows.add(draft, writer, with_id=identity not in known)
            if identity is not None:
                known.add(identity)
        rows.insert(connection)

    def _check_same(self, connection: Connection, board: int, numbered: Sequence[Numbered]) -> None:
        """Refuse events whose numbers the log has given to others."""
        writers = {item.number: item.writer for item in numbered}
        for part in parts(sorted(writers)):
            query = select(events.c.number, events.c.writer).where(events.c.board == board, events.c.number.in_(part))
            for number, writer in connection.execute(query):
                if writer != writers[number]:
                    raise LogMismatchError(
                        f"event {number} of board {self._board.name!r} is another one in the log than in the journal: Redis lost"
                        " events and gave their numbers again; keep the journal, and rebuild the board from the log"
                    )

    def _behind(self, head: int, numbered: Sequence[Numbered]) -> list[Numbered]:
        """Give those events that follow the log's last without a gap; refuse where none does."""
        new = [item for place, item in enumerate(numbered, head + 1) if item.number == place]
        if numbered and not new:
            raise LogMismatchError(
                f"the journal of board {self._board.name!r} goes on at {numbered[0].number} and the log ends at {head}: what lay"
                " between was taken out of Redis before it was in the log"
            )
        return new

    def _was_written(self, board: int, head: int, outcomes: Sequence[Outcome], writer: str) -> bool:
        """Tell whether a transaction whose end was not heard of has been committed."""
        if not any(isinstance(outcome, Logged) and not outcome.known for outcome in outcomes):
            return False
        with self._database.begin() as connection:
            self.lock(connection, board)  # one that still hangs at the server is waited for
            first = and_(events.c.board == board, events.c.number == head + 1, events.c.writer == writer)
            return bool(connection.scalar(select(func.count()).select_from(events).where(first)))

    def _events(self) -> Select[Any]:
        named = and_(submission_ids.c.board == events.c.board, submission_ids.c.number == events.c.number)
        return (
            select(
                events.c.number,
                events.c.kind,
                func.coalesce(users.c.user_id, erased.c.user_id).label("user_id"),
                self._points.label("points"),
                events.c.at,
                events.c.taken_at,
                events.c["update"],  # a method of columns in SQLAlchemy 2.0
                events.c.segments,
                events.c.refused,
                submission_ids.c.submission_id,
                events.c.user,
            )
            .select_from(
                events.join(users, events.c.user == users.c.id)
                .join(boards, events.c.board == boards.c.id)
                .outerjoin(erased, erased.c.user == events.c.user)
                .outerjoin(submission_ids, named)
            )
            .where(boards.c.name == self._board.name)
        )

    def _fetch(self, query: Select[Any]) -> list[Event]:
        with self._database.reading() as connection:
            return _read(connection, query)


def _answer_known(draft: Draft, logged: Logged, fact: str) -> Outcome:
    if fact == draft.fact:
        return logged
    return ConflictError(f"submission id {draft.submission_id!r} was used before for {fact!r}, not {draft.fact!r}")


def _read(connection: Connection, query: Select[Any]) -> list[Event]:
    return [_event(row) for row in connection.execute(query)]


def _brings_names(drafts: Iterable[Draft], known: Mapping[str, UserRow]) -> bool:
    """Tell whether a draft has a name that is not the one that is stored."""
    named = (draft for draft in drafts if draft.user_name is not None)
    return any(draft.user_id not in known or known[draft.user_id].name != draft.user_name for draft in named)


def _names(drafts: Sequence[Draft], outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Give the names that came with what was logged; of several for a user the last."""
    pairs = zip(drafts, outcomes, strict=True)
    return {draft.user_id: draft.user_name for draft, found in pairs if isinstance(found, Logged) and draft.user_name is not None}


def _event(row: Any) -> Event:
    segments = tuple(row.segments.split("\t")) if row.segments else ()
    user_id = stand_in(row.user) if row.user_id is None else row.user_id
    what = (row.number, row.kind, user_id, row.points, row.at, row.taken_at, row.update)
    return Event(*what, segments, row.refused, row.submission_id, row.user)
