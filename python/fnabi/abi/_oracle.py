"""The memory layout that a function accepts, and the allocation of its results.

A raw signature gives the element type and the dims of a buffer, but not its layout in memory.
IREE's ``function_abi.md`` has two mechanisms for them beside the signature. Both are part of the
raw function ABI, and `fnabi.raw` re-exports their names:

- *Memory layout*: `oracle` returns whether a buffer can be passed as it is, or else what it has to
  be converted to. Functions accept dense row-major (C-contiguous) memory.
- *Deferred result allocation*: `allocate_results` allocates results of static shape, and calls the
  function's result allocator (attribute ``fbr``) with `dynamic_dims` for the others.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import index
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import force_setattr

from fnabi._base.arguments import argument_error, listed
from fnabi._base.dtype import load_numpy
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CallError,
    MissingPackageError,
    RangeError,
)
from fnabi.types import Buffer, DType, Signature, shape_text

__all__ = ["BufferDescription", "allocate_results", "describe", "dynamic_dims", "oracle"]

T = TypeVar("T")


class BufferDescription(msgspec.Struct, frozen=True, gc=False):
    """Element type, dims and layout of a buffer in memory, after ``Py_buffer``.

    An unspecified part is None. `describe` and `oracle` return complete descriptions; `oracle`
    completes a partial one, such as ``BufferDescription(shape=(3, None))`` for new memory. The
    properties raise `CallError` for an unspecified part that they need.

    Attributes:
        dtype: The type of the elements, whose size must be a number of whole bytes.
        shape: The dims, in elements; None for an unspecified dim.
        strides: The distances of adjacent elements along each dim, in bytes; may be negative or 0.

    Raises:
        CallError: when a part has another type, a dim is negative, or there are more or fewer
            strides than dims.

    """

    dtype: DType | None = None
    shape: tuple[int | None, ...] | None = None
    strides: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        with naming("BufferDescription"):
            if self.dtype is not None:
                _expect(self.dtype, DType, "dtype")
                _ = self.dtype.itemsize  # raises for an element of less than a byte
            if self.shape is not None:
                shape = _expect(self.shape, tuple, "shape")
                if not _all_ints(shape):
                    shape = tuple(
                        None if dim is None else _int(dim, f"shape[{place}]")
                        for place, dim in enumerate(shape)
                    )
                    force_setattr(self, "shape", shape)
                for place, dim in enumerate(shape):
                    if dim is not None and dim < 0:
                        raise ArgumentValueError(f"shape[{place}] is {dim}, expected at least 0")
            if self.strides is not None:
                strides = _expect(self.strides, tuple, "strides")
                if not _all_ints(strides):
                    strides = tuple(
                        _int(stride, f"strides[{place}]") for place, stride in enumerate(strides)
                    )
                    force_setattr(self, "strides", strides)
                if self.shape is None or len(self.strides) != len(self.shape):
                    raise ArgumentValueError(
                        f"strides: {len(self.strides)}, expected one for each dim"
                    )

    @classmethod
    def contiguous(
        cls, dtype: DType, shape: Sequence[int], order: Literal["C", "F"] = "C"
    ) -> BufferDescription:
        """Describe dense memory, row-major (``"C"``) or column-major (``"F"``).

        Raises:
            CallError: when an argument has another type, an element is not a number of whole
                bytes, or the machine cannot address that many.

        """
        with naming("BufferDescription.contiguous"):
            dims = _ints(shape, "shape")
            itemsize = _expect(dtype, DType, "dtype").itemsize
            strides = _dense_strides(itemsize, dims, order)
        return cls(dtype, dims, strides)

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(_specified(self.shape, "shape"))

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return _specified(self.dtype, "dtype").itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes, without gaps; never rounded, however large."""
        return self.itemsize * math.prod(self._dims())

    def is_contiguous(self, order: Literal["C", "F"] = "C") -> bool:
        """Return whether memory is dense in row-major (``"C"``) or column-major (``"F"``) order.

        As in NumPy, the stride of a dim of one element is ignored, and all strides are if there are
        no elements.
        """
        dims, strides = self._dims(), _specified(self.strides, "strides")
        if 0 in dims:
            return True
        with naming("BufferDescription.is_contiguous"):
            dense = _dense_strides(self.itemsize, dims, order)
        return all(
            dim == 1 or stride == wanted
            for dim, stride, wanted in zip(dims, strides, dense, strict=True)
        )

    def _dims(self) -> tuple[int, ...]:
        shape = _specified(self.shape, "shape")
        return tuple(_specified(dim, f"shape[{place}]") for place, dim in enumerate(shape))

    def __str__(self) -> str:
        text = f"{self.dtype or '?'}[{shape_text(self.shape)}]"
        return text if self.strides is None else f"{text} with strides {self.strides}"


