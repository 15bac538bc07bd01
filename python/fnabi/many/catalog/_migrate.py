"""Tables of earlier versions, and how they become those of the next one without reading files.

A version that adds tables or columns gets a `Step` under the name of the version before. Tables of
versions without one are made again from their files.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from fnabi.many.catalog._history import begin_history
from fnabi.many.catalog._table import COLUMNS, VERSION, create_table, set_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from duckdb import DuckDBPyConnection


class Step(NamedTuple):
    """What the next version has.

    Attributes:
        tables: Its new tables.
        columns: The new columns of other tables, which are their last ones.
        fill: Sets them, with the time of the last update of the catalog.

    """

    tables: tuple[str, ...]
    columns: dict[str, tuple[str, ...]]
    fill: Callable[[DuckDBPyConnection, datetime], object]


STEPS = {
    6: Step(
        ("past_files", "past_functions", "past_signatures"),
        {"files": ("since",), "functions": ("since",)},
        begin_history,
    ),
}
"""The steps to the version after each."""


def columns_of(version: str) -> dict[str, dict[str, str]] | None:
    """Return the tables of a version, or None for one that cannot be migrated."""
    if version == VERSION:
        return COLUMNS
    steps = _steps_from(version)
    if not steps:
        return None
    tables = {each for step in steps for each in step.tables}
    return {
        table: {
            name: type
            for name, type in columns.items()
            if not any(name in step.columns.get(table, ()) for step in steps)
        }
        for table, columns in COLUMNS.items()
        if table not in tables
    }


def migrate(connection: DuckDBPyConnection, version: str, time: datetime) -> None:
    """Make the tables of an earlier version, which were checked, those of this one.

    Args:
        connection: A connection to a copy of the catalog.
        version: Its version.
        time: The time of its last update.

    """
    for step in _steps_from(version):
        for table in step.tables:
            create_table(connection, table)
        for table, names in step.columns.items():
            for name in names:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {COLUMNS[table][name]}")
        step.fill(connection, time)
    set_values(connection, "version", [VERSION])


def _steps_from(version: str) -> list[Step]:
    """Return the steps from a version to this one; none if one is missing."""
    known = [number for number in STEPS if str(number) == version]
    numbers = range(known[0] if known else int(VERSION), int(VERSION))
    return [STEPS[number] for number in numbers] if all(each in STEPS for each in numbers) else []
