"""Bringing the tables up to date."""

from __future__ import annotations

import io
import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from .tables import metadata

FOLDER = Path(__file__).resolve().parent / "migrations"
VERSION_TABLE = "leaderboard_revision"
_turn = threading.Lock()
"""Alembic keeps what it is at in a global: of the apps in a process one migrates at a time."""


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring the tables to a revision, inside the connection's transaction."""
    with _turn:
        command.upgrade(_config(connection=connection), revision)


def upgrade_sql(dialect: str) -> str:
    """Give the SQL that makes the tables, for operators who run it themselves."""
    text = io.StringIO()
    with _turn:
        command.upgrade(_config(output=text, dialect=dialect), "head", sql=True)
    return text.getvalue()


def current(connection: Connection) -> str | None:
    """Tell the revision that the tables are at; None where there are none."""
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def newest() -> str:
    """Tell the revision that this package needs."""
    (head,) = ScriptDirectory.from_config(_config()).get_heads()
    return head


def is_ours(name: str | None) -> bool:
    """Tell whether a table of this name is one of the log's."""
    return name == VERSION_TABLE or name in metadata.tables


def not_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Keep a host's Alembic from dropping the log's tables: its ``include_name``."""
    return kind != "table" or not is_ours(name)


def _config(output: io.StringIO | None = None, **attributes: object) -> Config:
    config = Config() if output is None else Config(output_buffer=output)
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes.update(attributes)
    return config
