"""Cuts of a board that have rankings of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from ..errors import ConfigurationError, IdentityError
from .names import check_name

_NEVER = re.compile(r"[\s/\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Segment:
    """A cut such as ``country``: the pattern of its values, and how many different ones the board takes."""

    name: str
    pattern: str = r"[A-Za-z0-9_-]{1,64}"
    limit: int = 1000

    def __post_init__(self) -> None:
        check_name(self.name, "segment")
        if type(self.limit) is not int or self.limit < 1:
            raise ConfigurationError(f"limit {self.limit!r} of segment {self.name!r} must be a whole number from 1")
        try:
            re.compile(self.pattern)
        except (re.error, TypeError) as error:
            raise ConfigurationError(
                f"pattern {self.pattern!r} of segment {self.name!r} is no regular expression: {error}"
            ) from error

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def label(self, value: str) -> str:
        """Give a value as it stands in keys, ``country=NL``, or refuse it."""
        fits = isinstance(value, str) and len(value) <= 64 and self._compiled.fullmatch(value) and value.isprintable()
        if not fits or not value or _NEVER.search(value):
            raise IdentityError(
                f"{value!r} is no value of segment {self.name!r}: it must match {self.pattern!r},"
                " have at most 64 characters, no space and no '/'"
            )
        return f"{self.name}={value}"
