"""How the commands of the bundle are called: as scripts, or as functions of a library."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from hiredis import pack_command
from redis import Redis, exceptions
from redis.exceptions import NoScriptError, ResponseError

from .. import errors
from .bundle import library_text, manifest, script_text
from .connects import Connects
from .gate import Gate
from .sharing import Shared

Arg = str | bytes | int
Call = tuple[Sequence[str], Sequence[Arg]]
"""The keys and arguments of a command."""
Commands = Sequence[Sequence[Arg]]
Packed = tuple[bytes, ...]
Calls = Shared[Packed, list[Any]]
T = TypeVar("T")

_ERRORS: dict[str, type[errors.LeaderboardError]] = {
    "LBBAND": errors.ProtocolError,
    "LBBEHIND": errors.BehindError,
    "LBBUSY": errors.ProtocolError,
    "LBCALL": errors.ProtocolError,
    "LBCLOSED": errors.ClosedPeriodError,
    "LBCONFLICT": errors.ConflictError,
    "LBDENSE": errors.DenseRankError,
    "LBJOURNAL": errors.JournalFullError,
    "LBLAYOUT": errors.LayoutError,
    "LBMOVED": errors.MovedError,
    "LBNUMBER": errors.PointsError,
    "LBPAST": errors.PastError,
    "LBRANGE": errors.ScoreRangeError,
    "LBRATE": errors.RateLimitError,
    "LBSEASON": errors.SeasonError,
    "LBSEGMENT": errors.SegmentLimitError,
    "LBTIME": errors.TimeError,
    "LBUPDATE": errors.UpdateError,
}


def error_of(message: str) -> errors.LeaderboardError | None:
    """Give the error behind a refusal of the scripts, which begins with its code."""
    code, _, text = message.partition(" ")
    return _ERRORS[code](text) if code in _ERRORS else None


_PASSING = (
    exceptions.ClusterDownError,
    exceptions.NoScriptError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.TryAgainError,
)
_PASSING_WORDS = re.compile(
    r"(?:^|-|: )(BUSY|LOADING|MASTERDOWN|MISCONF|NOREPLICAS|OOM|READONLY|TRYAGAIN|UNKILLABLE)\b|(?i:^function not found)"
)
"""Refusals that pass, as a server or a pipeline words them; Redis 6.2 wraps those of a script."""


def as_error(error: ResponseError) -> errors.LeaderboardError:
    """Give our error for a refusal of the scripts or of Redis itself."""
    known = error_of(str(error))
    if known is not None:
        return known
    if isinstance(error, _PASSING) or _PASSING_WORDS.search(str(error)):
        return errors.StoreUnavailableError(f"Redis refuses the call now: {error}")
    return errors.ProtocolError(f"Redis refused the call: {error}")


class Dialect(Protocol):
    """A way to name commands to the server, and to load them where it does not have them."""

    def words(self, command: str) -> tuple[str, str]:
        """Give the words that a call begins with."""

    def loading(self, command: str) -> tuple[str, ...]:
        """Give the words that load a command."""

    def is_missing(self, error: ResponseError) -> bool:
        """Tell whether the server refused a call because the command is not loaded."""


class Scripts:
    """Commands by EVALSHA."""

    def words(self, command: str) -> tuple[str, str]:
        return "EVALSHA", manifest()["commands"][command]["sha1"]

    def loading(self, command: str) -> tuple[str, ...]:
        return "SCRIPT", "LOAD", script_text(command)

    def is_missing(self, error: ResponseError) -> bool:
        return isinstance(error, NoScriptError)


class Functions:
    """Commands by FCALL. Needs Redis 7 or Valkey."""

    def words(self, command: str) -> tuple[str, str]:
        return "FCALL", manifest()["commands"][command]["function"]

    def loading(self, command: str) -> tuple[str, ...]:
        return "FUNCTION", "LOAD", "REPLACE", library_text()

    def is_missing(self, error: ResponseError) -> bool:
        return "function not found" in str(error).lower()


class Caller:
    """Runs commands of the bundle, loading them where the server does not have them; all of it goes through the gate.

    Calls that threads make at the same time go to the server together, and what several of them read then is read once.
    """

    def __init__(self, client: Redis, dialect: Dialect | None = None, gate: Gate | None = None) -> None:
        self.client: Any = client
        self.dialect = dialect or Scripts()
        self.gate = gate or Gate()
        self.connects = Connects()
        self._shared = isinstance(client, Redis)
        self._writes = Shared(self._send_together)
        self._reads = Shared(self._read_together)

    def use(self, work: Callable[[Any], T]) -> T:
        """Let `work` use the client for plain Redis commands."""
        try:
            with self.gate:
                return work(self.client)
        except ResponseError as error:
            raise as_error(error) from error

    def call(self, command: str, keys: Sequence[str], args: Sequence[Arg]) -> Any:
        """Run a command of the bundle."""
        return self._call(self._writes, command, keys, args)[0]

    def read(self, command: str, keys: Sequence[str], args: Sequence[Arg], *others: Sequence[Arg]) -> list[Any]:
        """Run a command of the bundle and plain ones, all of which only read, in one trip; give the replies to all of them."""
        return self._call(self._reads, command, keys, args, *others)

    def ask(self, *commands: Sequence[Arg]) -> list[Any]:
        """Send plain Redis commands together; give their replies as Redis writes them."""
        return [_checked(reply) for reply in self._send(self._writes, commands)]

    def begin(self, command: str, calls: Sequence[Call]) -> Callable[[], list[Any]]:
        """Send calls of a command, to be run in their order; give what waits for their replies. It must be called, once."""
        if not self._shared:
            return lambda: [self.call(command, *call) for call in calls]
        packed = [pack((*self.dialect.words(command), len(keys), *keys, *args)) for keys, args in calls]
        connection = self._send_ahead(packed)

        def replies() -> list[Any]:
            found = self._take_in(connection, len(packed))
            if any(isinstance(reply, ResponseError) and self.dialect.is_missing(reply) for reply in found):
                return [self.call(command, *call) for call in calls]
            return [_checked(reply) for reply in found]

        return replies

    def _send_ahead(self, packed: Sequence[bytes]) -> Any:
        """Send calls, and give the connection that their replies will come from."""
        pool = self.client.connection_pool
        with self.gate:
            connection: Any = pool.get_connection()
            try:
                connection.send_packed_command([b"".join(packed)])
            except BaseException:
                connection.disconnect()
                pool.release(connection)
                raise
            return connection

    def _take_in(self, connection: Any, count: int) -> list[Any]:
        """Read so many replies, and let the connection go."""
        with self.gate:
            try:
                return [_reply(connection) for _ in range(count)]
            except BaseException:
                connection.disconnect()  # replies that nobody has read must not meet the next call
                raise
            finally:
                self.client.connection_pool.release(connection)

    def _call(self, shared: Calls, command: str, keys: Sequence[str], args: Sequence[Arg], *others: Sequence[Arg]) -> list[Any]:
        words = (*self.dialect.words(command), len(keys), *keys, *args)
        first, *rest = self._send(shared, (words, *others))
        if isinstance(first, ResponseError) and self.dialect.is_missing(first):
            self.ask(self.dialect.loading(command))
            (first,) = self._send(shared, (words,))
        return [_checked(reply) for reply in (first, *rest)]

    def _send(self, shared: Calls, commands: Commands) -> Sequence[Any]:
        """Give the reply to each command, or its error in place of it."""
        if not self._shared:
            return [self._send_alone(words) for words in commands]
        return shared.run(tuple([pack(words) for words in commands]))  # what can't be packed stops no other thread's call

    def _send_alone(self, words: Sequence[Arg]) -> Any:
        try:
            with self.gate:
                return self.client.execute_command(*words)
        except ResponseError as error:
            return error

    def _read_together(self, calls: Sequence[Packed]) -> list[list[Any]]:
        """Send what several calls want to know once: all of them came before it is read."""
        distinct = list(dict.fromkeys(calls))
        replies = dict(zip(distinct, self._send_together(distinct), strict=True))
        return [replies[call] for call in calls]

    def _send_together(self, calls: Sequence[Packed]) -> list[list[Any]]:
        """Send the commands of several calls down one connection, then read all replies."""
        packed = [words for call in calls for words in call]
        replies = iter(self._take_in(self._send_ahead(packed), len(packed)))
        return [list(islice(replies, len(call))) for call in calls]


def pack(words: Sequence[Arg]) -> bytes:
    """Write a command as Redis reads it."""
    packed: bytes = pack_command(tuple(words))  # type: ignore[arg-type]  # its stub knows tuples of one word only
    return packed


def _checked(reply: Any) -> Any:
    if isinstance(reply, ResponseError):
        raise as_error(reply) from reply
    return reply


def _reply(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error
