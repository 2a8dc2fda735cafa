"""The least of WebSocket that a client needs which trusts its server."""

from __future__ import annotations

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
_KEY = "bm90IGEgc2VjcmV0IGtleQ=="


def upgrade(path: str, port: int) -> bytes:
    """Write the request that opens a connection."""
    upgrading = ["Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {_KEY}", "Sec-WebSocket-Version: 13"]
    return "\r\n".join([f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", *upgrading, "", ""]).encode()


def frame_at(buffer: bytes, start: int) -> tuple[int, bytes, int] | None:
    """Give the kind and the body of a server's frame, and where the next begins."""
    if len(buffer) - start < 2:
        return None
    size, head = buffer[start + 1], start + 2
    if size >= 126:
        wide = 2 if size == 126 else 8
        if len(buffer) < head + wide:
            return None
        size, head = int.from_bytes(buffer[head : head + wide], "big"), head + wide
    if len(buffer) < head + size:
        return None
    return buffer[start] & 15, buffer[head : head + size], head + size


def masked(opcode: int, body: bytes) -> bytes:
    """Write a client's frame of a short message; the mask of zeros leaves the text as it is."""
    size = bytes([128 | len(body)]) if len(body) < 126 else b"\xfe" + len(body).to_bytes(2, "big")
    return bytes([128 | opcode]) + size + bytes(4) + body
