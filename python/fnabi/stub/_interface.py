"""What is generated for a compiled module: its functions, with identifiers for all names."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from fnabi import types
from fnabi._base import core
from fnabi._base.names import Names, identifier
from fnabi._base.text import known_names, quoted
from fnabi.abi import cconv
from fnabi.errors import FormatError, NotFoundError
from fnabi.run.client import without_fences
from fnabi.stub._code import literal
from fnabi.types import Named, Type
from fnabi.vmfb import Export, Module
from fnabi.vmfb.needs import LOADER

_INTERNAL = ("__init", "__deinit", "__notify")


class Value(NamedTuple):
    """An argument or a result.

    Attributes:
        name: The name in the module, or one like ``input0``.
        identifier: A name for code, unique in its function.
        type: The type, without its name.

    """

    name: str
    identifier: str
    type: Type


class InexpressibleError(Exception):
    """A function that a target cannot call; the text says why."""


class Registers(NamedTuple):
    """The registers of a call, without those of fences."""

    arguments: tuple[cconv.RegisterType, ...]
    results: tuple[cconv.RegisterType, ...]


class Entry(NamedTuple):
    """A function.

    Attributes:
        export: The export of the module.
        identifier: A name for code, unique in the module.
        inputs: The arguments, without the fences of an asynchronous function.
        results: The results.

    """

    export: Export
    identifier: str
    inputs: tuple[Value, ...]
    results: tuple[Value, ...]

    @property
    def title(self) -> str:
        """The name and signature as text; dims that are proven equal share a letter."""
        return f"{self.export.name}{self.export.signature_text}"

    @property
    def slots(self) -> tuple[Value, ...]:
        """The results of the call: the slots of a structure that is the only result."""
        if len(self.results) != 1:
            return self.results
        match self.results[0].type:
            case types.List(items) | types.Tuple(items):
                pairs: Sequence[tuple[str, Type]] = [("", item) for item in items]
            case types.Dict(items):
                pairs = items
            case _:
                return self.results
        default = self.results[0].identifier
        return tuple(
            Value(name, identifier(name, f"{default}_{index}"), type)
            for index, (name, type) in enumerate(pairs)
        )

    def registers(self) -> Registers:
        """Return the registers that the calling convention has for the arguments and results.

        Raises:
            InexpressibleError: when it is malformed or variadic, or has other numbers of them than
                the description of the function.

        """
        try:
            convention = cconv.parse(core.text_bytes(self.export.calling_convention))
        except FormatError as problem:
            problem.excerpt = None
            raise InexpressibleError(f"its calling convention is malformed: {problem}") from None
        fences = 2 if self.export.is_async else 0
        arguments = convention.arguments[: len(convention.arguments) - fences]
        return Registers(
            _fitting(self.inputs, arguments, "arguments"),
            _fitting(self.slots, convention.results, "results"),
        )


def _fitting(
    values: Sequence[Value], registers: Sequence[cconv.RegisterType | cconv.Span], what: str
) -> tuple[cconv.RegisterType, ...]:
    if len(values) != len(registers):
        raise InexpressibleError(
            f"its description has {len(values)} {what}, and its calling convention {len(registers)}"
        )
    found = []
    for each in registers:
        if isinstance(each, cconv.Span):
            raise InexpressibleError("it is variadic")
        found.append(each)
    return tuple(found)


class Interface(NamedTuple):
    """The functions of a module.

    Attributes:
        module: The open module.
        name: Its name.
        path: The path of its file.
        file: The name of its file.
        entries: The functions in the order of the module.
        omitted: The exports without an entry, with the reason: those whose description cannot be
            read, and the later ones of equal names, which no caller can reach.
        internal: The names of functions that only the runtime calls.

    """

    module: Module
    name: str
    path: str
    file: str
    entries: tuple[Entry, ...]
    omitted: tuple[str, ...]
    internal: tuple[str, ...]

    def left_out(self, notices: Iterable[str]) -> list[str]:
        """Return the sentences about what a text lacks."""
        internal = (f"{literal(name)}, which only the runtime calls" for name in self.internal)
        return [f"Left out: {each}." for each in (*notices, *internal)]


def read(
    module: Module,
    path: str,
    only: Collection[str] | None = None,
    reserved: frozenset[str] = frozenset(),
) -> Interface:
    """Read the functions of a module.

    Args:
        module: The open module.
        path: The path of its file.
        only: The names of the functions to read; all without it.
        reserved: Names that no identifier may have.

    Raises:
        NotFoundError: The module has no function with a name in `only`.

    """
    known = dict.fromkeys(module.exports)
    for name in only or ():
        if name not in known:
            raise NotFoundError(f"no function is named {quoted(name)}{known_names(name, known)}")
    scope = Names(reserved=reserved, expected=known if only is None else only)
    entries: list[Entry] = []
    omitted: list[str] = []
    internal: list[str] = []
    seen: set[str] = set()
    for export in module.exports.values():
        name = export.name
        if only is not None and name not in only:
            continue
        if name in _INTERNAL:
            internal.append(name)
        elif name in seen:
            omitted.append(f"{literal(name)} is exported twice; the first one is called")
        else:
            seen.add(name)
            try:
                entries.append(_entry(export, scope.add(name, "function"), reserved))
            except FormatError as problem:
                problem.excerpt = None
                omitted.append(f"{literal(name)} has a description that is malformed: {problem}")
    file = os.path.basename(path)
    return Interface(
        module, module.name, path, file, tuple(entries), tuple(omitted), tuple(internal)
    )


def driver(module: Module) -> str | None:
    """Return the driver for the device that a module was compiled for; None for any, or none."""
    try:
        targets = module.targets
    except FormatError:  # the bytecode is damaged, or of a version that fnabi cannot read
        return None
    device = targets[0].device if targets else LOADER
    return {"local": "local-task", LOADER: None}.get(device, device)


def parameter_scopes(module: Module) -> tuple[str, ...]:
    """Return the scopes of the parameters that a module needs."""
    try:
        found = module.parameters
    except FormatError:
        return ()
    return tuple(dict.fromkeys(each.scope or "" for each in found))


def _entry(export: Export, identifier: str, reserved: frozenset[str]) -> Entry:
    signature = without_fences(export)
    inputs, results = signature.inputs, signature.results
    named = [each.name for each in (*inputs, *results) if isinstance(each, Named)]
    scope = Names(reserved=reserved, expected=named)
    return Entry(
        export,
        identifier,
        tuple(_value(type, f"input{index}", scope) for index, type in enumerate(inputs)),
        tuple(_value(type, f"result{index}", scope) for index, type in enumerate(results)),
    )


def _value(type: Type, default: str, scope: Names) -> Value:
    name = type.name if isinstance(type, Named) else default
    inner = type
    while isinstance(inner, Named):
        inner = inner.type
    return Value(name, scope.add(name, default), inner)
