"""Which run of which server a client talks to."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from redis.exceptions import ResponseError


def server_run(client: Any) -> str | None:
    """Give the name of the server's run; None for the nodes of a cluster, and for a server in memory that can't restart."""
    with suppress(ResponseError):
        found = client.info("server").get("run_id")
        return found if isinstance(found, str) else None
    return None
