"""Keep a private Valkey server: start it, watch for its users, stop it after the last one left.

A script of its own: run by path, with nothing but the standard library. What it knows about others comes from locks that
the kernel drops when their holder ends, however it ends:

users.lock   shared, by every process that uses the server; the keeper takes it alone when all of them are gone
keeper.lock  by the one keeper of the folder
server.lock  by the server itself, which inherits it: no second server can start on the data
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

try:
    import ctypes
except ImportError:  # a Python built without libffi: a server whose keeper was killed waits to be adopted
    ctypes = None  # type: ignore[assignment]

POLL_SECONDS = 0.1
PROBE_SECONDS = 0.3
LISTEN_SECONDS = 10.0
STOP_SECONDS = 10.0
LOG_BYTES = 1_000_000
PR_SET_PDEATHSIG = 1
OPTIONS = (
    *("--port", "0"),
    *("--unixsocketperm", "700"),
    *("--appendonly", "yes"),
    *("--appendfsync", "everysec"),
    *("--save", ""),
    *("--lazyfree-lazy-expire", "yes"),
    *("--lazyfree-lazy-server-del", "yes"),
    *("--lazyfree-lazy-eviction", "yes"),
    *("--lazyfree-lazy-user-del", "yes"),
    *("--maxmemory-policy", "noeviction"),
)


def open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def lock(file: int) -> bool:
    """Take a lock alone, or tell that others have it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def within(seconds: float, check: Callable[[], bool]) -> bool:
    """Tell whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def rotate(log: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.old"))


class Server:
    """What is common to a server started here and one found running."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inode = 0
        self.expected = time.monotonic() + LISTEN_SECONDS

    def reachable(self) -> bool:
        """Tell whether the socket came, and is still there: without it nobody finds the server again."""
        try:
            inode = self.path.stat().st_ino
        except OSError:
            inode = 0
        self.inode = self.inode or inode
        return inode == self.inode and (inode > 0 or time.monotonic() < self.expected)

    def lives(self) -> bool:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def failure(self) -> str:
        """Tell why the server ended by itself; empty where another try may do."""
        return ""


class StartedServer(Server):
    """The server as a child of this process."""

    def __init__(self, folder: Path, path: Path, binary: Path, held: int) -> None:
        super().__init__(path)
        path.unlink(missing_ok=True)
        log = folder / "server.log"
        places = ("--dir", str(folder), "--unixsocket", str(path), "--logfile", str(log))
        with log.open("ab") as output:
            self.process = subprocess.Popen(  # noqa: S603 - nothing of it comes from outside
                [str(binary), *places, *OPTIONS],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[held],
                preexec_fn=end_with_parent(),  # noqa: PLW1509 - this process has one thread
            )
        os.close(held)

    def lives(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def failure(self) -> str:
        code = self.process.returncode
        return "" if code in (None, 0, -signal.SIGKILL) else f"the server process ended with status {code}"


class AdoptedServer(Server):
    """A server that outlived its keeper. On Linux it was told to end with it, and is about to."""

    def __init__(self, path: Path, held: int) -> None:
        super().__init__(path)
        self.held = held

    def lives(self) -> bool:
        return not lock(self.held)

    def stop(self) -> None:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(str(self.path))
            client.sendall(b"SHUTDOWN\r\n")
        within(STOP_SECONDS, lambda: not self.lives())


def end_with_parent() -> Callable[[], None]:
    """Give what a child does before it becomes the server, so that it ends cleanly when this process is killed."""
    keeper = os.getpid()
    libc = ctypes.CDLL(None) if ctypes and sys.platform == "linux" else None

    def prepare() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if libc:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != keeper:
            os._exit(0)

    return prepare


def detach() -> None:
    """Become nobody's child, and a process that only SIGTERM stops."""
    if os.fork():
        os._exit(0)
    os.umask(0o077)
    # What the app ignores or blocks is inherited, and would hide the end of the server.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def report(text: str) -> None:
    """Tell the process that waits for the server, if it still does."""
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), text.encode())


def keep(folder: Path, path: Path, binary: Path) -> None:
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    keeper, users, held = (open_lock(folder / f"{name}.lock") for name in ("keeper", "users", "server"))
    # Others take this lock for an instant, to see whether there is a keeper.
    if not within(PROBE_SECONDS, lambda: lock(keeper)):
        return
    rotate(folder / "server.log")
    server = StartedServer(folder, path, binary, held) if lock(held) else AdoptedServer(path, held)
    while server.lives() and server.reachable() and not asked and not lock(users):
        time.sleep(POLL_SECONDS)
    report(server.failure())
    server.stop()


def main(folder: str, path: str, binary: str) -> None:
    detach()
    try:
        keep(Path(folder), Path(path), Path(binary))
    except Exception as error:
        report(f"{type(error).__name__}: {error}")
        raise


if __name__ == "__main__":
    main(*sys.argv[1:])
