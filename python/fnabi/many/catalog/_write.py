"""What updates write into the tables of a catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from fnabi._base.text import shown_text
from fnabi.many.catalog._history import retire, write_history
from fnabi.many.catalog._signature import from_nodes, message, node_ends
from fnabi.many.catalog._table import (
    COLUMNS,
    FROM_SCAN,
    OF_RELEASES,
    OF_SIDES,
    SIDES,
    create_table,
    set_values,
)
from fnabi.vmfb._export import UNTYPED

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_DIGEST = (
    "CASE WHEN inputs IS NOT NULL THEN"
    f" md5(to_json([inputs, results])::VARCHAR || (source IN {UNTYPED}))::UUID END"
)


def add_functions(connection: DuckDBPyConnection, batch: Any) -> None:
    """Add the exports of a batch of a scan, a pyarrow.Table."""
    connection.register("batch", batch)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE scanned AS SELECT *, {_DIGEST} AS digest FROM batch"
        " WHERE function IS NOT NULL"
    )
    connection.unregister("batch")
    _add_signatures(connection)
    columns = ", ".join(f'scanned."{name}"' for name in FROM_SCAN)
    connection.execute(
        f"INSERT INTO functions SELECT {columns}, signatures.signature, signatures.id, NULL"
        " FROM scanned LEFT JOIN signatures USING (digest)"
    )
    connection.execute("DROP TABLE scanned")


def _add_signatures(connection: DuckDBPyConnection) -> None:
    """Add the signatures of scanned functions that the catalog does not have yet."""
    again = "past_signatures WHERE digest IN (SELECT digest FROM scanned)"
    connection.execute(f"INSERT INTO signatures FROM {again}")
    connection.execute(f"DELETE FROM {again}")
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE fresh AS"
        " SELECT digest, any_value(inputs) AS inputs, any_value(results) AS results,"
        f" any_value(source IN {UNTYPED}) AS untold FROM scanned"
        " WHERE digest IS NOT NULL AND digest NOT IN (SELECT digest FROM signatures)"
        " GROUP BY digest"
    )
    rows = connection.execute("SELECT digest::VARCHAR, inputs, results FROM fresh").fetchall()
    if rows:
        columns = {"digest": "UUID", "message": "BLOB", "signature": "VARCHAR"}
        columns |= {f"{side}_end": "INTEGER[]" for side in SIDES}
        made = []
        for digest, *nodes in rows:
            signature = from_nodes(*nodes)
            values = digest, message(signature), shown_text(str(signature)), *map(node_ends, nodes)
            made.append(dict(zip(columns, values, strict=True)))
        sides = [each.format(side) for side in SIDES for _, each in OF_SIDES.values()]
        connection.execute(
            "INSERT INTO signatures SELECT"
            " (SELECT coalesce(max(id), 0) FROM (SELECT id FROM signatures UNION ALL"
            " SELECT id FROM past_signatures)) + row_number() OVER (),"
            f" fresh.digest, message, signature, untold, {', '.join(sides)}"
            f" FROM fresh JOIN {_given(columns)} made USING (digest)",
            _rows(columns, made),
        )
    connection.execute("DROP TABLE fresh")


def delete_files(connection: DuckDBPyConnection, files: list[str]) -> None:
    """Move the rows of files, and of their functions, to the past."""
    if not files:
        return
    connection.execute("CREATE TEMP TABLE gone AS SELECT unnest($files) AS file", {"files": files})
    retire(connection)
    connection.execute("DROP TABLE gone")


def mark_files(
    connection: DuckDBPyConnection, stale: Mapping[str, str | None], *, read_again: bool = False
) -> None:
    """Set why files are stale, and whether the next update reads them again at any rate."""
    if not stale:
        return
    columns = {"file": "VARCHAR", "stale": "VARCHAR"}
    connection.execute(
        f"UPDATE files SET stale = marks.stale{', settled = false' if read_again else ''}"
        f" FROM {_given(columns)} marks WHERE files.file = marks.file",
        _rows(columns, ({"file": file, "stale": text} for file, text in stale.items())),
    )


def answer_files(
    connection: DuckDBPyConnection, table: str, rows: Iterable[Mapping[str, Any]]
) -> None:
    """Set the columns of files that depend on which releases are known.

    Args:
        connection: A connection to a copy of the catalog.
        table: ``files`` or ``past_files``.
        rows: The columns, and the ``row`` of the table.

    """
    names = [name for name in OF_RELEASES if name in COLUMNS[table]]
    columns = {"row": "BIGINT"} | dict.fromkeys(names, "VARCHAR[]")
    changes = ", ".join(f"{name} = answered.{name}" for name in names)
    connection.execute(
        f"UPDATE {table} SET {changes} FROM {_given(columns)} answered"
        ' WHERE rowid = answered."row"',
        _rows(columns, rows),
    )


def finish(connection: DuckDBPyConnection, time: datetime) -> None:
    """Write what all changes of a catalog need in the end.

    Args:
        connection: A connection to a copy of the catalog.
        time: The time of the change.

    """
    write_history(connection, time)
    _settle(connection)
    set_values(connection, "id", [uuid4().hex])


def _settle(connection: DuckDBPyConnection) -> None:
    """Keep signatures that no function has for the past, and put the others in a good order.

    Searches read all that others have, so those of the past are elsewhere.
    """
    connection.execute(
        "INSERT INTO past_signatures FROM signatures ANTI JOIN functions ON id = signature_id"
        " SEMI JOIN past_functions ON id = past_functions.signature_id"
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE settled AS SELECT * FROM signatures"
        " WHERE id IN (SELECT signature_id FROM functions)"
        " ORDER BY inputs_count, results_count, inputs[1].dtype, signature"
    )
    create_table(connection, "signatures")
    connection.execute("INSERT INTO signatures FROM settled ORDER BY rowid")
    connection.execute("DROP TABLE settled")


def add_files(connection: DuckDBPyConnection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add rows to ``files``; missing values become null."""
    described = connection.execute("SELECT * FROM files LIMIT 0").description or ()
    columns = {name: str(type) for name, type, *_ in described}
    connection.execute(f"INSERT INTO files SELECT * FROM {_given(columns)}", _rows(columns, rows))


def _given(columns: Mapping[str, str]) -> str:
    """Return SQL for a table whose rows are given as the parameter that `_rows` returns.

    Arrow arrays of Python values would import pandas, wherever that is installed.

    Args:
        columns: The names of the columns and their types.

    """
    fields, values = [], []
    for name, type in columns.items():
        is_binary = type == "BLOB"
        fields.append(f'"{name}" {"VARCHAR" if is_binary else type}')
        values.append(
            f'from_base64("row"."{name}") AS "{name}"' if is_binary else f'"row"."{name}"'
        )
    given = f"unnest($rows::JSON::STRUCT({', '.join(fields)})[])"
    return f'(SELECT {", ".join(values)} FROM (SELECT {given} AS "row"))'


def _rows(columns: Collection[str], rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the parameter of a query with `_given`: JSON, with bytes in base64.

    Missing values become null.
    """
    filled = [{name: row.get(name) for name in columns} for row in rows]
    return {"rows": msgspec.json.encode(filled).decode()}
