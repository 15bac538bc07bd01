"""Operations without memory: each allocation of Python fails alone, and with all that follow it.

``python allocations.py LIBRARY CALLEE NAME...`` does this to some of `OPERATIONS`, each in a
process of its own, which a fault may end. LIBRARY is data/allocations/refusing.c, compiled, and
CALLEE the library of `callee.callee_library`. Where LIBRARY is preloaded and
``REFUSE_C`` set, the allocations are those of C. Every public operation belongs in the table.
"""

from __future__ import annotations

import array
import copy
import ctypes
import faulthandler
import gc
import io
import itertools
import json
import linecache
import os
import pickle
import re
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from tempfile import TemporaryDirectory, TemporaryFile
from types import ModuleType
from typing import Any, get_args

import numpy as np

import fnabi
from fnabi import (
    baseline,
    bytecode,
    cconv,
    costs,
    declaration,
    example,
    extract,
    failures,
    html,
    iree_abi,
    library,
    parameters,
    program,
    raw,
    report,
    schema,
    sip,
    tensor,
    types,
    vmfb,
)
from fnabi._base import core, lane
from fnabi.types import Signature
from support.paths import DATA

Work = Callable[[], object]
"""An operation. It returns or raises the same in each run."""


OPERATIONS: dict[str, Callable[[], Work]] = {}
"""What prepares each operation and returns it."""


def operation(prepare: Callable[[], Work]) -> Callable[[], Work]:
    OPERATIONS[prepare.__name__] = prepare
    return prepare


# ------------------------------------------------------------------------------------------ texts

_TEXTS: dict[ModuleType, Any] = {
    raw: b"I25!B10!d10d-1d64S3!t2O1!U1!R9!B6!t6d-1",
    sip: b"I47!D43!K3!xx_0K6!pairsS24!k0_1k1D14!K2!a_2K3!bb_3R3!_0",
    cconv: "0rrIiiiICiDCiirIID_v",
    declaration: "sync func @f(%input0: tensor<8x16xf32> {a = 1}, %b: i32) -> (%r: tensor<?xi8>)",
    iree_abi: json.dumps(
        {
            "a": [
                ["slist", "i32", None, ["ndarray", "f32", 1, 2]],
                ["named", "x", ["ndarray", "bf16", 2, None, 1 << 40]],
                ["sdict", ["a", "i32"], ["ü", ["ndarray", "complex<f32>", 0]]],
                ["py_homogeneous_list", ["stuple", "f32", "unknown"]],
            ],
            "r": [["sdict", ["out", "f32"]]],
            "v": 1,
            "more": {"of": [1.5, -7, None]},
        }
    ),
}


