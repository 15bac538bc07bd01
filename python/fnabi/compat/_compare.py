"""The comparison of two modules; `fnabi.compat` has the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import msgspec

from fnabi._base import core
from fnabi._base.arguments import check_type
from fnabi.abi import cconv, sip
from fnabi.compat._change import Change, ChangeKind, Severity, counted_changes, place, quoted
from fnabi.compat._needs import export_differences, module_differences
from fnabi.compat._record import RecordedModule, digest
from fnabi.compat._runtime import (
    Asked,
    Runtime,
    asked_releases,
    damage_differences,
    runtime_differences,
    unmeasured_differences,
)
from fnabi.errors import ArgumentTypeError, FormatError, type_name
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    Ref,
    RefArray,
    Scalar,
    Signature,
    Tuple,
    Type,
    Unknown,
)
from fnabi.vmfb import DependencyFlags, Export, Import, ImportFlags, Module
from fnabi.vmfb._agreement import register_of
from fnabi.vmfb._export import UNTYPED
from fnabi.vmfb._verdict import OF_RUNTIME

_WORST: tuple[Severity, ...] = get_args(Severity)
Compatibility: TypeAlias = Literal["compatible", "incompatible", "unknown"]

_TYPED = ("iree.abi", "iree.abi.declaration", "f", "fv")
"""The attributes that a signature is read from."""

_CONVERTED_BY = ("iree.abi", "f")
"""The attributes by which callers convert their values."""

_SIP = ("sip", "sipv", "abi", "abiv")
_MODEL = "iree.abi.model"

_Shape: TypeAlias = tuple[int | None, ...] | None
_Key = TypeVar("_Key", int, str)
_T = TypeVar("_T")


class Comparison(msgspec.Struct, frozen=True):
    """The result of `compare`.

    Attributes:
        changes: The changes of the module, then those of its functions: in the order of the old
            module, followed by added ones in the order of the new one.

    """

    changes: tuple[Change, ...]

    @property
    def verdict(self) -> Compatibility:
        """``"incompatible"`` if a change is breaking, else ``"unknown"`` if one is unknown."""
        severities = {change.severity for change in self.changes}
        if "breaking" in severities:
            return "incompatible"
        return "unknown" if "unknown" in severities else "compatible"

    @property
    def compatible(self) -> bool:
        """Whether no change is breaking, and none unknown."""
        return self.verdict == "compatible"

    def of(self, severity: Severity) -> tuple[Change, ...]:
        """Return the changes of one severity."""
        return tuple(change for change in self.changes if change.severity == severity)

    def __repr__(self) -> str:
        counts = Counter(change.severity for change in self.changes)
        found = [
            counted_changes(counts[severity], severity) for severity in _WORST if counts[severity]
        ]
        return f"<Comparison {self.verdict}: {', '.join(found) or 'no changes'}>"

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import code, escaped, marked, table

        verdict = f"<p><b>{self.verdict}</b></p>"
        if not self.changes:
            return verdict
        rows = (
            (
                marked(change.severity, change.severity),
                code(change.function or ""),
                escaped(f"{change.place_text}{change.values_text}"),
            )
            for change in self.changes
        )
        return verdict + table(("severity", "function", "change"), rows, len(self.changes))


def compare(
    old: Module,
    new: Module,
    *,
    runtime: Runtime = None,
    driver: str | None = None,
    machine: str | None = None,
) -> Comparison:
    """Compare two modules by the rules of `fnabi.compat`.

    Args:
        old: The module that callers were written for.
        new: The module that they would use.
        runtime: The releases of IREE's runtime that callers have: ``"3.9.0"``, a list
            ``"3.9.0,3.12.0"``, a range ``"3.9.0..3.12.0"``, ``"installed"`` or ``"all"``; or
            several names. It is breaking if one of them loads the old module alone.
        driver: The driver of the device, such as ``"local-task"``; None for any.
        machine: The machine, such as ``"x86_64"`` or ``"aarch64"``; None for that of the
            executables.

    Raises:
        FormatError: when an export refers to a function that its module does not have.
        CallError: when one of them is not a module, or is closed, or `runtime` names no release.

    Example:
        >>> from fnabi import compat, vmfb
        >>> old, new = (vmfb.open(f"examples/releases/{each}/rank.vmfb") for each in ("1.0", "2.0"))
        >>> found = compat.compare(old, new)
        >>> print(found.verdict, found.changes[0], sep=": ")
        incompatible: breaking  main$async: inputs[0].dtype changed: float32[?x6] => i32[?x6]

    """
    asked = asked_releases("compat.compare", runtime, driver, machine)
    return compare_asked(old, new, asked)


def compare_asked(old: Module, new: Module, asked: Asked) -> Comparison:
    """Compare two modules, for releases of the runtime that were checked before."""
    for name, module in (("old", old), ("new", new)):
        if not isinstance(module, Module) and not hasattr(module, "exports"):
            raise ArgumentTypeError(
                f"compat.compare: {name}: expected a Module, got {type_name(module)}"
            )
    if _are_same(old, new):
        return without_change(asked)
    is_same_code = _have_same_code(old, new)
    changes = list(_modules(old, new))
    needs = (Change(*found) for found in module_differences(old, new))
    changes += (each for each in needs if each.severity != "unknown" or not is_same_code)
    changes += (Change(*found) for found in runtime_differences(old, new, asked))
    changes += (Change(*found) for found in damage_differences(old, new))
    if is_same_code:
        return Comparison(tuple(changes))
    old_counts, new_counts = (Counter(iter(module.exports)) for module in (old, new))
    for name in old_counts | new_counts:
        if name not in new_counts:
            found = [Change("removed", "breaking", "", _shown(old.exports[name]), None)]
        elif name not in old_counts:
            found = [Change("added", "widening", "", None, _shown(new.exports[name]))]
        else:
            found = list(_functions((old, new), name))
            counts = old_counts[name], new_counts[name]
            if counts[0] != counts[1]:
                found.append(Change("changed", "notice", "exports", *counts))
        changes += _of_function(name, found)
    return Comparison(tuple(changes))


def without_change(asked: Asked) -> Comparison:
    """Return the comparison of two modules of the same bytes."""
    return Comparison(tuple(Change(*found) for found in unmeasured_differences(asked)))


def compare_signatures(
    old: Signature, new: Signature, *, keywords: bool = False
) -> tuple[Change, ...]:
    """Compare two signatures by the rules of `fnabi.compat`.

    Args:
        old: The signature that callers were written for.
        new: The signature that they would call.
        keywords: Whether callers pass arguments that have a name by it alone, as `iree.runtime`
            makes them do with those of ``iree.abi``.

    Example:
        >>> from fnabi import Signature, compat
        >>> old, new = (Signature.parse(f"(float32[{dim}]) -> ()") for dim in ("?", "4"))
        >>> print(*compat.compare_signatures(old, new))
        breaking  inputs[0].shape[0] narrowed: float32[?] => float32[4]

    """
    check_type("compat.compare_signatures: old", old, Signature)
    check_type("compat.compare_signatures: new", new, Signature)
    inputs = _values(_items(old.inputs), _items(new.inputs), "inputs")
    results = _values(_items(old.results), _items(new.results), "results")
    return tuple(
        [Change(d.kind, _of_input(d, keywords), d.path, d.old, d.new) for d in inputs]
        + [Change(d.kind, _of_result(d), d.path, d.old, d.new) for d in results]
    )


# ----------------------------------------------------------------------------------- modules


_CHUNK = 1 << 20


def _are_same(old: Module, new: Module) -> bool:
    """Whether two modules have the same bytes."""
    if not isinstance(old, Module) or not isinstance(new, Module) or old.layout != new.layout:
        return False
    size = old.layout.file_size
    return _are_equal(*(module._bytes(0, size) for module in (old, new)))


def _have_same_code(old: Module, new: Module) -> bool:
    """Whether two modules, of which one may be recorded, differ in the data after the code alone.

    Their functions are then the same, also where the modules do not show what these take.
    """
    if not isinstance(old, Module) or not isinstance(new, Module):
        return False
    if isinstance(old, RecordedModule) or isinstance(new, RecordedModule):
        return digest(old) == digest(new)
    sizes = [module.layout.flatbuffer_size for module in (old, new)]
    return sizes[0] == sizes[1] and _are_equal(
        *(module._bytes(module.layout.flatbuffer_offset, sizes[0]) for module in (old, new))
    )


def _are_equal(one: memoryview, other: memoryview) -> bool:
    return all(
        bytes(one[at : at + _CHUNK]) == bytes(other[at : at + _CHUNK])
        for at in range(0, len(one), _CHUNK)
    )


def _modules(old: Module, new: Module) -> Iterator[Change]:
    if old.name != new.name:
        yield Change("changed", "breaking", "name", old.name, new.name)
    if old.version != new.version:
        severity: Severity = "breaking" if new.version < old.version else "notice"
        yield Change("changed", severity, "version", old.version, new.version)
    dependencies = [{(d.name, d.minimum_version) for d in m.dependencies} for m in (old, new)]
    moved = {name for name, _ in dependencies[0] ^ dependencies[1] if name in OF_RUNTIME}
    more = _required_more(old, new)
    for change in _notices(_demands(old, moved), _demands(new, moved)):
        is_more = change.path.rpartition(".")[0] in more
        yield msgspec.structs.replace(change, severity="breaking") if is_more else change


_ALWAYS_THERE = ("vm", "hal")


class _Required(NamedTuple):
    versions: dict[str, int]
    functions: dict[str, Import]
    modules: set[str]


def _required(module: Module) -> _Required:
    compared, optional = DependencyFlags.REQUIRED, DependencyFlags.OPTIONAL
    versions = {
        each.name: each.minimum_version if each.flags & compared else 0
        for each in module.dependencies
        if not each.flags & optional
    }
    functions = {i.full_name: i for i in module.imports if not i.flags & ImportFlags.OPTIONAL}
    return _Required(versions, functions, {*versions, *(i.module for i in functions.values())})


def _required_more(old: Module, new: Module) -> set[str]:
    """Return the paths of what the new module requires of a host and the old one does not."""
    before, after = _required(old), _required(new)
    found = set()
    for name, version in after.versions.items():
        is_older = name not in OF_RUNTIME and version > before.versions.get(name, 0)
        if name not in _ALWAYS_THERE and (name not in before.modules or is_older):
            found.add(_dependency(name))
    for name, imported in after.functions.items():
        known = before.functions.get(name)
        is_other = imported.module not in OF_RUNTIME and (
            known is None or imported.calling_convention not in ("", known.calling_convention)
        )
        if imported.module not in _ALWAYS_THERE and (
            imported.module not in before.modules or is_other
        ):
            found.add(_import(name))
    return found


def _dependency(name: str) -> str:
    return f"dependencies[{quoted(name)}]"


def _import(name: str) -> str:
    return f"imports[{quoted(name)}]"


def _demands(module: Module, moved: set[str]) -> dict[str, Any]:
    """Return what a module requires of a runtime, and its attributes, by path.

    Imports from modules of the runtime that have `moved` to another version are left out.
    """
    found: dict[str, Any] = {
        "bytecode_version": module.bytecode_version,
        "requirements": module.requirements,
    }
    for dependency in module.dependencies:
        path = _dependency(dependency.name)
        found[f"{path}.minimum_version"] = dependency.minimum_version
        if dependency.flags != DependencyFlags.REQUIRED:
            found[f"{path}.flags"] = dependency.flags
    for imported in module.imports:
        if imported.module in moved:
            continue
        path = _import(imported.full_name)
        found[f"{path}.calling_convention"] = imported.calling_convention
        if imported.flags != ImportFlags.REQUIRED:
            found[f"{path}.flags"] = imported.flags
    return found | _attributes(module.attrs)


def _attributes(attrs: Mapping[str, str]) -> dict[str, str]:
    return {f"attrs[{quoted(key)}]": value for key, value in attrs.items()}


def _notices(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the differences of values by path."""
    for path, value in old.items():
        if path not in new:
            yield Change("removed", "notice", path, value, None)
        elif new[path] != value:
            yield Change("changed", "notice", path, value, new[path])
    for path, value in new.items():
        if path not in old:
            yield Change("added", "notice", path, None, value)


