"""Types of libraries without libtvm_ffi: in fnabi's own table, with the answers of the real one.

The library is compiled against the original's headers; each program runs in two processes, in one
of which the original is not installed.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from fnabi.calls import _builtin as builtin
from fnabi.calls import _stand_in as stand_in
from support.apart import run_apart
from support.callee import installed_library, tvm_ffi_folder, typed_library
from support.sanitizers import SANITIZE

if not stand_in.names():
    pytest.skip("the dynamic linker has no absolute symbols", allow_module_level=True)

ABSENT = 'import sys; sys.modules["tvm_ffi"] = None; sys.modules["torch"] = None\n'
PRESENT = 'import sys; sys.modules["torch"] = None; import tvm_ffi\n'

BEGIN = """
import fnabi
lib = fnabi.load_module(sys.argv[1])
def of(name): return fnabi.get_global_func("typed." + name)
def tell(function, *args, **named):
    try: answer = function(*args, **named)
    except Exception as problem: answer = type(problem).__name__ + ": " + str(problem)
    print(repr(answer))
Pair, Triple, Counter = (fnabi.get_type("typed." + name) for name in ("Pair", "Triple", "Counter"))
"""


def both(program: str, path: str) -> list[str]:
    """Return what a program prints without libtvm_ffi; it prints the same with it."""
    told = [run_apart(way + BEGIN + dedent(program), path) for way in (ABSENT, PRESENT)]
    assert told[0] == told[1]
    return told[0].splitlines()


def test_all_functions_are_provided() -> None:
    headers = [
        tvm_ffi_folder() / "include/tvm/ffi" / name for name in ("c_api.h", "extra/c_env_api.h")
    ]
    declared = re.compile(r"^TVM_FFI_DLL [\w\s*]*?\b(TVMFFI\w+)\(", re.MULTILINE)
    names = {name for header in headers for name in declared.findall(header.read_text())}
    assert len(names) == 50
    assert names <= stand_in.names()


COLUMNS = """
import ctypes
from fnabi._base import lane
if sys.argv[1] == "theirs":
    column = ctypes.CDLL(sys.argv[2]).TVMFFIGetTypeAttrColumn
    column.restype = ctypes.c_void_p
else:
    column = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(
        lane.stand_in_symbols()["TVMFFIGetTypeAttrColumn"])
class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]
for name in sys.argv[3:]:
    text = Text(name.encode(), len(name))
    if column(ctypes.byref(text)): print(name)
"""


def test_the_columns_of_attributes_are_there_from_the_start() -> None:
    """A library that reads one while it is loaded ends the process where it is missing."""
    headers = (tvm_ffi_folder() / "include/tvm/ffi").rglob("*.h")
    names = {name for each in headers for name in re.findall(r'"(__\w+__)"', each.read_text())}
    runtime = str(tvm_ffi_folder() / "lib" / "libtvm_ffi.so")
    told = [
        run_apart("import sys\n" + COLUMNS, way, runtime, *sorted(names))
        for way in ("theirs", "ours")
    ]
    assert told[0] == told[1]
    assert "__ffi_enum__" in told[0]
    assert len(names) > len(told[0].splitlines()) > 15


LIBRARY_OF_A_WHEEL = """
import fnabi
lib = fnabi.load_module(sys.argv[1])
print(sorted(lib.functions), lib.testing_dll_schema_id_int(3))
for name in ("echo", "nop", "add_one", "object_use_count", "echo_object", "schema_id_list_int"):
    try: answer = fnabi.get_global_func("testing." + name)(*([] if name == "echo" else [[3]]))
    except Exception as problem: answer = type(problem).__name__ + ": " + str(problem)
    print(name, answer)