def describe(array: object) -> BufferDescription:
    """Describe the memory of an array.

    Args:
        array: An object with the buffer protocol (bytes, array.array, memoryview, NumPy arrays),
            or, with NumPy installed, ``__array_interface__`` or ``__dlpack__``. These serve NumPy
            arrays of dtypes that the buffer protocol lacks, such as bfloat16.

    Returns:
        A complete description; its strides are those that the object reports.

    Raises:
        CallError: when `array` is none of these, its elements have no DType, less than a byte or
            another byte order than the machine, or its memory is not accessible.

    Example:
        >>> import numpy as np
        >>> from fnabi import raw
        >>> raw.describe(np.zeros((2, 3), np.float32))
        BufferDescription(dtype=DType(kind='float', bits=32), shape=(2, 3), strides=(12, 4))

    """
    with naming("raw.describe: array"):
        return inspect(array)[0]


def oracle(buffer_type: Buffer, description: BufferDescription) -> BufferDescription:
    """Return the memory that a function accepts for a buffer of its signature.

    This is the ``BufferDescriptionOracle`` of ``function_abi.md``, for functions that accept dense
    row-major memory. Values may be converted to another element type if the kind stays the same or
    widens: from bool to integer to float to complex. Precision and range may shrink (float64 to
    float32, int64 to int32), so compare ``result.dtype`` if that matters. Refused are

    - a narrower kind: complex to float, float to integer, anything to bool;
    - a change of sign that loses values: signed to unsigned, unsigned to signed of the same or a
      smaller width;
    - ambiguous conversions: of index and to it, and of signless integers to anything but an
      integer of the same width;
    - conversions of handles and to them, and a change of the number of lanes;
    - any other dtype to float8_e8m0fnu, which has neither a sign nor a zero.

    A signature's signless integers accept signed and unsigned ones of the same width as they are.

    Args:
        buffer_type: The buffer of a signature; an unknown rank accepts any rank.
        description: The memory to be passed, or a partial description of memory to be allocated.
            Unspecified parts become the element type and static dims of `buffer_type`, and the
            row-major layout.

    Returns:
        `description` itself if the memory can be passed as it is; else the complete description of
        dense row-major memory for a converted copy.

    Raises:
        CallError: when the ranks or static dims differ, the values cannot be converted, a dim is
            specified in neither argument, or the machine cannot address that many bytes.

    Example:
        >>> import numpy as np
        >>> from fnabi import Signature, raw
        >>> (buffer,) = Signature.parse("(float32[?x3]) -> ()").inputs
        >>> raw.oracle(buffer, raw.describe(np.zeros((2, 3), np.float32)))
        BufferDescription(dtype=DType(kind='float', bits=32), shape=(2, 3), strides=(12, 4))

    """
    with naming("raw.oracle"):
        _check_buffer(_expect(buffer_type, Buffer, "buffer_type"), "buffer_type")
        _expect(description, BufferDescription, "description")
        with naming("description"):
            return _complete(buffer_type, description)


