from __future__ import annotations

import inspect
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnabi import CallError, schema
from fnabi.calls.schema import FunctionSchema, Metadata, Schema, TypeSchema
from support.outcomes import check_pickled, error_of, outcome_of
from support.paths import DATA

GOLDEN: dict[str, dict[str, str]] = json.loads((DATA / "schema" / "metadata.json").read_text())
INT = TypeSchema("int")


def nested(depth: int) -> str:
    return '{"type":"A","args":[' * depth + '{"type":"int"}' + "]}" * depth


# -------------------------------------------------------------------- metadata of libraries


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str) -> None:
    golden = GOLDEN[name]
    found = schema.parse(golden["metadata"])
    assert isinstance(found.schema, FunctionSchema)
    assert found == schema.parse(golden["metadata"].encode())
    assert found.extra == ()
    assert str(found) == str(found.schema) == golden["text"]
    assert str(schema.signature(found.schema)) == golden["signature"]
    assert eval(repr(found), vars(schema)) == found
    assert pickle.loads(pickle.dumps(found)) == found
    assert hash(found) == hash(schema.parse(golden["metadata"]))


def to_older_form(node: Any) -> Any:
    """Return the same type in the form with the result first, if that can express it."""
    if isinstance(node, list):
        return [to_older_form(each) for each in node]
    if not isinstance(node, dict):
        return node
    named = node.get("named_args")
    if named is None or not named["params"]:
        return {key: to_older_form(value) for key, value in node.items()}
    args = named["return"] + named["params"]
    return {"type": node["type"], "args": to_older_form(args)}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_older_form_says_the_same(name: str) -> None:
    text = json.loads(GOLDEN[name]["metadata"])["type_schema"]
    older = json.dumps(to_older_form(json.loads(text)))
    assert schema.parse_type(older) == schema.parse_type(text)


@pytest.mark.parametrize("name", GOLDEN)
def test_tvm_ffi_reads_the_same(name: str) -> None:
    core = pytest.importorskip("tvm_ffi.core")

    def same(ours: Schema | int, theirs: Any) -> bool:
        if isinstance(ours, FunctionSchema):
            groups = theirs.named_args
            return (
                theirs.origin == "Callable"
                and same(ours.result, groups["return"][0])
                and len(ours.params or ()) == len(groups.get("params", ()))
                and all(map(same, ours.params or (), groups.get("params", ())))
            )
        assert isinstance(ours, TypeSchema)
        args = [arg for arg in ours.args if not isinstance(arg, int)]  # they drop lengths
        if not args and theirs.args:  # they use Any for a missing type
            return all(arg.origin == "Any" for arg in theirs.args)
        return len(args) == len(theirs.args or ()) and all(map(same, args, theirs.args or ()))

    text = json.loads(GOLDEN[name]["metadata"])["type_schema"]
    assert same(schema.parse_type(text), core.TypeSchema.from_json_str(text))


# -------------------------------------------------------------------------------- the forms


@pytest.mark.parametrize(
    ("text", "found", "shown"),
    [
        ('{"type":"int"}', INT, "int"),
        (' {"args": [], "type": "ffi.Array"} ', TypeSchema("ffi.Array"), "ffi.Array"),
        ('{"type":"a","other":[1,{}]}', TypeSchema("a"), "a"),
        ('{"type":"ffi.Function"}', TypeSchema("ffi.Function"), "ffi.Function"),
        ('{"type":"ffi.Function","args":[]}', TypeSchema("ffi.Function"), "ffi.Function"),
        (
            '{"type":"ffi.Function","args":[{"type":"int"}]}',
            FunctionSchema(INT, None),
            "(...) -> int",
        ),
        (
            '{"type":"ffi.Function","named_args":{"return":[{"type":"int"}]}}',
            FunctionSchema(INT, None),
            "(...) -> int",
        ),
        (
            '{"type":"ffi.Function","named_args":{"return":[{"type":"int"}],"params":[]}}',
            FunctionSchema(INT, ()),
            "() -> int",
        ),
        (
            '{"type":"std::function","args":[{"type":"int"},[{"type":"int"},{"type":"a"}]]}',
            FunctionSchema(INT, (INT, TypeSchema("a")), "std::function"),
            "(int, a) -> int",
        ),
        (
            '{"type":"std::function","args":[{"type":"int"},[]]}',
            FunctionSchema(INT, (), "std::function"),
            "() -> int",
        ),
        (
            '{"type":"std::array","args":[{"type":"int"},3]}',
            TypeSchema("std::array", (INT, 3)),
            "std::array<int, 3>",
        ),
        (
            '{"type":"a","args":[{"type":"int"}],"named_args":{"k":[{"type":"b"}],"e":[]}}',
            TypeSchema("a", (INT,), (("k", (TypeSchema("b"),)), ("e", ()))),
            "a<int, k: [b], e: []>",
        ),
        (
            '{"type":"my.Type","fallback":{"type":"int"}}',
            TypeSchema("my.Type", fallback=INT),
            "my.Type",
        ),
    ],
)
def test_forms(text: str, found: Schema, shown: str) -> None:
    assert schema.parse_type(text) == found
    assert schema.parse_type(memoryview(text.encode())) == found
    assert str(found) == shown
    assert eval(repr(found), vars(schema)) == found


