"""Why a package cannot be imported."""

from __future__ import annotations

import re


def why_unusable(problem: ImportError, install: str) -> str:
    """Return the end of a sentence: that a package is not installed, or what is wrong with it.

    Args:
        problem: The error of the import.
        install: The packages that pip installs for it.

    """
    names = {*re.findall(r"[\w.]+", install), "iree.runtime"}
    if isinstance(problem, ModuleNotFoundError) and problem.name in names:
        return f"is not installed (pip install {install})"
    # its own text may be a page of advice around the cause
    return f"cannot be imported: {' '.join(str(problem.__cause__ or problem).split())}"
