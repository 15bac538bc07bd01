"""The time of every operation is linear in its input: instructions, counted over growing inputs."""

from __future__ import annotations

import gc
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from benchmarks.compare import build_marks
from support.growth import FAMILIES, Work, load
from support.paths import ROOT, TESTS

load()

MOST = 1.1
"""The slope of instructions over bytes, both as logarithms; 2 is quadratic."""

MOST_SECONDS = 1.6
"""The same of seconds, which caches and other programs change."""

TEXTS = [name for name in FAMILIES if ".parse" in name]

EXEMPT = {
    "fnabi_arrow_": "the caller's data, whose work `fnabi_arrow_excess` measures before",
    "fnabi_code_": "constants",
    "fnabi_columns_array": "shares what the columns hold",
    "fnabi_columns_decode": "the kinds of containers: `fnabi_columns_decode_list` does the rest",
    "fnabi_columns_dtypes": "constants",
    "fnabi_columns_encode_": "as `fnabi_columns_encode`",
    "fnabi_columns_equal": "compares memory",
    "fnabi_columns_free": "frees",
    "fnabi_columns_join": "copies memory",
    "fnabi_columns_new": "allocates",
    "fnabi_columns_raise": "one row, as the decoder of its ABI",
    "fnabi_columns_read": "returns a pointer",
    "fnabi_columns_row": "one row",
    "fnabi_columns_schema": "constants",
    "fnabi_columns_stream": "shares what the columns hold",
    "fnabi_decoder_find": "constants",
    "fnabi_raw_scalar": "one scalar",
    "fnabi_runtime_": "the releases are few; `fnabi_vmfb_runs_on` has the demands",
    "fnabi_scan_": "as `fnabi_scan_files`",
    "fnabi_set_poll": "sets a pointer",
    "fnabi_signature_integer": "one number",
    "fnabi_signature_span": "copies memory",
    "fnabi_vmfb_directory": "reads each entry once",
    "fnabi_vmfb_extent": "reads the head alone",
    "fnabi_vmfb_files": "reads each entry once",
    "fnabi_vmfb_needs_with": "as `fnabi_vmfb_needs`",
}
"""Functions of the core without a family, by how their names begin, with the reason."""


def test_every_function_of_the_core_has_a_family() -> None:
    header = (ROOT / "csrc" / "fnabi.h").read_text()
    functions = set(re.findall(r"^FNABI_API [^;(]*?(fnabi_\w+)\(", header, re.M))
    known = frozenset[str]().union(*(each.entries for each in FAMILIES.values()))
    assert {each for each in known if each.startswith("fnabi_")} <= functions
    missing = {each for each in functions - known if not each.startswith(tuple(EXEMPT))}
    assert missing == set()
    assert [
        begin for begin in EXEMPT if not any(each.startswith(begin) for each in functions)
    ] == []


def slope(bytes_: Sequence[float], work: Sequence[float]) -> float:
    """Return the slope of the last two, 0 where the input hardly grows."""
    if bytes_[-1] < 2 * bytes_[-2]:
        return 0
    return math.log(work[-1] / work[-2]) / math.log(bytes_[-1] / bytes_[-2])


# ------------------------------------------------------------------------------------ instructions


