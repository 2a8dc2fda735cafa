"""A board with its data: what games call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Unpack

from redis import Redis

from ..errors import ConfigurationError, InputError, LeaderboardError
from ..rules.board import Board
from ..rules.cursors import read_cursor, write_cursor
from ..rules.identity import check_user_id
from ..rules.numbering import number_ties
from ..rules.results import Entry, FriendEntry, Page, Position, RankingKind, Receipt
from ..rules.scores import Number, Points
from ..rules.submission import Submission, Update
from ..rules.windows import Period
from ..store.board_store import BoardStore
from ..store.bundle import manifest
from ..store.calls import Caller, Dialect
from ..store.names import Names
from ..store.rankings import Ranking
from ..store.rows import Rows
from .places import Places, Where
from .removing import remove_user
from .seasons import Seasons
from .submitting import Submitter

Clock = Callable[[], int]
LARGEST_PAGE = 1000
MOST_FRIENDS = 500


def system_clock() -> int:
    """Give the time in microseconds since 1970."""
    return time.time_ns() // 1000


class Leaderboard:
    """A board on a Redis server.

    `clock` gives the time in microseconds; `dialect` says how the Lua commands are called (`Scripts()`, or `Functions()`);
    `names` keeps display names, and without it none can be given.
    """

    def __init__(
        self,
        board: Board,
        client: Redis,
        *,
        prefix: str | None = None,
        clock: Clock = system_clock,
        dialect: Dialect | None = None,
        names: Names | None = None,
    ) -> None:
        self.board = board
        if client.get_encoder().decode_responses:
            raise ConfigurationError("the Redis client must give bytes: create it without decode_responses=True")
        self.store = BoardStore(board, Caller(client, dialect), prefix or manifest()["key_prefix"])
        self._clock = clock
        self._names = names
        self._seasons = Seasons(board, self.store)
        self._places = Places(board, self.store, self._seasons)
        self._submitter = Submitter(board, self.store, self._seasons)

    def submit(
        self,
        user_id: str,
        points: Points,
        *,
        submission_id: str | None = None,
        at: datetime | None = None,
        segments: Mapping[str, str] | None = None,
        user_name: str | None = None,
        update: Update | None = None,
        ranks: bool = True,
    ) -> Receipt:
        """Count points for a user in every window, at once and once."""
        submission = Submission(user_id, points, submission_id, at, segments, user_name, update)
        (outcome,) = self.submit_many([submission], ranks=ranks)
        if isinstance(outcome, LeaderboardError):
            raise outcome
        return outcome

    def submit_many(self, submissions: Iterable[Submission], *, ranks: bool = True) -> list[Receipt | LeaderboardError]:
        """Count many submissions, in their order; a receipt for each, or the error it was refused with."""
        listed = list(submissions)
        if not all(isinstance(item, Submission) for item in listed):
            raise InputError("submit_many takes Submission objects: Submission(user_id, points)")
        if self._names is None and any(item.user_name is not None for item in listed):
            raise ConfigurationError("user_name can't be kept: create the Leaderboard with names=Names(client, prefix)")
        outcomes = self._submitter.submit(listed, self._clock(), ranks=ranks)
        if self._names is not None:
            taken = (item for item, outcome in zip(listed, outcomes, strict=True) if isinstance(outcome, Receipt))
            self._names.put({item.user_id: item.user_name for item in taken if item.user_name is not None})
        return outcomes

    def remove(self, user_id: str, *, ranks: bool = True) -> Receipt:
        """Take a user out of every ranking that is kept; the receipt tells where he stood."""
        return remove_user(self.store, self._places, self._seasons, check_user_id(user_id), self._clock(), ranks=ranks)

    def top(
        self,
        limit: int = 10,
        *,
        offset: int = 0,
        cursor: str | None = None,
        ranking: RankingKind | None = None,
        **where: Unpack[Where],
    ) -> Page:
        """Give entries from the top, or behind a cursor."""
        return self._page(limit, offset, cursor, ranking, where, None, None)

    def range(
        self,
        lowest: Points | None = None,
        highest: Points | None = None,
        *,
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
        ranking: RankingKind | None = None,
        **where: Unpack[Where],
    ) -> Page:
        """Give the entries whose score lies between two scores, both included, best first."""
        return self._page(limit, offset, cursor, ranking, where, *self._bounds(lowest, highest))

    def around(
        self,
        user_id: str,
        *,
        above: int = 4,
        below: int = 4,
        ranking: RankingKind | None = None,
        **where: Unpack[Where],
    ) -> Page:
        """Give a user's entry with those above and below; no entries where the user is not ranked."""
        kind, found = self.board.check_ranking(ranking), self._find(where)
        above, below = _counted(above, "above"), _counted(below, "below")
        check_user_id(user_id)
        rows = self.store.around(found, kind, user_id, above, below) if found else Rows(0, 0, [])
        return self._as_page(rows, kind, found, where, None)

    def rank(self, user_id: str, *, ranking: RankingKind | None = None, **where: Unpack[Where]) -> Entry | None:
        """Give a user's entry with percentile, or None where the user is not ranked."""
        kind, found = self.board.check_ranking(ranking), self._find(where)
        check_user_id(user_id)
        if found is None:
            return None
        _, [(_, [entry])] = self.store.entries([found], kind, [user_id], percentile=True)
        return self._named([entry])[0] if entry else None

    def ranks(
        self, user_id: str, *, ranking: RankingKind | None = None, segment: Mapping[str, str] | str | None = None
    ) -> dict[str, Entry | None]:
        """Give a user's entry in the running period of every window, by the window's name."""
        check_user_id(user_id)
        kind, rankings = self.board.check_ranking(ranking), self._places.running(self._clock(), segment)
        if not rankings:
            return {}
        _, found = self.store.entries(rankings, kind, [user_id], percentile=True)
        entries = {ranking.window: rows[0] for ranking, (_, rows) in zip(rankings, found, strict=True)}
        named = iter(self._named([entry for entry in entries.values() if entry]))
        return {window: next(named) if entry else None for window, entry in entries.items()}

    def among(self, user_ids: Sequence[str], *, ranking: RankingKind | None = None, **where: Unpack[Where]) -> list[FriendEntry]:
        """Rank users among themselves, best first; who is not on the board is left out."""
        kind, found = self.board.check_ranking(ranking), self._find(where)
        if isinstance(user_ids, str) or not isinstance(user_ids, Iterable):
            raise InputError(f"among takes a list of user ids, not {user_ids!r}")
        wanted = list(dict.fromkeys(check_user_id(user_id) for user_id in user_ids))
        if len(wanted) > MOST_FRIENDS:
            raise InputError(f"{len(wanted)} users are too many at once: send at most {MOST_FRIENDS}")
        if found is None or not wanted:
            return []
        _, [(_, entries)] = self.store.entries([found], kind, wanted, percentile=True)
        ranked = sorted(self._named([entry for entry in entries if entry]), key=self._order)
        numbers = number_ties([entry.score for entry in ranked], kind)
        return [FriendEntry(number, entry) for number, entry in zip(numbers, ranked, strict=True)]

    def percentile(self, user_id: str, **where: Unpack[Where]) -> float | None:
        """Give 100 x (1 - better / total) to one decimal, or None where the user is not ranked."""
        found = self._find(where)
        return self.store.percentile(found, check_user_id(user_id)) if found else None

    def score_at_percentile(self, percentile: float, **where: Unpack[Where]) -> Number | None:
        """Give the score it takes to be at a percentile, or None where nobody is ranked."""
        known = isinstance(percentile, int | float) and 0 <= percentile <= 100
        tenths = round(percentile * 10) if known else 0
        if not known or abs(tenths - percentile * 10) > 1e-6:
            raise InputError(f"percentile {percentile!r} must be 0 to 100 with at most one decimal")
        found = self._find(where)
        return self.store.score_at(found, tenths) if found else None

    def count(self, lowest: Points | None = None, highest: Points | None = None, **where: Unpack[Where]) -> int:
        """Count the users of a ranking, or those between two scores."""
        bounds, found = self._bounds(lowest, highest), self._find(where)
        return self.store.count(found, *bounds)[1] if found else 0

    def start_season(self, season: str, *, window: str = "season") -> Period:
        """Start a season by its name."""
        return self._seasons.start(window, season, self._clock())

    def end_season(self, *, window: str = "season") -> Period:
        """End the running season; it stays readable for the window's retention."""
        ended = self._seasons.end(window, self._clock())
        self.store.expire_period(self.board.window(window), ended)
        return ended

    def _find(self, where: Where) -> Ranking | None:
        return self._places.find(self._clock(), where)

    def _bounds(self, lowest: Points | None, highest: Points | None) -> tuple[Number | None, Number | None]:
        number = self.board.number
        return (
            None if lowest is None else number(lowest, "lowest"),
            None if highest is None else number(highest, "highest"),
        )

    def _page(
        self,
        limit: int,
        offset: int,
        cursor: str | None,
        ranking: RankingKind | None,
        where: Where,
        lowest: Number | None,
        highest: Number | None,
    ) -> Page:
        kind, found = self.board.check_ranking(ranking), self._find(where)
        limit, offset = _counted(limit, "limit"), _counted(offset, "offset", 2**53 - 1)
        one_more = limit + 1  # tells whether there is a next page
        if found is None:
            return self._as_page(Rows(0, 0, []), kind, None, where, None)
        if cursor is not None:
            position = read_cursor(cursor, self._place(found, kind), self.board)
            rows = self.store.after(found, kind, position, one_more, lowest=lowest, highest=highest)
        elif lowest is None and highest is None:
            rows = self.store.page(found, kind, offset, one_more)
        else:
            rows = self.store.range(found, kind, lowest, highest, offset, one_more)
        return self._as_page(rows, kind, found, where, limit)

    def _as_page(self, rows: Rows, kind: RankingKind, found: Ranking | None, where: Where, limit: int | None) -> Page:
        entries, cursor = rows.entries[:limit], None
        if found and entries and len(entries) < len(rows.entries):
            last = entries[-1]
            cursor = write_cursor(self._place(found, kind), Position(last.score, last.at, last.user_id))
        return Page(
            entries=tuple(self._named(entries)),
            total=rows.total,
            cursor=cursor,
            window=found.window if found else where.get("window") or self.board.windows[0].name,
            period=found.period.id if found else None,
            segment=found.segment if found else None,
            ranking=kind,
            number=rows.number,
        )

    def _place(self, found: Ranking, kind: RankingKind) -> str:
        return " ".join((self.board.name, found.window, found.period.id, found.segment or "-", kind))

    def _order(self, entry: Entry) -> tuple[Number, int, bytes]:
        at = entry.at or 0
        return (
            -entry.score if self.board.order == "desc" else entry.score,
            -at if self.board.tie_break == "last" else at,
            entry.user_id.encode(),
        )

    def _named(self, entries: list[Entry]) -> list[Entry]:
        if self._names is None or not entries:
            return entries
        names = self._names.get([entry.user_id for entry in entries])
        return [entry._replace(user_name=name) for entry, name in zip(entries, names, strict=True)]


def _counted(value: int, what: str, most: int = LARGEST_PAGE) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise InputError(f"{what} {value!r} must be a whole number from 0 to {most}")
    return value
