"""The command ``fnabi``: show the function ABIs of ML compilers.

What is shown may come from anywhere, so control characters and the like are escaped.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntFlag
from functools import partial
from typing import Any, TypeAlias

import msgspec

from fnabi import (
    __version__,
    cconv,
    compat,
    debug,
    declaration,
    iree_abi,
    library,
    raw,
    sip,
    vmfb,
)
from fnabi._call import Tensor
from fnabi.errors import FnabiError, FormatError
from fnabi.signature import Component, ComponentType, SignatureParser
from fnabi.types import _NUMPY_OWN, Buffer, DType, Named, Scalar, Signature, Type, load_numpy

_DECODE_SCHEMA = "fnabi.decode/1"
_INSPECT_SCHEMA = "fnabi.inspect/1"
_LIBRARY_SCHEMA = "fnabi.inspect.library/1"
_VERIFY_SCHEMA = "fnabi.verify/1"
_DIFF_SCHEMA = "fnabi.diff/1"
_CALL_SCHEMA = "fnabi.call/1"

_PARSERS: dict[str, Callable[[bytes], Any]] = {
    "raw": raw.parse,
    "sip": sip.parse,
    "cconv": cconv.parse,
    "iree.abi": iree_abi.parse,
    "declaration": declaration.parse,
    "tokens": lambda data: list(SignatureParser(data)),
}


_Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status."""
    parser = argparse.ArgumentParser(
        prog="fnabi",
        description="Show the function ABIs of ML compilers.",
        epilog="Exit status: 0 good, 1 bad input, 2 wrong usage.",
    )
    parser.add_argument("--version", action="version", version=f"fnabi {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    for add in (_add_inspect, _add_verify, _add_diff, _add_decode, _add_call):
        verb = add(verbs)
        verb.add_argument("--json", action="store_true", help="write JSON, with its schema's name")

    arguments = parser.parse_args(argv)
    for stream in (sys.stdout, sys.stderr):  # their encoding may lack characters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status: int = arguments.run(arguments)
        print(end="", flush=True)
    except BrokenPipeError:  # the reader has seen enough
        _drop_output()
        return 1
    except FnabiError as problem:
        file = getattr(arguments, "file", "-")
        _complain("" if file == "-" else f"{file}: ", problem)
        return 1
    except OSError as problem:
        _complain(f"{problem.filename}: " if problem.filename else "", problem.strerror or problem)
        _drop_output()
        return 1
    except KeyboardInterrupt:
        _drop_output()
        return 130
    return status


def _drop_output() -> None:
    """Let the interpreter not fail once more when it ends."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(where: str, problem: object) -> None:
    print(f"fnabi: {_line(where)}{_plain(str(problem))}", file=sys.stderr)


def _plain(text: str) -> str:
    """Text with everything that cannot be printed escaped, but for the ends of lines."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def _line(text: str) -> str:
    """The same on one line."""
    return _plain(text).replace("\n", "\\n")


def _escape(character: str) -> str:
    byte = ord(character) - 0xDC00  # of text that is not UTF-8
    return f"\\x{byte:02x}" if 128 <= byte < 256 else ascii(character)[1:-1]


# --------------------------------------------------------------------------------- decode


def _add_decode(verbs: _Verbs) -> argparse.ArgumentParser:
    decode = verbs.add_parser("decode", help="decode signatures, one a line")
    decode.add_argument(
        "--abi", choices=list(_PARSERS), default="raw", help="how to read them; raw unless given"
    )
    decode.add_argument("text", metavar="TEXT", help="a signature; - for lines of standard input")
    decode.set_defaults(run=_decode)
    return decode


def _decode(arguments: argparse.Namespace) -> int:
    status = 0
    for number, line in _lines(arguments.text):
        try:
            value = _PARSERS[arguments.abi](line)
        except FormatError as problem:
            status = 1
            _complain("" if number is None else f"line {number}: ", problem)
            result: dict[str, Any] = {"error": _error(problem)}
        else:
            result = {"value": _builtins(value)}
            if not arguments.json:
                print(_tokens(value) if isinstance(value, list) else _line(str(value)))
        if arguments.json:
            text = line.decode("utf-8", "surrogateescape")
            head = {"schema": _DECODE_SCHEMA, "abi": arguments.abi, "input": text}
            print(json.dumps(head | result))
    return status


def _lines(text: str) -> Iterator[tuple[int | None, bytes]]:
    """The lines of standard input with their numbers, or the text itself."""
    if text != "-":
        yield None, os.fsencode(text)
        return
    for number, line in enumerate(sys.stdin.buffer, 1):
        yield number, line.removesuffix(b"\n")


def _tokens(components: list[Component]) -> str:
    return " ".join(
        f"{c.tag}{c.ival}"
        if c.type is ComponentType.INTEGER
        else f'{c.tag}"{"".join(map(_character, c.sval))}"'
        for c in components
    )


def _character(byte: int) -> str:
    """A byte between quotes."""
    if chr(byte) in '"\\':
        return "\\" + chr(byte)
    return chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}"


