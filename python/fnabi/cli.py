"""The command ``fnabi``: show the function ABIs of ML compilers.

What is shown may come from anywhere, so control characters and the like are escaped.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from fnabi import __version__, compat, raw, sip, vmfb
from fnabi.errors import FnabiError, FormatError
from fnabi.signature import Component, ComponentType, SignatureParser
from fnabi.types import DType

_DECODE_SCHEMA = "fnabi.decode/1"
_INSPECT_SCHEMA = "fnabi.inspect/1"
_DIFF_SCHEMA = "fnabi.diff/1"

_PARSERS: dict[str, Callable[[bytes], Any]] = {
    "raw": raw.parse,
    "sip": sip.parse,
    "tokens": lambda data: list(SignatureParser(data)),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status."""
    parser = argparse.ArgumentParser(
        prog="fnabi",
        description="Show the function ABIs of ML compilers.",
        epilog="Exit status: 0 good, 1 bad input, 2 wrong usage.",
    )
    parser.add_argument("--version", action="version", version=f"fnabi {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    inspect = verbs.add_parser("inspect", help="show the functions of a compiled module")
    inspect.add_argument("file", metavar="FILE", help="a .vmfb module; - for standard input")
    inspect.set_defaults(run=_inspect)

    decode = verbs.add_parser("decode", help="decode signatures, one a line")
    decode.add_argument(
        "--abi", choices=list(_PARSERS), default="raw", help="how to read them; raw unless given"
    )
    decode.add_argument("text", metavar="TEXT", help="a signature; - for lines of standard input")
    decode.set_defaults(run=_decode)

    diff = verbs.add_parser(
        "diff",
        help="tell whether callers of one module are served by another",
        epilog="Exit status: 0 when they are, 1 for a breaking change or bad input, 2 wrong usage.",
    )
    diff.add_argument("old", metavar="OLD", help="the module that callers were made for")
    diff.add_argument(
        "new", metavar="NEW", help="the other one; either may be - for standard input"
    )
    diff.set_defaults(run=_diff, usage=diff.error)

    for verb in (inspect, decode, diff):
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


# -------------------------------------------------------------------------------- inspect


def _inspect(arguments: argparse.Namespace) -> int:
    module = _open(arguments.file)
    exports = [_export(export) for export in module.exports]
    bad = any("error" in signature for _, found in exports for signature in found.values())
    if arguments.json:
        print(json.dumps(_module_json(module, exports), indent=2))
    else:
        for line in _module_lines(module, exports):
            print(line.rstrip())
    return 1 if bad else 0


def _open(file: str) -> vmfb.Module:
    return vmfb.from_buffer(sys.stdin.buffer.read()) if file == "-" else vmfb.open(file)


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
    name = _line(module.name)
    yield f"module {name}, version {module.version}, bytecode {major}.{minor}, {count}"
    for key, value in module.attrs.pairs:
        yield f"  {_line(key)} = {_line(value)}"
    heads = [(_line(export.name), _line(export.calling_convention)) for export, _ in exports]
    name_width = max((len(name) for name, _ in heads), default=0)
    convention_width = max((len(convention) for _, convention in heads), default=0)
    indent = " " * (name_width + convention_width + 6)
    for (name, convention), (export, found) in zip(heads, exports, strict=True):
        lines: list[str] = []
        for attribute, result in found.items():
            text = (
                _line(str(result["value"])) if "value" in result else _plain(str(result["error"]))
            )
            lines += f"{attribute:3} {text}".split("\n")
        if export.result_allocator is not None:
            lines.append(f"fbr {_line(export.result_allocator)}")
        first, *rest = lines or [""]
        yield f"  {name:{name_width}}  {convention:{convention_width}}  {first}"
        yield from (indent + line for line in rest)


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


# ----------------------------------------------------------------------------------- diff


def _diff(arguments: argparse.Namespace) -> int:
    if arguments.old == arguments.new == "-":
        arguments.usage("only one of OLD and NEW can be standard input")
    modules = []
    for file in (arguments.old, arguments.new):
        arguments.file = file  # for the message of an error
        modules.append(_open(file))
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
    if isinstance(value, msgspec.Struct):
        fields = {name: _builtins(getattr(value, name)) for name in value.__struct_fields__}
        kind = type(value).__name__
        return fields if kind == "Signature" else {"type": kind.lower(), **fields}
    if isinstance(value, (list, tuple)):
        return [_builtins(item) for item in value]
    return value
