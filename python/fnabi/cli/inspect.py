"""``fnabi inspect`` of a compiled module."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from enum import IntFlag
from functools import partial
from typing import Any, TypeAlias

from fnabi import (
    cconv,
    debug,
    declaration,
    library,
    releases,
    vmfb,
)
from fnabi.cli.arguments import Verbs, add_lenient, no_function, open_module, start_of
from fnabi.cli.inspect_inputs import add_inputs, print_inputs
from fnabi.cli.inspect_library import inspect_library
from fnabi.cli.inspect_rodata import add_extract, extract_rodata, rodata_json, show_rodata
from fnabi.cli.screen import Screen, counted, name_width, one_line, plain
from fnabi.cli.values import error_json, fields, json_value
from fnabi.cli.verify import finding_text
from fnabi.errors import FormatError
from fnabi.types import _NUMPY_OWN, Buffer, DType, Named, Scalar, Signature, Type

_INSPECT_SCHEMA = "fnabi.inspect/1"


def add_inspect(verbs: Verbs) -> argparse.ArgumentParser:
    inspect = verbs.add_parser("inspect", help="show the functions of a compiled module or library")
    inspect.add_argument(
        "file",
        metavar="FILE",
        help="a .vmfb module, or a shared library, of which nothing is run unless --metadata is"
        " given; - for standard input",
    )
    inspect.add_argument("--function", metavar="NAME", help="show all about one function")
    for section, what in (
        ("imports", "the functions that it takes from other modules"),
        ("rodata", "its segments of read-only data"),
        ("debug", "where in the sources its functions come from"),
    ):
        inspect.add_argument(f"--{section}", action="store_true", help=f"show {what}")
    inspect.add_argument(
        "--metadata",
        action="store_true",
        help="load a library, and show what it says of its functions: its own code runs",
    )
    add_inputs(inspect)
    add_extract(inspect)
    add_lenient(inspect)
    inspect.set_defaults(run=_inspect, usage=inspect.error)
    return inspect


def _inspect(arguments: argparse.Namespace) -> int:
    data = sys.stdin.buffer.read() if arguments.file == "-" else None
    if library.looks_like_one(start_of(arguments.file) if data is None else data[:16]):
        return inspect_library(arguments, arguments.file if data is None else data)
    if arguments.metadata:
        arguments.usage("--metadata is for libraries, not for .vmfb modules")
    module = open_module(arguments.file, arguments.lenient, data)
    if arguments.extract is not None:
        return extract_rodata(arguments, module)
    exports: Sequence[vmfb.Export] = module.exports
    name = arguments.function
    if name is not None:
        exports = [export for export in exports if export.name == name]
        if not exports:
            return no_function(arguments)
    if arguments.inputs:
        if name is None:
            arguments.usage("--inputs needs --function")
        return print_inputs(arguments, exports[0])
    found = [(export, _texts(export)) for export in exports]
    if arguments.json:
        print(json.dumps(_module_json(module, found), indent=2))
    else:
        screen = Screen()
        if name is None:
            _show_head(screen, module)
            _show_functions(screen, found)
        for export, texts in found if name is not None else ():
            _show_function(screen, module, export, texts)
        if arguments.imports:
            _show_imports(screen, module)
        if arguments.rodata:
            show_rodata(screen, module)
        if arguments.debug:
            _show_debug(screen, module, name)
    return 1 if any(_is_bad(export, texts) for export, texts in found) else 0


_Texts: TypeAlias = dict[str, Any]
"""What the texts of a function say, by their sources: a value, or a FormatError."""


def _texts(export: vmfb.Export) -> _Texts:
    """What each text of a function says; the best one first."""
    readers: dict[str, Callable[[], Any]] = {
        "iree.abi.declaration": lambda: export.declaration,
        "f": lambda: export.raw,
        "sip": lambda: export.sip,
        "cconv": lambda: cconv.parse(export.calling_convention.encode("utf-8", "surrogateescape")),
    }
    if "iree.abi" in export.attrs:
        readers = {"iree.abi": partial(_iree_abi, export)} | readers
    found: _Texts = {}
    for source, read in readers.items():
        try:
            value = read()
        except FormatError as problem:
            value = problem
        if value is not None:
            found[source] = value
    return found


def _iree_abi(export: vmfb.Export) -> Signature | None:
    """What ``iree.abi`` says; where it counts for nothing, as when it is empty, None."""
    problem = export.problem
    if problem is not None and re.match(r'exports\[\d+\]\.attrs\["iree\.abi"\]', problem.path):
        raise problem
    return export.signature if _source(export) == "iree.abi" else None


def _source(export: vmfb.Export) -> str | None:
    """Where the signature comes from, None where that text cannot be read."""
    try:
        return export.source
    except FormatError:
        return None


def _is_bad(export: vmfb.Export, texts: _Texts) -> bool:
    """Whether a text cannot be read; only a declaration may be any text."""
    return _source(export) is None or any(
        isinstance(value, FormatError) and source != "iree.abi.declaration"
        for source, value in texts.items()
    )


def _flags(flags: IntFlag) -> list[str]:
    """The names of flags; bits without one as a number."""
    rest = int(flags)
    names = []
    for flag in type(flags):
        if flag in flags:
            names.append(str(flag.name))
            rest &= ~int(flag)
    return names + ([hex(rest)] if rest else [])


def _show_head(screen: Screen, module: vmfb.Module) -> None:
    major, minor = module.bytecode_version
    screen.write(
        "module ",
        (one_line(module.name), "bold"),
        f", version {module.version}, bytecode {major}.{minor}",
    )
    screen.write("loads in ", releases.loaded_by(module.bytecode_version))
    if module.requirements:
        screen.write("requires ", ", ".join(_flags(module.requirements)))
    for dependency in module.dependencies:
        flags = _flags(dependency.flags)
        optional = "" if flags == ["REQUIRED"] else f", {', '.join(flags).lower() or 'no flags'}"
        version = f"version {dependency.minimum_version} or newer"
        screen.write(f"depends on {one_line(dependency.name)}, {version}{optional}")
    sizes = [f"{module.layout.file_size} bytes"]
    sizes.append(f"{len(module.bytecode)} of bytecode")
    if module.rodata:
        size = sum(segment.size for segment in module.rodata)
        sizes.append(f"{size} in {counted(len(module.rodata), 'read-only segment')}")
    if module.rwdata:
        size = sum(segment.byte_size for segment in module.rwdata)
        sizes.append(f"{size} wanted in {counted(len(module.rwdata), 'zeroed segment')}")
    screen.write("size ", ", ".join(sizes))
    state = module.state
    if state is not None and (state.global_bytes_capacity or state.global_ref_count):
        references = counted(state.global_ref_count, "reference")
        screen.write(f"state {state.global_bytes_capacity} bytes, {references}")
    for key, value in module.attrs.pairs:
        screen.write("attribute ", (one_line(key), "cyan"), f" = {one_line(value)}")
    for finding in module.skipped:
        screen.write(("skipped ", "yellow"), finding_text(finding))


def _show_functions(screen: Screen, found: list[tuple[vmfb.Export, _Texts]]) -> None:
    screen.write(counted(len(found), "function"))
    width = name_width(one_line(export.name) for export, _ in found)
    for export, texts in found:
        source = _source(export)
        name = one_line(export.name)
        padding = " " * (width - len(name))
        if source is None:
            screen.write("  ", (name, "bold"), padding, "  ", ("?", "red"))
        else:
            about = f"[{source}{', async' if export.is_async else ''}]"
            signature = one_line(str(export.signature))
            screen.write("  ", (name, "bold"), padding, "  ", signature, "  ", (about, "dim"))
        _show_more(screen, export, texts)


def _show_more(screen: Screen, export: vmfb.Export, texts: _Texts) -> None:
    """What is worth a line besides a function's signature."""
    indent = " " * 6
    source = _source(export)
    if source is None:
        screen.block(indent, "error", plain(str(export.problem)), "red")
        if not isinstance(texts.get("cconv"), FormatError):
            screen.block(indent, "cconv", one_line(export.calling_convention))
    elif export.problem is not None:
        screen.block(indent, "notice", plain(f"passed over: {export.problem}"), "yellow")
    if source not in (None, "f") and "f" in texts:
        value = texts["f"]
        if isinstance(value, FormatError):
            screen.block(indent, "f", plain(str(value)), "red")
        elif _nameless(value) != _nameless(export.signature):
            screen.block(indent, "f", one_line(str(value)))
    if "sip" in texts:
        value = texts["sip"]
        if isinstance(value, FormatError):
            screen.block(indent, "sip", plain(str(value)), "red")
        else:
            screen.block(indent, "sip", one_line(str(value)))
    if export.result_allocator is not None:
        screen.block(indent, "fbr", one_line(export.result_allocator))
    if isinstance(texts["cconv"], FormatError) and source is not None:
        screen.block(indent, "cconv", plain(str(texts["cconv"])), "red")
    for text in export.disagreements:
        screen.block(indent, "notice", one_line(text), "yellow")
    if export.doubt is not None:
        text = f"the declaration may have another reading: {export.doubt}"
        screen.block(indent, "doubt", text, "yellow")


