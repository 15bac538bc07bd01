"""Patterns: the grammar, its errors, and the query compared with a slow and obvious matcher."""

from __future__ import annotations

import re
import threading
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import fnabi
from fnabi import CallError, FormatError, pattern, vmfb
from fnabi._base.text import one_line
from fnabi.many._search import search_for
from fnabi.many.catalog import _search
from fnabi.many.catalog._search import find, search_query
from fnabi.many.pattern import (
    Pattern,
    Untyped,
    ValuePattern,
)
from fnabi.many.pattern._match import Matcher
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    Ref,
    RefArray,
    Scalar,
    Signature,
    Tuple,
    Unknown,
)
from support.nodes import nodes_of
from support.paths import DATA, ROOT
from support.pattern_cases import F32, cases
from support.pattern_match import differences
from support.signatures import signatures

# ------------------------------------------------------------------------------------------ grammar


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("f32[?,3,224,224] -> f32[?,1000]", "float32[?,3,224,224] -> float32[?,1000]"),
        ("f32[?x3]->i1", "float32[?,3] -> i1"),
        ("(?, [?], {é: i8, a/b: ?}) -> (list<?>)", None),
        (
            "(float32[Ax6], float32[6xB]) -> (float32[AxB])",
            "float32[A,6], float32[6,B] -> float32[A,B]",
        ),
        ("f32[A1xA2x?xB] -> f32[2 x A1, _xB]", "float32[A1,A2,?,B] -> float32[2,A1,_,B]"),
        ("f32[axis,max,Max,Ax,index_x] -> *", "float32[axis,max,Max,Ax,index_x] -> *"),
        ("  f32 [ 1 , B ] ->*", "float32[1,B] -> *"),
        ("(float32[?x4], i8) -> (int32)", "float32[?,4], i8 -> int32"),
        ("() -> ()", "() -> ()"),
        ("((f32)) -> ((f32,))", "((float32,)) -> ((float32,))"),
        ("(f32,f32), f32 -> *", "((float32, float32), float32) -> *"),
        ("bf16, si8, ui16, c64, f8E4M3FN -> index", None),
        ("any, any[*], float, int[_], complex -> ref, ref<?>, ref<!vm.list<i8>>", None),
        ('list<[f32]>, array<ref>[2], {a: f32, "b c": *} -> null, unknown', None),
        ("image: f32, arg-0: f32 -> out: f32", "image: float32, arg-0: float32 -> out: float32"),
    ],
)
def test_parse(text: str, shown: str | None) -> None:
    if "b c" in text:
        with pytest.raises(FormatError, match=r'"\*" has no name'):
            pattern.parse(text)
        return
    found = pattern.parse(text)
    assert pattern.parse(str(found)) == found
    assert shown is None or str(found) == shown


