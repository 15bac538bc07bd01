"""``fnabi call``: arguments, changed arrays, saved files, and libraries that mean harm."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fnabi
from fnabi.cli import main
from fnabi.cli._call_values import json_of, load_array, show
from support.callee import path_of
from support.command import Run, run


def call(
    *argv: str | bytes | Path, library: str = "changing", options: tuple[str, ...] = ()
) -> Run:
    return run("call", *options, path_of(library), *argv)


def saved(folder: Path, array: Any, name: str = "x.npy") -> str:
    np.save(folder / name, array)
    return f"@{folder / name}"


# ------------------------------------------------------------------------ changed arguments


def test_an_argument_that_was_changed_is_shown(tmp_path: Path) -> None:
    x = saved(tmp_path, np.array([1, 2, 3], np.uint8))
    assert call("twice", "true", x) == Run(
        0, "changed argument 1 (y): array([2, 4, 6], dtype=uint8)\n", ""
    )
    assert call("twice", "false", x) == Run(0, "", "")
    done = call("twice", "true", x, options=("--json",))
    assert json.loads(done.out) == {
        "schema": "fnabi.call/1",
        "function": "twice",
        "result": None,
        "changed": [
            {
                "argument": 1,
                "name": "y",
                "value": {"tensor": {"dtype": "uint8", "data": [2, 4, 6]}},
            }
        ],
    }
    assert np.load(x[1:]).tolist() == [1, 2, 3]  # the file itself is left alone


@pytest.mark.parametrize(
    "array",
    [
        np.full((2, 3), np.nan),  # NaN is not equal to itself, and did not change
        np.zeros((0, 4), np.float32),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(5, np.int16),
    ],
)
def test_arrays_that_were_not_changed(array: Any, tmp_path: Path) -> None:
    assert call("twice", "false", saved(tmp_path, array)) == Run(0, "", "")


def test_a_change_of_the_sign_of_zero_is_one(tmp_path: Path) -> None:
    x = saved(tmp_path, np.array([-0.0, 1.0]).view(np.uint8))
    assert call("twice", "true", x).out.startswith("changed argument 1")


# ----------------------------------------------------------------------------------- output


def test_output_of_one_value(tmp_path: Path) -> None:
    x = saved(tmp_path, np.array([1, 2, 3], np.uint8))
    out = tmp_path / "out.npy"
    done = call("twice", "true", x, options=("--output", str(out)))
    assert done == Run(
        0,
        f"changed argument 1 (y): array([2, 4, 6], dtype=uint8)\nsaved argument_1: {out}\n",
        "",
    )
    assert np.load(out).tolist() == [2, 4, 6]
    done = call("same", "2.5", options=("--json", "--output", str(out)))
    assert json.loads(done.out)["files"] == [{"value": "result", "file": str(out)}]
    assert np.load(out) == 2.5
    assert call("collect", "1", "2", options=("--output", str(out))).status == 0
    assert np.load(out).tolist() == [1, 2]


def test_output_of_several_values(tmp_path: Path) -> None:
    x = saved(tmp_path, np.array([1.5, 2.5], np.float32))
    several = call("collect", "7", x, "[[1, 2]]", options=("--output", str(tmp_path / "o.npy")))
    assert several.out.splitlines()[1:] == [
        f"saved result_0: {tmp_path}/o.0.npy",
        f"saved result_1: {tmp_path}/o.1.npy",
        f"saved result_2_0: {tmp_path}/o.2.npy",
    ]
    assert not (tmp_path / "o.npy").exists()
    assert np.load(tmp_path / "o.1.npy").tolist() == [1.5, 2.5]
    keys = '{"../../b": 1, "b": [2, 3], "file": 4, "": 5, "/b": 6}'
    assert call("same", keys, options=("--output", str(tmp_path / "o.npz"))).status == 0
    with np.load(tmp_path / "o.npz") as found:
        assert {name: found[name].tolist() for name in found} == {
            "result__b": 1,
            "result_b": [2, 3],
            "result_file": 4,
            "result_": 5,
            "result__b_2": 6,
        }


def test_output_that_cannot_be_saved(tmp_path: Path) -> None:
    for name in ("out.npy", "out.npz"):
        out = tmp_path / name
        for argv, text in (
            (["collect", "1", "x"], "result_1: expected a number or an array, got str"),
            (["same", "null"], "the function returned no array and changed no argument"),
            (["same", "[1, null]"], "result_1: expected a number or an array, got NoneType"),
            (["same", str(2**70)], f"result: {2**70} does not fit in an array"),
        ):
            done = call(*argv, options=("--output", str(out)))
            assert (done.status, done.err) == (1, f"fnabi: --output: {text}\n")
            assert os.listdir(tmp_path) == []
        assert call("fail", "ValueError", "x", options=("--output", str(out))).status == 1
        assert os.listdir(tmp_path) == []


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "out.npy"
    done = call("same", "1", options=("--output", str(missing)))
    assert done == Run(1, "", f"fnabi: {missing}: No such file or directory\n")
    (tmp_path / "dir.npy").mkdir()
    done = call("same", "1", options=("--output", str(tmp_path / "dir.npy")))
    assert done == Run(1, "", f"fnabi: {tmp_path / 'dir.npy'}: Is a directory, expected a file\n")
    done = call("same", "1", options=("--output", str(tmp_path / "out.txt")))
    assert done.status == 2
    assert "--output has an unknown extension, expected .npy, .npz" in done.err


# ---------------------------------------------------------------------------- users' mistakes


@pytest.mark.parametrize("text", ["[" * 120_000, "[" * 60_000 + "]" * 60_000])
def test_brackets_without_end(text: str) -> None:
    assert call("same", text) == Run(1, "", "fnabi: argument 0: the JSON is nested too deeply\n")


def test_objects_of_many_levels() -> None:
    """CPython 3.14 reads more levels than others, and the call lane ends there."""
    done = call("same", '{"":' * 20_000 + "1" + "}" * 20_000)
    assert (done.status, done.out) == (1, "")
    assert re.fullmatch(
        r"fnabi: (argument 0: the JSON is nested too deeply"
        r"|same: RecursionError: .* while a dict is converted)\n",
        done.err,
    )


def test_an_integer_of_thousands_of_digits() -> None:
    done = call("same", "1", "9" * 5000)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("fnabi: argument 1: Exceeds the limit")


def test_arrays_that_cannot_be_arguments(tmp_path: Path) -> None:
    for array, text in (
        (np.array(["abc"]), "no DType for <U3"),
        (np.zeros(2, [("a", "i4")]), "no DType for"),
        (np.zeros(2, ">f4"), ">f4 is not in the byte order of this machine"),
        (np.zeros(2, "M8[s]"), "no DType for datetime64[s]"),
        (np.array([], "U"), "no DType for <U1"),
    ):
        done = call("same", saved(tmp_path, array))
        assert (done.status, done.out) == (1, "")
        assert done.err.startswith(f"fnabi: {path_of('changing')}: same: argument 0: ")
        assert text in done.err
        assert done.err.count("\n") == 1
    done = call("same", saved(tmp_path, np.array([{}], object)))
    assert (done.status, done.out) == (1, "")
    assert done.err.endswith("x.npy: an array of Python objects, expected numbers\n")


def test_numbers_that_json_lacks(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert ml_dtypes
    for array, dtype, data in (
        (np.array([np.nan, -np.inf, 1]), "float64", ["nan", "-inf", 1.0]),
        (np.array([1 + 2j, complex(0, np.inf)]), "complex128", [[1.0, 2.0], [0.0, "inf"]]),
        (np.array([], np.complex64), "complex64", []),
        (np.array(1 + 2j), "complex128", [1.0, 2.0]),
    ):
        done = call("same", saved(tmp_path, array), options=("--json",))
        assert (done.status, done.err) == (0, "")
        result = json.loads(done.out, parse_constant=lambda _: pytest.fail("not JSON"))["result"]
        assert result == {"tensor": {"dtype": dtype, "data": data}}
    assert json.loads(call("same", "1e999", options=("--json",)).out)["result"] == {"float": "inf"}


# -------------------------------------------------------------------------- hostile libraries


@pytest.mark.parametrize(
    "kind",
    [
        *("ValueError", "SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException"),
        *("BrokenPipeError", "OSError", "MemoryError", "RecursionError", "StopIteration"),
    ],
)
def test_errors_of_any_kind(kind: str) -> None:
    text = "\x1b[2Ja\x07\x9b\u202eb\nfnabi: all is well"
    done = call("fail", kind, text)
    assert done == Run(
        1,
        "",
        f"fnabi: fail: {kind}: \\x1b[2Ja\\x07\\x9b\\u202eb\n  fnabi: all is well\n",
    )


def test_a_kind_that_is_no_name() -> None:
    done = call("fail", "\x1b]0;x\x07", "text")
    assert (done.status, done.out) == (1, "")
    assert done.err.isascii()
    assert done.err.rstrip("\n").isprintable()


def test_texts_that_are_escaped() -> None:
    assert call("same", "\x1b[31mred").out == "\\x1b[31mred\n"
    assert call("collect", "\x1b[31mred").out == "['\\x1b[31mred']\n"


@pytest.mark.parametrize("width", ["40", "80", ""])
def test_results_are_folded(
    width: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Words are kept, and a text of the function as a whole."""
    monkeypatch.setenv("COLUMNS", width)

    def shown(value: str) -> str:
        assert main(["call", path_of("changing"), "same", value]) == 0
        return capsys.readouterr().out

    text = "a text of the function, which stays as it is, whatever the width  "
    assert shown(text) == f"{text}\n"
    values = {"key": [text, *range(100, 150)]}
    folded = shown(json.dumps(values))
    assert folded.split() == str(values).split()
    array = np.arange(60, dtype=np.float32)
    rows = shown(saved(tmp_path, array))
    assert np.fromstring(rows.partition("[")[2].partition("]")[0], sep=",").tolist() == [*array]
    for lines in (folded, rows):
        widest = max(map(len, lines.splitlines()))
        assert widest <= int(width) if width else widest > 60