# --------------------------------------------------------------------------------- functions


def _of_function(name: str, changes: Iterable[Change]) -> Iterator[Change]:
    for change in changes:
        severity = "notice" if name.startswith("__") else change.severity
        yield msgspec.structs.replace(change, function=name, severity=severity)


def _shown(export: Export) -> Signature | str:
    signature = _read(export, "signature")
    return signature if isinstance(signature, Signature) else export.calling_convention


def _functions(modules: tuple[Module, Module], name: str) -> Iterator[Change]:
    old, new = (module.exports[name] for module in modules)
    conventions = old.calling_convention, new.calling_convention
    if _registers(conventions[0]) != _registers(conventions[1]):
        yield Change("changed", "breaking", "calling_convention", *conventions)
    before, after = dict(old.attrs), dict(new.attrs)
    models = before.pop(_MODEL, None), after.pop(_MODEL, None)
    if models[0] != models[1]:
        yield Change("changed", "breaking", f"attrs[{quoted(_MODEL)}]", *models)
    source = old.source
    if source in _CONVERTED_BY and source not in after:
        text = before.pop(source)
        yield Change("removed", "breaking", f"attrs[{quoted(source)}]", text, None)
    yield from (Change(*found) for found in export_differences(modules, name))
    for part, keys, differences in _PARTS:
        found = list(_part(old, new, part, keys, differences))
        yield from found
        if found and found[0].kind not in (
            "unreadable",
            "unknown",
        ):  # else the attributes show what changed
            for key in keys:
                before.pop(key, None)
                after.pop(key, None)
    yield from _notices(_attributes(before), _attributes(after))


