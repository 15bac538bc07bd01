"""Arrow data as CSV."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fnabi.table_json import json_texts

__all__ = ["CsvLines"]

_PLAIN = (
    *("boolean", "integer", "floating", "decimal", "date", "time", "timestamp", "null"),
    *("string", "large_string"),
)
"""The types whose values pyarrow writes as a user would expect."""


class CsvLines:
    """Writes tables of pyarrow as CSV with a header.

    Strings are quoted, and an empty string differs from null, which is nothing at all. Lists and
    structs are JSON, and binaries hexadecimal digits, as in lines of JSON.

    Args:
        file: What the lines are written to.
        schema: The `pyarrow.Schema` of all tables, without dictionaries.

    """

    def __init__(self, file: Any, schema: Any) -> None:
        self._pyarrow = import_module("pyarrow")
        module = import_module("pyarrow.csv")
        self._as_text = [not self._is_plain(each.type) for each in schema]
        fields = zip(schema, self._as_text, strict=True)
        string = self._pyarrow.large_string()
        self._schema = self._pyarrow.schema(
            [each.with_type(string) if text else each for each, text in fields]
        )
        self._writer = module.CSVWriter(file, self._schema)

    def _is_plain(self, type: Any) -> bool:
        types = self._pyarrow.types
        return any(getattr(types, f"is_{name}")(type) for name in _PLAIN)

    def write_table(self, table: Any) -> None:
        """Write the rows of a table."""
        columns = [
            json_texts(column) if text else column
            for column, text in zip(table.columns, self._as_text, strict=True)
        ]
        self._writer.write_table(self._pyarrow.table(columns, self._schema))

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()
