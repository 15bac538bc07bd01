"""Record what releases of IREE's runtime say: ``python -m tools failures VERSION``.

Provokes each failure in the release, by a module that is made for it or damaged, and writes what
the release says to ``tests/data/failures/VERSION.json``. Nothing in these files is typed by hand.
"""

from __future__ import annotations

import argparse
import base64
import json
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fnabi import vmfb
from tools._environments import Probe, installed
from tools.releases import (
    DESCRIPTOR,
    REQUIRED,
    RETURN,
    ROOT,
    SAY_NO,
    TABLE,
    Code,
    Part,
    Release,
    assemble,
    build,
    library,
    read,
)

DATA = ROOT / "tests" / "data"
FOLDER = DATA / "failures"
PROBE = Path(__file__).with_name("_failures_probe.py")

Request = dict[str, Any]
Try = Callable[["Maker"], Request]


class Maker:
    """Makes the modules that a release fails on."""

    def __init__(self, release: str) -> None:
        self.release = release
        table = read(TABLE.read_text())[release]
        major, minor = table["bytecode"].split(".")
        self.version = int(major), int(minor)
        self.functions: dict[str, str] = table["modules"]["hal"]["functions"]

    def build(self, code: bytes = b"\x79\x5a\0\0", **parts: Any) -> bytes:
        """Return a module of the version that the release reads."""
        return build(code, **{"version": self.version} | parts)

    def described(self, length: int = 4, blocks: int = 1, i32: int = 16, count: int = 1) -> Request:
        """Load a module whose function has a descriptor with these numbers, or is without one."""
        old = struct.pack("<I", 1) + DESCRIPTOR.pack(0, 4, 0, 0, 1, 16, 32)
        new = struct.pack("<I", count) + DESCRIPTOR.pack(0, length, 0, 0, blocks, i32, 32)
        return loads(changed(self.build(), old, new))

    def module(self, name: str) -> bytes:
        """Return the first module of the tests with this name that the release loads.

        Raises:
            LookupError: there is none.

        """
        for path in sorted(DATA.glob(f"*/{name}*.vmfb")):
            try:
                module = vmfb.open(path, lenient=True)
            except ValueError:
                continue
            if module.runs_on(self.release, driver="local-sync").loads:
                return path.read_bytes()
        raise LookupError(f"no module {name} for {self.release}")

    def file(self, name: str) -> bytes:
        """Return a module of the tests whose bytecode the release reads, or newer or older ones."""
        return next(iter(sorted(DATA.glob(f"*/{name}*.vmfb")))).read_bytes()

    def without_data(self, name: str) -> bytes:
        """Return a module that ends before its read-only data."""
        data = self.module(name)
        return data[: vmfb.from_buffer(data, lenient=True).layout.rodata_base]

    def hal(self, code: Code, name: str, references: Iterable[int] = ()) -> int:
        """Call a function of hal."""
        return code.call(f"hal.{name}", self.functions[name], references)

    def device(self, code: Code) -> int:
        """Return a register with the device."""
        name = "devices.get" if "devices.get" in self.functions else "ex.shared_device"
        return self.hal(code, name)

    def parameters(self, name: str, data: bytes) -> Request:
        """Run a module with a file of parameters."""
        words = "--module=m.vmfb", "--function=run", "--device=local-sync"
        files = {"m_vmfb": self.module("params_vmvx"), name.replace(".", "_"): data}
        return tool(*words, f"--parameters=model={name}", **files)

    def executable(self, kind: str, data: bytes) -> Request:
        """Make a module that creates an executable."""
        code = Code()
        device = self.device(code)
        references = [device, code.text(kind.encode()), code.text(data)]
        if "pipeline_layout.create" in self.functions:
            layout = self.hal(code, "descriptor_set_layout.create", [device])
            references += [Code.REFS, self.hal(code, "pipeline_layout.create", [device, layout])]
        self.hal(code, "executable.create", references)
        return calls(code.end(self.version))

    def assertion(self, element: int, *dims: int) -> bytes:
        """Return a module whose function asserts the type and shape of the view it is given."""
        name = "hal.buffer_view.assert"
        convention = self.functions["buffer_view.assert"].encode()
        view, message = Code.REFS, Code.REFS + 1
        parts: list[Part] = [struct.pack("<BIH", 0x11, 0, message)]  # const.ref.rodata
        parts.append(struct.pack("<BiHBiH", 0x0D, element, 0, 0x0D, 1, 1))  # const.i32
        registers = [2 * (2 + index) for index in range(len(dims))]
        for dim, register in zip(dims, registers, strict=True):
            parts.append(struct.pack("<BqH", 0x0F, dim, register))  # const.i64
        segments = [0xFFFF] * 4 + [len(dims)]
        parts += [struct.pack("<BI", 0x59, 1 << 31), segments]  # call.variadic
        parts += [[view, message, 0, 1, *registers], []]
        if self.version[0] > 15:
            parts += [b"\x85", [view, message]]  # discard.refs
        return self.build(
            assemble([*parts, *RETURN]),
            imports=[(name, convention, REQUIRED)],
            rodata=[b"tensor"],
            convention=b"0r_v",
        )

    def empty(self, name: str, given: str = "") -> Request:
        """Make a module that gives a function of hal nothing, or a device."""
        code = Code()
        self.hal(code, name, [self.device(code)] if given else [])
        return calls(code.end(self.version))

    def allocation(self, size: int, then: str = "", number: int = 0, flags: int = 0) -> Request:
        """Make a module that asks for a buffer, and calls a function with it and a number."""
        code = Code()
        allocator = self.hal(code, "device.allocator", [self.device(code)])
        code.parts.append(struct.pack("<BqH", 0x0F, size, Code.ANY))  # const.i64
        buffer = self.hal(code, "allocator.allocate", [allocator])
        if then:
            code.parts.append(struct.pack("<BqHBiH", 0x0F, number, Code.ANY, 0x0D, flags, 14))
            references = [buffer, code.text(b"tensor"), allocator]
            self.hal(code, then, references[: self.functions[then].partition("_")[0].count("r")])
        return calls(code.end(self.version))


