"""A board as a game sees it over HTTP: what players call in place of the Python object."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any, NamedTuple

from flask_leaderboard.errors import InputError, StoreUnavailableError
from tests.chaos.game import BOARD, TOKEN

HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


class Told(NamedTuple):
    """The answer to a submission."""

    number: int
    pending: bool


class Row(NamedTuple):
    rank: int
    user_id: str
    score: float


class Shown(NamedTuple):
    """A page; over HTTP nobody tells at which number it was read."""

    entries: tuple[Row, ...]
    number: int | None = None


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=5)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(self._path)


class WebBoard:
    """Submits and reads over HTTP; each call has a connection of its own, so that both workers are met."""

    def __init__(self, path: str) -> None:
        self._path = path

    def submit(self, **score: Any) -> Told:
        answer = self._call("POST", "/v1/scores", {**score, "board": BOARD.name})
        return Told(answer["number"], answer["pending"])

    def top(self, limit: int, *, ranking: str) -> Shown:
        answer = self._call("GET", f"/v1/scores?limit={limit}&ranking={ranking}")
        return Shown(tuple(Row(row["rank"], row["user_id"], row["score"]) for row in answer["data"]))

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = UnixConnection(self._path)
        try:
            sent = {key: value for key, value in (body or {}).items() if value is not None}
            connection.request(method, path, json.dumps(sent) if body else None, HEADERS)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise StoreUnavailableError(f"no answer: {error}") from error
        finally:
            connection.close()
        if response.status in (200, 202):
            return answer
        if response.status == 503:
            raise StoreUnavailableError(answer["detail"])
        if response.status >= 500:
            raise SystemExit(f"answered {response.status}: {answer}")  # the judge finds a player that ended by itself
        raise InputError(answer["detail"])
