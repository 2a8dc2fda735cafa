"""How the commands of the bundle are called: as scripts, or as functions of a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from redis import Redis
from redis.commands.core import Script
from redis.exceptions import ResponseError

from .. import errors
from .bundle import library_text, manifest, script_text

Arg = str | bytes | int

_ERRORS: dict[str, type[errors.LeaderboardError]] = {
    "LBBAND": errors.ProtocolError,
    "LBBUSY": errors.ProtocolError,
    "LBCALL": errors.ProtocolError,
    "LBCONFLICT": errors.ConflictError,
    "LBDENSE": errors.DenseRankError,
    "LBJOURNAL": errors.JournalFullError,
    "LBLAYOUT": errors.LayoutError,
    "LBNUMBER": errors.PointsError,
    "LBRANGE": errors.ScoreRangeError,
    "LBSEASON": errors.SeasonError,
    "LBSEGMENT": errors.SegmentLimitError,
    "LBTIME": errors.TimeError,
    "LBUPDATE": errors.UpdateError,
}


def error_of(message: str) -> errors.LeaderboardError | None:
    """Give the error behind a refusal of the scripts, which begins with its code."""
    code, _, text = message.partition(" ")
    return _ERRORS[code](text) if code in _ERRORS else None


def as_error(error: ResponseError) -> Exception:
    """Give our error for one of the scripts, and any other as it is."""
    return error_of(str(error)) or error


class Caller(Protocol):
    """Runs a command of the bundle."""

    def call(self, command: str, keys: Sequence[str], args: Sequence[Arg]) -> Any: ...


class ScriptCaller:
    """Runs commands by EVALSHA and loads a script where the server does not have it."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._scripts: dict[str, Script] = {}

    def call(self, command: str, keys: Sequence[str], args: Sequence[Arg]) -> Any:
        script = self._scripts.get(command)
        if script is None:
            script = self._scripts[command] = self._client.register_script(script_text(command))
        try:
            return script(keys=keys, args=args)
        except ResponseError as error:
            raise as_error(error) from error


class FunctionCaller:
    """Runs commands by FCALL and loads the library where the server does not have it. Needs Redis 7 or Valkey."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def call(self, command: str, keys: Sequence[str], args: Sequence[Arg]) -> Any:
        function = manifest()["commands"][command]["function"]
        try:
            try:
                return self._client.fcall(function, len(keys), *keys, *args)
            except ResponseError as error:
                if "function not found" not in str(error).lower():
                    raise
                self._client.function_load(library_text(), replace=True)
                return self._client.fcall(function, len(keys), *keys, *args)
        except ResponseError as error:
            raise as_error(error) from error
