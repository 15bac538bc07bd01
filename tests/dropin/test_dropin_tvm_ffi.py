"""`fnabi.dropin.tvm_ffi`: compared with the installed tvm_ffi, and run under its own tests."""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
import itertools
import pickle
import sys
import typing
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import fnabi
from fnabi._base import lane
from support.apart import run_apart
from support.callee import callee_library, installed_library

theirs = pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
np = pytest.importorskip("numpy", reason="NumPy is not installed")

ours = import_module("fnabi.dropin.tvm_ffi")
for _part in ("cpp", "testing"):
    import_module(f"tvm_ffi.{_part}")
    import_module(f"fnabi.dropin.tvm_ffi.{_part}")

# --------------------------------------------------------------- compared with the original

VALUES = [
    "t.Array([1, 'a', b'b', 2.5, None, True, [1], {'a': 1}])",
    "t.Array([t.device('cuda:1'), t.dtype('float32')])",
    "[type(f(t.Array(['a', 1]))) for f in (repr, str)]",
    "t.Array([1, 2, 3])[0:2]",
    "t.Array([1, 2, 3])[-1]",
    "t.Array([1]) + [2]",
    "[0] + t.List([1])",
    "t.Array([[1], (2,)])[0]",
    "t.Array([1, 2]) == [1, 2]",
    "t.Array([1, 2]) == (1, 2)",
    "t.Array([1, 2]) != t.Array([1, 2])",
    "t.Array([1]).__eq__('x')",
    "hash(t.List([1, 2])) == hash(t.List([1, 2]))",
    "('a', 1) in t.Array([('a', 1)])",
    "t.List([3, 1])[::-1]",
    "t.List()",
    "t.Map({'a': [1], 2: {}})",
    "t.Map({'a': [1]})['a']",
    "t.Map({'a': 1}) == t.Map({'a': 1})",
    "t.Map({'a': 1}) == {'a': 1}",
    "t.Map({'a': 1}).get('b', 3)",
    "list(t.Map({'a': 1}).items())",
    "t.Dict({'a': 1})",
    "t.Dict().pop('a', 4)",
    "t.Array([1]) + 'ab'",
    "'ab' + t.List([1])",
    "t.Array([1, 2, 3]) + np.arange(3)",
    "t.List([1]) + b'ab'",
    "t.List([1]) + (each for each in (2, 'a'))",
    "{1: 2} + t.Array([3])",
    "t.Map({1: 2}) + t.Array([3])",
    "t.Array([1]) + t.List([np.float32(2)])",
    "t.Dict({'a': 1, 'b': 2}).popitem()",
    "t.Dict().setdefault('a', [1])",
    "t.Shape((1, 2))",
    "t.device('cuda', 1)",
    "t.device('cuda -arch=sm_80')",
    "t.device('cuda:1 -x:y')",
    "t.device('cuda:+1')",
    "t.device('cuda:1_0')",
    "t.device('cuda:1\\t')",
    "t.device(2, np.int64(3))",
    "t.device('cpu').type",
    "t.device('ext_dev:3') == t.Device('ext_dev', 3)",
    "hash(t.device('cpu')) == hash(t.device('cpu', 0))",
    "t.dtype('f32x4')",
    "t.dtype('float8_e4m3fn').type_code",
    "t.dtype('int').bits",
    "t.dtype('bf16').itemsize",
    "t.core._type_index_to_type_info(10**6)",
    "t.dataclasses.common._asdict_inner([(t.testing.TestObjectDerived({}, [1]),)], dict)",
    "t.dtype('bool').with_lanes(2)",
    "t.dtype('int32xvscalex4').lanes",
    "t.dtype.from_dlpack_data_type((3, 0, 0))",
    "t.dtype.from_dlpack_data_type((2, 32, 1)) == 'float32'",
    "echo(t.dtype('f16'))",
    "echo(np.dtype('int8'))",
    "echo(t.device('rocm:2'))",
    "echo('short')",
    "echo('longer than seven')",
    "echo(b'longer than seven')",
    "echo([1, [2, {'a': 3}]])",
    "echo(2**80)",
    "echo(t.Shape((3, 4)))",
    "echo(None)",
    "echo",
    "t.convert(len)",
    "t.convert([1, (2, 3)])",
    "t.convert({'a': 1})",
    "t.convert('text')",
    "t.convert(b'text')",
    "t.convert(object())",
    "t.convert(ValueError('no')).message",
    "t.convert(ValueError('no'))",
    "t.convert(3)",
    "t.from_dlpack(np.zeros((2, 3), 'float32'))",
    "t.from_dlpack(np.zeros((2, 3), 'float32')).size(-1)",
    "t.from_dlpack(np.zeros((2, 3), 'float32')).numel()",
    "t.from_dlpack(np.zeros((2, 3), 'float32')).dtype",
    "t.from_dlpack(np.zeros((2, 3), 'float32')).device",
    "t.from_dlpack(np.zeros((2, 3), 'float32')[:, ::2]).is_contiguous()",
    "t.testing.TestIntPair(1, 2)",
    "t.testing.TestIntPair(1, 2).a",
    "t.testing.TestIntPair(1, 2) == t.testing.TestIntPair(1, 2)",
    "t.testing.TestObjectBase(v_i64=5)",
    "t.testing.TestObjectBase().add_i64(1)",
    "t.testing.TestObjectDerived({'a': 2}, [1])",
    "t.testing.TestObjectDerived(v_array=[1], v_map={'a': 2}).v_map",
    "t.testing.make_unregistered_object()",
    "type(t.testing.make_unregistered_object()).__qualname__",
    "t.testing.create_object('testing.TestObjectBase', v_str='x').v_str",
    "t.core.Error('ValueError', 'text', '').kind",
    "t.core.Error('ValueError', 'text', '').py_error()",
    "t.core.String('x')",
    "t.core.DataType('int8x2').lanes",
    "str(t.core.DataType('float32'))",
    "t.core.MISSING",
    "t.core.CAny(3)",
    "t.get_global_func('no.such.name', allow_missing=True)",
    "t.get_global_func_metadata('testing.schema_id_int')['int_attr']",
    "t.system_lib()",
    "t.system_lib().implements_function('no')",
    "t.structural_equal([1, [2]], [1, [2]])",
    "t.structural_hash([1]) == t.structural_hash([1])",
    "t.get_first_structural_mismatch([1], [2])",
    "hash(t.StructuralKey([1])) == hash(t.StructuralKey([1]))",
    "t.structural_map([1, [2]], (int, lambda x: x + 1))",
    "t.structural_walk([1, [2]], (int, lambda x: t.VisitInterrupt(x)), order='pre').value",
    "t.structural_visit([1], lambda x, visitor: visitor.default_visit(x))",
    "t.structural_mutate([1, 'a'], (str, lambda x, mutator: x * 2))",
    "t.WalkOrder.PREORDER",
    "t.DefRegionKind.DEF_SIMPLE",
    "t.StructuralKey([1]) == t.StructuralKey([1])",
    "t.serialization.from_json_graph_str(t.serialization.to_json_graph_str(t.Array([1, 'a'])))",
    "t.access_path.AccessPath.root().attr('a').array_item(1)",
    "t.access_path.AccessKind.MAP_ITEM",
    't.core.TypeSchema.from_json_str(\'{"type":"Optional","args":[{"type":"int"}]}\')',
    "t.error._parse_backtrace('  File \"a.py\", line 3, in f')",
    "t.DLDeviceType.kDLTrn",
    "t.dataclasses.is_dataclass(t.testing.TestIntPair)",
    "t.__version__",
    "t.__version_tuple__",
    "t.cpp.load_inline.__name__",
    "t.dataclasses.asdict(t.testing.TestObjectDerived({'a': 2}, [1]))",
    "[each.name for each in t.dataclasses.fields(t.testing.TestObjectDerived)]",
    "t.testing.TestIntPair.__match_args__",
    "t.access_path.AccessPath.root().attr_missing('a')",
    "t.access_path.AccessPath.root().array_item_missing(1)",
    "t.access_path.AccessPath.root().map_item('k')",
    "t.access_path.AccessPath.root().map_item_missing('k')",
    "list(t.access_path.AccessPath.root().attr('a').to_steps())",
    "t.access_path.AccessPath.root().attr('a') == t.access_path.AccessPath.root().attr('a')",
    "t.access_path.AccessPath.root().is_prefix_of(t.access_path.AccessPath.root().attr('a'))",
    "t.from_dlpack(np.zeros((0, 3), 'float32')).is_contiguous()",
    "t.structural_visit([1], lambda x, v: t.VisitInterrupt(v.def_region_kind())).value",
    "t.structural_visit([1], lambda x, v: t.VisitInterrupt(v.with_def_region_kind(1, int))).value",
    "t.structural_mutate([1, 'a'], (str, lambda x, m: int(m.def_region_kind())))",
    "t.structural_mutate(['a'], (str, lambda x, m: m.with_def_region_kind(1, lambda: 7)))",
    "t.structural_mutate([1, 'a'], (str, lambda x, m: m.default_mutate(x)))",
    "t.StructuralKey([1]) == 3",
    "(lambda key: key == key)(t.StructuralKey([1]))",
    "t.dataclasses.astuple(t.testing.TestObjectDerived({'a': 2}, [1]))",
    "t.dataclasses.asdict(t.testing.TestObjectDerived({'a': (1, 2)}, [[1]]))",
    "t.core.CAny([1])",
    "t.core.CAny(t.get_global_func('ffi.GetInvalidObject')())",
    "t.core.CAny(2.5)",
    "t.core.CAny('x')",
    "t.core.CAny(None)",
    "t.testing.TestIntPair.__tvm_ffi_type_info__.fields[0].name",
    "t.system_lib().get_function_doc('no')",
    "t.system_lib().get_function_metadata('no')",
    "t.dataclasses.replace(t.testing.TestObjectBase(v_i64=3), v_i64=4).v_i64",
    "t.core.TypeSchema('Union', (t.core.TypeSchema('int'), t.core.TypeSchema('str')))",
    "t.core.TypeSchema.from_annotation(list)",
    "type(t.from_dlpack(np.zeros(2))._to_dlpack()).__name__",
    "type(t.from_dlpack(np.zeros(2))._to_dlpack_versioned()).__name__",
    "t.convert(type('A', (t.ObjectConvertible,), {'asobject': lambda self: t.Array([1])})())",
    "t.convert(type('A', (), {'__tvm_ffi_int__': lambda self: 3})()).__tvm_ffi_int__()",
    "t.core.DataType('int8') == 'int8'",
    "str(copy.copy(t.core.DataType('int8x2')))",
    "str(t.core.DataType('int32xvscalex4'))",
    "t.get_global_func('testing.echo')(t.dtype('int32xvscalex32768'))",
    "t.dtype.from_dlpack_data_type((0, 32, -4))",
    "t.core.TypeSchema.from_annotation(typing.Callable)",
    "t.testing.TestIntPair.__tvm_ffi_type_info__.fields[0].getter(t.testing.TestIntPair(1, 2))",
    "[f := t.testing.TestObjectBase(), f.__tvm_ffi_type_info__.fields[0].setter(f, 9)][0].v_i64",
    "t.device('cpu') == 3",
    "t.core._type_cls_to_type_info(int)",
    "t.testing.TestObjectBase(v_i64=t.core.MISSING, v_str='x').v_i64",
    "t.core._to_py_class_value(t.core.CAny('x'))",
    "t.core._to_py_class_value(t.core.CAny(b'x'))",
    "t.system_lib().get_property_mask()",
    "[t.dtype('float32').with_lanes(lanes) for lanes in (-32768, -2, -1, 0, 1, 2.5, 32767)]",
    "t.device('cpu:1', 2)",
    "t.device('cpu:-1')",
    "t.device('cuda', np.int32(1))",
    "t.Shape(np.array([1, 2]))[1]",
    "t.Shape([np.int32(3)])[0]",
    *(
        f"echo(type('A', (), {{'__tvm_ffi_{kind}__': lambda self: {value}}})())"
        for kind, values in {
            "int": ("5.7", "'7'", "True"),
            "float": ("2", "np.float32(1.5)"),
        }.items()
        for value in values
    ),
]

