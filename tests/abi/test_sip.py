from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fnabi import CallError, FormatError, RangeError, sip
from fnabi.abi.sip import (
    Dict,
    Leaf,
    Node,
    Sequence,
    Signature,
    SipSignatureMangler,
    SipSignatureParser,
)
from fnabi.dropin.signature_mangle import StructType, Visitor
from support import grammar, vectors
from support.grammar import INT32_MAX, INT32_MIN, SIP_DEPTH, SIP_EVENT_DEPTH, sip_span
from support.outcomes import (
    Place,
    check_changes,
    check_pickled,
    check_shown,
    check_truncations,
    error_of,
    outcome_of,
)
from support.strategies import mutated, naturals, nearly_sip, sip_keys, sip_nodes, sip_signatures

Outcome = Signature | Place


def outcome(data: bytes) -> Outcome:
    return outcome_of(sip.parse, data)


def grammar_outcome(data: bytes) -> Outcome:
    return outcome_of(grammar.sip_parse, data)


class Recorder:
    """A visitor that writes events as the golden vectors do."""

    def __init__(self) -> None:
        self.events: list[list[Any]] = []

    def integer_key(self, parser: SipSignatureParser, k: int) -> None:
        self.events.append(["k", k])

    def string_key(self, parser: SipSignatureParser, k: str) -> None:
        self.events.append(["K", k.encode("utf-8", "surrogateescape").decode("latin-1")])

    def open_struct(self, parser: SipSignatureParser, struct_type: StructType) -> None:
        assert isinstance(struct_type, StructType)
        self.events.append(["o", struct_type.name[0]])

    def close_struct(self, parser: SipSignatureParser) -> None:
        self.events.append(["c"])

    def map_to_raw_signature_index(self, parser: SipSignatureParser, index: int) -> None:
        self.events.append(["r", index])


def walk(visitor: Visitor, data: bytes | str, side: str) -> str | None:
    """Take a visitor through the side `I` or `R` and give the parser's error."""
    parser = SipSignatureParser()
    (parser.visit_inputs if side == "I" else parser.visit_results)(visitor, data)
    return parser.error


def visit(data: bytes, side: str) -> tuple[list[list[Any]], str | None]:
    recorder = Recorder()
    error = walk(recorder, data, side)
    return recorder.events, error


def text(data: bytes, side: str) -> str:
    visitor = SipSignatureParser.ToStringVisitor()
    walk(visitor, data, side)
    return visitor.s


def latin1(string: str) -> str:
    return string.encode("utf-8", "surrogateescape").decode("latin-1")


def function(inputs: bytes = b"", results: bytes = b"") -> bytes:
    return sip_span(b"I", inputs) + sip_span(b"R", results)


def seq(*children: bytes) -> bytes:
    return sip_span(b"S", b"".join(children))


def dic(*children: bytes) -> bytes:
    return sip_span(b"D", b"".join(children))


def nested(depth: int, leaf: bytes = b"_0") -> bytes:
    """`depth` sequences, each the only child of the one around it."""
    heads, size = [], len(leaf)
    for _ in range(depth):
        heads.append(b"S%d!k0" % (size + 3))
        size += len(heads[-1])
    return b"".join(reversed(heads)) + leaf


def events_of(node: Node | None) -> Iterator[list[Any]]:
    """The events that a visitor of a typed structure sees."""
    if isinstance(node, Leaf):
        yield ["r", node.index]
    elif node is not None:
        yield ["o", type(node).__name__[0]]
        for key, child in node.children:
            yield ["k", key] if isinstance(key, int) else ["K", latin1(key)]
            yield from events_of(child)
        yield ["c"]


# --------------------------------------------------------------------------------- golden vectors


@vectors.each("sip", "sip")
def test_vector(case: dict[str, Any]) -> None:
    data, errors = vectors.bytes_of(case["in"]), []
    differ = False
    for side, recorded in case["out"].items():
        tag = side[0].upper()
        events, error = visit(data, tag)
        errors.append(error)
        # The grammar is an oracle: except for the defects, its results are the reference's.
        assert (events, error) == grammar.sip_visit(data, tag)
        answer = {
            "events": vectors.abridged(events),
            "str": vectors.abridged(latin1(text(data, tag))),
            "err": error,
        }
        if answer != recorded:
            differ = True
            assert error is not None
            assert recorded == {"reference": "hang"} or recorded["err"] is None
    assert differ == (case["note"] == "reference-defect")
    assert (errors == [None, None]) == (case["note"] == "valid")


@vectors.each("sip", "sip")
def test_vector_is_read_strictly_as_in_the_grammar(case: dict[str, Any]) -> None:
    data = vectors.bytes_of(case["in"])
    answer = outcome(data)
    assert answer == grammar_outcome(data)
    if isinstance(answer, Signature):
        assert case["note"] == "valid"
        assert visit(data, "I") == (list(events_of(answer.inputs)), None)
        assert visit(data, "R") == (list(events_of(answer.results)), None)
        assert (sip.encode(answer) == data) or not case["canonical"]
        assert sip.parse(sip.encode(answer)) == answer
        for side in ("inputs", "results"):
            string = vectors.abridged(latin1(sip.to_string(data, side)))  # type: ignore[arg-type]
            assert string == case["out"][side]["str"]
    elif case.get("canonical"):
        assert answer[0] == "depth"


@pytest.mark.parametrize("name", ["tokens", "raw"])
def test_vectors_of_other_kinds_are_read_as_in_the_grammar(name: str) -> None:
    for data in vectors.inputs(name):
        assert outcome(data) == grammar_outcome(data), data
        assert visit(data, "I") == grammar.sip_visit(data, "I"), data
        assert visit(data, "R") == grammar.sip_visit(data, "R"), data


@vectors.each("build", "build_sip")
def test_vector_build(case: dict[str, Any]) -> None:
    answer = {}
    manglers = {}
    for side in ("inputs", "results"):
        calls = [
            (index, [key if isinstance(key, int) else vectors.bytes_of(key) for key in path])
            for index, path in case[side]
        ]
        mangler = manglers[side] = SipSignatureMangler()
        answers = [mangler.set_raw_signature_index(*call) for call in calls]
        encoded = mangler.to_structure_signature().encoded
        assert (answers, encoded) == grammar.sip_mangle(calls)
        answer[f"ret_{side}"] = answers
        answer[side] = vectors.abridged(encoded)
    encoded = SipSignatureMangler.to_function_signature(**manglers).encoded
    answer["sig"] = vectors.abridged(encoded)

    written = [
        [index, path]
        for side in ("inputs", "results")
        for (index, path), taken in zip(case[side], answer[f"ret_{side}"], strict=True)
        if taken
    ]
    if max((len(path) for _, path in written), default=0) <= SIP_DEPTH:
        signature = sip.parse(encoded)
        assert sip.encode(signature) == encoded
        read = [
            [index, [key if isinstance(key, int) else latin1(key) for key in path]]
            for structure in (signature.inputs, signature.results)
            for path, index in sip.paths(structure)
        ]
        assert sorted(read, key=repr) == sorted(written, key=repr)

    if answer != case["out"]:  # the reference takes what it then loses or writes as another key
        assert set(case["defects"]) & {"leaf-overwritten", "negative-int-key"}
        for side in ("ret_inputs", "ret_results"):
            assert len(answer[side]) == len(case["out"][side])
        ours = answer["ret_inputs"] + answer["ret_results"]
        theirs = case["out"]["ret_inputs"] + case["out"]["ret_results"]
        assert (False, True) in zip(ours, theirs, strict=True)


