"""What each public callable raises for a wrong type, a wrong value, a missing name and file."""

from __future__ import annotations

import inspect
import io
import pickle
import re
import traceback
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import (
    arrow,
    baseline,
    bytecode,
    catalog,
    catalog_diff,
    cconv,
    client,
    compat,
    costs,
    dask,
    datafusion,
    declaration,
    duckdb,
    errors,
    example,
    extract,
    failures,
    html,
    invoke,
    iree_abi,
    library,
    pandas,
    parameters,
    pattern,
    polars,
    program,
    raw,
    ray,
    report,
    schema,
    sip,
    spark,
    tensor,
    types,
    vmfb,
)
from fnabi.compat import compare_folders
from support.paths import DATA
from support.public import BY_FNABI, public_callables

MODULE = vmfb.from_buffer((DATA / "vmfb" / "abi_records.vmfb").read_bytes())
CLOSED = vmfb.from_buffer((DATA / "vmfb" / "abi_records.vmfb").read_bytes())
CLOSED.close()
SIGNATURE = fnabi.Signature.parse("(float32[2]) -> (float32[2])")
BUFFER = types.Buffer(fnabi.DType("float32"), (2,))
DYNAMIC = fnabi.Signature.parse("(float32[?]) -> (float32[?])")
LEAF = sip.Sequence(((0, sip.Leaf(0)),))
MISSING = "/missing/file"


NO_ARGUMENTS = {
    "Any",  # of any value
    "SignatureBuilder",
    "get_include",
    "library.load_runtime",
    "library.runtime_path",
    "list_global_func_names",
    "list_type_keys",
    "raw.RawSignatureMangler",
    "raw.RawSignatureParser",
    "sip.SipSignatureMangler",
    "sip.SipSignatureParser",
    "vmfb.releases",
}


def use(manager: Any) -> None:
    with manager:
        pass


def given(value: Any, other: object) -> Any:
    """Return a value, or another one for None and what is empty, which mean nothing."""
    return other if value is None or type(value) in (dict, list) else value


