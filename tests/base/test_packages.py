"""Errors for packages that are not installed, and for those that are and cannot be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROBLEM = "libmissing.so: cannot open shared object file"
CALLS = {
    "dask": ("fnabi.dask.scan([])", "fnabi.dask: Dask, or pandas or pyarrow, "),
    "fsspec": ("fnabi.vmfb.open('memory://m')", "vmfb.open: memory://m needs fsspec, which "),
    "iree.runtime": (
        "from fnabi.run import client; client.Client('examples/classifier.vmfb')",
        "client.Client: iree.runtime ",
    ),
    "ml_dtypes": (
        "fnabi.DType('bfloat', 16).to_numpy()",
        "DType.to_numpy: NumPy has no bfloat16, and ml_dtypes ",
    ),
    "polars": ("fnabi.polars.decode(['I1!'])", "fnabi.polars: polars "),
    "pyarrow": (
        "from fnabi.many._table import TableFile; TableFile('t.parquet', None, 'write')",
        "write: .parquet needs pyarrow, which ",
    ),
    "pyspark": ("fnabi.spark.scan(None, [])", "fnabi.spark: Spark 4.1 or newer, or pyarrow, "),
    "ray": ("fnabi.ray.scan([])", "fnabi.ray: Ray "),
    "rich": ("list(fnabi.vmfb.scan('examples', progress=True))", "vmfb.scan: rich "),
    "torch": ("with fnabi.use_torch_stream(): pass", "use_torch_stream: torch "),
}
"""By package, a call that needs it, and how its error begins."""

CATALOG = "fnabi.Catalog(None).update('examples')"


def error_of(code: str, folder: Path) -> str:
    """Run code that finds modules in a folder first, and return the text of the error."""
    call = f"import sys; sys.path.insert(0, {str(folder)!r}); import fnabi\n"
    text = f"{call}try:\n    {code}\nexcept fnabi.MissingPackageError as error:\n    print(error)\n"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("package", CALLS)
def test_a_package_that_cannot_be_imported_is_not_called_missing(
    package: str, tmp_path: Path
) -> None:
    code, begin = CALLS[package]
    if package == "pyspark":
        pytest.importorskip("pyarrow")
    file = tmp_path / f"{package.replace('.', '/')}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"raise ImportError({PROBLEM!r})\n")
    assert error_of(code, tmp_path) == f"{begin}cannot be imported: {PROBLEM}\n"
    file.write_text(f"raise ModuleNotFoundError('none', name={package!r})\n")
    assert error_of(code, tmp_path).startswith(f"{begin}is not installed (pip install ")
    file.write_text("import no_part_of_it\n")
    why = "cannot be imported: No module named 'no_part_of_it'"
    assert error_of(code, tmp_path) == f"{begin}{why}\n"


def test_a_duckdb_that_cannot_be_imported(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for name in "duckdb", "_duckdb":
        (tmp_path / f"{name}.py").write_text(f"raise ImportError({PROBLEM!r})\n")
    assert error_of(CATALOG, tmp_path) == f"Catalog: duckdb cannot be imported: {PROBLEM}\n"
