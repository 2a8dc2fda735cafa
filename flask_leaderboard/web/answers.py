"""Answers as bytes: written once, with what caches need to know."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from flask import Request, Response

from ..rules.instants import to_datetime
from .bodies import write_json


@dataclass(frozen=True)
class Answer:
    """A body, the tag of what it says, and who may keep it for how long."""

    body: bytes
    etag: str | None
    cache_control: str
    status: int = 200

    def respond(self, request: Request) -> Response:
        """Give the answer, or only say that the caller has it already."""
        if (
            self.etag is not None
            and request.headers.get("If-None-Match") is not None
            and request.if_none_match.contains_weak(self.etag)
        ):
            response = Response(status=304)
        else:
            response = Response(self.body, status=self.status, mimetype="application/json")
        if self.etag is not None:
            response.headers["ETag"] = f'W/"{self.etag}"'
        response.headers["Cache-Control"] = self.cache_control
        return response


def write_answer(content: dict[str, Any], *, as_of: int | None, cache_control: str, tagged: bool, status: int = 200) -> Answer:
    """Write an answer. Its tag does not change with the time it was read at, so it is a weak one."""
    body = write_json(content)
    etag = hashlib.sha256(body).hexdigest()[:24] if tagged else None
    if as_of is not None:
        body = body[:-1] + f',"as_of":"{to_datetime(as_of).isoformat()}"}}'.encode()
    return Answer(body, etag, cache_control, status)