WRONG_TYPE: dict[str, list[Callable[[Any], object]]] = {
    "AnyArray": [fnabi.AnyArray],
    "Array": [fnabi.Array],
    "Catalog": [
        fnabi.Catalog,
        lambda x: fnabi.Catalog(None).update(x),
        lambda x: fnabi.Catalog(None).update([x]),
        lambda x: fnabi.Catalog(None).update("a", threads=x),
        lambda x: fnabi.Catalog(None).update("a", max_removed=x),
        lambda x: fnabi.Catalog(None).find(x),
        lambda x: fnabi.Catalog(None).find(function=x),
        lambda x: fnabi.Catalog(None).sql(x),
        lambda x: new_catalog().check_calls(x),
        lambda x: fnabi.Catalog(None).check_calls(batch(), baseline=given(x, 3)),
        lambda x: fnabi.Catalog(None).check_calls(batch(), columns=given(x, 3)),
        lambda x: fnabi.Catalog(None).check_calls(batch(), columns={"model": x}),
        lambda x: fnabi.Catalog(None).check_calls(batch(), files=given(x, 3)),
        lambda x: fnabi.Catalog(None).check_calls(batch(), limit=given(x, "3")),
    ],
    "DType": [
        fnabi.DType,
        fnabi.DType.parse,
        fnabi.DType.from_format,
        fnabi.DType.from_numpy,
        lambda x: fnabi.DType(x, 8),
        lambda x: fnabi.DType("float", x),
        lambda x: fnabi.DType("float", 8, x),
        lambda x: fnabi.DType("float", 8, "", x),
    ],
    "Device": [fnabi.Device, lambda x: fnabi.Device("cpu", x)],
    "Dict": [fnabi.Dict, lambda x: fnabi.Dict([x])],
    "Error": [lambda x: fnabi.Error(x, "text"), lambda x: fnabi.Error("ValueError", x)],
    "Function": [fnabi.Function, fnabi.Function.from_address],
    "List": [fnabi.List, lambda x: fnabi.List([1])[x]],
    "Map": [fnabi.Map],
    "Shape": [fnabi.Shape, lambda x: fnabi.Shape([x])],
    "SignatureParser": [fnabi.SignatureParser],
    "arrow.decode": [
        lambda x: arrow.decode(x, "text"),
        lambda x: arrow.decode(batch(), x),
        lambda x: arrow.decode(batch(), "text", x),
        lambda x: arrow.decode(batch(), "text", prefix=x),
        lambda x: arrow.decode(batch(), "text", into=x),
        lambda x: arrow.decode(batch(), "text", threads=x),
        lambda _: arrow.decode(batch([1]), "text"),
    ],
    "arrow.encode": [
        arrow.encode,
        lambda x: arrow.encode(batch(), abi=x),
        lambda x: arrow.encode(batch(), column=x),
    ],
    "baseline.parse": [baseline.parse],
    "baseline.encode": [baseline.encode],
    "bytecode.disassemble": [
        bytecode.disassemble,
        lambda x: bytecode.disassemble(MODULE, x),
    ],
    "costs.of": [lambda x: costs.of(x, 0), lambda x: costs.of(MODULE, x)],
    "costs.parameters": [lambda x: costs.parameters(x)],
    "costs.read": [lambda x: costs.read(x)],
    "costs.weights": [lambda x: costs.weights(x)],
    "program.of": [lambda x: program.of(x, 0), lambda x: program.of(MODULE, x)],
    "program.read": [lambda x: program.read(x)],
    "program.verify": [lambda x: program.verify(x)],
    "bytecode.find": [lambda x: bytecode.find(x, 0), lambda x: bytecode.find(MODULE, x)],
    "bytecode.names": [bytecode.names],
    "bytecode.verify": [bytecode.verify],
    "catalog.pattern_of_arrays": [
        catalog.pattern_of_arrays,
        lambda x: catalog.pattern_of_arrays([x]),
        lambda x: catalog.pattern_of_arrays([b"1"], x),
    ],
    "catalog_diff.compare_catalogs": [
        lambda x: list(catalog_diff.compare_catalogs(x, x)),
    ],
    "catalog_diff.group": [catalog_diff.group, lambda x: catalog_diff.group([x])],
    "cconv.encode": [cconv.encode],
    "cconv.parse": [cconv.parse],
    "client.Client": [client.Client, lambda _: client.Client()],
    "client.without_fences": [client.without_fences],
    "columns.decode_columns": [],
    "compat.compare": [lambda x: compat.compare(x, MODULE), lambda x: compat.compare(MODULE, x)],
    "compat.compare_folders": [
        lambda x: list(compare_folders(x, ".")),
        lambda x: list(compare_folders(".", x)),
    ],
    "compat.compare_signatures": [
        lambda x: compat.compare_signatures(x, SIGNATURE),
        lambda x: compat.compare_signatures(SIGNATURE, x),
    ],
    "dask.decode": [lambda x: dask.decode(x, "text")],
    "dask.scan": [dask.scan, lambda x: dask.scan([], storage_options=x)],
    "datafusion.register": [datafusion.register],
    "declaration.parse": [
        declaration.parse,
        lambda x: declaration.parse("", inputs=x),
        lambda x: declaration.parse("", results=x),
    ],
    "decode_columns": [
        fnabi.decode_columns,
        lambda x: fnabi.decode_columns([x]),
        lambda x: fnabi.decode_columns([], x),
        lambda x: fnabi.decode_columns([], threads=x),
        lambda x: fnabi.decode_columns(b"", offsets=x),
        lambda _: fnabi.decode_columns("text"),
    ],
    "duckdb.attach": [
        lambda x: duckdb.attach(x, MISSING),
        lambda x: duckdb.attach(connection(), x),
        lambda x: duckdb.attach(connection(), MISSING, x),
    ],
    "duckdb.register": [duckdb.register],
    "encode_columns": [
        fnabi.encode_columns,
        lambda x: fnabi.encode_columns(fnabi.decode_columns([]), threads=x),
        lambda x: fnabi.encode_columns(fnabi.decode_columns([]), abi=x),
    ],
    "example.example_values": [
        example.example_values,
        lambda x: example.example_values(SIGNATURE, x),
    ],
    "example.runner_function": [example.runner_function],
    "example.runner_inputs": [
        example.runner_inputs,
        lambda x: example.runner_inputs(SIGNATURE, x),
        lambda x: example.runner_inputs(SIGNATURE, None, x),
    ],
    "example.runner_module": [example.runner_module],
    "example.unknown_shapes": [
        example.unknown_shapes,
        lambda x: example.unknown_shapes(SIGNATURE, x),
    ],
    "extract.extract": [
        lambda x: extract.extract(x, "."),
        lambda x: extract.extract([x], "."),
        lambda x: extract.extract([], x),
    ],
    "extract.file_names": [extract.file_names, lambda x: extract.file_names([x])],
    "failures.explain": [failures.explain, lambda x: failures.explain("", x)],
    "from_dlpack": [fnabi.from_dlpack],
    "get_global_func": [fnabi.get_global_func],
    "get_raw_stream": [fnabi.get_raw_stream],
    "get_type": [fnabi.get_type],
    "html.render": [html.render, lambda x: html.render(MODULE, x)],
    "html.render_catalog": [html.render_catalog],
    "html.render_diff": [
        lambda x: html.render_diff(x, MODULE),
        lambda x: html.render_diff(MODULE, x),
        lambda x: html.render_diff(MODULE, MODULE, x),
        lambda x: html.render_diff(MODULE, MODULE, (x, x)),
        lambda x: html.render_diff(MODULE, MODULE, comparison=x),
    ],
    "html.render_folders": [
        html.render_folders,
        lambda x: html.render_folders([x]),
        lambda x: html.render_folders([], x),
        lambda x: html.render_folders([], (x, x)),
    ],
    "invoke.element_type": [invoke.element_type],
    "invoke.signature_of": [invoke.signature_of],
    "iree_abi.encode": [iree_abi.encode],
    "iree_abi.flatten": [
        iree_abi.flatten,
        lambda x: iree_abi.flatten(SIGNATURE, x),
        lambda x: iree_abi.flatten(SIGNATURE, (), x),
        lambda x: iree_abi.flatten(SIGNATURE, (x, x)),
        lambda _: iree_abi.flatten(SIGNATURE, ()),
        lambda x: iree_abi.flatten(fnabi.Signature((types.List(()),), ()), (x,)),
    ],
    "iree_abi.parse": [iree_abi.parse],
    "iree_abi.unflatten": [
        lambda x: iree_abi.unflatten(x, ()),
        lambda x: iree_abi.unflatten(SIGNATURE, x),
    ],
    "iter_columns": [
        lambda x: list(fnabi.iter_columns(x)),
        lambda x: list(fnabi.iter_columns(io.BytesIO(), x)),
        lambda x: list(fnabi.iter_columns(io.BytesIO(), threads=x)),
        lambda x: list(fnabi.iter_columns(io.BytesIO(), batch_bytes=x)),
        lambda _: list(fnabi.iter_columns(io.StringIO("text"))),  # type: ignore[arg-type]
    ],
    "library.looks_like_one": [library.looks_like_one],
    "library.read": [library.read],
    "load_module": [fnabi.load_module],
    "parameters.compare": [
        lambda x: parameters.compare(x, {}),
        lambda x: parameters.compare([x], {}),
        lambda x: parameters.compare([], x),
    ],
    "pandas.decode": [pandas.decode, lambda x: pandas.decode(series("pandas"), x)],
    "parameters.read": [parameters.read],
    "pattern.parse": [pattern.parse],
    "polars.decode": [polars.decode, lambda x: polars.decode(series("polars"), x)],
    "raw.allocate_results": [
        raw.allocate_results,
        lambda x: raw.allocate_results(DYNAMIC, list, x),
    ],
    "raw.describe": [raw.describe],
    "raw.dynamic_dims": [
        lambda x: raw.dynamic_dims(x, ()),
        lambda x: raw.dynamic_dims(SIGNATURE, x),
        lambda x: raw.dynamic_dims(SIGNATURE, (x,)),
    ],
    "raw.encode": [raw.encode],
    "raw.oracle": [
        lambda x: raw.oracle(x, raw.BufferDescription()),
        lambda x: raw.oracle(BUFFER, x),
    ],
    "raw.parse": [raw.parse],
    "raw.to_string": [raw.to_string],
    "ray.decode": [lambda x: ray.decode(x, "text")],
    "ray.scan": [ray.scan, lambda x: ray.scan([], storage_options=x)],
    "register_global_func": [
        fnabi.register_global_func,
        lambda x: fnabi.register_global_func("errors.name", x),
    ],
    "remove_global_func": [fnabi.remove_global_func],
    "report.verdict": [report.verdict, lambda x: report.verdict([x])],
    "report.write": [
        lambda x: report.write(x, "sarif"),
        lambda x: report.write([x], "sarif"),
        lambda x: report.write([], x),
    ],
    "schema.parse": [schema.parse],
    "schema.parse_type": [schema.parse_type],
    "schema.signature": [schema.signature],
    "sip.encode": [sip.encode],
    "sip.flatten": [lambda x: sip.flatten(x, []), lambda x: sip.flatten(LEAF, x)],
    "sip.parse": [sip.parse],
    "sip.paths": [sip.paths],
    "sip.to_string": [
        lambda x: sip.to_string(x, "inputs"),
        lambda x: sip.to_string(b"", x),
    ],
    "sip.unflatten": [lambda x: sip.unflatten(x, []), lambda x: sip.unflatten(LEAF, x)],
    "spark.decode": [lambda x: spark.decode(x, "text")],
    "spark.register": [spark.register],
    "spark.scan": [lambda x: spark.scan(x, "a")],
    "tensor.device_parts": [tensor.device_parts],
    "tensor.dtype_of": [lambda x: tensor.dtype_of(x, 32, 1)],
    "tensor.dtype_parts": [tensor.dtype_parts],
    "use_raw_stream": [
        lambda x: use(fnabi.use_raw_stream(x, 0)),
        lambda x: use(fnabi.use_raw_stream(fnabi.Device("cuda"), x)),
    ],
    "use_tensors": [lambda x: use(fnabi.use_tensors(x))],
    "use_torch_stream": [lambda x: use(fnabi.use_torch_stream(x))],
    "Module.contradictions": [MODULE.contradictions],
    "Module.runs_on": [
        MODULE.runs_on,
        lambda x: MODULE.runs_on("3.9.0", driver=x),
        lambda x: MODULE.runs_on("3.9.0", machine=x),
    ],
    "vmfb.from_buffer": [vmfb.from_buffer],
    "vmfb.open": [vmfb.open],
    "vmfb.scan": [
        vmfb.scan,
        lambda x: list(vmfb.scan([x])),
        lambda x: vmfb.scan("a", threads=x),
    ],
    "vmfb.verify": [vmfb.verify],
}
"""Calls with an argument that is of none of the types that the function accepts."""