def _texts(module: ModuleType, text: Any) -> dict[str, Callable[[], Work]]:
    """Return the operations of a module with `parse`: to read, refuse, show and write a text."""
    value = module.parse(text)
    works = {
        "parse": partial(module.parse, text),
        "refuse": partial(module.parse, text[: len(text) * 3 // 4]),
        "show": lambda: (str(value), hash(value)),
    }
    if hasattr(module, "encode"):
        works["encode"] = partial(module.encode, value)
    name = module.__name__.removeprefix("fnabi.")
    return {f"{name}_{verb}": partial(lambda work: work, work) for verb, work in works.items()}


for _module, _text in _TEXTS.items():
    OPERATIONS |= _texts(_module, _text)


@operation
def raw_to_string() -> Work:
    return lambda: raw.to_string(_TEXTS[raw])


@operation
def sip_to_string() -> Work:
    return lambda: sip.to_string(_TEXTS[sip], "inputs")


@operation
def sip_flatten() -> Work:
    inputs = sip.parse(_TEXTS[sip]).inputs
    nested = sip.unflatten(inputs, [1, 2, 3, 4])
    return lambda: (sip.flatten(inputs, nested), sip.unflatten(inputs, [1, 2, 3, 4]))


@operation
def iree_abi_flatten() -> Work:
    signature = iree_abi.parse('{"a":[["slist","i32","f32"],["named","x","i32"]],"r":["i32"]}')
    return lambda: iree_abi.flatten(signature, [[1, 2.5]], {"x": 3})


@operation
def iree_abi_unflatten() -> Work:
    signature = iree_abi.parse('{"a":[],"r":["i32","f32"]}')
    return lambda: iree_abi.unflatten(signature, [1, 2.5])


@operation
def raw_results() -> Work:
    buffers = Signature.parse("(float32[10x?x64]) -> (int32[?])")

    def work() -> object:
        array = np.zeros((10, 3, 64), np.float32)
        results = raw.allocate_results(buffers, lambda dims: [np.zeros(dims, np.int32)], [7])
        return raw.dynamic_dims(buffers, [array]), str(results)

    return work


@operation
def raw_classes() -> Work:
    def work() -> object:
        inputs, results = raw.RawSignatureMangler(), raw.RawSignatureMangler()
        inputs.add_shaped_nd_buffer(0, [2, -1])
        results.add_scalar(0)
        signature = raw.RawSignatureMangler.to_function_signature(inputs, results)
        return raw.RawSignatureParser().function_signature_to_string(signature.encoded)

    return work


class _Visitor:
    """Ignores what it is told."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


@operation
def sip_classes() -> Work:
    def work() -> object:
        inputs, results = sip.SipSignatureMangler(), sip.SipSignatureMangler()
        inputs.set_raw_signature_index(0, ["a", 1])
        results.set_raw_signature_index(0, [])
        signature = sip.SipSignatureMangler.to_function_signature(inputs, results)
        parser = sip.SipSignatureParser()
        parser.visit_inputs(_Visitor(), signature.encoded)
        return signature.encoded, parser.error

    return work


@operation
def sip_paths() -> Work:
    inputs = sip.parse(_TEXTS[sip]).inputs
    return lambda: str(sip.paths(inputs))


@operation
def dtype_of_text() -> Work:
    def work() -> object:
        kinds = (
            fnabi.DType("float8_e4m3fn"),
            fnabi.DType("int8x4"),
            tensor.dtype_parts(np.dtype("f4")),
        )
        return str(kinds), tensor.device_parts(fnabi.Device("cuda:1"))

    return work


@operation
def signature_builder() -> Work:
    def work() -> object:
        inner = fnabi.SignatureBuilder().integer(5).integer(-1, "d").span(b"foobar", "A")
        inner.append_to(outer := fnabi.SignatureBuilder(), "I")
        return outer.encoded

    return work


@operation
def record_encoder() -> Work:
    signature = raw.parse(_TEXTS[raw])

    def write(value: object, message: bytearray) -> None:
        core.encode_into(value, message)

    return lambda: lane.RecordEncoder(write).raw(signature)


@operation
def record_decoder() -> Work:
    tags = sorted(get_args(types.Type), key=lambda type: type.__struct_config__.tag)
    text, names = _TEXTS[raw], Signature.__struct_fields__

    def work() -> object:
        decoder = lane.RecordDecoder((types.DType, *tags), core.refusal)
        return decoder.raw(text, lane.record(Signature)), names

    return work


@operation
def signature_parser() -> Work:
    def work() -> object:
        parser = fnabi.SignatureParser(_TEXTS[raw])
        inputs = parser.nested()
        return [each.sval for each in inputs], parser.seek_tag("R"), parser.sval

    return work


@operation
def record() -> Work:
    return lambda: type(lane.record(Signature)).__name__


@operation
def types_parse() -> Work:
    text = "(a: float32[?x4], {b: i8, c: [i32, float64]}, list<i32>) -> (complex64[2])"
    return lambda: Signature.parse(text)


# ---------------------------------------------------------------------------------------- modules

_CLASSIFIER = (DATA.parents[1] / "examples" / "classifier.vmfb").read_bytes()
_PROVEN = (DATA.parents[1] / "examples" / "releases" / "1.0" / "project.vmfb").read_bytes()
_NEEDS = (DATA / "needs" / "params_vmvx.vmfb").read_bytes()
_BROKEN = (DATA / "vmfb" / "abi_broken.vmfb").read_bytes()


def _of_module(read: Callable[[vmfb.Module], object], data: bytes = _CLASSIFIER) -> Work:
    return lambda: read(vmfb.from_buffer(data))


_READ: dict[str, Callable[[vmfb.Module], object]] = {
    "open": lambda module: (module.name, module.version, module.layout),
    "exports": lambda module: [
        (each.name, each.signature, each.attrs, each.source, each.raw, each.sip)
        for each in module.exports.values()
    ],
    "facts": lambda module: (module.attrs, module.types, module.dependencies, module.state),
    "functions": lambda module: [
        (each.ordinal, each.calling_convention) for each in module.functions
    ],
    "imports": lambda module: (module.imports, module.signatures, module.rwdata),
    "rodata": lambda module: [(each.name, each.kind, each.size) for each in module.rodata],
    "bytecode_types": lambda module: module.bytecode_types,
    "needs": lambda module: (module.targets, module.executables, module.parameters),
    "transients": lambda module: module.transients,
    "debug": lambda module: module.debug is None,
    "check": lambda module: module.check(),
    "skipped": lambda module: module.skipped,
    "bytecode_verify": bytecode.verify,
    "bytecode_disassemble": bytecode.disassemble,
    "instructions": lambda module: [*module.functions[0].instructions],
}
for _name, _data in {"classifier": _CLASSIFIER, "proven": _PROVEN, "needs": _NEEDS}.items():
    for _what, _read in _READ.items():
        OPERATIONS[f"vmfb_{_what}_{_name}"] = partial(_of_module, _read, _data)


@operation
def vmfb_exports_broken() -> Work:
    """Their signatures cannot be read."""
    return _of_module(lambda module: [each.name for each in module.exports.values()], _BROKEN)


@operation
def vmfb_signatures_twice() -> Work:
    """Their attributes have a key twice."""
    data = (DATA / "vmfb" / "decl_dup_key.vmfb").read_bytes()
    return _of_module(lambda module: module.signatures, data)


@operation
def vmfb_verify() -> Work:
    return lambda: vmfb.verify(_CLASSIFIER)


@operation
def vmfb_refuse() -> Work:
    return lambda: vmfb.verify(_CLASSIFIER[:2000])


@operation
def vmfb_open() -> Work:
    path = DATA.parents[1] / "examples" / "classifier.vmfb"
    return lambda: [str(each.signature) for each in vmfb.open(path).exports.values()]


@operation
def vmfb_mapped() -> Work:
    path = DATA / "vmfb" / "many_vm_2000.vmfb"
    return lambda: vmfb.open(path).name


_MORE_READ: dict[str, Callable[[vmfb.Module], object]] = {
    "costs_of": lambda module: costs.of(module, "main"),
    "costs_read": costs.read,
    "costs_weights": costs.weights,
    "costs_parameters": costs.parameters,
    "program_of": lambda module: program.of(module, "main"),
    "program_read": program.read,
    "program_verify": program.verify,
    "bytecode_find": lambda module: bytecode.find(module, 0),
    "html_render": lambda module: len(html.render(module)),
    "baseline_encode": lambda module: len(baseline.encode(module)),
    "file_names": lambda module: extract.file_names(module.rodata),
}
for _what, _read in _MORE_READ.items():
    OPERATIONS[_what] = partial(_of_module, _read, _PROVEN)


@operation
def vmfb_scan() -> Work:
    folder = DATA.parents[1] / "examples" / "releases"
    return lambda: str([batch.rows() for batch in vmfb.scan(folder)])


@operation
def extract_files() -> Work:
    module = vmfb.from_buffer(_CLASSIFIER)

    def work() -> object:
        with TemporaryDirectory() as folder:
            return len(list(extract.extract(module.rodata, folder)))

    return work


@operation
def baseline_parse() -> Work:
    text = baseline.encode(vmfb.from_buffer(_CLASSIFIER))
    return lambda: str(baseline.parse(text))


@operation
def compared_signatures() -> Work:
    old, new = Signature.parse("(i32) -> (i8)"), Signature.parse("(i64, i8) -> (i8)")
    return lambda: str(fnabi.compat.compare_signatures(old, new))


_RELEASES = DATA.parents[1] / "examples" / "releases"


@operation
def compared_folders() -> Work:
    def work() -> object:
        files = list(fnabi.compat.compare_folders(_RELEASES / "1.0", _RELEASES / "2.0"))
        return [report.write(files, "sarif"), str(report.verdict(files))]

    return work


@operation
def html_of_folders() -> Work:
    files = list(fnabi.compat.compare_folders(_RELEASES / "1.0", _RELEASES / "2.0"))
    return lambda: len(html.render_folders(files, ("1.0", "2.0")))


@operation
def html_of_difference() -> Work:
    def work() -> object:
        old, new = vmfb.from_buffer(_PROVEN), vmfb.from_buffer(_CLASSIFIER)
        return len(html.render_diff(old, new))

    return work


@operation
def examples() -> Work:
    signature = Signature.parse("(float32[?x4], i8) -> (i32)")

    def work() -> object:
        return (
            str(example.example_values(signature)),
            example.runner_inputs(signature),
            example.unknown_shapes(signature),
            example.runner_module("model.vmfb"),
            example.runner_function("main"),
        )

    return work


@operation
def failure_explained() -> Work:
    text = "iree/vm/bytecode/verifier.c:184: INVALID_ARGUMENT; bytecode version mismatch"
    return lambda: str(failures.explain(text))


@operation
def parameters_read() -> Work:
    path = DATA / "needs" / "params.irpa"
    needed = vmfb.from_buffer(_NEEDS).parameters

    def work() -> object:
        index = parameters.read(path)
        return str(index), str(parameters.compare(needed, {"model": index}))

    return work


# ------------------------------------------------------------------------------------------ calls


_VECTOR = np.arange(4, dtype=np.float32)
_LONG = "a text that is too long to be part of a value"


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    (view := array.view()).setflags(write=False)
    return view


_UNFIT = np.array(["x"])
"""What no value of the ABI can be made of."""


class _ReadOnly:
    """Lends memory that must not be written to."""

    __dlpack__ = _read_only(_VECTOR).__dlpack__


class _Stream:
    """Has a handle, in a tuple that is made for each call."""

    handle = 7

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def _twice(value: Any) -> Any:
    return value + value


def _fails(value: Any) -> Any:
    raise ValueError(f"not {value}")


def _first(value: Any) -> float:
    """Return the sum of the first elements of two arrays of a tensor, which are the same memory."""
    return float(value.numpy()[0]) + float(np.from_dlpack(value)[0])


def _unfit(value: Any) -> Any:
    return [value, _UNFIT]


_CALLS: dict[str, tuple[object, ...]] = {
    "add": (2, 3),
    "add wrong": (2, "x"),
    "add unfit": (2, _UNFIT),
    "add too many": (2, 3, 4),
    "add too big": (1 << 70, 1),
    "nothing": (),
    "halve": (3.0,),
    "halve index": (np.float32(3),),
    "add index": (np.int64(3), np.uint8(2)),
    "negate": (True,),
    "repeat": (_LONG, 3),
    "repeat unfit": (_LONG, _UNFIT),
    "repeat surrogates": ("\udcff" + _LONG, 3),
    "reverse": (b"bytes that are too long to be part of a value",),
    "next_pointer": (ctypes.c_void_p(7),),
    "next_pointer of many bits": (ctypes.c_void_p(7 << 40),),
    "next_pointer stream": (_Stream(),),
    "double_lanes": (np.dtype("int16"),),
    "next_device": (fnabi.Device("cpu"),),
    "sum_tensor": (_VECTOR,),
    "sum_tensor strided": (_VECTOR[::2],),
    "sum_tensor buffer": (array.array("f", [1, 2, 3]),),
    "sum_tensor wrong": (_VECTOR.astype("int8"),),
    "sum_tensor read-only": (_ReadOnly(),),
    "sum_tensor list": ([1.0, 2.0],),
    "shape_of": (_VECTOR.reshape(2, 2),),
    "product": (fnabi.Shape([2, 3, 4]),),
    "product wrong": ([2, 3, 4],),
    "sum": ([1.5, 2, 3.25],),
    "flatten": ({"a": 1, "b": [2.5, _LONG], "c": {"d": None}},),
    "texts": (5,),
    "same text": (_LONG,),
    "same array": ([1, [2.5, _LONG], (3, 4)],),
    "same map": ({"a": [1, None], 2: _LONG},),
    "same tensor": (_VECTOR,),
    "same none": (None,),
    "tag callable": (_twice,),
    "apply": (_twice, 21),
    "apply text": (_twice, _LONG),
    "apply fails": (_fails, _LONG),
    "apply tensor": (_first, _VECTOR),
    "apply unfit": (_unfit, _LONG),
    "make_counter": (3,),
    "fail ValueError": ("ValueError", _LONG),
    "fail KeyError": ("KeyError", _LONG),
    "fail UnicodeDecodeError": ("UnicodeDecodeError", _LONG),
    "fail unknown": ("SomeError", _LONG),
    "fail MemoryError": ("MemoryError", _LONG),
    "fail_silently": (),
    "fail_elsewhere": (),
}


def _plain(value: object) -> object:
    """Return what an object contains, which is compared by identity."""
    if isinstance(value, (fnabi.Array, fnabi.Map)):
        return str(value)
    if isinstance(value, fnabi.Tensor):
        return np.asarray(value).tolist()
    if isinstance(value, fnabi.Function):
        return value()
    return value.value if isinstance(value, ctypes.c_void_p) else value


def _call(name: str, arguments: tuple[object, ...]) -> Work:
    function = fnabi.load_module(sys.argv[2])[name.partition(" ")[0]]
    return lambda: _plain(function(*arguments))


for _name, _given in _CALLS.items():
    OPERATIONS[f"call {_name}"] = partial(_call, _name, _given)


def _functions() -> Any:
    return fnabi.load_module(sys.argv[2])


@operation
def load_module() -> Work:
    return lambda: [*fnabi.load_module(sys.argv[2]).functions]


@operation
def library_shown() -> Work:
    library = _functions()
    return lambda: (str(library.functions), str(library.add.__signature__), library.add.__doc__)


@operation
def library_looked_at() -> Work:
    def work() -> object:
        return library.looks_like_one(b"\x7fELF"), fnabi.get_include()

    return work


@operation
def registered() -> Work:
    def work() -> object:
        fnabi.register_global_func("fnabi.test.twice", _twice, override=True)
        found = fnabi.get_global_func("fnabi.test.twice")(_LONG)
        names = "fnabi.test.twice" in fnabi.list_global_func_names()
        fnabi.remove_global_func("fnabi.test.twice")
        return found, names

    return work


@operation
def bound() -> Work:
    same, given = _functions().same, [_LONG]
    return lambda: (same.bind(given)(), sys.getrefcount(given))


@operation
def bound_to_what_is_unfit() -> Work:
    same = _functions().same
    return lambda: same.bind(_LONG, _UNFIT)


@operation
def types_listed() -> Work:
    return lambda: (fnabi.get_type("ffi.Array").type_key, "ffi.Map" in fnabi.list_type_keys())


_numbers = itertools.count()


@operation
def type_read() -> Work:
    index = lane.define_type(f"tests.Read{next(_numbers)}", 64)
    function = fnabi.Function(_fails)
    lane.define_field(index, "x", _LONG, "", 0, (8, 8, 24), 1, 1, function, 3)
    lane.define_method(index, "call", _LONG, "", False, function)

    def work() -> object:
        key, _, _, _, (field,), (method,), _ = lane.type_info(index)
        return key, field.name, field.__doc__, method.name, method.__doc__

    return work


@operation
def type_with_another_initialiser() -> Work:
    index = lane.define_type(f"tests.Read{next(_numbers)}", 64)
    if index >= lane.OWN_TYPES:  # not in the table of libtvm_ffi, where that is loaded
        lane.add_initialiser(index)
    return lambda: lane.add_initialiser(index)


@operation
def schema_parse() -> Work:
    text = '{"type":"ffi.Function","args":[{"type":"int"},{"type":"ffi.Array","args":[]}]}'
    return lambda: str(schema.parse_type(text))


@operation
def streams() -> Work:
    def work() -> object:
        device = fnabi.Device("cuda:0")
        with fnabi.use_raw_stream(device, 5), fnabi.use_tensors(fnabi.Tensor):
            return fnabi.get_raw_stream(device)

    return work


class _Text(ctypes.Structure):
    """A text of a library."""

    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


@operation
def stand_in_function_found() -> Work:
    """A library asks for a global function, and releases what it gets."""
    symbols, name = lane.stand_in_symbols(), b"fnabi.test.asked_for"
    fnabi.register_global_func(name.decode(), _twice, override=True)
    function, found = fnabi.get_global_func(name.decode()), ctypes.c_void_p()
    given = ctypes.byref(_Text(name, len(name))), ctypes.byref(found)
    kind = ctypes.CFUNCTYPE(ctypes.c_int)
    find, release = kind(symbols["TVMFFIFunctionGetGlobal"]), kind(symbols["TVMFFIObjectDecRef"])

    def work() -> object:
        found.value = None
        if find(*given) != 0:
            raise MemoryError  # it waits on the thread, until another error does
        release(found)
        return function, bool(found)

    return work


@operation
def stand_in_symbols() -> Work:
    marker = lane.initialiser_marker()
    address = lane.stand_in_symbols()["TVMFFIEnvModRegisterSystemLibSymbol"]
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(address)(b"symbol", address)
    return lambda: (
        len(lane.stand_in_symbols()),
        len(lane.system_symbols()),
        lane.initialiser_marker() == marker,
    )


@operation
def bind() -> Work:
    add = _functions().add
    return lambda: add.bind(2, 3)()


@operation
def bind_fails() -> Work:
    """No function of Python calls it, which could lose the exception."""
    call: Work = _functions().fail.bind("ValueError", _LONG)
    return call


@operation
def row_map() -> Work:
    add = _functions().add
    return lambda: add.map([1, 2, 3], [4, 5, 6]).tolist()


@operation
def row_map_numpy() -> Work:
    add = _functions().add
    given = np.arange(5)
    return lambda: add.map(given, given).tolist()


@operation
def row_map_texts() -> Work:
    """One text for all rows, and a text for each."""
    repeat, texts = _functions().repeat, fnabi.AnyArray([_LONG, _LONG * 2])
    return lambda: (repeat.map(_LONG, [1, 2]).tolist(), repeat.map(texts, [1, 2]).tolist())


@operation
def row_map_fails() -> Work:
    add = _functions().add
    return lambda: add.map([1, 2, "x"], [4, 5, 6])


@operation
def row_map_fails_twice() -> Work:
    """The call of a row fails, and a value of a later row cannot be converted."""
    fail = _functions().fail
    return lambda: fail.map(["ValueError"] * 3, [_LONG, _LONG, _UNFIT])


@operation
def row_map_fails_in_two_columns() -> Work:
    add = _functions().add
    add.names = ["first", "second"]
    return lambda: add.map([1, 2, _UNFIT], [4, _UNFIT, 6])


@operation
def function_called_with_a_dict() -> Work:
    add, named = _functions().add, {"second": 3}
    add.names = ["first", "second"]
    return lambda: fnabi.Function.__call__(add, 2, **named)


@operation
def function_of_a_class() -> Work:
    made_by = lane.function_class("tests.Function")

    def work() -> object:
        made = made_by()
        lane.move_function(made, fnabi.Function(_twice))
        return made(_LONG)

    return work


@operation
def function_of_a_name() -> Work:
    def work() -> object:
        made = fnabi.Function(_twice)
        made.__name__ = "".join([_LONG, "s name"])  # a new object
        return made(1 << 70)

    return work


@operation
def function_names_refused() -> Work:
    add, names = _functions().add, [_LONG, 1]
    return lambda: setattr(add, "names", names)


@operation
def dialects() -> Work:
    return lambda: lane.without_dialect(_twice, 2)


@operation
def dialect_without_classes() -> Work:
    marker, dialect = lane.initialiser_marker(), lane.Dialect()
    return lambda: type(dialect(getattr, fnabi.Any(marker), "value")) is fnabi.Object


@operation
def dialect_without_a_class() -> Work:
    """A library gives an object, and Python no class for it."""
    marker, dialect = lane.initialiser_marker(), lane.Dialect()
    dialect.class_of = _fails
    return lambda: dialect(getattr, fnabi.Any(marker), "value")


@operation
def dialect_without_a_class_for_a_value() -> Work:
    marker, dialect = lane.initialiser_marker(), lane.Dialect()
    dialect.class_of = _fails
    return lambda: dialect(lane.object_of, marker)


@operation
def dialect_with_a_backtrace() -> Work:
    dialect = lane.Dialect()
    dialect.backtrace = lambda problem, text: f"{text}, of {type(problem).__name__}"
    problem = ValueError(_LONG)
    vars(problem)["ffi_error"] = fnabi.Error("ValueError", _LONG, _LONG)
    return lambda: str(dialect(fnabi.Any, problem))


@operation
def function_of_callable() -> Work:
    return lambda: fnabi.Function(_twice)(_LONG)


@operation
def function_of_callable_fails() -> Work:
    return lambda: fnabi.Function(_fails)(_LONG)


@operation
def function_of_callable_fails_with_surrogates() -> Work:
    return lambda: fnabi.Function(_fails)("\udcff" + _LONG)


@operation
def function_of_many_arguments() -> Work:
    return lambda: fnabi.Function(lambda *given: len(given))(1, 2.5, _LONG, None, b"bytes")


@operation
def function_calls_back() -> Work:
    """Call Python from C, which calls C, which calls Python."""
    apply = _functions().apply
    return lambda: apply(lambda value: apply(_twice, value), _LONG)


@operation
def function_calls_back_fails() -> Work:
    apply = _functions().apply
    return lambda: apply(lambda value: apply(_fails, value), _LONG)


@operation
def function_passes_an_error_on() -> Work:
    """The exception that Python passes on has the error of the library that failed."""
    apply, fail = _functions().apply, _functions().fail
    return lambda: apply(lambda value: fail("ValueError", value), _LONG)


# ----------------------------------------------------------------------------------------- values


@operation
def any_value() -> Work:
    values = [None, 1, 2.5, _LONG, b"bytes", [1, 2], {"a": 1}, True]
    return lambda: [(str(fnabi.Any(each).value), repr(fnabi.Any(each))) for each in values]


@operation
def value_of_python() -> Work:
    value = type("Kept", (), {})()
    return lambda: fnabi.Any(value).value is value


@operation
def value_of_a_new_class() -> Work:
    return lambda: fnabi.Any(type("New", (), {})()).value.__class__.__name__


@operation
def any_array() -> Work:
    values = [None, 1, 2.5, _LONG, b"bytes", [1, 2], {"a": 1}, True]

    def work() -> object:
        made = fnabi.AnyArray(values)
        return (
            made.tolist(),
            repr(made),
            len(made),
            str(made[4]),
            fnabi.AnyArray(made[1:3]).tolist(),
        )

    return work


@operation
def array_value() -> Work:
    values = [None, 1, 2.5, _LONG, b"bytes", [1, [2]], {"a": 1}, True]

    def work() -> object:
        made = fnabi.Array(values)
        found = made.index(2.5), made.count(1), 7 in made, made == fnabi.Array(values)
        return repr(made), made.tolist(), [*made][1:3], found, len(made[2:]), hash(made[3])

    return work


@operation
def list_value() -> Work:
    def work() -> object:
        made = fnabi.List([1, 2])
        made.append(_LONG)
        made.extend(range(20))
        made.insert(0, None)
        made[1] = [1, 2]
        made[1] = _LONG
        del made[2]
        del made[::3]
        made += [3]
        same = made == fnabi.List(made)
        return made.pop(), repr(made), made.tolist(), same

    return work


@operation
def array_of_objects() -> Work:
    tensor = fnabi.from_dlpack(_VECTOR)
    made = fnabi.Array([tensor, _twice])
    return lambda: (len(made[0:1]), made[0].shape, made[1](_LONG))


@operation
def objects_moved() -> Work:
    class Plain(fnabi.Object):
        pass

    empty, marker = lane.empty_object(Plain), lane.initialiser_marker()
    shared = fnabi.Array([_LONG])

    def work() -> object:
        made = lane.empty_object(type(empty))
        lane.take_object(made, lane.initialiser_marker())
        same = made == marker
        lane.take_object(made, shared)
        taken = fnabi.Array([1])
        lane.take_object(taken, fnabi.Array([_LONG]))
        moved = lane.Moved(fnabi.Array([_LONG]))
        return same, made == shared, str(taken), str(fnabi.Any(moved).value)

    return work


@operation
def map_value() -> Work:
    given = {"a": 1, _LONG: [1, 2], 3: None, 2.5: {"b": b"bytes"}}

    def work() -> object:
        made = fnabi.Map(given)
        views = [*made], [*made.values()][:1], [*map(str, made.items())]
        return repr(made), str(made.todict()), made["a"], made.get("z"), "a" in made, views

    return work


def _refused(make: Callable[[Any], object], values: object) -> Work:
    return lambda: make(values)


_DEEP: list[Any] = []
for _ in range(2000):
    _DEEP = [_DEEP]

for _make in (fnabi.Any, fnabi.AnyArray, fnabi.Array, fnabi.List, fnabi.Map, fnabi.Dict):
    _pair = _make in (fnabi.Map, fnabi.Dict)
    for _what, _last in {"unfit": _UNFIT, "deep": _DEEP}.items():
        _values = {_LONG: [_LONG], _LONG * 2: _last} if _pair else [_LONG, [_LONG], _last]
        OPERATIONS[f"{_make.__name__} {_what}"] = partial(_refused, _make, _values)


_VALUES: list[Any] = [_LONG, 2, [_LONG, b"bytes that need an object"], None, _LONG]
_PAIRS: dict[Any, Any] = {_LONG: [_LONG], 3: b"bytes that need an object", _LONG * 2: {"a": _LONG}}


def _set(made: Any, key: Any, value: Any) -> None:
    made[key] = value


def _delete(made: Any, key: Any) -> None:
    del made[key]


_OF_ANY: dict[str, Callable[[Any], object]] = {
    "hash": hash,
    "walk": lambda made: [*map(str, made)],
    "repr": repr,
    "copy deep": lambda made: repr(copy.deepcopy(made)),
    "copy": lambda made: repr(copy.copy(made)),
    "contains": lambda made: (_LONG in made, "other" in made),
    "contains unfit": lambda made: _UNFIT in made,
    "class": lambda made: setattr(made, "__class__", type(made)),
    "class unfit": lambda made: setattr(made, "__class__", int),
}
_OF_SEQUENCES: dict[str, Callable[[Any], object]] = {
    "add": lambda made: (len(made + _VALUES), len(_VALUES + made)),
    "add unfit": lambda made: made.__add__([_UNFIT]),
    "equal": lambda made: (made == type(made)(_VALUES), made == _VALUES, made != [1]),
    "index": lambda made: (made.index(_LONG), made.count(_LONG)),
    "index missing": lambda made: made.index("other"),
    "get missing": lambda made: made[10],
    "get wrong": lambda made: made["x"],
    "slices": lambda made: (repr(made[::2]), repr(made[1:2])),
}
_OF_MAPS: dict[str, Callable[[Any], object]] = {
    "items": lambda made: ([*map(str, made.values())], [*map(str, made.items())]),
    "todict": lambda made: str(made.todict()),
    "equal": lambda made: (made == type(made)(_PAIRS), made == _PAIRS, made != {1: 2}),
    "equal unfit": lambda made: made == {1: 2, 3: 4, 5: _UNFIT},
    "get": lambda made: (str(made.get(_LONG)), made.get("other", _LONG)),
    "get unfit": lambda made: made.get(_UNFIT),
    "get missing": lambda made: made["other"],
}
_OF_LISTS: dict[str, Callable[[Any], object]] = {
    "append unfit": lambda made: made.append(_UNFIT),
    "insert unfit": lambda made: made.insert(1, _UNFIT),
    "extend unfit": lambda made: made.extend([_LONG, _UNFIT]),
    "set": lambda made: _set(made, 0, [_LONG]),
    "set unfit": lambda made: _set(made, 0, _UNFIT),
    "set missing": lambda made: _set(made, 10, [_LONG]),
    "set slice": lambda made: _set(made, slice(1, 3), [_LONG, [_LONG]]),
    "set slice unfit": lambda made: _set(made, slice(1, 3), [_LONG, _UNFIT]),
    "delete missing": lambda made: _delete(made, 10),
    "delete slice": lambda made: _delete(made, slice(None, None, 2)),
    "pop": lambda made: (str(made.pop()), str(made.pop(0))),
    "pop missing": lambda made: made.pop(10),
    "remove": lambda made: made.remove(_LONG),
    "remove missing": lambda made: made.remove("other"),
    "reverse": lambda made: made.reverse(),
    "clear": lambda made: made.clear(),
    "copy of itself": lambda made: repr(made.copy()),
}
_OF_DICTS: dict[str, Callable[[Any], object]] = {
    "set": lambda made: _set(made, _LONG, [_LONG]),
    "set new": lambda made: _set(made, _LONG * 3, [_LONG]),
    "set unfit": lambda made: _set(made, _LONG * 3, _UNFIT),
    "set to unfit": lambda made: _set(made, _UNFIT, [_LONG]),
    "delete": lambda made: _delete(made, _LONG),
    "delete missing": lambda made: _delete(made, "other"),
    "delete unfit": lambda made: _delete(made, _UNFIT),
    "pop": lambda made: (str(made.pop(_LONG)), made.pop(_LONG, _LONG)),
    "pop missing": lambda made: made.pop("other"),
    "pop items": lambda made: (str(made.popitem()), made.popitem(), *map(str, made.popitem())),
    "set default": lambda made: (str(made.setdefault(_LONG, 1)), str(made.setdefault(7, [_LONG]))),
    "update": lambda made: made.update({_LONG: [_LONG], 8: [_LONG]}),
    "update unfit": lambda made: made.update({_LONG: [_LONG], 8: _UNFIT}),
    "update from pairs": lambda made: made.update([(_LONG, [_LONG]), (8, b"b")]),
    "update from a map": lambda made: made.update(fnabi.Map(_PAIRS)),
    "clear": lambda made: made.clear(),
    "copy of itself": lambda made: repr(made.copy()),
}


def _with_new(make: Callable[[Any], Any], values: Any, use: Callable[[Any], object]) -> Work:
    """Return an operation that makes a container, uses it, and shows what is left."""

    def work() -> object:
        made = make(values)
        return use(made), repr(made)

    return work


for _make, _contents, _uses in (
    (fnabi.Array, _VALUES, _OF_ANY | _OF_SEQUENCES),
    (fnabi.List, _VALUES, _OF_ANY | _OF_SEQUENCES | _OF_LISTS),
    (fnabi.Map, _PAIRS, _OF_ANY | _OF_MAPS),
    (fnabi.Dict, _PAIRS, _OF_ANY | _OF_MAPS | _OF_DICTS),
):
    for _what, _use in _uses.items():
        OPERATIONS[f"{_make.__name__} {_what}"] = partial(_with_new, _make, _contents, _use)


@operation
def map_misses() -> Work:
    made = fnabi.Map({"a": 1})
    return lambda: made[_LONG]


@operation
def dict_value() -> Work:
    given = "".join(["a ", "text"])
    shared = fnabi.Array([_LONG])

    def work() -> object:
        made = fnabi.Dict({"a": 1})
        for number in range(20):
            made[f"key {number}"] = number
        made["last"] = shared
        made.popitem()
        del made["a"]
        made.update({"b": 2})
        made.setdefault("c", [])
        return made.pop("b"), made.pop("b", given), repr(made), len(made)

    return work


@operation
def copies() -> Work:
    made = fnabi.Array([1, {"a": [2]}, _LONG])

    def work() -> object:
        return (
            repr(copy.copy(made)),
            repr(copy.deepcopy(made)),
            str(pickle.loads(pickle.dumps(made))),
        )

    return work


@operation
def tensor_value() -> Work:
    one = fnabi.from_dlpack(_VECTOR)
    parts = one.dtype, one.device

    def work() -> object:
        made = fnabi.from_dlpack(_VECTOR)
        again, wide = np.from_dlpack(made), np.asarray(made, np.float64)
        wider = made.__array__(np.float64), made.__array__(None, True)
        shown = repr(made), made.shape, (made.dtype, made.device) == parts
        copied = type(made.__dlpack__(copy=True))
        return shown, again.tolist(), len(wide), copied, *(each.tolist() for each in wider)

    return work


@operation
def tensor_memory() -> Work:
    made = fnabi.from_dlpack(_VECTOR.reshape(2, 2))
    return lambda: memoryview(made).tolist()


@operation
def tensor_refused() -> Work:
    return lambda: fnabi.from_dlpack("a text")


@operation
def shape_value() -> Work:
    return lambda: (repr(fnabi.Shape([1, 2, 3])), fnabi.Shape((1,)) == (1,))


@operation
def error_value() -> Work:
    def work() -> object:
        made = fnabi.Error("ValueError", _LONG, _LONG)
        return repr(made.message), made.__reduce__()

    return work


# ------------------------------------------------------------------------------ columns and others

_ROWS = [_TEXTS[raw], b"I1!", None, _TEXTS[raw].decode(), bytearray(_TEXTS[raw])] * 3


@operation
def columns_decode() -> Work:
    def work() -> object:
        columns = fnabi.decode_columns(_ROWS)
        return len(columns), str(columns[0]), columns.errors, repr(columns)

    return work


@operation
def columns_of_a_file() -> Work:
    data = b"\n".join([_TEXTS[raw]] * 5)
    return lambda: [len(each) for each in fnabi.iter_columns(io.BytesIO(data))]


@operation
def columns_encode() -> Work:
    columns = fnabi.decode_columns([_TEXTS[raw]] * 3)
    return lambda: [bytes(each) for each in fnabi.encode_columns(columns, abi="raw")]


@operation
def columns_arrow() -> Work:
    columns = fnabi.decode_columns(_ROWS)
    return lambda: str(columns.__arrow_c_schema__()).partition(" at ")[0]


@operation
def compared() -> Work:
    old = vmfb.from_buffer(_CLASSIFIER)
    return lambda: str(fnabi.compat.compare(old, vmfb.from_buffer(_PROVEN)).verdict)


@operation
def pattern_parse() -> Work:
    return lambda: str(fnabi.pattern.parse("f32[B,T,*], i64[?] -> f32[B,*]"))


@operation
def described() -> Work:
    signature = raw.parse(_TEXTS[raw])
    buffer = signature.inputs[0]
    return lambda: raw.oracle(buffer, raw.describe(np.zeros((10, 3, 64), np.float32)))


def names_of_calls() -> list[str]:
    """Return the operations that call, and those with values."""
    names = [*OPERATIONS]
    return names[names.index("call add") : names.index("error_value") + 1]


def names_of_records() -> list[str]:
    """Return the operations that make objects of texts, and of a module."""
    names = [*OPERATIONS]
    texts = names[: names.index("types_parse") + 1]
    broken = ("vmfb_exports_broken", "vmfb_signatures_twice")
    return [*texts, *(f"vmfb_{what}_proven" for what in _READ), *broken]


# ----------------------------------------------------------------------------------------- faults


def _fault(meets: Callable[[], object]) -> Callable[[], Work]:
    """Return an operation that does something else where it gets no memory."""

    def work() -> object:
        try:
            return str([1, 2, 3])
        except MemoryError:
            return meets()

    return lambda: work


FAULTS: dict[str, Callable[[], Work]] = {
    "another value": _fault(str),
    "another exception": _fault(lambda: int("x")),
    "the end of the process": _fault(os.abort),
}
"""Operations that must not pass."""


# ------------------------------------------------------------------------------------ the harness

PACKAGE = os.path.dirname(fnabi.__file__)
MANY, RUNS = 2500, 150
"""Of an operation with many allocations so many fail, evenly spread."""

_MORE = 50
"""How many allocations fail after the first: some of Python's loops end only where one succeeds."""


def outcome_of(value: object, problem: BaseException | None) -> object:
    """Return the value of an operation, or what it raises and whether that has its error object."""
    if problem is None:
        return value
    return type(problem), str(problem), hasattr(problem, "ffi_error")


def is_lost(problem: BaseException | None) -> bool:
    """Return whether CPython 3.11 lost the exception of a function of Python.

    It drops the exception where it has no memory for the frame of the caller (``take_ownership``).
    """
    lost = r"error return without exception set|<function .*> returned NULL without .*"
    return isinstance(problem, SystemError) and re.fullmatch(lost, str(problem)) is not None


OTHERS = {
    r"\.items\(\)": "CPython 3.11 frees an iterator of items that it has not made (dictiter_new)",
    r"decoder\.decode\(": "msgspec decodes JSON without looking whether it gets memory",
}
"""Lines where the process ends without memory for a reason that is not fnabi's."""


def crash_of_others(lines: list[str]) -> bool:
    """Return whether the process ended in such a line, by what faulthandler has printed."""
    for line in lines:
        if place := re.match(r'  File "(.*)", line (\d+) in ', line):
            at = int(place[2])  # of a statement, which may have more lines
            text = "".join(linecache.getline(place[1], each) for each in range(at, at + 3))
            return any(re.search(known, text) for known in OTHERS)
    return False


def is_of_others(problem: BaseException | None) -> bool:
    """Return whether Python, its library, NumPy or a called library told another exception.

    They report what fails without memory as something else: `os.fspath` says that a path is no
    path, locks raise a RuntimeError and ctypes an ArgumentError, and a `__getattr__` that `hasattr`
    calls loses its exception. A function to which C gives no memory for its error leaves none.
    """
    known = (
        r".*expected str, bytes or os\.PathLike object, not \w+Path|can't allocate (read )?lock"
        r"|argument 1: MemoryError: "
        r"|<function __getattr__ at \w+> returned NULL without setting an exception"
    )
    if "REFUSE_C" in os.environ:
        known += r"|.*: the function failed with status -1 and left no error; .*"
    if re.fullmatch(known, str(problem)):
        return True
    traceback = problem.__traceback__ if problem is not None else None
    file = ""
    while traceback is not None:
        file, traceback = traceback.tb_frame.f_code.co_filename, traceback.tb_next
    return file != "" and not file.startswith((PACKAGE, str(DATA.parent)))


def check(
    run: Callable[[Work, int, int], tuple[Any, Any, int]],
    work: Work,
    after: tuple[int, int] = (0, 0),
) -> int:
    """Fail every allocation of an operation, and return how many there are.

    A run ends with MemoryError, or as usual where the allocation was dispensable. `after` is where
    the process before this one ended: the first and the last allocation that failed.
    """
    for _ in range(3):  # what is imported and kept at the first use is there
        value, problem, most = run(work, 0, 0)
    expected, fails = outcome_of(value, problem), problem is not None
    del value, problem
    gc.collect()
    gc.freeze()
    step = 1 + most // RUNS if most > MANY else 1
    begun = after[1] - after[0]
    for more in (begun, *((_MORE,) if begun < _MORE else ())):
        number = after[0] + 1 if more == begun else 1
        while number <= most:
            print(number, "to", number + more, flush=True)
            gc.collect()  # which frees the lists of objects that need no allocation
            value, problem, count = run(work, number, number + more)
            dispensable = isinstance(problem, MemoryError) or is_of_others(problem)
            if not dispensable and not (fails and is_lost(problem)):
                found = outcome_of(value, problem)
                if found != expected:
                    print(f"expected {expected!r} or MemoryError, got {found!r}", flush=True)
                    raise problem or AssertionError
            del value, problem
            most = max(most, count)
            number += step
    assert outcome_of(*run(work, 0, 0)[:2]) == expected
    return most


def check_apart(run: Any, name: str, after: tuple[int, int]) -> tuple[int, list[str]]:
    """Check an operation in a process of its own; return its status and what it printed."""
    with TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            try:
                check(run, (OPERATIONS | FAULTS)[name](), after)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return status, said.read().splitlines()


def main(library: str, names: list[str]) -> int:
    """Check operations, each in a process of its own; return how many of them fail."""
    loader = ExtensionFileLoader("refusing", library)
    spec = spec_from_file_location("refusing", library, loader=loader)
    assert spec is not None
    loader.exec_module(refusing := module_from_spec(spec))
    faulthandler.enable()
    bad = 0
    for name in names:
        after: tuple[int, int] | None = (0, 0)
        while after is not None:
            status, lines = check_apart(refusing.run, name, after)
            after = None
            if status == -signal.SIGSEGV and crash_of_others(lines):
                first, last = [line for line in lines if re.fullmatch(r"\d+ to \d+", line)][
                    -1
                ].split(" to ")
                after = int(first), int(last)
        if status != 0:
            bad += 1
            end = next((i for i, line in enumerate(lines) if " to " not in line), len(lines))
            print(f"{name}: status {status}", *lines[max(0, end - 1) :], sep="\n")
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[3:]) > 0)
