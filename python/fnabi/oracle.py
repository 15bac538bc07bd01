"""Which memory layout a function takes, and who allocates its results.

A raw signature gives the element type and the dims of a buffer, but not its layout in memory.
IREE's ``function_abi.md`` leaves that to two mechanisms beside the signature, both part of the raw
function ABI and both here under the names that `fnabi.raw` re-exports:

- *Memory layout*: `oracle` tells whether a buffer can be passed as it is, and else what it has to
  be converted to. The layout that functions take is dense and row-major (C-contiguous).
- *Deferred result allocation*: `allocate_results` allocates what is fully specified, and asks the
  function's result allocator (attribute ``fbr``) for the rest, which it gives `dynamic_dims`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import index
from typing import Any, Literal, TypeVar

import msgspec

from fnabi.errors import CallError
from fnabi.types import Buffer, DType, Signature, load_numpy, shape_text

__all__ = ["BufferDescription", "allocate_results", "describe", "dynamic_dims", "oracle"]

T = TypeVar("T")


class BufferDescription(msgspec.Struct, frozen=True, gc=False):
    """Element type, dims and layout of a buffer in memory, after ``Py_buffer``.

    What is not specified is None. `describe` and `oracle` answer descriptions with everything
    specified; one with gaps is a wish that `oracle` completes, such as
    ``BufferDescription(shape=(3, None))`` for new memory. The properties raise `CallError` when
    what they need is not specified.

    Attributes:
        dtype: Of the elements, which must be whole bytes.
        shape: A dim each, in elements; None for a dim that is not specified.
        strides: From one element to the next along each dim, in bytes; may be negative or 0.

    Raises:
        CallError: when a part is of another type, a dim is negative, or the numbers of dims and
            strides differ.

    """

    dtype: DType | None = None
    shape: tuple[int | None, ...] | None = None
    strides: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        with _naming("BufferDescription"):
            if self.dtype is not None:
                _expect(self.dtype, DType, "dtype")
                _ = self.dtype.itemsize  # raises where there is none
            if self.shape is not None:
                for place, dim in enumerate(_expect(self.shape, tuple, "shape")):
                    if dim is not None and _expect(dim, int, f"shape[{place}]") < 0:
                        raise CallError(f"shape[{place}] is {dim}, expected at least 0")
            if self.strides is not None:
                for place, stride in enumerate(_expect(self.strides, tuple, "strides")):
                    _expect(stride, int, f"strides[{place}]")
                if self.shape is None or len(self.strides) != len(self.shape):
                    raise CallError(f"strides: {len(self.strides)}, expected one for each dim")

    @classmethod
    def contiguous(
        cls, dtype: DType, shape: Sequence[int], order: Literal["C", "F"] = "C"
    ) -> BufferDescription:
        """Describe dense memory, row-major (``"C"``) or column-major (``"F"``).

        Raises:
            CallError: when an argument is of another type, an element is not whole bytes, or the
                machine cannot address that many.

        """
        with _naming("BufferDescription.contiguous"):
            dims = _ints(shape, "shape")
            itemsize = _expect(dtype, DType, "dtype").itemsize
            strides = _dense_strides(itemsize, dims, order)
        return cls(dtype, dims, strides)

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(_specified(self.shape, "shape"))

    @property
    def itemsize(self) -> int:
        """Size of an element in bytes."""
        return _specified(self.dtype, "dtype").itemsize

    @property
    def nbytes(self) -> int:
        """Size of all elements in bytes, without gaps between them; exact, however large."""
        return self.itemsize * math.prod(self._dims())

    def is_contiguous(self, order: Literal["C", "F"] = "C") -> bool:
        """Whether the elements are dense in row-major (``"C"``) or column-major (``"F"``) order.

        As in NumPy, the stride of a dim of one element does not matter, and no stride does where
        there are no elements.
        """
        dims, strides = self._dims(), _specified(self.strides, "strides")
        if 0 in dims:
            return True
        with _naming("BufferDescription.is_contiguous"):
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
            or, with NumPy installed, ``__array_interface__`` or ``__dlpack__``: so NumPy arrays
            reach here whose dtypes the buffer protocol does not carry, such as bfloat16.

    Returns:
        A description with everything specified; strides are those that the object reports.

    Raises:
        CallError: when `array` is none of these, its elements have no DType, are narrower than a
            byte or not in the machine's byte order, or its memory cannot be reached.

    """
    with _naming("raw.describe: array"):
        return _inspect(array)[0]


