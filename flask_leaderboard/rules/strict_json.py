"""JSON from the outside, read strictly."""

from __future__ import annotations

import json
from typing import Any

from ..errors import InputError
from .decimals import read_fraction


def parse_json(data: bytes, what: str = "the body") -> Any:
    """Parse strictly: UTF-8, no name twice in an object, no NaN or Infinity, no fraction rounded."""
    try:
        return _DECODER.decode(data.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{what} is not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise InputError(f"{what} is nested too deeply") from None
    except (json.JSONDecodeError, _RefusedError) as error:
        raise InputError(f"{what} is not JSON: {error}") from None
    except ValueError:  # Python's own limit, which it takes some thousand digits to reach
        raise InputError(f"{what} has a number with too many digits: send fewer, or text") from None


class _RefusedError(ValueError):
    """What Python's parser takes, and JSON is better without."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _RefusedError(f"the name {name[:40]!r} stands twice in one object")
            seen.add(name)
    return found


def _refuse_constant(name: str) -> Any:
    raise _RefusedError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=read_fraction)
