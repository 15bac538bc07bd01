"""Single values of TVM-FFI's ABI, and arrays of them."""

from __future__ import annotations

import ctypes
import struct
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fnabi
from fnabi import Any, AnyArray, ArgumentValueError, CallError

LONG = "a string longer than seven bytes"


# value, type index, padding, payload (None if it is an address)
def without_address(value):
    """Name a value the same in every process, as parallel test runs need it."""
    return repr(value).split(" at 0x")[0]


VALUES = [
    (None, 0, 0, b""),
    (7, 1, 0, struct.pack("<q", 7)),
    (-1, 1, 0, struct.pack("<q", -1)),
    (True, 2, 0, b"\1"),
    (False, 2, 0, b""),
    (1.5, 3, 0, struct.pack("<d", 1.5)),
    (-0.0, 3, 0, struct.pack("<d", -0.0)),
    (ctypes.c_void_p(4096), 4, 0, struct.pack("<Q", 4096)),
    (np.dtype("f4"), 5, 0, bytes([2, 32, 1, 0])),
    (fnabi.Device("cuda", 3), 6, 0, struct.pack("<ii", 2, 3)),
    ("", 11, 0, b""),
    ("é", 11, 2, "é".encode()),
    ("1234567", 11, 7, b"1234567"),
    ("nul\0in", 11, 6, b"nul\0in"),
    (b"", 12, 0, b""),
    (b"\xff" * 7, 12, 7, b"\xff" * 7),
    ("12345678", 65, 0, None),
    (b"12345678", 66, 0, None),
    (ValueError("x"), 67, 0, None),
    (len, 68, 0, None),
    (fnabi.Shape((1, 2)), 69, 0, None),
    (np.zeros(2, "f4"), 70, 0, None),
    ([1], 71, 0, None),
    ((), 71, 0, None),
    ({"a": 1}, 72, 0, None),
    (object(), 74, 0, None),
    (fnabi.List([1]), 75, 0, None),
    (fnabi.Dict({"a": 1}), 76, 0, None),
    (1 << 64, 78, 0, None),
]


@pytest.mark.parametrize(("value", "index", "padding", "payload"), VALUES, ids=without_address)
def test_bytes(value, index, padding, payload):
    any = Any(value)
    data = bytes(any)
    assert any.type_index == index
    assert struct.unpack_from("=iI", data) == (index, padding)
    assert len(data) == 16
    if payload is not None:
        assert data[8:] == payload.ljust(8, b"\0")
    else:
        assert data[8:] != bytes(8)
    assert bytes(AnyArray([None, any]))[16:] == data


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
)


@given(SCALARS)
def test_values_come_back(value):
    any = Any(value)
    for again in (any.value, AnyArray([value])[0], Any(any).value):
        assert type(again) is type(value)
        assert again == value or value != value
    assert bytes(Any(any)) == bytes(any)
    assert any == Any(any)


@given(SCALARS, SCALARS)
def test_equality_is_the_abi_s(a, b):
    left, right = Any(a), Any(b)
    same = type(a) is type(b) and (a == b if type(a) is not float else bytes(left) == bytes(right))
    assert (left == right) is same
    assert (left != right) is not same
    if same:
        assert hash(left) == hash(right)


def test_equality_beside_other_things():
    assert Any("12345678") == Any("12345678")
    assert hash(Any("12345678")) == hash(Any("12345678"))
    assert Any(1) != Any(True)
    assert Any(1) != Any(1.0)
    assert Any(1) != 1
    assert Any("text") != Any(b"text")
    assert Any([1]) != Any([1])  # two objects
    array = fnabi.Array([1])
    assert Any(array) == Any(array)
    with pytest.raises(TypeError):
        Any(1) < Any(2)  # noqa: B015
    assert len({Any(1), Any(1), Any("a" * 9), Any("a" * 9)}) == 2


def test_an_any_holds_its_object():
    value = Any({"a": [1, LONG]})
    assert value.value == fnabi.Map({"a": [1, LONG]})
    assert Any().value is None
    assert Any(value=3).value == 3
    assert repr(Any(1)) == "Any(1)"
    assert repr(Any("x")) == "Any('x')"
    thing = object()
    assert Any(thing).value is thing


