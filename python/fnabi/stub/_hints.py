"""Type hints of generated modules, in names that such a module imports."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fnabi.calls import schema

_PLAIN = {
    "void*": "ctypes.c_void_p",
    "DataType": "fnabi.types.DType",
    "Device": "fnabi.Device",
    "ffi.Shape": "fnabi.Shape",
    "ffi.Module": "fnabi.Module",
}
_TENSORS = ("ffi.Tensor", "DLTensor*")
_SEQUENCES = ("Sequence", "Array", "List")

_IMPORTS = {
    "ctypes": "import ctypes",
    "fnabi": "import fnabi",
    "np": "import numpy as np",
    "npt": "import numpy.typing as npt",
    "Callable": "from collections.abc import Callable",
    "Mapping": "from collections.abc import Mapping",
    "Sequence": "from collections.abc import Sequence",
    "Path": "from pathlib import Path",
    "TYPE_CHECKING": "from typing import TYPE_CHECKING",
    "Any": "from typing import Any",
    "Protocol": "from typing import Protocol",
    "TypedDict": "from typing import TypedDict",
}

HINT_WORDS = frozenset(
    (
        *_IMPORTS,
        *("int", "float", "bool", "str", "bytes", "complex", "tuple", "list", "dict", "object"),
        *("property", "staticmethod", "Exception", "TensorLike"),
    )
)
"""The names that hints and the lines around them use."""

_WORD = re.compile(
    r'"{3}(?:\\.|[^\\])*?"{3}|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|#[^\n]*|(?<![\w.])([^\W\d]\w*)',
    re.S,
)
"""A name, or text without one: literals, comments. A tree of the code takes far more memory."""

RESERVED = HINT_WORDS | {"annotations", "self", "super", "LIBRARY", "MODULE", "_library"}
"""The names that generated modules use themselves."""

TENSOR_LIKE = [
    "class TensorLike(Protocol):",
    '    """Anything with DLPack, such as arrays of NumPy and tensors of torch."""',
    "",
    "    def __dlpack__(self, *, stream: Any = ...) -> Any: ...",
    "    def __dlpack_device__(self) -> Any: ...",
]


class ModuleSpelling(schema.Spelling):
    """Spells types for a type checker.

    Containers are those of `collections.abc`, which have element types. An argument that is a
    tensor is a ``TensorLike``; a result is ``Any``, because calls return the tensors of the
    framework whose tensors were passed.

    Args:
        classes: The names of the classes that the module has, by the keys of their types.

    Attributes:
        words: The names that hints use, which no member of a class may hide.

    """

    def __init__(self, classes: Mapping[str, str]) -> None:
        self._classes = classes
        self.words = HINT_WORDS.union(classes.values())

    def plain(self, name: str, result: bool) -> str | None:
        if name in self._classes:
            return self._classes[name]
        if name in _TENSORS:
            return "Any" if result else "TensorLike"
        return _PLAIN.get(name) or super().plain(name, result)

    def container(self, name: str, result: bool) -> str | None:
        found = super().container(name, result)
        return None if found is None else "Sequence" if found in _SEQUENCES else "Mapping"

    def other(self, name: str, args: list[str]) -> str:
        return "Any"

    def hint(self, schema: schema.Schema, result: bool) -> str:
        found = super().hint(schema, result)
        # A generic without arguments has Any, which strict checkers want to be written.
        found = re.sub(r"\bSequence(?![\[\w])", "Sequence[Any]", found)
        return re.sub(r"\bMapping(?![\[\w])", "Mapping[Any, Any]", found)


def imports_of(lines: list[str]) -> list[str]:
    """Return the import statements for the names that lines of code use."""
    used = {found[1] for found in _WORD.finditer("\n".join(lines))}
    grouped: dict[str, list[str]] = {}
    plain: dict[bool, list[str]] = {True: [], False: []}
    for name, statement in _IMPORTS.items():
        if name not in used:
            continue
        if statement.startswith("import"):
            plain[name == "ctypes"].append(statement)
        else:
            grouped.setdefault(statement.split()[1], []).append(name)
    froms = [f"from {module} import {', '.join(names)}" for module, names in grouped.items()]
    parts = [[*plain[True], *froms], sorted(plain[False])]
    return [line for part in parts if part for line in (*part, "")]
