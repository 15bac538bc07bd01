"""Signatures and modules in datasets of Ray; needs ``pip install 'ray[data]' pyarrow``.

>>> import fnabi, ray.data
>>> decoded = fnabi.ray.decode(ray.data.read_parquet("signatures/"), "signature", "raw")
>>> decoded.write_parquet("decoded/")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from fnabi._base.arguments import check_attribute
from fnabi._base.files import Options
from fnabi.many import _engine as engine
from fnabi.many.columns._part import AnyAbi
from fnabi.vmfb._walk import Path

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

__all__ = ["decode", "scan"]


def __dir__() -> list[str]:
    return __all__


_ROWS = 1 << 17
"""The most rows that are decoded at once: a block of Ray may have millions."""


def decode(
    dataset: Dataset,
    column: str,
    abi: AnyAbi = "raw",
    *,
    drop: bool = False,
    prefix: str = "",
    into: str | None = None,
    **options: Any,
) -> Dataset:
    """Decode the signatures in a column of a dataset, and add the result as columns.

    Args:
        dataset: The dataset.
        column: The column with the texts.
        abi: The ABI of the texts, as for `decode_columns`.
        drop: Whether the column with the texts is left out.
        prefix: What the names of the new columns begin with, as for `fnabi.arrow.decode`.
        into: The name of one new column that has all of them, a struct; or None.
        options: Arguments of ``Dataset.map_batches``, such as ``num_cpus`` or ``compute``.

    Returns:
        A dataset with the columns of `fnabi.arrow.decode`; it runs when it is consumed.

    Raises:
        CallError: when an argument is invalid.
        NotFoundError: when the dataset has no column of that name; it is a `LookupError`. That is
            found here if the schema is known without running the dataset, else by the workers.

    Example:
        >>> import fnabi, ray
        >>> dataset = ray.data.from_items([{"sig": "I4!S1!R1!"}, {"sig": "I1!"}])
        >>> [row["status"] for row in fnabi.ray.decode(dataset, "sig").take()]
        ['ok', 'raw-results']

    """
    check_attribute("ray.decode: dataset", dataset, "map_batches", "a Dataset of Ray")
    known = dataset.schema(fetch_if_missing=False)
    schema = getattr(known, "base_schema", None)
    if not hasattr(schema, "empty_table"):  # that of pandas
        schema = None
    function = engine.decoder("ray.decode: dataset", column, abi, drop, schema, prefix, into)
    given = {"batch_format": "pyarrow", "batch_size": None, "zero_copy_batch": True} | options
    return dataset.map_batches(partial(_decode, function), **given)


def scan(
    paths: Path | Iterable[Path],
    *,
    lenient: bool = False,
    storage_options: Options = None,
    **options: Any,
) -> Dataset:
    """Return the exports of the modules in files, folders and stores as a dataset.

    The files are listed here and read by the workers, to whom the paths must lead as well.

    Args:
        paths: As for `vmfb.scan`.
        lenient: As for `vmfb.scan`.
        storage_options: As for `vmfb.scan`.
        options: Arguments of ``Dataset.map_batches``.

    Raises:
        CallError: when an argument is invalid, or Ray is not installed.

    Example:
        >>> import fnabi, ray
        >>> rows = fnabi.ray.scan("examples/releases/1.0").take()
        >>> sorted({row["module"] for row in rows})
        ['embed', 'project', 'rank', 'vision']

    """
    try:
        import ray.data
    except ImportError as problem:
        raise engine.missing("Ray", "ray", problem) from None
    hidden = engine.hide("ray.scan", storage_options)
    groups = engine.group_files(paths, "ray.scan", storage_options) or [b""]
    listed = ray.data.from_items([{"files": group} for group in groups])
    given = {"batch_format": "pyarrow", "batch_size": 1} | options
    return listed.map_batches(partial(_scan, lenient=lenient, options=hidden), **given)


def _decode(function: Callable[[Any], Any], batch: pa.Table) -> Iterator[pa.Table]:
    for first in range(0, max(1, batch.num_rows), _ROWS):
        yield function(batch.slice(first, _ROWS))


def _scan(batch: Any, lenient: bool, options: Options) -> Iterator[Any]:
    for group in batch["files"].to_pylist():
        yield engine.scan_group(group, lenient, options)
