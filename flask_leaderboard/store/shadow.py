"""Fresh data of a board beside its live data: a board of its own, under names of its own, until it is swapped in."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from ..errors import StoreUnavailableError
from .batch import Batch
from .board_store import BoardStore
from .rankings import Ranking
from .streams import open_stream

CALLS_UNDER_WAY = 4
KEYS_A_CALL = 500
EVERYTHING = "*"
T = TypeVar("T")


class Shadow(BoardStore):
    """A board's data in the making. Its names carry a token, so two that are in the making do not meet.

    Every key it is going to have is noted before it is made: whoever comes next finds what was left by one that died. What says
    how far it is goes first when it is dropped, and without that nothing is swapped in.
    """

    def __init__(self, live: BoardStore, token: str | None = None) -> None:
        self.token = token or secrets.token_hex(8)
        super().__init__(live.board, live.caller, live.keys.prefix, shadow=self.token)
        self._live = live
        self._noted: set[str] = set()

    @classmethod
    def all_of(cls, live: BoardStore) -> list[Shadow]:
        """List those that were begun and neither swapped in nor dropped."""
        (tokens,) = live.caller.ask(("SMEMBERS", live.keys.shadows))
        return [cls(live, token.decode()) for token in sorted(tokens)]

    def begin(self, windows: Sequence[str]) -> None:
        """Note that there is going to be fresh data of windows; of all, where none is named."""
        self._caller.ask(
            ("SADD", self._live.keys.shadows, self.token),
            ("HSET", self.keys.board, "windows", _extent(windows), "rules", self.board.rules_line, *self._layouts()),
        )

    def add_labels(self, labels: Iterable[str]) -> None:
        """Take over the segment values that the board has seen."""
        for name, values in groupby(sorted(labels), lambda label: label.partition("=")[0]):
            key = self.keys.segment_values(name)
            self._note([key])
            self._caller.ask(("SADD", key, *values))

    def load(self, ranking: Ranking, parts: Iterable[Sequence[str]]) -> int:
        """Load rows, some calls being under way at a time; give how many. Each reply must tell the size that was sent."""
        self._note(ranking.keys)
        sizes: deque[int] = deque()
        total = 0
        with open_stream(self._caller, "restore") as stream:
            for lines in parts:
                stream.send(ranking.keys, [ranking.line, *lines])
                total += len(lines)
                sizes.append(total)
                if len(sizes) == CALLS_UNDER_WAY:
                    _expect(stream.receive()[0], sizes.popleft())
            while sizes:
                _expect(stream.receive()[0], sizes.popleft())
        return total

    def finish(self, number: int, sizes: dict[Ranking, int]) -> None:
        """Say at which number the loaded rows stand, after a look that all of them are still there."""
        self._caller.ask(("HSET", self.keys.board, "seq", number))
        for part in _parts(list(sizes)):
            found = self._caller.ask(*(("ZCARD", ranking.keys[0]) for ranking in part))
            for ranking, size in zip(part, found, strict=True):
                _expect(size, sizes[ranking])
        self._caller.ask(("HSET", self.keys.board, "loaded", 1))

    def is_loaded(self, windows: Sequence[str]) -> bool:
        """Tell whether all rows of windows are here, under the rules as they are now."""
        fields = dict(zip(self._layouts()[::2], self._layouts()[1::2], strict=True))
        fields |= {"windows": _extent(windows), "rules": self.board.rules_line, "loaded": "1"}
        return self.marks(list(fields)) == [value.encode() for value in fields.values()]

    def number(self) -> int:
        """Give the number of the last event it has; it must be there."""
        (number,) = self.marks(["seq"])
        if number is None:
            raise lost()
        return int(number)

    def apply(self, batch: Batch, first: int, *, board_key: str | None = None) -> tuple[int, list[bytes] | None]:
        self._note(batch.ranking_keys)
        return super().apply(batch, first, board_key=board_key)

    def swap_in(self, live_keys: Iterable[str], windows: Sequence[str]) -> bool:
        """Take the place of live keys, in one step; False where it is not as far as the live board, or for a part too far."""
        whole = not windows
        shared = {self.keys.segment_values(name) for name in self.board.segment_names}
        fresh = (self._made() | shared if whole else self._made() - shared) | {self._beside(key) for key in live_keys}
        threes = [name for key in sorted(fresh) for name in (key, self._in_place(key), f"{key}/old")]
        names = windows or [window.name for window in self.board.windows]
        return self._live.swap(self.keys.board, threes, names, whole=whole)

    def clear(self) -> None:
        """Drop what there is of it."""
        self._live.drop([self.keys.board])
        for part in _parts(sorted(self._made() | self._noted)):
            self._live.drop(part)
        self._caller.ask(("DEL", self.keys.made), ("SREM", self._live.keys.shadows, self.token))

    def _layouts(self) -> list[str]:
        return [text for window in self.board.windows for text in (f"layout:{window.name}", self.board.layout(window.name))]

    def _note(self, keys: Sequence[str]) -> None:
        new = [key for key in keys if key not in self._noted]
        if new:
            self._caller.ask(("SADD", self.keys.made, *new))
            self._noted.update(new)

    def _made(self) -> set[str]:
        (keys,) = self._caller.ask(("SMEMBERS", self.keys.made))
        return {key.decode() for key in keys}

    def _beside(self, live_key: str) -> str:
        return self.keys.board + live_key.removeprefix(self._live.keys.board)

    def _in_place(self, key: str) -> str:
        return self._live.keys.board + key.removeprefix(self.keys.board)


def lost() -> StoreUnavailableError:
    """Give the error for fresh data that is gone before it was swapped in."""
    return StoreUnavailableError("Redis lost data while it was being rebuilt, or another process has begun anew: repeat it")


def _expect(found: int, wanted: int) -> None:
    if found != wanted:
        raise lost()


def _extent(windows: Sequence[str]) -> str:
    return " ".join(sorted(windows)) or EVERYTHING


def _parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    return (values[first : first + KEYS_A_CALL] for first in range(0, len(values), KEYS_A_CALL))
