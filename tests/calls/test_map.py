from __future__ import annotations

import copy
import gc
import math
import pickle
import random
import re
import subprocess
import sys
import threading
from collections.abc import ItemsView, KeysView, Mapping, MutableMapping, ValuesView
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fnabi
from fnabi import Array, CallError, Dict, List, Map, Object, Shape
from fnabi._base.lane import Function
from support import callee, strategies
from support.apart import run_apart
from support.sanitizers import check_grown, examples, resident

KINDS = pytest.mark.parametrize("kind", [Map, Dict])
NAMES = {"Array": Array, "Dict": Dict, "List": List, "Map": Map, "inf": math.inf}


def plain(name: str) -> Function:
    return callee.exported(callee.interop_library("c_plain"), name)


# ------------------------------------------------------------------------------------- in and out


@pytest.mark.slow
@KINDS
@given(values=st.dictionaries(strategies.keys, strategies.values, max_size=30))
@settings(max_examples=examples(200))
def test_values_come_back(kind: Any, values: dict[Any, Any]) -> None:
    made = kind(values)
    assert made.todict() == values
    assert list(made.todict()) == list(made) == list(values)
    assert len(made) == len(values)
    assert made == values == made
    assert made == kind(values.items()) == kind(iter(values.items())) == kind(made)
    assert eval(repr(made), NAMES) == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert type(pickle.loads(pickle.dumps(made))) is kind
    assert copy.copy(made) == copy.deepcopy(made) == made


def test_arguments_are_mappings_or_pairs() -> None:
    class Lazy:
        def keys(self) -> list[str]:
            return ["a", "b"]

        def items(self) -> Any:
            return ((key, key * 2) for key in self.keys())

    assert Map() == Dict() == Map([]) == Map({}) == {}
    assert Map(Lazy()) == {"a": "aa", "b": "bb"}
    assert Map(["ab", (1, 2), [3, 4]]) == {"a": "b", 1: 2, 3: 4}
    assert list(Map([("a", 1), ("b", 2), ("a", 3)]).items()) == [("a", 3), ("b", 2)]
    assert Map(pairs=Dict({1: 2})) == Dict(Map({1: 2})) == {1: 2}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Map(1), "Map: pairs: expected a mapping, or pairs of key and value, got int"),
        (lambda: Dict([(1, 2), 3]), "Dict: pairs[1]: expected a pair of key and value, got int"),
        (lambda: Map([(1, 2, 3)]), "Map: pairs[0]: expected a pair of key and value, got 3 items"),
        (lambda: Dict().update(1), "Dict.update: pairs: expected a mapping"),
        (lambda: Map([(1, "a"), (True, "b")]).todict(), "such as 1 and True"),
    ],
)
def test_wrong_arguments_are_named(make: Any, text: str) -> None:
    with pytest.raises(CallError) as caught:
        make()
    assert text in str(caught.value)


# ----------------------------------------------------------------------------------- as a mapping


@KINDS
@given(values=st.dictionaries(strategies.keys, strategies.leaves, max_size=30), data=st.data())
def test_reading(kind: Any, values: dict[Any, Any], data: st.DataObject) -> None:
    made = kind(values)
    key = data.draw(strategies.keys | st.sampled_from(list(values) or [""]))
    assert (key in made) == (key in values) == (key in made.keys())  # noqa: SIM118
    assert made.get(key) == values.get(key)
    assert made.get(key, 5) == values.get(key, 5)
    if key in values:
        assert made[key] == values[key]
    else:
        with pytest.raises(KeyError) as caught:
            made[key]
        assert caught.value.args == (key,)
    assert list(made.keys()) == list(values)
    assert list(made.values()) == list(values.values())
    assert list(made.items()) == list(values.items())


@KINDS
def test_views(kind: Any) -> None:
    made = kind({"a": 1, "b": [2]})
    keys, values, items = made.keys(), made.values(), made.items()
    assert isinstance(keys, KeysView)
    assert isinstance(values, ValuesView)
    assert isinstance(items, ItemsView)
    assert (len(keys), len(values), len(items)) == (2, 2, 2)
    assert keys & {"a", "c"} == {"a"}
    assert [2] in values
    assert ("a", 1) in items
    assert ("a", 2) not in items
    assert repr(keys) == f"Keys({kind.__name__}({{'a': 1, 'b': [2]}}))"


