"""The command ``fnabi``: show, check, compare and call the function ABIs of ML compilers.

`verbs` has the table of the verbs, each of which has a module of its name. Input may come from
anywhere, so control characters are escaped before they are shown.
"""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    from collections.abc import Sequence

_GARBAGE = 50_000
"""How many objects are made before Python looks for garbage: more than most verbs make, which took
a tenth of their time."""


_SIGNALLED = 128
_INTERRUPTED = _SIGNALLED + 2
"""The status after Ctrl-C. ``python -m fnabi`` would end by the signal, without a status, if that
came in code of a string, such as a named tuple's: Python takes it for unhandled from then on."""


class _WithoutPandas:
    """Finds no pandas: pyarrow and DuckDB import it where it is installed, and no verb needs it.

    The import takes longer than most verbs: 0.4 seconds.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        argv: What follows the name of the command; None for the words of this process.

    """
    if argv is not None:
        from fnabi.cli._command import run

        return run([*argv], is_process=False)
    gc.set_threshold(_GARBAGE)
    sys.meta_path.insert(0, _WithoutPandas)
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        import warnings  # that the lock is turned on concerns programs that have threads

        warnings.filterwarnings("ignore", r"The global interpreter lock \(GIL\)", RuntimeWarning)
    from fnabi.cli._command import run

    status = run(sys.argv[1:], is_process=True)
    if status == _INTERRUPTED:
        from fnabi.cli._ending import exit_now

        exit_now(status)
    if status > _SIGNALLED:
        from fnabi.cli._ending import leave

        return leave(status)
    return status
