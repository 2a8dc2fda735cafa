"""Reads of a board: pages, ranks, friends, percentiles."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, Unpack

from ..errors import InputError
from ..rules.board import Board
from ..rules.cursors import period_of, read_cursor, write_cursor
from ..rules.identity import check_user_id
from ..rules.numbering import number_ties
from ..rules.results import Entry, FriendEntry, Page, Place, Position, RankingKind, Rows, Standing, Watched
from ..rules.scores import Number, Points
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from ..store.users import Users
from .naming import Naming
from .places import Places, Where
from .routing import Answer, Route, ToRedis
from .sources import Live, Source

Clock = Callable[[], int]
A = TypeVar("A", bound=Answer)
LARGEST_PAGE = 1000
MOST_FRIENDS = 500
NOTHING = Rows(0, 0, [])


def system_clock() -> int:
    """Give the time in microseconds since 1970."""
    return time.time_ns() // 1000


class How(Where, total=False):
    """What is read, and how: `ranking` numbers ties, `metadata` brings the users' metadata along."""

    ranking: RankingKind | None
    metadata: bool


class Reader:
    """Reads rankings of a board; `users` gives entries their display names."""

    def __init__(self, board: Board, store: BoardStore, places: Places, users: Users | None, clock: Clock) -> None:
        self.board = board
        self.store = store
        self._places = places
        self._live = Live(store, Naming(users))
        self._route: Route = ToRedis(self._live)
        self._clock = clock

    def top(self, limit: int = 10, *, offset: int = 0, cursor: str | None = None, **how: Unpack[How]) -> Page:
        """Give entries from the top, or behind a cursor."""
        return self._page(limit, offset, cursor, how, None, None)

    def range(
        self,
        lowest: Points | None = None,
        highest: Points | None = None,
        *,
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
        **how: Unpack[How],
    ) -> Page:
        """Give the entries whose score lies between two scores, both included, best first."""
        return self._page(limit, offset, cursor, how, *self._bounds(lowest, highest))

    def around(self, user_id: str, *, above: int = 4, below: int = 4, **how: Unpack[How]) -> Page:
        """Give a user's entry with those above and below; no entries where the user is not ranked."""
        kind, found = self._open(how)
        above, below = as_count(above, "above"), as_count(below, "below")
        check_user_id(user_id)
        if found is None:
            return self._as_page(NOTHING, kind, None, how, None)
        metadata = how.get("metadata", False)
        rows = self._read(found, lambda source: source.around(found, kind, user_id, above, below, metadata=metadata))
        return self._as_page(rows, kind, found, how, None)

    def rank(self, user_id: str, **how: Unpack[How]) -> Entry | None:
        """Give a user's entry with percentile, or None where the user is not ranked."""
        kind, found = self._open(how)
        check_user_id(user_id)
        if found is None:
            return None
        ((entry,),) = self._entries([found], kind, [user_id], how)
        return entry

    def ranks(self, user_id: str, **how: Unpack[How]) -> dict[str, Entry | None]:
        """Give a user's entry in the running period of every window, by the window's name."""
        return {standing.window: standing.entry for standing in self.standings(user_id, **how)}

    def standings(self, user_id: str, **how: Unpack[How]) -> list[Standing]:
        """Give a user's entries in the running periods of all windows, in one call."""
        check_user_id(user_id)
        rankings = self._places.running(self._clock(), how.get("segment"))
        kind = self.board.check_ranking(how.get("ranking"))
        if not rankings:
            return []
        pairs = zip(rankings, self._entries(rankings, kind, [user_id], how), strict=True)
        return [Standing(ranking.window, ranking.period.id, entry) for ranking, (entry,) in pairs]

    def place(self, **how: Unpack[How]) -> Place:
        """Tell which ranking a read with these arguments is about."""
        kind, found = self._open(how)
        return self._place_of(found, kind, how)

    def spot(self, **where: Unpack[Where]) -> Ranking | None:
        """Give the ranking of a running period as Redis knows it; None where the window has none running."""
        return self._find(where)

    def watch(self, ranking: Ranking, kind: RankingKind, top: int, user_ids: Sequence[str] = ()) -> Watched:
        """Give the best of a ranking, and where users stand with the entries beside them, in one call to Redis."""
        return self._live.watch(ranking, kind, top, user_ids)

    def among(self, user_ids: Sequence[str], **how: Unpack[How]) -> list[FriendEntry]:
        """Rank users among themselves, best first; who is not on the board is left out."""
        kind, found = self._open(how)
        if isinstance(user_ids, str) or not isinstance(user_ids, Iterable):
            raise InputError(f"among takes a list of user ids, not {user_ids!r}")
        wanted = list(dict.fromkeys(check_user_id(user_id) for user_id in user_ids))
        if len(wanted) > MOST_FRIENDS:
            raise InputError(f"{len(wanted)} users are too many at once: send at most {MOST_FRIENDS}")
        if found is None or not wanted:
            return []
        (entries,) = self._entries([found], kind, wanted, how)
        ranked = sorted((entry for entry in entries if entry), key=self._order)
        numbers = number_ties([entry.score for entry in ranked], kind)
        return [FriendEntry(number, entry) for number, entry in zip(numbers, ranked, strict=True)]

    def percentile(self, user_id: str, **where: Unpack[Where]) -> float | None:
        """Give 100 x (1 - better / total) to one decimal, or None where the user is not ranked."""
        found = self._find(where)
        check_user_id(user_id)
        return self._read(found, lambda source: source.percentile(found, user_id)).value if found else None

    def score_at_percentile(self, percentile: float, **where: Unpack[Where]) -> Number | None:
        """Give the score it takes to be at a percentile, or None where nobody is ranked."""
        known = isinstance(percentile, int | float) and 0 <= percentile <= 100
        tenths = round(percentile * 10) if known else 0
        if not known or abs(tenths - percentile * 10) > 1e-6:
            raise InputError(f"percentile {percentile!r} must be 0 to 100 with at most one decimal")
        found = self._find(where)
        return self._read(found, lambda source: source.score_at(found, tenths)).value if found else None

    def count(self, lowest: Points | None = None, highest: Points | None = None, **where: Unpack[Where]) -> int:
        """Count the users of a ranking, or those between two scores."""
        bounds, found = self._bounds(lowest, highest), self._find(where)
        return self._read(found, lambda source: source.count(found, *bounds)).value if found else 0

    def totals(self) -> dict[str, int]:
        """Count the users in the running period of every window, in one call."""
        rankings = self._places.running(self._clock())
        if not rankings:
            return {}
        found = self._route.read(rankings, lambda source: source.entries(rankings, self.board.ranking, []))
        return {ranking.window: total for ranking, (total, _) in zip(rankings, found, strict=True)}

    def periods(self, window: str) -> list[str]:
        """List the ids of a window's periods that can be read, the newest first: those in Redis, then the archived ones."""
        return list(dict.fromkeys((*self._places.periods(self._clock(), window), *self.archived_periods(window))))

    def archived_periods(self, window: str) -> list[str]:
        """List the ids of a window's archived periods, the newest first: the latest 366."""
        return self._route.archived_periods(self.board.window(window).name)

    def _read(self, ranking: Ranking, ask: Callable[[Source], A]) -> A:
        return self._route.read([ranking], ask)

    def _find(self, where: Where) -> Ranking | None:
        return self._places.find(self._clock(), where)

    def _open(self, how: How) -> tuple[RankingKind, Ranking | None]:
        return self.board.check_ranking(how.get("ranking")), self._find(how)

    def _bounds(self, lowest: Points | None, highest: Points | None) -> tuple[Number | None, Number | None]:
        number = self.board.number
        return (
            None if lowest is None else number(lowest, "lowest"),
            None if highest is None else number(highest, "highest"),
        )

    def _page(self, limit: int, offset: int, cursor: str | None, how: How, lowest: Number | None, highest: Number | None) -> Page:
        if cursor is not None and how.get("period") in (None, "previous"):
            how = How(**how)
            how["period"] = period_of(cursor, self.board.name, self._window_name(how))  # pages stay where they began
        kind, found = self._open(how)
        limit, offset = as_count(limit, "limit"), as_count(offset, "offset", 2**53 - 1)
        if found is None:
            return self._as_page(NOTHING, kind, None, how, None)
        ask = self._asking(found, kind, limit + 1, offset, cursor, lowest, highest, how.get("metadata", False))
        return self._as_page(self._read(found, ask), kind, found, how, limit)  # one more tells whether there is a next page

    def _asking(
        self,
        found: Ranking,
        kind: RankingKind,
        limit: int,
        offset: int,
        cursor: str | None,
        lowest: Number | None,
        highest: Number | None,
        metadata: bool,
    ) -> Callable[[Source], Rows]:
        """Give what a source is asked for a page."""
        if cursor is not None:
            position = read_cursor(cursor, self._cursor_place(found, kind), self.board)
            return lambda source: source.after(found, kind, position, limit, lowest=lowest, highest=highest, metadata=metadata)
        if lowest is None and highest is None:
            return lambda source: source.page(found, kind, offset, limit, metadata=metadata)
        return lambda source: source.range(found, kind, lowest, highest, offset, limit, metadata=metadata)

    def _as_page(self, rows: Rows, kind: RankingKind, found: Ranking | None, how: How, limit: int | None) -> Page:
        entries, cursor = rows.entries[:limit], None
        if found and entries and len(entries) < len(rows.entries):
            cursor = write_cursor(self._cursor_place(found, kind), _behind(rows, len(entries)))
        place = self._place_of(found, kind, how)
        return Page(tuple(entries), rows.total, cursor, *place, rows.number, rows.degraded)

    def _window_name(self, how: How) -> str:
        return how.get("window") or self.board.windows[0].name

    def _place_of(self, found: Ranking | None, kind: RankingKind, how: How) -> Place:
        if found is None:
            return Place(self._window_name(how), None, None, kind)
        return Place(found.window, found.period.id, found.segment, kind)

    def _cursor_place(self, found: Ranking, kind: RankingKind) -> str:
        return " ".join((self.board.name, found.window, found.period.id, found.segment or "-", kind))

    def _order(self, entry: Entry) -> tuple[Number, int, bytes]:
        at = entry.at or 0
        return (
            -entry.score if self.board.order == "desc" else entry.score,
            -at if self.board.tie_break == "last" else at,
            entry.user_id.encode(),
        )

    def _entries(
        self, rankings: Sequence[Ranking], kind: RankingKind, user_ids: Sequence[str], how: How
    ) -> list[list[Entry | None]]:
        """Give, for each ranking, the entries of known users; they and the profiles come in one trip."""
        metadata = how.get("metadata", False)
        read = self._route.read(rankings, lambda source: source.entries(rankings, kind, user_ids, metadata=metadata))
        return [found.entries for found in read]


def _behind(rows: Rows, count: int) -> Position:
    """Give the position of the last of some entries."""
    last = rows.entries[count - 1]
    erased = not last.user_id and rows.start is not None
    return Position(last.score, last.at, (rows.start or 0) + count if erased else last.user_id)


def as_count(value: int, what: str, most: int = LARGEST_PAGE) -> int:
    """Give a count back, or refuse what is none."""
    if type(value) is not int or not 0 <= value <= most:
        raise InputError(f"{what} {value!r} must be a whole number from 0 to {most}")
    return value
