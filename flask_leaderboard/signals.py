"""Signals that a host may connect to. The sender is the app; a receiver that fails is logged and stops nothing."""

from __future__ import annotations

import logging
from typing import Any

from blinker import NamedSignal, Namespace
from flask import Flask

from .contexts import inside

_namespace = Namespace()
_logger = logging.getLogger("flask_leaderboard")

submission_counted = _namespace.signal("submission-counted")
"""A submission counted; sent once for each, not for duplicates, with ``board`` and ``receipt``, by the process that took it."""

period_closed = _namespace.signal("period-closed")
"""A period takes no more submissions; sent at least once over all processes, with ``board``, ``window`` and ``period``."""


def send(signal: NamedSignal, app: Flask, **details: Any) -> None:
    """Send a signal to every receiver, whatever the others do; they are in the app's context, also in the worker's thread."""
    for receiver in signal.receivers_for(app):
        try:
            with inside(app):
                receiver(app, **details)
        except Exception:
            _logger.exception("a receiver of the signal '%s' failed", signal.name)
