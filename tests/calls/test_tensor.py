"""Tensors: from and to arrays, in callbacks, kept, and exchanged with the package tvm_ffi."""

import array
import ctypes
import gc
import pickle
import struct
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

import fnabi
from fnabi import CallError, Device, RangeError
from fnabi._base.lane import Any, AnyArray, Function
from fnabi.calls.tensor import Tensor, device_parts, dtype_of, dtype_parts, from_dlpack
from fnabi.types import DType
from support import callee
from support.apart import run_apart
from support.sanitizers import check_nothing_kept, examples

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")


@cache
def plain(name):
    return callee.exported(callee.interop_library("c_plain"), name)


@pytest.fixture
def first():
    """A function that returns its argument, which may be read-only."""
    function = callee.exported(callee.interop_library("c_plain"), "first")
    function.allow_read_only = True
    return function


NUMPY = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
ML_DTYPES = {
    "bfloat16": (4, 16),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
}
PACKED = ["int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"]
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
DTYPES = [np.dtype(name) for name in NUMPY]
DTYPES += [np.dtype(getattr(ml_dtypes, name)) for name in ML_DTYPES if hasattr(ml_dtypes, name)]


def parts(dtype):
    return ML_DTYPES.get(dtype.name) or (CODES[dtype.kind], 8 * dtype.itemsize)


def same_memory(tensor, given):
    assert tensor.shape == given.shape
    assert tensor.ndim == given.ndim
    assert tensor.size == given.size
    assert tensor.nbytes == given.nbytes
    assert tensor.dtype == DType.from_numpy(given.dtype)
    assert tensor.device == Device("cpu")
    assert tensor.read_only is not given.flags.writeable
    if given.size:
        assert tensor.data_ptr == given.__array_interface__["data"][0]
        for dim, mine, theirs in zip(given.shape, tensor.strides, given.strides, strict=True):
            assert dim == 1 or mine * given.itemsize == theirs


# ------------------------------------------------------------------------------------ in


def test_dtype_objects_live_as_long_as_they_are_known(first):
    """More than are known at a time, so that the earlier ones are let go."""
    dtypes = [np.dtype("float32", metadata={"number": number}) for number in range(2000)]
    counts = [sys.getrefcount(dtype) for dtype in dtypes]
    for dtype in dtypes:
        assert first(np.zeros(1, dtype)).size == 1
        assert first(dtype) == DType("float", 32)
    later = [sys.getrefcount(dtype) for dtype in dtypes]
    assert all(now >= then for now, then in zip(later, counts, strict=True))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_of_arrays(dtype, first):
    given = np.arange(12).astype(dtype).reshape(3, 4)
    code, bits = parts(dtype)
    assert plain("tensor_info")(given) == 2_000_001 + code * 10_000 + bits * 10
    tensor = first(given)
    same_memory(tensor, given)
    back = tensor.numpy()
    same_memory(tensor, back)
    assert back.dtype == dtype
    assert back.tobytes() == given.tobytes()


# The size of each dim, and start and step of its slice.
dims = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.sampled_from([-2, -1, 1, 2])), max_size=5
)


def draw_array(data):
    cut = data.draw(dims)
    dtype = data.draw(st.sampled_from(DTYPES))
    whole = np.arange(np.prod([size + 2 for size, _, _ in cut], dtype=int)) % 120
    whole = whole.astype(dtype).reshape([size + 2 for size, _, _ in cut])
    part = whole[(*(slice(begin, begin + size) for size, begin, _ in cut), ...)]
    part = part[(*(slice(None, None, step) for _, _, step in cut), ...)]
    part = part.transpose(data.draw(st.permutations(range(part.ndim))))
    part.flags.writeable = data.draw(st.booleans())
    return part


@settings(max_examples=examples(200))
@drawn(st.data())
def test_any_array_goes_in_and_comes_back(data):
    given = draw_array(data)
    tensor = from_dlpack(given)
    same_memory(tensor, given)
    back = tensor.numpy()
    same_memory(tensor, back)
    assert back.tobytes() == given.tobytes()
    if given.dtype.isbuiltin == 1:
        view = memoryview(tensor)
        assert view.readonly is tensor.read_only
        if given.dtype.char not in "FDe":  # formats that Python itself does not read
            assert view.tolist() == given.tolist()
        again = np.from_dlpack(tensor)
        same_memory(tensor, again)
        assert (back.dtype.num, back.strides) == (again.dtype.num, again.strides)
        assert repr(back.flags) == repr(again.flags)
    copied = from_dlpack(Foreign(lambda **named: tensor.__dlpack__(copy=True, **named)))
    assert not copied.read_only
    assert copied.numpy().tobytes() == given.tobytes()
    assert given.size == 0 or copied.data_ptr != tensor.data_ptr


@settings(max_examples=examples(200))
@drawn(st.data())
def test_callees_see_the_elements(data):
    given = draw_array(data).real.astype("f4", order="K")
    assert plain("tensor_sum_strided")(given) == given.sum(dtype="f8")


def test_views_that_numpy_lets_one_make(first):
    base = np.arange(6, dtype="f4")
    for given in (
        np.broadcast_to(base, (3, 6)),
        np.lib.stride_tricks.as_strided(base, (4, 3), (4, 4)),
        base[:0],
        np.zeros((0, 3)),
        np.array(5.0),
        np.zeros((1,) * 32),
        np.asfortranarray(np.ones((3, 4))),
        np.frombuffer(b"abcdef", "u1"),
        np.zeros(3, [("x", "f4"), ("y", "f4")])["y"],
        np.arange(4).view(np.recarray),
    ):
        same_memory(first(given), np.asarray(given))
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        many = np.zeros((1,) * 62 + (2, 3), "i2")
        same_memory(first(many), many)


def test_strides_that_lead_nowhere_do_not_matter(first):
    odd = np.zeros(2, [("x", "f4"), ("y", "u1")])["x"]
    assert odd.strides == (5,)
    assert first(odd[:1]).shape == (1,)
    assert first(odd[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (np.zeros(2, np.dtype("f4").newbyteorder()), "not in the byte order of this machine"),
        (np.zeros(2, "M8[s]"), r"no DType for datetime64\[s\]"),
        (np.array([None]), "no DType for object"),
        (np.zeros(2, "S3"), r"no DType for \|S3"),
        (np.zeros(2, [("x", "f4")]), "no DType for"),
        (
            np.zeros(2, [("x", "f4"), ("y", "u1")])["x"],
            "strides are not multiples of the element size",
        ),
        (np.ma.masked_array([1, 2], [True, False]), r"has a mask.*\.filled"),
        *(
            (
                np.zeros(2, getattr(ml_dtypes, name)),
                r"stored in its own byte, but DLPack packs them.*view",
            )
            for name in PACKED
            if hasattr(ml_dtypes, name)
        ),
        (memoryview(b"abcd").cast("c"), None),
        (memoryview(np.zeros(2, ">f4")), "buffer of format '>f'"),
        (memoryview(np.zeros(2, "U1")), "buffer of format '1w'"),
        (memoryview(np.array([None])), "buffer of format 'O'"),
        (memoryview(np.zeros(2, "M8[s]").view("V8")), "buffer of format '8x'"),
    ],
)
def test_what_dlpack_cannot_describe_is_refused(given, text, first):
    if text is None:
        assert first(given).dtype == DType("unsigned", 8)
        return
    with pytest.raises(CallError, match=rf"^first: argument 0: .*{text}"):
        first(given)
    with pytest.raises(CallError, match=text):
        from_dlpack(given)


