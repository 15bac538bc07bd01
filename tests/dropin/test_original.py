"""`fnabi.dropin.tvm_ffi` under the tests of tvm_ffi itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from support.original_tests import END, PAGE_FILE, START, TABLE, as_page, keep, listed
from support.paths import TESTS
from support.sdist import unpacked

pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
pytest.importorskip("numpy", reason="NumPy is not installed")


@pytest.fixture(scope="session")
def original_tests() -> Path:
    """The folder with the tests of the installed version, from its source distribution."""
    release = version("apache-tvm-ffi")
    if release != TABLE["version"]:
        pytest.skip(f"the table is of {TABLE['version']}, and {release} is installed")
    return unpacked("apache-tvm-ffi", release) / "tests" / "python"


def test_the_table_is_in_the_documentation() -> None:
    page = PAGE_FILE.read_text()
    shown = START + page.partition(START)[2].partition(END)[0]
    assert shown == as_page(TABLE)


@pytest.mark.full
def test_every_file_is_in_the_table(original_tests: Path) -> None:
    kinds = ("group", "outside")
    files = [file for kind in kinds for part in TABLE[kind] for file in part["files"]]
    found = original_tests.rglob("test_*.py")
    assert sorted(files) == sorted(each.relative_to(original_tests).as_posix() for each in found)


@pytest.mark.full
@pytest.mark.unsanitized("it starts the interpreter without the library of the sanitizer")
def test_the_original_tests(original_tests: Path, tmp_path: Path) -> None:
    """Each test in scope passes, or is in the table of differences."""
    outcomes_file = tmp_path / "outcomes.json"
    options = ["-q", "--tb=line", "-p", "support.dropin_tvm_ffi_plugin", "-p", "no:cacheprovider"]
    options += ["-c", os.devnull, "--rootdir", "."]
    unrun = listed("unrun")
    if shutil.which("ninja") is None or shutil.which("c++") is None:
        unrun.update(TABLE["need_compiler"])
    for test in unrun:
        options += ["--deselect", test]
    files = [file for group in TABLE["group"] for file in group["files"]]
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=original_tests,
        env=os.environ
        | {
            "FNABI_DROPIN_OUTCOMES": str(outcomes_file),
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert outcomes_file.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    outcomes = json.loads(outcomes_file.read_text())
    if os.environ.get("FNABI_KEEP_TABLE"):
        keep(outcomes)
        return
    failed = {test for test, outcome in outcomes.items() if outcome == "failed"}
    assert failed - listed("difference") == set(), done.stdout[-6000:]
    assert {test for test in listed("difference") if outcomes.get(test) == "passed"} == set()
    for counts, group in counted(outcomes):
        passed = counts["passed"] + counts["xfailed"]
        left_out = sum(test.split("::")[0] in group["files"] for test in unrun)
        lacking = group["passed"] + group["skipped"] - passed - counts["skipped"] - left_out
        assert lacking <= 0, (group["name"], counts)


def counted(outcomes: dict[str, str]) -> Iterator[tuple[Counter[str], dict]]:
    """Yield the number of tests of each group by outcome."""
    for group in TABLE["group"]:
        yield (
            Counter(
                outcome
                for test, outcome in outcomes.items()
                if test.split("::")[0] in group["files"]
            ),
            group,
        )
