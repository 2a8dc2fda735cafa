"""The way in for WebSockets: checks by the app, then Flask-Sock in a small app of its own.

The long part is run when the server iterates over the response. By then the contexts of the host's app have ended, and with them
its database sessions. Flask-Sock's options come from the small app's configuration, so the host's stay the host's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flask import Flask, Request, Response, request
from flask_sock import Sock  # type: ignore[import-untyped]
from simple_websocket import Server  # type: ignore[import-untyped]
from wsproto.utilities import RemoteProtocolError

from ...errors import ClientsError, LeaderboardError, UnsupportedError
from .client import Client
from .live import Live
from .origins import check_origin
from .refusals import Refusal, refusal_of, too_big
from .visitors import PROTOCOL, Visitor
from .wire import Wire, socket_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_ARRIVAL = "flask_leaderboard.arrival"
_REPLACED = ("HTTP_SEC_WEBSOCKET_EXTENSIONS", "PATH_INFO", "SCRIPT_NAME")
"""Compression would cost each client more memory than all the rest; and frames would no longer be the same for all."""


class Reader:
    """Stands in for the thread that simple-websocket would read in: the one that handles the request does it."""

    name = ""

    def __init__(self, target: Callable[[], None]) -> None:
        self.run = target

    def start(self) -> None:
        """Leave it to the handler."""


class Bell:
    """Stands in for the event by which simple-websocket tells that something came: it is seen to at once."""

    def __init__(self) -> None:
        self.set: Callable[[], None] = _nobody

    def wait(self, timeout: float | None = None) -> bool:
        return False

    def clear(self) -> None:
        """There is nothing to clear."""


def _nobody() -> None:
    """Nobody listens yet."""


@dataclass(frozen=True)
class Arrival:
    """A client at the door: its wire, and who it is or why it may not come in."""

    live: Live
    wire: Wire
    visitor: Visitor | None
    refusal: Refusal | None


class Opening(Response):
    """An answer that becomes a WebSocket where the server sends it."""

    def __init__(self, enter: Callable[[StartResponse], Iterable[bytes]]) -> None:
        super().__init__(status=101, direct_passthrough=True)
        self._enter = enter

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterator[bytes]:
        yield from self._enter(start_response)


class Door:
    """Lets WebSocket clients in."""

    def __init__(self, most_bytes: int) -> None:
        self._app = Flask("flask_leaderboard.live", static_folder=None)
        self._app.config["SOCK_SERVER_OPTIONS"] = {
            "subprotocols": [PROTOCOL],
            "max_message_size": most_bytes,
            "thread_class": Reader,
            "event_class": Bell,
        }
        self._app.register_error_handler(RemoteProtocolError, _refuse_handshake)
        Sock(self._app).route("/")(_serve)

    def open(self, live: Live, request: Request) -> Response:
        """Give the answer that turns a request into a WebSocket. A refusal is told over it: browsers can't read another."""
        environ = request.environ
        check_server(environ)
        visitor, refusal = None, None
        try:
            check_origin(request, live.settings.live_origins)
            visitor = live.doorkeeper.admit(request)
        except LeaderboardError as error:
            refusal = refusal_of(error)

        def enter(start_response: StartResponse) -> Iterable[bytes]:
            key = socket_of(environ) or ""
            arrival = Arrival(live, Wire(environ[key]), visitor, refusal)
            inside = {name: value for name, value in environ.items() if name not in _REPLACED}
            return self._pass({**inside, "PATH_INFO": "/", key: arrival.wire, _ARRIVAL: arrival}, arrival.wire, start_response)

        return Opening(enter)

    def _pass(self, environ: WSGIEnvironment, wire: Wire, start_response: StartResponse) -> Iterable[bytes]:
        """Serve a client to the end. What the server says after that finds the connection broken off, which servers expect."""
        answers: list[Any] = []
        body: Iterable[bytes] = ()
        with contextlib.suppress(StopIteration):  # how Flask-Sock ends under gunicorn; what wraps the app may not know it
            body = self._app(environ, lambda *answer: answers.append(answer))  # type: ignore[arg-type]
        if not wire.gone:
            start_response(*answers[0])
            return body
        start_response("101 Switching Protocols", [])
        return ()


def check_server(environ: dict[str, Any]) -> None:
    """Refuse where one client would keep a whole process busy, or where its socket can't be had."""
    if socket_of(environ) is None or not environ.get("wsgi.multithread"):
        raise UnsupportedError("live clients need gunicorn with gthread or gevent workers, or Flask's own server with threads")


def _serve(ws: Server) -> None:
    arrival: Arrival = request.environ[_ARRIVAL]
    client = Client(arrival.wire, arrival.live, arrival.visitor or _stranger)
    try:
        if arrival.refusal is not None:
            client.refuse(arrival.refusal)
        else:
            arrival.live.clients.enter(client)
    except ClientsError as error:
        client.refuse(refusal_of(error))
    ws.event.set = lambda: _answer(ws, client)
    try:
        ws.thread.run()
    finally:
        arrival.live.clients.leave(client)
        client.leave()


def _stranger(user_id: str) -> None:
    """Who was refused asks for nothing."""


def _answer(ws: Server, client: Client) -> None:
    """See to what came: messages, the end, or the beginning of a message that is too long."""
    if ws.incoming_message_len > ws.max_message_size:
        client.refuse(too_big(ws.max_message_size))
    while ws.connected and (message := ws.receive(timeout=0)) is not None:
        client.hear(message)


def _refuse_handshake(error: RemoteProtocolError) -> Response:
    return Response(f"This is no WebSocket handshake: {error}\n", 400, mimetype="text/plain")