@KINDS
@pytest.mark.parametrize("key", [object(), Shape((1, 2)), [1]], ids=["object", "shape", "list"])
def test_keys_that_no_lookup_finds(kind: Any, key: Any) -> None:
    made = kind([(key, 2), ("a", None)])
    assert key not in made
    assert 2 in made.values()
    assert None in made.values()
    assert 3 not in made.values()


def test_abstract_classes() -> None:
    assert isinstance(Map(), Mapping)
    assert not isinstance(Map(), MutableMapping)
    assert isinstance(Dict(), MutableMapping)
    assert isinstance(Map(), Object)
    assert Map.__module__ == "fnabi"
    with pytest.raises(TypeError):
        Map()["a"] = 1  # type: ignore[index]


@KINDS
def test_patterns(kind: Any) -> None:
    match kind({"a": 1, "b": [2], "c": None}):
        case {"a": int(a), "b": [b], **rest}:
            assert (a, b, rest) == (1, 2, {"c": None})
        case _:
            pytest.fail("no mapping")


def test_keys_are_found_by_the_rules_of_the_abi() -> None:
    key = Array([1])
    made = Map([(1, "int"), (1.0, "float"), (True, "bool"), (b"1", "bytes"), ("1", "str")])
    assert len(made) == 5
    assert [made[1], made[1.0], made[True], made[b"1"], made["1"]] == list(made.values())
    assert Map({key: 1})[key] == 1
    assert Array([1]) not in Map({key: 1})
    assert Map({2**70: 1, None: 2})[2**70] == 1
    assert Map({2**70: 1, None: 2})[None] == 2


def test_setdefault_with_a_key_that_becomes_an_object() -> None:
    """Each list becomes an array of its own, and arrays are keys by their addresses."""
    made = Dict()
    assert made.setdefault([1], "first") == "first"
    assert made.setdefault([1]) is None
    assert [*made.values()] == ["first", None]
    with pytest.raises(fnabi.ArgumentValueError, match=r"^Dict\.setdefault: default: nested too"):
        made.setdefault(1, (nested := [], nested.append(nested))[0])
    assert 1 not in made


def test_texts_that_no_map_and_no_array_has() -> None:
    """A lone surrogate has no UTF-8."""
    text, array = "\ud800", fnabi.List(["a"])
    for made in (Map({"a": 1}), Dict({"a": 1})):
        assert made != {text: 1}
        assert made != {"a": text}
        assert text not in made
        assert made.get(text, 5) == 5
        with pytest.raises(KeyError):
            made[text]
    changed = Dict({"a": 1})
    assert changed.pop(text, 5) == 5
    with pytest.raises(KeyError):
        changed.pop(text)
    with pytest.raises(KeyError):
        del changed[text]
    assert array != [text]
    assert text not in array
    assert array.count(text) == 0
    with pytest.raises(ValueError, match="is not in List"):
        array.index(text)
    with pytest.raises(UnicodeEncodeError):
        array.append(text)


def test_equality_and_hash() -> None:
    assert Map({1: 2, 3: [4]}) == Dict({3: [4.0], 1: 2}) == {3: (4,), 1: 2}
    assert Map({1: 2}) != Map({1: 3})
    assert Map({1: 2}) != Map({2: 2})
    assert Map({1: 2}) != {1: 2, 2: 3}
    assert Map({1: 2}) != 1
    assert hash(Map({1: 2, "a": [3]})) == hash(Map({"a": [3.0], 1: 2}))
    for value in (Dict(), Map({1: Dict()}), Map({1: [List()]})):
        with pytest.raises(TypeError, match="unhashable type"):
            hash(value)


def test_repr() -> None:
    made = Map({"a": [1], Array([1]): {"b": Dict({1: List()})}})
    assert repr(made) == "Map({'a': [1], Array([1]): {'b': Dict({1: List([])})}})"