@pytest.mark.parametrize(
    ("text", "offset", "reason", "expected"),
    [
        ("", 0, "unexpected end", "a type"),
        ("f32", 3, "inputs end here", '"->" or ","'),
        ("f32 ->", 6, "unexpected end", "a type"),
        ("f32[?,3 -> f32", 8, "dims end here", '"," or "]"'),
        ("f32[", 4, "unexpected end", "a dim"),
        ("f32[-1] -> *", 4, 'unexpected "-"', "a dim"),
        ("f33x -> *", 0, 'unknown type "f33x"', "a type"),
        ("f32[nx6] -> *", 4, '"nx6" may be several dims', '"," between dims'),
        ("f32[2,BatchxC] -> *", 6, '"BatchxC" may be several dims', '"," between dims'),
        ("f32[nxm] -> *", 4, '"nxm" may be several dims', '"," between dims'),
        ("f32[nx?] -> *", 6, "dims end here", '"," or "]"'),
        ("u8[2,3] -> *", 0, 'unknown type "u8"', "ui8"),
        ("f32, double -> *", 5, 'unknown type "double"', "f64"),
        ("fp16 -> *", 0, 'unknown type "fp16"', "f16"),
        ("string -> *", 0, 'unknown type "string"', "a type"),
        (f"f{'9' * 20} -> *", 0, f'unknown type "f{"9" * 20}"', "a type"),
        ("{f32} -> *", 1, "value without a name", 'a name and ":"'),
        ("f32 -> f32 f32", 11, "results end here", "the end of the pattern"),
        ("f32[9223372036854775808] -> *", 4, "dim does not fit in int64", None),
        ("(f32, f32,) -> *", 9, "comma after the last value", None),
        ("ref<a", 5, "name of a reference has no end", '">"'),
        ("ref<> -> *", 4, "empty name of a reference", 'a name or "?"'),
        ("é -> *", 0, 'unexpected "é"', "a type"),
        ("f32, é -> *", 5, 'unexpected "é"', "a type"),
        ("[" * 129 + "]" * 129 + " -> *", 128, "more than 128 types inside each other", None),
        ("[" * 100 + "i8, i8" + "]" * 100 + ", i8" * 27 + " -> *", 0, "129 values", None),
        ("*, f32, " * 7 + "* -> *", 0, "7 stars to search for", None),
        ("i8, " * 128 + "* -> i8", 0, "129 values, at most 128 are possible", None),
        ("any, " * 40 + "i8 -> *", 0, '40 values that are "any" or', None),
        ("[*], " * 33 + "i8 -> *", 0, '33 values that are "any" or', None),
        ("f32, " * 999 + "* -> *", 4096, "pattern is longer than 4096 characters", None),
        ("[f32 f32] -> *", 5, "values end here", '"," or "]"'),
        ("[f32,] -> *", 5, 'unexpected "]"', "a type"),
        ("list<f32] -> *", 8, 'unexpected "]"', '">"'),
        ('"\\q": f32 -> *', 0, "invalid string", "a JSON string"),
    ],
)
def test_errors(text: str, offset: int, reason: str, expected: str | None) -> None:
    with pytest.raises(FormatError) as caught:
        pattern.parse(text)
    problem = caught.value
    assert problem.code == "pattern"
    assert problem.offset == offset
    assert problem.reason.startswith(reason)
    assert (problem.expected or "").startswith(expected or "")
    assert problem.excerpt is not None or not text


def test_what_inspect_shows_is_a_pattern() -> None:
    symbols = 0
    for file in (ROOT / "examples").rglob("*.vmfb"):
        with vmfb.open(file) as module:
            for export in module.exports.values():
                if export.source != "bytecode":
                    continue
                shown = export.signature_text
                found = pattern.parse(shown)
                commas = re.sub(r"\[[^]]*\]", lambda dims: dims[0].replace("x", ","), shown)
                assert found == pattern.parse(commas)
                symbols += "Variable" in repr(found)
    assert symbols


def test_a_pattern_is_a_text() -> None:
    with pytest.raises(CallError, match=r"^pattern\.parse: text: expected .* or str, got int"):
        pattern.parse(5)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="not UTF-8 at byte 2"):
        pattern.parse(b"* \xff")


@given(cases())
def test_the_text_of_a_pattern_is_parsed_back(case: tuple[Pattern, list[Signature]]) -> None:
    made = case[0]
    try:
        assert pattern.parse(str(made)) == made
    except FormatError as problem:
        assert "stars to search for" in problem.reason  # noqa: PT017


# ------------------------------------------------------------------------------------------ matches


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.booleans())
def test_a_signature_matches_as_by_the_slow_matcher(
    case: tuple[Pattern, list[Signature]], untold: bool
) -> None:
    made, signatures = case
    matcher = Matcher(made)
    for each in signatures:
        assert matcher.differences(each, untold=untold) == differences(made, each, untold)


def test_no_pattern_looks_back() -> None:
    """Of the ways to lay six stars beside 300 values there are more than anything can try."""
    made = pattern.parse(f"{'*, f32[A,2], ' * 6}* -> i8, *")
    values = (Buffer(F32, (2, 2)),) * 300
    assert Matcher(made).differences(Signature(values, values)) is None
    assert Matcher(made).differences(Signature(values, (Scalar(DType("i8")), *values))) == 0


