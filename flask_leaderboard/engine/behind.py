"""A board that counts in Redis first: the script numbers events and keeps them in a journal until they are in the log."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ..errors import BehindError, LeaderboardError, LogUnavailableError, MovedError, PastError
from ..log.archive import Archive
from ..log.event_log import EventLog
from ..log.events import Event
from ..log.totals import Totals
from ..rules.board import Board
from ..rules.instants import MICROSECONDS, duration
from ..rules.results import Receipt
from ..rules.submission import Submission
from ..store.board_store import BoardStore
from .draining import ENTRIES_A_STEP, Drainer
from .duties import Chores, Duty
from .folding import Folder
from .places import Places
from .removing import remove_user
from .standing import Standing
from .submitting import Submitter
from .tail import JournalTail

TRIES = 10
SLACK = 3600 * MICROSECONDS
EVENTS_A_READ = 1000
_logger = logging.getLogger("flask_leaderboard")


class WriteBehind:
    """Counts events in Redis and drains them into the log."""

    def __init__(self, board: Board, store: BoardStore, places: Places, log: EventLog, *, keep_days: int | None = None) -> None:
        self._store = store
        self._places = places
        self._seasons = places.seasons
        self.log = log
        self._submitter = Submitter(board, store, self._seasons)
        self._remembered = duration(board.remember_ids)
        self.folder = Folder(board, store, places, log, prepare=self._prepare)
        self._drainer = Drainer(board, store.journal, log, late=self._mend)
        self.tail = JournalTail(store, log, self._drainer)
        self.standing = self._standing = store.guard = JournalStanding(store, log, self.folder, self.tail)
        self.totals = Totals(board, log.database, log)
        archive = Archive(board, log.database, log, self.totals, settle=self.tail.settle)
        chores = Chores(store, log, self.totals, archive, self._standing, keep_days, at_least=self._remembered)
        self.duties = (Duty("drain", lambda now: self.drain()), *chores.duties)

    def drain(self, most: int = ENTRIES_A_STEP) -> bool:
        """Take what is oldest in the journal to the log; tell whether there may be more."""
        return self._drainer.step(most)

    def drain_all(self) -> None:
        """Take all to the log that Redis has numbered by now."""
        self.tail.reach(self._store.number())

    def check(self, submission: Submission, now: int) -> None:
        """Refuse what would be refused whatever the scores are."""
        self._submitter.check(submission, now)

    def fold_through(self, number: int) -> None:
        """Redis has folded what it numbered."""

    def fold_all(self) -> None:
        """Redis has folded all that it numbered."""

    def submit(self, submissions: Sequence[Submission], now: int, *, ranks: bool) -> list[Receipt | LeaderboardError]:
        """Give a receipt or an error for each submission, in their order; each that has a receipt is in the journal."""
        self._standing.insist()
        return self._submitter.submit(submissions, now, ranks=ranks)

    def remove(self, user_id: str, now: int, *, ranks: bool) -> Receipt:
        """Take a user out of every ranking that is kept."""
        self._standing.insist()
        for _ in range(TRIES):
            try:
                return remove_user(self._store, self._places, self._seasons, user_id, now, ranks=ranks)
            except BehindError:
                self._standing.repair()
            except PastError:
                now = max(now, self._store.closed_until())
            except MovedError:
                continue
        raise MovedError(f"{user_id!r} was not removed: the board's segments get new values all the time, repeat the call")

    def bring_back(self, after: int, through: int) -> None:
        """Prepare Redis for events that it has lost, and that come back by other means than one by one."""
        self._insist()
        pruned, _ = self.log.extent()
        number = self._first_remembered(max(after, pruned), through)
        while number < through:
            events = self.log.read(number, min(EVENTS_A_READ, through - number))
            self._remember_ids(events)
            number = events[-1].number

    def _first_remembered(self, after: int, through: int) -> int:
        """Give a number behind which all events are whose ids are remembered still; times of events hardly go back."""
        (last,) = self.log.read(through - 1, 1) if through > after else (None,)
        since = last.taken_at - self._remembered - SLACK if last else 0
        while after < through:
            middle = (after + through) // 2
            (event,) = self.log.read(middle, 1)
            after, through = (after, middle) if event.taken_at >= since else (middle + 1, through)
        return after

    def _prepare(self, events: Sequence[Event]) -> None:
        """Prepare Redis for events that it has lost: it must neither count them twice nor give their numbers again."""
        self._insist()
        self._remember_ids(events)

    def _insist(self) -> None:
        """Let Redis know what the log is, before it has it: who was stopped on the way to it must not number on less."""
        state = self.log.state()
        self._store.insist(state.head)
        self._store.close(state.closed_until)

    def _mend(self, late: int) -> None:
        """Make Redis anew where events came to the log that had counted in a period after it was closed."""
        _logger.error(
            "board '%s': %d events counted in a period that had been closed: Redis had lost when it was. They do not count in it"
            " by the log, and Redis is rebuilt from that",
            self._store.board.name,
            late,
        )
        if self.folder.recover is not None:
            self.folder.recover()

    def _remember_ids(self, events: Sequence[Event]) -> None:
        """Let Redis know the ids of events again before it has the events: one that is sent again must not count twice."""
        self._store.remember_ids(
            [(e.user_id, e.submission_id, e.fact, e.taken_at) for e in events if e.submission_id is not None]
        )


class JournalStanding(Standing):
    """Lets Redis be ahead of the log, by what the journal holds. `_met` connections are those that were compared with the log."""

    def __init__(self, store: BoardStore, log: EventLog, folder: Folder, tail: JournalTail) -> None:
        super().__init__(store, log, folder)
        self._tail = tail
        self._compared = False
        self._server: str | None = None
        self._connects = self._met = 0

    def look(self, *, rests: bool = True) -> None:
        """Compare Redis with the log also when a connection was made: the server behind it may have lost data."""
        if self._store.connects.count != self._connects:
            self._look_at = 0.0
        super().look(rests=rests)

    def _compare(self) -> None:
        connects = self._store.connects.count
        super()._compare()
        self._connects = connects

    def _head(self) -> int:
        """Give the log's head; for a new connection not before all is written that was read from the server of the old one."""
        return self._log.head() if self._store.connects.count == self._connects else self._log.settled_head()

    def insist(self) -> None:
        """Look, and refuse to go on where the log could not be: who does not know how far it is could number anew.

        Where it was, it may be away now as long as the server has not been started again since.
        """
        self.look()
        if not self._compared:
            raise LogUnavailableError("the log could not be reached since this process began: see that the database runs")
        if self._met != self._connects:
            if self._store.server() != self._server:
                raise LogUnavailableError("the log could not be reached since Redis was started: see that the database runs")
            self._met = self._connects

    def _settle(self, folded: int, head: int) -> None:
        connects = self._store.connects.count
        if connects != self._met:
            self._server = self._store.server()
            self._store.close(self._log.state().closed_until)  # one with older data may not know
        super()._settle(folded, head)
        self._compared, self._met = True, connects

    def _needed(self, folded: int) -> int:
        oldest = self._store.journal.oldest(1)  # after `folded` was read: what has left the journal since is in the log
        return int(oldest[0].fields["number"]) - 1 if oldest else folded

    def repair(self) -> None:
        """Bring Redis up to date, and put up with what neither Redis nor the log has any more."""
        self.expect(self._tail.wait())
        super().repair()
        if self._store.number() >= self.least:
            return
        head = self._log.settled_head()
        number = self._store.number()
        if number < head:
            raise BehindError("Redis has lost events that it had, and is being brought up to date")
        lost = self._give_up(number)
        if lost:
            _logger.error(
                "board '%s': Redis has lost %d events that were not in the log yet, from number %d on: they can't come back",
                self._store.board.name,
                lost,
                number + 1,
            )
