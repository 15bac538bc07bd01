from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fnabi import (
    ArgumentTypeError,
    CallError,
    Component,
    ComponentType,
    FnabiError,
    FormatError,
    RangeError,
    SignatureBuilder,
    SignatureParser,
)
from support import grammar, vectors
from support.grammar import INT32_MAX, INT32_MIN
from support.strategies import int32, integer_tags, mutated, span_tags

KINDS = {
    ComponentType.END: "end",
    ComponentType.INTEGER: "int",
    ComponentType.SPAN: "span",
    ComponentType.ERROR: "error",
}


def stand(parser: SignatureParser) -> list[Any]:
    """Return the position of a parser, as in the golden vectors."""
    tag = 0 if parser.type is ComponentType.END else ord(parser.tag)
    return [KINDS[parser.type], tag, parser.ival]


def walk(data: bytes) -> tuple[list[list[Any]], list[Any]]:
    parser = SignatureParser(data)
    tokens = []
    while not parser.end_or_error:
        sval = parser.sval if parser.type is ComponentType.SPAN else None
        tokens.append([*stand(parser), sval])
        parser.next()
    return tokens, [*stand(parser), parser.offset]


def grammar_walk(data: bytes) -> tuple[list[list[Any]], list[Any]]:
    components, last = grammar.tokens(data)
    tokens = [
        [c.kind, c.tag, c.ival, data[c.begin : c.end] if c.kind == "span" else None]
        for c in components
    ]
    return tokens, [last.kind, last.tag, last.ival, last.offset]


def error_of(data: bytes) -> tuple[str, int] | None:
    try:
        list(SignatureParser(data))
    except FormatError as error:
        return error.code, error.offset
    return None


def grammar_error_of(data: bytes) -> tuple[str, int] | None:
    _, last = grammar.tokens(data)
    return (last.code, last.end) if last.kind == "error" else None


# --------------------------------------------------------------------------------- golden vectors


@vectors.each("tokens", "tokens")
def test_vector_tokens(case: dict[str, Any]) -> None:
    tokens, final = walk(vectors.bytes_of(case["in"]))
    assert vectors.abridged(tokens) == case["out"]["tokens"]
    assert final == case["out"]["final"]


@vectors.each("tokens", "seek")
def test_vector_seek(case: dict[str, Any]) -> None:
    data = vectors.bytes_of(case["in"])
    parser = SignatureParser(data)
    hung = False
    for tag, recorded in zip(case["tags"], case["out"], strict=False):
        found = parser.seek_tag(tag)
        answer = [found, *stand(parser), parser.sval.decode("latin-1")]
        hung = recorded == {"reference": "hang"}
        if hung or (recorded[0] and recorded[1] == "error"):
            # The reference loops forever at an error, or takes it for the tag.
            assert case["note"] == "reference-defect"
            assert not found
            assert parser.type is ComponentType.ERROR
            assert parser.sval == b""
        else:
            assert vectors.abridged(answer) == recorded
    assert hung == ("seek-hang" in case.get("defects", ()))


@vectors.each("build", "builder")
def test_vector_builder(case: dict[str, Any]) -> None:
    if case["note"] == "reference-defect":
        # Release builds of the reference write any byte as a tag.
        with pytest.raises(CallError, match="expected '"):
            build(case["ops"])
    else:
        assert vectors.abridged(build(case["ops"]).encoded) == case["out"]["enc"]


def build(ops: list[list[Any]]) -> SignatureBuilder:
    builder = SignatureBuilder()
    for kind, what, tag in ((op[0], *op[1:]) for op in ops):
        if kind == "i":
            assert builder.integer(what, tag) is builder
        elif kind == "s":
            assert builder.span(vectors.bytes_of(what), tag) is builder
        else:
            build(tag).append_to(builder, what)
    return builder


@pytest.mark.parametrize("name", ["tokens", "raw", "sip"])
def test_vectors_have_the_errors_of_the_grammar(name: str) -> None:
    for data in vectors.inputs(name):
        assert error_of(data) == grammar_error_of(data), data
        assert walk(data) == grammar_walk(data), data


