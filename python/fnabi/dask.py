"""Signatures and modules in data frames of Dask.

It needs ``pip install 'dask[distributed]' pandas pyarrow``.

>>> import dask.dataframe, fnabi.dask
>>> frame = dask.dataframe.read_parquet("signatures/")
>>> fnabi.dask.decode(frame, "signature", "raw").to_parquet("decoded/")
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from fnabi._base.arguments import argument_error
from fnabi._base.files import Options
from fnabi.many import _engine as engine
from fnabi.many.columns._part import AnyAbi
from fnabi.vmfb._walk import Path

__all__ = ["decode", "scan"]


def __dir__() -> list[str]:
    return __all__


def decode(
    frame: Any,
    column: str,
    abi: AnyAbi = "raw",
    *,
    drop: bool = False,
    prefix: str = "",
    into: str | None = None,
) -> Any:
    """Decode the signatures in a column of a data frame, and add the result as columns.

    Args:
        frame: The data frame, of ``dask.dataframe``.
        column: The column with the texts.
        abi: The ABI of the texts, as for `decode_columns`.
        drop: Whether the column with the texts is left out.
        prefix: What the names of the new columns begin with, as for `fnabi.arrow.decode`.
        into: The name of one new column that has all of them, a struct; or None.

    Returns:
        A data frame with the columns of `fnabi.arrow.decode`, in Arrow's types; the others and
        the index stay as they are. It runs when it is consumed.

    Raises:
        CallError: when an argument is invalid, or Dask, pandas or pyarrow is not installed.
        NotFoundError: when the frame has no column of that name. It is a `LookupError`.

    Example:
        >>> import dask.dataframe, fnabi, pandas as pd
        >>> frame = dask.dataframe.from_pandas(pd.DataFrame({"sig": ["I4!S1!R1!", "I1!"]}))
        >>> fnabi.dask.decode(frame, "sig").compute().status.tolist()
        ['ok', 'raw-results']

    """
    if not isinstance(frame, _load().DataFrame):
        raise argument_error("dask.decode: frame", "a DataFrame of Dask", frame)
    schema = _schema(frame._meta, column)
    decode = engine.decoder("dask.decode: frame", column, abi, drop, schema, prefix, into)
    return frame.map_partitions(decode, meta=decode(frame._meta))


def scan(
    paths: Path | Iterable[Path], *, lenient: bool = False, storage_options: Options = None
) -> Any:
    """Return the exports of the modules in files, folders and stores as a data frame.

    The files are listed here and read by the workers, to whom the paths must lead as well.

    Args:
        paths: As for `vmfb.scan`.
        lenient: As for `vmfb.scan`.
        storage_options: As for `vmfb.scan`.

    Raises:
        CallError: when an argument is invalid, or Dask, pandas or pyarrow is not installed.

    Example:
        >>> import fnabi
        >>> frame = fnabi.dask.scan("examples/releases/1.0").compute()
        >>> sorted(frame.module[frame.function.eq("main")])
        ['embed', 'project', 'rank', 'vision']

    """
    hidden = engine.hide("dask.scan", storage_options)
    frames, scan = _load(), partial(_scan, lenient=lenient, options=hidden)
    groups = engine.group_files(paths, "dask.scan", storage_options) or [b""]
    return frames.from_map(scan, groups, meta=scan(b""))


def _load() -> Any:
    try:
        import dask.dataframe
    except ImportError as problem:
        raise engine.missing("Dask, or pandas or pyarrow,", "dask", problem) from None
    return dask.dataframe


def _schema(frame: Any, column: str) -> Any:  # only one column needs its type
    import pyarrow

    given: Any = frame[column] if list(frame.columns).count(column) == 1 else []
    text, null = pyarrow.array(given, from_pandas=True).type, pyarrow.null()
    if not engine.is_text(text) and not _is_never_missing(given.dtype):
        text = null  # a partition has nothing but missing values, or is refused when it is decoded
    # pandas has names that Arrow has not, and of which none is one that is added
    names = [each for each in frame.columns if isinstance(each, str)]
    return pyarrow.schema(
        [
            (each, text) if each == column else (each if each.isprintable() else ascii(each), null)
            for each in names
        ]
    )


def _is_never_missing(dtype: Any) -> bool:
    import numpy

    return isinstance(dtype, numpy.dtype) and dtype.kind in "biu"


def _scan(group: bytes, lenient: bool, options: Options) -> Any:
    import pandas

    table = engine.scan_group(group, lenient, options)
    return table.to_pandas(types_mapper=pandas.ArrowDtype)
