"""The own tests of packages that are built on tvm_ffi: over the original, over the drop-in, alone.

Their source distributions have the tests; each test has the same outcome as over the original.
"""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.paths import TESTS
from support.sdist import unpacked

pytestmark = [
    pytest.mark.full,
    pytest.mark.unsanitized("it starts the interpreter without the library of the sanitizer"),
]

WAYS = {
    "original": "",
    "drop-in": "import fnabi.dropin.tvm_ffi as ours; ours.install()\n",
    "alone": (
        "import sys; sys.modules['tvm_ffi'] = None\n"
        "import fnabi.dropin.tvm_ffi as ours; ours.install()\n"
    ),
}
"""What runs before the tests: with the original, over the drop-in, and over it alone."""


def outcomes(way: str, folder: Path, where: Path, *options: str) -> dict[str, str]:
    """Return what becomes of each test of a folder."""
    (where / f"way_{way.replace('-', '_')}.py").write_text(WAYS[way])
    report = where / f"{way}.xml"
    paths = [str(where), str(TESTS)]
    if way != "original":  # for the processes that tests start
        command = [sys.executable, "-m", "fnabi.dropin.tvm_ffi", "--path"]
        paths.append(subprocess.check_output(command, text=True).strip())
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"),
            *("-p", f"way_{way.replace('-', '_')}", "-c", os.devnull, "--rootdir", "."),
            *(f"--junit-xml={report}", *options),
        ],
        cwd=folder,
        # some tests take their parameters from a set
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"},
        capture_output=True,
        timeout=1800,
        check=False,
    )
    found = {}
    for case in ET.parse(report).iter("testcase"):
        state = next((child.tag for child in case if child.tag != "properties"), "passed")
        found[f"{case.get('classname')}::{case.get('name')}"] = state
    return found


@pytest.mark.parametrize(
    ("package", "module", "needs", "folder", "options"),
    [
        (
            "xgrammar",
            "xgrammar",
            ("torch", "transformers"),
            "tests/python",
            ["-mnot hf_token_required"],
        ),
        ("jax-tvm-ffi", "jax_tvm_ffi", ("jax",), "tests", []),
    ],
)
def test_the_tests_of_a_package(
    package: str,
    module: str,
    needs: tuple[str, ...],
    folder: str,
    options: list[str],
    tmp_path: Path,
) -> None:
    for name in ("tvm_ffi", module, *needs):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    try:
        release = version(package)
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    tests = unpacked(package, release) / folder
    found = {way: outcomes(way, tests, tmp_path, *options) for way in WAYS}
    passed = sum(state == "passed" for state in found["original"].values())
    print(f"{package} {release}: {passed} of {len(found['original'])} pass over the original")
    assert passed > 10
    for way in ("drop-in", "alone"):
        differing = {
            test: (state, found[way].get(test))
            for test, state in found["original"].items()
            if found[way].get(test) != state
        }
        assert differing == {}, way