# ---------------------------------------------------------------------------------------- parsing


@given(
    mutated(
        st.lists(
            st.builds(lambda tag, value: f"{tag}{value}".encode(), integer_tags | span_tags, int32),
            max_size=6,
        ).map(b"".join)
    )
    | st.binary(max_size=40)
)
@example(b"")
@example(b"A1!")
def test_any_text_reads_as_in_the_grammar(data: bytes) -> None:
    assert walk(data) == grammar_walk(data)
    assert error_of(data) == grammar_error_of(data)


@given(st.lists(st.tuples(integer_tags, int32) | st.tuples(span_tags, st.binary(max_size=300))))
def test_what_was_built_is_read(parts: list[tuple[str, Any]]) -> None:
    builder = SignatureBuilder()
    components = []
    for tag, value in parts:
        if isinstance(value, int):
            builder.integer(value, tag)
            components.append(Component(ComponentType.INTEGER, tag, value, b""))
        else:
            builder.span(value, tag)
            components.append(Component(ComponentType.SPAN, tag, len(value), value))
    assert list(SignatureParser(builder.encoded)) == components


ERRORS = [
    # text, code, offset of the error, expected, ival
    ("!", "tag", 0, 0),
    ("_1 _2", "tag", 2, 0),
    ("\x005", "tag", 0, 5),
    ("_1\x80", "tag", 2, 0),
    ("_", "integer", 1, 0),
    ("_-", "integer", 2, 0),
    ("_--1", "integer", 2, 0),
    ("_+1", "integer", 1, 0),
    ("a1_x", "integer", 3, 0),
    ("Z", "integer", 1, 0),
    ("Z!", "integer", 1, 0),
    ("_2147483648", "int32", 1, INT32_MAX),
    ("_-2147483649", "int32", 1, INT32_MIN),
    ("_99999999999999999999", "int32", 1, INT32_MAX),
    ("a1A99999999999999999999!", "int32", 3, INT32_MAX),
    ("Z0!", "length", 1, 0),
    ("Z-0!", "length", 1, 0),
    ("Z-3abc", "length", 1, -3),
    ("Z4abc", "span-mark", 2, 4),
    ("Z4", "span-mark", 2, 4),
    ("Z5!abc", "span-end", 1, 5),
    ("_1Z2!", "span-end", 3, 2),
    ("A2147483647!abc", "span-end", 1, INT32_MAX),
]


@pytest.mark.parametrize(("text", "code", "offset", "ival"), ERRORS)
def test_error(text: str, code: str, offset: int, ival: int) -> None:
    data = text.encode("latin-1")
    with pytest.raises(FormatError) as caught:
        list(SignatureParser(data))
    error = caught.value
    assert (error.code, error.offset, error.path, error.expected) == (code, offset, "", None)
    shown = [
        char if char.isascii() and char.isprintable() else f"\\x{ord(char):02x}" for char in text
    ]
    assert str(error).split("\n") == [
        f"{error.reason} at byte {offset}",
        "  " + "".join(shown),
        " " * (2 + len("".join(shown[:offset]))) + "^",
    ]

    parser = SignatureParser(data)
    while not parser.end_or_error:
        parser.next()
    for _ in range(2):  # an error stays
        assert parser.type is ComponentType.ERROR
        assert parser.tag == text[parser.offset]
        assert parser.ival == ival
        assert parser.sval == b""
        assert parser.next() is ComponentType.ERROR


def test_error_shows_the_text_around_it() -> None:
    data = b"_1" * 100 + b"!" + b"_2" * 100
    with pytest.raises(FormatError) as caught:
        list(SignatureParser(data))
    text, caret = str(caught.value).split("\n")[1:]
    assert text == "  ..." + "_1" * 15 + "!" + "_2" * 14 + "_..."
    assert text[caret.index("^")] == "!"


def test_error_in_bytes_that_are_no_text() -> None:
    with pytest.raises(FormatError) as caught:
        list(SignatureParser(b"\x00\xff\xfe5"))
    assert str(caught.value) == "invalid component tag at byte 0"