# ------------------------------------------------------------------- the defects of the reference


@pytest.mark.parametrize("data", [b"X", b"I99!abcR1!", b"I1!!R1!", b"R", b"IR", b"R1!!"])
def test_defect_seek_hang(data: bytes) -> None:
    errors = {walk(Recorder(), data, "I"), walk(Recorder(), data, "R")}
    assert errors & {"Inputs struct not found", "Results struct not found"}
    assert isinstance(outcome(data), tuple)


def test_defect_seek_true_on_error() -> None:
    assert visit(b"I1!R5!", "R") == ([], "Results struct not found")
    assert outcome(b"I1!R5!") == ("span-end", 4, "")
    assert visit(b"I9!R1!", "I") == ([], "Inputs struct not found")
    assert outcome(b"I9!R1!") == ("span-end", 1, "")


def test_defect_error_in_a_nested_span() -> None:
    data = function(b"S8!k0S3!k-")
    assert visit(data, "I") == (
        [["o", "S"], ["k", 0], ["o", "S"], ["c"], ["c"]],
        "Syntax error in signature",
    )
    assert outcome(data) == ("integer", 14, "inputs[0]")


def test_defect_length_overflow() -> None:
    for data, place in ((b"I2147483647!abcR1!", 1), (b"I15!S2147483647!abR1!", 5)):
        code, offset, _ = outcome(data)  # type: ignore[misc]
        assert (code, offset) == ("span-end", place)
        assert walk(Recorder(), data, "I") is not None


def test_defect_nesting_without_limit() -> None:
    """A million levels end in an error, in time that grows with the depth only."""
    data = function(nested(1_000_000))
    started = time.process_time()
    events, error = visit(data, "I")
    assert error == "nested too deeply"
    assert len(events) == 3 * SIP_EVENT_DEPTH
    assert outcome(data)[0] == "depth"  # type: ignore[index]
    assert time.process_time() - started < 1


def test_defect_leaf_overwritten() -> None:
    mangler = SipSignatureMangler()
    assert mangler.set_raw_signature_index(0, [0])
    assert not mangler.set_raw_signature_index(1, [0, "a"])
    assert not mangler.set_raw_signature_index(1, [0, 0, 0])
    assert not mangler.set_raw_signature_index(1, [0])
    assert not mangler.set_raw_signature_index(1, [])
    assert mangler.to_structure_signature().encoded == b"S5!k0_0"

    root = SipSignatureMangler()
    assert root.set_raw_signature_index(7, [])
    assert not root.set_raw_signature_index(1, ["a"])
    assert not root.set_raw_signature_index(1, [])
    assert root.to_structure_signature().encoded == b"_7"


def test_defect_negative_integer_key() -> None:
    mangler = SipSignatureMangler()
    for path in ([-1], ["a", -1], [0, INT32_MIN], [-1, "a"]):
        assert not mangler.set_raw_signature_index(0, path)
    assert not mangler.set_raw_signature_index(-1, [0])
    assert mangler.to_structure_signature().encoded == b""


def test_defect_keys_are_not_owned() -> None:
    mangler = SipSignatureMangler()
    path: list[int | str | bytes] = ["", 0]
    for number in range(100):
        path[0] = bytes(bytearray(b"key%02d" % number))  # an object of its own, gone at once
        assert mangler.set_raw_signature_index(number, path)
    path[:] = ["other", 9]
    inputs = sip.parse(function(mangler.to_structure_signature().encoded)).inputs
    assert inputs == Dict(
        tuple((f"key{number:02}", Sequence(((0, Leaf(number)),))) for number in range(100))
    )


# --------------------------------------------------------------------------------- strict parsing


def test_parse() -> None:
    kwargs = dic(b"K7!kwargs", seq(b"k0_2"), b"K2!x_3")
    data = function(seq(b"k0_0k1_1k2", kwargs), dic(b"K3!\xc3\xa9_0"))
    assert sip.parse(data) == Signature(
        inputs=Sequence(
            (
                (0, Leaf(0)),
                (1, Leaf(1)),
                (2, Dict((("kwargs", Sequence(((0, Leaf(2)),))), ("x", Leaf(3))))),
            )
        ),
        results=Dict((("é", Leaf(0)),)),
    )
    assert sip.parse(b"I1!R1!") == Signature(None, None)
    assert sip.parse("I3!_0R4!S1!") == Signature(Leaf(0), Sequence(()))
    assert sip.parse("I4!D1!R3!_5") == Signature(Dict(()), Leaf(5))


def test_keys_keep_the_order_of_the_text() -> None:
    data = function(b"S17!k2_0k0_1k1_2k9_3", b"D18!K2!b_0K1!_2K2!a_1")
    signature = sip.parse(data)
    assert [key for key, _ in signature.inputs.children] == [2, 0, 1, 9]  # type: ignore[union-attr]
    assert [key for key, _ in signature.results.children] == ["b", "", "a"]  # type: ignore[union-attr]
    assert sip.encode(signature) == data


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\0", b"a\0b", b"\xff", b"\xed\xa0\x80", b"!_0"])
def test_a_key_is_any_bytes(key: bytes) -> None:
    data = function(sip_span(b"D", sip_span(b"K", key) + b"_0"))
    signature = sip.parse(data)
    (name, leaf), *rest = signature.inputs.children  # type: ignore[union-attr]
    assert (leaf, rest) == (Leaf(0), [])
    assert isinstance(name, str)
    assert name.encode("utf-8", "surrogateescape") == key
    assert sip.encode(signature) == data
    assert visit(data, "I")[0][1] == ["K", key.decode("latin-1")]


def test_keys_that_differ_late_are_no_duplicates() -> None:
    keys = [b"a", b"ab", b"a\0", b"a\xff", b"", b"b", b"\xff", b"\0"]
    inner = b"".join(sip_span(b"K", key) + b"_0" for key in keys)
    assert isinstance(outcome(function(sip_span(b"D", inner))), Signature)
    for key in keys:
        twice = sip_span(b"D", inner + sip_span(b"K", key) + b"_0")
        head = twice.index(b"!") + 1
        assert outcome(function(twice))[:2] == (  # type: ignore[index]
            "sip-duplicate",
            function(twice).index(twice) + head + len(inner),
        )


