"""``FunctionInvoker`` as ``iree.runtime`` has it, with our signatures under it.

It takes the same arguments, and refuses numbers, names and structures with the same exceptions. A
value that NumPy cannot convert is an `ArgumentError` with a text of its own, and a damaged
``iree.abi``, also one with a key twice, a RuntimeError. For functions with ``iree.abi``, it also
passes and returns what the original refuses: scalars of type i1, f16 and bf16, arrays of f16, bf16
and complex numbers, homogeneous lists and arrays of references as arguments, and values of unknown
type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from fnabi._base import core
from fnabi.abi import iree_abi
from fnabi.errors import CallError, FormatError
from fnabi.run.invoke import Marshaller, Unfit, returned_types, rounded, stored
from fnabi.types import (
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    RefArray,
    Signature,
    Tuple,
    Type,
    Unknown,
)

__all__ = ["ArgumentError", "FunctionInvoker", "ReturnError"]

_UNKNOWN = Unknown()


def _error_class(name: str, doc: str) -> type[ValueError]:
    """Return the original's class of this name, or one of our own where it is not installed."""
    try:
        found: type[ValueError] = getattr(import_module("iree.runtime.function"), name)
    except (ImportError, AttributeError):
        return type(name, (ValueError,), {"__doc__": doc, "__module__": __name__})
    return found


ArgumentError = _error_class("ArgumentError", "An argument that cannot be passed.")
ReturnError = _error_class("ReturnError", "A result that is not what the reflection says.")


class _Marshaller(Marshaller):
    """Passes, refuses and returns values as the original: too large floats become infinite."""

    _refuses_losses = False

    def _push_number(self, packed: Any, dtype: DType, value: Any) -> None:
        if dtype.kind == "bool":
            super()._push_number(packed, dtype, value)
        elif dtype.kind in ("float", "bfloat"):
            packed.push_float(rounded(dtype, _real(value)))
        else:
            packed.push_int(_whole(stored(dtype).bits, value))

    def _integer(self, dtype: DType, register: int) -> int:
        return bool(register) if dtype.kind == "bool" else register

    def _bits(self, dtype: DType, value: Any) -> int:
        return self._bits_of(dtype, _real(value))

    def _push_any(self, packed: Any, value: Any) -> None:
        """Push a value without a type: of a number or a structure, not of a class below one."""
        if isinstance(value, self._array_classes) or hasattr(value, "__array__"):
            # also NumPy's float64, which is a float
            packed.push_ref(self._buffer_view(value, None))
        elif isinstance(value, (*_VALUES, Mapping)) and type(value) not in _VALUES:
            raise _no_value(value)
        else:
            try:
                super()._push_any(packed, value)
            except Unfit:
                raise _no_value(value) from None


_VALUES = (int, float, list, tuple, dict)


def _no_value(value: object) -> ValueError:
    return ValueError(f"could not convert python value to VM: {value!r}")


def _real(value: Any) -> float:
    """Return what the original takes for a float: no text, although Python makes one of it."""
    try:
        if isinstance(value, (str, bytes, bytearray, memoryview)):
            raise TypeError
        return float(value)
    except Exception:
        raise RuntimeError("std::bad_cast") from None


def _whole(bits: int, value: Any) -> int:
    """Return what the original takes for a signed int: also a text, but no float."""
    try:
        if isinstance(value, float):
            raise TypeError
        number = int(value)
    except Exception:
        raise RuntimeError("std::bad_cast") from None
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise RuntimeError("std::bad_cast")
    return number