# --------------------------------------------------------------------------------- output

_Part: TypeAlias = str | tuple[str, str]
"""Text, or text and the style that a terminal shows it in."""


class _Screen:
    """Standard output: plain text, or with colours where `rich` is installed.

    The text is the same. Lines are neither wrapped nor cut.
    """

    def __init__(self) -> None:
        self._console: Any = None
        self._text: Any = None
        wanted = os.environ.get("FORCE_COLOR") or sys.stdout.isatty()
        if wanted and not os.environ.get("NO_COLOR"):
            try:
                from rich.console import Console
                from rich.text import Text
            except ImportError:
                return
            self._console = Console(force_terminal=True, highlight=False)
            self._text = Text

    def write(self, *parts: _Part) -> None:
        """Write a line."""
        pairs = [(part, "") if isinstance(part, str) else part for part in parts]
        while pairs and not (last := pairs[-1][0].rstrip()):
            pairs.pop()
        if pairs:
            pairs[-1] = (last, pairs[-1][1])
        if self._console is None:
            print("".join(text for text, _ in pairs))
            return
        with self._console.capture() as shown:
            self._console.print(self._text.assemble(*pairs), soft_wrap=True)
        print(shown.get(), end="")

    def block(self, indent: str, label: str, text: str, style: str = "") -> None:
        """Write a label and a text of one or more lines behind it."""
        for line in text.split("\n"):
            self.write(indent, (f"{label:6} ", "dim"), (line, style))
            label = ""


# -------------------------------------------------------------------------------- inspect


def _add_inspect(verbs: _Verbs) -> argparse.ArgumentParser:
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
    _add_lenient(inspect)
    inspect.set_defaults(run=_inspect, usage=inspect.error)
    return inspect


def _add_lenient(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--lenient",
        action="store_true",
        help="read what compilers up to 3.10 wrote for attributes of empty value, too",
    )


def _open(file: str, lenient: bool, data: bytes | None = None) -> vmfb.Module:
    if file == "-":
        data = sys.stdin.buffer.read() if data is None else data
        return vmfb.from_buffer(data, lenient=lenient)
    try:
        return vmfb.open(file, lenient=lenient)
    except FormatError as problem:
        if not lenient and _opens_leniently(file):
            problem.expected = "an offset inside (--lenient passes over it)"
        raise


def _opens_leniently(file: str) -> bool:
    try:
        vmfb.open(file, lenient=True)
    except (FormatError, OSError):
        return False
    return True


