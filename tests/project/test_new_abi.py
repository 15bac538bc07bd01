"""`python -m tools new-abi`: the skeleton works in every place, and an edit compiles one file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "build", "out", "*.so"
)
TESTS = (
    *("tests/abi/test_toy.py", "tests/base/test_error_codes.py", "tests/project/test_abi.py"),
    *("tests/project/test_architecture.py", "tests/project/test_public.py"),
)


class Checkout:
    """A copy of the checkout, whose `fnabi` its programs import."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT, folder, ignore=NOT_COPIED)

    def run(self, *command: str) -> str:
        """Run a program, and return what it prints; it must succeed."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder / "python")},
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def python(self, *words: str) -> str:
        return self.run(sys.executable, *words)

    def build(self) -> set[str]:
        """Build the extension in place, and return the objects that were compiled."""
        before = self.objects()
        self.python("setup.py", "-q", "build_ext", "--inplace")
        after = self.objects()
        return {name for name, time in after.items() if before.get(name) != time}

    def objects(self) -> dict[str, int]:
        return {
            path.relative_to(self.folder).as_posix().partition("csrc/")[2]: path.stat().st_mtime_ns
            for path in self.folder.glob("build/**/*.o")
        }


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.full
def test_a_new_abi_works_end_to_end(tmp_path: Path) -> None:
    setuptools = pytest.importorskip("setuptools", minversion="77")
    assert setuptools
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("there is no C compiler")
    checkout = Checkout(tmp_path / "checkout")

    printed = checkout.python("-m", "tools", "new-abi", "toy")
    written, _, left = printed.partition("What is left:")
    for path in re.findall(r"^[\w/.]+$", written, re.MULTILINE):
        assert "toy" in (checkout.folder / path).read_text() or "corpus/toy" in path, path
    for path in re.findall(r"^  ([\w/.]+)(?:, ([\w/.]+))?  ", left, re.MULTILINE):
        for each in filter(None, path):
            assert (checkout.folder / each).exists() or each == "tests/data/toy/", each
    assert "foo" not in printed

    assert {"abi/toy.o", "abi/raw.o"} <= checkout.build()
    checkout.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS)
    decoded = checkout.python("-m", "fnabi", "decode", "--abi=toy", "if>f")
    assert decoded == "(i32, float32) -> (float32)\n"
    program = str(tmp_path / "test_toy")
    base = [
        path.relative_to(checkout.folder).as_posix()
        for path in checkout.folder.glob("csrc/base/*.c")
    ]
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-Icsrc", "-Itests/c"]
    for main in (["tests/c/abi/test_toy.c"], ["tests/c/abi/fuzz_toy.c", "tests/c/replay.c"]):
        checkout.run(compiler, *flags, "-o", program, *main, "csrc/abi/toy.c", *base, "-lm")
        checkout.run(program, *map(str, checkout.folder.glob("tests/c/corpus/toy/*")))

    # An edit compiles the files that it changes, and the next import has it.
    assert checkout.build() == set()
    edit(checkout.folder / "csrc/abi/toy.c", "'f'", "'g'")
    assert checkout.build() == {"abi/toy.o"}
    decoded = checkout.python("-m", "fnabi", "decode", "--abi=toy", "ig>g")
    assert decoded == "(i32, float32) -> (float32)\n"
    edit(checkout.folder / "csrc/abi/sip.h", "/* sip.h", "/*  sip.h")
    users = {
        path
        for path in (checkout.folder / "csrc").rglob("*.c")
        if '"abi/sip.h"' in path.read_text()
    }
    folder = checkout.folder / "csrc"
    direct = {path.relative_to(folder).with_suffix(".o").as_posix() for path in users}
    compiled = checkout.build()
    assert direct <= compiled
    assert len(compiled) < 20


def test_a_name_that_is_taken_or_none_is_refused() -> None:
    for name, status, text in (("raw", 1, "is taken"), ("Foo", 2, "usage"), ("", 2, "usage")):
        command = [sys.executable, "-m", "tools", "new-abi", name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (status, "")
        assert text in done.stderr
