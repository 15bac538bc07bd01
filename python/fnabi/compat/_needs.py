"""Compare what two modules need to load and run: see `fnabi.compat` for the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from fnabi.compat._change import place, quoted
from fnabi.errors import FormatError
from fnabi.vmfb import Export, Module
from fnabi.vmfb._export import UNTYPED
from fnabi.vmfb.needs import LOADER, ExecutableTarget, Parameter, Target


class Difference(NamedTuple):
    """A difference with its severity; `kind` and `severity` are those of `compat.Change`."""

    kind: Any
    severity: Any
    path: str
    old: Any
    new: Any


_Needs: TypeAlias = tuple[tuple[Target, ...], tuple[Parameter, ...]]
_WRITES = ("scatter", "write")
_Sizes: TypeAlias = dict[str, int | None]


def module_differences(old: Module, new: Module) -> Iterator[Difference]:
    """Yield the differences in targets and parameters."""
    sides: list[FormatError | _Needs] = []
    for module in (old, new):
        try:
            sides.append((module.targets, module.parameters) if _has_needs(module) else ((), ()))
        except FormatError as problem:
            sides.append(problem)
    before, after = sides
    if isinstance(before, FormatError) or isinstance(after, FormatError):
        if old.bytecode != new.bytecode:
            shown = (each if isinstance(each, FormatError) else None for each in sides)
            yield Difference("unreadable", "unknown", "needs", *shown)
        return
    yield from _targets(before[0], after[0])
    yield from _parameters(before[1], after[1])


def _has_needs(module: Module) -> bool:
    return any(each.module in ("hal", LOADER, "io_parameters") for each in module.imports)


# ---------------------------------------------------------------------------------- targets


def _targets(old: tuple[Target, ...], new: tuple[Target, ...]) -> Iterator[Difference]:
    """A device by name may be any one of its alternatives, but each name needs one."""
    before, after = _by_name(old), _by_name(new)
    for name, alternatives in before.items():
        path = place("targets", name)
        if name not in after:
            for each in alternatives.values():
                yield Difference("removed", "widening", path, str(each), None)
            continue
        for device, target in alternatives.items():
            found = after[name].get(device)
            inner = place(path, device)
            if found is None:
                yield Difference("removed", "breaking", inner, str(target), None)
            else:
                yield from _formats(target, found, inner)
        for device, target in after[name].items():
            if device not in alternatives:
                inner = place(path, device)
                yield Difference("added", "widening", inner, None, str(target))
    for name, alternatives in after.items():
        if name not in before:
            for each in alternatives.values():
                path = place("targets", name)
                # A module that ran without a device runs everywhere.
                yield Difference("added", "breaking", path, None, str(each))


def _by_name(targets: tuple[Target, ...]) -> dict[str, dict[str, Target]]:
    found: dict[str, dict[str, Target]] = {}
    for target in targets:
        found.setdefault(target.name, {}).setdefault(target.device, target)
    return found


def _formats(old: Target, new: Target, path: str) -> Iterator[Difference]:
    before = {each.format: each for each in old.executables}
    after = {each.format: each for each in new.executables}
    for format, compiled in before.items():
        inner = place(f"{path}.formats", format)
        if format in after:
            yield from _compiled(compiled, after[format], inner)
        else:
            yield Difference("removed", "breaking", inner, str(compiled), None)
    for format, compiled in after.items():
        if format not in before:
            inner = place(f"{path}.formats", format)
            yield Difference("added", "widening", inner, None, str(compiled))


def _compiled(old: ExecutableTarget, new: ExecutableTarget, path: str) -> Iterator[Difference]:
    if old.triple != new.triple:
        before, after = ((each or "").partition("-")[0] for each in (old.triple, new.triple))
        severity = "breaking" if before != after else "notice"
        yield Difference("changed", severity, f"{path}.triple", old.triple, new.triple)
    had, has = old.features, new.features
    known, needed = frozenset(had), frozenset(has)
    more = [each for each in has if each not in known]
    less = [each for each in had if each not in needed]
    for severity, features in (("breaking", more), ("widening", less)):
        if features:
            sides = (None, ",".join(features)) if features is more else (",".join(features), None)
            kind = "added" if features is more else "removed"
            yield Difference(kind, severity, f"{path}.features", *sides)
    if old.cpu != new.cpu:
        yield Difference("changed", "notice", f"{path}.cpu", old.cpu, new.cpu)


# ------------------------------------------------------------------------------- parameters


def _parameters(old: tuple[Parameter, ...], new: tuple[Parameter, ...]) -> Iterator[Difference]:
    (before, before_written, before_open), (after, after_written, after_open) = map(
        _sizes, (old, new)
    )
    for name, size in before.items():
        path = f"parameters[{quoted(name)}]"
        if name not in after:
            yield Difference("removed", "widening", path, _bytes(size), None)
        elif size != after[name]:
            yield Difference("changed", "breaking", path, _bytes(size), _bytes(after[name]))
    for name, size in after.items():
        path = f"parameters[{quoted(name)}]"
        if name not in before:
            yield Difference("added", "breaking", path, None, _bytes(size))
        elif name in after_written and name not in before_written:
            yield Difference("changed", "breaking", f"{path}.access", "read", "written")
        elif name in before_written and name not in after_written:
            yield Difference("changed", "widening", f"{path}.access", "written", "read")
    if before_open or after_open:
        sides = (", ".join(each) or None for each in (before_open, after_open))
        yield Difference("unknown", "unknown", "parameters", *sides)


def _sizes(parameters: tuple[Parameter, ...]) -> tuple[_Sizes, set[str], list[str]]:
    """Sizes by name, the names that are written, and the uses of unknown parameters."""
    sizes: _Sizes = {}
    written, unknown = set(), []
    for each in parameters:
        if each.key is None or each.scope is None:
            unknown.append(str(each))
            continue
        name = each.full_name
        sizes[name] = max(sizes.get(name) or 0, each.required_size or 0)
        if each.access in _WRITES:
            written.add(name)
    return sizes, written, unknown


def _bytes(size: int | None) -> str:
    return f"{size} bytes"


# -------------------------------------------------------------------------------- functions


def export_differences(modules: tuple[Module, Module], name: str) -> Iterator[Difference]:
    """Yield the differences in the transient memory and the storage of results of an export."""
    old, new = (module.exports[name] for module in modules)
    yield from _transients(old, new)
    yield from _storages(modules, old, new)


def _storages(modules: tuple[Module, Module], old: Export, new: Export) -> Iterator[Difference]:
    """By the declarations; where one is missing, also by what both bytecodes prove."""
    sides = [frozenset(each.result_storage.items()) for each in (old, new)]
    certain = sides
    if old.source in UNTYPED or new.source in UNTYPED:
        proven = [_aliases(*each) for each in zip(modules, (old, new), strict=True)]
        certain = [frozenset() if None in proven else each or frozenset() for each in proven]
        sides = [one | (other or set()) for one, other in zip(sides, proven, strict=True)]
    before, after = sides
    results = [_by_argument(side) for side in sides]
    proven_for = _by_argument((before ^ after) & frozenset.union(*certain))
    for index in sorted({argument for argument, _ in before ^ after}):
        shown = [_results(side.get(index, ())) for side in results]
        kind = "changed" if all(shown) else "removed" if shown[0] else "added"
        if index in proven_for:
            yield Difference(kind, "breaking", f"inputs[{index}].storage", *shown)
        else:  # the other bytecode may do the same and not show it
            yield Difference("unknown", "unknown", f"inputs[{index}].storage", *shown)


def _aliases(module: Module, export: Export) -> frozenset[tuple[int, int]] | None:
    """The arguments whose memory results share, each with the result; None if that is unknown."""
    if "r" not in export.calling_convention.partition("_")[2]:
        return frozenset()
    try:
        types = module.bytecode_types
    except FormatError:
        return None
    proven = types[export.ordinal] if export.ordinal < len(types) else None
    if proven is None:
        return None
    aliases = enumerate(proven.aliases)
    return frozenset((alias.argument, result) for result, alias in aliases if alias is not None)


def _by_argument(storage: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for argument, result in storage:
        found.setdefault(argument, []).append(result)
    return found


def _results(results: Iterable[int]) -> str | None:
    return ", ".join(f"results[{result}]" for result in sorted(results)) or None


def _transients(old: Export, new: Export) -> Iterator[Difference]:
    before, after = old.transients, new.transients
    if before == after:
        return
    if before is None or after is None:
        kind = "added" if before is None else "removed"
        sides = (each and str(each) for each in (before, after))
        yield Difference(kind, "breaking", "transients", *sides)
        return
    if before.size != after.size:
        smaller = None not in (before.size, after.size) and (before.size or 0) > (after.size or 0)
        severity = "widening" if smaller else "breaking"
        yield Difference("changed", severity, "transients.size", before.size, after.size)
    if before.size_function != after.size_function:
        functions = before.size_function, after.size_function
        yield Difference("changed", "breaking", "transients.size_function", *functions)
