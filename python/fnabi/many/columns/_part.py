"""A part of the columns: rows in one piece of the core's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeAlias, get_args

from fnabi._base import core
from fnabi._base.arguments import argument_error
from fnabi._base.capsule import check_memory
from fnabi._fnabi import ffi, lib
from fnabi.errors import ArgumentTypeError, ArgumentValueError

Abi: TypeAlias = Literal["raw", "sip", "cconv", "iree_abi", "declaration"]
"""The ABI of the texts, by the name of its module."""

AnyAbi: TypeAlias = Abi | Literal["iree.abi", "iree-abi"]
"""An ABI in any of its spellings."""

ABIS: dict[str, int] = {name: getattr(lib, f"FNABI_ABI_{name.upper()}") for name in get_args(Abi)}


def abi_name(name: str) -> str:
    """Return the name of an ABI as its module has it, ``iree_abi`` for ``iree.abi``."""
    return name.lower().replace(".", "_").replace("-", "_")


def check_abi(function: str, abi: object) -> Abi:
    """Return the ABI that a caller has named in any spelling.

    Raises:
        CallError: when there are no columns for it.

    """
    name: Any = abi_name(abi) if isinstance(abi, str) else abi
    if not isinstance(abi, str) or name not in ABIS:
        raise argument_error(f"{function}: abi", f"one of {', '.join(ABIS)}", abi, str)
    found: Abi = name
    return found


_JOINING = 4
"""The most threads that join parts: they wait for memory."""


class LineError(Exception):
    """A line is too long."""


class Part:
    """Columns of the core, freed with this object. A view of their memory keeps it alive."""

    __slots__ = ("__weakref__", "columns")

    def __init__(self, columns: Any) -> None:
        check_memory(columns == ffi.NULL)
        self.columns = ffi.gc(columns, lib.fnabi_columns_free)

    @classmethod
    def empty(cls, abi: Abi) -> Part:
        """Make a part without rows."""
        return cls(lib.fnabi_columns_new(ABIS[abi], 0))

    @classmethod
    def restore(cls, abi: Abi, columns: Sequence[Any], dtypes: bytes) -> Part:
        """Make a part from the memory of columns, in their order, and the message of dtypes."""
        views = [ffi.from_buffer("char[]", column) for column in columns]
        if len(views) != lib.FNABI_COLUMN_COUNT:
            raise ArgumentValueError(
                f"Columns: expected {lib.FNABI_COLUMN_COUNT} columns, got {len(views)}"
            )
        data = ffi.new("void *[]", [ffi.cast("void *", view) for view in views])
        sizes = ffi.new("size_t[]", [len(view) for view in views])
        restored = lib.fnabi_columns_restore(ABIS[abi], data, sizes, dtypes, len(dtypes))
        if restored == ffi.NULL:
            raise ArgumentValueError("Columns: these bytes are no columns, or out of memory")
        return cls(restored)

    def dtypes_message(self) -> bytes:
        """Return the message of the dtypes, which `restore` needs."""
        size = lib.fnabi_columns_dtypes(self.columns, ffi.NULL, 0)
        out = ffi.new("uint8_t[]", size)
        lib.fnabi_columns_dtypes(self.columns, out, size)
        return bytes(ffi.buffer(out, size))

    def __len__(self) -> int:
        rows: int = lib.fnabi_columns_rows(self.columns)
        return rows

    def add(
        self,
        read: Callable[..., int],
        *arguments: object,
        first: int = 0,
        where: str = "decode_columns: strings",
    ) -> None:
        """Add rows by ``read(columns, *arguments, error)``; the first text is row `first`."""
        error = ffi.new("fnabi_error *")
        if read(self.columns, *arguments, error) >= 0:
            return
        core.check_interrupt(error.code)
        check_rows(-(error.code == lib.FNABI_MEMORY))
        if error.code == lib.FNABI_LINE:
            raise LineError
        expected = ffi.string(error.expected).decode()
        if error.code == lib.FNABI_UNSUPPORTED:
            raise ArgumentTypeError(f"{where}: unsupported Arrow type, expected {expected}")
        raise ArgumentValueError(
            f"{where}: malformed at row {first + error.offset}, expected {expected}"
        )

    def view(self, column: int) -> memoryview | None:
        """Return the memory of a column; None when the ABI has no such column."""
        data, size = ffi.new("void **"), ffi.new("size_t *")
        if not lib.fnabi_columns_read(self.columns, column, data, size):
            return None
        if size[0] == 0:
            return memoryview(b"")

        # the memory belongs to this part, which the destructor keeps alive
        def owner(_: object, part: Part = self) -> None:
            del part

        return memoryview(ffi.buffer(ffi.gc(data[0], owner), size[0])).toreadonly()


def check_rows(rows: int) -> None:
    """Raise MemoryError for a negative number of rows, which the core returns when out of it."""
    if rows < 0:
        raise MemoryError("decode_columns: out of memory, or more than 2**31 nodes or dims")


def join(parts: Sequence[Part]) -> Part:
    """Join the rows of all parts. The columns are independent, so threads copy some at a time."""
    columns = ffi.new("fnabi_columns *[]", [part.columns for part in parts])
    joined = Part(lib.fnabi_columns_join_new(columns, len(parts)))
    with ThreadPoolExecutor(min(len(parts), _JOINING)) as pool:
        for failed in pool.map(
            lambda column: lib.fnabi_columns_join_column(
                joined.columns, columns, len(parts), column
            ),
            range(lib.FNABI_COLUMN_COUNT),
        ):
            check_rows(failed)
    return joined
