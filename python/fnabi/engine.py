"""What the engines share: the files to scan, and the scan of some of them as a table.

`fnabi.ray`, `fnabi.spark` and `fnabi.dask` run `fnabi.arrow.decode` and `scan_files` on their
workers. Both are pure functions that pickle, so work that is lost with a worker is done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fnabi import vmfb
from fnabi.errors import CallError
from fnabi.walk import Path, walk

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FILES", "chunks", "missing", "scan_files"]

FILES = 256
"""The number of modules that a worker scans at once."""


def missing(package: str, extra: str) -> CallError:
    """Return the error for an engine that is not installed."""
    return CallError(f"fnabi.{extra}: {package} is not installed (pip install 'fnabi[{extra}]')")


def chunks(paths: Path | Iterable[Path], function: str) -> list[list[str]]:
    """Return the files of modules among paths, as `vmfb.scan` finds them, in groups."""
    found = [str(each.path) for each in walk(paths, function)]
    return [found[i : i + FILES] for i in range(0, len(found), FILES)]


def scan_files(files: Sequence[str], lenient: bool = False) -> pa.Table:
    """Return the table of `vmfb.scan` of some files, in types that every consumer accepts."""
    import pyarrow

    return pyarrow.table(vmfb.scan(files, lenient=lenient).plain())
