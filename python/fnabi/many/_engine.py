"""What the engines share: functions that they run, and checks before those run.

`fnabi.ray`, `fnabi.spark` and `fnabi.dask` run `fnabi.arrow.decode` and `scan_group` on their
workers. Both are pure functions that pickle, so work that is lost with a worker is done again.
`fnabi.polars` and `fnabi.pandas` run `decode_alone`, and the functions in SQL of `fnabi.duckdb`,
`fnabi.datafusion` and `fnabi.spark` run `decode_array`.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from fnabi._base.arguments import argument_error
from fnabi._base.files import Options
from fnabi._base.packages import why_unusable
from fnabi._base.secrets import HiddenOptions
from fnabi._base.text import quoted
from fnabi.errors import ArgumentTypeError, CallError, MissingPackageError, NotFoundError, type_name
from fnabi.many import arrow
from fnabi.many.columns._part import Abi, AnyAbi, check_abi
from fnabi.vmfb._scan import Scan
from fnabi.vmfb._walk import Path, walk

if TYPE_CHECKING:
    import pyarrow as pa

_Table = TypeVar("_Table")

FILES = 256
"""The number of modules that a worker scans at once."""

TEXT = "text"
"""The name of the column of a table that has no other."""


def missing(package: str, extra: str, problem: ImportError) -> MissingPackageError:
    """Return the error for an engine that cannot be imported."""
    why = why_unusable(problem, _PACKAGES[extra])
    return MissingPackageError(f"fnabi.{extra}: {package} {why}")


_PACKAGES = {
    "ray": "'ray[data]' pyarrow",
    "spark": "'pyspark>=4.1' pandas pyarrow",
    "dask": "'dask[distributed]' pandas pyarrow",
    "polars": "polars",
    "pandas": "pandas pyarrow",
    "duckdb": "duckdb numpy pyarrow",
    "datafusion": "datafusion pyarrow",
}
"""The packages of each extra, for a command line."""


def decoder(
    argument: str,
    column: str,
    abi: AnyAbi,
    drop: bool,
    schema: pa.Schema | None,
    prefix: str = "",
    into: str | None = None,
) -> partial[Any]:
    """Return `arrow.decode` with its arguments, after a check of what is known of them.

    Args:
        argument: The function that an error names, and its argument for the table, such as
            ``ray.decode: dataset``.
        column: The column with the texts.
        abi: The ABI of the texts.
        drop: Whether the column with the texts is left out.
        schema: The columns of the table, or None where they are not known yet.
        prefix: As for `arrow.decode`.
        into: As for `arrow.decode`.

    Raises:
        CallError: when an argument is invalid, or does not fit the schema.

    """
    import pyarrow

    function = argument.partition(":")[0]
    if not isinstance(column, str):
        raise ArgumentTypeError(f"{function}: column: expected str, got {type_name(column)}")
    decode = partial(
        arrow.decode,
        column=column,
        abi=check_abi(function, abi),
        drop=drop,
        prefix=prefix,
        into=into,
    )
    known = pyarrow.schema([(column, pyarrow.string())]) if schema is None else schema
    with _renamed(argument):
        decode(pyarrow.Table.from_batches([], known))
    if not is_text(found := known.field(column).type):
        raise ArgumentTypeError(
            f"{function}: column: {quoted(column)} is {found}, expected strings or binaries"
        )
    return decode


@contextmanager
def _renamed(argument: str) -> Iterator[None]:
    """Let errors of `arrow.decode` name the function that the user has called."""
    try:
        yield
    except (CallError, NotFoundError) as problem:
        text = str(problem).replace("arrow.decode: batch", argument, 1)
        function = argument.partition(":")[0]
        raise type(problem)(text.replace("arrow.decode", function, 1)) from None


def decode_alone(argument: str, table: _Table, abi: Abi, into: str | None = None) -> _Table:
    """Decode a table whose only column is `TEXT`, to one of the columns of `arrow.decode` alone.

    Args:
        argument: The function that an error names, and what it calls the texts.
        table: As for `arrow.decode`.
        abi: The ABI of the texts.
        into: As for `arrow.decode`.

    """
    try:
        return arrow.decode(table, TEXT, abi, drop=True, into=into)
    except CallError as problem:
        text = str(problem).replace(f": {TEXT!r} has", ": has", 1)
        for name in ("column", "batch"):
            text = text.replace(f"arrow.decode: {name}", argument, 1)
        raise type(problem)(text) from None


def decode_array(texts: pa.Array | pa.ChunkedArray, abi: Abi) -> Any:
    """Decode an array to an array of structs of the columns of `arrow.decode`, for a query in SQL.

    A struct is null where the text is.
    """
    import pyarrow

    made = pyarrow.table if isinstance(texts, pyarrow.ChunkedArray) else pyarrow.record_batch
    table = made([texts], names=[TEXT])
    return decode_alone(f"fnabi_decode_{abi}: column", table, abi, into="decoded").column(0)


def _function(abi: Abi) -> Callable[[Any], Any]:
    return lambda texts: decode_array(texts, abi)  # engines would read annotations as types


FUNCTIONS = {f"fnabi_decode_{abi}": _function(abi) for abi in get_args(Abi)}
"""The functions in SQL by their names, which live as long as the process: DuckDB keeps none alive
once the connection that added it is gone."""


def is_text(type: pa.DataType) -> bool:
    """Return whether a column of a type of pyarrow can be decoded, if only because it is null."""
    from pyarrow import types

    if types.is_dictionary(type) or types.is_run_end_encoded(type):
        type = type.value_type
    names = "string", "large_string", "string_view", "binary", "large_binary", "binary_view"
    return any(getattr(types, f"is_{name}")(type) for name in (*names, "fixed_size_binary", "null"))


def group_files(paths: Path | Iterable[Path], function: str, options: Options) -> list[bytes]:
    """Find modules as `vmfb.scan` does, and return groups of them for `scan_group`.

    What the listing tells of the files goes with them, so that workers do not ask again.
    """
    found = walk(paths, function, options=options, status=False)
    groups = iter(lambda: [*islice(found, FILES)], [])
    # compressed: engines quote arguments in their logs, and a URL may have secrets
    return [zlib.compress(pickle.dumps(group)) for group in groups]


def hide(function: str, options: Options) -> HiddenOptions:
    """Return the storage options of a scan, without their values in the logs of an engine."""
    if not isinstance(options, (Mapping, type(None))):
        raise argument_error(f"{function}: storage_options", "a mapping or None", options)
    return HiddenOptions(options or {})


def scan_group(group: bytes, lenient: bool = False, options: Options = None) -> pa.Table:
    """Return the table of `vmfb.scan` of some files, in types that every consumer accepts.

    Args:
        group: One of `group_files`; empty for a table without rows.
        lenient: As for `vmfb.scan`.
        options: As for `vmfb.scan`.

    """
    import pyarrow

    files = pickle.loads(zlib.decompress(group)) if group else []
    return pyarrow.table(Scan(files, lenient=lenient, storage_options=options).plain())
