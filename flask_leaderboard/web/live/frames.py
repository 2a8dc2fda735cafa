"""Frames of the server's side of WebSocket (RFC 6455). They are not masked, so that one goes to any number of clients."""

from __future__ import annotations

_FINAL = 0x80
_TEXT, _CLOSE, _PING = 0x1, 0x8, 0x9


def text_frame(text: str) -> bytes:
    return _frame(_TEXT, text.encode())


def ping_frame() -> bytes:
    return _frame(_PING, b"")


def close_frame(code: int, reason: str) -> bytes:
    """Say goodbye with a code, and a short reason in ASCII."""
    return _frame(_CLOSE, code.to_bytes(2, "big") + reason.encode()[:123])


def _frame(kind: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes((_FINAL | kind, size)) + payload
    if size < 65_536:
        return bytes((_FINAL | kind, 126)) + size.to_bytes(2, "big") + payload
    return bytes((_FINAL | kind, 127)) + size.to_bytes(8, "big") + payload