ERRORS = [
    # the text, a caret under the offending byte, code, path, what was expected
    ("", "^", "sip-inputs", "", "'I'"),
    ("R1!", "^", "sip-inputs", "", "'I'"),
    ("_1I1!R1!", "^", "sip-inputs", "", "'I'"),
    ("!", "^", "sip-inputs", "", "'I'"),
    ("I", " ^", "integer", "", None),
    ("I1", "  ^", "span-mark", "", None),
    ("I0!R1!", " ^", "length", "", None),
    ("I3!_0", "     ^", "sip-results", "", "'R'"),
    ("I1!I1!R1!", "   ^", "sip-results", "", "'R'"),
    ("I1!R2!", "    ^", "span-end", "", None),
    ("I1!R99999999999!", "    ^", "int32", "", None),
    ("I1!R1!R1!", "      ^", "unexpected", "", "the end"),
    ("I1!R1!\n", "      ^", "unexpected", "", "the end"),
    ("I3!k0R1!", "   ^", "sip-key", "inputs", "'_', 'S' or 'D'"),
    ("I5!K2!aR1!", "   ^", "sip-key", "inputs", "'_', 'S' or 'D'"),
    ("I3!x0R1!", "   ^", "sip-tag", "inputs", "'_', 'S' or 'D'"),
    ("I4!Q1!R1!", "   ^", "sip-tag", "inputs", "'_', 'S' or 'D'"),
    ("I2!?R1!", "   ^", "tag", "inputs", None),
    ("I2!_R1!", "    ^", "integer", "inputs", None),
    ("I4!_-1R1!", "    ^", "sip-negative", "inputs", "0 or more"),
    ("I12!_2147483648R1!", "     ^", "int32", "inputs", None),
    ("I5!_0_1R1!", "     ^", "sip-value", "inputs", "the end"),
    ("I5!_0k1R1!", "     ^", "sip-key", "inputs", "the end"),
    ("I5!_0x1R1!", "     ^", "sip-tag", "inputs", "the end"),
    ("I4!_0!R1!", "     ^", "tag", "inputs", None),
    ("I7!S1!S1!R1!", "      ^", "sip-value", "inputs", "the end"),
    ("I6!S3!_0R1!", "      ^", "sip-value", "inputs", "'k'"),
    ("I6!D3!_0R1!", "      ^", "sip-value", "inputs", "'K'"),
    ("I6!S3!x0R1!", "      ^", "sip-tag", "inputs", "'k'"),
    ("I7!D4!S1!R1!", "      ^", "sip-value", "inputs", "'K'"),
    ("I6!S3!k0R1!", "        ^", "missing", "inputs[0]", "'_', 'S' or 'D'"),
    ("I8!S5!k0k1R1!", "        ^", "sip-key", "inputs[0]", "'_', 'S' or 'D'"),
    ("I8!S5!k0x1R1!", "        ^", "sip-tag", "inputs[0]", "'_', 'S' or 'D'"),
    ("I8!S5!k0_-R1!", "          ^", "integer", "inputs[0]", None),
    ("I9!S6!k-1_0R1!", "       ^", "sip-negative", "inputs", "0 or more"),
    ("I10!S7!k0_0_1R1!", "           ^", "sip-value", "inputs", "'k'"),
    ("I12!S9!k0_0k0_1R1!", "           ^", "sip-duplicate", "inputs", None),
    ("I14!S10!k1_1k01_1R1!", "            ^", "sip-duplicate", "inputs", None),
    ("I17!S13!k1_0k0_0k1_1R1!", "                ^", "sip-duplicate", "inputs", None),
    ("I21!S17!k1_0k0_0k1_1k1_2R1!", "                ^", "sip-duplicate", "inputs", None),
    ("I21!S17!k1_0k5_0k1_1k5_2R1!", "                ^", "sip-duplicate", "inputs", None),
    (
        "I25!S21!k1_0k0_0k1_1k2_2k1_3R1!",
        "                ^",
        "sip-duplicate",
        "inputs",
        None,
    ),
    ("I21!S17!k1_0k0_0k1_1k9x0R1!", "                ^", "sip-duplicate", "inputs", None),
    ("I18!S14!k1_0k0_0k1_1xR1!", "                ^", "sip-duplicate", "inputs", None),
    (
        "I26!S22!k1_0k0_0k1S9!k0_0k0_1R1!",
        "                ^",
        "sip-duplicate",
        "inputs",
        None,
    ),
    (
        "I27!S23!k1_0k0S13!k2_0k1_0k2_1R1!",
        "                          ^",
        "sip-duplicate",
        "inputs[0]",
        None,
    ),
    ("I10!S7!K2!a_0R1!", "       ^", "sip-key", "inputs", "'k'"),
    ("I8!D5!k0_0R1!", "      ^", "sip-key", "inputs", "'K'"),
    ("I1!R17!D13!K2!a_0K2!a_1", "                 ^", "sip-duplicate", "results", None),
    (
        "I1!R23!D19!K2!b_0K2!a_0K2!b_1",
        "                       ^",
        "sip-duplicate",
        "results",
        None,
    ),
    (
        "I1!R17!S13!k3D8!K2!a_-1",
        "                     ^",
        "sip-negative",
        'results[3]["a"]',
        "0 or more",
    ),
    ('I1!R12!D9!K5!"a\n~_', "                  ^", "integer", r'results["\x22a\x0a~"]', None),
    ("I9!D6!K0!_0R1!", "       ^", "length", "inputs", None),
    ("I5!D2!KR1!", "       ^", "integer", "inputs", None),
    ("I10!D7!K9!a_0R1!", "        ^", "span-end", "inputs", None),
    ("I18!S14!k2147483648_0R1!", "         ^", "int32", "inputs", None),
    ("I9!S6!k0S9!R1!", "         ^", "span-end", "inputs[0]", None),
]


@pytest.mark.parametrize(("data", "caret", "code", "path", "expected"), ERRORS)
def test_error(data: str, caret: str, code: str, path: str, expected: str | None) -> None:
    error = error_of(sip.parse, data)
    assert (error.code, error.offset, error.path) == (code, len(caret) - 1, path)
    assert error.expected == expected
    check_shown(error, data)
    assert grammar_outcome(data.encode()) == (code, error.offset, path)
    for side in ("inputs", "results"):
        with pytest.raises(FormatError) as again:
            sip.to_string(data, side)  # type: ignore[arg-type]
        assert str(again.value) == str(error)


def test_a_long_path_keeps_its_end() -> None:
    name = b"x" * 50
    data = b"!"
    for _ in range(10):
        data = sip_span(b"D", sip_span(b"K", name) + data)
    code, offset, path = outcome(function(data))  # type: ignore[misc]
    assert (code, function(data)[offset:]) == ("tag", b"!R1!")
    assert path == "..." + f'["{"x" * 34}"]' * 3


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("é", r"\xc3\xa9"),
        ("ü", r"\xc3\xbc"),
        ('a"\\', r"a\x22\x5c"),
        ("\x1b[1m", r"\x1b[1m"),
        ("é" * 9, r"\xc3\xa9" * 4),
        ("x" * 33 + "é", "x" * 33),
    ],
)
def test_a_path_tells_keys_apart(key: str, shown: str) -> None:
    data = function(sip_span(b"D", sip_span(b"K", key.encode()) + b"!"))
    with pytest.raises(FormatError) as caught:
        sip.parse(data)
    assert caught.value.path == f'inputs["{shown}"]'
    assert outcome(data) == grammar_outcome(data)
    assert outcome(function(data)) == grammar_outcome(function(data))
    data = function(nested(127, b"!"))
    assert outcome(data) == grammar_outcome(data) == ("tag", len(data) - 4, "..." + "[0]" * 41)
    data = function(nested(39, b"!"))
    assert outcome(data) == ("tag", len(data) - 4, "inputs" + "[0]" * 39)


def test_error_can_be_pickled() -> None:
    check_pickled(error_of(sip.parse, "I1!R17!S13!k3D8!K2!a_-1"))


