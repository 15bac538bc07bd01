"""Run the command as a user does, and read what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Run(NamedTuple):
    status: int
    out: str
    err: str


def run(*argv: str | bytes | Path, stdin: bytes = b"", encoding: str = "utf-8") -> Run:
    """Run the command as a user does."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "fnabi", *argv],
        input=stdin,
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": "", "FORCE_COLOR": ""},
        timeout=60,
    )
    return Run(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))
