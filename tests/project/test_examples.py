"""Every public function and class has an example in its docstring, which prints what it shows."""

from __future__ import annotations

import doctest
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fnabi
from support.each import check_each
from support.paths import ROOT
from support.public import public_callables

NEEDS = {
    "Catalog": {"duckdb"},
    "Columns": {"numpy"},
    "Instance": {"tvm_ffi"},
    "Module": {"tvm_ffi"},
    "arrow.Batches": {"pyarrow"},
    "catalog_diff.compare_catalogs": {"duckdb"},
    "dask.scan": {"dask"},
    "example.example_values": {"numpy"},
    "html.render_catalog": {"duckdb"},
    "raw.allocate_results": {"numpy"},
}
"""Packages of examples that do not import them."""

SLOW = {"dask", "pyspark", "ray"}
"""Packages whose examples start processes."""


def example(value: Any) -> str:
    return inspect.getdoc(value) or ""


def needs(name: str, text: str) -> frozenset[str]:
    """Return the packages of others that an example needs."""
    lines = re.findall(r"^ *>>> (?:import (.*)|from (\S+) import)", text, re.M)
    found = {each.split()[0] for line in lines for each in "".join(line).split(",")}
    packages = {each.partition(".")[0] for each in found} | NEEDS.get(name, set())
    return frozenset(packages - sys.stdlib_module_names - {"fnabi"})


EXAMPLES = {name: example(value) for name, value in public_callables().items()}
GROUPS: dict[frozenset[str], list[str]] = {}
for _name, _text in EXAMPLES.items():
    GROUPS.setdefault(needs(_name, _text), []).append(_name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Change to a folder with the examples of the repository, and their library."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "build").mkdir()
    command = ["cc", "-shared", "-fPIC", "-O1", "examples/kernels.c", "-o", "build/kernels.so"]
    command += [f"-I{fnabi.get_include()}", "-lm"]
    if shutil.which("cc") is None:
        pytest.skip("could not find the program 'cc'")
    subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    yield tmp_path
    for name in fnabi.list_global_func_names():
        if name.startswith("demo."):
            fnabi.remove_global_func(name)


def run(name: str) -> None:
    parser = doctest.DocTestParser()
    test = parser.get_doctest(EXAMPLES[name], {"__name__": "__main__"}, name, None, None)
    told: list[str] = []
    result = doctest.DocTestRunner().run(test, out=told.append)
    assert result.attempted
    assert not result.failed, "".join(told)


def test_every_callable_has_an_example() -> None:
    assert len(EXAMPLES) > 130
    assert [name for name, text in EXAMPLES.items() if ">>> " not in text] == []
    few = [name for name, text in EXAMPLES.items() if text.count(">>> ") > 9]
    assert few == [], "an example is a few lines"


@pytest.mark.filterwarnings("ignore")  # of the packages
@pytest.mark.parametrize(
    "packages",
    [
        pytest.param(
            group,
            marks=[pytest.mark.slow] if group & SLOW else [],
            id="-".join(sorted(group)) or "none",
        )
        for group in sorted(GROUPS, key=sorted)
    ],
)
def test_the_examples(packages: frozenset[str], folder: Path) -> None:
    """Each group needs the same packages of others, the first of them none."""
    for each in sorted(packages):
        pytest.importorskip(each)
    check_each(((name, name) for name in GROUPS[packages]), run)