def test_the_reserved_result() -> None:
    done = call("unchanged", library="hostile")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        f"fnabi: {path_of('hostile')}: unchanged: the function returned the value that is"
        ' reserved for "unchanged" (type index 13)\n'
    )


@pytest.mark.parametrize("options", [(), ("--json",), ("--output", "x.npy")])
def test_results_that_are_nested_deeply(options: tuple[str, ...], tmp_path: Path) -> None:
    done = run("call", *options, path_of("changing"), "nest", "100000")
    assert (done.status, done.out) == (1, "")
    assert re.fullmatch(r"fnabi: nest: RecursionError: .* while an array is converted\n", done.err)
    assert call("nest", "100").out.count("[") == 100


def test_functions_that_are_registered_by_name() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    assert tvm_ffi
    from support.callee import interop_library

    path = interop_library("reflected", link=True)
    done = run("call", path, "ffi.GetRegisteredTypeKeys")
    assert (done.status, done.err) == (0, "")
    assert "ffi.Object" in done.out
    text = "no TVM-FFI function is named no.such.function, expected bad, live, plain, unregistered"
    assert run("call", path, "no.such.function") == Run(1, "", f"fnabi: {path}: {text}\n")


# ------------------------------------------------------------------------ values without a library


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1]}, {"dict": {"a": [1]}}),
        ({1: 2, "a": None}, {"dict": [[1, 2], ["a", None]]}),
        ({(1, b"x"): 0.5}, {"dict": [[[1, {"bytes": "78"}], 0.5]]}),
        (2j, {"object": "2j"}),
        (float("-inf"), {"float": "-inf"}),
    ],
)
def test_values_as_json(value: Any, expected: Any) -> None:
    assert json_of(value) == expected


def test_arrays_of_small_numbers_as_json() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype, values in ((ml_dtypes.bfloat16, [1.5, -2.0]), (ml_dtypes.int4, [1, -2])):
        found = json_of(np.array(values, dtype))
        assert found == {"tensor": {"dtype": np.dtype(dtype).name, "data": values}}


def test_tensors_inside_of_values_are_shown_as_arrays() -> None:
    tensor = fnabi.from_dlpack(np.zeros(2, np.float32))
    shown = "array([0., 0.], dtype=float32)"
    assert show(tensor) == shown
    assert show({"a": [tensor], 1: "x"}) == f"{{'a': [{shown}], 1: 'x'}}"
    assert show("text", 80) == show("text") == "text"


def test_an_array_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        load_array(str(tmp_path), "f")