def _inspect(arguments: argparse.Namespace) -> int:
    data = sys.stdin.buffer.read() if arguments.file == "-" else None
    if library.looks_like_one(_start(arguments.file) if data is None else data[:16]):
        return _inspect_library(arguments, arguments.file if data is None else data)
    if arguments.metadata:
        arguments.usage("--metadata is for libraries, not for .vmfb modules")
    module = _open(arguments.file, arguments.lenient, data)
    exports: Sequence[vmfb.Export] = module.exports
    name = arguments.function
    if name is not None:
        exports = [export for export in exports if export.name == name]
        if not exports:
            return _no_function(arguments)
    found = [(export, _texts(export)) for export in exports]
    if arguments.json:
        print(json.dumps(_module_json(module, found), indent=2))
    else:
        screen = _Screen()
        if name is None:
            _show_head(screen, module)
            _show_functions(screen, found)
        for export, texts in found if name is not None else ():
            _show_function(screen, module, export, texts)
        if arguments.imports:
            _show_imports(screen, module)
        if arguments.rodata:
            _show_rodata(screen, module)
        if arguments.debug:
            _show_debug(screen, module, name)
    return 1 if any(_is_bad(export, texts) for export, texts in found) else 0


def _start(file: str) -> bytes:
    """The first bytes of a file; none of what is read only once, such as a pipe."""
    with open(file, "rb", buffering=0) as opened:
        return opened.read(16) or b"" if opened.seekable() else b""


def _no_function(arguments: argparse.Namespace) -> int:
    where = "" if arguments.file == "-" else f"{arguments.file}: "
    _complain(where, f"no function is named {_line(arguments.function)}")
    return 1


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


def _is_async(export: vmfb.Export) -> bool:
    attrs = export.attrs
    return attrs.get("iree.abi.model") == "coarse-fences" or attrs.get(
        "iree.abi.declaration", ""
    ).startswith("async ")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _flags(flags: IntFlag) -> list[str]:
    """The names of flags; bits without one as a number."""
    rest = int(flags)
    names = []
    for flag in type(flags):
        if flag in flags:
            names.append(str(flag.name))
            rest &= ~int(flag)
    return names + ([hex(rest)] if rest else [])


def _show_head(screen: _Screen, module: vmfb.Module) -> None:
    major, minor = module.bytecode_version
    screen.write(
        "module ",
        (_line(module.name), "bold"),
        f", version {module.version}, bytecode {major}.{minor}",
    )
    if module.requirements:
        screen.write("requires ", ", ".join(_flags(module.requirements)))
    for dependency in module.dependencies:
        flags = _flags(dependency.flags)
        optional = "" if flags == ["REQUIRED"] else f", {', '.join(flags).lower() or 'no flags'}"
        version = f"version {dependency.minimum_version} or newer"
        screen.write(f"depends on {_line(dependency.name)}, {version}{optional}")
    sizes = [f"{module.layout.file_size} bytes"]
    sizes.append(f"{len(module.bytecode)} of bytecode")
    if module.rodata:
        size = sum(segment.size for segment in module.rodata)
        sizes.append(f"{size} in {_count(len(module.rodata), 'read-only segment')}")
    if module.rwdata:
        size = sum(segment.byte_size for segment in module.rwdata)
        sizes.append(f"{size} wanted in {_count(len(module.rwdata), 'zeroed segment')}")
    screen.write("size ", ", ".join(sizes))
    state = module.state
    if state is not None and (state.global_bytes_capacity or state.global_ref_count):
        references = _count(state.global_ref_count, "reference")
        screen.write(f"state {state.global_bytes_capacity} bytes, {references}")
    for key, value in module.attrs.pairs:
        screen.write("attribute ", (_line(key), "cyan"), f" = {_line(value)}")
    for finding in module.skipped:
        screen.write(("skipped ", "yellow"), _finding(finding))


_NAME_WIDTH = 40
"""Longer names are not waited for."""


def _show_functions(screen: _Screen, found: list[tuple[vmfb.Export, _Texts]]) -> None:
    screen.write(_count(len(found), "function"))
    width = _width(_line(export.name) for export, _ in found)
    for export, texts in found:
        source = _source(export)
        name = _line(export.name)
        padding = " " * (width - len(name))
        if source is None:
            screen.write("  ", (name, "bold"), padding, "  ", ("?", "red"))
        else:
            about = f"[{source}{', async' if _is_async(export) else ''}]"
            signature = _line(str(export.signature))
            screen.write("  ", (name, "bold"), padding, "  ", signature, "  ", (about, "dim"))
        _show_more(screen, export, texts)


