"""The names of a module in the reference: what programs use first, and as they import it."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

import fnabi

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FIRST = {
    "fnabi.vmfb": "open from_buffer verify scan releases Module Exports Export",
    "fnabi.vmfb.bytecode": "disassemble verify find names Instruction",
    "fnabi.vmfb.program": "of read verify Program Step Dispatch",
    "fnabi.vmfb.costs": "of read weights parameters",
    "fnabi.vmfb.needs": "Needs Target Executable Parameter",
    "fnabi.vmfb.parameters": "read compare",
    "fnabi.compat": "compare compare_signatures compare_folders Comparison Change",
    "fnabi.run.invoke": "Invoker",
    "fnabi.calls.library": "load_module read Library Functions",
    "fnabi.calls.schema": "parse signature parse_type FunctionSchema",
    "fnabi.calls.function": "Function Call",
    "fnabi.calls.reflection": "get_type list_type_keys ObjectType",
    "fnabi.calls.stream": "use_torch_stream use_raw_stream use_tensors",
    "fnabi.calls._map": "Map Dict",
    "fnabi.many.columns": "decode_columns iter_columns encode_columns Columns",
    "fnabi.many.catalog": "Catalog Match Event Updated",
    "fnabi.duckdb": "register attach",
    "fnabi.many.pattern": "parse Pattern",
    "fnabi.types": "Signature Buffer Scalar DType Named Ref List Tuple Dict",
    "fnabi.abi.raw": "parse encode to_string",
    "fnabi.abi.sip": "parse encode to_string flatten unflatten Signature Leaf",
    "fnabi.abi.iree_abi": "parse encode flatten unflatten",
    "fnabi.abi.cconv": "parse encode",
    "fnabi.abi.signature": "SignatureBuilder SignatureParser",
}
"""The names that come first, by module. After them come functions, then classes, by name."""


def key(entry: nodes.Element) -> tuple[int, bool]:
    """Return what the entry of a module is sorted by."""
    signature = entry[0]
    first = FIRST.get(signature["module"], "").split()
    name = signature["fullname"]
    return first.index(name) if name in first else len(first), entry["objtype"] != "function"


def imported_from(module: str, name: str) -> str:
    """Return where programs import a name from: ``fnabi``, or a module that is in ``fnabi``."""
    found = getattr(import_module(module), name)
    if name in fnabi.__all__ and getattr(fnabi, name) is found:
        return "fnabi"
    for part in reversed(module.split(".")):
        if part in fnabi.__all__ and getattr(getattr(fnabi, part), name, None) is found:
            return f"fnabi.{part}"
    return module


def rename(entry: nodes.Element) -> None:
    """Show the name of an entry as programs import it."""
    for signature in entry.findall(addnodes.desc_signature):
        for prefix in signature.findall(addnodes.desc_addname):
            if prefix.astext() == f"{signature['module']}.":
                shown = imported_from(signature["module"], signature["fullname"])
                prefix.clear()
                prefix += nodes.Text(f"{shown}.")


def sort(app: Sphinx, doctree: nodes.document) -> None:
    """Name and sort the entries of each module, with the entries of the index before them."""
    for section in doctree.findall(nodes.section):
        found = [
            (index, entry)
            for index, entry in pairwise(section.children)
            if isinstance(entry, addnodes.desc) and entry["domain"] == "py"
        ]
        for _, entry in found:
            rename(entry)
        places = [section.index(index) for index, _ in found]
        found.sort(key=lambda pair: key(pair[1]))
        for place, pair in zip(places, found, strict=True):
            section[place : place + 2] = pair


def hide(app: Sphinx, name: str, found: type, options: object, bases: list[type]) -> None:
    """Hide the class in C from which a class of the same name is derived."""
    bases[:] = [object if each.__name__ == found.__name__ else each for each in bases]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", sort)
    app.connect("autodoc-process-bases", hide)
    return {"parallel_read_safe": True}
