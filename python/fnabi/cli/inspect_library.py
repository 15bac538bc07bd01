"""The text and JSON of ``fnabi inspect`` for a shared library."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from fnabi import library
from fnabi.cli.arguments import no_function
from fnabi.cli.screen import Screen, counted, name_width, one_line, plain
from fnabi.cli.values import fields

_LIBRARY_SCHEMA = "fnabi.inspect.library/1"


def inspect_library(arguments: argparse.Namespace, source: str | bytes) -> int:
    for section in ("imports", "needs", "rodata", "debug", "lenient"):
        if getattr(arguments, section):
            arguments.usage(f"--{section} is only allowed for .vmfb modules, not for libraries")
    if arguments.metadata and isinstance(source, bytes):
        arguments.usage(
            "--metadata is not allowed with standard input: loading a library needs a file"
        )
    found = library.read(source)
    names: Sequence[str] = found.functions
    if arguments.function is not None:
        names = [name for name in names if name == arguments.function]
        if not names:
            return no_function(arguments)
    loaded = None
    if arguments.metadata and isinstance(source, str):
        loaded = library.load_module(source)
    if arguments.json:
        print(json.dumps(_library_json(found, names, loaded), indent=2))
        return 0
    screen = Screen()
    if arguments.function is None:
        _show_library_head(screen, found)
        screen.write(counted(len(names), "function"))
    width = name_width(map(one_line, names))
    kinds = {"metadata": {*found.described}, "doc": {*found.documented}}
    for name in names:
        about = ", ".join(kind for kind, of in kinds.items() if name in of)
        shown = f"[{about}]" if about else ""
        if loaded is not None:
            function = loaded[name]
            shown = "" if function.schema is None else one_line(str(function.schema))
        screen.write("  ", (one_line(name).ljust(width), "bold"), "  ", (shown, "dim"))
        if loaded is not None and (doc := loaded[name].__doc__):
            for line in plain(doc).splitlines():
                screen.write("      ", line)
    return 0


def _show_library_head(screen: Screen, found: library.LibraryFile) -> None:
    order = f"{found.bits}-bit {found.byte_order}-endian ELF"
    name = f" {one_line(found.soname)}" if found.soname else ""
    kind = "library" if found.is_shared else "not a shared library"
    screen.write(kind, (name, "bold"), f", {order} for {found.machine}")
    if found.needed:
        screen.write("linked with ", ", ".join(map(one_line, found.needed)))
    if found.runpath is not None:
        screen.write("run path ", one_line(found.runpath))
    need, style = _runtime_need(found)
    screen.write("libtvm_ffi ", (need, style))
    for label, names in (("requires", found.required), ("may use", found.optional)):
        if names:
            screen.write(f"  {label} ", ", ".join(map(one_line, names)))
    if found.has_error_slot:
        screen.write("errors are kept in its own slot where libtvm_ffi is not loaded")


def _runtime_need(found: library.LibraryFile) -> tuple[str, str]:
    if found.needs_runtime_to_load:
        if found.is_linked_with_runtime:
            return "is linked: the library cannot be loaded without it", "yellow"
        return "is needed when the library is loaded", "yellow"
    if found.needs_runtime_to_call:
        return "must be loaded before a function is called", "yellow"
    return ("is used where it is loaded" if found.optional else "is not needed"), "green"


def _library_json(
    found: library.LibraryFile, names: Sequence[str], loaded: library.Library | None
) -> dict[str, Any]:
    described, documented = {*found.described}, {*found.documented}

    def told(name: str) -> dict[str, Any]:
        if loaded is None:
            return {}
        function = loaded[name]
        signature = None if function.schema is None else str(function.schema)
        return {"signature": signature, "text": function.__doc__}

    return {
        "schema": _LIBRARY_SCHEMA,
        "format": "elf",
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
        },
        "error_slot": found.has_error_slot,
    }
