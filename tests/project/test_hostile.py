"""Libraries that break the rules of the ABI: each fault is an exception that names the function."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from functools import cache

import pytest

import fnabi
from fnabi import CallError, LibraryError
from support.callee import SOURCES, built, interop_library, tvm_ffi_folder
from support.sanitizers import check_grown, examples, resident

ARRAY, MAP, LIST, DICT, STR = 71, 72, 75, 76, 65


@cache
def path_of(name: str) -> str:
    source = str(SOURCES.parent / "callee" / f"{name}.c")
    return built(name, "cc", "-std=c11", "-O2", "-w", f"-I{fnabi.get_include()}", source)


@pytest.fixture(scope="module")
def lib() -> fnabi.Library:
    return fnabi.load_module(path_of("hostile"))


@pytest.mark.parametrize("tag", [ARRAY, LIST])
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    ("size", "data", "text"),
    [
        (-1, True, "its size is negative"),
        (-(2**63), True, "its size is negative"),
        (2**62, True, "its size is larger than memory"),
        (3, False, "it has no values at all"),
    ],
)
def test_sequences(
    lib: fnabi.Library, tag: int, plain: bool, size: int, data: bool, text: str
) -> None:
    lib.sequence.plain = plain
    with pytest.raises(CallError, match=rf"^sequence: result: invalid container .*: {text}"):
        lib.sequence(tag, size, data)
    lib.sequence.plain = False
    assert lib.sequence(tag, 0, False).tolist() == []


def test_a_list_that_is_damaged_later(lib: fnabi.Library) -> None:
    values = fnabi.List([1, 2])
    lib.damage(values)
    assert len(values) == 0
    assert list(values) == []
    with pytest.raises(CallError, match="its size is negative"):
        values.tolist()
    with pytest.raises(IndexError):
        _ = values[0]
    lib.repair(values)
    values.append(3)
    assert values == [3]


@pytest.mark.parametrize("tag", [MAP, DICT])
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    ("size", "slots", "data", "text"),
    [
        (1 << 40, -(1 << 40), True, "it is small and has too many slots"),
        (5, -4, True, "it has more pairs than slots"),
        (-1, -4, True, "it has more pairs than slots"),
        (2, -4, False, "it has no pairs at all"),
        (2, 100, True, "its slots are no power of two"),
        (2, 1 << 40, True, "it is larger than memory"),
        (17, 16, True, "it has more pairs than slots"),
        (2, 16, False, "it has no pairs at all"),
    ],
)
def test_maps(
    lib: fnabi.Library, tag: int, plain: bool, size: int, slots: int, data: bool, text: str
) -> None:
    lib.map.plain = plain
    with pytest.raises(CallError, match=rf"^map: result: invalid container .*: {text}"):
        lib.map(tag, size, slots, data)
    lib.map.plain = False
    assert lib.map(tag, 0, -2, True).todict() == {}


FAR = "outside of the address space"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((1, 2, 1 << 60, 0, True), f"its strides lead {FAR}"),
        ((1, 2, -(1 << 60), 0, True), f"its strides lead {FAR}"),
        ((1, 2, 1 << 46, 0, True), f"its strides lead {FAR}"),
        ((1, 2, -(1 << 63), 0, True), f"its strides lead {FAR}"),
        ((1, 2, (1 << 63) - 1, 0, True), f"its strides lead {FAR}"),
        ((3, 2, 1 << 44, 0, True), f"its strides lead {FAR}"),
        ((1, 1 << 20, 1 << 28, 0, True), f"its strides lead {FAR}"),
        ((1, 2, -(1 << 45), 0, True), f"its elements lead {FAR}"),
        ((1, 2, 1, 1 << 60, True), f"its byte offset leads {FAR}"),
        ((1, 2, 1, -8, True), f"its byte offset leads {FAR}"),
        ((0, 0, 0, 1 << 48, False), f"its byte offset leads {FAR}"),
        ((1, 1 << 60, 1, 0, False), "it is larger than memory"),
        ((1, 1 << 50, 1, 0, False), "it is larger than memory"),
        ((3, 1 << 21, 0, 0, True), "it is larger than memory"),  # one element, 2^63 times
        ((2, -1, 1, 0, True), "a dim is negative"),
        ((-1, 1, 1, 0, True), "its number of dims is negative"),
        ((65, 1, 1, 0, True), "it has more than 64 dims"),
        ((2**31 - 1, 1, 1, 0, True), "it has more than 64 dims"),
    ],
)
def test_tensors(lib: fnabi.Library, numbers: tuple[int, int, int, int, bool], text: str) -> None:
    np = pytest.importorskip("numpy")
    result = lib.tensor(*numbers)
    for use in (
        lambda: result.numpy(),
        lambda: np.asarray(result),
        lambda: np.from_dlpack(result),
        lambda: memoryview(result),
        lambda: result.shape,
        lambda: repr(result),
        lambda: fnabi.from_dlpack(result),
        lambda: result.__dlpack__(),
        lambda: result.__dlpack__(copy=True),
    ):
        with pytest.raises(CallError, match=f"the tensor is invalid: {text}"):
            use()


def test_tensors_whose_numbers_do_not_matter(lib: fnabi.Library) -> None:
    np = pytest.importorskip("numpy")
    for numbers, shape in (
        ((1, 1, 1 << 60, 0, True), (1,)),  # a stride that is never used
        ((3, 0, 1 << 60, 0, True), (0, 0, 0)),
        ((2, 3, 0, 4, True), (3, 3)),  # one element, many times
        ((0, 9, 9, 60, False), ()),
    ):
        result = lib.tensor(*numbers)
        assert result.shape == np.asarray(result).shape == shape
        assert np.count_nonzero(np.asarray(result)) == 0


def test_tags_and_headers_that_disagree(lib: fnabi.Library) -> None:
    for tag, own in ((STR, ARRAY), (ARRAY, STR), (MAP, LIST), (70, ARRAY), (200, ARRAY)):
        text = f"type index {tag} with an object of type index {own}"
        with pytest.raises(CallError, match=f"^disagree: the function returned {text}"):
            lib.disagree(tag, own)
        outer = lib.disagree_within(tag, own)
        uses = (
            lambda: outer[0],  # noqa: B023
            lambda: outer.tolist(),  # noqa: B023
            lambda: repr(outer),  # noqa: B023
            lambda: outer == fnabi.Array(["text"]),  # noqa: B023
            lambda: "text" in outer,  # noqa: B023
        )
        for use in uses[:3]:
            with pytest.raises(CallError, match=text):
                use()
        for use in uses[3:]:  # what cannot be read is equal to nothing
            try:
                assert use() is False
            except CallError as problem:
                assert text in str(problem)  # noqa: PT017
        lib.disagree_within.plain = True
        with pytest.raises(CallError, match=f"^disagree_within: result: .*{text}"):
            lib.disagree_within(tag, own)
        lib.disagree_within.plain = False


def test_what_disagrees_is_not_leaked(lib: fnabi.Library) -> None:
    def refused(count: int) -> None:
        for _ in range(count):
            with suppress(CallError):
                lib.disagree(STR, ARRAY)
            with suppress(CallError):
                lib.disagree.map([STR], ARRAY)

    refused(1000)
    before = resident()
    refused(examples(50_000))
    check_grown(before, 3 << 20)


def test_the_reserved_result(lib: fnabi.Library) -> None:
    for call in (lib.unchanged, lambda: lib.unchanged.map([1])):
        with pytest.raises(CallError, match=r'^unchanged: .* reserved for "unchanged"'):
            call()


def test_errors_whose_text_is_null(lib: fnabi.Library) -> None:
    for which in (0, 1):
        with pytest.raises(
            CallError, match=r"^error_value: result: invalid text from a library: .* size 4"
        ):
            lib.error_value(which)
    without_backtrace = lib.error_value(2)
    assert str(without_backtrace) == "text"
    with pytest.raises(CallError, match="invalid text from a library"):
        _ = without_backtrace.ffi_error.backtrace
    assert lib.error_value.map([2])[0].args == ("text",)
    with pytest.raises(RuntimeError):  # and thrown on by a callback
        raised(without_backtrace)


def raised(problem: Exception) -> None:
    def fail() -> None:
        raise problem

    fnabi.Function(fail)()


def test_a_slot_whose_text_is_null() -> None:
    program = """