# ---------------------------------------------------------------------------------------- changes

small_keys = st.integers(0, 6) | st.sampled_from(["a", "a longer key"])
CHANGES: dict[str, tuple[Any, ...]] = {
    "__setitem__": (small_keys, st.integers(0, 9)),
    "__delitem__": (small_keys,),
    "pop": (small_keys,),
    "setdefault": (small_keys, st.integers(0, 9)),
    "update": (st.dictionaries(small_keys, st.integers(0, 9)),),
    "__ior__": (st.dictionaries(small_keys, st.integers(0, 9)),),
    "popitem": (),
    "clear": (),
}
changes = st.sampled_from(sorted(CHANGES)).flatmap(
    lambda name: st.tuples(st.just(name), st.tuples(*CHANGES[name]))
)


@given(steps=st.lists(changes, max_size=25))
def test_changes_are_those_of_a_dict(steps: list[Any]) -> None:
    made: Any = Dict()
    model: dict[Any, int] = {}
    for name, args in steps:
        outcomes = []
        for target in (made, model):
            try:
                answer = getattr(target, name)(*args)
                outcomes.append(None if name == "__ior__" else answer)
            except KeyError as error:
                outcomes.append(KeyError if name == "popitem" else error.args)
        assert outcomes[0] == outcomes[1], (name, args)
        assert made.todict() == model
        assert list(made) == list(model), (name, args)


def test_more_changes() -> None:
    made = Dict({"a": 1})
    made.update(b=2, c=[3])
    made.update({"d": 4}, e=5)
    assert made == {"a": 1, "b": 2, "c": [3], "d": 4, "e": 5}
    assert made.pop("x", 7) == 7
    other = made.copy()
    other.clear()
    assert (len(made), len(other)) == (5, 0)
    for i in range(1000):
        made[i] = [i]
    for i in range(0, 1000, 2):
        del made[i]
    assert list(made)[5:8] == [1, 3, 5]
    assert made[999] == [999]


def test_a_dict_is_shared() -> None:
    made = Dict()
    holder = Array([made])
    holder[0]["key"] = "a longer text"
    assert made == {"key": "a longer text"}
    assert plain("first")(made).pop("key") == "a longer text"
    assert holder.tolist() == [{}]


# ------------------------------------------------------------------------ changes during something


def test_iteration_while_the_dict_changes() -> None:
    made = Dict({i: str(i) * 10 for i in range(10)})
    for view in (made, made.keys(), made.values(), made.items()):
        walk = iter(view)
        next(walk)
        made["more"] = 1
        with pytest.raises(RuntimeError, match="Dict changed size during iteration"):
            next(walk)
        assert list(walk) == []
        del made["more"]
    walk = iter(made.items())
    made.clear()
    with pytest.raises(RuntimeError):
        next(walk)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 40])
def test_iteration_while_the_dict_changes_at_equal_size(size: int) -> None:
    """A dict of Python raises too where a key that was returned is gone. No pair is left out
    without an error."""
    for seen in range(1, size + 1):
        for gone in range(size):
            made = Dict({f"a long key {i}": i for i in range(size)})
            walk = iter(made)
            keys = [next(walk) for _ in range(seen)]
            del made[f"a long key {gone}"]
            made["another long key"] = 0
            changed = False
            try:
                keys += walk
            except RuntimeError as problem:
                assert str(problem) == "Dict keys changed during iteration"  # noqa: PT017
                changed = True
            if seen == size:  # nothing is left out
                assert changed or len(keys) == size
            else:
                assert changed or (gone >= seen and set(keys) >= set(made)), (seen, gone)


def test_values_that_change_during_an_iteration_are_no_other_keys() -> None:
    for size in (3, 40):
        made = Dict({f"a long key {i}": i for i in range(size)})
        for key in made:
            made[key] = 0
        assert set(made.values()) == {0}