def test_depth() -> None:
    data = function(nested(SIP_DEPTH), nested(SIP_DEPTH, b"_1"))
    signature = sip.parse(data)
    assert signature == grammar.sip_parse(data)
    assert sip.encode(signature) == data
    assert sip.paths(signature.inputs) == (((0,) * SIP_DEPTH, 0),)
    assert pickle.loads(pickle.dumps(signature)) == signature
    deeper = function(nested(SIP_DEPTH + 1))
    offset = deeper.index(nested(1))
    assert outcome(deeper) == grammar_outcome(deeper)
    assert outcome(deeper)[:2] == ("depth", offset)  # type: ignore[index]
    node: Node = Sequence(((0, signature.inputs),))  # type: ignore[arg-type]
    with pytest.raises(CallError, match=r"^sip\.encode: .*nested too deeply, expected at most 128"):
        sip.encode(Signature(None, node))


def test_depth_of_events() -> None:
    visitor = Recorder()
    assert walk(visitor, function(b"", nested(SIP_EVENT_DEPTH)), "R") is None
    assert len(visitor.events) == 3 * SIP_EVENT_DEPTH + 1
    visitor = Recorder()
    assert walk(visitor, function(b"", nested(SIP_EVENT_DEPTH + 1)), "R") == "nested too deeply"
    assert len(visitor.events) == 3 * SIP_EVENT_DEPTH
    assert visitor.events[-SIP_EVENT_DEPTH:] == [["c"]] * SIP_EVENT_DEPTH


@given(nearly_sip())
@example(b"I1!R1!")
def test_any_structure_reads_as_in_the_grammar(data: bytes) -> None:
    check_as_grammar(data)


@given(mutated(sip_signatures.map(sip.encode)) | st.binary(max_size=40))
def test_any_text_reads_as_in_the_grammar(data: bytes) -> None:
    check_as_grammar(data)


def check_as_grammar(data: bytes) -> None:
    answer = outcome(data)
    assert answer == grammar_outcome(data)
    for side, tag in (("inputs", "I"), ("results", "R")):
        events, error = visit(data, tag)
        assert (events, error) == grammar.sip_visit(data, tag)
        assert latin1(text(data, tag)) == grammar.sip_text(events)
        if isinstance(answer, Signature):
            assert error is None
            assert events == list(events_of(getattr(answer, side)))
            assert sip.to_string(data, side) == text(data, tag)  # type: ignore[arg-type]


@pytest.mark.parametrize("offset", range(8))
def test_golden_vectors_with_changes_read_as_in_the_grammar(offset: int) -> None:
    pieces = [
        b"",
        b"\0",
        b"\xff",
        b"-",
        b"!",
        b"0",
        b"9",
        b"k",
        b"K",
        b"_",
        b"S",
        b"D",
        b"2147483647",
    ]
    chosen = [data for data in vectors.inputs("sip") if len(data) < 200]
    for number, data in enumerate(chosen[offset::8]):
        for piece in pieces[number % 3 :: 3]:
            at = (number * 7919 + len(piece)) % (len(data) + 1)
            for end in (at, at + 1, at + 2):
                changed = data[:at] + piece + data[end:]
                assert outcome(changed) == grammar_outcome(changed), changed
                assert visit(changed, "I") == grammar.sip_visit(changed, "I"), changed
                assert visit(changed, "R") == grammar.sip_visit(changed, "R"), changed


SAMPLE = function(seq(b"k1_0k0", dic(b"K2!b_1K1!_3K2!a_2")), seq(b"k2_0k0_1"))


def test_every_truncation_is_an_error() -> None:
    check_truncations(outcome, grammar_outcome, SAMPLE)


def test_every_change_of_a_byte_is_read_as_in_the_grammar() -> None:
    check_changes(outcome, grammar_outcome, SAMPLE)


# --------------------------------------------------------------------------------------- encoding


def test_encode() -> None:
    signature = Signature(
        inputs=Dict(
            (("b", Leaf(1)), ("a", Sequence(((5, Leaf(0)), (2, Leaf(7)))))),
        ),
        results=Leaf(2**31 - 1),
    )
    assert sip.encode(signature) == b"I26!D22!K2!b_1K2!aS9!k5_0k2_7R12!_2147483647"
    assert sip.encode(Signature(None, None)) == b"I1!R1!"
    assert sip.encode(Signature(Sequence(()), Dict(()))) == b"I4!S1!R4!D1!"


@given(sip_signatures)
@example(Signature(Dict((("\udcff", Leaf(0)), ("\xff", Leaf(1)))), None))
@example(Signature(None, Sequence(((INT32_MAX, Leaf(INT32_MAX)), (0, Leaf(0))))))
def test_round_trip(signature: Signature) -> None:
    data = sip.encode(signature)
    assert data == grammar.sip_encode(signature)
    assert sip.parse(data) == signature == grammar.sip_parse(data)


CANNOT = [
    (5, r"inputs: .*expected Leaf, Sequence or Dict"),
    (Signature(None, None), r"inputs: .*expected Leaf, Sequence or Dict"),
    (Leaf(-1), r"inputs: negative key or index"),
    (Leaf("0"), r"inputs: .*expected an int"),
    (Leaf(True), r"inputs: .*expected an int"),
    (Leaf(1.0), r"inputs: .*expected an int"),
    (Leaf(None), r"inputs: .*expected an int"),
    (Sequence(5), r"inputs\.children: .*a tuple of children"),
    (Sequence(((0, Leaf(0)), 5)), r"inputs\.children\[1\]: .*a pair of key and node"),
    (Sequence(((0,),)), r"inputs\.children\[0\]: .*a pair of key and node"),
    (Sequence(((0, Leaf(0), 1),)), r"inputs\.children\[0\]: .*a pair of key and node"),
    (Sequence((("a", Leaf(0)),)), r"inputs\.children\[0\]: .*expected an int"),
    (Sequence(((-1, Leaf(0)),)), r"inputs\.children\[0\]: negative key or index"),
    (Sequence(((0, None),)), r"inputs\.children\[0\]: .*expected Leaf, Sequence or Dict"),
    (Dict(((0, Leaf(0)),)), r"inputs\.children\[0\]: .*expected a str"),
    (Dict(((None, Leaf(0)),)), r"inputs\.children\[0\]: .*expected a str"),
    (Dict((("\ud800", Leaf(0)),)), r"surrogates not allowed"),
    (Dict((("a", Leaf(-1)),)), r"inputs\.children\[0\]: negative key or index"),
    (
        Dict((("a", Leaf(0)), ("b", Sequence(((0, Leaf(0)), (1, Leaf("x"))))))),
        r"inputs\.children\[1\]\.children\[1\]: .*expected an int",
    ),
    (object(), r"object"),
]


@pytest.mark.parametrize(("node", "message"), CANNOT)
def test_encode_refuses_what_it_cannot_express(node: Any, message: str) -> None:
    with pytest.raises(CallError, match=r"^sip\.encode: ") as caught:
        sip.encode(Signature(node, None))
    assert not isinstance(caught.value, RangeError)
    caught.match(message)


@pytest.mark.parametrize(
    ("node", "place"),
    [
        (Sequence(((0, Leaf(0)), (0, Leaf(1)))), "results"),
        (Sequence(((1, Leaf(0)), (0, Leaf(1)), (1, Leaf(1)))), "results"),
        (Dict((("a", Leaf(0)), ("a", Leaf(0)))), "results"),
        (Dict((("b", Leaf(0)), ("", Leaf(1)), ("b", Leaf(2)))), "results"),
        (Dict((("\udcff", Leaf(0)), ("", Leaf(1)), (b"\xff", Leaf(2)))), "results"),
        (Sequence(((3, Dict((("a", Leaf(0)), ("a", Leaf(0))))),)), r"results\[3\]"),
    ],
)
def test_encode_refuses_a_key_that_occurs_twice(node: Any, place: str) -> None:
    with pytest.raises(CallError, match=rf"^sip\.encode: {place}: duplicate key"):
        sip.encode(Signature(Leaf(0), node))


