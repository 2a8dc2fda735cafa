"""See to the tables of the log: ``db upgrade``, ``db current``, ``db sql``."""

from __future__ import annotations

import click
from flask.cli import AppGroup

from ..globals import current_leaderboards
from ..log.migrating import current, newest, upgrade_sql


def add_commands(group: AppGroup) -> None:
    """Add the commands of this module."""
    tables = group.group("db", help="The tables of the log.")(lambda: None)
    for name, command in (("upgrade", upgrade_tables), ("current", show_revision), ("sql", show_sql)):
        tables.command(name)(command)


def upgrade_tables() -> None:
    """Make the tables of the log, or bring them up to date."""
    current_leaderboards.database.migrate()
    show_revision()


def show_revision() -> None:
    """Tell which revision the tables are at, and which one is needed."""
    with current_leaderboards.database.connect() as connection:
        found = current(connection)
    click.echo(f"The tables are at {found or 'no revision'}; {newest()} is needed.")


def show_sql() -> None:
    """Print the SQL that makes the tables, for the database that is configured."""
    click.echo(upgrade_sql(current_leaderboards.database.engine.dialect.name))