def test_ways_to_bind_variables_are_limited() -> None:
    """They grow as a power of the number of variables that occur again."""
    three = Matcher(pattern.parse("*, f32[A], *, f32[B], *, f32[C], *, f32[A,B,C], * -> *"))
    others = tuple(Buffer(F32, (size,)) for size in range(1, 301))
    with pytest.raises(FormatError, match=r"binds the variables .* at most 2,000,000") as caught:
        three.differences(Signature(others, ()))
    assert caught.value.code == "ways"
    alike = (*(Buffer(F32, (size % 5,)) for size in range(300)), Buffer(F32, (1, 2, 3)))
    assert three.differences(Signature(alike, ())) == 0


def test_variables_that_nothing_asks_for_again_are_let_go() -> None:
    twice = "".join(f"*, f32[{name}], *, f32[{name}], " for name in "ABC")
    values = tuple(Buffer(F32, (size,)) for size in range(40))
    assert Matcher(pattern.parse(f"{twice}* -> *")).differences(Signature(values * 6, ())) == 0


# ------------------------------------------------------------------------------------------ queries


def _node(node: tuple[Any, ...]) -> dict[str, Any]:
    kind, dtype, shape, depth, name, ref = node
    return (
        {
            "kind": _KINDS[kind],
            "dtype": dtype,
            "shape": None if shape is None else list(shape),
            "depth": depth,
        }
        | _text_or_bytes("name", name)
        | _text_or_bytes("ref", ref)
    )


def _text_or_bytes(column: str, text: str | None) -> dict[str, Any]:
    try:
        _ = text and text.encode()
    except UnicodeEncodeError:
        assert text is not None
        return {column: None, f"{column}_bytes": text.encode("utf-8", "surrogateescape")}
    return {column: text, f"{column}_bytes": None}


_KINDS = {
    next(nodes_of(type))[0]: kind
    for kind, type in {
        "scalar": Scalar(F32),
        "buffer": Buffer(F32, ()),
        "ref": Ref(),
        "ref_array": RefArray(Ref(), ()),
        "list": List(()),
        "tuple": Tuple(()),
        "dict": Dict(()),
        "homogeneous_list": HomogeneousList(Ref()),
        "null": Null(),
        "unknown": Unknown(),
    }.items()
}


class Functions:
    """A database with the functions of a catalog."""

    def __init__(self) -> None:
        duckdb = pytest.importorskip("duckdb")
        self._pyarrow = pytest.importorskip("pyarrow")
        from fnabi import vmfb
        from fnabi.many.catalog._table import create
        from fnabi.many.catalog._write import add_functions

        self._add_functions = add_functions
        self._schema = self._pyarrow.schema(vmfb.scan([]).plain())
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        create(self.connection)

    def fill(self, signatures: list[Signature], source: str = "iree.abi") -> None:
        for table in "functions", "signatures":
            self.connection.execute(f"DELETE FROM {table}")
        rows = [
            {
                "file": str(index),
                "module": "m",
                "function": "f",
                "source": source,
                "inputs": [_node(node) for type in each.inputs for node in nodes_of(type)],
                "results": [_node(node) for type in each.results for node in nodes_of(type)],
            }
            for index, each in enumerate(signatures)
        ]
        self._add_functions(self.connection, self._pyarrow.Table.from_pylist(rows, self._schema))

    def fetch(self, query: str) -> list[Any]:
        rows: list[Any] = self.connection.execute(query).fetchall()
        return rows

    def query(self, made: Pattern) -> dict[int, int]:
        rows = self.fetch(search_query(search_for(made)))
        return {int(file): differences for file, _, _, _, differences, *_ in rows}

    def find(self, made: Pattern) -> dict[int, int]:
        matches = find(search_for(made), None, self.fetch)
        return {int(each.file): each.differences for each in matches}


@pytest.fixture(scope="module")
def functions() -> Functions:
    return Functions()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.booleans())
def test_the_query_matches_as_the_slow_matcher(
    functions: Functions, case: tuple[Pattern, list[Signature]], untold: bool
) -> None:
    made, signatures = case
    functions.fill(signatures, "bytecode" if untold else "iree.abi")
    expected = {
        index: number
        for index, each in enumerate(signatures)
        if (number := differences(made, each, untold)) is not None
    }
    assert functions.query(made) == expected
    assert functions.find(made) == expected
    with mock.patch.object(_search, "_BYTES", 0):  # so that none is small
        assert functions.find(made) == expected