def _registers(convention: str) -> cconv.CallingConvention | str:
    """Parse a calling convention, since there are several spellings of no values."""
    try:
        return cconv.parse(core.text_bytes(convention))
    except FormatError:
        return convention


def _read(export: Export, part: str) -> Any:
    """Return a part of an export, None if it is missing, or the FormatError of a malformed text.

    A signature from the calling convention counts as missing, because it has no types.
    """
    if part == "signature" and export.source == "cconv":
        return None
    try:
        return getattr(export, part)
    except FormatError as problem:
        return problem


def _part(
    old: Export,
    new: Export,
    part: str,
    keys: tuple[str, ...],
    differences: Callable[[Export, Export], Iterable[Change]],
) -> Iterator[Change]:
    """Yield the differences of a part, which is read from the attributes `keys`."""
    before, after = _read(old, part), _read(new, part)
    if not isinstance(before, FormatError) and not isinstance(after, FormatError):
        yield from differences(old, new)
    elif any(old.attrs.get(key) != new.attrs.get(key) for key in keys):
        lost = before is not None and not isinstance(before, FormatError)
        yield Change("unreadable", "breaking" if lost else "notice", part, before, after)


def _signatures(old: Export, new: Export) -> Iterable[Change]:
    found = _typed_signatures(old, new)
    if new.source == "iree.abi" and old.source not in (new.source, None):
        return [*_added_keywords(old, new), *found]
    return found


