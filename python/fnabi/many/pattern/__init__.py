r"""Patterns of signatures, for searches: ``f32[?,3,224,224] -> f32[?,1000]``.

A pattern describes a set of signatures::

    >>> from fnabi import pattern
    >>> print(pattern.parse("image: f32[B,3,*] -> float[B,_], *"))
    image: float32[B,3,*] -> float[B,_], *

The grammar; spaces are allowed between tokens::

    pattern   = side "->" side
    side      = "(" [values] ")"               # as in the text of a signature
              | values                         # "()" is no value, "*" any number of values
    values    = item {"," item}
    item      = "*"                            # any number of values, also none
              | [name ":"] type
    type      = "any"                          # one value of any type
              | dtype                          # a scalar
              | dtype "[" [dims] "]"           # a buffer
              | "ref" ["<" ("?" | text | JSON string) ">"]   # any; <?>: to any object
              | "list" "<" element ">"         # a list of any length
              | "array" "<" element ">" "[" [dims] "]"    # an array of references
              | "[" [values] "]"               # a list
              | "(" [values] ")"               # a tuple; with one value it may end with a comma
              | "{" [values] "}"               # a dict, whose values have names
              | "null"                         # an empty slot
              | "?" | "unknown"                # a type that the text leaves out
    element   = [name ":"] type
    dims      = dim {("," | "x") dim}          # "x" only after a number, "?", "_" or a capital
    dim       = number                         # this static dim
              | "?"                            # a dynamic dim
              | "_"                            # any dim
              | "*"                            # any number of dims, also none or an unknown rank
              | variable                       # any dim, the same wherever the variable is
    dtype     = "any" | "float" | "int" | "complex"      # of any width and format
              | name of a dtype                # f32, bf16, i32, si8, ui8, float8_e4m3fn, bool
    name      = letter or "_", followed by letters, digits and any of "_.$/-"; or JSON string
    variable  = a letter, followed by letters, digits and "_"
    capital   = a capital letter, with a number or without, as `fnabi.vmfb` names equal dims: A, B1

``f32[AxB]`` is ``f32[A,B]``: a capital with an ``x`` and another dim after it is a dim of its own.
Other variables need commas: those that may be meant as several dims, such as ``nx6``, are errors.

``f``, ``bf``, ``si``, ``ui`` and ``c`` before a number of bits are short for ``float``,
``bfloat``, ``int``, ``uint`` and ``complex``. ``i32`` is a signless integer, as in MLIR. ``int``
is every signed, unsigned or signless integer, ``float`` includes bfloat, and ``i1`` is a bool too.

The text of a signature, as ``str`` writes it and ``fnabi inspect`` shows it, is a pattern that the
signature matches exactly. A pattern has at most 4096 characters and 128 values, with those inside
of others; a longer one raises FormatError.

Matches
    A signature in the set matches *exactly*. Another one is a *wider* match if callers of some
    signature in the set can use it by the rules of `fnabi.compat`: its inputs may accept more, and
    its results may be more specific. So a static dim in the inputs of a pattern also finds ``?``,
    and a ``?`` in the results also finds static dims. ``differences`` counts the changes that
    `compat.compare_signatures` would list.

    A name in a pattern must be the name in the signature. Values without one have any name or
    none. What ``any`` and ``*`` match is not compared.

    A variable is one number, or dynamic dims everywhere. Static dims that it
    matches are always equal. Where variables occur again, a signature may bind them in up to
    2,000,000 ways; beyond that a search raises FormatError.

    In a signature that was read from the bytecode or the calling convention, ``ref<?>`` is a
    reference of which nothing is known, so it is not wider than another.
"""

from __future__ import annotations

import re
from typing import Literal, NoReturn

