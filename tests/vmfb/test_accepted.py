"""Which modules fnabi accepts and IREE's runtime refuses, and the reverse: a few known classes.

Modules are changed at random and by hand, and loaded by the installed runtime, each in a process
of its own. What the two make of a module is equal, or of a class that docs/about/differences.md
explains.
"""

from __future__ import annotations

import random
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from fnabi import FormatError, bytecode, vmfb
from support.flatbuffer import Node, Numbers, String, Table, Vector, module
from support.installed_runtime import Load, installed, loading
from support.paths import DATA, ROOT
from tools.damage import NUMBERS, changed

SEEDS = {
    path.stem: path.read_bytes()
    for path in sorted(DATA.rglob("*.vmfb"))
    if 200 < path.stat().st_size < 20_000
}
RELEASE = "3.13.0"
PAGE = ROOT / "docs" / "about" / "differences.md"


OWN = ("bytecode", "fault", "import", "type")
"""Kinds of causes that may be those of a module that is an executable of this one."""


class Answer(NamedTuple):
    """What fnabi makes of a module."""

    opens: bool
    loads: bool
    causes: tuple[str, ...]
    is_unsafe: bool


def answer_of(data: bytes) -> Answer:
    try:
        opened = vmfb.from_buffer(data)
        findings = [*bytecode.verify(opened), *opened.check()]
    except FormatError as problem:
        return Answer(False, False, (problem.code,), False)
    try:
        verdict = opened.runs_on(RELEASE)
    except FormatError as problem:
        return Answer(True, False, (f"needs {problem.code}",), False)
    own = {each.split(" at byte ")[0].partition(": ")[2] for each in map(str, findings)}
    own |= {*opened.types, *(each.full_name for each in opened.imports)}
    own |= {"{}.{}".format(*opened.bytecode_version)}
    causes = tuple(
        f"{each.kind} {each.subject or ''}".strip()
        if {str(each.subject), str(each.wanted)} & own or each.kind not in OWN
        else "executable damaged"
        for each in verdict.causes
    )
    is_unsafe = any(each.severity == "unsafe" for each in findings)
    return Answer(True, verdict.loads is not False, causes, is_unsafe)


OPENED: dict[str, tuple[str, str]] = {
    "another version": (r"bytecode version mismatch", r"bytecode|needs .*"),
    "another feature": (r"required module features", r"feature.*|fault feature bits.*|bytecode"),
    "an unknown type": (r"no type registered with name|codec can't decode byte", r"type .*"),
    "a missing name": (
        r"missing (full_)?name|missing local_name|has no (module )?name",
        r"fault empty name",
    ),
    "a function that is not there": (
        r"internal_ordinal out of bounds",
        r"fault ordinal outside its table",
    ),
    "tables of different length": (
        r"function signature and descriptor table length mismatch",
        r"fault .*",
    ),
    "data outside of the file": (
        r"external reference out of range",
        r"fault range outside its data|needs module-range",
    ),
    "bytecode that cannot run": (
        r"vm/bytecode/|cconv version|codec can.t decode byte",
        r"fault (?!empty name|ordinal outside|negative size).*|opcode.*|needs bytecode-.*",
    ),
}
"""Of what fnabi opens and the runtime refuses: the runtime's reason, and that of the verdict.

The first that fits counts.
"""

LOADED: dict[str, str] = {
    "a negative size of globals": r"fault negative size or count",
    "no values beside registers": r"fault unreadable calling convention",
    "an import without a module": r"fault import without the name of a module",
    "what the host has to register": r"import .*|module .*",
    "a name outside of its data": r"needs module-range",
    "executables that fail later": r"executable .*|format.*|library .*|machine .*",
}
"""Of what the runtime loads: why it fails in a context, by the verdict."""

REFUSED = "more work than a file may take"
CRASHES = "a crash of the runtime"
CLASSES = [*OPENED, *LOADED, REFUSED, CRASHES]


class UnknownDifferenceError(AssertionError):
    """The two differ in a way that nobody has explained."""


def class_of(ours: Answer, theirs: str) -> str | None:
    """Return the class of a difference, None where there is none."""

    def gives(cause: str) -> bool:
        return any(re.fullmatch(cause, each, re.DOTALL) for each in ours.causes)

    loads, refuses = theirs == "loads", theirs.startswith("refuses")
    if not ours.opens:
        if not loads:
            return None
        if ours.causes == ("work",):
            return REFUSED
    elif not loads and not refuses:
        if ours.is_unsafe or not ours.loads:
            return CRASHES
    elif ours.loads:
        if loads:
            return None
        if ours.is_unsafe:
            return CRASHES
    elif loads:
        for name, cause in LOADED.items():
            if gives(cause):
                return name
    else:
        for name, (reason, cause) in OPENED.items():
            if re.search(reason, theirs) and gives(cause):
                return name
        if ours.is_unsafe:  # what it reads outside of its memory may be refused
            return CRASHES
    raise UnknownDifferenceError(ours, theirs)


