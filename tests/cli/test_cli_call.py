"""``fnabi call``: arguments, changed arrays, saved files, and libraries that mean harm."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fnabi
from fnabi.calls.schema import parse_type
from fnabi.cli import main
from fnabi.cli._call_values import as_signature, json_of, load_array, show
from support.callee import built, path_of, tvm_ffi_folder
from support.command import Run, run
from support.paths import ROOT

KERNELS = ROOT / "examples" / "kernels.c"


def call(
    *argv: str | bytes | Path, library: str = "changing", options: tuple[str, ...] = ()
) -> Run:
    return run("call", *options, path_of(library), *argv)


def saved(folder: Path, array: Any, name: str = "x.npy") -> str:
    np.save(folder / name, array)
    return f"@{folder / name}"


def test_a_library_that_a_wheel_brings() -> None:
    """The README names it for machines without a compiler."""
    pytest.importorskip("tvm_ffi")
    library = tvm_ffi_folder() / "lib" / "libtvm_ffi_testing.so"
    assert run("call", library, "testing_dll_schema_id_int", "3") == Run(0, "3\n", "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["testing.ech"], "is named testing.ech; did you mean testing.echo or testing.nop?"),
        (["testing_dll_schema"], "did you mean testing_dll_schema_id_int?"),
        (["zzz"], "expected testing_dll_schema_id_int, testing_dll_test_add_with_docstring ("),
        (["zzz"], " (fnabi inspect --run lists those that it registers)"),
        (["add_one"], "; did you mean testing.add_one?"),
        (
            ["testing.schema_id_arr_int", "[1,2"],
            "argument 0 was passed as a text: it is no JSON",
        ),
        (["testing.add_one", "f32[2] = [1, 2]"], "argument 0 was passed as a text"),
        ([], "FUNCTION is missing; fnabi inspect shows those of a library"),
    ],
)
def test_what_may_be_meant(words: list[str], told: str) -> None:
    pytest.importorskip("tvm_ffi")
    library = tvm_ffi_folder() / "lib" / "libtvm_ffi_testing.so"
    done = run("call", library, *words)
    assert done.status == (1 if words else 2)
    assert told in done.err


@pytest.mark.parametrize("word", ["-2.5e-3", "-1e3", "-1E+5", "-0.5", "-3", "-Infinity"])
def test_a_negative_number_is_no_option(word: str) -> None:
    pytest.importorskip("tvm_ffi")
    library = tvm_ffi_folder() / "lib" / "libtvm_ffi_testing.so"
    done = run("call", library, "testing.schema_id_float", word)
    assert done == Run(0, f"{float(word)}\n", "")


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
                "value": {"tensor": {"dtype": "uint8", "shape": [3], "data": [2, 4, 6]}},
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
    assert call("collect", "1", "2", options=("-o", str(out))).status == 0
    assert np.load(out).tolist() == [1, 2]


def test_an_output_that_is_an_argument(tmp_path: Path) -> None:
    x = saved(tmp_path, np.array([1.5], np.float32))
    before = Path(x[1:]).read_bytes()
    done = call("collect", "1", x, options=("--output", x[1:]))
    assert done.status == 2
    assert done.err.endswith("error: --output is argument 1 itself\n")
    one = tmp_path / "o.1.npy"
    one.write_bytes(before)
    done = call("collect", "7", f"@{one}", "[[1, 2]]", options=("--output", f"{tmp_path}/o.npy"))
    assert (done.status, done.err) == (1, f"fnabi: --output: {one} is the file of an argument\n")
    assert not (tmp_path / "o.0.npy").exists()
    assert Path(x[1:]).read_bytes() == one.read_bytes() == before


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


# -------------------------------------------------------------------------------- arrays as lists


@pytest.mark.parametrize(
    ("text", "dtype", "data"),
    [
        ("f32=[1, 2.5]", "float32", [1, 2.5]),
        ("float32[2]=[1,2]", "float32", [1, 2]),
        ("f64[2x2]=[1,2,3,4]", "float64", [[1, 2], [3, 4]]),
        ("f64[2,2]=[[1,2],[3,4]]", "float64", [[1, 2], [3, 4]]),
        ("ui8[2x?]=[[1],[255]]", "uint8", [[1], [255]]),
        ("i32[3]=7", "int32", [7, 7, 7]),
        ("i64=7", "int64", 7),
        ("i64=[]", "int64", []),
        ("f16[0]=[]", "float16", []),
        ("f16[]=7", "float16", 7),
        ("bool=[true,0,1]", "bool", [True, False, True]),
        ("f32=[]", "float32", []),
        ("c64=[1]", "complex64", [[1, 0]]),
        (f"ui64=[1, {2**64 - 1}]", "uint64", [1, 2**64 - 1]),
        (f"f64=[-1, {2**63}]", "float64", [-1, 2.0**63]),
    ],
)
def test_lists_with_a_type_are_arrays(text: str, dtype: str, data: Any) -> None:
    done = call("same", text, options=("--json",))
    shape = [*np.shape(data)[: 1 if dtype == "complex64" else None]]
    tensor = {"dtype": dtype, "shape": shape, "data": data}
    assert json.loads(done.out)["result"] == {"tensor": tensor}


def test_empty_arrays_have_a_shape() -> None:
    for text, shape, data in (("f32[0x3]=0", [0, 3], []), ("f32[2x0]=0", [2, 0], [[], []])):
        done = call("same", text, options=("--json",))
        tensor = {"dtype": "float32", "shape": shape, "data": data}
        assert json.loads(done.out)["result"] == {"tensor": tensor}


def test_lists_with_a_type_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert ml_dtypes
    done = call("same", "bf16=[1.5]", options=("--json",))
    assert json.loads(done.out)["result"]["tensor"] == {
        "dtype": "bfloat16",
        "shape": [1],
        "data": [1.5],
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("f32[3]=[1,2]", " (f32[3]): the shape does not fit: got [2]"),
        ("f32[2]=[[1,2]]", " (f32[2]): the shape does not fit: got [1x2]"),
        ("f32=[[1],[1,2]]", " (f32): the lists differ in length, or are nested too deeply"),
        ("f32=[1,null]", " (f32): expected numbers of at most 64 bits, or lists of them"),
        (f"f32=[{2**70}]", " (f32): expected numbers of at most 64 bits, or lists of them"),
        ("f32=[", " (f32): expected a number or lists of numbers as JSON after ="),
        ("i8=[1.5]", " (i8): expected whole numbers, got floats"),
        ("i8=[1,300]", " (i8): 300 does not fit in i8"),
        ("ui8=[-1]", " (ui8): -1 does not fit in uint8"),
        ("ui64=[1,-1]", " (ui64): -1 does not fit in uint64"),
        (f"i64=[{2**63}]", f" (i64): {2**63} does not fit in i64"),
        (f"int64=[1,{2**63}]", f" (int64): {2**63} does not fit in int64"),
        (f"int64=[-1,{2**63}]", f" (int64): {2**63} does not fit in int64"),
        (f"ui64=[-1,{2**63}]", " (ui64): -1 does not fit in uint64"),
        ("f16=[1,1e9]", " (f16): 1000000000.0 does not fit in float16"),
        ("float4_e2m1fn=[6,7]", " (float4_e2m1fn): 7 does not fit in float4_e2m1fn"),
        ("float6_e2m3fn=[NaN]", " (float6_e2m3fn): nan does not fit in float6_e2m3fn"),
        ("u8=[1]", ": unknown type u8; did you mean uint8?"),
        ("f32x4=[1, 2]", " (f32x4): a vector type, expected one whose elements are numbers"),
        ("f32x4[2]=0", " (f32x4[2]): a vector type, expected one whose elements are numbers"),
        ("u8[2]=0", ": unknown type u8[2]; did you mean uint8?"),
        ("f33=[1]", ": unknown type f33; did you mean f16, f32 or f64?"),
        ("f32[2x-1]=0", ": [2x-1] is no shape, expected one such as [2x3]"),
        (f"f32[{2**63}]=0", f": [{2**63}] is no shape, expected one such as [2x3]"),
        ("f32=[1, 1e400]", ": 1e400 does not fit in float64"),
        ('{"k": -1e999}', ": -1e999 does not fit in float64"),
        (
            "f32[99999999999999]=0",
            " (f32[99999999999999]): 99,999,999,999,999 elements are too many for memory",
        ),
    ],
)
def test_lists_that_their_type_does_not_take(text: str, problem: str) -> None:
    assert call("same", text) == Run(1, "", f"fnabi: argument 0{problem}\n")


def test_texts_that_only_look_like_typed_lists() -> None:
    for text in ("key=[1]", "a, b=[1]", "f32", "any=1", "f32[=1", '"f32=[1]"'):
        assert call("same", text).out == f"{text.strip(chr(34))}\n"


def test_lists_are_tensors_where_the_function_takes_these() -> None:
    kernels = built("kernels", "cc", f"-I{fnabi.get_include()}", str(KERNELS), "-lm")
    assert run("call", kernels, "norm", "[3.0, 4]") == Run(0, "5.0\n", "")
    done = run("call", kernels, "axpy", "2", "[1.0, 2]", "[3.5, 4]")
    assert done.out == "changed argument 2: array([5.5, 8. ], dtype=float32)\n"
    assert run("call", kernels, "norm", "[1, -1e40]") == Run(
        1, "", "fnabi: argument 0: -1e+40 does not fit in float32\n"
    )
    assert run("call", kernels, "norm", f"[-1, {2**63}]") == Run(
        1, "", f"fnabi: argument 0: {2**63} does not fit in int64\n"
    )
    assert run("call", kernels, "norm", "[]") == Run(0, "0.0\n", "")
    assert run("call", kernels, "norm", "float32[0]=[]") == Run(0, "0.0\n", "")
    for text, passed in (
        ("[3, 4]", "int64[2]"),
        ("[[1.5]]", "float32[1x1]"),
        ("[[], []]", "float32[2x0]"),
        (f"[{2**63}]", "uint64[1]"),
        ("[true, false]", "bool[2]"),
    ):
        done = run("call", kernels, "norm", text)
        assert (done.status, done.out) == (1, "")
        hint = f"argument 0 was passed as {passed}; f32=[...] makes it float32"
        assert done.err.splitlines()[1:] == [f"  {hint}"]
    done = run("call", kernels, "norm", "[1, [2]]")
    said = "the lists differ in length, or are nested too deeply"
    assert done == Run(1, "", f"fnabi: argument 0: {said}\n")
    done = call("twice", "true", "[1, 2]")  # of which nothing says that it takes a tensor
    assert done.err.splitlines()[1:] == [
        "  argument 1 was passed as a list; f32=[...] makes it float32"
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ('{"type":"Optional","args":[{"type":"ffi.Tensor"}]}', "float32"),
        ('{"type":"DLTensor*"}', "float32"),
        ('{"type":"ffi.Array","args":[{"type":"ffi.Tensor"}]}', "list of float32"),
        ('{"type":"ffi.Array","args":[{"type":"float"}]}', "list"),
        ('{"type":"Any"}', "list"),
    ],
)
def test_which_lists_become_tensors(schema: str, expected: str) -> None:
    function = fnabi.Function(lambda value: value)
    none = '{"type":"None"}'
    function.schema = parse_type(f'{{"type":"ffi.Function","args":[{none},{schema}]}}')
    made = as_signature([[[1.5], [2]], [1]], function)
    value = made.get(0, [])
    kind = getattr(value, "dtype", None) or "list"
    inner = "".join(f" of {each.dtype}" for each in value[:1]) if isinstance(value, list) else ""
    assert f"{kind}{inner}" == expected
    assert 1 not in made


# ---------------------------------------------------------------------------- users' mistakes


def test_lists_without_end() -> None:
    expected = Run(1, "", "fnabi: argument 0: the JSON is nested too deeply\n")
    assert call("same", "[" * 120_000) == expected


@pytest.mark.parametrize(
    "text",
    ["[" * 60_000 + "]" * 60_000, '{"":' * 20_000 + "1" + "}" * 20_000],
    ids=["list", "dict"],
)
def test_values_of_many_levels(text: str) -> None:
    """CPython 3.14 reads more levels than others, and the call lane ends there."""
    done = call("same", text)
    assert (done.status, done.out) == (1, "")
    assert re.fullmatch(
        r"fnabi: (argument 0: the JSON is nested too deeply"
        r"|same: argument 0: nested too deeply, or contains itself)\n",
        done.err,
    )


def test_a_library_in_the_place_of_its_function() -> None:
    path = path_of("changing")
    done = run("call", "same", path, "1")
    assert done.status == 2
    meant = f"fnabi call {path} same 1"
    assert done.err.endswith(f"error: LIBRARY and FUNCTION are swapped; did you mean {meant}?\n")


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
        tensor = {"dtype": dtype, "shape": [*array.shape], "data": data}
        assert result == {"tensor": tensor}
    assert json.loads(call("same", "Infinity", options=("--json",)).out)["result"] == {
        "float": "inf"
    }
    for word in ("NaN", "Infinity", "-Infinity"):
        assert call("same", word).out == f"{float(word)}\n"
        assert f" {word} " in run("call", "--help").out.replace(",", " ").replace("\n", " ")


# -------------------------------------------------------------------------- hostile libraries


BASES = ("SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException")


@pytest.mark.parametrize(
    "kind",
    [
        *("ValueError", *BASES, "BrokenPipeError", "OSError"),
        *("MemoryError", "RecursionError", "StopIteration"),
    ],
)
def test_errors_of_any_kind(kind: str) -> None:
    text = "\x1b[2Ja\x07\x9b\u202eb\nfnabi: all is well"
    done = call("fail", kind, text)
    shown = "RuntimeError" if kind in BASES else kind
    assert done == Run(
        1,
        "",
        f"fnabi: fail: {shown}: \\x1b[2Ja\\x07\\x9b\\u202eb\n  fnabi: all is well\n",
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


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python nests deeper")
def test_results_that_are_nested_too_deeply_for_json() -> None:
    text = "fnabi: nest: the result is nested too deeply to be shown\n"
    assert call("nest", "900", options=("--json",)) == Run(1, "", text)


def test_an_interrupt_during_a_call() -> None:
    assert call("interrupted") == Run(130, "", "")


def test_functions_that_are_registered_by_name() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    assert tvm_ffi
    from support.callee import interop_library

    path = interop_library("reflected", link=True)
    done = run("call", path, "ffi.GetRegisteredTypeKeys")
    assert (done.status, done.err) == (0, "")
    assert "ffi.Object" in done.out
    for name, shown in ("no.such.function", "no.such.function"), ("", "''"):
        text = f"no TVM-FFI function is named {shown}, expected bad, live, plain, unregistered"
        assert run("call", path, name) == Run(1, "", f"fnabi: {path}: {text}\n")


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
        tensor = {"dtype": np.dtype(dtype).name, "shape": [2], "data": values}
        assert found == {"tensor": tensor}


def test_arrays_of_small_complex_numbers_as_json() -> None:
    """Their imaginary parts are kept."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if not hasattr(ml_dtypes, "complex32"):
        pytest.skip(f"ml_dtypes {ml_dtypes.__version__} has no complex32")
    for dtype in (ml_dtypes.complex32, ml_dtypes.bcomplex32):
        found = json_of(np.array([1.5 + 2j, complex(0, np.inf)], np.complex64).astype(dtype))
        assert found["tensor"]["data"] == [[1.5, 2.0], [0.0, "inf"]]