def oracle(buffer_type: Buffer, description: BufferDescription) -> BufferDescription:
    """Tell what memory a function takes for a buffer of its signature, given what there is.

    This is the ``BufferDescriptionOracle`` of ``function_abi.md``, for functions that take dense
    row-major memory. Values convert to another element type where the kind stays or widens: from
    bool to integer to float to complex. Precision and range may shrink within that (float64 to
    float32, int64 to int32), so compare ``answer.dtype`` where it matters. Refused are

    - a narrower kind: complex to float, float to integer, anything to bool;
    - a change of sign that loses values: signed to unsigned, unsigned to signed of the same or a
      smaller width;
    - whatever would have to guess: index, and signless integers of another width.

    Signless integers of a signature take signed and unsigned ones of the same width as they are.

    Args:
        buffer_type: From a signature; a rank that is unknown takes any.
        description: Of the memory at hand, or with gaps of what is wanted: they are filled with
            the signature's element type and static dims, and the row-major layout.

    Returns:
        `description` itself when the memory can be passed as it is; else the description, with
        everything specified, of dense row-major memory that holds its converted copy.

    Raises:
        CallError: when the ranks differ, a static dim differs, the values do not convert, a dim
            is specified neither here nor there, or the machine cannot address that many bytes.

    """
    with _naming("raw.oracle"):
        _expect(buffer_type, Buffer, "buffer_type")
        _expect(description, BufferDescription, "description")
        with _naming("description"):
            return _complete(buffer_type, description)


def dynamic_dims(signature: Signature, arrays: Sequence[object]) -> tuple[int, ...]:
    """The dynamic dims of all input buffers, in order: what the result allocator takes.

    Args:
        signature: Of the function, raw.
        arrays: The inputs, one each: for a buffer what `describe` takes, or its description; any
            value for another input.

    Returns:
        The dims in elements, of all buffers one after the other; all dims of a buffer whose rank
        the signature does not tell.

    Raises:
        CallError: when the number of inputs differs or one is not what `oracle` takes; the
            message names it, such as ``inputs[1]``.

    """
    with _naming("raw.dynamic_dims"):
        _expect(signature, Signature, "signature")
        _expect(arrays, (tuple, list), "arrays")
        if len(arrays) != len(signature.inputs):
            raise CallError(f"arrays: expected {len(signature.inputs)}, got {len(arrays)}")
        dims: list[int] = []
        for place, (type, array) in enumerate(zip(signature.inputs, arrays, strict=True)):
            if isinstance(type, Buffer):
                with _naming(f"inputs[{place}]"):
                    given = array if isinstance(array, BufferDescription) else _inspect(array)[0]
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
        signature: Of the function, raw.
        allocator: The function that attribute ``fbr`` names,
            ``tuple<buffer> __allocate_results(tuple<int> dynamic_dims)``: takes `dims`, gives a
            tuple or list with one writable buffer, or None, for each buffer with dynamic dims.
            Called once, and only when there is such a buffer.
        dims: The answer of `dynamic_dims`.

    Returns:
        A slot each: a buffer; or None for a result that only the call can give: what is no
        buffer, and where the allocator gave None.

    Raises:
        CallError: when dynamic results have no allocator, `dims` is not what the signature asks
            for, the allocator gives another number of buffers or one that cannot be passed as it
            is, or a buffer is too large or needs NumPy; the message names ``results[i]``.

    """
    with _naming("raw.allocate_results"):
        _expect(signature, Signature, "signature")
        static: dict[int, Buffer] = {}
        dynamic: dict[int, Buffer] = {}
        for place, type in enumerate(signature.results):
            if isinstance(type, Buffer):
                (dynamic if type.shape is None or None in type.shape else static)[place] = type
        if dynamic and not callable(allocator):
            place, type = next(iter(dynamic.items()))
            raise CallError(
                f"results[{place}] is {type}: pass allocator, the function that attribute fbr"
                " names, and dims, the answer of raw.dynamic_dims"
            )
        taken = _allocator_dims(signature, dims) if dynamic else ()
        results: list[Any] = [None] * len(signature.results)
        for place, type in static.items():
            with _naming(f"results[{place}]"):
                results[place] = _allocate(_complete(type, BufferDescription()))
    if allocator is None or not dynamic:
        return results
    given = allocator(taken)
    with _naming("raw.allocate_results"):
        _expect(given, (tuple, list), "the allocator's answer")
        if len(given) != len(dynamic):
            raise CallError(
                f"the allocator's answer: expected {len(dynamic)} buffers, a slot for each result"
                f" with dynamic dims, got {len(given)}"
            )
        for (place, type), buffer in zip(dynamic.items(), given, strict=True):
            if buffer is not None:
                with _naming(f"results[{place}]"):
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
        raise CallError(f"dtype is {given}, which does not convert to {wanted}")
    return wanted


def _complete_shape(buffer_type: Buffer, given: tuple[int | None, ...] | None) -> tuple[int, ...]:
    wanted = buffer_type.shape
    if given is None:
        if wanted is None:
            raise CallError(f"shape is not specified, nor is its rank in {buffer_type}")
        given = (None,) * len(wanted)
    elif wanted is None:
        wanted = (None,) * len(given)
    if len(given) != len(wanted):
        raise CallError(f"rank is {len(given)}, expected {len(wanted)} for {buffer_type}")
    shape = []
    for place, (dim, static) in enumerate(zip(given, wanted, strict=True)):
        if None not in (dim, static) and dim != static:
            raise CallError(f"shape[{place}] is {dim}, expected {static} for {buffer_type}")
        known = static if dim is None else dim
        if known is None:
            raise CallError(f"shape[{place}] is not specified, and dynamic in {buffer_type}")
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
    """Whether values need no conversion."""
    if given == wanted:
        return True
    integers = _RANKS.get(given.kind) == _RANKS.get(wanted.kind) == 1
    return integers and given.bits == wanted.bits and "signless" in (given.kind, wanted.kind)


def _converts(given: DType, wanted: DType) -> bool:
    """The rules that `oracle` documents, for dtypes that differ."""
    if given.kind not in _RANKS or wanted.kind in ("bool", "index"):
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
        raise CallError(
            f"dims: expected {dynamic}, the dynamic dims of the inputs (see raw.dynamic_dims),"
            f" got {len(taken)}"
        )
    return taken


def _allocate(description: BufferDescription) -> Any:
    """Zeroed memory for a dense row-major description."""
    dtype, dims = _specified(description.dtype, "dtype"), description._dims()
    try:
        import numpy as np
    except ImportError:
        # What memoryview.cast takes: neither float16 nor complex, no dim of 0, a rank up to 64.
        codes: tuple[Literal["?", "b", "h", "i", "q", "B", "H", "I", "Q", "f", "d"], ...]
        codes = ("?", "b", "h", "i", "q", "B", "H", "I", "Q", "f", "d")
        for code in codes:
            same = _same_bits(DType.from_format(code), dtype)
            if same and 0 not in dims and len(dims) <= 64:
                return memoryview(bytearray(description.nbytes)).cast(code, dims)
        raise CallError(
            f"memory for {dtype}[{shape_text(dims)}] needs NumPy (pip install numpy)"
        ) from None
    try:
        return np.zeros(dims, dtype.to_numpy())
    except ValueError as problem:
        raise CallError(str(problem)) from problem


def _check_result(buffer_type: Buffer, buffer: object) -> None:
    given, readonly = _inspect(buffer)
    usable = _complete(buffer_type, given)
    if usable is not given:
        raise CallError(f"{given} cannot be passed as it is, expected {usable}")
    if readonly:
        raise CallError("expected writable memory")


def _inspect(array: object) -> tuple[BufferDescription, bool]:
    """The description of an array's memory, and whether it is known to be read-only."""
    try:
        view = memoryview(array)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError) as problem:
        return _inspect_with_numpy(array, problem)
    with view:
        if view.suboffsets:
            raise CallError("expected memory that is reached by strides alone, not by suboffsets")
        dtype = DType.from_format(view.format)
        return BufferDescription(dtype, view.shape, view.strides), view.readonly


