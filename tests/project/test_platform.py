"""The package on other platforms: what it is built with, and what its build reports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from installed import main
from support.each import each
from support.paths import ROOT

CSRC = ROOT / "csrc"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_what_a_wheel_is_checked_with() -> None:
    main()
    assert "tests/installed.py" in PROJECT["tool"]["cibuildwheel"]["test-command"]


def test_the_licence_is_an_expression() -> None:
    """PEP 639 refuses the classifier of a licence beside it."""
    project = PROJECT["project"]
    assert project["license"] == "Apache-2.0"
    assert all((ROOT / name).is_file() for name in project["license-files"])
    assert not [each for each in project["classifiers"] if each.startswith("License")]


def test_without_a_compiler_the_build_says_so_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", "77")
    build = ["build_ext", f"--build-temp={tmp_path}", f"--build-lib={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", *build],
        cwd=ROOT,
        env={**os.environ, "CC": "/nonexistent/cc"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line == (
        "error: building fnabi needs a C compiler: /nonexistent/cc was not found; set CC"
    )


POSIX_ONLY = """
import os, select, signal, sys
of_os = ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "fchmod", "set_blocking", "pread", "uname")
for module, names in ((os, of_os), (select, ["poll"]), (signal, ["SIGHUP", "SIGPIPE", "SIGWINCH"])):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
for name in ("fcntl", "termios", "resource", "pwd", "grp"):
    sys.modules[name] = None
"""


def test_without_what_only_posix_has(tmp_path: Path) -> None:
    """Modules, texts, columns and output files need nothing that Windows lacks."""
    code = f"""{POSIX_ONLY}
import installed
from pathlib import Path
from fnabi import cli
from fnabi._base import files
installed.main()
target = Path({str(tmp_path)!r}, "out")
for text in (b"a\\n", b"b\\n"):
    with files.write_whole(target) as file:
        file.write(text)
    assert target.read_bytes() == text
assert cli.main(["decode", "--abi", "raw", "I15!B11!d10d128d64R1!"]) == 0
assert cli.main(["inspect", str(installed.MODULE)]) == 0
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT / "tests",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------------------- C

BUILTIN = re.compile(
    r"\b(__builtin_\w+|__attribute__|__atomic_\w+|__asm__|_Thread_local|__declspec|_Interlocked\w+"
    r"|__BYTE_ORDER__|_MSC_VER)\b|<stdatomic.h>|<intrin.h>"
)
SYSTEM = re.compile(
    r"<(dlfcn|fcntl|io|link|pthread|sched|sys/\w+|unistd|windows)\.h>",
)
OWN_SYSTEM = {
    "base/file.c",
    "base/vector.c",
    "lane/runtime/cut_files.c",
    "lane/runtime/loader.c",
    "lane/runtime/threads.c",
    "lane/runtime/threads.h",
}
"""The files that use what not every system has."""


def code_of(path: Path) -> str:
    """Return a C file without comments and pragmas."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"^#pragma(.*\\\n)*.*$", "", text, flags=re.MULTILINE)


def c_files() -> dict[str, Path]:
    found = (path for path in CSRC.glob("*/**/*.[ch]") if "out" not in path.parts)
    return {path.relative_to(CSRC).as_posix(): path for path in found}


@each(lambda: ((name, name) for name in sorted(c_files().keys() - {"base/platform.h"})))
def test_only_one_header_names_builtins(name: str) -> None:
    assert BUILTIN.findall(code_of(c_files()[name])) == []


def test_builtins_are_found() -> None:
    platform = code_of(CSRC / "base" / "platform.h")
    assert {"__builtin_ctzll", "__attribute__", "_MSC_VER"} <= set(BUILTIN.findall(platform))


def test_which_files_use_the_system() -> None:
    using = {name for name, path in c_files().items() if SYSTEM.search(code_of(path))}
    assert using == OWN_SYSTEM
