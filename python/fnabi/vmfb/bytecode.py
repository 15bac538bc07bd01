"""Disassemble and verify VM bytecode.

Supports versions 15.0, 16.0 and 17.0 of IREE's VM bytecode. No code is run::

    >>> from fnabi import bytecode, vmfb
    >>> module = vmfb.open("model.vmfb")
    >>> print(bytecode.disassemble(module, "mm"))
    function @mm(%r0: ref, %r1: ref) -> (ref)  // ordinal 0
    bb0:
      0001  %i0 = const.i32 13
      0008  %i2:3 = call @hal.buffer_view.dim(%r0, %i0)
    ...
    >>> bytecode.verify(module)
    ()

Registers ``%i0``, ``%i1``... hold 32 bits each, and a 64-bit value takes two, ``%i2:3``; the
registers ``%r0``, ``%r1``... hold references. Moving a reference empties its register.
"""

from __future__ import annotations

from collections.abc import Mapping

from fnabi._base import core
from fnabi._base.arguments import check_attribute, check_type
from fnabi._base.text import quoted
from fnabi._fnabi import lib
from fnabi.errors import ArgumentValueError, NotFoundError, shown_int
from fnabi.vmfb import Module
from fnabi.vmfb._instructions import (
    Branch,
    BytecodeFinding,
    Callee,
    Global,
    Immediate,
    Instruction,
    Operand,
    Register,
    Rodata,
    Segments,
    Text,
    TypeName,
    findings,
)
from fnabi.vmfb.debug import Database, FileLineCol

__all__ = [
    "Branch",
    "BytecodeFinding",
    "Callee",
    "Global",
    "Immediate",
    "Instruction",
    "Operand",
    "Register",
    "Rodata",
    "Segments",
    "Text",
    "TypeName",
    "disassemble",
    "find",
    "names",
    "verify",
]


def __dir__() -> list[str]:
    return __all__


_exports = core.Decoder(tuple[tuple[str, int], ...])

_EXPORTS = 7
"""The id of the exports in the schema."""

_SHOWN = 80
"""The largest size in bytes of a segment whose text is shown."""

_ALL = (1 << 64) - 1
"""A number greater than that of the functions."""


class _Plain:
    """Receives a result of the core that is text, not a message."""

    @staticmethod
    def decode(text: bytes | memoryview) -> str:
        return bytes(text).decode("utf-8", "surrogateescape")


def disassemble(module: Module, function: str | int | None = None) -> str:
    """Write the bytecode of a module as text.

    Each instruction is one line: its offset in the function, its results, its opcode and its
    operands. If the module has a debug database, source locations follow as comments.

    Args:
        module: An opened module.
        function: The name or the index of one function, exported or not; None for all.

    Returns:
        The text, with a blank line between functions and no line feed at its end.

    Raises:
        FormatError: If the bytecode has an unknown version (``bytecode-version``), a function
            contains bytes that are not an instruction, or functions share bytecode, or refer to
            names, more often than the module's size allows (``work``).
        NotFoundError: If there is no such function. It is a `LookupError`.
        CallError: If the module is closed, or it is remote and texts to show are among the data
            that have not been read.

    Example:
        >>> from fnabi import bytecode, vmfb
        >>> module = vmfb.open("examples/classifier.vmfb")
        >>> print(bytecode.disassemble(module, "version"))
        function @version() -> (i32)  // ordinal 2
        bb0:
          0001  %i0 = const.i32 3
          0008  return %i0

    """
    _check_module("bytecode.disassemble", module)
    first, count = 0, _ALL
    if function is not None:
        first, count = _find(module, function, "bytecode.disassemble"), 1
    if any(not each.is_read and 0 < each.size <= _SHOWN for each in module.rodata):
        raise ArgumentValueError(
            "bytecode.disassemble: the module is remote and has texts after its FlatBuffer,"
            " expected a local file"
        )
    text = _text(module, first, count)
    database = module.debug
    if database is None:
        return text.rstrip("\n")
    functions = text.rstrip("\n").split("\n\n")
    named = names(module)
    rows: dict[str, dict[int, int]] = {}  # several functions may have one name
    for index, lines in enumerate(functions):
        name = named.get(first + index, "")
        maps = database.source_maps.get(name, ())
        if len(maps) != 1:
            continue
        if name not in rows:
            rows[name] = {each.bytecode_offset: each.location for each in maps[0].locations}
        functions[index] = _with_places(lines, rows[name], database)
    return "\n\n".join(functions)


def check_work(module: Module, first: int, count: int) -> None:
    """Refuse functions that share code, or refer to names, more often than the size allows.

    The instructions of one function have that limit each, and those of many none together.

    Raises:
        FormatError: If `disassemble` raises it for these functions.

    """
    _text(module, first, count)


