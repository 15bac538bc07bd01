"""The declaration of a function: attribute ``iree.abi.declaration`` of an export.

Compilers leave it for people to read, and it is the only typed text that most modules carry::

    >>> from fnabi import declaration
    >>> print(declaration.parse("sync func @f(%a: tensor<?x8xf32>) -> (%b: i32)"))
    sync f(a: float32[?x8]) -> (b: i32)

Its names are not escaped, so a text may have several readings, and a frontend may have put any
text in its place. `parse` reads all that the compilers print, keeps the whole text, and says when
it is not sure (`Declaration.doubt`). The calling convention of the function helps it to be.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from fnabi import _core
from fnabi._fnabi import ffi, lib
from fnabi.errors import CallError
from fnabi.types import Named, Signature, Type

__all__ = ["Declaration", "Value", "parse"]


class Value(msgspec.Struct, frozen=True, array_like=True, gc=False, repr_omit_defaults=True):
    """An argument or a result.

    Attributes:
        name: As printed, without the ``%``. It may be any text, even an empty one.
        type: The type with which it is passed: that of the attribute ``iree.abi.encoding``
            where it has one, such as ``tensor<4xui8>``.
        attributes: Pairs of key and text, in their order.
        text: The whole value as it stands in the declaration.
        declared: Where `type` is that of the attribute, the type that stands behind the name,
            which does not say whether integers are signed; else None.

    """

    name: str
    type: Type
    attributes: tuple[tuple[str, str], ...]
    text: str
    declared: Type | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


class Declaration(msgspec.Struct, frozen=True, array_like=True, gc=False, repr_omit_defaults=True):
    """What a declaration says.

    Text that is not UTF-8 is surrogate-escaped (``text.encode("utf-8", "surrogateescape")``).

    Attributes:
        name: Of the function.
        model: Whether it returns at once and takes fences that the declaration does not show
            (``"async"``); None when the text does not tell.
        inputs: Its arguments.
        results: Its results.
        text: The whole text.
        doubt: None when the text has no other reading, else why this may be the wrong one:
            ``"arity"``, it has not as many values as the calling convention, and no reading
            has; ``"names"``, a part of it may be a name that looks like values, such as
            ``x: i64, %y``; ``"type"``, a word that stands for a type is not known, and may be
            a part of a name.

    """

    name: str
    model: Literal["sync", "async"] | None
    inputs: tuple[Value, ...]
    results: tuple[Value, ...]
    text: str
    doubt: Literal["arity", "names", "type"] | None = None

    @property
    def certain(self) -> bool:
        """Whether the text has no other reading."""
        return self.doubt is None

    @property
    def signature(self) -> Signature:
        """The arguments and results as types with their names."""
        return Signature(
            tuple([Named(value.name, value.type) for value in self.inputs]),
            tuple([Named(value.name, value.type) for value in self.results]),
        )

    def __str__(self) -> str:
        model = "" if self.model is None else f"{self.model} "
        doubt = "" if self.doubt is None else f" (in doubt: {self.doubt})"
        return f"{model}{self.name}{self.signature}{doubt}"


_UNKNOWN: tuple[int, object] = (-1, ffi.NULL)
_NOTHING_KNOWN = (*_UNKNOWN, *_UNKNOWN)

_declaration = _core.Decoder(Declaration)


def parse(
    text: str | bytes | bytearray | memoryview,
    *,
    inputs: int | str | None = None,
    results: int | str | None = None,
) -> Declaration:
    """Read a declaration.

    Args:
        text: The value of ``iree.abi.declaration``.
        inputs: How many arguments the calling convention of the function has, or their letters
            there, such as ``"rrf"``. The fences of an async function count.
        results: The same for its results.

    Without `inputs` and `results`, a text with several arguments or results is only sure where
    they have the names that the compilers make up, ``input1`` or ``output1``.

    Raises:
        FormatError: when `text` cannot be read as a declaration.
        CallError: when an argument is of another type.

    """
    data = text if text.__class__ is bytes else _core.text_bytes(text, "declaration.parse")
    if inputs is None and results is None:
        known = _NOTHING_KNOWN
    else:
        known = (*_known(inputs, "inputs"), *_known(results, "results"))
    return _core.decode(lib.fnabi_declaration_decode, _declaration, data, *known)


def _known(values: int | str | None, argument: str) -> tuple[int, object]:
    """How many values there are, and their letters."""
    if values is None:
        return _UNKNOWN
    if isinstance(values, str):
        letters = "" if values == "v" else values
        if letters.strip("iIfFr"):
            raise CallError(
                f"declaration.parse: {argument}: expected letters of 'iIfFr', not {values!r}"
            )
        return len(letters), letters.encode()
    if isinstance(values, int) and 0 <= values < 1 << 63:
        return values, _UNKNOWN[1]
    raise CallError(
        f"declaration.parse: {argument}: expected an int of 0 or more, a str or None,"
        f" not {values!r}"
    )