"""


def test_a_library_that_registers_enums() -> None:
    """And code that reads one argument more than it is given, `testing.echo`, finds None."""
    path = str(tvm_ffi_folder() / "lib" / "libtvm_ffi_testing.so")
    told = [run_apart(way + LIBRARY_OF_A_WHEEL, path) for way in (ABSENT, PRESENT)]
    assert told[0] == told[1]
    assert "echo None" in told[0].splitlines()


@pytest.mark.parametrize("visibility", ["default", "hidden"])
def test_types_and_their_functions(visibility: str) -> None:
    told = both(
        """
        import inspect
        for each in (Pair, Triple, Counter):
            print(each, each.ancestors, inspect.signature(each), each.__doc__)
            print([(f.name, f.__doc__, str(f.schema), f.has_default) for f in each.fields.values()])
            print(list(each.methods))
        pair, triple = Pair(3, rest=[1, 2]), Triple(4, 2.5, "three", rest=[])
        print(pair, triple, isinstance(triple, Pair))
        pair.first = 5
        pair.rest = [7]
        tell(setattr, pair, "first", "five")
        tell(setattr, triple, "last", 1.0)
        for name in ("sum", "last", "key", "is_pair"):
            for value in (pair, triple, Counter(1), 3, "a", "a longer text", [pair], {}, 2**70):
                tell(of(name), value)
        counter = Counter(40)
        print(counter.add(2), counter.count)
        print(counter == counter, Counter(1) == Counter(1), len({pair, pair, triple}))
        Mark, Shown, Odd = (fnabi.get_type("typed." + name) for name in ("Mark", "Shown", "Odd"))
        print(repr(Mark()).startswith("<typed.Mark at 0x"), Shown(5), Shown(-5))
        odd = Odd(**{"class": 5})
        print(odd, getattr(odd, "class"), getattr(odd, "two words"), getattr(odd, "in")())
        print(odd.__doc__, Odd.fields["__doc__"].__get__(odd))
        tell(inspect.signature, Odd)
        print(inspect.signature(Odd.methods["in"]))
        """,
        typed_library(visibility),
    )
    assert told[0].startswith("<class Pair of typed.Pair> (<class Object of ffi.Object>,)")
    assert any("Expected `typed.Triple` but got `typed.Pair`" in line for line in told)


def test_kinds_of_errors_of_initialisers() -> None:
    program = """
    for args, named in (((), {}), ((1,), {}), ((1, "a", 3), {}), ((1,), {"rest": [], "first": 2}),
                        ((1,), {"rest": [], "more": 2}), (("a",), {"rest": []}),
                        ((1,), {"rest": 4})):
        try: Pair(*args, **named)
        except Exception as problem: print(type(problem).__name__)
        else: print("made")
    """
    assert set(both(program, typed_library())) == {"TypeError"}


def test_a_name_without_a_value() -> None:
    """It is the last argument of an initialiser, with nothing after it."""
    told = run_apart(
        ABSENT
        + BEGIN
        + """
