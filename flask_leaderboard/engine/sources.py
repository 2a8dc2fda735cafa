"""Where rankings are read: what every source can be asked, and Redis as one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..rules.results import Found, Measure, Position, RankingKind, Rows, Watched
from ..rules.scores import Number, number_text
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from ..store.users import Profile
from .naming import Naming, with_profile


class Source(Protocol):
    """Gives pieces of rankings, with the names of users, and their metadata where asked for."""

    def page(self, ranking: Ranking, kind: RankingKind, offset: int, limit: int, *, metadata: bool = False) -> Rows:
        """Give entries from an index on."""

    def after(
        self,
        ranking: Ranking,
        kind: RankingKind,
        position: Position,
        limit: int,
        *,
        lowest: Number | None = None,
        highest: Number | None = None,
        metadata: bool = False,
    ) -> Rows:
        """Give entries behind a position, whether or not one still stands there."""

    def range(
        self,
        ranking: Ranking,
        kind: RankingKind,
        lowest: Number | None,
        highest: Number | None,
        offset: int,
        limit: int,
        *,
        metadata: bool = False,
    ) -> Rows:
        """Give entries between two scores."""

    def around(
        self, ranking: Ranking, kind: RankingKind, user_id: str, above: int, below: int, *, metadata: bool = False
    ) -> Rows:
        """Give a user's entry with those above and below; none where the user is not ranked."""

    def entries(
        self, spots: Sequence[Ranking], kind: RankingKind, user_ids: Sequence[str], *, metadata: bool = False
    ) -> list[Found]:
        """Give the entries of users, with percentiles, in each of some rankings."""

    def count(self, ranking: Ranking, lowest: Number | None, highest: Number | None) -> Measure[int]:
        """Count the scores between two scores."""

    def percentile(self, ranking: Ranking, user_id: str) -> Measure[float | None]:
        """Give a user's percentile; None for one who is not ranked."""

    def score_at(self, ranking: Ranking, tenths: int) -> Measure[Number | None]:
        """Give the score at a percentile; None where nobody is ranked."""


class Live:
    """Redis: each read is one trip, and one more for names that are not known to be needed before."""

    def __init__(self, store: BoardStore, naming: Naming) -> None:
        self._store = store
        self._naming = naming

    def page(self, ranking: Ranking, kind: RankingKind, offset: int, limit: int, *, metadata: bool = False) -> Rows:
        """Read a page by its index, and with it the profiles of those who stood there before."""
        page = (ranking.keys[0], offset, limit)
        likely = self._naming.likely(page)
        rows, replies = self._store.page(ranking, kind, offset, limit, profiles=self._naming.commands(likely, metadata))
        known = self._naming.read(likely, replies)
        named = rows._replace(entries=self._naming.name(rows.entries, metadata, known))
        self._naming.remember(page, tuple(entry.user_id for entry in rows.entries))
        return named

    def after(
        self,
        ranking: Ranking,
        kind: RankingKind,
        position: Position,
        limit: int,
        *,
        lowest: Number | None = None,
        highest: Number | None = None,
        metadata: bool = False,
    ) -> Rows:
        if isinstance(position.user_id, int):
            return Rows(0, 0, [])  # where an erased user stands, which only an archive knows
        place = (number_text(position.score), position.at, position.user_id)
        return self._named(self._store.after(ranking, kind, place, limit, lowest=lowest, highest=highest), metadata)

    def range(
        self,
        ranking: Ranking,
        kind: RankingKind,
        lowest: Number | None,
        highest: Number | None,
        offset: int,
        limit: int,
        *,
        metadata: bool = False,
    ) -> Rows:
        return self._named(self._store.range(ranking, kind, lowest, highest, offset, limit), metadata)

    def around(
        self, ranking: Ranking, kind: RankingKind, user_id: str, above: int, below: int, *, metadata: bool = False
    ) -> Rows:
        return self._named(self._store.around(ranking, kind, user_id, above, below), metadata)

    def entries(
        self, spots: Sequence[Ranking], kind: RankingKind, user_ids: Sequence[str], *, metadata: bool = False
    ) -> list[Found]:
        """Give entries of known users; they and their profiles come in one trip."""
        asked = self._naming.commands(user_ids, metadata)
        found, replies = self._store.entries(spots, kind, user_ids, profiles=asked)
        known = self._naming.read(user_ids, replies)
        return [
            Found(total, [entry and with_profile(entry, known.get(entry.user_id, Profile())) for entry in entries])
            for total, entries in found
        ]

    def watch(self, ranking: Ranking, kind: RankingKind, top: int, user_ids: Sequence[str]) -> Watched:
        """Read the best and where users stand, and with it the profiles of those and of who was seen there before."""
        page = (ranking.keys[0], "watch")
        likely = tuple(dict.fromkeys((*user_ids, *self._naming.likely(page))))
        asked = self._naming.commands(likely, False)
        watched, replies = self._store.watch(ranking, kind, top, user_ids, profiles=asked)
        seen = watched.user_ids
        self._naming.remember(page, seen)
        return self._naming.name_watched(watched, seen, self._naming.read(likely, replies))

    def count(self, ranking: Ranking, lowest: Number | None, highest: Number | None) -> Measure[int]:
        return self._store.count(ranking, lowest, highest)

    def percentile(self, ranking: Ranking, user_id: str) -> Measure[float | None]:
        return self._store.percentile(ranking, user_id)

    def score_at(self, ranking: Ranking, tenths: int) -> Measure[Number | None]:
        return self._store.score_at(ranking, tenths)

    def _named(self, rows: Rows, metadata: bool) -> Rows:
        return rows._replace(entries=self._naming.name(rows.entries, metadata))