def test_other_keys_are_kept() -> None:
    text = r'{"doc": [1,  2], "type_schema": "{\"type\":\"int\"}", "ü": "\u00fc"}'
    assert schema.parse(text) == Metadata(INT, (("doc", "[1,  2]"), ("ü", r'"\u00fc"')))


# ------------------------------------------------------------------------------- signatures


@pytest.mark.parametrize(
    ("text", "argument", "result"),
    [
        ('{"type":"ffi.Array"}', "Sequence", "Array"),
        ('{"type":"std::vector","args":[{"type":"bool"}]}', "Sequence[bool]", "Array[bool]"),
        (
            '{"type":"ffi.Dict","args":[{"type":"int"},{"type":"Any"}]}',
            "Mapping[int, Any]",
            "Dict[int, Any]",
        ),
        ('{"type":"Tuple"}', "tuple[()]", "tuple[()]"),
        (
            '{"type":"Optional","args":[{"type":"Variant","args":[{"type":"None"},{"type":"int"},'
            '{"type":"ffi.BigInt"},{"type":"ffi.Array","args":[{"type":"Optional","args":['
            '{"type":"int"}]}]}]}]}',
            "int | Sequence[int | None] | None",
            "int | Array[int | None] | None",
        ),
        ('{"type":"Optional"}', "Optional", "Optional"),
        ('{"type":"my.Tree","args":[{"type":"int"}]}', "my.Tree[int]", "my.Tree[int]"),
        ('{"type":"my::Tree"}', "Any", "Any"),
        ('{"type":"my.Tree","fallback":{"type":"ffi.String"}}', "str", "str"),
        (
            '{"type":"ffi.Function","args":[{"type":"ffi.List"},{"type":"ffi.Map"}]}',
            "Callable[[Map], Sequence]",
            "Callable[[Mapping], List]",
        ),
    ],
)
def test_hints(text: str, argument: str, result: str) -> None:
    found = schema.parse_type(text)
    assert str(found.hint()) == repr(found.hint()) == argument
    assert str(found.hint(result=True)) == result


def test_signatures_are_those_of_inspect() -> None:
    signature = schema.signature(FunctionSchema(INT, (INT, TypeSchema("ffi.String"))))
    assert [str(each) for each in signature.parameters.values()] == ["arg0: int", "arg1: str"]
    assert {each.kind for each in signature.parameters.values()} == {
        inspect.Parameter.POSITIONAL_ONLY
    }
    assert signature.bind(1, "a").args == (1, "a")
    with pytest.raises(TypeError):
        signature.bind(1)
    for unknown in (FunctionSchema(INT, None), TypeSchema("ffi.Function")):
        assert str(schema.signature(unknown)).startswith("(*args: Any) -> ")


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("x", "y"), "(x: int, y: str) -> int"),
        (("x",), "(arg0: int, arg1: str, /) -> int"),
        (("x", "x"), "(arg0: int, arg1: str, /) -> int"),
        (("x", "is"), "(arg0: int, arg1: str, /) -> int"),
    ],
)
def test_names_of_parameters(names: tuple[str, ...], shown: str) -> None:
    """They are taken if they are as many as the types, and fit to be parameters."""
    types = FunctionSchema(INT, (INT, TypeSchema("ffi.String")))
    assert str(schema.signature(types, names)) == shown


