"""Columns have the values of parsing each text alone, whatever the input and the consumer."""

from __future__ import annotations

import gc
import io
import random
import subprocess
import sys
import threading
from array import array
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fnabi
from fnabi import (
    ArgumentValueError,
    CallError,
    Columns,
    FormatError,
    cconv,
    declaration,
    iree_abi,
    raw,
    sip,
)
from fnabi._base.capsule import Excess
from fnabi._fnabi import lib
from fnabi.many.columns import Abi, RowError
from fnabi.many.columns import _part as columns_part
from fnabi.many.columns import _split as columns_split
from support import strategies, vectors
from support.nodes import nodes_of
from support.outcomes import outcome_of
from support.sanitizers import examples

PARSE: dict[Abi, Callable[[bytes], Any]] = {
    "raw": raw.parse,
    "sip": sip.parse,
    "cconv": cconv.parse,
    "iree_abi": iree_abi.parse,
    "declaration": declaration.parse,
}

IREE_ABI = [
    b'{"a":[["named","x",["sdict",["k","i32"],["",["stuple","f32","unknown"]]]]],"r":["bf16"]}',
    b'{"r":[["ndarray",["slist","i8"],1,null],["py_homogeneous_list","i8"]],"a":[null]}',
    b'{"a":[["ndarray","f8E4M3FN",2,3,null],["ndarray","i1",0]],"r":[],"x":{"y":[1]}}',
    b'{"a":[["named","\\ud800","i8"]],"r":[]}',
    b'{"a":[]}',
    b"",
]
CCONV = [b"0rIi_r", b"0v_v", b"0", b"", b"0iCiID_r", b"0x", b"1i_i", b"0C_", b"0fF_\xff"]
DECLARATIONS = [
    b"sync func @f(%a: tensor<?x8xf32>, %b: i32 {k = 1}) -> (%c: tensor<*xi8>)",
    b"sync func @f(%input0: !hal.buffer, %input1: !vm.ref<?>) -> (%output0: !util.list<i32>)",
    b"async func @f(%\xff: tensor<3xi8> {iree.abi.encoding = tensor<3xui8>}) -> ()",
    b"%x: complex<f32>",
    b"anything",
]
TEXTS: dict[Abi, list[bytes]] = {
    "raw": [*vectors.inputs("raw", "tokens"), *vectors.inputs("sip")[:100]],
    "sip": [*vectors.inputs("sip"), *vectors.inputs("raw")[:100]],
    "cconv": CCONV,
    "iree_abi": IREE_ABI,
    "declaration": DECLARATIONS,
}


def span(tag: bytes, contents: bytes) -> bytes:
    return b"%s%d!%s" % (tag, len(contents) + 1, contents)


def outcomes(columns: Columns) -> list[Any]:
    return [outcome_of(columns.__getitem__, row) for row in range(len(columns))]


# ---------------------------------------------------------- the contents of columns, without a core


