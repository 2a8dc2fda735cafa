"""The Lua bundle as installed: its manifest, scripts and functions library."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any


def _find_folder() -> Traversable:
    """Find `dist/` of the bundle: inside the installed package, or at the top of a checkout."""
    package = files("flask_leaderboard")
    installed = package.joinpath("lua")
    return installed if installed.is_dir() else package.joinpath("..", "lua", "dist")


_FOLDER = _find_folder()


@cache
def manifest() -> dict[str, Any]:
    """Give the manifest: protocol, key prefix, and each command's keys, arguments, reply and errors."""
    loaded: dict[str, Any] = json.loads(_FOLDER.joinpath("manifest.json").read_text("utf-8"))
    return loaded


@cache
def script_text(command: str) -> str:
    """Give a command as a self-contained script."""
    return _FOLDER.joinpath(manifest()["commands"][command]["script"]).read_text("utf-8")


@cache
def library_text() -> str:
    """Give all commands as a Redis Functions library."""
    return _FOLDER.joinpath(manifest()["library"]["file"]).read_text("utf-8")