def new_catalog() -> fnabi.Catalog:
    for name in ("duckdb", "pyarrow"):
        pytest.importorskip(name)
    return fnabi.Catalog(None)


def connection() -> Any:
    return pytest.importorskip("duckdb").connect()


def series(package: str) -> Any:
    return pytest.importorskip(package).Series(["I1!R1!"])


def batch(texts: list[Any] | None = None) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({"text": ["I1!R1!"] if texts is None else texts})


WRONG_VALUE: dict[str, list[Callable[[], object]]] = {
    "Catalog": [
        lambda: fnabi.Catalog("a\0b"),
        lambda: fnabi.Catalog(None).update("a", threads=0),
        lambda: fnabi.Catalog(None).update("a", max_removed="many"),
        lambda: fnabi.Catalog(None).update(),
        lambda: closed_catalog().sql("select 1"),
        lambda: closed_catalog().check_calls(batch()),
        lambda: fnabi.Catalog(None).check_calls(batch()),
        lambda: fnabi.Catalog(None).check_calls(batch(), columns={"text": "text"}),
        lambda: fnabi.Catalog(None).check_calls(batch(), files="model.vmfb"),
        lambda: fnabi.Catalog(None).check_calls(batch(), limit=0),
    ],
    "DType": [
        lambda: fnabi.DType("float33x"),
        lambda: fnabi.DType("odd", 8),  # type: ignore[arg-type]
        lambda: fnabi.DType.from_format("x"),
        lambda: fnabi.DType.from_numpy("float33"),
        lambda: fnabi.DType("float", 32, "e9").to_numpy(),
        lambda: fnabi.DType("signed", 4).itemsize,
    ],
    "Device": [lambda: fnabi.Device("gpu9"), lambda: fnabi.Device("cpu", 1 << 40)],
    "Function": [lambda: fnabi.Function.from_address(0)],
    "Shape": [lambda: fnabi.Shape([1 << 70])],
    "SignatureParser": [lambda: fnabi.SignatureParser("é")],
    "arrow.decode": [
        lambda: arrow.decode(batch(), "text", "odd"),  # type: ignore[arg-type]
        lambda: arrow.decode(batch(), "text", threads=0),
        lambda: arrow.decode(batch(), "text", into=""),
    ],
    "arrow.encode": [lambda: arrow.encode(batch())],
    "baseline.parse": [lambda: baseline.parse("{")],
    "bytecode.disassemble": [lambda: bytecode.disassemble(CLOSED)],
    "bytecode.verify": [lambda: bytecode.verify(CLOSED)],
    "cconv.parse": [lambda: cconv.parse("é")],
    "cconv.encode": [
        lambda: cconv.encode(cconv.CallingConvention((), ("odd",))),  # type: ignore[arg-type]
    ],
    "compat.compare": [lambda: compat.compare(CLOSED, MODULE)],
    "compat.compare_folders": [lambda: list(compare_folders(__file__, "."))],
    "declaration.parse": [
        lambda: declaration.parse("", inputs=-1),
        lambda: declaration.parse("", inputs="z"),
    ],
    "decode_columns": [
        lambda: fnabi.decode_columns([], "odd"),  # type: ignore[arg-type]
        lambda: fnabi.decode_columns([], threads=0),
    ],
    "encode_columns": [lambda: fnabi.encode_columns(fnabi.decode_columns([]), threads=0)],
    "example.example_values": [lambda: example.example_values(SIGNATURE, -1)],
    "html.render": [lambda: html.render(CLOSED)],
    "html.render_diff": [lambda: html.render_diff(CLOSED, MODULE)],
    "html.render_catalog": [lambda: html.render_catalog(closed_catalog())],
    "iree_abi.parse": [lambda: iree_abi.parse("x")],
    "iree_abi.unflatten": [lambda: iree_abi.unflatten(SIGNATURE, [1, 2])],
    "iter_columns": [
        lambda: list(fnabi.iter_columns(io.BytesIO(), "odd")),  # type: ignore[arg-type]
        lambda: list(fnabi.iter_columns(io.BytesIO(), threads=0)),
    ],
    "library.read": [lambda: library.read(__file__ + "\0")],
    "load_module": [lambda: fnabi.load_module("a\0b")],
    "duckdb.attach": [
        lambda: duckdb.attach(connection(), "a\0b"),
        lambda: duckdb.attach(connection(), MISSING, ""),
        lambda: duckdb.attach(connection(), MISSING, "memory"),
        lambda: duckdb.attach(connection(), fnabi.Catalog(None), "a"),
    ],
    "pandas.decode": [lambda: pandas.decode(series("pandas"), "odd")],  # type: ignore[arg-type]
    "parameters.read": [lambda: parameters.read(__file__), lambda: parameters.read("a\0b")],
    "pattern.parse": [lambda: pattern.parse("(")],
    "polars.decode": [lambda: polars.decode(series("polars"), "odd")],  # type: ignore[arg-type]
    "raw.dynamic_dims": [lambda: raw.dynamic_dims(SIGNATURE, ())],
    "raw.encode": [lambda: raw.encode(fnabi.Signature((types.Tuple(()),), ()))],
    "raw.parse": [lambda: raw.parse("é")],
    "raw.to_string": [lambda: raw.to_string("x")],
    "report.write": [lambda: report.write([], "odd")],
    "schema.parse": [lambda: schema.parse("{")],
    "sip.parse": [lambda: sip.parse("é")],
    "sip.to_string": [lambda: sip.to_string(b"", "both")],  # type: ignore[arg-type]
    "sip.flatten": [lambda: sip.flatten(LEAF, [])],
    "sip.unflatten": [lambda: sip.unflatten(LEAF, [1, 2])],
    "tensor.dtype_of": [lambda: tensor.dtype_of(99, 32, 1)],
    "use_raw_stream": [lambda: use(fnabi.use_raw_stream(fnabi.Device("cuda"), -1))],
    "Module.runs_on": [lambda: MODULE.runs_on("newest"), lambda: MODULE.runs_on("")],
    "vmfb.from_buffer": [lambda: vmfb.from_buffer(b"no module"), lambda: CLOSED.exports],
    "vmfb.open": [lambda: vmfb.open("a\0b")],
    "vmfb.scan": [lambda: vmfb.scan("a", threads=0)],
    "vmfb.verify": [lambda: vmfb.verify(b"no module")],
}
"""Calls with an argument of the right type whose value the function does not accept."""