from fnabi._base import lane
make, marker = lane.type_attribute(Pair.type_index, "__ffi_init__"), lane.initialiser_marker()
tell(make, 1, marker, "rest", [2], "first")
tell(make, 1, marker, "rest", [2], "more")
tell(make, 1, marker, "rest")
""",
        typed_library(),
    )
    for line, name in zip(told.splitlines(), ("first", "more", "rest"), strict=True):
        assert f"no value for the field {name}" in line


def test_functions_values_and_errors() -> None:
    both(
        """
        tell(of("add"), 1, 2)
        print(of("add").schema, of("add").__signature__)
        print(of("undescribed")(2), of("undescribed").schema)
        tell(of("add"), 1)
        tell(of("add"), 1, "b")
        tell(of("fail"), "luck")
        tell(of("apply"), lambda x: x * 2, 21)
        def fails(x): raise LookupError(f"no {x}")
        try: of("apply")(fails, 3)
        except LookupError as problem: print(problem)
        tell(of("total"), {"a": 1, "b": 2, "a longer key": 3})
        tell(of("total"), {"a": "b"})
        for count in (0, 3, 4, 5, 40): tell(lambda: dict(of("numbered")(count)))
        for value in (2**70, -(2**63), 2**63, -(2**200), 5): tell(of("negated"), value)
        print(sorted(of("names")()))
        of("remove")("typed.add")
        print(fnabi.get_global_func("typed.add", allow_missing=True))
        for name in ("version", "allocated", "released", "registered"): tell(of(name))
        """,
        typed_library(),
    )


def test_dtypes() -> None:
    told = both(
        """
        names = '''
            int int8 i8 uint16 u1 float f16 float64 bfloat bf16 bool bool8 bool1 handle handle32
            void float8_e4m3fn float8_e4m3 fp8_e5m2 f8_e8m0fnu float6_e2m3fn fp6_e3m2fn
            float4_e2m1fn f4_e2m1fn float4_e2m1fn_x2 float8_e4m3b11fnuz float8_e5m2fnuz
            float8_e3m4 float8_e4m3fnuz int8x4 int32xvscalex4 float32x1 int0 float0x2 int256
            int8x0 int8x intx4 int8x65536 xint complex64 float8_e9 float8_ fp8_e4m3fnx4
            float8_e4m3fn_x4 int8 _ f b i u bf fp custom int32xvscale int32xvscale4
            int32xvscalex boolx4 handlex2 float4_e2m1fnx2 uint4x8 INT8
        '''.split()
        for name in [*names, "", "int8 ", " int8", "int8\\0"]:
            try: print(name, of("read_dtype")(name))
            except ValueError: print(name, "none")
        for code in (*range(5), *range(6, 18)):
            for bits, lanes in ((8, 1), (0, 0), (32, 4), (1, 1), (16, 65532), (64, 0), (4, 65535)):
                tell(of("write_dtype"), code, bits, lanes)
        """,
        typed_library(),
    )
    assert "int32xvscalex4 0 32 -4 int32xvscalex4" in told


def test_views_of_tensors() -> None:
    pytest.importorskip("numpy")
    both(
        """
        import numpy, weakref
        whole = numpy.arange(12, dtype="int32").reshape(3, 4)
        row, held = of("row")(whole, 1), weakref.ref(whole)
        print(numpy.asarray(row), row.shape)
        del whole
        print(held() is not None, numpy.asarray(row))
        """,
        typed_library(),
    )


def test_the_functions_that_libraries_look_up() -> None:
    pytest.importorskip("numpy")
    told = both(
        """
        import numpy
        ffi = lambda name, *args: fnabi.get_global_func("ffi." + name)(*args)
        array, values = ffi("Array", 1, "b", None), ffi("List", 3, 4, 5)
        tell(ffi, "ArraySize", array)
        tell(ffi, "ArrayGetItem", array, 1)
        tell(ffi, "ArrayContains", array, "b")
        tell(ffi, "ListSize", values)
        for name, *args in (("Append", 6), ("Insert", 0, 2), ("SetItem", 1, 9), ("GetItem", 2),
                            ("Pop", 3), ("Contains", 9), ("Erase", 0), ("Reverse",),
                            ("ReplaceSlice", 0, 1, [7, 8]), ("Reserve", 90), ("EraseRange", 0, 2),
                            ("Clear",)):
            print(name, ffi("List" + name, values, *args), list(values))
        for kind in ("Map", "Dict"):
            mapping = ffi(kind, "a", 1, "b", 2)
            print(ffi(kind + "Size", mapping), ffi(kind + "Count", mapping, "c"))
            print(ffi(kind + "GetItem", mapping, "b"))
            missing = ffi(kind + "GetItemOrMissing", mapping, "c")
            print(missing == ffi("GetInvalidObject"), ffi(kind + "GetItemOrMissing", mapping, "a"))
            walk, seen = ffi(kind + "ForwardIterFunctor", mapping), []
            while True:
                seen.append((walk(0), walk(1)))
                if not walk(2): break
            print(seen)
        for name, *args in (("SetItem", "c", 3), ("Erase", "a"), ("Clear",)):
            ffi("Dict" + name, mapping, *args)
            print(dict(mapping))
        print(ffi("Shape", 2, 3), ffi("String", "text"), ffi("Bytes", b"data"))
        print(ffi("json.Parse", '[1, {"a": [null, 2.5, "b"]}]'))
        print(ffi("json.Stringify", [1, {"a": None}], None))
        print(ffi("GetKwargsObject") == ffi("GetKwargsObject"), ffi("GetKwargsObject") == missing)
        print("typed.Pair" in ffi("GetRegisteredTypeKeys"))
        print(ffi("GetGlobalFuncMetadata", "typed.add"))
        text = "a'b" + chr(34) + chr(10) + chr(92) + chr(1) + chr(233) + chr(0x20ac) + chr(0x1f600)
        ring = fnabi.List([1])
        ring.append(ring)
        pair = Pair(3, text, rest=[1])
        for value in (1, True, None, 2.5, 1e20, 1 / 3, float("nan"), float("-inf"), text, 2**70,
                      b"a" + bytes([0, 34]), [1, [2]], [1], [], {"a": {"b": 2}}, {}, values, ring,
                      fnabi.Shape((2, 3)), fnabi.Shape(()), fnabi.Device("cuda:1"), lambda x: x,
                      ValueError("x"), pair, Triple(1, 2.5, rest=[]), [pair, pair, {"b": pair}],
                      Counter(3), fnabi.get_type("typed.Mark")(),
                      [fnabi.get_type("typed.Shown")(5)], numpy.zeros((2, 3), "int8")):
            print(ffi("ReprPrint", value))
        for name, *args in (("ArrayGetItem", array, 3), ("MapGetItem", ffi("Map"), 1),
                            ("ListErase", values, 0), ("Map", 1)):
            try: ffi(name, *args)
            except Exception as problem: print(type(problem).__name__)
        """,
        typed_library(),
    )
    assert len(told) > 20
    assert builtin.find("ffi.NoSuchFunction") is None


def test_no_signal_waits_after_the_end_of_python() -> None:
    told = run_apart(ABSENT + BEGIN + 'of("at_exit")()', typed_library())
    assert told == "at exit: 0\n"


def test_a_walk_past_the_end_of_a_map() -> None:
    """It ends the process with libtvm_ffi."""
    told = run_apart(
        ABSENT
        + BEGIN
        + """
