from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import example, given

from fnabi import CallError, FormatError, RangeError, SignatureParser, iree_abi, raw
from fnabi.abi.raw import RawSignatureMangler, RawSignatureParser, ScalarType
from fnabi.dropin.signature_mangle import Description
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    Ref,
    Scalar,
    Signature,
    Tuple,
    Unknown,
)
from support import grammar, vectors
from support.grammar import INT32_MAX, INT32_MIN
from support.outcomes import (
    Place,
    check_changes,
    check_pickled,
    check_shown,
    check_truncations,
    error_of,
    outcome_of,
)
from support.strategies import mutated, nearly_raw, raw_signatures

FLOAT32 = DType("float", 32)
SINT32 = DType("signed", 32)

Outcome = Signature | Place


def outcome(data: bytes) -> Outcome:
    return outcome_of(raw.parse, data)


def grammar_outcome(data: bytes) -> Outcome:
    return outcome_of(grammar.raw_parse, data)


def item(d: Description) -> list[Any]:
    """A description as the golden vectors write it."""
    match d.type:
        case Description.Type.BUFFER:
            return ["B", d.scalar_type, d.dims]
        case Description.Type.SCALAR:
            return ["S", d.scalar_type]
        case Description.Type.REF_OBJECT:
            return ["O"]
        case Description.Type.UNRECOGNIZED:
            return ["U"]


def visit(data: bytes, side: str) -> tuple[list[Any], str | None]:
    items: list[Any] = []
    parser = RawSignatureParser()
    visit_side = parser.visit_inputs if side == "I" else parser.visit_results
    visit_side(data, lambda d: items.append(item(d)))
    return items, parser.error


def text(data: bytes) -> tuple[str | None, str | None]:
    parser = RawSignatureParser()
    return parser.function_signature_to_string(data), parser.error


def function(inputs: bytes = b"", results: bytes = b"") -> bytes:
    return b"I%d!%sR%d!%s" % (len(inputs) + 1, inputs, len(results) + 1, results)


# --------------------------------------------------------------------------------- golden vectors


@vectors.each("raw", "raw")
def test_vector(case: dict[str, Any]) -> None:
    data, recorded = vectors.bytes_of(case["in"]), case["out"]
    answers = {"inputs": visit(data, "I"), "results": visit(data, "R")}
    string, error = text(data)
    assert error == (answers["inputs"][1] or answers["results"][1])
    assert (string is None) == (error is not None)

    same = True
    for side, answer in answers.items():
        tag = side[0].upper()
        assert answer == grammar.raw_visit(data, tag)
        # The result of the reference, which does not know U: the grammar is an oracle only
        # because it agrees.
        items, side_error = grammar.raw_visit(data, tag, "BSO")
        same &= answer == (items, side_error)
        if case["note"] != "reference-defect":
            assert vectors.abridged(items) == recorded[side]["items"]
            assert side_error == recorded[side]["err"]
        elif recorded[side] == {"reference": "hang"}:
            assert answer == ([], f"{side.capitalize()} span not found")
    if case["note"] == "reference-defect":
        assert error is not None or not same
    elif same:
        assert vectors.abridged(string) == recorded["sig"]["str"]
        assert error == recorded["sig"]["err"]
        assert (error is None) == (case["note"] == "valid")


@vectors.each("raw", "raw")
def test_vector_is_read_strictly_as_in_the_grammar(case: dict[str, Any]) -> None:
    data = vectors.bytes_of(case["in"])
    answer = outcome(data)
    assert answer == grammar_outcome(data)
    if isinstance(answer, Signature):
        assert raw.parse(raw.encode(answer)) == answer
        if Unknown() not in answer.inputs + answer.results:  # which the reference refuses
            assert case["note"] == "valid"
            assert (raw.encode(answer) == data) == case["canonical"]
            assert vectors.abridged(raw.to_string(data)) == case["out"]["sig"]["str"]
    elif case.get("canonical"):
        assert answer[0] == "raw-dim"  # the mangler writes any dim


@pytest.mark.parametrize("name", ["tokens", "sip"])
def test_vectors_of_other_kinds_are_read_as_in_the_grammar(name: str) -> None:
    for data in vectors.inputs(name):
        assert outcome(data) == grammar_outcome(data), data
        assert visit(data, "I") == grammar.raw_visit(data, "I"), data
        assert visit(data, "R") == grammar.raw_visit(data, "R"), data