class Run:
    """A value that runs a function when it is shown, compared, hashed or converted."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def __repr__(self) -> str:
        self.run()
        return "Run"

    def __eq__(self, other: object) -> bool:
        self.run()
        return True

    def __hash__(self) -> int:
        self.run()
        return 1


class Converted:
    def __init__(self, run: Any) -> None:
        self.run = run

    def __tvm_ffi_value__(self) -> str:
        self.run()
        return "a longer text"


def test_the_dict_changes_meanwhile() -> None:
    made = Dict()

    def fill(value: object) -> None:
        made.clear()
        made.update({i: [i, "a longer text"] for i in range(20)} | {"value": value, 1: value})

    fill(Run(made.clear))
    assert made != Dict({i: [i, "a longer text"] for i in range(20)} | {"value": 1, 1: Run(print)})
    assert made == {}
    fill(Run(made.clear))
    assert repr(made) == "Dict({0: [0, 'a longer text'], 1: Run, ...})"
    fill(Run(lambda: made.update(more=1)))
    assert repr(made) == "Dict({0: [0, 'a longer text'], 1: Run, ...})"
    fill(1)
    made[Run(made.clear)] = 1
    with pytest.raises(CallError, match="the map changed while it was converted"):
        made.todict()
    fill(1)
    made["x"] = Converted(made.clear)
    assert made == {"x": "a longer text"}
    python: dict[Any, Any] = {1: 2}
    for change in (python.clear, lambda: python.update(x=1)):
        for make in (Map, Dict, Dict().update, lambda values: Array([values])):
            python.clear()
            python.update({1: "a longer text", "c": Converted(change), 2: "a longer text"})
            with pytest.raises(CallError, match="the dict changed while it was converted"):
                make(python)


def test_a_dict_in_itself() -> None:
    made, other = Dict(), Dict()
    made["self"] = made
    other["self"] = other
    assert made == made
    assert repr(made) == "Dict({'self': {...}})"
    for run in (made.todict, lambda: made == other):
        with pytest.raises(RecursionError):
            run()
    made.clear()
    other.clear()
    assert "RecursionError: when it contains itself" in str(Dict.todict.__doc__)
    assert "that is a RecursionError" in str(Dict.__doc__)


def test_the_hash_of_maps_inside_of_each_other() -> None:
    made: Map[str, Any] = Map({"a": 1})
    for _ in range(100_000):
        made = Map({"a": made})
    with pytest.raises(RecursionError, match="while a map is hashed"):
        hash(made)


# ----------------------------------------------------------------------------------------- callees


def test_callees_read_and_make_them() -> None:
    for size in (0, 1, 4, 5, 100):
        values = {f"k{i}": i for i in range(size)}
        for kind in (dict, Map, Dict):
            assert plain("map_sum")(kind(values)) == sum(values.values())
        for tag, kind in ((72, Map), (76, Dict)):
            made = plain("map_build")(size, tag)
            assert type(made) is kind
            assert made == values
            assert made.todict() == values
            assert all(made[key] == value for key, value in values.items())
    built = plain("map_build")(100, 76)
    built["more"] = 1
    del built["k50"]
    assert len(built) == 100
    assert plain("map_sum")(built) == sum(range(100)) - 50 + 1


def test_counts_and_memory() -> None:
    live, first, build = plain("live"), plain("first"), plain("map_build")
    count = plain("strong_count")
    text = "a text that is no small one"
    kept, shared = Map({text: [text]}), Dict({text: text})
    before = live()

    def work(times: int) -> None:
        for i in range(times):
            first({text: i, "a": (text,), i: {}}).todict()
            list(first(kept).items())
            build(7, 76).update({text: text})
            shared[i] = [text]
            shared[text] = text
            shared.pop(i)
            assert kept == first(kept)
            shared.setdefault(text, text)

    work(2000)
    gc.collect()
    memory = resident()
    work(10_000)
    check_grown(memory, 1 << 20)
    assert live() == before
    assert count(kept) == count(shared) == 1
    assert count(kept[text]) == 2


@pytest.mark.threads
def test_threads() -> None:
    shared = Dict(dict.fromkeys(range(100), "a text that is no small one"))
    first = plain("first")
    problems = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for i in range(2000):
                first(shared)
                shared[rng.randrange(100)] = [i, "another long text"]
                shared[f"{seed} of {i}"] = None
                assert shared.pop(f"{seed} of {i}", 1) is None
                assert len(shared.todict()) >= 100
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert sorted(shared) == list(range(100))


@pytest.mark.threads
def test_iteration_beside_a_writer() -> None:
    """It gives whole pairs, and ends with the error of dict where the size has changed."""
    shared = Dict({number: f"a long text of {number}" for number in range(200)})
    ended = threading.Event()

    def write() -> None:
        rng = random.Random(7)
        while not ended.is_set():
            key = rng.randrange(400)
            if shared.pop(key, None) is None:
                shared[key] = f"a long text of {key}"

    writer = threading.Thread(target=write)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    changes = 0
    try:
        writer.start()
        for _ in range(300):
            try:
                for key, value in shared.items():
                    assert value == f"a long text of {key}"
            except RuntimeError as problem:
                text = r"Dict (changed size|keys changed) during iteration"
                assert re.fullmatch(text, str(problem))  # noqa: PT017
                changes += 1
    finally:
        ended.set()
        writer.join()
        sys.setswitchinterval(interval)
    assert changes > 0


# ----------------------------------------------------------------------------------------- tvm_ffi


def test_containers_of_tvm_ffi_are_taken_and_given() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    show = Function(lambda *values: repr(values))
    values = {"a": 1, "a longer key": [2]}
    assert show(tvm_ffi.Map(values), tvm_ffi.Dict({1: 2})) == (
        "(Map({'a': 1, 'a longer key': [2]}), Dict({1: 2}))"
    )
    assert Map(tvm_ffi.Map(values)) == values
    names = tvm_ffi.convert(lambda *values: [type(value).__name__ for value in values])
    assert list(names(Map(values), Dict())) == ["Map", "Dict"]
    theirs = tvm_ffi.load_module(callee.interop_library("c_plain"))
    assert theirs.map_sum(Map({"a": 1, "b": 2})) == theirs.map_sum(Dict({"a": 3})) == 3


@given(keys=st.lists(st.tuples(st.booleans(), st.booleans(), strategies.keys), max_size=60))
@settings(max_examples=examples(100))
def test_both_change_a_dict(keys: list[tuple[bool, bool, Any]]) -> None:
    pytest.importorskip("tvm_ffi")
    ours = Dict()
    theirs = ours.__tvm_ffi_object__()
    model: dict[Any, int] = {}
    for i, (remove, here, key) in enumerate(keys):
        if remove and model:
            key = list(model)[i % len(model)]
            del model[key], (ours if here else theirs)[key]
        else:
            model[key] = i
            (ours if here else theirs)[key] = i
        assert ours == model
    assert {key: theirs[key] for key in model} == ours.todict() == model


@pytest.mark.parametrize("order", ["fnabi._base.lane, tvm_ffi", "tvm_ffi, fnabi._base.lane"])
def test_either_is_imported_first(order: str) -> None:
    pytest.importorskip("tvm_ffi")
    program = f"""
