"""The type of an element of an array, or of one value."""

from __future__ import annotations

import re
import struct
import sys
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import msgspec

from fnabi._base.arguments import argument_error
from fnabi._base.core import Data, data_bytes
from fnabi._base.packages import why_unusable
from fnabi._base.text import cut, quoted
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CallError,
    MissingPackageError,
    RangeError,
    shown_int,
    type_name,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DTypeKind: TypeAlias = Literal[
    "signed", "unsigned", "signless", "float", "bfloat", "complex", "bool", "index", "handle"
]

_KINDS = get_args(DTypeKind)
_PREFIX = {"signed": "int", "unsigned": "uint", "signless": "i"}

# The names of dtypes in NumPy and ml_dtypes. NumPy's own are listed, because its other names
# mislead: float128 is the x87 format of 80 bits on many machines.
NUMPY_OWN = {
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bool"),
}
_NUMPY_NAME = r"(int|uint|float|bfloat|complex|bool)(\d*)(?:_(\w+))?"
_ML_DTYPES_NAMES = {"complex32_bf16": "bcomplex32"}
"""What ml_dtypes calls a dtype in another way than MLIR, by the name of the DType."""
_NUMPY_NAMES = {theirs: own for own, theirs in _ML_DTYPES_NAMES.items()}
_NUMPY_KINDS: dict[str, DTypeKind] = {
    "int": "signed",
    "uint": "unsigned",
    "float": "float",
    "bfloat": "bfloat",
    "complex": "complex",
    "bool": "bool",
}

# The format of a buffer: a code of the struct module or of complex numbers.
_FORMAT = r"([@=<>!]?)(?:(Z[fd]|[FD])|([bhilqnBHILQNefd?]))"
_FOREIGN = ("<",) if sys.byteorder == "big" else (">", "!")


class Record(
    msgspec.Struct,
    frozen=True,
    array_like=True,
    gc=False,
    repr_omit_defaults=True,
):
    """Base of all records. They cannot form cycles, so the garbage collector ignores them."""


# What a dtype calls itself: "float32", "float8_e4m3fn", "int8x4", "i8", "bool"; in torch also
# "float4_e2m1fn_x2". The format of complex numbers is what MLIR calls a part that is no IEEE float.
_DTYPE_TEXT = re.compile(
    r"(?:(void)|(bool|index|handle)|(u?int|i|float|bfloat|complex|index|handle)(\d+)"
    r"(?:_(tf32|e\dm\d[a-wyz0-9]*|(?:[su]?i|b?f)\d[^\Wx]*|index))?)(?:_?x(\d+))?",
    re.ASCII,
)
_TEXT_KINDS: dict[str, DTypeKind] = {"uint": "unsigned", "int": "signed", "i": "signless"}
_FORMATS = {"float": "et", "complex": "bfistu"}
"""What the formats of dtypes begin with."""
_ALONE = {"bool": 1, "index": 64, "handle": 64}
_SHOWN = 40  # the most characters of a name that an error shows


_OTHER_NAMES = {
    "half": "float16",
    "single": "float32",
    "float": "float32",
    "double": "float64",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "boolean": "bool",
}
_OTHER_PREFIXES = {
    "u": "uint",
    "ui": "uint",
    "s": "int",
    "si": "int",
    "f": "float",
    "fp": "float",
    "bf": "bfloat",
    "c": "complex",
}


def shown_name(text: str) -> str:
    """Return the name of a dtype, or the start of a long one, in quotes for an error."""
    return repr(cut(text, _SHOWN))


def meant_dtype(text: str) -> str | None:
    """Return the name of a dtype that another language calls by a name, such as ``double``."""
    if len(text) > _SHOWN:
        return None
    word = text.strip().lower()
    prefix = word.rstrip("0123456789")
    name = _OTHER_NAMES.get(word) or _OTHER_PREFIXES.get(prefix, prefix) + word[len(prefix) :]
    return name if name != text and _is_name(name) else None


def _is_name(text: str) -> bool:
    try:
        _parsed(text, "")
    except CallError:
        return False
    return True


class _DTypeMeta(msgspec.StructMeta):
    """Checks what a DType is made of. Records that the core's messages become need no check."""

    if not TYPE_CHECKING:  # which knows what a class gives

        def __call__(
            cls, kind: Any, bits: int | None = None, format: str = "", lanes: int = 1
        ) -> Any:
            if bits is None:
                if format != "" or lanes != 1:
                    raise ArgumentTypeError(
                        "DType: bits: missing beside format and lanes, which a name contains"
                    )
                return _parsed(kind, "DType: kind")
            if not isinstance(kind, str) or kind not in _KINDS:
                kinds = f"one of {', '.join(_KINDS)}"
                raise argument_error("DType: kind", kinds, kind, str)
            for name, number in ("bits", bits), ("lanes", lanes):
                if not isinstance(number, int):
                    raise ArgumentTypeError(f"DType: {name}: expected int, got {type_name(number)}")
                if not -(2**63) <= number < 2**63:
                    raise RangeError(f"DType: {name}: {shown_int(number)} does not fit in int64")
            if not isinstance(format, str):
                raise ArgumentTypeError(f"DType: format: expected str, got {type_name(format)}")
            # members of enums and bools have other texts than plain values
            return super().__call__(str.__str__(kind), int(bits), str.__str__(format), int(lanes))


