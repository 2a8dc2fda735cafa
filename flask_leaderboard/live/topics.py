"""What can be followed."""

from __future__ import annotations

from typing import NamedTuple

from ..rules.results import RankingKind


class Topic(NamedTuple):
    """The running period of a window, of the whole board or of a segment (``country=NL``), with ties numbered in one way."""

    board: str
    window: str
    segment: str | None
    ranking: RankingKind