import {order}
import fnabi, tvm_ffi
from fnabi._base.lane import Function
show = Function(lambda *values: repr(values))
print(show(tvm_ffi.Array([1]), tvm_ffi.Map({{2: 3}}), tvm_ffi.Shape((4,)), tvm_ffi.List([5])))
names = tvm_ffi.convert(lambda *values: repr([type(value).__name__ for value in values]))
print(names(fnabi.Array([1]), fnabi.Map({{1: 2}}), fnabi.List(), fnabi.Dict(), fnabi.Shape((1,))))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "(Array([1]), Map({2: 3}), Shape((4,)), List([5]))",
        "['Array', 'Map', 'List', 'Dict', 'Shape']",
    ]
    assert done.stderr == ""


def test_what_libtvm_ffi_makes_instead_of_a_map_is_freed() -> None:
    """Its function for maps is another one."""
    pytest.importorskip("tvm_ffi")
    run_apart(
        """
        import gc, sys, weakref
        sys.modules["torch"] = None  # which takes seconds
        import tvm_ffi, fnabi
        class Held: pass
        made = []
        def no_map(*pairs):
            held = Held()
            made.append(weakref.ref(held))
            return held
        tvm_ffi.register_global_func("ffi.Map", no_map, override=True)
        try:
            fnabi.Map([(fnabi.get_type("ffi.StructuralKey")("x"), 3)])
        except fnabi.CallError as error:
            assert "made no map" in str(error), error
        else:
            raise AssertionError("a map")
        gc.collect()
        assert [each() for each in made] == [None]
        """
    )