class DType(Record, frozen=True, metaclass=_DTypeMeta):
    """The type of an element: ``DType("float", 32)``, or by its name, ``DType("float32")``.

    Attributes:
        kind: The meaning of the bits. Signless integers are those of MLIR, such as ``i8``, which
            may be signed or unsigned. A handle is an opaque pointer.
        bits: The width of a lane in bits; the width of both parts of a complex number; 1 for a
            bool, which occupies a whole byte in memory.
        format: The name of the format of floats that are neither IEEE nor bfloat, such as
            ``"e4m3fn"``; else empty.
        lanes: The number of lanes of an element, as in DLPack; above 1 it is a vector.

    Raises:
        CallError: when `kind` is neither one of these nor a name.

    Example:
        >>> import fnabi
        >>> dtype = fnabi.DType("float8_e4m3fn")
        >>> dtype.kind, dtype.bits, dtype.format
        ('float', 8, 'e4m3fn')
        >>> str(fnabi.DType("float", 32))
        'float32'

    """

    kind: DTypeKind
    bits: int
    format: str = ""
    lanes: int = 1

    if TYPE_CHECKING:

        def __init__(
            self, kind: DTypeKind | str, bits: int = ..., format: str = ..., lanes: int = ...
        ) -> None: ...

    @classmethod
    def parse(cls, text: Data) -> DType:
        """Return the dtype of a name, as ``str`` writes it: ``"float8_e4m3fn"``, ``"int8x4"``.

        Args:
            text: The name, as str or bytes.

        Raises:
            CallError: when `text` is no name of a dtype.

        """
        name = text if isinstance(text, str) else data_bytes(text, "DType.parse").decode("latin-1")
        return _parsed(name, "DType.parse: text")

    @property
    def itemsize(self) -> int:
        """The size of an element in memory, in bytes.

        Raises:
            CallError: when an element has no such size: elements of less than a byte are packed,
                and the width of an index depends on the target.

        """
        bits = (8 if self.kind == "bool" else self.bits) * self.lanes
        if self.kind == "index" or bits <= 0 or bits % 8:
            raise ArgumentValueError(
                f"DType.itemsize: an element of {self} is not a number of whole bytes"
            )
        return bits // 8

    def to_numpy(self) -> np.dtype[Any]:
        """Return the NumPy dtype of these elements, in the byte order of the machine.

        bfloat, 8-bit floats and integers of less than a byte are those of ml_dtypes. Signless
        integers become signed ones, since NumPy lacks them. Lanes become a subarray.

        Raises:
            CallError: when there is no such dtype, or its package is not installed.

        """
        numpy = load_numpy("DType.to_numpy")
        known = _numpy_of.get(self)
        if known is not None:
            return known
        own = {"signless": f"int{self.bits}", "bool": "bool"}  # a bool is a byte
        name = own.get(self.kind, self._lane)
        scalar: Any = name if name in NUMPY_OWN else self._ml_dtypes_scalar(name)
        dtype: np.dtype[Any] = numpy.dtype(scalar)
        if self.lanes == 1:
            _numpy_of[self] = dtype
            return dtype
        try:
            if self.lanes > 0 and self.itemsize == dtype.itemsize * self.lanes:
                vector: np.dtype[Any] = numpy.dtype((dtype, (self.lanes,)))
                return vector
        except ValueError:  # more than 2 GiB, or a size that is no number of bytes
            pass
        raise ArgumentValueError(f"DType.to_numpy: NumPy has no {self}")

    def _ml_dtypes_scalar(self, name: str) -> Any:
        try:
            import ml_dtypes
        except ImportError as problem:
            why = f"ml_dtypes {why_unusable(problem, 'ml_dtypes')}"
            raise MissingPackageError(f"DType.to_numpy: NumPy has no {self}, and {why}") from None
        scalar = getattr(ml_dtypes, _ML_DTYPES_NAMES.get(name, name), None)
        if scalar is None:
            raise ArgumentValueError(
                f"DType.to_numpy: neither NumPy nor ml_dtypes {ml_dtypes.__version__} has {self}"
            )
        return scalar

    @classmethod
    def from_numpy(cls, dtype: npt.DTypeLike) -> DType:
        """Return the type of the elements of a NumPy dtype.

        Args:
            dtype: Anything that ``np.dtype`` accepts, except None.

        Raises:
            CallError: when `dtype` is not a dtype, has no equivalent DType, or has another byte
                order than the machine.

        """
        numpy = load_numpy("DType.from_numpy")
        if dtype is None:
            raise ArgumentTypeError("DType.from_numpy: dtype: expected a NumPy dtype, got None")
        try:
            given = numpy.dtype(dtype)
        except (TypeError, ValueError, RecursionError) as problem:
            if isinstance(dtype, str):
                why = cut(str(problem), _LONGEST)
                raise ArgumentValueError(f"DType.from_numpy: dtype: {why}") from problem
            raise ArgumentTypeError(
                f"DType.from_numpy: dtype: expected a NumPy dtype, got {type_name(dtype)}"
            ) from problem
        found = _of_number.get(given.num)
        if found is None or not given.isnative:
            found = _of_numpy(given)
            if given.num >= 0:
                _of_number[given.num] = found
        return found

    @classmethod
    def from_format(cls, format: str) -> DType:
        """Return the type of the elements of a buffer from its format (see the module `struct`).

        Args:
            format: One code of ``bBhHiIlLqQnNefd?``, or ``Zf``, ``Zd``, ``F``, ``D`` for complex
                numbers. Before it, ``@`` or nothing selects native sizes, and ``=`` or the
                machine's byte order standard sizes.

        Raises:
            CallError: when `format` is anything else, or has another byte order.

        """
        match = re.fullmatch(_FORMAT, format) if isinstance(format, str) else None
        if not match:
            if isinstance(format, str):
                raise ArgumentValueError(
                    f"DType.from_format: format: no DType for {quoted(format)}"
                )
            raise ArgumentTypeError(
                f"DType.from_format: format: expected str, got {type_name(format)}"
            )
        order, pair, code = match.groups()
        try:
            size = struct.calcsize(order + (code or pair[-1].lower()))
        except struct.error as problem:
            raise ArgumentValueError(
                f"DType.from_format: format: {quoted(format)}: {problem}"
            ) from problem
        if order in _FOREIGN and size > 1:
            raise ArgumentValueError(
                f"DType.from_format: format: {quoted(format)} is not in the byte order of this"
                " machine; convert the elements first"
            )
        if pair:
            return cls("complex", 2 * 8 * size)
        if code == "?":
            return cls("bool", 1)
        integer: DTypeKind = "signed" if code.islower() else "unsigned"
        return cls("float" if code in "efd" else integer, 8 * size)

    @property
    def _lane(self) -> str:
        bits = "" if self.bits == _ALONE.get(self.kind) else self.bits
        text = f"{_PREFIX.get(self.kind, self.kind)}{bits}"
        return f"{text}_{self.format}" if self.format else text

    def __str__(self) -> str:
        if self.kind == "handle" and self.bits == self.lanes == 0 and not self.format:
            return "void"
        return self._lane if self.lanes == 1 else f"{self._lane}x{self.lanes}"


