"""The pre-commit hook: compares each module that a commit touches with its baseline.

``python -P -m fnabi.cli._hook [OPTION...] FILE...``: the baseline of ``model.vmfb`` is
``model.abi.json`` beside it. Modules without a baseline are skipped. Options are those of
``check-abi``, each one word: ``--runtime=3.9.0``. With ``-P`` nothing is imported from the
repository.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from fnabi._base.text import one_line, printed
from fnabi.cli import main as command

_BASELINE, _MODULE = ".abi.json", ".vmfb"


def main(words: Sequence[str]) -> int:
    """Compare the modules of some files, and return the worst exit status of ``check-abi``."""
    files = [word for word in words if word.endswith((_BASELINE, _MODULE))]
    options = [
        word for word in words if word.startswith("-") and word != "--" and word not in files
    ]
    stems = dict.fromkeys(file.removesuffix(_BASELINE).removesuffix(_MODULE) for file in files)
    status = 0
    for stem in stems:
        pair = f"{stem}{_BASELINE}", f"{stem}{_MODULE}"
        if all(map(os.path.exists, pair)):
            print(printed(f"{one_line(pair[1])}:"), flush=True)
            status = max(status, command(["check-abi", *options, "--", *pair]))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
