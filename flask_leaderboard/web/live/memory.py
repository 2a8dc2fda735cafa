"""Lists that were told lately: who comes back with one of them gets what changed since."""

from __future__ import annotations

from collections import OrderedDict, deque
from threading import Lock

from ...live.topics import Topic
from .shown import Shown

STATES = 16
"""How many lists of a topic and length are remembered: eight seconds of one that never rests."""
TOPICS = 128
"""Of how many topics and lengths."""


class Memory:
    """Remembers the lists that were told last, of the topics that were told of last."""

    def __init__(self) -> None:
        self._lists: OrderedDict[tuple[Topic, int], deque[Shown]] = OrderedDict()
        self._lock = Lock()

    def keep(self, topic: Topic, top: int, shown: Shown) -> None:
        with self._lock:
            kept = self._lists.setdefault((topic, top), deque(maxlen=STATES))
            self._lists.move_to_end((topic, top))
            if not kept or kept[-1].sum != shown.sum:
                kept.append(shown)
            if len(self._lists) > TOPICS:
                self._lists.popitem(last=False)

    def find(self, topic: Topic, top: int, sum_: str) -> Shown | None:
        """Give a list by its checksum, where it is still known."""
        with self._lock:
            return next((shown for shown in self._lists.get((topic, top), ()) if shown.sum == sum_), None)
