"""What the board answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from .scores import Number

RankingKind = Literal["sparse", "unique", "modified", "dense"]
RANKING_KINDS: tuple[RankingKind, ...] = ("sparse", "unique", "modified", "dense")
T = TypeVar("T")


class Change(NamedTuple):
    """What a submission did to one ranking. Scores and ranks are None where there was or is none, or ranks were not asked for."""

    window: str
    period: str
    segment: str | None
    old_score: Number | None
    new_score: Number | None
    old_rank: int | None = None
    new_rank: int | None = None

    @property
    def label(self) -> str:
        """The name under which a receipt has it: ``weekly``, or ``weekly:country=NL``."""
        return self.window if self.segment is None else f"{self.window}:{self.segment}"

    @property
    def changed(self) -> bool:
        return self.old_score != self.new_score


@dataclass(slots=True)
class Receipt(Mapping[str, Change]):
    """The answer to a submission: the change in each window by its name, in segments by ``window:name=value``.

    A removal may touch several periods of a window: `changes` has them all, the name gives the newest.

    `closed` names the windows that no longer took it, `number` is the place of the event in the board's order.
    """

    user_id: str
    changes: tuple[Change, ...]
    closed: tuple[str, ...] = ()
    number: int | None = None
    duplicate: bool = False
    pending: bool = False

    def __getitem__(self, name: str) -> Change:
        for change in self.changes:
            if change.label == name:
                return change
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(change.label for change in self.changes))

    def __len__(self) -> int:
        return len({change.label for change in self.changes})

    @property
    def changed(self) -> bool:
        return any(change.changed for change in self.changes)


class Entry(NamedTuple):
    """A row of a ranking. `at` is when the score was reached, in microseconds, as fine as ties are told apart.

    `metadata` is what the game keeps of the user, where it was asked for.
    """

    rank: int
    user_id: str
    user_name: str | None
    score: Number
    percentile: float | None = None
    at: int | None = None
    metadata: Mapping[str, Any] | None = None


class Rows(NamedTuple):
    """A piece of a ranking: the number the board stands at, the ranking's size, and entries.

    `start` is how many stand before the first of them, where the source knows. What was read from SQL while Redis could not be
    used is `degraded`.
    """

    number: int
    total: int
    entries: list[Entry]
    start: int | None = None
    degraded: bool = False


class Found(NamedTuple):
    """The size of a ranking, and the entries of users in it: None for those who are not ranked."""

    total: int
    entries: list[Entry | None]


class Around(NamedTuple):
    """Where a user stands: the entry (None: not ranked), and the ones directly above and below it."""

    entry: Entry | None = None
    above: Entry | None = None
    below: Entry | None = None


class Watched(NamedTuple):
    """A ranking at one moment: the number the board stood at, the ranking's size, the best, and where users stood."""

    number: int
    total: int
    entries: list[Entry]
    around: Mapping[str, Around]

    @property
    def user_ids(self) -> tuple[str, ...]:
        """All users it has an entry of."""
        beside = (entry for around in self.around.values() for entry in around if entry)
        return tuple(dict.fromkeys(entry.user_id for entry in chain(self.entries, beside)))


class Measure(NamedTuple, Generic[T]):
    """The size of a ranking, and what was measured in it."""

    total: int
    value: T


class Place(NamedTuple):
    """The ranking that a read is about; `period` is None where the window has none running."""

    window: str
    period: str | None
    segment: str | None
    ranking: RankingKind


class Standing(NamedTuple):
    """A user's entry in a window's running period, or None."""

    window: str
    period: str
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class FriendEntry:
    """A row of a list of friends: the rank inside the list, and the entry on the board."""

    rank: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a ranking, whether or not an entry stands there: what a cursor points behind.

    Where a user who was erased stands in an archive, `user_id` is how many stand up to there.
    """

    score: Number
    at: int | None
    user_id: str | int


@dataclass(frozen=True, slots=True)
class Page:
    """Entries of a ranking in order, and where to go on.

    `total` is the size of the ranking, `cursor` None at the end, `period` None where the window has none running. A page that is
    `degraded` was read from SQL: as exact, but slower.
    """

    entries: tuple[Entry, ...]
    total: int
    cursor: str | None
    window: str
    period: str | None
    segment: str | None
    ranking: RankingKind
    number: int
    degraded: bool = False