def _width(names: Iterable[str]) -> int:
    return max((len(name) for name in names if len(name) <= _NAME_WIDTH), default=0)


def _show_more(screen: _Screen, export: vmfb.Export, texts: _Texts) -> None:
    """What is worth a line besides a function's signature."""
    indent = " " * 6
    source = _source(export)
    if source is None:
        screen.block(indent, "error", _plain(str(export.problem)), "red")
        if not isinstance(texts.get("cconv"), FormatError):
            screen.block(indent, "cconv", _line(export.calling_convention))
    elif export.problem is not None:
        screen.block(indent, "notice", _plain(f"passed over: {export.problem}"), "yellow")
    if source not in (None, "f") and "f" in texts:
        value = texts["f"]
        if isinstance(value, FormatError):
            screen.block(indent, "f", _plain(str(value)), "red")
        elif _nameless(value) != _nameless(export.signature):
            screen.block(indent, "f", _line(str(value)))
    if "sip" in texts:
        value = texts["sip"]
        if isinstance(value, FormatError):
            screen.block(indent, "sip", _plain(str(value)), "red")
        else:
            screen.block(indent, "sip", _line(str(value)))
    if export.result_allocator is not None:
        screen.block(indent, "fbr", _line(export.result_allocator))
    if isinstance(texts["cconv"], FormatError) and source is not None:
        screen.block(indent, "cconv", _plain(str(texts["cconv"])), "red")
    for text in export.disagreements:
        screen.block(indent, "notice", _line(text), "yellow")
    if export.doubt is not None:
        text = f"the declaration may have another reading: {export.doubt}"
        screen.block(indent, "doubt", text, "yellow")


def _nameless(signature: Signature) -> tuple[tuple[Type, ...], ...]:
    return tuple(
        tuple(type.type if isinstance(type, Named) else type for type in side)
        for side in (signature.inputs, signature.results)
    )


def _show_function(
    screen: _Screen, module: vmfb.Module, export: vmfb.Export, texts: _Texts
) -> None:
    """All about a function."""
    screen.write("function ", (_line(export.name), "bold"), f", ordinal {export.ordinal}")
    place = _place(module, export.name)
    if place is not None:
        screen.write(f"  from {_line(str(place.file or place))}")
    source = _source(export)
    if source is None:
        screen.write("  signature ", ("?", "red"))
        screen.block("    ", "error", _plain(str(export.problem)), "red")
    else:
        about = f"[{source}{', async' if _is_async(export) else ''}]"
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
            screen.block("    ", "notice", _plain(f"passed over: {export.problem}"), "yellow")
        for text in export.disagreements:
            screen.block("    ", "notice", _line(text), "yellow")
        if export.doubt is not None:
            text = f"the declaration may have another reading: {export.doubt}"
            screen.block("    ", "doubt", text, "yellow")
    _show_convention(screen, export, texts["cconv"])
    if export.attrs:
        screen.write("  attributes")
    for key, value in export.attrs.pairs:
        screen.write("    ", (_line(key), "cyan"), f" = {_line(value)}")
        read = texts.get("sip" if key == "abi" else key)
        if isinstance(read, FormatError):
            for line in _plain(str(read)).split("\n"):
                screen.write("      ", (line, "red"))
        elif read is not None:
            screen.write("      ", (_line(str(read)), "dim"))
    if 0 <= export.ordinal < len(module.functions):
        function = module.functions[export.ordinal]
        screen.write(
            f"  bytecode {function.bytecode_length} bytes at {function.bytecode_offset},"
            f" {_count(function.block_count, 'block')}"
        )
        numbers = _count(function.i32_register_count, "32-bit register")
        references = _count(function.ref_register_count, "reference register")
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
        name, type = f"{name} {_line(type.name)}", type.type
    dtype = ""
    if isinstance(type, (Buffer, Scalar)) and _source(export) != "cconv":  # a register is no dtype
        dtype = _numpy_name(type.dtype)
    attributes = ""
    if isinstance(spoken, declaration.Declaration):
        value = getattr(spoken, side)[index]
        attributes = ", ".join(f"{key} = {text}" for key, text in value.attributes)
    return name, _line(str(type)), dtype, _line(attributes)


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


