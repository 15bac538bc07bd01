"""The same call by the lane and by ctypes, which fills in the structures of the ABI one by one."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fnabi
from support.callee import callee_library


class Value(ctypes.Structure):
    _fields_ = (("tag", ctypes.c_int32), ("size", ctypes.c_uint32), ("payload", ctypes.c_ubyte * 8))


class Object(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_uint64),
        ("tag", ctypes.c_int32),
        ("padding", ctypes.c_uint32),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)),
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
    )


KINDS: dict[type, tuple[int, Any]] = {
    bool: (2, ctypes.c_int64),
    int: (1, ctypes.c_int64),
    float: (3, ctypes.c_double),
    type(None): (0, ctypes.c_int64),
    ctypes.c_void_p: (4, ctypes.c_int64),
    fnabi.Device: (6, ctypes.c_int32 * 2),
}


def passed(value: Any, keep: list[object]) -> Value:
    """Make an argument of a value; `keep` has what it points to."""
    found = Value()
    if isinstance(value, (str, bytes)):
        data = value.encode() if isinstance(value, str) else value
        if len(data) < 8:
            found.tag, found.size = 11 + isinstance(value, bytes), len(data)
            found.payload[: len(data)] = data
            return found
        text = ctypes.create_string_buffer(data, len(data))
        object = Object(1 << 32 | 1, 65 + isinstance(value, bytes), 0)
        object.data, object.size = ctypes.addressof(text), len(data)
        keep += [text, object]
        found.tag, held = object.tag, ctypes.c_int64(ctypes.addressof(object))
    else:
        found.tag, kind = KINDS[type(value)]
        if isinstance(value, fnabi.Device):
            held = kind(value.type, value.id)
        elif isinstance(value, ctypes.c_void_p):
            held = kind(value.value or 0)
        else:
            held = kind(0 if value is None else value)
    ctypes.memmove(found.payload, ctypes.byref(held), 8)
    return found


def taken(result: Value) -> Any:
    """Read a result and give up its object, if it is one."""
    payload = bytes(result.payload)
    if result.tag in (11, 12):
        data = payload[: result.size]
        return data.decode() if result.tag == 11 else data
    if result.tag in (65, 66):
        address = int.from_bytes(payload, "little")
        object = Object.from_address(address)
        data = ctypes.string_at(object.data, object.size)
        assert (object.count, object.tag) == (1 << 32 | 1, result.tag)
        object.deleter(address, 3)
        return data.decode() if result.tag == 65 else data
    kinds = {tag: (type, kind) for type, (tag, kind) in KINDS.items()}
    type, kind = kinds[result.tag]
    held = kind.from_buffer_copy(payload)
    if result.tag == 0:
        return None
    if result.tag == 6:
        return fnabi.Device(*held)
    return type(held.value)


def by_ctypes(name: str, values: tuple[Any, ...]) -> Any:
    """Call a function, and return what it returned, or the text of its error."""

    class Text(ctypes.Structure):
        _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))

    library = ctypes.CDLL(callee_library())
    keep: list[object] = []
    given = (Value * len(values))(*(passed(value, keep) for value in values))
    result = Value()
    function = library[f"__tvm_ffi_{name}"]
    if function(None, given, len(values), ctypes.byref(result)) == 0:
        return taken(result)
    error = (Text * 2)()
    slot = library["__fnabi_error_slot"]
    if slot(ctypes.byref(error), ctypes.c_size_t(ctypes.sizeof(error))) != 1:
        raised = ctypes.c_void_p()  # libtvm_ffi is loaded, and has the error
        ctypes.CDLL(None).TVMFFIErrorMoveFromRaised(ctypes.byref(raised))
        assert raised.value is not None
        error = (Text * 2).from_address(raised.value + 24)
    return [ctypes.string_at(each.data, each.size).decode() for each in error]


def by_lane(name: str, values: tuple[Any, ...]) -> Any:
    try:
        return fnabi.load_module(callee_library())[name](*values)
    except Exception as error:
        return [type(error).__name__, str(error).strip("'\"")]


def shown(value: Any) -> str:
    kind = type(value).__name__
    return f"{kind} {value.value if isinstance(value, ctypes.c_void_p) else value!r}"


texts = st.text(st.characters(exclude_categories=["Cs"]))
any_value = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | texts
    | st.binary()
    | st.integers(0, 2**63 - 1).map(ctypes.c_void_p)
    | st.builds(fnabi.Device, st.sampled_from(["cpu", "cuda"]), st.integers(0, 9))
)
names = st.sampled_from(
    ["add", "halve", "negate", "repeat", "reverse", "next_pointer", "next_device", "nothing"]
)


@given(names, st.lists(any_value, max_size=3).map(tuple))
def test_calls_with_any_values(name: str, values: tuple[Any, ...]) -> None:
    if name == "repeat":
        values = tuple(value % 9 if type(value) is int else value for value in values)
    assert shown(by_lane(name, values)) == shown(by_ctypes(name, values))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("add", st.tuples(st.integers(-(2**63), 2**63 - 1), st.booleans())),
        ("halve", st.tuples(st.floats() | st.integers(-(2**63), 2**63 - 1))),
        ("negate", st.tuples(st.booleans() | st.integers(0, 1))),
        ("repeat", st.tuples(texts, st.integers(0, 20))),
        ("reverse", st.tuples(st.binary(max_size=40))),
        ("next_pointer", st.tuples(st.integers(0, 2**63 - 2).map(ctypes.c_void_p))),
    ],
)
def test_calls_that_succeed(name: str, values: st.SearchStrategy[tuple[Any, ...]]) -> None:
    @given(values)
    def check(values: tuple[Any, ...]) -> None:
        found = by_lane(name, values)
        assert type(found) is not list
        assert shown(found) == shown(by_ctypes(name, values))

    check()


@given(any_value)
def test_values_have_these_bytes(value: Any) -> None:
    """What the lane makes of a value is what ctypes passes."""
    made = fnabi.Any(value)
    expected = passed(value, [])
    assert made.type_index == expected.tag
    if expected.tag < 64:
        assert bytes(made) == bytes(expected)
    else:
        assert bytes(made)[:8] == bytes(expected)[:8]
