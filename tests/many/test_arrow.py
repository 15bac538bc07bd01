"""Arrow data crosses in capsules, in every layout, and comes back from other libraries."""

from __future__ import annotations

import ctypes
import gc
import itertools
import pickle
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest

import fnabi
from fnabi import ArgumentTypeError, CallError, NotFoundError, arrow, vmfb
from fnabi._base import capsule as arrow_capsule
from fnabi._base import lane
from fnabi.many.columns import Abi, RowError
from support.texts import EVERY, RAW, TEXTS

COLUMNS = fnabi.decode_columns([b"I11!B8!d-1d200R4!S1!", b"I1!R", None])


class Giver:
    """Returns the same object every time."""

    def __init__(self, given: object, name: str = "stream") -> None:
        setattr(self, f"__arrow_c_{name}__", lambda: given)


def strings() -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.array(["I1!R1!", None, "x"])


def test_a_stream_is_taken_once() -> None:
    pa = pytest.importorskip("pyarrow")
    given = Giver(pa.chunked_array([strings(), strings()]).__arrow_c_stream__())
    assert [error.row for error in fnabi.decode_columns(given).errors] == [2, 5]
    for threads in (1, 2):
        with pytest.raises(CallError, match='the capsule "arrow_array_stream" has been consumed'):
            fnabi.decode_columns(given, "raw", threads=threads)


@pytest.mark.parametrize("which", [0, 1])
def test_an_array_is_taken_once(which: int) -> None:
    capsules = list(strings().__arrow_c_array__())
    given = Giver(tuple(capsules), "array")
    assert fnabi.decode_columns(given).errors == (RowError(2, "raw-inputs", 0),)
    capsules[1 - which] = strings().__arrow_c_array__()[1 - which]
    name = ("arrow_schema", "arrow_array")[which]
    with pytest.raises(CallError, match=f'the capsule "{name}" has been consumed'):
        fnabi.decode_columns(Giver(tuple(capsules), "array"))


def test_who_takes_an_array_first() -> None:
    """A capsule that another library has consumed is empty."""
    pa = pytest.importorskip("pyarrow")
    capsules = strings().__arrow_c_array__()
    assert pa.Array._import_from_c_capsule(*capsules).to_pylist() == ["I1!R1!", None, "x"]
    with pytest.raises(CallError, match="has been consumed"):
        fnabi.decode_columns(Giver(capsules, "array"))


@pytest.mark.parametrize(
    ("name", "give", "problem"),
    [
        ("stream", lambda: None, 'expected a capsule named "arrow_array_stream", got NoneType$'),
        ("stream", lambda: 5, 'expected a capsule named "arrow_array_stream", got int$'),
        ("stream", COLUMNS.__arrow_c_schema__, '_stream", got one named "arrow_schema"$'),
        ("stream", lambda: lane.arrow_capsule("arrow_array_stream")[0], "has been consumed"),
        ("array", lambda: None, "__arrow_c_array__: expected tuple of 2 capsules, got NoneType"),
        ("array", lambda: (), "__arrow_c_array__: expected tuple of 2 capsules, got tuple of 0"),
        ("array", COLUMNS.__arrow_c_schema__, "expected tuple of 2 capsules, got PyCapsule"),
        (
            "array",
            lambda: COLUMNS.__arrow_c_array__()[::-1],
            'named "arrow_array", got one named "arrow_schema"$',
        ),
        (
            "array",
            lambda: (None, COLUMNS.__arrow_c_array__()[1]),
            'named "arrow_schema", got NoneType$',
        ),
    ],
)
def test_what_is_no_capsule(name: str, give: Callable[[], object], problem: str) -> None:
    with pytest.raises(CallError, match=f"^decode_columns: strings: .*{problem}"):
        fnabi.decode_columns(Giver(give(), name))


def test_the_name_of_what_is_no_capsule_is_let_go() -> None:
    class Given:
        pass

    def refused() -> int:
        with pytest.raises(CallError, match=r"got Given$"):
            fnabi.decode_columns(Giver(Given(), "stream"))
        return sys.getrefcount(Given.__name__)

    assert refused() == refused()


def test_the_lane_refuses() -> None:
    with pytest.raises(CallError, match=r"^arrow: unknown structure 'dltensor'"):
        lane.arrow_capsule("dltensor")
    with pytest.raises(CallError, match=r"^arrow: unknown structure 5"):
        lane.arrow_capsule(5)  # type: ignore[arg-type]
    with pytest.raises(CallError, match=r"^arrow_take: expected a structure"):
        lane.arrow_take(None, "arrow_array", 0)
    with pytest.raises(TypeError):
        lane.arrow_take(None, "arrow_array", "0")  # type: ignore[arg-type]