def test_parser_stands_on_the_first_component() -> None:
    parser = SignatureParser("_5A7!foobar")
    assert (parser.type, parser.tag, parser.ival, parser.offset) == (
        ComponentType.INTEGER,
        "_",
        5,
        0,
    )
    assert not parser.end_or_error
    assert parser.next() is ComponentType.SPAN
    assert (parser.tag, parser.ival, parser.sval, parser.offset) == ("A", 6, b"foobar", 2)
    for _ in range(2):  # the end stays
        assert parser.next() is ComponentType.END
        assert parser.end_or_error
        assert (parser.tag, parser.ival, parser.sval, parser.offset) == ("\0", 0, b"", 11)


def test_numbers_and_lengths_may_be_written_in_many_ways() -> None:
    parts = [
        (c.type.name, c.tag, c.ival, c.sval) for c in SignatureParser("_-0_007Z01!a-2147483648")
    ]
    assert parts == [
        ("INTEGER", "_", 0, b""),
        ("INTEGER", "_", 7, b""),
        ("SPAN", "Z", 0, b""),
        ("INTEGER", "a", INT32_MIN, b""),
    ]


def test_seek_finds_the_current_component_again() -> None:
    parser = SignatureParser("_1a2_3A1!")
    assert parser.seek_tag("a")
    assert parser.seek_tag("a")
    assert parser.ival == 2
    assert parser.seek_tag("_")
    assert parser.ival == 3
    assert not parser.seek_tag("a")
    assert parser.type is ComponentType.END


def test_a_tag_is_a_byte_in_c() -> None:
    with pytest.raises(TypeError):
        SignatureParser("_1a2")._seek("a")  # type: ignore[arg-type]


@pytest.mark.parametrize("tag", ["R", "I", "X", "!"])
@pytest.mark.parametrize("text", ["X", "I99!abcR1!", "I1!!R1!", "I1!R5!", "", "I"])
def test_seek_ends_at_an_error(text: str, tag: str) -> None:
    parser = SignatureParser(text)
    found = parser.seek_tag(tag)
    assert found == (tag == "I" and text.startswith("I1!"))
    if not found:
        assert parser.end_or_error
        assert (parser.type is ComponentType.ERROR) == (text != "")


def test_seek_crosses_many_components() -> None:
    parser = SignatureParser(b"_1" * 100_000 + b"a7_8")
    assert parser.seek_tag("a")
    assert (parser.ival, parser.offset) == (7, 200_000)
    assert parser.next() is ComponentType.INTEGER
    assert parser.ival == 8


def test_nested() -> None:
    parser = SignatureParser("A15!_1B5!a2b3_4C1!d5")
    inner = parser.nested()
    assert [c.tag for c in inner] == ["_", "B", "_", "C"]
    inner = parser.nested()
    inner.next()
    assert [(c.tag, c.ival) for c in inner.nested()] == [("a", 2), ("b", 3)]
    inner.seek_tag("C")
    assert inner.nested().type is ComponentType.END
    assert inner.next() is ComponentType.END
    assert parser.next() is ComponentType.INTEGER  # untouched by its children
    assert parser.nested().type is ComponentType.END  # an integer has no contents
    parser.next()
    assert parser.nested().type is ComponentType.END
    assert SignatureParser("A9!").nested().type is ComponentType.END


def test_nested_ends_with_its_span() -> None:
    # the inner span would fit into the text, but not into the outer span
    inner = SignatureParser("A4!B3!xxx").nested()
    assert inner.type is ComponentType.ERROR
    assert inner.next() is ComponentType.ERROR
    with pytest.raises(FormatError) as caught:
        list(inner)
    assert (caught.value.code, caught.value.offset) == ("span-end", 4)
    # the digits after the span do not belong to the number
    inner = SignatureParser("A3!_123").nested()
    assert [(c.tag, c.ival) for c in inner] == [("_", 1)]