def dynamic_dims(signature: Signature, arrays: Sequence[object]) -> tuple[int, ...]:
    """Return the dynamic dims of all input buffers, in order, for the result allocator.

    Args:
        signature: The raw signature of the function. Names of its arguments are ignored.
        arrays: One value for each input: for a buffer an object that `describe` accepts, or a
            description; for any other input any value.

    Returns:
        The dims in elements, of all buffers one after the other; all dims of a buffer of unknown
        rank.

    Raises:
        CallError: when the number of inputs differs, or `oracle` does not accept one; the text
            names it, such as ``arrays[1]``.

    Example:
        >>> import numpy as np
        >>> from fnabi import Signature, raw
        >>> signature = Signature.parse("(float32[?x3], float32[?]) -> ()")
        >>> raw.dynamic_dims(signature, [np.zeros((2, 3), np.float32), np.zeros(5, np.float32)])
        (2, 5)

    """
    with naming("raw.dynamic_dims"):
        signature = _expect(signature, Signature, "signature").without_names()
        _expect(arrays, (tuple, list), "arrays")
        if len(arrays) != len(signature.inputs):
            raise ArgumentValueError(f"arrays: expected {len(signature.inputs)}, got {len(arrays)}")
        dims: list[int] = []
        for place, (type, array) in enumerate(zip(signature.inputs, arrays, strict=True)):
            if isinstance(type, Buffer):
                _check_buffer(type, f"signature.inputs[{place}]")
                with naming(f"arrays[{place}]"):
                    given = array if isinstance(array, BufferDescription) else inspect(array)[0]
                    actual = _complete(type, given)._dims()
                wanted = (None,) * len(actual) if type.shape is None else type.shape
                dims += (dim for dim, static in zip(actual, wanted, strict=True) if static is None)
        return tuple(dims)


def allocate_results(
    signature: Signature,
    allocator: Callable[[tuple[int, ...]], Sequence[Any]] | None = None,
    dims: Sequence[int] = (),
) -> list[Any]:
    """Allocate the results of a call before it, so that calls can be pipelined.

    Buffers whose dims are all static are allocated here, zeroed: NumPy arrays where NumPy is
    installed, else memoryviews of that shape, which only Python's own element types have.

    Args:
        signature: The raw signature of the function. Names in it are ignored.
        allocator: The function that attribute ``fbr`` names,
            ``tuple<buffer> __allocate_results(tuple<int> dynamic_dims)``. It accepts `dims`, and
            returns a tuple or list with one writable buffer, or None, for each buffer with dynamic
            dims. It is called once, and only if there is such a buffer.
        dims: The result of `dynamic_dims`.

    Returns:
        For each result a buffer; or None for a result that only the call can provide: one that is
        not a buffer, or for which the allocator returned None.

    Raises:
        CallError: when dynamic results have no allocator, `dims` do not match the signature, the
            allocator returns more or fewer buffers or one that cannot be passed as it is, or a
            buffer is too large or needs NumPy; the text names ``results[i]``.
        MemoryError: when there is not enough memory.

    Example:
        >>> import numpy as np
        >>> from fnabi import Signature, raw
        >>> (result,) = raw.allocate_results(Signature.parse("() -> (float32[2x3])"))
        >>> result.shape, result.dtype
        ((2, 3), dtype('float32'))

    """
    with naming("raw.allocate_results"):
        signature = _expect(signature, Signature, "signature").without_names()
        static: dict[int, Buffer] = {}
        dynamic: dict[int, Buffer] = {}
        for place, type in enumerate(signature.results):
            if isinstance(type, Buffer):
                _check_buffer(type, f"signature.results[{place}]")
                (dynamic if type.shape is None or None in type.shape else static)[place] = type
        if dynamic and not callable(allocator):
            place, type = next(iter(dynamic.items()))
            raise ArgumentValueError(
                f"results[{place}] is {type}: expected allocator, the function that attribute fbr"
                " names, and dims, the result of raw.dynamic_dims"
            )
        taken = _allocator_dims(signature, dims) if dynamic else ()
        results: list[Any] = [None] * len(signature.results)
        for place, type in static.items():
            with naming(f"results[{place}]"):
                results[place] = _allocate(_complete(type, BufferDescription()))
    if allocator is None or not dynamic:
        return results
    given = allocator(taken)
    with naming("raw.allocate_results"):
        _expect(given, (tuple, list), "the allocator's result")
        if len(given) != len(dynamic):
            raise ArgumentValueError(
                f"the allocator's result: expected {len(dynamic)} buffers, one for each result"
                f" with dynamic dims, got {len(given)}"
            )
        for (place, type), buffer in zip(dynamic.items(), given, strict=True):
            if buffer is not None:
                with naming(f"results[{place}]"):
                    _check_result(type, buffer)
                results[place] = buffer
    return results


def _complete(buffer_type: Buffer, description: BufferDescription) -> BufferDescription:
    dtype = _complete_dtype(buffer_type.dtype, description.dtype)
    shape = _complete_shape(buffer_type, description.shape)
    if (
        dtype == description.dtype
        and shape == description.shape
        and description.strides is not None
        and description.is_contiguous()
    ):
        return description
    return BufferDescription(dtype, shape, _dense_strides(dtype.itemsize, shape, "C"))


