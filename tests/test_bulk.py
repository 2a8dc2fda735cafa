"""Many rows in one statement, the same on every database."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from flask_leaderboard.log.bulk import insert_rows, select_rows, upsert_rows
from flask_leaderboard.log.database import Database
from flask_leaderboard.log.tables import boards, submission_ids, totals, users

STRANGE = ["é", "e\u0301", "E", "e ", "😀", "user'; --", "%s", "\\", 'quo"te', "{a,b}", "NULL", ""]


@pytest.fixture
def filled(database: Database) -> Database:
    with database.begin() as connection:
        insert_rows(connection, boards, [{"name": "arena", "head": 0}])
        insert_rows(connection, users, [{"user_id": name, "name": None} for name in STRANGE[:-1]])
        insert_rows(connection, users, [])
    return database


def test_rows_come_back_as_they_were_written(filled: Database) -> None:
    with filled.begin() as connection:
        assert set(connection.scalars(select(users.c.user_id))) == set(STRANGE[:-1])
        assert set(connection.scalars(select(users.c.name))) == {None}


@pytest.mark.parametrize("wanted", [["é"], ["é", "nobody", "{a,b}"], ["nobody"], STRANGE])
def test_one_of_some_values(filled: Database, wanted: list[str]) -> None:
    with filled.begin() as connection:
        query = select_rows(connection, select(users.c.user_id), (users.c.user_id,), [(name,) for name in wanted])
        assert set(connection.scalars(query)) == set(wanted) & set(STRANGE[:-1])


def test_pairs(filled: Database) -> None:
    ids = submission_ids.c
    with filled.begin() as connection:
        known = list(connection.scalars(select(users.c.id).order_by(users.c.id)))
        board = connection.scalar(select(boards.c.id))
        rows: list[dict[str, Any]] = [
            {"board": board, "user": user, "submission_id": text, "number": place, "fact": "1 increment"}
            for place, (user, text) in enumerate(zip(known, STRANGE, strict=False), 1)
        ]
        insert_rows(connection, submission_ids, rows)
        pairs = [(known[0], "é"), (known[0], "E"), (known[5], STRANGE[5]), (known[9], "{a,b}"), (10**9, "é")]
        query = select(ids.user, ids.submission_id, ids.number).where(ids.board == board)
        found = connection.execute(select_rows(connection, query, (ids.user, ids.submission_id), pairs)).all()
        assert sorted(found) == [(known[0], "é", 1), (known[5], STRANGE[5], 6), (known[9], "{a,b}", 10)]


def test_upserts_write_over_rows_with_the_same_key(database: Database) -> None:
    def rows(standing: float) -> list[dict[str, Any]]:
        return [{"user": user, "ranking": 1, "standing": standing, "tie": 0, "at": 5} for user in range(3)]

    with database.begin() as connection:
        upsert_rows(connection, totals, rows(0.1))
        upsert_rows(connection, totals, [])
        upsert_rows(connection, totals, rows(-1e300)[:2])
        found = connection.execute(select(totals.c.user, totals.c.standing).order_by(totals.c.user)).all()
        assert found == [(0, -1e300), (1, -1e300), (2, 0.1)]
