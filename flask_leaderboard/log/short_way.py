"""The short way of submissions into a log on PostgreSQL: a whole transaction in one trip.

All of it is done by the server, numbers included, so the board's lock is not held while a client thinks, and no row is described
one by one. What is not plain goes the long way: removals, new names, and what is too late or twice in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from ..errors import LogUnavailableError, SeasonError
from ..rules.board import Board
from .database import Database
from .events import Draft, Logged

MOST_MET = 100_000
BETWEEN = "\n"
"""Stands between texts: no id and no segment has a control character but tabs."""
ADD_USERS = """
INSERT INTO leaderboard_user (user_id)
SELECT DISTINCT item.user_id COLLATE "C" FROM unnest(string_to_array(%(users)s, E'\\n')) AS item (user_id)
LEFT JOIN LATERAL (SELECT id FROM leaderboard_user WHERE user_id = item.user_id LIMIT 1) AS owner ON true
WHERE owner.id IS NULL ORDER BY 1
ON CONFLICT DO NOTHING
"""
_LOCK = """
SELECT set_config('plan_cache_mode', 'force_generic_plan', true) FROM leaderboard_board WHERE id = %(board)s FOR UPDATE
"""
"""To plan the next statement anew takes as long as to run it for a dozen of submissions, and brings nothing."""
_WRITE = """
WITH given AS MATERIALIZED (
    SELECT item.*, owner.id AS owner, item.name = owner.name AS same_name, known.number AS known, known.answer
    FROM unnest(
        string_to_array(%(users)s, E'\\n'), string_to_array(%(ids)s, E'\\n', ''), %(points)s::{type}[], %(times)s::bigint[],
        string_to_array(%(updates)s, E'\\n'), string_to_array(%(segments)s, E'\\n'), string_to_array(%(facts)s, E'\\n'),
        string_to_array(%(names)s, E'\\n', '')
    ) WITH ORDINALITY AS item (user_id, submission_id, points, at, update, segments, fact, name, place)
    LEFT JOIN LATERAL (SELECT id, name FROM leaderboard_user WHERE user_id = item.user_id LIMIT 1) AS owner ON true
    LEFT JOIN LATERAL (
        SELECT number, json_build_array(item.place, number, fact, (
            SELECT refused FROM leaderboard_event WHERE board = %(board)s AND number = ids.number
        )) AS answer
        FROM leaderboard_submission_id AS ids
        WHERE board = %(board)s AND "user" = owner.id AND submission_id = item.submission_id LIMIT 1
    ) AS known ON true
), state AS MATERIALIZED (
    SELECT head, closed_until, NOT EXISTS (SELECT FROM given WHERE owner IS NULL) AS whole,
    NOT EXISTS (SELECT FROM given WHERE name IS NOT NULL AND same_name IS NOT true) AS named, %(seasons)s = coalesce((
        SELECT string_agg("window" || '=' || name, E'\\n' ORDER BY "window", name) FROM leaderboard_season
        WHERE board = %(board)s AND "end" IS NULL AND "window" = ANY(string_to_array(%(windows)s, E'\\n'))
    ), '') AS in_season
    FROM leaderboard_board WHERE id = %(board)s
), new AS MATERIALIZED (
    SELECT given.*, head + row_number() OVER (ORDER BY place) AS number FROM given, state
    WHERE known IS NULL AND closed_until <= %(taken_at)s AND whole AND named AND in_season
), events AS (
    INSERT INTO leaderboard_event (board, number, kind, "user", {column}, at, taken_at, update, segments, writer)
    SELECT %(board)s, number, 'submit', owner, points, at, %(taken_at)s, update, coalesce(segments, ''), %(writer)s FROM new
), ids AS (
    INSERT INTO leaderboard_submission_id (board, "user", submission_id, number, fact)
    SELECT %(board)s, owner, submission_id, number, fact FROM new WHERE submission_id IS NOT NULL
), moved AS (
    UPDATE leaderboard_board SET head = last FROM (SELECT max(number) AS last FROM new) AS added WHERE id = %(board)s AND last > 0
)
SELECT head, closed_until, whole, named, in_season, (SELECT json_agg(answer) FROM given WHERE known IS NOT NULL) FROM state
"""
_KINDS = {"integer": {"type": "bigint", "column": "points_integer"}, "float": {"type": "float8", "column": "points_float"}}


class _State(NamedTuple):
    """What the board's row was like, and what held: all users there, no new name, the same seasons. Else nothing was written."""

    head: int
    closed_until: int
    whole: bool
    named: bool
    in_season: bool
    known: list[tuple[int, int, str, str | None]] | None