def _show_convention(screen: _Screen, export: vmfb.Export, convention: Any) -> None:
    screen.write(f"  calling convention {_line(export.calling_convention)}")
    if isinstance(convention, FormatError):
        for line in _plain(str(convention)).split("\n"):
            screen.write("    ", (line, "red"))
        return
    screen.write(f"    {convention}")
    spans = _spans(convention)
    empty = " and more for each element of a span" if spans else ""
    arguments = convention.argument_size([0] * spans)
    results = convention.result_size()
    screen.write(f"    arguments in {arguments} bytes{empty}, results in {results} bytes")
    if _is_async(export):
        screen.write("    async: the last two arguments are fences, to wait for and to signal")


def _spans(convention: cconv.CallingConvention) -> int:
    return sum(isinstance(argument, cconv.Span) for argument in convention.arguments)


def _show_imports(screen: _Screen, module: vmfb.Module) -> None:
    screen.write(_count(len(module.imports), "import"))
    width = _width(_line(each.full_name) for each in module.imports)
    for each in module.imports:
        flags = _flags(each.flags)
        about = "" if flags in (["REQUIRED"], []) else f", {', '.join(flags).lower()}"
        name = _line(each.full_name)
        try:
            text = str(cconv.parse(each.calling_convention.encode("utf-8", "surrogateescape")))
        except FormatError as problem:
            text = _line(str(problem).partition("\n")[0])
        convention = f"[{_line(each.calling_convention)}{about}]"
        padding = " " * (width - len(name))
        screen.write("  ", (name, "bold"), padding, f"  {text}  ", (convention, "dim"))
        for key, value in each.attrs.pairs:
            screen.write("      ", (_line(key), "cyan"), f" = {_line(value)}")


def _show_rodata(screen: _Screen, module: vmfb.Module) -> None:
    screen.write(_count(len(module.rodata), "read-only segment"))
    for index, segment in enumerate(module.rodata):
        kind = "external" if segment.external else "embedded"
        try:
            where = f"at byte {segment.offset}"
        except FormatError as problem:
            where = str(problem)
        compression = f", compression {segment.compression}" if segment.compression else ""
        screen.write(f"  {index:4}  {kind}  {segment.size} bytes {where}{compression}")


