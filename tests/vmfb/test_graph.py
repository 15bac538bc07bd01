"""What functions do, as graphs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fnabi import FormatError, program, vmfb
from fnabi.vmfb._folds import Repeat, find_repeats
from fnabi.vmfb._graph import Graph, Return, groups, read_graphs
from fnabi.vmfb.program import Barrier, Block, Dispatch, Program
from support.paths import DATA

CHAIN = DATA / "program" / "chain.vmfb"
MODULES = sorted(
    path
    for folder in ("bytecode_types", "needs", "program", "vmfb")
    for path in (DATA / folder).glob("*.vmfb")
)


def graphs(path: Path = CHAIN) -> dict[str | int, Graph]:
    """Return the graphs of a module by name, or by number where there is none."""
    with vmfb.open(path) as module:
        found = [each for each in read_graphs(program.read(module)) if each is not None]
    return {each.program.name or each.program.ordinal: each for each in found}


def check(graph: Graph) -> None:
    """Check what holds for every graph."""
    count = len(graph.nodes)
    assert [each for part in graph.sections for each in range(part.first, part.end)] == [
        *range(count)
    ]
    pairs = [(each.source, each.target) for each in graph.edges]
    assert len({*pairs}) == len(pairs)
    for source, target in pairs:
        assert source < target
        assert not isinstance(graph.nodes[source], Barrier)
        assert not isinstance(graph.nodes[target], Barrier)
    for each in graph.sections:
        assert all(0 <= to < len(graph.sections) for to in each.next)
    reached = {0, *(to for each in graph.sections for to in each.next)}
    assert reached == set(range(len(graph.sections))) or not graph.sections
    for part in graph.sections:
        end = part.first
        for each in part.repeats:
            assert each.first >= end
            end = each.end
        assert end <= part.end
    shown = {graph.shown[index] for index in range(count)}
    for edge in graph.folded_edges():
        assert {edge.source, edge.target} <= shown


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_function_has_a_graph(path: Path) -> None:
    with suppress(FormatError), vmfb.open(path, lenient=True) as module:
        programs = program.read(module)
        for each, found in zip(programs, read_graphs(programs), strict=True):
            assert (each is None) == (found is None)
            if each is None or found is None:
                continue
            check(found)
            steps = [node for node in found.nodes if not isinstance(node, Return)]
            assert sorted(steps, key=lambda step: step.offset) == sorted(
                each.steps, key=lambda step: step.offset
            )


@given(st.data())
@settings(deadline=None)
def test_damaged_modules(data: st.DataObject) -> None:
    changed = bytearray(CHAIN.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(64, len(changed) - 1))] = data.draw(st.integers(0, 255))
    with suppress(FormatError), vmfb.from_buffer(bytes(changed)) as module:
        for each in read_graphs(program.read(module)):
            if each is not None:
                check(each)


# ------------------------------------------------------------------------------------------- edges


def edges(graph: Graph) -> list[tuple[str, str, tuple[str, ...]]]:
    def short(index: int) -> str:
        return str(graph.nodes[index]).partition(" [")[0].replace("_matmul_Dx64x64_f32", "")

    return [(short(each.source), short(each.target), each.buffers) for each in graph.edges]


def test_edges_lead_through_buffers() -> None:
    rows = "dispatch rows_dispatch_0"
    assert edges(graphs()["rows"]) == [
        ("t0 = allocate 256*A bytes", "t1 = allocate 256*A bytes", ()),
        ("t0 = allocate 256*A bytes", rows, ("t0",)),
        ("t1 = allocate 256*A bytes", rows, ("t1",)),
        (rows, rows, ("t1",)),
        (rows, "release t1", ("t1",)),
        (rows, "return t0", ("t0",)),
        ("release t1", "wait", ()),
        ("wait", "return t0", ()),
    ]


def test_commands_before_a_barrier_have_no_order() -> None:
    pieces = graphs()[7]
    assert [*groups(pieces.nodes, 0, len(pieces.nodes))] == [[0, 1, 2], [4]]
    assert [(each.source, each.target) for each in pieces.edges] == [(0, 4), (1, 4), (2, 4)]


def test_what_callers_only_read_connects_nothing() -> None:
    """All three dispatches use binding1, which is an input."""
    names = {name for each in graphs()[0].edges for name in each.buffers}
    assert names == {"binding3"}


def test_parts_of_a_buffer_that_do_not_overlap_connect_nothing() -> None:
    def part(offset: int) -> program.BufferRange:
        return program.BufferRange("t0", program.Size((((), offset),)), program.Size((((), 64),)))

    steps = []
    for index, offset in enumerate((64, 128, 64, 96)):
        steps += [Dispatch(2 * index, "f", None, (), 0, (part(offset),)), Barrier(2 * index + 1)]
    block = Block(0, False, tuple(steps), (), "return")
    (found,) = read_graphs([Program(0, "f", (block,), ())])
    assert found is not None
    pairs = [(each.source // 2, each.target // 2) for each in found.edges if each.buffers]
    assert pairs == [(0, 2), (1, 3), (2, 3)]


def test_buffers_that_are_not_known_connect_nothing() -> None:
    part = program.BufferRange(None)
    steps = (
        Dispatch(0, "f", None, (), 0, (part,)),
        Barrier(1),
        Dispatch(2, "f", None, (), 0, (part,)),
    )
    (found,) = read_graphs([Program(0, "f", (Block(0, False, steps, (), "return"),), ())])
    assert found is not None
    assert {each.buffers for each in found.edges} == {()}


@pytest.mark.parametrize("buffer", ["input0", "t0"])
def test_edges_of_many_commands_are_not_many_more(buffer: str) -> None:
    part = program.BufferRange(buffer)
    steps = [
        Barrier(index) if index % 2000 == 1999 else Dispatch(index, "f", None, (), 0, (part,))
        for index in range(6000)
    ]
    block = Block(0, False, tuple(steps), (), "return")
    (found,) = read_graphs([Program(0, "f", (block,), ())])
    assert found is not None
    check(found)
    assert len(found.edges) <= 17 * len(found.nodes)
    assert {each.source for each in found.edges} | {each.target for each in found.edges} == {
        index for index, each in enumerate(found.nodes) if not isinstance(each, Barrier)
    }


# ---------------------------------------------------------------------------------------- sections


def test_blocks_that_only_follow_each_other_are_one_section() -> None:
    found = graphs()
    assert len(found["rows"].sections) == 1
    loop = found["loop"]
    assert [(each.block, each.in_loop, each.next) for each in loop.sections] == [
        (1, True, (1, 2)),
        (2, True, (0,)),
        (3, False, ()),
    ]


def test_a_graph_begins_where_the_function_does() -> None:
    ends = {1: "return", 2: "return"}
    targets = {0: (3,), 3: (1, 2)}
    blocks = [
        Block(at, False, (), targets.get(at, ()), ends.get(at, "branch"))  # type: ignore[arg-type]
        for at in range(4)
    ]
    (found,) = read_graphs([Program(0, "f", tuple(blocks), ())])
    assert found is not None
    assert [(each.block, each.next) for each in found.sections] == [(3, (1, 2)), (1, ()), (2, ())]


@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=1, max_size=8), st.data())
def test_any_branches(next: list[list[int]], data: st.DataObject) -> None:
    blocks = []
    for index, targets in enumerate(next):
        steps = (Barrier(index),) if data.draw(st.booleans()) else ()
        end = "branch" if targets else "return"
        blocks.append(Block(index, False, steps, tuple(targets), end))
    (found,) = read_graphs([Program(0, "f", tuple(blocks), ())])
    assert found is not None
    check(found)


# ----------------------------------------------------------------------------------------- repeats


def test_layers_are_found() -> None:
    found = graphs(DATA / "program" / "layers.vmfb")["main"]
    assert sum(isinstance(each, Dispatch) for each in found.nodes) == 216
    (repeat,) = found.sections[0].repeats
    assert (repeat.length, repeat.count, repeat.inside) == (16, 24, ())
    assert isinstance(found.nodes[repeat.first], Dispatch)
    assert len({*found.shown}) == len(found.nodes) - 23 * 16


def search(elements: list[int] | str) -> tuple[Repeat, ...]:
    numbers = [ord(each) if isinstance(each, str) else each for each in elements]
    return find_repeats(numbers, [1] * len(numbers), lambda _: True)


def test_repeats_of_repeats() -> None:
    assert search("abbbcabbbcx") == (Repeat(0, 5, 2, (Repeat(1, 1, 3),)),)
    assert search("xabcabcabcyzzzz") == (Repeat(1, 3, 3), Repeat(11, 1, 4))
    assert search("aaaabbbbbb") == (Repeat(0, 1, 4), Repeat(4, 1, 6))
    assert search("abcdefg") == search("aa") == search("") == ()


def test_a_repeat_begins_where_it_may() -> None:
    text = [ord(each) for each in "|a|b|a|b|a|b|."]
    (found,) = find_repeats(text, [each != ord("|") for each in text], lambda i: text[i] == 97)
    assert found == Repeat(1, 4, 3)


@pytest.mark.parametrize(("names", "first"), [("ab|ab|ab|", 0), ("xb|ab|ab|ab|", 3)])
def test_steps_that_repeat_begin_after_a_barrier(names: str, first: int) -> None:
    dispatches = {name: Dispatch(0, name, None, (), 0, ()) for name in "abx"}
    steps = tuple(dispatches.get(name) or Barrier(0) for name in names)
    (graph,) = read_graphs([Program(0, "f", (Block(0, False, steps, (), "fail"),), ())])
    assert graph is not None
    assert graph.sections[0].repeats == (Repeat(first, 3, 3),)


@given(st.lists(st.integers(0, 3), max_size=60))
def test_repeats_are_true_and_the_best_comes_first(elements: list[int]) -> None:
    found = search(elements)

    def verify(repeats: tuple[Repeat, ...], first: int, end: int) -> None:
        for each in repeats:
            assert first <= each.first < each.end <= end
            part = elements[each.first : each.first + each.length]
            assert elements[each.first : each.end] == part * each.count
            assert (each.count - 1) * each.length >= 2
            verify(each.inside, each.first, each.first + each.length)
            first = each.end

    verify(found, 0, len(elements))
    best = 0
    for first in range(len(elements)):
        for length in range(1, (len(elements) - first) // 2 + 1):
            count = 1
            part = elements[first : first + length]
            while elements[first + count * length : first + (count + 1) * length] == part:
                count += 1
            best = max(best, (count - 1) * length)
    assert max([(each.count - 1) * each.length for each in found], default=0) == (
        best if best >= 2 else 0
    )


@pytest.mark.parametrize("kind", ["equal", "fibonacci", "barriers", "layers"])
def test_long_sequences_are_searched_in_time(kind: str) -> None:
    """A search that takes quadratic time would not end."""
    fibonacci = ["a", "ab"]
    while len(fibonacci[-1]) < 10_000:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    texts = {
        "equal": "a" * 10_000,
        "fibonacci": fibonacci[-1],
        "barriers": "".join(f"{chr(1000 + index * index % 9973)}|" for index in range(5_000)),
        "layers": "".join(map(chr, range(100, 200))) * 100,
    }
    found = search(texts[kind])
    if kind in ("equal", "layers"):
        assert [(each.first, each.count) for each in found] == [(0, 10_000 // found[0].length)]
