"""What a catalog keeps of earlier updates, in size proportional to what has changed.

An update moves the rows of files that it reads again, or that are gone, to the past, without an
end. When it is complete, those that are there again as they were come back, and the others end. So
a function whose signature stays the same stays in its place, whatever else changes in its file.

Times are those of updates, in whole seconds of UTC. Each is after the one before, by a microsecond
if the clock has not moved on, or was set back.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from fnabi.many.catalog._table import PAST_FILE, PAST_FUNCTION, set_values

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_KEPT = {"files": PAST_FILE, "functions": PAST_FUNCTION}
_SAME = {
    "files": ("file", "module", "error", "digest"),
    "functions": PAST_FUNCTION,
}
"""The columns whose change is history."""

_STEP = timedelta(microseconds=1)


def next_time(last: datetime | None, now: datetime | None = None) -> datetime:
    """Return the time of an update after the last one.

    Args:
        last: The time of the last one, without a zone, as all times of catalogs are.
        now: The time of the clock; that of now by default.

    """
    now = (now or datetime.now(UTC)).replace(tzinfo=None, microsecond=0)
    return now if last is None else max(now, last + _STEP)


def read_time(text: str) -> datetime:
    """Return a time as the table ``catalog`` has it.

    Raises:
        ValueError: when it is none.
        OverflowError: when there is none after it.

    """
    time = datetime.fromisoformat(text)
    if time.tzinfo is not None:
        raise ValueError("a time with a zone")
    return time + _STEP - _STEP


def retire(connection: DuckDBPyConnection) -> None:
    """Move the rows of files in the table ``gone`` to the past, but for those of this update."""
    for table, names in _KEPT.items():
        columns = ", ".join(names)
        connection.execute(
            f"INSERT INTO past_{table} SELECT {columns}, since, NULL FROM {table}"
            " WHERE since IS NOT NULL AND file IN (SELECT file FROM gone)"
        )
        connection.execute(f"DELETE FROM {table} WHERE file IN (SELECT file FROM gone)")


def write_history(connection: DuckDBPyConnection, time: datetime) -> None:
    """End what an update has moved to the past, unless it is there again, and begin what is new.

    Args:
        connection: A connection to a copy of the catalog.
        time: The time of the update.

    """
    for table, names in _SAME.items():
        past = f"past_{table}"
        same = " AND ".join(f"{table}.{each} IS NOT DISTINCT FROM {past}.{each}" for each in names)
        connection.execute(
            f"UPDATE {table} SET since = {past}.since FROM {past}"
            f" WHERE {past}.until IS NULL AND {table}.since IS NULL AND {same}"
        )
        connection.execute(
            f"DELETE FROM {past} USING {table}"
            f" WHERE {past}.until IS NULL AND {table}.since = {past}.since AND {same}"
        )
        connection.execute(f"UPDATE {past} SET until = ? WHERE until IS NULL", [time])
        connection.execute(f"UPDATE {table} SET since = ? WHERE since IS NULL", [time])
    _set_time(connection, "updated", time)
    if not connection.execute("SELECT 1 FROM catalog WHERE key = 'first'").fetchall():
        _set_time(connection, "first", time)


def reopen(connection: DuckDBPyConnection, last: datetime | None) -> None:
    """Undo the times of an update that was complete, but has not come into place.

    Args:
        connection: A connection to its copy of the catalog.
        last: The time of the last update of the catalog itself; None if there is none.

    """
    later = "true" if last is None else "{} > ?"
    values = [] if last is None else [last]
    for table in _KEPT:
        connection.execute(f"UPDATE {table} SET since = NULL WHERE {later.format('since')}", values)
        connection.execute(
            f"UPDATE past_{table} SET until = NULL WHERE {later.format('until')}", values
        )
    if last is None:
        connection.execute("DELETE FROM catalog WHERE key IN ('first', 'updated')")
    else:
        _set_time(connection, "updated", last)


def begin_history(connection: DuckDBPyConnection, time: datetime) -> None:
    """Begin the history of a catalog that has none, with its last update."""
    for table in _KEPT:
        connection.execute(f"UPDATE {table} SET since = ?", [time])
    for key in ("first", "updated"):
        _set_time(connection, key, time)


def _set_time(connection: DuckDBPyConnection, key: str, time: datetime) -> None:
    set_values(connection, key, [time.isoformat(sep=" ")])


def as_of(time: datetime) -> str:
    """Return the tables of a query that sees a catalog as it was at a time, for its ``WITH``.

    They have the columns of the past, and those that searches sort by, which are null.
    """
    then = f"TIMESTAMP '{time.isoformat(sep=' ')}'"
    unkept = {"files": "NULL AS stale", "functions": "NULL AS ordinal"}
    tables = []
    for table, names in _KEPT.items():
        columns = f"{', '.join(names)}, {unkept[table]}"
        now = f"SELECT {columns} FROM {table} WHERE since <= {then}"
        past = f"SELECT {columns} FROM past_{table} WHERE since <= {then} AND until > {then}"
        tables.append(f"{table} AS NOT MATERIALIZED ({now} UNION ALL {past})")
    both = "FROM signatures UNION ALL FROM past_signatures"
    tables.append(f"signatures AS NOT MATERIALIZED ({both})")
    return ", ".join(tables)
