from __future__ import annotations

import contextlib
import copy
import gc
import math
import pickle
import random
import signal
import sys
import threading
from collections.abc import MutableSequence, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fnabi
from fnabi import ArgumentValueError, Array, CallError, Dict, List, Map, RangeError, Shape
from fnabi._base.lane import Function
from support import callee, strategies
from support.sanitizers import FOREIGN_FREE, check_grown, examples, resident

KINDS = pytest.mark.parametrize("kind", [Array, List])
CYCLE = "maximum recursion depth exceeded|Stack overflow"  # from CPython 3.14 on


class Opaque:
    """A value that is passed unchanged and whose `==` runs a function."""

    def __init__(self, run: Any = None) -> None:
        self.run = run

    def __eq__(self, other: object) -> bool:
        if self.run:
            self.run()
        return self is other

    __hash__ = object.__hash__


class Converted:
    """A value that runs a function while it is converted."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def __tvm_ffi_value__(self) -> int:
        self.run()
        return 1


def plain(name: str) -> Function:
    return callee.exported(callee.interop_library("c_plain"), name)


def first(value: object) -> Any:
    """Return the value, created by a library."""
    return plain("first")(value)


# ------------------------------------------------------------------------------------- in and out


@pytest.mark.slow
@KINDS
@given(values=st.lists(strategies.values))
@settings(max_examples=examples(200))
def test_values_come_back(kind: Any, values: list[Any]) -> None:
    made = kind(values)
    assert made.tolist() == values
    assert list(map(type, made.tolist())) == list(map(type, values))
    assert len(made) == len(values)
    assert made == values == made
    assert made == kind(iter(values)) == kind(tuple(values)) == kind(made)
    assert eval(repr(made), {"Array": Array, "List": List, "inf": math.inf}) == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert type(pickle.loads(pickle.dumps(made))) is kind
    assert copy.copy(made) == copy.deepcopy(made) == made


def test_arguments_are_any_iterable() -> None:
    assert Array() == List() == Array([]) == []
    assert Array("añ").tolist() == ["a", "ñ"]
    assert Array({"a": 1, "b": 2}) == ["a", "b"]
    assert Array(values=range(3)) == [0, 1, 2]
    assert Array(List([1])) == Array([1])
    assert List(Array([1])) == List([1])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Array(1), "Array: values: expected an iterable, got int"),
        (lambda: List(None), "List: values: expected an iterable, got NoneType"),
        (lambda: List().extend(1), "List.extend: values: expected an iterable"),
        (lambda: Array()["a"], "Array: index: expected int or slice, got str"),
        (lambda: List().__setitem__(None, 1), "List: index: expected int or slice"),
    ],
)
def test_wrong_arguments_are_named(make: Any, text: str) -> None:
    with pytest.raises(CallError) as caught:
        make()
    assert text in str(caught.value)


@KINDS
def test_an_exception_of_the_iterable_is_its_own(kind: Any) -> None:
    def values() -> Any:
        yield 1
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        kind(values())


@KINDS
def test_containers_within(kind: Any) -> None:
    made = kind([[1, (2,)], {"a": [3]}, List([4]), Dict({5: 6})])
    assert [type(value) for value in made] == [Array, Map, List, Dict]
    assert made.tolist() == [[1, [2]], {"a": [3]}, [4], {5: 6}]
    assert repr(made) == (f"{kind.__name__}([[1, [2]], {{'a': [3]}}, List([4]), Dict({{5: 6}})])")


# ---------------------------------------------------------------------------------- as a sequence


@KINDS
@given(
    values=st.lists(strategies.leaves, max_size=12),
    start=st.none() | st.integers(-15, 15),
    stop=st.none() | st.integers(-15, 15),
    step=st.none() | st.integers(-4, 4).filter(bool),
)
def test_slices(kind: Any, values: list[Any], start: Any, stop: Any, step: Any) -> None:
    key = slice(start, stop, step)
    assert type(kind(values)[key]) is kind
    assert kind(values)[key] == values[key]


@KINDS
@given(values=st.lists(strategies.leaves, max_size=12), data=st.data())
def test_reading(kind: Any, values: list[Any], data: st.DataObject) -> None:
    made = kind(values)
    assert list(made) == values
    assert list(reversed(made)) == values[::-1]
    for i in range(-len(values), len(values)):
        assert made[i] == values[i]
    for i in (len(values), -len(values) - 1, 2**63):
        with pytest.raises(IndexError):
            made[i]
    value = data.draw(strategies.leaves | st.sampled_from(values or [0]))
    start, stop = data.draw(st.tuples(st.integers(-15, 15), st.integers(-15, 15)))
    assert (value in made) == (value in values)
    assert made.count(value) == values.count(value)
    assert index(made, value, start, stop) == index(values, value, start, stop)


def index(values: Any, *args: Any) -> int | None:
    try:
        return values.index(*args)
    except ValueError:
        return None


def test_index_that_is_absent_is_named() -> None:
    with pytest.raises(ValueError, match="'x' is not in Array"):
        Array([1]).index("x")
    with pytest.raises(ValueError, match="'x' is not in List"):
        List([1]).remove("x")


def test_an_index_larger_than_any() -> None:
    assert Array([1, 2]).index(2, -(2**70), 2**70) == 1
    made = List([1])
    for index in (2**70, -(2**70)):
        with pytest.raises(IndexError, match="List index out of range"):
            made.pop(index)
        made.insert(index, index > 0)
    assert made == [False, 1, True]
    for index in (None, 1.5):
        with pytest.raises(TypeError):
            made.index(1, index)


def test_abstract_classes() -> None:
    assert isinstance(Array(), Sequence)
    assert not isinstance(Array(), MutableSequence)
    assert isinstance(List(), MutableSequence)
    assert isinstance(Array(), fnabi.Object)
    assert Array.__module__ == "fnabi"


@KINDS
def test_patterns(kind: Any) -> None:
    match kind([1, [2, 3], "x"]):
        case [a, [b, *c], str(d)]:
            assert (a, b, c, d) == (1, 2, [3], "x")
        case _:
            pytest.fail("no sequence")


# -------------------------------------------------------------------------------------- comparing


def test_equality() -> None:
    assert Array([1, 2.0, True]) == Array([1.0, 2, 1]) == [1, 2, 1]
    assert Array([2**70]) == Array([2.0**70])
    assert Array([1]) == List([1])
    assert Array([1]) != Array([2])
    assert Array([1]) != Array([1, 1])
    assert Array(["1"]) != Array([b"1"]) != Array([1])
    assert Array([None]) != Array([0])
    assert Array([[1], {"a": 1}]) == Array([(1,), {"a": 1.0}])
    assert Array([Shape((1, 2))]) == Array([Shape((1, 2))]) != Array([Shape((2, 1))])
    assert Array([1]) != (1,)
    assert Array([1]) != 1
    same = Opaque()
    assert Array([same]) == Array([same]) != Array([Opaque()])
    with pytest.raises(TypeError):
        assert Array([1]) < Array([2])  # type: ignore[operator]


@given(values=st.lists(strategies.leaves))
def test_hash_is_that_of_equal_values(values: list[Any]) -> None:
    assert hash(Array(values)) == hash(Array(values)) == hash(tuple(values))
    numbers = [float(x) if isinstance(x, bool) else x for x in values]
    assert hash(Array(numbers)) == hash(Array(values))


def test_hash_of_what_changes() -> None:
    for value in (List(), Array([List()]), Array([[List()]])):
        with pytest.raises(TypeError, match=r"unhashable type: 'fnabi\.List'"):
            hash(value)
    assert {Array([1, [2]]): 3}[Array([1, [2]])] == 3


# ---------------------------------------------------------------------------------------- changes

ints = st.lists(st.integers(0, 5), max_size=8)
places = st.integers(-10, 10)
slices = st.builds(
    slice, st.none() | places, st.none() | places, st.none() | st.integers(-3, 3).filter(bool)
)
CHANGES = {
    "append": (st.integers(0, 5),),
    "extend": (ints,),
    "__iadd__": (ints,),
    "insert": (places, st.integers(0, 5)),
    "pop": (places,),
    "remove": (st.integers(0, 5),),
    "__setitem__": (places | slices, st.integers(0, 5) | ints),
    "__delitem__": (places | slices,),
    "reverse": (),
    "clear": (),
}
changes = st.sampled_from(sorted(CHANGES)).flatmap(
    lambda name: st.tuples(st.just(name), st.tuples(*CHANGES[name]))
)


@pytest.mark.slow
@given(values=ints, steps=st.lists(changes, max_size=12))
@settings(max_examples=examples(1000))
def test_changes_are_those_of_a_list(values: list[int], steps: list[Any]) -> None:
    made, model = List(values), list(values)
    for name, args in steps:
        outcomes = []
        for target in (made, model):
            try:
                answer = getattr(target, name)(*args)
                outcomes.append(None if name == "__iadd__" else answer)
            except (IndexError, ValueError, TypeError) as error:
                # the number of values differs from the slice; fnabi raises CallError
                kind = type(error)
                outcomes.append(ValueError if issubclass(kind, (CallError, TypeError)) else kind)
        assert outcomes[0] == outcomes[1], (name, args)
        assert made == model, (name, args)


def test_change_by_itself() -> None:
    made = List([1, 2])
    made.extend(made)
    made[1:1] = made
    assert made == [1, 1, 2, 1, 2, 2, 1, 2]
    made[::-1] = made
    assert made == [2, 1, 2, 2, 1, 2, 1, 1]
    other = made.copy()
    del other[::3]
    assert (len(made), len(other)) == (8, 5)


def test_a_list_is_shared() -> None:
    made = List([1])
    holder = Array([made])
    made.append("a longer text")
    assert holder.tolist() == [[1, "a longer text"]]
    holder[0].pop(0)
    assert made == ["a longer text"]
    assert first(made) == made
    first(made).clear()
    assert made == holder[0] == []


def test_an_array_does_not_change() -> None:
    with pytest.raises(TypeError):
        Array([1])[0] = 2  # type: ignore[index]
    with pytest.raises(TypeError):
        del Array([1])[0]  # type: ignore[attr-defined]


# ------------------------------------------------------------------------ changes during something


def test_iteration_while_the_list_changes() -> None:
    made = List(range(6))
    seen = []
    for value in made:
        seen.append(value)
        if value % 2 == 0:
            made.pop()
    assert seen == [0, 1, 2, 3]
    walk = iter(made)
    made.clear()
    assert list(walk) == []


@pytest.mark.parametrize("change", [list.clear, list.pop, lambda items: items.append(1)])
def test_the_python_list_changes_while_it_is_converted(change: Any) -> None:
    items: list[Any] = [1, "a longer text", 2]
    items[1:1] = [Converted(lambda: change(items))]
    for make in (Array, List, first, List().extend):
        with pytest.raises(CallError, match="the list changed while it was converted"):
            make(list(items) if make is None else items)
        items[:] = [1, Converted(lambda: change(items)), "a longer text", 2]


def test_the_list_changes_while_it_is_searched_and_compared() -> None:
    made = List()
    held = Opaque(made.clear)

    def fill() -> None:
        made[:] = [held, "a longer text", [1, 2, 3]] * 3

    for run in (
        lambda: made.index(Opaque()),
        lambda: made.count(Opaque()),
        lambda: Opaque() in made,
        lambda: made == List([Opaque()] * 9),
        lambda: made.remove(Opaque()),
    ):
        fill()
        with contextlib.suppress(ValueError):
            run()
        assert made == []


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs an alarm of POSIX")
def test_a_slice_that_is_interrupted_is_freed() -> None:
    def stop(*_: object) -> None:
        raise InterruptedError

    array = Array(range(1 << 20))
    old = signal.signal(signal.SIGALRM, stop)
    before = resident()
    for _ in range(40):
        with contextlib.suppress(InterruptedError):
            signal.setitimer(signal.ITIMER_REAL, 0.004)
            while True:
                array[1:]
    signal.signal(signal.SIGALRM, old)
    check_grown(before, 64 << 20)


class Printed:
    def __init__(self, run: Any) -> None:
        self.run = run

    def __repr__(self) -> str:
        self.run()
        return "Printed"


def test_the_list_changes_while_it_is_shown() -> None:
    made = List()
    made[:] = [Printed(made.clear), "a longer text"] * 3
    assert repr(made) == "List([Printed])"


def test_the_list_changes_while_values_are_put_in() -> None:
    made = List(range(10))
    made[2:8] = [Converted(made.clear), 5]
    assert made == [1, 5]
    made[:] = range(5)
    with pytest.raises(IndexError):
        made[4] = Converted(made.clear)
    assert made == []
    made.insert(7, Converted(lambda: made.extend([3, 4])))
    assert made == [3, 4, 1]


# ------------------------------------------------------------------------------------------ cycles


def test_a_list_in_itself() -> None:
    made, other = List([1]), List([1])
    made.append(made)
    other.append(other)
    assert made == made
    assert repr(made) == "List([1, [...]])"
    for run in (made.tolist, lambda: made == other):
        with pytest.raises(RecursionError, match=CYCLE):
            run()
    with pytest.raises(RecursionError):
        pickle.dumps(made)
    around = Dict({"list": made})
    made.append(around)
    assert repr(around) == "Dict({'list': List([1, [...], {...}])})"
    made.clear()
    other.clear()
    assert "RecursionError: when it contains itself" in str(List.tolist.__doc__)
    assert "that is a RecursionError" in str(List.__doc__)


def test_keys_that_are_one_in_a_dict() -> None:
    made = Map([(1, "a"), (True, "b")])
    for run in (made.todict, Array([made]).tolist, List([[made]]).tolist):
        with pytest.raises(ArgumentValueError):
            run()
    assert "two keys of a map in it are one in a dict" in str(Array.tolist.__doc__)


def test_depth() -> None:
    def deep() -> Array:
        value = Array()
        for _ in range(300_000):  # the stack has room for less, which Python 3.14 measures
            value = Array([value])
        return value

    value, same = deep(), deep()
    assert repr(value) == f"Array([{'[' * 49}[...]{']' * 49}])"
    for run in (value.tolist, lambda: value == same, lambda: hash(value)):
        with pytest.raises(RecursionError, match=CYCLE):
            run()


def nested_dict() -> dict[str, Any]:
    nested: dict[str, Any] = {}
    nested["key"] = [nested]
    return nested


def nested_list(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    if levels == 0:
        nested.append((nested,))
    return nested


class Converts:
    def __tvm_ffi_value__(self) -> object:
        return Converts()


@pytest.mark.parametrize(
    "nested",
    [nested_list(0), nested_list(300_000), nested_dict(), Converts()],
    ids=["list", "deep", "dict", "method"],
)
def test_python_values_without_end(nested: Any) -> None:
    made, named = List([1]), Dict()
    for run, where in (
        (lambda: Array([nested]), "Array: values"),
        (lambda: List((nested,)), "List: values"),
        (lambda: made.append(nested), "List.append: value"),
        (lambda: made.insert(0, nested), "List.insert: value"),
        (lambda: made.extend([nested]), "List.extend: values"),
        (lambda: made.__setitem__(0, nested), "List: value"),
        (lambda: Map({"key": nested}), "Map: pairs"),
        (lambda: Dict([("key", 1), ("other", nested)]), r"Dict: pairs\[1\]"),
        (lambda: named.update(key=nested), "Dict.update: pairs"),
        (lambda: named.__setitem__("key", nested), "Dict: value"),
        (lambda: plain("first")(nested), "first: argument 0"),
    ):
        with pytest.raises(
            ArgumentValueError, match=f"^{where}: nested too deeply, or contains itself$"
        ):
            run()  # type: ignore[no-untyped-call]
    assert (made, named) == ([1], {})
    assert Array([nested_list(30)]).tolist() == [nested_list(30)]


def test_the_depth_of_the_caller_is_not_that_of_a_value() -> None:
    def down() -> None:
        Array([[1]])
        down()

    with pytest.raises(RecursionError):
        down()


# ----------------------------------------------------------------------------------------- callees


def test_callees_read_and_make_them() -> None:
    for values in ([], [1], list(range(1000)), (1, 2, 3), Array([1, 2]), List([3, 4])):
        assert plain("seq_sum")(values) == sum(values)
    assert plain("tag")([1]) == Array().type_index == 71
    assert plain("tag")(List()) == List().type_index == 75
    squares = plain("array_squares")(5)
    assert type(squares) is Array
    assert squares == [0, 1, 4, 9, 16]
    listed = plain("array_squares")
    listed.plain = True
    assert listed(3) == [0, 1, 4]
    assert type(listed(3)) is list


def test_counts_and_memory() -> None:
    live, first, squares = plain("live"), plain("first"), plain("array_squares")
    count = plain("strong_count")
    text = "a text that is no small one"
    kept, shared = Array([text, [text]]), List([text])
    before = live()

    def work(times: int) -> None:
        for i in range(times):
            first([i, text, (text,), {"a": [text]}]).tolist()
            first(kept)[0]
            squares(5).tolist()
            shared.append(text)
            shared[1:] = [text, [i]]
            assert kept == first(kept)
            del shared[::2]
            shared.pop()
            shared.insert(0, text)

    work(2000)
    gc.collect()
    memory = resident()
    work(10_000)
    check_grown(memory, 1 << 20)
    assert live() == before
    assert count(kept) == count(shared) == 1
    assert len(shared) == 1
    again = kept[1]
    assert count(again) == 2
    del again
    assert count(kept[1]) == 2


@pytest.mark.threads
def test_threads() -> None:
    shared = List(range(100))
    first = plain("first")
    problems = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(3000):
                first(shared)
                shared.append("a longer text")
                del shared[rng.randrange(50)]
                shared[10:12] = [[1], "another long text"]
                list(shared)
                shared.reverse()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(shared) == 100


# ----------------------------------------------------------------------------------------- tvm_ffi


def test_containers_of_tvm_ffi_are_taken_and_given() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    show = Function(lambda *values: repr(values))
    assert (
        show(tvm_ffi.Array([1, [2]]), tvm_ffi.List([3]), tvm_ffi.Shape((1, 2)))
        == "(Array([1, [2]]), List([3]), Shape((1, 2)))"
    )
    names = tvm_ffi.convert(lambda *values: [type(value).__name__ for value in values])
    assert list(names(Array([1]), List(), Shape((1,)))) == ["Array", "List", "Shape"]
    assert plain("seq_sum")(tvm_ffi.Array([1, 2])) == 3
    theirs = tvm_ffi.load_module(callee.interop_library("c_plain"))
    assert theirs.seq_sum(Array([1, 2])) == theirs.seq_sum(List([1, 2])) == 3
    assert theirs.shape_prod(Shape((3, 4))) == 12
    assert Array(tvm_ffi.Array([1, 2])) == [1, 2]


@pytest.mark.unsanitized(FOREIGN_FREE)
def test_both_change_a_list() -> None:
    pytest.importorskip("tvm_ffi")
    ours = List(["a longer text"])
    theirs = ours.__tvm_ffi_object__()
    theirs.append(1)
    theirs.extend(range(20))
    ours.extend(range(100))
    assert len(theirs) == len(ours) == 122
    theirs.pop(0)
    assert ours[:3] == [1, 0, 1]
    del ours[1:]
    assert list(theirs) == [1]
    theirs.clear()
    assert ours == []
    ours.append(2)
    del ours
    assert list(theirs) == [2]


# ------------------------------------------------------------------------------------------ shapes


@given(dims=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_shapes_come_back(dims: list[int]) -> None:
    shape = Shape(dims)
    assert shape == tuple(dims)
    assert shape == Function(lambda x: x)(shape)
    assert type(Function(lambda x: x)(shape)) is Shape
    assert eval(repr(shape)) == shape
    assert pickle.loads(pickle.dumps(shape)) == shape
    assert type(copy.copy(shape)) is Shape


def test_shape_of_a_callee() -> None:
    assert plain("tag")(Shape((1, 2))) == 69
    assert plain("tag")((1, 2)) == 71
    assert plain("shape_prod")(Shape((2, 3, 7))) == 42


def test_wrong_shapes() -> None:
    for dims in (1, [1.5], ["1"], [None], [[1]]):
        with pytest.raises(CallError, match="Shape: dims: expected an iterable of ints: "):
            Shape(dims)  # type: ignore[arg-type]
    for dim in (2**63, -(2**63) - 1):
        with pytest.raises(
            RangeError, match=f"Shape: dims: {dim} at index 1 does not fit in int64"
        ):
            Shape([0, dim])
    assert Shape() == ()
    assert Shape([True]) == (1,)


def test_a_shape_of_a_package_that_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tvm_ffi", None)
    with pytest.raises(CallError, match="tvm_ffi is not imported"):
        Shape([1]).__tvm_ffi_object__()


def test_sums_are_those_of_lists():
    for left, right in (
        (Array([1]), [2]),
        ([1], Array([2])),
        (Array([1]), List([2])),
        (Array([1]), (2,)),
    ):
        total = left + right
        assert (type(total), total.tolist()) == (Array, [1, 2])
    total = List([1]) + [2]  # noqa: RUF005
    assert (type(total), total.tolist()) == (List, [1, 2])
    with pytest.raises(TypeError):
        Array([1]) + 1
    shared = same = List([1])
    same += (2, 3)
    assert shared.tolist() == [1, 2, 3]


def test_slices_fail_as_those_of_lists():
    values = List(range(6))
    with pytest.raises(ValueError, match="expected 3 values for the slice, got 1"):
        values[::2] = [1]
    with pytest.raises(TypeError):
        values[0:2] = 5
    assert values.tolist() == [0, 1, 2, 3, 4, 5]


def test_deep_copies_of_cycles():
    values = List([1])
    nested = Dict({"values": Array([values])})
    values.append(nested)
    values.append(nested)
    copied = copy.deepcopy(values)
    assert copied.address != values.address
    assert copied[1]["values"][0].address == copied.address
    assert copied[1].address == copied[2].address != nested.address
    copied[0] = 2
    assert values[0] == 1
    values.clear()  # a container that holds itself is never freed
    copied.clear()
    shared = Array([7])
    twice = copy.deepcopy([shared, shared, Map({1: shared})])
    assert twice[0].address == twice[1].address == twice[2][1].address != shared.address


class Labelled(Array):
    label: Any


class Slotted(List):
    __slots__ = ("label", "unset")
    label: Any


class Stateful(Map):
    label: Any

    def __getstate__(self) -> Any:
        return [self.label]

    def __setstate__(self, state: Any) -> None:
        (self.label,) = state


class Both(Slotted):
    other: Any


@pytest.mark.parametrize(
    "made", [Labelled([1]), Slotted([1]), Stateful({1: 2}), Both([1])], ids=lambda made: type(made)
)
def test_copies_of_classes_with_attributes(made: Any) -> None:
    made.label = [made]
    if isinstance(made, Both):
        made.other = 5
    shallow, deep = copy.copy(made), copy.deepcopy(made)
    pickled = pickle.loads(pickle.dumps(copy_without_cycle(made)))
    assert type(shallow) is type(deep) is type(pickled) is type(made)
    assert shallow == deep == pickled == made
    assert shallow.label is made.label
    assert deep.label[0] is deep
    assert pickled.label == "label"
    if isinstance(made, Both):
        assert shallow.other == deep.other == pickled.other == 5


class Named(List):
    def __init__(self, values: Any, name: str) -> None:
        self.name = name

    def __new__(cls, values: Any = (), name: str = "") -> Named:
        return super().__new__(cls, values)


class Known(Dict):
    name: str

    def __new__(cls, name: str) -> Known:
        made = super().__new__(cls)
        made.name = name
        return made

    def __getnewargs__(self) -> tuple[str]:
        return (self.name,)


class Whole(Array):
    name: str

    def __new__(cls, values: Any, *, name: str) -> Whole:
        made = super().__new__(cls, values)
        made.name = name
        return made

    def __getnewargs_ex__(self) -> Any:
        return (list(self),), {"name": self.name}


class Required(List):
    def __new__(cls, values: Any, name: str) -> Required:
        return super().__new__(cls, values)


def test_copies_of_classes_with_more_arguments() -> None:
    """As for a class derived from list, `__init__` is not called, and `__new__` is."""
    known = Known("x")
    known[1] = [2]
    for made in (Named([1, [2]], "x"), known, Whole([1, [2]], name="x")):
        copies = [copy.copy(made), copy.deepcopy(made)]
        copies += [pickle.loads(pickle.dumps(made, protocol)) for protocol in range(6)]
        for copied in copies:
            assert type(copied) is type(made)
            assert copied == made
            assert copied.name == "x"
    known[3] = known
    copied = copy.deepcopy(known)
    assert copied[3].address == copied.address
    for each in (known, copied):
        each.clear()  # it held itself
    for function in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'name'"):
            function(Required([1], "x"))


def copy_without_cycle(made: Any) -> Any:
    shallow = copy.copy(made)
    shallow.label = "label"
    return shallow


def test_deep_copies_that_fail() -> None:
    class Whole:
        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            raise ValueError("cannot be copied")

    whole = Whole()
    for values in (Array([whole]), List([1, whole]), Map({1: whole}), Dict({1: whole})):
        with pytest.raises(ValueError, match="cannot be copied"):
            values.__deepcopy__({})  # from here Python checks that nothing is returned beside it
    labelled = Labelled([1])
    labelled.label = whole
    with pytest.raises(ValueError, match="cannot be copied"):
        labelled.__deepcopy__({})
