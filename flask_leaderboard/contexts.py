"""The context of an app, for what may be called with and without one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from flask import Flask, current_app, has_app_context


def inside(app: Flask) -> AbstractContextManager[object]:
    """Give the context of an app: the one that is there already, or a new one."""
    if has_app_context() and current_app._get_current_object() is app:  # type: ignore[attr-defined]
        return nullcontext()
    return app.app_context()
