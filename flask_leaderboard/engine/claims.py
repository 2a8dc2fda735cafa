"""Work that one process at a time may do for a board."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..errors import LeaderboardError, StoreUnavailableError
from ..store.board_store import BoardStore

CLAIM_SECONDS = 60


class ClaimedError(StoreUnavailableError):
    """Another process is at it."""


class Claim:
    """A claim that is ours. `keep` must be called often; it fails where another process has taken over."""

    def __init__(self, store: BoardStore, duty: str, token: str) -> None:
        self._store = store
        self._duty = duty
        self._token = token
        self._renew_at = time.monotonic() + CLAIM_SECONDS / 4

    def keep(self) -> None:
        """See that the claim is still ours, at most a few times a minute."""
        if time.monotonic() >= self._renew_at:
            self.check()

    def check(self) -> None:
        """See now that the claim is still ours."""
        if not self._store.renew(self._duty, self._token, CLAIM_SECONDS):
            raise StoreUnavailableError(f"the {self._duty} of board {self._store.board.name!r} was lost to another process")
        self._renew_at = time.monotonic() + CLAIM_SECONDS / 4


@contextmanager
def claiming(store: BoardStore, duty: str) -> Iterator[Claim]:
    """Have a claim for as long as the block takes."""
    token = store.claim(duty, CLAIM_SECONDS)
    if token is None:
        raise ClaimedError(
            f"another process is at the {duty} of board {store.board.name!r}: wait until it is done, or for"
            f" {CLAIM_SECONDS} seconds where it has died",
            CLAIM_SECONDS / 4,
        )
    try:
        yield Claim(store, duty, token)
    finally:
        with suppress(LeaderboardError):  # a claim that can't be given up runs out by itself
            store.release(duty, token)
