"""Imports: the time from the start of a new interpreter to the first result.

A round starts an interpreter that runs one line and ends. "nothing" measures the start alone,
"msgspec" the import that fnabi's records need.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

RAW = "I15!B11!d10d128d64R15!B11!t6d32d8d64"
ROOT = Path(__file__).parent.parent
MODULE = ROOT / "tests" / "data" / "vmfb" / "std_llvmcpu.vmfb"

LINES = {
    "fnabi": "import fnabi",
    "raw": f"import fnabi; fnabi.raw.parse({RAW!r})",
    "vmfb": (
        f"import fnabi; [e.signature for e in fnabi.vmfb.open({str(MODULE)!r}).exports.values()]"
    ),
    "find": (
        "from fnabi.cli import main;"
        f" main(['find', {str(ROOT / 'examples' / 'releases')!r}, 'f32[?,6], * -> *'])"
    ),
}
PEERS = {
    "nothing": "pass",
    "msgspec": "import msgspec",
    # tvm_ffi imports torch where it is installed, and then takes as long as that does
    "tvm_ffi": "import sys; sys.modules['torch'] = None; import tvm_ffi",
}
NAMES = {
    "nothing": "bare Python",
    "msgspec": "import msgspec",
    "tvm_ffi": "import tvm_ffi, without torch",
}
WORKS = {
    "fnabi": "start of Python → fnabi imported",
    "raw": "start of Python → one raw signature parsed",
    "vmfb": "start of Python → a module's exports read",
    "find": "start of Python → functions of 8 modules found by signature",
}


@pytest.mark.parametrize("who", ["fnabi", *PEERS])
@pytest.mark.parametrize("what", LINES)
def test_import(benchmark: BenchmarkFixture, what: str, who: str) -> None:
    if who in ("msgspec", "tvm_ffi"):
        pytest.importorskip(who)
    line = LINES[what] if who == "fnabi" else PEERS[who]
    command = [sys.executable, "-c", line]
    benchmark.group = WORKS[what]
    if who in ("fnabi", "tvm_ffi"):
        benchmark.extra_info["work"] = WORKS[what]
    if who != "fnabi":
        benchmark.extra_info["peer"] = NAMES[who]
    benchmark.pedantic(
        subprocess.run,
        (command,),
        {"check": True, "stdout": subprocess.DEVNULL},
        rounds=6,
        warmup_rounds=1,
    )
