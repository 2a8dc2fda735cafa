"""Ids that callers choose: users and submissions."""

from __future__ import annotations

import re

from ..errors import IdentityError

MAX_BYTES = 255
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_PLAIN = re.compile(r"[A-Za-z0-9_.:@-]{1,255}")


def check_id(value: str, what: str) -> str:
    """Refuse an id that is not 1 to 255 bytes of UTF-8 without control characters."""
    if not isinstance(value, str):
        raise IdentityError(f"{what} {value!r} must be text, not {type(value).__name__}")
    if _PLAIN.fullmatch(value):
        return value
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise IdentityError(f"{what} {value!r} is not valid Unicode") from None
    if not 1 <= size <= MAX_BYTES:
        raise IdentityError(f"{what} has {size} bytes: use 1 to {MAX_BYTES}")
    if _CONTROL.search(value):
        raise IdentityError(f"{what} {value!r} must not have control characters")
    return value


def check_user_id(value: str) -> str:
    """Refuse a user id that is malformed, or could not stand in a path."""
    check_id(value, "user_id")
    if "/" in value:
        raise IdentityError(f"user_id {value!r} must not have '/'")
    return value