def _complete_dtype(wanted: DType, given: DType | None) -> DType:
    if given is None:
        return wanted
    if _same_bits(given, wanted):
        return given
    if not _converts(given, wanted):
        raise ArgumentTypeError(f"dtype is {given}, which does not convert to {wanted}")
    return wanted


def _complete_shape(buffer_type: Buffer, given: tuple[int | None, ...] | None) -> tuple[int, ...]:
    wanted = buffer_type.shape
    if given is None:
        if wanted is None:
            raise ArgumentValueError(
                f"shape is not specified, and has an unknown rank in {buffer_type}"
            )
        given = (None,) * len(wanted)
    elif wanted is None:
        wanted = (None,) * len(given)
    if len(given) != len(wanted):
        raise ArgumentValueError(f"rank is {len(given)}, expected {len(wanted)} for {buffer_type}")
    shape = []
    for place, (dim, static) in enumerate(zip(given, wanted, strict=True)):
        if None not in (dim, static) and dim != static:
            raise ArgumentValueError(
                f"shape[{place}] is {dim}, expected {static} for {buffer_type}"
            )
        known = static if dim is None else dim
        if known is None:
            raise ArgumentValueError(
                f"shape[{place}] is not specified, and dynamic in {buffer_type}"
            )
        shape.append(known)
    return tuple(shape)


_RANKS = {
    "bool": 0,
    "signed": 1,
    "unsigned": 1,
    "signless": 1,
    "float": 2,
    "bfloat": 2,
    "complex": 3,
}


def _same_bits(given: DType, wanted: DType) -> bool:
    """Return whether values need no conversion."""
    if given == wanted:
        return True
    integers = _RANKS.get(given.kind) == _RANKS.get(wanted.kind) == 1
    same = (given.bits, given.lanes) == (wanted.bits, wanted.lanes)
    return integers and same and "signless" in (given.kind, wanted.kind)


def _converts(given: DType, wanted: DType) -> bool:
    """Return whether `oracle` converts between different dtypes, by the rules it documents."""
    if given.kind not in _RANKS or wanted.kind not in _RANKS or wanted.kind == "bool":
        return False
    if given.lanes != wanted.lanes:
        return False
    if wanted.format == "e8m0fnu" or given.kind == "signless":
        return False
    if given.kind == wanted.kind or _RANKS[given.kind] < _RANKS[wanted.kind]:
        return True
    if _RANKS[given.kind] > _RANKS[wanted.kind]:
        return False
    if wanted.kind == "signed":
        return given.bits < wanted.bits
    return wanted.kind != "unsigned"


def _allocator_dims(signature: Signature, dims: Sequence[int]) -> tuple[int, ...]:
    taken = _ints(dims, "dims")
    shapes = [type.shape for type in signature.inputs if isinstance(type, Buffer)]
    dynamic = sum(shape.count(None) for shape in shapes if shape is not None)
    if len(taken) != dynamic and not (None in shapes and len(taken) > dynamic):
        raise ArgumentValueError(
            f"dims: expected {dynamic}, the dynamic dims of the inputs (see raw.dynamic_dims),"
            f" got {len(taken)}"
        )
    return taken


def _allocate(description: BufferDescription) -> Any:
    """Allocate zeroed memory for a dense row-major description."""
    dtype, dims = _specified(description.dtype, "dtype"), description._dims()
    try:
        import numpy as np
    except ImportError:
        # memoryview.cast accepts neither float16 nor complex, no dim of 0, and a rank up to 64.
        codes: tuple[Literal["?", "b", "h", "i", "q", "B", "H", "I", "Q", "f", "d"], ...]
        codes = ("?", "b", "h", "i", "q", "B", "H", "I", "Q", "f", "d")
        for code in codes:
            same = _same_bits(DType.from_format(code), dtype)
            if same and 0 not in dims and len(dims) <= 64:
                return memoryview(bytearray(description.nbytes)).cast(code, dims)
        raise MissingPackageError(
            f"memory for {dtype}[{shape_text(dims)}] needs NumPy (pip install numpy)"
        ) from None
    try:
        return np.zeros(dims, dtype.to_numpy())
    except ValueError as problem:
        raise ArgumentValueError(str(problem)) from problem