def _inspect_with_numpy(array: object, reason: Exception) -> tuple[BufferDescription, bool]:
    has_interface = hasattr(array, "__array_interface__")
    name = type(array).__name__
    if not (has_interface or hasattr(array, "__dlpack__")):
        raise CallError(
            "expected an object with the buffer protocol, __array_interface__ or __dlpack__,"
            f" not {name}"
        ) from reason
    np = load_numpy(f"reading {name}")
    try:
        given = np.asarray(array) if has_interface else np.from_dlpack(array)
    except Exception as problem:
        raise CallError(f"NumPy cannot reach the memory of {name}: {problem}") from problem
    # NumPy marks what DLPack hands over as read-only where the producer does not tell.
    readonly = has_interface and not given.flags.writeable
    return BufferDescription(DType.from_numpy(given.dtype), given.shape, given.strides), readonly


def _dense_strides(itemsize: int, dims: tuple[int, ...], order: str) -> tuple[int, ...]:
    if order not in ("C", "F"):
        raise CallError(f'order: expected "C" or "F", not {order!r}')
    strides = []
    step = itemsize
    for dim in reversed(dims) if order == "C" else dims:
        strides.append(step)
        step *= dim
        if step > sys.maxsize:
            raise CallError("more bytes than this machine can address")
    return tuple(reversed(strides) if order == "C" else strides)


def _specified(value: T | None, part: str) -> T:
    if value is None:
        raise CallError(f"BufferDescription: {part} is not specified")
    return value


def _expect(value: T, kind: type | tuple[type, ...], name: str) -> T:
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise CallError(
            f"{name}: expected {' or '.join(kind.__name__ for kind in kinds)},"
            f" not {type(value).__name__}"
        )
    return value


def _ints(values: Sequence[int], name: str) -> tuple[int, ...]:
    try:
        ints = tuple(map(index, values))
    except TypeError as problem:
        raise CallError(f"{name}: expected a sequence of ints: {problem}") from problem
    for place, value in enumerate(ints):
        if value < 0:
            raise CallError(f"{name}[{place}] is {value}, expected at least 0")
    return ints


@contextmanager
def _naming(place: str) -> Iterator[None]:
    """Say where, in front of what an error says."""
    try:
        yield
    except CallError as problem:
        raise CallError(f"{place}: {problem}") from problem.__cause__
