"""The key that signs cookies: made at the first start, and kept, so that players stay who they are."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path


def kept_in(folder: Path) -> str:
    """Give the key of a folder. Processes that start at the same time agree on one."""
    folder.mkdir(parents=True, exist_ok=True)
    path, drawn = folder / "secret_key", folder / f".{secrets.token_hex(8)}"
    if not path.exists():
        drawn.touch(mode=0o600)
        drawn.write_text(secrets.token_hex(32))
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(drawn)
        drawn.unlink()
    return path.read_text()
