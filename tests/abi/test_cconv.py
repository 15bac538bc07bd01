from __future__ import annotations

import ctypes
import json
import pickle
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fnabi import ArgumentTypeError, ArgumentValueError, CallError, FormatError, RangeError, cconv
from fnabi.abi.cconv import CallingConvention, Span
from support import grammar
from support.grammar import INT32_MAX
from support.outcomes import Place, outcome_of
from support.paths import DATA
from support.strategies import conventions, mutated, nearly_cconv

OFFICIAL: dict[str, Any] = json.loads((DATA / "cconv" / "official.json").read_text())

Outcome = CallingConvention | Place


def outcome(text: bytes) -> Outcome:
    return outcome_of(cconv.parse, text)


def grammar_outcome(text: bytes) -> Outcome:
    return outcome_of(grammar.cconv_parse, text)


# ------------------------------------------------------------------------------- official results


@pytest.mark.parametrize("text", OFFICIAL["texts"])
def test_text_of_the_official_tool(text: str) -> None:
    convention = cconv.parse(text)
    assert str(convention) == OFFICIAL["texts"][text]
    assert convention == grammar.cconv_parse(text.encode())
    assert cconv.parse(cconv.encode(convention)) == convention


def test_conventions_of_real_modules_are_canonical() -> None:
    spelled = {text for text in OFFICIAL["texts"] if cconv.encode(cconv.parse(text)) != text}
    assert spelled == {"", "0", "0v", "0_", "0v_", "0_v", "0r", "0_r", "0CiDCfD", "0CiDi_"}


@pytest.mark.parametrize("text", OFFICIAL["refused"])
def test_refused_by_the_official_tool(text: str) -> None:
    with pytest.raises(FormatError):
        cconv.parse(text)


