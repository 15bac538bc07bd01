"""Element types: sizes, NumPy dtypes, buffer formats."""

import subprocess
import sys

import pytest

from fnabi import CallError
from fnabi.types import DType

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")

PAIRS = [
    *((DType("signed", bits), f"int{bits}") for bits in (8, 16, 32, 64)),
    *((DType("unsigned", bits), f"uint{bits}") for bits in (8, 16, 32, 64)),
    *((DType("float", bits), f"float{bits}") for bits in (16, 32, 64)),
    *((DType("complex", bits), f"complex{bits}") for bits in (64, 128)),
    (DType("bool", 1), "bool"),
    (DType("bfloat", 16), ml_dtypes.bfloat16),
    (DType("float", 8, "e4m3fn"), ml_dtypes.float8_e4m3fn),
    (DType("float", 8, "e5m2"), ml_dtypes.float8_e5m2),
    (DType("float", 8, "e4m3b11fnuz"), ml_dtypes.float8_e4m3b11fnuz),
    (DType("signed", 4), ml_dtypes.int4),
    (DType("unsigned", 4), ml_dtypes.uint4),
]


@pytest.mark.parametrize(("dtype", "numpy_dtype"), PAIRS, ids=str)
def test_numpy_both_ways(dtype, numpy_dtype):
    assert dtype.to_numpy() == np.dtype(numpy_dtype)
    assert DType.from_numpy(numpy_dtype) == dtype
    assert DType.from_numpy(np.dtype(numpy_dtype)) == dtype


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_signless_integers_become_signed_ones(bits):
    assert DType("signless", bits).to_numpy() == np.dtype(f"int{bits}")


@pytest.mark.parametrize(
    "dtype",
    [
        DType("index", 64),
        DType("signed", 128),
        DType("float", 128),
        DType("complex", 256),
        DType("float", 19, "tf32"),
        DType("float", 8, "e1m6"),
    ],
    ids=str,
)
def test_unmappable_dtypes_are_named(dtype):
    with pytest.raises(CallError, match=rf"^DType\.to_numpy: neither .* has {dtype}$"):
        dtype.to_numpy()


# Where a long double is a double, it is one that DType can express.
LONG_DOUBLES = ("g", "G") if np.dtype("g") != "f8" else ()


@pytest.mark.parametrize(
    "dtype",
    [None, "foo", {}, "O", "U3", "M8[s]", "V4", [("x", "f4")], ("f4", (2,)), *LONG_DOUBLES],
    ids=str,
)
def test_from_numpy_refuses_what_dtype_cannot_express(dtype):
    with pytest.raises(CallError, match=r"^DType\.from_numpy: dtype: "):
        DType.from_numpy(dtype)


def test_from_numpy_refuses_the_other_byte_order():
    foreign = np.dtype("f4").newbyteorder("S")
    with pytest.raises(CallError, match=r"byte order of this machine; convert with"):
        DType.from_numpy(foreign)
    assert DType.from_numpy(foreign.newbyteorder("=")) == DType("float", 32)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert DType("float", 32).to_numpy() == np.dtype("f4")
    with pytest.raises(CallError, match=r"NumPy has no bfloat16, and ml_dtypes is not installed"):
        DType("bfloat", 16).to_numpy()
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(CallError, match=r"^DType\.to_numpy: NumPy is not installed"):
        DType("float", 32).to_numpy()
    with pytest.raises(CallError, match=r"^DType\.from_numpy: NumPy is not installed"):
        DType.from_numpy("f4")


@pytest.mark.parametrize(("dtype", "numpy_dtype"), PAIRS, ids=str)
def test_itemsize(dtype, numpy_dtype):
    if dtype.bits == 4:
        with pytest.raises(CallError, match=r"^DType\.itemsize: an element of u?int4 is not"):
            _ = dtype.itemsize
    else:
        assert dtype.itemsize == np.dtype(numpy_dtype).itemsize


@pytest.mark.parametrize("dtype", [DType("index", 64), DType("signed", 0), DType("signed", -8)])
def test_no_itemsize(dtype):
    with pytest.raises(CallError, match=r"^DType\.itemsize: "):
        _ = dtype.itemsize


@pytest.mark.parametrize("order", ["", "@", "=", "<" if sys.byteorder == "little" else ">"])
@pytest.mark.parametrize("code", ["Zf", "Zd", *"bBhHiIlLqQefd?"])
def test_formats_agree_with_numpy(order, code):
    name = {"Zf": "F", "Zd": "D"}.get(code, code)
    standard = {"l": "i", "L": "I"}.get(name, name) if order not in ("", "@") else name
    assert DType.from_format(order + code) == DType.from_numpy(standard)


def test_other_format_codes():
    assert DType.from_format("n") == DType.from_numpy(np.intp)
    assert DType.from_format("@N") == DType.from_numpy(np.uintp)
    assert DType.from_format("F") == DType("complex", 64)
    assert DType.from_format("D") == DType("complex", 128)


@pytest.mark.parametrize("code", ["f", "Zd", "h", "q"])
def test_formats_of_the_other_byte_order_are_refused(code):
    foreign = ">" if sys.byteorder == "little" else "<"
    with pytest.raises(CallError, match=r"is not in the byte order of this machine"):
        DType.from_format(foreign + code)
    assert DType.from_format(foreign + "b") == DType("signed", 8)


@pytest.mark.parametrize("format", ["", "2f", "ff", "g", "Zg", "c", "O", "T{f:x:}", "=n", None, 1])
def test_bad_formats(format):
    with pytest.raises(CallError, match=r"^DType\.from_format: format: "):
        DType.from_format(format)


def test_import_loads_neither_numpy_nor_ml_dtypes():
    code = "import fnabi, sys; sys.exit(bool({'numpy', 'ml_dtypes'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
