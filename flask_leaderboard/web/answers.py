"""Answers as bytes: written once, with what caches need to know."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from flask import Request, Response

from ..rules.instants import to_datetime
from .operations import Written


class Answer(NamedTuple):
    """A body, the tag of what it says, and who may keep it for how long."""

    body: bytes
    etag: str | None
    cache_control: str
    status: int
    mimetype: str = "application/json"

    def respond(self, request: Request) -> Response:
        """Give the answer, or only say that the caller has it already."""
        if (
            self.etag is not None
            and request.headers.get("If-None-Match") is not None
            and request.if_none_match.contains_weak(self.etag)
        ):
            response = Response(status=304)
        else:
            response = Response(self.body, status=self.status, mimetype=self.mimetype)
        if self.etag is not None:
            response.headers["ETag"] = f'W/"{self.etag}"'
        response.headers["Cache-Control"] = self.cache_control
        return response


def make_answer(written: Written, *, as_of: int | None, cache_control: str, tagged: bool) -> Answer:
    """Make an answer. Its tag does not change with the time it was read at, so it is a weak one."""
    body = written.text.encode()
    etag = hashlib.sha256(body).hexdigest()[:24] if tagged else None
    if as_of is not None:
        body = body[:-1] + f',"as_of":"{to_datetime(as_of).isoformat()}"}}'.encode()
    return Answer(body, etag, cache_control, written.status)
