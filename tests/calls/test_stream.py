"""Streams, allocators and the tensors of a framework, by an exchange API written in C."""

from __future__ import annotations

import ctypes
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fnabi
from fnabi import CallError, Device, MissingPackageError
from support.apart import run_apart
from support.callee import built, interop_library, tvm_ffi_folder

np = pytest.importorskip("numpy")

API = """
#define PY_SSIZE_T_CLEAN
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
typedef struct { uint32_t major, minor; void* older; void* functions[5]; } api;
static int64_t shape[1] = {2};
static float data[2] = {1, 2};
int device_type = 2, device_id = 1, fail_stream, allocated, asked;
static int view_of(void* object, DLTensor* out) {
  memset(out, 0, sizeof *out);
  out->data = data; out->shape = shape; out->ndim = 1;
  out->dtype = (DLDataType){2, 32, 1};
  out->device.device_type = device_type; out->device.device_id = device_id;
  return 0;
}
static int managed_of(void* object, DLManagedTensorVersioned** out) { return -1; }
extern PyObject* PyLong_FromLongLong(long long);
static int object_of(DLManagedTensorVersioned* tensor, void** out) {
  *out = PyLong_FromLongLong(1000 + tensor->dl_tensor.shape[0]);
  if (tensor->deleter) tensor->deleter(tensor);
  return 0;
}
static int stream_of(int type, int32_t id, void** out) {
  asked++;
  if (fail_stream) return -1;
  *out = (void*)(uintptr_t)(type * 16 + id);
  return 0;
}
static void drop(DLManagedTensorVersioned* tensor) { free(tensor); }
static int allocate(DLTensor* like, DLManagedTensorVersioned** out, void* context,
                    void (*fail)(void*, const char*, const char*)) {
  DLManagedTensorVersioned* made = calloc(1, sizeof *made + 8 + 1024);
  made->version.major = 1;
  made->deleter = drop;
  made->dl_tensor = *like;
  made->dl_tensor.shape = (int64_t*)(made + 1);
  made->dl_tensor.shape[0] = like->shape[0];
  made->dl_tensor.strides = 0;
  made->dl_tensor.data = made->dl_tensor.shape + 1;
  made->dl_tensor.ndim = 1;
  allocated++;
  *out = made;
  return 0;
}
api table = {1, 3, 0, {allocate, managed_of, object_of, view_of, stream_of}};
"""


@cache
def fake() -> tuple[ctypes.CDLL, type]:
    """A framework: its library, and a class whose instances are its tensors."""
    source = "typedef struct _object PyObject;\n" + API.replace("#define PY_SSIZE_T_CLEAN\n", "")
    folder = tvm_ffi_folder()
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(source)
        file.flush()
        path = built("fake", "cc", "-w", "-fvisibility=default", f"-I{folder}/include", file.name)
    dll = ctypes.PyDLL(path)
    address = ctypes.addressof(ctypes.c_char.in_dll(dll, "table"))
    return dll, type("Fake", (), {"__dlpack_c_exchange_api__": address})


@pytest.fixture
def framework() -> Any:
    dll, kind = fake()
    for name, value in (("device_type", 2), ("device_id", 1), ("fail_stream", 0)):
        ctypes.c_int.in_dll(dll, name).value = value
    return dll, kind


@cache
def lib() -> fnabi.Library:
    return fnabi.load_module(interop_library("c_err", link=True))


@cache
def plain() -> fnabi.Library:
    return fnabi.load_module(interop_library("c_plain"))


CUDA = Device("cuda", 1)


def stream_now() -> int | None:
    return lib().stream_of(CUDA).value


