"""JSON bodies in and out. The host's JSON provider has no part in it."""

from __future__ import annotations

import json
from typing import Any

from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType

from ..rules.strict_json import parse_json


def limit_body(request: Request, most_bytes: int) -> None:
    """Let a request's body have at most so many bytes, or as many as the host allows if those are less."""
    host_limit = request.max_content_length
    most = most_bytes if host_limit is None else min(host_limit, most_bytes)
    length = request.content_length  # works it out anew each time
    if length is not None and length > most:
        raise RequestEntityTooLarge(f"the body has {length} bytes: send at most {most}")
    request.max_content_length = most


def read_body(request: Request) -> Any:
    """Read a request's JSON body."""
    if request.mimetype != "application/json" and not request.mimetype.endswith("+json"):
        raise UnsupportedMediaType("send the body as 'Content-Type: application/json'")
    data = request.get_data(cache=True)
    if request.content_length is None and len(data) == request.max_content_length:  # werkzeug cuts it off there
        raise RequestEntityTooLarge(f"the body has too many bytes: send less than {request.max_content_length}")
    return parse_json(data)


def write_json(value: Any) -> bytes:
    """Write compact JSON."""
    return json_text(value).encode()


json_text = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
"""Gives compact JSON as text."""