# -------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "data",
    [
        b"_5A4!\x00\xff!",
        bytearray(b"_5A4!\x00\xff!"),
        memoryview(b"_5A4!\x00\xff!"),
        memoryview(b"__55AA44!!\x00\x00\xff\xff!!")[::2],
    ],
    ids=["bytes", "bytearray", "memoryview", "strided"],
)
def test_data_may_be_any_bytes(data: Any) -> None:
    assert [(c.tag, c.ival, c.sval) for c in SignatureParser(data)] == [
        ("_", 5, b""),
        ("A", 3, b"\x00\xff!"),
    ]


def test_data_may_be_ascii() -> None:
    assert SignatureParser("_5").ival == 5
    with pytest.raises(CallError, match="SignatureParser: data: non-ASCII character in a str"):
        SignatureParser("A2!\xe9")


def test_data_is_the_callers_to_change() -> None:
    data = bytearray(b"_1A4!abc")
    parser = SignatureParser(data)
    data[:] = b"!!!!"
    parser.next()
    assert parser.sval == b"abc"


@pytest.mark.parametrize("data", [None, 5, ["_5"], object(), 1.5])
def test_data_of_another_type(data: Any) -> None:
    with pytest.raises(CallError, match=r"SignatureParser: data: expected .* got "):
        SignatureParser(data)


@pytest.mark.parametrize("tag", ["", "AB", "\u0100", b"A", 65, None])
def test_tag_is_one_character(tag: Any) -> None:
    with pytest.raises(CallError, match="tag: expected a character"):
        SignatureParser("A1!").seek_tag(tag)
    with pytest.raises(CallError, match="tag: expected a character"):
        SignatureBuilder().span(b"", tag)


# --------------------------------------------------------------------------------------- building


def test_builder() -> None:
    other = SignatureBuilder()
    builder = SignatureBuilder().integer(5).integer(-1, "d").span("foobar", "A").span(b"", "Z")
    builder.append_to(other, "I")
    assert builder.encoded == b"_5d-1A7!foobarZ1!"
    assert other.encoded == b"I18!_5d-1A7!foobarZ1!"
    assert repr(SignatureBuilder().integer(1)) == "<SignatureBuilder b'_1'>"
    assert repr(SignatureParser("_1")) == "<SignatureParser INTEGER '_' at byte 0>"


def test_builder_appends_to_itself() -> None:
    builder = SignatureBuilder().integer(1)
    builder.append_to(builder, "A")
    text = r"^SignatureBuilder\.append_to: other: expected SignatureBuilder, got NoneType$"
    with pytest.raises(CallError, match=text):
        builder.append_to(None, "A")  # type: ignore[arg-type]
    assert builder.encoded == b"_1A3!_1"


def test_span_takes_text_and_bytes() -> None:
    for contents in ("\xe9", b"\xc3\xa9", bytearray(b"\xc3\xa9"), memoryview(b"\xc3\xa9")):
        assert SignatureBuilder().span(contents, "A").encoded == b"A3!\xc3\xa9"
    assert SignatureBuilder().span("\udcff", "A").encoded == b"A2!\xff"
    for contents in (None, 5, ["a"], "\ud800"):
        with pytest.raises(CallError, match=r"SignatureBuilder\.span: contents"):
            SignatureBuilder().span(contents, "A")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [INT32_MIN - 1, INT32_MAX + 1, 2**63, -(2**63) - 1, 10**30])
def test_integer_outside_int32(value: int) -> None:
    builder = SignatureBuilder().integer(1)
    problem = rf"^SignatureBuilder\.integer: value: {value} does not fit in int32$"
    with pytest.raises(RangeError, match=problem):
        builder.integer(value)
    with pytest.raises(
        CallError, match=r"^SignatureBuilder\.integer: value: expected an int, got s"
    ):
        builder.integer(str(value))  # type: ignore[arg-type]
    assert isinstance(RangeError(), OverflowError)
    assert builder.encoded == b"_1"