walk = fnabi.get_global_func("ffi.MapForwardIterFunctor")({"a": 1})
for command in (2, 2, 0, 1): tell(walk, command)
""",
        typed_library(),
    )
    assert told.splitlines() == ["False"] * 2 + ["'IndexError: the map has no more pairs'"] * 2


def test_a_damaged_definition_is_an_error() -> None:
    told = run_apart(
        ABSENT
        + BEGIN
        + """
from fnabi._base import lane
index = lane.type_index_of("typed.Pair")
for call in ((lane.define_type, "typed.New", 12345), (lane.define_metadata, index, 8, 0),
             (lane.define_attribute, index, "__ffi_init__", 1), (lane.add_initialiser, 3),
             (lane.type_info, lane.OWN_TYPES + 4000),
             (lane.define_metadata, lane.OWN_TYPES - 1, 8, 0)):
    try: print(call[0](*call[1:]))
    except Exception as problem: print(type(problem).__name__, problem)
print(lane.define_type("typed.New", 64) > index, fnabi.get_type("typed.New"))
for i in range(5000):
    try: lane.define_type(f"typed.many.{i}", 64)
    except RuntimeError as problem:
        print(i > 3000, problem)
        break
""",
        typed_library(),
    )
    lines = told.splitlines()
    assert [line.split()[0] for line in lines[:-2]].count("RuntimeError") == 3
    assert lines[-1].startswith("True ")
    assert "the table is full" in lines[-1]


def test_a_field_holds_its_setter() -> None:
    told = run_apart(
        ABSENT
        + """
import gc, weakref
from fnabi._base import lane
from fnabi import Function
class Setter:
    def __call__(self, address, value): pass
setter = Setter()
held = weakref.ref(setter)
index = lane.define_type("typed.Held", 64)
layout = (8, 8, 24)
lane.define_field(index, "x", "", "", 0, layout, 1, 1, Function(setter))
del setter
gc.collect()
print(held() is not None)
"""
    )
    assert told == "True\n"


def test_a_type_keeps_a_copy_of_its_description() -> None:
    told = run_apart(
        ABSENT
        + """
import ctypes
from fnabi._base import lane
class Metadata(ctypes.Structure):
    _fields_ = [("doc", ctypes.c_void_p), ("doc_size", ctypes.c_size_t),
                ("creator", ctypes.c_void_p), ("size", ctypes.c_int32),
                ("equality", ctypes.c_int32)]
register = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.POINTER(Metadata))(
    lane.stand_in_symbols()["TVMFFITypeRegisterMetadata"])
index = lane.define_type("typed.Described", 64)
doc = ctypes.create_string_buffer(b"What it is.")
print(register(index, Metadata(ctypes.addressof(doc), 11, None, 24, 0)))
doc.value = b"Overwritten"
print(lane.type_info(index)[2])
"""
    )
    assert told == "0\nWhat it is.\n"


def test_an_index_of_no_type() -> None:
    told = run_apart(
        ABSENT
        + """
from fnabi._base import lane
for ask in lane.type_info, lane.type_size, lambda index: lane.define_attribute(index, "x", 1):
    try:
        ask(10**6)
    except Exception as problem:
        print(problem)
