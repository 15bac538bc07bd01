"""Element types: sizes, NumPy dtypes, buffer formats."""

import enum
import re
import subprocess
import sys
import time

import pytest

from fnabi import CallError, FormatError, declaration, iree_abi, pattern, raw
from fnabi.errors import ArgumentTypeError, ArgumentValueError, RangeError
from fnabi.types import Buffer, DType, Scalar, Signature

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
if hasattr(ml_dtypes, "bcomplex32"):  # since ml_dtypes 0.6
    PAIRS += [
        (DType("complex", 32), ml_dtypes.complex32),
        (DType("complex", 32, "bf16"), ml_dtypes.bcomplex32),
    ]


@pytest.mark.parametrize(("dtype", "numpy_dtype"), PAIRS, ids=str)
def test_numpy_both_ways(dtype, numpy_dtype):
    assert dtype.to_numpy() == np.dtype(numpy_dtype)
    assert DType.from_numpy(numpy_dtype) == dtype
    assert DType.from_numpy(np.dtype(numpy_dtype)) == dtype


@pytest.mark.parametrize(
    ("text", "meant"),
    [("double", "float64"), ("u8", "uint8"), ("f32", "float32"), ("fp16", "float16")],
)
def test_names_of_other_languages_are_understood_but_refused(text, meant):
    with pytest.raises(CallError, match=f"got '{text}'; did you mean {meant}\\?$"):
        DType.parse(text)
    with pytest.raises(FormatError, match=f"unknown type '{text}' at byte 1, expected {meant}\n"):
        Signature.parse(f"({text}) -> ()")
    for wrong in ("string", f"f{'9' * 20}"):
        with pytest.raises(CallError, match=f"got '{wrong}'$"):
            DType.parse(wrong)


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


# If a long double is a double, DType can express it.
LONG_DOUBLES = ("g", "G") if np.dtype("g") != "f8" else ()


@pytest.mark.parametrize(
    "dtype",
    [None, "foo", {}, "O", "U3", "M8[s]", "V4", [("x", "f4")], ("f4", (2,)), *LONG_DOUBLES],
    ids=str,
)
def test_from_numpy_refuses_what_dtype_cannot_express(dtype):
    with pytest.raises(CallError, match=r"^DType\.from_numpy: dtype: "):
        DType.from_numpy(dtype)


def test_from_numpy_refuses_what_is_no_dtype():
    with pytest.raises(ArgumentValueError, match=r"^DType\.from_numpy: dtype: .*'foo'"):
        DType.from_numpy("foo")
    with pytest.raises(ArgumentTypeError, match="dtype: expected a NumPy dtype, got int"):
        DType.from_numpy(7)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ArgumentTypeError, match="dtype: expected a NumPy dtype, got list"):
        DType.from_numpy(deep)


def test_from_numpy_refuses_the_other_byte_order():
    foreign = np.dtype("f4").newbyteorder("S")
    with pytest.raises(CallError, match=r"byte order of this machine; convert with"):
        DType.from_numpy(foreign)
    assert DType.from_numpy(foreign.newbyteorder("=")) == DType("float", 32)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr("fnabi._base.dtype._numpy_of", {})
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert DType("float", 32).to_numpy() == np.dtype("f4")
    with pytest.raises(CallError, match=r"NumPy has no bfloat16, and ml_dtypes is not installed"):
        DType("bfloat", 16).to_numpy()
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(CallError, match=r"^DType\.to_numpy: NumPy is not installed"):
        DType("float", 32).to_numpy()
    with pytest.raises(CallError, match=r"^DType\.from_numpy: NumPy is not installed"):
        DType.from_numpy("f4")


def test_a_numpy_that_cannot_be_imported_is_not_called_missing(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.partition(".")[0] == "numpy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "numpy.py").write_text(
        "try:\n    import fnabi.no_part\n"
        "except ImportError as problem:\n    raise ImportError('advice\\n' * 20) from problem\n"
    )
    text = "DType.from_numpy: NumPy cannot be imported: No module named 'fnabi.no_part'"
    with pytest.raises(CallError, match=f"^{re.escape(text)}$"):
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


def test_lanes():
    vector = DType("float", 32, lanes=4)
    assert str(vector) == "float32x4"
    assert repr(vector) == "DType(kind='float', bits=32, lanes=4)"
    assert repr(DType("float", 8, "e5m2")) == "DType(kind='float', bits=8, format='e5m2')"
    assert vector != DType("float", 32)
    assert vector.itemsize == 16
    assert vector.to_numpy() == np.dtype(("f4", (4,)))
    assert np.zeros(3, vector.to_numpy()).shape == (3, 4)
    assert DType("signed", 4, lanes=2).itemsize == 1
    assert DType("bool", 1, lanes=8).itemsize == 8
    assert str(DType("float", 4, "e2m1fn", 2)) == "float4_e2m1fnx2"
    many = (DType("float", 32, lanes=lanes) for lanes in (0, -1, 2**29, 2**31, 2**62))
    for bad in (DType("signed", 4, lanes=2), *many):
        with pytest.raises(CallError, match=r"^DType\.to_numpy: NumPy has no "):
            bad.to_numpy()


