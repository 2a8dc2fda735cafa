"""Whether all is well: for load balancers and operators."""

from __future__ import annotations

from typing import Any

from ..engine.condition import Part, examine
from ..errors import StoreUnavailableError
from . import replies
from .operations import Call, Operation


def health(call: Call) -> dict[str, Any]:
    hub = call.service.hub
    condition = examine(hub)
    if condition.state == "down":
        raise StoreUnavailableError("no board can be served: what is said before this in the log tells why")
    told = {
        "status": condition.state,
        "redis": _part(condition.redis),
        "boards": condition.boards,
        "warnings": hub.warnings(),
    }
    return told if condition.log is None else {**told, "log": _part(condition.log)}


def _part(part: Part) -> dict[str, Any]:
    return {"status": part.state, "answered_in_ms": part.milliseconds}


OPERATIONS = (
    Operation(
        "read_health", "GET", "/health", health, "Tell whether boards can be served, and by what",
        replies.HealthSchema, errors=(StoreUnavailableError,), tag="operations",
    ),
)  # fmt: skip
