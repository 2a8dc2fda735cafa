"""Whether all is well: for load balancers and operators."""

from __future__ import annotations

import time
from typing import Any

from ..errors import StoreUnavailableError
from . import schemas
from .operations import Call, Operation


def health(call: Call) -> dict[str, Any]:
    started = time.perf_counter()
    call.service.hub.caller.use(lambda client: client.ping())
    milliseconds = round((time.perf_counter() - started) * 1000, 3)
    return {"status": "ok", "redis": {"answered_in_ms": milliseconds}, "warnings": call.service.hub.warnings()}


OPERATIONS = (
    Operation(
        "read_health", "GET", "/health", health, "Tell whether scores can be reached",
        schemas.HealthSchema, errors=(StoreUnavailableError,), tag="operations",
    ),
)  # fmt: skip
