"""TVM over the drop-in: each step gives what it gives over the original."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from support.paths import DATA

pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
pytest.importorskip("numpy", reason="NumPy is not installed")

STEPS = DATA / "dropin_tvm_ffi" / "tvm_steps.py"


def answers(*command: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, *command, str(STEPS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
    return re.sub(r"0x[0-9a-f]{6,}", "0x", done.stdout).split("== ")[1:]


@pytest.mark.slow
def test_every_step_is_the_same() -> None:
    if find_spec("tvm") is None:  # imported here, it would change the classes of the original
        pytest.skip("tvm is not installed")
    theirs, ours = answers(), answers("-m", "fnabi.dropin.tvm_ffi")
    assert len(ours) == len(theirs) > 60
    for mine, original in zip(ours, theirs, strict=True):
        assert mine == original
    failed = [each.partition("\n")[0] for each in ours if each.partition("\n")[2].startswith("!")]
    assert [each for each in failed if not each.endswith("_fails")] == []