def register_nodes(item: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(item, cconv.Span):
        yield lib.FNABI_TYPE_HOMOGENEOUS_LIST, None, None, 0, None, None
        yield lib.FNABI_TYPE_TUPLE, None, None, 1, None, None
    depth = 2 if isinstance(item, cconv.Span) else 0
    for register in item.items if isinstance(item, cconv.Span) else [item]:
        dtype = {"f32": "float32", "f64": "float64", "ref": None}.get(register, register)
        kind = lib.FNABI_TYPE_SCALAR if dtype else lib.FNABI_TYPE_REF
        yield kind, dtype, None, depth, None, None


def sip_nodes(node: sip.Node | None, depth: int = 0, key: Any = None) -> Iterator[tuple[Any, ...]]:
    """Yield kind, index, position, key and depth of each node."""
    if node is None:
        return
    position, name = (key, None) if isinstance(key, int) else (None, key)
    if isinstance(node, sip.Leaf):
        yield lib.FNABI_SIP_LEAF, node.index, position, name, depth
        return
    sequence = isinstance(node, sip.Sequence)
    kind = lib.FNABI_SIP_SEQUENCE if sequence else lib.FNABI_SIP_DICT
    yield kind, None, position, name, depth
    for child_key, child in node.children:
        yield from sip_nodes(child, depth + 1, child_key)


def expected_nodes(abi: Abi, value: Any) -> tuple[list[Any], list[Any]]:
    if abi == "sip":
        return list(sip_nodes(value.inputs)), list(sip_nodes(value.results))
    if abi == "cconv":
        arguments = [node for item in value.arguments for node in register_nodes(item)]
        return arguments, [node for item in value.results for node in register_nodes(item)]
    signature = value.signature if abi == "declaration" else value
    sides = [
        [node for type in side for node in nodes_of(type)]
        for side in (signature.inputs, signature.results)
    ]
    return sides[0], sides[1]


def found_nodes(columns: Columns, side: str) -> list[list[Any]]:
    """Return the same from the arrays."""
    arrays = {name: part.tolist() for name, part in columns.to_numpy().items()}

    def part(name: str) -> Any:
        return arrays[f"{side}.{name}"]

    def text(of: str, ends: str, i: int) -> str:
        ends = part(ends)
        return bytes(part(of)[ends[i] : ends[i + 1]]).decode("utf-8", "surrogateescape")

    def dims(i: int) -> tuple[int | None, ...]:
        ends = part("shape_offsets")
        return tuple(None if d < 0 else d for d in part("dims")[ends[i] : ends[i + 1]])

    def node(i: int) -> tuple[Any, ...]:
        kind = part("kind")[i]
        if columns.abi == "sip":
            depth, position = part("depth")[i], part("position")[i]
            named = depth > 0 and position < 0
            index = part("index")[i]
            return (
                kind,
                None if index < 0 else index,
                None if position < 0 else position,
                text("names", "name_offsets", i) if named else None,
                depth,
            )
        dtype = part("dtype")[i]
        head = (kind, None if dtype < 0 else arrays["dtypes"][dtype])
        if columns.abi == "raw":
            shape = dims(i) if kind == lib.FNABI_TYPE_BUFFER else None
            assert shape is not None or dims(i) == ()
            return (*head, shape, 0, None, None)
        flags = part("flags")[i]
        return (
            *head,
            dims(i) if flags & lib.FNABI_NODE_RANKED else None,
            part("depth")[i],
            text("names", "name_offsets", i) if flags & lib.FNABI_NODE_NAMED else None,
            text("refs", "ref_offsets", i) if flags & lib.FNABI_NODE_REF_NAMED else None,
        )

    ends = part("offsets")
    return [[node(i) for i in range(a, b)] for a, b in pairwise(ends)]


def check_columns(columns: Columns, texts: list[bytes]) -> None:
    """Check everything that must be true of the columns of texts."""
    abi = columns.abi
    expected = [outcome_of(PARSE[abi], text) for text in texts]
    assert outcomes(columns) == expected
    bad = [
        RowError(row, *answer[:2]) for row, answer in enumerate(expected) if type(answer) is tuple
    ]
    assert columns.errors == tuple(bad)
    assert columns.valid.tolist() == [type(answer) is not tuple for answer in expected]
    nodes = [([], []) if type(e) is tuple else expected_nodes(abi, e) for e in expected]
    for k, side in enumerate(("inputs", "results")):
        assert found_nodes(columns, side) == [pair[k] for pair in nodes]


# --------------------------------------------------------------------------------- every text


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("abi", TEXTS)
def test_every_vector(abi: Abi, threads: int) -> None:
    columns = fnabi.decode_columns(TEXTS[abi], abi, threads=threads)
    assert len(columns) == len(TEXTS[abi])
    assert outcomes(columns) == [outcome_of(PARSE[abi], text) for text in TEXTS[abi]]
    check_columns(columns, TEXTS[abi])


@pytest.mark.slow
@pytest.mark.parametrize("abi", ["raw", "sip"])
def test_twenty_thousand_changed_texts(abi: Abi) -> None:
    """The C tests compare more of them with the reference; these with what parse returns."""
    texts = edited(abi, 20_000)
    columns = fnabi.decode_columns(texts, abi)
    parse = PARSE[abi]
    for text, row in zip(texts, range(len(texts)), strict=True):
        try:
            value = parse(text)
        except FormatError:
            continue
        assert columns[row] == value
    errors = {error.row: error[1:] for error in columns.errors}
    for row, text in enumerate(texts):
        answer = outcome_of(parse, text)
        assert errors.get(row) == (answer[:2] if type(answer) is tuple else None)


@settings(max_examples=examples(100))
@given(st.lists(strategies.nearly_raw() | strategies.raw_signatures.map(raw.encode), max_size=8))
def test_raw(texts: list[bytes]) -> None:
    check_columns(fnabi.decode_columns(texts), texts)


@settings(max_examples=examples(100))
@given(st.lists(strategies.nearly_sip() | strategies.sip_signatures.map(sip.encode), max_size=8))
def test_sip(texts: list[bytes]) -> None:
    check_columns(fnabi.decode_columns(texts, "sip"), texts)


@settings(max_examples=examples(100))
@given(st.lists(strategies.nearly_cconv, max_size=8))
def test_cconv(texts: list[bytes]) -> None:
    check_columns(fnabi.decode_columns(texts, "cconv"), texts)


@settings(max_examples=examples(100))
@given(st.lists(strategies.iree_abi_signatures.map(iree_abi.encode), max_size=4))
def test_iree_abi(texts: list[str]) -> None:
    check_columns(fnabi.decode_columns(texts, "iree_abi"), [text.encode() for text in texts])


@settings(max_examples=examples(100))
@given(st.lists(strategies.raw_signatures, max_size=8), st.lists(strategies.sip_signatures))
def test_encoded_again(signatures: list[Any], structures: list[Any]) -> None:
    for abi, encode, values in (("raw", raw.encode, signatures), ("sip", sip.encode, structures)):
        texts = [encode(value) for value in values]
        data, offsets = fnabi.encode_columns(fnabi.decode_columns(texts, abi))
        assert data == b"".join(texts)
        assert offsets.tolist() == [0, *accumulate(map(len, texts))]


def encoded(columns: Columns, threads: int = 1) -> list[bytes]:
    data, offsets = fnabi.encode_columns(columns, threads=threads)
    assert (len(offsets), offsets.format, offsets.readonly) == (len(columns) + 1, "q", True)
    assert (offsets[0], offsets[-1]) == (0, len(data))
    return [data[begin:end] for begin, end in pairwise(offsets)]


ENCODE: dict[Abi, Callable[[Any], Any]] = {
    "raw": raw.encode,
    "sip": sip.encode,
    "cconv": lambda value: cconv.encode(value).encode(),
    "iree_abi": lambda value: iree_abi.encode(value).encode(),
}


def edited(abi: Abi, count: int) -> list[bytes]:
    """Return texts that are valid, or nearly so."""
    draw = random.Random(7)
    bases = [text for text in TEXTS[abi] if 4 < len(text) < 200]
    pieces = [b"", *(bytes([byte]) for byte in b"0123456789-!dtBSOUIRDKk_x\0\xff")]
    texts = []
    for _ in range(count):
        text = bytearray(draw.choice(bases))
        for _ in range(draw.randrange(3)):
            at = draw.randrange(len(text) + 1)
            text[at : at + draw.randrange(2)] = draw.choice(pieces)
        texts.append(bytes(text))
    return texts


@pytest.mark.parametrize("abi", ENCODE)
def test_every_row_is_encoded_as_alone(abi: Abi) -> None:
    texts: list[bytes | None] = [None, *TEXTS[abi], b"", *edited(abi, 2000), None]
    columns = fnabi.decode_columns(texts, abi)
    bad = {error.row for error in columns.errors}
    expected = [
        b"" if row in bad or text is None else ENCODE[abi](PARSE[abi](text))
        for row, text in enumerate(texts)
    ]
    joined = fnabi.decode_columns(texts, abi, threads=3)
    for threads in (1, 2, 3, 5):
        assert encoded(columns, threads) == expected
        assert encoded(joined, threads) == expected
    joined.to_numpy()
    assert encoded(joined, 2) == expected

    data, offsets = fnabi.encode_columns(columns)
    again = fnabi.decode_columns(data, abi, offsets=offsets)
    good = [row for row, text in enumerate(expected) if text]
    assert [again[row] for row in good] == [columns[row] for row in good]


NUMBERS = [0, *(10**n + d for n in range(1, 10) for d in (-1, 0, 1)), 2**31 - 1]


def test_numbers_of_every_length() -> None:
    """Numbers of many digits, also in lengths of spans and in keys."""
    shapes = [b"d%dd-1d%d" % (n, n) for n in NUMBERS]
    shapes += [b"d1" * n for n in (3, 4, 48, 49, 498, 499, 5000)]
    texts = [span(b"I", span(b"B", shape)) + span(b"R", b"S1!") for shape in shapes]
    assert encoded(fnabi.decode_columns(texts)) == texts
    keys = [b"k%d_%d" % (n, n) for n in NUMBERS]
    sequence = span(b"S", b"".join(keys))
    names = [span(b"K", b"x" * n) + b"_0" for n in (0, 1, 8, 9, 10, 98, 99, 998, 999, 9998, 9999)]
    texts = [
        span(b"I", each) + span(b"R", b"_7") for each in (sequence, span(b"D", b"".join(names)))
    ]
    assert encoded(fnabi.decode_columns(texts, "sip")) == texts


def test_structures_of_every_form() -> None:
    """Values after structures that end several levels at once, and empty ones."""

    def nest(depth: int, value: bytes) -> bytes:
        for _ in range(depth):
            value = span(b"S", b"k0" + value)
        return value

    values = [b"_1", b"S1!", b"D1!", nest(128, b"_0")]
    inner = [nest(a, b"_0") + b"k1" + nest(b, b"_1") for a in range(5) for b in range(5)]
    values += [span(b"S", b"k0" + each) for each in inner]
    values += [span(b"D", b"K1!" + nest(3, b"S1!") + b"K2!a_3" + b"K3!abS1!")]
    sides = [*zip(values, values[::-1], strict=True), *((b"", value) for value in values)]
    texts = [span(b"I", inputs) + span(b"R", results) for inputs, results in sides]
    assert fnabi.decode_columns(texts, "sip").errors == ()
    assert encoded(fnabi.decode_columns(texts, "sip")) == texts


def test_encoding() -> None:
    columns = fnabi.decode_columns([b"0rIi_r", b"x", None, b"0"], "cconv", threads=2)
    data, offsets = fnabi.encode_columns(columns)
    assert (data, offsets.tolist()) == (b"0rIi_r0v_v", [0, 6, 6, 6, 10])
    assert encoded(fnabi.decode_columns([])) == []
    columns = fnabi.decode_columns([None, b"x", DECLARATIONS[0]], "declaration", threads=3)
    with pytest.raises(CallError, match=r"^encode_columns: row 2: .*expected an ABI with an encod"):
        fnabi.encode_columns(columns)
    with pytest.raises(
        CallError, match=r"^encode_columns: columns: expected Columns or Arrow data, got list"
    ):
        fnabi.encode_columns([])  # type: ignore[arg-type]
    with pytest.raises(CallError, match=r"^encode_columns: threads: 0 is below 1$"):
        fnabi.encode_columns(columns, threads=0)


def test_long_texts() -> None:
    """Longer than a block of the fast decoder, between short ones."""
    short = span(b"I", span(b"B", b"t3d7")) + span(b"R", b"")
    texts = [short, span(b"I", b"O1!" * 20_000) + b"R1!", short, b"I" * 50_000, short]
    texts += [span(b"I", span(b"B", b"d2" * n)) + b"R1!" for n in (8180, 8185, 8190, 8200, 30_000)]
    columns = fnabi.decode_columns(texts)
    assert outcomes(columns) == [outcome_of(raw.parse, text) for text in texts]
    assert fnabi.encode_columns(columns)[0] == b"".join(text for text in texts if text[:2] != b"II")


def test_many_dtypes() -> None:
    texts = [b'{"a":["i%d"],"r":["f32"]}' % bits for bits in range(2, 3000)]
    for threads in (1, 4):
        arrays = fnabi.decode_columns(texts, "iree_abi", threads=threads).to_numpy()
        names = arrays["dtypes"][arrays["inputs.dtype"]].tolist()
        assert names == [f"i{bits}" for bits in range(2, 3000)]


# -------------------------------------------------------------------------------------- inputs

RAW = [b"I11!B8!d-1d200R4!S1!", b"I1!R", b"", b"I1!R4!O1!"]


def check_same(columns: Columns, texts: list[bytes]) -> None:
    assert outcomes(columns) == [outcome_of(raw.parse, text) for text in texts]


@pytest.mark.threads
@pytest.mark.parametrize("threads", [1, 2, 3, 100])
def test_inputs(threads: int) -> None:
    given: list[Any] = [RAW[0].decode(), bytearray(RAW[1]), memoryview(RAW[2]), RAW[3]]
    for strings in (RAW, tuple(RAW), given):
        check_same(fnabi.decode_columns(strings, "raw", threads=threads), RAW)
    check_same(fnabi.decode_columns(iter(RAW), "raw", threads=threads), RAW)
    lines = b"\n".join(RAW)
    check_same(fnabi.decode_columns(io.BytesIO(lines), "raw", threads=threads), RAW)
    check_same(fnabi.decode_columns(io.BytesIO(lines + b"\n"), "raw", threads=threads), RAW)
    check_same(fnabi.decode_columns(io.BytesIO(b"\r\n".join(RAW)), "raw", threads=threads), RAW)
    for kind in "iq":
        offsets = array(kind, [0, *accumulate(map(len, RAW))])
        for data in (b"".join(RAW), bytearray(b"".join(RAW))):
            check_same(fnabi.decode_columns(data, "raw", threads=threads, offsets=offsets), RAW)
        empty = fnabi.decode_columns(b"", "raw", threads=threads, offsets=array(kind, [0]))
        assert list(empty) == []
    for nothing in ([], io.BytesIO()):
        columns = fnabi.decode_columns(nothing, "raw", threads=threads)
        assert (len(columns), columns.errors, list(columns)) == (0, (), [])
        assert columns.to_numpy()["inputs.offsets"].tolist() == [0]


def test_rows_without_a_text() -> None:
    columns = fnabi.decode_columns([None, RAW[0], None, RAW[1]])
    assert columns[0] is columns[2] is columns[-2] is None
    assert columns[1] == raw.parse(RAW[0])
    assert columns.errors == (RowError(3, "integer", 4),)
    assert columns.errors[0].text == "missing digits"
    assert str(columns.errors[0]) == "row 3: missing digits at byte 4"
    arrays = columns.to_numpy()
    assert arrays["status"].tolist()[:3] == [255, 0, 255]
    assert arrays["kinds"][arrays["inputs.kind"]].tolist() == [
        type(each).__name__.lower() for each in raw.parse(RAW[0]).inputs
    ]
    structures = fnabi.decode_columns([b"I12!S9!k0_0k1_1R10!D7!K2!a_0"], "sip").to_numpy()
    kinds = structures["kinds"][structures["inputs.kind"]].tolist()
    assert kinds == ["sequence", "leaf", "leaf"]
    assert repr(columns) == "<Columns of 4 raw texts, 1 with errors>"
    assert fnabi.encode_columns(columns)[1].tolist() == [0, 0, 20, 20, 20]


def test_rows() -> None:
    columns = fnabi.decode_columns(RAW, threads=2)
    assert columns[-1] == columns[3] == raw.parse(RAW[3])
    for row in (4, -5):
        with pytest.raises(IndexError, match=f"^Columns: row {row} out of range for 4 rows$"):
            columns[row]
    with pytest.raises(IndexError, match=r"^Columns: row an int of 16610 bits out of range"):
        columns[10**5000]
    with pytest.raises(CallError, match=r"^Columns: row: expected int, got str$"):
        columns["0"]  # type: ignore[index]
    with pytest.raises(FormatError) as caught:
        columns[1]
    with pytest.raises(FormatError) as alone:
        raw.parse(RAW[1])
    assert str(caught.value) == str(alone.value)


def test_batches_of_a_file() -> None:
    texts = [b"I%d!%sR1!" % (3 * n + 1, b"O1!" * n) for n in range(1000)]
    for size in (1, 5000, 1 << 24):
        batches = list(
            fnabi.iter_columns(io.BytesIO(b"\n".join(texts)), batch_bytes=size, threads=2)
        )
        assert sum(map(len, batches)) == len(texts)
        assert [row for batch in batches for row in batch] == [raw.parse(text) for text in texts]
        assert (len(batches) > 2) == (size < 1 << 24)  # the last line has no end


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    mark = b"\xef\xbb\xbf"
    for size in (1, 2, 100):
        for text, rows in ((b"", 0), (b"I1!R1!", 1), (b"\nI1!R1!\n", 2), (mark + b"\n", 1)):
            found = fnabi.iter_columns(io.BytesIO(mark + text), batch_bytes=size)
            assert sum(map(len, found)) == rows
            assert len(fnabi.decode_columns(io.BytesIO(mark + text))) == rows
    assert fnabi.decode_columns(io.BytesIO(mark + b"I1!R1!")).bad == 0
    with pytest.raises(FormatError, match="line too long at byte 3"):
        fnabi.decode_columns(io.BytesIO(mark + b"I1!R1!\n"), max_line=5)
    assert len(fnabi.decode_columns(io.BytesIO(mark + b"I1!R1!"), max_line=6)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_lines_that_are_too_long(threads: int) -> None:
    """The first such line is named by its offset, wherever blocks end."""
    rng = random.Random(threads)
    for _ in range(examples(1000)):
        most = rng.randrange(1, 30)
        lines = [b"x" * rng.randrange(most + 3) for _ in range(rng.randrange(6))]
        starts, data = [], b""
        for line in lines:
            starts.append(len(data))
            data += line + rng.choice([b"\n", b"\r\n"])
        data = rng.choice([data, data.rstrip(b"\r\n")])
        bad = [start for start, line in zip(starts, lines, strict=True) if len(line) > most]
        given = {"batch_bytes": rng.randrange(1, 20), "max_line": most}
        if not bad:
            found = fnabi.iter_columns(io.BytesIO(data), "raw", threads=threads, **given)
            assert sum(map(len, found)) == len(data.splitlines())
            continue
        for decode in (
            lambda data, given: list(fnabi.iter_columns(data, "raw", threads=threads, **given)),
            lambda data, given: fnabi.decode_columns(
                data, "raw", threads=threads, max_line=given["max_line"]
            ),
        ):
            with pytest.raises(FormatError, match=f"at most {most} bytes") as caught:
                decode(io.BytesIO(data), given)
            assert (caught.value.code, caught.value.offset) == ("line", bad[0])


def test_a_line_without_end_is_not_read() -> None:
    """Only as much of it as is allowed, and what is read at once."""
    read = 0

    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            nonlocal read
            read += size
            assert read < 20_000_000
            return bytes(size)

    for decode in (fnabi.decode_columns, fnabi.iter_columns):
        read = 0
        with pytest.raises(FormatError, match="line too long at byte 0"):
            list(decode(Endless(), max_line=10_000_000))  # type: ignore[operator]


STREAM = """
import io
import sys

import fnabi


class Lines(io.RawIOBase):
    def __init__(self, block, count):
        self.block, self.count = block, count

    def read(self, size=-1):
        self.count -= 1
        return self.block if self.count >= 0 else b""


def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


abi, text, threads = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
block = (text + b"\\n") * (1_000_000 // len(text))
rows = 0
for number, columns in enumerate(
    fnabi.iter_columns(Lines(block, 64), abi, threads=threads, batch_bytes=len(block))
):
    rows += len(columns)
    if number == 8:
        early = peak()
assert rows == 64 * (1_000_000 // len(text)), rows
print(peak() - early)
"""


@pytest.mark.slow
@pytest.mark.unsanitized("a sanitizer keeps what is freed")
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory used from /proc")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("abi", "text"), [("raw", "I14!B10!t3d-1d200R4!S1!"), ("sip", "I21!S17!k0_1k2D8!K3!ab_0R3!_5")]
)
def test_flat_memory(abi: str, text: str, threads: int) -> None:
    """Memory does not grow with the length of a file: a million signatures and more."""
    code = [sys.executable, "-W", "error", "-c", STREAM, abi, text, str(threads)]
    done = subprocess.run(code, check=True, capture_output=True, text=True)
    assert int(done.stdout) < 16_000  # KiB; the columns of the whole file have ten times that


@pytest.mark.parametrize("chunk", [1, 3, 1 << 18])
@pytest.mark.parametrize("copies", [1, 2, 1 << 16])
def test_lists_of_every_sort(monkeypatch: pytest.MonkeyPatch, chunk: int, copies: int) -> None:
    """Texts that need a copy may be anywhere among those that do not."""
    monkeypatch.setattr(columns_split, "_CHUNK", chunk)
    monkeypatch.setattr(columns_split, "_COPIES", copies)
    sorts: list[Callable[[bytes], Any]] = [bytes, bytes.decode, bytearray, memoryview]
    choose = random.Random(6)
    texts = [RAW[choose.randrange(len(RAW))] for _ in range(200)]
    given = [choose.choice(sorts)(text) for text in texts]
    for threads in (1, 2):
        for strings in (given, tuple(given)):
            check_same(fnabi.decode_columns(strings, "raw", threads=threads), texts)
        columns = fnabi.decode_columns(["\udcff", None, *given], "raw", threads=threads)
        assert columns.errors[0] == RowError(0, "raw-inputs", 0)
        assert columns[1] is None
        with pytest.raises(CallError, match=r"row 150: expected bytes, str or None, got int$"):
            fnabi.decode_columns([*given[:150], 5, *given[150:]], "raw", threads=threads)


def missing_values() -> list[Any]:
    """What pandas takes for a missing value, and what a masked array has in its place."""
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    values = [
        *(None, float("nan"), pandas.NA, pandas.NaT, Decimal("nan")),
        *(kind("nan") for kind in (numpy.float16, numpy.float32, numpy.float64, numpy.longdouble)),
        *(numpy.complex64("nan"), numpy.datetime64("NaT", "s"), numpy.timedelta64("NaT", "s")),
    ]
    assert all(map(pandas.isna, values))
    return [*values, Decimal("snan"), numpy.ma.masked]  # of which pandas is silent


@pytest.mark.parametrize("threads", [1, 2])
def test_missing_values_are_nulls(threads: int) -> None:
    missing = missing_values()
    choose = random.Random(7)
    sorts: list[Callable[[bytes], Any]] = [bytes, bytes.decode, bytearray, memoryview]
    texts = [choose.choice([b"I1!R1!", b"x", None]) for _ in range(2000)]
    strings = [
        choose.choice(missing) if text is None else choose.choice(sorts)(text) for text in texts
    ]
    expected = fnabi.decode_columns(texts)
    assert 500 < list(texts).count(None) < 900
    for source in (strings, tuple(strings), iter(strings)):
        assert fnabi.decode_columns(source, threads=threads) == expected
    alone = [value for value in missing for _ in range(3)]
    assert [*fnabi.decode_columns(alone, threads=threads)] == [None] * len(alone)


def test_missing_values_of_arrays_are_nulls() -> None:
    numpy, pandas = pytest.importorskip("numpy", "2"), pytest.importorskip("pandas")
    text = "I1!R1!"
    values = numpy.array([text, numpy.nan, pandas.NA, None, text.encode()], object)
    strings = numpy.dtypes.StringDType(na_object=numpy.nan)
    for source in (
        values,
        values[::2],
        list(values),
        pandas.Series(values),
        pandas.Index(values),
        pandas.Series([text, None], dtype="string").array,
        numpy.array([text, numpy.nan], strings),
        numpy.ma.array([text, "x"], mask=[False, True]),
        numpy.array([text, "I1!R1!"]),
        numpy.full(3, numpy.nan),
    ):
        masked = numpy.ma.getmaskarray(source) if isinstance(source, numpy.ma.MaskedArray) else None
        nulls = pandas.isna(source) if masked is None else masked
        found = fnabi.decode_columns(source)
        assert [row is None for row in found] == list(nulls)
        assert found.errors == ()


def test_series_of_missing_values_alone() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    given = [(each, None) for each in (None, float("nan"), pandas.NA, pandas.NaT)]
    given += [(None, each) for each in ("category", "Float64", "Int64", "string", "timedelta64[s]")]
    for missing, dtype in given:
        assert [*fnabi.decode_columns(pandas.Series([missing] * 3, dtype=dtype))] == [None] * 3
    for wrong in (pandas.Series([1.5, None]), pandas.Series([1, 2], dtype="category")):
        with pytest.raises(CallError, match="unsupported Arrow type"):
            fnabi.decode_columns(wrong)


def test_numbers_and_dates_are_no_texts() -> None:
    for wrong in (1.0, float("inf"), Decimal(1), date(2026, 1, 1), UUID(int=0), True, [b""]):
        for source in ([b"", wrong], [bytearray(), wrong]):
            with pytest.raises(CallError, match=r"row 1: expected bytes, str or None, got "):
                fnabi.decode_columns(source)


@pytest.mark.threads
def test_lists_that_change() -> None:
    """A thread that changes a list cannot free texts that are being decoded."""
    texts = [b"I6!B3!d%dR1!" % (n % 10) for n in range(1000)]

    shared: list[Any] = [bytes(bytearray(text)) for text in texts] * 20
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            del shared[1000:]
            shared.extend(bytes(bytearray(text)) for text in texts * 19)

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(20):
            columns = fnabi.decode_columns(shared, "raw")
            assert columns.errors == ()
    finally:
        done.set()
        changer.join()


def test_text_of_every_sort() -> None:
    columns = fnabi.decode_columns(['{"a":[["named","\xe9","i8"]],"r":[]}'] * 2, "iree_abi")
    assert str(columns[1]) == "(\xe9: i8) -> ()"
    text = "sync func @f(%a\udcff: i8) -> ()"
    assert fnabi.decode_columns([text], "declaration")[0] == declaration.parse(text)
    assert outcomes(fnabi.decode_columns(["\ud800"], "iree_abi")) == [("json", 0, "")]
    with pytest.raises(CallError, match=r"^decode_columns: strings: row 1: .*surrogates"):
        fnabi.decode_columns(["", "\ud800"])
    part = memoryview(b"I_1_!_R_1_!_")[::2]
    assert fnabi.decode_columns([part, None, "x"]).errors == (RowError(2, "raw-inputs", 0),)
    part.release()
    with pytest.raises(ArgumentValueError, match=r"^decode_columns: strings: row 1: .*released"):
        fnabi.decode_columns(["", part])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((5,), "strings: expected strings, Arrow data, a binary file or a buffer"),
        ((b"I1!R1!",), "offsets: missing, expected with one buffer of strings"),
        (([b"", 5],), "strings: row 1: expected bytes, str or None, got int"),
        (([b"", object()],), "strings: row 1: expected bytes, str or None, got object"),
        (([], "rwa"), "abi: expected one of raw, sip, cconv, iree_abi, declaration, got 'rwa'"),
        ((io.StringIO("x"),), "strings: expected a file open in binary mode"),
    ],
)
def test_bad_calls(arguments: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(CallError, match=f"^decode_columns: {problem}"):
        fnabi.decode_columns(*arguments)


@pytest.mark.parametrize(
    ("threads", "problem"), [(0, "0 is below 1"), ("2", "expected int, got str")]
)
def test_bad_threads(threads: Any, problem: str) -> None:
    with pytest.raises(CallError, match=f"^decode_columns: threads: {problem}"):
        fnabi.decode_columns([], "raw", threads=threads)
    with pytest.raises(TypeError, match="positional"):
        fnabi.decode_columns([], "raw", 1)  # type: ignore[misc]


MALFORMED = "strings: malformed at"
ASCENDING = "expected offsets that ascend inside the data"


@pytest.mark.parametrize(
    ("data", "offsets", "problem"),
    [
        (
            b"abc",
            array("q", [0, 4]),
            f"{MALFORMED} row 0, {ASCENDING}",
        ),
        (
            b"abc",
            array("q", [0, 2, 1]),
            f"{MALFORMED} row 1, {ASCENDING}",
        ),
        (
            b"abc",
            array("i", [-1, 2]),
            f"{MALFORMED} row 0, {ASCENDING}",
        ),
        (
            b"abc",
            array("q", [-(2**63), 2**63 - 1]),
            f"{MALFORMED} row 0, {ASCENDING}",
        ),
        (
            b"abc",
            array("d", [0, 2]),
            "offsets: expected a buffer of int32 or int64, got f",
        ),
        (b"abc", [0, 2], "offsets: expected a contiguous buffer, got list"),
        (b"abc", array("q"), "offsets: empty, expected one more than there are texts"),
        ("abc", array("q", [0, 1]), "strings: expected a contiguous buffer, got str"),
    ],
)
def test_bad_offsets(data: Any, offsets: Any, problem: str) -> None:
    with pytest.raises(CallError, match=f"^decode_columns: {problem}"):
        fnabi.decode_columns(data, offsets=offsets)
    with pytest.raises(CallError, match=r"^iter_columns: batch_bytes: 0 is below 1$"):
        next(fnabi.iter_columns(io.BytesIO(), batch_bytes=0))


# --------------------------------------------------------------------------------------- NumPy


def test_views_outlive_the_columns() -> None:
    columns = fnabi.decode_columns(RAW * 1000)
    arrays = columns.to_numpy()
    again = fnabi.decode_columns(RAW * 1000).to_numpy()
    assert arrays["inputs.dims"].base is not None
    assert not any(part.flags.writeable for part in arrays.values())
    del columns
    gc.collect()
    for name, part in arrays.items():
        assert part.tolist() == again[name].tolist()


def test_masks() -> None:
    columns = fnabi.decode_columns(RAW)
    arrays = columns.to_numpy()
    assert columns.valid.tolist() == [True, False, False, True]
    assert columns.rows_with(arrays["inputs.kind"] == 2).tolist() == [True, False, False, False]
    refs = arrays["results.kind"] == 3
    assert columns.rows_with(refs, "results").tolist() == [False, False, False, True]
    with pytest.raises(CallError, match=r"^Columns.rows_with: nodes: expected a mask of 1 nodes"):
        columns.rows_with(refs)
    with pytest.raises(
        CallError, match=r"^Columns.rows_with: side: expected inputs or results, got"
    ):
        columns.rows_with(refs, "outputs")  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------- Arrow


def arrow_rows(columns: Columns) -> list[dict[str, Any]]:
    """Return the rows in the form of Arrow data, from the arrays."""
    numbers = {lib.FNABI_TYPE_REF_ARRAY: "ref_array"}
    names = {
        getattr(lib, f"FNABI_TYPE_{name}"): name.lower()
        for name in ("SCALAR", "BUFFER", "REF", "LIST", "TUPLE", "DICT", "NULL", "UNKNOWN")
    } | {lib.FNABI_TYPE_HOMOGENEOUS_LIST: "homogeneous_list", **numbers}
    if columns.abi == "sip":
        names = {1: "leaf", 2: "sequence", 3: "dict"}

    def split(key: str, text: str | None) -> dict[str, Any]:
        data = None if text is None else text.encode("utf-8", "surrogateescape")
        try:
            return {key: None if data is None else data.decode(), f"{key}_bytes": None}
        except UnicodeDecodeError:
            return {key: None, f"{key}_bytes": data}

    def item(node: tuple[Any, ...]) -> dict[str, Any]:
        if columns.abi == "sip":
            kind, index, position, key, depth = node
            fields = {"kind": names[kind], "depth": depth, "index": index, "position": position}
            return fields | split("key", key)
        kind, dtype, shape, depth, name, ref = node
        fields = {"kind": names[kind], "dtype": dtype, "shape": shape and list(shape)}
        if shape == ():
            fields["shape"] = []
        if columns.abi == "raw":
            return fields
        return fields | {"depth": depth} | split("name", name) | split("ref", ref)

    errors = {error.row: error for error in columns.errors}
    sides = [found_nodes(columns, side) for side in ("inputs", "results")]
    rows = []
    for row, value in enumerate(columns.to_numpy()["status"].tolist()):
        error = errors.get(row)
        fields: dict[str, Any] = {
            "status": None if value == 255 else error.code if error else "ok",
            "error_offset": error.offset if error else None,
        }
        for side, nodes in zip(("inputs", "results"), sides, strict=True):
            fields[side] = None if value == 255 else [item(node) for node in nodes[row]]
        if columns.abi == "declaration":
            ambiguity = "none" if value else (columns[row].ambiguity or "none")
            fields["ambiguity"] = None if value else ambiguity
        rows.append(fields)
    return rows


@pytest.mark.parametrize("abi", TEXTS)
def test_pyarrow(abi: Abi) -> None:
    pa = pytest.importorskip("pyarrow")
    texts = [None, *TEXTS[abi], b"\xff", None]
    columns = fnabi.decode_columns(texts, abi)
    expected = arrow_rows(columns)
    parts = fnabi.decode_columns(texts, abi, threads=3)
    assert pa.schema(pa.DataType._import_from_c_capsule(columns.__arrow_c_schema__())) is not None
    chunked = pa.chunked_array(parts)
    assert chunked.num_chunks == 3
    found, table = pa.array(columns), pa.table(columns)
    del columns, parts
    gc.collect()
    for data in (found, table, chunked):
        data.validate(full=True)
        assert data.to_pylist() == expected
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        whole = pa.array(texts, kind)
        for data in (
            whole,
            pa.array([b"x", *texts, b"x"], kind)[1:-1],
            pa.chunked_array([whole[:5], whole[5:5], whole[5:]]),
            pa.table({"text": whole}),
        ):
            for threads in (1, 2):
                again = fnabi.decode_columns(data, abi, threads=threads)
                assert pa.array(again).to_pylist() == expected


def test_children_outlive_their_array() -> None:
    pa = pytest.importorskip("pyarrow")
    dims = pa.array(fnabi.decode_columns(RAW)).field("inputs").flatten().field("shape").flatten()
    gc.collect()
    assert dims.to_pylist() == [None, 200]


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    columns = fnabi.decode_columns([*RAW, None])
    frame = pl.DataFrame(columns)
    assert frame.to_dicts() == arrow_rows(columns)
    texts = pl.Series([text.decode() for text in RAW])
    check_same(fnabi.decode_columns(texts), RAW)
    check_same(fnabi.decode_columns(pl.concat([texts[:1], texts[1:]], rechunk=False)), RAW)
    check_same(fnabi.decode_columns(pl.DataFrame({"f": texts})), RAW)


def test_nanoarrow() -> None:
    na = pytest.importorskip("nanoarrow")
    for abi, texts in TEXTS.items():
        columns = fnabi.decode_columns(texts, abi)
        assert len(na.Array(columns)) == len(texts)
        assert list(na.ArrayStream(columns).iter_py()) == arrow_rows(columns)
    texts = na.Array([text.decode() for text in RAW], na.string())
    check_same(fnabi.decode_columns(texts), RAW)


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    texts = [
        span(b"I", span(b"B", b"t3d-1d8") + b"S1!") + b"R1!",
        span(b"I", span(b"B", b"t3d8d-1")) + b"R1!",
        span(b"I", span(b"B", b"t2d-1")) + b"R1!",
        b"I1!R",
    ]
    columns = fnabi.decode_columns(texts)
    assert columns is not None
    found = duckdb.sql(
        "select count(*) from columns where len(list_filter(inputs, lambda v: v.kind = 'buffer'"
        " and v.dtype = 'bfloat16' and len(v.shape) > 0 and v.shape[1] is null)) > 0"
    )
    assert found.fetchall() == [(1,)]
    assert duckdb.sql("select error_offset from columns where status = 'integer'").fetchall() == [
        (4,)
    ]
    relation = duckdb.sql("select unnest(['I1!R1!', 'x', null]) as f")
    assert fnabi.decode_columns(relation).errors == (RowError(1, "raw-inputs", 0),)


def test_arrow_data_of_nulls_alone() -> None:
    """Whatever its type is, and in parts."""
    pa = pytest.importorskip("pyarrow")
    tables = [pa.struct([(name, pa.int8()) for name in names]) for names in ("", "a", "ab")]
    for kind in (pa.int64(), pa.bool_(), pa.float32(), pa.date32(), pa.list_(pa.int8()), *tables):
        for type in (kind, pa.dictionary(pa.int8(), kind)):
            nulls = pa.nulls(700, type)
            for data in (nulls, nulls[3:], pa.chunked_array([nulls, nulls[:0]])):
                for threads in (1, 3):
                    rows = [*fnabi.decode_columns(data, threads=threads)]
                    assert rows == [None] * len(data)
    numbers = pa.array([None] * 9 + [1, None])
    assert [*fnabi.decode_columns(numbers[:9])] == [None] * 9
    for bad in (numbers, numbers[1:], numbers[9:10], pa.chunked_array([numbers[:9], numbers])):
        with pytest.raises(CallError, match="unsupported Arrow type"):
            fnabi.decode_columns(bad)
    batch = pa.record_batch({"x": pa.nulls(2, pa.int8())})
    assert [*fnabi.decode_columns(batch)] == [None] * 2
    found = fnabi.arrow.decode(batch, "x")
    assert found["status"].null_count == 2
    assert found["x"].equals(batch["x"])


def test_arrow_data_that_is_no_text() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": ["x"], "b": ["y"]})
    empty = pa.array([None, {}], pa.struct([]))
    for data in (
        *(pa.array([1, 2]), table, pa.array([1]).dictionary_encode(), pa.array([["x"]])),
        *(table.to_struct_array(), empty, empty[1:]),
    ):
        with pytest.raises(CallError, match=r"^decode_columns: strings: unsupported Arrow type"):
            fnabi.decode_columns(data)
    with pytest.raises(CallError, match=r"^decode_columns: strings: "):
        fnabi.decode_columns(Wrong())


@pytest.mark.unsanitized("pyarrow leaks the text of an exception")
def test_an_arrow_stream_that_fails() -> None:
    pa = pytest.importorskip("pyarrow")

    def broken() -> Iterator[Any]:
        yield pa.record_batch({"f": ["I1!R1!"]})
        raise ValueError("it broke")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"f": pa.string()}), broken())
    with pytest.raises(CallError, match=r"the Arrow stream failed: .*it broke"):
        fnabi.decode_columns(reader)