def _check_result(buffer_type: Buffer, buffer: object) -> None:
    given, readonly = inspect(buffer)
    usable = _complete(buffer_type, given)
    if usable is not given:
        raise ArgumentValueError(f"{given} cannot be passed as it is, expected {usable}")
    if readonly:
        raise ArgumentValueError("memory is read-only, expected writable memory")


def inspect(array: object) -> tuple[BufferDescription, bool]:
    """Return the description of an array's memory, and whether it is known to be read-only."""
    try:
        view = memoryview(array)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError) as problem:
        return _inspect_with_numpy(array, problem)
    with view:
        if view.suboffsets:
            raise ArgumentValueError("memory has suboffsets, expected strides alone")
        try:
            dtype = DType.from_format(view.format)
        except CallError:
            numpy = sys.modules.get("numpy")
            if numpy is not None and isinstance(array, numpy.ndarray):
                DType.from_numpy(array.dtype)  # its error has the name that NumPy shows
            raise
        return BufferDescription(dtype, view.shape, view.strides), view.readonly


def _inspect_with_numpy(array: object, reason: Exception) -> tuple[BufferDescription, bool]:
    has_interface = hasattr(array, "__array_interface__")
    name = type(array).__name__
    if not (has_interface or hasattr(array, "__dlpack__")):
        raise ArgumentTypeError(
            "expected an object with the buffer protocol, __array_interface__ or __dlpack__,"
            f" got {name}"
        ) from reason
    np = load_numpy(f"reading {name}")
    try:
        given = np.asarray(array) if has_interface else np.from_dlpack(array)
    except Exception as problem:
        raise ArgumentValueError(f"NumPy cannot reach the memory of {name}: {problem}") from problem
    # NumPy marks memory from DLPack as read-only if the producer does not state it.
    readonly = has_interface and not given.flags.writeable
    return BufferDescription(DType.from_numpy(given.dtype), given.shape, given.strides), readonly


def _dense_strides(itemsize: int, dims: tuple[int, ...], order: str) -> tuple[int, ...]:
    if order not in ("C", "F"):
        raise argument_error("order", '"C" or "F"', order, str)
    strides = []
    step = itemsize
    for dim in reversed(dims) if order == "C" else dims:
        strides.append(step)
        step *= dim
        if step > sys.maxsize:
            raise RangeError("size is larger than this machine can address")
    return tuple(reversed(strides) if order == "C" else strides)


def _specified(value: T | None, part: str) -> T:
    if value is None:
        raise ArgumentValueError(f"BufferDescription: {part} is not specified")
    return value


def _expect(value: T, kind: type | tuple[type, ...], name: str) -> T:
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise ArgumentTypeError(
            f"{name}: expected {' or '.join(kind.__name__ for kind in kinds)},"
            f" got {type(value).__name__}"
        )
    return value


def _check_buffer(type: Buffer, name: str) -> None:
    """Refuse a buffer that was made of other values than its annotations say."""
    _expect(type.dtype, DType, f"{name}.dtype")
    if type.shape is not None:
        for place, dim in enumerate(_expect(type.shape, (tuple, list), f"{name}.shape")):
            if dim is not None and not isinstance(dim, int):
                _int(dim, f"{name}.shape[{place}]")


def _all_ints(values: tuple[object, ...]) -> bool:
    """Return whether values are ints of Python itself, not those of NumPy or of an enum."""
    return {*map(type, values)} <= {int}


def _int(value: int, name: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise ArgumentTypeError(f"{name}: expected int, got {type(value).__name__}") from None


def _ints(values: Sequence[int], name: str) -> tuple[int, ...]:
    try:
        ints = tuple(map(index, listed(name, values)))
    except TypeError as problem:
        raise ArgumentTypeError(f"{name}: expected a sequence of ints: {problem}") from problem
    for place, value in enumerate(ints):
        if value < 0:
            raise ArgumentValueError(f"{name}[{place}] is {value}, expected at least 0")
    return ints


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Prefix the text of a CallError with the function or argument that it is about."""
    try:
        yield
    except CallError as problem:
        raise type(problem)(f"{place}: {problem}") from problem.__cause__
