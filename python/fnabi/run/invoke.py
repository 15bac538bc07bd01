"""Call functions of ``iree.runtime`` with Python values, nested like their signatures.

The runtime accepts flat lists of numbers, lists and buffer views. `Invoker` makes them from NumPy
arrays, numbers, lists, tuples and dicts, and converts the results back::

    >>> import iree.runtime as rt
    >>> from fnabi.run.invoke import Invoker
    >>> config = rt.Config("local-task")
    >>> context = rt.SystemContext(config=config)
    >>> module = rt.VmModule.mmap(config.vm_instance, "model.vmfb")
    >>> context.add_vm_module(module)
    >>> predict = Invoker(context.vm_context, config.device, module.lookup_function("predict"))
    >>> predict({"x": array, "params": {"kernel": kernel, "bias": bias}})

Scalars of float types below 32 bits, such as f16 and bf16, are Python floats. Functions that IREE
3.11 or later has compiled get their bits in an i32 register, earlier ones the number in an f32
register. By default the release of the runtime decides. The calling convention of the function is
certain::

    >>> convention = vmfb.open("model.vmfb").exports["predict"].calling_convention
    >>> Invoker(context.vm_context, config.device, function, convention=convention)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

from fnabi._base import core
from fnabi._base.arguments import argument_error, check_attribute, check_type
from fnabi._base.dtype import load_numpy
from fnabi._base.packages import why_unusable
from fnabi._base.text import quoted
from fnabi.abi import cconv, iree_abi
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CallError,
    MissingPackageError,
    RangeError,
    shown_int,
    type_name,
)
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    RefArray,
    Scalar,
    Signature,
    Tuple,
    Type,
    Unknown,
)

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Invoker", "Marshaller", "element_type", "signature_of"]


def __dir__() -> list[str]:
    return __all__


_UNKNOWN = Unknown()
_WORD = DType("signless", 64)
_DIM = Scalar(DType("signed", 64))


def signature_of(reflection: Mapping[str, str]) -> Signature | None:
    """Parse the signature in the reflection attributes of a function, or return None.

    Raises:
        FormatError: If the text is malformed.
        CallError: If `reflection` is no mapping of texts.

    Example:
        >>> from fnabi import invoke
        >>> print(invoke.signature_of({"iree.abi": '{"a":["i32"],"r":["i32"]}'}))
        (i32) -> (i32)

    """
    check_attribute("invoke.signature_of: reflection", reflection, "get", "a mapping")
    text = reflection.get("iree.abi")
    if text is not None:
        return iree_abi.parse(core.text_bytes(text, "invoke.signature_of", "reflection"))
    text = reflection.get("iree.abi.declaration")
    if text is None:
        return None
    from fnabi.abi.declaration import parse

    found = parse(text)
    return Signature(
        tuple(value.type for value in found.inputs), tuple(value.type for value in found.results)
    )


class Invoker:
    """A function of a loaded module that accepts and returns Python values.

    Arguments are converted as by `iree_abi.flatten`, results as by `iree_abi.unflatten`. NumPy
    arrays, device arrays and buffer views are passed as buffer views; an array of another dtype is
    converted if its elements are numbers of the same kind and in the range. Resulting buffer views
    become NumPy arrays, of bool if the signature states it. Without a signature, each value is
    converted by its own type, and several results become a tuple. An integer for a signless type
    may be signed or unsigned, and a result is signed. An asynchronous function gets
    its two fences, and a call waits for the second.

    Args:
        context: The ``VmContext`` that the function's module is loaded into.
        device: The ``HalDevice`` on which arrays are allocated.
        function: The ``VmFunction``.
        signature: The signature, without fences; by default that of the function's reflection
            attributes.
        is_async: Whether the function is asynchronous; by default what its reflection attributes
            say.
        convention: The calling convention, ``Export.calling_convention``, which decides how float
            scalars below 32 bits are passed; by default as for the release of the runtime.

    Raises:
        FormatError: If the function's own signature or `convention` is malformed.
        CallError: If `convention` is no text, or NumPy is not installed.

    Example:
        >>> import iree.runtime, numpy as np
        >>> from fnabi import invoke
        >>> config = iree.runtime.Config("local-sync")
        >>> module = iree.runtime.VmModule.mmap(config.vm_instance, "examples/classifier.vmfb")
        >>> context = iree.runtime.SystemContext(config=config)
        >>> context.add_vm_module(module)
        >>> normalize = module.lookup_function("normalize")
        >>> call = invoke.Invoker(context.vm_context, config.device, normalize)
        >>> call(np.full((1, 64), 4, np.int8), 0.5).shape
        (1, 64)

    """

    def __init__(
        self,
        context: Any,
        device: Any,
        function: Any,
        signature: Signature | None = None,
        is_async: bool | None = None,
        convention: str | None = None,
    ) -> None:
        check_attribute("Invoker: context", context, "invoke", "a VmContext")
        check_attribute("Invoker: function", function, "reflection", "a VmFunction")
        if signature is not None:
            check_type("Invoker: signature", signature, Signature)
        reflection = function.reflection
        if is_async is None:
            is_async = reflection.get("iree.abi.model") == "coarse-fences"
        self._name = "Invoker"  # what errors begin with
        self._is_async = is_async
        self._context = context
        self._function = function
        self.signature = signature_of(reflection) if signature is None else signature
        widened = None if convention is None else _widens(self.signature, convention)
        self._marshaller = Marshaller(device, widened=widened)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            CallError: If an argument is missing, surplus or of the wrong type, or a result does
                not match the signature.
            RangeError: If a number does not fit in its type.
            ValueError: If the runtime refuses the call, as for an array of another shape. What
                fails while the function runs is raised as the runtime raises it.

        """
        signature, marshaller, where = self.signature, self._marshaller, self._name
        if signature is None:
            if kwargs:
                raise ArgumentTypeError(
                    f"{where}: the function has no signature; expected no keyword arguments"
                )
            signature = Signature((_UNKNOWN,) * len(args), ())
        flat = iree_abi.flatten_for(where, signature, args, kwargs)
        inputs = marshaller.pack(signature.inputs, flat, where)
        outputs = marshaller.new_list(len(signature.results))
        done = marshaller.push_fences(inputs) if self._is_async else None
        self._context.invoke(self._function, inputs, outputs)
        if done is not None:
            done.wait()
        if self.signature is None:
            values = marshaller.unpack((_UNKNOWN,) * len(outputs), outputs, where)
            return None if not values else values[0] if len(values) == 1 else tuple(values)
        types = returned_types(signature.results)
        if len(types) != len(outputs):
            raise ArgumentValueError(f"{where}: expected {len(types)} results, got {len(outputs)}")
        return iree_abi.unflatten(signature, marshaller.unpack(types, outputs, where))

    def __repr__(self) -> str:
        return f"<Invoker {self._function!r} {self.signature or ''}>"