def steep(
    folder: Path, names: Sequence[str], sizes: Sequence[int], most: float = MOST
) -> list[str]:
    """Count the instructions of families; return those that grow too fast."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    command = [
        *("valgrind", "--tool=callgrind", "--combine-dumps=yes"),
        f"--callgrind-out-file={folder}/out",
        *(sys.executable, "-m", "support.growth", str(build_marks(folder)), *map(str, sizes)),
    ]
    done = subprocess.run(
        command,
        input="\n".join(names),
        capture_output=True,
        text=True,
        cwd=TESTS,
        env=os.environ | {"PYTHONHASHSEED": "0", "PYTHONMALLOC": "pymalloc"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parts = re.split(r"^part: ", (folder / "out").read_text(), flags=re.M)
    totals = [
        int(total[1])
        for part in parts
        if "Client Request: work" in part and (total := re.search(r"^totals: (\d+)", part, re.M))
    ]
    bytes_ = [*map(int, done.stdout.split())]
    assert len(totals) == len(bytes_) == len(names) * len(sizes)
    parts = [slice(at, at + len(sizes)) for at in range(0, len(totals), len(sizes))]
    return [
        f"{name}: {totals[part]} instructions for {bytes_[part]} bytes"
        for name, part in zip(names, parts, strict=True)
        if slope(bytes_[part], totals[part]) > most
    ]


LONGER = ("iree_abi.parse: escapes", "iree_abi.parse: surrogates")
"""Texts with a short result: from some length on it needs more memory, and is made twice."""


@pytest.mark.full
@pytest.mark.unsanitized("counts the instructions of the library that is installed")
@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        ([each for each in TEXTS if each not in LONGER], (10_000, 40_000)),
        (LONGER, (100_000, 400_000)),
    ],
    ids=["most", "longer"],
)
def test_the_instructions_for_texts_are_linear(
    names: Sequence[str], sizes: Sequence[int], tmp_path: Path
) -> None:
    assert steep(tmp_path, names, sizes) == []


PARTS = 4

MOST_OF_SMALL = 1.25
"""The slope where inputs are small, which some work that they all need flattens and bends."""

SHARED = (": shared attributes", ": shared code")
"""Modules whose parts refer to the same bytes: the work grows faster up to a limit."""


@pytest.mark.full
@pytest.mark.unsanitized("counts the instructions of the library that is installed")
@pytest.mark.parametrize("part", range(PARTS))
def test_the_instructions_of_work_are_linear(part: int, tmp_path: Path) -> None:
    names = [name for name in FAMILIES if name not in TEXTS][part::PARTS]
    once = [name for name in names if not name.endswith(SHARED)]
    assert steep(tmp_path, once, (4_000, 32_000), MOST_OF_SMALL) == []
    shared = [name for name in names if name.endswith(SHARED) and name not in LIMITED]
    assert steep(tmp_path, shared, (100_000, 400_000)) == []


# ----------------------------------------------------------------------------------------- seconds


def seconds(work: Work) -> float:
    """Return the time that a thread takes, of a few runs the shortest.

    The objects of other tests are not collected meanwhile, which takes time that has no bound.
    """
    found: list[float] = []
    gc.disable()
    try:
        while len(found) < 5 and sum(found) < 1:
            began = time.thread_time()
            work()
            found.append(time.thread_time() - began)
    finally:
        gc.enable()
    return min(found)


def slow(name: str, sizes: tuple[int, int], shortest: float) -> str | None:
    """Return what is wrong with a family; nothing where it takes less than `shortest`."""
    (few, small), (many, large) = (FAMILIES[name].prepare(size) for size in sizes)
    took = seconds(large)
    if took < shortest:
        return None
    times = seconds(small), took
    if slope((few, many), times) <= MOST_SECONDS:
        return None
    return f"{name}: {times} seconds for {few, many} bytes"


LIMITED = {"html.render: shared code": "a page has at most 32 MiB of code, shared or not"}
"""Families whose time grows faster than the input, up to a limit."""


def too_slow(names: Iterable[str], sizes: tuple[int, int], shortest: float) -> list[str]:
    found = [name for name in names if name not in LIMITED and slow(name, sizes, shortest)]
    found = [name for name in found if slow(name, sizes, shortest)]  # not by chance
    return [text for name in found if (text := slow(name, sizes, shortest))]


MENDED = (
    "compat.compare: required features",
    "compat.compare: storages",
    "debug: same maps",
    "exports: a long missing name",
    "hidden URLs: letters",
    "hidden URLs: words",
    "html.render: same maps",
    "html.render_diff: plain exports",
    "links of a page: '<'",
    "links of a page: '<a '",
    "names: open negated sets",
    "names: open sets",
    "runs_on: shared code",
    "signatures on a terminal: dims",
    "signatures on a terminal: one word",
    "stub: a high rank",
    "stub: alike exports",
    "stub: equal names",
)
"""Families that once took quadratic time."""


@pytest.mark.unsanitized("takes the time of what is installed")
def test_what_was_slow_is_not() -> None:
    assert too_slow(MENDED, (8_000, 64_000), 0.003) == []


@pytest.mark.slow
@pytest.mark.unsanitized("takes the time of what is installed")
@pytest.mark.parametrize("part", range(PARTS))
def test_the_time_is_linear(part: int) -> None:
    names = [*FAMILIES][part::PARTS]
    once = [name for name in names if not name.endswith(SHARED)]
    assert too_slow(once, (4_000, 32_000), 0.003) == []
    shared = [name for name in names if name.endswith(SHARED)]
    assert too_slow(shared, (100_000, 400_000), 0.003) == []


@pytest.mark.full
@pytest.mark.unsanitized("takes the time of what is installed")
@pytest.mark.parametrize("part", range(PARTS))
def test_the_time_is_linear_up_to_a_million_bytes(part: int) -> None:
    assert too_slow([*FAMILIES][part::PARTS], (100_000, 1_000_000), 0.01) == []
