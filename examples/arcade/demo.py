"""Serve the game with bots that play it, until Ctrl-C: ``python examples/arcade/demo.py --port 5000``."""

from __future__ import annotations

import argparse
import errno
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import FrameType

FOLDER = Path(__file__).resolve().parent
HOST = "127.0.0.1"
THREADS = 100
"""Each page that is open keeps a thread."""
START_S = 60
STOP_S = 10
GAME = (sys.executable, "-m", "gunicorn", "arcade:create_app()", "--worker-class", "gthread", "--threads", str(THREADS))
QUIETLY = ("--log-level", "warning", "--graceful-timeout", "3", "--no-control-socket")
BOTS = (sys.executable, "-m", "flask", "--app", "arcade", "bots")


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python examples/arcade/demo.py", description=__doc__)
    parser.add_argument("--port", type=int, default=5000)
    port = parser.parse_args().port
    for number in SIGNALS:
        signal.signal(number, interrupt)
    try:
        with listening(port) as listener, running(*GAME, *QUIETLY, "--bind", f"fd://{listener}", keep=listener) as game:
            wait_for(game, port)
            with running(*BOTS):
                print(
                    f"Play:   http://{HOST}:{port}/",
                    f"API:    http://{HOST}:{port}/v1/docs",
                    "Ctrl-C stops it.",
                    sep="\n",
                    flush=True,
                )
                return game.wait()
    except KeyboardInterrupt:
        print("\nThe arcade is closed.", flush=True)
        return 0


def interrupt(number: int, frame: FrameType | None) -> None:
    """Begin to stop, and let nothing interrupt that."""
    for known in SIGNALS:
        signal.signal(known, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextmanager
def listening(port: int) -> Iterator[int]:
    """Take the port before anything is started, or say that somebody has it."""
    try:
        listener = socket.create_server((HOST, port), backlog=512)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise SystemExit(f"port {port} can't be used: {error.strerror}. Choose another: make demo PORT=5001") from None
        raise SystemExit(f"port {port} is taken by another program. Choose another: make demo PORT={port + 1}") from None
    with listener:
        yield listener.fileno()


@contextmanager
def running(*command: str, keep: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process in a group of its own, so that a Ctrl-C in the terminal comes to this one alone, which stops it in turn."""
    kept = () if keep is None else (keep,)
    process = subprocess.Popen(  # noqa: S603 - nothing of it comes from outside
        command, cwd=FOLDER.parent, stdin=subprocess.DEVNULL, pass_fds=kept, process_group=0
    )
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(game: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the game answers, and has made its leaderboard: what is made once is not made by the bots as well."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and game.poll() is None:
        connection = HTTPConnection(HOST, port, timeout=10)
        try:
            connection.request("GET", "/v1/scores")
            if connection.getresponse().status == 200:
                return
        except (OSError, HTTPException):
            time.sleep(0.1)
        finally:
            connection.close()
    raise SystemExit("the game did not start: what it says is above")


if __name__ == "__main__":
    sys.exit(main())