def closed_catalog() -> fnabi.Catalog:
    found = fnabi.Catalog(None)
    found.close()
    return found


MISSING_NAME: dict[str, Callable[[], object]] = {
    "arrow.decode": lambda: arrow.decode(batch(), "missing"),
    "bytecode.disassemble": lambda: bytecode.disassemble(MODULE, "missing"),
    "costs.of, name": lambda: costs.of(MODULE, "missing"),
    "program.of, name": lambda: program.of(MODULE, "missing"),
    "bytecode.find, name": lambda: bytecode.find(MODULE, "missing"),
    "bytecode.find, number": lambda: bytecode.find(MODULE, 1 << 30),
    "extract.extract": lambda: extract.extract(MODULE.rodata, ".", "missing"),
    "get_global_func": lambda: fnabi.get_global_func("errors.missing"),
    "get_type": lambda: fnabi.get_type("errors.Missing"),
}

MISSING_KEY: dict[str, Callable[[], object]] = {
    "exports": lambda: MODULE.exports["missing"],
}

MISSING_FILE: dict[str, Callable[[], object]] = {
    "Catalog": lambda: fnabi.Catalog(MISSING).sql("select 1"),
    "Catalog.check_calls": lambda: new_catalog().check_calls(MISSING),
    "Module.load": lambda: fnabi.Module.load(MISSING),
    "catalog_diff.compare_catalogs": lambda: list(catalog_diff.compare_catalogs(MISSING, MISSING)),
    "client.Client": lambda: client.Client(MISSING),
    "compat.compare_folders": lambda: list(compare_folders(MISSING, ".")),
    "duckdb.attach": lambda: duckdb.attach(connection(), MISSING),
    "library.read": lambda: library.read(MISSING),
    "load_module": lambda: fnabi.load_module(MISSING),
    "parameters.read": lambda: parameters.read(MISSING),
    "vmfb.open": lambda: vmfb.open(MISSING),
    "vmfb.open of a Path": lambda: vmfb.open(Path(MISSING)),
}