# ------------------------------------------------------------------------------------- changes


def word_changed(data: bytes, chance: random.Random) -> bytes:
    """Set an aligned number of the FlatBuffer: offsets, lengths, fields of vtables, ordinals."""
    begin = 64 if data[:2] == b"PK" else 0
    (size,) = struct.unpack_from("<I", data, begin)
    at = begin + 4 * chance.randrange(min(size, len(data) - begin) // 4)
    (value,) = struct.unpack_from("<I", data, at)
    new = chance.choice((*NUMBERS[:-1], value + 4, value - 4, value ^ 1, chance.randrange(size)))
    return data[:at] + struct.pack("<I", new & 0xFFFFFFFF) + data[at + 4 :]


def changes(seed: str, count: int) -> Iterator[tuple[str, bytes]]:
    chance = random.Random(seed)
    names = [*SEEDS]
    for number in range(count):
        name = chance.choice(names)
        data = SEEDS[name]
        if number % 3:
            yield f"{name} {number}", word_changed(data, chance)
        else:
            yield f"{name} {number}", changed(data, SEEDS[chance.choice(names)], chance)


def check_changes(load: Load, seed: str, count: int) -> Counter[str]:
    """Compare changed modules, and count the classes of differences."""
    found: Counter[str] = Counter()
    unknown = []
    for name, data in changes(seed, count):
        if not data:
            continue
        try:
            found[class_of(answer_of(data), load(data)) or "equal"] += 1
        except UnknownDifferenceError as problem:
            unknown.append((name, problem.args))
    assert unknown == []
    return found


@pytest.fixture(scope="module")
def load() -> Iterator[Load]:
    if installed() != RELEASE:
        pytest.skip(f"IREE {RELEASE} is not installed")
    with loading() as load:
        yield load


# ----------------------------------------------------------------------- an example of each class

RETURNS = b"\x79\x5a\0\0"
"""A block, and a return of nothing."""


def made(changes: dict[int, Node | bytes], name: bytes = b"f", **descriptor: int) -> bytes:
    """Make a module with a function that does nothing; some fields of its root are others."""
    parts = {"length": len(RETURNS), "blocks": 1} | descriptor
    function = struct.pack("<iiIhhhh", 0, parts["length"], 0, 0, parts["blocks"], 1, 0)
    fields: dict[int, Node | bytes] = {
        0: String(b"m"),
        7: Vector([Table({0: String(name), 1: struct.pack("<i", parts.get("ordinal", 0))})]),
        8: Vector([Table({0: String(b"0v_v")})]),
        12: Numbers(function * parts.get("functions", 1), 20),
        13: struct.pack("<I", 17 << 16),
        14: Numbers(RETURNS),
    }
    return module(Table(fields | changes))


def worked() -> bytes:
    """Make a module whose functions share their code, which takes long to verify."""
    code = RETURNS[:1] + b"\x0c\0\0" * 20_000 + b"\x5a\0\0"
    function = struct.pack("<iiIhhhh", 0, len(code), 0, 0, 1, 1, 0)
    return made(
        {
            8: Vector([Table({0: String(b"0v_v")})] * 4000),
            12: Numbers(function * 4000, 20),
            14: Numbers(code),
        }
    )


def with_executable() -> bytes:
    """Damage the module that is an executable of a module."""
    data = SEEDS["torch_matmul@3.13.0@vmvx"]
    at = data.index(b"IREE", data.index(b"IREE") + 4) - 4
    return data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :]


def with_parameters() -> bytes:
    """Let the name of a parameter be outside of its data."""
    data = SEEDS["params_vmvx"]
    at = vmfb.from_buffer(data).rodata[6].offset
    assert at is not None
    return data[:at] + b"\xff\xff\xff\xff" + data[at + 4 :]


EXAMPLES: dict[str, Callable[[], bytes]] = {
    "another version": lambda: made({13: struct.pack("<I", 15 << 16)}),
    "another feature": lambda: made({2: struct.pack("<I", 1 << 9)}),
    "an unknown type": lambda: made({4: Vector([Table({0: String(b"!no.type")})])}),
    "a missing name": lambda: made({}, b""),
    "a function that is not there": lambda: made({}, ordinal=1),
    "tables of different length": lambda: made({}, functions=2),
    "data outside of the file": lambda: (
        made({9: Vector([Table({3: struct.pack("<Q", 64), 4: struct.pack("<Q", 64)})])}) + bytes(80)
    ),
    "bytecode that cannot run": lambda: made({14: Numbers(b"\x79\xff\0\0")}),
    "a negative size of globals": lambda: made({11: Table({0: struct.pack("<i", -1)})}),
    "no values beside registers": lambda: SEEDS["zero_extent"].replace(b"0rr_rr", b"0rr_vr"),
    "an import without a module": lambda: made({6: Vector([Table({0: String(b"hal_none")})])}),
    "what the host has to register": lambda: made(
        {6: Vector([Table({0: String(b"hal.none"), 1: Table({0: String(b"0v_v")})})])}
    ),
    "a name outside of its data": with_parameters,
    "executables that fail later": with_executable,
    "more work than a file may take": worked,
    "a crash of the runtime": lambda: made({}, blocks=-1),
}


