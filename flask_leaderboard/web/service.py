"""What an app's requests are served with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from flask import Flask, current_app

from ..config import Settings
from ..engine.hub import Hub
from ..errors import NoAppError
from ..live.feed import Feed
from .access import Access
from .cache import MicroCache
from .cursors import CursorSigner
from .live.live import Live
from .signatures import Signatures

if TYPE_CHECKING:
    from .answers import Answer

EXTENSION = "leaderboard"


@dataclass(frozen=True)
class Service:
    """The state of one app: it lives in `app.extensions`, never on the extension object."""

    hub: Hub
    feed: Feed
    settings: Settings
    access: Access
    signatures: Signatures
    cursors: CursorSigner
    cache: MicroCache[Answer]
    live: Live

    @property
    def reads_are_public(self) -> bool:
        return self.access.reads_are_public


def current_service() -> Service:
    """Give the current app's state, or say what is missing."""
    if not current_app:
        raise NoAppError("leaderboards belong to an app: use them in a request, or inside 'with app.app_context():'")
    return service_of(current_app)


def service_of(app: Flask) -> Service:
    """Give an app's state, or say what is missing."""
    try:
        return cast(Service, app.extensions[EXTENSION])
    except KeyError:
        raise NoAppError(
            f"the app {app.name!r} has no leaderboards: call leaderboards.init_app(app), or create Leaderboards(app)"
        ) from None
