"""The official runtime's command, where it is installed."""

import shutil
from pathlib import Path

import numpy as np

RUNNER = shutil.which("iree-run-module") or shutil.which(
    "iree-run-module", path=str(Path(np.__file__).parents[4] / "bin")
)
