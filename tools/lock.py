"""``python -m tools lock``: write ``.ci/requirements``, what CI installs, with hashes.

Each file has the newest versions that pyproject.toml allows, for every platform. Needs uv. With
names, such as ``python -m tools lock docs``, only these files are written.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".ci" / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BUILD = PROJECT["build-system"]["requires"]
OLDEST = next(each for each in PROJECT["project"]["dependencies"] if each.startswith("msgspec"))
# torch itself is installed without a hash: its build depends on the machine.
TORCH = ["filelock", "fsspec", "jinja2", "networkx", "sympy", "typing_extensions"]
TABLES = ["deltalake", "pyiceberg[sql-sqlite]"]
CHECKS = ["abi3audit", "auditwheel", "check-wheel-contents", "pip-audit", "twine"]
PACKAGE = re.compile(r"^\w.*\n(?:    .*\n)*", re.MULTILINE)


class Lock(NamedTuple):
    """A file of requirements: extras of fnabi, and other packages."""

    extras: list[str]
    packages: list[str]
    base: str = ""
    """Another file, which this one includes."""


LOCKS = {
    "build": Lock([], BUILD),
    "lint": Lock(["lint", "test"], BUILD),
    "docs": Lock(["docs", "test", "browser"], BUILD),
    "test": Lock(["test"], BUILD),
    "peers": Lock(["bench", "dask"], [*BUILD, *TORCH, "ninja"]),
    "packages": Lock(["ray", "spark", "datafusion"], [*TABLES, "jax", "transformers"], "peers"),
    "coverage": Lock([], ["coverage[toml]>=7.10", "pytest-cov"], base="peers"),
    "iree-3.12.0": Lock([], ["iree-base-compiler==3.12.0", "iree-base-runtime==3.12.0"], "test"),
    "iree-3.13.0": Lock([], ["iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0"], "test"),
    "wheel": Lock([], ["build", *CHECKS, "cyclonedx-python-lib[validation]"], base="build"),
    "cibuildwheel": Lock([], ["cibuildwheel"], base="build"),
    "cross": Lock([], ["ziglang"], base="build"),
}
ALONE = {
    "atheris": ["atheris>=3.1; python_version >= '3.12'", "atheris<3.1; python_version < '3.12'"],
    "oldest": [OLDEST.replace(">=", "==")],
    "packages-alone": ["apache-tvm", "daft", "jax-tvm-ffi", "oras", "xgrammar"],
}
"""Packages without those that they depend on."""


def compiled(packages: list[str], *options: str) -> str:
    """Return a file of requirements as uv writes it, without its head."""
    command = ["uv", "pip", "compile", "-q", "--universal", "--python-version=3.11"]
    command += ["--no-config", "--generate-hashes", "--no-header", "--no-annotate"]
    # pip takes the pin of a package for that of one with extras only while it is the newest.
    command += ["--no-strip-extras", *options, "-"]
    needs = "\n".join(packages)
    run = subprocess.run(command, input=needs, cwd=ROOT, check=True, capture_output=True, text=True)
    return run.stdout


def main() -> int:
    """Write each file, or those that are named."""
    parser = argparse.ArgumentParser(description="Write the packages that CI installs.")
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join([*LOCKS, *ALONE]))
    names = parser.parse_args().names
    if unknown := {*names} - LOCKS.keys() - ALONE.keys():
        parser.error(f"no file is named {min(unknown)}")
    FOLDER.mkdir(exist_ok=True)
    head = "# Written by `python -m tools lock`.\n"
    for name, lock in LOCKS.items():
        if names and name not in names:
            continue
        options = ["pyproject.toml", *(f"--extra={each}" for each in lock.extras)]
        if lock.base:
            options += ["--constraints", str(FOLDER / f"{lock.base}.txt")]
        text = compiled(lock.packages, *options)
        included = PACKAGE.findall((FOLDER / f"{lock.base}.txt").read_text()) if lock.base else []
        own = [each for each in PACKAGE.findall(text) if each not in included]
        include = f"-r {lock.base}.txt\n" if lock.base else ""
        (FOLDER / f"{name}.txt").write_text(f"{head}{include}{''.join(own)}")
    for name, packages in ALONE.items():
        if not names or name in names:
            (FOLDER / f"{name}.txt").write_text(head + compiled(packages, "--no-deps"))
    return 0