def test_how_much_dictionaries_may_take_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int8()), ["x" * 2000])
    left: list[int] = []

    def decode(most: int) -> None:
        class Limited(Excess):
            def __init__(self, where: str) -> None:
                super().__init__(where)
                self._left = most

            def add(self, schema: Any, array: Any, column: int = -1) -> None:
                super().add(schema, array, column)
                left.append(self._left)

        monkeypatch.setattr(columns_split, "Excess", Limited)
        fnabi.decode_columns(texts, "raw")

    decode(1 << 26)
    excess = (1 << 26) - left.pop()
    assert excess > 1 << 20
    decode(excess)
    assert left == [0]
    with pytest.raises(ArgumentValueError, match="too much of the data"):
        decode(excess - 1)


def test_only_columns_that_are_read_may_not_take_too_much() -> None:
    pa = pytest.importorskip("pyarrow")
    texts = [b"I1!R1!"] * 2000
    large = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int8()), ["x" * 40_000])
    table = pa.table(fnabi.decode_columns(texts)).append_column("other", large)
    assert fnabi.encode_columns(table)[0] == b"".join(texts)
    index = table.schema.get_field_index("status")
    with pytest.raises(ArgumentValueError, match="too much of the data"):
        fnabi.encode_columns(table.set_column(index, "status", large))


class Wrong:
    def __arrow_c_stream__(self) -> object:
        return fnabi.decode_columns([]).__arrow_c_schema__()


def test_a_capsule_that_nobody_takes() -> None:
    columns = fnabi.decode_columns(RAW)
    for _ in range(100):
        columns.__arrow_c_schema__()
        columns.__arrow_c_array__()
        columns.__arrow_c_stream__()
    assert columns[0] == raw.parse(RAW[0])


class Whole(list[bytes | bytearray]):
    """A list of which every part seems to be the whole."""

    def __getitem__(self, key: Any) -> Any:
        return self if isinstance(key, slice) else super().__getitem__(key)


def test_each_thread_reads_its_own_share_of_a_list() -> None:
    texts = Whole([b"I1!R1!", bytearray(b"I1!R1!")] * 500)
    assert len(fnabi.decode_columns(texts, "raw", threads=2)) == 1000


def test_a_negative_number_of_rows_is_a_lack_of_memory() -> None:
    columns_part.check_rows(0)
    with pytest.raises(MemoryError, match=r"out of memory, or more than 2\*\*31 nodes or dims"):
        columns_part.check_rows(-1)