def test_what_outlives_what() -> None:
    """The texts of an array live while they are decoded, and the columns while they are read."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"f": [f"I6!B3!d{n % 10}R1!" for n in range(10_000)]})
    expected = fnabi.decode_columns(table).to_numpy()["inputs.dims"].tolist()
    schema, arrays = arrow_capsule.open_arrays(table, "")
    del table
    gc.collect()
    kept = list(arrays)
    del schema
    gc.collect()
    assert sum(map(fnabi._fnabi.lib.fnabi_arrow_length, kept)) == 10_000
    columns = fnabi.decode_columns(pa.table({"f": [f"I6!B3!d{n % 10}R1!" for n in range(10_000)]}))
    read = pa.table(columns)
    del columns
    gc.collect()
    shapes = read.column("inputs").combine_chunks().flatten().field("shape")
    assert list(itertools.chain.from_iterable(shapes.to_pylist())) == expected


def test_a_capsule_let_go_by_an_exception() -> None:
    """Python code that runs when a stream is released does not see the exception, nor lose it."""
    for _ in range(100):
        with pytest.raises(ZeroDivisionError):
            (fnabi.vmfb.scan([]).__arrow_c_stream__(), 1 // 0)


# -------------------------------------------------------------------------------- texts as input


def rows_of(data: Any) -> list[Any]:
    pa = pytest.importorskip("pyarrow")
    rows: list[Any] = pa.table(data).to_pylist()
    return rows


def layouts(texts: list[bytes | None]) -> list[Any]:
    """Return the same texts in every layout."""
    pa = pytest.importorskip("pyarrow")
    kinds = [pa.binary(), pa.large_binary(), pa.binary_view()]
    plain = [pa.array(texts, kind) for kind in kinds]
    ascii = [None if text is None else text.decode() for text in texts]
    plain += [pa.array(ascii, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())]
    values = pa.array([*RAW, None], pa.binary())
    indexes = [None if text is None else RAW.index(text) for text in texts]
    coded = [
        pa.DictionaryArray.from_arrays(pa.array(indexes, index), values)
        for index in (pa.int8(), pa.uint8(), pa.int32(), pa.uint64())
    ]
    null_entries = pa.array([6 if i is None else i for i in indexes], pa.int16())
    coded.append(pa.DictionaryArray.from_arrays(null_entries, values.cast(pa.large_binary())))
    ends = pa.array(range(1, len(texts) + 1), pa.int32())
    runs = [pa.RunEndEncodedArray.from_arrays(ends, array) for array in (plain[0], coded[0])]
    return [*plain, *coded, *runs]


def test_texts_of_every_layout() -> None:
    pa = pytest.importorskip("pyarrow")
    expected = rows_of(fnabi.decode_columns(RAW))
    for data in layouts(RAW):
        assert rows_of(fnabi.decode_columns(data)) == expected, data.type
        assert rows_of(fnabi.decode_columns(data, threads=2)) == expected, data.type
        assert rows_of(fnabi.decode_columns(data[1:4])) == expected[1:4], data.type
        chunks = pa.chunked_array([data[:2], data[2:2], data[2:]])
        assert rows_of(fnabi.decode_columns(chunks)) == expected, data.type
        table = pa.table({"f": data})
        assert rows_of(fnabi.decode_columns(table[2:])) == expected[2:], data.type


def test_runs_are_found_from_anywhere() -> None:
    pa = pytest.importorskip("pyarrow")
    for kind in (pa.int16(), pa.int32(), pa.int64()):
        ends = pa.array([3, 4, 1000, 1010, 1011, 2000], kind)
        runs = pa.RunEndEncodedArray.from_arrays(ends, pa.array(RAW))
        expected = rows_of(fnabi.decode_columns(runs.to_pylist()))
        for first, last in ((0, 2000), (2, 5), (999, 1011), (1990, 2000), (4, 4)):
            found = rows_of(fnabi.decode_columns(runs[first:last], threads=2))
            assert found == expected[first:last]


def test_texts_of_a_fixed_size_and_none_at_all() -> None:
    pa = pytest.importorskip("pyarrow")
    fixed = pa.array([b"I1!R1!", None, b"I1!R!1"], pa.binary(6))
    assert fnabi.decode_columns(fixed[1:]).errors == fnabi.decode_columns([None, b"I1!R!1"]).errors
    assert rows_of(fnabi.decode_columns(pa.nulls(3))) == rows_of(fnabi.decode_columns([None] * 3))


def test_a_struct_with_nulls() -> None:
    pa = pytest.importorskip("pyarrow")
    mask = pa.array([False, False, True, False, False, True])
    structs = pa.StructArray.from_arrays([pa.array(RAW)], ["f"], mask=mask)
    texts = [None if null else text for text, null in zip(RAW, mask.to_pylist(), strict=True)]
    expected = rows_of(fnabi.decode_columns(texts))
    assert rows_of(fnabi.decode_columns(structs)) == expected
    assert rows_of(fnabi.decode_columns(structs[2:5])) == expected[2:5]


# ----------------------------------------------------------------------------- requested schemas


def requested(type: Any, list_of: Callable[..., Any], text: Any, number: Any = None) -> Any:
    """Return a type with other lists, other types for dictionaries, other numbers for uint8."""
    pa = pytest.importorskip("pyarrow")

    def change(type: Any) -> Any:
        if pa.types.is_struct(type):
            fields = [type.field(i) for i in range(type.num_fields)]
            return pa.struct([(field.name, change(field.type)) for field in fields])
        if pa.types.is_list(type):
            return list_of(change(type.value_type))
        if pa.types.is_dictionary(type):
            return text
        return number if number is not None and type == pa.uint8() else type

    return change(type)


@pytest.mark.parametrize("lists", ["list_", "large_list", "list_view", "large_list_view"])
@pytest.mark.parametrize("abi", TEXTS)
def test_types_that_are_requested(abi: Any, lists: str) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = fnabi.decode_columns([*TEXTS[abi], b"I1!"] * 3, abi, threads=2)
    natural = pa.array(columns)
    texts = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()]
    texts += [pa.dictionary(pa.int16(), pa.string()), pa.dictionary(pa.uint32(), pa.string_view())]
    texts += [pa.dictionary(pa.int8(), pa.large_binary()), pa.binary_view()]
    for text, number in zip(
        texts, itertools.cycle([pa.int8(), pa.uint16(), pa.int64()]), strict=False
    ):
        wanted = requested(natural.type, getattr(pa, lists), text, number)
        array = pa.Array._import_from_c_capsule(
            *columns.__arrow_c_array__(wanted.__arrow_c_schema__())
        )
        array.validate(full=True)
        assert array.type == wanted
        stream = pa.RecordBatchReader.from_stream(columns, schema=pa.schema(wanted)).read_all()
        stream.validate(full=True)
        assert stream.schema == pa.schema(wanted)
        if "binary" not in str(text):
            assert array.to_pylist() == stream.to_pylist() == natural.to_pylist()


def test_a_type_that_cannot_be_given() -> None:
    """What the protocol says: the data keeps its types."""
    pa = pytest.importorskip("pyarrow")
    columns = fnabi.decode_columns(RAW)
    natural = pa.array(columns)
    string = pa.string()
    for wanted in (
        requested(natural.type, pa.list_, pa.binary(9)),
        requested(natural.type, pa.list_, pa.run_end_encoded(pa.int32(), string)),
        requested(natural.type, lambda item: pa.list_(item, 3), string),
        pa.struct(
            [(f.name, pa.float32() if f.name == "error_offset" else f.type) for f in natural.type]
        ),
    ):
        found = pa.Array._import_from_c_capsule(
            *columns.__arrow_c_array__(wanted.__arrow_c_schema__())
        )
        assert found.type == natural.type
        assert found.to_pylist() == natural.to_pylist()
        capsule = columns.__arrow_c_stream__(wanted.__arrow_c_schema__())
        assert pa.RecordBatchReader._import_from_c_capsule(capsule).read_all().schema == pa.schema(
            natural.type
        )


@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_are_narrowed_where_they_fit(threads: int) -> None:
    pa = pytest.importorskip("pyarrow")
    for dim, fits in ((127, True), (128, False)):
        text = f"I8!B5!d{dim}R1!"
        columns = fnabi.decode_columns([b"I1!R1!", text] * 3, "raw", threads=threads)
        natural = pa.array(columns)
        node = natural.type.field("inputs").type.value_type
        fields = [node.field("kind"), node.field("dtype"), ("shape", pa.list_(pa.int8()))]
        side = pa.list_(pa.struct(fields))
        wanted = pa.struct(
            [(f.name, side if f.name in ("inputs", "results") else f.type) for f in natural.type]
        )
        expected = wanted if fits else natural.type
        found = pa.Array._import_from_c_capsule(
            *columns.__arrow_c_array__(wanted.__arrow_c_schema__())
        )
        found.validate(full=True)
        assert found.type == expected
        assert found.to_pylist() == natural.to_pylist()
        capsule = columns.__arrow_c_stream__(wanted.__arrow_c_schema__())
        stream = pa.RecordBatchReader._import_from_c_capsule(capsule).read_all()
        assert stream.schema == pa.schema(expected)
        assert stream.to_pylist() == natural.to_pylist()


def test_other_data_is_refused() -> None:
    pa = pytest.importorskip("pyarrow")
    columns = fnabi.decode_columns(RAW)
    fields = list(pa.schema(columns))
    wrong = {
        r"expected a struct": pa.int8(),
        r"expected as many fields": pa.struct(fields[:3]),
        r"status: not the type of the data, expected a field of this name": pa.struct(
            [fields[0].with_name("state"), *fields[1:]]
        ),
        r"error_offset: not the type of the data, expected numbers": pa.struct(
            [fields[0], fields[1].with_type(pa.string()), *fields[2:]]
        ),
        r"inputs\.item: not the type of the data, expected a struct": pa.struct(
            [*fields[:2], fields[2].with_type(pa.list_(pa.int8())), fields[3]]
        ),
    }
    for problem, type in wrong.items():
        with pytest.raises(CallError, match=f"__arrow_c_array__: requested_schema: .*{problem}"):
            columns.__arrow_c_array__(type.__arrow_c_schema__())
        with pytest.raises(CallError, match=f"__arrow_c_stream__: requested_schema: .*{problem}"):
            columns.__arrow_c_stream__(type.__arrow_c_schema__())
    for source in (columns.plain().__arrow_c_array__, columns.plain().__arrow_c_stream__):
        with pytest.raises(
            CallError, match=r"requested_schema: expected a capsule .*, got Schema$"
        ):
            source(pa.schema([]))  # which is false
    with pytest.raises(CallError, match="expected a capsule"):
        columns.__arrow_c_array__(5)


@pytest.mark.parametrize("abi", EVERY)
def test_plain_types(abi: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    texts = EVERY[abi]
    columns = fnabi.decode_columns(texts, abi, threads=2)
    for data in (pa.array(columns.plain()), pa.table(columns.plain())):
        data.validate(full=True)
        assert data.to_pylist() == rows_of(columns)
        schema = pa.schema(data.type) if hasattr(data, "type") else data.schema
        assert schema == pa.schema(columns.plain())
        assert "dictionary" not in str(schema)
        assert "uint" not in str(schema)
    assert "Columns of" in repr(columns.plain())
    wanted = requested(pa.array(columns).type, pa.large_list, pa.large_string())
    stream = pa.RecordBatchReader.from_stream(columns.plain(), schema=pa.schema(wanted))
    assert stream.read_all().schema == pa.schema(wanted)


# -------------------------------------------------------------------------------------- journeys


def travel_parquet(table: Any) -> Any:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, row_group_size=2)
    return parquet.read_table(pa.BufferReader(sink.getvalue()))


def travel_polars(table: Any) -> Any:
    return pytest.importorskip("polars").DataFrame(table)


def travel_pandas(table: Any) -> Any:
    pytest.importorskip("pandas")
    return table.to_pandas()


def travel_pandas_arrow(table: Any) -> Any:
    return table.to_pandas(types_mapper=pytest.importorskip("pandas").ArrowDtype)


def travel_duckdb(table: Any) -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("signatures", table)
    connection.sql("create table kept as select * from signatures")
    return connection.sql("select * from kept").to_arrow_table()


JOURNEYS = [travel_parquet, travel_polars, travel_pandas, travel_pandas_arrow, travel_duckdb]


@pytest.mark.parametrize("travel", JOURNEYS)
@pytest.mark.parametrize("abi", TEXTS)
def test_texts_after_a_journey(abi: Any, travel: Callable[[Any], Any]) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = fnabi.decode_columns(TEXTS[abi] * 3, abi, threads=2)
    data, offsets = fnabi.encode_columns(columns)
    assert data
    for table in (pa.table(columns), pa.table(columns.plain())):
        for threads in (1, 2):
            found = fnabi.encode_columns(travel(table), threads=threads, abi=abi)
            assert found[0] == data
            assert found[1].tolist() == offsets.tolist()


@pytest.mark.parametrize(
    ("sides", "problem"),
    [
        (([{"kind": "x"}], []), r"row 0: inputs\[0\].*expected the kind of a type"),
        (([None], []), r"row 0: inputs\[0\].*expected a node"),
        (([{"kind": "ref"}], [{"kind": "scalar", "dtype": "f"}]), r"results\[0\].*of a dtype"),
        (([{"kind": "scalar", "dtype": "int3"}], []), r"inputs\[0\]"),
        (([{"kind": "buffer", "dtype": "int8", "shape": [1.5]}], []), r"expected a dim"),
        (([{"kind": "buffer", "dtype": "int8", "shape": [2.0**40]}], []), r"int32"),
        (([{"kind": "list"}], []), r"row 0"),
    ],
)
def test_rows_that_are_no_signature(sides: tuple[Any, Any], problem: str) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"inputs": [sides[0]], "results": [sides[1]]})
    with pytest.raises(CallError, match=problem):
        fnabi.encode_columns(table)
    encoded = arrow.encode(table)
    assert encoded.column("text").to_pylist() == [None]
    assert encoded.column("error").null_count == 0


@pytest.mark.parametrize("depths", [[1], [0, 2], [0, -1], [0, 1, 1], [0], [None], [0, 1, 3]])
def test_depths_that_are_no_structure(depths: list[Any]) -> None:
    pa = pytest.importorskip("pyarrow")
    kinds = ["homogeneous_list", *["scalar"] * 3]
    nodes = [
        {"kind": kind, "dtype": "i8" if kind == "scalar" else None, "depth": depth}
        for kind, depth in zip(kinds, depths, strict=False)
    ]
    table = pa.table({"inputs": [nodes], "results": [[]]})
    with pytest.raises(CallError, match="row 0: inputs"):
        fnabi.encode_columns(table, abi="iree_abi")


SCALAR = {"kind": "scalar", "dtype": "float32", "shape": None}
IREE_SCALAR = {**SCALAR, "depth": 0, "name": None, "ref": None}
LEAF = {"kind": "leaf", "depth": 0, "index": 0, "position": None, "key": None}
ITEM = {**LEAF, "depth": 1}
SEQUENCE = {**LEAF, "kind": "sequence", "index": None}


@pytest.mark.parametrize(
    ("abi", "nodes"),
    [
        ("raw", [{**SCALAR, "shape": [2, 3]}]),
        ("raw", [{**SCALAR, "kind": "ref"}]),
        ("raw", [{**SCALAR, "kind": "unknown", "dtype": None, "shape": [None]}]),
        ("iree_abi", [{**IREE_SCALAR, "ref": "hal.fence"}]),
        ("cconv", [{**IREE_SCALAR, "name": "x"}]),
        ("cconv", [{**IREE_SCALAR, "kind": "ref", "dtype": None, "ref": "hal.fence"}]),
        ("sip", [{**LEAF, "position": 1}]),
        ("sip", [{**LEAF, "key": "k"}]),
        ("sip", [SEQUENCE, {**ITEM, "position": 0, "key": "k"}]),
        ("sip", [{**SEQUENCE, "kind": "dict"}, {**ITEM, "position": 0, "key": "k"}]),
        ("sip", [{**SEQUENCE, "index": 0}, {**ITEM, "position": 0}]),
    ],
    ids=str,
)
def test_values_that_no_text_has(abi: Any, nodes: list[dict[str, Any]]) -> None:
    """A field that the kind lacks would be lost."""
    pa = pytest.importorskip("pyarrow")
    kind = pa.array([nodes[:0], nodes], pa.list_(pa.array(nodes).type))
    table = pa.table({"inputs": kind, "results": kind.slice(0, 1).take([0, 0])})
    encoded = arrow.encode(table, "text", abi).to_pylist()
    assert [row["error"] for row in encoded] == [None, "message"]
    assert encoded[1]["text"] is None


@pytest.mark.parametrize("status", [None, "ok"])
def test_a_row_with_one_side_that_is_null(status: str | None) -> None:
    pa = pytest.importorskip("pyarrow")
    lists = pa.array([[SCALAR], None, [SCALAR], None], pa.list_(pa.array([SCALAR]).type))
    table = pa.table({"inputs": lists, "results": lists.take([0, 0, 1, 1])})
    if status is not None:
        table = table.append_column("status", pa.array([status] * 4))
    encoded = arrow.encode(table, "text", "raw").to_pylist()
    last = None if status is None else "message"
    assert [row["error"] for row in encoded] == [None, "message", "message", last]
    assert [row["text"] is None for row in encoded] == [False, True, True, True]


def test_bad_calls_of_encode_columns() -> None:
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(CallError, match="expected a table with the columns inputs and results"):
        fnabi.encode_columns(pa.table({"inputs": [[]]}))
    with pytest.raises(CallError, match="expected an ABI with an encoder"):
        fnabi.encode_columns(pa.table({"inputs": [[]], "results": [[]]}), abi="declaration")
    with pytest.raises(CallError, match="abi: expected one of raw"):
        fnabi.encode_columns(pa.table({}), abi="foo")  # type: ignore[arg-type]
    with pytest.raises(CallError, match="abi: expected raw, got 'sip'"):
        fnabi.encode_columns(COLUMNS, abi="sip")
    with pytest.raises(CallError, match="expected Columns or Arrow data, got list"):
        fnabi.encode_columns([])


def test_other_keys_of_iree_abi_are_not_encoded() -> None:
    """As the docstring and the guide say."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"s": ['{"a":["i32"],"r":[],"v":1,"d":{"x":2}}']})
    decoded = arrow.decode(table, "s", "iree_abi")
    assert arrow.encode(decoded, "text", "iree_abi")["text"].to_pylist() == ['{"a":["i32"],"r":[]}']


