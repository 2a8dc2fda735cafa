"""What keeps a board of the log whole: rebuilding and verifying Redis by its totals."""

from __future__ import annotations

from ..rules.board import Board
from ..store.board_store import BoardStore
from .ledger import Ledger
from .live_rankings import LiveRankings
from .places import Places
from .reading import Clock
from .rebuilding import Rebuilder
from .recovery import Recovery
from .verifying import Verifier


class Upkeep:
    """Has the parts, put together for one board. What Redis has lost is brought back by `recovery` from now on."""

    def __init__(self, board: Board, store: BoardStore, places: Places, ledger: Ledger, clock: Clock) -> None:
        log, totals, folder = ledger.log, ledger.totals, ledger.folder
        live = LiveRankings(board, store, places, totals, clock)
        self.rebuilder = Rebuilder(board, store, places.seasons, log, totals, folder, live)
        self.verifier = Verifier(board, store, log, totals, live, folder)
        self.recovery = Recovery(board.name, self.rebuilder)
        folder.recover = self.recovery.start