def package_of(name: str) -> None:
    """Skip the test of an engine that is not installed."""
    engines = ("ray", "dask", "polars", "pandas", "duckdb", "datafusion")
    packages = {"spark": "pyspark"} | dict(zip(engines, engines, strict=True))
    package = packages.get(name.partition(".")[0])
    if package and find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def test_every_public_callable_is_in_the_table() -> None:
    known = {name for name, calls in WRONG_TYPE.items() if calls} | BY_FNABI | NO_ARGUMENTS
    assert public_callables().keys() - known == set()


LONE, HUGE = "\ud800", 10**5000

UNREADABLE: list[Callable[[], object]] = [
    lambda: fnabi.get_type(LONE),
    lambda: fnabi.load_module(LONE),
    lambda: fnabi.Catalog(LONE),
    lambda: fnabi.Catalog(None).update(LONE),
    lambda: fnabi.Catalog(None).check_calls(LONE),
    lambda: list(fnabi.Catalog(None).find(function=LONE)),
    lambda: vmfb.open(LONE),
    lambda: list(vmfb.scan(LONE).rows()),
    lambda: list(vmfb.scan([LONE]).rows()),
    lambda: library.read(LONE),
    lambda: parameters.read(LONE),
    lambda: extract.extract(MODULE.rodata, LONE),
    lambda: example.runner_module(LONE),
    lambda: fnabi.Device("cpu", HUGE),
    lambda: fnabi.Shape([HUGE]),
    lambda: tensor.dtype_of(HUGE, 8, 1),
    lambda: fnabi.decode_columns([b""], threads=-HUGE),
    lambda: bytecode.find(MODULE, HUGE),
    lambda: fnabi.SignatureBuilder().integer(HUGE),
    lambda: sip.SipSignatureMangler().set_raw_signature_index(HUGE, []),
    lambda: sip.SipSignatureMangler().set_raw_signature_index(0, [HUGE]),
    lambda: fnabi.Catalog(None).update("a", max_removed=-HUGE),
    lambda: example.example_values(fnabi.Signature((), ()), -HUGE),
]
"""Calls with a text that has no UTF-8, and with ints that Python does not print."""


