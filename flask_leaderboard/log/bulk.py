"""Many rows in one statement. PostgreSQL takes them as arrays, a column each, which is several times faster than row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Select,
    Table,
    bindparam,
    cast,
    func,
    insert,
    select,
    true,
    tuple_,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite

ROWS_A_STATEMENT = 1000
T = TypeVar("T")


def parts(values: Sequence[T], most: int = ROWS_A_STATEMENT) -> Iterable[Sequence[T]]:
    """Cut values into parts, small enough for one statement if nothing else is said."""
    return (values[first : first + most] for first in range(0, len(values), most))


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all have the same columns."""
    if not rows:
        return
    if not _takes_arrays(connection):
        connection.execute(insert(table), rows)
        return
    connection.execute(_from_arrays(insert(table), list(rows[0])), _columns(rows))


def upsert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all have all columns, over those with the same primary key."""
    if not rows:
        return
    names, dialect = list(rows[0]), connection.dialect.name
    others = [name for name in names if not table.c[name].primary_key]
    if dialect in ("mysql", "mariadb"):
        row = mysql.insert(table)
        connection.execute(row.on_duplicate_key_update({name: row.inserted[name] for name in others}), rows)
        return
    new = _from_arrays(postgresql.insert(table), names) if _takes_arrays(connection) else sqlite.insert(table)
    over = {name: new.excluded[name] for name in others}
    written = new.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=over)
    connection.execute(written, _columns(rows) if _takes_arrays(connection) else rows)


def select_rows(
    connection: Connection, query: Select[Any], columns: Sequence[ColumnElement[Any]], values: Sequence[tuple[Any, ...]]
) -> Select[Any]:
    """Give a query for the rows in which columns have one of some values, each of which has one row at most."""
    if not _takes_arrays(connection):
        return query.where(tuple_(*columns).in_(values) if len(columns) > 1 else columns[0].in_([value for (value,) in values]))
    arrays = [_array(column, listed) for column, listed in zip(columns, zip(*values, strict=True), strict=True)]
    wanted = func.unnest(*arrays).table_valued(*(f"wanted_{place}" for place in range(len(columns)))).render_derived()
    same = [column == one for column, one in zip(columns, wanted.c, strict=True)]
    # The limit is never met. It keeps the planner, which knows nothing of a growing table, from reading all of it.
    found = query.where(*same).limit(1).lateral()
    return select(*found.c).select_from(wanted.join(found, true()))


def _takes_arrays(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"


def _array(column: ColumnElement[Any], values: Iterable[Any]) -> ColumnElement[Any]:
    return cast(list(values), ARRAY(column.type))


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _from_arrays(into: Any, names: Sequence[str]) -> Any:
    """Give an insert whose rows come from an array for each column."""
    columns = {name: into.table.c[name].type for name in names}
    arrays = [cast(bindparam(name, type_=ARRAY(kind)), ARRAY(kind)) for name, kind in columns.items()]
    rows = func.unnest(*arrays).table_valued(*names).render_derived()
    return into.from_select(names, select(*(rows.c[name] for name in names)))
