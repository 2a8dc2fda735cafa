"""The component's files: served under an address that changes with what is in them, so that caches may keep them for ever."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources

from flask import Blueprint, Response, abort, request, url_for

from .operations import METHODS
from .public import only_read

ENTRY = "live-leaderboard.js"
_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"
_FOR_A_WHILE = "public, max-age=300"
_NOT_KEPT = "public, no-cache"


def add_assets(blueprint: Blueprint) -> None:
    """Serve the component: an entry whose address stays, and the modules behind it."""

    @only_read
    def component() -> Response:
        return _served(_entry(), "js", _FOR_A_WHILE)

    @only_read
    def asset(of: str, name: str) -> Response:
        body = _files().get(name)
        if body is None:
            abort(404)
        # while a new version is rolled out, pages of one meet servers of the other
        return _served(body, name.rpartition(".")[2], _FOR_EVER if of == version() else _NOT_KEPT)

    blueprint.add_url_rule(f"/{ENTRY}", "component", component, methods=METHODS)
    blueprint.add_url_rule("/static/<of>/<name>", "asset", asset, methods=METHODS)


def _entry() -> bytes:
    """Name all modules at once, so that browsers need not find one after the other."""
    folder = f"./static/{version()}"
    parts = sorted(name for name in _files() if name.endswith(".js") and name not in ("element.js", "page.js"))
    return "".join([*(f'import "{folder}/{name}";\n' for name in parts), f'export * from "{folder}/element.js";\n']).encode()


def assets_url() -> str:
    """Give the address of the folder of the files, inside a request."""
    return url_for(".asset", of=version(), name="")


@cache
def version() -> str:
    """Name what is in the files."""
    digest = hashlib.sha256()
    for name, body in sorted(_files().items()):
        digest.update(f"{name} {len(body)} ".encode() + body)
    return digest.hexdigest()[:12]


@cache
def _files() -> dict[str, bytes]:
    folder = resources.files(__package__) / "static" / "live_leaderboard"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES}


def _served(body: bytes, kind: str, cache_control: str) -> Response:
    response = Response(body, content_type=f"{_TYPES[kind]}; charset=utf-8")
    response.headers["Cache-Control"] = cache_control
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.set_etag(hashlib.sha256(body).hexdigest()[:24])
    response.make_conditional(request)
    return response
