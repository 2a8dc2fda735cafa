"""Names that become parts of Redis keys."""

from __future__ import annotations

import re

from ..errors import ConfigurationError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def check_name(name: str, what: str) -> str:
    """Refuse a name that is not made of small letters, digits, ``_`` and ``-``."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{what} name {name!r} is not valid: use 1 to 64 of a-z, 0-9, _ and -, beginning with a letter or digit"
        )
    return name