@pytest.mark.parametrize("text", OFFICIAL["lenient"])
def test_refused_but_printed_by_the_official_tool(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        cconv.parse(text)
    assert caught.value.code in ("cconv-void", "cconv-span")


def as_the_runtime_sums(span: Span, count: int) -> bool:
    """Whether the runtime's sum agrees with what its interpreter writes.

    It takes all elements to be as long as the first, and aligns where there is none.
    """
    if not {"i64", "f64", "ref"} & set(span.items):
        return True
    end = grammar.cconv_layout(span.items, [], False)[0][-1]
    end += grammar.REGISTER_SIZES[span.items[-1]]
    return count == 1 or (count > 1 and end % 8 == 0)


def test_sizes_of_the_official_runtime() -> None:
    differ = set()
    for text, counts, arguments, results, arguments_packed, results_packed in OFFICIAL["sizes"]:
        convention = cconv.parse(text)
        assert convention.result_size() == results
        assert convention.result_size(packed=True) == results_packed
        assert convention.argument_size(counts, packed=True) == arguments_packed
        spans = [item for item in convention.arguments if isinstance(item, Span)]
        if all(map(as_the_runtime_sums, spans, counts)):
            assert convention.argument_size(counts) == arguments
        elif convention.argument_size(counts) != arguments:
            differ.add(text)
    assert len(differ) == 53  # of 558
    # of those that a compiler wrote one, whose span is empty
    assert differ & set(OFFICIAL["texts"]) == {"0rCirDi_ir"}


# ---------------------------------------------------------------------------------------- parsing


@given(mutated(conventions.map(lambda convention: cconv.encode(convention).encode())))
@example(b"")
def test_any_text_reads_as_in_the_grammar(text: bytes) -> None:
    assert outcome(text) == grammar_outcome(text)


@given(nearly_cconv | st.binary(max_size=12))
def test_texts_that_are_nearly_right_read_as_in_the_grammar(text: bytes) -> None:
    assert outcome(text) == grammar_outcome(text)


def test_all_texts_of_three_letters() -> None:
    letters = [bytes([byte]) for byte in b"iIfFrvCD_0\0\xff"]
    for first in letters:
        for second in letters:
            for third in letters:
                text = b"0" + first + second + third
                assert outcome(text) == grammar_outcome(text), text


def test_all_versions() -> None:
    for byte in range(256):
        expected = CallingConvention((), ()) if byte == ord("0") else ("version", 0, "")
        assert outcome(bytes([byte])) == expected


@pytest.mark.parametrize("text", ["", "0", "0v", "0_", "0v_", "0_v", "0v_v"])
def test_spellings_of_nothing(text: str) -> None:
    convention = cconv.parse(text)
    assert convention == CallingConvention((), ())
    assert convention.version == 0
    assert cconv.encode(convention) == "0v_v"
    assert str(convention) == "() -> ()"
    assert convention.argument_size() == convention.result_size() == 0
    assert convention.argument_offsets() == convention.result_offsets() == ()


ARGUMENT = "'i', 'I', 'f', 'F', 'r', 'C' or '_'"
ELEMENT = "'i', 'I', 'f', 'F', 'r' or 'D'"
RESULT = "'i', 'I', 'f', 'F' or 'r'"

ERRORS = [
    # text, code, offset, path, expected
    ("1", "version", 0, "", "'0'"),
    ("1rir_I", "version", 0, "", "'0'"),
    ("i_i", "version", 0, "", "'0'"),
    ("\0", "version", 0, "", "'0'"),
    ("0ix", "cconv-register", 2, "arguments[1]", ARGUMENT),
    ("0\0_i", "cconv-register", 1, "arguments[0]", ARGUMENT),
    ("0iDi", "cconv-register", 2, "arguments[1]", ARGUMENT),
    ("0CiDD", "cconv-register", 4, "arguments[1]", ARGUMENT),
    ("0i_k", "cconv-register", 3, "results[0]", RESULT),
    ("0i_i_i", "cconv-register", 4, "results[1]", RESULT),
    ("0i_iD", "cconv-register", 4, "results[1]", RESULT),
    ("0rCi0D", "cconv-register", 4, "arguments[1].items[1]", ELEMENT),
    ("0vi_i", "cconv-void", 2, "arguments[0]", "'_' or the end"),
    ("0vv", "cconv-void", 2, "arguments[0]", "'_' or the end"),
    ("0v_vi", "cconv-void", 4, "results[0]", "the end"),
    ("0v_v_", "cconv-void", 4, "results[0]", "the end"),
    ("0iv_i", "cconv-void", 2, "arguments[1]", ARGUMENT),
    ("0i_iv", "cconv-void", 4, "results[1]", RESULT),
    ("0CvD", "cconv-void", 2, "arguments[0].items[0]", ELEMENT),
    ("0iCiCfDD_i", "cconv-span", 4, "arguments[1].items[1]", ELEMENT),
    ("0I_CIDI", "cconv-span", 3, "results[0]", RESULT),
    ("0C", "cconv-span-end", 2, "arguments[0]", "'D'"),
    ("0C_i", "cconv-span-end", 2, "arguments[0]", "'D'"),
    ("0iCir", "cconv-span-end", 5, "arguments[1]", "'D'"),
    ("0ICII_I", "cconv-span-end", 5, "arguments[1]", "'D'"),
]


@pytest.mark.parametrize(("text", "code", "offset", "path", "expected"), ERRORS)
def test_error(text: str, code: str, offset: int, path: str, expected: str) -> None:
    with pytest.raises(FormatError) as caught:
        cconv.parse(text)
    error = caught.value
    assert (error.code, error.offset, error.path) == (code, offset, path)
    assert error.expected == expected
    assert outcome(text.encode()) == grammar_outcome(text.encode())


def test_an_error_reads_well() -> None:
    with pytest.raises(FormatError) as caught:
        cconv.parse("0iCiCfDD_i")
    assert str(caught.value).split("\n") == [
        "span not allowed here at byte 4 in arguments[1].items[1],"
        " expected 'i', 'I', 'f', 'F', 'r' or 'D'",
        "  0iCiCfDD_i",
        "      ^",
    ]


def test_text_may_be_any_bytes() -> None:
    convention = CallingConvention(("ref", "i64", "i32"), ("ref",))
    for text in ("0rIi_r", b"0rIi_r", bytearray(b"0rIi_r"), memoryview(b"0rIi_r")):
        assert cconv.parse(text) == convention
    with pytest.raises(CallError, match=r"cconv\.parse: text: non-ASCII character in a str"):
        cconv.parse("0\xef")


@pytest.mark.parametrize("text", [None, 5, ["0"]])
def test_text_of_another_type(text: Any) -> None:
    with pytest.raises(CallError, match=r"cconv\.parse: text: expected bytes"):
        cconv.parse(text)


# --------------------------------------------------------------------------------------- encoding


@given(conventions)
@example(CallingConvention((), ()))
@example(CallingConvention((Span(()),), ()))
def test_round_trip(convention: CallingConvention) -> None:
    text = cconv.encode(convention)
    assert text == grammar.cconv_encode(convention)
    assert cconv.parse(text) == convention
    assert eval(repr(convention), vars(cconv)) == convention
    assert pickle.loads(pickle.dumps(convention)) == convention
    assert hash(cconv.parse(text)) == hash(convention)


def test_a_convention_is_frozen() -> None:
    convention = cconv.parse("0iCfD_r")
    with pytest.raises(AttributeError):
        convention.version = 1  # type: ignore[misc]
    match convention:
        case CallingConvention((first, Span(items)), (result,)):
            assert (first, items, result) == ("i32", ("f32",), "ref")
        case _:
            pytest.fail("no match")


UNTYPED: Any = CallingConvention

REFUSED = [
    (UNTYPED(("i32", "i16"), ()), "arguments[1]: unknown register type"),
    (UNTYPED(("",), ()), "arguments[0]: unknown register type"),
    (UNTYPED((), ("i",)), "results[0]: unknown register type"),
    (UNTYPED((Span(("i32", "x")),), ()), "arguments[0].items[1]: unknown register type"),
    (UNTYPED((), (Span(()),)), "results[0]: span not allowed here"),
    (UNTYPED((Span((Span(()),)),), ()), "arguments[0].items[0]: span not allowed here"),
    (UNTYPED((), (), 1), "version: unknown ABI version, expected 0"),
    (UNTYPED((), (), None), "version: unknown ABI version, expected 0"),
    (UNTYPED(5, ()), "arguments: not a value of the type model, expected a tuple"),
    (UNTYPED("ii", ()), "arguments: not a value of the type model, expected a tuple"),
    (UNTYPED((), None), "results: not a value of the type model, expected a tuple"),
    (UNTYPED((5,), ()), "arguments[0]: not a value of the type model, expected a register or a"),
    (UNTYPED((), (5,)), "results[0]: not a value of the type model, expected i32"),
    (UNTYPED(((),), ()), "arguments[0]: not a value of the type model, expected a Span"),
    (UNTYPED((Span("i"),), ()), "arguments[0].items: not a value of the type model"),
    (UNTYPED((Span((5,)),), ()), "arguments[0].items[0]: not a value of the type model"),
    ("0i_i", "convention: expected CallingConvention, got str"),
    (((), ()), "convention: expected CallingConvention, got tuple"),
]


@pytest.mark.parametrize(("value", "text"), REFUSED)
def test_encode_refuses(value: Any, text: str) -> None:
    with pytest.raises(CallError) as caught:
        cconv.encode(value)
    assert str(caught.value).startswith(f"cconv.encode: {text}")


# ---------------------------------------------------------------------------------------- buffers


@st.composite
def calls(draw: Any) -> tuple[CallingConvention, list[int]]:
    """A convention and counts for its spans."""
    convention = draw(conventions)
    spans = sum(isinstance(item, Span) for item in convention.arguments)
    return convention, draw(st.lists(st.integers(0, 5), min_size=spans, max_size=spans))


@given(calls(), st.booleans())
def test_layout_is_the_grammars(call: tuple[CallingConvention, list[int]], packed: bool) -> None:
    convention, counts = call
    offsets, size = grammar.cconv_layout(convention.arguments, counts, packed)
    assert convention.argument_offsets(counts, packed=packed) == tuple(offsets)
    assert convention.argument_size(counts, packed=packed) == size
    offsets, size = grammar.cconv_layout(convention.results, [], packed)
    assert convention.result_offsets(packed=packed) == tuple(offsets)
    assert convention.result_size(packed=packed) == size


class Ref(ctypes.Structure):
    _fields_ = (("object", ctypes.c_uint64), ("type", ctypes.c_uint64))


CTYPES: dict[str, Any] = {
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    "ref": Ref,
}


@given(conventions)
def test_results_lie_as_in_a_struct_of_c(convention: CallingConvention) -> None:
    fields = [(f"_{i}", CTYPES[register]) for i, register in enumerate(convention.results)]
    struct = type("struct", (ctypes.Structure,), {"_fields_": fields})
    offsets = tuple(getattr(struct, name).offset for name, _ in fields)
    assert convention.result_offsets() == offsets
    assert convention.result_size() == ctypes.sizeof(struct)


@pytest.mark.parametrize(
    ("text", "counts", "offsets", "size", "packed"),
    [
        ("0Ii", [], (0, 8), 16, 12),
        ("0iI", [], (0, 8), 16, 12),
        ("0iri", [], (0, 8, 24), 32, 24),
        ("0CfD", [2], (0, 4, 8), 12, 12),
        ("0CrD", [0], (0,), 8, 4),
        ("0CiriD", [2], (0, 8, 16, 32, 36, 40, 56), 64, 52),
        ("0CrfD", [2], (0, 8, 24, 32, 48), 56, 44),
        ("0rCirDi", [0], (0, 16, 20), 24, 24),
        ("0CD", [INT32_MAX], (0,), 4, 4),
    ],
)
def test_layout(
    text: str, counts: list[int], offsets: tuple[int, ...], size: int, packed: int
) -> None:
    convention = cconv.parse(text)
    assert convention.argument_offsets(counts) == offsets
    assert convention.argument_size(counts) == size
    assert convention.argument_size(counts, packed=True) == packed


def test_long_spans() -> None:
    convention = cconv.parse("0CiriDCrfDi")
    # the first element begins at a multiple of 8, the others 4 bytes after one; each has 24 bytes
    later = (INT32_MAX - 1) * 24
    end_of_first = 8 + 28 + later
    end_of_second = end_of_first + 4 + 20 + later
    assert convention.argument_size([INT32_MAX, INT32_MAX]) == end_of_second + 4
    counts = [100_000, 50_000]
    offsets, size = grammar.cconv_layout(convention.arguments, counts, False)
    assert convention.argument_offsets(counts) == tuple(offsets)
    assert convention.argument_size(counts) == size


@pytest.mark.parametrize(
    ("counts", "error", "text"),
    [
        ([], ArgumentValueError, "span_counts[0]: invalid span count, expected a count"),
        ([1], ArgumentValueError, "span_counts[1]: invalid span count, expected a count"),
        ([1, 1, 1], ArgumentValueError, "span_counts[2]: invalid span count, expected no more"),
        ([1, -1], ArgumentValueError, "span_counts[1]: invalid span count, expected 0 or more"),
        ([INT32_MAX + 1, 0], RangeError, "span_counts: "),
        ([1, 2.5], ArgumentTypeError, "span_counts: expected ints"),
        (["1", 1], ArgumentTypeError, "span_counts: expected ints"),
        (5, ArgumentTypeError, "span_counts: expected ints"),
        (None, ArgumentTypeError, "span_counts: expected ints"),
    ],
)
def test_span_counts(counts: Any, error: type[CallError], text: str) -> None:
    convention = cconv.parse("0iCiDfCrD_i")
    for name in ("argument_size", "argument_offsets"):
        with pytest.raises(CallError) as caught:
            getattr(convention, name)(counts)
        assert type(caught.value) is error
        assert str(caught.value).startswith(f"CallingConvention.{name}: {text}")


def test_what_cannot_be_encoded_has_no_layout() -> None:
    convention = UNTYPED(("i16",), ())
    with pytest.raises(CallError, match=r"CallingConvention\.argument_size: arguments\[0\]"):
        convention.argument_size()
    with pytest.raises(CallError, match=r"CallingConvention\.result_offsets: arguments\[0\]"):
        convention.result_offsets()


# ------------------------------------------------------------------------------------ hostile input


def test_long_texts() -> None:
    count = 1_000_000
    convention = cconv.parse("0" + "r" * count + "_" + "i" * count)
    assert (len(convention.arguments), len(convention.results)) == (count, count)
    assert convention.argument_size() == 16 * count
    assert convention.result_offsets() == tuple(range(0, 4 * count, 4))
    spans = cconv.parse("0" + "CID" * count)
    assert spans.arguments == (Span(("i64",)),) * count
    assert spans.argument_size([1] * count) == 16 * count
    with pytest.raises(FormatError) as caught:
        cconv.parse("0C" + "i" * count)
    assert (caught.value.code, caught.value.offset) == ("cconv-span-end", count + 2)
    with pytest.raises(FormatError) as caught:
        cconv.parse("0" + "C" * count)
    assert (caught.value.code, caught.value.offset) == ("cconv-span", 2)