class Marshaller:
    """Converts the flat values of `iree_abi.flatten` to a ``VmVariantList`` and back.

    Args:
        device: The ``HalDevice`` on which arrays are allocated.
        to_host: Whether results are NumPy arrays or the runtime's device arrays.
        widened: Whether float scalars below 32 bits are passed as f32 numbers, and not as their
            bits; by default as for the release of the runtime. Results come as what they are.

    Example:
        >>> import iree.runtime, numpy as np
        >>> from fnabi import Signature, invoke
        >>> marshaller = invoke.Marshaller(iree.runtime.get_device("local-sync"))
        >>> types = Signature.parse("(float32[2], int32) -> ()").inputs
        >>> packed = marshaller.pack(types, [np.ones(2, np.float32), 7])
        >>> marshaller.unpack(types, packed)
        [array([1., 1.], dtype=float32), 7]

    """

    _refuses_losses: ClassVar[bool] = True

    def __init__(self, device: Any, to_host: bool = True, widened: bool | None = None) -> None:
        try:
            self._runtime: Any = import_module("iree.runtime")
        except ImportError as problem:
            why = why_unusable(problem, "iree-base-runtime")
            raise MissingPackageError(f"Marshaller: iree.runtime {why}") from None
        check_attribute("Marshaller: device", device, "allocator", "a HalDevice")
        self._numpy = load_numpy("Marshaller")
        self._device = device
        self._view_class = self._runtime.HalBufferView
        self._array_class = self._runtime.DeviceArray
        self._array_classes = self._numpy.ndarray, self._array_class, self._view_class
        self._placement = {
            "memory_type": self._runtime.MemoryType.DEVICE_LOCAL,
            "allowed_usage": self._runtime.BufferUsage.DEFAULT,
            "device": device,
        }
        self._element_types: dict[Any, Any] = {}  # by DType, or the dtype of an array
        self._to_host = to_host
        self._widened = _runtime_widens() if widened is None else widened

    def new_list(self, capacity: int) -> Any:
        """Make an empty list of the runtime."""
        try:
            return self._runtime.VmVariantList(capacity)
        except TypeError:
            where, expected = "Marshaller.new_list: capacity", "an int of 0 or more"
            raise argument_error(where, expected, capacity, int) from None

    def push_fences(self, packed: Any) -> Any:
        """Push the fences of an asynchronous call and return the one that it signals at its end.

        The other one, for which the call waits, is signalled already.
        """
        done = self._runtime.HalFence.create_at(self._device.create_semaphore(0), 1)
        try:
            push = packed.push_ref
        except AttributeError:
            where = "Marshaller.push_fences: packed"
            check_attribute(where, packed, "push_ref", "a VmVariantList")
            raise
        push(self._runtime.HalFence(0))
        push(done)
        return done

    def pack(self, types: Sequence[Type], values: Sequence[Any], where: str = "Invoker") -> Any:
        """Make a list of the runtime from one value per type; errors name `where`."""
        try:
            count = len(types)
            is_matched = count == len(values)
        except TypeError:
            check_attribute("Marshaller.pack: types", types, "__len__", "a sequence of types")
            check_attribute("Marshaller.pack: values", values, "__len__", "a sequence of values")
            raise
        if not is_matched:
            raise ArgumentValueError(
                f"Marshaller.pack: values: expected {count}, one for each type, got {len(values)}"
            )
        packed = self.new_list(len(values))
        for index, (type, value) in enumerate(zip(types, values, strict=True)):
            try:
                self._push(packed, type, value)
            except Unfit as problem:
                text = f"{where}: argument {index}: {problem}"
                raise problem.kind(text) from problem.__cause__
        return packed

    def unpack(self, types: Sequence[Type], packed: Any, where: str = "Invoker") -> list[Any]:
        """Convert a list of the runtime to one value per type; errors name `where`."""
        values = []
        try:
            numbered = enumerate(types)
        except TypeError:
            check_attribute("Marshaller.unpack: types", types, "__iter__", "a sequence of types")
            raise
        for index, type in numbered:
            try:
                values.append(self._pull(packed, index, type))
            except Unfit as problem:
                text = f"{where}: result {index}: {problem}"
                raise problem.kind(text) from problem.__cause__
            except AttributeError:
                where = "Marshaller.unpack: packed"
                check_attribute(where, packed, "get_variant", "a VmVariantList")
                raise
            except (IndexError, RuntimeError, ValueError) as problem:  # of the runtime
                text = f"{where}: result {index}: expected {type}: {problem}"
                raise CallError(text) from problem
        return values

    def _push(self, packed: Any, type: Type, value: Any) -> None:
        push = _PUSH.get(type.__class__)
        if push is None:
            self._push_any(packed, value)
        else:
            push(self, packed, type, value)

    def _push_scalar(self, packed: Any, type: Scalar, value: Any) -> None:
        if _is_small_float(type.dtype) and not self._widened:
            packed.push_int(self._bits(type.dtype, value))
        else:
            self._push_number(packed, type.dtype, value)

    def _push_array(self, packed: Any, type: RefArray, value: Any) -> None:
        if isinstance(type.element, Null):
            packed.push_ref(self._buffer_view(value, None))
            return
        if _count(value) != 2:
            raise Unfit(
                f"expected a list of elements and one of dims, got {len(value)} values",
                ArgumentValueError,
            )
        values, dims = value
        sublist = self.new_list(2)
        self._push_list(sublist, (type.element,) * _count(values), values)
        self._push_list(sublist, (_DIM,) * _count(dims), dims)
        packed.push_list(sublist)

    def _push_null(self, packed: Any, type: Null, value: Any) -> None:
        raise Unfit("iree.runtime cannot pass an empty slot")

    def _push_number(self, packed: Any, dtype: DType, value: Any) -> None:
        self._check_number(dtype, value)
        if dtype.kind in _FLOATS:
            packed.push_float(float(value))
        elif dtype.kind == "bool":
            packed.push_int(int(value))
        else:
            packed.push_int(_signed(operator.index(value), dtype))

    def _check_number(self, dtype: DType, value: Any) -> None:
        try:
            fits = number_fits(dtype, value)
        except TypeError as problem:
            raise Unfit(f"expected {dtype}, {problem}") from None
        if not fits:
            raise Unfit(unfit_number(dtype, value), RangeError)

    def _push_list(self, packed: Any, types: Sequence[Type], values: Sequence[Any]) -> None:
        if _count(values) != len(types):
            raise Unfit(f"expected {len(types)} values, got {len(values)}", ArgumentValueError)
        sublist = self.new_list(len(types))
        for type, value in zip(types, values, strict=True):
            self._push(sublist, type, value)
        packed.push_list(sublist)

    def _push_any(self, packed: Any, value: Any) -> None:
        """Push a value without a type in a signature, by its own type."""
        if isinstance(value, self._array_classes):
            packed.push_ref(self._buffer_view(value, None))
        elif isinstance(value, int):
            self._push_number(packed, _WORD, value)
        elif isinstance(value, float):
            packed.push_float(value)
        elif isinstance(value, (list, tuple)):
            self._push_list(packed, (_UNKNOWN,) * len(value), value)
        elif isinstance(value, Mapping):
            try:
                keys = sorted(value)
            except TypeError as problem:
                raise Unfit(f"expected keys that can be sorted: {problem}") from None
            self._push_list(packed, (_UNKNOWN,) * len(keys), [value[key] for key in keys])
        elif hasattr(value, "__array__"):
            packed.push_ref(self._buffer_view(value, None))
        elif hasattr(value, "__iree_vm_ref__"):
            packed.push_ref(value)
        else:
            raise Unfit(f"could not convert python value to VM: {quoted(value)}")

    def _buffer_view(self, value: Any, type: Buffer | None) -> Any:
        numpy = self._numpy
        if isinstance(value, self._view_class):
            return value
        if isinstance(value, self._array_class):
            return value._buffer_view
        if self._refuses_losses and hasattr(value, "mask") and numpy.ma.is_masked(value):
            raise Unfit("the array has a mask; fill its values with .filled()", ArgumentValueError)
        to = None if type is None else stored(type.dtype)
        dtype = None if to is None else to.to_numpy()
        if dtype is not None and to is not None and to.bits < 8:
            found = getattr(value, "dtype", None)
            if getattr(found, "name", None) == f"u{dtype.name}":
                value = numpy.asarray(value).view(dtype)  # ml_dtypes does not convert it
        try:
            if to is not None and self._refuses_losses:
                value = numpy.asarray(value)
                if value.dtype != dtype and value.size:
                    self._check_elements(value, to)
            array: np.ndarray[Any, Any] = numpy.asarray(value, dtype, order="C")
        except (TypeError, ValueError, OverflowError, RuntimeError) as problem:
            kinds = (ValueError, ArgumentValueError), (OverflowError, RangeError)
            found = (ours for theirs, ours in kinds if isinstance(problem, theirs))
            kind = next(found, ArgumentTypeError)
            raise Unfit(f"could not convert value to numpy array: {problem}", kind) from problem
        # The runtime makes NumPy's integers signed, even if the module has signless ones.
        known = array.dtype if to is None or to.kind == "signless" else to
        element_type = self._element_types.get(known)
        if element_type is None:
            element = known if isinstance(known, DType) else _element_of(array)
            number = _known_element_type(element)
            if element.bits < 8 and element.kind != "bool":
                return self._packed_view(array, element, number)
            element_type = self._element_types[known] = self._runtime.HalElementType(number)
        if array.dtype.type.__module__ == "ml_dtypes":  # which have no buffer protocol
            array = array.view(f"uint{8 * array.dtype.itemsize}")
        return self._device.allocator.allocate_buffer_copy(
            **self._placement, buffer=array, element_type=element_type
        )

    def _check_elements(self, array: np.ndarray[Any, Any], to: DType) -> None:
        """Raise Unfit unless the elements are numbers of the dtype's kind and in its range."""
        if array.dtype.hasobject and to.kind != "complex":
            for each in array.flat:
                self._check_number(to, each)
            return
        try:
            kind = DType.from_numpy(array.dtype.newbyteorder("=")).kind
        except CallError:
            kind = None
        if kind is None or _rank(kind) > _rank(to.kind):
            raise Unfit(f"expected {to}, got an array of {array.dtype}")
        if _rank(to.kind) and to.bits >= _HAS_NAN:
            with self._numpy.errstate(over="ignore", invalid="ignore"):
                lost = self._numpy.isfinite(array) & ~self._numpy.isfinite(
                    array.astype(to.to_numpy())
                )
            if lost.any():
                raise Unfit(unfit_number(to, array[lost][0].item()), RangeError)
            return
        if _rank(to.kind):
            array = array[self._numpy.isfinite(array)]
        for each in (array.min(), array.max()) if array.size else ():
            self._check_number(to, each.item())

    def _packed_view(self, array: Any, element: DType, number: int) -> Any:
        """Return a buffer view of elements of which IREE has several to a byte, NumPy one."""
        numpy, bits = self._numpy, element.bits
        if 8 % bits:
            raise Unfit(f"elements of {element} do not fill bytes; expected a buffer view")
        flat = array.view("uint8").reshape(-1) & ((1 << bits) - 1)
        rows = numpy.zeros((-(-flat.size // (8 // bits)), 8 // bits), "uint8")
        rows.reshape(-1)[: flat.size] = flat
        buffer = self._device.allocator.allocate_buffer_copy(
            **self._placement,
            buffer=numpy.bitwise_or.reduce(rows << numpy.arange(0, 8, bits, "uint8"), axis=1),
        )
        return self._view_class(buffer, array.shape, number)

    def _pull(self, packed: Any, index: int, type: Type) -> Any:
        pull = _PULL.get(type.__class__)
        return self._pull_any(packed, index) if pull is None else pull(self, packed, index, type)

    def _pull_scalar(self, packed: Any, index: int, type: Scalar) -> Any:
        value, dtype = packed.get_variant(index), type.dtype
        if isinstance(value, int) and _is_small_float(dtype):
            value = self._number(dtype, value)
        is_float = dtype.kind in _FLOATS
        if not isinstance(value, float if is_float else int):
            raise Unfit(f"expected {dtype}, got {type_name(value)}", CallError)
        return value if is_float else self._integer(dtype, int(value))

    def _pull_view(self, packed: Any, index: int, dtype: DType | None) -> Any:
        return self._array(packed.get_as_object(index, self._view_class), dtype)

    def _pull_elements(self, packed: Any, index: int, type: Type) -> list[Any]:
        sublist = packed.get_as_list(index)
        return self._pull_all((type,) * len(sublist), sublist)

    def _pull_array(self, packed: Any, index: int, type: RefArray) -> Any:
        if isinstance(type.element, Null):
            return self._pull_view(packed, index, None)
        pair = packed.get_as_list(index)
        return [self._pull_elements(pair, 0, type.element), self._pull_elements(pair, 1, _DIM)]

    def _pull_any(self, packed: Any, index: int) -> Any:
        """Convert a value without a type in a signature."""
        value = packed.get_variant(index)
        if not isinstance(value, self._runtime.VmRef):
            return value
        view = value.deref(self._view_class, True)
        if view is not None:
            return self._array(view, None)
        inner = value.deref(self._runtime.VmVariantList, True) if self._to_host else None
        return value if inner is None else self._pull_all((_UNKNOWN,) * len(inner), inner)

    def _pull_list(self, packed: Any, index: int, types: Sequence[Type]) -> list[Any]:
        sublist = packed.get_as_list(index)
        if len(sublist) != len(types):
            raise Unfit(f"expected {len(types)} values, got {len(sublist)}", CallError)
        return self._pull_all(types, sublist)

    def _pull_all(self, types: Sequence[Type], packed: Any) -> list[Any]:
        return [self._pull(packed, index, type) for index, type in enumerate(types)]

    def _integer(self, dtype: DType, register: int) -> int:
        """Return the integer in the low bits of a register, which the runtime has as signed."""
        if dtype.kind == "bool":
            return bool(register)
        low = register & (1 << stored(dtype).bits) - 1
        return low if dtype.kind == "unsigned" else _signed(low, dtype)

    def _bits(self, dtype: DType, value: Any) -> int:
        """Return the bits of a number, rounded to a float type below 32 bits."""
        self._check_number(dtype, value)
        return self._bits_of(dtype, float(value))

    def _bits_of(self, dtype: DType, number: float) -> int:
        numpy_dtype = dtype.to_numpy()
        with self._numpy.errstate(over="ignore"):
            small = self._numpy.array(number).astype(numpy_dtype)
        return int(small.view(f"uint{8 * numpy_dtype.itemsize}"))

    def _number(self, dtype: DType, bits: int) -> float:
        numpy_dtype = dtype.to_numpy()
        word = f"uint{8 * numpy_dtype.itemsize}"
        low = bits & (1 << 8 * numpy_dtype.itemsize) - 1
        return float(self._numpy.array(low, word).view(numpy_dtype))

    def _array(self, view: Any, dtype: DType | None) -> Any:
        if view is None:
            raise Unfit("expected a buffer view", CallError)
        numpy_dtype = None if dtype is None else stored(dtype).to_numpy()
        if dtype is not None and dtype.kind != "bool" and self._to_host:
            numpy_dtype = None  # the buffer view knows its own
        try:
            array = self._array_class(
                self._device, view, implicit_host_transfer=True, override_dtype=numpy_dtype
            )
            return array.to_host() if self._to_host else array
        except ValueError as problem:
            raise Unfit(f"NumPy has no array for it: {problem}", CallError) from problem


_PUSH: dict[type, Callable[[Marshaller, Any, Any, Any], None]] = {
    Named: lambda to, packed, type, value: to._push(packed, type.type, value),
    Scalar: Marshaller._push_scalar,
    Buffer: lambda to, packed, type, value: packed.push_ref(to._buffer_view(value, type)),
    List: lambda to, packed, type, value: to._push_list(packed, type.items, value),
    Tuple: lambda to, packed, type, value: to._push_list(packed, type.items, value),
    Dict: lambda to, packed, type, value: to._push_list(packed, _slots(type), value),
    HomogeneousList: lambda to, packed, type, value: to._push_list(
        packed, (type.element,) * _count(value), value
    ),
    RefArray: Marshaller._push_array,
    Null: lambda to, packed, type, value: to._push_null(packed, type, value),
}
"""Pushes a value to a list of the runtime, by the class of its type; all others by its own type."""

_PULL: dict[type, Callable[[Marshaller, Any, int, Any], Any]] = {
    Named: lambda to, packed, index, type: to._pull(packed, index, type.type),
    Scalar: Marshaller._pull_scalar,
    Buffer: lambda to, packed, index, type: to._pull_view(packed, index, type.dtype),
    List: lambda to, packed, index, type: to._pull_list(packed, index, type.items),
    Tuple: lambda to, packed, index, type: to._pull_list(packed, index, type.items),
    Dict: lambda to, packed, index, type: to._pull_list(packed, index, _slots(type)),
    HomogeneousList: lambda to, packed, index, type: to._pull_elements(packed, index, type.element),
    RefArray: Marshaller._pull_array,
}
"""Converts an element of such a list."""


def _count(values: Any) -> int:
    try:
        return len(values)
    except TypeError:
        raise Unfit(f"expected a list, got {type_name(values)}") from None


def _slots(type: Dict) -> tuple[Type, ...]:
    return tuple(item for _, item in type.items)


def returned_types(results: tuple[Type, ...]) -> tuple[Type, ...]:
    """Return the types of the values that a function returns: the slots of an only structure."""
    only = results[0] if len(results) == 1 else None
    if isinstance(only, (List, Tuple)):
        return only.items
    return _slots(only) if isinstance(only, Dict) else results


class Unfit(Exception):
    """A value that the runtime cannot represent, and the kind of exception that tells of it."""

    def __init__(self, text: str, kind: type[CallError] = ArgumentTypeError) -> None:
        super().__init__(text)
        self.kind = kind


_FLOATS = ("float", "bfloat")
_FLOAT16_MAX = 65504.0
_HAS_NAN = 8
"""The least bits of a float with a value for what is too large."""


def _rank(kind: str) -> int:
    """Return 0 for integers, 1 for floats and 2 for complex numbers."""
    return 2 if kind == "complex" else int(kind in _FLOATS)


def _is_small_float(dtype: DType) -> bool:
    return dtype.kind in _FLOATS and dtype.bits < 32


@cache
def _runtime_widens() -> bool:
    """Return whether the modules that the runtime loads get such scalars as f32 numbers."""
    try:
        version: str = import_module("iree.runtime.version").VERSION
    except (ImportError, AttributeError):
        return False
    release = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    # releases were dates once
    return bool(release) and (release < (3, 11) or release > (2000,))


def _widens(signature: Signature | None, convention: str) -> bool:
    """Return whether a function gets float scalars below 32 bits as f32 numbers."""
    registers = cconv.parse(core.text_bytes(convention, "Invoker", "convention")).arguments
    for type, register in zip(signature.inputs if signature else (), registers, strict=False):
        inner = type.type if isinstance(type, Named) else type
        if isinstance(inner, Scalar) and _is_small_float(inner.dtype) and register == "f32":
            return True
    return False


def number_fits(dtype: DType, value: Any) -> bool:
    """Return whether a number is in the range of a dtype; it may be rounded.

    Raises:
        TypeError: If it is no number of the dtype's kind.

    """
    if dtype.kind not in _FLOATS:
        bits, number = stored(dtype).bits, _whole(dtype, value)
        if dtype.kind in ("bool", "unsigned"):
            return 0 <= number < 1 << bits
        return -(1 << bits - 1) <= number < 1 << bits - (dtype.kind in ("signed", "index"))
    if not hasattr(type(value), "__float__") and not hasattr(type(value), "__index__"):
        raise TypeError(f"got {type_name(value)}")
    try:
        real = float(value)
    except OverflowError:  # of an int that is larger than any float
        return False
    if dtype.bits >= (64 if abs(real) > _FLOAT16_MAX else 16) or not isfinite(real):
        return True  # most do
    if dtype.bits < _HAS_NAN:  # what is too large becomes the largest number, but its half does not
        return 2 * abs(rounded(dtype, real / 2)) <= rounded(dtype, _FLOAT16_MAX)
    return isfinite(rounded(dtype, real))


def _whole(dtype: DType, value: Any) -> int:
    if dtype.kind == "bool" and type_name(value) in ("bool", "bool_"):
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"got {type_name(value)}") from None


def rounded(dtype: DType, number: float) -> float:
    """Return the number of a float type that is nearest, infinity if it is too large."""
    numpy: Any = load_numpy("Marshaller")
    with numpy.errstate(over="ignore"):
        return float(numpy.array(number).astype(dtype.to_numpy()))


def unfit_number(dtype: DType, value: Any) -> str:
    """Return the text about a number that is not in the range of a dtype."""
    return f"{shown_int(value) if isinstance(value, int) else value} does not fit in {dtype}"


def stored(dtype: DType) -> DType:
    """Return the dtype that elements have in memory: indexes are int64 there."""
    return _INT64 if dtype.kind == "index" else dtype


_INT64 = DType("signed", 64)


def _signed(value: int, dtype: DType) -> int:
    """Return the signed integer with the same bits; the runtime has no unsigned ones."""
    bits = stored(dtype).bits
    return value - (1 << bits) if value >= 1 << bits - 1 else value


_KINDS = {
    "signless": 0x10,
    "signed": 0x11,
    "unsigned": 0x12,
    "bool": 0x13,
    "float": 0x21,
    "bfloat": 0x22,
    "complex": 0x23,
}
_FORMATS = {"e5m2": 0x24, "e4m3fn": 0x25, "e5m2fnuz": 0x26, "e4m3fnuz": 0x27, "e8m0fnu": 0x28}


def element_type(dtype: DType) -> int | None:
    """Return the number of IREE's element type, or None if there is none.

    It is the kind, and the bit count in the low bits.

    Example:
        >>> from fnabi import DType, invoke
        >>> hex(invoke.element_type(DType("float32")))
        '0x21000020'

    """
    check_type("invoke.element_type: dtype", dtype, DType)
    kind = _FORMATS.get(dtype.format) if dtype.format else _KINDS.get(dtype.kind)
    return None if kind is None else kind << 24 | (8 if dtype.kind == "bool" else dtype.bits)


def _element_of(array: Any) -> DType:
    try:
        return DType.from_numpy(array.dtype)
    except CallError as problem:
        raise Unfit(str(problem).removeprefix("DType.from_numpy: dtype: ")) from None


def _known_element_type(dtype: DType) -> int:
    found = element_type(dtype)
    if found is None:
        raise Unfit(f"iree.runtime has no element type {dtype}")
    return found