def test_a_plain_module_is_accepted_by_both(load: Load) -> None:
    assert class_of(answer_of(made({})), load(made({}))) is None
    assert answer_of(made({})).loads


def test_an_unused_byte_after_the_code_of_a_function(load: Load) -> None:
    """It is no instruction, whatever it is."""
    for name, place in (("torch_mlp_transients", 3140), ("torch_views@3.13.0@vmvx", 2852)):
        data = bytearray(SEEDS[name])
        (length,) = struct.unpack_from("<i", data, place)
        struct.pack_into("<i", data, place, length + 1)
        assert class_of(answer_of(bytes(data)), load(bytes(data))) is None
        assert answer_of(bytes(data)).loads


def test_spans_of_functions_are_refused_by_both(load: Load) -> None:
    """Imports alone have spans, and the runtime looks at their conventions later."""
    for convention in (b"0CiD_v", b"0CCiDD_v", b"0v_CiD"):
        data = made({8: Vector([Table({0: String(convention)})])})
        assert load(data).startswith("refuses")
        assert not answer_of(data).loads
        signature = Table({0: String(convention)})
        host = Vector([Table({0: String(b"hal.none"), 1: signature})])
        assert load(made({6: host})) == "loads"


def test_no_values_beside_registers_of_arguments(load: Load) -> None:
    registers = struct.pack("<iiIhhhh", 0, len(RETURNS), 0, 0, 1, 1, 0)
    for convention in (b"0vi_v", b"0iv_v", b"0vv_v"):
        data = made({8: Vector([Table({0: String(convention)})]), 12: Numbers(registers, 20)})
        assert class_of(answer_of(data), load(data)) == "no values beside registers"


@pytest.mark.parametrize("name", [each for each in EXAMPLES if each != CRASHES])
def test_examples(name: str, load: Load) -> None:
    data = EXAMPLES[name]()
    assert class_of(answer_of(data), load(data)) == name


def test_verdicts_of_examples() -> None:
    for name in (*OPENED, *LOADED):
        ours = answer_of(EXAMPLES[name]())
        assert (ours.opens, ours.loads) == (True, False), name


def test_what_can_be_read_of_a_module_with_a_missing_function() -> None:
    opened = vmfb.from_buffer(EXAMPLES["a function that is not there"]())
    assert (opened.name, len(opened.functions)) == ("m", 1)
    with pytest.raises(FormatError, match="ordinal outside its table"):
        _ = opened.exports
    for name in ("a missing name", "tables of different length"):
        assert len(vmfb.from_buffer(EXAMPLES[name]()).exports) == 1


@pytest.mark.parametrize("name", ["parameters", "targets", "executables", "runs_on"])
def test_what_raises_for_a_name_outside_of_its_data(name: str) -> None:
    opened = vmfb.from_buffer(EXAMPLES["a name outside of its data"]())
    with pytest.raises(FormatError, match="range outside its data"):
        _ = getattr(opened, name)(RELEASE) if name == "runs_on" else getattr(opened, name)


def test_what_crashes_the_runtime_is_unsafe() -> None:
    ours = answer_of(EXAMPLES[CRASHES]())
    assert ours.is_unsafe
    assert class_of(ours, "crashes") == class_of(ours, "hangs") == CRASHES
    elsewhere = ours._replace(loads=False, causes=("executable damaged",))
    assert class_of(elsewhere, "refuses: register list underflow") == CRASHES


def test_an_unknown_difference_fails() -> None:
    good = Answer(True, True, (), False)
    for ours, theirs in (
        (good, "refuses: for a reason that fnabi does not see"),
        (good, "crashes"),
        (good, "hangs"),
        (Answer(False, False, ("module-offset",), False), "loads"),
        (Answer(True, False, ("fault register out of range",), False), "loads"),
        (Answer(True, False, ("fault empty name",), False), "refuses: another reason"),
    ):
        with pytest.raises(UnknownDifferenceError):
            class_of(ours, theirs)


def test_the_page_has_each_class() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Modules")[2].partition("\n## ")[0]
    assert re.findall(r"^\| ([^|-]+?) \|", section, re.M) == ["class", *CLASSES]
    assert [*EXAMPLES] == CLASSES


# ---------------------------------------------------------------------------------- changes


@pytest.mark.slow
def test_modules_of_the_tests(load: Load) -> None:
    for data in SEEDS.values():
        class_of(answer_of(data), load(data))


def test_some_changes(load: Load) -> None:
    assert check_changes(load, "default", 60)["equal"] > 20


@pytest.mark.slow
def test_many_changes(load: Load) -> None:
    found = check_changes(load, "many", 1200)
    assert found["equal"] > 600
    assert len(found) > 8