def test_an_exchange_that_is_no_address():
    array = np.arange(3.0)

    class Odd:
        __dlpack_c_exchange_api__ = 1 << 200

        def __dlpack__(self, **named):
            return array.__dlpack__(**named)

        def __dlpack_device__(self):
            return array.__dlpack_device__()

    for convert in (from_dlpack, fnabi.Function(lambda value: value)):
        assert convert(Odd()).data_ptr == array.ctypes.data


def test_what_is_no_array_is_not_kept():
    given = object()

    def act():
        with pytest.raises(TypeError, match="expected an array with __dlpack__ or a buffer"):
            from_dlpack(given)

    check_nothing_kept(act, given)


def test_a_text_without_bytes_is_no_array():
    with pytest.raises(
        fnabi.ArgumentTypeError, match=r"^from_dlpack: x: expected an array .* str$"
    ):
        from_dlpack("\ud800")
    with pytest.raises(fnabi.ArgumentTypeError, match=r"^Tensor\.copy_from: x: .* got str$"):
        from_dlpack(np.zeros(3)).copy_from("\ud800")


def test_long_doubles_are_refused_where_they_are_none_of_ieee(first):
    if np.dtype("g").itemsize == 8:
        pytest.skip("a long double is a double")
    with pytest.raises(CallError, match="no DType for"):
        first(np.zeros(2, "g"))


def test_buffers(first):
    for code in "bBhHiIlLqQfd":
        given = array.array(code, [1, 2, 3])
        tensor = first(given)
        assert tensor.dtype == DType.from_format(code)
        assert (tensor.data_ptr, len(given)) == given.buffer_info()
        assert tensor.numpy().tolist() == [1, 2, 3]
        with pytest.raises(BufferError):
            given.append(4)
        del tensor
        given.append(4)
    lent = memoryview(bytearray(b"abcdef"))[::-2]
    tensor = first(lent)
    assert (tensor.shape, tensor.strides) == ((3,), (-2,))
    lent.release()
    assert bytes(tensor) == b"fdb"
    assert tensor.numpy().tobytes() == b"fdb"
    assert first(memoryview(b"abc")).read_only
    assert first(memoryview(b"\0\1").cast("?")).dtype == DType("bool")


class Buffer(ctypes.Structure):
    """A Py_buffer."""

    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    ]  # fmt: skip


def test_formats_of_complex_numbers(first):
    """Those of NumPy are a letter before that of the parts."""
    memory, shape = (ctypes.c_double * 4)(1, 2, 3, 4), (ctypes.c_ssize_t * 1)(2)
    strides, view = (ctypes.c_ssize_t * 1)(16), ctypes.pythonapi.PyMemoryView_FromBuffer
    view.restype = ctypes.py_object

    def given(letters):
        data, dims, steps = map(ctypes.addressof, (memory, shape, strides))
        return view(ctypes.byref(Buffer(data, None, 32, 16, 0, 1, letters, dims, steps)))

    assert first(given(b"Zd")).numpy().tolist() == [1 + 2j, 3 + 4j]
    for letters in (b"Zq", b"Z?", b"ZZ", b"Z", b"Zdd"):
        with pytest.raises(TypeError, match="no dtype for a buffer of format"):
            first(given(letters))


NUMPY_CORE = (
    "numpy.core" if np.lib.NumpyVersion(np.__version__) < "2.0.0" else "numpy._core"
) + "._multiarray_umath"


def test_numpy_by_the_buffer_protocol_alone():
    """Test a NumPy with an unknown ABI version, in a separate process."""
    run_apart(
        """
import sys, numpy as np, ml_dtypes
from importlib import import_module
import_module(sys.argv[1])._ARRAY_API = None
from fnabi import from_dlpack
from support.sanitizers import check_nothing_kept
for given in (np.arange(6.0).reshape(2, 3)[:, ::-1], np.ones(3, ml_dtypes.bfloat16), np.array(1)):
    given.flags.writeable = False
    tensor = from_dlpack(given)
    assert tensor.data_ptr == given.__array_interface__["data"][0], given
    assert tensor.read_only and tensor.shape == given.shape
    assert [s * given.itemsize for s in tensor.strides] == list(given.strides)
    assert tensor.numpy().tobytes() == given.tobytes()
    check_nothing_kept(lambda: from_dlpack(given), given, given.dtype)
""",
        NUMPY_CORE,
    )


def test_looking_at_numpy_keeps_nothing():
    """The first array shows how NumPy's arrays are laid out."""
    run_apart(
        """
import sys, numpy as np
from importlib import import_module
from fnabi import from_dlpack
shared = import_module(sys.argv[1])._ARRAY_API, np.dtype("u2")
counts = [*map(sys.getrefcount, shared)]
from_dlpack(np.zeros(3))
assert [*map(sys.getrefcount, shared)] == counts
""",
        NUMPY_CORE,
    )


# ----------------------------------------------------------------------------- lifetimes


def test_the_array_lives_as_long_as_the_tensor(first):
    given = np.ones(5)
    seen = weakref.ref(given)
    references = sys.getrefcount(given)
    plain("nop")(given)
    assert sys.getrefcount(given) == references
    tensor = first(given)
    assert sys.getrefcount(given) == references + 1
    del given
    gc.collect()
    assert seen() is not None
    back = tensor.numpy()
    del tensor
    gc.collect()
    assert seen() is not None
    assert back.tolist() == [1] * 5
    del back
    assert seen() is None


@pytest.mark.parametrize(
    "make", [np.ones, lambda n: Foreign(np.ones(n)), lambda n: array.array("d", range(n))]
)
def test_many_calls_leave_nothing_behind(make, first):
    given = make(3)
    references = sys.getrefcount(given)
    nop = plain("nop")
    for _ in range(1000):
        nop(given, given, given)
        first(given)
        nop([given, given])
        with pytest.raises(CallError):
            nop(given, np.zeros(1, "M8[s]"))
    assert sys.getrefcount(given) == references


def test_arrays_of_many_classes_leave_nothing_behind():
    class Local(np.ndarray):
        pass

    plain_array, local = np.ones(3), np.ones(3).view(Local)
    nop = plain("nop")
    shared = local, np.ndarray, Local, np.ma.MaskedArray
    check_nothing_kept(lambda: (nop(plain_array), nop(local)), *shared)


def test_dtypes_are_kept_for_a_while(first):
    """Those of the 256 arrays that were converted last, at most."""
    noted = object()
    before = sys.getrefcount(noted)
    for _ in range(1000):
        first(np.zeros(2, np.dtype("f4", metadata={"noted": noted})))
    gc.collect()
    assert sys.getrefcount(noted) - before <= 256


