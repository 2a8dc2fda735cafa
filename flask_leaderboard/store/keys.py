"""The names of a board's keys. All carry the board's hash tag, so they share a Redis Cluster slot."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BoardKeys:
    """Names keys of one board: ``lb1:{arena}:daily:2026-11-18``. With a `shadow` they are those of fresh data beside it."""

    prefix: str
    board_name: str
    shadow: str | None = None
    board: str = field(init=False)

    def __post_init__(self) -> None:
        live = f"{self.prefix}:{{{self.board_name}}}"
        object.__setattr__(self, "board", live if self.shadow is None else f"{live}:@fresh:{self.shadow}")

    @property
    def shadows(self) -> str:
        return f"{self.board}:@shadows"

    @property
    def made(self) -> str:
        return f"{self.board}:@made"

    @property
    def journal(self) -> str:
        return f"{self.board}:@journal"

    @property
    def events(self) -> str:
        return f"{self.board}:@events"

    @property
    def channel(self) -> str:
        """The channel on which changes are signalled."""
        return f"{self.board}:@live"

    def segment_values(self, segment_name: str) -> str:
        return f"{self.board}:@segment:{segment_name}"

    def ids(self, bucket: int, generation: int) -> str:
        return f"{self.board}:@ids:{bucket}:{generation}"

    def claim(self, duty: str) -> str:
        return f"{self.board}:@claim:{duty}"

    def rate(self, bucket: int, minute: int) -> str:
        return f"{self.board}:@rate:{bucket}:{minute}"

    def entries(self, window_name: str, period_id: str, segment: str | None) -> str:
        tail = f":{segment}" if segment else ""
        return f"{self.board}:{window_name}:{period_id}{tail}"

    @staticmethod
    def ticks(entries: str) -> str:
        return f"{entries}/ticks"

    @staticmethod
    def levels(entries: str) -> str:
        return f"{entries}/levels"

    @staticmethod
    def signal(entries: str) -> str:
        return f"{entries}/signal"
