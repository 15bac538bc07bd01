"""The IREE ABI, version 1: the attribute ``iree.abi``, and the passing of Python values.

`parse` and `encode` read and write the JSON of type records. `flatten` and `unflatten` follow the
calling conventions that belong to it: one value for each argument, a list for each structure::

    >>> from fnabi import iree_abi
    >>> signature = iree_abi.parse('{"a":[["named","x",["sdict",["k","i32"]]]],"r":["f32"]}')
    >>> print(signature)
    (x: {k: i32}) -> (float32)
    >>> iree_abi.flatten(signature, [], {"x": {"k": 3}})
    [[3]]
    >>> iree_abi.unflatten(signature, [0.5])
    0.5
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, product, repeat, takewhile
from math import prod
from operator import index
from typing import Any, TypeAlias

from fnabi import types
from fnabi._base import core, records
from fnabi._base.arguments import check_type
from fnabi._base.core import Data
from fnabi._base.text import quoted
from fnabi._fnabi import lib
from fnabi.errors import TOO_DEEP, ArgumentTypeError, ArgumentValueError, Mismatch, type_name
from fnabi.types import (
    Dict,
    HomogeneousList,
    List,
    Named,
    Null,
    RefArray,
    Scalar,
    Tuple,
    Type,
    Unknown,
)

__all__ = ["Signature", "encode", "flatten", "parse", "unflatten"]


def __dir__() -> list[str]:
    return __all__


class Signature(types.Signature, frozen=True):
    """A signature with the other keys of its JSON object.

    Without other keys it equals a `types.Signature` of the same types.

    Attributes:
        extra: The object's other keys in their order, each with the JSON text of its value.

    """

    extra: tuple[tuple[str, str], ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Signature) and other.__class__ is not types.Signature:
            return NotImplemented
        return (
            self.inputs == other.inputs
            and self.results == other.results
            and self.extra == getattr(other, "extra", ())
        )

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        plain = hash(types.Signature(self.inputs, self.results))
        return hash((plain, self.extra)) if self.extra else plain


_layout = records.layout(Signature)
_decoder = core.Decoder(Signature)


def parse(text: Data) -> Signature:
    """Decode the JSON of a signature (the value of ``iree.abi``).

    Returns:
        A signature of any types but Ref. Named occurs only at the root of its inputs.

    Raises:
        FormatError: when `text` is not JSON, or does not conform to the grammar. Its path leads
            through the JSON: ``a[1][3]`` is the first dim of the second argument's record.
        CallError: when `text` has another type.

    Example:
        >>> from fnabi import iree_abi
        >>> print(iree_abi.parse('{"a":[["ndarray","f32",2,null,4]],"r":["i32"]}'))
        (float32[?x4]) -> (i32)

    """
    if text.__class__ is not str:
        return _parse(core.data_bytes(text, "iree_abi.parse"), _layout)
    try:
        return _parse(text, _layout)
    except UnicodeEncodeError:  # a lone surrogate, which the core refuses
        return _parse(text.encode("utf-8", "surrogatepass"), _layout)


def _parse_by_message(text: bytes | str, _: object = None) -> Signature:
    """Decode a message of the core with msgspec: the plain equivalent of the fast path."""
    data = text if isinstance(text, bytes) else text.encode()
    return core.decode(lib.fnabi_iree_abi_decode, _decoder, data)


_parse: Callable[[Any, Any], Signature] = (
    _parse_by_message if types.decoder is None or _layout is None else types.decoder.iree_abi
)


def encode(signature: types.Signature) -> str:
    """Encode a signature as JSON without whitespace; `parse` returns an equal one.

    Raises:
        CallError: when ``iree.abi`` cannot express a part of it: a Ref; a Named elsewhere than
            at the root of the inputs; elements that are signed, unsigned, index or handles, have
            a special float format or several lanes, or one bit without being bool; text that is
            not UTF-8; a key ``a`` or ``r``, or a value that is not JSON, among the extra keys.
        RangeError: when a dim is negative, or an integer does not fit in int64.

    Example:
        >>> from fnabi import Signature, iree_abi
        >>> iree_abi.encode(Signature.parse("(x: float32[?x4]) -> (i32)"))
        '{"a":[["named","x",["ndarray","f32",2,null,4]]],"r":["i32"]}'

    """
    text = records.encoder.iree_abi(signature)
    return (_encode_by_cffi(signature) if text is None else text).decode()


def _encode_by_cffi(signature: types.Signature) -> bytes:
    """Encode in steps: the plain equivalent of the fast path, and its errors."""
    check_type("iree_abi.encode: signature", signature, types.Signature)
    return core.encode(lib.fnabi_iree_abi_encode, signature, "iree_abi.encode", integers="int64")


# ---------------------------------------------------------------------------------- passing values


def flatten(
    signature: types.Signature,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> list[Any]:
    """Return the list of values that the native function accepts, one for each argument.

    ==================  ===========================  =======================================
    type                accepts                      gives
    ==================  ===========================  =======================================
    List, Tuple         a sequence                   the list of its slots
    Dict                a mapping with its keys      the list of its slots, in the type's
                                                     order; the keys are not passed
    HomogeneousList     a sequence                   the list of its elements
    ... of 8-bit ints   also str or bytes            bytes; a str as UTF-8
    RefArray            sequences nested as deep as  ``[values, dims]``, the values in C order
                        its rank, a NumPy array
    ... of Null         anything                     the very same object: compilers write it for
                                                     elements that they have no name for
    Null                None                         None
    Unknown             anything                     a mapping as the list of its values in the
                                                     order of their sorted keys, a list or
                                                     tuple as a list, all else as it is
    all others          anything                     the very same object
    ==================  ===========================  =======================================

    Args:
        signature: The signature of the function.
        args: The arguments from the first one on.
        kwargs: Arguments with names, which may be passed either way.

    Raises:
        CallError: when an argument is missing, surplus or given twice, or does not match its
            type; the text names it.

    Example:
        >>> from fnabi import iree_abi
        >>> signature = iree_abi.parse('{"a":["i32",["sdict",["x","f32"],["y","f32"]]],"r":[]}')
        >>> iree_abi.flatten(signature, [1, {"x": 2.0, "y": 3.0}])
        [1, [2.0, 3.0]]

    """
    return flatten_for("iree_abi.flatten", _types(signature, "flatten"), args, kwargs)


def flatten_for(
    where: str,
    signature: types.Signature,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
) -> list[Any]:
    """Flatten the arguments of a call of `where`, which errors name."""
    inputs = signature.inputs
    values = _bind(where, inputs, args, {} if kwargs is None else kwargs)
    where = f"{where}: argument"
    return [
        _convert(_flatten, type, value, where, place)
        for place, (type, value) in enumerate(zip(inputs, values, strict=True))
    ]


def unflatten(signature: types.Signature, results: Sequence[Any]) -> Any:
    """Return the result of a function from the list of values that the native function returned.

    This is the inverse of `flatten`, for the results. When a List, Tuple or Dict is the only
    result, its slots are the function's results. The elements of a HomogeneousList stay bytes
    where they come as bytes; a RefArray becomes nested lists, and the value itself at rank 0. One
    of dims such as ``[n, 0]`` becomes at most 1,048,576 empty lists.

    Returns:
        None for no results, the result itself for one, a tuple for several.

    Raises:
        CallError: when there are more or fewer `results` than the signature has, or one does not
            match its type; the text names it.

    Example:
        >>> from fnabi import iree_abi
        >>> signature = iree_abi.parse('{"a":[],"r":[["sdict",["x","f32"],["y","f32"]]]}')
        >>> iree_abi.unflatten(signature, [2.0, 3.0])
        {'x': 2.0, 'y': 3.0}

    """
    given = _types(signature, "unflatten").results
    if not _is_list(results):
        raise ArgumentTypeError(
            f"iree_abi.unflatten: results: expected a list or tuple, got {type_name(results)}"
        )
    only = given[0] if len(given) == 1 else None
    if isinstance(only, (List, Tuple, Dict)):
        if len(results) != len(only.items):
            raise ArgumentValueError(_arity("results", len(only.items), len(results)))
        return _convert(_unflatten, only, results, "iree_abi.unflatten: result", 0)
    if len(results) != len(given):
        raise ArgumentValueError(_arity("results", len(given), len(results)))
    values = tuple(
        _convert(_unflatten, type, value, "iree_abi.unflatten: result", place)
        for place, (type, value) in enumerate(zip(given, results, strict=True))
    )
    return None if not values else values if len(values) > 1 else values[0]


def _types(signature: object, function: str) -> types.Signature:
    if isinstance(signature, types.Signature):
        return signature
    raise ArgumentTypeError(
        f"iree_abi.{function}: signature: expected a Signature, got {type_name(signature)}"
    )


def _bind(
    where: str, inputs: Sequence[Type], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[Any]:
    """Return the value of each argument, given by position or by keyword."""
    if not _is_list(args):
        raise ArgumentTypeError(f"{where}: args: expected a list or tuple, got {type_name(args)}")
    if not isinstance(kwargs, (dict, Mapping)):
        raise ArgumentTypeError(f"{where}: kwargs: expected a mapping, got {type_name(kwargs)}")
    if len(args) > len(inputs):
        raise ArgumentTypeError(
            f"{where}: argument {len(inputs)}: surplus,"
            f" expected {len(inputs)} arguments, got {len(args)}"
        )
    if not kwargs and len(args) == len(inputs):
        return list(args)
    bound = dict(enumerate(args))
    for name, value in kwargs.items():
        places = [
            place
            for place, type in enumerate(inputs)
            if isinstance(type, Named) and type.name == name
        ]
        if len(places) != 1:
            many = "several arguments have this name" if places else "unknown name"
            raise ArgumentTypeError(f"{where}: argument {quoted(name)}: {many}")
        if places[0] in bound:
            raise ArgumentTypeError(
                f"{where}: argument {quoted(name)}: given by position and by keyword"
            )
        bound[places[0]] = value
    for place, type in enumerate(inputs):
        if place not in bound:
            raise ArgumentTypeError(f"{where}: argument {_label(type, place)}: missing")
    return [bound[place] for place in range(len(inputs))]


def _label(type: Type, place: int) -> str:
    return repr(type.name) if isinstance(type, Named) else str(place)


def _arity(what: str, expected: int, given: int) -> str:
    return f"iree_abi.unflatten: {what}: expected {expected}, got {given}"


_Converter: TypeAlias = Callable[[Any, Any], Any]


def _convert(convert: _Converter, type: Type, value: Any, where: str, place: int) -> Any:
    try:
        return convert(type, value)
    except Mismatch as problem:
        path = problem.path and problem.path + ": "
        text = f"{where} {_label(type, place)}: {path}{problem.reason}"
        raise problem.kind(text) from None
    except RecursionError:
        raise ArgumentValueError(f"{where} {_label(type, place)}: {TOO_DEEP}") from None


def _flatten(type: Type, value: Any) -> Any:
    convert = _FLATTEN.get(type.__class__)
    return value if convert is None else convert(type, value)


def _unflatten(type: Type, value: Any) -> Any:
    convert = _UNFLATTEN.get(type.__class__)
    return value if convert is None else convert(type, value)


def _each(
    convert: _Converter, keys: Iterable[object], slots: Iterable[Type], values: Iterable[Any]
) -> list[Any]:
    converted = []
    for key, type, value in zip(keys, slots, values, strict=False):
        try:
            converted.append(convert(type, value))
        except Mismatch as problem:
            problem.keys.append(key)
            raise
    return converted


def _null(type: Null, value: Any) -> None:
    if value is not None:
        raise Mismatch(f"expected None, got {type_name(value)}", kind=ArgumentTypeError)


def _slots(convert: _Converter, type: List | Tuple, value: Any) -> list[Any]:
    _check_list(value)
    if len(value) != len(type.items):
        raise Mismatch(f"expected {len(type.items)} values, got {len(value)}")
    return _each(convert, count(), type.items, value)


def _keys(type: Dict) -> dict[str, Type]:
    slots = dict(type.items)
    if len(slots) != len(type.items):
        raise Mismatch("duplicate key in the type")
    return slots


def _flatten_dict(type: Dict, value: Any) -> list[Any]:
    slots = _keys(type)
    if not isinstance(value, Mapping):
        raise Mismatch(f"expected a mapping, got {type_name(value)}", kind=ArgumentTypeError)
    for key in slots:
        if key not in value:
            raise Mismatch("missing", key)
    for key in value:
        if key not in slots:
            raise Mismatch("unknown key", key)
    return _each(_flatten, slots, slots.values(), (value[key] for key in slots))


def _unflatten_dict(type: Dict, value: Any) -> dict[str, Any]:
    slots = _keys(type)
    _check_list(value)
    if len(value) != len(slots):
        raise Mismatch(f"expected {len(slots)} values, got {len(value)}")
    return dict(zip(slots, _each(_unflatten, slots, slots.values(), value), strict=True))


def _elements(convert: _Converter, type: HomogeneousList, value: Any) -> list[Any] | bytes:
    if isinstance(value, (bytes, bytearray, memoryview)) and _is_byte(type.element):
        try:
            return bytes(value)
        except ValueError as problem:  # it was released
            raise Mismatch(str(problem)) from None
    _check_list(value)
    return _each(convert, count(), repeat(type.element), value)


def _flatten_elements(type: HomogeneousList, value: Any) -> list[Any] | bytes:
    if isinstance(value, str) and _is_byte(type.element):
        try:
            return value.encode()
        except UnicodeEncodeError as problem:
            raise Mismatch(str(problem)) from None
    return _elements(_flatten, type, value)


def _is_byte(type: Type) -> bool:
    return (
        isinstance(type, Scalar)
        and type.dtype.bits == 8
        and type.dtype.kind in ("signless", "signed", "unsigned")
    )


def _natural(type: Unknown, value: Any) -> Any:
    """Convert a value of no declared type; a mapping is passed in the order of its sorted keys."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise Mismatch(
                    f"expected keys that are str, got {type_name(key)}", kind=ArgumentTypeError
                )
        keys = sorted(value)
        return _each(_natural, keys, repeat(type), (value[key] for key in keys))
    if isinstance(value, (list, tuple)):
        return _each(_natural, count(), repeat(type), value)
    return value