ERRORS = [
    "t.Array(1)",
    "t.List(1)",
    "t.Map(1)",
    "t.Array([1])[4]",
    "t.List([1]).pop(7)",
    "t.List().pop()",
    "t.List([1]).remove(5)",
    "t.Array([1]).index(5)",
    "t.Map({})['a']",
    "t.Dict({}).pop('a')",
    "t.Shape('ab')",
    "t.Array([1]) + 5",
    "None + t.List([1])",
    "t.Dict().popitem()",
    "t.device(bytearray(b'1'))",
    "t.device(' cuda')",
    "t.device('nothing')",
    "t.device('cpu:?')",
    "t.device('cpu: 1')",
    "t.device(' cpu')",
    "t.device('\\tcpu')",
    "t.device('cpu:1:2 x')",
    "t.device('cpu:')",
    "t.device('cpu', '?')",
    "t.dtype('nothing')",
    "t.dtype('int32xvscalex4').itemsize",
    "t.get_global_func('no.such.name')",
    "t.register_global_func('testing.echo', len)",
    "t.load_module('/no/such/file.so')",
    "t.testing.TestIntPair(1)",
    "t.testing.TestIntPair(1, 'a')",
    "t.testing.TestObjectBase(1, 2, 3, 4)",
    "t.testing.TestObjectBase(nothing=1)",
    "setattr(t.testing.TestIntPair(1, 2), 'a', 3)",
    "setattr(t.testing.TestObjectBase(), 'v_i64', 'a')",
    "t.testing.TestIntPair(1, 2).nothing",
    "t.testing.add_one('a')",
    "t.testing.test_raise_error('IndexError', 'text')",
    "echo(x=1)",
    "t.system_lib()['nothing']",
    "t.system_lib()[3]",
    "t.system_lib().nothing",
    "t.access_path.AccessPath()",
    "t.use_raw_stream(t.device('cuda'), 'x')",
    "t.register_object('no.such.type')(type('A', (t.Object,), {}))",
    "t.convert_func(len, object)",
    "t.structural_walk(1, (int, len), order='x')",
    "t.structural_walk(1, 3)",
    "t.structural_walk(1, [len])",
    "t.structural_walk(1, ('int', len))",
    "t.structural_mutate(1, (int, lambda x: x))",
    "t.dataclasses.fields(int)",
    "copy.copy(t.testing.TestNonCopyable(1))",
    "t.from_dlpack(np.zeros((2, 3))[:, ::2], require_contiguous=True)",
    "t.from_dlpack(np.zeros(9, 'int8')[1:], require_alignment=8)",
    "t.register_object(3)",
    "t.register_object('testing.TestIntPair')(int)",
    "t.core.DataType('nothing')",
    "t.access_path.AccessPath.root().nothing",
    "t.core.TypeSchema('Optional', ())",
    "t.core.TypeSchema('Union', (t.core.TypeSchema('int'),))",
    "t.core.TypeSchema('list', (t.core.TypeSchema('int'),) * 2)",
    "t.core.TypeSchema('dict', (t.core.TypeSchema('int'),))",
    "t.core.TypeSchema.from_annotation(len)",
    "t.core.TypeSchema.from_annotation(list[int, int])",
    "t.core.TypeSchema.from_annotation(dict[int])",
    "t.dataclasses.asdict(3)",
    "t.dataclasses.astuple(3)",
    "t.dataclasses.field(default=1, default_factory=int)",
    "t.dataclasses.field(default_factory=3)",
    "t.dataclasses.field(structural_eq='no')",
    "t.dataclasses.py_class(3)",
    "t.core._lookup_or_register_type_info_from_type_key('no.such.type')",
    "t.ObjectConvertible().asobject()",
    "t.core.DataType('complex64')",
    "t.dtype('int32x2xvscalex4')",
    "t.dtype('int32x0')",
    "t.dtype('int32xvscalex0')",
    "t.system_lib()()",
    "t.dataclasses.replace(t.testing.TestObjectBase(), nothing=1)",
    *(f"t.dtype('float32').with_lanes({lanes})" for lanes in (-32769, 32768, 2**40, "'2'", None)),
    *(f"t.dtype.from_dlpack_data_type(({code}, 8, 1))" for code in (-1, 256, "'2'")),
    "t.dtype.from_dlpack_data_type((2, 256, 1))",
    *(f"t.device({kind})" for kind in (2**31, -(2**31) - 1, None, "b'cpu'", "'cpu:1:2'")),
    *(f"t.device('cpu', {index})" for index in (2**31, -(2**31) - 1, 1.5)),
    "t.device('cpu:99999999999')",
    *(f"{of}(t.device({kind}, 0))" for of in ("repr", "str") for kind in (99, 0, -1)),
    "t.device(99, 0).type",
    *(f"t.Shape([{dim}])" for dim in (2**63, -(2**63) - 1, 1.0, "np.uint64(2**63)", "None")),
    *(
        f"echo(type('A', (), {{'__tvm_ffi_{kind}__': lambda self: {value}}})())"
        for kind, values in {
            "int": ("'a'", None, "1j"),
            "float": ("'1.5'", None, "1j"),
            "opaque_ptr": ("'a'", None),
        }.items()
        for value in values
    ),
    "copy.deepcopy(t.from_dlpack(np.zeros(3)))",
]