def test_a_value_that_python_has_not():
    """What a library has instead of a value that stays unchanged."""
    array = fnabi.Array([None])
    data = ctypes.c_void_p.from_address(array.address + 24).value
    ctypes.c_int32.from_address(data).value = 13
    unchanged = array[0]
    assert unchanged.type_index == unchanged.value.type_index == 13
    assert unchanged == unchanged.value
    assert repr(unchanged) == "Any(unchanged)"
    assert repr(array) == "Array([Any(unchanged)])"


def test_bad_values():
    with pytest.raises(TypeError):
        Any(1, 2)
    with pytest.raises(UnicodeEncodeError):
        Any("\ud800")
    deep: list[object] = []
    deep.append(deep)
    with pytest.raises(ArgumentValueError, match=r"^Any: value: nested too deeply"):
        Any(deep)
    with pytest.raises(ArgumentValueError, match=r"^AnyArray: values: nested too deeply"):
        AnyArray([1, deep])
    with pytest.raises(AttributeError):
        Any(1).value = 2


# ------------------------------------------------------------------- in a row


def test_arrays():
    array = AnyArray([1, "x", LONG, None])
    assert len(array) == 4
    assert list(array) == array.tolist() == [1, "x", LONG, None]
    assert [array[0], array[-1], array[np.int64(1)]] == [1, None, "x"]
    assert LONG in array
    assert repr(AnyArray([1, "x"])) == "AnyArray([1, 'x'])"
    assert AnyArray(i for i in range(3)).tolist() == [0, 1, 2]
    assert len(AnyArray(())) == 0
    assert AnyArray(array) == array


def test_an_array_that_is_an_argument_keeps_its_values() -> None:
    """The list that the function gets has references of its own."""
    value = object()
    array = AnyArray([value])
    before = sys.getrefcount(value)
    for _ in range(3):
        assert fnabi.Function(lambda values: values[0] is value)(array)
    assert sys.getrefcount(value) == before
    assert array[0] is value


@given(st.lists(st.integers(0, 9), max_size=6), st.data())
def test_indexing_is_a_list_s(values, data):
    array = AnyArray(values)
    index = data.draw(st.integers(-8, 8))
    try:
        expected = values[index]
    except IndexError:
        with pytest.raises(IndexError, match="AnyArray index out of range"):
            array[index]
    else:
        assert array[index] == expected
    part = data.draw(st.builds(slice, *[st.none() | st.integers(-8, 8)] * 2, st.integers(1, 3)))
    for cut in (part, slice(part.start, part.stop, -part.step)):
        assert array[cut].tolist() == values[cut]


def test_bad_indexes():
    array = AnyArray([1])
    for bad in ("x", 1.0, None):
        with pytest.raises(CallError, match=r"^AnyArray: index: expected int or slice, got"):
            array[bad]
    for large in (1 << 70, -(1 << 70)):
        with pytest.raises(IndexError):
            array[large]
    with pytest.raises(ValueError, match="zero"):
        array[::0]
    with pytest.raises(TypeError):
        array[0] = 1
    with pytest.raises(TypeError):
        AnyArray(1)


def test_equality_of_arrays():
    assert AnyArray([1, "12345678"]) == AnyArray([1, "12345678"])
    assert AnyArray([1]) != AnyArray([1, 2])
    assert AnyArray([1]) != AnyArray([True])
    assert AnyArray([1]) != [1]
    with pytest.raises(TypeError):
        hash(AnyArray([]))


def test_the_buffer_is_the_values():
    array = AnyArray([1, 2.5, "x"])
    view = memoryview(array)
    assert (view.nbytes, view.readonly) == (48, True)
    assert bytes(view) == b"".join(bytes(Any(value)) for value in (1, 2.5, "x"))
    fields = np.frombuffer(array, [("index", "i4"), ("size", "u4"), ("payload", "u8")])
    assert fields["index"].tolist() == [1, 3, 11]
    del array
    assert view[:4] == struct.pack("=i", 1)
    assert bytes(AnyArray([])) == b""


def test_a_part_holds_its_objects():
    part = AnyArray([LONG, [LONG]])[1:]
    assert part.tolist() == [fnabi.Array([LONG])]
