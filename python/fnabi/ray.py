"""Signatures and modules in datasets of Ray; needs ``pip install 'fnabi[ray]'``.

>>> import fnabi.ray, ray.data
>>> decoded = fnabi.ray.decode(ray.data.read_parquet("signatures/"), "signature", "raw")
>>> decoded.write_parquet("decoded/")
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from fnabi import arrow, engine
from fnabi.columns_part import AnyAbi
from fnabi.walk import Path

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["decode", "scan"]


def decode(
    dataset: Dataset, column: str, abi: AnyAbi = "raw", *, drop: bool = False, **options: Any
) -> Dataset:
    """Decode the signatures in a column of a dataset, and add the result as columns.

    Args:
        dataset: The dataset.
        column: The column with the texts.
        abi: The ABI of the texts, as for `decode_columns`.
        drop: Whether the column with the texts is left out.
        options: Arguments of ``Dataset.map_batches``, such as ``num_cpus`` or ``concurrency``.

    Returns:
        A dataset with the columns of `fnabi.arrow.decode`; it runs when it is consumed.

    """
    function = partial(arrow.decode, column=column, abi=abi, drop=drop)
    given = {"batch_format": "pyarrow", "batch_size": None, "zero_copy_batch": True} | options
    return dataset.map_batches(function, **given)


def scan(paths: Path | Iterable[Path], *, lenient: bool = False, **options: Any) -> Dataset:
    """Return the exports of the modules in files, folders and stores as a dataset.

    The files are listed here and read by the workers, to whom the paths must lead as well.

    Args:
        paths: As for `vmfb.scan`.
        lenient: As for `vmfb.scan`.
        options: Arguments of ``Dataset.map_batches``.

    Raises:
        CallError: when Ray is not installed.

    """
    try:
        import ray.data
    except ImportError:
        raise engine.missing("Ray", "ray") from None
    groups = engine.chunks(paths, "fnabi.ray.scan")
    listed = ray.data.from_items([{"files": group} for group in groups])
    given = {"batch_format": "pyarrow", "batch_size": 1} | options
    return listed.map_batches(partial(_scan, lenient=lenient), **given)


def _scan(batch: Any, lenient: bool) -> Any:
    files = [file for group in batch["files"].to_pylist() for file in group]
    return engine.scan_files(files, lenient)