@pytest.mark.parametrize("of", ["cconv", "iree_abi", "sip"])
@pytest.mark.parametrize("plain", [True, False])
def test_columns_of_another_abi(of: Any, plain: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    table = arrow.decode(pa.table({"s": ["I4!O1!R1!"]}), "s", plain=plain)
    text = f"inputs and results are not columns of {of}, but of another ABI or of other types"
    with pytest.raises(CallError, match=rf"^arrow\.encode: batch: {text}$"):
        arrow.encode(table, "text", of)
    with pytest.raises(CallError, match=rf"^encode_columns: columns: {text}$"):
        fnabi.encode_columns(table, abi=of)


@pytest.mark.parametrize("encode", [lambda t: arrow.encode(t, "text"), fnabi.encode_columns])
def test_a_status_of_someone_else(encode: Any) -> None:
    """Rows that are malformed have empty sides, which only the status tells apart."""
    pa = pytest.importorskip("pyarrow")
    table = arrow.decode(pa.table({"s": ["I1!R1!", "x"]}), "s")
    text = r": status: not a column of strings$"
    for other in ([1, 2], [True, False], [1.5, 2.5], [["ok"], []], [{"ok": 1}, None]):
        with pytest.raises(fnabi.ArgumentTypeError, match=text):
            encode(table.set_column(1, "status", pa.array(other)))
    with pytest.raises(fnabi.ArgumentTypeError, match=text):
        encode(table.set_column(1, "status", pa.array([1, 2], pa.duration("s"))))
    for kind in (pa.null(), pa.dictionary(pa.int8(), pa.string()), pa.binary(), pa.string_view()):
        encode(table.set_column(1, "status", pa.nulls(2, kind)))
    for name in ("inputs", "results", "status"):
        text = rf": several columns have the name '{name}', expected one$"
        with pytest.raises(fnabi.ArgumentValueError, match=text):
            encode(table.append_column(name, table[name]))


# ------------------------------------------------------------------------ tables in, tables out


def tables() -> list[Any]:
    pa = pytest.importorskip("pyarrow")
    metadata = {"unit": "m"}
    fields = [pa.field("id", pa.int64(), metadata=metadata), pa.field("f", pa.binary())]
    table = pa.table([list(range(len(RAW))), RAW], schema=pa.schema(fields))
    chunked = pa.concat_tables([table[:2], table[2:]])
    return [table, chunked, table[1:5], table.to_batches()[0], table.to_batches()[0][2:]]


@pytest.mark.parametrize("plain", [True, False])
def test_decode_and_encode(plain: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    decode = pickle.loads(pickle.dumps(partial(arrow.decode, column="f", plain=plain)))
    for table in tables():
        given = table.to_pylist()
        decoded = decode(table)
        assert type(decoded) is type(table)
        decoded.validate(full=True)
        signatures = fnabi.decode_columns([row["f"] for row in given])
        expected = [a | b for a, b in zip(given, rows_of(signatures), strict=True)]
        assert decoded.to_pylist() == expected
        assert table.to_pylist() == given
        assert decoded.schema.field("id").metadata == {b"unit": b"m"}
        added = pa.schema(signatures.plain() if plain else signatures)
        assert list(decoded.schema)[2:] == list(added)
        assert decode(table, drop=True).schema == decoded.schema.remove(1)
        encoded = arrow.encode(decoded)
        encoded.validate(full=True)
        texts, ends = fnabi.encode_columns(signatures)
        cut = [texts[a:b].decode() or None for a, b in itertools.pairwise([0, *ends[1:]])]
        assert [row["text"] for row in encoded.to_pylist()] == cut
        assert [row["error"] for row in encoded.to_pylist()] == [None] * len(cut)


@pytest.mark.parametrize("abi", TEXTS)
def test_decode_and_encode_every_abi(abi: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"f": TEXTS[abi]})
    texts, ends = fnabi.encode_columns(fnabi.decode_columns(TEXTS[abi], abi))
    cut = [texts[a:b] or None for a, b in itertools.pairwise(ends)]
    encoded = arrow.encode(arrow.decode(table, "f", abi, threads=2), "g", abi, error="e")
    assert encoded.column("g").cast(pa.large_binary()).to_pylist() == cut


def test_every_class_of_tables() -> None:
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    table = tables()[1]
    expected = arrow.decode(table, "f").to_pylist()
    frame = arrow.decode(pl.DataFrame(table), "f")
    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dicts() == expected
    assert isinstance(arrow.encode(frame), pl.DataFrame)

    class Other:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return table.__arrow_c_stream__()

    assert rows_of(arrow.decode(Other(), "f")) == expected
    reader = arrow.decode(pa.RecordBatchReader.from_stream(table), "f")
    assert isinstance(reader, pa.RecordBatchReader)
    assert next(iter(reader)).to_pylist() == expected[:2]
    assert reader.read_all().to_pylist() == expected[2:]


def test_tables_without_rows() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"f": ["I1!R1!"], "id": [1]})
    schema = arrow.decode(table, "f").schema
    for empty in (
        table.slice(0, 0),
        table.to_batches()[0].slice(0, 0),
        pa.RecordBatch.from_pylist([], table.schema),
        table.schema.empty_table(),
    ):
        decoded = arrow.decode(empty, "f")
        assert type(decoded) is type(empty)
        assert (decoded.num_rows, decoded.schema) == (0, schema)
        assert arrow.encode(decoded).num_rows == 0


