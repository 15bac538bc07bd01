"""The data of a page about a library."""

from __future__ import annotations

from typing import Any

from fnabi.calls import schema
from fnabi.calls.library import Library, LibraryFile
from fnabi.html._limits import Kept
from fnabi.html._values import schema_value


def library_data(shown: Library | LibraryFile) -> dict[str, Any]:
    """Return the data; the types of functions are those of a loaded library."""
    kept = Kept()
    file = shown.file if isinstance(shown, Library) else shown
    loaded = shown if isinstance(shown, Library) else None
    names = kept.rows(file.functions, "functions", "fnabi inspect shows them all.")
    described, documented, named = map(frozenset, (file.described, file.documented, file.named))
    functions = []
    for name in names:
        found: dict[str, Any] = {
            "name": kept.text(name),
            "described": name in described,
            "documented": name in documented,
            "named": name in named,
        }
        if loaded is not None:
            found |= _told(loaded, name, kept)
        functions.append(found)
    symbols = kept.rows(file.symbols, "symbols", "fnabi inspect --json has all.")
    return {
        "name": file.soname or "",
        "platform": f"{file.bits}-bit {file.byte_order}-endian {file.format} for {file.machine}",
        "is_shared": file.is_shared,
        "loaded": loaded is not None,
        "functions": functions,
        "needed": kept.texts(file.needed),
        "runpath": file.runpath,
        "required": kept.texts(file.required),
        "optional": kept.texts(file.optional),
        "to_load": file.needs_runtime_to_load,
        "to_call": file.needs_runtime_to_call,
        "error_slot": file.has_error_slot,
        "registers": [
            noun
            for noun, does in (
                ("functions", file.registers_functions),
                ("types", file.registers_types),
            )
            if does
        ],
        "symbols": [[kept.text(each.name), each.kind, each.value] for each in symbols],
        "left_out": kept.all_left_out(),
    }


def _told(loaded: Library, name: str, kept: Kept) -> dict[str, Any]:
    """Return what the library says of a function."""
    function = loaded[name]
    described = function.schema
    types = described if isinstance(described, schema.FunctionSchema) else None
    return {
        "schema": None if described is None else schema_value(described),
        "parameters": function.names and kept.texts(function.names),
        "python": None
        if types is None and function.names is None
        else kept.text(str(schema.signature(described, function.names))),
        "doc": function.__doc__ and kept.text(function.__doc__),
    }
