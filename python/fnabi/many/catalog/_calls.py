"""Which logged calls the modules of a catalog accept, and which a release would break."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from io import BufferedReader
from types import TracebackType
from typing import Any

import msgspec

from fnabi._base import core
from fnabi._base.capsule import ArrayOnly, Excess, Taken, open_arrays
from fnabi._base.files import named, open_file, path_text
from fnabi.compat._caller import ACCEPTED, Answer, Reason, Value
from fnabi.errors import ArgumentTypeError, ArgumentValueError, FormatError, type_name
from fnabi.many._table._read import BUFFER, Source, open_table, unpacked
from fnabi.many.catalog._checked import (
    VERDICTS,
    CallVerdict,
    CheckedCall,
    CheckedCalls,
    UnreadCalls,
)
from fnabi.many.catalog._database import memory_errors
from fnabi.many.catalog._logged import Group, Logged, UnreadRow, column_names
from fnabi.many.catalog._modules import Modules, Rows
from fnabi.many.pattern._sql import first_rows

_LINES_OF_JSON = (".jsonl", ".jsonl.gz", ".jsonl.zst")

_UNREAD_KEPT = 10
"""The most problems of rows that are kept."""

_HINTED = 100
"""The most calls for which like names are looked for."""


class CallCheck:
    """Reads a table of logged calls, and asks the modules of catalogs whether they accept them.

    Args:
        columns: The names of columns by what they have, as for `Catalog.check_calls`.
        where: What an error about the table names.
        threads: The number of threads that group rows; None for one for each processor.

    Raises:
        CallError: when duckdb or pyarrow is not installed, or `columns` has something else.

    """

    def __init__(
        self, columns: Mapping[str, str] | None, where: str, threads: int | None = None
    ) -> None:
        self._where = where
        self._logged = Logged(column_names(columns, where), where, threads)
        self._connection = self._logged.connection
        self._unread: list[UnreadCalls] = []
        self._unread_rows = 0
        self._modules: Modules | None = None

    def read_file(self, path: str, file: Any, function: str) -> None:
        """Read the rows of an open file.

        Raises:
            CallError: when a column is missing or has another type.
            FormatError: when a line is too long.
            OSError: when the file cannot be read or is damaged.

        """
        source = unpacked(Source(file, path, function))
        if path.endswith(_LINES_OF_JSON) and not source.file.peek(1):
            return  # a log without calls, which has no first line that shows its format
        try:
            table = open_table(source, select=self._logged.select)
            for batch in table.batches:
                with memory_errors():
                    self._logged.add(batch)
        except FormatError as problem:
            problem.file = path
            raise

    def read_arrow(self, data: Any) -> None:
        """Read the rows of anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``.

        Raises:
            CallError: when it is something else, a column is missing or has another type, or the
                stream fails.

        """
        pyarrow, where = import_module("pyarrow"), self._where
        try:
            given, tables = open_arrays(data, where)
            names = self._logged.select(pyarrow.schema(Taken(given, None, where))).names
            excess = Excess(where)
            for each in tables:
                chosen = pyarrow.record_batch(Taken(given, each, where)).select(names)
                chosen.validate(full=True)
                arrow_schema, arrays = open_arrays(ArrayOnly(chosen), where)
                excess.add(arrow_schema, next(arrays))
                for first in range(0, chosen.num_rows, _ROWS):
                    with memory_errors():
                        self._logged.add(chosen.slice(first, _ROWS))
        except (pyarrow.ArrowException, OSError) as problem:
            text = " ".join(str(problem).split())
            raise ArgumentValueError(f"{where}: {text}") from None

    def ask(self, new: Modules, old: Modules | None) -> None:
        """Ask modules whether they accept the calls.

        Args:
            new: The modules as they are now.
            old: Those of the release before, or None.

        Raises:
            FormatError: when a catalog is damaged.

        """
        self._modules = new
        with memory_errors():
            self._logged.group()
            self._connection.execute(
                "CREATE TABLE asked (id BIGINT, inputs VARCHAR, verdict VARCHAR, reasons VARCHAR)"
            )
            sides = [new] if old is None else [new, old]
            for side in sides:
                side.find(self._logged.models())
            for groups in self._logged.groups():
                for side in sides:
                    side.load({each.model for each in groups if each.model is not None})
                self._insert([*self._answers(groups, new, old)])
            self._connection.execute(
                "CREATE TABLE checked AS SELECT model, function, asked.inputs, verdict, reasons,"
                " sum(calls)::BIGINT AS calls, min(first) AS first"
                " FROM groups JOIN asked USING (id) GROUP BY ALL"
            )

    def _answers(
        self, groups: Iterable[Group], new: Modules, old: Modules | None
    ) -> Iterator[tuple[int, str, str, str]]:
        for group in groups:
            try:
                values = self._logged.values(group)
            except UnreadRow as problem:
                self._unread_rows += group.rows
                self._unread.append(UnreadCalls(group.first, group.rows, str(problem)))
                self._unread.sort(key=lambda each: each.first)
                del self._unread[_UNREAD_KEPT:]
                continue
            if not group.is_made:
                continue
            assert group.model is not None
            assert group.function is not None
            answer = new.answer(group.model, group.function, values)
            verdict, reasons = _ALONE[answer.verdict], answer.reasons
            if old is not None and answer is not ACCEPTED:
                before = old.answer(group.model, group.function, values)
                is_same = new.digests(group.model) == old.digests(group.model)
                verdict, reasons = _compared(answer, before, is_same)
            yield group.id, _encode(values), verdict, _json.encode(reasons).decode()

    def _insert(self, rows: list[tuple[int, str, str, str]]) -> None:
        pyarrow = import_module("pyarrow")
        names = ("id", "inputs", "verdict", "reasons")
        types = (pyarrow.int64(), *(pyarrow.string(),) * 3)
        columns = [
            pyarrow.array([row[index] for row in rows], type) for index, type in enumerate(types)
        ]
        self._connection.register("batch", pyarrow.table(columns, names))
        self._connection.execute("INSERT INTO asked SELECT * FROM batch")
        self._connection.unregister("batch")

    def result(self, limit: int | None) -> CheckedCalls:
        """Return what was found, with at most `limit` calls."""
        with memory_errors():
            counts = self._connection.execute(
                "SELECT verdict, count(*), sum(calls) FROM checked GROUP BY verdict"
            ).fetchall()
            rows = self._connection.execute(f"{_FOUND}{first_rows(limit)}").fetchall()
        distinct, calls = (dict.fromkeys(VERDICTS, 0) for _ in range(2))
        for verdict, different, made in counts:
            distinct[verdict], calls[verdict] = different, int(made)
        assert self._modules is not None
        return CheckedCalls(
            rows=self._logged.rows,
            calls=calls,
            distinct=distinct,
            found=tuple(self._call(row, index < _HINTED) for index, row in enumerate(rows)),
            unread_rows=self._unread_rows,
            unread=tuple(self._unread),
            stale=self._modules.stale,
        )

    def _call(self, row: tuple[Any, ...], is_hinted: bool) -> CheckedCall:
        verdict, calls, model, function, inputs, reasons, first = row
        values = _inputs.decode(inputs)
        found = _reasons.decode(reasons)
        if is_hinted and self._modules is not None:
            found = tuple(
                msgspec.structs.replace(
                    each, text=each.text + self._modules.hint(each.kind, model, function)
                )
                for each in found
            )
        return CheckedCall(
            verdict, calls, model, function, values.shapes, values.dtypes, found, first
        )

    def table(self) -> tuple[Any, Iterator[Any]]:
        """Return the calls that are not ok as a table, which can be checked again.

        Returns:
            The `pyarrow.Schema`, and the `pyarrow.RecordBatch` objects.

        """
        pyarrow = import_module("pyarrow")
        texts, dims = pyarrow.list_(pyarrow.string()), pyarrow.list_(pyarrow.int64())
        schema = pyarrow.schema(
            {
                "verdict": pyarrow.string(),
                "count": pyarrow.int64(),
                "model": pyarrow.string(),
                "function": pyarrow.string(),
                "shapes": pyarrow.list_(dims),
                "dtypes": texts,
                "reasons": texts,
            }
        )

        def batches() -> Iterator[Any]:
            found = self._connection.cursor().execute(_FOUND)
            while rows := found.fetchmany(_FETCHED):
                calls = [self._call(row, is_hinted=False) for row in rows]
                yield pyarrow.RecordBatch.from_pylist(
                    [
                        {
                            **{name: getattr(call, name, None) for name in schema.names},
                            "count": call.calls,
                            "reasons": [each.text for each in call.reasons],
                        }
                        for call in calls
                    ],
                    schema,
                )

        return schema, batches()

    def close(self) -> None:
        """Release the database."""
        self._connection.close()

    def __enter__(self) -> CallCheck:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: object, ___: TracebackType | None
    ) -> None:
        self.close()


_ROWS = 1 << 17
"""The most rows of a batch."""

_FETCHED = 4096
"""The number of calls of a batch of them."""

_FOUND = (
    "SELECT verdict, calls, model, function, inputs, reasons, first FROM checked"
    " WHERE verdict <> 'ok' ORDER BY"
    f" list_position([{', '.join(map(repr, VERDICTS))}], verdict), calls DESC, first"
)


class _Inputs(msgspec.Struct, frozen=True):
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]


_json = msgspec.json.Encoder()
_inputs = msgspec.json.Decoder(_Inputs)
_reasons = msgspec.json.Decoder(tuple[Reason, ...])


def _encode(values: tuple[Value, ...]) -> str:
    shapes = tuple(value.shape for value in values)
    return _json.encode(_Inputs(shapes, tuple(str(value.dtype) for value in values))).decode()


_ALONE: dict[str, CallVerdict] = {"accepted": "ok", "refused": "broken", "unknown": "unknown"}


def _compared(now: Answer, before: Answer, is_same: bool) -> tuple[CallVerdict, tuple[Reason, ...]]:
    """Return what a release means for a call that the new one does not accept for certain.

    Args:
        now: What the new release answers.
        before: What the old one does.
        is_same: Whether both have the same modules for it.

    """
    if before.verdict == "refused":
        return "failing", now.reasons
    if is_same:
        return "ok", ()
    if before.verdict == "unknown":
        told = (
            msgspec.structs.replace(each, text=f"in the baseline: {each.text}")
            for each in before.reasons
        )
        return "unknown", (*now.reasons, *told)
    return _ALONE[now.verdict], now.reasons


def check_calls(
    calls: Any,
    rows: Rows,
    baseline: Rows | None,
    columns: Mapping[str, str] | None,
    files: str | None,
    limit: int | None,
) -> CheckedCalls:
    """Check calls as `Catalog.check_calls` does; `rows` and `baseline` run queries."""
    where = "Catalog.check_calls"
    if limit is not None:
        core.check_positive(where, "limit", limit)
    new, old = (
        None if each is None else Modules(each, files, f"{where}: files")
        for each in (rows, baseline)
    )
    assert new is not None
    is_table = hasattr(calls, "__arrow_c_stream__") or hasattr(calls, "__arrow_c_array__")
    if not is_table and not isinstance(calls, (str, os.PathLike)):
        expected = "a path or Arrow data"
        raise ArgumentTypeError(f"{where}: calls: expected {expected}, got {type_name(calls)}")
    with CallCheck(columns, f"{where}: calls") as check:
        if is_table:
            check.read_arrow(calls)
        else:
            path = path_text(f"{where}: calls", calls)
            with named(path), open_file(path) as raw, BufferedReader(raw, BUFFER) as file:
                check.read_file(path, file, where)
        check.ask(new, old)
        return check.result(limit)
