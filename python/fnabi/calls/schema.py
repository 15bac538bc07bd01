"""Decode the types of functions, which libraries of TVM-FFI's C ABI describe in JSON.

A library may export metadata for a function, ``{"type_schema": "<JSON text>"}``. The inner text
is the schema of the function's type::

    >>> from fnabi import schema
    >>> texts = '{"type":"ffi.Array","args":[{"type":"ffi.String"}]}'
    >>> function = schema.parse_type('{"type":"ffi.Function","args":[{"type":"int"},%s]}' % texts)
    >>> print(function)
    (ffi.Array<ffi.String>) -> int
    >>> print(schema.signature(function))
    (arg0: Sequence[str], /) -> int

A schema is a JSON object with the name of a ``type`` and the schemas of its type arguments. There
are two forms for functions: ``args`` with the result first and then the parameters, and
``named_args`` with the groups ``return`` and ``params``. A schema may have a ``fallback``. Other
keys are ignored.
"""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import msgspec

from fnabi._base import core
from fnabi._base.arguments import check_items, check_type
from fnabi._fnabi import lib
from fnabi.errors import FormatError, excerpt

if TYPE_CHECKING:
    from inspect import Signature

__all__ = [
    "FunctionSchema",
    "Hint",
    "Metadata",
    "Schema",
    "Spelling",
    "TypeSchema",
    "parse",
    "parse_type",
    "signature",
]


def __dir__() -> list[str]:
    return __all__


_T = TypeVar("_T")

_FUNCTIONS = ("ffi.Function", "std::function")
_DEPTH: Final[int] = lib.FNABI_DEPTH_MAX


class Hint(str):
    """A Python type hint as text. `inspect.Signature` shows it without quotes.

    Example:
        >>> import inspect
        >>> from fnabi import schema
        >>> kind = inspect.Parameter.POSITIONAL_ONLY
        >>> inspect.Parameter("x", kind, annotation=schema.Hint("int | str"))
        <Parameter "x: int | str">

    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class TypeSchema(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """A type other than a function whose result type is known.

    Attributes:
        name: The name in the library, such as ``"int"``, ``"ffi.Array"``, ``"Optional"``.
        args: The type arguments. An int is a length.
        named: Type arguments in named groups.
        fallback: The type to use if `name` is unknown, or None.

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
        """Return the type hint for an argument, or for a result.

        Arguments may be any Python sequence or mapping; results are containers of this package.
        """
        return Hint(_SPELLING.hint(self, result))