SHAPES = [None, (), (4,), (None,), (5,), (4, 5), (None, 4), (5, 5, None)]
SHAPED = [
    Signature(inputs, tuple(Buffer(F32, shape) for shape in results))
    for first, second in product(SHAPES, SHAPES)
    for inputs, results in (
        ((Buffer(F32, first),), (second,)),
        ((Buffer(F32, first), Buffer(F32, second)), ()),
        ((Buffer(F32, first), Buffer(F32, second)), ((4,),)),
        ((Buffer(F32, first),), (second, (4,))),
        ((), (first, second, (None,))),
    )
]


@pytest.mark.parametrize(
    "text",
    [
        *("f32[*,4,*] -> *", "f32[*,4,*] -> f32[*,4,*]", "f32[*,?,*] -> f32[*,?,*]"),
        *("f32[*,_,*] -> *", "f32[*,A,*] -> f32[A]", "f32[A] -> f32[*,A,*]"),
        *("f32[A], f32[*,A,*] -> *", "* -> f32[A], f32[*,A,*], *", "f32[A], f32[A] -> f32[A]"),
        *("f32[A] -> f32[A], f32[A]", "() -> f32[A], f32[A], f32[A]", "f32[A,A] -> f32[A]"),
        *("f32[*,A,*], f32[*,A,*] -> *", "f32[*,A,*] -> f32[*,A,*], f32[A]"),
        *("*, f32[5], f32[4,_], * -> *", "*, any[*,A], any[*], * -> *, f32[_], *"),
        *("* -> *, f32[4], f32[_], *", "* -> *, f32[4], f32[4,5], any, *"),
    ],
)
def test_dims_match_as_by_the_slow_matcher(functions: Functions, text: str) -> None:
    made = pattern.parse(text)
    for untold in (False, True):
        functions.fill(SHAPED, "bytecode" if untold else "iree.abi")
        numbers = (differences(made, each, untold) for each in SHAPED)
        expected = {index: number for index, number in enumerate(numbers) if number is not None}
        assert functions.query(made) == functions.find(made) == expected
        with mock.patch.object(_search, "_BYTES", 0):
            assert functions.find(made) == expected
        assert expected
        matcher = Matcher(made)
        matched = {
            index: matcher.differences(each, untold=untold) for index, each in enumerate(SHAPED)
        }
        assert {
            index: number for index, number in matched.items() if number is not None
        } == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*, f32[2,2], *, f32[3,3], *, f32[2,2], *, f32[3,3], * -> *", {}),
        ("*, f32[2,2], *, f32[3,3], *, f32[2,2], * -> *", {0: 0}),
        ("*, f32[A,A], *, f32[3,3], *, f32[A,A], *, f32[9,9] -> *", {}),
        ("*, any, f32[3,3], any, *, f32[3,3], any, *, f32[3,3], * -> *", {0: 0}),
    ],
)
def test_no_search_looks_back(functions: Functions, text: str, expected: dict[int, int]) -> None:
    """Of a query, the time would grow with the power of these 900 values: hours."""
    values = tuple(Buffer(F32, shape) for shape in ((2, 2), (3, 3), (2, 2)) for _ in range(300))
    functions.fill([Signature(values, ())])
    clock = threading.Timer(60, functions.connection.interrupt)
    clock.start()
    try:
        assert functions.find(pattern.parse(text)) == expected
    finally:
        clock.cancel()


def test_names_with_surrogates_that_are_no_bytes(functions: Functions) -> None:
    functions.fill([Signature((Named("\udcff", Null()),), ()), Signature((Null(),), ())])
    made = Pattern((ValuePattern(Untyped("null"), "\ud800"),), ())
    assert functions.find(made) == {}


bytes_of_names = st.binary(max_size=4).map(lambda name: name.decode("utf-8", "surrogateescape"))