@vectors.each("build", "build_raw")
def test_vector_build(case: dict[str, Any]) -> None:
    recorded = case["out"]
    values = case["inputs"] + case["results"]
    if any(value[0] in "BS" and not 0 <= value[1] < 12 for value in values):
        assert case["note"] == "reference-defect"
        with pytest.raises(
            CallError, match=r"RawSignatureMangler\.add_(scalar|shaped_nd_buffer): "
        ):
            mangle(values)
        return
    assert "illegal-dtype-written" not in case.get("defects", ())
    inputs, results = mangle(case["inputs"]), mangle(case["results"])
    encoded = RawSignatureMangler.to_function_signature(inputs, results).encoded
    assert vectors.abridged(inputs.builder.encoded) == recorded["inputs"]
    assert vectors.abridged(results.builder.encoded) == recorded["results"]
    assert vectors.abridged(encoded) == recorded["sig"]
    assert visit(encoded, "I") == (case["inputs"], None)
    assert visit(encoded, "R") == (case["results"], None)

    if all(dim >= -1 for value in values for shape in value[2:] for dim in shape):
        signature = Signature(
            tuple(map(value_of, case["inputs"])), tuple(map(value_of, case["results"]))
        )
        assert raw.encode(signature) == encoded
        assert raw.parse(encoded) == signature


def mangle(values: list[list[Any]]) -> RawSignatureMangler:
    mangler = RawSignatureMangler()
    for value in values:
        match value:
            case ["B", dtype, shape]:
                mangler.add_shaped_nd_buffer(dtype, shape)
            case ["S", dtype]:
                mangler.add_scalar(dtype)
            case ["O"]:
                mangler.add_any_reference()
            case ["U"]:
                mangler.add_unrecognized()
            case _:
                pytest.fail(f"unknown value {value}")
    return mangler


def value_of(value: list[Any]) -> Buffer | Scalar | Ref | Unknown:
    match value:
        case ["B", dtype, shape]:
            return Buffer(grammar.DTYPES[dtype], tuple(None if dim == -1 else dim for dim in shape))
        case ["S", dtype]:
            return Scalar(grammar.DTYPES[dtype])
        case ["O"]:
            return Ref()
        case _:
            return Unknown()


# ------------------------------------------------------------------- the defects of the reference


@pytest.mark.parametrize("data", [b"X", b"I99!abcR1!", b"I1!!R1!", b"R", b"IR", b"R1!!"])
def test_defect_seek_hang(data: bytes) -> None:
    string, error = text(data)
    assert string is None
    assert error in ("Inputs span not found", "Results span not found")
    assert isinstance(outcome(data), tuple)


def test_defect_seek_true_on_error() -> None:
    assert text(b"I1!R5!") == (None, "Results span not found")
    assert outcome(b"I1!R5!") == ("span-end", 4, "")
    assert text(b"I9!R1!") == (None, "Inputs span not found")
    assert outcome(b"I9!R1!") == ("span-end", 1, "")


def test_defect_swallowed_item_error() -> None:
    data = b"I1!R3!B0"
    assert visit(data, "I") == ([], None)
    assert visit(data, "R") == ([], "Syntax error in signature")
    assert text(data) == (None, "Syntax error in signature")
    assert outcome(data) == ("length", 7, "results[0]")


def test_defect_swallowed_field_error() -> None:
    data = b"I6!B3!t-R1!"
    assert visit(data, "I") == ([], "Syntax error in signature")
    assert text(data) == (None, "Syntax error in signature")
    assert outcome(data) == ("integer", 8, "inputs[0]")
    data = b"I18!B15!d3d9999999999d5R1!"
    assert text(data) == (None, "Syntax error in signature")
    assert outcome(data) == ("span-end", 5, "inputs[0]")
    data = b"I20!B16!d3d9999999999d5R1!"
    assert text(data) == (None, "Syntax error in signature")
    assert outcome(data) == ("int32", 11, "inputs[0]")


def test_defect_length_overflow() -> None:
    data = b"I2147483647!abcR1!"
    assert text(data) == (None, "Inputs span not found")
    assert outcome(data) == ("span-end", 1, "")
    data = b"I15!B2147483647!abR1!"
    assert outcome(data) == ("span-end", 5, "inputs[0]")


