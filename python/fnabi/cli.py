"""The command ``fnabi``.

Exit status: 0 good, 1 bad input, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from fnabi import __version__, raw, sip, vmfb
from fnabi.errors import FnabiError, FormatError
from fnabi.signature import Component, ComponentType, SignatureParser
from fnabi.types import DType

_DECODE_SCHEMA = "fnabi.decode/1"
_INSPECT_SCHEMA = "fnabi.inspect/1"

_PARSERS: dict[str, Callable[[bytes], Any]] = {
    "raw": raw.parse,
    "sip": sip.parse,
    "tokens": lambda data: list(SignatureParser(data)),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status."""
    parser = argparse.ArgumentParser(prog="fnabi", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"fnabi {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    inspect = verbs.add_parser("inspect", help="show the functions of a compiled module")
    inspect.add_argument("file", metavar="FILE", help="a .vmfb module; - for standard input")
    inspect.set_defaults(run=_inspect)

    decode = verbs.add_parser("decode", help="decode signatures, one a line")
    decode.add_argument("--abi", choices=list(_PARSERS), default="raw", help="default: raw")
    decode.add_argument("text", metavar="TEXT", help="a signature; - for lines of standard input")
    decode.set_defaults(run=_decode)

    for verb in (inspect, decode):
        verb.add_argument("--json", action="store_true", help="write JSON, with its schema's name")

    arguments = parser.parse_args(argv)
    for stream in (sys.stdout, sys.stderr):  # names may hold any bytes
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (FnabiError, OSError) as problem:
        print(f"fnabi: {problem}", file=sys.stderr)
        return 1
    return status


# --------------------------------------------------------------------------------- decode


def _decode(arguments: argparse.Namespace) -> int:
    status = 0
    for number, line in _lines(arguments.text):
        try:
            value = _PARSERS[arguments.abi](line)
        except FormatError as problem:
            status = 1
            where = "" if number is None else f"line {number}: "
            print(f"fnabi: {where}{problem}", file=sys.stderr)
            result: dict[str, Any] = {"error": _error(problem)}
        else:
            result = {"value": _builtins(value)}
            if not arguments.json:
                print(_tokens(value) if isinstance(value, list) else value)
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
        else f"{c.tag}{json.dumps(c.sval.decode('latin-1'))}"
        for c in components
    )


# -------------------------------------------------------------------------------- inspect


def _inspect(arguments: argparse.Namespace) -> int:
    if arguments.file == "-":
        module = vmfb.from_buffer(sys.stdin.buffer.read())
    else:
        module = vmfb.open(arguments.file)
    exports = [_export(export) for export in module.exports]
    bad = any("error" in signature for _, found in exports for signature in found.values())
    if arguments.json:
        print(json.dumps(_module_json(module, exports), indent=2))
    else:
        for line in _module_lines(module, exports):
            print(line)
    return 1 if bad else 0


def _export(export: vmfb.Export) -> tuple[vmfb.Export, dict[str, dict[str, Any]]]:
    """An export with its decoded signatures by the attribute that they stand in."""
    found: dict[str, dict[str, Any]] = {}
    for name, attribute in (("f", "signature"), ("sip", "sip")):
        try:
            value = getattr(export, attribute)
        except FormatError as problem:
            found[name] = {"error": problem}
        else:
            if value is not None:
                found[name] = {"value": value}
    return export, found


def _module_lines(
    module: vmfb.Module, exports: list[tuple[vmfb.Export, dict[str, dict[str, Any]]]]
) -> Iterator[str]:
    major, minor = module.bytecode_version
    count = f"{len(exports)} function{'' if len(exports) == 1 else 's'}"
    yield f"module {module.name}, version {module.version}, bytecode {major}.{minor}, {count}"
    for key, value in module.attrs.pairs:
        yield f"  {key} = {value}"
    name_width = max((len(export.name) for export, _ in exports), default=0)
    convention_width = max((len(export.calling_convention) for export, _ in exports), default=0)
    for export, found in exports:
        head = f"  {export.name:{name_width}}  {export.calling_convention:{convention_width}}"
        texts = [
            f"{name:3} {result['value'] if 'value' in result else result['error']}"
            for name, result in found.items()
        ]
        if export.result_allocator is not None:
            texts.append(f"fbr {export.result_allocator}")
        indent = "\n" + " " * (len(head) + 2)
        yield f"{head}  {indent.join(text.replace(chr(10), indent) for text in texts)}".rstrip()


def _module_json(
    module: vmfb.Module, exports: list[tuple[vmfb.Export, dict[str, dict[str, Any]]]]
) -> dict[str, Any]:
    return {
        "schema": _INSPECT_SCHEMA,
        "name": module.name,
        "version": module.version,
        "bytecode_version": list(module.bytecode_version),
        "requirements": int(module.requirements),
        "attrs": [list(pair) for pair in module.attrs.pairs],
        "exports": [
            {
                "name": export.name,
                "ordinal": export.ordinal,
                "calling_convention": export.calling_convention,
                "attrs": [list(pair) for pair in export.attrs.pairs],
                "result_allocator": export.result_allocator,
                "signatures": {
                    name: {"value": _builtins(result["value"])}
                    if "value" in result
                    else {"error": _error(result["error"])}
                    for name, result in found.items()
                },
            }
            for export, found in exports
        ],
    }


# ----------------------------------------------------------------------------------- JSON


def _error(error: FormatError) -> dict[str, Any]:
    return {
        "code": error.code,
        "offset": error.offset,
        "path": error.path,
        "reason": error.reason,
        "expected": error.expected,
    }


def _builtins(value: Any) -> Any:
    """A decoded value as JSON has it: a record as an object that names its type."""
    if isinstance(value, Component):
        sval = value.sval.decode("utf-8", "surrogateescape")
        content = {"ival": value.ival} if value.type is ComponentType.INTEGER else {"sval": sval}
        return {"type": value.type.name.lower(), "tag": value.tag, **content}
    if isinstance(value, DType):
        return str(value)
    if isinstance(value, msgspec.Struct):
        fields = {name: _builtins(getattr(value, name)) for name in value.__struct_fields__}
        kind = type(value).__name__
        return fields if kind == "Signature" else {"type": kind.lower(), **fields}
    if isinstance(value, (list, tuple)):
        return [_builtins(item) for item in value]
    return value
