"""Types and structures as the page's data has them: arrays that begin with the kind.

``types.js`` has the other side of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fnabi import types
from fnabi.abi import sip
from fnabi.calls.schema import FunctionSchema, Schema
from fnabi.vmfb import Export
from fnabi.vmfb._infer import Proofs, symbol_name

_SAFE = (1 << 53) - 1
"""The largest integer that is exact in JavaScript; larger ones are texts in the data of a page."""


def exact(number: int | None) -> int | str | None:
    """Return a number, or the text of one that JavaScript would round."""
    return number if number is None or number <= _SAFE else str(number)


def _shape(shape: tuple[int | None, ...] | None) -> tuple[int | str | None, ...] | None:
    return None if shape is None else tuple(map(exact, shape))


def type_value(type: types.Type) -> list[Any]:
    """Return a type; dims are numbers, or null for a dynamic one."""
    match type:
        case types.Scalar(dtype):
            return ["scalar", str(dtype)]
        case types.Buffer(dtype, shape):
            return ["buffer", str(dtype), _shape(shape)]
        case types.Ref(name):
            return ["ref", name]
        case types.RefArray(element, shape):
            return ["array", type_value(element), _shape(shape)]
        case types.List(items):
            return ["list", [type_value(each) for each in items]]
        case types.Tuple(items):
            return ["tuple", [type_value(each) for each in items]]
        case types.Dict(pairs):
            return ["dict", [[key, type_value(each)] for key, each in pairs]]
        case types.HomogeneousList(element):
            return ["many", type_value(element)]
        case types.Named(name, inner):
            return ["named", name, type_value(inner)]
        case types.Null():
            return ["null"]
        case types.Unknown():
            return ["unknown"]


def signature_value(signature: types.Signature, proofs: Proofs | None = None) -> list[Any]:
    """Return inputs and results; dims that the bytecode proves equal are the same letter."""
    sides = []
    for side in ("inputs", "results"):
        values = [type_value(each) for each in getattr(signature, side)]
        symbols = () if proofs is None else proofs.dims[side == "results"]
        for value, named in zip(values, symbols, strict=False):
            if value[0] == "buffer" and value[2] is not None and named is not None:
                value[2] = [
                    symbol_name(symbol) if dim is None and symbol is not None else dim
                    for dim, symbol in zip(value[2], named, strict=True)
                ]
        sides.append(values)
    return sides


def export_signature(export: Export) -> list[Any]:
    """Return the signature of an export; raises as `Export.signature` does."""
    return signature_value(export.signature, export.proofs if export.source == "bytecode" else None)


def sip_value(node: sip.Node | None) -> list[Any] | None:
    """Return a structure whose leaves are indexes of the flat list."""
    match node:
        case None:
            return None
        case sip.Leaf(index):
            return ["leaf", index]
        case sip.Sequence(children):
            return ["sequence", [[key, sip_value(each)] for key, each in children]]
        case sip.Dict(children):
            return ["dict", [[key, sip_value(each)] for key, each in children]]


def schema_value(schema: Schema) -> list[Any]:
    """Return the type of a library's function, or of one of its parameters."""
    if isinstance(schema, FunctionSchema):
        params = None if schema.params is None else [schema_value(each) for each in schema.params]
        return ["function", params, schema_value(schema.result)]
    args: list[Any] = [
        each if isinstance(each, int) else schema_value(each) for each in schema.args
    ]
    args += [
        ["group", name, [schema_value(each) for each in group]] for name, group in schema.named
    ]
    return ["schema", schema.name, args]


# What a page shows without JavaScript, where types.js cannot make these texts.


def signature_text(signature: list[Any]) -> str:
    """Return the text of a signature."""
    inputs, results = signature
    return f"({_all(inputs)}) -> ({_all(results)})"


def type_text(type: list[Any]) -> str:
    """Return the text of a type."""
    match type:
        case ["scalar", dtype]:
            return str(dtype)
        case ["buffer", dtype, shape]:
            return f"{dtype}[{_shape_text(shape)}]"
        case ["ref", name]:
            return f"ref<{'?' if name is None else name}>"
        case ["array", element, shape]:
            return f"array<{type_text(element)}>[{_shape_text(shape)}]"
        case ["list", items]:
            return f"[{_all(items)}]"
        case ["tuple", items]:
            return f"({_all(items)}{',' if len(items) == 1 else ''})"
        case ["dict", pairs]:
            return f"{{{', '.join(f'{key}: {type_text(each)}' for key, each in pairs)}}}"
        case ["many", element]:
            return f"list<{type_text(element)}>"
        case ["named", name, inner]:
            return f"{name}: {type_text(inner)}"
        case ["null"]:
            return "null"
    return "?"


def _all(types: list[list[Any]]) -> str:
    return ", ".join(map(type_text, types))


def _shape_text(shape: Sequence[int | str | None] | None) -> str:
    if shape is None:
        return "*"
    return "x".join("?" if dim is None else str(dim) for dim in shape)


def schema_text(schema: list[Any] | int) -> str:
    """Return the text of a type of a library's function."""
    match schema:
        case ["function", params, result]:
            types = "..." if params is None else ", ".join(map(schema_text, params))
            return f"({types}) -> {schema_text(result)}"
        case ["group", name, types]:
            return f"{name}: [{', '.join(map(schema_text, types))}]"
        case ["schema", name, args]:
            return f"{name}<{', '.join(map(schema_text, args))}>" if args else str(name)
    return str(schema)