@pytest.mark.parametrize("number", [12, 13, 2**31 - 1, 2**31, -1, -(2**31) - 1])
def test_defect_illegal_dtype(number: int) -> None:
    for add in (
        lambda mangler: mangler.add_scalar(number),
        lambda mangler: mangler.add_shaped_nd_buffer(number, [1]),
    ):
        mangler = RawSignatureMangler()
        with pytest.raises(CallError, match=r"RawSignatureMangler\.add_"):
            add(mangler)
        assert mangler.builder.encoded == b""
    with pytest.raises(ValueError, match="not a valid ScalarType"):
        ScalarType(number)
    field = b"t%d" % number
    assert text(function(b"S%d!%s" % (len(field) + 1, field)))[0] is None


def test_defect_unrecognized_is_written_but_not_read() -> None:
    mangler = RawSignatureMangler()
    mangler.add_unrecognized()
    data = RawSignatureMangler.to_function_signature(mangler, RawSignatureMangler()).encoded
    assert data == b"I4!U1!R1!"
    assert visit(data, "I") == ([["U"]], None)
    assert text(data) == ("(!UNKNOWN!) -> ()", None)
    assert raw.to_string(data) == "(!UNKNOWN!) -> ()"
    assert raw.parse(data) == Signature((Unknown(),), ())
    assert raw.encode(raw.parse(data)) == data


# --------------------------------------------------------------------------------- strict parsing


def test_parse() -> None:
    data = function(b"O1!B11!d-1d128d64S3!t6U1!B3!t9", b"B13!t11d32d-1d64")
    assert raw.parse(data) == Signature(
        inputs=(
            Ref(),
            Buffer(FLOAT32, (None, 128, 64)),
            Scalar(SINT32),
            Unknown(),
            Buffer(DType("unsigned", 16), ()),
        ),
        results=(Buffer(DType("unsigned", 64), (32, None, 64)),),
    )
    assert raw.parse(b"I1!R1!") == Signature((), ())
    assert raw.parse(function(b"B4!d-1")) == Signature((Buffer(FLOAT32, (None,)),), ())


@pytest.mark.parametrize("number", range(12))
def test_every_scalar_type(number: int) -> None:
    name, dtype = grammar.SCALAR_TYPES[number]
    data = function(b"S%d!t%d" % (len(str(number)) + 2, number))
    assert raw.parse(data) == Signature((Scalar(dtype),), ())
    assert raw.to_string(data) == f"({name}) -> ()"
    scalar_type = ScalarType(number)
    assert str(scalar_type) == name
    assert scalar_type.dtype == dtype
    assert scalar_type.itemsize == dtype.bits // 8
    assert raw.encode(raw.parse(data)) == (data if number else b"I4!S1!R1!")


def test_default_scalar_type_may_be_written() -> None:
    assert raw.parse(function(b"B5!t0d1S3!t0")) == raw.parse(function(b"B3!d1S1!"))


ERRORS = [
    # the text, a caret under the offending byte, code, path, what was expected
    ("", "^", "raw-inputs", "", "'I'"),
    ("R1!", "^", "raw-inputs", "", "'I'"),
    ("_1I1!R1!", "^", "raw-inputs", "", "'I'"),
    ("!", "^", "raw-inputs", "", "'I'"),
    ("I", " ^", "integer", "", None),
    ("I-", "  ^", "integer", "", None),
    ("I1", "  ^", "span-mark", "", None),
    ("I0!R1!", " ^", "length", "", None),
    ("I4!O1!", "      ^", "raw-results", "", "'R'"),
    ("I1!I1!R1!", "   ^", "raw-results", "", "'R'"),
    ("I1!!", "   ^", "raw-results", "", "'R'"),
    ("I1!R2!", "    ^", "span-end", "", None),
    ("I1!R99999999999!", "    ^", "int32", "", None),
    ("I1!R1!R1!", "      ^", "unexpected", "", "the end"),
    ("I1!R1!\n", "      ^", "unexpected", "", "the end"),
    ("I3!d1R1!", "   ^", "raw-tag", "inputs[0]", "'B', 'S', 'O' or 'U'"),
    ("I1!R7!O1!X1!", "         ^", "raw-tag", "results[1]", "'B', 'S', 'O' or 'U'"),
    ("I2!?R1!", "   ^", "tag", "inputs[0]", None),
    ("I5!O1!BR1!", "       ^", "integer", "inputs[1]", None),
    ("I4!B2!R1!", "    ^", "span-end", "inputs[0]", None),
    ("I6!B3!x1R1!", "      ^", "raw-buffer-field", "inputs[0]", "'d'"),
    ("I8!B5!d1t1R1!", "        ^", "raw-buffer-field", "inputs[0]", "'d'"),
    ("I8!B5!t1t1R1!", "        ^", "raw-buffer-field", "inputs[0]", "'d'"),
    ("I5!B2!tR1!", "       ^", "integer", "inputs[0]", None),
    ("I7!B4!t12R1!", "       ^", "raw-scalar-type", "inputs[0].dtype", "0 to 11"),
    ("I7!S4!t-1R1!", "       ^", "raw-scalar-type", "inputs[0].dtype", "0 to 11"),
    ("I7!S4!t-0R1!", "       ^", "raw-scalar-type", "inputs[0].dtype", "0 to 11"),
    ("I7!S4!t01R1!", "       ^", "raw-scalar-type", "inputs[0].dtype", "0 to 11"),
    ("I8!S5!t011R1!", "       ^", "raw-scalar-type", "inputs[0].dtype", "0 to 11"),
    ("I16!S12!t4294967296R1!", "         ^", "int32", "inputs[0]", None),
    ("I6!S3!d1R1!", "      ^", "raw-scalar-field", "inputs[0]", "the end of the scalar"),
    ("I8!S5!t1t1R1!", "        ^", "raw-scalar-field", "inputs[0]", "the end of the scalar"),
    ("I6!O3!d1R1!", "      ^", "raw-ref-field", "inputs[0]", "the end of the span"),
    ("I5!O2!dR1!", "       ^", "integer", "inputs[0]", None),
    ("I6!U3!d1R1!", "      ^", "unexpected", "inputs[0]", "the end of the span"),
    ("I9!B6!d1d-2R1!", "         ^", "raw-dim", "inputs[0].shape[1]", None),
    ("I8!B5!d1d-R1!", "          ^", "integer", "inputs[0]", None),
    ("I16!B12!d2147483648R1!", "         ^", "int32", "inputs[0]", None),
]


