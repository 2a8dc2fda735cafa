"""How the commands of the bundle are called: as scripts, or as functions of a library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from redis import Redis
from redis.exceptions import NoScriptError, ResponseError

from .. import errors
from .bundle import library_text, manifest, script_text
from .gate import Gate

Arg = str | bytes | int
T = TypeVar("T")

_ERRORS: dict[str, type[errors.LeaderboardError]] = {
    "LBBAND": errors.ProtocolError,
    "LBBUSY": errors.ProtocolError,
    "LBCALL": errors.ProtocolError,
    "LBCLOSED": errors.ClosedPeriodError,
    "LBCONFLICT": errors.ConflictError,
    "LBDENSE": errors.DenseRankError,
    "LBJOURNAL": errors.JournalFullError,
    "LBLAYOUT": errors.LayoutError,
    "LBNUMBER": errors.PointsError,
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


def as_error(error: ResponseError) -> errors.LeaderboardError:
    """Give our error for a refusal of the scripts or of Redis itself."""
    return error_of(str(error)) or errors.ProtocolError(f"Redis refused the call: {error}")


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
        return "SCRIPT LOAD", script_text(command)

    def is_missing(self, error: ResponseError) -> bool:
        return isinstance(error, NoScriptError)


class Functions:
    """Commands by FCALL. Needs Redis 7 or Valkey."""

    def words(self, command: str) -> tuple[str, str]:
        return "FCALL", manifest()["commands"][command]["function"]

    def loading(self, command: str) -> tuple[str, ...]:
        return "FUNCTION LOAD", "REPLACE", library_text()

    def is_missing(self, error: ResponseError) -> bool:
        return "function not found" in str(error).lower()


class Caller:
    """Runs commands of the bundle, loading them where the server does not have them; all of it goes through the gate."""

    def __init__(self, client: Redis, dialect: Dialect | None = None, gate: Gate | None = None) -> None:
        self.client: Any = client
        self.dialect = dialect or Scripts()
        self.gate = gate or Gate()

    def use(self, work: Callable[[Any], T]) -> T:
        """Let `work` use the client for plain Redis commands."""
        try:
            with self.gate:
                return work(self.client)
        except ResponseError as error:
            raise as_error(error) from error

    def call(self, command: str, keys: Sequence[str], args: Sequence[Arg]) -> Any:
        words = (*self.dialect.words(command), len(keys), *keys, *args)
        try:
            with self.gate:
                return self._call(command, words)
        except ResponseError as error:
            raise as_error(error) from error

    def _call(self, command: str, words: Sequence[Arg]) -> Any:
        try:
            return self.client.execute_command(*words)
        except ResponseError as error:
            if not self.dialect.is_missing(error):
                raise
        self.client.execute_command(*self.dialect.loading(command))
        return self.client.execute_command(*words)
