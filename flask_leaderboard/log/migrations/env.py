"""Where Alembic begins: it is handed a connection, or writes SQL for a dialect."""

from __future__ import annotations

from alembic import context

from flask_leaderboard.log.migrating import VERSION_TABLE
from flask_leaderboard.log.tables import metadata

connection = context.config.attributes.get("connection")

if connection is None:
    context.configure(
        dialect_name=context.config.attributes["dialect"],
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        literal_binds=True,
    )
else:
    context.configure(connection=connection, target_metadata=metadata, version_table=VERSION_TABLE)
with context.begin_transaction():
    context.run_migrations()
