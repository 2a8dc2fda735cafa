"""The socket of a WebSocket client, written to without waiting. It stands in the place of the server's socket."""

from __future__ import annotations

import _socket
import contextlib
import select
import socket
import ssl
import threading
import time
from typing import Any

_AGAIN = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
MOST_PENDING = 262_144
"""Bytes that wait for a client that does not read, before it is given up: answers to what it sends, never what the feed tells."""
LINGER_SECONDS = 2.0
"""For how long a connection that was said goodbye on is read empty: one that is cut with bytes unread loses the goodbye."""
SILENCE = 2.5
"""How many heartbeats a client may be silent, until it is taken for dead."""
_PIECE = 65_536


class Wire:
    """Sends frames whole and in order, whoever sends them: simple-websocket its pongs, the feed's thread, a writer.

    What the kernel does not take at once stays in `pending`, until somebody calls `flush`. `lock` keeps several together.
    """

    __slots__ = ("_socket", "cut_at", "gone", "heard_at", "lock", "pending", "received", "sealed", "sent_at")

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self.lock = threading.RLock()  # looked up now: gevent may have come after this module
        self.pending = b""
        self.sealed = False
        self.gone = False
        self.cut_at = float("inf")
        self.heard_at = self.sent_at = time.monotonic()
        self.received = 0

    def put(self, frames: bytes) -> bool:
        """Send; tell whether all of it is on its way. After the goodbye nothing goes out any more."""
        with self.lock:
            if self.sealed or self.gone:
                return True
            self.sent_at = time.monotonic()
            if self.pending:
                self.pending += frames
                if len(self.pending) > MOST_PENDING:
                    self.cut()
                return False
            self.pending = frames
            return self.flush()

    def flush(self) -> bool:
        """Send what is pending as far as the kernel takes it; tell whether that was all."""
        with self.lock:
            while self.pending and not self.gone:
                try:
                    sent = self._socket.send(self.pending)
                except _AGAIN:
                    return False
                except OSError:
                    self.cut()
                    break
                if not sent:  # how gevent says "again" over TLS
                    return False
                self.pending = self.pending[sent:]
            return True

    def seal(self, frames: bytes) -> bool:
        """Send a goodbye: the last that goes out. Who does not take it, or go, in time is cut off."""
        with self.lock:
            done = self.put(frames)
            self.sealed = True
            self.cut_at = min(self.cut_at, time.monotonic() + LINGER_SECONDS)
            return done

    def cut(self) -> None:
        """Break the connection now; the one who reads finds out."""
        self.gone = True
        self.pending = b""
        break_off(self._socket)

    def wait(self, event: int, seconds: float | None) -> bool:
        """Wait until the socket can be read or written; tell whether it can."""
        poll = select.poll()
        poll.register(self._socket, event)
        return bool(poll.poll(None if seconds is None else max(0, int(seconds * 1000))))

    # What simple-websocket asks of a socket

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, data: bytes) -> int:
        self.put(bytes(data))
        return len(data)

    def recv(self, size: int) -> bytes:
        """Wait for bytes; none where the other side has gone, or was to go and did not."""
        while not self.gone:
            try:
                with self.lock:
                    data = self._socket.recv(size)
            except _AGAIN:
                left = None if self.cut_at == float("inf") else self.cut_at - time.monotonic()
                if not self.wait(select.POLLIN, left) and left is not None:
                    break
            except OSError:
                break
            else:
                self.heard_at = time.monotonic()
                self.received += len(data)
                return data
        return b""

    def close(self) -> None:
        """Take leave, and read the rest so that the last frame gets there. The socket itself is the server's to close."""
        with self.lock:
            self.sealed = True
        self.cut_at = min(self.cut_at, time.monotonic() + LINGER_SECONDS)
        with contextlib.suppress(OSError):
            self._linger()
        self.cut()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # over TLS the server would else still speak TLS to it

    def _linger(self) -> None:
        if self.pending:
            return
        self._socket.shutdown(socket.SHUT_WR)
        while self.recv(_PIECE):
            if time.monotonic() > self.cut_at:
                break


def break_off(sock: Any) -> None:
    """End a connection that others may be waiting on. Gevent's own way would throw an error at them, which servers log."""
    with contextlib.suppress(OSError):
        getattr(sock, "_sock", sock).shutdown(socket.SHUT_RDWR)


def has_left(sock: Any) -> bool:
    """Tell whether the other side has closed, without waiting and without taking what it may have sent."""
    try:
        return not _socket.socket.recv(getattr(sock, "_sock", sock), 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def give_up_after(sock: Any, seconds: float) -> None:
    """Let the kernel end a connection whose other side takes no bytes and says nothing for so long, where it can."""
    with contextlib.suppress(OSError, AttributeError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))


def socket_of(environ: dict[str, Any]) -> str | None:
    """Name the key of a request's socket, where the server gives one that can be taken over."""
    return next((key for key in ("gunicorn.socket", "werkzeug.socket") if key in environ), None)
