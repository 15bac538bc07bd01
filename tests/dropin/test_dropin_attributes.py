"""Attributes that Python gives to objects of the drop-in, and how long they last."""

from __future__ import annotations

import copy
import gc
import random
import sys
import sysconfig
import weakref
from typing import Any

import pytest

from support.apart import run_apart
from support.callee import built
from support.paths import DATA

pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
tvm_ffi: Any = pytest.importorskip("fnabi.dropin.tvm_ffi", exc_type=ImportError)
py_class = tvm_ffi.dataclasses.py_class


class Value:
    """An attribute whose end can be seen."""


class Mixin:
    def greet(self) -> str:
        return f"hello {self.name}"  # type: ignore[attr-defined]


@py_class("test.attributes.Base")
class Base(tvm_ffi.Object):  # type: ignore[misc]
    number: int


@py_class("test.attributes.Open")
class Open(Base, Mixin):
    __slots__ = ("__dict__", "__weakref__")


def collect() -> None:
    for _ in range(3):
        gc.collect()


def test_attributes_last_as_long_as_the_object() -> None:
    made = Open(1)
    made.name, made.value = "a", Value()
    value = weakref.ref(made.value)
    assert made.greet() == "hello a"
    array = tvm_ffi.Array([made])
    del made
    collect()
    assert array[0].greet() == "hello a"
    assert array[0].number == 1
    assert array[0] is array[0]
    array[0].name = "b"
    collect()
    assert array[0].greet() == "hello b"
    del array
    collect()
    assert value() is None


def test_attributes_of_what_no_library_has_end_with_it() -> None:
    made = Open(1)
    made.value = Value()
    value, itself = weakref.ref(made.value), weakref.ref(made)
    del made
    assert value() is None
    assert itself() is None


def test_cycles_are_collected() -> None:
    made = Open(1)
    made.me, made.value = made, Value()
    array = tvm_ffi.Array([made])
    del made
    collect()
    assert array[0].me is array[0]
    assert isinstance(array[0].value, Value)
    del array
    collect()
    assert not any(type(each) is Value for each in gc.get_objects())


def test_a_cycle_through_two_objects() -> None:
    one, two = Open(1), Open(2)
    one.other, two.other = two, one
    one.value = Value()
    value = weakref.ref(one.value)
    del one, two
    collect()
    assert value() is None


def test_many_that_a_library_drops() -> None:
    values = weakref.WeakSet[Value]()
    for i in range(5000):
        made = Open(i)
        made.value = Value()
        values.add(made.value)
        array = tvm_ffi.Array([made])
        del made, array
    collect()
    assert len(values) == 0
    kept = []
    for i in range(3000):
        made = Open(i)
        made.index = i
        kept.append(tvm_ffi.Array([made]))
    del made
    collect()
    assert [each[0].index for each in kept] == list(range(3000))
    left = random.Random(0).sample(range(3000), 1000)
    kept = [kept[index] for index in left]
    collect()
    assert [each[0].index for each in kept] == left


def test_a_class_with_a_finalizer_of_its_own() -> None:
    ended = []

    @py_class("test.attributes.Ending")
    class Ending(Base):
        __slots__ = ("__dict__",)

        def __del__(self) -> None:
            ended.append(self.name)

    made: Any = Ending(1)
    made.name = "x"
    del made
    assert ended == ["x"]


def test_slots() -> None:
    @py_class("test.attributes.Slotted")
    class Slotted(Base):
        __slots__ = ("extra",)

    made: Any = Slotted(3)
    made.extra = Value()
    value = weakref.ref(made.extra)
    array = tvm_ffi.Array([made])
    del made
    collect()
    assert array[0].extra is value()
    assert array[0].number == 3
    del array
    collect()
    assert value() is None


def test_a_moved_object_leaves_its_attributes() -> None:
    made = Open(1)
    made.name = "a"
    taken = tvm_ffi.get_global_func("testing.nop", allow_missing=True)
    array = tvm_ffi.Array([made])
    tvm_ffi.convert(lambda moved: None)(made._move())
    again = array[0]
    assert again.number == 1
    assert again is not made
    assert taken is None or callable(taken)