def text(data: bytes) -> str:
    """Return bytes as a request has them."""
    return base64.b64encode(data).decode()


def loads(data: bytes, *hosts: str, **more: Any) -> Request:
    """Load a module, beside system modules where they are named."""
    found: Request = {"verb": "load", "module": text(data), **more}
    return found | {"hosts": [*hosts]} if hosts else found


def calls(data: bytes, function: str = "main", *arguments: Any, **more: Any) -> Request:
    """Call a function of a module; without arguments, without NumPy between."""
    more = {"hosts": ["hal"]} | more
    return {
        "verb": "load",
        "module": text(data),
        "call": function,
        "arguments": arguments,
        **more,
    }


def tool(*words: str, **files: bytes) -> Request:
    """Run ``iree-run-module`` in a folder with these files; `_` in their names is a dot."""
    return {
        "verb": "tool",
        "words": words,
        "files": {n.replace("_", "."): text(d) for n, d in files.items()},
    }


def damaged(data: bytes, at: int, new: bytes) -> bytes:
    """Return data with other bytes at an offset."""
    return data[:at] + new + data[at + len(new) :]


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    """Return data with other bytes in place of some."""
    if old not in data or len(old) != len(new):
        raise LookupError(f"no {old!r} in the module")
    return data.replace(old, new)


