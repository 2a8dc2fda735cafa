"""What those who follow a topic see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..rules.results import Entry
from .topics import Topic


class Standing(NamedTuple):
    """Where a user stands: the entry (None: not ranked), and the ones directly above and below it."""

    entry: Entry | None
    above: Entry | None = None
    below: Entry | None = None


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """A topic at one moment.

    `period` is None where the window has none running. `number` is the one the board stood at. `entries` are the best, as many as
    the follower who wants most, and `standings` those of the users followed. `written` is for those who write it down: each text
    once, however many it is sent to.
    """

    topic: Topic
    period: str | None
    number: int
    total: int
    entries: tuple[Entry, ...]
    standings: Mapping[str, Standing]
    written: dict[Any, Any] = field(default_factory=dict, repr=False)