@pytest.mark.parametrize("value", [INT32_MAX + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**70)])
def test_encode_refuses_integers_outside_int32(value: int) -> None:
    for node in (Leaf(value), Sequence(((value, Leaf(0)),))):
        with pytest.raises(RangeError, match=r"^sip\.encode: .*(does not fit in|outside) int32"):
            sip.encode(Signature(node, None))


@pytest.mark.parametrize("value", [None, 5, (), (None,), (None,) * 3, "I1!R1!", object(), Leaf(0)])
def test_encode_takes_signatures_only(value: Any) -> None:
    with pytest.raises(CallError, match=r"^sip\.encode: "):
        sip.encode(value)


def test_structures_that_are_deeper_than_python_can_go() -> None:
    node: Node = Leaf(0)
    values: Any = 1
    for _ in range(5_000):
        node, values = Sequence(((0, node),)), [values]
    with pytest.raises(CallError, match=r"^sip\.flatten: structure: nested too deeply"):
        sip.flatten(node, values)
    with pytest.raises(CallError, match=r"^sip\.unflatten: structure: nested too deeply"):
        sip.unflatten(node, [1])
    with pytest.raises(CallError, match=r"^sip\.encode: .*(recursion|nested)"):
        sip.encode(Signature(node, None))


# ------------------------------------------------------------------------------- typed structures


def test_records() -> None:
    signature = sip.parse(function(seq(b"k0_0k1", dic(b"K2!a_1K2!b_2")), seq(b"k1_0k5_1")))
    assert eval(repr(signature)) == signature
    assert repr(Leaf(1)) == "Leaf(index=1)"
    assert str(signature) == "[$0, {a: $1, b: $2}] -> [1: $0, 5: $1]"
    assert [str(side) for side in (signature.inputs, signature.results)] == str(signature).split(
        " -> "
    )
    assert str(Leaf(3)) == "$3"
    assert str(Signature(None, Leaf(0))) == "() -> $0"
    assert str(Signature(Sequence(()), Dict(()))) == "[] -> {}"
    keys = ["a/b.c_1", "", "a b", "0", "a: $1, b", "\udcff"]
    text = r"{a/b.c_1: $0, '': $0, 'a b': $0, '0': $0, 'a: $1, b': $0, '\udcff': $0} -> ()"
    assert str(Signature(Dict(tuple((key, Leaf(0)) for key in keys)), None)) == text
    assert str(Signature(Sequence(((1, Leaf(0)), (0, Leaf(1)))), None)) == "[$1, $0] -> ()"
    assert pickle.loads(pickle.dumps(signature)) == signature
    assert hash(pickle.loads(pickle.dumps(signature))) == hash(signature)
    assert Sequence(()) != Dict(())
    with pytest.raises(AttributeError):
        signature.inputs = None  # type: ignore[misc]
    match signature:
        case Signature(inputs=Sequence([(0, Leaf(first)), (1, Dict([("a", Leaf(second)), _]))])):
            assert (first, second) == (0, 1)
        case _:
            pytest.fail("no match")


@given(sip_signatures)
def test_every_record_survives(signature: Signature) -> None:
    assert eval(repr(signature)) == signature
    assert pickle.loads(pickle.dumps(signature)) == signature
    assert isinstance(str(signature), str)


def test_paths() -> None:
    signature = sip.parse(function(seq(b"k1_0k0", dic(b"K2!a_2K2!b_1")), b"_3"))
    assert sip.paths(signature.inputs) == (((1,), 0), ((0, "a"), 2), ((0, "b"), 1))
    assert sip.paths(signature.results) == (((), 3),)
    assert sip.paths(None) == sip.paths(Dict(())) == ()


@given(sip_nodes)
def test_paths_are_what_the_mangler_takes(node: Node) -> None:
    places = sip.paths(node)
    mangler = SipSignatureMangler()
    for path, index in places:
        assert mangler.set_raw_signature_index(index, path)
    written = mangler.to_structure_signature().encoded
    assert sorted(sip.paths(sip.parse(function(written)).inputs), key=repr) == sorted(
        places, key=repr
    )
    calls = [
        (i, [k if isinstance(k, int) else k.encode("utf-8", "surrogateescape") for k in p])
        for p, i in places
    ]
    assert grammar.sip_mangle(calls) == ([True] * len(calls), written)


@pytest.mark.parametrize("structure", [5, "S1!", Signature(None, None), (), Sequence(((0, 5),))])
def test_structures_of_another_type(structure: Any) -> None:
    message = "structure: expected Leaf, Sequence, Dict or None, got (int|str|Signature|tuple)$"
    with pytest.raises(CallError, match=rf"^sip\.paths: {message}"):
        sip.paths(structure)
    with pytest.raises(CallError, match=rf"^sip\.flatten: {message}"):
        sip.flatten(structure, None)
    with pytest.raises(CallError, match=rf"^sip\.unflatten: {message}"):
        sip.unflatten(structure, [])


# ---------------------------------------------------------------------------- flatten, unflatten

NEST = Dict(
    (
        ("x", Leaf(2)),
        ("list", Sequence(((1, Leaf(1)), (0, Leaf(0))))),
        ("odd", Sequence(((3, Leaf(3)),))),
        ("none", Sequence(())),
    )
)
VALUES = {"x": "c", "list": ["a", "b"], "odd": {3: "d"}, "none": []}


def test_flatten() -> None:
    assert sip.flatten(NEST, VALUES) == ["a", "b", "c", "d"]
    assert sip.flatten(NEST, MappingProxyType(VALUES | {"list": ("a", "b")})) == [*"abcd"]
    assert sip.flatten(None, None) == []
    assert sip.flatten(Dict(()), {}) == []
    assert sip.unflatten(Dict(()), []) == {}
    assert sip.unflatten(Sequence(()), []) == []
    assert sip.flatten(Leaf(0), VALUES) == [VALUES]
    assert sip.flatten(Leaf(0), None) == [None]
    array = np.zeros(3)
    assert sip.flatten(Sequence(((0, Leaf(0)), (1, Leaf(0)))), [array, array])[0] is array


def test_unflatten() -> None:
    assert sip.unflatten(NEST, [*"abcd"]) == VALUES
    assert list(sip.unflatten(NEST, (*"abcd",))) == ["x", "list", "odd", "none"]
    assert sip.unflatten(NEST, iter("abcd")) == VALUES
    assert sip.unflatten(Leaf(0), np.array([5])) == 5
    assert sip.unflatten(None, []) is None
    shared = Sequence(((0, Leaf(0)), (1, Leaf(0))))
    assert sip.unflatten(shared, ["a"]) == ["a", "a"]


def test_unflatten_loses_no_value() -> None:
    for key, kind in (("k", Dict), (0, Sequence)):
        twice = kind(((key, Leaf(0)), (key, Leaf(1))))
        for structure in (twice, Dict((("n", twice),))):
            with pytest.raises(CallError) as caught:
                sip.unflatten(structure, [1, 2])
            assert str(caught.value) == f"sip.unflatten: structure: the key {key!r} is there twice"


