"""One score event, as a caller gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .scores import Points

Update = Literal["increment", "best", "latest"]


@dataclass(frozen=True, slots=True)
class Submission:
    """Points for a user. `at` is when they were won (default: now); `submission_id` makes sending it again harmless."""

    user_id: str
    points: Points
    submission_id: str | None = None
    at: datetime | None = None
    segments: Mapping[str, str] | None = None
    user_name: str | None = None
    update: Update | None = None
