"""The pre-commit hook: compares each module that a commit touches with its baseline.

``python -m fnabi.cli._hook FILE...``: the baseline of ``model.vmfb`` is ``model.abi.json``
beside it. Modules without a baseline are skipped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from fnabi.cli import main as command

_BASELINE, _MODULE = ".abi.json", ".vmfb"


def main(files: Sequence[str]) -> int:
    """Compare the modules of some files, and return the worst exit status of ``check-abi``."""
    stems = dict.fromkeys(
        file.removesuffix(_BASELINE).removesuffix(_MODULE)
        for file in files
        if file.endswith((_BASELINE, _MODULE))
    )
    status = 0
    for stem in stems:
        pair = f"{stem}{_BASELINE}", f"{stem}{_MODULE}"
        if all(map(os.path.exists, pair)):
            print(f"{pair[1]}:", flush=True)
            status = max(status, command(["check-abi", "--", *pair]))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
