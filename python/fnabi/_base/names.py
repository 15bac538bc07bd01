"""Names for generated code and files, made of names that may be any text."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable

_UNSAFE = re.compile(r"[^0-9A-Za-z_]+")
_LONGEST = 80
_C_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
        alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
        char32_t char8_t class co_await co_return co_yield compl concept const const_cast
        consteval constexpr constinit continue contract_assert decltype default delete do
        double dynamic_cast else enum explicit export extern false float for friend goto if
        inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
        private protected public register reinterpret_cast requires restrict return short
        signed sizeof static static_assert static_cast struct switch template this
        thread_local throw true try typedef typeid typename typeof typeof_unqual union
        unsigned using virtual void volatile wchar_t while xor xor_eq linux unix NULL
        _Accum _Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32
        _Decimal64 _Float128 _Float128x _Float16 _Float32 _Float32x _Float64 _Float64x
        _Fract _Generic _Imaginary _Nonnull _Noreturn _Null_unspecified _Nullable _Pragma
        _Sat _Static_assert _Thread_local
        """,
    )
)
"""The keywords of C23, C++26 and their compilers, and what these predefine in lower case."""


def identifier(name: str, default: str = "_") -> str:
    """Return a name as an identifier of Python, C and C++, of ASCII alone.

    Other characters become ``_``, a keyword gets a ``_`` at its end, and a name without anything
    left becomes `default`. Names with two leading ``_`` lose one, as C reserves those and Python
    mangles them in classes.
    """
    found = _UNSAFE.sub("_", name)[:_LONGEST]
    if not found.strip("_"):
        found = default
    if found[0].isdigit():
        found = f"_{found}"
    if found.startswith("__"):
        found = f"_{found.lstrip('_')}"
    if keyword.iskeyword(found) or keyword.issoftkeyword(found) or found in _C_KEYWORDS:
        found += "_"
    return found


class Names:
    """Identifiers of one scope, each given once.

    Args:
        taken: Names that the scope has already.
        reserved: Names that get a ``_`` at their end, as keywords do.
        expected: Names that are added later. No other one gets the identifier of one of them that
            needs no change.

    """

    def __init__(
        self,
        taken: Iterable[str] = (),
        reserved: Collection[str] = (),
        expected: Iterable[str] = (),
    ) -> None:
        self._taken = set(taken)
        self._expected = {
            name for name in expected if identifier(name) == name and name not in reserved
        }
        self._numbers: dict[str, int] = {}
        self._reserved = reserved

    def add(self, name: str, default: str = "_") -> str:
        """Return a new identifier for a name; the second of equal ones ends in ``_2``."""
        first = identifier(name, default)
        if first in self._reserved:
            first += "_"
        found = first
        number = self._numbers.get(first, 1)  # so that many equal names take linear time
        while found in self._taken or (found in self._expected and found != name):
            number += 1
            found = f"{first}_{number}"
        self._numbers[first] = number
        self._taken.add(found)
        return found