@pytest.mark.parametrize("value", ["5", 1.5, None, b"5"])
def test_integer_of_another_type(value: Any) -> None:
    with pytest.raises(CallError, match=r"SignatureBuilder\.integer"):
        SignatureBuilder().integer(value)


@pytest.mark.parametrize("tag", [*"AZ`{^1! \0", "\x7f", "\x80", "\xff"])
def test_integer_tag(tag: str) -> None:
    with pytest.raises(CallError, match="invalid component tag, expected '_' or 'a' to 'z'"):
        SignatureBuilder().integer(1, tag)


@pytest.mark.parametrize("tag", [*"_az@[1! \0", "\x7f", "\x80", "\xff"])
def test_span_tag(tag: str) -> None:
    with pytest.raises(CallError, match="invalid component tag, expected 'A' to 'Z'"):
        SignatureBuilder().span(b"", tag)


# ------------------------------------------------------------------------------------ hostile input


@pytest.mark.slow
@pytest.mark.parametrize("head", [b"", b"_", b"Z", b"Z-"])
@pytest.mark.parametrize("digit", [b"9", b"0"])
def test_a_number_of_100_mb(head: bytes, digit: bytes) -> None:
    data = head + digit * 100_000_000
    components = grammar.tokens(data[:20])[0]
    parser = SignatureParser(data)
    if head == b"_" and digit == b"0":
        assert components
        assert (parser.ival, parser.next()) == (0, ComponentType.END)
    else:
        code = {b"": "tag"}.get(head) or ("int32" if digit == b"9" else "length")
        with pytest.raises(FormatError) as caught:
            list(parser)
        assert (caught.value.code, caught.value.offset) == (code, len(head[:1]))


def nested_spans(depth: int) -> bytes:
    heads, size = [], 0
    for _ in range(depth):
        heads.append(b"S%d!" % (size + 1))
        size += len(heads[-1])
    return b"".join(reversed(heads))


@pytest.mark.slow
def test_a_million_nested_spans() -> None:
    depth = 1_000_000
    parser = SignatureParser(nested_spans(depth))
    count = 0
    while parser.type is ComponentType.SPAN:
        count += 1
        parser = parser.nested()
    assert count == depth
    assert parser.type is ComponentType.END


@pytest.mark.slow
def test_a_million_components() -> None:
    data = b"_1A2!x" * 500_000
    assert sum(component.ival for component in SignatureParser(data)) == 1_000_000
    assert not SignatureParser(data).seek_tag("R")


@pytest.mark.parametrize("cut", range(12))
def test_every_truncation_is_an_error_or_an_end(cut: int) -> None:
    data = b"_1d-23A4!abc"[:cut]
    assert error_of(data) == grammar_error_of(data)


def test_all_texts_of_two_bytes() -> None:
    for first in range(256):
        for second in range(256):
            data = bytes([first, second])
            assert walk(data) == grammar_walk(data), data


def test_every_error_is_of_the_package() -> None:
    for kind, base in ((FormatError, ValueError), (ArgumentTypeError, TypeError)):
        assert issubclass(kind, FnabiError)
        assert issubclass(kind, base)


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (b"", b"S1!"),
        (bytearray(b"\xff\0"), b"S3!\xff\0"),
        (memoryview(b"abcd")[::1], b"S5!abcd"),
        ("é", b"S3!\xc3\xa9"),
        ("\udcff", b"S2!\xff"),
        (b"x" * 100_000, b"S100001!" + b"x" * 100_000),
    ],
    ids=["empty", "bytearray", "memoryview", "str", "surrogate", "long"],
)
def test_builder_span_of_any_text(contents: object, expected: bytes) -> None:
    builder = SignatureBuilder().integer(True, "b")
    builder.span(contents, "S").integer(INT32_MIN)  # type: ignore[arg-type]
    assert builder.encoded == b"b1" + expected + b"_-2147483648"


