"""What commands print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows in columns as wide as they need to be."""
    cells = [tuple(headings), *(tuple(str(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
