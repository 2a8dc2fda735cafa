"""Figures as a table for people and as JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .measure import Comparison

HEADINGS = ("figure", "ours", "limit", "unit", "beside", "ratio", "quartiles", "noise", "aim", "reached")
NOISY = 0.25
"""From here on a limit strayed too far for its ratios to be believed."""


@dataclass(frozen=True)
class Figure:
    """Something measured beside its limit.

    `ratio` is ours to the limit, and `aim` what it should be at most (or at least, where `at_least`); without an aim the figure
    is only told. `noise` is how far the limit itself strayed during the run. `published` says that the limit was not
    measured here but is what its maker's code is known to do.
    """

    group: str
    name: str
    ours: float
    beside: str
    limit: float
    unit: str
    ratio: float
    low: float | None = None
    high: float | None = None
    noise: float | None = None
    aim: float | None = None
    at_least: bool = False
    published: bool = False

    @property
    def reached(self) -> bool | None:
        if self.aim is None:
            return None
        return self.ratio >= self.aim if self.at_least else self.ratio <= self.aim

    def aiming(self, aim: float, *, at_least: bool = False) -> Figure:
        return replace(self, aim=aim, at_least=at_least)

    def as_published(self) -> Figure:
        return replace(self, published=True)


def figure_of(group: str, name: str, beside: str, unit: str, found: Comparison) -> Figure:
    """Make a figure of two series."""
    return Figure(group, name, found.ours, beside, found.limit, unit, found.ratio, found.low, found.high, found.noise)


def figure_at(group: str, name: str, ours: float, beside: str, limit: float, unit: str) -> Figure:
    """Make a figure of two plain numbers."""
    return Figure(group, name, ours, beside, limit, unit, ours / limit)


def as_json(benchmark: str, settings: Mapping[str, Any], figures: Sequence[Figure]) -> str:
    rows = [asdict(figure) | {"reached": figure.reached} for figure in figures]
    return json.dumps({"benchmark": benchmark, "settings": dict(settings), "figures": rows}, indent=2) + "\n"


def as_table(figures: Sequence[Figure]) -> str:
    rows = [HEADINGS, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines, group = [_line(HEADINGS, widths), _line(["-" * width for width in widths], widths)], ""
    for figure in figures:
        if figure.group != group:
            group = figure.group
            lines += ["", group]
        lines.append(_line(_cells(figure), widths))
    return "\n".join(lines) + "\n"


def publish(benchmark: str, settings: Mapping[str, Any], figures: Sequence[Figure], json_to: str | None) -> None:
    """Print the table, and the JSON to a file or (`-`) to stdout; the table then goes to stderr, so that each can be piped."""
    print(as_table(figures), file=sys.stderr if json_to == "-" else sys.stdout)
    if json_to == "-":
        sys.stdout.write(as_json(benchmark, settings, figures))
    elif json_to:
        Path(json_to).write_text(as_json(benchmark, settings, figures), "utf-8")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _cells(figure: Figure) -> tuple[str, ...]:
    return (
        "  " + figure.name,
        _number(figure.ours),
        _number(figure.limit),
        figure.unit,
        figure.beside + (" (published)" if figure.published else ""),
        f"{figure.ratio:.2f}",
        "" if figure.low is None or figure.high is None else f"{figure.low:.2f}-{figure.high:.2f}",
        "" if figure.noise is None else f"{figure.noise:.0%}",
        "" if figure.aim is None else f"{'>=' if figure.at_least else '<='} {figure.aim:g}",
        _verdict(figure),
    )


def _verdict(figure: Figure) -> str:
    if figure.reached is None:
        return ""
    doubt = "?" if figure.noise is not None and figure.noise > NOISY else ""
    return ("yes" if figure.reached else "no") + doubt


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.2f}"
