"""Ranks of one ranking in SQL: what a reader asks, whether they are counted or kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from sqlalchemy import ColumnElement, Table

from ..rules.results import RankingKind
from ..rules.scales import Scale
from .tables import users


class Row(NamedTuple):
    """A row with its rank. A user who was erased has no `user_id`; `better` counts who is strictly ahead, where it was asked."""

    rank: int
    user_id: str | None
    name: str | None
    profile: str | None
    standing: float
    at: int
    better: int | None = None


class Ranks(Protocol):
    """A ranking in order, best first."""

    scale: Scale
    total: int

    def of_users(self, user_ids: Sequence[str], kind: RankingKind) -> list[Row]:
        """Give the rows of users who are ranked, in any order, with who is better."""

    def between(self, first: int, stop: int, kind: RankingKind) -> list[Row]:
        """Give the rows from index `first` to before index `stop`."""

    def better(self, standing: float) -> int:
        """Count those strictly ahead of a standing."""

    def through(self, standing: float) -> int:
        """Count those ahead of a standing or tied with it."""

    def standing_at(self, index: int) -> float:
        """Give the standing at an index below the total."""

    def index_after(self, standing: float, tie: int, user: str | int) -> int:
        """Give the index of the first row behind a position, whether or not a row still stands there."""


def profile_columns(metadata: bool) -> list[ColumnElement[Any]]:
    """Give the columns with what is known of users."""
    wanted: list[ColumnElement[Any]] = [users.c.user_id, users.c.name]
    return [*wanted, users.c.profile] if metadata else wanted


def known_of(row: Any) -> tuple[str | None, str | None, str | None]:
    """Give id, name and profile of a row's user; nothing of one who was erased."""
    return (None, None, None) if row.user_id is None else (row.user_id, row.name, getattr(row, "profile", None))


def mine(table: Table, ranking: int) -> ColumnElement[bool]:
    """Give the condition that a row is of a ranking."""
    return table.c.ranking == ranking
