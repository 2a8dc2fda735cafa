"""What keeps a board of the log whole: its totals, and rebuilding and verifying Redis by them."""

from __future__ import annotations

from ..log.event_log import EventLog
from ..log.totals import Totals
from ..rules.board import Board
from ..store.board_store import BoardStore
from .folding import Folder
from .live_rankings import LiveRankings
from .places import Places
from .reading import Clock
from .rebuilding import Rebuilder
from .recovery import Recovery
from .seasons import Seasons
from .verifying import Verifier


class Upkeep:
    """Has the parts, put together for one board. What Redis has lost is brought back by `recovery` from now on."""

    def __init__(
        self, board: Board, store: BoardStore, places: Places, seasons: Seasons, log: EventLog, folder: Folder, clock: Clock
    ) -> None:
        self.totals = Totals(board, log.database, log)
        live = LiveRankings(board, store, places, self.totals, clock)
        self.rebuilder = Rebuilder(board, store, seasons, log, self.totals, folder, live)
        self.verifier = Verifier(board, store, log, self.totals, live)
        self.recovery = Recovery(board.name, self.rebuilder)
        folder.recover = self.recovery.start