class Written(NamedTuple):
    """What came of a transaction: the number of the last event before, and what the log had of drafts, by place, with its fact.

    Nothing was written where `closed_until` is later than the drafts.
    """

    head: int
    closed_until: int
    known: dict[int, tuple[Logged, str]]


class ShortWay:
    """Writes the submissions of a board."""

    def __init__(self, board: Board, database: Database, windows: Iterable[str]) -> None:
        self.statements = (_LOCK, _WRITE.format(**_KINDS[board.score_type]))
        self._database = database
        self._windows = BETWEEN.join(windows)
        self._met: set[str] = set()

    def takes(self, drafts: Sequence[Draft]) -> bool:
        """Tell whether drafts can go this way."""
        if self._database.driver != "postgresql+psycopg" or not drafts:
            return False
        identities = [(draft.user_id, draft.submission_id) for draft in drafts if draft.submission_id is not None]
        if len(set(identities)) < len(identities):
            return False
        taken_at = drafts[0].taken_at
        return all(draft.kind == "submit" and draft.taken_at == taken_at and not draft.too_late for draft in drafts)

    def write(
        self, connection: Connection, board: int, drafts: Sequence[Draft], seasons: Iterable[tuple[str, str]] | None, writer: str
    ) -> Written | None:
        """Write drafts and commit; nothing where a name is new, refused where other seasons run than these."""
        words = self.words(drafts) | {"board": board, "writer": writer} | self._seasons(seasons)
        users = {draft.user_id for draft in drafts}
        met = users <= self._met
        state = self._run(connection, words, adding=not met)
        if not state.whole and met:  # somebody has been erased since
            self._met.clear()
            state = self._run(connection, words, adding=True)
        if not state.in_season:
            raise SeasonError("a season began or ended meanwhile: read the seasons again and repeat the call")
        if not state.whole:
            raise LogUnavailableError("a user was taken out of the log at this moment: repeat the call")
        self._meet(users)
        if not state.named:
            return None
        answers = {place - 1: (Logged(number, known=True, refused=code), fact) for place, number, fact, code in state.known or ()}
        return Written(state.head, state.closed_until, answers)

    def _run(self, connection: Connection, words: dict[str, Any], *, adding: bool) -> _State:
        with self._database.driven(connection) as driver, driver.pipeline(), driver.cursor() as cursor:
            for statement in (ADD_USERS, *self.statements) if adding else self.statements:
                cursor.execute(statement, words)
            driver.execute("COMMIT")
            return _State(*cursor.fetchone())

    def _meet(self, users: set[str]) -> None:
        """Remember who has a row, so that nobody looks for it again."""
        if len(self._met) > MOST_MET:
            self._met.clear()
        self._met |= users

    @staticmethod
    def words(drafts: Sequence[Draft]) -> dict[str, Any]:
        """Give what the statements need to know of drafts."""
        return {
            "users": BETWEEN.join([draft.user_id for draft in drafts]),
            "ids": BETWEEN.join([draft.submission_id or "" for draft in drafts]),
            "points": f"{{{','.join([repr(draft.points) for draft in drafts])}}}",
            "times": f"{{{','.join([str(draft.at) for draft in drafts])}}}",
            "updates": BETWEEN.join([draft.update for draft in drafts]),
            "segments": BETWEEN.join(["\t".join(draft.segments) for draft in drafts]),
            "names": BETWEEN.join([draft.user_name or "" for draft in drafts]),
            "facts": BETWEEN.join([draft.fact for draft in drafts]),
            "taken_at": drafts[0].taken_at,
        }

    def _seasons(self, seasons: Iterable[tuple[str, str]] | None) -> dict[str, str]:
        """Give which windows are to have which seasons; none where the caller does not care."""
        if seasons is None:
            return {"windows": "", "seasons": ""}
        return {"windows": self._windows, "seasons": BETWEEN.join(f"{window}={name}" for window, name in sorted(seasons))}
