"""Taking a user off a board."""

from __future__ import annotations

from ..errors import LeaderboardError, SeasonError
from ..rules.results import Change, Receipt
from ..store.batch import Batch
from ..store.board_store import BoardStore
from ..store.rankings import Ranking
from ..store.receipts import read_receipt
from .places import Places
from .seasons import Seasons

RANKINGS_A_CALL = 200


def remove_user(store: BoardStore, places: Places, seasons: Seasons, user_id: str, now: int, *, ranks: bool) -> Receipt:
    """Take a user out of every live ranking, in one call unless the board has very many.

    Where there is a journal it is one call always: an event of the log is a whole removal.
    """
    running = seasons.refresh()
    try:
        return _remove(store, places.open(now) if store.board.logged else places.live(now), running.word, user_id, now, ranks)
    except SeasonError:
        return remove_user(store, places, seasons, user_id, now, ranks=ranks)


def _remove(store: BoardStore, live: list[Ranking], seasons: str, user_id: str, now: int, ranks: bool) -> Receipt:
    changes: list[Change] = []
    number = None
    journaled = store.terms.journaled
    step = max(1, len(live)) if journaled else RANKINGS_A_CALL
    values = _count_values(store, live) if journaled else ()
    for first in range(0, len(live), step):
        part = live[first : first + step]
        batch = Batch(store.board, store.board.ranking if ranks else "-", seasons)
        batch.add(f"{user_id}\t{now}\t{batch.target_list(part)}\t{now}", part)
        _, (line,) = store.remove(batch, now, values)
        receipt = read_receipt(store.board, line, user_id, part, (), ranks)
        if isinstance(receipt, LeaderboardError):
            raise receipt
        changes += [change for change in receipt.changes if change.old_score is not None]
        number = receipt.number or number
    return Receipt(user_id, tuple(changes), number=number)


def _count_values(store: BoardStore, live: list[Ranking]) -> tuple[int, ...]:
    """Tell how many values of each segment are among the rankings: one that came since must not be passed over."""
    labels = {ranking.segment for ranking in live if ranking.segment}
    return tuple(sum(label.startswith(f"{name}=") for label in labels) for name in store.board.segment_names)