def test_the_stream_of_the_first_tensor_on_a_device(framework: Any) -> None:
    dll, kind = framework
    seen = []
    outer = stream_now()
    see = lambda *_: seen.append(stream_now())  # noqa: E731
    apply = plain().apply
    apply(see, kind())
    apply(see, [kind()])
    apply(see, {"k": (kind(),)})
    apply.bind(see, kind())()
    assert seen == [33] * 4
    ctypes.c_int.in_dll(dll, "device_id").value = 0
    apply(lambda *_: seen.append(lib().stream_of(Device("cuda", 0)).value), kind())
    assert seen.pop() == 32
    ctypes.c_int.in_dll(dll, "device_id").value = 1
    assert stream_now() == outer

    def fail(*_: object) -> None:
        see()
        raise KeyError("k")

    with pytest.raises(KeyError):
        apply(fail, kind())
    assert (seen[-1], stream_now()) == (33, outer)
    ctypes.c_int.in_dll(dll, "device_type").value = 1  # a CPU has none
    apply(see, kind())
    assert seen[-1] == outer
    ctypes.c_int.in_dll(dll, "device_type").value = 2
    ctypes.c_int.in_dll(dll, "fail_stream").value = 1
    called = len(seen)
    with pytest.raises(CallError, match="did not say which stream is current"):
        apply(see, kind())
    assert (len(seen), stream_now()) == (called, outer)


def test_streams_that_are_set(framework: Any) -> None:
    outer = stream_now()
    with fnabi.use_raw_stream(CUDA, 7):
        assert stream_now() == 7
        with fnabi.use_raw_stream(CUDA, ctypes.c_void_p(8)):
            assert stream_now() == 8
        assert stream_now() == 7
        with pytest.raises(ZeroDivisionError), fnabi.use_raw_stream(CUDA, 9):
            raise ZeroDivisionError
        assert stream_now() == 7
    assert stream_now() == outer
    for wrong in (-1, "x", None, 1 << 64):
        with (
            pytest.raises(CallError, match="stream: expected a handle"),
            fnabi.use_raw_stream(CUDA, wrong),
        ):
            pass
    with pytest.raises(CallError, match="of 0 or more"), fnabi.use_raw_stream(Device(2, -1), 1):
        pass


def test_streams_without_libtvm_ffi() -> None:
    """Each device has one, also where the type or the number is another's."""
    told = run_apart(
        """
        import sys; sys.modules["tvm_ffi"] = None
        import fnabi
        from contextlib import ExitStack
        devices = [fnabi.Device(*each) for each in (("cuda", 1), ("cuda", 2), ("rocm", 1))]
        with ExitStack() as stack:
            for number, device in enumerate(devices, 5):
                stack.enter_context(fnabi.use_raw_stream(device, number))
            print([*map(fnabi.get_raw_stream, devices)])
        print([*map(fnabi.get_raw_stream, devices)])
        """
    )
    assert told == "[5, 6, 7]\n[0, 0, 0]\n"


def test_streams_with_a_libtvm_ffi_that_has_none(tmp_path: Path) -> None:
    source = tmp_path / "errors.c"
    source.write_text(
        "void TVMFFIErrorSetRaised(void* error) {}"
        "void TVMFFIErrorMoveFromRaised(void** error) { *error = 0; }"
    )
    flags = ("-fvisibility=default", "-Wl,-soname,libtvm_ffi.so")
    told = run_apart(
        """
        import ctypes, sys; sys.modules["tvm_ffi"] = None
        ctypes.CDLL(sys.argv[1])
        import fnabi
        device = fnabi.Device("cuda", 0)
        with fnabi.use_raw_stream(device, 5):
            print(fnabi.get_raw_stream(device))
        """,
        built("tvm_ffi", "cc", *flags, str(source)),
    )
    assert told == "5\n"


