"""Whether what Redis answers can be trusted."""

from __future__ import annotations

from typing import Protocol


class Guard(Protocol):
    """Knows whether what Redis answers can be trusted: the number at the front of a reply tells how far it has folded."""

    def look(self) -> None:
        """Look up, now and then, how far Redis must be."""

    def insist(self) -> None:
        """Look, and refuse to let Redis give numbers where it may have lost what others know of."""

    @property
    def least(self) -> int | None:
        """How far Redis must be, as far as is known; None where anything will do."""

    def expect(self, number: int) -> None:
        """Remember how far Redis is."""

    def is_behind(self, number: int, least: int | None = None) -> bool:
        """Tell whether Redis has lost what it had; where it has not, remember how far it is."""

    def repair(self) -> None:
        """Bring Redis up to date, or say that it takes longer."""


class Trusting:
    """Trusts Redis: there is nothing else to go by."""

    least = None

    def look(self) -> None:
        pass

    def insist(self) -> None:
        pass

    def expect(self, number: int) -> None:
        pass

    def is_behind(self, number: int, least: int | None = None) -> bool:
        return False

    def repair(self) -> None:
        pass