ELF = "embedded-elf-x86_64"
F32, I32 = 0x21000020, 0x10000020
TRIES: dict[str, Try] = {
    # the file
    "identifier": lambda m: loads(b"\x20" + bytes(63)),
    "size": lambda m: loads(b"\x20\0\0\0"),
    "size cut": lambda m: loads(m.build()[:100]),
    "rodata cut": lambda m: loads(m.without_data("rodata_mixed")),
    "flatbuffer": lambda m: loads(damaged(m.build(), 0x14, b"\xff\xff")),
    "old schema": lambda m: loads(m.file("add_vmvx@20230209")),
    "ext opcode": lambda m: loads(m.build(b"\x79\xe0\xfe\0\0", requirements=1)),
    "file absent": lambda m: {"verb": "load", "mmap": "absent.vmfb"},
    "file absent, tool": lambda m: tool("--module=absent.vmfb", "--function=main"),
    "name": lambda m: loads(changed(m.build(), b"\5\0\0\0probe", bytes(9))),
    "name of a type": lambda m: loads(m.build(types=[""])),
    "name of a dependency": lambda m: loads(m.build(dependencies=[("", 0, REQUIRED)])),
    "name of an import": lambda m: loads(m.build(imports=[("", b"0v_v", REQUIRED)])),
    "name of an export": lambda m: loads(changed(m.build(), b"\4\0\0\0main", bytes(8))),
    "ordinal of an export": lambda m: loads(m.build(ordinal=1)),
    "descriptors": lambda m: m.described(count=0),
    "descriptor without blocks": lambda m: m.described(blocks=0),
    "descriptor of more blocks": lambda m: m.described(blocks=2),
    "descriptor without code": lambda m: m.described(length=0),
    "descriptor of more code": lambda m: m.described(length=40),
    "descriptor of many registers": lambda m: m.described(i32=32767),
    "unaligned": lambda m: {"verb": "view", "module": text(m.build())},
    # its bytecode
    "bytecode newer": lambda m: loads(m.build(version=(m.version[0] + 1, 0))),
    "bytecode older": lambda m: loads(m.build(version=(m.version[0] - 1, 0))),
    "features": lambda m: loads(m.build(requirements=1 << 20)),
    "type": lambda m: loads(m.build(types=["!hal.nothing"])),
    "opcode": lambda m: loads(m.build(b"\x79\xfe\0\0")),
    "code": lambda m: loads(m.build(b"\x79\x56\xff\xff\0\0\0\0\0\0")),
    # what it needs
    "module absent": lambda m: loads(m.build(dependencies=[("nothing", 0, REQUIRED)]), "hal"),
    "module absent, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=main",
        m_vmfb=m.build(dependencies=[("nothing", 0, REQUIRED)]),
    ),
    "module old": lambda m: loads(m.build(dependencies=[("hal", 1 << 20, REQUIRED)]), "hal"),
    "import absent": lambda m: loads(m.build(imports=[("hal.nothing", b"0v_v", REQUIRED)]), "hal"),
    "import of an absent module": lambda m: loads(
        m.build(imports=[("nothing.at_all", b"0v_v", REQUIRED)]), "hal"
    ),
    "import signature": lambda m: loads(
        m.build(imports=[("hal.buffer_view.assert", b"0riii_v", REQUIRED)]), "hal"
    ),
    # its executables
    "format": lambda m: m.executable("nothing-elf-of-any", library()),
    "elf version": lambda m: m.executable(ELF, library()),
    "elf magic": lambda m: m.executable(ELF, bytes(4) + library()[4:]),
    "elf machine": lambda m: m.executable(ELF, damaged(library(), 18, b"\xb7\0")),
    "elf cut": lambda m: m.executable(ELF, library()[:40]),
    "elf query absent": lambda m: m.executable(ELF, library().replace(b"iree_hal", b"iree_haL")),
    "vmvx entry": lambda m: m.executable("vmvx-bytecode-fb", m.build()),
    "vmvx damaged": lambda m: m.executable("vmvx-bytecode-fb", bytes(64)),
    "device": lambda m: loads(m.file("mm_vulkan"), "hal"),
    # devices
    "driver": lambda m: {"verb": "driver", "uri": "nothing"},
    "driver, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=main",
        "--device=nothing",
        m_vmfb=m.build(dependencies=[("hal", 0, REQUIRED)]),
    ),
    "device path, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=main",
        "--device=local-task://9",
        m_vmfb=m.build(dependencies=[("hal", 0, REQUIRED)]),
    ),
    "device path": lambda m: {"verb": "driver", "uri": "local-sync://7"},
    "cuda, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=main",
        "--device=cuda",
        m_vmfb=m.build(dependencies=[("hal", 0, REQUIRED)]),
    ),
    "cuda": lambda m: {"verb": "driver", "uri": "cuda"},
    "vulkan": lambda m: {"verb": "driver", "uri": "vulkan"},
    "hip": lambda m: {"verb": "driver", "uri": "hip"},
    "device list": lambda m: {"verb": "devices", "uris": ["nothing", "local-sync://7"]},
    # calls
    "function": lambda m: loads(m.build(), "hal", call="absent", arguments=[]),
    "function, tool": lambda m: tool(
        "--module=m.vmfb", "--function=absent", "--device=local-sync", m_vmfb=m.build()
    ),
    "functions, tool": lambda m: tool(
        "--module=m.vmfb", "--device=local-sync", m_vmfb=m.module("elem_ints")
    ),
    "no module, tool": lambda m: tool("--function=main", "--device=local-sync"),
    "view, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=main",
        "--device=local-sync",
        "--input=4xf64=1",
        m_vmfb=m.module("demoted"),
    ),
    "output file, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=keep_i8",
        "--device=local-sync",
        "--input=5x2xi8=1",
        "--output=@absent/y.npy",
        m_vmfb=m.module("elem_ints"),
    ),
    "no function, tool": lambda m: tool(
        "--module=m.vmfb", "--device=local-sync", m_vmfb=m.build(convention=b"0r_v")
    ),
    "arguments few": lambda m: calls(m.build(convention=b"0ii_v"), "main", 1, plain=True),
    "arguments many": lambda m: calls(m.build(convention=b"0i_v"), "main", 1, 2, 3, plain=True),
    "arguments few, Python": lambda m: calls(m.module("elem_ints"), "keep_i8"),
    "arguments many, Python": lambda m: calls(m.module("elem_ints"), "keep_i8", 1, 2),
    "arguments few, tool": lambda m: tool(
        "--module=m.vmfb", "--function=keep_i8", "--device=local-sync", m_vmfb=m.module("elem_ints")
    ),
    "arguments many, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=keep_i8",
        "--device=local-sync",
        "--input=5x2xi8=1",
        "--input=5x2xi8=1",
        m_vmfb=m.module("elem_ints"),
    ),
    "argument dtype": lambda m: calls(m.module("elem_ints"), "keep_i8", ["U3", [5, 2]]),
    "argument kind": lambda m: calls(m.module("elem_ints"), "keep_i8", "text"),
    "argument kind, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=main",
        "--device=local-sync",
        "--input=1",
        m_vmfb=m.build(convention=b"0r_v"),
    ),
    "argument text, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=keep_i8",
        "--device=local-sync",
        "--input=5x2xq8=1",
        m_vmfb=m.module("elem_ints"),
    ),
    "argument file, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=keep_i8",
        "--device=local-sync",
        "--input=@absent.npy",
        m_vmfb=m.module("elem_ints"),
    ),
    "argument short, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=keep_i8",
        "--device=local-sync",
        "--input=5x2xi8=1,2,3",
        m_vmfb=m.module("elem_ints"),
    ),
    "argument number, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=sc_index",
        "--device=local-sync",
        "--input=x",
        m_vmfb=m.module("scalars"),
    ),
    "argument empty, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=keep_i8",
        "--device=local-sync",
        "--input=",
        m_vmfb=m.module("elem_ints"),
    ),
    "argument dim, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=keep_i8",
        "--device=local-sync",
        "--input=2x-8xi8",
        m_vmfb=m.module("elem_ints"),
    ),
    "argument element, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=keep_i8",
        "--device=local-sync",
        "--input=5x2xi8=x",
        m_vmfb=m.module("elem_ints"),
    ),
    "argument raw file, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=keep_i8",
        "--device=local-sync",
        "--input=@x.bin",
        x_bin=bytes(10),
        m_vmfb=m.module("elem_ints"),
    ),
    "output mode, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=keep_i8",
        "--device=local-sync",
        "--input=5x2xi8=1",
        "--output=nothing",
        m_vmfb=m.module("elem_ints"),
    ),
    "flag, tool": lambda m: tool("--module=m.vmfb", "--nothing", m_vmfb=m.build()),
    "element type": lambda m: calls(m.assertion(I32, 2, 3), "main", ["float32", [2, 3]]),
    "dim": lambda m: calls(m.assertion(F32, 2, 4), "main", ["float32", [2, 3]]),
    "rank": lambda m: calls(m.assertion(F32, 2, 3, 1), "main", ["float32", [2, 3]]),
    "element type, compiled": lambda m: calls(
        m.module("*mm_vmvx"), "mm", ["int32", [2, 16]], ["float32", [16, 4]]
    ),
    "dim, compiled": lambda m: calls(
        m.module("*mm_vmvx"), "mm", ["float32", [2, 15]], ["float32", [16, 4]]
    ),
    "dim, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=mm",
        "--device=local-sync",
        "--input=2x15xf32",
        "--input=16x4xf32",
        m_vmfb=m.module("*mm_vmvx"),
    ),
    "memory": lambda m: m.allocation(1 << 60 | 1),
    "range": lambda m: m.allocation(64 | 1, "buffer.subspan", 1 << 40),
    "range, compiled": lambda m: tool(
        "--module=m.vmfb",
        "--function=main",
        "--device=local-sync",
        "--input=4x4xf32",
        "--input=&4xf32",
        m_vmfb=m.module("torch_mlp_transients"),
    ),
    "range end": lambda m: m.allocation(64 | 1, "buffer.subspan", 40),
    "buffer short": lambda m: m.allocation(64 | 1, "buffer.assert", 1 << 40),
    "buffer memory": lambda m: m.allocation(64 | 1, "buffer.assert", 0, 0x7FFFFFF),
    "null": lambda m: m.empty("buffer_view.element_type"),
    "wrong object": lambda m: m.empty("buffer_view.element_type", "list"),
    "argument kind, plain": lambda m: calls(m.build(convention=b"0r_v"), "main", 1, plain=True),
    "failed": lambda m: calls(m.build(assemble(SAY_NO))),
    # parameters
    "parameters absent": lambda m: loads(m.module("params_vmvx"), "hal"),
    "parameters scope": lambda m: loads(
        m.module("params_vmvx"), "io_parameters", "hal", scope="other"
    ),
    "parameters key": lambda m: loads(
        m.module("params_vmvx"), "io_parameters", "hal", scope="model"
    ),
    "parameters size": lambda m: loads(
        m.module("params_vmvx"),
        "io_parameters",
        "hal",
        scope="model",
        keys=["layer.weight", "layer.bias"],
    ),
    "parameters file, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=run",
        "--device=local-sync",
        "--parameters=absent.irpa",
        m_vmfb=m.module("params_vmvx"),
    ),
    "parameters format, tool": lambda m: m.parameters("x.py", b"pass"),
    "parameters magic, tool": lambda m: m.parameters("x.irpa", bytes(256)),
    "parameters header, tool": lambda m: m.parameters("x.safetensors", b"\xff" * 256),
    "parameters empty, tool": lambda m: m.parameters("x.gguf", b""),
    "parameters scope, tool": lambda m: tool(
        "--module=m.vmfb",
        "--function=run",
        "--device=local-sync",
        "--input=4xf32",
        m_vmfb=m.module("params_vmvx"),
    ),
}


