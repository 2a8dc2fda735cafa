"""A client's side of the protocol: it applies what it is sent, and holds each message against the schema and the checksums."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import jsonschema_rs

from flask_leaderboard.web.live.protocol import describe_protocol

PROTOCOL = json.loads(describe_protocol())
SERVER = jsonschema_rs.validator_for({**PROTOCOL, "anyOf": [{"$ref": "#/$defs/server"}]})


class Mirror:
    """What a client has of one subscription."""

    def __init__(self) -> None:
        self.period: str | None = None
        self.total = 0
        self.entries: list[dict[str, Any]] = []
        self.sum = ""
        self.seq = -1
        self.rank: dict[str, Any] | None = None
        self.stale = False
        self.kinds: list[str] = []

    @property
    def ids(self) -> list[str]:
        return [entry["user_id"] for entry in self.entries]

    @property
    def since(self) -> dict[str, Any]:
        return {"seq": self.seq, "sum": self.sum}

    def apply(self, message: dict[str, Any]) -> dict[str, Any]:
        """Apply a message of the server."""
        SERVER.validate(message)
        self.kinds.append(message["type"])
        if message["type"] == "stale":
            self.stale = True
            return message
        handle = getattr(self, f"_{message['type']}", None)
        if handle is not None:
            self.stale = False
            handle(message)
        return message

    def _snapshot(self, message: dict[str, Any]) -> None:
        self.period, self.entries = message["period"], message["entries"]
        self._stand(message)

    def _update(self, message: dict[str, Any]) -> None:
        assert message["base"] == self.sum
        assert message["period"] == self.period
        named = {entry["user_id"]: entry for entry in message["entries"]}
        ranks = {entry["user_id"]: entry["rank"] for entry in self.entries}
        places: list[Any] = [None] * message["count"]
        for place, entry in enumerate(self.entries):
            if entry["user_id"] not in named and entry["user_id"] not in message["left"]:
                places[place] = entry
        for entry in named.values():
            assert places[entry["place"] - 1] is None
            assert entry["old_rank"] == ranks.get(entry["user_id"])
            places[entry["place"] - 1] = {key: entry[key] for key in ("rank", "user_id", "user_name", "score")}
        assert all(places)
        assert set(message["left"]) == set(ranks) - {entry["user_id"] for entry in places}
        self.entries = places
        self._stand(message)

    def _resumed(self, message: dict[str, Any]) -> None:
        assert message["sum"] == self.sum
        self.seq = message["seq"]

    def _rank(self, message: dict[str, Any]) -> None:
        if self.rank is not None and self.rank["period"] == message["period"]:
            assert (message["old_rank"], message["old_score"]) == (self.rank["rank"], self.rank["score"])
        else:
            assert (message["old_rank"], message["old_score"]) == (None, None)
        self.rank = message

    def _stand(self, message: dict[str, Any]) -> None:
        self.total, self.seq, self.sum = message["total"], message["seq"], message["sum"]
        rows = [[entry[key] for key in ("rank", "user_id", "user_name", "score")] for entry in self.entries]
        told = json.dumps([self.period, self.total, rows], separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(told.encode()).hexdigest()[:16] == self.sum