def _flatten_array(type: RefArray, value: Any) -> Any:
    if isinstance(type.element, Null):  # the compiler had no name for the elements of an array
        return value
    if hasattr(value, "shape") and hasattr(value, "flat"):
        dims, values = _dims(value.shape), list(value.flat)
    elif type.shape is None:
        raise Mismatch(
            f"expected a NumPy array, because the rank is unknown, got {type_name(value)}",
            kind=ArgumentTypeError,
        )
    else:
        dims, values = _unnest(value, type.shape)
    _check_shape(type, dims)
    return [_array_elements(_flatten, type, dims, values), dims]


_EMPTY_MAX = 1 << 20
"""The most empty lists that an array becomes: a few bytes of dims ask for any number of them."""


def _unflatten_array(type: RefArray, value: Any) -> Any:
    if isinstance(type.element, Null):
        return value
    _check_list(value)
    if len(value) != 2:
        raise Mismatch(f"expected a pair of values and dims, got {len(value)} values")
    values, dims = value
    _check_list(values)
    _check_list(dims)
    dims = _dims(dims)
    if prod(dims) != len(values):
        raise Mismatch(f"{len(values)} values do not fill the shape {dims}")
    _check_shape(type, dims)
    if not values and prod(takewhile(bool, dims)) > _EMPTY_MAX:
        raise Mismatch(f"{dims} has more than {_EMPTY_MAX:,} lists without a value")
    return _nest(iter(_array_elements(_unflatten, type, dims, values)), dims)


