"""The types of arguments and results, the same for every ABI.

Types are frozen, hashable, comparable, picklable and usable in pattern matching. ``repr`` returns
an expression that evaluates to the type, and ``str`` a text for people::

    >>> from fnabi.types import Buffer, DType
    >>> print(Buffer(DType("float", 32), (None, 128)))
    float32[?x128]

Each has a ``dtype`` and a ``shape``, which are None where it has none; a `Named` passes on those of
its type. A record is an array in the message that crosses from the C core, with a tag that the core
defines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Self, TypeAlias, TypeVar, get_args

from fnabi._base import records
from fnabi._base.core import Data, text_of
from fnabi._base.dtype import DType, DTypeKind, Record, meant_dtype, shown_name
from fnabi._fnabi import lib
from fnabi.errors import CallError, FormatError, excerpt

__all__ = [
    "Buffer",
    "DType",
    "DTypeKind",
    "Dict",
    "HomogeneousList",
    "List",
    "Named",
    "Null",
    "Ref",
    "RefArray",
    "Scalar",
    "Signature",
    "Tuple",
    "Type",
    "Unknown",
]


def __dir__() -> list[str]:
    return __all__


class _Type(Record, frozen=True):
    """Base of all types: ``signature.results[0].dtype`` needs no look at which of them it is."""

    @property
    def dtype(self) -> DType | None:
        """The type of its elements; None for a type without one, such as a `Tuple`."""
        return None

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The dims of an array, None for a dynamic one; None for an unknown rank or no array."""
        return None


class Scalar(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_SCALAR):
    """One value, passed as it is."""

    dtype: DType

    def __str__(self) -> str:
        return str(self.dtype)


class Buffer(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_BUFFER):
    """An N-dimensional array.

    Attributes:
        dtype: The type of its elements.
        shape: The dims, in elements, None for a dynamic one; None for an unknown rank.

    """

    dtype: DType
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        return f"{self.dtype}[{shape_text(self.shape)}]"


class Ref(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_REF):
    """A reference to an object; `name` is the name of its type, None for any type."""

    name: str | None = None

    def __str__(self) -> str:
        return f"ref<{'?' if self.name is None else _reference_text(self.name)}>"


class RefArray(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_REF_ARRAY):
    """An N-dimensional array of references, whose values cannot be in one buffer.

    Attributes:
        element: The type of each element.
        shape: As in `Buffer`.

    """

    element: Type
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        return f"array<{self.element}>[{shape_text(self.shape)}]"


class List(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_LIST):
    """A list of fixed length with a type for each slot."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"[{_join(self.items)}]"


class Tuple(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_TUPLE):
    """A tuple with a type for each slot."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({_join(self.items)}{',' if len(self.items) == 1 else ''})"


class Dict(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_DICT):
    """A structure with named slots, in their order: pairs of key and type."""

    items: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return "{" + ", ".join(f"{_name_text(key)}: {item}" for key, item in self.items) + "}"


class HomogeneousList(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_HOMOGENEOUS_LIST):
    """A list of any length whose elements share one type."""

    element: Type

    def __str__(self) -> str:
        return f"list<{self.element}>"


class Named(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_NAMED):
    """A type with the name of the argument that it belongs to."""

    name: str
    type: Type

    @property
    def dtype(self) -> DType | None:
        """The dtype of the type that has the name."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The shape of the type that has the name."""
        return self.type.shape

    def __str__(self) -> str:
        return f"{_name_text(self.name)}: {self.type}"


class Null(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_NULL):
    """An empty slot."""

    def __str__(self) -> str:
        return "null"


class Unknown(_Type, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_UNKNOWN):
    """A type that the text leaves out."""

    def __str__(self) -> str:
        return "?"


Type: TypeAlias = (
    Scalar
    | Buffer
    | Ref
    | RefArray
    | List
    | Tuple
    | Dict
    | HomogeneousList
    | Named
    | Null
    | Unknown
)


# The lane's decoder of these types; it finds the class of a type by its tag.
decoder = records.decoder(
    (DType, *sorted(get_args(Type), key=lambda type: type.__struct_config__.tag))
)


