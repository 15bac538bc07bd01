"""Signatures as text: what `str` writes, `parse` reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnabi import CallError, FormatError, declaration, iree_abi, vmfb
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    Named,
    Null,
    Ref,
    RefArray,
    Scalar,
    Signature,
    Tuple,
    Unknown,
)
from support.documents import ROOT
from support.signatures import signatures

FLOAT32, INT32 = DType("float32"), DType("int32")


@given(signatures)
def test_text_is_read_back(signature: Signature) -> None:
    assert Signature.parse(str(signature)) == signature


@given(signatures, st.data())
def test_changed_texts_are_read_or_refused(signature: Signature, data: st.DataObject) -> None:
    text = str(signature)
    at = data.draw(st.integers(0, len(text)))
    changed = (
        text[:at] + data.draw(st.sampled_from(["", "(", "]", "?", '"', "x", " "])) + text[at + 1 :]
    )
    problem = problem_of(changed)
    if problem is None:
        read = Signature.parse(changed)
        assert Signature.parse(str(read)) == read
    else:
        assert problem.code in ("types-text", "depth")
        assert 0 <= problem.offset <= len(changed.encode("utf-8", "surrogatepass"))


def problem_of(text: str) -> FormatError | None:
    try:
        Signature.parse(text)
    except FormatError as problem:
        return problem
    return None


def test_signatures_of_modules_are_read_back() -> None:
    count = 0
    for path in (ROOT / "tests/data").rglob("*.vmfb"):
        try:
            exports = vmfb.open(path, lenient=True).exports
        except FormatError:
            continue
        for export in exports.values():
            try:
                signature = export.signature
            except FormatError:
                continue
            plain = Signature(signature.inputs, signature.results)
            assert Signature.parse(str(plain)) == plain
            count += 1
    assert count > 1000


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("() -> ()", Signature((), ())),
        (
            "(float32[?x4]) -> (int32)",
            Signature((Buffer(FLOAT32, (None, 4)),), (Scalar(INT32),)),
        ),
        (" ( x :float32[*],int32 )->( ) ", None),
        ('("a, b": int32) -> ()', Signature((Named("a, b", Scalar(INT32)),), ())),
        (
            "((int32,), {k: ref<!hal.fence>}) -> (list<?>, null)",
            Signature(
                (Tuple((Scalar(INT32),)), Dict((("k", Ref("!hal.fence")),))),
                (HomogeneousList(Unknown()), Null()),
            ),
        ),
        ("(array<ref<?>>[2x?]) -> ()", Signature((RefArray(Ref(), (2, None)),), ())),
        ("(()) -> ()", Signature((Tuple(()),), ())),
        (
            "(float32[9223372036854775807]) -> ()",
            Signature((Buffer(FLOAT32, (2**63 - 1,)),), ()),
        ),
    ],
)
def test_texts(text: str, signature: Signature | None) -> None:
    read = Signature.parse(text)
    if signature is not None:
        assert read == signature
        assert str(signature) == text
    else:
        assert read == Signature((Named("x", Buffer(FLOAT32, None)), Scalar(INT32)), ())


@pytest.mark.parametrize("space", ["", " ", "\t\r\n"])
def test_spaces_between_the_parts(space: str) -> None:
    parts = ["(", "x", ":", "ref", "<", "!a<b>", ">", ",", "ref", "<", "?", ">", ",", "ref", "<"]
    parts += ['"a b"', ">", ",", "list", "<", "null", ">", ",", "float32", "[", "?", "x", "3", "]"]
    parts += [",", "array", "<", "?", ">", "[", "*", "]", ",", "(", "null", ",", ")", ",", "{"]
    parts += ["k", ":", "[", "]", "}", ")", "->", "(", ")"]
    expected = Signature.parse("".join(parts))
    assert expected.inputs[:2] == (Named("x", Ref("!a<b>")), Ref())
    assert Signature.parse(space + space.join(parts) + space) == expected


def test_references_have_quotes_where_brackets_do_not_match() -> None:
    for name, plain in (
        ("!a<b<c>>", True),
        ("!a<b>c<d>", True),
        ("!a<b>>", False),
        ("!a<b><c", False),
        ("!a>b<", False),
    ):
        text = str(Signature((Ref(name),), ()))
        assert text == (f"(ref<{name}>) -> ()" if plain else f'(ref<"{name}">) -> ()')
        assert Signature.parse(text) == Signature((Ref(name),), ())


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("", 0, "expected '('"),
        ("(float32", 8, "expected ',' or ')'"),
        ("(flot32) -> ()", 1, "unknown type 'flot32'"),
        ("(%) -> ()", 1, "expected a type"),
        ("(list<>) -> ()", 6, "expected a type"),
        ("(float32[4y]) -> ()", 10, "expected 'x'"),
        ("(float32[-1]) -> ()", 9, "malformed shape"),
        ("(float32[9223372036854775808]) -> ()", 9, "malformed shape"),
        ("(float32[3x10000000000000000000]) -> ()", 11, "a dim of at most 9223372036854775807"),
        ("() -> () x", 9, "text after the signature"),
        ("(ref<>) -> ()", 5, "the name of a type"),
        ("(ref<", 5, "the name of a type"),
        ("(ref<a", 6, "expected '>'"),
        ("(ref<a b>) -> ()", 7, "expected '>'"),
        ("(ref<a<b >>) -> ()", 8, "expected '>'"),
        ("((int32)) -> ()", 8, "malformed tuple"),
        ('("a: int32) -> ()', 1, "malformed quoted name"),
        ("é", 0, "expected '('"),
    ],
)
def test_errors_have_an_offset(text: str, offset: int, words: str) -> None:
    with pytest.raises(FormatError) as caught:
        Signature.parse(text)
    assert caught.value.offset == offset
    assert words in str(caught.value)


def test_a_dim_of_more_digits_than_python_reads() -> None:
    with pytest.raises(FormatError, match=r"^malformed shape at byte 9, expected a dim of at most"):
        Signature.parse(f"(float32[{'9' * 5000}]) -> ()")


def test_errors_show_the_start_of_a_long_word() -> None:
    for word in ("a" * 100_000, "f" + "1" * 100_000):
        with pytest.raises(FormatError, match=r"^unknown type '[a-z].*\.\.\.' at byte 1") as caught:
            Signature.parse(f"({word}) -> ()")
        assert len(str(caught.value)) < 300


def test_nesting_is_limited() -> None:
    with pytest.raises(FormatError, match="nested too deeply"):
        Signature.parse("(" + "[" * 5000 + "]" * 5000 + ") -> ()")
    with pytest.raises(FormatError, match="nested too deeply"):
        Signature.parse("(" + "x:" * 5000 + "null) -> ()")


def test_types_that_other_texts_nest_as_deep_as_they_may() -> None:
    declared = "!util.list<" * 128 + "i32" + ">" * 128
    signature = declaration.parse(f"sync func @f(%x: {declared}) -> ()").signature
    assert Signature.parse(str(signature)) == signature
    for begin, end in (('["slist",', "]"), ('["stuple",', "]"), ('["ndarray",', ",null]")):
        text = f'{{"a":[["named","x",{begin * 125}null{end * 125}]],"r":[]}}'
        nested = iree_abi.parse(text)
        assert Signature.parse(str(nested)) == nested


def test_bad_calls() -> None:
    with pytest.raises(CallError, match=r"^Signature\.parse: text: expected .* or str, got int"):
        Signature.parse(5)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="not UTF-8 at byte 1"):
        Signature.parse(b"(\xff) -> ()")


def test_the_class_is_kept() -> None:
    assert type(iree_abi.Signature.parse("() -> ()")) is iree_abi.Signature