def test_a_stream_that_an_exception_drops() -> None:
    """Its release runs Python while the exception is on its way to the caller."""
    pa = pytest.importorskip("pyarrow")
    found = vmfb.scan([])
    with pytest.raises(StopIteration):
        pa.RecordBatchReader.from_stream(found).read_next_batch()


def test_pandas_frames() -> None:
    pd = pytest.importorskip("pandas")
    table = tables()[0]
    decoded = arrow.decode(pd.DataFrame({"id": range(len(RAW)), "f": RAW}), "f")
    assert isinstance(decoded, pd.DataFrame)
    assert list(decoded["status"]) == [
        row["status"] or pd.NA for row in rows_of(arrow.decode(table, "f"))
    ]
    assert isinstance(arrow.encode(decoded), pd.DataFrame)


def pandas_indexes(rows: int) -> dict[str, Any]:
    pd = pytest.importorskip("pandas")
    pairs = [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "a"), (3, "b")][:rows]
    return {
        "start and step": pd.RangeIndex(10, 10 + 2 * rows, 2),
        "backwards": pd.RangeIndex(rows, 0, -1, name="n"),
        "strings": pd.Index(list("abcdef")[:rows], name="key"),
        "of the texts' name": pd.Index(range(rows), name="f"),
        "of a new name": pd.Index(range(rows), name="status"),
        "several levels": pd.MultiIndex.from_tuples(pairs, names=["x", None]),
        "times": pd.date_range("2020-01-01", periods=rows, tz="Europe/Paris", name="when"),
        "periods": pd.period_range("2020-01", periods=rows, freq="M"),
        "intervals": pd.interval_range(0, rows),
        "duplicates": pd.Index([7, 7, 8, 7, 9, 8][:rows]),
        "categories": pd.CategoricalIndex(list("abcaba")[:rows], list("cba"), ordered=True),
        "nothing": pd.Index([1.5, None, 2, 3, 4, 5][:rows]),
        "masked": pd.Index([1, None, 2, 3, 4, 5][:rows], dtype="Int64"),
        "Arrow": pd.Index([1, None, 2, 3, 4, 5][:rows], dtype="int64[pyarrow]"),
        "objects": pd.Index([1, "a", (1, 2), None, b"b", 2.5][:rows], dtype=object),
    }