def test_an_object_that_a_library_kept_is_moved() -> None:
    """Its attributes end with the Python object, and no later object gets them."""
    made = Open(1)
    made.value = Value()
    value = weakref.ref(made.value)
    array = tvm_ffi.Array([made])
    del made
    again = array[0]
    tvm_ffi.convert(lambda moved: None)(again._move())
    del again
    assert value() is None
    assert array[0].number == 1
    assert not hasattr(array[0], "value")


def test_a_python_object_gets_an_object_that_others_have() -> None:
    """What it had before is not its own any more."""
    known, other = Open(3), Open(4)
    array = tvm_ffi.Array([other])
    other.name = "other"
    other.__init_handle_by_constructor__(tvm_ffi.convert(lambda: known))
    assert other.number == 3
    assert array[0].number == 4
    assert array[0] is not other
    assert not hasattr(array[0], "name")


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="CPython 3.12 and 3.13 may end the process without memory"
)
@pytest.mark.unmeasured("allocations of coverage would fail, too")
def test_what_gets_no_place_in_the_table() -> None:
    """The table grows at 33 objects of Python, and at 65; without memory none of them is left."""
    include = f"-I{sysconfig.get_path('include')}"
    refusing = built("refusing", "cc", "-O2", include, str(DATA / "allocations" / "refusing.c"))
    told = run_apart(
        """
        import sys
        sys.modules["torch"] = None  # tvm_ffi would import it, which takes long
        from dropin.test_dropin_attributes import Open, tvm_ffi
        from support.initialisation import initialised
        from support.leaks import strong_count
        refusing = initialised("refusing", sys.argv[1])
        def kept_object(number):
            made = Open(number)
            return tvm_ffi.Array([made]), strong_count(made)
        most, found = [], []
        for array, count in [*map(kept_object, range(70))]:
            before, number, problem = count.value, 0, MemoryError()
            while problem is not None:
                number += 1
                value, problem, _ = refusing.run(lambda: array[0], number, number)
                assert count.value == before + (value is not None)
            most.append(number)
            found.append(value)
        print(max(most) > min(most))
        """,
        refusing,
    )
    assert told.split() == ["True"]


def test_many_that_end_in_any_order() -> None:
    made = [Open(i) for i in range(2000)]
    arrays = [tvm_ffi.Array([each]) for each in made]
    del made[::2], arrays[::2]
    assert [each[0] is one for each, one in zip(arrays, made, strict=True)] == [True] * 1000


def test_fields_with_the_names_of_what_classes_have() -> None:
    @py_class("test.attributes.Named")
    class Named(tvm_ffi.Object):  # type: ignore[misc]
        fields: int
        methods: str
        type_key: str
        ancestors: int

    made = Named(1, "m", "k", 2)
    assert (made.fields, made.methods, made.type_key, made.ancestors) == (1, "m", "k", 2)
    made.fields = 5
    assert made.fields == 5
    assert "fields=5" in repr(made)


def test_copies_of_containers() -> None:
    inner = [1, 2]
    for made in (
        tvm_ffi.Array([inner]),
        tvm_ffi.List([inner]),
        tvm_ffi.Map({"a": inner}),
        tvm_ffi.Dict({"a": inner}),
    ):
        found = copy.copy(made)
        assert type(found) is type(made)
        assert not found.same_as(made)
        assert repr(found) == repr(made)
        key = 0 if isinstance(made, (tvm_ffi.Array, tvm_ffi.List)) else "a"
        assert found[key].same_as(made[key])


def test_a_class_without_attributes_has_none() -> None:
    made = Base(1)
    with pytest.raises(AttributeError):
        made.extra = 1


def test_a_constructor_may_return_an_object_that_others_have() -> None:
    """As a library does that has one object for equal values."""
    known = Open(3)
    known.name = "known"
    find = tvm_ffi.convert(lambda: known)
    for _ in range(2):
        other = Open.__new__(Open)
        other.__init_handle_by_constructor__(find)
        assert (known.number, other.number) == (3, 3)
        assert other.same_as(known)
        assert known.name == "known"
    del other
    collect()
    assert find() is known


def test_a_type_without_an_initialiser() -> None:
    with pytest.raises(TypeError, match="`StructuralVisitor` cannot be constructed directly"):
        tvm_ffi.structural.StructuralVisitor()
