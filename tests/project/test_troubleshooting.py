"""Each message of ``docs/troubleshooting.md`` is provoked, and is as the page has it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

import pytest

from fnabi.many import _lock
from support.paths import DATA, ROOT

PAGE = (ROOT / "docs/troubleshooting.md").read_text()
MESSAGES = re.findall(r"^`(.+)`\n: ", PAGE, re.M)
MODULE = "examples/classifier.vmfb"

WITHOUT = """
import importlib.util, sys
hidden, real = sys.argv.pop(1), importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == hidden else real(name, *a)
sys.modules[hidden] = None
"""
"""Hides a package, as if it were not installed."""

PIP = """
import sys, sysconfig
sys.base_prefix, real = sys.prefix, sysconfig.get_path
sysconfig.get_path = lambda name, *a, **k: "." if name == "stdlib" else real(name, *a, **k)
from pip._internal.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""pip in a Python outside of environments, with the current folder as its library."""


def run(*command: str, **variables: str) -> str:
    """Run a command in the current folder, and return what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", **variables}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    return done.stdout


def python(code: str, *arguments: str) -> str:
    return run(sys.executable, "-c", code, *arguments)


def fnabi(*arguments: str) -> str:
    return run(sys.executable, "-m", "fnabi", *arguments)


def build(**variables: str) -> str:
    """Build fnabi in its folder, into another one."""
    pytest.importorskip("setuptools", "77")
    target = [f"--build-{each}={os.getcwd()}" for each in ("temp", "lib")]
    code = (
        "import os, runpy, sys, sysconfig\n"
        "real = sysconfig.get_path\n"
        "headers = os.environ.get('HEADERS')\n"
        "if headers:\n"
        "    sysconfig.get_path = lambda name, *a, **k:"
        " headers if name == 'include' else real(name, *a, **k)\n"
        f"os.chdir({str(ROOT)!r})\n"
        "sys.argv[0] = 'setup.py'\n"
        "runpy.run_path('setup.py', run_name='__main__')\n"
    )
    return run(sys.executable, "-c", code, "-q", "build_ext", *target, **variables)


def skip_without_pip() -> None:
    """Skip the test. The import of pip, or of its spec, would break that of setuptools after it."""
    if not any(metadata.distributions(name="pip")):
        pytest.skip("pip is not installed")