@given(sip_nodes)
def test_flatten_and_unflatten_are_inverse(node: Node) -> None:
    used = sorted({index for _, index in sip.paths(node)})
    structure = renumber(node, {index: place for place, index in enumerate(used)})
    flat = [object() for _ in used]
    values = sip.unflatten(structure, flat)
    assert sip.flatten(structure, values) == flat
    for path, index in sip.paths(structure):
        value = values
        for key in path:
            value = value[key]
        assert value is flat[index]


def renumber(node: Node, places: dict[int, int]) -> Node:
    if isinstance(node, Leaf):
        return Leaf(places[node.index])
    children: Any = tuple((key, renumber(child, places)) for key, child in node.children)
    return type(node)(children)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "values: expected a mapping, got NoneType"),
        ([1, 2, 3, 4], "values: expected a mapping, got list"),
        ("abcd", "values: expected a mapping, got str"),
        ({}, "values['x']: missing"),
        ({"x": 1}, "values['list']: missing"),
        (VALUES | {"list": ["a"]}, "values['list'][1]: missing"),
        (VALUES | {"list": "ab"}, "values['list']: expected a list or tuple, got str"),
        (VALUES | {"list": b"ab"}, "values['list']: expected a list or tuple, got bytes"),
        (VALUES | {"list": {0: 1, 1: 2}}, "values['list']: expected a list or tuple, got dict"),
        (VALUES | {"list": None}, "values['list']: expected a list or tuple, got NoneType"),
        (VALUES | {"list": [1, 2, 3]}, "values['list'][2]: unknown key"),
        (VALUES | {"none": [1]}, "values['none'][0]: unknown key"),
        (VALUES | {"odd": [1, 2, 3, 4]}, "values['odd']: expected a mapping, got list"),
        (VALUES | {"odd": {2: 1}}, "values['odd'][3]: missing"),
        (VALUES | {"odd": {3: 1, 2: 1, 1: 1}}, "values['odd'][2]: unknown key"),
        (VALUES | {"z": 1, "y": 2}, "values['z']: unknown key"),
    ],
)
def test_flatten_names_the_place(values: Any, message: str) -> None:
    with pytest.raises(CallError) as caught:
        sip.flatten(NEST, values)
    assert str(caught.value) == f"sip.flatten: {message}"


def test_flatten_without_values() -> None:
    with pytest.raises(CallError, match=r"^sip\.flatten: values: expected None: the structure is"):
        sip.flatten(None, [])


def test_flatten_refuses_two_values_for_one_place() -> None:
    shared = Sequence(((0, Leaf(0)), (1, Leaf(0))))
    with pytest.raises(CallError) as caught:
        sip.flatten(shared, [[], []])
    assert str(caught.value) == "sip.flatten: values[1]: two values for index 0"


def test_a_place_without_a_value() -> None:
    structure = Sequence(((0, Leaf(0)), (1, Leaf(2))))
    for call in (sip.flatten, sip.unflatten):
        with pytest.raises(CallError) as caught:
            call(structure, [1, 2])
        assert str(caught.value) == f"sip.{call.__name__}: structure: no leaf has the index 1"


@pytest.mark.parametrize("flat", [[], [1, 2, 3], [1, 2, 3, 4, 5], np.zeros(3)])
def test_unflatten_wants_all_values(flat: Any) -> None:
    with pytest.raises(CallError) as caught:
        sip.unflatten(NEST, flat)
    assert str(caught.value) == f"sip.unflatten: flat: expected 4 values, got {len(flat)}"


@pytest.mark.parametrize("flat", [None, 5, "abcd", b"abcd", {0: 1, 1: 2, 2: 3, 3: 4}])
def test_unflatten_wants_a_list(flat: Any) -> None:
    kind = type(flat).__name__
    with pytest.raises(CallError) as caught:
        sip.unflatten(NEST, flat)
    assert str(caught.value) == f"sip.unflatten: flat: expected a list or tuple, got {kind}"


# -------------------------------------------------------------------------------------- to_string


def test_to_string() -> None:
    inner = sip_span(b"D", b"K2!xS1!K2!y" + sip_span(b"S", b"k0_1k1_2"))
    data = function(sip_span(b"S", b"k0_0k1" + inner), b"_5")
    assert sip.to_string(data, "inputs") == (
        ":[\n"
        "  0=raw(0),\n"
        "  1:{\n"
        "    x:[\n"
        "    ],\n"
        "    y:[\n"
        "      0=raw(1),\n"
        "      1=raw(2),\n"
        "    ],\n"
        "  },\n"
        "],\n"
    )
    assert sip.to_string(data, "results") == "=raw(5),\n"
    assert sip.to_string("I1!R1!", "results") == ""


@pytest.mark.parametrize("side", ["I", "", None, 0, [], "Inputs"])
def test_to_string_of_another_side(side: Any) -> None:
    with pytest.raises(
        CallError, match=r"^sip\.to_string: side: expected 'inputs' or 'results', got "
    ):
        sip.to_string("I1!R1!", side)


def test_text_so_far() -> None:
    visitor = SipSignatureParser.ToStringVisitor()
    assert visitor.s == ""
    assert walk(visitor, "I10!S7!k0_0k0R1!", "I") is None
    assert visitor.s == ":[\n  0=raw(0),\n  0],\n"
    assert walk(visitor, "I3!_5R1!", "I") is None
    assert visitor.s == ":[\n  0=raw(0),\n  0],\n=raw(5),\n"


# -------------------------------------------------------------------------------- drop-in classes


def test_mangler() -> None:
    inputs = SipSignatureMangler()
    assert inputs.set_raw_signature_index(2, ["b", 1])
    assert inputs.set_raw_signature_index(1, ["b", 0])
    assert inputs.set_raw_signature_index(0, ["a"])
    assert inputs.set_raw_signature_index(5, ("\xe9",))
    assert inputs.set_raw_signature_index(6, [b"\xff"])
    results = SipSignatureMangler()
    assert results.set_raw_signature_index(0, [])
    assert inputs.to_structure_signature().encoded == (
        dic(b"K2!a_0K2!b", seq(b"k0_1k1_2"), b"K3!\xc3\xa9_5K2!\xff_6")
    )
    data = SipSignatureMangler.to_function_signature(inputs, results).encoded
    assert data == function(inputs.to_structure_signature().encoded, b"_0")
    assert SipSignatureMangler().to_structure_signature().encoded == b""
    empty = SipSignatureMangler()
    assert SipSignatureMangler.to_function_signature(empty, empty).encoded == b"I1!R1!"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0], ["a"]),
        (["a"], [0]),
        ([0, 1], [0, "a"]),
        ([0, 1], [0]),
        ([0], [0]),
        ([0], [0, 1]),
        (["a"], []),
        ([], ["a"]),
        (["a"], [b"a"]),
        (["\xe9"], [b"\xc3\xa9"]),
    ],
)
def test_mangler_refuses_a_path(first: list[Any], second: list[Any]) -> None:
    mangler = SipSignatureMangler()
    assert mangler.set_raw_signature_index(0, first)
    before = mangler.to_structure_signature().encoded
    assert not mangler.set_raw_signature_index(1, second)
    assert mangler.to_structure_signature().encoded == before


