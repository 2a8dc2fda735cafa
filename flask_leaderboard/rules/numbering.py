"""Numbering of a list in which some are tied."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from .results import RankingKind
from .scores import Number


def number_ties(scores: Sequence[Number], kind: RankingKind) -> list[int]:
    """Give the rank of each score of a list that is in order, best first."""
    ranks: list[int] = []
    for level, (_, tied) in enumerate(groupby(scores), start=1):
        size = len(list(tied))
        first, last = len(ranks) + 1, len(ranks) + size
        numbers = {"sparse": [first] * size, "modified": [last] * size, "dense": [level] * size}
        ranks += numbers.get(kind, range(first, last + 1))
    return ranks