_numpy_of: dict[DType, np.dtype[Any]] = {}
"""The NumPy dtypes of those with one lane that NumPy or ml_dtypes has, which are few."""

_LONGEST = 200
"""The most characters of an error of NumPy, which repeats the argument."""

_of_number: dict[int, DType] = {}
"""By NumPy's number of a dtype, which needs no memory as a hash of the dtype does."""


def _of_numpy(given: np.dtype[Any]) -> DType:
    if not given.isnative:
        raise ArgumentValueError(
            f"DType.from_numpy: dtype: {given.str} is not in the byte order of this machine;"
            ' convert with array.astype(array.dtype.newbyteorder("="))'
        )
    match = re.fullmatch(_NUMPY_NAME, _NUMPY_NAMES.get(given.name, given.name))
    if match:
        prefix, bits, format = match.groups()
        found = DType(_NUMPY_KINDS[prefix], int(bits or 1), format or "")
        if given.name in NUMPY_OWN or given.type.__module__ == "ml_dtypes":
            return found
    raise ArgumentValueError(f"DType.from_numpy: dtype: no DType for {given}")


def _parsed(text: object, where: str) -> DType:
    match = _DTYPE_TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        meant = meant_dtype(text) if isinstance(text, str) else None
        hint = f"; did you mean {meant}?" if meant else ""
        expected = "the name of a dtype, such as 'float32'"
        raise argument_error(where, expected, text, str, hint=hint)
    void, alone, prefix, digits, format, lanes = match.groups()
    if void and lanes is None:
        return DType("handle", 0, "", 0)
    if alone or void:
        prefix, digits = alone or "void", str(_ALONE.get(alone, 0))
    is_odd = format and format[0] not in _FORMATS.get(prefix, "")
    if void or is_odd or len(digits + (lanes or "")) > 9:
        raise ArgumentValueError(f"{where}: no dtype has the name {shown_name(str(text))}")
    return DType(_TEXT_KINDS.get(prefix, prefix), int(digits), format or "", int(lanes or 1))


def load_numpy(purpose: str) -> Any:
    """Import `numpy`, for those functions only that need it."""
    try:
        import numpy as np
    except ImportError as problem:
        why = why_unusable(problem, "numpy")
        raise MissingPackageError(f"{purpose}: NumPy {why}") from None
    return np