def pip(*arguments: str) -> str:
    skip_without_pip()
    return run(sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", *arguments)


def externally_managed() -> str:
    skip_without_pip()
    Path("EXTERNALLY-MANAGED").write_text("[externally-managed]\nError=No.\n")
    return python(PIP, "install", "--dry-run", "--no-deps", ".")


def other_python() -> str:
    name = "fnabi-9-py3-none-any.whl"
    about = "Metadata-Version: 2.1\nName: fnabi\nVersion: 9\nRequires-Python: >=99\n"
    with zipfile.ZipFile(name, "w") as file:
        file.writestr("fnabi-9.dist-info/METADATA", about)
        file.writestr("fnabi-9.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr("fnabi-9.dist-info/RECORD", "")
    return pip(name)


def other_platform() -> str:
    zipfile.ZipFile("fnabi-9-cp311-abi3-plan9_mips.whl", "w").close()
    return pip("fnabi-9-cp311-abi3-plan9_mips.whl")


def not_compiled() -> str:
    shutil.copytree(
        ROOT / "python/fnabi", "fnabi", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    return python("import fnabi; fnabi.raw")


def without(package: str, *arguments: str) -> str:
    code = f"{WITHOUT}from fnabi.cli import main\nsys.exit(main(sys.argv[1:]))"
    return python(code, package, *arguments)


def client_alone() -> str:
    fnabi("stub", "-o", "classifier.py", MODULE)
    code = f"import classifier; classifier.Classifier({MODULE!r})"
    return python(f"{WITHOUT}sys.path.insert(0, '.')\n{code}", "iree.runtime")


def file(content: str | bytes, verb: str = "inspect") -> str:
    data = content.encode() if isinstance(content, str) else content
    Path("file").write_bytes(data)
    return fnabi(verb, "file")


def compile(source: str, name: str) -> None:
    if shutil.which("cc") is None:
        pytest.skip("could not find the program 'cc'")
    Path("source.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "source.c", "-o", name], check=True)


def library(body: str, name: str = "library.so") -> str:
    declared = "extern int _ZN3tvm3ffi7MissingEv(void);\n"
    header = "int __tvm_ffi_f(void* handle, const void* arguments, int count, void* result)"
    compile(f"{declared}{header} {{ return {body}; }}\n", name)
    return name


def cpp(hidden: str) -> str:
    library("_ZN3tvm3ffi7MissingEv()")
    return python(f"{WITHOUT}import fnabi; fnabi.load_module('library.so')", hidden)


def with_libtvm_ffi() -> str:
    pytest.importorskip("tvm_ffi")
    return cpp("nothing")


def other_machine() -> str:
    data = bytearray(Path(library("0")).read_bytes())
    data[18:20] = (0xF3).to_bytes(2, "little")  # RISC-V
    Path("other.so").write_bytes(data)
    return python("import fnabi; fnabi.load_module('other.so')")


def no_functions() -> str:
    compile("int f;\n", "library.so")
    return fnabi("inspect", "library.so")


def kernels(expression: str) -> str:
    """Evaluate an expression with the kernels of the examples."""
    pytest.importorskip("numpy")
    if shutil.which("cc") is None:
        pytest.skip("could not find the program 'cc'")
    include = ROOT / "python/fnabi/include"
    command = ["cc", "-shared", "-fPIC", "examples/kernels.c", "-o", "kernels.so", "-lm"]
    subprocess.run([*command, f"-I{include}"], check=True)
    start = "import fnabi, numpy as np\nlib = fnabi.load_module('kernels.so')\n"
    return python(f"{start}x = np.ones(3, np.float32)\n{expression}")


def catalog(*arguments: str, files: Sequence[str] = (MODULE,)) -> str:
    """Make a catalog of copies of a module, and run a verb with it."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    Path("fleet").mkdir()
    for each in files:
        shutil.copy(MODULE, f"fleet/{Path(each).name}")
    assert "added" in fnabi("catalog", "update", "c.duckdb", "fleet")
    return fnabi(*arguments) if arguments else ""


def locked() -> str:
    catalog()
    with _lock.locked(".c.duckdb.lock", "", ""):
        return fnabi("catalog", "update", "c.duckdb")


def written() -> str:
    pytest.importorskip("pyarrow")
    Path("texts").write_text("I1!R1!\n")
    with _lock.locked(".decoded.parquet.lock", "", ""):
        return fnabi("decode", "--resume", "texts", "-o", "decoded.parquet")


def opened(statement: str = "", then: str = "show") -> str:
    catalog()
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("c.duckdb") as connection:
        if not statement:
            return fnabi("catalog", "show", "c.duckdb")
        connection.execute(statement)
    return fnabi("catalog", then, "c.duckdb")


def gone(count: int) -> str:
    catalog(files=[f"{number}.vmfb" for number in range(count)])
    if count == 1:
        shutil.rmtree("fleet")
    else:
        for path in Path("fleet").glob("*"):
            path.unlink()
    return fnabi("catalog", "update", "c.duckdb")


def swapped() -> str:
    pytest.importorskip("duckdb")
    return fnabi("catalog", "update", MODULE, "examples/releases")


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
EXPORT = f"import fnabi; fnabi.vmfb.open({MODULE!r}).exports['dens']"
FROZEN = "x.flags.writeable = False\nlib.norm(x)"
VERSION = "UPDATE catalog SET value = '1' WHERE key = 'version'"

PROVOKED: dict[str, Callable[[], str]] = {
    "building fnabi needs a C compiler": lambda: build(CC="/nonexistent/cc"),
    "building fnabi needs the headers": lambda: build(HEADERS="/nonexistent"),
    "error: externally-managed-environment": externally_managed,
    "requires a different Python": other_python,
    "… is not a supported wheel": other_platform,
    "No module named 'fnabi'": lambda: run(sys.executable, "-S", "-I", "-c", "import fnabi"),
    "No module named 'fnabi._fnabi'": not_compiled,
    "fnabi: command not found": lambda: run("/bin/bash", "-c", "PATH=/nonexistent; fnabi"),
    "duckdb is not installed": lambda: without(
        "duckdb", "inspect", "--html", "-o", "page.html", str(ROOT / "examples")
    ),
    "client.Client: iree.runtime": client_alone,
    "No such file or directory": lambda: fnabi("inspect", "missing.vmfb"),
    "neither an IREE module nor a shared library, but text": lambda: file(POINTER),
    "neither an IREE module nor a shared library, but MLIR": lambda: file("func.func @f() {}\n"),
    "not an IREE module at byte": lambda: file(Path(library("0")).read_bytes(), "verify"),
    "file ends before the module does": lambda: file(Path(MODULE).read_bytes()[:3000]),
    "changed bytes": lambda: file(
        Path(MODULE).read_bytes().replace(b"input2", b"Input2"), "verify"
    ),
    "offset outside the module": lambda: fnabi("inspect", f"{DATA}/vmfb/attr_text@2.9.0.vmfb"),
    "does not load: needs bytecode": lambda: fnabi("verify", "--runtime=3.9.0", MODULE),
    "… was not measured": lambda: fnabi("verify", "--runtime=99.0.0", MODULE),
    "the module has no export": lambda: python(EXPORT),
    "Is a directory": lambda: fnabi("inspect", "examples"),
    "Inputs span not found": lambda: fnabi("decode", "(float32[?x4]) -> (int32)"),
    "non-ASCII character": lambda: python("import fnabi; fnabi.raw.parse('ü')"),
    'unknown type "_"': lambda: python("import fnabi; fnabi.pattern.parse('_ -> f32')"),
    "the library needs libtvm_ffi.so": lambda: cpp("tvm_ffi"),
    "the library needs …, which the installed": with_libtvm_ffi,
    "a … library for …": other_machine,
    "no exported symbol is named": no_functions,
    "C source, not a library": lambda: fnabi("call", "examples/kernels.c", "norm"),
    "has no function": lambda: kernels("lib.nrom"),
    "must be ffi.Tensor": lambda: kernels("lib.norm([1.0])"),
    "axpy() takes 3 arguments": lambda: kernels("lib.axpy(2.0, x)"),
    "argument 0: expected memory": lambda: kernels(FROZEN),
    "argument 0: DLPack has no such dtype": lambda: kernels("lib.norm(x.astype(object))"),
    "argument …: … does not fit": lambda: kernels("lib.axpy(2**70, x, x)"),
    "the function failed with status -1": lambda: fnabi("call", library("-1"), "f"),
    "a compiled module": lambda: fnabi("call", MODULE, "dense"),
    "process … is updating": locked,
    "process … is writing it": written,
    "another program has opened": opened,
    "… is before the first update": lambda: catalog("find", "c.duckdb", "--at", "2020-01-01"),
    "… is in the future": lambda: catalog("find", "c.duckdb", "--at", "2999-01-01"),
    "catalog of version": lambda: opened(VERSION),
    "not a catalog": swapped,
    "the catalog keeps": lambda: gone(1),
    "files below": lambda: gone(12),
}
"""How each message is provoked, by how it begins."""


def test_every_message_is_provoked() -> None:
    assert len(MESSAGES) == len(PROVOKED)
    for message in MESSAGES:
        assert sum(message.startswith(each) for each in PROVOKED) >= 1, message


UNMEASURED = pytest.mark.unmeasured("its lines are of a copy of fnabi")


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(begin, marks=UNMEASURED if provoke is not_compiled else ())
        for begin, provoke in PROVOKED.items()
    ],
)
def test_a_message_is_as_it_is_printed(
    begin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = min((each for each in MESSAGES if each.startswith(begin)), key=len)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    printed = " ".join(PROVOKED[begin]().split())
    pattern = re.escape(message).replace("…", ".*?")
    assert re.search(pattern, printed), f"expected:\n{message}\ngot:\n{printed}"


def test_the_page_tells_what_completes_in_bash() -> None:
    before, after = (
        run("/bin/bash", "-c", f"{start}complete -p fnabi")
        for start in ("", 'eval "$(fnabi completion bash)"; ')
    )
    assert 'eval "$(fnabi completion bash)"' in PAGE
    assert "no completion specification" in before
    assert after.endswith(" fnabi\n")


def test_names_that_the_terminal_cannot_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    shutil.copy(MODULE, "ü.vmfb")
    words = (sys.executable, "-m", "fnabi", "verify", "ü.vmfb")
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    assert run(*words, **ascii_only).startswith(r"\xc3\xbc.vmfb: ok")
    assert run(*words, **ascii_only | {"PYTHONUTF8": "1"}).startswith("ü.vmfb: ok")
    assert run(*words, LC_ALL="C.UTF-8").startswith("ü.vmfb: ok")
