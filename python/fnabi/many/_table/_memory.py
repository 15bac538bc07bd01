"""Files in memory of pyarrow, which have no object of Python."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def own(data: bytes) -> Any:
    """Return a file in memory of pyarrow.

    A thread of pyarrow may be the last that has it, when the interpreter ends already and kills
    each thread that lets go of an object of Python.
    """
    pyarrow = import_module("pyarrow")
    memory = pyarrow.BufferOutputStream()
    memory.write(data)
    return pyarrow.BufferReader(memory.getvalue())