def evaluated(package, expression):
    names = {"t": package, "np": np, "copy": copy, "typing": typing}
    names["echo"] = package.get_global_func("testing.echo")
    return eval(expression, names)


def test_a_class_that_gives_an_object_instead_of_asobject():
    for package in (ours, theirs):
        members = {"__tvm_ffi_object__": lambda _, package=package: package.Array([1])}
        value = type("Gives", (package.ObjectConvertible,), members)()
        made = package.core.TypeSchema("Array").convert(value)
        assert repr(made) == "CAny(object, type_index=71)"


@pytest.mark.parametrize("expression", VALUES)
def test_values_are_shown_as_by_the_original(expression):
    expected, found = evaluated(theirs, expression), evaluated(ours, expression)
    assert repr(found) == repr(expected)
    assert str(found) == str(expected)
    assert type(found).__name__ == type(expected).__name__


@pytest.mark.parametrize("expression", ERRORS)
def test_errors_are_of_the_original_types(expression):
    with pytest.raises(Exception) as expected:  # noqa: PT011
        evaluated(theirs, expression)
    with pytest.raises(expected.type):
        evaluated(ours, expression)


DTYPE_WORDS = [
    *("int", "uint", "bool", "float", "bfloat", "handle", "i", "u", "f", "bf", "fp", "void", ""),
    *("float8_e4m3", "float8_e4m3fn", "fp8_e5m2fnuz", "f6_e3m2fn", "float4_e2m1fn", "bf8_e5m2"),
    *("complex", "float8_e4m3d", "custom", "INT"),
]
DTYPE_BITS = ["", "0", "1", "08", "16", "255", "256"]
DTYPE_LANES = [
    *("", "x", "x0", "x1", "x04", "x32768", "x65535", "x65536", "_x2", "x4x2", " "),
    *("xvscale", "xvscalex", "xvscalex0", "xvscalex1", "xvscalex4", "xvscalex65535", "xvscale4"),
]