def _added_keywords(old: Export, new: Export) -> Iterator[Change]:
    """Yield the arguments that `iree.runtime` takes by their names alone from now on."""
    pairs = zip(old.signature.inputs, new.signature.inputs, strict=False)
    for index, (before, after) in enumerate(pairs):
        if isinstance(after, Named):
            yield Change("renamed", "breaking", f"inputs[{index}]", before, after)


def _typed_signatures(old: Export, new: Export) -> Iterable[Change]:
    if "cconv" in (old.source, new.source):
        return _partial_signatures(old, new)
    before, after = _stated(old, new), _stated(new, old)
    if old.source == new.source:
        found = compare_signatures(before, after, keywords=old.source == "iree.abi")
    else:
        found = compare_signatures(before.without_names(), after.without_names())
    return _with_moves(found, _named(old, before), _named(new, after))


def _named(export: Export, stated: Signature) -> Signature:
    """Return the signature with the names of the declaration, if it has none."""
    types = stated.inputs + stated.results
    if any(isinstance(type, Named) for type in types):
        return stated
    try:
        told = export.declaration
    except FormatError:
        told = None
    if told is None:
        return stated
    sides = (
        tuple(Named(value.name, type) for type, value in zip(types, values, strict=True))
        if len(types) == len(values)
        else types
        for types, values in ((stated.inputs, told.inputs), (stated.results, told.results))
    )
    return Signature(*sides)