@pytest.mark.parametrize(
    "make",
    [
        lambda given: Foreign(given),
        lambda given: Foreign(lambda **named: 1 / 0 if named else given.__dlpack__()),
        lambda given: Foreign(lambda **_: given),
        lambda given: memoryview(given),
    ],
)
def test_conversions_keep_nothing(make, first):
    given = np.ones(3)
    lent = make(given)

    def convert():
        with suppress(CallError, ZeroDivisionError):
            first(lent)

    check_nothing_kept(convert, given, lent, (), None)


def test_strong_counts(first):
    given = np.ones(3)
    count = plain("strong_count")
    assert count(given) == 1
    tensor = first(given)
    assert count(tensor) == 1
    again = first(tensor)
    assert count(tensor) == 2
    assert again == tensor
    assert again is not tensor
    assert hash(again) == hash(tensor)
    assert first(given) != tensor
    del again
    view = memoryview(tensor)
    capsule = tensor.__dlpack__()
    assert count(tensor) == 2
    del view, capsule
    assert count(tensor) == 1


def test_tensors_of_a_library_are_freed():
    live = plain("live")
    before = live()
    tensor = plain("tensor_arange")(1000)
    assert live() == before + 1
    assert tensor.dtype == DType("float", 32)
    back = tensor.numpy()
    capsule = tensor.__dlpack__(max_version=(1, 0))
    del tensor
    assert live() == before + 1
    assert back.tolist() == list(range(1000))
    assert back.flags.writeable
    del back
    assert live() == before + 1
    del capsule
    assert live() == before


@pytest.mark.threads
def test_threads(first):
    failures = []
    barrier = threading.Barrier(4)

    def work(seed):
        barrier.wait()
        for i in range(500):
            given = np.full((3, seed + 1), i + seed, "f4")
            kept = [first(given) for _ in range(3)]
            if plain("tensor_sum_strided")(given) != 3 * (seed + 1) * (i + seed):
                failures.append((seed, i))
            del given
            if any(tensor.numpy()[0, 0] != i + seed for tensor in kept):
                failures.append((seed, i))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert not failures


# ---------------------------------------------------------------------- DLPack by hand


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [
        ("tensor", DLTensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class ExchangeAPI(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("older", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_of", ctypes.c_void_p),
        ("object_of", ctypes.c_void_p),
        ("view_of", ctypes.c_void_p),
        ("stream_of", ctypes.c_void_p),
    ]


DELETER = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
OF_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
# Not ctypes.pythonapi, whose functions other packages declare in their own way.
python = ctypes.PyDLL(None)
new_capsule = python.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer = python.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

KEPT = []
"""Objects that C code points to, kept alive for all tests."""


def dl_tensor(shape=(2, 3), strides=None, dtype=(2, 32, 1), device=(1, 0), offset=0, memory=None):
    if memory is None:
        memory = (ctypes.c_float * 64)(*range(64))
    ints = [values and (ctypes.c_int64 * len(values))(*values) for values in (shape, strides)]
    KEPT.append((memory, ints))
    pointers = [ctypes.cast(values, ctypes.POINTER(ctypes.c_int64)) for values in ints if values]
    tensor = DLTensor(ctypes.addressof(memory), device, len(shape), *dtype, byte_offset=offset)
    if shape:
        tensor.shape = pointers[0]
    if strides:
        tensor.strides = pointers[1]
    return tensor


def managed(deleted, tensor=None, version=(1, 1), flags=0):
    """Make a capsule with a tensor; its deleter appends to `deleted`."""
    tensor = tensor or dl_tensor()
    deleter = DELETER(lambda address: deleted.append(address))
    if version is None:
        made, name = Managed(tensor), b"dltensor"
    else:
        made, name = Versioned(version, flags=flags, tensor=tensor), b"dltensor_versioned"
    made.deleter = ctypes.cast(deleter, ctypes.c_void_p)
    KEPT.append((made, deleter, name))
    return new_capsule(ctypes.addressof(made), name, None)


class Foreign:
    """An array with only `__dlpack__`: that of another array, or a given function."""

    def __init__(self, source):
        self.source = source

    def __dlpack__(self, **named):
        return self.source(**named) if callable(self.source) else self.source.__dlpack__(**named)


@pytest.mark.parametrize("version", [None, (1, 0), (1, 9)])
def test_tensors_are_given_back_once(version, first):
    deleted = []
    tensor = first(Foreign(lambda **_: managed(deleted, version=version)))
    assert (tensor.shape, tensor.strides) == ((2, 3), (3, 1))
    assert tensor.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not deleted
    del tensor
    assert len(deleted) == 1


def test_a_capsule_without_a_deleter(first):
    made = Managed(dl_tensor())
    KEPT.append(made)
    capsule = new_capsule(ctypes.addressof(made), b"dltensor", None)
    assert first(Foreign(lambda **_: capsule)).size == 6
    with pytest.raises(CallError, match=r"expected a DLPack capsule from __dlpack__\(\), got"):
        first(Foreign(lambda **_: capsule))


def test_offsets_and_strides(first):
    made = dl_tensor((2, 2), (1, 4), offset=8)
    tensor = first(Foreign(lambda **_: managed([], made)))
    assert tensor.numpy().tolist() == [[2, 6], [3, 7]]
    assert tensor.data_ptr == made.data + 8
    assert plain("tensor_sum_strided")(tensor) == 18


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": (2, 0)}, "its major version of DLPack is not 1"),
        ({"version": (0, 8)}, "its major version of DLPack is not 1"),
        ({"flags": 4}, "its elements of less than a byte are not packed"),
        ({"tensor": dl_tensor((-1, 2))}, "a dim is negative"),
        ({"tensor": dl_tensor((0, -2))}, "a dim is negative"),
        ({"tensor": dl_tensor((1 << 32, 1 << 31))}, "it is larger than memory"),
        ({"tensor": dl_tensor((2, 3), (1 << 60, 1))}, "its strides lead outside of the address"),
        ({"tensor": dl_tensor(offset=1 << 60)}, "its byte offset leads outside of the address"),
        ({"tensor": DLTensor(None, (1, 0), 1)}, "it has no shape"),
        ({"tensor": DLTensor(None, (1, 0), -1)}, "its number of dims is negative"),
        ({"tensor": DLTensor(None, (1, 0), 0, 2, 32, 1)}, "it has no memory"),
    ],
)
def test_damaged_tensors_are_given_back(change, text, first):
    deleted = []
    with pytest.raises(CallError, match=f"the tensor is invalid: {text}"):
        first(Foreign(lambda **_: managed(deleted, **change)))
    assert len(deleted) == 1


def test_negative_strides_do_not_reach_a_framework() -> None:
    """The process ends where torch is given such a tensor."""
    torch = pytest.importorskip("torch")
    given, other = np.arange(6, dtype="f4")[::-1], torch.zeros(1)
    echo = callee.exported(callee.interop_library("c_plain"), "first")
    assert echo(given).strides == (-1,)
    text = "expected a tensor whose strides are not negative"
    with pytest.raises(fnabi.ArgumentValueError, match=f"^first: result: {text}"):
        echo(given, other)
    with pytest.raises(fnabi.ArgumentValueError, match=text):
        fnabi.Function(lambda *values: None)(given, other)
    assert echo(given[:1], other).tolist() == [5]
    assert echo(np.zeros((3, 0), "f4")[::-1], other).shape == (3, 0)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((0, 1 << 62), (2, 32, 1)),
        ((0, 1 << 62), (2, 32, 2)),
        ((0, 1 << 62), (4, 16, 1)),
        ((0, *[1] * 63), (2, 32, 2)),  # lanes are one dim more
        ((1,) * 64, (2, 32, 2)),
    ],
)
def test_shapes_that_numpy_has_not(shape, dtype, first):
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("ml_dtypes")
    deleted = []
    tensor = first(Foreign(lambda **_: managed(deleted, tensor=dl_tensor(shape, dtype=dtype))))
    for make in (fnabi.Tensor.numpy, numpy.asarray, numpy.array):
        with pytest.raises(RangeError, match=r"^Tensor\.numpy: NumPy has no arrays of the shape"):
            make(tensor)
    with pytest.raises(BufferError):
        memoryview(tensor)
    assert not deleted
    del tensor
    gc.collect()
    assert len(deleted) == 1


