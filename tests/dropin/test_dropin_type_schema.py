"""Types and conversions to them, beside the original's."""

from __future__ import annotations

import ctypes
import typing
from collections.abc import Callable
from typing import Any, Optional, Union

import pytest

theirs: Any = pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
ours: Any = pytest.importorskip("fnabi.dropin.tvm_ffi", exc_type=ImportError)
np = pytest.importorskip("numpy", reason="NumPy is not installed")

HINTS: dict[str, Callable[[Any], Any]] = {
    "int": lambda t: int,
    "float": lambda t: float,
    "bool": lambda t: bool,
    "str": lambda t: str,
    "bytes": lambda t: bytes,
    "None": lambda t: None,
    "Any": lambda t: typing.Any,
    "dtype": lambda t: t.core.DataType,
    "Device": lambda t: t.Device,
    "pointer": lambda t: ctypes.c_void_p,
    "Object": lambda t: t.Object,
    "Tensor": lambda t: t.Tensor,
    "Function": lambda t: t.Function,
    "Callable": lambda t: Callable,
    "typing.Callable": lambda t: typing.Callable,
    "Callable[[int, str], bool]": lambda t: Callable[[int, str], bool],
    "Callable[[], int]": lambda t: Callable[[], int],
    "Callable[..., int]": lambda t: Callable[..., int],
    "list": lambda t: list,
    "list[int]": lambda t: list[int],
    "List[float]": lambda t: t.List[float],
    "dict[str, int]": lambda t: dict[str, int],
    "Map[str, list[int]]": lambda t: t.Map[str, list[int]],
    "tuple": lambda t: tuple,
    "tuple[()]": lambda t: tuple[()],
    "tuple[int, str]": lambda t: tuple[int, str],
    "tuple[float, ...]": lambda t: tuple[float, ...],
    "Optional[int]": lambda t: Optional[int],  # noqa: UP045
    "Union[int, str]": lambda t: Union[int, str],  # noqa: UP007
    "float | str | None": lambda t: float | str | None,
    "list[tuple[int, dict[str, float]]]": lambda t: list[tuple[int, dict[str, float]]],
}


class Gives:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __tvm_ffi_value__(self) -> Any:
        return self.value


class Itself:
    def __tvm_ffi_value__(self) -> Any:
        return self


class Whole:
    def __tvm_ffi_int__(self) -> int:
        return 7


class Real:
    def __tvm_ffi_float__(self) -> float:
        return 7.5


class Broken:
    def __tvm_ffi_object__(self) -> Any:
        raise RuntimeError("broken")


VALUES: dict[str, Callable[[Any], Any]] = {
    "3": lambda t: 3,
    "2**70": lambda t: 2**70,
    "True": lambda t: True,
    "2.5": lambda t: 2.5,
    "None": lambda t: None,
    "'x'": lambda t: "x",
    "'a long text'": lambda t: "a long text",
    "'float32'": lambda t: "float32",
    "'cuda:1'": lambda t: "cuda:1",
    "b'x'": lambda t: b"x",
    "bytearray": lambda t: bytearray(b"some bytes"),
    "[1, 2]": lambda t: [1, 2],
    "[True, 2.5]": lambda t: [True, 2.5],
    "[1, 'x']": lambda t: [1, "x"],
    "(1, 'x')": lambda t: (1, "x"),
    "()": lambda t: (),
    "{'a': 1}": lambda t: {"a": 1},
    "{'a': [1, True]}": lambda t: {"a": [1, True]},
    "{'a': 'b'}": lambda t: {"a": "b"},
    "[(1, {'a': 2})]": lambda t: [(1, {"a": 2})],
    "Array": lambda t: t.Array([1, 2]),
    "List": lambda t: t.List([1, True]),
    "Map": lambda t: t.Map({"a": 1}),
    "Dict": lambda t: t.Dict({"a": 2.5}),
    "String": lambda t: t.core.String("x"),
    "dtype": lambda t: t.dtype("int8"),
    "device": lambda t: t.device("cpu", 0),
    "pointer": lambda t: ctypes.c_void_p(16),
    "len": lambda t: len,
    "Function": lambda t: t.convert(lambda x: x),
    "np.int8": lambda t: np.int8(3),
    "np.float32": lambda t: np.float32(2.5),
    "np.dtype": lambda t: np.dtype("int16"),
    "array": lambda t: np.arange(4),
    "error": lambda t: ValueError("x"),
    "Gives(3)": lambda t: Gives(3),
    "Gives(Gives('x'))": lambda t: Gives(Gives("x")),
    "Itself": lambda t: Itself(),
    "Whole": lambda t: Whole(),
    "Real": lambda t: Real(),
    "Broken": lambda t: Broken(),
}