"""
    )
    unknown = "type index 1000000: the library has no valid record of it"
    assert told.splitlines() == [
        f"type_info: {unknown}",
        f"type_size: {unknown}",
        "no type of this table has the index",
    ]


def test_a_field_holds_its_default_once() -> None:
    told = run_apart(
        ABSENT
        + """
from fnabi import Array, Function
from fnabi._base import lane
from support.leaks import strong_count
default = Array([1])
before = strong_count(default).value
index = lane.define_type("typed.Default", 64)
setter = Function(lambda address, value: None)
lane.define_field(index, "x", "", "", 0, (8, 8, 24), 1, 1, setter, default)
print(strong_count(default).value - before)
"""
    )
    assert told == "1\n"


def test_an_object_alone_owns_what_the_factory_of_a_default_returned() -> None:
    told = both(
        """
        import gc
        Sharing, owners = fnabi.get_type("typed.Sharing"), of("owners")
        made = [Sharing(), Sharing(), Sharing([3])]
        print([list(each.shared) for each in made], owners())
        del made
        gc.collect()
        print(owners())
        """,
        typed_library(),
    )
    assert told == ["[[1, 2], [1, 2], [3]] 3", "1"]


def test_an_attribute_that_is_refused_is_let_go() -> None:
    told = run_apart(
        ABSENT
        + """
from fnabi import Array
from fnabi._base import lane
from support.leaks import strong_count
value = Array([1])
index = lane.define_type("typed.Attribute", 64)
count = strong_count(value)
for _ in range(3):
    before = count.value
    try: lane.define_attribute(index, "typed", value)
    except RuntimeError: print("refused")
    print(count.value - before)
"""
    )
    assert told.split() == ["1", "refused", "0", "refused", "0"]


def test_libraries_of_both_tables() -> None:
    """The original is loaded later: the same library is bound to it from a copy."""
    told = run_apart(
        ABSENT
        + BEGIN
        + """
import ctypes, shutil
from support.leaks import kept, strong_count
names = ("sum", "key", "apply", "names")
own = {name: of(name) for name in names}
pair = Pair(3, rest=[1, 2])
del sys.modules["tvm_ffi"]
import tvm_ffi
shutil.copy(sys.argv[1], sys.argv[2])
tvm_ffi.load_module(sys.argv[2])
original = {name: tvm_ffi.get_global_func("typed." + name) for name in names}
theirs = {name: of(name) for name in names}

@tvm_ffi.register_object("typed.Pair")
class Theirs(tvm_ffi.Object): pass

other = Theirs(5, rest=[1])
print(own["sum"](pair), theirs["sum"](other), original["sum"](other))
print(own["key"](pair), own["key"]([other]), theirs["key"](other))
print("refused")
count = strong_count(pair).value
tell(own["sum"], other)
tell(theirs["sum"], pair)
tell(theirs["key"], [1, {"a": pair}])
tell(theirs["apply"], lambda x: pair, 1)
tell(theirs["apply"], own["sum"], 1)
tell(own["apply"], theirs["sum"], pair)
tell(original["sum"], pair)
print("kept", strong_count(pair).value - count)
counted = hasattr(ctypes.CDLL(None), "mallinfo2")
print("kept", kept(lambda: own["apply"](theirs["sum"], other), [], 100)[0] if counted else 0)
print("allowed")
print(own["apply"](lambda x: x, pair) == pair, own["apply"](theirs["sum"], other))
print(own["sum"](pair), Pair(1, rest=[]), fnabi.get_type("typed.Pair") is Pair)
print(len(set(fnabi.list_global_func_names())) == len(fnabi.list_global_func_names()))
loop = fnabi.List([1])
loop.append(loop)
print(theirs["key"](loop))
""",
        typed_library(),
        os.path.join(os.path.dirname(typed_library()), "copy.so"),
    )
    lines = told.splitlines()
    first, refused, allowed = 0, lines.index("refused"), lines.index("allowed")
    assert lines[first:refused] == ["6 6 6", "typed.Pair ffi.Array typed.Pair"]
    assert lines[allowed - 2 : allowed] == ["kept 0", "kept 0"]
    for line in lines[refused + 1 : allowed - 2]:
        assert (
            re.match(
                r"'(Argument)?TypeError: .*(typed\\.Pair|ffi\\.Function)".replace("\\\\", "\\"),
                line,
            )
            or "libtvm_ffi" in line
        )
        assert "libtvm_ffi" in line
    assert allowed - refused == 10
    assert lines[allowed + 1] == "True 6"
    assert lines[-1] == "ffi.List"


def test_xgrammar_alone() -> None:
    library = installed_library("xgrammar", "libxgrammar_bindings.so")
    program = """