def _show_debug(screen: _Screen, module: vmfb.Module, function: str | None) -> None:
    database = module.debug
    if database is None:
        screen.write("no debug database")
        return
    maps = [each for each in database.functions if function in (None, each.local_name)]
    locations = _count(len(database.locations), "location")
    screen.write(f"debug database, {locations}, {_count(len(maps), 'function')}")
    for each in maps:
        operations = _count(len(each.locations), "operation")
        place = _place(module, each.local_name)
        where = "" if place is None else f"from {_line(str(place.file or place))}"
        screen.write("  ", (_line(each.local_name), "bold"), f"  {operations}  {where}")
        for operation in each.locations if function is not None else ():
            text = _line(str(database.resolve(operation.location)))
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
        "requirements": int(module.requirements),
        "features": _flags(module.requirements),
        "attrs": _builtins(module.attrs.pairs),
        "layout": _fields(module.layout),
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
                "attrs": _builtins(each.attrs.pairs),
            }
            for each in module.imports
        ],
        "exports": [_export_json(module, export, texts) for export, texts in found],
        "functions": [
            {
                "calling_convention": each.calling_convention,
                "attrs": _builtins(each.attrs.pairs),
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
        "rodata": [_segment_json(segment) for segment in module.rodata],
        "rwdata": [_fields(each) for each in module.rwdata],
        "state": None if module.state is None else _fields(module.state),
        "debug": None if module.debug is None else _debug_json(module.debug),
        "skipped": [_fields(finding) for finding in module.skipped],
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
        "attrs": _builtins(export.attrs.pairs),
        "result_allocator": export.result_allocator,
        "async": _is_async(export),
        "source": source,
        "signature": None if source is None else _builtins(export.signature),
        "problem": None if problem is None else _error(problem),
        "doubt": export.doubt,
        "disagreements": list(export.disagreements),
        "texts": {
            name: {"error": _error(value)}
            if isinstance(value, FormatError)
            else {"value": _builtins(value)}
            for name, value in texts.items()
        },
        "location": None if place is None else str(place),
    }


def _segment_json(segment: vmfb.RodataSegment) -> dict[str, Any]:
    try:
        offset = segment.offset
    except FormatError:  # outside the file
        offset = None
    return {
        "external": segment.external,
        "offset": offset,
        "size": segment.size,
        "compression": segment.compression,
    }


def _debug_json(database: debug.Database) -> dict[str, Any]:
    return {
        "locations": [_builtins(location) for location in database.locations],
        "functions": [
            {
                "local_name": each.local_name,
                "locations": [[o.bytecode_offset, o.location] for o in each.locations],
            }
            for each in database.functions
        ],
    }


def _fields(record: msgspec.Struct) -> dict[str, Any]:
    """A record of numbers and texts as an object."""
    return {name: getattr(record, name) for name in record.__struct_fields__}


# ----------------------------------------------------------------------- inspect a library


def _inspect_library(arguments: argparse.Namespace, source: str | bytes) -> int:
    for section in ("imports", "rodata", "debug", "lenient"):
        if getattr(arguments, section):
            arguments.usage(f"--{section} is for .vmfb modules, not for libraries")
    if arguments.metadata and isinstance(source, bytes):
        arguments.usage("--metadata loads the library, which must be a file")
    found = library.read(source)
    names: Sequence[str] = found.functions
    if arguments.function is not None:
        names = [name for name in names if name == arguments.function]
        if not names:
            return _no_function(arguments)
    loaded = None
    if arguments.metadata and isinstance(source, str):
        loaded = library.load_module(source)
    if arguments.json:
        print(json.dumps(_library_json(found, names, loaded), indent=2))
        return 0
    screen = _Screen()
    if arguments.function is None:
        _show_library_head(screen, found)
        screen.write(_count(len(names), "function"))
    width = _width(map(_line, names))
    kinds = {"metadata": {*found.described}, "doc": {*found.documented}}
    for name in names:
        about = ", ".join(kind for kind, of in kinds.items() if name in of)
        shown = f"[{about}]" if about else ""
        if loaded is not None:
            function = loaded[name]
            shown = "" if function.schema is None else _line(str(function.schema))
        screen.write("  ", (_line(name).ljust(width), "bold"), "  ", (shown, "dim"))
        if loaded is not None and (doc := loaded[name].__doc__):
            for line in _plain(doc).splitlines():
                screen.write("      ", line)
    return 0


def _show_library_head(screen: _Screen, found: library.LibraryFile) -> None:
    order = f"{found.bits}-bit {found.byte_order}-endian ELF"
    name = f" {_line(found.soname)}" if found.soname else ""
    kind = "library" if found.is_shared else "not a shared library"
    screen.write(kind, (name, "bold"), f", {order} for {found.machine}")
    if found.needed:
        screen.write("linked with ", ", ".join(map(_line, found.needed)))
    if found.runpath is not None:
        screen.write("run path ", _line(found.runpath))
    need, style = _runtime_need(found)
    screen.write("libtvm_ffi ", (need, style))
    for label, names in (("requires", found.required), ("may use", found.optional)):
        if names:
            screen.write(f"  {label} ", ", ".join(map(_line, names)))
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
        "symbols": [_fields(symbol) for symbol in found.symbols],
        "libtvm_ffi": {
            "needed_to_load": found.needs_runtime_to_load,
            "needed_to_call": found.needs_runtime_to_call,
            "required": list(found.required),
            "optional": list(found.optional),
        },
        "error_slot": found.has_error_slot,
    }


# ----------------------------------------------------------------------------------- call


