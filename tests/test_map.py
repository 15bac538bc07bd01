"""Maps that the core and the library of the installed tvm_ffi change in turn."""

from __future__ import annotations

import random

import pytest

tvm_ffi = pytest.importorskip("tvm_ffi")

MAP, DICT = 72, 76
KINDS = (
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
    """True is no 1 and no 1.0, unlike in Python."""
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
    chance = random.Random(seed)

    def some_key(space: int) -> object:
        return chance.choice(KINDS)(chance.randrange(space))

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
@pytest.mark.parametrize("kind", KINDS[:8])
def test_each_finds_the_others_keys(objects, count: int, kind) -> None:
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
