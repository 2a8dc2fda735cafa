"""An app under gunicorn for the time of a block."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]

TOP = Path(__file__).parent.parent
BACKLOG = 1024
START_SECONDS = 30
STOP_SECONDS = 40


@dataclass(frozen=True)
class Served:
    """A gunicorn that listens on a port."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def workers(self) -> list[int]:
        """List the process ids of the workers."""
        return sorted(child.pid for child in psutil.Process(self.process.pid).children())

    def wait(self, ready: Callable[[int], bool]) -> None:
        """Wait until the app is ready, by a check that is given the port."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if ready(self.port):
                return
            time.sleep(0.05)
        raise SystemExit(f"gunicorn did not start: {self.log.read_text()}")


@contextmanager
def gunicorn(app: str, *options: str) -> Iterator[Served]:
    """Serve an app, and stop it at the end."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    port, descriptor = listener.getsockname()[1], listener.fileno()
    folder = Path(tempfile.mkdtemp(prefix="leaderboard-web-"))
    common = ["--bind", f"fd://{descriptor}", "--keep-alive", "60", "--log-level", "error", "--no-control-socket"]
    command = [sys.executable, "-m", "gunicorn", *common, *options, app]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=TOP, stdout=log, stderr=subprocess.STDOUT, pass_fds=[descriptor])
    listener.close()
    try:
        yield Served(process, port, folder / "log")
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)