# ------------------------------------- of the core and of libtvm_ffi, which change them in turn

MAP, DICT = 72, 76
KEYS = (
    int,
    lambda n: f"k{n}",
    lambda n: f"a longer key {n}",
    lambda n: b"x%d" % n,
    lambda n: b"longer bytes %d" % n,
    lambda n: n / 7,
    lambda n: 2**70 + n,
    lambda n: -(2**90) - n,
    lambda n: n % 2 == 0,
    lambda n: None,
)


def told_apart(key: object) -> object:
    """Unlike in Python, True, 1 and 1.0 are different keys."""
    return type(key) is bool, isinstance(key, float), key


def items(objects, mapping) -> list[tuple[object, object]]:
    flat = list(objects.map_items(mapping))
    return list(zip(flat[::2], flat[1::2], strict=True))


def check(objects, mapping, model: dict[object, object]) -> None:
    ours = items(objects, mapping)
    assert ours == list(mapping.items())
    assert {told_apart(key): value for key, value in ours} == model
    assert len(ours) == len(mapping) == len(model)


@pytest.mark.parametrize("seed", range(60))
def test_changes_by_both(objects, seed: int) -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    chance = random.Random(seed)

    def some_key(space: int) -> object:
        return chance.choice(KEYS)(chance.randrange(space))

    pairs = [(some_key(100), n) for n in range(chance.choice([0, 1, 2, 3, 4, 5, 6, 17, 40]))]
    model = {}
    for key, value in pairs:
        model[told_apart(key)] = value
    if seed % 2:
        mapping = objects.map_new(DICT, *(item for pair in pairs for item in pair))
        assert [told_apart(key) for key, _ in items(objects, mapping)] == list(model)
    else:
        mapping = tvm_ffi.Dict({})
        for key, value in pairs:
            mapping[key] = value
    check(objects, mapping, model)
    space = chance.choice([4, 20, 200, 2000])
    for step in range(chance.choice([10, 100, 1000])):
        key, ours, kind = some_key(space), chance.random() < 0.5, chance.random()
        if kind < (0.25 if step // 100 % 2 else 0.6):
            there = model.pop(told_apart(key), None) is not None
            if ours:
                assert objects.map_erase(mapping, key) == there
            elif there:
                del mapping[key]
            else:
                with pytest.raises(KeyError):
                    del mapping[key]
        elif kind < 0.995:
            if ours:
                objects.map_set(mapping, key, step)
            else:
                mapping[key] = step
            model[told_apart(key)] = step
        else:
            (objects.map_clear if ours else tvm_ffi.Dict.clear)(mapping)
            model.clear()
        key = some_key(space)
        assert objects.map_find(mapping, key, -1) == model.get(told_apart(key), -1)
        assert (key in mapping) == (told_apart(key) in model)
        if step % 20 == 0:
            check(objects, mapping, model)
    check(objects, mapping, model)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 1000])
@pytest.mark.parametrize("kind", KEYS[:8])
def test_each_finds_the_others_keys(objects, count: int, kind) -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    model = {kind(n): n for n in range(count)}
    made = objects.map_new(MAP, *(item for pair in model.items() for item in pair))
    theirs = tvm_ffi.Map(model)
    assert isinstance(made, tvm_ffi.Map)
    assert list(made.items()) == items(objects, theirs) == list(model.items())
    for key, value in model.items():
        assert made[key] == value
        assert objects.map_find(theirs, key, None) == value
    assert kind(count) not in made
    assert objects.map_find(theirs, kind(count), None) is None