def test_the_stream_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no GPU is, with what torch returns where one is."""
    torch = pytest.importorskip("torch")
    now = SimpleNamespace(device=torch.device("cuda", 1), cuda_stream=7)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: now)
    entered = []
    with fnabi.use_torch_stream(ExitStack()) as nothing:
        entered.append(fnabi.get_raw_stream(CUDA))
    assert (nothing, entered, fnabi.get_raw_stream(CUDA)) == (None, [7], 0)
    monkeypatch.setitem(sys.modules, "torch", None)
    with (
        pytest.raises(MissingPackageError, match="use_torch_stream: torch is not installed"),
        fnabi.use_torch_stream(),
    ):
        pass


def test_stream_objects() -> None:
    class Stream:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 77

    assert plain().first(Stream()).value == 77
    with fnabi.use_raw_stream(CUDA, Stream()):
        assert stream_now() == 77

    class Newer(Stream):
        def __cuda_stream__(self) -> tuple[int, int]:
            return 1, 77

    with pytest.raises(CallError, match="expected version 0, got 1"):
        plain().first(Newer())
    text = r"^use_raw_stream: stream: expected 0 and a handle from __cuda_stream__\(\), got "
    with pytest.raises(CallError, match=text), fnabi.use_raw_stream(CUDA, Newer()):
        pass
    for given in (77, (0,), None):
        odd = type("Odd", (), {"__cuda_stream__": lambda _, given=given: given})()
        with pytest.raises(CallError, match=text), fnabi.use_raw_stream(CUDA, odd):
            pass

    class Odd(Stream):
        def __cuda_stream__(self) -> tuple[int, Any]:  # type: ignore[override]
            return 0, self.handle

    for Odd.handle, problem, kind in (
        (1 << 64, "an int that is too large", OverflowError),
        ("7", "'7'", TypeError),
    ):
        text = rf"^first: argument 0: __cuda_stream__\(\): expected an address, got {problem}$"
        with pytest.raises(CallError, match=text) as caught:
            plain().first(Odd())
        assert isinstance(caught.value, kind)


def test_the_allocator(framework: Any) -> None:
    dll, kind = framework
    ctypes.c_int.in_dll(dll, "device_type").value = 1
    ctypes.c_int.in_dll(dll, "device_id").value = 0
    made = lib().alloc_like(np.zeros((2, 3), "f8"))
    assert (type(made), made.shape, made.dtype) == (
        fnabi.Tensor,
        (2, 3),
        fnabi.types.DType("float64"),
    )
    before = ctypes.c_int.in_dll(dll, "allocated").value
    assert lib().alloc_like(kind()) == 1002
    assert ctypes.c_int.in_dll(dll, "allocated").value == before + 1
    assert type(lib().alloc_like(np.zeros(2))) is fnabi.Tensor
    assert ctypes.c_int.in_dll(dll, "allocated").value == before + 1


def test_tensors_of_results(framework: Any) -> None:
    _, kind = framework
    first = plain().first
    array = np.zeros(5)
    tensor = kind()
    assert type(first(array)) is fnabi.Tensor
    assert first(tensor) is tensor
    nested = first([array, {"k": tensor, "made": array}])
    assert nested[0] == 1005
    assert nested.tolist() == [1005, {"k": tensor, "made": 1005}]
    assert list(nested)[1]["made"] == 1005
    assert list(nested[1].values()) == list(nested[1].todict().values()) == [tensor, 1005]
    assert list(nested[1].items()) == [("k", tensor), ("made", 1005)]
    assert plain().apply(lambda x: x is tensor, tensor) is True

    def inner(x: Any) -> bool:
        return type(first(array)) is fnabi.Tensor and first(tensor) is tensor

    assert plain().apply(inner, tensor) is True
    with fnabi.use_tensors(fnabi.Tensor):
        assert type(first(tensor)) is fnabi.Tensor
        with fnabi.use_tensors(kind):
            assert first(array) == 1005
        assert type(first(tensor)) is fnabi.Tensor
    assert type(first(array)) is fnabi.Tensor
    with (
        pytest.raises(CallError, match=r"expected fnabi\.Tensor or a type"),
        fnabi.use_tensors(int),
    ):
        pass


@pytest.mark.parametrize("wrap", [lambda x: [[x]], lambda x: [{"k": x}]])
def test_containers_that_are_passed_again(framework: Any, wrap: Any) -> None:
    """They count as the framework's tensors that are in them, and so does their device."""
    _, kind = framework
    first, tensor, outer = plain().first, kind(), stream_now()
    nested = first(wrap(tensor))
    again = first(nested)
    (found,) = again[0].values() if isinstance(again[0], fnabi.Map) else again[0]
    assert found is tensor
    assert first([nested, np.zeros(5)])[1] == 1005
    seen: list[int | None] = []
    plain().apply(lambda _: seen.append(stream_now()), nested)
    assert seen == [33]
    assert stream_now() == outer


