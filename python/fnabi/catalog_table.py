"""The tables of a catalog.

``files`` has a row for each file, with the columns of `fnabi.catalog_file`.

``functions`` has a row for each export, with the columns of `scan.Scan`, the text ``signature`` and
``signature_id``.

``signatures`` has a row for each different signature, which searches read: its ``id``, whether it
is ``untold`` because it is from the bytecode or the calling convention, its text ``signature``, the
numbers of nodes ``inputs_count`` and ``results_count``, and the nodes of the values in preorder,
``inputs`` and ``results``::

    kind         text
    dtype        text, null where there is none
    rank         int8: -1 for an unknown one, null where there is no shape
    dims         list of int64: -1 for a dynamic dim, null where the rank is not known
    depth        int16
    end          int32: the index, from 1 on, after the last node inside
    name         text, null where there is none; name_bytes instead, where it is not UTF-8
    ref          text, of a reference; ref_bytes instead, where it is not UTF-8

``catalog`` has the version of the tables and, under the key ``path``, what was given to
`Catalog.update`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fnabi.catalog_file import FILE_COLUMNS, shown_text
from fnabi.scan import ScanRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["TABLES", "VERSION", "add_files", "add_functions", "create", "settle"]

TABLES = ("files", "functions", "signatures")

VERSION = "1"
"""The version of the tables, in the table ``catalog`` under the key ``version``."""

_NODES = (
    "STRUCT(kind VARCHAR, dtype VARCHAR, shape BIGINT[], depth SMALLINT, name VARCHAR,"
    " name_bytes BLOB, ref VARCHAR, ref_bytes BLOB)[]"
)
_FROM_SCAN = {
    "file": "VARCHAR NOT NULL",
    "module": "VARCHAR",
    "function": "VARCHAR",
    "ordinal": "BIGINT",
    "calling_convention": "VARCHAR",
    "source": "VARCHAR",
    "inputs": _NODES,
    "results": _NODES,
    "declaration": "VARCHAR",
    "doubt": "VARCHAR",
    "async": "BOOLEAN",
    "target": "VARCHAR",
    "parameters": "VARCHAR",
    "error_code": "VARCHAR",
    "error_offset": "BIGINT",
    "error_path": "VARCHAR",
    "error": "VARCHAR",
}
_ADDED = {"signature": "VARCHAR", "signature_id": "UUID"}
_OF_SIGNATURE = {
    "id": ("UUID", "signature_id"),
    "untold": ("BOOLEAN", "any_value(source IN ('bytecode', 'cconv'))"),
    "signature": ("VARCHAR", "any_value(signature)"),
}
_OF_SIDES = {
    "{0}_count": ("INTEGER", "len({0})"),
    "{0}": (
        "STRUCT(kind VARCHAR, dtype VARCHAR, rank TINYINT, dims BIGINT[], depth SMALLINT,"
        ' "end" INTEGER, name VARCHAR, name_bytes BLOB, ref VARCHAR, ref_bytes BLOB)[]',
        "list_transform({0}, lambda n, i: {{kind: n.kind, dtype: n.dtype,"
        " rank: CASE WHEN n.shape IS NOT NULL THEN len(n.shape)"
        " WHEN n.kind IN ('buffer', 'ref_array') THEN -1 END,"
        " dims: list_transform(n.shape, lambda d: coalesce(d, -1)),"
        ' depth: n.depth, "end": {0}_end[i], name: n.name, name_bytes: n.name_bytes,'
        " ref: n.ref, ref_bytes: n.ref_bytes}})",
    ),
}
_SIDES = ("inputs", "results")


def create(connection: DuckDBPyConnection) -> None:
    """Create the tables, empty."""
    signatures = {name: type for name, (type, _) in _OF_SIGNATURE.items()}
    for side in _SIDES:
        signatures |= {name.format(side): type for name, (type, _) in _OF_SIDES.items()}
    columns = FILE_COLUMNS, _FROM_SCAN | _ADDED, signatures
    for table, types in zip(TABLES, columns, strict=True):
        fields = ", ".join(f'"{name}" {type}' for name, type in types.items())
        connection.execute(f"CREATE TABLE {table} ({fields})")
    connection.execute("CREATE TABLE catalog (key VARCHAR NOT NULL, value VARCHAR)")
    connection.execute("INSERT INTO catalog VALUES ('version', ?)", [VERSION])


_ID = (
    "CASE WHEN inputs IS NOT NULL THEN"
    " md5(to_json([inputs, results])::VARCHAR || (source IN ('bytecode', 'cconv')))::UUID END"
)


def add_functions(
    connection: DuckDBPyConnection, batch: Any, rows: Iterable[ScanRow] | None = None
) -> None:
    """Add the exports of a batch of a scan.

    Args:
        connection: A connection to a database with the tables.
        batch: The batch as Arrow data.
        rows: The same as typed objects, for the texts of the signatures.

    """
    pyarrow = import_module("pyarrow")

    table = pyarrow.table(batch)
    texts = [_signature_text(row) for row in rows] if rows is not None else [None] * len(table)
    table = table.append_column("signature", pyarrow.array(texts, pyarrow.string()))
    for side in _SIDES:
        table = table.append_column(f"{side}_end", _ends(table[side]))
    connection.register("batch", table)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE scanned AS SELECT *, {_ID} AS signature_id FROM batch"
    )
    connection.unregister("batch")
    columns = ", ".join(f'"{name}"' for name in _FROM_SCAN | _ADDED)
    connection.execute(
        f"INSERT INTO functions SELECT {columns} FROM scanned WHERE function IS NOT NULL"
    )
    made = [expression for _, expression in _OF_SIGNATURE.values()]
    for side in _SIDES:
        made += [f"any_value({expression.format(side)})" for _, expression in _OF_SIDES.values()]
    connection.execute(
        f"INSERT INTO signatures SELECT {', '.join(made)} FROM scanned"
        " WHERE signature_id IS NOT NULL AND signature_id NOT IN (SELECT id FROM signatures)"
        " GROUP BY signature_id"
    )
    connection.execute("DROP TABLE scanned")


def settle(connection: DuckDBPyConnection) -> None:
    """Drop signatures that no function has, and put like ones beside each other."""
    connection.execute(
        "CREATE OR REPLACE TABLE signatures AS SELECT * FROM signatures"
        " WHERE id IN (SELECT signature_id FROM functions)"
        " ORDER BY inputs_count, results_count, inputs[1].dtype, signature"
    )


def _signature_text(row: ScanRow) -> str | None:
    return None if row.signature is None else shown_text(str(row.signature))


def _ends(column: Any) -> Any:
    """Return for each node the index after the last node inside it, counted from 1."""
    pyarrow = import_module("pyarrow")

    chunks = []
    for chunk in column.chunks:
        offsets = chunk.offsets.to_pylist()
        depths = chunk.values.field("depth").to_pylist()
        found: list[int] = [0] * len(depths)
        for begin, end in itertools.pairwise(offsets):
            open_nodes: list[int] = []
            for at in range(begin, end):
                while open_nodes and depths[open_nodes[-1]] >= depths[at]:
                    found[open_nodes.pop()] = at - begin + 1
                open_nodes.append(at)
            for at in open_nodes:
                found[at] = end - begin + 1
        values = pyarrow.array(found, pyarrow.int32())
        chunks.append(pyarrow.ListArray.from_arrays(chunk.offsets, values))
    return pyarrow.chunked_array(chunks, pyarrow.list_(pyarrow.int32()))


def add_files(connection: DuckDBPyConnection, rows: Iterable[dict[str, Any]]) -> None:
    """Add rows to ``files``; missing values become null."""
    pyarrow = import_module("pyarrow")

    schema = connection.sql("SELECT * FROM files LIMIT 0").to_arrow_table().schema
    missing = dict.fromkeys(schema.names)
    table = pyarrow.Table.from_pylist([missing | row for row in rows], schema)
    connection.register("batch", table)
    connection.execute("INSERT INTO files SELECT * FROM batch")
    connection.unregister("batch")
