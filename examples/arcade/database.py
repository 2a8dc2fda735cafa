"""The game's own tables: who plays, and what was played."""

from __future__ import annotations

import time

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    pass


db = SQLAlchemy(model_class=Base, session_options={"expire_on_commit": False})


class Player(db.Model):  # type: ignore[name-defined]
    """Somebody who plays. Bots are players too."""

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(24))
    country: Mapped[str] = mapped_column(String(2))
    bot: Mapped[bool] = mapped_column(default=False)

    @property
    def user_id(self) -> str:
        """What the leaderboard knows the player by."""
        return f"p{self.id}"


class Match(db.Model):  # type: ignore[name-defined]
    """A flight through a course. The course follows from the seed; points and rows are None until it has ended."""

    id: Mapped[int] = mapped_column(primary_key=True)
    player_id: Mapped[int] = mapped_column(ForeignKey(Player.id), index=True)
    seed: Mapped[int]
    started_at: Mapped[float] = mapped_column(default=time.time)
    rows: Mapped[int | None]
    points: Mapped[int | None]
    player: Mapped[Player] = relationship()
