"""What came of a run: a table for the repository, and all that is needed to play a round again."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from flask_leaderboard.version import __version__


class Played(NamedTuple):
    """A round that was played: how many events it had, what was done to it, and what was wrong then."""

    seed: int
    mode: str
    events: int
    deeds: Counter[str]
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        return f"seed {self.seed} ({self.mode}): {self.events} events, {'; '.join(self.wrong[:3]) or 'clean'}"


def write_summary(rounds: Sequence[Played], path: Path | None) -> str:
    """Give the summary, and write it to a file where one is named."""
    text = "\n".join(_lines(rounds))
    if path is not None:
        path.write_text(f"{text}\n", "utf-8")
    return text


def _lines(rounds: Sequence[Played]) -> list[str]:
    seeds = [played.seed for played in rounds]
    what = f"{len(rounds)} rounds, seeds {min(seeds)} to {max(seeds)}"
    return [
        "# Rounds of chaos",
        "",
        f"{what}, {datetime.now(UTC):%Y-%m-%d}, version {__version__}, Python {platform.python_version()}.",
        "",
        "| mode | rounds | broken | events | done to the processes |",
        "|---|---|---|---|---|",
        *(_row(mode, [played for played in rounds if played.mode == mode]) for mode in sorted({one.mode for one in rounds})),
        "",
        "```",
        *map(str, rounds),
        "```",
    ]


def _row(mode: str, rounds: Sequence[Played]) -> str:
    deeds = sum((played.deeds for played in rounds), Counter[str]())
    told = ", ".join(f"{name} {count}" for name, count in sorted(deeds.items()))
    broken, events = sum(bool(played.wrong) for played in rounds), sum(played.events for played in rounds)
    return f"| {mode} | {len(rounds)} | {broken} | {events:,} | {told} |"
