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
)
from sqlalchemy.dialects.mysql import VARBINARY
from sqlalchemy.types import TypeDecorator, TypeEngine

NAMING = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
}
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

boards = Table(
    "leaderboard_board",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Bytewise(64), nullable=False, unique=True),
    Column("head", BigInteger, nullable=False, comment="the number of its last event; locked while numbers are given"),
)
users = Table(
    "leaderboard_user",
    metadata,
    Column("id", Surrogate, primary_key=True),
    Column("user_id", Bytewise(255), nullable=True, unique=True),
)
events = Table(
    "leaderboard_event",
    metadata,
    Column("board", Integer, ForeignKey(boards.c.id), primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("user", Surrogate, ForeignKey(users.c.id), nullable=False),
    Column("points_integer", BigInteger, nullable=True),
    Column("points_float", Double(), nullable=True),
    Column("at", BigInteger, nullable=False, comment="when the points were won"),
    Column("taken_at", BigInteger, nullable=False, comment="when they were submitted: decides which periods were open"),
    Column("update", String(16), nullable=False),
    Column("segments", Bytewise(1024), nullable=False, comment="name=value, separated by tabs"),
    Column("refused", String(32), nullable=True, comment="the code with which the fold refuses it, once that is known"),
    Column("writer", String(16), nullable=False, comment="who wrote it: tells after a lost reply whether it was written"),
    Index(None, "board", "user", "number"),
)
submission_ids = Table(
    "leaderboard_submission_id",
    metadata,
    Column("board", Integer, ForeignKey(boards.c.id), primary_key=True, autoincrement=False),
    Column("user", Surrogate, ForeignKey(users.c.id), primary_key=True, autoincrement=False),
    Column("submission_id", Bytewise(255), primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("fact", String(64), nullable=False, comment="points and update it was used with"),
    Index(None, "board", "number"),
)