@pytest.mark.parametrize("dtype", [(2, 32, 1), (2, 32, 2), (4, 16, 1)])
def test_strides_that_lead_nowhere(dtype, first):
    """A dim of 1 may have any."""
    pytest.importorskip("ml_dtypes")
    found = set()
    for stride in (3, 1 << 62, (1 << 63) - 1, -(1 << 63)):
        view = dl_tensor((1, 3), (stride, 1), dtype)
        tensor = first(Foreign(lambda view=view, **_: managed([], tensor=view)))
        found.add(tensor.numpy().tobytes())
    assert len(found) == 1


def test_read_only_and_versions(first):
    seen = []

    def versioned(**named):
        seen.append(named)
        return managed([], flags=1)

    assert from_dlpack(Foreign(versioned)).read_only
    assert seen == [{"max_version": (1, 3)}]

    def old(**named):
        if named:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        return managed([], version=None)

    assert not first(Foreign(old)).read_only


@pytest.mark.parametrize("answer", [None, 5, "x", Foreign])
def test_answers_that_are_no_capsule(answer, first):
    with pytest.raises(CallError, match=r"expected a DLPack capsule from __dlpack__\(\), got"):
        first(Foreign(lambda **_: answer))


def test_exceptions_of_the_producer(first):
    def fail(**named):
        raise BufferError("not today")

    with pytest.raises(BufferError, match=r"^not today$"):
        first(Foreign(fail))


def test_other_devices(first):
    for device in ((2, 1), (-3, 0), (99, 7)):
        tensor = first(Foreign(lambda **_: managed([], dl_tensor(device=device))))  # noqa: B023
        assert tensor.device == Device(*device)
        assert tensor.__dlpack_device__() == device
        assert tensor.shape == (2, 3)
        assert str(Device(*device)) in repr(tensor)
        with pytest.raises(CallError, match=r"^Tensor\.numpy: NumPy cannot access the memory of"):
            tensor.numpy()
        with pytest.raises(BufferError, match="its memory is not the CPU's"):
            memoryview(tensor)
        with pytest.raises(BufferError, match=r"cannot be copied to device 1:0"):
            tensor.__dlpack__(dl_device=(1, 0))
        with pytest.raises(BufferError, match="cannot be copied"):
            tensor.__dlpack__(copy=True)
        assert from_dlpack(Foreign(partial(tensor.__dlpack__, stream=1))).device == tensor.device
    host = first(Foreign(lambda **_: managed([], dl_tensor(device=(3, 0)))))
    assert host.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert from_dlpack(Foreign(partial(host.__dlpack__, dl_device=(1, 0)))).device == Device("cpu")


def exchanging(version=(1, 3), older=None, as_int=False, **functions):
    """Make a class with DLPack's C exchange API, implemented by Python functions."""
    functions = {name: OF_OBJECT(function) for name, function in functions.items()}
    api = ExchangeAPI(version, older)
    for name, function in functions.items():
        setattr(api, name, ctypes.cast(function, ctypes.c_void_p))
    KEPT.append((api, functions))
    address = ctypes.addressof(api)
    given = address if as_int else new_capsule(address, b"dlpack_exchange_api", None)
    return type("Exchanging", (), {"__dlpack_c_exchange_api__": given, "address": address})


def put_view(_, out):
    DLTensor.from_address(out).__init__(*(getattr(VIEW, name) for name, _ in DLTensor._fields_))
    return 0


VIEW = dl_tensor((3,), (2,))


@pytest.mark.parametrize("as_int", [False, True])
def test_exchange_by_view(as_int, first):
    given = exchanging(as_int=as_int, view_of=put_view)()
    seen = weakref.ref(given)
    tensor = first(given)
    assert tensor.data_ptr == VIEW.data
    assert tensor.numpy().tolist() == [0, 2, 4]
    del given
    assert seen() is not None
    del tensor
    assert seen() is None


def test_a_result_for_a_framework_that_is_refused_is_given_back():
    """A callee may change the dims of its tensor before it returns it."""
    deleted = []
    tensor = from_dlpack(Foreign(lambda **_: managed(deleted)))

    def spoilt(_):
        nonlocal tensor
        object = int.from_bytes(bytes(Any(tensor))[8:], sys.byteorder)
        DLTensor.from_address(object + 24).shape[0] = -1
        result, tensor = tensor, None
        return result

    function = fnabi.Function(spoilt)
    with pytest.raises(CallError, match="a dim is negative"):
        function(exchanging(view_of=put_view, object_of=put_view)())
    assert len(deleted) == 1


def test_classes_with_an_exchange_api_are_freed(first):
    """All but those that the caches of the call lane hold, which have 128 and 16 entries."""
    seen = []
    for _ in range(300):
        made = exchanging(view_of=put_view)
        capsule = made.__dlpack_c_exchange_api__
        references = sys.getrefcount(capsule)
        first(made())
        assert sys.getrefcount(capsule) == references
        seen.append(weakref.ref(made))
    del made
    gc.collect()
    assert sum(each() is not None for each in seen) <= 128 + 16


@pytest.mark.parametrize("answer", [object(), True, False])
def test_answers_of_tensors_are_not_kept(answer, first):
    """VIEW may be the imaginary part of a complex tensor, so its class is asked."""
    made = exchanging(view_of=put_view)
    made.is_conj = made.is_neg = lambda self: answer
    given = made()

    def convert():
        with suppress(CallError):
            first(given)

    check_nothing_kept(convert, given, answer)


def test_exchange_by_managed_tensors(first):
    deleted = []

    def hand_over(_, out):
        capsule = managed(deleted, flags=1)
        ctypes.c_void_p.from_address(out).value = capsule_pointer(capsule, b"dltensor_versioned")
        return 0

    tensor = first(exchanging(managed_of=hand_over)())
    assert tensor.read_only
    assert tensor.numpy().shape == (2, 3)
    del tensor
    assert len(deleted) == 1


