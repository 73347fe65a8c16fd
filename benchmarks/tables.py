"""Formats rows of figures as tables."""

from collections.abc import Iterable
from typing import Any

from rich.table import Table

FINE = 10
"""Below it a second decimal is shown."""


def table(title: str, rows: Iterable[dict[str, Any]]) -> Table:
    """A table with a column for each name in any row."""
    listed = list(rows)
    made = Table(title=title, title_justify="left")
    columns = list(dict.fromkeys(name for row in listed for name in row))
    for name in columns:
        made.add_column(name.replace("_", " "))
    for row in listed:
        made.add_row(*(_shown(row.get(name, "")) for name in columns))
    return made


def _shown(cell: object) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:,.2f}" if abs(cell) < FINE else f"{cell:,.1f}"
