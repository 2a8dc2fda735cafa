"""What can be followed."""

from __future__ import annotations

from typing import NamedTuple

from ..engine.hub import Hub
from ..errors import InputError
from ..rules.results import RankingKind


class Topic(NamedTuple):
    """The running period of a window, of the whole board or of a segment (``country=NL``), with ties numbered in one way."""

    board: str
    window: str
    segment: str | None
    ranking: RankingKind


def find_topic(hub: Hub, board: str | None, window: str | None, segment: str | None, ranking: str | None) -> Topic:
    """Give the topic of these names, where those left out are the board's own; refuse what is not there."""
    for label, value in (("board", board), ("window", window), ("segment", segment), ("ranking", ranking)):
        if not isinstance(value, str | None):
            raise InputError(f"{label} {value!r} must be text")
    rules = (hub.default if board is None else hub[board]).board
    found = rules.windows[0] if window is None else rules.window(window)
    return Topic(rules.name, found.name, rules.segment_label(segment), rules.check_ranking(ranking))  # type: ignore[arg-type]