@pytest.mark.parametrize("word", DTYPE_WORDS)
def test_texts_of_dtypes_are_read_as_by_the_original(word):
    def read(make, text):
        try:
            made = make(text)
        except ValueError:
            return None
        return made.type_code, made.bits, made.lanes, str(made)

    for bits, lanes in itertools.product(DTYPE_BITS, DTYPE_LANES):
        text = f"{word}{bits}{lanes}"
        expected, found = (
            [read(make, text) for make in (package.dtype, package.core.DataType)]
            for package in (theirs, ours)
        )
        assert found == expected, text


@pytest.mark.parametrize(
    "expression",
    [
        "t.structural_map([1], 5)",
        "t.structural_walk([1], 'text')",
        "t.structural_visit([1], b'bytes')",
        "t.structural_map([1], [(int,)])",
    ],
)
def test_errors_about_callbacks_have_the_original_texts(expression):
    with pytest.raises(TypeError) as expected:
        evaluated(theirs, expression)
    with pytest.raises(TypeError) as found:
        evaluated(ours, expression)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "name",
    [
        "convert",
        "convert_func",
        "device",
        "from_dlpack",
        "get_first_structural_mismatch",
        "get_global_func",
        "get_global_func_metadata",
        "get_raw_stream",
        "init_ffi_api",
        "load_module",
        "register_error",
        "register_global_func",
        "register_object",
        "remove_global_func",
        "structural_equal",
        "structural_hash",
        "structural_map",
        "structural_mutate",
        "structural_visit",
        "structural_walk",
        "system_lib",
        "use_raw_stream",
        "access_path.AccessPath.attr",
        "access_path.AccessPath.map_item",
        "dataclasses.asdict",
        "dataclasses.astuple",
        "dataclasses.c_class",
        "dataclasses.replace",
        "module.Module.get_function",
        "module.Module.implements_function",
        "module.Module.import_module",
        "module.Module.write_to_file",
        "registry.get_registered_type_keys",
        "registry.list_global_func_names",
        "serialization.from_json_graph_str",
        "serialization.to_json_graph_str",
        "stream.StreamContext",
        "testing.create_object",
    ],
)
def test_arguments_have_the_original_order(name):
    expected, found = theirs, ours
    for part in name.split("."):
        expected, found = getattr(expected, part), getattr(found, part)
    assert shape(found) == shape(expected)


def shape(function):
    parameters = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default) for each in parameters]


