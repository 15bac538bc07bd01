"""Types that libraries register: classes, fields, methods, equality, wrong records."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import sys
import weakref

import pytest

import fnabi
from fnabi import reflection
from fnabi._base import lane
from support.apart import run_apart
from support.builds import FREE_THREADED
from support.callee import exported, installed_library, interop_library
from support.sanitizers import check_nothing_kept, examples

pytest.importorskip("tvm_ffi")


@pytest.fixture(scope="module")
def lib():
    return fnabi.load_module(interop_library("reflected"))


@pytest.fixture
def Point(lib):
    return fnabi.get_type("tests.Point")


@pytest.fixture
def Point3(lib):
    return fnabi.get_type("tests.Point3")


@pytest.fixture
def Auto(lib):
    return fnabi.get_type("tests.Auto")


def test_the_class(Point):
    assert isinstance(Point, fnabi.ObjectType)
    assert issubclass(Point, fnabi.Object)
    assert Point.type_key == "tests.Point"
    assert Point.type_index >= 128
    assert Point.__doc__ == "A point of a plane."
    assert [*Point.fields] == ["x", "y", "tag"]
    assert [*Point.methods] == ["norm", "add", "make", "__ffi_init__"]
    assert [each.type_key for each in Point.ancestors] == ["ffi.Object"]
    assert repr(Point) == "<class Point of tests.Point>"
    assert fnabi.get_type("tests.Point") is Point
    assert "tests.Point" in fnabi.list_type_keys()


def test_records_of_fields_and_methods(Point):
    x, y, tag = Point.fields.values()
    assert (x.name, x.owner, x.__doc__) == ("x", "tests.Point", "The first coordinate.")
    assert [str(each.schema) for each in (x, y, tag)] == ["float", "float", "None"]
    assert [each.writable for each in (x, y, tag)] == [True, False, True]
    assert x.offset == 24
    assert repr(x) == "<field x of tests.Point>"
    assert repr(Point.x) == repr(x)
    norm = Point.methods["norm"]
    assert norm.__doc__ == "The square of the length."
    assert str(norm.schema) == "(tests.Point) -> float"
    assert not norm.static
    make = Point.methods["make"]
    assert make.static
    assert make(1.5, 2.0) == Point.make(1.5, 2.0) == make.__call__(*(1.5, 2.0))
    assert repr(norm) == "<method norm of tests.Point>"


def test_fields(Point):
    point = Point(3.0, 4.0)
    assert type(point) is Point
    assert point.type_key == "tests.Point"
    assert (point.x, point.y, point.tag) == (3.0, 4.0, None)
    point.x = 5.0
    assert point.x == 5.0
    point.x = 7
    assert point.x == 7.0
    for value in ("text", [1, 2], {"a": 1}, point, 2**70, 1.5, None, b"bytes that are long"):
        point.tag = value
        assert point.tag == value
    assert {"x", "y", "tag", "norm", "make", "type_key"} <= {*dir(point)}


def test_bad_values(Point):
    point = Point(3.0, 4.0)
    with pytest.raises(TypeError, match=r"^tests\.Point\.x: Cannot convert to `float`$") as caught:
        point.x = "text"
    assert caught.value.ffi_error.kind == "TypeError"
    with pytest.raises(AttributeError, match=r"tests\.Point\.y: the field is read-only"):
        point.y = 1.0
    with pytest.raises(AttributeError, match=r"tests\.Point\.x: the field cannot be deleted"):
        del point.x
    with pytest.raises(AttributeError):
        point.other = 1
    with pytest.raises(fnabi.CallError, match=r"^tests\.Point\.tag: "):
        point.tag = type("X", (), {"__tvm_ffi_value__": lambda self: self})()
    assert point.x == 3.0


def test_methods(Point):
    point = Point(3.0, 4.0)
    assert point.norm() == 25.0
    bound = point.norm
    assert bound() == 25.0
    assert bound.__self__ is point
    assert Point.norm(point) == 25.0
    assert Point.norm.__get__(point)() == 25.0
    assert (point.add(1.0).x, type(point.add(1.0))) == (4.0, Point)
    assert Point.make(1.0, 2.0).y == 2.0
    assert point.make(1.0, 2.0).y == 2.0
    assert str(inspect.signature(point.norm)) == "() -> float"
    assert str(inspect.signature(Point.norm)) == "(self, /) -> float"
    with pytest.raises(TypeError, match="expected a float"):
        point.add("x")


@pytest.mark.parametrize("first", [(), (1,), (fnabi.Array([1]),), (None,)])
def test_methods_check_their_object(Point, first):
    with pytest.raises(fnabi.CallError, match=r"expected an object of type tests\.Point, got"):
        Point.norm(*first)
    with pytest.raises(fnabi.CallError, match=r"expected an object of type tests\.Point, got"):
        Point.methods["norm"].__call__(*first)
    if first not in ((), (None,)):
        with pytest.raises(fnabi.CallError, match=r"tests\.Point\.x: expected an object"):
            Point.x.__get__(*first, type)


def test_a_class_that_is_changed_changes_no_object(Point, Auto, lib):
    """The type of the object counts: it would be read at a wrong place."""
    plain = lib.plain()
    plain.__class__ = Point
    with pytest.raises(fnabi.CallError, match=r"expected an object of type tests\.Point"):
        _ = plain.x
    with pytest.raises(fnabi.CallError, match=r"expected an object of type tests\.Point"):
        plain.norm()


def test_derived_types(Point, Point3):
    assert issubclass(Point3, Point)
    point = Point3.make3()
    assert type(point) is Point3
    assert isinstance(point, Point)
    point.z = 3.0
    assert (point.x, point.y, point.z) == (1.0, 2.0, 3.0)
    assert point.norm() == 14.0
    assert Point.norm(point) == 5.0
    assert [*Point3.fields] == ["x", "y", "tag", "z"]
    assert [each.type_key for each in Point3.ancestors] == ["ffi.Object", "tests.Point"]
    assert Point3.methods["norm"].owner == "tests.Point3"
    with pytest.raises(fnabi.CallError, match=r"tests\.Point3: the library registered no init"):
        Point3()


def test_initialisers(Point, Auto):
    with pytest.raises(TypeError, match="expected two floats"):
        Point(1.0)
    with pytest.raises(fnabi.CallError, match="by position only, got 'x' by name"):
        Point(x=1.0, y=2.0)
    if lane.type_attribute(Auto.type_index, "__ffi_init__") is None:
        pytest.skip("this tvm_ffi generates no initialisers")
    assert (Auto(1.0, 2.0).x, Auto(1.0, y=2.0).y, Auto(y=1.0, x=4.0).x) == (1.0, 2.0, 4.0)
    with pytest.raises(TypeError, match="missing"):
        Auto(1.0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        Auto(1.0, 2.0, q=1)


def test_signatures_of_classes(Point, Point3, Auto):
    assert str(inspect.signature(Point)) == "(*args: Any)"
    assert str(inspect.signature(Auto)) == "(x: float, y: float)"

    class Own(Point):
        def __new__(cls, text: str) -> Own:
            return super().__new__(cls, float(text), 0.0)

    assert list(inspect.signature(Own).parameters) == ["text"]
    assert Own("5").x == 5.0
    assert type(Own("5")) is Own
    assert list(inspect.signature(Point3).parameters) == ["args", "named"]
    assert str(inspect.signature(Point.methods["add"])) == "(self, /, *args: Any) -> Any"
    assert str(inspect.signature(Point.methods["norm"])) == "(self, /) -> float"


def test_classes_that_expect_another_layout(Point):
    """An Array would be read where there is none."""
    point = Point(1.0, 2.0)
    for other in (fnabi.Array, fnabi.Object, int):
        with pytest.raises(fnabi.CallError, match="without attributes of its own"):
            lane.as_class(point, other)
        with pytest.raises(fnabi.CallError, match="without attributes of its own"):
            lane.set_class(Point.type_index, other)

    def refuse():
        with pytest.raises(fnabi.CallError):
            lane.as_class(point, fnabi.Array)

    check_nothing_kept(refuse, fnabi.Array, fnabi.Array.__name__)


def test_a_name_like_that_of_a_type(Point):
    with pytest.raises(fnabi.NotFoundError, match=r"'tests\.Piont'; did you mean .*tests\.Point"):
        fnabi.get_type("tests.Piont")


def test_a_dialect_without_a_class_takes_that_of_fnabi(Point):
    made = lane.Dialect()(getattr, fnabi.Any(Point(1.0, 2.0)), "value")
    assert type(made) is Point


def test_a_dialect_keeps_the_last_class(Point):
    dialect = lane.Dialect()

    def set_class():
        made = type("Other", (Point,), {"__slots__": ()})
        lane.set_class(Point.type_index, made, dialect)
        return weakref.ref(made)

    first, second = set_class(), set_class()
    gc.collect()
    assert first() is None
    assert second() is not None


def test_equality_and_hash(Point, Point3, Auto):
    a, b = Point(1.0, 2.0), Point(1.0, 2.0)
    assert a == b
    assert hash(a) == hash(b)
    b.x = 5.0
    assert a != b
    assert a != (1.0, 2.0)
    x, y = Point3.make3(), Point3.make3()
    assert x != y
    same = fnabi.Array([x])[0]
    assert same is not x
    assert same == x
    assert hash(same) == hash(x)
    p, q = Auto.__new__(Auto, 1.0, 2.0), Auto(1.0, 3.0)
    assert p == q
    assert hash(p) == hash(q)
    assert p != Auto(2.0, 2.0)
    assert p.__eq__(1.0) is NotImplemented
    assert fnabi.Array([p])[0] == p


def test_repr(Point, Auto, lib):
    point = Point(1.0, 2.0)
    assert repr(point) == "tests.Point(x=1.0, y=2.0, tag=None)"
    point.tag = [point, "a"]
    assert repr(point) == "tests.Point(x=1.0, y=2.0, tag=Array([tests.Point(...), 'a']))"
    point.tag = None
    assert repr(Auto(1.0, 2.0)) == "Auto!"
    assert repr(lib.plain()).startswith("tests.Plain(failing=<ValueError>, silent=<CallError>")
    deep = Point(0.0, 0.0)
    for _ in range(5000):
        outer = Point(0.0, 0.0)
        outer.tag = deep
        deep = outer
    assert repr(deep).count("tests.Point(") < 50


def test_getters_that_fail(lib):
    plain = lib.plain()
    with pytest.raises(ValueError, match=r"^tests\.Plain\.failing: no such luck$"):
        _ = plain.failing
    with pytest.raises(fnabi.CallError, match="silent: the function failed with status -1"):
        _ = plain.silent
    for name in ("no_value", "null"):
        with pytest.raises(fnabi.CallError, match=f"{name}: the getter returned type index"):
            getattr(plain, name)
    with pytest.raises(AttributeError, match="read-only"):
        plain.silent = 1


def test_getters_that_fail_after_another_function(lib):
    def boom():
        raise ValueError("of another function")

    def fail():
        swallow(boom)
        with pytest.raises(fnabi.CallError, match=r"silent: .* left no error"):
            _ = plain.silent

    plain = lib.plain()
    swallow = exported(interop_library("c_odd"), "swallow")
    fail()
    swallow(fail)
    swallow(boom)
    with pytest.raises(ValueError, match="no such luck"):
        _ = plain.failing
    swallow(boom)
    assert plain.odd == 0
    fail()


def test_a_setter_that_is_a_function(lib):
    plain = lib.plain()
    plain.odd = 21
    assert plain.odd == 42
    with pytest.raises(TypeError, match=r"^tests\.Plain\.odd: expected an int$"):
        plain.odd = "x"


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("getter", "registered no valid getter"),
        ("setter", "registered no valid setter"),
        ("count", "registered -1 fields"),
        ("null", "registered 3 methods at"),
        ("name", "invalid text from a library"),
        ("method", "expected a function, got type index 0"),
        ("ancestor", "ancestor 0 is NULL"),
    ],
)
def test_wrong_records(what, text):
    """An object of such a type is a plain object, and get_type says what is wrong."""
    run_apart(
        """
        import sys, fnabi
        made = fnabi.load_module(sys.argv[1]).bad(sys.argv[2])
        assert type(made) is fnabi.Object, type(made)
        try:
            fnabi.get_type("bad." + sys.argv[2])
        except fnabi.CallError as error:
            assert sys.argv[3] in str(error), error
        else:
            raise AssertionError("get_type")
        """,
        interop_library("reflected"),
        what,
        text,
    )


def test_metadata_that_is_no_json(lib):
    made = lib.bad("metadata")
    assert made.x == 0.0
    assert type(made).fields["x"].schema is None


def test_an_object_of_no_type(lib):
    made = lib.unregistered()
    assert type(made) is fnabi.Object
    assert made.type_key is None
    assert made.type_index == 100000


def test_missing_types():
    for key in ("tests.none", "int", ""):
        with pytest.raises(fnabi.NotFoundError, match="no type has the key"):
            fnabi.get_type(key)
    with pytest.raises(fnabi.CallError, match="type_key: expected str, got int"):
        fnabi.get_type(5)


def test_types_of_this_package():
    Array = fnabi.get_type("ffi.Array")
    assert isinstance(fnabi.Array([1]), Array)
    assert not isinstance(fnabi.List([1]), Array)
    assert type(Array([1, 2])) is fnabi.Array
    assert (Array.type_key, Array.type_index) == ("ffi.Array", 71)
    assert fnabi.Array([1]).type_key == "ffi.Array"
    assert isinstance(fnabi.Map({}), fnabi.get_type("ffi.Object"))
    with pytest.raises(fnabi.CallError, match="no initialiser"):
        fnabi.get_type("ffi.Object")()


def test_without_libtvm_ffi():
    run_apart(
        """
        import fnabi
        assert fnabi.get_type("ffi.Map")({1: 2}) == {1: 2}
        assert "ffi.Map" in fnabi.list_type_keys()
        try:
            fnabi.get_type("tests.Point")
        except fnabi.NotFoundError as error:
            assert "no type has the key 'tests.Point'" in str(error)
        else:
            raise AssertionError
        assert not fnabi._base.lane.runtime_loaded()
        """
    )


def test_subclasses(lib):
    run_apart(
        """
        import sys, fnabi
        lib = fnabi.load_module(sys.argv[1])
        Point = fnabi.get_type("tests.Point")

        class Local(Point):
            def __abs__(self):
                return self.norm() ** 0.5

            @classmethod
            def unit(cls):
                return cls(1.0, 0.0)

        assert type(Local.unit()) is Local and abs(Local(3.0, 4.0)) == 5.0
        assert type(Local(1.0, 2.0).add(1.0)) is Point

        class Shared(Point, register=True):
            def __len__(self):
                return 2

        assert fnabi.get_type("tests.Point") is Shared
        assert len(Point.make(1.0, 2.0)) == 2
        assert type(Shared(1.0, 2.0).add(1.0)) is Shared
        assert Shared(1.0, 2.0) == Point(1.0, 2.0)

        class Mixin:
            pass

        for bases, namespace in (((Point,), {"__slots__": ("a",)}), ((Mixin, Point), {})):
            try:
                type(Point)("Bad", bases, namespace)
            except fnabi.CallError as error:
                assert "without attributes of its own" in str(error)
            else:
                raise AssertionError(bases)
        """,
        interop_library("reflected"),
    )


def test_copies(Auto):
    if lane.global_function("ffi.DeepCopy") is None:
        pytest.skip("this tvm_ffi copies nothing")
    path = fnabi.get_type("ffi.reflection.AccessPath").methods["_root"].function()
    for made in (copy.copy(path), pickle.loads(pickle.dumps(path))):
        assert type(made) is type(path)
        assert made == path
    with pytest.raises(fnabi.CallError, match="registered no way to copy"):
        copy.copy(Auto(1.0, 2.0))


def test_fields_that_are_registered_later(Point):
    before = Point.__fnabi_type__.methods
    Point.__fnabi_type__.methods = before[:1]
    try:
        assert fnabi.get_type("tests.Point") is Point
        assert len(Point.methods) == len(before)
    finally:
        Point.__fnabi_type__.methods = before


def test_nothing_is_leaked(lib, Point, Auto):
    live = lib.live()
    point = Point(1.0, 2.0)
    tag = fnabi.Array(["some text that is long"])
    thing = type("Thing", (), {})()
    counts = [sys.getrefcount(each) for each in (point, tag, thing)]
    nones = sys.getrefcount(None)
    for _ in range(examples(100_000)):
        point.x = 3.0
        assert point.norm() == 13.0
        point.tag = tag
        assert point.tag is not None
    for _ in range(examples(100_000)):
        assert Point(1.0, 2.0).add(1.0).x == 2.0
        assert Auto(1.0, y=2.0).y == 2.0
        assert point != Auto
    for _ in range(2_000):
        for act in (
            lambda: setattr(point, "x", "bad"),
            lambda: lib.plain().failing,
            lambda: lib.plain().null,
            lambda: Point.norm(1),
            lambda: Point("bad"),
        ):
            with pytest.raises((ValueError, TypeError, fnabi.CallError)):
                act()
        point.tag = [thing]
        point.tag = tag
        hash(point), repr(point), point == Point(3.0, 2.0)
    point.tag = None
    gc.collect()
    assert lib.live() == live + 1
    assert [sys.getrefcount(each) for each in (point, tag, thing)] == counts
    # Others use None too; a reference lost in each call would be twice as many.
    assert abs(sys.getrefcount(None) - nones) < examples(50_000)


def test_failures_keep_nothing(lib, Point):
    point, plain = Point(1.0, 2.0), lib.plain()
    acts = [
        lambda: setattr(point, "x", "bad"),
        lambda: delattr(point, "x"),
        lambda: setattr(plain, "odd", "bad"),
        lambda: plain.failing,
        lambda: plain.silent,
        lambda: plain.null,
        lambda: Point.norm(1),
        lambda: Point("bad"),
        lambda: fnabi.get_type("tests.no type\udcff"),
    ]

    def fail():
        for act in acts:
            with pytest.raises(
                (TypeError, ValueError, AttributeError, LookupError, fnabi.CallError)
            ):
                act()

    check_nothing_kept(fail, point, Point, ValueError, TypeError, None)


def test_a_failure_whose_text_cannot_be_made_keeps_nothing(Point):
    class Silent(ValueError):
        def __str__(self):
            raise MemoryError

    class Value:
        def __tvm_ffi_value__(self):
            raise Silent

    point = Point(1.0, 2.0)

    def fail():
        with pytest.raises(MemoryError):
            point.tag = Value()

    check_nothing_kept(fail, point, Silent, None)


def test_an_interrupt_while_a_failure_is_named(Point):
    class Stop(ValueError):
        def __init__(self, *text):
            if text:
                raise KeyboardInterrupt

    class Value:
        def __tvm_ffi_value__(self):
            raise Stop

    point, value = Point(1.0, 2.0), Value()

    def fail():
        with pytest.raises(KeyboardInterrupt):
            point.x = value

    check_nothing_kept(fail, point, value, Stop, KeyboardInterrupt)


@pytest.mark.parametrize(
    "what", ["getter", "setter", "count", "null", "name", "method", "ancestor"]
)
def test_wrong_records_are_freed(lib, what):
    lib.bad(f"{what} that is freed")
    key = f"bad.{what} that is freed"

    def refuse():
        with pytest.raises(fnabi.CallError):
            fnabi.get_type(key)

    check_nothing_kept(refuse, None)


def test_replaced_records_are_freed(Point):
    record = Point.__fnabi_type__
    classes = type(Point.fields["x"]), type(Point.methods["norm"])

    def read_again():
        record.methods = record.methods[:1]
        assert fnabi.get_type("tests.Point") is Point

    check_nothing_kept(read_again, *classes, None)


def test_objects_of_no_type_keep_nothing(lib):
    check_nothing_kept(lib.unregistered, fnabi.Object, None)


@pytest.mark.skipif(FREE_THREADED, reason="each thread of a free-threaded build counts classes")
def test_a_class_made_for_an_object_is_counted_once():
    """As one that is made on request."""
    found = [
        run_apart(
            """
            import sys, fnabi
            lib = fnabi.load_module(sys.argv[1])
            made = lib.plain() if sys.argv[2] == "object" else None
            Plain = fnabi.get_type("tests.Plain")
            del made
            print(sys.getrefcount(Plain))
            """,
            interop_library("reflected"),
            first,
        )
        for first in ("object", "request")
    ]
    assert found[0] == found[1]


def test_replaced_classes_are_freed():
    run_apart(
        """
        import gc, sys, weakref, fnabi
        lib = fnabi.load_module(sys.argv[1])
        Point = fnabi.get_type("tests.Point")

        def replace():
            class Local(Point, register=True):
                pass
            assert type(Point.make(1.0, 2.0)) is Local
            return weakref.ref(Local)

        seen = [replace() for _ in range(5)]
        gc.collect()
        assert [each() is None for each in seen] == [True] * 4 + [False]
        """,
        interop_library("reflected"),
    )


def test_every_type_of_libtvm_ffi():
    """Each has a class with its fields and methods."""
    for key in fnabi.list_type_keys():
        if key.startswith(("tests.", "bad.")):
            continue
        found = fnabi.get_type(key)
        assert found.type_key == key
        for name, field in found.fields.items():
            assert field.name == name
            assert field.schema is not None
        for method in found.methods.values():
            assert inspect.signature(method)
        assert reflection.class_of(found.type_index) is found


# ---------------------------------------------------------------------------- real libraries


def test_xgrammar():
    """A JSON schema is compiled, and a matcher fills bitmasks and accepts strings."""
    np = pytest.importorskip("numpy")
    fnabi.load_module(installed_library("xgrammar", "libxgrammar_bindings.so"))
    found = {
        key.rpartition(".")[2]: fnabi.get_type(key)
        for key in fnabi.list_type_keys()
        if key.startswith("xgrammar.")
    }
    vocabulary = [bytes([byte]) for byte in range(128)] + [b"</s>", b'{"a": ', b"true}"]
    tokens = found["TokenizerInfo"](vocabulary, 0, None, [128], False)
    assert tokens.vocab_size() == len(vocabulary)
    assert list(tokens.decoded_vocab())[-2:] == [b'{"a": ', b"true}"]
    grammar = found["Grammar"].from_ebnf('root ::= "{\\"a\\": " [a-z]+ "}"', "root")
    assert grammar.to_string().startswith("root ::=")
    assert str(inspect.signature(grammar.to_string)) == "() -> str"
    compiler = found["GrammarCompiler"](tokens, 1, False, -1)
    compiled = compiler.compile_grammar_ebnf(grammar)
    assert type(compiled) is found["CompiledGrammar"]
    assert compiled.memory_size_bytes() > 0
    matcher = found["GrammarMatcher"](compiled, None, False, 0, None)
    mask = np.zeros((1, (len(vocabulary) + 31) // 32), np.int32)
    assert matcher.fill_next_token_bitmask(mask, 0, False)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: len(vocabulary)]
    assert set(np.flatnonzero(bits)) == {ord("{"), 129}
    assert matcher.accept_token(129, False)
    assert matcher.accept_string("true}", False)
    assert matcher.is_completed()
    assert not matcher.accept_string("x", False)
    with pytest.raises(RuntimeError):
        found["Grammar"].from_ebnf("root ::= (", "root")


def test_the_objects_of_tvm():
    """Expressions of TVM's compiler, in a process without its Python package."""
    printed = run_apart(
        """
        import copy, inspect, pickle, sys, fnabi
        fnabi.load_module(sys.argv[1])
        make = fnabi.get_global_func("ir.IntImm")
        five, same, six = make("int32", 5, None), make("int32", 5, None), make("int32", 6, None)
        assert five.type_key == "ir.IntImm" and five.value == 5 and five.span is None
        assert five == same and hash(five) == hash(same) and five != six
        IntImm = fnabi.get_type("ir.IntImm")
        assert [*inspect.signature(IntImm).parameters][:2] == ["value", "span"]
        assert IntImm(value=7).value == 7
        assert type(five) is IntImm and [*IntImm.fields] == [*dict.fromkeys(IntImm.fields)]
        assert IntImm.ancestors[0].type_key == "ffi.Object"
        assert issubclass(IntImm, IntImm.ancestors[-1])
        line = fnabi.get_global_func("ir.Range_from_min_extent")(0, 10, None)
        print(line.min, line.extent, line)
        try:
            line.min = 5
        except AttributeError as error:
            print(error)
        assert copy.deepcopy(five) == five
        target = fnabi.get_global_func("target.Target")("llvm")
        print(target.kind.name, list(target.keys))
        for key in fnabi.list_type_keys():
            found = fnabi.get_type(key)
            for method in found.methods.values():
                inspect.signature(method)
            [field.schema for field in found.fields.values()]
            inspect.signature(found)
        print(len(fnabi.list_type_keys()) > 300, {"tvm", "tvm_ffi"} & {*sys.modules})
        """,
        installed_library("tvm", "lib/libtvm_compiler.so"),
    )
    assert printed.splitlines() == [
        "0 10 I.Range(0, 10)",
        "ir.Range.min: the field is read-only",
        "llvm ['cpu']",
        "True set()",
    ]
