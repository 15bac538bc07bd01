"""Every sentence of SECURITY.md has a test, and reading runs nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest

from support.paths import ROOT, TESTS
from tools import damage

PAGE = ROOT / "SECURITY.md"
WITHOUT_TESTS = {"What does not hold", "Supported versions", "Report a fault"}
"""Sections that promise nothing."""

NAMES = re.compile(r"`((?:test|fuzz)_\w+\.(?:py|c|cc))(?:::(\w+))?`")
SENTENCE = re.compile(r"(?<=[.:])\s+(?=[A-Z])")


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each section."""
    for part in text.split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        yield title, body


def promises(text: str) -> Iterator[str]:
    """Yield each sentence that promises something: those of lists, and the rows of tables."""
    for title, body in sections(text):
        if title in WITHOUT_TESTS:
            continue
        for line in body.strip().splitlines():
            if line.startswith("- "):
                yield from re.split(r"(?<=\.)\s+(?=[A-Z])", line[2:])
            elif line.startswith("|"):
                if not line.startswith("|---") and not line.startswith("| limit |"):
                    yield line
            elif line:
                yield line


@cache
def files() -> dict[str, list[str]]:
    """Return the contents of the tests by the names of their files."""
    found: dict[str, list[str]] = {}
    for path in [*TESTS.rglob("test_*"), *TESTS.rglob("fuzz_*")]:
        if path.suffix in (".py", ".c", ".cc"):
            found.setdefault(path.name, []).append(path.read_text())
    return found


def faults(text: str) -> list[str]:
    """Return the sentences that name no test, and the names of tests that are not there."""
    found = []
    for sentence in promises(text):
        names = NAMES.findall(sentence)
        if not names or not re.search(r"\((?:`[^`]+`(?:, )?)+\)\.$|`[^`]+` \|$", sentence):
            found.append(f"no test: {sentence}")
        for file, test in names:
            written = files().get(file, [])
            if len(written) != 1:
                found.append(f"{len(written)} files of the name {file}")
            elif test and not re.search(rf"\b(?:def|void) {test}\(", written[0]):
                found.append(f"no {test} in {file}")
            elif not test and not file.startswith("fuzz_"):
                found.append(f"no test of {file} is named")
    return found


def test_every_sentence_names_its_test() -> None:
    text = PAGE.read_text()
    assert len([*promises(text)]) > 40
    assert faults(text) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- All is well.", "no test: All is well."),
        ("- All is well (`test_x`).", "no test: All is well (`test_x`)."),
        ("- Well (`fuzz_raw.c`). And good.", "no test: And good."),
        ("- Well (`fuzz_none.c`).", "0 files of the name fuzz_none.c"),
        ("- Well (`test_security.py::test_none`).", "no test_none in test_security.py"),
        ("- Well (`test_security.py`).", "no test of test_security.py is named"),
        ("All is well.", "no test: All is well."),
        ("| x | 1 | - | |", "no test: | x | 1 | - | |"),
    ],
)
def test_a_sentence_without_a_test_is_noticed(text: str, fault: str) -> None:
    good = "- Nothing is read outside (`fuzz_raw.c`, `test_security.py::faults`).\n"
    assert faults(f"# T\n\n## Texts\n\n{good}") == []
    assert faults(f"# T\n\n## Texts\n\n{good}{text}\n") == [fault]
    assert faults(f"# T\n\n## Report a fault\n\n{text}\n") == []


READ = """
import os, sys, tempfile
from tools import damage
kind, folder = sys.argv[1:]
read, seeds = damage.KINDS[kind]
seeds = seeds()
tried = [*seeds[:60], *damage.changes(seeds, "security", 10 if kind == "catalog" else 60)]
def all_of_them():
    for data in tried:
        with damage.tolerated(*damage.DOCUMENTED.get(kind, ())):
            read(data)
def libraries():
    with open("/proc/self/maps") as lines:
        return {line.split()[-1] for line in lines if ".so" in line}
all_of_them()  # imports
before, seen, own = libraries(), [], ("/dev/shm/", tempfile.gettempdir())
FORBIDDEN = ("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
    "subprocess.Popen", "socket.connect", "socket.getaddrinfo", "socket.bind", "ctypes.dlopen",
    "pickle.find_class", "import", "exec", "marshal.loads", "code.__new__")
def hook(event, arguments):
    if event in FORBIDDEN and str(arguments[:1]) != "('<string>',)":
        seen.append((event, str(arguments)[:200]))
    if event == "open" and isinstance(arguments[0], str):
        writes = (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes and not arguments[0].startswith(own):
            seen.append((event, str(arguments)[:200]))
sys.addaudithook(hook)
all_of_them()
assert not seen, seen
assert libraries() <= before, libraries() - before
assert os.listdir(folder) == []
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at what Linux says of a process")
@pytest.mark.parametrize("kind", damage.KINDS)
def test_reading_runs_no_code(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every input that is tried was read before, so that nothing is imported any more."""
    needs = {"table": ["pyarrow"], "catalog": ["duckdb", "pyarrow"], "calls": ["duckdb", "pyarrow"]}
    for name in needs.get(kind, ()):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("empty")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", READ, kind, str(folder)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