def _nameless(signature: Signature) -> tuple[tuple[Type, ...], ...]:
    return tuple(
        tuple(type.type if isinstance(type, Named) else type for type in side)
        for side in (signature.inputs, signature.results)
    )


def _show_function(screen: Screen, module: vmfb.Module, export: vmfb.Export, texts: _Texts) -> None:
    """All about a function."""
    screen.write("function ", (one_line(export.name), "bold"), f", ordinal {export.ordinal}")
    place = _place(module, export.name)
    if place is not None:
        screen.write(f"  from {one_line(str(place.file or place))}")
    source = _source(export)
    if source is None:
        screen.write("  signature ", ("?", "red"))
        screen.block("    ", "error", plain(str(export.problem)), "red")
    else:
        about = f"[{source}{', async' if export.is_async else ''}]"
        screen.write("  signature ", (about, "dim"))
        spoken = texts.get(source) if source == "iree.abi.declaration" else None
        sides = ("inputs", "results")
        rows = [_row(side, i, export, spoken) for side in sides for i in _places(export, side)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
        for name, type, dtype, attributes in rows:
            screen.write(
                "    ",
                (f"{name:{widths[0]}}  ", "bold"),
                f"{type:{widths[1]}}  ",
                (f"{dtype:{widths[2]}}  ", "dim"),
                attributes,
            )
        if export.problem is not None:
            screen.block("    ", "notice", plain(f"passed over: {export.problem}"), "yellow")
        for text in export.disagreements:
            screen.block("    ", "notice", one_line(text), "yellow")
        if export.doubt is not None:
            text = f"the declaration may have another reading: {export.doubt}"
            screen.block("    ", "doubt", text, "yellow")
    _show_convention(screen, export, texts["cconv"])
    if export.attrs:
        screen.write("  attributes")
    for key, value in export.attrs.pairs:
        screen.write("    ", (one_line(key), "cyan"), f" = {one_line(value)}")
        read = texts.get("sip" if key == "abi" else key)
        if isinstance(read, FormatError):
            for line in plain(str(read)).split("\n"):
                screen.write("      ", (line, "red"))
        elif read is not None:
            screen.write("      ", (one_line(str(read)), "dim"))
    if 0 <= export.ordinal < len(module.functions):
        function = module.functions[export.ordinal]
        screen.write(
            f"  bytecode {function.bytecode_length} bytes at {function.bytecode_offset},"
            f" {counted(function.block_count, 'block')}"
        )
        numbers = counted(function.i32_register_count, "32-bit register")
        references = counted(function.ref_register_count, "reference register")
        screen.write(f"  uses {numbers}, {references}")
        if function.requirements:
            screen.write(f"  requires {', '.join(_flags(function.requirements))}")


def _places(export: vmfb.Export, side: str) -> range:
    return range(len(getattr(export.signature, side)))


def _row(side: str, index: int, export: vmfb.Export, spoken: Any) -> tuple[str, str, str, str]:
    """An argument or result: its name, type, NumPy's dtype, and attributes."""
    type = getattr(export.signature, side)[index]
    name = f"{side}[{index}]"
    if isinstance(type, Named):
        name, type = f"{name} {one_line(type.name)}", type.type
    dtype = ""
    if isinstance(type, (Buffer, Scalar)) and _source(export) != "cconv":  # a register is no dtype
        dtype = _numpy_name(type.dtype)
    attributes = ""
    if isinstance(spoken, declaration.Declaration):
        value = getattr(spoken, side)[index]
        attributes = ", ".join(f"{key} = {text}" for key, text in value.attributes)
    return name, one_line(str(type)), dtype, one_line(attributes)


_ML_DTYPES = re.compile(
    r"bfloat16|u?int[24]|float8_(e3m4|e4m3|e4m3b11fnuz|e4m3fn|e4m3fnuz|e5m2|e5m2fnuz|e8m0fnu)"
    r"|float6_(e2m3fn|e3m2fn)|float4_e2m1fn"
)


def _numpy_name(dtype: DType) -> str:
    """What arrays of these elements have as their dtype, whether it is installed or not."""
    name = f"int{dtype.bits}" if dtype.kind == "signless" else str(dtype)
    if _NUMPY_OWN.fullmatch(name):
        return f"numpy.{name}"
    return f"ml_dtypes.{name}" if _ML_DTYPES.fullmatch(name) else ""


def _show_convention(screen: Screen, export: vmfb.Export, convention: Any) -> None:
    screen.write(f"  calling convention {one_line(export.calling_convention)}")
    if isinstance(convention, FormatError):
        for line in plain(str(convention)).split("\n"):
            screen.write("    ", (line, "red"))
        return
    screen.write(f"    {convention}")
    spans = _spans(convention)
    empty = " and more for each element of a span" if spans else ""
    arguments = convention.argument_size([0] * spans)
    results = convention.result_size()
    screen.write(f"    arguments in {arguments} bytes{empty}, results in {results} bytes")
    if export.is_async:
        screen.write("    async: the last two arguments are fences, to wait for and to signal")


def _spans(convention: cconv.CallingConvention) -> int:
    return sum(isinstance(argument, cconv.Span) for argument in convention.arguments)


def _show_imports(screen: Screen, module: vmfb.Module) -> None:
    screen.write(counted(len(module.imports), "import"))
    width = name_width(one_line(each.full_name) for each in module.imports)
    for each in module.imports:
        flags = _flags(each.flags)
        about = "" if flags in (["REQUIRED"], []) else f", {', '.join(flags).lower()}"
        name = one_line(each.full_name)
        try:
            text = str(cconv.parse(each.calling_convention.encode("utf-8", "surrogateescape")))
        except FormatError as problem:
            text = one_line(str(problem).partition("\n")[0])
        convention = f"[{one_line(each.calling_convention)}{about}]"
        padding = " " * (width - len(name))
        screen.write("  ", (name, "bold"), padding, f"  {text}  ", (convention, "dim"))
        for key, value in each.attrs.pairs:
            screen.write("      ", (one_line(key), "cyan"), f" = {one_line(value)}")


def _show_debug(screen: Screen, module: vmfb.Module, function: str | None) -> None:
    database = module.debug
    if database is None:
        screen.write("no debug database")
        return
    maps = [each for each in database.functions if function in (None, each.local_name)]
    locations = counted(len(database.locations), "location")
    screen.write(f"debug database, {locations}, {counted(len(maps), 'function')}")
    for each in maps:
        operations = counted(len(each.locations), "operation")
        place = _place(module, each.local_name)
        where = "" if place is None else f"from {one_line(str(place.file or place))}"
        screen.write("  ", (one_line(each.local_name), "bold"), f"  {operations}  {where}")
        for operation in each.locations if function is not None else ():
            text = one_line(str(database.resolve(operation.location)))
            screen.write(f"    {operation.bytecode_offset:6}  {text}")


def _place(module: vmfb.Module, function: str) -> debug.Place | None:
    """Where in the sources a function begins."""
    maps = () if module.debug is None else module.debug.source_maps.get(function, ())
    first = [operation for each in maps for operation in each.locations]
    if module.debug is None or not first:
        return None
    place = module.debug.resolve(min(first, key=lambda each: each.bytecode_offset).location)
    return None if isinstance(place.location, debug.Unknown) else place


def _module_json(module: vmfb.Module, found: list[tuple[vmfb.Export, _Texts]]) -> dict[str, Any]:
    return {
        "schema": _INSPECT_SCHEMA,
        "name": module.name,
        "version": module.version,
        "bytecode_version": list(module.bytecode_version),
        "loaded_by": releases.loaded_by(module.bytecode_version),
        "requirements": int(module.requirements),
        "features": _flags(module.requirements),
        "attrs": json_value(module.attrs.pairs),
        "layout": fields(module.layout),
        "bytecode_size": len(module.bytecode),
        "types": list(module.types),
        "dependencies": [
            {
                "name": each.name,
                "minimum_version": each.minimum_version,
                "flags": _flags(each.flags),
            }
            for each in module.dependencies
        ],
        "imports": [
            {
                "full_name": each.full_name,
                "calling_convention": each.calling_convention,
                "flags": _flags(each.flags),
                "attrs": json_value(each.attrs.pairs),
            }
            for each in module.imports
        ],
        "exports": [_export_json(module, export, texts) for export, texts in found],
        "functions": [
            {
                "calling_convention": each.calling_convention,
                "attrs": json_value(each.attrs.pairs),
                "bytecode_offset": each.bytecode_offset,
                "bytecode_length": each.bytecode_length,
                "requirements": int(each.requirements),
                "features": _flags(each.requirements),
                "block_count": each.block_count,
                "i32_register_count": each.i32_register_count,
                "ref_register_count": each.ref_register_count,
            }
            for each in module.functions
        ],
        "rodata": rodata_json(module),
        "rwdata": [fields(each) for each in module.rwdata],
        "state": None if module.state is None else fields(module.state),
        "debug": None if module.debug is None else _debug_json(module.debug),
        "skipped": [fields(finding) for finding in module.skipped],
    }


def _export_json(module: vmfb.Module, export: vmfb.Export, texts: _Texts) -> dict[str, Any]:
    source, problem = _source(export), export.problem
    place = _place(module, export.name)
    sizes = None
    convention = texts["cconv"]
    if not isinstance(convention, FormatError):
        sizes = {
            "arguments": convention.argument_size([0] * _spans(convention)),
            "results": convention.result_size(),
        }
    return {
        "name": export.name,
        "ordinal": export.ordinal,
        "calling_convention": export.calling_convention,
        "buffer_sizes": sizes,
        "attrs": json_value(export.attrs.pairs),
        "result_allocator": export.result_allocator,
        "async": export.is_async,
        "source": source,
        "signature": None if source is None else json_value(export.signature),
        "problem": None if problem is None else error_json(problem),
        "doubt": export.doubt,
        "disagreements": list(export.disagreements),
        "texts": {
            name: {"error": error_json(value)}
            if isinstance(value, FormatError)
            else {"value": json_value(value)}
            for name, value in texts.items()
        },
        "location": None if place is None else str(place),
    }


def _debug_json(database: debug.Database) -> dict[str, Any]:
    return {
        "locations": [json_value(location) for location in database.locations],
        "functions": [
            {
                "local_name": each.local_name,
                "locations": [[o.bytecode_offset, o.location] for o in each.locations],
            }
            for each in database.functions
        ],
    }
