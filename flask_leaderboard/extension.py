"""The Flask extension: one call adds leaderboards to an app."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from flask import Flask

from .backends.clients import connector
from .cli import make_commands
from .config import Settings, read_settings
from .engine.closings import Closed
from .engine.hub import Hub
from .engine.leaderboard import Leaderboard
from .engine.reading import Clock, system_clock
from .engine.worker import WorkerThread
from .errors import ConfigurationError
from .host_database import host_engine
from .live.feed import Feed
from .log.database import Database, database_url
from .rules.board import Board, Mode
from .rules.calendar import Daily, Monthly, Weekly
from .rules.results import Receipt
from .rules.windows import AllTime
from .signals import period_closed, send, submission_counted
from .web.access import Access, Authorize
from .web.blueprint import make_blueprint
from .web.cache import MicroCache
from .web.cursors import CursorSigner
from .web.live.clients import Clients
from .web.live.live import Live
from .web.live.tickets import Tickets
from .web.live.visitors import Doorkeeper
from .web.service import EXTENSION, Service, current_service
from .web.signatures import Signatures


class Leaderboards:
    """Leaderboards for Flask apps; one object may serve several of them.

    Without `boards` (and ``LEADERBOARD_BOARDS``) there is one called "default" with all-time, monthly, weekly and daily
    rankings. `authorize` is the host's own check of who may call, see the docs page "Security"; `clock` gives microseconds
    since 1970.
    """

    def __init__(
        self,
        app: Flask | None = None,
        *,
        boards: Iterable[Board] = (),
        authorize: Authorize | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self._boards = tuple(boards)
        self._authorize = authorize
        self._clock = clock
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Add the leaderboards to an app. Nothing is connected to before the first request that needs it."""
        if EXTENSION in app.extensions:
            raise ConfigurationError(f"the app {app.name!r} has leaderboards already: call init_app once for each app")
        settings = read_settings(app.config)
        hub = self._make_hub(app, settings)
        app.register_blueprint(make_blueprint(settings))
        commands = make_commands()
        if commands.name not in app.cli.commands:  # a command of the host's goes first
            app.cli.add_command(commands)
        access = Access(settings.tokens, self._authorize)
        feed = Feed(hub, interval_ms=settings.live_interval_ms)
        app.extensions[EXTENSION] = Service(
            hub=hub,
            feed=feed,
            settings=settings,
            access=access,
            signatures=Signatures(settings.signature_secrets, settings.signature_window_s),
            cursors=CursorSigner(lambda: _secrets(app, hub)),
            cache=MicroCache(settings.cache_ms),
            live=_make_live(app, feed, hub, access, settings),
        )

    def __getitem__(self, name: str) -> Leaderboard:
        return self.hub[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.hub)

    def __len__(self) -> int:
        return len(self.hub)

    @property
    def default(self) -> Leaderboard:
        """The first board declared."""
        return self.hub.default

    @property
    def hub(self) -> Hub:
        """All boards of the current app."""
        return current_service().hub

    def erase(self, user_id: str) -> None:
        """Take a user off every board of the current app, and forget the name and metadata."""
        self.hub.erase(user_id)

    def _make_hub(self, app: Flask, settings: Settings) -> Hub:
        def counted(board: str, receipt: Receipt) -> None:
            send(submission_counted, app, board=board, receipt=receipt)

        def closed(board: str, item: Closed) -> None:
            send(period_closed, app, board=board, window=item.window, period=item.period)

        folder = Path(app.instance_path) / "leaderboard"
        return Hub(
            (*self._boards, *settings.boards) or (_default_board(),),
            connector(
                settings.redis_url,
                folder,
                timeout_ms=settings.redis_timeout_ms,
                connect_timeout_ms=settings.redis_connect_timeout_ms,
            ),
            prefix=settings.key_prefix,
            clock=self._clock,
            functions=settings.redis_functions,
            rest_seconds=settings.redis_rest_ms / 1000,
            counted=counted,
            closed=closed,
            open_database=_database_opener(app, settings, folder),
            background=WorkerThread if _works_in_a_thread(settings) else None,
            keep_days=settings.keep_log_days,
            mode=_mode(settings),
            fallback_rows=settings.fallback_rows,
            signal_ms=settings.live_interval_ms if settings.live else None,
        )


def _mode(settings: Settings) -> Mode:
    """Give the mode of boards that state none. What is in memory is to be gone with it, so no file is made beside it."""
    if settings.mode is not None:
        return settings.mode
    fleeting = settings.redis_url.startswith("memory:") and settings.database_url is None and not settings.database_bind
    return "redis_only" if fleeting else "ledger"


def _works_in_a_thread(settings: Settings) -> bool:
    """Tell whether processes of the app do the worker's duties: as the app says, else where it has a server of its own."""
    return settings.redis_url.startswith("embedded:") if settings.worker_thread is None else settings.worker_thread


def _database_opener(app: Flask, settings: Settings, folder: Path) -> Callable[[], Database]:
    bind = settings.database_bind
    if bind:
        return lambda: Database(host_engine(app, bind))
    url = database_url(settings.database_url, folder)
    return lambda: Database(url, own=settings.database_url is None)


def _default_board() -> Board:
    return Board("default", windows=[AllTime(), Monthly(), Weekly(), Daily()])


def _make_live(app: Flask, feed: Feed, hub: Hub, access: Access, settings: Settings) -> Live:
    tickets = Tickets(lambda: _secrets(app, hub), hub.clock, settings.live_ticket_s)
    return Live(feed, settings, tickets, Doorkeeper(app, access, tickets), Clients(settings.live_max_clients))


def _secrets(app: Flask, hub: Hub) -> list[bytes]:
    """List what may be signed with, the newest last: the app's own secrets, or one that its processes share."""
    if not app.secret_key:
        return hub.app_keys.secrets()
    known = [*(app.config.get("SECRET_KEY_FALLBACKS") or ()), app.secret_key]
    return [secret.encode() if isinstance(secret, str) else secret for secret in known]