import fnabi
lib = fnabi.load_module(sys.argv[1])
Grammar = fnabi.get_type("xgrammar.tvm_ffi_binding.Grammar")
print(Grammar.from_ebnf('root ::= "a" [0-9]+ | "b"', "root").to_string())
print(sorted(name for name in fnabi.list_global_func_names() if name.startswith("xgrammar")))
print(sorted(Grammar.methods))
try: Grammar.from_ebnf("root ::= (", "root")
except RuntimeError as problem: print(str(problem)[12:])
"""
    assert run_apart(ABSENT + program, library) == run_apart(PRESENT + program, library)


def test_an_initialiser_that_makes_no_object() -> None:
    told = run_apart(
        ABSENT
        + """
import fnabi
from fnabi._base import lane
index = lane.define_type("typed.Number", 64)
lane.define_metadata(index, 24, 0)
lane.define_method(index, "__ffi_init__", "", "", True, fnabi.Function(lambda: 5))
print(fnabi.get_type("typed.Number")())
"""
    )
    assert told == "5\n"


def old_libtvm_ffi(tmp_path: Path) -> str:
    """Compile a libtvm_ffi that has none of the types and cannot define one."""
    source = tmp_path / "old.c"
    source.write_text(
        """
int TVMFFIFunctionGetGlobal(const void *name, void **out) { *out = 0; return 0; }
int TVMFFIFunctionSetGlobal(const void *name, void *function, int replace) { return 0; }
int TVMFFITypeKeyToIndex(const void *key, int *out) { return -1; }
const void *TVMFFIGetTypeInfo(int index) { return 0; }
const void *TVMFFIGetTypeAttrColumn(const void *name) { return 0; }
"""
    )
    library = tmp_path / "libtvm_ffi.so"
    flags = ["-shared", "-fPIC", "-w", "-Wl,-soname,libtvm_ffi.so", *SANITIZE]
    subprocess.run(["cc", *flags, source, "-o", library], check=True)
    return str(library)


def test_a_libtvm_ffi_that_lacks_types_of_later_releases(tmp_path: Path) -> None:
    """It ends the process where it is asked about their indexes."""
    told = run_apart(
        ABSENT
        + """
import ctypes, fnabi
from fnabi._base import lane
keys = ["ffi.VisitInterrupt", "ffi.BigInt", "ffi.StructuralKey", "ffi.IntEnum"]
lane.define_type("typed.Kept", 64)
print([lane.type_index_of(key) is None for key in keys], fnabi.Array([1 << 64]))
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
print([lane.type_index_of(key) is None for key in keys], lane.type_index_of("typed.Kept") > 128)
for make in (fnabi.Array, fnabi.Function(lambda x: x)):
    try: make([-1 << 64])
    except fnabi.RangeError as problem: print(problem)
""",
        old_libtvm_ffi(tmp_path),
    )
    lacks = "an int that does not fit in int64, expected a libtvm_ffi of release 0.1.15 or newer"
    assert told.splitlines() == [
        f"{[False] * 4} Array([18446744073709551616])",
        f"{[True] * 4} True",
        f"Array: values: {lacks}",
        f"function: argument 0: {lacks}",
    ]


def test_a_libtvm_ffi_that_defines_no_types(tmp_path: Path) -> None:
    told = run_apart(
        ABSENT
        + """
import ctypes
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
from fnabi import Function
from fnabi._base import lane
function = Function(lambda *all: None)
for define, *args in [
    (lane.define_type, "typed.Late", 64),
    (lane.define_field, 128, "x", "", "", 0, (8, 8, 24), 1, 1, function),
    (lane.define_method, 128, "m", "", "", False, function),
    (lane.define_attribute, 128, "a", 1),
    (lane.define_metadata, 128, 8, 0),
]:
    try: define(*args)
    except Exception as problem: print(type(problem).__name__, problem)
""",
        old_libtvm_ffi(tmp_path),
    )
    names = ["type", "field", "method", "attribute", "metadata"]
    lacks = "this libtvm_ffi defines no types"
    assert told.splitlines() == [f"CallError define_{name}: {lacks}" for name in names]
