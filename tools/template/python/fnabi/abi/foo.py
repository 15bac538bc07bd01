"""The foo ABI: the inputs and results of a function, a letter for each.

>>> from fnabi import foo
>>> print(foo.parse("if>f"))
(i32, float32) -> (float32)
"""

from __future__ import annotations

from fnabi._base import core
from fnabi._base.core import Data
from fnabi._fnabi import lib
from fnabi.types import Signature

__all__ = ["encode", "parse"]

_parse = core.parser(lib.fnabi_foo_decode, core.Decoder(Signature))


def parse(text: Data) -> Signature:
    """Decode a signature.

    Raises:
        FormatError: when `text` does not conform to the grammar.
        CallError: when `text` has another type.

    """
    if text.__class__ is not bytes:
        text = core.data_bytes(text, "foo.parse", "text")
    return _parse(text)


def encode(signature: Signature) -> str:
    """Encode a signature.

    Raises:
        CallError: when `signature` has another type, or a value other than i32 and float32.

    """
    return core.encode(lib.fnabi_foo_encode, signature, "foo.encode").decode("ascii")