@pytest.mark.parametrize("rows", [len(RAW), 0])
@pytest.mark.parametrize("kind", pandas_indexes(0) if find_spec("pandas") else [])
def test_frames_of_pandas_keep_their_index(kind: str, rows: int) -> None:
    pd = pytest.importorskip("pandas")
    index = pandas_indexes(rows)[kind]
    status = [row["status"] for row in rows_of(fnabi.decode_columns(RAW[:rows]))]
    frame = pd.DataFrame({"id": range(rows), "f": pd.Series(RAW[:rows], dtype=object)})
    frame = frame.set_axis(index)
    for given in ({}, {"drop": True}, {"prefix": "g_"}, {"into": "g"}):
        decoded = arrow.decode(frame, "f", **given)  # type: ignore[arg-type]
        pd.testing.assert_index_equal(decoded.index, index, exact=True)
        kept = frame.drop(columns="f") if "drop" in given else frame
        pd.testing.assert_frame_equal(decoded[[*kept.columns]], kept)
    frame["g"] = arrow.decode(frame, "f")["status"]
    assert [None if value is pd.NA else value for value in frame["g"]] == status
    encoded = arrow.encode(arrow.decode(frame, "f"))
    pd.testing.assert_index_equal(encoded.index, index, exact=True)
    texts = [text for text in RAW[:rows] if text not in (None, b"x")]
    assert [text.encode() for text in encoded["text"].dropna()] == texts