def _with_moves(found: tuple[Change, ...], old: Signature, new: Signature) -> tuple[Change, ...]:
    """Add the arguments and results that have moved, where the names were not compared."""
    known = {change.path for change in found if change.kind == "moved"}
    more = []
    for side in ("inputs", "results"):
        types = [getattr(signature, side) for signature in (old, new)]
        names = [{i: _unnamed(type)[0] for i, type in enumerate(each)} for each in types]
        for index in _moved(*names):
            path = f"{side}[{index}]"
            if path not in known:
                more.append(Change("moved", "breaking", path, *(each[index] for each in types)))
    return found + tuple(more)


def _stated(export: Export, other: Export) -> Signature:
    """Return the signature of an export as it compares with that of the other one.

    In one from bytecode a reference of which nothing is proven is Unknown. Where the other one is
    from a text, a scalar is what the text says of that register, and fences are left out.
    """
    signature, typed = export.signature, other.signature
    if export.source != "bytecode":
        return signature
    inputs = signature.inputs
    text = other.source != "bytecode"
    if text and export.is_async and len(inputs) == len(typed.inputs) + 2:
        inputs = inputs[:-2]
    return Signature(
        _stated_types(inputs, typed.inputs, text),
        _stated_types(signature.results, typed.results, text),
    )


def _stated_types(
    types: tuple[Type, ...], others: tuple[Type, ...], text: bool
) -> tuple[Type, ...]:
    missing = (Unknown(),) * len(types)
    pairs = zip(types, others + missing, strict=False)
    return tuple(_stated_type(type, _unnamed(other)[1], text) for type, other in pairs)


def _stated_type(type: Type, other: Type, text: bool) -> Type:
    unproven = isinstance(type, Ref) and type.name in (None, "!hal.buffer_view")
    if unproven and (type != other or not text):  # a type that equals the text's is known
        return Unknown()
    if text and isinstance(type, Scalar) and register_of(other) == register_of(type):
        return other
    return type


def _partial_signatures(old: Export, new: Export) -> Iterator[Change]:
    """Compare signatures, at least one of which is not from a text, in the types that both have.

    Numbers are left to the calling convention, and so is everything when it has changed. One of
    the signatures may have more inputs: the fences of an asynchronous function.
    """
    if _registers(old.calling_convention) != _registers(new.calling_convention):
        return
    for side, of_side in (("inputs", partial(_of_input, keywords=False)), ("results", _of_result)):
        sides = (getattr(export.signature.without_names(), side) for export in (old, new))
        for index, (before, after) in enumerate(zip(*sides, strict=False)):
            if isinstance(before, Scalar) and isinstance(after, Scalar):
                continue
            path = f"{side}[{index}]"
            if _is_untold(old, before) or _is_untold(new, after):
                yield Change("unknown", "unknown", path, before, after)
                continue
            for d in _types(before, after, path):
                yield Change(d.kind, of_side(d), d.path, d.old, d.new)