def test_tensors_inside_of_values_are_shown_as_arrays() -> None:
    tensor = fnabi.from_dlpack(np.zeros(2, np.float32))
    shown = "array([0., 0.], dtype=float32)"
    assert show(tensor) == shown
    assert show({"a": [tensor], 1: "x"}) == f"{{'a': [{shown}], 1: 'x'}}"
    assert show("text", 80) == show("text") == "text"


def test_other_values_are_shown_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert show([1, None]) == show([1, None], 80) == "[1, None]"


def test_tensors_that_numpy_cannot_hold(tmp_path: Path) -> None:
    shown = "<fnabi.Tensor of shape (4,), float4_e2m1fn on cpu:0>"
    assert call("small") == Run(0, f"{shown}\n", "")
    assert json.loads(call("small", options=("--json",)).out)["result"] == {"object": shown}
    options = ("--output", str(tmp_path / "x.npz"))
    text = f"fnabi: --output: result: NumPy cannot hold {shown}\n"
    assert call("small", options=options) == Run(1, f"{shown}\n", text)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2"])
def test_arrays_whose_dtype_files_of_numpy_cannot_name(tmp_path: Path, name: str) -> None:
    pytest.importorskip("ml_dtypes")
    for file in "x.npz", "x.npy":
        done = call("same", f"{name}=[1.5]", options=("--output", str(tmp_path / file)))
        text = f"fnabi: --output: result: a file of NumPy cannot name {name}, --json can\n"
        assert (done.status, done.err) == (1, text)
    assert [*tmp_path.iterdir()] == []


def test_an_array_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        load_array(str(tmp_path), "f")


def piped(folder: Path, data: bytes) -> str:
    """Return a pipe with a name, such as a shell makes for ``<(command)``, and write to it."""
    path = folder / "pipe"
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=[data], daemon=True).start()
    return str(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_an_array_in_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path, np.arange(3.0))
    data = (tmp_path / "x.npy").read_bytes()
    array = load_array(piped(tmp_path, data), "f")
    assert array.tolist() == [0, 1, 2]
    (tmp_path / "pipe").unlink()
    monkeypatch.setattr("fnabi._base.files._STREAM_MOST", len(data) - 1)
    pipe = piped(tmp_path, data)
    with pytest.raises(OSError, match="more than 1 GiB of data in a pipe") as caught:
        load_array(pipe, "f")
    assert caught.value.filename == pipe


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="there is no /proc")
def test_an_array_of_a_broken_disk() -> None:
    """Nothing is mapped at address 0, and so the first read fails."""
    assert call("same", "@/proc/self/mem") == Run(
        1, "", "fnabi: /proc/self/mem: Input/output error\n"
    )
