"""Arrow data crosses in capsules; each can be consumed once, and other objects are refused."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any

import pytest

import fnabi
from fnabi import CallError, _call, arrow_capsule
from fnabi.columns import RowError

COLUMNS = fnabi.decode_columns([b"I11!B8!d-1d200R4!S1!", b"I1!R", None])


class Giver:
    """Returns the same object every time."""

    def __init__(self, given: object, name: str = "stream") -> None:
        setattr(self, f"__arrow_c_{name}__", lambda: given)


def strings() -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.array(["I1!R1!", None, "x"])


def test_a_stream_is_taken_once() -> None:
    pa = pytest.importorskip("pyarrow")
    given = Giver(pa.chunked_array([strings(), strings()]).__arrow_c_stream__())
    assert [error.row for error in fnabi.decode_columns(given).errors] == [2, 5]
    for threads in (1, 2):
        with pytest.raises(CallError, match='the capsule "arrow_array_stream" has been consumed'):
            fnabi.decode_columns(given, "raw", threads)


@pytest.mark.parametrize("which", [0, 1])
def test_an_array_is_taken_once(which: int) -> None:
    capsules = list(strings().__arrow_c_array__())
    given = Giver(tuple(capsules), "array")
    assert fnabi.decode_columns(given).errors == [RowError(2, "raw-inputs", 0)]
    capsules[1 - which] = strings().__arrow_c_array__()[1 - which]
    name = ("arrow_schema", "arrow_array")[which]
    with pytest.raises(CallError, match=f'the capsule "{name}" has been consumed'):
        fnabi.decode_columns(Giver(tuple(capsules), "array"))


def test_who_takes_an_array_first() -> None:
    """A capsule that another library has consumed is empty."""
    pa = pytest.importorskip("pyarrow")
    capsules = strings().__arrow_c_array__()
    assert pa.Array._import_from_c_capsule(*capsules).to_pylist() == ["I1!R1!", None, "x"]
    with pytest.raises(CallError, match="has been consumed"):
        fnabi.decode_columns(Giver(capsules, "array"))


@pytest.mark.parametrize(
    ("name", "give", "problem"),
    [
        ("stream", lambda: None, 'expected a capsule named "arrow_array_stream", got None'),
        ("stream", lambda: 5, 'expected a capsule named "arrow_array_stream", got 5'),
        ("stream", COLUMNS.__arrow_c_schema__, 'named "arrow_array_stream", got <capsule'),
        ("stream", lambda: _call.arrow_capsule("arrow_array_stream")[0], "has been consumed"),
        ("array", lambda: None, "__arrow_c_array__: expected tuple of 2 capsules, got NoneType"),
        ("array", lambda: (), "__arrow_c_array__: expected tuple of 2 capsules, got tuple of 0"),
        ("array", COLUMNS.__arrow_c_schema__, "expected tuple of 2 capsules, got PyCapsule"),
        ("array", lambda: COLUMNS.__arrow_c_array__()[::-1], 'named "arrow_array", got <capsule'),
        ("array", lambda: (None, COLUMNS.__arrow_c_array__()[1]), 'named "arrow_schema", got None'),
    ],
)
def test_what_is_no_capsule(name: str, give: Callable[[], object], problem: str) -> None:
    with pytest.raises(CallError, match=f"^decode_columns: strings: .*{problem}"):
        fnabi.decode_columns(Giver(give(), name))


def test_the_lane_refuses() -> None:
    with pytest.raises(
        CallError, match=r"^arrow: expected the name of a structure, got 'dltensor'"
    ):
        _call.arrow_capsule("dltensor")
    with pytest.raises(CallError, match=r"^arrow: expected the name of a structure, got 5"):
        _call.arrow_capsule(5)  # type: ignore[arg-type]
    with pytest.raises(CallError, match=r"^arrow_take: expected a structure"):
        _call.arrow_take(None, "arrow_array", 0)
    with pytest.raises(TypeError):
        _call.arrow_take(None, "arrow_array", "0")  # type: ignore[arg-type]


def test_what_outlives_what() -> None:
    """The texts of an array live while they are decoded, and the columns while they are read."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"f": [f"I6!B3!d{n % 10}R1!" for n in range(10_000)]})
    expected = fnabi.decode_columns(table).to_numpy()["inputs.dims"].tolist()
    schema, arrays = arrow_capsule.open_arrays(table, "")
    del table
    gc.collect()
    kept = list(arrays)
    del schema
    gc.collect()
    assert sum(map(fnabi._fnabi.lib.fnabi_arrow_length, kept)) == 10_000
    columns = fnabi.decode_columns(pa.table({"f": [f"I6!B3!d{n % 10}R1!" for n in range(10_000)]}))
    read = pa.table(columns)
    del columns
    gc.collect()
    shapes = read.column("inputs").combine_chunks().flatten().field("shape")
    assert list(itertools.chain.from_iterable(shapes.to_pylist())) == expected


def test_a_capsule_let_go_by_an_exception() -> None:
    """Python code that runs when a stream is released does not see the exception, nor lose it."""
    for _ in range(100):
        with pytest.raises(ZeroDivisionError):
            (fnabi.vmfb.scan([]).__arrow_c_stream__(), 1 // 0)