# -------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("text", "code", "offset", "path"),
    [
        ("", "json", 0, ""),
        ('{"type_schema"', "json", 14, ""),
        ('{"type_schema":"{}"}}', "json", 20, ""),
        ("[]", "schema-metadata", 0, ""),
        ("{}", "schema-metadata", 0, ""),
        ('{"type_schema":{"type":"int"}}', "schema-metadata", 0, "type_schema"),
        ('{"type_schema":""}', "json", 0, "type_schema"),
        ('{"type_schema":"{\\"type\\":"}', "json", 8, "type_schema"),
        ('{"type_schema":"{}"}', "schema-type", 0, "type_schema"),
        ('{"type_schema":"{\\"type\\":1}"}', "schema-type", 0, "type_schema.type"),
    ],
)
def test_metadata_is_refused(text: str, code: str, offset: int, path: str) -> None:
    error = error_of(schema.parse, text)
    assert (error.code, error.offset, error.path) == (code, offset, path)
    check_pickled(error)


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        (b"3", "schema-type", ""),
        (b'{"type":""}', "schema-type", "type"),
        (b'{"type":"a","args":{}}', "schema-type", "args"),
        (b'{"type":"a","args":[{"type":"b"},{"type":null}]}', "schema-type", "args[1].type"),
        (b'{"type":"a","args":[1.5]}', "schema-type", "args[0]"),
        (b'{"type":"a","args":[[]]}', "schema-type", "args[0]"),
        (b'{"type":"a","named_args":[]}', "schema-type", "named_args"),
        (b'{"type":"a","named_args":{"k":[1]}}', "schema-type", "named_args[...][0]"),
        (b'{"type":"a","named_args":{"k":[{"type":""}]}}', "schema-type", "named_args.k[0].type"),
        (b'{"type":"a","fallback":{"type":""}}', "schema-type", "fallback.type"),
        (b'{"type":"ffi.Function","args":[1]}', "schema-type", "args[0]"),
        (b'{"type":"ffi.Function","args":[{"type":"a"},1]}', "schema-type", "args[1]"),
        (b'{"type":"ffi.Function","args":[[],[]]}', "schema-type", "args[0]"),
        (b'{"type":"ffi.Function","args":[{"type":"a"},[1]]}', "schema-type", "args[1][0]"),
        (b'{"type":"std::function","args":[{"type":"a"},{}]}', "schema-type", "args[1]"),
        (b'{"type":"ffi.Function","named_args":{}}', "schema-type", "named_args"),
        (
            b'{"type":"ffi.Function","named_args":{"return":[{"type":"a"}],"more":[]}}',
            "schema-type",
            "named_args",
        ),
        (
            b'{"type":"ffi.Function","args":[{"type":"a"}],"named_args":{"return":[{"type":"a"}]}}',
            "schema-type",
            "named_args",
        ),
        (b'{"type":"\xff"}', "json-utf8", ""),
        (b'{"type":"a","x":"\xed\xa0\x80"}', "json-utf8", ""),
        (nested(128).encode(), "depth", ".".join(["args[0]"] * 128)),
        (nested(100000).encode(), "depth", ""),
    ],
)
def test_types_are_refused(text: bytes, code: str, path: str) -> None:
    error = error_of(schema.parse_type, text)
    assert (error.code, error.path) == (code, path)
    assert error.offset <= len(text)


def test_nesting_up_to_the_limit() -> None:
    assert str(schema.parse_type(nested(127))) == "A<" * 127 + "int" + ">" * 127


def test_what_is_no_text() -> None:
    for value in (None, 3, ["{}"]):
        with pytest.raises(CallError, match=r"schema\.parse"):
            schema.parse(value)  # type: ignore[arg-type]
        with pytest.raises(CallError, match=r"schema\.parse_type"):
            schema.parse_type(value)  # type: ignore[arg-type]


schemas = st.recursive(
    st.builds(TypeSchema, st.sampled_from(["int", "Any", "ffi.Tensor", "ü", "a b"])),
    lambda inner: (
        st.builds(TypeSchema, st.just("A"), st.lists(inner | st.integers(0, 9)).map(tuple))
        | st.builds(FunctionSchema, inner, st.none() | st.lists(inner).map(tuple))
    ),
    max_leaves=8,
)


def to_json(value: Schema | int) -> Any:
    if isinstance(value, int):
        return value
    if isinstance(value, TypeSchema):
        return {"type": value.name, "args": [to_json(arg) for arg in value.args]}
    groups = {"return": [to_json(value.result)]}
    if value.params is not None:
        groups["params"] = [to_json(param) for param in value.params]
    return {"type": value.name, "named_args": groups}


@given(schemas)
def test_round_trip(value: TypeSchema | FunctionSchema) -> None:
    text = json.dumps(to_json(value))
    assert schema.parse_type(text) == value
    metadata = json.dumps({"type_schema": text})
    assert schema.parse(metadata) == Metadata(value)
    assert str(schema.signature(value))


@given(st.sampled_from(sorted(GOLDEN)), st.integers(0, 400), st.binary(max_size=2))
def test_changed_metadata_is_read_or_refused(name: str, at: int, change: bytes) -> None:
    text = json.loads(GOLDEN[name]["metadata"])["type_schema"].encode()
    changed = text[:at] + change + text[at + 1 :]
    outcome = outcome_of(schema.parse_type, changed)
    if isinstance(outcome, tuple):
        assert 0 <= outcome[1] <= len(changed)
    else:
        assert str(schema.signature(outcome))
