"""What keeps a board of the log whole: rebuilding and verifying Redis by its totals."""

from __future__ import annotations

from ..rules.board import Board
from ..store.board_store import BoardStore
from .behind import WriteBehind
from .ledger import Ledger
from .live_rankings import LiveRankings
from .places import Places
from .reading import Clock
from .rebuilding import Rebuilder
from .recovery import Recovery
from .verifying import Verifier


class Upkeep:
    """Has the parts, put together for one board. What Redis has lost is brought back by `recovery` from now on."""

    def __init__(self, board: Board, store: BoardStore, places: Places, ledger: Ledger | WriteBehind, clock: Clock) -> None:
        log, totals, folder = ledger.log, ledger.totals, ledger.folder
        live = LiveRankings(board, store, places, totals, clock)
        self.rebuilder = Rebuilder(board, store, places.seasons, log, totals, folder, live, ledger.tail, ledger.bring_back)
        self.verifier = Verifier(board, store, log, totals, live, folder, ledger.tail)
        self.recovery = Recovery(board.name, self.rebuilder)
        folder.recover = self.recovery.start