def test_row_maps_run_in_one_environment(framework: Any) -> None:
    dll, kind = framework
    seen = []
    outer = stream_now()
    see = lambda *_: seen.append(stream_now())  # noqa: E731
    apply = plain().apply
    asked = ctypes.c_int.in_dll(dll, "asked")
    before = asked.value
    rows = 5000  # more than one block
    apply.map(fnabi.Function(see), [kind() for _ in range(rows)])
    assert seen == [33] * rows
    assert (asked.value - before, stream_now()) == (1, outer)
    seen.clear()
    apply.map(fnabi.Function(see), [1, 2], kind())  # the same tensor in each row
    apply.map(fnabi.Function(see), [1, [kind()]])  # not in the first row
    assert seen == [33, 33, outer, outer]

    def fail(row: int, *_: object) -> None:
        see()
        if row == 3:
            raise KeyError("k")

    with pytest.raises(KeyError) as caught:
        apply.map(fnabi.Function(fail), [1, 2, 3, 4], kind())
    assert (caught.value.row, seen[-1], stream_now()) == (2, 33, outer)
    ctypes.c_int.in_dll(dll, "fail_stream").value = 1
    called = len(seen)
    with pytest.raises(CallError, match="did not say which stream is current"):
        apply.map(fnabi.Function(see), [1, 2], kind())
    assert (len(seen), stream_now()) == (called, outer)


def test_tensors_of_row_maps(framework: Any) -> None:
    dll, kind = framework
    ctypes.c_int.in_dll(dll, "device_type").value = 1
    ctypes.c_int.in_dll(dll, "device_id").value = 0
    allocated = ctypes.c_int.in_dll(dll, "allocated")
    before = allocated.value
    made = lib().alloc_like.map([kind(), kind()])
    assert allocated.value == before + 2
    assert (made[0], made.tolist(), made[1:].tolist()) == (1002, [1002, 1002], [1002])
    assert repr(made) == "AnyArray([1002, 1002])"
    made = lib().alloc_like.map([np.zeros(2), np.zeros(3)])
    assert allocated.value == before + 2
    assert [type(each) for each in made] == [fnabi.Tensor] * 2
    tensors = [kind(), kind()]
    assert all(a is b for a, b in zip(plain().first.map(tensors), tensors, strict=True))
    with fnabi.use_tensors(fnabi.Tensor):
        made = plain().first.map(tensors)
    assert [type(each) for each in made] == [fnabi.Tensor] * 2
    with fnabi.use_tensors(kind):
        made = plain().first.map([np.zeros(5)])
    assert made.tolist() == [1005]
    apply = plain().apply
    inner = fnabi.Function(lambda x: type(x) is kind)
    assert apply.map(inner, tensors).tolist() == [True, True]


def test_row_maps_of_read_only_arrays() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    first = fnabi.load_module(interop_library("c_plain"))["first"]
    for rows in ([array, array], [array], [np.zeros(3), array]):
        with pytest.raises(CallError, match="read-only"):
            first.map(rows)
    first.allow_read_only = True
    try:
        assert len(first.map([array, array])) == len(first.map([array, 1])) == 2
    finally:
        first.allow_read_only = False


def test_torch_in_row_maps() -> None:
    torch = pytest.importorskip("torch")
    given = [torch.arange(float(n)) for n in range(1, 4)]
    made = lib().alloc_like.map(given)
    assert [type(each) for each in made] == [torch.Tensor] * 3
    assert [each.shape for each in made.tolist()] == [(1,), (2,), (3,)]
    assert [each.data_ptr() for each in plain().first.map(given)] == [
        each.data_ptr() for each in given
    ]


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    first = plain().first
    given = torch.arange(6.0).reshape(2, 3)
    back = first(given)
    assert type(back) is torch.Tensor
    assert back.data_ptr() == given.data_ptr()
    assert torch.equal(first([given])[0], given)
    assert torch.equal(first([np.ones(3), given])[0], torch.ones(3, dtype=torch.float64))
    made = lib().alloc_like(given)
    assert (type(made), made.shape, made.dtype) == (torch.Tensor, (2, 3), torch.float32)
    assert plain().apply(lambda x: type(x) is torch.Tensor, given) is True
    assert type(first(np.zeros(2))) is fnabi.Tensor