@st.composite
def _any_signatures(draw: Any) -> Signature:
    """Signatures of every type, with names of all characters, also of bytes that are not UTF-8."""
    signature = draw(signatures)

    def renamed(type: Any) -> Any:
        match type:
            case Named(name, inner):
                return Named(draw(bytes_of_names) if draw(st.booleans()) else name, renamed(inner))
            case Ref(str(name)):
                return Ref(draw(bytes_of_names) if draw(st.booleans()) else name)
            case List(items) | Tuple(items):
                return type.__class__(tuple(map(renamed, items)))
            case Dict(items):
                return Dict(tuple((key, renamed(item)) for key, item in items))
            case HomogeneousList(element):
                return HomogeneousList(renamed(element))
            case RefArray(element, shape):
                return RefArray(renamed(element), shape)
        return type

    return Signature(*(tuple(map(renamed, side)) for side in (signature.inputs, signature.results)))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
@given(_any_signatures())
@example(Signature((Unknown(), HomogeneousList(Unknown())), (Named("h\xf6he", Unknown()),)))
@example(Signature((Ref("a b"), Ref("?"), Ref(""), Ref(">"), Ref("\udcff'\0")), (Ref(),)))
@example(Signature((Named("a\u202e\x85\x1b\udcff\U000e0041", Null()),), (Tuple(()),)))
@example(Signature((Tuple((Tuple(()),)),), (Tuple((Null(), Null())),)))
@example(Signature((Scalar(DType("i1")), Scalar(DType("bool")), Scalar(DType("void"))), ()))
def test_the_text_of_a_signature_is_a_pattern_that_it_matches(
    functions: Functions, signature: Signature
) -> None:
    text = str(signature)
    assert one_line(text) == text  # as inspect shows it
    functions.fill([signature])
    found = pattern.parse(text)
    assert pattern.parse(str(found)) == found
    assert functions.find(found) == {0: 0}


@pytest.mark.parametrize("wrap", [lambda t: List((t,)), HomogeneousList, lambda t: Tuple((t,))])
def test_signatures_of_many_levels_are_patterns_up_to_the_limit(
    functions: Functions, wrap: Any
) -> None:
    nested: Any = Scalar(F32)
    for _ in range(127):
        nested = wrap(nested)
    signature = Signature((nested,), ())
    functions.fill([signature])
    assert functions.find(pattern.parse(str(signature))) == {0: 0}
    deeper = Signature((wrap(nested),), ())
    with pytest.raises(FormatError, match="more than 128 types inside each other"):
        pattern.parse(str(deeper))


def test_signatures_of_modules_are_patterns(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    data = DATA
    with fnabi.Catalog(tmp_path / "all.duckdb") as catalog:
        catalog.update([data / "vmfb", data / "needs", data / "bytecode_types"])
        query = "SELECT DISTINCT signature FROM signatures ORDER BY signature"
        texts = [text for (text,) in catalog.sql(query).fetchall()]
        beyond = 0
        odd = [text for text in texts if re.search(r"[^\x20-\x7e]|\?[,)]|\"|/", text)]
        for text in {*odd[:20], *texts[::10]}:
            try:
                found = catalog.find(text)
            except FormatError as problem:
                beyond += 1
                assert re.match("pattern is longer than|[0-9]+ values", problem.reason)  # noqa: PT017
                continue
            assert text in {str(match.signature) for match in found if match.exact}
        assert len(texts) > 100
        assert beyond < 3


def test_a_long_pattern(functions: Functions) -> None:
    """It is within what the database accepts, and so are many structures."""
    text = ", ".join(["f32[?,B,*]"] * 60)
    made = pattern.parse(f"{text}, *, {text}, * -> *")
    wide = Signature((Buffer(F32, (None, 3)),) * 120, ())
    functions.fill([wide, Signature(wide.inputs[1:], ())])
    assert functions.find(made) == {0: 0}
    lists = pattern.parse(", ".join(["[i8]"] * 60) + " -> *")
    functions.fill([Signature((List((Scalar(DType("signless", 8)),)),) * 60, ())])
    assert functions.find(lists) == {0: 0}