from fnabi._base.core import Data, text_of
from fnabi._base.dtype import meant_dtype
from fnabi.errors import CallError, FormatError, excerpt
from fnabi.many.pattern._types import (
    LONG,
    PLAIN_NAME,
    WORD,
    AnyType,
    ArrayOf,
    BufferOf,
    Class,
    Dim,
    ListOf,
    NumberOf,
    Pattern,
    RefTo,
    ScalarOf,
    Star,
    Structure,
    TypePattern,
    Untyped,
    ValuePattern,
    Variable,
    encoded,
    types_in,
    whole_name,
)
from fnabi.types import DType

__all__ = [
    "AnyType",
    "ArrayOf",
    "BufferOf",
    "Class",
    "Dim",
    "ListOf",
    "NumberOf",
    "Pattern",
    "RefTo",
    "ScalarOf",
    "Star",
    "Structure",
    "TypePattern",
    "Untyped",
    "ValuePattern",
    "Variable",
    "parse",
]


def __dir__() -> list[str]:
    return __all__


_LONGEST = 4096
"""The most bytes of a pattern."""

_VALUES = 128
_OPEN = 32
"""The most values, and the most with an unknown number of others inside: each makes the query
larger, and its plan takes longer.
"""

_STARS = 6
"""The most stars whose extent has to be searched for, since each multiplies the work."""


def parse(text: Data) -> Pattern:
    """Parse a pattern; the grammar is in the documentation of this module.

    Args:
        text: The pattern, as str or as bytes of UTF-8.

    Raises:
        FormatError: when `text` is not a pattern.
        CallError: when it has another type.

    Example:
        >>> from fnabi import pattern
        >>> found = pattern.parse("image: f32[B,3,*] -> float[B,_], *")
        >>> found.inputs[0].name, found.inputs[0].type.dims
        ('image', (Variable(name='B'), 3, Star()))

    """
    return _Parser(text_of(text, "pattern.parse", "pattern")).pattern()


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SPACE = re.compile(r"\s*")
_BEFORE_COLON = re.compile(rf"{PLAIN_NAME}(?=\s*:)")
_NUMBER = re.compile(r"\d+", re.ASCII)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_TIMES = re.compile(r"x(?=\s*[?_*A-Z\d])")
_CAPITAL = re.compile(r"[A-Z]\d*(?=x[?_*A-Z\d])", re.ASCII)
_AMBIGUOUS = re.compile(r"[A-Za-z][A-Za-z0-9]*x[A-Z\d].*|[a-z](?:x[a-z])+", re.ASCII)
"""A name that may be meant as several dims; `axis` and `max` are plain names."""

_STRUCTURES: dict[str, tuple[Literal["list", "tuple", "dict"], str]] = {
    "(": ("tuple", ")"),
    "[": ("list", "]"),
    "{": ("dict", "}"),
}
_CLASSES: tuple[Class, ...] = ("any", "float", "int", "complex")
_SHORTER = re.compile(r"(float|bfloat|int|uint|complex)(?=\d)")
_SHORTEST = {long: short for short, long in LONG.items()}
_TYPES = "a type, such as f32, f32[?,4], any or ref"


