"""Pages beside the API that are the same for everybody."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from flask import Response, request

from .dispatch import answer_other_method
from .problems import answering

P = ParamSpec("P")


def only_read(page: Callable[P, Response]) -> Callable[P, Response]:
    """Let a page be read, and asked for by no other method than GET."""

    @answering
    @wraps(page)
    def view(*args: P.args, **kwargs: P.kwargs) -> Response:
        if request.method not in ("GET", "HEAD"):
            return answer_other_method(request, ["GET"])
        return page(*args, **kwargs)

    return view


def public(page: Callable[[], Response]) -> Callable[[], Response]:
    """Let a page be read by everybody."""

    @only_read
    def view() -> Response:
        response = page()
        response.headers["Cache-Control"] = "public, max-age=300"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    return view