class Signature(Record, frozen=True):
    """A type for each argument and each result of a function."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    @classmethod
    def parse(cls, text: Data) -> Self:
        """Return the signature of a text as ``str`` writes it: ``"(float32[?x4]) -> (int32)"``.

        Args:
            text: The text, as str or as bytes of UTF-8.

        Raises:
            FormatError: when `text` is not a signature.
            CallError: when `text` has another type.

        """
        return cls(*_Parser(text_of(text, "Signature.parse", "types-text")).sides())

    def without_names(self) -> Signature:
        """Return the same types without the names of arguments and results, as in the raw ABI."""
        return Signature(_unnamed(self.inputs), _unnamed(self.results))

    def __str__(self) -> str:
        return f"({_join(self.inputs)}) -> ({_join(self.results)})"

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import code, table

        sides = (("input", self.inputs), ("result", self.results))
        rows = [
            (side, str(index), code(value))
            for side, values in sides
            for index, value in enumerate(values)
        ]
        return table(("", "index", "type"), rows, len(rows))


def _unnamed(types: tuple[Type, ...]) -> tuple[Type, ...]:
    return tuple(type.type if isinstance(type, Named) else type for type in types)


# What a text may have without quotes, so that it is read back.
_PLAIN_NAME = re.compile(r"[^\W\d][\w.$/-]*")
_PLAIN_REFERENCE = re.compile(r"[^\s\",]+")


def _name_text(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else _quoted(name)


def _quoted(name: str) -> str:
    import json  # rarely needed

    return json.dumps(name, ensure_ascii=not name.isprintable())


def _reference_text(name: str) -> str:
    depth = 0
    for bracket in re.findall("[<>]", name):
        depth += 1 if bracket == "<" else -1
        if depth < 0:
            break
    known = depth == 0 and name != "?" and name.isprintable()
    plain = known and _PLAIN_REFERENCE.fullmatch(name)
    return name if plain else _quoted(name)


def shape_text(shape: tuple[int | None, ...] | None) -> str:
    """Return a shape as text: ``?x128x64``, or ``*`` for an unknown rank."""
    if shape is None:
        return "*"
    return "x".join("?" if dim is None else str(dim) for dim in shape)


def _join(types: tuple[Type, ...]) -> str:
    return ", ".join(map(str, types))


# The grammar of a signature as text:
#
#     signature ::= '(' types? ') -> (' types? ')'
#     types     ::= type (', ' type)*
#     type      ::= (name ': ')? (dtype | dtype '[' shape ']' | 'array<' type '>[' shape ']'
#                 | 'ref<' reference '>' | 'list<' type '>' | '[' types? ']' | tuple | dict
#                 | 'null' | '?')
#     tuple     ::= '()' | '(' type ',)' | '(' types ')'
#     dict      ::= '{' (name ': ' type (', ' name ': ' type)*)? '}'
#     shape     ::= '*' | (dim ('x' dim)*)?                *: unknown rank
#     dim       ::= '?' | digit+                           ?: dynamic
#     reference ::= '?' | plain | quoted                   ?: any object
#     name      ::= identifier | quoted
#     quoted    ::= a string of JSON
#
# A plain reference has no spaces, quotes or commas, and its angle brackets match. A dtype is a name
# that `DType.parse` reads. Spaces between the parts may be left out or be more.
_T = TypeVar("_T")
_DEPTH_MAX = 130  # 128 levels of brackets, a name before them and a type in them
_SPACE = re.compile(r"[ \t\r\n]*")
_NAME = re.compile(r"[^\W\d][\w.$/-]*(?=[ \t\r\n]*:)|(?=\")")
_WORD = re.compile(r"[a-z]\w*", re.ASCII)
_DIGITS = re.compile(r"\d+", re.ASCII)
_REFERENCE = re.compile(r"[^\s<>\",]+")
_DIM_MAX = 2**63 - 1
_DIM_DIGITS = 19  # of more, Python may refuse to make an int


class _Parser:
    """Reads one text from its start; `at` is the position, in characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def fail(
        self, reason: str, expected: str | None = None, code: str = "types-text"
    ) -> FormatError:
        data = self.text.encode("utf-8", "surrogatepass")
        offset = len(self.text[: self.at].encode("utf-8", "surrogatepass"))
        return FormatError(
            code, offset, reason=reason, expected=expected, excerpt=excerpt(data, offset)
        )

    def skip(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def take(self, mark: str) -> bool:
        """Go past a mark and the spaces before it, if it comes next."""
        self.skip()
        found = self.text.startswith(mark, self.at)
        if found:
            self.at += len(mark)
        return found

    def need(self, mark: str) -> None:
        if not self.take(mark):
            raise self.fail("malformed signature", f"'{mark}'")

    def match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[0]

    def sides(self) -> tuple[tuple[Type, ...], tuple[Type, ...]]:
        self.need("(")
        inputs = self.until(")", self.read_type)
        self.need("->")
        self.need("(")
        results = self.until(")", self.read_type)
        self.skip()
        if self.at != len(self.text):
            raise self.fail("text after the signature")
        return inputs, results

    def until(self, end: str, item: Callable[[], _T]) -> tuple[_T, ...]:
        """Read items with commas between them up to a bracket."""
        items: list[_T] = []
        if self.take(end):
            return ()
        while True:
            items.append(item())
            if self.take(end):
                return tuple(items)
            if not self.take(","):
                raise self.fail("malformed signature", f"',' or '{end}'")

    def read_type(self) -> Type:
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise self.fail("nested too deeply", code="depth")
        self.skip()
        name = self.match(_NAME)
        if name is not None:
            name = self.name(name)
            self.need(":")
            found: Type = Named(name, self.read_type())
        else:
            found = self.plain_type()
        self.depth -= 1
        return found

    def name(self, matched: str) -> str:
        return matched or self.quoted()

    def plain_type(self) -> Type:
        if self.take("?"):
            return Unknown()
        if self.take("["):
            return List(self.until("]", self.read_type))
        if self.take("{"):
            return Dict(self.until("}", self.slot))
        if self.take("("):
            return self.read_tuple()
        start = self.at
        word = self.match(_WORD)
        if word == "null":
            return Null()
        if word == "ref":
            self.need("<")
            return Ref(self.reference())
        if word in ("list", "array"):
            self.need("<")
            element = self.read_type()
            self.need(">")
            if word == "list":
                return HomogeneousList(element)
            self.need("[")
            return RefArray(element, self.shape())
        if word is None:
            raise self.fail("malformed signature", "a type")
        try:
            dtype = DType.parse(word)
        except CallError:
            self.at = start
            raise self.fail(f"unknown type {shown_name(word)}", meant_dtype(word)) from None
        return Buffer(dtype, self.shape()) if self.take("[") else Scalar(dtype)

    def read_tuple(self) -> Type:
        items: list[Type] = []
        if self.take(")"):
            return Tuple(())
        while True:
            items.append(self.read_type())
            if self.take(","):
                if len(items) == 1 and self.take(")"):
                    return Tuple(tuple(items))
            elif self.take(")") and len(items) > 1:
                return Tuple(tuple(items))
            else:
                raise self.fail("malformed tuple", "','")

    def slot(self) -> tuple[str, Type]:
        self.skip()
        matched = self.match(_NAME)
        if matched is None:
            raise self.fail("malformed signature", "a key")
        key = self.name(matched)
        self.need(":")
        return key, self.read_type()

    def shape(self) -> tuple[int | None, ...] | None:
        if self.take("*"):
            self.need("]")
            return None
        if self.take("]"):
            return ()
        dims: list[int | None] = []
        while True:
            self.skip()
            start = self.at
            digits = self.match(_DIGITS)
            if digits is not None and len(digits) <= _DIM_DIGITS and int(digits) <= _DIM_MAX:
                dims.append(int(digits))
            elif digits is None and self.take("?"):
                dims.append(None)
            else:
                self.at = start
                most = f"a dim of at most {_DIM_MAX}"
                raise self.fail("malformed shape", "a number or '?'" if digits is None else most)
            if self.take("]"):
                return tuple(dims)
            self.need("x")

    def reference(self) -> str | None:
        self.skip()
        if self.text.startswith('"', self.at):
            quoted = self.quoted()
            self.need(">")
            return quoted
        start = self.at
        open_brackets = 0
        while True:
            self.match(_REFERENCE)
            if self.text.startswith("<", self.at):
                open_brackets += 1
            elif self.text.startswith(">", self.at) and open_brackets > 0:
                open_brackets -= 1
            elif open_brackets > 0:
                raise self.fail("malformed signature", "'>'")
            else:
                break
            self.at += 1
        name = self.text[start : self.at]
        if not name:
            raise self.fail("malformed signature", "the name of a type, or '?'")
        self.need(">")
        return None if name == "?" else name

    def quoted(self) -> str:
        from json import JSONDecodeError, JSONDecoder  # rarely needed

        try:
            value, self.at = JSONDecoder().raw_decode(self.text, self.at)
        except JSONDecodeError as problem:
            self.at = problem.pos
            raise self.fail("malformed quoted name") from None
        return str(value)