def test_an_iterable_may_raise_what_it_likes() -> None:
    def paths() -> Iterator[str]:
        yield "a.vmfb"
        raise ValueError("of the caller")

    with pytest.raises(ValueError, match=r"^of the caller$"):
        extract.extract(paths(), "folder")  # type: ignore[arg-type]
    with pytest.raises(errors.ArgumentTypeError, match="expected an iterable of RodataSegment"):
        extract.extract(pytest.importorskip("numpy").array(1), "folder")


@pytest.mark.parametrize("call", UNREADABLE, ids=map(str, range(len(UNREADABLE))))
def test_values_that_cannot_be_shown(call: Callable[[], object]) -> None:
    with pytest.raises(fnabi.FnabiError) as caught:
        call()
    if isinstance(caught.value, fnabi.errors.MissingPackageError):
        pytest.skip(str(caught.value))
    assert isinstance(caught.value, ValueError | LookupError)
    assert len(str(caught.value).encode()) < 300


LONG = "x" * 5000

REPEATED: list[Callable[[], object]] = [
    lambda: fnabi.DType.from_format(LONG),
    lambda: fnabi.DType.from_numpy(LONG),
    lambda: fnabi.Device(LONG),
    lambda: fnabi.get_global_func(LONG),
    lambda: fnabi.get_type(LONG),
    lambda: MODULE.exports[LONG],
    lambda: MODULE.runs_on(LONG),
    lambda: new_catalog().update(".", max_removed=LONG),
    lambda: new_catalog().diff(LONG),
    lambda: arrow.decode(batch(), LONG),
    lambda: bytecode.find(MODULE, LONG),
    lambda: compat.compare(MODULE, MODULE, runtime=LONG),
    lambda: declaration.parse("", inputs=LONG),
    lambda: extract.extract(MODULE.rodata, ".", LONG),
    lambda: tensor.dtype_parts(LONG),
]
"""Calls with a long text that is wrong."""


@pytest.mark.parametrize("call", REPEATED, ids=map(str, range(len(REPEATED))))
def test_an_error_does_not_repeat_a_long_text(call: Callable[[], object]) -> None:
    with pytest.raises(fnabi.FnabiError) as caught:
        call()
    assert len(str(caught.value)) < 500


