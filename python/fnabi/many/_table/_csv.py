"""Arrow data as CSV."""

from __future__ import annotations

import math
import re
from importlib import import_module
from itertools import compress
from typing import Any

from fnabi.many._table._json import json_texts, refuse_far_times, refuse_same_names

_PLAIN = (
    *("boolean", "integer", "floating", "decimal", "date", "time", "timestamp", "null"),
    *("string", "large_string"),
)
"""The types whose values pyarrow writes as a user would expect."""

_STARTS = "=+-@\uff1d\uff0b\uff0d\uff20"
"""What a spreadsheet takes for the start of a formula; some do so in full width too."""

_BEGIN = rf"^[\s\p{{Z}}\x{{feff}}]*[{re.escape(_STARTS)}]|^[\t\r\n]"
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}]|\r(?:[^\n]|$)"
_NUMBER = r"^ *[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)? *$"
"""Regular expressions of RE2, pyarrow's: a text that may be a formula, one with a control character
or a return that ends no line, and a number, which is no formula even with a sign."""

_IN_PYTHON = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""What `_CONTROL` finds."""

_SEPARATOR = re.compile(r"[\s\ufeff]*+sep=", re.IGNORECASE)
"""What a file begins with that tells spreadsheets where to separate its columns."""

_FIRST = bytes([*range(33), *b"=+-@", *range(127, 256)])
"""The first bytes of texts that may begin as a formula does."""


class CsvLines:
    """Writes tables of pyarrow as CSV with a header.

    Strings are quoted, and an empty string differs from null, which is nothing at all. Lists and
    structs are JSON, and binaries hexadecimal digits, as in lines of JSON.

    What a spreadsheet would run as a formula is made a text by an apostrophe before it, also
    negative infinity and times before the year 0, and control characters, which a terminal would
    obey, are escaped as in Python: see `harmless`. So is a first name that begins with ``sep=``,
    which would set another separator, at which formulas could begin.

    Args:
        file: What the lines are written to.
        schema: The `pyarrow.Schema` of all tables, without dictionaries.
        header: Whether there is a header.
        raw: Whether all strings are written as they are.

    Raises:
        ArrowInvalid: when several fields of a struct have one name.

    """

    def __init__(self, file: Any, schema: Any, *, header: bool = True, raw: bool = False) -> None:
        self._raw = raw
        self._pyarrow = import_module("pyarrow")
        module = import_module("pyarrow.csv")
        self._as_text = [not self._is_plain(each.type) for each in schema]
        refuse_same_names(compress(schema.types, self._as_text))
        fields = zip(schema, self._as_text, strict=True)
        string = self._pyarrow.large_string()
        self._schema = self._pyarrow.schema(
            [each.with_type(string) if text else each for each, text in fields]
        )
        types = self._pyarrow.types
        self._is_string = [
            types.is_string(each.type) or types.is_large_string(each.type) for each in self._schema
        ]
        if not raw:
            names = harmless(self._pyarrow.chunked_array([self._schema.names], string))
            shown = [
                f"'{name}" if index == 0 and _SEPARATOR.match(name) else name
                for index, name in enumerate(names.to_pylist())
            ]
            named = zip(self._schema, shown, strict=True)
            self._schema = self._pyarrow.schema([each.with_name(name) for each, name in named])
        self._file, self._module = file, module
        options = module.WriteOptions(include_header=header)
        self._writer = module.CSVWriter(file, self._schema, write_options=options)

    def _is_plain(self, type: Any) -> bool:
        types = self._pyarrow.types
        return any(getattr(types, f"is_{name}")(type) for name in _PLAIN)

    def write_table(self, table: Any) -> None:
        """Write the rows of a table.

        Raises:
            ArrowInvalid: when a date has no text, because its year is too large.

        """
        for name, column in zip(table.column_names, table.columns, strict=True):
            _refuse_far_years(name, column)
        columns = []
        for name, column, text in zip(
            table.column_names, table.columns, self._as_text, strict=True
        ):
            try:
                columns.append(json_texts(column) if text else column)
            except OverflowError:
                refuse_far_times(name, column)
                raise
        if not self._raw:
            columns = [
                harmless(self._pyarrow.chunked_array(column)) if string else _harmless_value(column)
                for column, string in zip(columns, self._is_string, strict=True)
            ]
        fields = zip(self._schema, columns, strict=True)
        schema = self._pyarrow.schema([each.with_type(column.type) for each, column in fields])
        writer = self._writer
        if schema != self._schema:
            options = self._module.WriteOptions(include_header=False)
            writer = self._module.CSVWriter(self._file, schema, write_options=options)
        writer.write_table(self._pyarrow.table(columns, schema))

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_FIRST_DAY, _LAST_DAY = -12_687_428, 11_248_737
"""The first day of the year -32767 and the last of 32767 since 1970, between which pyarrow writes
dates; for others it writes what is no date."""


def _refuse_far_years(name: str, column: Any) -> None:
    pyarrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    types, type = pyarrow.types, column.type
    if types.is_date32(type):
        day, width = 1, pyarrow.int32()
    elif types.is_date64(type) or types.is_timestamp(type):
        day, width = _DAY[type.unit if types.is_timestamp(type) else "ms"], pyarrow.int64()
    else:
        return
    ends = compute.min_max(column.cast(width)).as_py()
    for value in ends.values():
        if value is not None and not _FIRST_DAY <= value // day <= _LAST_DAY:
            text = f"column {name!r}: {value} is a {type} beyond the year 32767"
            raise pyarrow.ArrowInvalid(text)


def harmless(column: Any) -> Any:
    r"""Return a `pyarrow.ChunkedArray` of strings that no spreadsheet and no terminal obeys.

    A text that begins with ``=``, ``+``, ``-`` or ``@``, also after spaces, or with a tab or the
    end of a line, gets an apostrophe before it, unless it is a number. Control characters are
    escaped (``\x1b``), except tabs and ends of lines.
    """
    chunks = [_harmless_array(chunk) for chunk in column.chunks]
    return import_module("pyarrow").chunked_array(chunks, column.type)


def _harmless_value(column: Any) -> Any:
    """Return a column of values, or of harmless texts if one is no number, but begins as one.

    Such as negative infinity, and the times before the year 0.
    """
    pyarrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    types, type = pyarrow.types, column.type
    if types.is_floating(type):
        least = compute.min(column.cast(pyarrow.float64())).as_py()
        is_odd = least == -math.inf
    elif types.is_date(type) or types.is_timestamp(type):
        width = pyarrow.int32() if types.is_date32(type) else pyarrow.int64()
        least = compute.min(column.cast(width)).as_py()
        is_odd = least is not None and least < 0  # before 1970
    else:
        return column
    return harmless(column.cast(pyarrow.large_string())) if is_odd else column


def _harmless_array(texts: Any) -> Any:
    compute, pyarrow = import_module("pyarrow.compute"), import_module("pyarrow")
    binary = pyarrow.large_binary()
    odd = compute.is_in(
        compute.binary_slice(texts.cast(binary), 0, 1),
        value_set=pyarrow.array([bytes([byte]) for byte in _FIRST], binary),
    )
    odd = compute.or_(odd, compute.invert(compute.ascii_is_printable(texts)))
    if not compute.any(odd).as_py():  # a fifth of the time that the expressions take
        return texts
    bad = compute.fill_null(compute.match_substring_regex(texts, _CONTROL), False)
    if compute.any(bad).as_py():
        escaped = [_IN_PYTHON.sub(_escape, text) for text in texts.filter(bad).to_pylist()]
        texts = compute.replace_with_mask(texts, bad, pyarrow.array(escaped, texts.type))
    is_formula = compute.and_not(
        compute.match_substring_regex(texts, _BEGIN), compute.match_substring_regex(texts, _NUMBER)
    )
    if compute.any(is_formula).as_py():
        mark, nothing = (pyarrow.scalar(text, texts.type) for text in ("'", ""))
        marked = compute.binary_join_element_wise(mark, texts, nothing)
        texts = compute.if_else(is_formula, marked, texts)
    return texts


def _escape(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]