@pytest.mark.parametrize(("data", "caret", "code", "path", "expected"), ERRORS)
def test_error(data: str, caret: str, code: str, path: str, expected: str | None) -> None:
    error = error_of(raw.parse, data)
    assert (error.code, error.offset, error.path) == (code, len(caret) - 1, path)
    assert error.expected == expected
    check_shown(error, data)
    assert grammar_outcome(data.encode()) == (code, error.offset, path)
    with pytest.raises(FormatError) as again:
        raw.to_string(data)
    assert str(again.value) == str(error)


def test_error_can_be_pickled() -> None:
    check_pickled(error_of(raw.parse, "I9!B6!d1d-2R1!"))


@given(raw_signatures)
@example(Signature((), ()))
@example(Signature((Buffer(FLOAT32, (None, 0, INT32_MAX)),), (Ref(), Unknown())))
def test_round_trip(signature: Signature) -> None:
    data = raw.encode(signature)
    assert data == grammar.raw_encode(signature)
    assert raw.parse(data) == signature == grammar.raw_parse(data)
    assert raw.to_string(data) == grammar.raw_to_string(data)


@given(mutated(raw_signatures.map(grammar.raw_encode)) | nearly_raw() | mutated(nearly_raw()))
def test_any_text_is_read_as_in_the_grammar(data: bytes) -> None:
    answer = outcome(data)
    assert answer == grammar_outcome(data)
    assert visit(data, "I") == grammar.raw_visit(data, "I")
    assert visit(data, "R") == grammar.raw_visit(data, "R")
    if isinstance(answer, Signature):
        assert raw.parse(raw.encode(answer)) == answer
        assert text(data) == (raw.to_string(data), None)


SAMPLE = function(b"O1!B11!d-1d128d64S3!t6U1!", b"B13!t11d32d-1d64")


def test_every_truncation_is_an_error() -> None:
    check_truncations(outcome, grammar_outcome, SAMPLE)


def test_every_change_of_a_byte_is_read_as_in_the_grammar() -> None:
    check_changes(outcome, grammar_outcome, SAMPLE)


# --------------------------------------------------------------------------------------- encoding


def test_encode() -> None:
    signature = Signature(
        inputs=(Ref(), Buffer(DType("float", 64), (None, 128)), Scalar(FLOAT32), Unknown()),
        results=(Buffer(FLOAT32, ()),),
    )
    assert raw.encode(signature) == b"I23!O1!B10!t2d-1d128S1!U1!R4!B1!"