@given(
    st.lists(
        st.tuples(
            naturals | st.just(-1),
            st.lists(
                st.integers(0, 2) | st.sampled_from([b"a", b"b", b"\xff"]) | st.just(-1),
                max_size=3,
            ),
        ),
        max_size=12,
    )
)
def test_any_paths_are_taken_as_in_the_grammar(calls: list[tuple[int, list[int | bytes]]]) -> None:
    mangler = SipSignatureMangler()
    answers = [mangler.set_raw_signature_index(index, path) for index, path in calls]
    assert (answers, mangler.to_structure_signature().encoded) == grammar.sip_mangle(calls)


def test_mangler_takes_whatever_is_an_integer() -> None:
    mangler = SipSignatureMangler()
    assert mangler.set_raw_signature_index(np.int64(3), iter([np.uint8(2), "a"]))  # type: ignore[arg-type]
    assert mangler.set_raw_signature_index(True, [False])
    assert mangler.to_structure_signature().encoded == seq(b"k0_1k2", dic(b"K2!a_3"))


@pytest.mark.parametrize("value", [INT32_MAX + 1, INT32_MIN - 1, 2**64])
def test_mangler_refuses_integers_outside_int32(value: int) -> None:
    mangler = SipSignatureMangler()
    with pytest.raises(RangeError, match=rf"set_raw_signature_index: index: {value} does not fit"):
        mangler.set_raw_signature_index(value, [])
    with pytest.raises(RangeError, match=rf"set_raw_signature_index: path: {value} does not fit"):
        mangler.set_raw_signature_index(0, ["a", value])
    assert mangler.to_structure_signature().encoded == b""


@pytest.mark.parametrize(
    "path", [None, 5, "ab", b"ab", bytearray(b"a"), np.array(1), [None], [1.5], [[1]]]
)
def test_mangler_refuses_other_paths(path: Any) -> None:
    with pytest.raises(
        CallError, match=r"set_raw_signature_index: path: expected ints and strings"
    ):
        SipSignatureMangler().set_raw_signature_index(0, path)
    with pytest.raises(CallError, match=r"set_raw_signature_index: path: .*surrogates not allowed"):
        SipSignatureMangler().set_raw_signature_index(0, ["\ud800"])
    with pytest.raises(CallError, match=r"set_raw_signature_index: index: expected an int"):
        SipSignatureMangler().set_raw_signature_index("0", [])  # type: ignore[arg-type]
    with pytest.raises(CallError, match=r"to_function_signature: inputs: expected SipSignatureMan"):
        SipSignatureMangler.to_function_signature(None, None)  # type: ignore[arg-type]


def test_mangler_nests_as_deep_as_the_parser() -> None:
    mangler = SipSignatureMangler()
    assert mangler.set_raw_signature_index(0, [0] * SIP_EVENT_DEPTH)
    data = mangler.to_structure_signature().encoded
    assert data == nested(SIP_EVENT_DEPTH)
    assert mangler.set_raw_signature_index(1, [1] * (SIP_EVENT_DEPTH + 1))
    with pytest.raises(CallError, match=r"to_structure_signature: .*nested too deeply"):
        mangler.to_structure_signature()


LENIENT = [
    # inputs, abbreviated events, error: inputs that only the drop-in parser accepts
    ("k0", "", "Struct key not allowed here"),
    ("K2!a", "", "Struct key not allowed here"),
    ("_0_1S1!", "r0 r1 oS c", None),
    ("_-5", "r-5", None),
    ("S3!k0", "oS k0 c", None),
    ("S8!k0S3!k1", "oS k0 oS k1 c c", None),
    ("S9!k0_0k0_1", "oS k0 r0 k0 r1 c", None),
    ("S6!k-1_0", "oS k-1 r0 c", None),
    ("S10!k0_0K1!_1", "oS k0 r0 K r1 c", None),
    ("D5!k0_0", "oD k0 r0 c", None),
    ("S5!k0k1", "oS k0 c", "Struct key not allowed here"),
    ("S3!_0", "oS c", "Value not allowed here"),
    ("S4!S1!", "oS c", "Value not allowed here"),
    ("S7!k0_0_1", "oS k0 r0 c", "Value not allowed here"),
    ("S10!k0S5!k1x1", "oS k0 oS k1 c c", "Unrecognized tag"),
    ("x1", "", "Unrecognized tag"),
    ("_0Q1!", "r0", "Unrecognized tag"),
    ("_0!", "r0", "Syntax error in signature"),
    ("S4!k0_", "oS k0 c", "Syntax error in signature"),
]


@pytest.mark.parametrize(("inputs", "events", "error"), LENIENT)
def test_parser_is_lenient(inputs: str, events: str, error: str | None) -> None:
    data = function(inputs.encode())
    seen, answer = visit(data, "I")
    assert " ".join("".join(map(str, event)) for event in seen) == events
    assert answer == error
    assert visit(b"x1Z1!R1!" + data[: -len("R1!")] + b"I3!_7!!", "I") == (seen, error)
    assert isinstance(outcome(data), tuple)


def test_parser_keeps_its_first_error() -> None:
    parser = SipSignatureParser()
    visitor = Recorder()
    parser.visit_inputs(visitor, function(b"_1x1", b"_2"))
    assert parser.error == "Unrecognized tag"
    parser.visit_results(visitor, function(b"_1x1", b"_2"))
    parser.visit_results(visitor, b"")
    assert visitor.events == [["r", 1]]
    assert parser.error == "Unrecognized tag"
    parser.set_error("too late")
    assert parser.error == "Unrecognized tag"


@pytest.mark.parametrize("at", range(7))
def test_visitor_may_set_the_error(at: int) -> None:
    """Nothing more is visited, but open structures are closed."""
    data = function(seq(b"k0_0k1", dic(b"K2!a_1x1")))
    everything = [["o", "S"], ["k", 0], ["r", 0], ["k", 1], ["o", "D"], ["K", "a"], ["r", 1]]
    assert visit(data, "I") == ([*everything, ["c"], ["c"]], "Unrecognized tag")

    class Stopping(Recorder):
        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            if name in ("events", "__class__") or not callable(value):
                return value

            def call(parser: SipSignatureParser, *arguments: Any) -> None:
                value(parser, *arguments)
                if len(self.events) == at + 1:
                    parser.set_error(f"enough after {at}")

            return call

    visitor = Stopping()
    error = walk(visitor, data, "I")
    seen = everything[: at + 1]
    depth = sum(event[0] == "o" for event in seen)
    assert visitor.events == seen + [["c"]] * depth
    assert error == f"enough after {at}"


def test_a_structure_that_is_not_open_cannot_be_closed() -> None:
    parser = SipSignatureParser()
    visitor = SipSignatureParser.ToStringVisitor()
    with pytest.raises(CallError, match=r"^ToStringVisitor\.close_struct: no structure is open$"):
        visitor.close_struct(parser)
    visitor.open_struct(parser, StructType.DICT)
    visitor.close_struct(parser)
    assert visitor.s == ":{\n},\n"


@pytest.mark.parametrize(
    "method",
    ["integer_key", "string_key", "open_struct", "close_struct", "map_to_raw_signature_index"],
)
def test_visitor_may_raise(method: str) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError(method)

    data = function(seq(b"k0_0k1", dic(b"K2!a_1")))
    visitor = Recorder()
    setattr(visitor, method, fail)
    parser = SipSignatureParser()
    with pytest.raises(ZeroDivisionError, match=method):
        parser.visit_inputs(visitor, data)
    assert parser.error is None
    parser.visit_inputs(again := Recorder(), data)
    assert (again.events, parser.error) == visit(data, "I")


