"""The exceptions of fnabi."""

from __future__ import annotations

import errno
import os
from typing import Any

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "CallError",
    "CatalogError",
    "FnabiError",
    "FormatError",
    "LayoutWarning",
    "LibraryError",
    "MissingAttributeError",
    "MissingFileError",
    "MissingKeyError",
    "MissingPackageError",
    "NotFoundError",
    "RangeError",
    "RegisteredError",
]


def __dir__() -> list[str]:
    return __all__


_WINDOW = 60
"""The number of bytes of the input that an error shows."""


TOO_DEEP = "nested too deeply, or contains itself"
"""The fault of a value whose levels exceed Python's stack."""


class FnabiError(Exception):
    """Any error that fnabi raises.

    Attributes:
        file: The path or URL of the file, where it was opened by that; else None. The error as a
            string begins with it.

    """

    file: str | None = None

    @property
    def text(self) -> str:
        """The error without the file."""
        return super().__str__()

    def __str__(self) -> str:
        return self.text if self.file is None else f"{self.file or repr('')}: {self.text}"


class FormatError(FnabiError, ValueError):
    """The input does not conform to its format.

    Attributes:
        code: The fault as a short fixed name, such as ``"span-end"``: those of ``fnabi_code`` in
            ``fnabi.h``, and of what Python reads by itself, such as ``"types-text"``.
        offset: The position of the fault, in bytes from the start of the input; 0 for a catalog,
            and for a signature that a pattern is matched with.
        path: The part of the value, such as ``inputs[2].shape[0]``; empty for the whole value.
        reason: The fault in words.
        expected: What the format allows at this position, or None.
        found: What is there instead, such as ``a ZIP archive`` for a file that is not a module;
            None where that is not known, or the excerpt shows it.
        excerpt: The input around the offset with a caret under it, or None where the input is
            not text.
        hint: What reads the input all the same, or None.

    """

    hint: str | None = None

    def __init__(
        self,
        code: str,
        offset: int,
        path: str = "",
        *,
        reason: str = "",
        expected: str | None = None,
        found: str | None = None,
        excerpt: str | None = None,
    ) -> None:
        self.code = code
        self.offset = offset
        self.path = path
        self.reason = reason or code
        self.expected = expected
        self.found = found
        self.excerpt = excerpt
        super().__init__(code, offset, path)

    @property
    def text(self) -> str:
        """The error without the file."""
        text = self.reason
        if self.code not in ("catalog", "ways"):  # which have no position
            text += f" at byte {self.offset}"
        if self.path:
            text += f" in {self.path}"
        text += contrast(self.expected, self.found)
        if self.hint:
            text += f" ({self.hint})"
        if self.excerpt:
            text += f"\n{self.excerpt}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__


class CallError(FnabiError):
    """A call cannot be made, or a library returned what is no value of the ABI.

    The text names the function, the argument, the fault and what was expected. Where an argument
    is at fault, the error is one of the subclasses.
    """


class ArgumentTypeError(CallError, TypeError):
    """An argument has another type, its elements have, or there are more or fewer arguments."""


class ArgumentValueError(CallError, ValueError):
    """An argument of the right type has a value that the function does not accept."""


class RangeError(ArgumentValueError, OverflowError):
    """A number does not fit in its type, such as int32 in signatures and int64 in shapes."""


class MissingPackageError(CallError, ImportError):
    """The call needs a package that is not installed, or not whole. The text says which."""


class LibraryError(FnabiError, OSError):
    """A library cannot be loaded or lacks what it needs."""


class NotFoundError(FnabiError, LookupError):
    """Nothing has this name: no function, type, segment or column."""


class MissingKeyError(NotFoundError, KeyError):
    """A mapping, such as ``library["f"]`` or ``module.exports["f"]``, has no such key."""

    @property
    def text(self) -> str:
        """The error without the file; `KeyError` itself would quote it."""
        return str(self.args[0]) if len(self.args) == 1 else super().text


class MissingAttributeError(NotFoundError, AttributeError):
    """A library or module has no function of this name: ``library.f``."""

    def __init__(self, text: str = "", name: str | None = None) -> None:
        super().__init__(text)
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.name), self.__dict__


class MissingFileError(FnabiError, FileNotFoundError):
    """There is no such file or folder; ``filename`` is its path."""

    def __init__(self, path: str, reason: str | None = None) -> None:
        super().__init__(errno.ENOENT, reason or os.strerror(errno.ENOENT), path)
        self.file = path

    @property
    def text(self) -> str:
        """The error without the file."""
        return str(self.strerror)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.filename, self.strerror)


class RegisteredError(FnabiError, RuntimeError):
    """A global function has this name already."""


class CatalogError(FnabiError, RuntimeError):
    """A catalog cannot be changed now: another process changes it, or its folder is in use."""


class LayoutWarning(RuntimeWarning):
    """A fast path is off: the installed msgspec lays out objects differently than fnabi expects.

    Results are the same. The text says which version is installed, and what to do.
    """


def contrast(expected: str | None, found: str | None = None) -> str:
    """Return how an error goes on: ", expected ..., got ..."."""
    text = f", expected {expected}" if expected else ""
    return f"{text}, got {found}" if found else text


def excerpt(data: bytes, offset: int) -> str | None:
    """Return the text around `offset` with a caret under it, or None for mostly binary data."""
    start = max(0, min(offset - _WINDOW // 2, len(data) - _WINDOW))
    window = data[start : start + _WINDOW]
    shown = [chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in window]
    if 2 * sum(len(text) == 1 for text in shown) < len(shown):
        return None
    before = "..." if start else ""
    after = "..." if start + _WINDOW < len(data) else ""
    column = 2 + len(before) + sum(map(len, shown[: offset - start]))
    return f"  {before}{''.join(shown)}{after}\n{' ' * column}^"


class Mismatch(Exception):
    """A nested value that does not match its type; each level on the way out adds its key.

    The function that was given the value turns it into a `CallError` of that `kind`.
    """

    def __init__(self, reason: str, *keys: Any, kind: type[CallError] = ArgumentValueError) -> None:
        self.reason = reason
        self.kind = kind
        self.keys = list(keys)  # the innermost first

    @property
    def path(self) -> str:
        """The keys that lead to the value, such as ``['k'][2]``."""
        return "".join(f"[{key!r}]" for key in reversed(self.keys))


def not_pickled(name: str) -> ArgumentTypeError:
    """Make the error about a pickle or a copy of an object, by the name of its class."""
    text = "cannot be pickled or copied: it is only valid in this process"
    return ArgumentTypeError(f"{name}: {text}")


def type_name(value: object) -> str:
    """The name of a value's type, as errors name it."""
    return type(value).__name__


def shown_int(number: int) -> str:
    """An int as errors show it: one with very many digits by its size."""
    size = number.bit_length()
    return str(number) if size <= 256 else f"an int of {size} bits"