def test_frames_of_pandas_keep_their_types() -> None:
    """Extension types, objects that Arrow does not have, names that are no strings, attributes."""
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "Int64": pd.array([1, None, 3], "Int64"),
            "boolean": pd.array([True, None, False], "boolean"),
            "string": pd.array(["a", None, "c"], "string"),
            "category": pd.Categorical(["a", None, "b"], ["b", "a"]),
            "period": pd.period_range("2020-01", periods=3, freq="M"),
            "interval": pd.arrays.IntervalArray.from_breaks(range(4)),
            "sparse": pd.arrays.SparseArray([0, 0, 1]),
            "zone": pd.date_range("2020-01-01", periods=3, tz="Europe/Paris"),
            "decimal": pd.array([Decimal("1.5"), None, 2], pd.ArrowDtype(pa.decimal128(9, 2))),
            "complex": [1j, 2, 3],
            "objects": [{1}, "a", None],
            7: [1, 2, 3],
            ("a", 1): [1, 2, 3],
        },
        index=[5, 5, 6],
    )
    frame.attrs["unit"] = "m"
    texts = ["I1!R1!", None, "x"]
    string = pa.string()
    for kind in (
        *("object", "string[python]", "string[pyarrow]", "category"),
        *(pd.ArrowDtype(each) for each in (string, pa.large_binary(), pa.string_view())),
        pd.ArrowDtype(pa.dictionary(pa.int8(), string)),
    ):
        if isinstance(kind, pd.ArrowDtype):  # from strings to binaries and views
            given: Any = pd.arrays.ArrowExtensionArray(pa.array(texts).cast(kind.pyarrow_dtype))
        else:
            given = pd.Series(texts, dtype=object, index=frame.index).astype(kind)
        whole = frame.assign(f=given)
        decoded = arrow.decode(whole, "f")
        pd.testing.assert_frame_equal(decoded[[*frame.columns]], frame)
        assert decoded["status"].isna().tolist() == [False, True, False], kind
        assert decoded["status"].tolist()[::2] == ["ok", "raw-inputs"], kind
        assert all(isinstance(type, pd.ArrowDtype) for type in decoded.dtypes[-4:])
        assert decoded.attrs == {"unit": "m"}
    assert list(frame.columns)[-1] == ("a", 1)  # nothing was added to what was given


def test_frames_of_polars_keep_what_arrow_lacks() -> None:
    pl = pytest.importorskip("polars")
    things = [object(), object()]
    frame = pl.DataFrame(
        {
            "f": ["I1!R1!", "x"],
            "object": pl.Series(things, dtype=pl.Object),
            "enum": pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])),
            "category": pl.Series(["a", "b"], dtype=pl.Categorical),
            "wide": pl.Series([1, 2**100], dtype=pl.Int128),
        }
    )
    decoded = arrow.decode(frame, "f")
    assert decoded.schema.to_python() | frame.schema.to_python() == decoded.schema.to_python()
    assert decoded.columns[:5] == frame.columns
    assert decoded["object"].to_list() == things
    assert decoded["wide"].to_list() == [1, 2**100]
    assert decoded["status"].to_list() == ["ok", "raw-inputs"]
    only = arrow.decode(frame.select("f"), "f", drop=True)
    assert only.columns == ["status", "error_offset", "inputs", "results"]
    assert only["status"].to_list() == ["ok", "raw-inputs"]


def test_tables_keep_their_metadata() -> None:
    pa = pytest.importorskip("pyarrow")
    inner = pa.field("x", pa.int8(), nullable=False, metadata={"deep": "1"})
    fields = [
        pa.field("f", pa.string(), metadata={"unit": "m"}),
        pa.field("s", pa.struct([inner]), metadata={b"\xff": b"\0"}),
        pa.field("d", pa.dictionary(pa.int8(), pa.string(), ordered=True)),
        pa.field("m", pa.map_(pa.string(), pa.int8(), keys_sorted=True), nullable=False),
    ]
    metadata = {b"owner": b"me", b"empty": b"", b"\xff": b"\0\xff"}
    rows = [{"f": "I1!R1!", "s": {"x": 1}, "d": "a", "m": [("k", 1)]}]
    table = pa.Table.from_pylist(rows, pa.schema(fields, metadata))
    batch = table.to_batches()[0]
    given: list[Any] = [table, batch, table.slice(0, 0), batch.slice(0, 0)]
    for each in (*given, pa.RecordBatchReader.from_stream(table)):
        for names in ({}, {"prefix": "g_"}, {"into": "g"}):
            if names and each not in given:  # a reader is read once
                continue
            schema = arrow.decode(each, "f", **names).schema
            assert schema.metadata == metadata
            assert list(schema)[:4] == fields
            assert [field.metadata for field in schema][:4] == [each.metadata for each in fields]
            assert schema.field("s").type.field("x").metadata == {b"deep": b"1"}
    encoded = arrow.encode(arrow.decode(table, "f"))
    assert encoded.schema.metadata == metadata
    assert arrow.decode(pa.table({"f": ["x"]}), "f").schema.metadata is None


