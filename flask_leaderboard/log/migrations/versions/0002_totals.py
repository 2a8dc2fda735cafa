"""Totals, archived standings, seasons, and profiles of users."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from flask_leaderboard.log.tables import Bytewise, LongText, Surrogate

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "leaderboard_board",
        sa.Column(
            "closed_until", sa.BigInteger, nullable=False, server_default="0", comment="no event is taken at a time before this"
        ),
    )
    op.add_column(
        "leaderboard_board",
        sa.Column(
            "pruned", sa.BigInteger, nullable=False, server_default="0", comment="events up to this number are not kept any more"
        ),
    )
    op.add_column("leaderboard_user", sa.Column("name", Bytewise(255), nullable=True, comment="for display"))
    op.add_column("leaderboard_user", sa.Column("profile", LongText, nullable=True, comment="metadata as JSON, in ASCII"))
    op.add_column(
        "leaderboard_user",
        sa.Column("version", sa.BigInteger, nullable=False, server_default="0", comment="of name and metadata, see versions"),
    )
    op.create_index("ix_leaderboard_user_version", "leaderboard_user", ["version"])
    op.create_table(
        "leaderboard_erased",
        sa.Column("user", Surrogate, sa.ForeignKey("leaderboard_user.id"), primary_key=True, autoincrement=False),
        sa.Column("user_id", Bytewise(255), nullable=False, comment="for as long as Redis may come back with it"),
        sa.Column("version", sa.BigInteger, nullable=False, comment="of the profile that was taken away"),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "leaderboard_version",
        sa.Column("what", sa.String(16), primary_key=True),
        sa.Column("version", sa.BigInteger, nullable=False, comment="the latest given; locked while one is"),
    )
    op.create_table(
        "leaderboard_season",
        sa.Column("board", sa.Integer, sa.ForeignKey("leaderboard_board.id"), primary_key=True, autoincrement=False),
        sa.Column("window", Bytewise(64), primary_key=True),
        sa.Column("name", Bytewise(64), primary_key=True),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("end", sa.BigInteger, nullable=True, comment="null while it runs"),
        sa.Column(
            "after", sa.BigInteger, nullable=False, comment="the board's head when it started: what is behind may count in it"
        ),
        sa.Column("last", sa.BigInteger, nullable=True, comment="the board's head when it ended"),
    )
    op.create_table(
        "leaderboard_projection",
        sa.Column("board", sa.Integer, sa.ForeignKey("leaderboard_board.id"), primary_key=True, autoincrement=False),
        sa.Column(
            "folded",
            sa.BigInteger,
            nullable=False,
            comment="the totals hold the events up to this number; locked while they are folded",
        ),
    )
    op.create_table(
        "leaderboard_segment_value",
        sa.Column("board", sa.Integer, sa.ForeignKey("leaderboard_board.id"), primary_key=True, autoincrement=False),
        sa.Column("label", Bytewise(1024), primary_key=True, comment="name=value"),
    )
    op.create_table(
        "leaderboard_period",
        sa.Column("id", Surrogate, primary_key=True),
        sa.Column("board", sa.Integer, sa.ForeignKey("leaderboard_board.id"), nullable=False),
        sa.Column("window", Bytewise(64), nullable=False),
        sa.Column("name", Bytewise(64), nullable=False),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("end", sa.BigInteger, nullable=False),
        sa.Column("rules", sa.String(255), nullable=False, comment="what its totals were folded under: other rules can't go on"),
        sa.Column(
            "last", sa.BigInteger, nullable=True, comment="the board's head when it was closed: no later event counts in it"
        ),
        sa.Column("archived", sa.BigInteger, nullable=True, comment="when its standings were complete"),
        sa.UniqueConstraint("board", "window", "name"),
    )
    op.create_table(
        "leaderboard_ranking",
        sa.Column("id", Surrogate, primary_key=True),
        sa.Column("period", Surrogate, sa.ForeignKey("leaderboard_period.id"), nullable=False),
        sa.Column("segment", Bytewise(1024), nullable=False, comment="name=value; empty for the whole board"),
        sa.Column("size", sa.BigInteger, nullable=True, comment="how many standings were archived"),
        sa.UniqueConstraint("period", "segment"),
    )
    op.create_table(
        "leaderboard_total",
        sa.Column("user", Surrogate, primary_key=True, autoincrement=False),
        sa.Column("ranking", Surrogate, primary_key=True, autoincrement=False),
        sa.Column("standing", sa.Double(), nullable=False, comment="the score, negative where high wins: lower is better"),
        sa.Column("tie", sa.BigInteger, nullable=False, comment="who stands first among equals: lower does"),
        sa.Column("at", sa.BigInteger, nullable=False, comment="when the score was reached"),
    )
    op.create_index("ix_leaderboard_total_ranking_standing_tie", "leaderboard_total", ["ranking", "standing", "tie"])
    op.create_table(
        "leaderboard_standing",
        sa.Column("ranking", Surrogate, primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False, comment="the unique rank"),
        sa.Column("user", Surrogate, nullable=False),
        sa.Column("standing", sa.Double(), nullable=False),
        sa.Column("tie", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False, comment="the position of the first with this score: the sparse rank"),
        sa.Column("last", sa.BigInteger, nullable=False, comment="the position of the last with this score: the modified rank"),
        sa.Column("level", sa.BigInteger, nullable=False, comment="how many different scores up to this one: the dense rank"),
    )
    op.create_index("ix_leaderboard_standing_ranking_user", "leaderboard_standing", ["ranking", "user"])
    op.create_index("ix_leaderboard_standing_ranking_standing", "leaderboard_standing", ["ranking", "standing"])
