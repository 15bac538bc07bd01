"""Generate code that calls the functions of a library or a module.

`library.exported` and `library.registered` write a typed Python module for a library of TVM-FFI's
C ABI. For a compiled module (``.vmfb``), `FORMATS` has a generator for each target: a Python
client, JSON Schema, OpenAPI, a C header, and command lines of ``iree-run-module``::

    >>> from fnabi import stub, vmfb
    >>> written = stub.FORMATS["python"](vmfb.open("model.vmfb"), "model.vmfb", only=["main"])
    >>> print(written.text)

Names may be any text: code has identifiers made of them, and texts have them escaped. Nothing is
left out silently: what a target cannot express is a comment in the text, and in `Stub.notices`.
"""

from __future__ import annotations

from collections.abc import Callable

from fnabi.stub._c_header import c_header
from fnabi.stub._client import client
from fnabi.stub._code import Stub
from fnabi.stub._json_schema import json_schema
from fnabi.stub._openapi import openapi
from fnabi.stub._runner import command_lines

__all__ = ["FORMATS", "Stub"]

FORMATS: dict[str, Callable[..., Stub]] = {
    "python": client,
    "json-schema": json_schema,
    "openapi": openapi,
    "c-header": c_header,
    "iree-run-module": command_lines,
}
"""The generators for compiled modules.

Each accepts a module and the path of its file, and as `only` the names of functions.
"""