@pytest.mark.parametrize("tag", ["A", "", "ab", "é", "\udcff", 5, None])
def test_builder_keeps_what_it_has_when_it_refuses(tag: object) -> None:
    builder = SignatureBuilder().integer(7, "i")
    with pytest.raises(CallError):
        builder.integer(1, tag)  # type: ignore[arg-type]
    with pytest.raises(CallError):
        builder.span(b"x", tag if tag != "A" else "a")  # type: ignore[arg-type]
    assert builder.integer(8, "i").encoded == b"i7i8"


def test_builder_takes_arguments_by_name() -> None:
    builder = SignatureBuilder().integer(value=1).integer(2, tag="d").span(tag="A", contents=b"x")
    assert builder.encoded == b"_1d2A2!x"
    calls: list[tuple[Any, str]] = [
        (lambda: builder.integer(), "missing required argument 'value'"),
        (lambda: builder.integer(1, "d", 2), "at most 2 arguments"),
        (lambda: builder.integer(1, x=2), "unexpected keyword argument 'x'"),
        (lambda: builder.integer(1, value=2), "multiple values for argument 'value'"),
        (lambda: builder.span(b"x"), "missing required argument 'tag'"),
        (lambda: builder.span(tag="A"), "missing required argument 'contents'"),
        (lambda: SignatureBuilder(1), "takes no arguments"),
    ]
    for call, message in calls:
        with pytest.raises(TypeError, match=message):
            call()
    assert builder.encoded == b"_1d2A2!x"


def test_copies_go_their_own_way() -> None:
    builder = SignatureBuilder().integer(1)
    for other in (copy.copy(builder), pickle.loads(pickle.dumps(builder))):
        assert other.integer(2).encoded == b"_1_2"
    assert builder.encoded == b"_1"
    assert copy.copy(SignatureBuilder()).integer(3).encoded == b"_3"

    parser = SignatureParser(b"I7!_1_2_3R1!").nested()
    parser.next()
    for other in (copy.copy(parser), pickle.loads(pickle.dumps(parser))):
        assert [each.ival for each in other] == [2, 3]
    assert (parser.ival, parser.offset) == (2, 5)


@pytest.mark.parametrize("state", [(-1, 2), (3, 2), (0, 5), "ab", (1,), None])
def test_a_parser_stays_inside_its_data(state: Any) -> None:
    parser = SignatureParser(b"_1_2")
    with pytest.raises((TypeError, ValueError)):
        parser.__setstate__(state)  # type: ignore[attr-defined]
    assert [each.ival for each in parser] == [1, 2]


def test_iteration_goes_on_from_the_current_component() -> None:
    parser = SignatureParser(b"_1A3!_5_2B3!_6")
    seen = []
    for component in parser:
        assert (component.tag, component.ival) == (parser.tag, parser.ival)
        assert list(component) == [parser.type, parser.tag, parser.ival, parser.sval]
        if component.type is ComponentType.SPAN:
            seen += [each.ival for each in parser.nested()]
        if component.tag == "A":
            parser.next()  # the loop does not see `_2`
    assert seen == [5, 6]
    assert next(iter(parser), None) is None
    assert SignatureParser.__new__(SignatureParser).nested().end_or_error


def test_a_parser_that_begins_again_lets_go_of_the_first_text() -> None:
    first = bytes(bytearray(b"_1"))
    before = sys.getrefcount(first)
    parser = SignatureParser(first)
    SignatureParser.__init__(parser, b"_2")
    assert [each.ival for each in parser] == [2]
    assert sys.getrefcount(first) == before


@pytest.mark.parametrize("slots", [{}, {"__slots__": ("held", "__weakref__")}])
def test_a_parser_and_its_iterator_that_hold_each_other_are_freed(slots: dict[str, Any]) -> None:
    parser = type("Parser", (SignatureParser,), slots)(b"_1")
    parser.held = iter(parser)
    gone = weakref.ref(parser)
    del parser
    gc.collect()
    assert gone() is None


def test_the_text_of_a_subclass_is_bytes() -> None:
    class Text(SignatureParser):
        @staticmethod
        def _bytes(data: object) -> Any:
            return "_1"

    with pytest.raises(TypeError, match="expected bytes"):
        Text("_1")  # type: ignore[arg-type]
