"""Generate a typed Python client of a compiled module."""

from __future__ import annotations

from fnabi import types
from fnabi._base.names import Names, identifier
from fnabi._base.text import one_line
from fnabi._base.version import VERSION
from fnabi.run.client import Client, without_fences
from fnabi.stub._code import Stub, docstring, function, indented, listing, literal, location, remark
from fnabi.stub._hints import RESERVED, imports_of
from fnabi.stub._interface import Entry, InexpressibleError, Interface, Value, driver

_NUMPY = frozenset(
    f"{kind}{bits}"
    for kind, widths in (
        ("int", (8, 16, 32, 64)),
        ("uint", (8, 16, 32, 64)),
        ("float", (16, 32, 64)),
        ("complex", (64, 128)),
        ("bool_", ("",)),
    )
    for bits in widths
)
"""The names of NumPy's own types of elements; those of ml_dtypes are no types for a checker."""

OWN = RESERVED | {"Client", "types", "without_numpy", *dir(Client), "_context", "_invokers"}
"""The names of the module and of its class that no function may hide."""


def client(interface: Interface, output: str | None) -> Stub:
    """Generate a Python module with a class that has a method for each function.

    Args:
        interface: The functions, whose identifiers avoid `OWN`.
        output: The path of the generated module, to which a file beside it is relative.

    """
    notices = list(interface.omitted)
    called = []
    for entry in interface.entries:
        try:
            entry.registers()
        except InexpressibleError as problem:
            notices.append(f"{literal(entry.export.name)} has no method: {problem}")
        else:
            called.append(entry)
    asynchronous = [entry.export.name for entry in called if entry.export.is_async]
    scope = Names(reserved=OWN)
    name = scope.add(_class_name(interface.name), "Module")
    for entry in called:  # a method would hide a structure of its name from the hints in the class
        scope.add(entry.identifier)
    structures = _Structures(scope)
    methods = [line for entry in called for line in ("", *_method(entry, structures))]
    where, _ = location(interface.path, output)
    body = [
        *structures.lines,
        "",
        "",
        f"class {name}(Client):",
        *indented(docstring(f"The module {interface.name!r}, loaded into ``iree.runtime``.")),
        "",
        f"    MODULE = {where}",
        '    """The path of the module that the client was generated for."""',
        "",
        f"    DRIVER = {literal(driver(interface.module) or 'local-task')}",
        "",
        "    SIGNATURES = {",
        *indented(indented(line for entry in called for line in _signature(entry))),
        "    }",
        *(["", *indented(listing("ASYNCHRONOUS", asynchronous))] if asynchronous else []),
        *indented(methods),
    ]
    if notices or interface.internal:
        body += ["", "", *(remark(each) for each in interface.left_out(notices))]
    imports, numpy = _imports(body)
    lines = [
        *docstring(
            f"Client of the module {interface.name!r} in {one_line(interface.file)}",
            f"Written by fnabi {VERSION} (fnabi stub); write it again instead of editing.",
        ),
        "",
        "from __future__ import annotations",
        "",
        *imports,
        "from fnabi import types",
        f"from fnabi.run.client import Client{', without_numpy' if numpy else ''}",
        *numpy,
        *body,
    ]
    return Stub("\n".join(lines) + "\n", tuple(notices))


def _imports(body: list[str]) -> tuple[list[str], list[str]]:
    """Return the imports that code needs, and apart those of NumPy, which may be missing."""
    imports = imports_of(body)
    numpy = [line for line in imports if "numpy" in line]
    if not numpy:
        return imports, []
    guarded = [
        *("", "try:", *indented(numpy), "except ImportError as problem:"),
        "    raise without_numpy(__name__, problem) from None",
    ]
    return imports[: imports.index(numpy[0])], guarded


def _class_name(name: str) -> str:
    parts = [part for part in identifier(name).split("_") if part]
    return "".join(part[0].upper() + part[1:] for part in parts)


def _signature(entry: Entry) -> list[str]:
    signature = without_fences(entry.export)

    def side(values: tuple[types.Type, ...]) -> list[str]:
        if not values:
            return ["(),"]
        return ["(", *indented(f"{_expression(value)}," for value in values), "),"]

    return [
        f"{literal(entry.export.name)}: types.Signature(",
        *indented([*side(signature.inputs), *side(signature.results)]),
        "),",
    ]