@pytest.mark.parametrize("module", ["", ".cpp", ".dataclasses"])
def test_names_that_are_missing_say_what_to_use(module):
    """Of the public names of the original, those that are not here have advice."""
    original = import_module(f"tvm_ffi{module}")
    drop_in = import_module(f"fnabi.dropin.tvm_ffi{module}")
    names = original.__all__ if module != ".cpp" else ["build", "load", "extension"]
    lacking = [name for name in names if name not in dir(drop_in)]
    for name in lacking:
        with pytest.raises(AttributeError, match=f"has no attribute {name!r}; "):
            getattr(drop_in, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'no_such_name'$"):
        _ = drop_in.no_such_name


# ------------------------------------------------------------------------------- beside fnabi


def test_classes_are_those_of_fnabi():
    array = ours.Array([1, [2]])
    assert isinstance(array, fnabi.Array)
    assert isinstance(array, ours.Object)
    echo = fnabi.get_global_func("testing.echo")
    assert type(echo(array)) is fnabi.Array
    assert type(echo(array)[1]) is fnabi.Array
    assert type(array[1]) is ours.Array
    again = ours.get_global_func("testing.echo")(fnabi.Array([[1]]))
    assert type(again) is ours.Array
    assert type(again[0]) is ours.Array
    assert repr(fnabi.Array([1])) == "Array([1])"
    assert isinstance(fnabi.get_global_func("testing.echo"), fnabi.Function)
    assert not isinstance(fnabi.get_global_func("testing.echo"), ours.Function)


def test_objects_have_a_class_of_each():
    pair = ours.testing.TestIntPair(1, 2)
    plain = fnabi.get_global_func("testing.echo")(pair)
    assert type(plain) is fnabi.get_type("testing.TestIntPair")
    assert not isinstance(plain, ours.Object)
    assert plain.address == pair.__chandle__()
    assert ours.get_global_func("testing.TestIntPairSum")(plain) == 3
    assert theirs.testing.TestIntPair(1, 2).a == 1


def test_objects_of_the_original_are_accepted():
    echo = ours.get_global_func("testing.echo")
    assert type(echo(theirs.Array([1]))) is ours.Array
    assert echo(theirs.testing.TestIntPair(3, 4)).b == 4
    assert echo(theirs.dtype("int8")) == ours.dtype("int8")


def test_callbacks_get_the_classes():
    seen = []
    ours.convert(lambda *args: seen.extend(args))(
        [1], {"a": 1}, ours.dtype("int8"), ours.device("cpu"), np.zeros(2), "longer than seven"
    )
    expected = [ours.Array, ours.Map, ours.dtype, ours.Device, ours.Tensor, ours.core.String]
    assert [type(each) for each in seen] == expected
    seen.clear()
    fnabi.Function(lambda *args: seen.extend(args))([1], ours.dtype("int8"))
    assert [type(each) for each in seen] == [fnabi.Array, fnabi.types.DType]


def test_a_callback_that_uses_fnabi_gets_its_classes():
    """The dialect is that of the function that converts, not of the one that runs."""
    plain = fnabi.get_global_func("testing.echo")

    def inside(x):
        return [
            type(plain([1])).__module__,
            type(fnabi.Any([1]).value).__module__,
            type(x).__name__,
        ]

    assert list(ours.convert(inside)([1])) == ["fnabi", "fnabi", "Array"]
    nested = fnabi.Function(lambda: type(ours.Array([[1]])[0]).__module__)
    assert nested() == "fnabi.dropin.tvm_ffi.container"


def test_an_exception_goes_through_callbacks_of_the_original():
    """In a process of its own: the original ends one where the attribute is of another class."""
    program = """
import fnabi.dropin.tvm_ffi as ours
def fails():
    raise KeyError("here")
failing = ours.convert(fails)
def seen(function):
    try:
        function()
    except KeyError as error:
        return type(error.__tvm_ffi_error__).__module__, error.__tvm_ffi_error__.message
print(seen(failing))
import tvm_ffi
print(seen(failing), seen(tvm_ffi.convert(failing)), seen(ours.convert(tvm_ffi.convert(failing))))
print(seen(tvm_ffi.convert(lambda: ours.testing.test_raise_error("KeyError", "there"))))
"""
    assert run_apart(program).splitlines() == [
        "('fnabi.dropin.tvm_ffi.core', 'here')",
        " ".join(["('tvm_ffi.core', 'here')"] * 3),
        "('tvm_ffi.core', 'there')",
    ]


def test_exceptions_cross_with_both_attributes():
    with pytest.raises(ValueError, match="text") as caught:
        ours.testing.test_raise_error("ValueError", "text")
    error = caught.value.__tvm_ffi_error__
    assert type(error) is theirs.core.Error  # which the original trusts it to be, if imported
    assert error.kind == "ValueError"
    assert "TestRaiseError" in error.backtrace
    assert type(caught.value.ffi_error) is ours.core.Error
    assert caught.value.ffi_error.same_as(error)

    def fails(x):
        raise KeyError(x)

    with pytest.raises(KeyError) as caught:
        ours.convert(fails)("key")
    assert caught.value.args == ("key",)
    assert "in fails" in caught.value.__tvm_ffi_error__.backtrace


@pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt", "GeneratorExit"])
def test_no_kind_ends_the_program(kind):
    with pytest.raises(RuntimeError, match="text"):
        ours.testing.test_raise_error(kind, "text")
    assert type(ours.core.Error(kind, "text").py_error()) is RuntimeError


def test_registered_errors():
    @ours.register_error
    class DropinError(RuntimeError):
        pass

    with pytest.raises(DropinError, match="text"):
        ours.testing.test_raise_error("DropinError", "text")

    def fails():
        raise DropinError("again")

    assert ours.convert(DropinError("x")).kind == "DropinError"
    with pytest.raises(DropinError, match="again"):
        ours.testing.apply(fails)
    with pytest.raises(RuntimeError, match="text"):
        fnabi.get_global_func("testing.test_raise_error")("DropinError", "text")


def test_a_class_that_is_registered():
    @ours.register_object("testing.TestNonCopyable")
    class Mine(ours.Object):
        def twice(self):
            return 2 * self.value

    try:
        made = Mine(4)
        assert made.twice() == 8
        assert type(ours.get_global_func("testing.echo")(made)) is Mine
        assert Mine.__tvm_ffi_type_info__.type_cls is Mine
        made.__init__(5)
        assert made.value == 5
        bare = Mine.__new__(Mine)
        assert bare.__chandle__() == 0
        assert repr(bare) == "Mine(chandle=None)"
        with pytest.raises(fnabi.CallError, match="expected an object of type"):
            _ = bare.value
    finally:
        ours.register_object("testing.TestNonCopyable")(ours.testing.TestNonCopyable)
    with pytest.raises(TypeError, match="derived from Object"):
        ours.register_object("testing.TestNonCopyable")(int)


def test_the_name_of_a_class_is_its_key():
    key = "testing.TestNonCopyable"
    try:
        for register in (ours.register_object, ours.register_object()):
            made = register(type(key, (ours.Object,), {"__slots__": (), "__module__": __name__}))
            assert made.__tvm_ffi_type_info__.type_key == key
            assert type(ours.get_global_func("testing.echo")(made(4))) is made
    finally:
        ours.register_object(key)(ours.testing.TestNonCopyable)
    for package in (theirs, ours):
        with pytest.raises(TypeError, match="type_key must be a string, type, or None"):
            package.register_object(3)


JSON = """
import sys
if sys.argv[1] != "tvm_ffi": sys.modules["tvm_ffi"] = None
t = __import__(sys.argv[1], fromlist=["Array"])
parse, write = (t.get_global_func(f"ffi.json.{name}") for name in ("Parse", "Stringify"))
def tried(work, *given):
    try: return ascii(work(*given))
    except Exception as problem: return f"a ValueError: {isinstance(problem, ValueError)}"
print(hash(t.Array([1, t.List(["a"])])) == hash(t.Array([1, t.List(["a"])])))
print(dict(t.Map({(1, "a"): 3})), len({t.Map({"a": 1}), t.Map({"a": 1})}), hash(t.Dict({})) != 0)
for text in ("[1,2,3,4]", '{"longer than 7": [1.5, null, true, "longer than 7"]}', "-0", "[1,]",
             "[9223372036854775807, 9223372036854775808, -9223372036854775809]", "[NaN, -Infinity]",
             '"\\ud83d\\ude00"', '"\\ud800"', "", '{"a": 1, "a": 2}', " [1] ", "nul"):
    print(tried(parse, text))
for value in (t.Array(["longer than 7", 1, -2.5, None, True]), t.Map({"longer than 7": t.List([])}),
              float("inf"), t.Array([float("nan")]), t.Array([b"a"]), t.Map({1: 2}), t.Shape((1,)),
              t.Map({(1, 2): 3}), "\u00e9\u2028\t", t.Map({"a": t.Map({})})):
    print(tried(write, value, None))
"""


def test_json_and_hashes_without_the_library():
    """What the runtime does in C++, this package does without it."""
    found = [run_apart(JSON, name).splitlines() for name in ("fnabi.dropin.tvm_ffi", "tvm_ffi")]
    assert found[0] == found[1]
    assert len(found[0]) == 24


def test_elements_that_decide_what_they_equal():
    """A shape equals a tuple and a dtype its name, where they are sought, too."""
    for package in (theirs, ours):
        made = package.List([package.Shape((1, 2)), package.dtype("int8"), package.device("cpu:0")])
        assert [made.count(each) for each in ((1, 2), "int8", package.device("cpu"))] == [1, 1, 1]
        assert [made.index(each) for each in ((1, 2), "int8", package.device("cpu"))] == [0, 1, 2]
        assert (1, 2) in made
        assert all(each not in made for each in ((1, 3), "int16", 3, None, package.dtype("int4")))
        made.remove("int8")
        assert len(made) == 2


def test_keys_of_errors():
    """A tuple is the key, not the arguments of the exception."""
    for made in (fnabi.Dict({"a": 1}), fnabi.Map({"a": 1}), ours.Dict({"a": 1})):
        for key in ((1, 2), (1,), ()):
            with pytest.raises(KeyError) as raised:
                made[key]
            assert raised.value.args == (key,)
    for package in (theirs, ours, fnabi):
        for removes in (lambda made: made.pop((1, 2)), lambda made: made.__delitem__((1, 2))):
            with pytest.raises(KeyError) as raised:
                removes(package.Dict({"a": 1}))
            assert raised.value.args == ((1, 2),)


def test_an_object_is_moved_when_the_callee_gets_it():
    """Beside it, and in what was not called, the object stays whole."""

    def are_whole(inside, moved):
        return (dict(inside[0]), dict(moved)) == ({"a": 1},) * 2

    def are_three(*given):
        return all(list(each) == [1, 2, 3] for each in given)

    for package in (theirs, ours):
        x = package.Array([1, 2, 3])
        assert package.convert(are_three)(x, x._move())
        d = package.Dict({"a": 1})
        assert package.convert(are_whole)([d], d._move())
        kept = package.List([1])
        kept._move()
        assert list(kept) == [1]


def test_an_object_is_moved_once():
    for package in (theirs, ours):
        takes = package.convert(lambda *given: None)
        x = package.List([1])
        first, second = x._move(), x._move()
        with pytest.raises((ValueError, RuntimeError), match="already moved"):
            package.List([first, second])
        x = package.List([1])
        first, second = x._move(), x._move()
        takes(first)
        for again in (first, second, x._move()):
            with pytest.raises(ValueError, match="already moved"):
                takes(again)
        again = package.List([1])._move()
        with pytest.raises(ValueError, match="already moved"):
            takes(again, again)


def test_a_moved_object():
    x = ours.Array([1, 2])
    count = ours.get_global_func("testing.object_use_count")
    assert count(x) == 1
    assert ours.convert(lambda moved, expected: count(moved) == expected)(x._move(), 1)
    assert x.__chandle__() == 0
    assert list(x) == []
    pair = ours.testing.TestIntPair(1, 2)
    assert ours.get_global_func("testing.echo")(pair._move()).a == 1
    with pytest.raises(fnabi.CallError, match=r"type testing\.TestIntPair, got none: it was moved"):
        _ = pair.a
    with pytest.raises(fnabi.CallError, match="cannot be moved"):
        ours.core.Error("ValueError", "", "")._move()
    for package in (theirs, ours):
        pair = package.testing.TestIntPair(1, 2)
        taken = type(pair).__new__(type(pair))
        taken.__move_handle_from__(pair)
        assert (taken.a, pair.__chandle__()) == (1, 0)


def test_the_class_of_an_object_stays_of_its_kind():
    """An Array would be read where there is none."""
    pair = ours.testing.TestIntPair(1, 2)
    for cls in (ours.Array, ours.Map, ours.Tensor, ours.core.Error):
        with pytest.raises(TypeError, match="has objects of another type"):
            pair.__class__ = cls
        with pytest.raises(fnabi.CallError, match="without attributes of its own"):
            lane.as_class(pair, cls)
        with pytest.raises(fnabi.CallError, match="expected a class of Python"):
            lane.empty_object(cls)
        with pytest.raises(fnabi.CallError, match="expected an object with fields"):
            lane.move_object(ours.Array([1]), pair)


def test_a_dialect_checks_its_classes():
    dialect = lane.Dialect()
    for value in (int, fnabi.List, 3):
        with pytest.raises(fnabi.CallError, match="expected a class derived from"):
            dialect.array = value

    class Wide(fnabi.Array):
        __slots__ = ("more",)

    with pytest.raises(fnabi.CallError, match="without attributes of its own"):
        dialect.array = Wide
    with pytest.raises(fnabi.CallError, match="without attributes of its own"):
        dialect.function = fnabi.Array
    with pytest.raises(fnabi.CallError, match="expected a callable"):
        dialect()
    assert dialect(fnabi.Array, [1]) == fnabi.Array([1])


def test_subclasses_in_python():
    """They keep their attributes, and what is made from them has their class."""

    class Named(fnabi.Array):
        name = "none"

    named = Named([1, 2])
    named.name = "a"
    assert named.name == "a"
    assert type(named[:1]) is Named
    assert named[:1].name == "none"
    assert type(named + named) is Named
    assert type(copy.deepcopy(named)) is Named
    assert type(fnabi.Function(lambda x: x)(named)) is fnabi.Array

    class Sorted(fnabi.Dict):
        def __iter__(self):
            return iter(sorted(super().__iter__()))

    assert list(Sorted({"b": 1, "a": 2})) == ["a", "b"]


def test_pickles_have_the_classes():
    for value in (
        ours.Array([1, {"a": [2]}]),
        ours.List(["a"]),
        ours.Dict({"a": 1}),
        ours.testing.TestObjectDerived({"a": 2}, [1]),
        ours.dtype("f16"),
        ours.device("cuda:1"),
        ours.core.Error("ValueError", "text", "back"),
    ):
        again = pickle.loads(pickle.dumps(value))
        assert type(again) is type(value)
        assert repr(again) == repr(value)
        assert type(copy.deepcopy(value)) is type(value)


def test_deepcopy_refuses_what_is_not_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matcher of xgrammar, without fields, would share its state with the copy."""

    @ours.dataclasses.py_class("test_dropin.NoFields")
    class NoFields(ours.Object):
        pass

    made = NoFields()
    assert not copy.deepcopy(made).same_as(made)

    @ours.register_object("test_dropin.NoFields")
    class Opaque(ours.Object):
        pass

    opaque = ours.Array([made])[0]
    assert type(opaque) is Opaque
    assert not copy.deepcopy(opaque).same_as(opaque)
    record, attribute = type(Opaque.__fnabi_type__), Opaque.__fnabi_type__.attribute
    monkeypatch.setattr(
        record, "attribute", lambda _, name: None if name == "__ffi_new__" else attribute(name)
    )
    with pytest.raises(TypeError, match=r"^Type `test_dropin.NoFields` does not support deepcopy$"):
        copy.deepcopy({"key": [opaque]})
    assert copy.deepcopy([ours.Shape((1, 2))]) == [(1, 2)]


PICKLED = [
    "t.Array([1, 'a'])",
    "t.List([1, t.Array([2])])",
    "t.Map({'a': 1})",
    "t.Dict({'a': [1]})",
    "t.Shape((1, 2))",
    "t.dtype('float32x4')",
    "t.core.DataType('int8')",
    "t.device('cuda:1')",
    "t.core.Error('ValueError', 'text', 'back')",
]


def test_pickles_of_the_original():
    data = pickle.dumps([pickle.dumps(evaluated(theirs, each)) for each in PICKLED])
    program = """
    import pickle, sys
    import fnabi.dropin.tvm_ffi as ours
    ours.install()
    import tvm_ffi.testing
    echo = ours.get_global_func("testing.echo")
    for each in pickle.loads(bytes.fromhex(sys.argv[1])):
        value = pickle.loads(each)
        assert type(value).__module__.startswith("fnabi.")
        print(str(value), str(echo(value)) == str(value), sep=";")
    """
    found = [line.split(";") for line in run_apart(program, data.hex()).splitlines()]
    assert found == [[str(evaluated(ours, each)), "True"] for each in PICKLED]


def test_an_object_without_a_text_has_its_class_and_address():
    array = np.zeros(3)
    array.flags.writeable = False
    complex_one = ours.from_dlpack(np.zeros(3, np.complex64))
    for value in (ours.from_dlpack(array), complex_one, ours.Array([complex_one])):
        assert repr(value) == str(value) == f"{type(value).__name__}({value.__chandle__()})"


def test_a_container_takes_over_one_of_its_kind():
    to = ours.Array([1])
    lane.move_object(to, ours.Array([2, 3]))
    assert list(to) == [2, 3]
    for other in (ours.List([1]), ours.Map({}), ours.testing.TestIntPair(1, 2)):
        with pytest.raises(fnabi.CallError, match="expected an object with fields"):
            lane.move_object(to, other)


def by_callee(of):
    ours.convert(lambda value: None)(of._move())


def by_another(of):
    lane.move_object(of, type(of)({}))


@pytest.mark.parametrize("move", [by_callee, by_another])
@pytest.mark.parametrize("kind", [ours.Map, ours.Dict])
def test_an_iterator_goes_on_over_what_is_moved(kind, move):
    pairs = {number: str(number) * 20 for number in range(50)}
    for _ in range(20):
        moved = kind(pairs)
        items = iter(moved.items())
        first = next(items)
        move(moved)
        others = [kind({1: 2}) for _ in range(20)]
        assert dict([first, *items]) == pairs
        assert (len(moved), len(others)) == (0, 20)


@pytest.mark.parametrize("kind", [ours.Array, ours.List, ours.Map, ours.Dict])
@pytest.mark.parametrize(
    "work", [repr, list, lambda of: of == other_of(of)], ids=["repr", "list", "=="]
)
def test_a_container_that_is_moved_while_it_is_read(kind, work):
    """By what its values do in Python."""

    class Moves:
        def __repr__(self):
            by_callee(moved)
            return "moves"

        def __eq__(self, other):
            by_callee(moved)
            return True

        __hash__ = object.__hash__

    values = [Moves(), *(str(number) * 20 for number in range(50))]
    for _ in range(20):
        moved = kind(values) if kind in (ours.Array, ours.List) else kind(dict(enumerate(values)))
        found = work(moved)
        assert found is not None


def test_a_dict_that_is_moved_while_it_is_cleared():
    class Moves:
        def __del__(self):
            by_callee(cleared)
            others.extend(ours.Dict({1: 2}) for _ in range(20))

    for size in (3, 40):
        for key in (0, size - 1):
            others = []
            cleared = ours.Dict(dict.fromkeys(range(size)))
            cleared[key] = Moves()
            cleared.clear()
            assert [len(other) for other in others] == [1] * 20


def other_of(of):
    values = [object(), *(str(number) * 20 for number in range(50))]
    return type(of)(values if isinstance(of, (ours.Array, ours.List)) else dict(enumerate(values)))


def test_streams():
    device = ours.device("cuda:1")
    with ours.use_raw_stream(device, 77):
        assert ours.get_raw_stream(device) == 77
        assert fnabi.get_raw_stream(fnabi.Device("cuda", 1)) == 77
        assert theirs.get_raw_stream(theirs.device("cuda:1")) == 77
        handles = ctypes.c_void_p(78), ctypes.c_void_p(77)
        assert [ours.core._env_set_current_stream(2, 1, each) for each in handles] == [77, 78]
    assert ours.get_raw_stream(device) == 0


def test_functions_of_a_dialect():
    """Their class is called as fast as fnabi's own, also where it is derived in Python."""
    function = ours.get_global_func("testing.echo")
    assert type(function).__call__ is ours.Function.__call__

    class Mine(ours.Function):
        pass

    mine = Mine()
    with pytest.raises(fnabi.CallError, match="left no error"):
        mine(1)
    mine.__move_handle_from__(ours.convert(lambda x: [x]))
    assert type(mine(1)) is ours.Array
    with pytest.raises(fnabi.CallError, match="expected one without code"):
        mine.__move_handle_from__(function)
    address = ours.get_global_func("testing.get_mlir_add_one_c_symbol")()
    assert fnabi.Function.from_address(address, packed=True)(1) == 2


@pytest.mark.parametrize(
    "work",
    [
        lambda echo, objects: echo([1, {"a": objects["array"]}]),
        lambda echo, objects: echo("longer than seven"),
        lambda echo, objects: echo(objects["pair"]).a,
        lambda echo, objects: ours.Array([objects["array"], "longer than seven"])[1],
        lambda echo, objects: ours.testing.TestObjectDerived({"a": objects["pair"]}, [1]).v_map,
        lambda echo, objects: copy.copy(objects["pair"]),
        lambda echo, objects: echo(ours.Array([1])._move()),
        lambda echo, objects: ours.convert(lambda x: x)(objects["array"]),
        lambda echo, objects: repr(objects["array"]),
        lambda echo, objects: fails(),
    ],
)
def test_references(work):
    """What is made is released again."""
    echo = ours.get_global_func("testing.echo")
    count = ours.get_global_func("testing.object_use_count")
    objects = {"array": ours.Array([1]), "pair": ours.testing.TestIntPair(1, 2)}
    work(echo, objects)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(2_000):
        work(echo, objects)
    gc.collect()
    assert len(gc.get_objects()) - before < 200
    assert count(objects["array"]) == 1
    assert count(objects["pair"]) == 1


def fails():
    with pytest.raises(ValueError, match="text"):
        ours.testing.test_raise_error("ValueError", "text")


def test_a_library_that_registers():
    """The classes of xgrammar, as its Python package defines them."""
    library = installed_library("xgrammar", "libxgrammar_bindings.so")
    program = """
    import sys
    import fnabi.dropin.tvm_ffi as tvm_ffi
    module = tvm_ffi.load_module(sys.argv[1])

    @tvm_ffi.register_object("xgrammar.tvm_ffi_binding.Grammar")
    class Grammar(tvm_ffi.Object):
        def __len__(self):
            return len(self.to_string())

    grammar = Grammar.from_ebnf('root ::= "a" | "b"', "root")
    print(type(grammar) is Grammar, len(grammar), module)
    """
    assert run_apart(program, library).startswith("True 25 ffi.Module(")


def test_libraries_of_distributions():
    library = ours.libinfo.load_lib_module("apache-tvm-ffi", "tvm_ffi_testing")
    assert type(library) is ours.Module
    assert library.kind == "library"
    folders = [Path(ours.libinfo.find_libtvm_ffi()).parent]
    again = ours.libinfo.load_lib_module("no-such-package", "tvm_ffi_testing", True, folders)
    assert again.kind == "library"
    with pytest.raises(RuntimeError, match="Cannot find library libnothing"):
        ours.libinfo.load_lib_ctypes("apache-tvm-ffi", "nothing", "RTLD_LOCAL")
    assert Path(ours.libinfo.include_paths()[0]).is_dir()


def test_installed_as_the_original():
    program = """
    import fnabi.dropin.tvm_ffi as ours
    import fnabi.dropin.tvm_ffi.core
    ours.install()
    ours.install()
    import tvm_ffi
    import tvm_ffi.testing
    from tvm_ffi.libinfo import find_libtvm_ffi
    from tvm_ffi.core import Object
    assert tvm_ffi is ours
    assert tvm_ffi.core is fnabi.dropin.tvm_ffi.core
    assert Object is ours.Object
    assert ours.testing is tvm_ffi.testing
    assert ours.core.__spec__.name == "fnabi.dropin.tvm_ffi.core"
    assert fnabi.library.runtime_path() == find_libtvm_ffi()
    from tvm_ffi.dataclasses.py_class import py_class
    assert tvm_ffi.dataclasses.py_class is py_class
    print(type(fnabi.Function(lambda: tvm_ffi.device("cpu"))()))
    try:
        import tvm_ffi.no_such_module
    except ModuleNotFoundError as problem:
        print(problem)
    """
    assert run_apart(program).splitlines() == [
        "<class 'fnabi.calls.tensor.Device'>",
        "No module named 'tvm_ffi.no_such_module'",
    ]
    with pytest.raises(ImportError, match="is imported already"):
        ours.install()


@pytest.mark.unsanitized("it starts the interpreter without the library of the sanitizer")
def test_compiled_by_the_original(monkeypatch):
    with pytest.raises(RuntimeError, match="cannot compile it"):
        ours.cpp.build("nothing", sources=[])


def test_the_error_of_an_int_outside_int64_is_the_librarys() -> None:
    add = ours.load_module(callee_library()).add
    with pytest.raises(TypeError, match="argument 0 must be int"):
        add(2**63, 1)


def test_dtypes_and_types_have_a_hash():
    core = ours.core
    assert core.DataType("int8") == core.DataType("int8") != core.DataType("int8x2")
    assert len({core.DataType("int8"), core.DataType("int8"), core.DataType("int8x2")}) == 2
    union = core.TypeSchema.from_annotation(int | str)
    assert len({union, core.TypeSchema.from_annotation(int | str), core.TypeSchema("int")}) == 2
    moved = core.TypeSchema.from_json_obj({"type": "ObjectRValueRef", "args": [{"type": "int"}]})
    assert moved == core.TypeSchema("int")  # a parameter that is moved accepts what it refers to


def test_texts_of_what_describes_types():
    info = ours.testing.TestIntPair.__tvm_ffi_type_info__
    key = "testing.TestIntPair"
    assert repr(info) == f"TypeInfo(type_key={key!r}, type_index={info.type_index})"
    assert [repr(each) for each in info.fields] == ["TypeField(name='a')", "TypeField(name='b')"]
    shown = [repr(each) for each in ours.dataclasses.fields(ours.testing.TestIntPair)]
    assert shown == ["Field(name='a')", "Field(name='b')"]
    with pytest.raises(AttributeError, match="TestIntPair: the type of a class cannot be changed"):
        ours.testing.TestIntPair.__tvm_ffi_type_info__ = 3


def test_functions_are_objects():
    assert issubclass(ours.Function, ours.Object)
    assert isinstance(ours.convert(len), ours.Object)
    assert not issubclass(int, ours.Object)


def test_tensors_of_a_framework_for_a_callback():
    torch = pytest.importorskip("torch")
    for package in (theirs, ours):
        function = package.convert_func(lambda x, y: f"{type(x)}{y}", tensor_cls=torch.Tensor)
        assert function(np.zeros(2), 1) == f"{torch.Tensor}1"


def test_names_that_libtvm_ffi_lacks():
    api = import_module("fnabi.dropin.tvm_ffi._ffi_api")
    with pytest.raises(AttributeError, match=r"libtvm_ffi has no function ffi\.Nothing"):
        _ = api.Nothing
    assert api.StructuralEqual([1], [1], False, False)


def test_a_module_gets_the_functions_of_its_own_namespace_alone(monkeypatch):
    """Not those of the namespaces below it, whose names are none of Python."""
    for package in (ours, theirs):
        of = package.__name__.rpartition(".")[2] if package is theirs else "fnabi_tests"
        module = ModuleType(f"{of}.namespace")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        for name in ("first", "below.second"):
            package.register_global_func(f"{module.__name__}.{name}", lambda: 1, override=True)
        package.init_ffi_api(module.__name__)
        assert [each for each in vars(module) if not each.startswith("__")] == ["first"]


def test_functions_without_a_name_are_not_registered():
    for name in (3, type("Callable", (), {"__call__": len})()):
        with pytest.raises(ValueError, match="expect string function name"):
            ours.register_global_func(name, len)


def test_the_testing_functions_come_with_their_module() -> None:
    """The extension of the original needs their library; here `testing` loads it."""
    program = """
        import sys
        from importlib import import_module

        package = import_module(sys.argv[1])
        print(package.get_global_func("testing.echo", True))
        import_module(f"{package.__name__}.testing")
        print(package.get_global_func("testing.echo")(5))
    """
    assert run_apart(program, "tvm_ffi").split() == ["ffi.Function", "5"]
    assert run_apart(program, "fnabi.dropin.tvm_ffi").split() == ["None", "5"]
