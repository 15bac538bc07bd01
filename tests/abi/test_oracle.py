"""Memory layout and deferred result allocation of the raw function ABI."""

import array
import copy
import ctypes
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnabi import CallError, raw
from fnabi.abi.raw import BufferDescription
from fnabi.types import Buffer, DType, Ref, Scalar, Signature, Unknown

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")

F32, F64, BF16 = DType("float", 32), DType("float", 64), DType("bfloat", 16)
I8, I32, I64 = (DType("signed", bits) for bits in (8, 32, 64))
U8, U32, U64 = (DType("unsigned", bits) for bits in (8, 32, 64))
FOREIGN = ">" if sys.byteorder == "little" else "<"


@pytest.fixture
def without_numpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)


class OverDLPack:
    """An array that only DLPack can reach."""

    def __init__(self, base):
        self.base = base

    def __repr__(self):
        return "OverDLPack"

    def __dlpack__(self, **arguments):
        return self.base.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.base.__dlpack_device__()


@st.composite
def numpy_arrays(draw, dtypes=("f4", "f8", "i4", "u2", "?", "c8", ml_dtypes.bfloat16)):
    """Arrays with any strides: sliced, reversed, transposed, broadcast."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    base = np.ones([dim * 2 for dim in shape], draw(st.sampled_from(dtypes)))
    steps = [draw(st.sampled_from([slice(dim), slice(None, None, 2)])) for dim in shape]
    view = base[tuple(steps)] if shape else base
    flips = tuple(draw(st.sampled_from([slice(None), slice(None, None, -1)])) for _ in shape)
    view = view[flips].transpose(draw(st.permutations(range(len(shape)))))
    if draw(st.booleans()):
        view = np.broadcast_to(view[..., None] if shape else view, (*view.shape, 3))
    return view


# ------------------------------------------------------------------------- descriptions


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 3, 4), (1, 1), (2, 1, 3)])
def test_contiguous(shape, order):
    description = BufferDescription.contiguous(F32, shape, order)
    expected = np.empty(shape, "f4", order)
    assert description == BufferDescription(F32, shape, expected.strides)
    assert (description.ndim, description.itemsize) == (len(shape), 4)
    assert description.nbytes == expected.nbytes
    assert description.is_contiguous(order)


def test_contiguous_takes_any_sequence_of_ints():
    assert BufferDescription.contiguous(F32, [np.int64(2), 3]).shape == (2, 3)


def test_descriptions_are_values():
    description = BufferDescription.contiguous(F32, (2, 3))
    assert eval(repr(description), {"BufferDescription": BufferDescription, "DType": DType}) == (
        description
    )
    assert hash(copy.deepcopy(description)) == hash(description)
    with pytest.raises(AttributeError):
        description.shape = ()
    assert str(description) == "float32[2x3] with strides (12, 4)"
    assert str(BufferDescription(shape=(2, None))) == "?[2x?]"


class Counted:
    def __index__(self):
        return 2


def test_dims_and_strides_are_any_integers():
    np = pytest.importorskip("numpy")
    for two, eight in (np.int64(2), np.uint8(8)), (Counted(), np.intp(8)):
        description = BufferDescription(F32, (two, None), (eight, two))
        assert description == BufferDescription(F32, (2, None), (8, 2))
        assert {*map(type, (description.shape[0], *description.strides))} == {int}
        assert hash(description) == hash(BufferDescription(F32, (2, None), (8, 2)))
    with pytest.raises(CallError, match=r"shape\[0\]: expected int, got float64"):
        BufferDescription(F32, (np.float64(2),))
    with pytest.raises(CallError, match=r"shape\[0\] is -2, expected at least 0"):
        BufferDescription(F32, (np.int8(-2),))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("f4",), r"dtype: expected DType, got str"),
        ((DType("signed", 4),), r"DType\.itemsize: an element of int4 "),
        ((F32, [2]), r"shape: expected tuple, got list"),
        ((F32, (2, "3")), r"shape\[1\]: expected int, got str"),
        ((F32, (2, -1)), r"shape\[1\] is -1, expected at least 0"),
        ((F32, (2,), [4]), r"strides: expected tuple, got list"),
        ((F32, (2,), (None,)), r"strides\[0\]: expected int, got NoneType"),
        ((F32, (2,), (8, 4)), r"strides: 2, expected one for each dim"),
        ((F32, None, (4,)), r"strides: 1, expected one for each dim"),
    ],
)
def test_bad_descriptions(arguments, message):
    with pytest.raises(CallError, match=f"^BufferDescription: {message}"):
        BufferDescription(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("f4", (2,)), r"dtype: expected DType, got str"),
        ((F32, 2), r"shape: expected a sequence of ints: "),
        ((F32, (2, None)), r"shape: expected a sequence of ints: "),
        ((F32, (2, -1)), r"shape\[1\] is -1, expected at least 0"),
        ((F32, (2,), "A"), r"order: expected \"C\" or \"F\", got 'A'"),
        ((DType("index", 64), (2,)), r"DType\.itemsize: "),
    ],
)
def test_bad_contiguous(arguments, message):
    with pytest.raises(CallError, match=rf"^BufferDescription\.contiguous: {message}"):
        BufferDescription.contiguous(*arguments)


@pytest.mark.parametrize(
    ("description", "part", "missing"),
    [
        (BufferDescription(), "ndim", "shape"),
        (BufferDescription(), "itemsize", "dtype"),
        (BufferDescription(F32, (2, None)), "nbytes", r"shape\[1\]"),
    ],
)
def test_properties_of_gaps(description, part, missing):
    with pytest.raises(CallError, match=f"{missing} is not specified"):
        getattr(description, part)


def test_contiguity_of_gaps():
    with pytest.raises(CallError, match="strides is not specified"):
        BufferDescription(F32, (2,)).is_contiguous()


def test_order_of_contiguity():
    with pytest.raises(CallError, match=r"^BufferDescription\.is_contiguous: order: expected"):
        BufferDescription(F32, (2,), (4,)).is_contiguous("A")


@given(numpy_arrays())
def test_description_is_numpys(given_array):
    description = raw.describe(given_array)
    assert description.dtype == DType.from_numpy(given_array.dtype)
    assert description.shape == given_array.shape
    assert description.nbytes == given_array.nbytes
    assert description.is_contiguous("C") == given_array.flags.c_contiguous
    assert description.is_contiguous("F") == given_array.flags.f_contiguous
    if 0 not in given_array.shape:  # strides of empty arrays are arbitrary
        dims = zip(given_array.shape, description.strides, given_array.strides, strict=True)
        assert all(dim == 1 or ours == theirs for dim, ours, theirs in dims)


# ---------------------------------------------------------------------------- describe


@pytest.mark.usefixtures("without_numpy")
@pytest.mark.parametrize(
    ("exporter", "expected"),
    [
        (b"abc", BufferDescription(U8, (3,), (1,))),
        (b"", BufferDescription(U8, (0,), (1,))),
        (bytearray(2), BufferDescription(U8, (2,), (1,))),
        (array.array("d", [1, 2]), BufferDescription(F64, (2,), (8,))),
        (array.array("b", [1]), BufferDescription(I8, (1,), (1,))),
        (memoryview(bytes(24)).cast("f", (2, 3)), BufferDescription(F32, (2, 3), (12, 4))),
        (memoryview(bytes(4)).cast("i", ()), BufferDescription(I32, (), ())),
        (memoryview(array.array("f", range(6)))[::-2], BufferDescription(F32, (3,), (-8,))),
        (((ctypes.c_double * 3) * 2)(), BufferDescription(F64, (2, 3), (24, 8))),
        (ctypes.c_int32(3), BufferDescription(I32, (), ())),
    ],
    ids=lambda value: type(value).__name__,
)
def test_describe_needs_no_numpy(exporter, expected):
    assert raw.describe(exporter) == expected


def test_describe_does_not_import_numpy(monkeypatch):
    monkeypatch.delitem(sys.modules, "numpy")
    raw.describe(bytearray(3))
    assert "numpy" not in sys.modules


def test_describe_leaves_the_exporter_free():
    exporter = bytearray(3)
    raw.describe(exporter)
    exporter.append(0)


def test_describe_numpy_strides():
    base = np.zeros((4, 6), "f4")
    assert raw.describe(base[::-1, ::2]) == BufferDescription(F32, (4, 3), (-24, 8))
    assert raw.describe(base.T) == BufferDescription(F32, (6, 4), (4, 24))
    assert raw.describe(np.broadcast_to(np.float32(1), (2, 3))).strides == (0, 0)
    assert raw.describe(np.float64(1)) == BufferDescription(F64, (), ())


def test_describe_what_the_buffer_protocol_does_not_carry():
    base = np.zeros((4, 6), ml_dtypes.bfloat16)
    assert raw.describe(base[:, ::-2]) == BufferDescription(BF16, (4, 3), (12, -4))
    e4m3fn = raw.describe(np.zeros(3, ml_dtypes.float8_e4m3fn))
    assert e4m3fn == BufferDescription(DType("float", 8, "e4m3fn"), (3,), (1,))
    assert raw.describe(ml_dtypes.bfloat16(1)) == BufferDescription(BF16, (), ())


def test_describe_interfaces():
    base = np.zeros((2, 3), "i4")
    wrapped = SimpleNamespace(__array_interface__=base.T.__array_interface__)
    assert raw.describe(wrapped) == BufferDescription(I32, (3, 2), (4, 12))
    assert raw.describe(OverDLPack(base)) == BufferDescription(I32, (2, 3), (12, 4))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0], r"expected an object with the buffer protocol, .*, got list"),
        (None, r".* got NoneType"),
        ("abc", r".* got str"),
        (1.5, r".* got float"),
        (np.zeros(2, f"{FOREIGN}f4"), r"DType\.from_numpy: .* byte order of this machine"),
        (np.zeros(2, f"{FOREIGN}c8"), r"DType\.from_numpy: .* byte order of this machine"),
        (np.zeros(2, "M8[s]"), r"DType\.from_numpy: dtype: no DType for datetime64\[s\]"),
        (np.zeros(2, object), r"DType\.from_numpy: dtype: no DType for object"),
        (np.zeros(2, "S1"), r"DType\.from_numpy: dtype: no DType for \|S1"),
        (np.zeros(2, "U2"), r"DType\.from_numpy: dtype: no DType for [<>]U2"),
        (
            np.zeros(2, [("x", "f4")]),
            r"DType\.from_numpy: dtype: no DType for \[\('x', '[<>]f4'\)\]",
        ),
        (np.zeros(2, ml_dtypes.int4), r".*an element of int4 is not a number of whole bytes"),
        (OverDLPack(None), r"NumPy cannot reach the memory of OverDLPack"),
        (SimpleNamespace(__array_interface__={}), r"NumPy cannot reach the memory of SimpleNam"),
    ],
    ids=repr,
)
def test_describe_refuses(value, message):
    with pytest.raises(CallError, match=f"^raw.describe: array: {message}"):
        raw.describe(value)


def test_describe_gives_the_reason():
    view = memoryview(b"abc")
    view.release()
    with pytest.raises(CallError, match="got memoryview") as caught:
        raw.describe(view)
    assert "released" in str(caught.value.__cause__)


def test_describe_refuses_suboffsets():
    testbuffer = pytest.importorskip("_testbuffer")
    indirect = testbuffer.ndarray(list(range(6)), shape=[2, 3], format="i", flags=testbuffer.ND_PIL)
    with pytest.raises(CallError, match="suboffsets"):
        raw.describe(indirect)


@pytest.mark.usefixtures("without_numpy")
def test_describe_names_missing_numpy():
    value = SimpleNamespace(__array_interface__={})
    with pytest.raises(CallError, match=r"reading SimpleNamespace: NumPy is not installed"):
        raw.describe(value)


# ------------------------------------------------------------------------------ oracle


@pytest.mark.parametrize(
    ("buffer_type", "value"),
    [
        (Buffer(F32, (2, 3)), np.zeros((2, 3), "f4")),
        (Buffer(F32, (None, 3)), np.zeros((2, 3), "f4")),
        (Buffer(F32, None), np.zeros((2, 3), "f4")),
        (Buffer(F32, ()), np.float32(1)),
        (Buffer(F32, (None, 3)), np.zeros((6, 3), "f4")[:0]),
        (Buffer(F32, (0, 3)), np.zeros((3, 0), "f4").T),
        (Buffer(F32, (1, 3)), np.zeros((4, 3), "f4")[::4]),
        (Buffer(F32, (3, 1)), np.zeros((1, 3), "f4").T),
        (Buffer(BF16, (4,)), np.zeros(4, ml_dtypes.bfloat16)),
        (Buffer(DType("signless", 32), (4,)), np.zeros(4, "i4")),
        (Buffer(DType("signless", 32), (4,)), np.zeros(4, "u4")),
        (Buffer(DType("bool", 1), (4,)), np.zeros(4, "?")),
    ],
)
def test_usable_as_it_is(buffer_type, value):
    description = raw.describe(value)
    assert raw.oracle(buffer_type, description) is description


@pytest.mark.parametrize(
    ("buffer_type", "value", "expected"),
    [
        (Buffer(F32, (2, 3)), np.zeros((2, 3)), (F32, (2, 3))),
        (Buffer(F32, (None, 3)), np.zeros((3, 2), "f4").T, (F32, (2, 3))),
        (Buffer(F32, None), np.zeros(4, "f4")[::-1], (F32, (4,))),
        (Buffer(F32, (None,)), np.broadcast_to(np.float32(1), 4), (F32, (4,))),
        (Buffer(F32, (None, 0)), np.zeros((2, 0), "i4"), (F32, (2, 0))),
        (Buffer(DType("signless", 32), (4,)), np.zeros(8, "u4")[::2], (U32, (4,))),
        (Buffer(DType("signless", 32), (4,)), np.zeros(4, "i8"), (DType("signless", 32), (4,))),
    ],
)
def test_completed(buffer_type, value, expected):
    answer = raw.oracle(buffer_type, raw.describe(value))
    assert answer == BufferDescription.contiguous(*expected)


@pytest.mark.parametrize(
    ("buffer_type", "wish", "expected"),
    [
        (Buffer(F32, (2, 3)), BufferDescription(), (F32, (2, 3))),
        (Buffer(F32, (None, 3)), BufferDescription(shape=(2, None)), (F32, (2, 3))),
        (Buffer(F32, (None, 3)), BufferDescription(F64, (2, 3)), (F32, (2, 3))),
        (Buffer(F32, None), BufferDescription(shape=(2, 3)), (F32, (2, 3))),
        (Buffer(F32, (2,)), BufferDescription(shape=(2,), strides=(4,)), (F32, (2,))),
    ],
)
def test_gaps_are_filled(buffer_type, wish, expected):
    answer = raw.oracle(buffer_type, wish)
    assert answer == BufferDescription.contiguous(*expected)
    assert raw.oracle(buffer_type, answer) is answer


@pytest.mark.parametrize(
    ("buffer_type", "description", "message"),
    [
        (Buffer(F32, (2,)), BufferDescription.contiguous(F32, ()), r"rank is 0, expected 1 for "),
        (
            Buffer(F32, (None, 4)),
            BufferDescription.contiguous(F32, (2, 3)),
            r"shape\[1\] is 3, expected 4 for float32\[\?x4\]$",
        ),
        (
            Buffer(F32, (0,)),
            BufferDescription.contiguous(F32, (2,)),
            r"shape\[0\] is 2, expected 0",
        ),
        (
            Buffer(F32, (2,)),
            BufferDescription.contiguous(F32, (0,)),
            r"shape\[0\] is 0, expected 2",
        ),
        (
            Buffer(F32, (2, None)),
            BufferDescription(F32, (2, None)),
            r"shape\[1\] is not specified, and dynamic in float32\[2x\?\]",
        ),
        (Buffer(F32, (None,)), BufferDescription(), r"shape\[0\] is not specified, and dynamic"),
        (
            Buffer(F32, None),
            BufferDescription(),
            r"shape is not specified, and has an unknown rank in ",
        ),
        (
            Buffer(I32, (2,)),
            BufferDescription.contiguous(F32, (2,)),
            r"dtype is float32, which does not convert to int32$",
        ),
        *(
            (
                Buffer(DType(wanted), (2,)),
                BufferDescription(DType(given), (2,)),
                rf"dtype is {given}, which does not convert to {wanted}$",
            )
            for given, wanted in (
                ("int64", "handle"),
                ("handle", "int64"),
                ("float32x4", "float32"),
                ("int8x4", "i8"),
            )
        ),
        (Buffer(DType("signed", 4), (2,)), BufferDescription.contiguous(I8, (2,)), r".*of int4 is"),
    ],
)
def test_inconvertible(buffer_type, description, message):
    with pytest.raises(CallError, match=rf"^raw\.oracle: description: {message}"):
        raw.oracle(buffer_type, description)


def test_bad_arguments():
    description = BufferDescription.contiguous(F32, (2,))
    with pytest.raises(CallError, match=r"^raw\.oracle: buffer_type: expected Buffer, got Scalar"):
        raw.oracle(Scalar(F32), description)
    with pytest.raises(CallError, match=r"description: expected BufferDescription, got bytes"):
        raw.oracle(Buffer(F32, (2,)), b"1234")


NUMPY_TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "F", "D"]


def _converts(source, target):
    try:
        return raw.oracle(Buffer(target, (2,)), BufferDescription.contiguous(source, (2,)))
    except CallError:
        return None


@pytest.mark.parametrize("source", NUMPY_TYPES)
@pytest.mark.parametrize("target", NUMPY_TYPES)
def test_conversions_are_numpys_same_kind_without_sign_changes(source, target):
    expected = np.can_cast(source, target, "same_kind")
    if source[0] == "u" and target[0] == "i":
        expected = np.can_cast(source, target, "safe")
    answer = _converts(DType.from_numpy(source), DType.from_numpy(target))
    assert (answer is not None) == expected
    assert answer is None or answer.dtype == DType.from_numpy(target)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (F32, BF16, True),
        (BF16, F32, True),
        (BF16, DType("float", 16), True),
        (I32, BF16, True),
        (BF16, I32, False),
        (F32, DType("float", 8, "e4m3fn"), True),
        (DType("float", 8, "e4m3fn"), DType("float", 8, "e5m2"), True),
        (DType("float", 8, "e4m3fn"), BF16, True),
        (F32, DType("float", 8, "e8m0fnu"), False),
        (I8, DType("float", 8, "e8m0fnu"), False),
        (DType("float", 8, "e8m0fnu"), F32, True),
        (I64, DType("signless", 32), True),
        (U8, DType("signless", 32), True),
        (F32, DType("signless", 32), False),
        (DType("signless", 32), I32, True),
        (DType("signless", 32), U32, True),
        (DType("signless", 32), I64, False),
        (DType("signless", 32), F64, False),
        (U64, DType("bool", 1), False),
        (I64, DType("index", 64), False),
    ],
    ids=str,
)
def test_conversions_that_numpy_does_not_have(source, target, expected):
    assert (_converts(source, target) is not None) == expected


@given(st.data())
def test_a_converted_array_is_usable_as_it_is(data):
    dtype = data.draw(st.sampled_from([F32, BF16, I64, DType("signless", 32)]))
    integers = (
        ("?", "i1", "i4", "u4") if dtype in (I64, DType("signless", 32)) else ("u1", "f4", "f8")
    )
    value = data.draw(numpy_arrays(dtypes=(*integers, dtype.to_numpy())))
    dims = st.tuples(*(st.sampled_from([None, dim]) for dim in value.shape))
    buffer_type = Buffer(dtype, data.draw(st.one_of(dims, st.none())))
    description = raw.describe(value)

    answer = raw.oracle(buffer_type, description)
    converted = np.empty(answer.shape, answer.dtype.to_numpy())
    converted[...] = value
    again = raw.describe(converted)
    assert raw.oracle(buffer_type, answer) is answer
    assert raw.oracle(buffer_type, again) is again
    assert again.nbytes == answer.nbytes
    assert (converted == value).all()
    usable = value.flags.c_contiguous and (
        value.dtype == converted.dtype or (dtype.kind == "signless" and value.dtype == "u4")
    )
    assert (answer is description) == usable


@pytest.mark.parametrize("rank", [8, 200_000])
def test_huge_dims_neither_overflow_nor_hang(rank):
    dim = 2**31 - 1
    with pytest.raises(
        CallError, match=r"^raw\.oracle: description: size is larger than this mach"
    ):
        raw.oracle(Buffer(F32, (dim,) * rank), BufferDescription())
    assert BufferDescription(F32, (dim,) * 8).nbytes == 4 * dim**8
    assert raw.oracle(Buffer(F32, (dim, 0, dim)), BufferDescription()).nbytes == 0
    assert raw.oracle(Buffer(U8, (sys.maxsize,)), BufferDescription()).nbytes == sys.maxsize


# ------------------------------------------------------------------------ dynamic dims

SIGNATURE = Signature(
    inputs=(Buffer(I32, (None, 4, None)), Ref(), Buffer(F32, (2, None))),
    results=(Buffer(F32, (None, 3)), Buffer(F32, (2, 3)), Unknown(), Buffer(F32, (None,))),
)
ARRAYS = (np.zeros((7, 4, 8), "i4"), None, np.zeros((2, 5), "f4"))


def test_dynamic_dims():
    assert raw.dynamic_dims(SIGNATURE, ARRAYS) == (7, 8, 5)
    assert raw.dynamic_dims(SIGNATURE, [*ARRAYS[:2], raw.describe(ARRAYS[2])]) == (7, 8, 5)
    assert raw.dynamic_dims(Signature((), ()), ()) == ()


def test_dynamic_dims_of_arrays_that_have_to_be_converted():
    assert raw.dynamic_dims(SIGNATURE, (ARRAYS[0][::-1], None, np.zeros((5, 2)).T)) == (7, 8, 5)


def test_dynamic_dims_of_unknown_ranks():
    signature = Signature((Buffer(F32, None), Buffer(F32, ()), Scalar(I32)), ())
    assert raw.dynamic_dims(signature, (np.zeros((2, 3), "f4"), np.float32(1), 7)) == (2, 3)


def test_names_of_arguments_and_results_are_ignored():
    named = Signature.parse("(x: float32[?x3], y: int32) -> (z: float32[?], float32[2])")
    arrays = [np.zeros((4, 3), np.float32), 5]
    dims = raw.dynamic_dims(named, arrays)
    assert dims == raw.dynamic_dims(named.without_names(), arrays) == (4,)
    first, second = raw.allocate_results(named, lambda dims: [np.zeros(dims, np.float32)], dims)
    assert (first.shape, second.shape) == ((4,), (2,))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (ARRAYS[:2], r"arrays: expected 3, got 2"),
        (np.zeros(3), r"arrays: expected tuple or list, got ndarray"),
        ((*ARRAYS[:2], [1]), r"arrays\[2\]: expected an object with the buffer protocol"),
        ((*ARRAYS[:2], np.zeros((3, 5), "f4")), r"arrays\[2\]: shape\[0\] is 3, expected 2"),
        ((*ARRAYS[:2], np.zeros(5, "f4")), r"arrays\[2\]: rank is 1, expected 2"),
        ((np.zeros((7, 4, 8)), *ARRAYS[1:]), r"arrays\[0\]: dtype is float64, which does not "),
    ],
)
def test_dynamic_dims_refuses(arrays, message):
    with pytest.raises(CallError, match=rf"^raw\.dynamic_dims: {message}"):
        raw.dynamic_dims(SIGNATURE, arrays)


def test_dynamic_dims_takes_a_signature():
    with pytest.raises(CallError, match="signature: expected Signature, got bytes"):
        raw.dynamic_dims(b"I1!R1!", ())


# ------------------------------------------------------------------------- allocation


def test_static_results_are_allocated():
    signature = Signature((), (Buffer(F32, (2, 3)), Scalar(I32), Ref(), Buffer(BF16, (0, 4))))
    first, *empty, last = raw.allocate_results(signature)
    assert (first.dtype, first.shape, first.any()) == (np.float32, (2, 3), False)
    assert empty == [None, None]
    assert (last.dtype, last.shape) == (ml_dtypes.bfloat16, (0, 4))
    for type, buffer in ((signature.results[0], first), (signature.results[3], last)):
        description = raw.describe(buffer)
        assert raw.oracle(type, description) is description


def test_static_results_ask_nobody():
    results = (Buffer(F32, (2,)), Unknown())
    signature = Signature((Buffer(F32, (None,)),), results)
    assert len(raw.allocate_results(signature, pytest.fail, (3,))) == 2
    assert raw.allocate_results(Signature((), ())) == []


@pytest.mark.usefixtures("without_numpy")
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
@pytest.mark.parametrize(
    "dtype", [F32, F64, I8, I64, U8, DType("bool", 1), DType("signless", 16)], ids=str
)
def test_allocation_without_numpy(dtype, shape):
    buffer_type = Buffer(dtype, shape)
    (buffer,) = raw.allocate_results(Signature((), (buffer_type,)))
    assert isinstance(buffer, memoryview)
    assert not any(buffer.tobytes())
    assert not buffer.readonly
    description = raw.describe(buffer)
    assert description.shape == shape
    assert raw.oracle(buffer_type, description) is description


@pytest.mark.usefixtures("without_numpy")
@pytest.mark.parametrize(
    "buffer_type",
    [
        Buffer(BF16, (2,)),
        Buffer(DType("float", 16), ()),
        Buffer(F32, (2, 0)),
        Buffer(F32, (1,) * 65),
    ],
    ids=str,
)
def test_allocation_that_needs_numpy(buffer_type):
    with pytest.raises(CallError, match=r"results\[0\]: memory for .* needs NumPy"):
        raw.allocate_results(Signature((), (buffer_type,)))


@pytest.mark.parametrize(
    ("buffer_type", "message"),
    [
        (Buffer(F32, (2**31,) * 3), r"size is larger than this machine can address"),
        (Buffer(F32, (2**31, 2**31, 0)), r".*too big"),
        (Buffer(F32, (1,) * 100), r".*dimension"),
        (Buffer(DType("signed", 128), (2,)), r"DType\.to_numpy: neither"),
        (Buffer(DType("index", 64), (2,)), r"DType\.itemsize: "),
    ],
    ids=["bytes", "empty", "rank", "int128", "index"],
)
def test_impossible_allocation(buffer_type, message):
    with pytest.raises(CallError, match=rf"^raw\.allocate_results: results\[1\]: {message}"):
        raw.allocate_results(Signature((), (Ref(), buffer_type)))


def test_dynamic_results_come_from_the_allocator():
    calls = []
    first = np.zeros((7, 3), "f4")

    def allocator(dims):
        calls.append(dims)
        return first, None

    results = raw.allocate_results(SIGNATURE, allocator, raw.dynamic_dims(SIGNATURE, ARRAYS))
    assert calls == [(7, 8, 5)]
    assert results[0] is first
    assert results[1].shape == (2, 3)
    assert results[2:] == [None, None]


def test_an_unknown_rank_is_dynamic():
    signature = Signature((Buffer(F32, None),), (Buffer(F32, None),))
    buffer = bytearray(8)
    view = memoryview(buffer).cast("f")
    assert raw.allocate_results(signature, lambda dims: [view], (2, 1)) == [view]
    assert raw.allocate_results(signature, lambda dims: [None]) == [None]


def test_no_allocator():
    expected = r"results\[0\] is float32\[\?x3\]: expected allocator, .* fbr .* raw\.dynamic_dims"
    for allocator in (None, 3):
        with pytest.raises(CallError, match=rf"^raw\.allocate_results: {expected}"):
            raw.allocate_results(SIGNATURE, allocator)


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ((), r"dims: expected 3, the dynamic dims of the inputs .*, got 0"),
        ((1, 2, 3, 4), r"dims: expected 3, .*, got 4"),
        ((1, 2, -3), r"dims\[2\] is -3, expected at least 0"),
        ((1, 2, None), r"dims: expected a sequence of ints"),
    ],
)
def test_bad_dims(dims, message):
    with pytest.raises(CallError, match=rf"^raw\.allocate_results: {message}"):
        raw.allocate_results(SIGNATURE, pytest.fail, dims)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, r"the allocator's result: expected tuple or list, got NoneType"),
        (np.zeros((2, 3)), r"the allocator's result: expected tuple or list, got ndarray"),
        ((None,), r"the allocator's result: expected 2 buffers, .*, got 1"),
        ((None, 3.0), r"results\[3\]: expected an object with the buffer protocol"),
        ((None, np.zeros((2, 2), "f4")), r"results\[3\]: rank is 2, expected 1"),
        ((np.zeros((7, 4), "f4"), None), r"results\[0\]: shape\[1\] is 4, expected 3"),
        (
            (np.zeros((7, 3)), None),
            r"results\[0\]: float64\[7x3\] with strides \(24, 8\) cannot be passed as it is,"
            r" expected float32\[7x3\] with strides \(12, 4\)",
        ),
        ((np.zeros((3, 7), "f4").T, None), r"results\[0\]: float32\[7x3\] .* cannot be passed"),
        ((None, memoryview(bytes(8)).cast("f")), r"results\[3\]: memory is read-only"),
    ],
)
def test_bad_allocators(given, message):
    with pytest.raises(CallError, match=rf"^raw\.allocate_results: {message}"):
        raw.allocate_results(SIGNATURE, lambda dims: given, (7, 8, 5))


def test_read_only_results_beside_the_buffer_protocol():
    signature = Signature((), (Buffer(BF16, (None,)),))
    value = np.zeros(3, ml_dtypes.bfloat16)
    assert raw.allocate_results(signature, lambda dims: (value,)) == [value]
    value.flags.writeable = False
    with pytest.raises(CallError, match=r"results\[0\]: memory is read-only"):
        raw.allocate_results(signature, lambda dims: (value,))


def test_results_over_dlpack_need_no_flag():
    given = OverDLPack(np.zeros(3, "f4"))
    signature = Signature((), (Buffer(F32, (None,)),))
    assert raw.allocate_results(signature, lambda dims: (given,)) == [given]


def test_the_allocators_own_errors_pass():
    with pytest.raises(CallError, match=r"^mine$"):
        raw.allocate_results(SIGNATURE, _failing, (7, 8, 5))


def _failing(dims):
    raise CallError("mine")


def test_allocate_results_takes_a_signature():
    with pytest.raises(CallError, match="signature: expected Signature, got bytes"):
        raw.allocate_results(b"I1!R1!")


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (Buffer("float32", (2,)), r"\.dtype: expected DType, got str"),
        (Buffer(DType("float32"), 2), r"\.shape: expected tuple or list, got int"),
        (Buffer(DType("float32"), (None, "x")), r"\.shape\[1\]: expected int, got str"),
    ],
    ids=["dtype", "shape", "dim"],
)
def test_buffers_of_other_values_than_they_have(wrong: Buffer, fault: str) -> None:
    for description in (BufferDescription(), raw.describe(array.array("f", [1, 2]))):
        with pytest.raises(TypeError, match=rf"^raw\.oracle: buffer_type{fault}$"):
            raw.oracle(wrong, description)
    with pytest.raises(TypeError, match=rf"^raw\.dynamic_dims: signature\.inputs\[0\]{fault}$"):
        raw.dynamic_dims(Signature((wrong,), ()), [BufferDescription()])
    with pytest.raises(TypeError, match=rf"^raw\.allocate_results: signature\.results\[0\]{fault}"):
        raw.allocate_results(Signature((), (wrong,)))