def _add_call(verbs: _Verbs) -> argparse.ArgumentParser:
    call = verbs.add_parser(
        "call",
        help="call a function of a library",
        epilog='An ARG is JSON (1, 2.5, true, null, "text", [1, 2], {"k": 1}), @FILE.npy for an'
        " array, or else a string as it stands.",
    )
    call.add_argument("file", metavar="LIBRARY", help="a shared library, which is loaded")
    call.add_argument("function", metavar="FUNCTION", help="the function's name")
    call.add_argument("args", metavar="ARG", nargs="*", help="its arguments")
    call.set_defaults(run=_call_function)
    return call


def _call_function(arguments: argparse.Namespace) -> int:
    found = library.load_module(arguments.file)
    if arguments.function not in found:
        return _no_function(arguments)
    function = found[arguments.function]
    function.plain = True
    args = [_argument(text) for text in arguments.args]
    try:
        result = function(*args)
    except FnabiError:
        raise
    except Exception as problem:
        _complain("", f"{arguments.function}: {type(problem).__name__}: {problem}")
        return 1
    if arguments.json:
        answer = {"schema": _CALL_SCHEMA, "function": arguments.function, "result": _value(result)}
        print(json.dumps(answer))
    elif result is not None:
        shown = _array(result) if isinstance(result, Tensor) else result
        print(_plain(shown if isinstance(shown, str) else repr(shown)))
    return 0


def _argument(text: str) -> Any:
    if text.startswith("@"):
        return load_numpy("fnabi call").load(text[1:])
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _array(tensor: Tensor) -> Any:
    try:
        return tensor.numpy()
    except FnabiError:  # on another device, or of a dtype that NumPy lacks
        return tensor


def _value(result: Any) -> Any:
    """A result as JSON has it; what JSON lacks is an object with one key that names it."""
    if isinstance(result, (bytes, bytearray)):
        return {"bytes": result.hex()}
    if isinstance(result, Tensor):
        array = _array(result)
        if array is result:
            return {"object": repr(result)}
        return {"tensor": {"dtype": str(result.dtype), "data": array.tolist()}}
    if isinstance(result, dict):
        if all(isinstance(key, str) for key in result):
            return {"dict": {key: _value(item) for key, item in result.items()}}
        return {"dict": [[_value(key), _value(item)] for key, item in result.items()]}
    if isinstance(result, (list, tuple)):
        return [_value(item) for item in result]
    if result is None or isinstance(result, (bool, int, float, str)):
        return result
    return {"object": str(result)}


# --------------------------------------------------------------------------------- verify


def _add_verify(verbs: _Verbs) -> argparse.ArgumentParser:
    verify = verbs.add_parser("verify", help="look for what is wrong with compiled modules")
    verify.add_argument(
        "files", metavar="FILE", nargs="+", help=".vmfb modules; - for standard input"
    )
    _add_lenient(verify)
    verify.set_defaults(run=_verify)
    return verify


def _verify(arguments: argparse.Namespace) -> int:
    status = 0
    screen = _Screen()
    for file in arguments.files:
        findings: list[vmfb.Finding] = []
        unread = None
        try:
            findings = _findings(file, arguments.lenient)
        except OSError as problem:
            unread = str(problem.strerror or problem)
            _complain(f"{file}: ", unread)
        good = unread is None and all(each.severity == "notice" for each in findings)
        status = status if good else 1
        if arguments.json:
            result = {
                "schema": _VERIFY_SCHEMA,
                "file": file,
                "good": good,
                "unread": unread,
                "findings": [_fields(each) for each in findings],
            }
            print(json.dumps(result))
            continue
        for each in findings:
            style = "red" if each.severity == "error" else "yellow"
            screen.write(f"{_line(file)}: ", (each.severity, style), f": {_finding(each)}")
        if unread is None and not findings:
            screen.write(f"{_line(file)}: ", ("ok", "green"))
    return status


def _finding(finding: vmfb.Finding) -> str:
    return _line(str(finding).removeprefix(f"{finding.severity}: "))


