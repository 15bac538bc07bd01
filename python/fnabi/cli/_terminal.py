"""The terminal, as far as the help needs it too, which imports little."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    from typing import TextIO


_DIGITS = 9
"""The most digits of a width: of thousands, Python makes no int."""


def width_of(stream: TextIO) -> int | None:
    """Return the width that lines are folded to; None for no limit, as in a pipe or a file.

    The variable COLUMNS sets it for every output, a terminal for its own.
    """
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and len(wanted) <= _DIGITS and int(wanted) > 0:
        return int(wanted)
    try:
        return (stream.isatty() and os.get_terminal_size(stream.fileno()).columns) or None
    except (OSError, ValueError):  # not one after all
        return None