def test_exchange_of_other_versions(first):
    older = exchanging(view_of=put_view)
    newer = exchanging((2, 0), older.address, view_of=lambda *_: 1 / 0)
    assert first(newer()).data_ptr == VIEW.data
    unknown = exchanging((2, 0), view_of=lambda *_: 1 / 0)
    unknown.__dlpack__ = lambda self, **_: managed([])
    assert first(unknown()).shape == (2, 3)


def test_exchange_that_fails(first):
    with pytest.raises(CallError, match="its DLPack exchange API failed without an exception"):
        first(exchanging(view_of=lambda *_: -1)())
    broken = exchanging(view_of=lambda _, out: DLTensor.from_address(out).__init__(ndim=-1) or 0)
    with pytest.raises(CallError, match="its number of dims is negative"):
        first(broken())


# ------------------------------------------------------------------------------------ out


def test_what_a_tensor_tells(first):
    tensor = first(np.zeros((2, 3), "f4"))
    assert repr(tensor) == "<fnabi.Tensor of shape (2, 3), float32 on cpu:0>"
    assert tensor.type_index == 70
    assert isinstance(tensor, fnabi.Tensor)
    assert tensor.strides == (3, 1)
    with pytest.raises(TypeError):
        Tensor()
    with pytest.raises(AttributeError):
        tensor.shape = (3, 2)


def test_array_interface_of_python(first):
    given = np.arange(6, dtype="f4").reshape(2, 3)
    tensor = first(given)
    assert np.shares_memory(np.asarray(tensor), given)
    assert np.shares_memory(np.asarray(tensor, dtype="f4"), given)
    assert np.asarray(tensor, dtype="f8").tolist() == given.tolist()
    assert not np.shares_memory(np.array(tensor), given)
    half = np.ones(3, ml_dtypes.bfloat16)
    assert np.shares_memory(np.asarray(first(half)), half)
    assert not np.shares_memory(np.array(first(half), copy=True), half)
    assert np.asarray(first(half), dtype="f4").tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="copy"):
        first(half).__array__("f4", copy=False)
    assert np.add(tensor, 1).tolist() == (given + 1).tolist()


def test_dlpack_arguments(first):
    given = np.arange(6, dtype="f4")
    tensor = first(given)
    assert "dltensor_versioned" in repr(tensor.__dlpack__(max_version=(1, 0)))
    assert "dltensor_versioned" in repr(tensor.__dlpack__(max_version=(2, 0)))
    built = "_".join(("max", "version"))  # another object than the name in code
    assert "dltensor_versioned" in repr(tensor.__dlpack__(**{built: (1, 0)}))
    for none in (None, (0, 8)):
        assert "dltensor_versioned" not in repr(tensor.__dlpack__(max_version=none))
    assert tensor.__dlpack_device__() == (1, 0)
    tensor.__dlpack__(stream=None, dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="cannot be exported as that of device 2:0"):
        tensor.__dlpack__(dl_device=(2, 0), copy=False)
    with pytest.raises(BufferError, match="cannot be copied to device 2:0"):
        tensor.__dlpack__(dl_device=(2, 0))
    for bad in (
        {"stream": 1},
        {"max_version": 1},
        {"max_version": (1,)},
        {"max_version": (1, 0, 0)},
        {"max_version": (1 << 40, 0)},
        {"max_version": (1, -(1 << 40))},
        {"dl_device": "cpu"},
    ):
        with pytest.raises(CallError, match=rf"^Tensor\.__dlpack__: {next(iter(bad))}: "):
            tensor.__dlpack__(**bad)
    with pytest.raises(CallError, match=r"a tuple of two ints, got object$"):
        tensor.__dlpack__(max_version=object())
    with pytest.raises(TypeError, match="takes 0 positional arguments"):
        tensor.__dlpack__(1)
    with pytest.raises(TypeError, match=r"^'max' is an invalid keyword argument for __dlpack__"):
        tensor.__dlpack__(max=1)
    given.flags.writeable = False
    frozen = first(given)
    with pytest.raises(BufferError, match="the memory is read-only"):
        frozen.__dlpack__()
    assert not np.from_dlpack(frozen).flags.writeable
    assert not frozen.numpy().flags.writeable
    copy = np.from_dlpack(Deviceful(partial(frozen.__dlpack__, copy=True)))
    assert copy.flags.writeable
    assert copy.tolist() == given.tolist()


class Deviceful(Foreign):
    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, copy=None, dl_device=None, **named):
        return super().__dlpack__(**named)


def test_flags_of_copies(first):
    given = np.arange(6, dtype="f4")[::-1]
    for copy, flags in ((None, 0), (True, 2)):
        capsule = first(given).__dlpack__(max_version=(1, 0), copy=copy)
        made = Versioned.from_address(capsule_pointer(capsule, b"dltensor_versioned"))
        assert made.flags == flags
        assert tuple(made.version) == (1, 3)
        assert made.tensor.strides[0] == (1 if copy else -1)
        if copy:
            assert made.tensor.data % 256 == 0


def test_buffer_protocol(first):
    given = np.arange(24, dtype="i4").reshape(2, 3, 4)
    view = memoryview(first(given))
    assert (view.format, view.itemsize) == ("i", 4)
    assert (view.shape, view.strides) == ((2, 3, 4), (48, 16, 4))
    assert bytes(first(given)) == given.tobytes()
    assert bytes(first(given.T)) == given.T.tobytes()
    assert bytearray(first(given[:, ::-1])) == given[:, ::-1].tobytes()
    assert struct.unpack_from("i", first(given), 4) == (1,)
    struct.pack_into("i", first(given), 4, 77)
    assert given[0, 0, 1] == 77
    with pytest.raises(BufferError, match="its elements are not compact"):
        struct.unpack_from("i", first(given.T))
    given.flags.writeable = False
    with pytest.raises((BufferError, TypeError)):
        struct.pack_into("i", first(given), 4, 77)
    with pytest.raises(BufferError, match=r"its dtype has no buffer format"):
        memoryview(first(np.ones(2, ml_dtypes.bfloat16)))
    assert memoryview(first(np.array(7, "i8"))).tolist() == 7
    assert np.asarray(memoryview(first(np.ones(2, "i8")))).dtype == np.dtype("i8")


def test_arrays_hold_the_memory_alone(first):
    given = np.arange(6, dtype="i4").reshape(2, 3)
    before = sys.getrefcount(given)
    tensor = first(given)
    arrays = [tensor.numpy() for _ in range(3)]
    del tensor
    gc.collect()
    assert sys.getrefcount(given) == before + 1
    arrays[1][:] = arrays[1] + 1
    assert given.tolist() == arrays[0].tolist() == [[1, 2, 3], [4, 5, 6]]
    view = arrays[2].T[1:]
    del arrays
    assert view.tolist() == [[2, 5], [3, 6]]
    del view
    assert sys.getrefcount(given) == before