CANNOT = [
    (Buffer(FLOAT32, None), r"inputs\[0\]\.shape: .*expected a known rank"),
    (Buffer(DType("float", 8, "e4m3fn"), ()), r"inputs\[0\]\.dtype: .*the 12 scalar types"),
    (Buffer(DType("float", 32, "tf32"), ()), r"inputs\[0\]\.dtype: .*the 12 scalar types"),
    (Scalar(DType("signless", 32)), r"inputs\[0\]\.dtype: .*the 12 scalar types"),
    (Scalar(DType("signed", 128)), r"inputs\[0\]\.dtype: .*the 12 scalar types"),
    (Ref("object"), r"inputs\[0\]\.name: .*expected None"),
    (Ref("\udcff"), r"inputs\[0\]\.name: .*expected None"),
    (Ref("\ud800"), r"raw\.encode: .*surrogates not allowed"),
    (List((Ref(),)), r"inputs\[0\]: .*expected Buffer, Scalar, Ref or Unknown"),
    (Tuple(()), r"inputs\[0\]: .*expected Buffer, Scalar, Ref or Unknown"),
    (Dict((("a", Ref()),)), r"inputs\[0\]: .*expected Buffer, Scalar, Ref or Unknown"),
    (HomogeneousList(Ref()), r"inputs\[0\]: .*expected Buffer, Scalar, Ref or Unknown"),
    (
        Named("x", Ref()),
        r"inputs\[0\]: .*expected Buffer, Scalar, Ref or Unknown, got Named;"
        r" signature\.without_names\(\) has no names$",
    ),
    (Null(), r"inputs\[0\]: .*expected Buffer, Scalar, Ref or Unknown"),
    (
        Buffer(FLOAT32, (1, -1)),
        r"inputs\[0\]\.shape\[1\]: .*expected a dim of 0 or more, or None",
    ),
    (Buffer(FLOAT32, (1.5,)), r"inputs\[0\]\.shape\[0\]: .*an int or None"),
    (Buffer(FLOAT32, 5), r"inputs\[0\]\.shape: .*a tuple of dims"),
    (Buffer(5, ()), r"inputs\[0\]\.dtype: .*expected a DType"),
    (Buffer("float32", ()), r"inputs\[0\]\.dtype: .*expected a DType"),
    (5, r"inputs\[0\]: .*expected a type of fnabi\.types"),
    ((), r"inputs\[0\]: .*expected a type of fnabi\.types"),
    (object(), r"raw\.encode: "),
]


@pytest.mark.parametrize(("value", "message"), CANNOT)
def test_encode_refuses_what_it_cannot_express(value: Any, message: str) -> None:
    with pytest.raises(CallError, match=r"^raw\.encode: ") as caught:
        raw.encode(Signature((value,), ()))
    assert not isinstance(caught.value, RangeError)
    caught.match(message)
    assert ("names" in str(caught.value)) == isinstance(value, Named)


def test_encode_names_the_part() -> None:
    good = Buffer(FLOAT32, (1, 2))
    with pytest.raises(CallError, match=r"^raw\.encode: results\[2\]\.shape\[3\]: "):
        raw.encode(Signature((good,), (good, good, Buffer(FLOAT32, (1, 2, 3, -5)))))
    for side in ("inputs", "results"):
        bad: Any = {"inputs": (), "results": (), side: None}
        with pytest.raises(CallError, match=rf"^raw\.encode: {side}: not a value of the type mod"):
            raw.encode(Signature(**bad))


def test_encode_takes_dims_of_other_integers() -> None:
    numpy = pytest.importorskip("numpy")
    dims = (numpy.int64(3), numpy.uint8(4), None)
    assert raw.encode(Signature((Buffer(FLOAT32, dims), Ref()), ())) == b"I14!B8!d3d4d-1O1!R1!"
    with pytest.raises(RangeError, match=r"^raw\.encode: .*outside int32"):
        raw.encode(Signature((Buffer(FLOAT32, (numpy.int64(2**31),)),), ()))
    with pytest.raises(CallError, match=r"expected an int or a type, got float32$"):
        raw.encode(Signature((Buffer(FLOAT32, (numpy.float32(1),)),), ()))
    with pytest.raises(CallError, match=r"inputs\[1\]\.name: .*expected None"):
        raw.encode(Signature((Buffer(FLOAT32, dims), Ref("\udcff")), ()))