class FunctionInvoker:
    """Calls a function of a loaded module.

    Args:
        vm_context: The ``VmContext`` that the function's module is loaded into.
        device: The ``HalDevice`` on which arrays are allocated.
        vm_function: The ``VmFunction``; of its ``reflection`` ``iree.abi`` is used.

    Raises:
        RuntimeError: when ``iree.abi`` cannot be read, or has an argument or a slot of one that is
            null, which cannot be passed.
        ValueError: when an element of a list of one type, or of an array, is or has a null.

    """

    __slots__ = (
        "_marshaller",
        "_places",
        "_positional",
        "_signature",
        "_vm_context",
        "_vm_function",
    )

    def __init__(self, vm_context: Any, device: Any, vm_function: Any) -> None:
        self._vm_context = vm_context
        self._vm_function = vm_function
        self._marshaller = _Marshaller(device, to_host=False)
        self._signature: Signature | None = None
        text = vm_function.reflection.get("iree.abi")
        if text is not None:
            try:
                self._signature = iree_abi.parse(core.text_bytes(text))
            except FormatError as problem:
                raise RuntimeError(f"Malformed function reflection metadata: {problem}") from None

        types = () if self._signature is None else self._signature.inputs
        for type in types:
            _refuse_null(type)
        names = [(type.name, index) for index, type in enumerate(types) if isinstance(type, Named)]
        self._places, self._positional = dict(names), len(types) - len(names)

    @property
    def vm_function(self) -> Any:
        """The function of the runtime."""
        return self._vm_function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; a structure that is the only result comes back as one.

        Raises:
            ValueError: when the arguments do not fit the function; ArgumentError for one that
                cannot be converted, ReturnError for results.

        """
        marshaller, signature = self._marshaller, self._signature
        if signature is None:
            if kwargs:
                raise ValueError("kwargs not supported for dynamic dispatch functions")
            types: tuple[Type, ...] = (_UNKNOWN,) * len(args)
            values: list[Any] = list(args)
        else:
            types = signature.inputs
            values = self._bind(len(types), args, kwargs)
        try:
            flat = [_flat(type, value) for type, value in zip(types, values, strict=True)]
            inputs = marshaller.pack(types, flat)
        except CallError as problem:
            raise ArgumentError(f"Error passing argument: {problem}") from problem
        outputs = marshaller.new_list(1 if signature is None else len(signature.results))
        self._vm_context.invoke(self._vm_function, inputs, outputs)
        try:
            results = self._results(outputs)
        except ReturnError:
            raise
        except Exception as problem:
            raise ReturnError(f"Error processing function return: {problem}") from problem
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def _bind(self, count: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Bind arguments as the original does: what has a name is passed by it alone."""
        places = self._places
        positional = self._positional
        if len(args) > positional:
            raise ValueError(f"mismatched call arity: expected {positional} got {len(args)}")
        bound: dict[int, Any] = dict(enumerate(args))
        for name, value in kwargs.items():
            if name not in places:
                raise ValueError(f"specified kwarg '{name}' is unknown")
            if places[name] in bound:
                raise ValueError(f"mismatched call arity: duplicate keyword argument '{name}'")
            bound[places[name]] = value
        for index in range(count):
            if index not in bound:
                raise ValueError(f"mismatched call arity: expected a value for argument {index}")
        return [bound[index] for index in range(count)]

    def _results(self, outputs: Any) -> list[Any]:
        if self._signature is None:
            return self._marshaller.unpack((_UNKNOWN,) * len(outputs), outputs)
        results = self._signature.results
        types = returned_types(results)
        if len(outputs) != len(types):
            raise ReturnError(
                "Error processing function return: mismatched return arity:"
                f" {len(outputs)} vs {len(types)}"
            )
        found = self._marshaller.unpack(types, outputs)
        if types is not results:
            return [_nested(results[0], found)]
        return [_nested(type, value) for type, value in zip(types, found, strict=True)]

    def __repr__(self) -> str:
        return repr(self._vm_function)


def _refuse_null(type: Type, kind: type[Exception] = RuntimeError) -> None:
    """Refuse a type with a null in it, with the kind of exception of the original."""
    if isinstance(type, Null):
        raise kind("an empty slot cannot be passed")
    if isinstance(type, Named):
        _refuse_null(type.type, kind)
    elif isinstance(type, (List, Tuple)):
        for item in type.items:
            _refuse_null(item, kind)
    elif isinstance(type, Dict):
        for _, item in type.items:
            _refuse_null(item, kind)
    elif isinstance(type, HomogeneousList) or (
        isinstance(type, RefArray) and not isinstance(type.element, Null)
    ):
        _refuse_null(type.element, ValueError)


def _flat(type: Type, value: Any) -> Any:
    """Flatten a value, with the checks and texts of the original."""
    flatten = _FLAT.get(type.__class__)
    return value if flatten is None else flatten(type, value)


def _flat_list(type: List | Tuple, value: Any) -> list[Any]:
    items = type.items
    if len(value) != len(items):
        raise ValueError(f"expected a sequence with {len(items)} values. got: {value!r}")
    slots = [_item(value, index) for index in range(len(items))]
    return [_flat(item, slot) for item, slot in zip(items, slots, strict=True)]


def _flat_dict(type: Dict, value: Any) -> list[Any]:
    if len(value) != len(type.items):
        raise ValueError(f"expected a dict with {len(type.items)} values. got: {value!r}")
    return [_flat(item, _item(value, key)) for key, item in type.items]


_FLAT: dict[type, Callable[[Any, Any], Any]] = {
    Named: lambda type, value: _flat(type.type, value),
    List: _flat_list,
    Tuple: _flat_list,
    Dict: _flat_dict,
    HomogeneousList: lambda type, value: [_flat(type.element, each) for each in value],
}


def _item(value: Any, key: int | str) -> Any:
    try:
        return value[key]
    except Exception as problem:
        raise ValueError(f"could not get item {key!r} from: {value!r}: {problem}") from problem


def _nested(type: Type, value: Any) -> Any:
    """Nest the slots of a result as its type says; `value` is a list of them."""
    nest = _NEST.get(type.__class__)
    return value if nest is None else nest(type, value)


def _nested_list(type: List | Tuple, value: list[Any]) -> list[Any]:
    return [_nested(item, slot) for item, slot in zip(type.items, value, strict=True)]


_NEST: dict[type, Callable[[Any, list[Any]], Any]] = {
    List: _nested_list,
    Tuple: lambda type, value: tuple(_nested_list(type, value)),
    Dict: lambda type, value: {
        key: _nested(item, slot) for (key, item), slot in zip(type.items, value, strict=True)
    },
    HomogeneousList: lambda type, value: [_nested(type.element, each) for each in value],
}
