"""The types of functions that a library of TVM-FFI's C ABI describes in JSON.

Beside a function a library may export its metadata, ``{"type_schema": "<JSON text>"}``, where
the inner text is the schema of a type, here of a function's::

    >>> from fnabi import schema
    >>> texts = '{"type":"ffi.Array","args":[{"type":"ffi.String"}]}'
    >>> function = schema.parse_type('{"type":"ffi.Function","args":[{"type":"int"},%s]}' % texts)
    >>> print(function)
    (ffi.Array<ffi.String>) -> int
    >>> print(schema.signature(function))
    (arg0: Sequence[str], /) -> int

A schema is an object with the name of a ``type`` and those of its arguments. Functions have been
written in two forms: ``args`` with the result first and the parameters after it, and
``named_args`` with the groups ``return`` and ``params``. Keys other than these and ``fallback``
are passed over.
"""

from __future__ import annotations

import re
from inspect import Parameter, Signature
from typing import Final, TypeAlias, TypeVar

import msgspec

from fnabi import _core
from fnabi._fnabi import lib
from fnabi.errors import FormatError, excerpt

__all__ = [
    "FunctionSchema",
    "Hint",
    "Metadata",
    "Schema",
    "TypeSchema",
    "parse",
    "parse_type",
    "signature",
]

_T = TypeVar("_T")

_FUNCTIONS = ("ffi.Function", "std::function")
_DEPTH: Final[int] = lib.FNABI_DEPTH_MAX