class _Parser:
    """Parses a text from left to right; each method is named after its rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        if len(text) > _LONGEST:
            self._fail(f"pattern is longer than {_LONGEST} characters", None, _LONGEST)

    def pattern(self) -> Pattern:
        inputs = self._side()
        if not self._take("->"):
            self._fail("inputs end here", '"->" or ","')
        results = self._side()
        if self._peek():
            self._fail("results end here", 'the end of the pattern or ","')
        searched = sum(map(_searched, (inputs, results)))
        if searched > _STARS:
            self._fail(f"{searched} stars to search for, at most {_STARS} are possible", None, 0)
        types = [each for side in (inputs, results) for each in types_in(side)]
        unknown = sum(map(_is_open, types))
        for number, most, what in (
            (len(types), _VALUES, "values"),
            (unknown, _OPEN, 'values that are "any" or structures with a star'),
        ):
            if number > most:
                self._fail(f"{number} {what}, at most {most} are possible", None, 0)
        return Pattern(inputs, results)

    def _side(self) -> tuple[ValuePattern | Star, ...]:
        start = self._skip()
        if self._take("("):
            values, comma = self._values(")")
            if not comma and self._peek() in ("", "-"):  # as in the text of a signature
                return values
            self._at = start
        return self._values("")[0]

    def _values(self, closing: str) -> tuple[tuple[ValuePattern | Star, ...], bool]:
        """Return the values up to `closing`, and whether a comma is before it."""
        found: list[ValuePattern | Star] = []
        comma = False
        while not closing or not self._take(closing):
            if found and not comma:
                self._fail("values end here", f'"," or "{closing}"')
            found.append(Star() if self._take("*") else self._value())
            comma = self._take(",")
            if not closing and not comma:
                break
            if comma and closing != ")" and closing and self._peek() == closing:
                self._fail(f"unexpected {_shown(closing)}", _TYPES)
        if comma and len(found) > 1:
            at = self._text.rindex(",", 0, self._at)
            self._fail("comma after the last value", None, at)
        return tuple(found), comma

    def _value(self) -> ValuePattern:
        name = None
        while (found := self._name()) is not None:  # of several the last one counts
            name = found
        self._depth += 1
        if self._depth > _VALUES:
            self._fail(f"more than {_VALUES} types inside each other", None)
        type = self._type()
        self._depth -= 1
        return ValuePattern(type, name)

    def _name(self) -> str | None:
        """Return the name that is before a colon, if there is one."""
        start = self._skip()
        plain = _BEFORE_COLON.match(self._text, start)
        if plain:
            self._at = plain.end()
            name = plain[0]
        elif (quoted := self._quoted()) is not None:
            name = quoted
        if (plain or quoted is not None) and self._take(":"):
            return name
        self._at = start
        return None

    def _quoted(self) -> str | None:
        quoted = _STRING.match(self._text, self._skip())
        if quoted is None:
            return None
        import json  # which few patterns need

        try:
            text = json.loads(quoted[0])
        except ValueError:
            self._fail("invalid string", "a JSON string")
        self._at = quoted.end()
        return str(text)

    def _type(self) -> TypePattern:
        start = self._skip()
        opening = self._peek()
        if opening and opening in _STRUCTURES:
            self._at += 1
            kind, closing = _STRUCTURES[opening]
            values, _ = self._values(closing)
            if kind == "dict" and any(
                isinstance(v, ValuePattern) and v.name is None for v in values
            ):
                self._fail(
                    "value without a name in a dict", 'a name and ":" before each', start + 1
                )
            return Structure(kind, values)
        if self._take("?"):
            return Untyped("unknown")
        word = self._word()
        if word is None:
            expected = 'a type; "*" has no name' if opening == "*" else _TYPES
            self._fail(f"unexpected {_shown(opening)}", expected)
        if word in ("null", "unknown"):
            return Untyped("null" if word == "null" else "unknown")
        if word == "ref":
            return self._ref()
        if word in ("list", "array"):
            self._expect("<")
            element = self._value()
            self._expect(">")
            if word == "list":
                return ListOf(element.type, element.name)
            return ArrayOf(element.type, self._dims(), element.name)
        dtype = self._dtype(word, start)
        if self._peek() == "[":
            return BufferOf(dtype, self._dims())
        return AnyType() if dtype == "any" else ScalarOf(dtype)

    def _ref(self) -> RefTo:
        if not self._take("<"):
            return RefTo(None, True)
        quoted = self._quoted()
        if quoted is not None:
            self._expect(">")
            return RefTo(quoted)
        start, depth = self._at, 1
        while depth:
            if self._at == len(self._text):
                self._fail("name of a reference has no end", '">"')
            character = self._text[self._at]
            self._at += 1
            depth += (character == "<") - (character == ">")
        name = self._text[start : self._at - 1].strip()
        if not name:
            self._fail("empty name of a reference", 'a name or "?"', start)
        return RefTo(None if name == "?" else name)

    def _dtype(self, word: str, start: int) -> DType | Class:
        if word in _CLASSES:
            return word
        try:
            return DType.parse(whole_name(word))
        except CallError:
            meant = meant_dtype(word)
            short = meant and _SHORTER.sub(lambda found: _SHORTEST[found[1]], meant, count=1)
            self._fail(f"unknown type {_shown(word)}", short or _TYPES, start)

    def _dims(self) -> tuple[Dim, ...]:
        self._expect("[")
        if self._take("]"):
            return ()
        dims = [self._dim()]
        while not self._take("]"):
            if not isinstance(dims[-1], Star) and _TIMES.match(self._text, self._skip()):
                self._at += 1
            elif not self._take(","):
                self._fail("dims end here", '"," or "]"')
            dims.append(self._dim())
        return tuple(dims)

    def _dim(self) -> Dim:
        start = self._skip()
        if self._take("*"):
            return Star()
        if self._take("?"):
            return "?"
        number = _NUMBER.match(self._text, start)
        if number:
            if int(number[0]) >= 1 << 63:
                self._fail("dim does not fit in int64", None)
            self._at = number.end()
            return int(number[0])
        name = _CAPITAL.match(self._text, start) or _NAME.match(self._text, start)
        if name:
            several = _AMBIGUOUS.fullmatch(name[0])
            if several:
                self._fail(f"{_shown(name[0])} may be several dims", '"," between dims')
            self._at = name.end()
            return Variable(name[0])
        if not self._take("_"):
            shown = _shown(self._text[start : start + 1])
            self._fail(f"unexpected {shown}", 'a dim: a number, "?", "_", "*" or a variable')
        return "_"

    # ------------------------------------------------------------------------------ tokens

    def _skip(self) -> int:
        """Skip spaces, and return the position after them."""
        space = _SPACE.match(self._text, self._at)
        assert space is not None
        self._at = space.end()
        return self._at

    def _peek(self) -> str:
        """Return the next character, or ``""`` at the end."""
        at = self._skip()
        return self._text[at : at + 1]

    def _take(self, token: str) -> bool:
        found = self._text.startswith(token, self._skip())
        if found:
            self._at += len(token)
        return found

    def _expect(self, token: str) -> None:
        if not self._take(token):
            self._fail(f"unexpected {_shown(self._peek())}", f'"{token}"')

    def _word(self) -> str | None:
        word = WORD.match(self._text, self._skip())
        if word is None:
            return None
        self._at = word.end()
        return word[0]

    def _fail(self, reason: str, expected: str | None, at: int | None = None) -> NoReturn:
        place = self._skip() if at is None else at
        data = encoded(self._text)
        offset = len(encoded(self._text[:place]))
        raise FormatError(
            "pattern", offset, reason=reason, expected=expected, excerpt=excerpt(data, offset)
        )


def _shown(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False) if text else "end"


def _searched(parts: tuple[ValuePattern | Dim, ...]) -> int:
    """Return the number of stars that are followed by another one: their extent is not known."""
    stars = sum(isinstance(part, Star) for part in parts)
    return max(0, stars - 1) + sum(map(_searched_in, parts))


def _is_open(type: TypePattern) -> bool:
    """Return whether it is unknown how many values are inside one of this type."""
    match type:
        case Structure(_, values):
            return any(isinstance(each, Star) for each in values)
    return isinstance(type, AnyType)


def _searched_in(part: ValuePattern | Dim) -> int:
    match part:
        case ValuePattern(type):
            return _searched_in_type(type)
    return 0


def _searched_in_type(type: TypePattern) -> int:
    match type:
        case BufferOf(_, dims):
            return _searched(dims)
        case ArrayOf(element, dims):
            return _searched(dims) + _searched_in_type(element)
        case ListOf(element):
            return _searched_in_type(element)
        case Structure(_, values):
            return _searched(values)
    return 0
