"""Plays rounds in which processes and Redis are killed, stopped and set back, then judges them.

``python -m tests.chaos.harness --rounds 200 --seed 1`` prints a line a round and a summary, the exit status is 1 where a
promise broke. Boards that write to the log first and boards that count first take turns.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from queue import Queue

import psutil

from flask_leaderboard import Leaderboard, LeaderboardError
from flask_leaderboard.errors import LogMismatchError, TemporaryError
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from tests.chaos.game import BOARDS
from tests.chaos.judge import judge, read_journal
from tests.chaos.summary import Played, write_summary
from tests.chaos.victims import ROOT, RedisVictim, serve, wait_for_web, work
from tests.databases import PostgreSQL
from tests.waiting import until

LOCK_MS = 500
PLAYERS = ("python", "python", "web", "web")
DEEDS = (
    "kill_player",
    "kill_redis",
    "empty_redis",
    "set_back_redis",
    "freeze_redis",
    "kill_database",
    "freeze_database",
    "kill_web_worker",
    "kill_worker",
)


class Round:
    """One round: players with boards of their own and over HTTP, the app behind those, a worker, a Redis, a database."""

    def __init__(self, folder: Path, server: PostgreSQL, seed: int, mode: str, sabotage: str | None = None) -> None:
        self._folder = folder
        self._mode = mode
        self._rules = BOARDS[mode]
        self._server = server
        self._url = server.empty()
        self._seed = seed
        self._sabotage = [sabotage] if sabotage else []
        self._chance = random.Random(seed)
        self._started = 0
        self._cleaning = ExitStack()
        self._players: list[tuple[str, subprocess.Popen[bytes]]] = []
        self.deeds: Counter[str] = Counter()

    def start(self) -> None:
        """Start all processes; `stop` ends those that were, also where one could not be."""
        self._migrate()
        self.redis = RedisVictim(self._folder, "always" if self._mode == "write_behind" else "everysec")
        self._cleaning.callback(self.redis.stop)
        environ = {"CHAOS_REDIS": str(self.redis.socket), "CHAOS_DATABASE": self._url, "CHAOS_MODE": self._mode}
        self.worker = work(self._folder, environ)
        self._cleaning.callback(self.worker.stop)
        self.web = serve(self._folder, environ)
        self._cleaning.callback(self.web.stop)
        self._cleaning.callback(self._stop_players)
        wait_for_web(self._folder)
        for kind in PLAYERS:
            self._add_player(kind)

    def _migrate(self) -> None:
        database = Database(database_url(self._url, self._folder))
        database.migrate()
        database.close()

    def play(self, deeds: int) -> None:
        """Let the players play, and now and then do something to them or to Redis."""
        for _ in range(deeds):
            time.sleep(self._chance.uniform(0.1, 0.4))
            self.do(getattr(self, self._chance.choice(DEEDS)))
        time.sleep(0.3)

    def do(self, deed: Callable[[], None]) -> None:
        self.deeds[deed.__name__] += 1
        deed()

    def kill_player(self) -> None:
        kind, victim = self._players.pop(0)
        victim.kill()
        victim.wait(10)
        self._add_player(kind)

    def kill_database(self) -> None:
        self._server.kill()
        self._server.start()

    def freeze_database(self) -> None:
        self._freeze(self._server.process.pid)

    def kill_web_worker(self) -> None:
        self.web.kill_child(self._chance)

    def kill_worker(self) -> None:
        self.worker.kill()
        self.worker.start()

    def kill_redis(self) -> None:
        self.redis.kill()
        self.redis.start()

    def empty_redis(self) -> None:
        with self._all_logged():
            self.redis.kill()
            self.redis.empty()
        self.redis.start()

    def set_back_redis(self) -> None:
        self.redis.remember()
        time.sleep(0.2)
        with self._all_logged():
            self.redis.kill()
            self.redis.set_back()
        self.redis.start()

    @contextmanager
    def _all_logged(self) -> Iterator[None]:
        """Let Redis lose nothing that only it has: where it counts first, stop who plays, and drain it before."""
        if self._mode != "write_behind":
            yield
            return
        writers = [process for _, process in self._players] + [self.web.process, self.worker.process]
        whole = [one for process in writers for one in _family(process.pid)]

        def drain() -> bool:
            """Let them go on for a moment first: whoever is stopped may hold a lock of the database."""
            _signal(whole, signal.SIGCONT)
            time.sleep(0.05)
            _signal(whole, signal.SIGSTOP)
            board.drain_all()
            return True

        try:
            with self._open() as board, suppress(LogMismatchError):  # the judge is told then too
                until(drain, passing=(TemporaryError,))
            yield
        finally:
            _signal(whole, signal.SIGCONT)

    def freeze_redis(self) -> None:
        self._freeze(self.redis.process.pid)

    def _freeze(self, pid: int) -> None:
        """Stop a process and its children for a moment."""
        whole = _family(pid)
        _signal(whole, signal.SIGSTOP)
        time.sleep(self._chance.uniform(0.1, 0.8))
        _signal(whole, signal.SIGCONT)

    def verdict(self) -> tuple[list[str], int]:
        """Stop all that writes; give what is wrong, and how many events were played."""
        ended = [f"a player ended by itself: {self._told()}" for _, player in self._players if player.poll() is not None]
        self._stop_app()
        with self._open() as board:
            try:
                until(lambda: board.log.settled_head() >= 0, passing=(TemporaryError,))  # a commit may outlive who sent it
                until(lambda: board.count() >= 0 and board.drain_all() is None, passing=(TemporaryError,))
            except LeaderboardError as error:
                return [*ended, f"the board can't be used: {error}"], board.log.head()
            events = board.log.read(0, 1_000_000)
            journals = [read_journal(path) for path in sorted(self._folder.glob("player-*"))]
            return ended + judge(events, journals, board), len(events)

    @contextmanager
    def _open(self) -> Iterator[Leaderboard]:
        """Give the board; Redis is judged, not SQL in its place. Nobody is waited for who holds a lock and is stopped."""
        url = database_url(self._url, self._folder).update_query_dict({"options": f"-c lock_timeout={LOCK_MS}"})
        database = Database(url)
        try:
            at_once = replace(self._rules, coalesce_ms=0)
            yield Leaderboard(at_once, self.redis.client, log=EventLog(at_once, database), fallback_rows=0)
        finally:
            database.close()

    def stop(self) -> None:
        self._cleaning.close()

    def _stop_app(self) -> None:
        """Stop the players, and who may still be at what they have sent."""
        self._stop_players()
        self.worker.stop()
        self.web.stop()

    def _told(self) -> str:
        return (self._folder / "log").read_text()[-500:]

    def _stop_players(self) -> None:
        for _, player in self._players:
            player.kill()
            player.wait(10)
        self._players = []

    def _add_player(self, kind: str) -> None:
        self._started += 1
        journal = self._folder / f"player-{self._started}"
        socket = self.redis.socket if kind == "python" else self._folder / "web.sock"
        command = [sys.executable, "-m", "tests.chaos.player", kind, self._mode, str(socket), self._url, str(journal)]
        with (self._folder / "log").open("ab") as log:
            player = subprocess.Popen([*command, f"{self._seed}.{self._started}", *self._sabotage], cwd=ROOT, stderr=log)
        self._players.append((kind, player))
        until(journal.exists)


def _family(pid: int) -> list[psutil.Process]:
    """List a process and all that it has started."""
    with suppress(psutil.NoSuchProcess):
        return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return []


def _signal(processes: Sequence[psutil.Process], kind: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(kind)


@contextmanager
def playing(server: PostgreSQL, seed: int, mode: str = "ledger", sabotage: str | None = None) -> Iterator[Round]:
    """Give a round on an empty database, and clean up behind it."""
    folder = Path(tempfile.mkdtemp(prefix="leaderboard-chaos-"))
    round_ = Round(folder, server, seed, mode, sabotage)
    try:
        round_.start()
        yield round_
    finally:
        round_.stop()
        shutil.rmtree(folder, ignore_errors=True)


def play_round(servers: Queue[PostgreSQL], seed: int, mode: str, deeds: int) -> Played:
    """Play a round on a server that nobody else plays on, and tell how it ended."""
    server = servers.get()
    try:
        with playing(server, seed, mode) as round_:
            round_.play(deeds)
            wrong, events = round_.verdict()
        played = Played(seed, mode, events, round_.deeds, tuple(wrong))
    except Exception as error:  # a round that can't be played is no reason to play no other
        played = Played(seed, mode, 0, Counter(), (f"could not be played: {error!r}"[:300],))
    finally:
        servers.put(server)
    print(played, flush=True)
    return played


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill things for a while, and see whether the promises hold.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each next one has the next")
    parser.add_argument("--deeds", type=int, default=6, help="how often something is done to the processes in a round")
    parser.add_argument("--mode", choices=BOARDS, help="of the board; without it the rounds take turns")
    parser.add_argument("--jobs", type=int, default=1, help="so many rounds at a time")
    parser.add_argument("--summary", type=Path, help="a file to write the summary to")
    options = parser.parse_args()
    servers: Queue[PostgreSQL] = Queue()
    for _ in range(options.jobs):
        servers.put(PostgreSQL())
    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            modes = [options.mode] if options.mode else list(BOARDS)
            rounds = [
                pool.submit(play_round, servers, seed, modes[seed % len(modes)], options.deeds)
                for seed in range(options.seed, options.seed + options.rounds)
            ]
            played = [found.result() for found in rounds]
    finally:
        while not servers.empty():
            servers.get().stop()
    told = write_summary(played, options.summary)
    print(told)
    raise SystemExit(any(found.wrong for found in played))


if __name__ == "__main__":
    main()
