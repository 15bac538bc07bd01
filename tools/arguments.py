"""Record which calls go wrong in releases of IREE's runtime: ``python -m tools arguments VERSION``.

Calls the functions of the modules in ``tests/data/arguments`` in the release, and writes those
whose results are wrong to ``wrong.json`` there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from tools._environments import installed, order

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "arguments"
TABLE = FOLDER / "wrong.json"


def record(python: str) -> dict[str, list[str]]:
    """Return the functions with wrong results, by the modules that the release loads."""
    run = subprocess.run([python, FOLDER / "record.py"], capture_output=True, text=True, check=True)
    found: dict[str, list[str] | None] = json.loads(run.stdout)
    return {name: wrong for name, wrong in found.items() if wrong is not None}


def write(table: dict[str, dict[str, list[str]]]) -> str:
    """Return the text of the table, a line for each release."""
    lines = [f" {json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table, key=order)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    """Record the releases that the command names."""
    parser = argparse.ArgumentParser(
        prog="python -m tools arguments",
        description="Record which calls go wrong in releases of IREE's runtime, in"
        f" {TABLE.relative_to(FOLDER.parents[2])}.",
    )
    parser.add_argument("versions", metavar="VERSION", nargs="+")
    parser.add_argument("--cache", metavar="DIR", type=Path, help="keep the environments in DIR")
    arguments = parser.parse_args()
    table = json.loads(TABLE.read_text())
    with tempfile.TemporaryDirectory() as scratch:
        for version in arguments.versions:
            table[version] = record(installed(version, arguments.cache or Path(scratch)))
            TABLE.write_text(write(table))
    return 0
