"""The text and JSON of ``fnabi inspect`` for a shared library."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fnabi.calls import library, reflection, registry
from fnabi.calls._library_file import readable, why_none
from fnabi.calls.function import Function
from fnabi.calls.schema import FunctionSchema
from fnabi.cli._arguments import no_function
from fnabi.cli._screen import Part, Screen, counted, name_width, one_line, plain, signature
from fnabi.cli._streams import print_json
from fnabi.cli._values import fields

_LIBRARY_SCHEMA = "fnabi.inspect.library/1"
_ONLY_MODULES = (
    *("imports", "needs", "rodata", "debug"),
    *("disassemble", "inputs", "extract", "lenient"),
)


def check_library(arguments: argparse.Namespace, is_stream: bool) -> None:
    """End the command where an option does not fit a library, or one from standard input."""
    for option in _ONLY_MODULES:
        if getattr(arguments, option):
            arguments.usage(f"--{option} is only allowed for .vmfb modules, not for libraries")
    for option, given in (("metadata", arguments.metadata), ("run", arguments.run_library)):
        if given and is_stream:
            arguments.usage(
                f"--{option} is not allowed with standard input: loading a library needs a file"
            )


def inspect_library(arguments: argparse.Namespace, source: str | bytes) -> int:
    found = library.read(source)
    names: Sequence[str] = found.functions
    if arguments.function is not None:
        names = [name for name in names if name == arguments.function]
        if not names:
            return no_function(arguments, found.functions, "TVM-FFI function")
    loaded = None
    registered = None
    if isinstance(source, str):
        if arguments.run_library:
            registered = _run(source, found)
        if arguments.metadata:
            loaded = library.load_module(source)
    if arguments.json:
        print_json(_library_json(found, names, loaded, registered), indent=2)
        return 0
    screen = Screen()
    if arguments.function is None:
        _show_library_head(screen, found, registered is not None)
        screen.write(counted(len(names), "TVM-FFI function"))
        if not names:
            screen.write("  ", why_none(found), hang=2)
    width = name_width(map(one_line, names))
    kinds = {"metadata": {*found.described}, "doc": {*found.documented}}
    for name in names:
        about = ", ".join(kind for kind, of in kinds.items() if name in of)
        shown: Part = (f"[{about}]" if about else "", "about")
        if loaded is not None:
            text = _typed(loaded[name])
            shown = "" if text is None else signature(text)
        screen.write("  ", (one_line(name).ljust(width), "name"), "  ", shown, hang=6)
        if loaded is not None and (doc := loaded[name].__doc__):
            for line in plain(doc).splitlines():
                screen.write("      ", line)
    if registered is not None:
        _show_registered(screen, registered)
    return 0


class _Registered(NamedTuple):
    """Return the names registered while a library and its dependencies were loaded."""

    functions: list[str]
    types: list[str]


def _run(path: str, found: library.LibraryFile) -> _Registered:
    if found.needs_runtime_to_call or found.optional:
        library.load_runtime()  # or else all that it registers itself would be counted
    functions = set(registry.list_global_func_names())
    types = set(reflection.list_type_keys())
    library.load_module(path)
    return _Registered(
        [name for name in registry.list_global_func_names() if name not in functions],
        [key for key in reflection.list_type_keys() if key not in types],
    )


def _typed(function: Function) -> str | None:
    """Return the parameters of a function, with what is known of their names and types."""
    schema, names = function.schema, function.names
    types = schema.params if isinstance(schema, FunctionSchema) else None
    if names is None or (types is not None and len(types) != len(names)):
        return None if schema is None else str(schema)
    pairs: Iterable[str] = names
    if types is not None:
        pairs = (f"{name}: {type}" for name, type in zip(names, types, strict=True))
    result = f" -> {schema.result}" if isinstance(schema, FunctionSchema) else ""
    return f"({', '.join(pairs)}){result}"


def _signature(name: str) -> str | None:
    function = registry.get_global_func(name, allow_missing=True)
    return None if function is None else _typed(function)


def _show_registered(screen: Screen, registered: _Registered) -> None:
    functions, types = registered
    screen.write("registered ", counted(len(functions), "function"), " by name")
    width = name_width(map(one_line, functions))
    for name in functions:
        shown = signature(_signature(name) or "")
        screen.write("  ", (one_line(name).ljust(width), "name"), "  ", shown, hang=6)
    screen.write("registered ", counted(len(types), "type"))
    for key in types:
        found = reflection.get_type(key)
        screen.write("  ", (one_line(key), "name"))
        for field in found.fields.values():
            screen.write("      ", signature(f"{field.name}: {field.schema or 'Any'}"))
        for method in found.methods.values():
            screen.write("      ", signature(f"{method.name}{method.schema or '(...)'}"))


def _show_library_head(screen: Screen, found: library.LibraryFile, run: bool) -> None:
    order = f"{found.bits}-bit {found.byte_order}-endian {found.format}"
    name = f" {one_line(found.soname)}" if found.soname else ""
    kind = "library" if found.is_shared else "not a shared library"
    screen.write(kind, (name, "name"), f", {order} for {found.machine}")
    if found.needed:
        screen.write("linked with ", ", ".join(map(one_line, found.needed)))
    if found.runpath is not None:
        screen.write("run path ", one_line(found.runpath))
    need, style = _runtime_need(found)
    screen.write("libtvm_ffi ", (need, style))
    for label, names in (
        ("requires", found.required),
        ("may use", found.optional),
        ("calls by variables", found.variables),
    ):
        if names:
            shown = dict.fromkeys(map(readable, names))
            screen.write(f"  {label} ", ", ".join(map(one_line, shown)))
    if found.provided:
        called = {name.removeprefix("__") for name in found.variables}
        lacking = {*found.required, *found.optional} | called > {*found.provided}
        functions = ", ".join(found.provided) if lacking else "all of these"
        screen.write(f"  fnabi provides {functions} where libtvm_ffi is not installed")
    if found.registers_functions or found.registers_types:
        what = [
            noun
            for noun, does in (
                ("functions", found.registers_functions),
                ("types", found.registers_types),
            )
            if does
        ]
        hint = "" if run else "; --run lists them"
        screen.write(f"registers {' and '.join(what)} by name when it is loaded{hint}")
    if found.has_error_slot:
        screen.write("errors are kept in its own slot where libtvm_ffi is not loaded")


def _runtime_need(found: library.LibraryFile) -> tuple[str, str]:
    if {*found.required} <= {*found.provided}:
        used = found.provided or found.optional
        return ("is used where it is installed" if used else "is not needed"), "good"
    if found.is_linked_with_runtime:
        return "is linked: the library cannot be loaded without it", "notice"
    if found.needs_runtime_to_load:
        return "is needed when the library is loaded", "notice"
    return "must be loaded before a function is called", "notice"


def _library_json(
    found: library.LibraryFile,
    names: Sequence[str],
    loaded: library.Library | None,
    registered: _Registered | None,
) -> dict[str, Any]:
    described, documented = {*found.described}, {*found.documented}

    def told(name: str) -> dict[str, Any]:
        if loaded is None:
            return {}
        function = loaded[name]
        return {"signature": _typed(function), "text": function.__doc__}

    return {
        "schema": _LIBRARY_SCHEMA,
        "format": found.format.lower(),
        "bits": found.bits,
        "byte_order": found.byte_order,
        "machine": found.machine,
        "is_shared": found.is_shared,
        "soname": found.soname,
        "runpath": found.runpath,
        "needed": list(found.needed),
        "bind_now": found.bind_now,
        "functions": [
            {"name": name, "metadata": name in described, "doc": name in documented, **told(name)}
            for name in names
        ],
        "symbols": [fields(symbol) for symbol in found.symbols],
        "libtvm_ffi": {
            "needed_to_load": found.needs_runtime_to_load,
            "needed_to_call": found.needs_runtime_to_call,
            "required": list(found.required),
            "optional": list(found.optional),
            "variables": list(found.variables),
            "provided": list(found.provided),
        },
        "error_slot": found.has_error_slot,
        "registers": {"functions": found.registers_functions, "types": found.registers_types},
        "registered": None
        if registered is None
        else {
            "functions": [
                {"name": name, "signature": _signature(name)} for name in registered.functions
            ],
            "types": [_type_json(key) for key in registered.types],
        },
    }


def _type_json(key: str) -> dict[str, Any]:
    found = reflection.get_type(key)
    return {
        "key": key,
        "bases": [base.type_key for base in found.ancestors],
        "fields": [
            {"name": field.name, "type": str(field.schema or "Any"), "writable": field.writable}
            for field in found.fields.values()
        ],
        "methods": [
            {
                "name": method.name,
                "signature": None if method.schema is None else str(method.schema),
                "static": method.static,
            }
            for method in found.methods.values()
        ],
    }
