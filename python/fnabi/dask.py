"""Signatures and modules in data frames of Dask; needs ``pip install 'fnabi[dask]'``.

>>> import dask.dataframe, fnabi.dask
>>> frame = dask.dataframe.read_parquet("signatures/")
>>> fnabi.dask.decode(frame, "signature", "raw").to_parquet("decoded/")
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from fnabi import arrow, engine
from fnabi.columns_part import AnyAbi
from fnabi.walk import Path

__all__ = ["decode", "scan"]


def decode(frame: Any, column: str, abi: AnyAbi = "raw", *, drop: bool = False) -> Any:
    """Decode the signatures in a column of a data frame, and add the result as columns.

    Args:
        frame: The data frame, of ``dask.dataframe``.
        column: The column with the texts.
        abi: The ABI of the texts, as for `decode_columns`.
        drop: Whether the column with the texts is left out.

    Returns:
        A data frame with the columns of `fnabi.arrow.decode`; it runs when it is consumed. The
        partitions are data frames of pandas, whose new columns have Arrow's types.

    """
    function = partial(_decode, column=column, abi=abi, drop=drop)
    return frame.map_partitions(function, meta=function(frame._meta))


def scan(paths: Path | Iterable[Path], *, lenient: bool = False) -> Any:
    """Return the exports of the modules in files, folders and stores as a data frame.

    The files are listed here and read by the workers, to whom the paths must lead as well.

    Args:
        paths: As for `vmfb.scan`.
        lenient: As for `vmfb.scan`.

    Raises:
        CallError: when Dask, pandas or pyarrow is not installed.

    """
    try:
        import dask.dataframe
    except ImportError:
        raise engine.missing("Dask, or pandas or pyarrow,", "dask") from None
    groups = engine.chunks(paths, "fnabi.dask.scan") or [[]]
    function = partial(_scan, lenient=lenient)
    return dask.dataframe.from_map(function, groups, meta=function([]))


def _decode(frame: Any, column: str, abi: AnyAbi, drop: bool) -> Any:
    import pyarrow

    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    if pyarrow.types.is_null(table.schema.field(column).type):  # no row says that it has texts
        texts = table[column].cast(pyarrow.string())
        table = table.set_column(table.schema.get_field_index(column), column, texts)
    return _frame(arrow.decode(table, column, abi, drop=drop)).set_index(frame.index)


def _scan(files: list[str], lenient: bool) -> Any:
    return _frame(engine.scan_files(files, lenient))


def _frame(table: Any) -> Any:
    import pandas

    return table.to_pandas(types_mapper=pandas.ArrowDtype)
