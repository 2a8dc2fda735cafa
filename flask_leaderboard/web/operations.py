"""An operation of the API: what it takes, who may call it, what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flask import Response
from marshmallow import Schema

from ..engine.leaderboard import Leaderboard
from ..engine.reading import How
from ..errors import LeaderboardError
from .access import Role
from .schemas import NothingSchema
from .service import Service

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""Methods that a path takes, so that a wrong one is answered like other errors."""


class Call(NamedTuple):
    """A request that has passed the checks: values of its path, query and body."""

    service: Service
    path: Mapping[str, str]
    query: dict[str, Any]
    body: Any = None

    def board(self, name: str | None) -> Leaderboard:
        hub = self.service.hub
        return hub.default if name is None else hub[name]

    @staticmethod
    def how(asked: Mapping[str, Any]) -> How:
        """Pick out which ranking is read, and how."""
        return How(
            window=asked.get("window"),
            period=asked.get("period"),
            segment=asked.get("segment"),
            ranking=asked.get("ranking"),
            metadata=asked.get("include") == "metadata",
        )


class Written(NamedTuple):
    """An answer's content that is JSON already, and its status."""

    text: str
    status: int = 200


Content = dict[str, Any] | Written


@dataclass(frozen=True)
class Operation:
    """One method of one path.

    `role` is who may call it (None: anybody); `shared` answers are the same for everybody and may be cached; `dated` ones tell
    when they were read; one that `may_pend` may be answered 202. `errors` are those of its own, beside the ones that every
    operation may answer. One without `reply` answers a stream of events. One that `checks_callers` lets in others than by token.
    """

    name: str
    method: str
    path: str
    run: Callable[[Call], Content | Response]
    summary: str
    reply: type[Schema] | None
    role: Role | None = None
    query: Schema = field(default_factory=NothingSchema)
    body: Schema | None = None
    errors: tuple[type[LeaderboardError], ...] = ()
    shared: bool = False
    dated: bool = False
    may_pend: bool = False
    checks_callers: bool = False
    tag: str = "scores"