def test_pandas_metadata_of_a_table_still_has_the_index() -> None:
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"f": ["I1!R1!", "x"]}, index=pd.Index(["p", "q"], name="key"))
    back = arrow.decode(pa.Table.from_pandas(frame), "f").to_pandas()
    pd.testing.assert_index_equal(back.index, frame.index)
    texts = frame.reset_index().set_index("f")
    back = arrow.decode(pa.Table.from_pandas(texts), "f", drop=True).to_pandas()
    assert list(back["key"]) == ["p", "q"]


NEW = ("status", "error_offset", "inputs", "results")


@pytest.mark.parametrize("package", ["pyarrow", "batch", "reader", "polars", "pandas", "duckdb"])
def test_names_of_what_is_added(package: str) -> None:
    """A table that has these columns itself can be decoded, as often as one likes."""
    pa = pytest.importorskip("pyarrow")
    texts = ["I1!R1!", None, "x"]
    table = pa.table({"status": [1, 2, 3], "f": texts, "results": ["p", "q", "r"]})
    for name, other in (("status", "other"), ("results", "status")):
        with pytest.raises(CallError, match=rf"column '{name}'; prefix= or into="):
            arrow.decode(of_package(package, table.rename_columns([name, "f", other + "_"])), "f")
    expected = fnabi.decode_columns(texts)
    wide = arrow.decode(of_package(package, table), "f", prefix="g_")
    found = to_arrow(wide)
    assert found.column_names == ["status", "f", "results", *(f"g_{name}" for name in NEW)]
    assert found.select(table.column_names).to_pylist() == table.to_pylist()
    new = found.select([f"g_{name}" for name in NEW]).rename_columns(list(NEW))
    assert new.to_pylist() == rows_of(expected)
    one = to_arrow(arrow.decode(of_package(package, table), "f", into="g"))
    assert one.column_names == ["status", "f", "results", "g"]
    rows = [row if text else None for row, text in zip(rows_of(expected), texts, strict=True)]
    assert one.column("g").to_pylist() == rows  # null where the text is
    replaced = to_arrow(arrow.decode(of_package(package, table), "f", into="f", drop=True))
    assert replaced.column_names == ["status", "results", "f"]
    assert replaced.column("f").to_pylist() == rows
    for given, name in (({"into": "f"}, "f"), ({"prefix": "error_", "into": None}, "error_status")):
        other = table.rename_columns(["error_status", "f", "x"])
        with pytest.raises(CallError, match=f"already has a column '{name}'"):
            arrow.decode(of_package(package, other), "f", **given)  # type: ignore[arg-type]
    again = arrow.decode(of_package(package, found), "f", prefix="h_", plain=False)
    assert to_arrow(again).column("h_status").to_pylist() == found.column("g_status").to_pylist()


def of_package(package: str, table: Any) -> Any:
    module = pytest.importorskip("pyarrow" if package in ("batch", "reader") else package)
    if package == "duckdb":
        return module.connect().from_arrow(table)
    if package == "pandas":
        return table.replace_schema_metadata(None).to_pandas()
    if package == "reader":
        return module.RecordBatchReader.from_stream(table)
    if package == "batch":
        return table.combine_chunks().to_batches()[0]
    return module.DataFrame(table) if package == "polars" else table


def to_arrow(data: Any) -> Any:
    pa = pytest.importorskip("pyarrow")
    if type(data).__module__.startswith("pandas"):
        return pa.Table.from_pandas(data, preserve_index=False)
    return pa.table(data)


def test_names_of_the_columns_of_declarations() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"f": ["sync func @f(%a: i32) -> ()"], "ambiguity": [1]})
    with pytest.raises(CallError, match="already has a column 'ambiguity'"):
        arrow.decode(table, "f", "declaration")
    assert arrow.decode(table, "f", "declaration", prefix="d.")["d.ambiguity"].to_pylist() == [
        "none"
    ]
    (row,) = arrow.decode(table, "f", "declaration", into="d")["d"].to_pylist()
    assert row["ambiguity"] == "none"