def _text(module: Module, first: int, count: int) -> str:
    return module._decode(lib.fnabi_bytecode_disassemble, _plain, first, count)


def verify(module: Module) -> tuple[BytecodeFinding, ...]:
    """Check the bytecode of a module.

    A finding has one of three severities. ``"error"``: the official runtime of the bytecode's
    version refuses to load it, for example because of unknown opcodes, branches to something else
    than a block, registers and ordinals out of range, or operands that do not match the callee.
    ``"unsafe"``: that runtime loads it, but calling the function can crash or hang the process.
    ``"notice"``: no compiler writes it, but it is harmless. A module of another version than 15.0,
    16.0 and 17.0 has a single finding, the error ``bytecode-version``.

    At most 1000 findings are listed; the last one (``bytecode-more``) then counts the others. The
    time is linear in the module's size.

    Raises:
        FormatError: If functions share bytecode, or refer to names, more often than the module's
            size allows (``work``), or the file has changed.
        CallError: If the module is closed.

    Example:
        >>> from fnabi import bytecode, vmfb
        >>> bytecode.verify(vmfb.open("examples/classifier.vmfb"))
        ()

    """
    try:  # costs nothing where nothing is raised
        source = module._source()
    except AttributeError:
        _check_module("bytecode.verify", module)
        raise
    return findings(source)


_plain: core.Decoder[str] = _Plain()  # type: ignore[assignment]


def names(module: Module) -> dict[int, str]:
    """Return the names of a module's functions by index.

    The name of a function is that of its first export. Up to version 16 the debug database also
    contains the names of internal functions.

    Example:
        >>> from fnabi import bytecode, vmfb
        >>> bytecode.names(vmfb.open("examples/classifier.vmfb"))
        {3: '__init', 2: 'version', 1: 'dense', 0: 'normalize'}

    """
    _check_module("bytecode.names", module)
    exports = module._decode(lib.fnabi_vmfb_field, _exports, _EXPORTS)
    found = {ordinal: name for name, ordinal in reversed(exports)}
    database = module.debug
    if database is None or module.bytecode_version[0] > 16:
        return found
    listed = dict(enumerate(each.local_name for each in database.functions))
    if len(listed) == len(module.functions) and found.items() <= listed.items():
        return listed
    return found


def _check_module(function: str, module: object) -> None:
    check_attribute(f"{function}: module", module, "_source", "a Module of fnabi.vmfb")


def find(module: Module, function: str | int, caller: str = "bytecode.find") -> int:
    """Find a function, exported or internal, by name or index.

    Raises:
        NotFoundError: If there is no such function. It is a `LookupError`, and names `caller`.
        CallError: If the module is closed.

    Example:
        >>> from fnabi import bytecode, vmfb
        >>> module = vmfb.open("examples/classifier.vmfb")
        >>> ordinal = bytecode.find(module, "dense")
        >>> ordinal, module.functions[ordinal].calling_convention
        (1, '0rrr_r')

    """
    _check_module(caller, module)
    return _find(module, function, caller)


def _find(module: Module, function: str | int, caller: str) -> int:
    check_type(f"{caller}: function", function, str, int)
    if isinstance(function, str):
        exports = module._decode(lib.fnabi_vmfb_field, _exports, _EXPORTS)
        named = ((name, ordinal) for ordinal, name in names(module).items())
        for name, ordinal in (*exports, *named):
            if name == function and 0 <= ordinal < len(module.functions):
                return ordinal
        raise NotFoundError(f"{caller}: function: no function is named {quoted(function)}")
    if not 0 <= function < len(module.functions):
        raise NotFoundError(
            f"{caller}: function: {shown_int(function)} is out of range,"
            f" expected below {len(module.functions)}"
        )
    return function


_HOPS_MAX = 64


def _with_places(lines: str, rows: Mapping[int, int], database: Database) -> str:
    """Add the source locations of offsets as comments, each before its first instruction."""
    told, commented = "", []
    for line in lines.split("\n"):
        offset, _, instruction = line.strip().partition("  ")
        row = rows.get(int(offset, 16)) if line.startswith("  ") and instruction else None
        place = "" if row is None else _file(database, row)
        if place not in ("", told):
            line += f"  // {place}"
            told = place
        commented.append(line)
    return "\n".join(commented)


def _file(database: Database, row: int) -> str:
    """Return the first source file location that a row of the location table refers to, or ""."""
    for _ in range(_HOPS_MAX):
        if not 0 <= row < len(database.locations):
            break
        location = database.locations[row]
        if isinstance(location, FileLineCol):
            place = str(location)
            return place if place.isprintable() else repr(place)
        if not location._rows():
            break
        row = location._rows()[0]
    return ""