import sys
sys.modules["tvm_ffi"] = None
import fnabi
lib = fnabi.load_module(sys.argv[1])
try:
    lib.fail()
except Exception as problem:
    print(type(problem).__name__, problem)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, path_of("hostile_slot")],
        capture_output=True,
        text=True,
        check=False,
    )
    text = "CallError fail: the function failed, and its error cannot be read: invalid text"
    assert (done.returncode, done.stdout[: len(text)]) == (0, text), done.stderr


def test_an_error_of_the_runtime_whose_text_is_null(lib: fnabi.Library, tmp_path) -> None:
    source = tmp_path / "null.c"
    source.write_text("""
#include <string.h>
#include <tvm/ffi/c_api.h>
static void keep(void* self, int flags) {}
__attribute__((visibility("default"))) int __tvm_ffi_fail(
    void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  static struct { TVMFFIObject header; TVMFFIByteArray texts[3]; void* more[3]; } error;
  memset(&error, 0, sizeof error);
  error.header.combined_ref_count = 1000 | (uint64_t)1 << 32;
  error.header.type_index = 67;
  error.texts[0].data = "ValueError";
  error.texts[0].size = 10;
  error.texts[1].size = 1 << 20;
  TVMFFIErrorSetRaised((TVMFFIObjectHandle)&error);
  return -1;
}
""")
    path = built("null", "cc", "-w", f"-I{tvm_ffi_folder()}/include", str(source))
    with pytest.raises(CallError, match=r"^fail: the function failed, and its error cannot be"):
        fnabi.load_module(path).fail()


def test_frames_of_callbacks(lib: fnabi.Library) -> None:
    called = []
    for which in range(3):
        with pytest.raises(CallError, match=r"^the callback <.*append.* was called with -?\d+ arg"):
            lib.bad_frame(called.append, which)
    assert called == []


def test_exports_that_describe_a_function_and_fail(lib: fnabi.Library) -> None:
    with pytest.raises(LibraryError, match=r"metadata_badly_described: .* failed: .*no metadata"):
        _ = lib.badly_described
    with pytest.raises(LibraryError, match=r"doc_badly_documented: expected a string, got 1"):
        _ = lib.badly_documented
    assert fnabi.load_module(interop_library("c_plain")).nop() is None
