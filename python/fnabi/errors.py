"""The exceptions of fnabi."""

from __future__ import annotations

from typing import Any

_WINDOW = 60
"""How many bytes of the input an error shows."""


class FnabiError(Exception):
    """Any error that fnabi raises."""


class FormatError(FnabiError, ValueError):
    """The input is not what its format says.

    Attributes:
        code: What is wrong, a short fixed name such as ``"span-end"``; the names are those of
            ``fnabi_code`` in ``fnabi.h``.
        offset: Where, in bytes from the start of the input.
        path: In which part of the value, such as ``inputs[2].shape[0]``; empty at its root.
        reason: The same as ``code``, in words.
        expected: What may stand there instead, or None.
        excerpt: The input around the offset with a caret under it, or None where the input is
            not text.

    """

    def __init__(
        self,
        code: str,
        offset: int,
        path: str = "",
        *,
        reason: str = "",
        expected: str | None = None,
        excerpt: str | None = None,
    ) -> None:
        self.code = code
        self.offset = offset
        self.path = path
        self.reason = reason or code
        self.expected = expected
        self.excerpt = excerpt
        super().__init__(code, offset, path)

    def __str__(self) -> str:
        text = f"{self.reason} at byte {self.offset}"
        if self.path:
            text += f" in {self.path}"
        if self.expected:
            text += f", expected {self.expected}"
        if self.excerpt:
            text += f"\n{self.excerpt}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__


class CallError(FnabiError, TypeError):
    """A function of fnabi was called with something that it cannot take.

    The message names the function, the argument and what was expected.
    """


class RangeError(CallError, OverflowError):
    """An integer is outside what may hold it: int32 in signatures, int64 in shapes."""


class LibraryError(FnabiError, OSError):
    """A library cannot be loaded or lacks what it needs."""


class LayoutWarning(RuntimeWarning):
    """A fast path is off: the installed msgspec lays out objects differently than fnabi expects.

    Results are the same. The text says which version is installed, and what to do.
    """


def excerpt(data: bytes, offset: int) -> str | None:
    """The text around `offset` and a caret under it; None where most of it cannot be printed."""
    start = max(0, min(offset - _WINDOW // 2, len(data) - _WINDOW))
    window = data[start : start + _WINDOW]
    shown = [chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in window]
    if 2 * sum(len(text) == 1 for text in shown) < len(shown):
        return None
    before = "..." if start else ""
    after = "..." if start + _WINDOW < len(data) else ""
    column = 2 + len(before) + sum(map(len, shown[: offset - start]))
    return f"  {before}{''.join(shown)}{after}\n{' ' * column}^"