def test_encode_runs_the_code_of_dims() -> None:
    """Which may change the list that they are in."""

    class Dim(int):
        pass

    class Clears:
        def __index__(self) -> int:
            dims.clear()
            return 3

    dims: list[Any] = [Clears(), "x" * 1000, Dim(2)]
    assert raw.encode(Signature((Buffer(FLOAT32, dims),), ())) == b"I6!B3!d3R1!"  # type: ignore[arg-type]
    assert raw.encode(Signature((Buffer(FLOAT32, (Dim(2),)),), ())) == b"I6!B3!d2R1!"


@pytest.mark.parametrize("dim", [INT32_MAX + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**70)])
def test_encode_refuses_dims_outside_int32(dim: int) -> None:
    with pytest.raises(RangeError, match=r"^raw\.encode: .*(does not fit in|outside) int32"):
        raw.encode(Signature((Buffer(FLOAT32, (dim,)),), ()))


@pytest.mark.parametrize(
    "value",
    [None, 5, (), ((),), ((), (), 5), ((), (), (), ()), "I1!R1!", object(), Ref()],
)
def test_encode_takes_signatures_only(value: Any) -> None:
    with pytest.raises(CallError, match=r"^raw\.encode: "):
        raw.encode(value)


def test_encode_takes_signatures_of_iree_abi() -> None:
    types = (Buffer(FLOAT32, (1, None)),)
    plain = Signature(types, types)
    assert raw.encode(iree_abi.Signature(types, types)) == raw.encode(plain)
    with pytest.raises(CallError, match=r"^raw\.encode: extra: .*expected no extra keys"):
        raw.encode(iree_abi.Signature(types, types, (("k", "1"),)))


@pytest.mark.parametrize(
    "value",
    [
        (2, ("float", 32, ""), (1,), (10,)),
        (2, ("float", 32, "")),
        (1, ("float", 32, ""), ()),
        (3,),
        (3, None, None),
        (10, 10),
    ],
)
def test_encode_takes_whole_records_only(value: Any) -> None:
    with pytest.raises(CallError, match=r"^raw\.encode: .*not a value of the type model"):
        raw.encode(Signature((value,), ()))
    with pytest.raises(CallError, match=r"^raw\.encode: .*not a value of the type model"):
        raw.encode(Signature((value, Unknown()), ()))


# -------------------------------------------------------------------------------- drop-in classes


def test_mangler() -> None:
    inputs = RawSignatureMangler()
    inputs.add_any_reference()
    inputs.add_shaped_nd_buffer(ScalarType.IEEE_FLOAT32, [-1, 128, 64])
    results = RawSignatureMangler()
    results.add_shaped_nd_buffer(ScalarType.UINT64, (32, -1, 64))
    results.add_scalar(ScalarType.SINT32)
    results.add_scalar(ScalarType.IEEE_FLOAT32)
    results.add_unrecognized()
    assert inputs.builder.encoded == b"O1!B11!d-1d128d64"
    assert results.builder.encoded == b"B13!t11d32d-1d64S3!t6S1!U1!"
    function = RawSignatureMangler.to_function_signature(inputs, results)
    assert raw.to_string(function.encoded) == (
        "(RefObject<?>, Buffer<float32[?x128x64]>)"
        " -> (Buffer<uint64[32x?x64]>, sint32, float32, !UNKNOWN!)"
    )


def test_mangler_writes_any_dim() -> None:
    mangler = RawSignatureMangler()
    mangler.add_shaped_nd_buffer(0, iter([INT32_MIN, -2, 0, INT32_MAX]))
    mangler.add_shaped_nd_buffer(2, [])
    assert mangler.builder.encoded == b"B29!d-2147483648d-2d0d2147483647B3!t2"
    data = function(mangler.builder.encoded)
    assert visit(data, "I")[0] == [["B", 0, [INT32_MIN, -2, 0, INT32_MAX]], ["B", 2, []]]
    assert text(data)[0] == "(Buffer<float32[?x?x0x2147483647]>, Buffer<float64[]>) -> ()"


@pytest.mark.parametrize("dim", [INT32_MIN - 1, INT32_MAX + 1, 2**64])
def test_mangler_refuses_dims_outside_int32(dim: int) -> None:
    mangler = RawSignatureMangler()
    with pytest.raises(RangeError, match=r"add_shaped_nd_buffer: shape"):
        mangler.add_shaped_nd_buffer(0, [1, dim])
    assert mangler.builder.encoded == b""


@pytest.mark.parametrize("shape", [None, 5, "12", [1.5], [None], ["1"], b"\x01" * 3 and [[1]]])
def test_mangler_refuses_other_shapes(shape: Any) -> None:
    with pytest.raises(CallError, match=r"add_shaped_nd_buffer: shape"):
        RawSignatureMangler().add_shaped_nd_buffer(0, shape)