def test_lanes_and_packed_elements(first):
    def of(dtype, shape=(2, 3), strides=None):
        return first(Foreign(lambda **_: managed([], dl_tensor(shape, strides, dtype))))

    vectors = of((2, 32, 4))
    assert vectors.dtype == DType("float", 32, lanes=4)
    assert vectors.nbytes == 2 * 3 * 16
    assert vectors.numpy().shape == (2, 3, 4)
    assert vectors.numpy().strides == (48, 16, 4)
    assert vectors.numpy()[1, 0].tolist() == [12, 13, 14, 15]
    packed = of((0, 4, 1), (5,))
    assert packed.nbytes == 3
    with pytest.raises(CallError, match=r"elements of int4 are packed"):
        packed.numpy()
    copy = from_dlpack(Foreign(partial(packed.__dlpack__, copy=True)))
    assert copy.nbytes == 3
    with pytest.raises(BufferError, match="can be copied only if it is"):
        of((0, 4, 1), (5,), (2,)).__dlpack__(copy=True)
    with pytest.raises(CallError, match="neither NumPy nor ml_dtypes"):
        of((2, 128, 1), (2,)).numpy()
    unknown = of((200, 32, 1))
    assert unknown.nbytes == 24
    with pytest.raises(CallError, match="no DType for DLPack's code 200 of 32 bits, 1 lanes"):
        _ = unknown.dtype


def test_from_dlpack(first):
    given = np.ones(3)
    tensor = from_dlpack(given)
    assert type(tensor) is Tensor
    assert tensor.data_ptr == given.ctypes.data
    assert from_dlpack(tensor) is tensor
    assert fnabi.from_dlpack is from_dlpack
    for bad in (5, "x", b"x", None, len, [1.0], DType("float", 32), object()):
        with pytest.raises(CallError, match=r"^from_dlpack: x: expected an array"):
            from_dlpack(bad)


def test_numpy_is_named_where_it_is_missing():
    code = """
import sys, array
sys.modules["numpy"] = None
from fnabi import CallError, from_dlpack
tensor = from_dlpack(array.array("f", [1]))
assert tensor.shape == (1,)
try:
    tensor.numpy()
except CallError as problem:
    assert str(problem) == "Tensor.numpy: NumPy is not installed (pip install numpy)", problem
else:
    sys.exit(1)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# -------------------------------------------------------------------------------- borrowed


def lend(callable, tensor, *, values=1):
    """Call a function with a DLTensor*, as a library may, and return the bytes of its result."""
    library = callee.loaded(callee.interop_library("c_plain"))
    function = Any(Function(callable))
    args = bytes(function) + struct.pack("iiQ", 7, 0, ctypes.addressof(tensor)) * values
    result = ctypes.create_string_buffer(16)
    status = library["__tvm_ffi_apply"](None, args, values + 1, result)
    return status, struct.unpack("iiq", result.raw)


@pytest.mark.parametrize("values", [1, 4, 6])
def test_lent_tensors_expire(values):
    lent = dl_tensor((2, 3))
    kept = []

    def callback(*tensors):
        for tensor in tensors:
            assert tensor.shape == (2, 3)
            assert tensor.strides == (3, 1)
            assert tensor.data_ptr == lent.data
            assert tensor.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
            kept.append(tensor)
        return len(tensors)

    assert lend(callback, lent, values=values) == (0, (1, 0, values))
    assert len(kept) == values
    for tensor in kept:
        for name in ("shape", "strides", "ndim", "size", "nbytes", "dtype", "device", "data_ptr"):
            with pytest.raises(CallError, match="only valid during a callback that has returned"):
                getattr(tensor, name)
        for use in (
            tensor.numpy,
            tensor.__dlpack__,
            tensor.__dlpack_device__,
            tensor.__array__,
            tensor.__tvm_ffi_object__,
            partial(memoryview, tensor),
            partial(plain("nop"), tensor),
            partial(from_dlpack, tensor),
        ):
            with pytest.raises(CallError, match="that has returned"):
                use()
        assert repr(tensor) == "<fnabi.Tensor (expired)>"


def test_lent_tensors_are_passed_on_but_not_kept(first):
    lent = dl_tensor((2, 3))
    problems = []

    def callback(tensor):
        assert plain("tag")(tensor) == 7
        assert plain("tensor_sum_strided")(tensor) == 15
        assert "cpu:0" in repr(tensor)
        keep = (Any, from_dlpack, first, lambda x: AnyArray([x]), lambda x: plain("nop")([x]))
        for use in (*keep, plain("nop").bind, tensor.__class__.__tvm_ffi_object__):
            with pytest.raises(CallError) as problem:
                use(tensor)
            problems.append(str(problem.value))
        return 1

    assert lend(callback, lent)[0] == 0
    assert len(problems) == 7
    assert sum("Tensor that is only valid during one call" in text for text in problems) == 6
    assert sum("a DLTensor* cannot be kept after the call" in text for text in problems) == 1


def test_lent_tensors_cannot_be_returned():
    status, _ = lend(lambda tensor: tensor, dl_tensor())
    assert status != 0
    status, _ = lend(lambda tensor: [tensor], dl_tensor())
    assert status != 0


def test_lent_tensors_expire_after_an_exception():
    kept = []

    def callback(tensor):
        kept.append(tensor)
        raise ValueError

    assert lend(callback, dl_tensor())[0] != 0
    with pytest.raises(CallError, match="that has returned"):
        _ = kept[0].shape


def test_damaged_lent_tensors():
    assert lend(lambda tensor: 1, DLTensor(ndim=-1))[0] != 0
    assert lend(lambda tensor: 1, dl_tensor((-1,)))[0] != 0


# -------------------------------------------------------------- other threads, and the end


@pytest.mark.threads
def test_deleters_run_without_the_gil(first):
    given = np.ones(4)
    seen = weakref.ref(given)
    capsule = first(given).__dlpack__(max_version=(1, 0))
    del given
    address = capsule_pointer(capsule, b"dltensor_versioned")
    assert python.PyCapsule_SetName(ctypes.py_object(capsule), b"taken") == 0
    # ctypes releases the GIL for a CFUNCTYPE
    delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(Versioned.from_address(address).deleter)
    thread = threading.Thread(target=delete, args=(address,))
    thread.start()
    thread.join()
    assert seen() is None


def test_deleters_run_after_the_end_of_the_interpreter():
    code = """
import ctypes, numpy as np
from fnabi import from_dlpack
get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
for given in (np.ones(3), memoryview(b"abc")):
    capsule = from_dlpack(given).__dlpack__(max_version=(1, 0))
    address = get(capsule, b"dltensor_versioned")
    ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), b"taken")
    del capsule  # before its name
    deleter = ctypes.c_void_p.from_address(address + 16)
    ctypes.CDLL(None).__cxa_atexit(deleter, ctypes.c_void_p(address), None)
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


# ---------------------------------------------------------------------------------- dtypes


DLPACK_DTYPES = {
    **{(0, bits): f"int{bits}" for bits in (1, 2, 4, 8, 16, 32, 64)},
    **{(1, bits): f"uint{bits}" for bits in (1, 2, 4, 8, 16, 32, 64)},
    **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
    (3, 64): "handle",
    (4, 16): "bfloat16",
    (6, 8): "bool",
    **{(code, bits): name for name, (code, bits) in ML_DTYPES.items() if code > 6},
    (15, 6): "float6_e2m3fn",
    (16, 6): "float6_e3m2fn",
    (17, 4): "float4_e2m1fn",
}


