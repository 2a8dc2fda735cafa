"""Clients by URL. Nothing connects before the first command."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from ..errors import ConfigurationError
from .embedded import EmbeddedServer
from .late_cluster import LateCluster

Connect = Callable[[], Any]
SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "redis+cluster", "embedded", "memory")


def connector(url: str, folder: Path, *, timeout_ms: int, connect_timeout_ms: int) -> Connect:
    """Give what makes the client for a URL; `folder` is where an embedded server keeps its data unless the URL names one.

    Calls are sent once: whether what may have run is sent again is for the caller to decide.
    """
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise ConfigurationError(f"LEADERBOARD_REDIS_URL {_masked(url)!r} can't be read: {error}") from error
    options: dict[str, Any] = {
        "socket_timeout": timeout_ms / 1000,
        "socket_connect_timeout": connect_timeout_ms / 1000,
        "retry": Retry(NoBackoff(), 0),
    }
    if scheme in ("redis", "rediss", "unix"):
        return _plain(url, options)
    if scheme == "redis+sentinel":
        return _sentinel(url, options)
    if scheme == "redis+cluster":
        return _cluster(url, options)
    if scheme == "embedded":
        return _embedded(url, folder, options)
    if scheme == "memory":
        return _memory(url)
    raise ConfigurationError(
        f"LEADERBOARD_REDIS_URL {_masked(url)!r} must begin with one of {', '.join(f'{s}://' for s in SCHEMES)}"
    )


def _plain(url: str, options: dict[str, Any]) -> Connect:
    try:
        client = Redis.from_url(url, **options)
        client.connection_pool.make_connection()  # connects to nothing, but refuses options that are none
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"LEADERBOARD_REDIS_URL {_masked(url)!r} can't be read: {error}") from error
    if client.get_encoder().decode_responses:
        raise ConfigurationError(f"LEADERBOARD_REDIS_URL {_masked(url)!r} must not have decode_responses")
    return partial(Redis.from_url, url, **options)


def _sentinel(url: str, options: dict[str, Any]) -> Connect:
    """Read ``redis+sentinel://user:password@host:26379,other:26379/service/db``."""
    login, hosts, path = _parts(url)
    service, _, db = path.partition("/")
    if not service:
        raise ConfigurationError(
            f"LEADERBOARD_REDIS_URL {_masked(url)!r} must name the service: redis+sentinel://host:26379/mymaster"
        )
    common = {**options, **login, "db": _number(db or "0", url)}

    def connect() -> Any:
        sentinel: Any = Sentinel
        return sentinel(_nodes(hosts, 26379, url), sentinel_kwargs=options, **common).master_for(service)

    _nodes(hosts, 26379, url)
    return connect


def _cluster(url: str, options: dict[str, Any]) -> Connect:
    """Read ``redis+cluster://user:password@host:6379,other:6379``."""
    login, hosts, path = _parts(url)
    if path:
        raise ConfigurationError(f"LEADERBOARD_REDIS_URL {_masked(url)!r} has a path: a cluster has no numbered databases")
    nodes = _nodes(hosts, 6379, url)

    def connect() -> RedisCluster:
        node: Any = ClusterNode
        startup = [node(host, port) for host, port in nodes]
        return RedisCluster(startup_nodes=startup, **options, **login)

    return partial(LateCluster, connect)


def _embedded(url: str, folder: Path, options: dict[str, Any]) -> Connect:
    named = unquote(urlsplit(url).path)
    server = EmbeddedServer(Path(named) if named.strip("/") else folder)
    return partial(server.client, **options)


def _memory(url: str) -> Connect:
    """Read ``memory://``, a Redis of the app's own, or ``memory://name``, one that apps of this process share."""
    if find_spec("fakeredis") is None or find_spec("lupa") is None:
        raise ConfigurationError('LEADERBOARD_REDIS_URL memory:// needs fakeredis: install "flask-leaderboard[test]"')
    fakeredis = import_module("fakeredis")
    name = urlsplit(url).netloc
    server = _SHARED.setdefault(name, fakeredis.FakeServer()) if name else fakeredis.FakeServer()
    return partial(fakeredis.FakeRedis, server=server)


_SHARED: dict[str, Any] = {}


def _parts(url: str) -> tuple[dict[str, Any], str, str]:
    """Take a URL with several hosts apart: login, hosts and path."""
    parts = urlsplit(url)
    if parts.query:
        raise ConfigurationError(f"LEADERBOARD_REDIS_URL {_masked(url)!r} has options: only those of a single server may")
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    named = {"username": unquote(username), "password": unquote(password)}
    return {key: value for key, value in named.items() if value}, hosts, parts.path.strip("/")


def _nodes(hosts: str, default_port: int, url: str) -> list[tuple[str, int]]:
    nodes = []
    for host in hosts.split(","):
        name, _, port = host.rpartition(":") if ":" in host.rpartition("]")[2] else (host, "", str(default_port))
        nodes.append((name.strip("[]"), _number(port, url)))
    if not all(name for name, _ in nodes):
        raise ConfigurationError(f"LEADERBOARD_REDIS_URL {_masked(url)!r} must name a host")
    return nodes


def _number(digits: str, url: str) -> int:
    if not digits.isdecimal():
        raise ConfigurationError(f"LEADERBOARD_REDIS_URL {_masked(url)!r} has {digits!r} where a number belongs")
    return int(digits)


def _masked(url: str) -> str:
    """Give a URL without passwords, for messages."""
    url = url.partition("?")[0]
    head, at, tail = url.rpartition("@")
    scheme, _, _ = head.partition("://")
    return f"{scheme}://***@{tail}" if at else url
