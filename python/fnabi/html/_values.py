"""Types and structures as the page's data has them: arrays that begin with the kind.

``types.js`` has the other side of it.
"""

from __future__ import annotations

from typing import Any

from fnabi import types
from fnabi.abi import sip
from fnabi.calls.schema import FunctionSchema, Schema
from fnabi.vmfb import Export
from fnabi.vmfb._infer import Proofs, symbol_name


def type_value(type: types.Type) -> list[Any]:
    """Return a type; dims are numbers, or null for a dynamic one."""
    match type:
        case types.Scalar(dtype):
            return ["scalar", str(dtype)]
        case types.Buffer(dtype, shape):
            return ["buffer", str(dtype), shape]
        case types.Ref(name):
            return ["ref", name]
        case types.RefArray(element, shape):
            return ["array", type_value(element), shape]
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