@pytest.mark.parametrize("lanes", [1, 2, 4, 65535])
@pytest.mark.parametrize("numbers", DLPACK_DTYPES, ids=DLPACK_DTYPES.get)
def test_dtypes_both_ways(numbers, lanes, first):
    code, bits = numbers
    dtype = dtype_of(code, bits, lanes)
    text = DLPACK_DTYPES[numbers]
    assert str(dtype) == (text if lanes == 1 else f"{text}x{lanes}")
    assert dtype_parts(dtype) == dtype_parts(str(dtype)) == (code, bits, lanes)
    assert first(dtype) == dtype
    assert bytes(Any(dtype)) == struct.pack("iiBBHi", 5, 0, code, bits, lanes, 0)


def test_a_name_that_numpy_reads_as_another_dtype():
    """NumPy's i8 has 8 bytes, and that of MLIR 8 bits."""
    with pytest.raises(
        CallError, match=r"^tensor\.dtype_parts: x: DLPack has no dtype for .*'sign"
    ):
        dtype_parts("i8")
    assert dtype_parts("f4") == (2, 32, 1)


def test_dtypes_agree_with_tvm_ffi(first):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    for (code, bits), name in DLPACK_DTYPES.items():
        for text in (name, f"{name}x4"):
            theirs = tvm_ffi.dtype(text)
            dtype = first(theirs)
            assert str(dtype) == text == str(theirs)
            assert dtype_parts(theirs) == (code, bits, theirs.lanes)
    assert str(first(tvm_ffi.dtype("void"))) == "void"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_of_numpy(dtype, first):
    assert dtype_parts(dtype) == (*parts(dtype), 1)
    assert first(dtype) == DType.from_numpy(dtype)
    assert plain("padding")(dtype) == 0


def test_other_dtypes(first):
    class Given:
        def __init__(self, parts):
            self.parts = parts

        def __dlpack_data_type__(self):
            return self.parts

    assert first(Given((0, 8, 4))) == DType("signed", 8, lanes=4)
    for bad in (
        Given((0, 256, 1)),
        Given((-1, 8, 1)),
        DType("signless", 8),
        DType("index", 64),
        DType("float", 8, "e1m6"),
        DType("float", 19, "tf32"),
        DType("signed", 4096),
        DType("signed", 8, "", 65536),
        DType("complex", 16, "bf16"),
        np.dtype(">f4"),
        np.dtype("O"),
    ):
        with pytest.raises(CallError, match=r"^first: argument 0: .*dtype"):
            first(bad)
    for own, expected in (
        ((2, 300, 1), r"DLPack has no dtype of code 2, 300 bits and 1 lanes; expected at most"),
        ((2, 32), r"__dlpack_data_type__: expected code, bits and lanes, got 2 numbers$"),
        (7, r"__dlpack_data_type__: expected code, bits and lanes, got int$"),
        ("f32", r"__dlpack_data_type__: expected code, bits and lanes, got str$"),
    ):
        with pytest.raises(CallError, match=rf"^first: argument 0: {expected}"):
            first(Given(own))
    for kind, hint in (("signless", "; expected signed or unsigned integers"), ("index", "")):
        with pytest.raises(CallError, match=rf"no dtype for DType.*'{kind}'.*\){hint}$"):
            first(DType(kind, 64))
    for code, bits in ((6, 1), (6, 16), (7, 16), (17, 8), (18, 8), (255, 255)):
        with pytest.raises(CallError, match=rf"no DType for DLPack's code {code} of {bits} bits"):
            dtype_of(code, bits, 1)


# --------------------------------------------------------------------------------- devices


def test_devices(first):
    cuda = Device("cuda:1")
    assert (cuda.type, cuda.id, cuda.name, str(cuda)) == (2, 1, "cuda", "cuda:1")
    assert repr(cuda) == "Device('cuda', 1)"
    assert cuda == Device("cuda", 1) == Device(2, 1) == eval(repr(cuda))
    assert cuda != Device("cuda")
    assert cuda != (2, 1)
    assert {cuda: 1}[Device(2, 1)] == 1
    assert pickle.loads(pickle.dumps(cuda)) == cuda
    assert str(Device("cpu")) == "cpu:0"
    assert repr(Device(99, -1)) == "Device(99, -1)"
    assert eval(repr(Device(99, -1))) == Device(99, -1)
    assert str(Device(99, -1)) == "99:-1"
    with pytest.raises(AttributeError, match="frozen"):
        cuda.id = 2
    with pytest.raises(AttributeError, match="frozen"):
        del cuda.id
    match cuda:
        case Device(2, number):
            assert number == 1
    for device in (cuda, Device("cpu"), Device(-1, -7), Device(2**31 - 1, -(2**31))):
        assert first(device) == device
        assert bytes(Any(device)) == struct.pack("iiii", 6, 0, device.type, device.id)


@pytest.mark.parametrize(
    "args",
    [("gpu",), ("cuda:",), ("cuda:x",), ("",), ("cuda:1", 2), (1.0,), (None,), (1, "0"), (2**31,),
     ("cuda", None), ("cuda:1", None), ("cuda:1", ""), ("cuda:1", 0.0),
     ("cuda:99999999999",), ("CPU",), ("cuda:-1",)],
)  # fmt: skip
def test_bad_devices(args):
    with pytest.raises(CallError, match=r"^Device: (type|id): "):
        Device(*args)


def test_other_devices_as_arguments(first):
    class Placed:
        def __init__(self, parts):
            self.parts = parts

        def __dlpack_device__(self):
            return self.parts

    for own in ((2, 3), [2, 3], (np.int32(2), np.int64(3)), (True + 1, 3.0)):
        assert first(Placed(own)) == Device("cuda:3")
    for own, expected in (
        ((2, 1 << 31), r"DLPack has no device of type 2 and index 2147483648; expected"),
        ((2,), r"__dlpack_device__: expected type and index, got 1 numbers$"),
        (5, r"__dlpack_device__: expected type and index, got int$"),
        (("cuda", 0), r"__dlpack_device__: expected type and index, got tuple$"),
    ):
        with pytest.raises(CallError, match=rf"^first: argument 0: {expected}"):
            first(Placed(own))
    assert device_parts(Device("rocm:2")) == (10, 2)
    tvm_ffi = pytest.importorskip("tvm_ffi")
    for text in ("cpu:0", "cuda:3", "rocm:1", "vulkan:0", "trn:2"):
        assert first(tvm_ffi.device(text)) == Device(text)
        assert str(Device(text)) == str(tvm_ffi.device(text))
        assert tvm_ffi.get_global_func("testing.echo")(Device(text)) == tvm_ffi.device(text)