def _array_elements(
    convert: _Converter, type: RefArray, dims: list[int], values: Sequence[Any]
) -> list[Any]:
    if not values:  # beside a dim of 0 may be one that is very large
        return []
    try:
        return _each(convert, product(*map(range, dims)), repeat(type.element), values)
    except Mismatch as problem:
        problem.keys[-1:] = reversed(problem.keys[-1])  # an index for each dim
        raise


def _dims(values: Iterable[Any]) -> list[int]:
    dims = []
    for place, value in enumerate(values):
        try:
            dim = index(value)
        except TypeError:  # an array has __index__ as well
            dim = -1
        if dim < 0:
            raise Mismatch(f"dim {place}: expected an int of 0 or more, got {quoted(value)}")
        dims.append(dim)
    return dims


def _check_shape(type: RefArray, dims: list[int]) -> None:
    if type.shape is None:
        return
    fits = len(dims) == len(type.shape) and all(
        expected in (None, dim) for expected, dim in zip(type.shape, dims, strict=True)
    )
    if not fits:
        raise Mismatch(f"expected the shape {types.shape_text(type.shape)}, got {dims}")


def _unnest(value: Any, shape: Sequence[int | None]) -> tuple[list[int], list[Any]]:
    """Return the dims and the values of sequences nested as deep as `shape`."""
    dims: list[int] = []
    values = [value]
    for expected in shape:
        for row in values:
            _check_list(row)
        sizes = {len(row) for row in values}
        if len(sizes) > 1:
            raise Mismatch(f"dim {len(dims)} has {min(sizes)} and {max(sizes)} values")
        # inside a dim of 0 there is nothing to count
        dims.append(sizes.pop() if sizes else expected or 0)
        values = [item for row in values for item in row]
    return dims, values


def _nest(values: Iterator[Any], dims: list[int]) -> Any:
    if not dims:
        return next(values)
    return [_nest(values, dims[1:]) for _ in range(dims[0])]


_FLATTEN: dict[type, _Converter] = {
    Named: lambda type, value: _flatten(type.type, value),
    Null: _null,
    List: partial(_slots, _flatten),
    Tuple: partial(_slots, _flatten),
    Dict: _flatten_dict,
    HomogeneousList: _flatten_elements,
    RefArray: _flatten_array,
    Unknown: _natural,
}

_UNFLATTEN: dict[type, _Converter] = {
    Named: lambda type, value: _unflatten(type.type, value),
    Null: _null,
    List: partial(_slots, _unflatten),
    Tuple: lambda type, value: tuple(_slots(_unflatten, type, value)),
    Dict: _unflatten_dict,
    HomogeneousList: partial(_elements, _unflatten),
    RefArray: _unflatten_array,
}


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple, Sequence)) and not isinstance(
        value, (str, bytes, bytearray, memoryview)
    )


def _check_list(value: object) -> None:
    if not _is_list(value):
        raise Mismatch(f"expected a list or tuple, got {type_name(value)}", kind=ArgumentTypeError)
