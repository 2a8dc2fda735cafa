"""Bots that play by the rules of everybody else: they need the time a flight takes, and their flights are checked."""

from __future__ import annotations

import heapq
import logging
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from random import Random

import click
from flask import current_app
from flask.cli import with_appcontext

from flask_leaderboard import LeaderboardError

from . import matches
from .courses import ROCK, STAR, CheatError, Course
from .database import Match, Player, db
from .people import BOTS, Person

FIRST_FLIGHT_ROWS = 8
PAUSES_S = (2.0, 12.0)
SKILLS = (0.94, 0.99)
AWAY_S = 5.0
_logger = logging.getLogger(__name__)


@click.command("bots")
@click.option("--players", type=click.IntRange(1, len(BOTS)), default=len(BOTS), show_default=True, help="How many play.")
@click.option("--rate", type=click.FloatRange(0.1, 50), default=3.0, show_default=True, help="Matches a second at most.")
@with_appcontext
def play(players: int, rate: float) -> None:
    """Let bots play until they are stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        take_turns([Bot(find_player(person)) for person in BOTS[:players]], rate)


@dataclass
class Bot:
    """A player who is in a match or rests after one. `skill` is how surely a row is survived."""

    player: Player
    draw: Random = field(default_factory=Random)
    skill: float = field(init=False)
    match: Match | None = None
    path: str = ""
    flights: int = 0

    def __post_init__(self) -> None:
        self.skill = self.draw.uniform(*SKILLS)

    def take_turn(self) -> float:
        """Begin a match, or end the one that is flown; tell in how many seconds the next turn is due."""
        if self.match is None:
            self.match = matches.start(self.player)
            course = Course(self.match.seed)
            self.path = "".join(islice(self._fly(course), None if self.flights else FIRST_FLIGHT_ROWS))
            return course.times_ms[len(self.path) - 1] / 1000
        matches.end(db.session.merge(self.match), self.path)
        self.match, self.flights = None, self.flights + 1
        return self.draw.uniform(*PAUSES_S)

    def _fly(self, course: Course) -> Iterator[str]:
        for row in course.rows:
            survives = self.draw.random() < self.skill
            wanted = (STAR if STAR in row and self.draw.random() < self.skill else row.replace(ROCK, "")) if survives else ROCK
            yield str(self.draw.choice([lane for lane, cell in enumerate(row) if cell in wanted]))
            if not survives:
                return


def find_player(person: Person) -> Player:
    """Give the player that a bot is, also after a restart."""
    found = db.session.scalar(db.select(Player).filter_by(name=person.name, country=person.country, bot=True))
    if found is None:
        found = Player(name=person.name, country=person.country, bot=True)
        db.session.add(found)
        db.session.commit()
    return found


def take_turns(crowd: list[Bot], rate: float) -> None:
    """Let each bot act when its turn is due, one at a time; a match is two turns."""
    least_s = 1 / (2 * rate)
    turns = [(time.monotonic() + number * least_s, number) for number in range(len(crowd))]
    while True:
        due, number = heapq.heappop(turns)
        time.sleep(max(least_s, due - time.monotonic()))
        heapq.heappush(turns, (time.monotonic() + act(crowd[number]), number))


def act(bot: Bot) -> float:
    """Take a bot's turn in a context of its own. While the leaderboard is away, bots wait; who waited too long begins anew."""
    with current_app.app_context():
        try:
            return bot.take_turn()
        except LeaderboardError as error:
            _logger.warning("%s waits: %s", bot.player.name, error)
        except CheatError:
            bot.match = None
        return AWAY_S
