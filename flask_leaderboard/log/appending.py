"""Events on their way into a log: each once, in one order, numbered without gaps."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, and_, select

from ..errors import ConflictError, LogMismatchError, LogUnavailableError
from ..rules.board import Board
from .board_row import BoardRow
from .bulk import parts
from .database import Database
from .event_rows import EventRows
from .events import Draft, Logged, Numbered
from .profiles import latest_version, lock_versions, write_names
from .season_book import SeasonBook
from .short_way import ShortWay
from .tables import events
from .users import UserRow, add_users, get_users

Outcome = Logged | ConflictError | None
Seasons = Iterable[tuple[str, str]]
"""The seasons that are thought to be running, as windows and names."""
T = TypeVar("T")


class OutdatedPlan(Exception):  # noqa: N818 - no error: who writes plans again
    """Periods have been closed since the events were planned; nothing was written. Plan them for `closed_until` or later."""

    def __init__(self, closed_until: int) -> None:
        super().__init__(closed_until)
        self.closed_until = closed_until


class Appended(NamedTuple):
    """What became of drafts, the number of the last event then, and the version of the profiles that has their names."""

    outcomes: list[Outcome]
    head: int
    profiles: int = 0


class Appender:
    """Appends to a board's log. Display names that come with events are stored in their transaction.

    `profile_version` is the version that has them all.
    """

    def __init__(self, board: Board, database: Database, row: BoardRow, seasons: SeasonBook) -> None:
        self._board = board
        self._database = database
        self._row = row
        self._seasons = seasons
        self._short = ShortWay(board, database, seasons.windows)
        self._head: int | None = None
        self.profile_version = 0

    def append(self, drafts: Sequence[Draft], seasons: Seasons | None) -> list[Outcome]:
        """Write events in one transaction; give for each its number, a conflict, or None for one too late and not known."""
        writer, board, before, begun = secrets.token_hex(8), self._row.id, self._head_before(), False

        def write(way: Callable[..., T]) -> T:
            def work(connection: Connection) -> T:
                nonlocal begun
                begun = True
                return way(connection, board, drafts, seasons, writer)

            return self._database.attempt(work)

        try:
            short = write(self._write_short) if self._short.takes(drafts) else None
            appended = short or write(self._write_long)
        except LogUnavailableError:
            found = self._look_up(board, before, drafts, writer) if begun else None
            if found is None:
                raise
            appended = found
        self._head = max(before, appended.head)
        self.profile_version = max(self.profile_version, appended.profiles)
        return appended.outcomes

    def append_removal(self, connection: Connection, board: int, user_id: str, now: int) -> int:
        """Write the removal of a user in a transaction of the caller's, to the board with this row; give its number."""
        head, closed_until = self._row.lock(connection, board)
        at = max(now, closed_until)
        self._write(connection, board, head, [Draft("remove", user_id, None, at, at)], secrets.token_hex(8))
        return head + 1

    def append_numbered(self, numbered: Sequence[Numbered], *, still_there: Callable[[], bool]) -> tuple[int, int]:
        """Write events that have numbers already, without those that the log has; give up to which of them it has all then.

        Behind that stands how many were of a time before the last closing, and are written as taken then.
        """
        board = self._row.id

        def write(connection: Connection) -> tuple[int, int]:
            add_users(connection, self._database, {item.draft.user_id for item in numbered})
            head, closed_until = self._row.lock(connection, board)
            if not still_there():
                return 0, 0
            known = [item for item in numbered if item.number <= head]
            self._check_same(connection, board, known)
            new = self._behind(head, [item for item in numbered if item.number > head])
            in_time = [item.taken_from(closed_until) for item in new]
            self._write_numbered(connection, board, head, in_time)
            return len(known) + len(new), sum(one is not other for one, other in zip(new, in_time, strict=True))

        return self._database.attempt(write)

    def _head_before(self) -> int:
        """Give a number up to which nothing can be ours that is about to be written."""
        if self._head is None:
            self._head = self._row.head()
        return self._head

    def _write_short(
        self, connection: Connection, board: int, drafts: Sequence[Draft], seasons: Seasons | None, writer: str
    ) -> Appended | None:
        written = self._short.write(connection, board, drafts, seasons, writer)
        if written is None:
            return None
        if written.closed_until > drafts[0].taken_at:
            raise OutdatedPlan(written.closed_until)
        number, outcomes = written.head, list[Outcome]()
        for place, draft in enumerate(drafts):
            if place in written.known:
                outcomes.append(_answer_known(draft, *written.known[place]))
            else:
                number += 1
                outcomes.append(Logged(number))
        return Appended(outcomes, number)

    def _write_long(
        self, connection: Connection, board: int, drafts: Sequence[Draft], seasons: Seasons | None, writer: str
    ) -> Appended:
        known = add_users(connection, self._database, {draft.user_id for draft in drafts})
        renaming = _brings_names(drafts, known)
        if renaming:
            lock_versions(connection, self._database)
        head, closed_until = self._row.lock(connection, board)
        if any(draft.taken_at < closed_until for draft in drafts):
            raise OutdatedPlan(closed_until)
        if seasons is not None:
            self._seasons.insist(connection, board, seasons)
        outcomes, head = self._write(connection, board, head, drafts, writer)
        names = _names(drafts, outcomes) if renaming else {}
        return Appended(outcomes, head, write_names(connection, self._database, names) if names else 0)

    def _write(
        self, connection: Connection, board: int, head: int, drafts: Sequence[Draft], writer: str
    ) -> tuple[list[Outcome], int]:
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
        return outcomes, rows.next_number - 1

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

    def _look_up(self, board: int, before: int, drafts: Sequence[Draft], writer: str) -> Appended | None:
        """Find what a transaction has written whose end was not heard of; None where it has not been committed."""
        with self._database.begin() as connection:
            head = self._row.lock(connection, board).head  # one that still hangs at the server is waited for
            mine = and_(events.c.board == board, events.c.number > before, events.c.writer == writer)
            numbers = list(connection.scalars(select(events.c.number).where(mine).order_by(events.c.number.desc())))
            if not numbers:
                return None
            rows = EventRows(self._board, board, head, get_users(connection, {draft.user_id for draft in drafts}))
            known = rows.known(connection, drafts)
            outcomes: list[Outcome] = []
            for draft in drafts:
                identity = rows.identity(draft)
                answer = None if identity is None else known.get(identity)
                if answer is not None and answer[0].number not in numbers[-1:]:
                    outcomes.append(_answer_known(draft, *answer))
                else:
                    outcomes.append(None if draft.too_late else Logged(numbers.pop()))
            return Appended(outcomes, head, latest_version(connection))


def _answer_known(draft: Draft, logged: Logged, fact: str) -> Outcome:
    if fact == draft.fact:
        return logged
    return ConflictError(f"submission id {draft.submission_id!r} was used before for {fact!r}, not {draft.fact!r}")


def _brings_names(drafts: Iterable[Draft], known: Mapping[str, UserRow]) -> bool:
    """Tell whether a draft has a name that is not the one that is stored."""
    named = (draft for draft in drafts if draft.user_name is not None)
    return any(draft.user_id not in known or known[draft.user_id].name != draft.user_name for draft in named)


def _names(drafts: Sequence[Draft], outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Give the names that came with what was logged; of several for a user the last."""
    pairs = zip(drafts, outcomes, strict=True)
    return {draft.user_id: draft.user_name for draft, found in pairs if isinstance(found, Logged) and draft.user_name is not None}