class FunctionSchema(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """The type of a function.

    Attributes:
        result: The type of its result.
        params: The types of its parameters, or None if they are unknown.
        name: The name of the type.

    """

    result: TypeSchema | FunctionSchema
    params: tuple[TypeSchema | FunctionSchema, ...] | None
    name: str = "ffi.Function"

    def __str__(self) -> str:
        params = "..." if self.params is None else ", ".join(map(str, self.params))
        return f"({params}) -> {self.result}"

    def hint(self, *, result: bool = False) -> Hint:
        """Return the type hint, as `TypeSchema.hint` does."""
        return Hint(_SPELLING.hint(self, result))


Schema: TypeAlias = TypeSchema | FunctionSchema


class Metadata(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """The metadata of a function.

    Attributes:
        schema: Its type; a `TypeSchema` if the types of its parameters and result are unknown.
        extra: The other keys and the JSON texts of their values.

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


def parse(text: str | bytes | bytearray | memoryview) -> Metadata:
    r"""Parse metadata of a function, which its symbol ``__tvm_ffi__metadata_f`` returns.

    Raises:
        FormatError: If the JSON is malformed or is not a schema. If the error is inside the
            schema, its offset is relative to the schema's text and its path begins with
            ``type_schema``.
        CallError: If `text` is neither text nor bytes.

    Example:
        >>> from fnabi import schema
        >>> schema.parse('{"type_schema":"{\\"type\\":\\"int\\"}"}')
        Metadata(schema=TypeSchema(name='int'))

    """
    data = core.text_bytes(text, "schema.parse")
    keys = _decode(_metadata_decoder, data, "", lib.FNABI_SCHEMA_METADATA)
    if "type_schema" not in keys:
        raise _error(lib.FNABI_SCHEMA_METADATA, data, 0, "", "type_schema")
    inner = bytes(keys.pop("type_schema"))
    schema = _decode(_text_decoder, inner, "type_schema", lib.FNABI_SCHEMA_METADATA)
    extra = tuple((key, bytes(value).decode()) for key, value in keys.items())
    return Metadata(_parse(schema.encode(), "type_schema"), extra)


def parse_type(text: str | bytes | bytearray | memoryview) -> TypeSchema | FunctionSchema:
    """Parse the schema of a type.

    Raises:
        FormatError: If the JSON is malformed or is not a schema.
        CallError: If `text` is neither text nor bytes.

    Example:
        >>> from fnabi import schema
        >>> print(schema.parse_type('{"type":"Array","args":[{"type":"int"}]}'))
        Array<int>

    """
    return _parse(core.text_bytes(text, "schema.parse_type"), "")


def _parse(data: bytes, path: str) -> Schema:
    node = _decode(_node_decoder, data, path, lib.FNABI_SCHEMA_TYPE)
    return _Builder(data).build(node, path, 0)


class _Builder:
    """Builds schemas from JSON nodes, and errors with the path of the node."""

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
                raise self.refuse(place, 'only "return" and "params"')
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
        # msgspec reports trailing characters one byte too late.
        offset = int(at[2]) - bool(at[1]) if at else len(data)
        raise _error(lib.FNABI_JSON, data, offset, path, None) from None
    except RecursionError:
        raise _error(lib.FNABI_DEPTH, data, 0, path, None) from None


def _error(code: int, data: bytes, offset: int, path: str, expected: str | None) -> FormatError:
    return FormatError(
        core.code_name(code),
        offset,
        path,
        reason=core.code_text(code),
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

SEQUENCES = {
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


class Spelling:
    """How type hints spell the types of a library. A subclass may spell them differently.

    Example:
        >>> from fnabi import schema
        >>> type = schema.parse_type('{"type":"Optional","args":[{"type":"ffi.Tensor"}]}')
        >>> schema.Spelling().hint(type, result=False)
        'Tensor | None'

    """

    def plain(self, name: str, result: bool) -> str | None:
        """Return the hint of a type without type arguments, or None for any other type."""
        return _HINTS.get(name)

    def container(self, name: str, result: bool) -> str | None:
        """Return the generic of a sequence or mapping, or None for any other type."""
        if name in SEQUENCES or name in _MAPPINGS:
            own = "Sequence" if name in SEQUENCES else "Mapping"
            return (SEQUENCES | _MAPPINGS)[name] if result else own
        return None

    def other(self, name: str, args: list[str]) -> str:
        """Return the hint of a type that only the library knows."""
        dotted = all(part.isidentifier() for part in name.split("."))
        return _generic(name, args) if dotted else "Any"

    def hint(self, schema: Schema, result: bool) -> str:
        """Return the hint of an argument or a result."""
        if isinstance(schema, FunctionSchema):  # its parameters are results for the caller
            params = "..."
            if schema.params is not None:
                params = f"[{', '.join(self.hint(each, not result) for each in schema.params)}]"
            return f"Callable[{params}, {self.hint(schema.result, result)}]"
        name = schema.name
        args = [self.hint(arg, result) for arg in schema.args if not isinstance(arg, int)]
        plain = self.plain(name, result)
        if plain is not None:
            return plain
        generic = self.container(name, result)
        if generic is not None:
            return _generic(generic, args)
        if name in ("Tuple", "std::tuple"):
            return f"tuple[{', '.join(args) or '()'}]"
        if name in ("Optional", "std::optional") and args:
            return _either([args[0], "None"])
        if name in ("Variant", "std::variant") and args:
            return _either(args)
        if name in ("Expected", "ObjectRValueRef") and args:  # an Expected's error is raised
            return args[0]
        if schema.fallback is not None:
            return self.hint(schema.fallback, result)
        return self.other(name, args)


_SPELLING = Spelling()


def _generic(name: str, args: list[str]) -> str:
    return f"{name}[{', '.join(args)}]" if args else name


def _either(hints: list[str]) -> str:
    """Join alternatives without duplicates, with None last."""
    parts = dict.fromkeys(part for hint in hints for part in _alternatives(hint))
    if parts.pop("None", "") is None:
        parts["None"] = None
    return " | ".join(parts)


def _alternatives(hint: str) -> list[str]:
    """Split a hint at the bars that are outside brackets."""
    parts, depth = [""], 0
    for character in hint:
        depth += (character == "[") - (character == "]")
        if character == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def signature(schema: Schema | None, names: tuple[str, ...] | None = None) -> Signature:
    """Return the signature of a function for `inspect`, with hints.

    Args:
        schema: The types of the function, or None if they are unknown.
        names: The names of the parameters, by which arguments may be passed. The ABI has none:
            without them, or if Python allows no parameters of such names, the parameters are
            positional and named ``arg0`` and so on, or ``*args`` if their number is unknown.

    Raises:
        CallError: If `schema` is no schema, or `names` are no texts.

    Example:
        >>> from fnabi import schema
        >>> types = '[{"type":"int"},{"type":"float"}]'  # of the result, of the arguments
        >>> function = schema.parse_type(f'{{"type":"ffi.Function","args":{types}}}')
        >>> print(schema.signature(function, ("x",)))
        (x: float) -> int

    """
    from inspect import Parameter, Signature  # slow, and only this needs it

    if schema is not None:
        check_type("schema.signature: schema", schema, FunctionSchema, TypeSchema)
    if not isinstance(schema, FunctionSchema):
        schema = FunctionSchema(TypeSchema("Any"), None)
    if names is not None:
        names = tuple(check_items("schema.signature: names", names, str))
        names = names if _are_parameters(names) else None
    if names is not None and (schema.params is None or len(schema.params) == len(names)):
        hints = [each.hint() for each in schema.params or (TypeSchema("Any"),) * len(names)]
        parameters = [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=hint)
            for name, hint in zip(names, hints, strict=True)
        ]
    elif schema.params is None:
        parameters = [Parameter("args", Parameter.VAR_POSITIONAL, annotation=Hint("Any"))]
    else:
        parameters = [
            Parameter(f"arg{index}", Parameter.POSITIONAL_ONLY, annotation=each.hint())
            for index, each in enumerate(schema.params)
        ]
    return Signature(parameters, return_annotation=schema.result.hint(result=True))


def _are_parameters(names: tuple[str, ...]) -> bool:
    """Return whether names are identifiers, each another one, and no keywords."""
    valid = all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    return valid and len({*names}) == len(names)
