"""The log: boards, users, events, submission ids."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from flask_leaderboard.log.tables import Bytewise, Surrogate

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "leaderboard_board",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", Bytewise(64), nullable=False, unique=True),
        sa.Column("head", sa.BigInteger, nullable=False, comment="the number of its last event; locked while numbers are given"),
    )
    op.create_table(
        "leaderboard_user",
        sa.Column("id", Surrogate, primary_key=True),
        sa.Column("user_id", Bytewise(255), nullable=True, unique=True),
    )
    op.create_table(
        "leaderboard_event",
        sa.Column("board", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("user", Surrogate, nullable=False),
        sa.Column("points_integer", sa.BigInteger, nullable=True),
        sa.Column("points_float", sa.Double(), nullable=True),
        sa.Column("at", sa.BigInteger, nullable=False, comment="when the points were won"),
        sa.Column("taken_at", sa.BigInteger, nullable=False, comment="when they were submitted: decides which periods were open"),
        sa.Column("update", sa.String(16), nullable=False),
        sa.Column("segments", Bytewise(1024), nullable=False, comment="name=value, separated by tabs"),
        sa.Column("refused", sa.String(32), nullable=True, comment="the code with which the fold refuses it, once that is known"),
        sa.Column(
            "writer", sa.String(16), nullable=False, comment="who wrote it: tells after a lost reply whether it was written"
        ),
    )
    op.create_index("ix_leaderboard_event_board_user_number", "leaderboard_event", ["board", "user", "number"])
    op.create_table(
        "leaderboard_submission_id",
        sa.Column("board", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("user", Surrogate, primary_key=True, autoincrement=False),
        sa.Column("submission_id", Bytewise(255), primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("fact", sa.String(64), nullable=False, comment="points and update it was used with"),
    )
    op.create_index("ix_leaderboard_submission_id_number_board", "leaderboard_submission_id", ["number", "board"])