class Failing:
    """A release that is made to fail: a process with its Python, and ``iree-run-module``."""

    def __init__(self, release: str, python: str) -> None:
        self.maker = Maker(release)
        self.release = Release(python)
        self.probe = Probe(python, PROBE)

    def ask(self, name: str) -> str | None:
        """Return what the release prints in a case; None if it does not fail or lacks the case."""
        try:
            request = TRIES[name](self.maker)
        except (KeyError, LookupError):
            return None
        return self._run(request) if request["verb"] == "tool" else self._ask(request)

    def _ask(self, request: Request) -> str | None:
        answer: str | int | None = self.probe.ask(request)
        return None if isinstance(answer, int) else answer

    def _run(self, request: Request) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            for name, data in request["files"].items():
                Path(folder, name).write_bytes(base64.b64decode(data))
            command = [str(self.release.tool), *request["words"]]
            run = subprocess.run(command, capture_output=True, cwd=folder, timeout=60)
        said = (run.stdout + run.stderr).decode("utf-8", "replace")
        return said.replace(str(self.release.tool), "iree-run-module") if run.returncode else None


def record(release: str, python: str) -> dict[str, str]:
    """Return what a release prints, by case."""
    failing = Failing(release, python)
    try:
        return {name: said for name in TRIES if (said := failing.ask(name)) is not None}
    finally:
        failing.probe.close()


def main() -> int:
    """Record the releases that the command names."""
    parser = argparse.ArgumentParser(
        prog="python -m tools failures",
        description="Record what releases of IREE's runtime print when they fail, in"
        f" {FOLDER.relative_to(ROOT)}.",
    )
    parser.add_argument("versions", metavar="VERSION", nargs="+")
    parser.add_argument("--cache", metavar="DIR", type=Path, help="keep the environments in DIR")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for version in arguments.versions:
            python = installed(version, arguments.cache or Path(scratch))
            found = record(version, python)
            path = FOLDER / f"{version}.json"
            path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
            print(f"{version}: {len(found)} failures")
    return 0