@pytest.mark.parametrize("name", [0, ("a", "b"), None])
def test_names_that_are_no_text(name: Any) -> None:
    """Frames of pandas have any; none crosses as Arrow data."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({name: ["I1!R1!"]})
    with pytest.raises(ArgumentTypeError, match=r"^arrow\.decode: column: expected str, got "):
        arrow.decode(frame, name)


@pytest.mark.parametrize("format", [b"", b"+", b"+x", b"+l", b"+vl", b"+r", b"+w:2"])
def test_a_format_that_there_is_not(format: bytes) -> None:
    """Or a list without the column of its elements."""
    pa = pytest.importorskip("pyarrow")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    text = ctypes.create_string_buffer(format)

    class Producer:
        def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
            schema, array = pa.record_batch({"f": ["x"]}).__arrow_c_array__()
            children = ctypes.c_void_p.from_address(pointer(schema, b"arrow_schema") + 40).value
            assert children is not None
            column = ctypes.c_void_p.from_address(children).value
            assert column is not None
            ctypes.c_void_p.from_address(column).value = ctypes.addressof(text)
            return schema, array

    with pytest.raises(ArgumentTypeError, match="unsupported Arrow type"):
        arrow.decode(Producer(), "f")


def test_bad_calls_of_decode() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"f": ["x"], "n": [1]})
    nulls = pa.StructArray.from_arrays([pa.array(["x"])], ["f"], mask=pa.array([True]))
    for call, problem in (
        (partial(arrow.decode, table, "g"), "column: no column has the name 'g'"),
        (partial(arrow.decode, table, 5), "column: expected str, got int"),
        (partial(arrow.decode, table, "n"), "unsupported Arrow type"),
        (partial(arrow.decode, table, "f", "foo"), "abi: expected one of raw"),
        (partial(arrow.decode, table, "f", threads=0), "threads"),
        (partial(arrow.decode, [], "f"), "expected a table of Arrow data, got list"),
        (partial(arrow.decode, pa.array(["x"]), "f"), "not a table"),
        (partial(arrow.decode, nulls, "f"), "a row is null"),
        (partial(arrow.decode, arrow.decode(table, "f"), "f"), "already has a column 'status'"),
        (partial(arrow.decode, pa.table([["x"], ["y"]], names=["f", "f"]), "f"), "several"),
        (partial(arrow.decode, table, "n", prefix=5), "prefix: expected str, got int"),
        (partial(arrow.decode, table, "n", into=5), "into: expected str or None, got int"),
        (partial(arrow.decode, table, "n", into=""), "into: empty"),
        (partial(arrow.decode, table, "n", prefix="a", into="b"), "both are given"),
        (partial(arrow.decode, table, "n", prefix="a\0"), "UTF-8 without NUL, got 'a.x00'"),
        (partial(arrow.decode, table, "n", into="\ud800"), "UTF-8 without NUL"),
        (partial(arrow.decode, table, "f\0g"), "column: expected a name that is UTF-8 without"),
        (partial(arrow.encode, table, column="a\0"), "UTF-8 without NUL"),
        (partial(arrow.encode, table), "expected a table with the columns inputs"),
        (partial(arrow.encode, table, column="f"), "already has a column 'f'.*column= and error="),
        (partial(arrow.encode, table, column="a", error="a"), "expected two names"),
        (partial(arrow.encode, pa.array(["x"])), "not a table"),
    ):
        with pytest.raises((CallError, NotFoundError), match=problem):
            call()


# ----------------------------------------------------------------------------------------- pickle


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("abi", EVERY)
def test_columns_pickle(abi: Any, threads: int) -> None:
    texts = EVERY[abi]
    columns = fnabi.decode_columns(texts * 4, abi, threads=threads)
    buffers: list[pickle.PickleBuffer] = []
    small = pickle.dumps(columns, 5, buffer_callback=buffers.append)
    copies = [
        pickle.loads(small, buffers=buffers),
        pickle.loads(small, buffers=[bytes(buffer) for buffer in buffers]),
        *(pickle.loads(pickle.dumps(columns, protocol)) for protocol in range(2, 6)),
    ]
    assert sum(len(buffer.raw()) for buffer in buffers) > 4 * len(texts)
    for copy in copies:
        assert copy == columns
        assert copy.errors == columns.errors
        assert copy.abi == abi
    assert columns == fnabi.decode_columns(texts * 4, abi)
    assert columns != fnabi.decode_columns(texts * 3, abi)
    assert columns != fnabi.decode_columns([*texts * 3, *texts[1:], texts[0]], abi)
    assert columns != texts


def test_columns_of_other_abis_are_unequal() -> None:
    abis: tuple[Abi, ...] = ("raw", "sip", "cconv", "iree_abi", "declaration")
    for texts in ([], ["?"], [None]):
        made = [fnabi.decode_columns(texts, abi) for abi in abis]
        for index, columns in enumerate(made):
            assert [each == columns for each in made] == [k == index for k in range(len(made))]


def test_columns_are_equal_whatever_the_numbers_of_their_dtypes() -> None:
    first = [b'{"a":["i7"],"r":[]}', b'{"a":["i9"],"r":[]}']
    part = fnabi.decode_columns(first[::-1], "iree_abi")
    columns = fnabi.decode_columns(first, "iree_abi")
    assert columns != part
    assert columns == fnabi.decode_columns(first, "iree_abi", threads=2)


def test_bytes_that_are_no_columns() -> None:
    """Every byte of a pickle's columns may be wrong: what is accepted can be read."""
    for abi, texts in TEXTS.items():
        restore, (_, parts) = fnabi.decode_columns(texts, abi).__reduce_ex__(4)
        [(memory, dtypes)] = parts
        for index, data in enumerate(memory):
            changes = [bytes(data[:-1]), bytes(data) + b"\0", b""]
            changes += [
                bytes(data[:i]) + bytes([byte]) + bytes(data[i + 1 :])
                for i in range(len(data))
                for byte in (0, 1, 127, 128, 255)
            ]
            for change in changes:
                try:
                    columns = restore(
                        abi, [([*memory[:index], change, *memory[index + 1 :]], dtypes)]
                    )
                except CallError:
                    continue
                for row in range(len(columns)):
                    try:
                        assert columns[row] is not Ellipsis
                    except fnabi.FormatError:
                        continue
                try:
                    fnabi.encode_columns(columns)
                except CallError:
                    continue
        with pytest.raises(CallError, match="no columns"):
            restore(abi, [(memory, b"\x92")])
        with pytest.raises(CallError, match="expected 32 columns, got 0"):
            restore(abi, [([], dtypes)])


def test_decode_frees_its_memory_without_a_collection() -> None:
    pa = pytest.importorskip("pyarrow")
    gc.collect()
    gc.disable()
    try:
        before = pa.total_allocated_bytes()
        for _ in range(3):
            batch = pa.record_batch({"sig": pa.array(["I1!R1!"] * 10_000)})
            fnabi.arrow.decode(batch, "sig")
            fnabi.arrow.decode(pa.Table.from_batches([batch]), "sig")
            del batch
        assert pa.total_allocated_bytes() == before
    finally:
        gc.enable()


def test_frames_of_pandas_need_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sig": ["I1!R1!"], "inputs": [[]], "results": [[]]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    missing = r"pyarrow is not installed \(pip install pyarrow\)$"
    with pytest.raises(fnabi.MissingPackageError, match=rf"^arrow\.decode: {missing}"):
        fnabi.arrow.decode(frame, "sig")
    with pytest.raises(fnabi.MissingPackageError, match=rf"^arrow\.encode: {missing}"):
        fnabi.arrow.encode(frame, "text")


def test_frames_of_pandas_that_are_not_encoded() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with pytest.raises(CallError, match="expected a table with the columns inputs and results"):
        arrow.encode(pandas.DataFrame({"a": [1]}))
    with pytest.raises(CallError, match="no Arrow type has these objects: Could not convert"):
        arrow.encode(pandas.DataFrame({"inputs": [object()], "results": [[]]}))
