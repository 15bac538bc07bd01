"""The declaration of a function: attribute ``iree.abi.declaration`` of an export.

Compilers write it for people to read, and it is the only typed text of most modules::

    >>> from fnabi import declaration
    >>> print(declaration.parse("sync func @f(%a: tensor<?x8xf32>) -> (%b: i32)"))
    sync f(a: float32[?x8]) -> (b: i32)

Its names are not escaped, so a text may be ambiguous, and a frontend may have written any text.
`parse` accepts whatever the compilers print, keeps the whole text, and reports an ambiguity
(`Declaration.ambiguity`). The calling convention of the function resolves most of them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from fnabi._base import core
from fnabi._base.arguments import argument_error
from fnabi._base.core import Data
from fnabi._base.text import quoted
from fnabi._fnabi import ffi, lib
from fnabi.errors import ArgumentValueError
from fnabi.types import Named, Signature, Type

__all__ = ["Declaration", "Value", "parse"]


def __dir__() -> list[str]:
    return __all__


class Value(msgspec.Struct, frozen=True, array_like=True, gc=False, repr_omit_defaults=True):
    """An argument or a result.

    Attributes:
        name: As printed, without the ``%``. It may be any text, even an empty one.
        type: The type as which it is passed: that of the attribute ``iree.abi.encoding`` if it
            has one, such as ``tensor<4xui8>``, else the declared type.
        attributes: Pairs of key and text, in their order.
        text: The text of the whole value.
        declared: If `type` is that of the attribute, the type after the name, in which integers
            are signless; else None.

    """

    name: str
    type: Type
    attributes: tuple[tuple[str, str], ...]
    text: str
    declared: Type | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


class Declaration(msgspec.Struct, frozen=True, array_like=True, gc=False, repr_omit_defaults=True):
    """A parsed declaration.

    Text that is not UTF-8 is surrogate-escaped (``text.encode("utf-8", "surrogateescape")``).

    Attributes:
        name: The name of the function.
        model: ``"async"`` for a function that returns at once and has two fences as further
            arguments; None when the text leaves it out.
        inputs: The arguments.
        results: The results.
        text: The whole text.
        ambiguity: None for an unambiguous text, else the kind of ambiguity. ``"arity"``: the number
            of values differs from the calling convention's, in every reading. ``"names"``: a name
            may contain what looks like values, such as ``x: i64, %y``. ``"type"``: an unknown
            word is in the position of a type, and may be a part of a name.

    """

    name: str
    model: Literal["sync", "async"] | None
    inputs: tuple[Value, ...]
    results: tuple[Value, ...]
    text: str
    ambiguity: Literal["arity", "names", "type"] | None = None

    @property
    def certain(self) -> bool:
        """Whether the text is unambiguous."""
        return self.ambiguity is None

    @property
    def signature(self) -> Signature:
        """The arguments and results as types with their names."""
        return Signature(
            tuple([Named(value.name, value.type) for value in self.inputs]),
            tuple([Named(value.name, value.type) for value in self.results]),
        )

    def __str__(self) -> str:
        model = "" if self.model is None else f"{self.model} "
        ambiguity = "" if self.ambiguity is None else f" (ambiguous: {self.ambiguity})"
        return f"{model}{self.name}{self.signature}{ambiguity}"


_UNKNOWN: tuple[int, object] = (-1, ffi.NULL)
_NOTHING_KNOWN = (*_UNKNOWN, *_UNKNOWN)

_declaration = core.Decoder(Declaration)


def parse(
    text: Data,
    *,
    inputs: int | str | None = None,
    results: int | str | None = None,
) -> Declaration:
    """Read a declaration.

    Args:
        text: The value of ``iree.abi.declaration``.
        inputs: The number of arguments in the function's calling convention, or their letters,
            such as ``"rrf"``. The fences of an async function count.
        results: The same for the results.

    Without `inputs` and `results`, a text with several arguments or results is ambiguous unless
    they have the names that compilers generate, ``input1`` or ``output1``.

    Raises:
        FormatError: when `text` cannot be read as a declaration.
        CallError: when an argument has another type.

    Example:
        >>> from fnabi import declaration
        >>> found = declaration.parse("sync func @add(%x: tensor<?xf32>) -> (%y: tensor<?xf32>)")
        >>> print(found.signature)
        (x: float32[?]) -> (y: float32[?])
        >>> found.name, found.ambiguity
        ('add', None)

    """
    data = text if text.__class__ is bytes else core.text_bytes(text, "declaration.parse")
    if inputs is None and results is None:
        known = _NOTHING_KNOWN
    else:
        known = (*_known(inputs, "inputs"), *_known(results, "results"))
    return core.decode(lib.fnabi_declaration_decode, _declaration, data, *known)


def _known(values: int | str | None, argument: str) -> tuple[int, object]:
    """Return the number of values and their letters."""
    if values is None:
        return _UNKNOWN
    if isinstance(values, str):
        letters = "" if values == "v" else values
        if letters.strip("iIfFr"):
            raise ArgumentValueError(
                f"declaration.parse: {argument}: expected letters of 'iIfFr', got {quoted(values)}"
            )
        return len(letters), letters.encode()
    if isinstance(values, int) and 0 <= values < 1 << 63:
        return values, _UNKNOWN[1]
    where, expected = f"declaration.parse: {argument}", "an int of 0 or more, a str or None"
    raise argument_error(where, expected, values, int)