class Hint(str):
    """A type as Python's hints have it, shown without quotes by `inspect.Signature`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class TypeSchema(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """Any type but that of a function whose result is known.

    Attributes:
        name: As libraries spell it, such as ``"int"``, ``"ffi.Array"``, ``"Optional"``.
        args: The types that it is made of; a number where it has a length.
        named: The same in groups with names.
        fallback: What to take it for where its name is not known, or None.

    """

    name: str
    args: tuple[TypeSchema | FunctionSchema | int, ...] = ()
    named: tuple[tuple[str, tuple[TypeSchema | FunctionSchema, ...]], ...] = ()
    fallback: TypeSchema | FunctionSchema | None = None

    def __str__(self) -> str:
        parts = [str(arg) for arg in self.args]
        parts += [f"{name}: [{', '.join(map(str, types))}]" for name, types in self.named]
        return f"{self.name}<{', '.join(parts)}>" if parts else self.name

    def hint(self, *, result: bool = False) -> Hint:
        """The type as a hint, of an argument or of a result.

        Arguments may be Python's own sequences and mappings; results are those of this package.
        """
        return Hint(_hint(self, result))


class FunctionSchema(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """The type of a function.

    Attributes:
        result: The type of its result.
        params: The types of its parameters, or None where only the result is known.
        name: The name of the type.

    """

    result: TypeSchema | FunctionSchema
    params: tuple[TypeSchema | FunctionSchema, ...] | None
    name: str = "ffi.Function"

    def __str__(self) -> str:
        params = "..." if self.params is None else ", ".join(map(str, self.params))
        return f"({params}) -> {self.result}"

    def hint(self, *, result: bool = False) -> Hint:
        """The type as a hint, as `TypeSchema.hint` gives it."""
        return Hint(_hint(self, result))


Schema: TypeAlias = TypeSchema | FunctionSchema


class Metadata(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """What a library says of a function.

    Attributes:
        schema: Its type; a `TypeSchema` where it is not known what it takes and gives.
        extra: Other keys with the JSON text of their values.

    """

    schema: TypeSchema | FunctionSchema
    extra: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return str(self.schema)


# --------------------------------------------------------------------------------- parsing


class _Node(msgspec.Struct):
    type: str
    args: list[_Node | list[_Node] | int] = []
    named_args: dict[str, list[_Node]] | None = None
    fallback: _Node | None = None


_metadata_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_text_decoder = msgspec.json.Decoder(str)
_node_decoder = msgspec.json.Decoder(_Node)


def parse(metadata: str | bytes | bytearray | memoryview) -> Metadata:
    """Read the metadata of a function, what a symbol ``__tvm_ffi__metadata_f`` gives.

    Raises:
        FormatError: when it is not well-formed, or no schema. Within the schema the offset is
            one in its text, and the path begins with ``type_schema``.
        CallError: when `metadata` is neither text nor bytes.

    """
    data = _core.text_bytes(metadata, "schema.parse", "metadata")
    keys = _decode(_metadata_decoder, data, "", lib.FNABI_SCHEMA_METADATA)
    if "type_schema" not in keys:
        raise _error(lib.FNABI_SCHEMA_METADATA, data, 0, "", "type_schema")
    inner = bytes(keys.pop("type_schema"))
    text = _decode(_text_decoder, inner, "type_schema", lib.FNABI_SCHEMA_METADATA)
    extra = tuple((key, bytes(value).decode()) for key, value in keys.items())
    return Metadata(_parse(text.encode(), "type_schema"), extra)


def parse_type(text: str | bytes | bytearray | memoryview) -> TypeSchema | FunctionSchema:
    """Read the schema of a type.

    Raises:
        FormatError: when it is not well-formed, or no schema.
        CallError: when `text` is neither text nor bytes.

    """
    return _parse(_core.text_bytes(text, "schema.parse_type"), "")


def _parse(data: bytes, path: str) -> Schema:
    node = _decode(_node_decoder, data, path, lib.FNABI_SCHEMA_TYPE)
    return _Builder(data).build(node, path, 0)


class _Builder:
    """Makes schemas of nodes, and errors that say where they cannot be made."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def refuse(
        self, path: str, expected: str | None, code: int = lib.FNABI_SCHEMA_TYPE
    ) -> FormatError:
        return _error(code, self.data, 0, path, expected)

    def build(self, node: _Node, path: str, depth: int) -> Schema:
        if depth >= _DEPTH:
            raise self.refuse(path, None, lib.FNABI_DEPTH)
        if not node.type:
            raise self.refuse(_join(path, "type"), "a name")
        named = self.groups(node, path, depth)
        if node.type in _FUNCTIONS:
            return self.function(node, named, path, depth)
        args: list[Schema | int] = []
        for index, arg in enumerate(node.args):
            place = _join(path, f"args[{index}]")
            if isinstance(arg, list):
                raise self.refuse(place, "a type or a number")
            args.append(arg if isinstance(arg, int) else self.build(arg, place, depth + 1))
        fallback = None
        if node.fallback is not None:
            fallback = self.build(node.fallback, _join(path, "fallback"), depth + 1)
        return TypeSchema(node.type, tuple(args), tuple(named.items()), fallback)

    def groups(self, node: _Node, path: str, depth: int) -> dict[str, tuple[Schema, ...]]:
        return {
            name: self.types(group, _join(path, f"named_args.{name}"), depth)
            for name, group in (node.named_args or {}).items()
        }

    def types(self, nodes: list[_Node], path: str, depth: int) -> tuple[Schema, ...]:
        return tuple(
            self.build(node, f"{path}[{index}]", depth + 1) for index, node in enumerate(nodes)
        )

    def function(
        self, node: _Node, named: dict[str, tuple[Schema, ...]], path: str, depth: int
    ) -> Schema:
        if node.named_args is not None:
            place = _join(path, "named_args")
            if node.args or named.keys() - {"return", "params"}:
                raise self.refuse(place, '"return" and "params" alone')
            if len(named.get("return", ())) != 1:
                raise self.refuse(place, 'one type in "return"')
            return FunctionSchema(named["return"][0], named.get("params"), node.type)
        if not node.args:
            return TypeSchema(node.type)
        types = node.args
        nested = types[1] if len(types) == 2 else None
        place = _join(path, "args[0]")
        flat: list[_Node] = []
        for index, arg in enumerate(types[:1] if isinstance(nested, list) else types):
            if not isinstance(arg, _Node):
                raise self.refuse(_join(path, f"args[{index}]"), "a type")
            flat.append(arg)
        if isinstance(nested, list):
            params: tuple[Schema, ...] | None = self.types(nested, _join(path, "args[1]"), depth)
            return FunctionSchema(self.build(flat[0], place, depth + 1), params, node.type)
        result, *rest = self.types(flat, _join(path, "args"), depth)
        return FunctionSchema(result, tuple(rest) or None, node.type)