def _findings(file: str, lenient: bool) -> list[vmfb.Finding]:
    """What is wrong with a file; what a lenient reading passes over is no error then."""
    try:
        with _open(file, lenient) as module:
            skipped = module.skipped
            return [
                msgspec.structs.replace(each, severity="notice") if each in skipped else each
                for each in module.check()
            ]
    except FormatError as problem:
        where = problem.offset, problem.path
        return [vmfb.Finding(problem.code, *where, problem.reason, "error")]


# ----------------------------------------------------------------------------------- diff


def _add_diff(verbs: _Verbs) -> argparse.ArgumentParser:
    diff = verbs.add_parser(
        "diff",
        help="tell whether callers of one module are served by another",
        epilog="Exit status: 0 when they are, 1 for a breaking change or bad input, 2 wrong usage.",
    )
    diff.add_argument("old", metavar="OLD", help="the module that callers were made for")
    diff.add_argument(
        "new", metavar="NEW", help="the other one; either may be - for standard input"
    )
    _add_lenient(diff)
    diff.set_defaults(run=_diff, usage=diff.error)
    return diff


def _diff(arguments: argparse.Namespace) -> int:
    if arguments.old == arguments.new == "-":
        arguments.usage("only one of OLD and NEW can be standard input")
    modules = []
    for file in (arguments.old, arguments.new):
        arguments.file = file  # for the message of an error
        modules.append(_open(file, arguments.lenient))
        _ = modules[-1].exports
    found = compat.compare(*modules)
    severities: tuple[compat.Severity, ...] = ("breaking", "widening", "notice")
    counts = {severity: len(found.of(severity)) for severity in severities}
    if arguments.json:
        head = {"schema": _DIFF_SCHEMA, "compatible": found.compatible, "counts": counts}
        changes = [_change_json(change) for change in found.changes]
        print(json.dumps(head | {"changes": changes}, indent=2))
    else:
        for change in found.changes:
            print(_line(str(change)))
        verdict = "compatible" if found.compatible else "incompatible"
        print(f"{verdict}: {', '.join(f'{count} {name}' for name, count in counts.items())}")
    return 0 if found.compatible else 1


def _change_json(change: compat.Change) -> dict[str, Any]:
    return {
        "severity": change.severity,
        "kind": change.kind,
        "function": change.function,
        "path": change.path,
        "old": _side_json(change.old, change.old_text),
        "new": _side_json(change.new, change.new_text),
    }


def _side_json(value: object, text: str) -> dict[str, Any] | None:
    return None if value is None else {"text": text, "value": _builtins(value)}


# ----------------------------------------------------------------------------------- JSON


def _error(error: FormatError) -> dict[str, Any]:
    return {
        "code": error.code,
        "offset": error.offset,
        "path": error.path,
        "reason": error.reason,
        "expected": error.expected,
    }


_PLAIN = (
    Signature,
    sip.Signature,
    cconv.CallingConvention,
    declaration.Declaration,
    declaration.Value,
)
"""Records that stand where nothing else can, so that they need no type."""


def _builtins(value: Any) -> Any:
    """A decoded value as JSON has it: a record as an object that names its type."""
    if isinstance(value, Component):
        sval = value.sval.decode("utf-8", "surrogateescape")
        content = {"ival": value.ival} if value.type is ComponentType.INTEGER else {"sval": sval}
        return {"type": value.type.name.lower(), "tag": value.tag, **content}
    if isinstance(value, DType):
        return str(value)
    if isinstance(value, FormatError):
        return {"type": "error", **_error(value)}
    if isinstance(value, Named):
        return {"type": "named", "name": value.name, "of": _builtins(value.type)}
    if isinstance(value, msgspec.Struct):
        fields = {name: _builtins(getattr(value, name)) for name in value.__struct_fields__}
        if fields.get("extra") == []:  # only iree.abi has it, and seldom
            del fields["extra"]
        kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(value).__name__).lower()
        return (
            fields if isinstance(value, _PLAIN) or kind == "signature" else {"type": kind} | fields
        )
    if isinstance(value, (list, tuple)):
        return [_builtins(item) for item in value]
    return value
