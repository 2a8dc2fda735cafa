"""The tables. Times are whole microseconds since 1970 in UTC, ids are compared as bytes on every database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.mysql import MEDIUMTEXT, VARBINARY
from sqlalchemy.types import TypeDecorator, TypeEngine

NAMING = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
}
MOST_SEGMENT_BYTES = 1024
metadata = MetaData(naming_convention=NAMING)


class Bytewise(TypeDecorator[str]):
    """Text that is equal only where its UTF-8 bytes are: MariaDB would take "a" and "a " for the same."""

    impl = String
    cache_ok = True

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        kinds: dict[str, TypeEngine[Any]] = {
            "postgresql": String(self.length, collation="C"),
            "mysql": VARBINARY(self.length),
            "mariadb": VARBINARY(self.length),
        }
        return dialect.type_descriptor(kinds.get(dialect.name, String(self.length)))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        return value.encode() if value is not None and dialect.name in ("mysql", "mariadb") else value

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return value.decode() if isinstance(value, bytes | bytearray) else value


Surrogate = BigInteger().with_variant(Integer, "sqlite")
LongText = Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb")

boards = Table(
    "leaderboard_board",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Bytewise(64), nullable=False, unique=True),
    Column("head", BigInteger, nullable=False, comment="the number of its last event; locked while numbers are given"),
    Column("closed_until", BigInteger, nullable=False, server_default="0", comment="no event is taken at a time before this"),
    Column("pruned", BigInteger, nullable=False, server_default="0", comment="events up to this number are not kept any more"),
)
users = Table(
    "leaderboard_user",
    metadata,
    Column("id", Surrogate, primary_key=True),
    Column("user_id", Bytewise(255), nullable=True, unique=True),
    Column("name", Bytewise(255), nullable=True, comment="for display"),
    Column("profile", LongText, nullable=True, comment="metadata as JSON, in ASCII"),
    Column("version", BigInteger, nullable=False, server_default="0", index=True, comment="of name and metadata, see versions"),
)
erased = Table(
    "leaderboard_erased",
    metadata,
    Column("user", Surrogate, ForeignKey(users.c.id), primary_key=True, autoincrement=False),
    Column("user_id", Bytewise(255), nullable=False, comment="for as long as Redis may come back with it"),
    Column("version", BigInteger, nullable=False, comment="of the profile that was taken away"),
    Column("at", BigInteger, nullable=False),
)
versions = Table(
    "leaderboard_version",
    metadata,
    Column("what", String(16), primary_key=True),
    Column("version", BigInteger, nullable=False, comment="the latest given; locked while one is"),
)
# The two tables that every submission writes to have no foreign keys: PostgreSQL would lock the rows they name, row by row, which
# takes longer than all the rest. Rows of boards and users are never deleted.
events = Table(
    "leaderboard_event",
    metadata,
    Column("board", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("user", Surrogate, nullable=False),
    Column("points_integer", BigInteger, nullable=True),
    Column("points_float", Double(), nullable=True),
    Column("at", BigInteger, nullable=False, comment="when the points were won"),
    Column("taken_at", BigInteger, nullable=False, comment="when they were submitted: decides which periods were open"),
    Column("update", String(16), nullable=False),
    Column("segments", Bytewise(MOST_SEGMENT_BYTES), nullable=False, comment="name=value, separated by tabs"),
    Column("refused", String(32), nullable=True, comment="the code with which the fold refuses it, once that is known"),
    Column("writer", String(16), nullable=False, comment="who wrote it: tells after a lost reply whether it was written"),
    Index(None, "board", "user", "number"),
)
submission_ids = Table(
    "leaderboard_submission_id",
    metadata,
    Column("board", Integer, primary_key=True, autoincrement=False),
    Column("user", Surrogate, primary_key=True, autoincrement=False),
    Column("submission_id", Bytewise(255), primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("fact", String(64), nullable=False, comment="points and update it was used with"),
    Index(None, "number", "board"),  # this way round nobody takes it for the primary key while the tables are small
)
seasons = Table(
    "leaderboard_season",
    metadata,
    Column("board", Integer, ForeignKey(boards.c.id), primary_key=True, autoincrement=False),
    Column("window", Bytewise(64), primary_key=True),
    Column("name", Bytewise(64), primary_key=True),
    Column("start", BigInteger, nullable=False),
    Column("end", BigInteger, nullable=True, comment="null while it runs"),
    Column("after", BigInteger, nullable=False, comment="the board's head when it started: what is behind may count in it"),
    Column("last", BigInteger, nullable=True, comment="the board's head when it ended"),
)
projections = Table(
    "leaderboard_projection",
    metadata,
    Column("board", Integer, ForeignKey(boards.c.id), primary_key=True, autoincrement=False),
    Column(
        "folded", BigInteger, nullable=False, comment="the totals hold the events up to this number; locked while they are folded"
    ),
)
segment_values = Table(
    "leaderboard_segment_value",
    metadata,
    Column("board", Integer, ForeignKey(boards.c.id), primary_key=True, autoincrement=False),
    Column("label", Bytewise(MOST_SEGMENT_BYTES), primary_key=True, comment="name=value"),
)
periods = Table(
    "leaderboard_period",
    metadata,
    Column("id", Surrogate, primary_key=True),
    Column("board", Integer, ForeignKey(boards.c.id), nullable=False),
    Column("window", Bytewise(64), nullable=False),
    Column("name", Bytewise(64), nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("end", BigInteger, nullable=False),
    Column("rules", String(255), nullable=False, comment="what its totals were folded under: other rules can't go on"),
    Column("last", BigInteger, nullable=True, comment="the board's head when it was closed: no later event counts in it"),
    Column("archived", BigInteger, nullable=True, comment="when its standings were complete"),
    UniqueConstraint("board", "window", "name"),
)
rankings = Table(
    "leaderboard_ranking",
    metadata,
    Column("id", Surrogate, primary_key=True),
    Column("period", Surrogate, ForeignKey(periods.c.id), nullable=False),
    Column("segment", Bytewise(MOST_SEGMENT_BYTES), nullable=False, comment="name=value; empty for the whole board"),
    Column("size", BigInteger, nullable=True, comment="how many standings were archived"),
    UniqueConstraint("period", "segment"),
)
totals = Table(
    "leaderboard_total",
    metadata,
    Column("user", Surrogate, primary_key=True, autoincrement=False),
    Column("ranking", Surrogate, primary_key=True, autoincrement=False),
    Column("standing", Double(), nullable=False, comment="the score, negative where high wins: lower is better"),
    Column("tie", BigInteger, nullable=False, comment="who stands first among equals: lower does"),
    Column("at", BigInteger, nullable=False, comment="when the score was reached"),
    Index(None, "ranking", "standing", "tie"),
)
standings = Table(
    "leaderboard_standing",
    metadata,
    Column("ranking", Surrogate, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False, comment="the unique rank"),
    Column("user", Surrogate, nullable=False),
    Column("standing", Double(), nullable=False),
    Column("tie", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("first", BigInteger, nullable=False, comment="the position of the first with this score: the sparse rank"),
    Column("last", BigInteger, nullable=False, comment="the position of the last with this score: the modified rank"),
    Column("level", BigInteger, nullable=False, comment="how many different scores up to this one: the dense rank"),
    Index(None, "ranking", "user"),
    Index(None, "ranking", "standing"),
)