def _is_untold(export: Export, type: Type) -> bool:
    return isinstance(type, Unknown) or (
        export.source in UNTYPED and isinstance(type, Ref) and type.name is None
    )


def _structures(old: Export, new: Export) -> Iterator[Change]:
    before, after = old.sip or _NO_STRUCTURES, new.sip or _NO_STRUCTURES
    for side in ("inputs", "results"):
        for d in _nodes(getattr(before, side), getattr(after, side), f"sip.{side}"):
            yield Change(d.kind, "breaking", d.path, d.old, d.new)


_NO_STRUCTURES = sip.Signature(None, None)
_PARTS = (("signature", _TYPED, _signatures), ("sip", _SIP, _structures))


# ------------------------------------------------------------------------------------- types


class _Difference(NamedTuple):
    """A Change whose severity depends on the side of the function that it is on."""

    kind: ChangeKind
    path: str
    old: Any
    new: Any


def _of_input(difference: _Difference, keywords: bool) -> Severity:
    if difference.kind == "unknown":
        return "unknown"
    if difference.kind == "renamed" and keywords:
        return "breaking"
    if difference.kind in ("renamed", "untold"):
        return "notice"
    return "widening" if difference.kind == "widened" else "breaking"


def _of_result(difference: _Difference) -> Severity:
    if difference.kind == "unknown":
        return "unknown"
    if difference.kind in ("renamed", "untold"):
        return "notice"
    return "widening" if difference.kind == "narrowed" else "breaking"


def _types(old: Type, new: Type, path: str) -> Iterator[_Difference]:
    def differ(kind: ChangeKind, part: str = "") -> _Difference:
        return _Difference(kind, path + part, *shown)

    shown = old, new
    old_name, old = _unnamed(old)
    new_name, new = _unnamed(new)
    if old_name != new_name:
        yield differ("renamed")
    if isinstance(old, Unknown) or isinstance(new, Unknown):
        yield differ("unknown")
    elif old == new and not _has_unknown(old):
        return
    elif isinstance(old, Scalar) and isinstance(new, Scalar):
        yield differ(_dtypes(old.dtype, new.dtype), ".dtype")
    elif isinstance(old, Buffer) and isinstance(new, Buffer):
        if old.dtype != new.dtype:
            yield differ(_dtypes(old.dtype, new.dtype), ".dtype")
        for kind, part in _shapes(old.shape, new.shape):
            yield differ(kind, part)
    elif isinstance(old, RefArray) and isinstance(new, RefArray):
        if isinstance(old.element, Null) and isinstance(new.element, Null):
            yield differ("unknown", ".element")
        yield from _types(old.element, new.element, f"{path}.element")
        for kind, part in _shapes(old.shape, new.shape):
            yield differ(kind, part)
    elif isinstance(old, HomogeneousList) and isinstance(new, HomogeneousList):
        yield from _types(old.element, new.element, f"{path}.element")
    elif (isinstance(old, List) and isinstance(new, List)) or (
        isinstance(old, Tuple) and isinstance(new, Tuple)
    ):
        yield from _values(_items(old.items), _items(new.items), path)
    elif isinstance(old, Dict) and isinstance(new, Dict):
        before, after = dict(old.items), dict(new.items)
        if (len(before), len(after)) != (len(old.items), len(new.items)):  # a key twice
            yield differ("unknown" if old == new else "changed")
            return
        yield from _values(before, after, path)
        if _reordered(before, after):
            yield differ("reordered")
    elif isinstance(old, Ref) and isinstance(new, Ref):
        yield differ(_direction(old.name, new.name), ".name")
    else:
        yield differ("changed")


def _values(old: Mapping[_Key, Type], new: Mapping[_Key, Type], path: str) -> Iterator[_Difference]:
    """Yield the differences of types that have names of one scope."""
    names = [{key: _unnamed(type)[0] for key, type in side.items()} for side in (old, new)]
    moved = {place(path, key) for key in _moved(*names)}
    for difference in _slots(old, new, path, _types):
        if difference.kind == "renamed" and difference.path in moved:
            difference = difference._replace(kind="moved")
        yield difference


