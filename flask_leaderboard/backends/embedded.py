"""A private Valkey server for the processes of one app, with its data in a folder.

It starts with the first connection, lives as long as any process uses it, and is shared by all that name the folder.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from redis import ConnectionPool, Redis
from redis.connection import UnixDomainSocketConnection

from ..errors import StoreUnavailableError
from .parts import find_binary, find_python, find_socket, make_folder, make_own_folder

if sys.platform != "win32":
    import fcntl

ASK_SECONDS = 1.0
POLL_SECONDS = 0.02
REST_SECONDS = 1.0
LOG_LINES = 5
LOG_BYTES = 2000
FULL_BYTES = 10_000
ENDLESS_BYTES = 10_000
KEEPER = Path(__file__).with_name("keeper.py")


def open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def share(file: int) -> bool:
    """Take a lock together with others, or tell that somebody has it alone. Never waits: that would stop all greenlets."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held(path: Path) -> bool:
    """Tell whether somebody has a lock alone."""
    file = open_lock(path)
    try:
        if not share(file):
            return True
        # Closing is not enough: a process that another thread forks just now has the file open as well.
        fcntl.flock(file, fcntl.LOCK_UN)
        return False
    finally:
        os.close(file)


def ask(path: Path) -> tuple[bytes, bytes]:
    """Ask the server on a socket how it is, and which folder it works in."""
    reply = b""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(ASK_SECONDS)
        client.connect(str(path))
        client.sendall(b"PING\r\nCONFIG GET dir\r\nQUIT\r\n")
        while len(reply) < ENDLESS_BYTES and (part := client.recv(ENDLESS_BYTES)):
            reply += part
    state, *rest = reply.split(b"\r\n")
    return state, rest[4] if len(rest) > 4 else b""


def is_same(one: bytes, other: Path) -> bool:
    try:
        return Path(os.fsdecode(one)).samefile(other) if one else False
    except OSError:
        return False


def is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < FULL_BYTES
    except OSError:
        return False


class Failure(Exception):  # noqa: N818 - never leaves this module
    """Why the server can't be used."""