def test_texts_have_at_most_nine_digits():
    assert DType.parse("int000000032") == DType("signed", 32)
    assert DType.parse("int32x0000002") == DType("signed", 32, lanes=2)
    for text in ("int0000000032", "int32x00000002", f"int{'9' * 5000}"):
        with pytest.raises(CallError, match="no dtype has the name"):
            DType.parse(text)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**5000], ids=["large", "low", "huge"])
def test_numbers_fit_in_int64(number: int) -> None:
    for name, values in ("bits", (number,)), ("lanes", (32, "", number)):
        with pytest.raises(RangeError, match=rf"^DType: {name}: .* does not fit in int64$"):
            DType("float", *values)


def test_handles():
    assert str(DType("handle", 64)) == "handle"
    assert str(DType("handle", 32)) == "handle32"
    assert DType("handle", 64).itemsize == 8
    with pytest.raises(CallError, match=r"neither NumPy nor ml_dtypes .* has handle"):
        DType("handle", 64).to_numpy()


VECTOR = DType("signed", 32, lanes=2)


@pytest.mark.parametrize(
    ("dtype", "text"), [(VECTOR, "a DType of one lane"), (DType("handle", 64), "")], ids=str
)
@pytest.mark.parametrize("encode", [raw.encode, iree_abi.encode])
def test_texts_have_neither_lanes_nor_handles(encode, dtype, text):
    for type in (Scalar(dtype), Buffer(dtype, (1,))):
        with pytest.raises(CallError, match=rf"inputs\[0\]\S*\.dtype: .*expected.*{text}"):
            encode(Signature((type,), ()))


def test_import_loads_neither_numpy_nor_ml_dtypes():
    code = "import fnabi, sys; sys.exit(bool({'numpy', 'ml_dtypes'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


PARTS = (
    *("f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2", "f8E5M2FNUZ"),
    *("f8E8M0FNU", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN", "tf32", "bf16", "f16", "f64", "f80"),
    *("f128", "i1", "i7", "si7", "ui7", "index"),
)


@pytest.mark.parametrize("element", [*PARTS, *(f"complex<{part}>" for part in PARTS)])
def test_names_of_all_that_compilers_declare(element):
    signature = declaration.parse(f"func @f(%x: tensor<4x{element}>) -> ()").signature
    dtype = signature.inputs[0].dtype
    assert dtype is not None
    assert DType.parse(str(dtype)) == DType(str(dtype)) == dtype
    assert Signature.parse(str(signature)) == signature
    assert pattern.parse(str(signature)).inputs[0].type.dtype == dtype


@pytest.mark.parametrize(
    "name",
    [
        *("float32_foo", "float32_bf16", "float8_i8", "complex64_e4m3", "int8_tf32", "complex64_"),
        *("complex64_i", "bfloat16_tf32", "i8_bf16"),
        *("float8_e4m3fnx4x4", "float8_e4m3fn_x4x4", "complex16_f8E4M3FNx4x4"),
    ],
)
def test_formats_of_other_kinds(name):
    with pytest.raises(CallError):
        DType.parse(name)


@pytest.mark.parametrize("name", ["a" * 10**6, "float" + "1" * 10**6])
def test_errors_show_the_start_of_a_long_name(name):
    with pytest.raises(CallError) as caught:
        DType(name)
    assert name[:30] in str(caught.value)
    assert len(str(caught.value)) < 400


def test_names_and_kinds() -> None:
    assert DType("float32") == DType.parse("float32") == DType("float", 32)
    for text in ("bool", "index", "handle", "void", "int8x4", "i8", "float8_e4m3fn", "bfloat16"):
        assert str(DType(text)) == text
    assert DType(str(DType("index", 32))) == DType("index", 32)
    assert DType("float4_e2m1fn_x2") == DType("float", 4, "e2m1fn", 2)
    for wrong in ("float", "float32 ", "int8_e4m3", "voidx2", "x4", "", 3, None):
        with pytest.raises(CallError, match=r"^DType: "):
            DType(wrong)
    with pytest.raises(CallError, match=r"^DType: kind: expected one of signed, .*, got 'float32'"):
        DType("float32", 32)
    with pytest.raises(CallError, match=r"^DType: bits: expected int, got str"):
        DType("float", "32")  # type: ignore[arg-type]
    for more in ({"lanes": 4}, {"format": "tf32"}, {"format": "", "lanes": 0}):
        with pytest.raises(CallError, match=r"^DType: bits: missing beside format and lanes"):
            DType("float32", **more)  # type: ignore[arg-type]


def test_long_names_take_linear_time() -> None:
    for text in ("float8_e1m" + "1" * 30_000 + "_", "float8_e1m" + "x1" * 30_000 + "_"):
        before = time.process_time()
        for parse in (DType.parse, Signature.parse):
            with pytest.raises(
                ValueError, match=r"^(DType\.parse: text: expected|malf|unknown ty)"
            ):
                parse(text if parse == DType.parse else f"({text}) -> ()")
        assert time.process_time() - before < 5


def test_members_of_enums_and_bools_become_plain_values() -> None:
    class Kind(enum.StrEnum):
        FLOAT = "float"

    class Bits(enum.IntEnum):
        WORD = 32

    made = DType(Kind.FLOAT, Bits.WORD, "", True)
    assert repr(made) == "DType(kind='float', bits=32)"
    assert (str(made), str(DType("signless", True))) == ("float32", "i1")