def _moved(old: Mapping[_Key, str | None], new: Mapping[_Key, str | None]) -> list[_Key]:
    """Return the keys at which a name was, or now is, that is elsewhere on the other side."""
    known = [set(names.values()) - {None} for names in (old, new)]
    return [
        key
        for key, name in old.items()
        if key in new and name != new[key] and (name in known[1] or new[key] in known[0])
    ]


def _has_unknown(type: Type) -> bool:
    match type:
        case Unknown():
            return True
        case Named():
            return _has_unknown(type.type)
        case RefArray(Null()):  # written for elements that the compiler has no name for
            return True
        case HomogeneousList(element) | RefArray(element):
            return _has_unknown(element)
        case List(items) | Tuple(items):
            return any(map(_has_unknown, items))
        case Dict(pairs):
            return any(_has_unknown(item) for _, item in pairs)
    return False


def _unnamed(type: Type) -> tuple[str | None, Type]:
    return (type.name, type.type) if isinstance(type, Named) else (None, type)


def _dtypes(old: DType, new: DType) -> ChangeKind:
    kinds = {old.kind, new.kind}
    integers = "signless" in kinds and kinds <= {"signless", "signed", "unsigned"}
    return "untold" if integers and old.bits == new.bits else "changed"


def _shapes(old: _Shape, new: _Shape) -> Iterator[tuple[ChangeKind, str]]:
    """Yield the kind and the part of each difference of two shapes."""
    if old is None or new is None or len(old) != len(new):
        if old != new:
            yield _direction(old, new), ".shape"
        return
    found = [
        (_direction(old_dim, new_dim), f".shape[{axis}]")
        for axis, (old_dim, new_dim) in enumerate(zip(old, new, strict=True))
        if old_dim != new_dim
    ]
    kinds = {kind for kind, _ in found}
    if found and len(old) > _DIMS:
        found = [(kinds.pop() if len(kinds) == 1 else "changed", ".shape")]
    yield from found


_DIMS = 8
"""The most dims of a shape that are compared one by one: each difference shows the whole type."""


def _direction(old: object | None, new: object | None) -> ChangeKind:
    """Return the kind of change of a value for which None is the widest."""
    return "widened" if new is None else "narrowed" if old is None else "changed"


# -------------------------------------------------------------------------------- structures

_Walk: TypeAlias = Callable[[_T, _T, str], Iterator[_Difference]]


def _slots(
    old: Mapping[_Key, _T], new: Mapping[_Key, _T], path: str, walk: _Walk[_T]
) -> Iterator[_Difference]:
    """Yield the differences of the values of each key, and the keys of one side only."""
    for key, value in old.items():
        if key in new:
            yield from walk(value, new[key], place(path, key))
        else:
            yield _Difference("removed", place(path, key), value, None)
    for key, value in new.items():
        if key not in old:
            yield _Difference("added", place(path, key), None, value)


def _items(values: tuple[_T, ...]) -> dict[int, _T]:
    return dict(enumerate(values))


def _reordered(old: Mapping[_Key, object], new: Mapping[_Key, object]) -> bool:
    """Return whether the keys of both sides are in different orders."""
    return [key for key in old if key in new] != [key for key in new if key in old]


def _nodes(old: sip.Node | None, new: sip.Node | None, path: str) -> Iterator[_Difference]:
    if isinstance(old, sip.Sequence) and isinstance(new, sip.Sequence):
        yield from _slots(dict(old.children), dict(new.children), path, _nodes)
    elif isinstance(old, sip.Dict) and isinstance(new, sip.Dict):
        before, after = dict(old.children), dict(new.children)
        yield from _slots(before, after, path, _nodes)
        if _reordered(before, after):
            yield _Difference("reordered", path, old, new)
    elif old != new:
        yield _Difference("changed", path, old, new)


# -------------------------------------------------------------------------------------- text