# ----------------------------------------------------------------------------------- torch


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    for name in ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64",
                 "uint8", "bool", "complex64", "float8_e4m3fn", "float8_e5m2"):  # fmt: skip
        given = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
        for part in (given, given.T, given[:, 1:], given[0, 0], given[:0]):
            tensor = from_dlpack(part)
            assert str(tensor.dtype) == name
            assert tensor.shape == tuple(part.shape)
            if part.numel():
                assert tensor.data_ptr == part.data_ptr()
                assert tensor.strides == part.stride()
                assert torch.from_dlpack(tensor).data_ptr() == part.data_ptr()
            assert str(plain("first")(part.dtype)) == name
    kept = torch.ones(3)
    seen = weakref.ref(kept)
    tensor = from_dlpack(kept)
    del kept
    gc.collect()
    assert seen() is not None
    assert tensor.numpy().tolist() == [1, 1, 1]
    del tensor
    gc.collect()
    assert seen() is None


def test_torch_tensors_that_are_not_as_they_seem():
    torch = pytest.importorskip("torch")
    conjugated = torch.full((3, 2), 1 + 2j).conj()
    for given in (conjugated, conjugated.imag, conjugated.imag[1], conjugated.imag[1, 1]):
        with pytest.raises(
            CallError, match=r"differ from its memory, because is_(conj|neg)\(\) is true"
        ):
            from_dlpack(given)
        assert from_dlpack(given.resolve_conj().resolve_neg()).shape == tuple(given.shape)
    assert from_dlpack(torch.full((3,), 1 + 2j)).numpy().tolist() == [1 + 2j] * 3
    assert from_dlpack(torch.ones(8)[::2]).strides == (2,)
    with pytest.raises(RuntimeError):
        from_dlpack(torch.ones(3).to_sparse())
    with pytest.raises((BufferError, RuntimeError)):
        from_dlpack(torch.ones(3, device="meta"))


def test_torch_dtypes_and_devices(first):
    torch = pytest.importorskip("torch")
    for name in dir(torch):
        dtype = getattr(torch, name)
        if not isinstance(dtype, torch.dtype):
            continue
        if str(dtype)[6:].startswith(("q", "bits")):
            with pytest.raises(CallError, match="DLPack has no dtype for"):
                first(dtype)
        else:
            assert str(first(dtype)) == str(dtype)[6:].replace("_x2", "x2")
    assert first(torch.device("cuda", 1)) == Device("cuda:1")
    assert first(torch.device("cpu")) == Device("cpu")
    with pytest.raises(CallError, match="DLPack has no device for"):
        first(torch.device("meta"))


# --------------------------------------------------------------------------------- tvm_ffi


def test_tvm_ffi_both_ways(first):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    given = np.arange(6, dtype="f4").reshape(2, 3)
    theirs = tvm_ffi.from_dlpack(given)
    tensor = first(theirs)
    assert tensor.data_ptr == theirs.data_ptr() == given.ctypes.data
    assert tensor.shape == theirs.shape
    assert from_dlpack(theirs) == tensor
    library = tvm_ffi.load_module(callee.interop_library("c_plain"))
    back = library.first(tensor)
    assert back.data_ptr() == given.ctypes.data
    assert library.tensor_sum_strided(first(given)) == 15
    assert tvm_ffi.from_dlpack(tensor).data_ptr() == given.ctypes.data
    seen = weakref.ref(given)
    kept = library.first(from_dlpack(given))
    del given, theirs, tensor, back
    gc.collect()
    assert seen() is not None
    assert np.from_dlpack(kept).tolist() == [[0, 1, 2], [3, 4, 5]]
    del kept
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize(
    ("version", "name"), [("1.26.4", "asarray"), ("2.0.2", "asarray"), ("2.1.0rc1", "from_dlpack")]
)
def test_numpy_reads_by_what_tells_read_only(
    monkeypatch: pytest.MonkeyPatch, version: str, name: str
) -> None:
    monkeypatch.setattr(np, "__version__", version)
    assert fnabi.tensor.read_numpy is getattr(np, name)


# ------------------------------------------------------------------------------ read-only


def test_read_only_arrays_are_refused_unless_allowed():
    constant = b"immutable bytes!"
    frozen = np.frombuffer(constant, "f4")
    tensor = from_dlpack(frozen)
    assert tensor.read_only
    total = callee.exported(callee.interop_library("c_plain"), "tensor_sum_strided")
    view = memoryview(constant)
    uses = (
        lambda x: total(x),
        lambda x: total.bind(x),
        lambda x: plain("nop")([x]),
        lambda x: plain("nop")({"k": (x,)}),
        Any,
    )
    for given in (frozen, tensor, view):
        for use in uses:
            with pytest.raises(CallError, match="got a read-only array; pass a copy, or set allow"):
                use(given)
    assert constant == b"immutable bytes!"
    total.allow_read_only = True
    assert total(frozen) == total(tensor) == total.bind(frozen)() == pytest.approx(frozen.sum())
    with pytest.raises(CallError, match="read-only"):  # it is allowed for one function
        plain("nop")(frozen)


def test_the_buffer_of_a_lent_tensor_frees_its_copy():
    lent = dl_tensor((2, 3))
    check_nothing_kept(lambda: lend(lambda tensor: memoryview(tensor).nbytes, lent))


def test_arrays_of_lent_tensors_are_copies():
    lent = dl_tensor((2, 3))
    kept = []

    def callback(tensor):
        kept.extend([tensor.numpy(), np.from_dlpack(tensor), np.asarray(memoryview(tensor))])
        with pytest.raises(BufferError, match="expected copy=None or True"):
            tensor.__dlpack__(copy=False)
        with pytest.raises(ValueError, match="read-only"):
            kept[0][0, 0] = 1
        tensor.copy_from(np.float32([[9, 8, 7], [6, 5, 4]]))
        assert tensor.numpy()[1].tolist() == [6, 5, 4]
        masked = np.ma.masked_array(np.zeros((2, 3), "f4"), True)
        for wrong in (np.zeros((3, 2), "f4"), np.zeros((2, 3)), 5, masked):
            with pytest.raises(CallError, match=r"^Tensor\.copy_from: x: "):
                tensor.copy_from(wrong)
        kept.append(tensor)
        return 1

    assert lend(callback, lent) == (0, (1, 0, 1))
    memory = (ctypes.c_float * 6).from_address(lent.data)
    assert list(memory) == [9, 8, 7, 6, 5, 4]
    memory[:] = [-1.0] * 6
    for array_ in kept[:3]:
        assert array_.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(CallError, match="a callback that has returned"):
        kept[3].copy_from(np.zeros((2, 3), "f4"))


def test_devices_of_any_integer():
    class Number(int):
        pass

    assert Device(Number(2), np.int16(3)) == Device("cuda", 3)
    assert type(Device(np.int32(2)).type) is int
    for wrong in (2**31, -(2**31) - 1, 1.0, None):
        with pytest.raises(CallError, match="expected int32"):
            Device(1, wrong)


def test_what_no_tensor_can_be_made_of_is_named():
    for given, text in (
        (np.array(["a"]), "DLPack has no such dtype"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "the array has a mask"),
        (3, "expected an array"),
    ):
        with pytest.raises(CallError, match=rf"^from_dlpack: x: {text}"):
            from_dlpack(given)