@pytest.mark.parametrize("type", [None, "float32", 1.5])
def test_mangler_refuses_other_types(type: Any) -> None:
    with pytest.raises(CallError, match=r"RawSignatureMangler\.add_scalar"):
        RawSignatureMangler().add_scalar(type)
    with pytest.raises(CallError, match=r"RawSignatureMangler\.add_shaped_nd_buffer"):
        RawSignatureMangler().add_shaped_nd_buffer(type, [])
    text = r"^RawSignatureMangler\.to_function_signature: results: expected RawSignature"
    with pytest.raises(CallError, match=text):
        RawSignatureMangler.to_function_signature(RawSignatureMangler(), type)


LENIENT = [
    # text, to_string, error: texts that only the drop-in parser accepts, and its errors
    ("R1!I1!", "() -> ()", None),
    ("_1A1!I4!O1!x5R1!_", "(RefObject<?>) -> ()", None),
    ("I1!I4!O1!R1!R4!O1!", "() -> ()", None),
    ("I12!B9!t1d2t3d4R1!", "(Buffer<bfloat16[2x4]>) -> ()", None),
    ("I8!S5!t1t5R1!", "(sint16) -> ()", None),
    ("I8!B5!d-99R1!", "(Buffer<float32[?]>) -> ()", None),
    ("I8!B5!t007R1!", "(Buffer<sint64[]>) -> ()", None),
    ("", None, "Inputs span not found"),
    ("R1!", None, "Inputs span not found"),
    ("I1!", None, "Results span not found"),
    ("I4!Q1!R1!", None, "Unrecognized raw tag"),
    ("I3!d1R1!", None, "Unrecognized raw tag"),
    ("I6!B3!x1R1!", None, "Unrecognized buffer field tag"),
    ("I6!S3!d1R1!", None, "Unrecognized scalar field tag"),
    ("I6!O3!d1R1!", None, "Unrecognized ref object field tag"),
    ("I6!U3!d1R1!", None, "component not allowed here"),
    ("I7!B4!t12R1!", None, "Illegal ScalarType code"),
    ("I7!S4!t-1R1!", None, "Illegal ScalarType code"),
    ("I2!!R1!", None, "Syntax error in signature"),
    ("I6!O3!d!R1!", None, "Syntax error in signature"),
    ("I2!!R2!!", None, "Syntax error in signature"),
    ("I1!R4!Q1!", None, "Unrecognized raw tag"),
]


@pytest.mark.parametrize(("data", "string", "error"), LENIENT)
def test_parser_is_lenient(data: str, string: str | None, error: str | None) -> None:
    assert text(data) == (string, error)  # type: ignore[arg-type]
    assert isinstance(outcome(data.encode()), tuple)


def test_parser_stops_at_its_first_error() -> None:
    data = function(b"S3!t6O1!Q1!O1!", b"O1!")
    parser = RawSignatureParser()
    seen: list[str] = []
    parser.visit_inputs(data, lambda d: seen.append(d.to_string()))
    assert seen == ["sint32", "RefObject<?>"]
    assert parser.error == "Unrecognized raw tag"
    parser.visit_results(data, lambda d: seen.append(d.to_string()))
    parser.visit_results(b"", lambda d: seen.append(d.to_string()))
    assert len(seen) == 2
    assert parser.error == "Unrecognized raw tag"
    assert parser.function_signature_to_string(function()) is None


def test_visitor_may_set_the_error() -> None:
    parser = RawSignatureParser()
    seen: list[Description] = []

    def visitor(d: Description) -> None:
        seen.append(d)
        parser.set_error("enough")
        parser.set_error("more than enough")

    parser.visit_inputs(function(b"O1!O1!Q1!"), visitor)
    assert len(seen) == 1
    assert parser.error == "enough"