def test_visitor_may_visit() -> None:
    """A parser may be used again while it is visiting; the results do not mix."""

    class Nested(Recorder):
        def map_to_raw_signature_index(self, parser: SipSignatureParser, index: int) -> None:
            super().map_to_raw_signature_index(parser, index)
            if index < 3:
                parser.visit_results(self, function(b"", b"_%d" % (index + 1)))

    visitor = Nested()
    assert walk(visitor, function(b"S9!k0_0k1_5"), "I") is None
    expected = [["o", "S"], ["k", 0], ["r", 0], ["r", 1], ["r", 2], ["r", 3], ["k", 1], ["r", 5]]
    assert visitor.events == [*expected, ["c"]]


# -------------------------------------------------------------------------------------- arguments

DATA = function(b"S9!k0_0k1_1", b"D7!K2!a_0")


@pytest.mark.parametrize(
    "data",
    [
        DATA,
        bytearray(DATA),
        memoryview(DATA),
        DATA.decode(),
        memoryview(bytes(2 * DATA))[: len(DATA)],
        memoryview(bytes(b for byte in DATA for b in (byte, 0)))[::2],
    ],
    ids=["bytes", "bytearray", "memoryview", "str", "part", "strided"],
)
def test_data_may_be_bytes_or_ascii(data: Any) -> None:
    assert sip.parse(data) == sip.parse(DATA)
    assert sip.to_string(data, "results") == ":{\n  a=raw(0),\n},\n"
    assert visit(data, "I") == visit(DATA, "I")


@pytest.mark.parametrize("data", [None, 5, 1.5, [DATA], object(), "\xe9"])
def test_data_of_another_type(data: Any) -> None:
    with pytest.raises(CallError, match=r"^sip\.parse: text: .*expected "):
        sip.parse(data)
    with pytest.raises(CallError, match=r"^sip\.to_string: text: .*expected "):
        sip.to_string(data, "inputs")
    with pytest.raises(CallError, match=r"^SipSignatureParser: signature: .*expected "):
        SipSignatureParser().visit_inputs(Recorder(), data)


# ------------------------------------------------------------------------------------ hostile input


@pytest.mark.slow
@pytest.mark.parametrize("byte", [b"\0", b"\xff", b"1", b"0", b"I", b"!", b"-", b"k1"])
def test_a_hundred_megabytes_of_one_byte(byte: bytes) -> None:
    data = byte * (100_000_000 // len(byte))
    assert outcome(data) == (("integer", 1, "") if byte == b"I" else ("sip-inputs", 0, ""))
    assert visit(data, "I") == ([], "Inputs struct not found")


@pytest.mark.slow
@pytest.mark.parametrize("digit", [b"9", b"0"])
def test_an_integer_of_100_mb(digit: bytes) -> None:
    digits = digit * 100_000_000
    data = function(b"_" + digits)
    at = data.index(b"_") + 1
    assert outcome(data) == (("int32", at, "inputs") if digit == b"9" else Signature(Leaf(0), None))
    data = function(sip_span(b"S", b"k%s_0" % digits))
    at = data.index(b"k") + 1
    assert outcome(data) == (
        ("int32", at, "inputs") if digit == b"9" else Signature(Sequence(((0, Leaf(0)),)), None)
    )


@pytest.mark.parametrize("length", [2**31 - 1, 2**31, 2**32 + 3, 2**63, 2**64 + 3])
def test_lengths_beyond_the_end(length: int) -> None:
    code = "span-end" if length < 2**31 else "int32"
    assert outcome(b"I%d!_0R1!" % length) == (code, 1, "")
    data = function(b"S%d!k0_0" % length)
    assert outcome(data) == (code, data.index(b"S") + 1, "inputs")
    data = function(sip_span(b"D", b"K%d!a_0" % length))
    assert outcome(data) == (code, data.index(b"K") + 1, "inputs")
    assert visit(data, "I")[1] == "Syntax error in signature"


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, -1])
def test_many_children(step: int) -> None:
    keys = range(300_000)[::step]
    children = tuple((key, Leaf(key)) for key in keys)
    signature = Signature(Sequence(children), None)
    data = sip.encode(signature)
    assert sip.parse(data) == signature
    flat = list(range(300_000))
    assert sip.flatten(signature.inputs, flat) == sip.unflatten(signature.inputs, flat) == flat
    twice = function(grammar.sip_node_text(Sequence((*children, children[0]))))
    assert outcome(twice) == ("sip-duplicate", twice.rindex(b"k"), "inputs")


def test_many_long_keys_that_differ_late() -> None:
    keys = [("x" * 10_000) + f"{number:04}" for number in range(2000)]
    signature = Signature(None, Dict(tuple((key, Leaf(0)) for key in reversed(keys))))
    data = sip.encode(signature)
    started = time.process_time()
    assert sip.parse(data) == signature
    assert time.process_time() - started < 2


def test_a_million_nested_spans_are_refused() -> None:
    data = function(nested(1_000_000))
    code, offset, path = outcome(data)  # type: ignore[misc]
    assert (code, path[:6]) == ("depth", "...[0]")
    assert data[offset:].startswith(b"S")
    assert data[:offset].count(b"S") == SIP_DEPTH
    assert walk(Recorder(), data, "I") == "nested too deeply"


def best_of_three(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def test_time_is_linear_in_the_nesting() -> None:
    """Four times the depth costs about four times as much, and not sixteen times."""
    texts = [function(nested(depth)) for depth in (16_000, 64_000)]
    small, large = (best_of_three(lambda data=data: visit(data, "I")) for data in texts)  # type: ignore[misc]
    assert large < 10 * small
    levels = []
    for depth in (4_000, 16_000):
        mangler = SipSignatureMangler()
        assert mangler.set_raw_signature_index(0, [0] * depth)
        levels.append(mangler)
    small, large = (
        best_of_three(lambda mangler=mangler: mangler.to_structure_signature())  # type: ignore[misc]
        for mangler in levels
    )
    assert large < 10 * small


@pytest.mark.threads
def test_threads() -> None:
    """Every thread gets its own results: errors, large ones and small ones."""
    texts = [data for data in vectors.inputs("sip") if len(data) < 5_000][:300]
    texts.append(function(sip_span(b"S", b"".join(b"k%d_0" % key for key in range(20_000)[::-1]))))
    expected = [grammar_outcome(data) for data in texts]
    visits = [grammar.sip_visit(data, "I") for data in texts]

    def work(start: int) -> int:
        for i in [*range(start, len(texts)), *range(start)]:
            assert outcome(texts[i]) == expected[i]
            assert visit(texts[i], "I") == visits[i]
            answer = expected[i]
            if isinstance(answer, Signature):
                assert sip.parse(sip.encode(answer)) == answer
        return start

    starts = list(range(0, len(texts), 40))
    with ThreadPoolExecutor(len(starts)) as pool:
        assert list(pool.map(work, starts)) == starts


@given(sip_keys)
def test_any_key_survives(key: str) -> None:
    signature = Signature(Dict(((key, Leaf(0)),)), None)
    assert sip.parse(sip.encode(signature)) == signature
    assert sip.unflatten(signature.inputs, [1]) == {key: 1}