def test_objects_are_keys_by_identity(objects) -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    keys = [tvm_ffi.Array([n]) for n in range(30)]
    made = objects.map_new(DICT, *(item for n, key in enumerate(keys) for item in (key, n)))
    theirs = tvm_ffi.Dict({key: n for n, key in enumerate(keys)})
    for n, key in enumerate(keys):
        assert made[key] == n == objects.map_find(theirs, key, None)
    assert tvm_ffi.Array([1]) not in made
    assert objects.map_find(theirs, tvm_ffi.Array([1]), None) is None


def test_a_new_value_stays_in_its_place(objects) -> None:
    for count in (3, 30):
        mapping = objects.map_new(DICT, *(n for n in range(count) for _ in range(2)))
        objects.map_set(mapping, 1, "new")
        assert list(mapping.items())[:3] == [(0, 0), (1, "new"), (2, 2)]


@pytest.mark.parametrize("name", ["Map", "Dict"])
def test_keys_with_a_comparison_of_their_own(name: str) -> None:
    """As a map of the package does, which asks the type of a key for hash and comparison."""
    tvm_ffi = pytest.importorskip("tvm_ffi")
    ours, theirs = globals()[name], getattr(tvm_ffi, name)
    key = fnabi.get_type("ffi.StructuralKey")
    rng = random.Random(1)
    for count in (1, 3, 4, 5, 40, 300):
        values = [rng.randrange(count) for _ in range(count)]
        pairs = [(key([each, "x"]), at) for at, each in enumerate(values)]
        made = ours([*pairs, *((each, -each) for each in values)])
        same = theirs({tvm_ffi.StructuralKey([each, "x"]): at for at, each in enumerate(values)})
        assert len(made) == len(same) + len(set(values))
        found = [made[each] for each in made if isinstance(each, key)]
        assert sorted(found) == sorted(same.values())
        for each in range(count):
            again = key([each, "x"])
            assert (again in made) == (tvm_ffi.StructuralKey([each, "x"]) in same)
            assert made.get(again) == same.get(tvm_ffi.StructuralKey([each, "x"]))
        assert key([count, "x"]) not in made
        with pytest.raises(KeyError):
            made[key([count, "x"])]
        assert made == ours(made.items())
        assert made != ours(list(made.items())[1:])


def test_a_dict_with_such_keys_changes() -> None:
    pytest.importorskip("tvm_ffi")
    key = fnabi.get_type("ffi.StructuralKey")
    made = Dict()
    for each in range(100):
        made[key([each])] = each
        made[f"a longer name {each}"] = each
    for each in range(100):
        made[key([each])] += 1
    assert len(made) == 200
    assert made.pop(key([3])) == 4
    assert made.pop(key([3]), "gone") == "gone"
    del made[key([4])]
    with pytest.raises(KeyError):
        del made[key([4])]
    assert made.setdefault(key([4]), "again") == "again"
    assert made.setdefault(key([5]), "again") == 6
    assert made.popitem()[1] == "again"
    assert len(made) == 198
    assert made.copy() == made
    assert made[key([7])] == 8
    made.update({key([7]): "seven"})
    assert made[key([7])] == "seven"
    made.clear()
    assert len(made) == 0


def test_such_keys_are_released() -> None:
    pytest.importorskip("tvm_ffi.testing")
    count = fnabi.get_global_func("testing.object_use_count")
    key = fnabi.get_type("ffi.StructuralKey")
    held = key([1])
    for kind in (Map, Dict):
        made = kind({held: held})
        assert count(held) == 3
        assert made[held] == held
        assert held in made
        assert count(held) == 3
        del made
        assert count(held) == 1
    made = Dict()
    for _ in range(3):
        made[held] = held
    assert count(held) == 3
    del made[held]
    assert count(held) == 1


def test_a_mapping_is_not_kept() -> None:
    source = MappingProxyType({1: 2})
    before = sys.getrefcount(source)
    assert Map(source) == Map({1: 2})
    assert sys.getrefcount(source) == before
