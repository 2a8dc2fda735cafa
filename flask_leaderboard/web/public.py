"""Pages beside the API that are the same for everybody."""

from __future__ import annotations

from collections.abc import Callable

from flask import Response, request

from .dispatch import answer_other_method
from .problems import answering


def public(page: Callable[[], Response]) -> Callable[[], Response]:
    """Let a page be read by everybody, and by no other method than GET."""

    @answering
    def view() -> Response:
        if request.method not in ("GET", "HEAD"):
            return answer_other_method(request, ["GET"])
        response = page()
        response.headers["Cache-Control"] = "public, max-age=300"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    return view
