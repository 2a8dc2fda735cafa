"""A process that plays until it is killed: it notes every try, every answer and every ranking it was shown.

``python -m tests.chaos.player python|web ledger|write_behind SOCKET DATABASE_URL JOURNAL SEED [SABOTAGE]``: on a board of its
own, or over HTTP.
"""

from __future__ import annotations

import json
import random
import secrets
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from flask_leaderboard import Leaderboard, LeaderboardError
from flask_leaderboard.engine.behind import JournalStanding
from flask_leaderboard.engine.standing import Standing
from flask_leaderboard.errors import TemporaryError
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from flask_leaderboard.store import bundle, calls
from flask_leaderboard.store.gate import Gate
from tests.chaos.game import BOARDS, COUNTRIES, USERS
from tests.chaos.web_board import WebBoard


def play(board: Leaderboard | WebBoard, journal: Any, seed: str) -> None:
    chance, turn, unsure = random.Random(seed), 0, list[dict[str, Any]]()

    def note(what: str, **details: Any) -> None:
        journal.write(json.dumps({"what": what, **details}) + "\n")
        journal.flush()

    while True:
        turn += 1
        if unsure and chance.random() < 0.3:
            score = chance.choice(unsure)
        else:
            country = chance.choice(COUNTRIES)
            score = {"user_id": chance.choice(USERS), "points": chance.randint(-9, 9), "submission_id": f"{seed}-{turn}"}
            score["segments"] = {"country": country} if country else None
            note("try", **score)
        unsure = [*unsure[-20:], score]
        try:
            receipt = board.submit(**score)
            note("ack", id=score["submission_id"], number=receipt.number, pending=receipt.pending)
        except TemporaryError as error:
            note("unsure", why=str(error))
        except LeaderboardError as error:
            note("refused", id=score["submission_id"], code=error.code)
        if isinstance(board, Leaderboard) and chance.random() < 0.04:
            remove(board, chance.choice(USERS), note)
        try:
            page = board.top(20, ranking="unique")
            note("saw", number=page.number, entries=[(entry.rank, entry.user_id, entry.score) for entry in page.entries])
        except TemporaryError:
            pass


def remove(board: Leaderboard, user: str, note: Callable[..., None]) -> None:
    note("remove", user_id=user)
    with suppress(TemporaryError):
        receipt = board.remove(user)
        if receipt.number is not None:
            note("removed", user_id=user, number=receipt.number)


def sabotage(what: str) -> None:
    """Take away what the promises hang on, to show that the judge would see it."""
    if what == "detector":
        Standing.look = lambda self, **_: None  # type: ignore[method-assign]
        Standing.is_behind = lambda self, *_: False  # type: ignore[method-assign]
    elif what == "order":
        change_script("apply", "if opened.seq < first - 1 then")
    elif what == "numbering":
        JournalStanding.look = JournalStanding.insist = lambda self, **_: None  # type: ignore[method-assign]
        change_script("submit", "if seq < number then")
    elif what == "once":
        append = EventLog.append

        def forgetful(self: EventLog, drafts: Any, seasons: Any = None) -> Any:
            mark = secrets.token_hex(8)
            renamed = [draft._replace(submission_id=f"{draft.submission_id}#{mark}") for draft in drafts]
            return append(self, renamed, seasons)

        EventLog.append = forgetful  # type: ignore[method-assign]
    else:
        raise SystemExit(f"there is no sabotage {what!r}")


def change_script(name: str, check: str) -> None:
    """Take a check out of a script."""
    source = bundle.script_text(name)
    assert check in source
    without = source.replace(check, "if false then")
    calls.Scripts.words = lambda self, command: (  # type: ignore[method-assign]
        ("EVAL", without) if command == name else ("EVALSHA", bundle.manifest()["commands"][command]["sha1"])
    )


def main(kind: str, mode: str, socket: str, url: str, path: str, seed: str, *broken: str) -> None:
    for what in broken:
        sabotage(what)
    with Path(path).open("a", encoding="utf-8") as journal:
        play(WebBoard(socket) if kind == "web" else own_board(mode, socket, url, Path(path).parent), journal, seed)


def own_board(mode: str, socket: str, url: str, folder: Path) -> Leaderboard:
    rules = BOARDS[mode]
    client = Redis(unix_socket_path=socket, retry=Retry(NoBackoff(), 0), socket_timeout=0.5)
    database = Database(database_url(url, folder))
    caller = calls.Caller(client, gate=Gate(rest_seconds=0.05))
    return Leaderboard(rules, caller, log=EventLog(rules, database))


if __name__ == "__main__":
    main(*sys.argv[1:])