def test_visitor_may_raise() -> None:
    parser = RawSignatureParser()
    with pytest.raises(ZeroDivisionError):
        parser.visit_inputs(function(b"O1!"), lambda d: 1 // 0)
    assert parser.error is None


def test_descriptions() -> None:
    seen: list[Description] = []
    RawSignatureParser().visit_inputs(function(b"B6!t4d-1S1!O1!U1!"), seen.append)
    assert [d.type for d in seen] == [
        Description.Type.BUFFER,
        Description.Type.SCALAR,
        Description.Type.REF_OBJECT,
        Description.Type.UNRECOGNIZED,
    ]
    assert RawSignatureParser.Type is Description.Type
    assert [d.dims for d in seen] == [[-1], [], [], []]
    assert [d.scalar_type for d in seen] == [
        ScalarType.SINT8,
        ScalarType.IEEE_FLOAT32,
        None,
        None,
    ]
    assert repr(seen[0]) == "<Description Buffer<sint8[?]>>"


# -------------------------------------------------------------------------------------- arguments

DATA = function(b"O1!B6!t2d-1", b"S1!")


@pytest.mark.parametrize(
    "data",
    [
        DATA,
        bytearray(DATA),
        memoryview(DATA),
        DATA.decode(),
        memoryview(bytes(2 * DATA))[: len(DATA)],
    ],
    ids=["bytes", "bytearray", "memoryview", "str", "part"],
)
def test_data_may_be_bytes_or_ascii(data: Any) -> None:
    assert raw.parse(data) == raw.parse(DATA)
    assert raw.to_string(data) == "(RefObject<?>, Buffer<float64[?]>) -> (float32)"
    assert text(data)[0] == raw.to_string(DATA)


@pytest.mark.parametrize("data", [None, 5, 1.5, [DATA], object(), "\xe9"])
def test_data_of_another_type(data: Any) -> None:
    with pytest.raises(CallError, match=r"^raw\.parse: text: .*expected "):
        raw.parse(data)
    with pytest.raises(CallError, match=r"^raw\.to_string: text: .*expected "):
        raw.to_string(data)
    with pytest.raises(CallError, match=r"^RawSignatureParser: signature: .*expected "):
        RawSignatureParser().visit_inputs(data, print)


# ------------------------------------------------------------------------------------ hostile input


@pytest.mark.slow
@pytest.mark.parametrize("byte", [b"\0", b"\xff", b"1", b"0", b"I", b"!", b"-", b"d1"])
def test_a_hundred_megabytes_of_one_byte(byte: bytes) -> None:
    data = byte * (100_000_000 // len(byte))
    assert outcome(data) == (("integer", 1, "") if byte == b"I" else ("raw-inputs", 0, ""))
    assert text(data) == (None, "Inputs span not found")


def test_a_length_of_100_mb() -> None:
    assert outcome(b"I" + b"9" * 100_000_000) == ("int32", 1, "")
    assert outcome(b"I" + b"0" * 100_000_000 + b"1!R1!") == Signature((), ())


def test_a_million_values() -> None:
    data = function(b"O1!" * 1_000_000)
    assert raw.parse(data).inputs == (Ref(),) * 1_000_000
    assert raw.encode(raw.parse(data)) == data
    assert outcome(function(b"O1!" * 1_000_000 + b"!")) == ("tag", 3_000_009, "inputs[1000000]")


def test_a_million_dims() -> None:
    shape = tuple(range(1_000_000))
    signature = Signature((), (Buffer(FLOAT32, shape),))
    data = raw.encode(signature)
    assert raw.parse(data) == signature
    assert data == grammar.raw_encode(signature)
    mangler = RawSignatureMangler()
    mangler.add_shaped_nd_buffer(0, shape)
    assert function(b"", mangler.builder.encoded) == data


def test_a_million_nested_spans_are_refused() -> None:
    heads, size = [], 0
    for _ in range(1_000_000):
        heads.append(b"B%d!" % (size + 1))
        size += len(heads[-1])
    data = function(b"".join(reversed(heads)))
    assert outcome(data) == ("raw-buffer-field", 18, "inputs[0]")
    assert SignatureParser(data).seek_tag("R")
    assert visit(data, "I") == ([], "Unrecognized buffer field tag")


@pytest.mark.threads
def test_threads() -> None:
    """Every thread gets its own results: errors, large ones and small ones."""
    texts = [vectors.bytes_of(case["in"]) for case in vectors.load("raw")[:300]]
    texts.append(function(b"B9!d1d2d3d4" * 5_000))
    expected = [grammar_outcome(data) for data in texts]

    def work(start: int) -> int:
        turned = [*range(start, len(texts)), *range(start)]
        for _ in range(5):
            for i in turned:
                assert outcome(texts[i]) == expected[i]
                answer = expected[i]
                if isinstance(answer, Signature):
                    assert raw.parse(raw.encode(answer)) == answer
        return start

    starts = list(range(0, len(texts), 40))
    with ThreadPoolExecutor(len(starts)) as pool:
        assert list(pool.map(work, starts)) == starts
