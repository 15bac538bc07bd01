"""What in a module a failure of the runtime is about, and which releases do not have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from fnabi._base.text import one_line
from fnabi.errors import FormatError
from fnabi.vmfb._records import Features
from fnabi.vmfb._verdict import OF_RUNTIME, ranges, releases

if TYPE_CHECKING:
    from fnabi.types import Signature
    from fnabi.vmfb import Export, Module

_Values: TypeAlias = dict[str, str]
_MOST = 8  # functions that are listed


def places(
    name: str, values: _Values, module: Module, called: str | None = None
) -> tuple[str, ...]:
    """Return what of a module a kind of failure is about, a line for each.

    Where a part of the module cannot be read, such as bytecode of an unknown version, a line has
    the error: it may be why the runtime failed.

    Args:
        name: The kind.
        values: What varies in the message.
        module: The module.
        called: The function that was called, where that is known and `is_of_call`.

    """
    find = _FINDERS.get(name)
    if find is None:
        return ()
    found = list[str]()
    try:
        if called is not None and called not in module.exports:
            found = [f"the module has no function {called}: the error is about another one"]
        else:
            context = {} if called is None else {_CALLED: called}
            found.extend(find(values | context, module))
    except FormatError as problem:
        found.append(f"the module cannot be read further: {problem.text}")
    return tuple(map(one_line, found))


def is_of_call(name: str) -> bool:
    """Return whether a kind of failure is about the arguments of the function that was called."""
    return _FINDERS.get(name) in (_count, _input)


_CALLED = "called function"  # no group of a pattern has this name


def _exports(values: _Values, module: Module) -> list[Export]:
    """Return the function that was called, or all."""
    found = module.exports.get(values.get(_CALLED, ""))
    return [*module.exports.values()] if found is None else [found]


def _loading(module: Module) -> str:
    return str(module._answers())


def _having(module: Module, kind: str, subject: str | None) -> str:
    """Return which releases have what a module needs of this kind."""
    owner = (subject or "").partition(".")[0] if kind == "import" else subject
    if kind in ("module", "import") and owner not in OF_RUNTIME:
        return f"no release of IREE has {owner}: the host registers it"
    lacking = 0
    for row in module._answers().causes:
        if row.kind == kind and row.subject == subject:
            lacking |= row.releases
    having = [name for bit, name in enumerate(releases()) if not lacking >> bit & 1]
    if not lacking:
        return f"every measured release has what the module needs of {subject or kind}"
    if not having:
        return f"no measured release has what the module needs of {subject or kind}"
    return f"IREE {ranges(having)} {'has' if len(having) == 1 else 'have'} it"


def _bytecode(_: _Values, module: Module) -> Iterator[str]:
    yield "the module has bytecode {}.{}".format(*module.bytecode_version)
    yield _loading(module)


def _features(_: _Values, module: Module) -> Iterator[str]:
    for feature in Features(module.requirements):
        yield f"the module requires {feature.name or hex(feature)}"
    yield _loading(module)


def _type(values: _Values, module: Module) -> Iterator[str]:
    name = values["type"]
    for number, each in enumerate(module.types):
        if each == name:
            yield f"types[{number}] of the module is {each}"
            yield _having(module, "type", each)


def _dependency(values: _Values, module: Module) -> Iterator[str]:
    for number, each in enumerate(module.dependencies):
        if each.name == values["module"]:
            least = each.minimum_version
            yield f"dependencies[{number}] of the module is {each.name}, version {least} or newer"
            yield _having(module, "module", each.name)


def _missing(values: _Values, module: Module) -> Iterator[str]:
    yield from _dependency(values, module)
    functions = [each.name for each in module.imports if each.module == values["module"]]
    if functions:
        yield f"the module imports from it: {_listed(functions)}"


def _import(values: _Values, module: Module) -> Iterator[str]:
    if "module" in values and "function" in values:
        name = f"{values['module']}.{values['function']}"
    else:
        name = values.get("name", "")
    for number, each in enumerate(module.imports):
        if each.full_name == name:
            place = f"imports[{number}] of the module is {name}"
            yield f"{place} with the calling convention {each.calling_convention}"
            yield _having(module, "import", name)


def _executables(values: _Values, module: Module) -> Iterator[str]:
    for number, each in enumerate(module.executables):
        if values.get("format") in (None, each.format):
            parts = [f"executables[{number}] of the module is {each.name or 'unnamed'}"]
            parts += [each.format] if each.format else []
            parts += [f"for {each.isa}"] if each.isa else []
            yield ", ".join(parts)
    yield _loading(module)


def _device(_: _Values, module: Module) -> Iterator[str]:
    for target in module.targets:
        formats = ", ".join(each.format for each in target.executables)
        yield f"the module was compiled for the device {target.device} with executables {formats}"


def _functions(_: _Values, module: Module) -> Iterator[str]:
    yield f"the module exports {_listed([each.name for each in module.exports.values()])}"


def _count(values: _Values, module: Module) -> Iterator[str]:
    wanted = values.get("wanted")
    exports = _exports(values, module)
    if len(exports) > 1 and wanted is not None:
        exports = [each for each in exports if _arity(each) == int(wanted)]
    for export in exports:
        yield f"{export.name} takes {_signature(export)}"


def _signature(export: Export) -> Signature:
    """Return the signature with the types that the bytecode asserts, as the runtime does."""
    return export._accepted()[0]


def _arity(export: Export) -> int:
    arguments = export.calling_convention[1:].partition("_")[0]
    return 0 if arguments == "v" else len(arguments)


def _input(values: _Values, module: Module) -> Iterator[str]:
    """Yield the functions that have an input of this name or number, and the type of it."""
    name = values["input"]
    digits = name.removeprefix("input")
    for export in _exports(values, module):
        inputs = _signature(export).inputs
        for number, each in enumerate(inputs):
            named = getattr(each, "name", None)
            if named == name or (digits.isdecimal() and int(digits) == number):
                yield f"{export.name} takes {name} as {getattr(each, 'type', each)}"


def _parameter(values: _Values, module: Module) -> Iterator[str]:
    for each in module.parameters:
        if (
            values.get("scope", each.scope) == each.scope
            and values.get("key", each.key) == each.key
        ):
            name = each.key if each.scope is None else f"{each.scope}::{each.key}"
            size = "" if each.size is None else f", {each.size} bytes"
            yield f"the module needs the parameter {name}{size}"


def _code(values: _Values, module: Module) -> Iterator[str]:
    number = int(values["function"])
    names = [each.name for each in module.exports.values() if each.ordinal == number]
    named = f", which is exported as {_listed(names)}" if names else ""
    offset = int(values["offset"], 16)
    yield f"it is in functions[{number}] of the module{named}, at its byte {offset}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} others" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more if names else "nothing"


_FINDERS: dict[str, Callable[[_Values, Module], Iterable[str]]] = {
    "bytecode-version": _bytecode,
    "bytecode-features": _features,
    "bytecode-damaged": _code,
    "opcode-unknown": lambda values, module: [_loading(module)],
    "type-missing": _type,
    "module-missing": _missing,
    "module-version": _dependency,
    "import-missing": _import,
    "import-signature": _import,
    "executable-format": _executables,
    "executable-version": _executables,
    "executable-machine": _executables,
    "executable-damaged": _executables,
    "executable-entry": _executables,
    "device-missing": _device,
    "function-missing": _functions,
    "argument-count": _count,
    "argument-kind": _count,
    "buffer-type": _input,
    "buffer-dim": _input,
    "buffer-rank": _input,
    "buffer-size": _input,
    "parameter-scope": _parameter,
    "parameter-key": _parameter,
    "parameter-size": _parameter,
}
