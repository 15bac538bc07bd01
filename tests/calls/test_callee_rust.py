"""Exports written with ``fnabi/callee.rs``, called by fnabi and by ``tvm_ffi``."""

from __future__ import annotations

import gc
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import library
from support.callee import rust_library
from support.paths import DATA
from support.programs import found
from support.sanitizers import check_grown, resident


@pytest.fixture(scope="session")
def making(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("rust")
    source = Path(shutil.copy(DATA / "callee" / "making.rs", folder))
    return rust_library(source, "--edition", "2021", "-C", "debug-assertions")


@pytest.fixture(params=["fnabi", "tvm_ffi"])
def caller(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


@pytest.fixture
def lib(caller: Any, making: str) -> Any:
    return caller.load_module(making)


def test_what_is_exported(making: str) -> None:
    read = library.read(making)
    assert {"nothing", "same", "parse"} <= set(read.functions)
    assert read.documented == ("documentation", "parse")
    assert "zip" in read.named
    assert read.has_error_slot
    assert read.required == read.optional == ()
    assert not read.needs_runtime_to_call
    lib = fnabi.load_module(making)
    assert lib.parse.__doc__ == "Parses a number.\n\nIt may be negative."
    assert lib.find(name="a", map={"a": 1}) == 1
    assert lib.less.names == ("where", "type")
    assert lib.less(type=1, where=3) == 2


def test_what_the_compiler_refuses(tmp_path: Path) -> None:
    source = tmp_path / "raw.rs"
    body = "fn r#type() -> callee::Result<()> { Ok(()) }"
    source.write_text(f"mod callee;\ncallee::export! {{ {body} }}\n")
    shutil.copy(Path(fnabi.get_include(), "fnabi", "callee.rs"), tmp_path)
    command = [found("rustc"), "--edition=2021", "--crate-type=cdylib", "--emit=metadata", source]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    assert "a function of export! cannot have a name that begins with r#" in done.stderr


def test_values(lib: Any) -> None:
    assert lib.nothing() is None
    assert lib.negate(True) is False
    assert lib.reverse(b"0123") == b"3210"
    assert lib.reverse("01234567") == b"76543210"
    assert lib.reverse(bytearray(range(256))) == bytes(range(256))[::-1]
    assert lib.next_or_none(None) is None
    assert lib.next_or_none(1) == 2
    assert [list(each) for each in lib.nested(3)] == [
        ["a text that is long" * i] * 2 for i in range(3)
    ]
    for value in (None, True, -1, 2.5, "short", "a longer text", b"", b"long enough bytes"):
        assert lib.same(value) == value
    assert list(lib.same(["a longer text", 1])) == ["a longer text", 1]
    assert lib.apply(lambda *xs: sum(xs), [1, 2, 3]) == 6
    assert list(lib.lengths(["a", "ü", "a longer text"])) == [1, 2, 13]
    assert list(lib.inverted({"a": 2, "a longer text": 1}).items()) == [
        (1, "a longer text"),
        (2, "a"),
    ]
    assert lib.apply(lib.parse, ["12"]) == 12


def test_names_are_those_of_the_author(lib: Any) -> None:
    """A function may have the name of its parameter, and both those of what the macro makes."""
    assert lib.entry(1, 3) == -2
    assert lib.parameters(3, 40) == 3 << 40
    with pytest.raises(RuntimeError, match="a result does not fit in int64"):
        lib.documentation()


def test_functions_are_made(lib: Any) -> None:
    counter = lib.counter(5)
    assert [counter(1), counter(10), lib.apply(counter, [1])] == [6, 16, 17]
    assert lib.live() == 1
    for told, *arguments in (("argument 0 is missing",), ("argument 0 must be int, not str", "x")):
        with pytest.raises(TypeError, match=rf"counter\(\) {told}"):
            counter(*arguments)
    del counter
    gc.collect()  # the traceback of an error had it
    assert lib.live() == 0


def test_maps_are_made(lib: Any, caller: Any) -> None:
    for size in (0, 1, 3, 4, 5, 8, 9, 100, 3000):
        keys = [f"k{i}" * (i % 5 + 1) for i in range(size)]
        made = lib.zip(keys, list(range(size)))
        assert type(made) is caller.Map
        assert list(made.items()) == list(zip(keys, range(size), strict=True))
        assert all(made[key] == i for i, key in enumerate(keys))
        assert "nothing" not in made
    keys = [0, 1, True, 1.0, "a", b"a", "a longer key", b"a longer key", None]
    made = lib.zip(keys * 2, list(range(len(keys) * 2)))
    assert [value for _, value in made.items()] == list(range(len(keys), len(keys) * 2))
    assert lib.find({"a": 1, "b": 2}, "b") == 2


def test_a_map_can_be_changed_by_the_caller(lib: Any, caller: Any) -> None:
    for size in (0, 1, 4, 5, 8, 9, 32, 33, 500):
        keys = [f"k{i}" * (i % 5 + 1) for i in range(size)]
        made = lib.dict(keys, list(range(size)))
        assert type(made) is caller.Dict
        model = dict(zip(keys, range(size), strict=True))
        for i in range(100):
            made[f"more {i}"] = model[f"more {i}"] = i
        for key in list(model)[::3]:
            del made[key], model[key]
        assert list(made.items()) == list(model.items())


def test_tensors(lib: Any, caller: Any) -> None:
    numpy = pytest.importorskip("numpy")
    assert numpy.from_dlpack(lib.empty([2, 3])).tolist() == [[0.0] * 3] * 2
    assert type(lib.empty([])) is caller.Tensor
    assert lib.empty([0, 3]).shape == (0, 3)
    x = numpy.float32([[1, 2]])
    lib.doubled(x)
    assert x.tolist() == [[2, 4]]
    assert list(lib.matrix(numpy.zeros((3, 4), dtype="int64"))) == [3, 4]
    for wrong, told in (
        (numpy.zeros((3, 4), dtype="int64").T, "not non-contiguous int64 of rank 2"),
        (numpy.zeros(3, dtype="int64"), "not int64 of rank 1"),
        (numpy.zeros((3, 4), dtype="uint64"), "not uint64 of rank 2"),
        (numpy.zeros(17, dtype="uint8")[1:].view("int64").reshape(1, 2), "not unaligned int64"),
    ):
        with pytest.raises(TypeError, match=told):
            lib.matrix(wrong)


@pytest.mark.filterwarnings("ignore")
def test_errors(lib: Any) -> None:
    for kind, told, function, *arguments in (
        (RuntimeError, "invalid digit found in string", lib.parse, "x"),
        (KeyError, "c", lib.find, {"a": 1}, "c"),
        (ValueError, "100 %s", lib.fail, "ValueError", "100 %s"),
        (TypeError, r"parse\(\) takes 1 argument, not 0", lib.parse),
        (TypeError, r"nothing\(\) takes 0 arguments, not 1", lib.nothing, 1),
        (TypeError, r"next_or_none\(\) argument 0 must be int, not str", lib.next_or_none, "x"),
        (TypeError, "must be ffi.Array whose item 1 is str, not int", lib.lengths, ["a", 1]),
        (TypeError, "must be ffi.Array, not int", lib.lengths, 1),
        (TypeError, "must be ffi.Map whose keys are str, not int", lib.inverted, {1: 1}),
        (TypeError, "must be ffi.Map whose values are int, not str", lib.inverted, {"a": "b"}),
        (RuntimeError, "index out of bounds: the len is 3", lib.panics, 3),
        (RuntimeError, "which is negative", lib.panics, -1),
        (RuntimeError, "a result does not fit in int64", lib.size, -1),
        (ValueError, "dim 1 of a tensor is negative: -2", lib.empty, [1, -2]),
        (ValueError, "a tensor of rank 65; expected 0 to 64", lib.empty, [1] * 65),
        (ValueError, "a tensor that is larger than memory", lib.empty, [2**62, 4]),
        (ValueError, "a tensor that is larger than memory", lib.empty, [2**62, 0, 4]),
        (ValueError, "from a function", lib.apply, raises, []),
    ):
        with pytest.raises(kind, match=told):
            function(*arguments)


def test_a_text_that_is_not_utf_8(making: str) -> None:
    """It has bytes as surrogate escapes, of which `str` of Rust has none."""
    lib = fnabi.load_module(making)
    for text in ("\udcff", "a longer text \udcff"):
        assert lib.same(text) == text
        assert lib.reverse(text)[0] == 255
        with pytest.raises(TypeError, match=r"^parse\(\) argument 0 must be str, not str that is"):
            lib.parse(text)
        told = r"whose item 0 is str, not str that is not UTF-8$"
        with pytest.raises(TypeError, match=told):
            lib.lengths([text])


def raises() -> None:
    raise ValueError("from a function")


def test_nothing_is_kept(making: str) -> None:
    lib = fnabi.load_module(making)
    text = "a text that is no small one"

    def work(times: int) -> None:
        for i in range(times):
            lib.zip([text, i, text], [text, [text], i])
            lib.dict([f"{text} {k}" for k in range(9)] * 2, [[text]] * 18)
            lib.nested(3)
            lib.empty([10, 10])
            lib.apply(lambda x: x, [text])
            with pytest.raises(ValueError, match="a text"):
                lib.fail("ValueError", text)

    work(500)
    before = resident()
    work(4000)
    check_grown(before, 1 << 20)
