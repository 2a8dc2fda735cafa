"""A ranking in Redis from its first entry to its last, page by page, while others write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeVar

from ..errors import InputError
from ..rules.results import Entry
from ..rules.scores import number_text
from ..store.board_store import BoardStore
from ..store.rankings import Ranking

ENTRIES_A_PAGE = 500
LEVELS_A_PAGE = 1000


class Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


T = TypeVar("T", bound=Ordered)


def walk(store: BoardStore, ranking: Ranking) -> Iterator[list[Entry]]:
    """Give pages of entries, best first."""
    page, walked = store.page(ranking, "unique", 0, ENTRIES_A_PAGE)[0].entries, 0
    while page:
        yield page
        walked += len(page)
        page = _page_behind(store, ranking, page[-1], walked)


def _page_behind(store: BoardStore, ranking: Ranking, last: Entry, walked: int) -> list[Entry]:
    try:
        return store.after(ranking, "unique", (number_text(last.score), last.at, last.user_id), ENTRIES_A_PAGE).entries
    except InputError:  # it has a score or a time that no entry can have
        return store.page(ranking, "unique", walked, ENTRIES_A_PAGE)[0].entries


def walk_levels(store: BoardStore, ranking: Ranking) -> Iterator[float]:
    """Give the standings that a ranking's levels have, best first; by name and by place, where these are not the same."""
    key, first = store.keys.levels(ranking.keys[0]), 0
    while True:
        (page,) = store.caller.ask(("ZRANGE", key, first, first + LEVELS_A_PAGE - 1))
        if not page:
            return
        (places,) = store.caller.ask(("ZMSCORE", key, *page))
        for level, place in zip(page, places, strict=True):
            yield float(level)
            if place is not None and float(place) != float(level):
                yield float(place)
        first += LEVELS_A_PAGE


def unmatched(ours: Iterable[T], theirs: Iterable[T]) -> Iterator[T]:
    """Give what only one of two ordered streams has; what stands out of order is given too."""
    left_stream, right_stream = iter(ours), iter(theirs)
    left, right = next(left_stream, None), next(right_stream, None)
    while left is not None or right is not None:
        if left == right:
            left, right = next(left_stream, None), next(right_stream, None)
        elif right is None or (left is not None and left < right):
            assert left is not None  # noqa: S101 - one of the two is there
            yield left
            left = next(left_stream, None)
        else:
            yield right
            right = next(right_stream, None)