def _join(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _decode(decoder: msgspec.json.Decoder[_T], data: bytes, path: str, code: int) -> _T:
    try:
        data.decode()
        return decoder.decode(data)
    except msgspec.ValidationError as problem:
        text, _, place = str(problem).partition(" - at `$")
        place = place.removesuffix("`").removeprefix(".")
        found = re.search(r"Expected `(.*?)`|required field `(.*?)`", text)
        expected = (found[1] or found[2]) if found else text
        raise _error(code, data, 0, _join(path, place) if place else path, expected) from None
    except UnicodeDecodeError as problem:
        raise _error(lib.FNABI_JSON_UTF8, data, problem.start, path, None) from None
    except msgspec.DecodeError as problem:
        at = re.search(r"(trailing characters )?\(byte (\d+)\)", str(problem))
        offset = int(at[2]) - bool(at[1]) if at else len(data)  # a byte too far, these
        raise _error(lib.FNABI_JSON, data, offset, path, None) from None
    except RecursionError:
        raise _error(lib.FNABI_DEPTH, data, 0, path, None) from None


def _error(code: int, data: bytes, offset: int, path: str, expected: str | None) -> FormatError:
    return FormatError(
        _core.code_name(code),
        offset,
        path,
        reason=_core.code_text(code),
        expected=expected,
        excerpt=excerpt(data, offset),
    )


# ------------------------------------------------------------------------------- signatures

_HINTS = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "None": "None",
    "Any": "Any",
    "void*": "c_void_p",
    "DataType": "DType",
    "Device": "Device",
    "DLTensor*": "Tensor",
    "const char*": "str",
    "std::string": "str",
    "TVMFFIByteArray*": "bytes",
    "ffi.String": "str",
    "ffi.SmallStr": "str",
    "ffi.Bytes": "bytes",
    "ffi.SmallBytes": "bytes",
    "ffi.BigInt": "int",
    "ffi.Tensor": "Tensor",
    "ffi.Shape": "Shape",
    "ffi.Error": "Exception",
    "ffi.Function": "Callable[..., Any]",
    "std::function": "Callable[..., Any]",
    "ffi.Object": "Any",
    "ffi.OpaquePyObject": "Any",
}

_SEQUENCES = {
    "ffi.Array": "Array",
    "ffi.List": "List",
    "std::vector": "Array",
    "std::array": "Array",
}

_MAPPINGS = {
    "ffi.Map": "Map",
    "ffi.Dict": "Dict",
    "std::map": "Map",
    "std::unordered_map": "Map",
}


def _hint(schema: Schema, result: bool) -> str:
    if isinstance(schema, FunctionSchema):  # what it takes is given, and the other way round
        params = "..."
        if schema.params is not None:
            params = f"[{', '.join(_hint(each, not result) for each in schema.params)}]"
        return f"Callable[{params}, {_hint(schema.result, result)}]"
    name = schema.name
    args = [_hint(arg, result) for arg in schema.args if not isinstance(arg, int)]
    if name in _HINTS:
        return _HINTS[name]
    if name in _SEQUENCES or name in _MAPPINGS:
        own = "Sequence" if name in _SEQUENCES else "Mapping"
        return _generic((_SEQUENCES | _MAPPINGS)[name] if result else own, args)
    if name in ("Tuple", "std::tuple"):
        return f"tuple[{', '.join(args) or '()'}]"
    if name in ("Optional", "std::optional") and args:
        return _either([args[0], "None"])
    if name in ("Variant", "std::variant") and args:
        return _either(args)
    if name in ("Expected", "ObjectRValueRef") and args:  # the error of the former is raised
        return args[0]
    if schema.fallback is not None:
        return _hint(schema.fallback, result)
    dotted = all(part.isidentifier() for part in name.split("."))
    return _generic(name, args) if dotted else "Any"


def _generic(name: str, args: list[str]) -> str:
    return f"{name}[{', '.join(args)}]" if args else name


def _either(hints: list[str]) -> str:
    """Alternatives, each once, None last."""
    parts = dict.fromkeys(part for hint in hints for part in _alternatives(hint))
    if parts.pop("None", "") is None:
        parts["None"] = None
    return " | ".join(parts)


def _alternatives(hint: str) -> list[str]:
    """The parts of a hint between bars, but for those within brackets."""
    parts, depth = [""], 0
    for character in hint:
        depth += (character == "[") - (character == "]")
        if character == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def signature(schema: TypeSchema | FunctionSchema) -> Signature:
    """The signature of a function for `inspect`: parameters by position, with hints.

    The ABI has no names of parameters; they are ``arg0`` and so on. Where the parameters are not
    known there is ``*args``.
    """
    if not isinstance(schema, FunctionSchema):
        schema = FunctionSchema(TypeSchema("Any"), None)
    if schema.params is None:
        parameters = [Parameter("args", Parameter.VAR_POSITIONAL, annotation=Hint("Any"))]
    else:
        parameters = [
            Parameter(f"arg{index}", Parameter.POSITIONAL_ONLY, annotation=each.hint())
            for index, each in enumerate(schema.params)
        ]
    return Signature(parameters, return_annotation=schema.result.hint(result=True))
