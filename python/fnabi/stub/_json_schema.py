"""Generate JSON Schema of the inputs and results of a module's functions.

The schema of a function ``f`` is ``$defs/f``: an object with ``inputs`` and ``results``, which are
objects with a property for each value. An array is nested lists, one level for each dim; of more
than 32 dims, the schema has the outermost alone. Numbers are those of their dtype, but integers of
more than 4096 bits have no bounds; JSON has no infinity and no NaN, which are strings. A complex
number is a pair.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fnabi import types
from fnabi._base.names import Names
from fnabi._base.version import VERSION
from fnabi.stub._code import Stub, literal
from fnabi.stub._interface import Entry, Interface, Value

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PREFIX = "#/$defs/"
_DIMS = 32
"""The most dims that are nested, for readers of JSON use recursion."""

_LEVELS = 64
"""The most levels that are indented: in deeper ones, the spaces would outweigh the rest."""

_BITS = 4096
"""The most bits of integers with bounds; Python writes none of more than 4300 digits."""

_REALS = ("float", "bfloat", "complex")
_FLOAT_TEXTS = ["NaN", "Infinity", "-Infinity"]


def json_schema(interface: Interface) -> Stub:
    """Generate a JSON Schema with a definition for each function."""
    notices = list(interface.omitted)
    definitions = _Definitions(entry.export.name for entry in interface.entries)
    functions: dict[str, Any] = {}
    for entry in interface.entries:
        functions[entry.export.name] = {
            "description": entry.title,
            "type": "object",
            "properties": {
                "inputs": definitions.values(entry, entry.inputs, notices),
                "results": definitions.values(entry, entry.results, notices),
            },
            "required": ["inputs", "results"],
        }
    about = [f"Functions of {interface.file}, written by fnabi {VERSION}."]
    schema = {
        "$schema": _DIALECT,
        "title": interface.name,
        "$comment": " ".join(about + interface.left_out(notices)),
        "$defs": functions | definitions.found,
    }
    indent = 2 if _levels(schema) <= _LEVELS else None
    return Stub(json.dumps(schema, indent=indent) + "\n", tuple(notices))


def _levels(schema: object) -> int:
    levels = 0
    inside: list[Any] = [schema]
    while inside:
        levels += 1
        inside = [
            part
            for each in inside
            for part in (each.values() if isinstance(each, dict) else each)
            if isinstance(part, dict | list)
        ]
    return levels


class _Definitions:
    """The schemas that others refer to.

    Args:
        taken: Names that other definitions have.

    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._names = Names(taken)
        self._dtypes: dict[tuple[str, bool], dict[str, Any]] = {}
        self._loose: list[str] = []
        self.found: dict[str, Any] = {}

    def values(self, entry: Entry, values: tuple[Value, ...], notices: list[str]) -> dict[str, Any]:
        """Return the schema of the object with all arguments or all results."""
        properties: dict[str, Any] = {}
        others = Names()
        for index, value in enumerate(values):
            name = value.name
            while name in properties:
                name = others.add(value.identifier)
            if name != value.name:
                notices.append(
                    f"{literal(entry.export.name)} has two values named {literal(value.name)};"
                    f" the second is {literal(name)}"
                )
            properties[name] = self.type(value.type) | {"x-fnabi-index": index}
            place = f"{literal(entry.export.name)}: {literal(value.name)}: "
            notices += [place + each for each in self._loose]
            self._loose.clear()
        return _object(properties)

    def type(self, type: types.Type) -> dict[str, Any]:
        """Return the schema of a type."""
        match type:
            case types.Scalar(dtype):
                return self._element(dtype)
            case types.Buffer(dtype, shape):
                found = self._array(dtype, shape)
                return found | {"description": str(type), "x-fnabi-dtype": str(dtype)}
            case types.List(items) | types.Tuple(items):
                slots = [self.type(item) for item in items]
                found = {"type": "array", "minItems": len(items), "maxItems": len(items)}
                return found | ({"prefixItems": slots} if slots else {})
            case types.Dict(pairs) if len(dict(pairs)) == len(pairs):
                return _object({key: self.type(item) for key, item in pairs})
            case types.HomogeneousList(element):
                return {"type": "array", "items": self.type(element)}
            case types.RefArray(element, shape) if shape is not None:
                return self._nested(self.type(element), shape) | {"description": str(type)}
            case types.Null():
                return {"type": "null"}
        self._loose.append(f"JSON has no {type}; the schema allows any value")
        return {"description": f"{type}: any value"}

    def _array(self, dtype: types.DType, shape: tuple[int | None, ...] | None) -> dict[str, Any]:
        if shape is not None:
            return self._nested(self._element(dtype), shape)
        key = str(dtype), True
        if key not in self._dtypes:
            name = self._names.add(f"array_of_{dtype}")
            reference = self._dtypes[key] = {"$ref": _PREFIX + name}
            element = self._element(dtype)
            self.found[name] = {"anyOf": [element, {"type": "array", "items": reference}]}
        return self._dtypes[key]

    def _nested(self, element: dict[str, Any], shape: tuple[int | None, ...]) -> dict[str, Any]:
        found = element
        if len(shape) > _DIMS:
            found, shape = {}, shape[:1]
            self._loose.append(f"more than {_DIMS} dims; the schema has the first alone")
        for dim in reversed(shape):
            found = {"type": "array", "items": found}
            if dim is not None:
                found |= {"minItems": dim, "maxItems": dim}
        return found

    def _element(self, dtype: types.DType) -> dict[str, Any]:
        if dtype.kind not in _REALS and dtype.bits > _BITS:
            self._loose.append(f"{dtype} has more than {_BITS} bits; the schema has no bounds")
            return {"type": "integer"}
        key = str(dtype), False
        if key not in self._dtypes:
            schema = _number(dtype)
            if dtype.kind == "bool":
                self._dtypes[key] = schema
            else:
                name = self._names.add(str(dtype))
                self._dtypes[key] = {"$ref": _PREFIX + name}
                self.found[name] = schema
        return self._dtypes[key]


def _number(dtype: types.DType) -> dict[str, Any]:
    if dtype.kind == "bool":
        return {"type": "boolean"}
    if dtype.kind in _REALS:
        real = {"anyOf": [{"type": "number"}, {"enum": _FLOAT_TEXTS}]}
        if dtype.kind != "complex":
            return real
        pair = {"prefixItems": [real, real], "minItems": 2, "maxItems": 2}
        return {"type": "array"} | pair
    bits = 64 if dtype.kind == "index" else dtype.bits
    low = 0 if dtype.kind in ("unsigned", "handle") else -(1 << bits - 1)
    high = (1 << bits - 1) - 1 if dtype.kind in ("signed", "index") else (1 << bits) - 1
    return {"type": "integer", "minimum": low, "maximum": high}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
