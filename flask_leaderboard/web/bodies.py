"""JSON bodies in and out. The host's JSON provider has no part in it."""

from __future__ import annotations

import json
from typing import Any

from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType

from ..errors import InputError
from .numbers import read_fraction


def limit_body(request: Request, most_bytes: int) -> None:
    """Let a request's body have at most so many bytes, or as many as the host allows if those are less."""
    host_limit = request.max_content_length
    most = most_bytes if host_limit is None else min(host_limit, most_bytes)
    if request.content_length is not None and request.content_length > most:
        raise RequestEntityTooLarge(f"the body has {request.content_length} bytes: send at most {most}")
    request.max_content_length = most


def read_body(request: Request) -> Any:
    """Read a request's JSON body."""
    if request.mimetype != "application/json" and not request.mimetype.endswith("+json"):
        raise UnsupportedMediaType("send the body as 'Content-Type: application/json'")
    data = request.get_data(cache=True)
    if request.content_length is None and len(data) == request.max_content_length:  # werkzeug cuts it off there
        raise RequestEntityTooLarge(f"the body has too many bytes: send less than {request.max_content_length}")
    return parse_json(data)


def parse_json(data: bytes) -> Any:
    """Parse strictly: UTF-8, no name twice in an object, no NaN or Infinity, no fraction rounded."""
    try:
        return _DECODER.decode(data.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"the body is not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise InputError("the body is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"the body is not JSON: {error}") from None


def write_json(value: Any) -> bytes:
    """Write compact JSON."""
    return json_text(value).encode()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the name {name[:40]!r} stands twice in one object")
            seen.add(name)
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


json_text = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
"""Gives compact JSON as text."""
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=read_fraction)
