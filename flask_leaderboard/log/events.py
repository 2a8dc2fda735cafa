"""What the log keeps: one event for each submission and removal."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ..errors import IdentityError
from ..rules.scores import Number, number_text
from .tables import MOST_SEGMENT_BYTES

Kind = Literal["submit", "remove"]
NAMELESS = "\x1f"


class Draft(NamedTuple):
    """An event that has no number yet. `segments` are labels such as ``country=NL``.

    One that is `too_late` is only looked up: it may have been logged before, by its submission id.
    """

    kind: Kind
    user_id: str
    points: Number | None
    at: int
    taken_at: int
    update: str = ""
    segments: tuple[str, ...] = ()
    submission_id: str | None = None
    too_late: bool = False
    user_name: str | None = None

    @property
    def fact(self) -> str:
        """What a submission id stands for: sent again with another one, it is a conflict."""
        return _fact(self.points, self.update)


class Event(NamedTuple):
    """An event of the log. `user` is the key of the user's row.

    The `user_id` of one who was erased is a stand-in that no player can have, once the log does not know it any more.
    """

    number: int
    kind: Kind
    user_id: str
    points: Number | None
    at: int
    taken_at: int
    update: str
    segments: tuple[str, ...]
    refused: str | None = None
    submission_id: str | None = None
    user: int = 0

    @property
    def fact(self) -> str:
        """What its submission id stands for."""
        return _fact(self.points, self.update)

    @property
    def nameless(self) -> bool:
        """Tell whether nobody knows any more whose event it was."""
        return self.user_id.startswith(NAMELESS)


def stand_in(user: int) -> str:
    """Give a user id for a row that has none: with a control character, so that no player has it."""
    return f"{NAMELESS}{user}"


class Numbered(NamedTuple):
    """An event that has its number already; `writer` tells it from any other that was given the same one."""

    number: int
    draft: Draft
    writer: str

    def taken_from(self, time: int) -> Numbered:
        """Give it as one that was taken at a time or later."""
        return self if self.draft.taken_at >= time else self._replace(draft=self.draft._replace(taken_at=time))


class Logged(NamedTuple):
    """What became of a draft: its number, whether the log had it before, and with which code the fold had refused it then."""

    number: int
    known: bool = False
    refused: str | None = None


def check_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Give the segments of an event, or refuse those that the log has no room for."""
    if len("\t".join(labels).encode()) > MOST_SEGMENT_BYTES:
        raise IdentityError(f"the segments have too many bytes together: the log takes {MOST_SEGMENT_BYTES}")
    return labels


def _fact(points: Number | None, update: str) -> str:
    return f"{'' if points is None else number_text(points)} {update}"