def _expression(type: types.Type) -> str:
    """Return the expression of a type, with its classes qualified."""
    match type:
        case types.Named(name, inner):
            return f"types.Named({literal(name)}, {_expression(inner)})"
        case types.Scalar(dtype):
            return f"types.Scalar({_dtype(dtype)})"
        case types.Buffer(dtype, shape):
            return f"types.Buffer({_dtype(dtype)}, {shape!r})"
        case types.Ref(name):
            return f"types.Ref({'' if name is None else literal(name)})"
        case types.RefArray(element, shape):
            return f"types.RefArray({_expression(element)}, {shape!r})"
        case types.HomogeneousList(element):
            return f"types.HomogeneousList({_expression(element)})"
        case types.List(items) | types.Tuple(items):
            slots = "".join(f"{_expression(item)}, " for item in items).rstrip()
            return f"types.{type.__class__.__name__}(({slots}))"
        case types.Dict(pairs):
            slots = "".join(f"({literal(key)}, {_expression(item)}), " for key, item in pairs)
            return f"types.Dict(({slots.rstrip()}))"
    return f"types.{type.__class__.__name__}()"


def _dtype(dtype: types.DType) -> str:
    fields = [literal(dtype.kind), str(dtype.bits), literal(dtype.format), str(dtype.lanes)]
    if dtype.lanes == 1:
        fields = fields[: 3 if dtype.format else 2]
    return f"types.DType({', '.join(fields)})"


class _Structures:
    """The classes of dicts with known keys, which the client needs."""

    def __init__(self, scope: Names) -> None:
        self._scope = scope
        self._names: dict[tuple[tuple[str, str], ...], str] = {}
        self.lines: list[str] = []

    def name(self, fields: tuple[tuple[str, str], ...], wanted: str) -> str:
        """Return the name of the class with these keys and hints."""
        found = self._names.get(fields)
        if found is None:
            found = self._names[fields] = self._scope.add(_class_name(wanted), "Structure")
            self.lines += ["", "", f"{found} = TypedDict(", f"    {literal(found)},", "    {"]
            self.lines += [f"        {literal(key)}: {hint}," for key, hint in fields]
            self.lines += ["    },", ")"]
        return found

    def hint(self, type: types.Type, wanted: str, result: bool) -> str:
        """Return the hint of a type; a structure in it is named after `wanted`."""
        match type:
            case types.Scalar(dtype):
                kinds = {"float": "float", "bfloat": "float", "bool": "bool"}
                return kinds.get(dtype.kind, "int")
            case types.Buffer(dtype):
                return _array(dtype)
            case types.Null():
                return "None"
            case types.Tuple(items):
                slots = ", ".join(
                    self.hint(item, f"{wanted}_{index}", result) for index, item in enumerate(items)
                )
                return f"tuple[{slots or '()'}]"
            case types.List(items):
                hints = dict.fromkeys(
                    self.hint(item, f"{wanted}_{index}", result) for index, item in enumerate(items)
                )
                slots = " | ".join(hints) or "Any"
                return f"{'list' if result else 'Sequence'}[{slots}]"
            case types.HomogeneousList(element):
                slots = self.hint(element, f"{wanted}_item", result)
                return f"{'list' if result else 'Sequence'}[{slots}]"
            case types.Dict(pairs) if len(dict(pairs)) == len(pairs):
                fields = tuple(
                    (key, self.hint(item, f"{wanted}_{key}", result)) for key, item in pairs
                )
                return self.name(fields, wanted)
        return "Any"


def _array(dtype: types.DType) -> str:
    if dtype.kind == "signless" and dtype.bits in (8, 16, 32, 64):
        return f"npt.NDArray[np.int{dtype.bits}] | npt.NDArray[np.uint{dtype.bits}]"
    name = {"bool": "bool_", "index": "int64"}.get(dtype.kind, str(dtype))
    return f"npt.NDArray[np.{name}]" if name in _NUMPY else "npt.NDArray[Any]"


def _method(entry: Entry, structures: _Structures) -> list[str]:
    name = entry.identifier

    def hint(value: Value, result: bool) -> str:
        return structures.hint(value.type, f"{name}_{value.identifier}", result)

    declared = [f"{value.identifier}: {hint(value, False)}" for value in entry.inputs]
    hints = [hint(value, True) for value in entry.results]
    result = ("None", *hints)[-1] if len(hints) < 2 else f"tuple[{', '.join(hints)}]"
    passed = "".join(f", {value.identifier}" for value in entry.inputs)
    call = f"self._call({literal(entry.export.name)}{passed})"
    variable = Names([value.identifier for value in entry.inputs]).add("result")
    if result == "None":
        body = [call]
    elif result == "Any":
        body = [f"return {call}"]
    else:
        body = [f"{variable}: {result} = {call}", f"return {variable}"]
    about = [f"Source: {entry.export.source}."]
    for index, stored in sorted(entry.export.result_storage.items()):
        if index < len(entry.inputs):
            about.append(f"{entry.inputs[index].identifier} is the storage of result {stored}.")
    doc = docstring(entry.title, " ".join(about))
    return function(name, ["self", *declared], result, body, doc)