def cases(table: dict[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(name, call, id=f"{name}-{index}")
        for name, calls in table.items()
        for index, call in enumerate(calls)
    ]


CLOSED_BY_CALLER = {
    "vmfb.Module: the module is closed",
    "Catalog: the catalog is closed",
}
"""Faults of an object that is an argument, or has the method."""


def check_prefix(name: str, error: fnabi.FnabiError) -> None:
    """Assert that a text begins with the public name of the callable, and shows no address.

    An error in the contents of a text, a file or a catalog has no such prefix. Nor is the error
    shown below another one that the caller did not make.
    """
    text = error.text
    assert error.__context__ is None or error.__suppress_context__, repr(error.__context__)
    assert "object at 0x" not in text
    if isinstance(error, fnabi.FormatError) or text in CLOSED_BY_CALLER:
        return
    function, *parts = text.split(": ")
    assert function == name or re.fullmatch(rf"{re.escape(name)}\.\w+", function), text
    whole = function in ("DType.itemsize", "DType.to_numpy")  # these have no arguments
    assert whole or re.fullmatch(r"[a-z_]+(, [a-z_]+)*( \d+)?(\[.+\])*(\.[a-z]+)?", parts[0]), text
    assert whole or parts[1:], text


@pytest.mark.parametrize(("name", "call"), cases(WRONG_TYPE))
def test_a_wrong_type_is_a_type_error(name: str, call: Callable[[Any], object]) -> None:
    package_of(name)
    with pytest.raises(fnabi.ArgumentTypeError) as caught:
        call(object())
    assert isinstance(caught.value, TypeError)
    assert not isinstance(caught.value, ValueError)
    check_prefix(name, caught.value)


@pytest.mark.parametrize(("name", "call"), cases(WRONG_VALUE))
def test_a_wrong_value_is_a_value_error(name: str, call: Callable[[], object]) -> None:
    package_of(name)
    with pytest.raises(fnabi.FnabiError) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert not isinstance(caught.value, TypeError)
    check_prefix(name, caught.value)


@pytest.mark.parametrize("name", MISSING_NAME)
def test_a_missing_name_is_a_lookup_error(name: str) -> None:
    with pytest.raises(fnabi.NotFoundError) as caught:
        MISSING_NAME[name]()
    assert isinstance(caught.value, LookupError)
    assert not isinstance(caught.value, (TypeError, ValueError))
    check_prefix(name.partition(",")[0], caught.value)


@pytest.mark.parametrize("name", [*MISSING_NAME, *MISSING_FILE])
def test_what_is_missing_is_an_error_that_is_documented(name: str) -> None:
    found = attrgetter(re.split("[ ,]", name)[0])(fnabi)
    members = vars(found).values() if inspect.isclass(found) else ()
    text = "".join(inspect.getdoc(each) or "" for each in (found, *members))
    kinds = ("NotFoundError",) if name in MISSING_NAME else ("FileNotFoundError", "OSError")
    assert any(f"{kind}: " in text for kind in kinds)


@pytest.mark.parametrize("name", MISSING_KEY)
def test_a_missing_key_is_a_key_error_without_quotes(name: str) -> None:
    with pytest.raises(KeyError) as caught:
        MISSING_KEY[name]()
    assert isinstance(caught.value, fnabi.NotFoundError)
    assert not str(caught.value).startswith(("'", '"'))


@pytest.mark.parametrize("name", MISSING_FILE)
def test_a_missing_file_is_a_file_not_found_error_with_its_name(name: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        MISSING_FILE[name]()
    assert isinstance(caught.value, fnabi.FnabiError)
    assert caught.value.filename == caught.value.file == MISSING
    assert str(caught.value).startswith(f"{MISSING}: ")


RELEASED = memoryview(b"junk")
RELEASED.release()

JUNK = [
    *(None, 5, -1, 10**5000, -(10**5000), 1.5, b"junk", "junk", "é", "a\0b", [], {}, object()),
    RELEASED,
]
if find_spec("numpy"):
    import numpy as np

    JUNK += [np.array([]), np.array(3), np.zeros(2, "i4,f4")]


class NoIterator:
    def __iter__(self) -> Any:
        return 5


class Closed:
    closed = True

    def read(self, size: int) -> bytes:
        raise ValueError("closed")


@pytest.mark.parametrize(
    ("kind", "text", "call"),
    [
        (
            fnabi.ArgumentTypeError,
            "Catalog.update: paths: expected paths, got NoIterator",
            lambda: fnabi.Catalog(None).update(NoIterator()),
        ),
        (
            fnabi.ArgumentTypeError,
            "use_tensors: type: expected fnabi.Tensor or a type with a DLPack exchange API, got"
            " tuple",
            lambda: use(fnabi.use_tensors(("x",))),  # type: ignore[arg-type]
        ),
        (
            fnabi.ArgumentValueError,
            "decode_columns: strings: the file is closed",
            lambda: fnabi.decode_columns(Closed(), "raw"),
        ),
        (
            fnabi.ArgumentValueError,
            "html.render_folders: folders: expected two names, got 1",
            lambda: html.render_folders([], ("old",)),  # type: ignore[arg-type]
        ),
        (
            fnabi.RangeError,
            "Function.from_address: address: expected the address of a function, got an int that"
            " does not fit in size_t",
            lambda: fnabi.Function.from_address(-1),
        ),
        (
            fnabi.RangeError,
            "use_raw_stream: stream: expected a handle, got -1",
            lambda: use(fnabi.use_raw_stream(fnabi.Device("cuda"), -1)),
        ),
        (
            fnabi.ArgumentValueError,
            "from_dlpack: x: the memoryview was released",
            lambda: fnabi.from_dlpack(RELEASED),
        ),
        (
            fnabi.ArgumentValueError,
            "CallingConvention.argument_size: span_counts: operation forbidden on released"
            " memoryview object",
            lambda: fnabi.cconv.parse("0CiD_").argument_size(RELEASED),
        ),
        (
            fnabi.ArgumentTypeError,
            "schema.signature: names[1]: expected str, got int",
            lambda: fnabi.schema.signature(None, ("x", 5)),  # type: ignore[arg-type]
        ),
        (
            fnabi.ArgumentTypeError,
            "schema.signature: names: expected an iterable of str, got str",
            lambda: fnabi.schema.signature(None, "xy"),  # type: ignore[arg-type]
        ),
    ],
)
def test_what_python_refuses_later(
    kind: type[Exception], text: str, call: Callable[[], object]
) -> None:
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        call()


@pytest.mark.parametrize(("name", "call"), cases(WRONG_TYPE))
def test_junk_never_ends_in_an_error_of_python(
    name: str, call: Callable[[Any], object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package_of(name)
    monkeypatch.chdir(tmp_path)
    for junk in JUNK:
        if name == "use_torch_stream" and junk is RELEASED:
            continue  # a context manager, whose exception comes out
        try:
            call(junk)
        except (fnabi.FnabiError, OSError, IndexError):
            pass  # a list has Python's own IndexError
        except Exception as problem:
            *_, last = traceback.extract_tb(problem.__traceback__)
            if last.filename.startswith((str(Path(fnabi.__file__).parent), __file__)):
                pytest.fail(f"{type(junk)}: {problem!r}")


def test_a_damaged_library_is_a_library_error(tmp_path: Path) -> None:
    pytest.importorskip("tvm_ffi")
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(b"\x7fELF no library")
    for load, kind in (
        (fnabi.Module.load, fnabi.LibraryError),
        (fnabi.load_module, fnabi.FormatError),
    ):
        with pytest.raises(kind) as caught:
            load(damaged)
        assert caught.value.file == str(damaged)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (fnabi.Signature.parse, "(x: float32[?x4]) -> (int32)"),
        (fnabi.DType.parse, "float8_e4m3fn"),
        (pattern.parse, "f32[?,4], any -> ref"),
        (raw.parse, "I6!B3!d2R1!"),
        (sip.parse, "I12!S9!k0_0k1_1R3!_0"),
        (iree_abi.parse, '{"a":["f32"],"r":[],"v":1}'),
        (cconv.parse, "0i_v"),
        (declaration.parse, "sync func @f(%input0: i32) -> ()"),
        (schema.parse, r'{"type_schema": "{\"type\":\"int\"}"}'),
        (schema.parse_type, '{"type":"int"}'),
        (baseline.parse, baseline.encode(MODULE)),
    ],
)
def test_every_parse_accepts_str_and_bytes(parse: Callable[[Any], Any], text: str) -> None:
    data = text.encode()
    for each in (data, bytearray(data), memoryview(data)):
        assert outcome(parse, each) == outcome(parse, text)
    each.release()
    with pytest.raises(fnabi.ArgumentValueError, match=r": text: .*released"):
        parse(each)
    assert next(iter(inspect.signature(parse).parameters)) == "text"
    with pytest.raises((fnabi.FormatError, fnabi.ArgumentValueError)):
        parse(b"\xff(")


def outcome(parse: Callable[[Any], Any], text: Any) -> str:
    """Return what `parse` gives; a module is shown by its name."""
    return repr(parse(text))


def test_every_public_parse_is_checked() -> None:
    public = {name for name in public_callables() if name.rpartition(".")[2].startswith("parse")}
    public |= {
        f"{name}.parse"
        for name in fnabi.__all__
        if inspect.isclass(value := getattr(fnabi, name)) and hasattr(value, "parse")
    }
    assert public == {
        "DType.parse",
        "Signature.parse",
        "baseline.parse",
        "cconv.parse",
        "declaration.parse",
        "iree_abi.parse",
        "pattern.parse",
        "raw.parse",
        "schema.parse",
        "schema.parse_type",
        "sip.parse",
    }


LOCAL = {
    "Catalog": "a file of DuckDB, which changes and locks it",
    "Catalog.check_calls": "a catalog as a baseline, and a table of this machine",
    "Catalog.remove": "names that need not exist",
    "Module.load": "a library, which the system loads",
    "Module.write_to_file": "written by the library",
    "catalog_diff.compare_catalogs": "files of DuckDB",
    "duckdb.attach": "a file of DuckDB",
    "client.Client": "read by iree.runtime",
    "compat.compare_folders": "folders of this machine",
    "extract.extract": "written to this machine",
    "library.read": "a library of this machine",
    "load_module": "a library, which the system loads",
    "parameters.read": "read by safetensors, or mapped into memory",
    "rodata.RodataSegment.extract": "written to this machine",
}
"""Callables with a path that is no URL, and why."""


def test_what_accepts_a_url_accepts_storage_options() -> None:
    given, missing = set(), set()
    for name, value in public_callables().items():
        members = {name: value}
        if inspect.isclass(value):
            public = (each for each in dir(value) if each[0] != "_")
            members |= {f"{name}.{each}": getattr(value, each) for each in public}
        for each, member in members.items():
            try:
                parameters = inspect.signature(member).parameters
            except (TypeError, ValueError):  # no callable, or one of C
                continue
            texts = [str(parameter.annotation) for parameter in parameters.values()]
            if any("Path" in text and "Pattern" not in text for text in texts):
                (given if "storage_options" in parameters else missing).add(each)
    assert missing == {*LOCAL}
    assert given == {
        "Catalog.update",
        "dask.scan",
        "ray.scan",
        "spark.scan",
        "vmfb.open",
        "vmfb.scan",
    }


def test_an_error_survives_pickling() -> None:
    for error in (
        errors.MissingFileError("a", "no catalog"),
        errors.MissingKeyError("no key"),
        errors.MissingAttributeError("no name", "name"),
        errors.RangeError("too large"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
        assert getattr(again, "name", None) == getattr(error, "name", None)
