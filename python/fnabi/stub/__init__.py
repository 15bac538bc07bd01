"""Generate code that calls the functions of a library or a module.

`library.exported` and `library.registered` write a typed Python module for a library of TVM-FFI's
C ABI. For a compiled module (``.vmfb``), `FORMATS` has a generator for each target: a Python
client, JSON Schema, a C header, and command lines of ``iree-run-module``::

    >>> from fnabi import stub, vmfb
    >>> written = stub.FORMATS["python"](vmfb.open("model.vmfb"), "model.vmfb", only=["main"])
    >>> print(written.text)

Names may be any text: code has identifiers made of them, and texts have them escaped. Nothing is
left out silently: what a target cannot express is a comment in the text, and in `Stub.notices`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from fnabi._base.arguments import check_items, check_type
from fnabi._base.files import path_text
from fnabi._base.url import public
from fnabi.stub._c_header import c_header
from fnabi.stub._client import OWN, client
from fnabi.stub._code import Stub
from fnabi.stub._interface import Interface, read
from fnabi.stub._json_schema import json_schema
from fnabi.stub._runner import command_lines
from fnabi.vmfb import Module
from fnabi.vmfb.example import DIM

__all__ = ["FORMATS", "Generator", "Stub"]


class Generator(Protocol):
    """A function of `FORMATS`, which generates the code for a compiled module."""

    def __call__(
        self,
        module: Module,
        path: str,
        *,
        output: str | None = None,
        only: Collection[str] | None = None,
        dim: int = DIM,
    ) -> Stub:
        """Generate code.

        Args:
            module: The module.
            path: The path of its file.
            output: The path of the generated file, to which a Python client finds its module
                relative.
            only: The names of the functions to generate for, all without it.
            dim: The size of each dynamic dim in command lines.

        Raises:
            NotFoundError: when the module has no function of a name in `only`.
            CallError: when an argument has another type, or the module is closed.
            FormatError: when an export refers to a function that the module does not have.

        """


def __dir__() -> list[str]:
    return __all__


_HERE = "stub.FORMATS"


def _generator(
    write: Callable[[Interface, str | None, int], Stub], reserved: frozenset[str] = frozenset()
) -> Generator:
    def generate(
        module: Module,
        path: str,
        *,
        output: str | None = None,
        only: Collection[str] | None = None,
        dim: int = DIM,
    ) -> Stub:
        check_type(f"{_HERE}: module", module, Module)
        path = public(path_text(f"{_HERE}: path", path))
        output = None if output is None else path_text(f"{_HERE}: output", output)
        names = None if only is None else check_items(f"{_HERE}: only", only, str)
        return write(read(module, path, names, reserved), output, dim)

    return generate


FORMATS: dict[str, Generator] = {
    "python": _generator(lambda found, output, _: client(found, output), OWN),
    "json-schema": _generator(lambda found, *_: json_schema(found)),
    "c-header": _generator(lambda found, *_: c_header(found)),
    "iree-run-module": _generator(lambda found, _, dim: command_lines(found, dim)),
}
"""The generators for compiled modules, by the target."""
