"""Every setting in one place: read once from the app's configuration, checked, and never changed after."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, cast, get_args

from .errors import ConfigurationError
from .rules.board import Board, Mode
from .rules.declaration import declare_board

ROLES = ("read", "submit", "admin")
_PREFIX = "LEADERBOARD_"
_TOKEN = re.compile(r"[!-~]+")
_SHA256 = re.compile(r"sha256:[0-9a-fA-F]{64}")
_logger = logging.getLogger("flask_leaderboard")


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be text")
    return value


def _bind(value: Any) -> bool | str:
    if not isinstance(value, bool | str) or value == "":
        raise ValueError("must be True, or a key of SQLALCHEMY_BINDS")
    return value


def _key_prefix(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", value):
        raise ValueError("must be 1 to 64 of A-Z, a-z, 0-9, _, ., : and -")
    return value


def _url_prefix(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", value):
        raise ValueError("must be a path such as '/v1', without '/' at its end")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be True or False")
    return value


def _whole(lowest: int, highest: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is not int or not lowest <= value <= highest:
            raise ValueError(f"must be a whole number from {lowest} to {highest}")
        return value

    return check


def _texts(value: Any) -> tuple[str, ...]:
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, Iterable) or isinstance(listed, Mapping):
        raise ValueError("must be a list of texts")
    texts = tuple(listed)
    if not all(isinstance(text, str) and text for text in texts):
        raise ValueError("must be a list of texts, none of them empty")
    return texts


def _origins(value: Any) -> tuple[str, ...]:
    origins = _texts(value)
    for origin in origins:
        if origin != "*" and not re.fullmatch(r"https?://[^/?#\s]+", origin):
            raise ValueError("must be a list of origins such as 'https://game.example', without a path; or '*' for all")
    return origins


def _tokens(value: Any) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, Mapping) or not set(value) <= set(ROLES):
        raise ValueError("must be a mapping with the keys 'read', 'submit' and 'admin'")
    tokens = {role: _texts(value.get(role, ())) for role in ROLES}
    for token in (token for listed in tokens.values() for token in listed):
        if not _TOKEN.fullmatch(token):
            raise ValueError("has a token that can't stand in a header: use letters, digits and signs of ASCII, without spaces")
        if token.startswith("sha256:") and not _SHA256.fullmatch(token):
            raise ValueError("has a token that begins with 'sha256:' but is no such digest: 64 hex digits must follow")
    return tokens


def _mode(value: Any) -> Mode:
    if value not in get_args(Mode):
        raise ValueError(f"must be one of {', '.join(get_args(Mode))}")
    return cast(Mode, value)


def _boards(value: Any) -> tuple[Board, ...]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise ValueError("must be a list of boards")
    return tuple(declare_board(item) for item in value)


def _setting(default: Any, check: Callable[[Any], Any]) -> Any:
    return field(default=default, metadata={"check": check})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What an app configures. The setting ``redis_url`` has the key ``LEADERBOARD_REDIS_URL``, and so on."""

    redis_url: str = _setting("embedded://", _text)
    database_url: str | None = _setting(None, _text)
    mode: Mode | None = _setting(None, _mode)  # noqa: RUF009 - ruff knows the name of the type only
    keep_log_days: int | None = _setting(None, _whole(1, 36_500))
    worker_thread: bool | None = _setting(None, _flag)
    database_bind: bool | str = _setting(False, _bind)
    fallback_rows: int = _setting(1_000_000, _whole(0, 1_000_000_000))
    redis_timeout_ms: int = _setting(1000, _whole(10, 60_000))
    redis_connect_timeout_ms: int = _setting(500, _whole(10, 60_000))
    redis_rest_ms: int = _setting(1000, _whole(0, 60_000))
    redis_functions: bool = _setting(False, _flag)
    key_prefix: str = _setting("lb1", _key_prefix)
    url_prefix: str = _setting("/v1", _url_prefix)
    docs: bool = _setting(True, _flag)
    pages: bool = _setting(True, _flag)
    boards: tuple[Board, ...] = _setting((), _boards)
    tokens: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _tokens({}), metadata={"check": _tokens})
    signature_secrets: tuple[str, ...] = _setting((), _texts)
    signature_window_s: int = _setting(300, _whole(1, 86_400))
    cache_ms: int = _setting(250, _whole(0, 60_000))
    max_age_s: int = _setting(5, _whole(0, 86_400))
    max_limit: int = _setting(100, _whole(1, 1000))
    max_batch: int = _setting(1000, _whole(1, 10_000))
    max_friends: int = _setting(500, _whole(1, 500))
    max_body_bytes: int = _setting(1_048_576, _whole(1024, 2**30))
    max_metadata_bytes: int = _setting(2048, _whole(2, 65_536))
    live: bool = _setting(True, _flag)
    live_interval_ms: int = _setting(500, _whole(10, 60_000))
    live_max_clients: int = _setting(900, _whole(1, 1_000_000))
    live_max_subscriptions: int = _setting(8, _whole(1, 100))
    live_max_top: int = _setting(100, _whole(1, 1000))
    live_message_bytes: int = _setting(4096, _whole(256, 65_536))
    live_messages_per_minute: int = _setting(120, _whole(1, 100_000))
    live_origins: tuple[str, ...] | None = _setting(None, _origins)
    live_send_timeout_ms: int = _setting(10_000, _whole(100, 300_000))
    live_ping_s: int = _setting(25, _whole(1, 3600))
    live_ticket_s: int = _setting(60, _whole(1, 3600))

    def __post_init__(self) -> None:
        if self.database_bind and self.database_url is not None:
            raise ConfigurationError("LEADERBOARD_DATABASE_URL and LEADERBOARD_DATABASE_BIND name two databases: set one of them")


def config_key(name: str) -> str:
    """Give the configuration key of a setting."""
    return _PREFIX + name.upper()


def read_settings(config: Mapping[str, Any]) -> Settings:
    """Read the settings of an app; what it does not set has its default, and what is wrong is named by its key."""
    checks = {item.name: item.metadata["check"] for item in fields(Settings)}
    given = {name: config[config_key(name)] for name in checks if config.get(config_key(name)) is not None}
    settings: dict[str, Any] = {}
    for name, value in given.items():
        try:
            settings[name] = checks[name](value)
        except (ValueError, ConfigurationError) as error:
            shown = "" if name in ("boards", "tokens", "signature_secrets", "database_url") else f" {value!r}"
            raise ConfigurationError(f"{config_key(name)}{shown}: {error}") from error
    _warn_of_strangers(config, {config_key(name) for name in checks})
    return Settings(**settings)


def _warn_of_strangers(config: Mapping[str, Any], known: set[str]) -> None:
    for key in config:
        if isinstance(key, str) and key.startswith(_PREFIX) and key not in known:
            close = difflib.get_close_matches(key, known, 1)
            hint = f": did you mean '{close[0]}'?" if close else ""
            _logger.warning("the configuration key '%s' is not known%s", key, hint)
