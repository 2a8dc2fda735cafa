"""Why a connection is refused or ended, with the close code of each."""

from __future__ import annotations

from typing import NamedTuple

from ... import errors as e


class Refusal(NamedTuple):
    """What is told before a connection is closed: ``error``, then the close frame."""

    code: str
    detail: str
    close_code: int


TOO_BIG = 1009
FAILED = Refusal("internal", "something went wrong on the server: its log says more", 1011)
RESTARTING = Refusal("restarting", "the server is restarting: connect again", 1012)
TOO_SLOW = Refusal("too_slow", "what was sent was not read in time: connect again", 4408)

CLOSE_CODES: dict[type[e.LeaderboardError], int] = {
    e.TemporaryError: 1013,
    e.MessageError: 4400,
    e.UnauthorizedError: 4401,
    e.AccessError: 4403,
    e.MessageRateError: 4429,
}


def refusal_of(error: e.LeaderboardError) -> Refusal:
    """Give the refusal that an error leads to."""
    code = next((CLOSE_CODES[base] for base in type(error).__mro__ if base in CLOSE_CODES), FAILED.close_code)
    return Refusal(error.code, str(error), code)


def too_big(most: int) -> Refusal:
    return Refusal("message_too_big", f"a message has more than {most} bytes: send smaller ones", TOO_BIG)