def outcome(t: Any, hint: str, value: str) -> tuple[Any, ...]:
    schema = t.core.TypeSchema.from_annotation(HINTS[hint](t))
    given = VALUES[value](t)
    try:
        schema.check_value(given)
        found = schema.convert(given)
    except TypeError:
        return ("refused",)
    inner = t.core._to_py_class_value(found)
    shown = repr(inner) if found.type_index not in (68, 70, 74) else ""
    return found.type_index, type(inner).__name__, shown


@pytest.mark.parametrize("hint", HINTS)
def test_a_type_is_written_as_by_the_original(hint: str) -> None:
    mine, original = (t.core.TypeSchema.from_annotation(HINTS[hint](t)) for t in (ours, theirs))
    assert repr(mine) == repr(original)
    assert mine.to_json() == original.to_json()
    assert mine.origin_type_index == original.origin_type_index
    assert ours.core.TypeSchema.from_json_obj(original.to_json()) == mine


@pytest.mark.parametrize("hint", HINTS)
def test_values_are_converted_as_by_the_original(hint: str) -> None:
    for value in VALUES:
        assert (value, outcome(ours, hint, value)) == (value, outcome(theirs, hint, value))


@pytest.mark.parametrize(
    ("hint", "value", "text"),
    [
        (list[int], ["x"], "type conversion failed for List[int]: element [0]: expected int"),
        (dict[str, int], {"a": "b"}, "value for key 'a': expected int, got str"),
        (int, 2**70, "int64 range"),
        (Any, Itself(), "failed to convert Any from Itself"),
        (int, Gives(Gives(None)), "expected int, got None"),
    ],
)
def test_the_fault_is_named(hint: Any, value: Any, text: str) -> None:
    with pytest.raises(TypeError) as raised:
        ours.core.TypeSchema.from_annotation(hint).convert(value)
    assert text in str(raised.value)


def test_what_is_no_type() -> None:
    schema = ours.core.TypeSchema
    for hint in (complex, object(), list[complex]):
        with pytest.raises(TypeError, match="Cannot convert"):
            schema.from_annotation(hint)
    unregistered = type("Unregistered", (ours.Object,), {})
    with pytest.raises(TypeError, match="Unregistered is not registered: no type has this class"):
        schema.from_annotation(unregistered)
    with pytest.raises(TypeError, match="unknown TypeSchema origin"):
        schema("nothing").check_value(1)
    with pytest.raises(TypeError, match="expected schema dict"):
        schema.from_json_obj([])
    with pytest.raises(ValueError, match="no type has the index"):
        schema.from_type_index(1 << 20)
    for arguments in (
        ("Array", (1,)),
        ("Union", ("int", None)),
        ("Callable", None, None, None, {"return": (1,)}),
        ("Callable", None, None, None, 3),
        (3,),
        ("",),
    ):
        with pytest.raises((TypeError, ValueError)) as expected:
            theirs.core.TypeSchema(*arguments)
        with pytest.raises(expected.type, match=r"^(origin|(named_)?args): expected "):
            schema(*arguments)


@pytest.mark.parametrize(
    "origin", ["Array", "List", "Map", "Dict", "list", "dict", "tuple", "Union", "Optional"]
)
@pytest.mark.parametrize("count", range(4))
def test_numbers_of_arguments_are_refused_as_by_the_original(origin: str, count: int) -> None:
    fits = []
    for schema in (ours.core.TypeSchema, theirs.core.TypeSchema):
        try:
            made = schema(origin, (schema("int"),) * count)
            fits.append([each.origin for each in made.args])
        except ValueError:
            fits.append(None)
    assert fits[0] == fits[1]


@pytest.mark.parametrize("target", ["Object", "Array", "List", "Function"])
@pytest.mark.parametrize("hint", HINTS)
def test_types_below_others(hint: str, target: str) -> None:
    expected, found = (
        package.core.TypeSchema.from_annotation(HINTS[hint](package)).is_subtype_of(
            getattr(package, target)
        )
        for package in (theirs, ours)
    )
    assert found is expected


@pytest.mark.parametrize("text", ["cuda:x", "cuda:", "cuda:1:2", "none:0"])
def test_texts_of_devices_that_are_none(text: str) -> None:
    problems = []
    for package in (theirs, ours):
        with pytest.raises(ValueError, match=r"nvalid device|Unknown device") as caught:
            package.Device(text)
        problems.append(str(caught.value))
    assert problems[0] == problems[1]