class Seat:
    """What one process has of a server: its place among the users, and how the last start went."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.lock = threading.Lock()
        self.users: int | None = None
        self.failure = ""
        self.failed_at = 0.0

    def is_among(self, path: Path) -> bool:
        """Tell whether the lock is still held, and on the file that is there now."""
        try:
            return self.users is not None and os.path.samestat(os.fstat(self.users), path.stat())
        except OSError:
            return False


class Launch:
    """A keeper that was launched, and the pipe it reports through for as long as it lives."""

    def __init__(self, arguments: list[str], log: Path, seconds: float) -> None:
        self.reports, reporting = os.pipe()
        os.set_blocking(self.reports, False)
        try:
            with log.open("ab") as errors:
                process = subprocess.Popen(  # noqa: S603 - nothing of it comes from outside
                    arguments, cwd="/", stdin=subprocess.DEVNULL, stdout=reporting, stderr=errors, start_new_session=True
                )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(reporting)
        # It ends at once, after it forked the keeper, which is then no child of ours to look after.
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def report(self) -> str | None:
        """Give the failure that the keeper told, nothing while it lives, and an empty text once it is gone."""
        try:
            return os.read(self.reports, 1000).decode(errors="replace")
        except BlockingIOError:
            return None

    def close(self) -> None:
        os.close(self.reports)


class EmbeddedServer:
    """The private server of a folder, started when it is needed."""

    def __init__(self, folder: Path, start_seconds: float = 20.0) -> None:
        self.binary = find_binary()
        self.python = find_python()
        self.folder = Path(folder).resolve()
        self.socket = find_socket(self.folder)
        self.start_seconds = start_seconds
        self._last_seat = Seat()

    def client(self, **options: Any) -> Redis:
        """Give a client, with options for its connections. Nothing starts before its first command."""
        pool = ConnectionPool(connection_class=EmbeddedConnection, server=self, path=str(self.socket), **options)
        return Redis.from_pool(pool)

    def ensure(self) -> None:
        """See to it that the server runs and answers, and that it stays as long as this process."""
        seat = self._seat()
        with seat.lock:
            if seat.failure and time.monotonic() - seat.failed_at < REST_SECONDS:
                raise StoreUnavailableError(seat.failure)
            try:
                self._start(seat, time.monotonic() + self.start_seconds)
            except (Failure, OSError) as error:
                seat.failure = self._complaint(str(error))
                seat.failed_at = time.monotonic()
                raise StoreUnavailableError(seat.failure) from error
            seat.failure = ""

    def close(self) -> None:
        """Leave the server, which stops when nobody else uses it. The next connection comes back to it."""
        seat = self._seat()
        with seat.lock:
            if seat.users is not None:
                os.close(seat.users)
            seat.users = None

    def _seat(self) -> Seat:
        # A forked child must not rely on its parent's seat. Threads that race here for a new one may both take a place
        # among the users, which does no harm.
        seat = self._last_seat
        if seat.process != os.getpid():
            seat = self._last_seat = Seat()
        return seat

    def _start(self, seat: Seat, deadline: float) -> None:
        self._join(seat, deadline)
        if self.socket.parent != self.folder:
            make_own_folder(self.socket.parent)
        launch: Launch | None = None
        try:
            while (trouble := self._trouble()) or not is_held(self.folder / "keeper.lock"):
                report = launch.report() if launch else ""
                if report:
                    raise Failure(report)
                if time.monotonic() > deadline:
                    raise Failure(trouble or "no process keeps it")
                if report == "" and not is_held(self.folder / "keeper.lock"):
                    if launch:
                        launch.close()
                    launch = None
                    launch = self._launch(deadline)
                time.sleep(POLL_SECONDS)
        finally:
            if launch:
                launch.close()

    def _join(self, seat: Seat, deadline: float) -> None:
        """Become one of the users, for as long as the process lives."""
        path = self.folder / "users.lock"
        if seat.is_among(path):
            return
        make_folder(self.folder)
        file = open_lock(path)
        while not share(file):
            if time.monotonic() > deadline:
                os.close(file)
                raise Failure("the server before it is still stopping")
            time.sleep(POLL_SECONDS)
        seat.users = file

    def _launch(self, deadline: float) -> Launch:
        arguments = [str(self.python), "-I", "-S", str(KEEPER), str(self.folder), str(self.socket), str(self.binary)]
        return Launch(arguments, self.folder / "server.log", max(1.0, deadline - time.monotonic()))

    def _trouble(self) -> str:
        """Tell what keeps the server from serving; empty when nothing does."""
        try:
            state, folder = ask(self.socket)
        except OSError as error:
            return f'nobody answers on "{self.socket}" ({error})'
        if not is_same(folder, self.folder):
            return f'another server answers on "{self.socket}"'
        return "it is still loading its data" if state.startswith(b"-LOADING") else ""

    def _complaint(self, reason: str) -> str:
        # On a full disk the log has nothing to tell.
        if is_full(self.folder):
            reason = f"{reason}; the disk is full"
        return (
            f'the embedded server of "{self.folder}" can\'t be used: {reason}. '
            "Check that the disk has room, that the folder can be written to and that its append-only file is whole; "
            f'"{self.folder / "server.log"}" ends with: {self._log_end()}'
        )

    def _log_end(self) -> str:
        try:
            with (self.folder / "server.log").open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError as error:
            return f"({error})"
        return " | ".join(lines[-LOG_LINES:]) or "(nothing)"


class EmbeddedConnection(UnixDomainSocketConnection):
    """A connection that starts its server."""

    def __init__(self, server: EmbeddedServer, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self._server = server

    # Not connect(): a command that is sent again after a lost connection goes around it.
    def _connect(self) -> socket.socket:
        self._server.ensure()
        try:
            return self._open()
        except OSError:
            # The server ended between the two: what comes now is a new one.
            self._server.ensure()
            return self._open()

    def _open(self) -> socket.socket:
        opened: socket.socket = super()._connect()  # type: ignore[no-untyped-call]
        return opened
