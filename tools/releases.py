"""Measure releases of IREE's runtime: ``python -m tools releases VERSION``.

Installs the release from the package registry, loads small modules that ask for one thing each,
and writes what it answers to ``csrc/vmfb/releases.json``. Nothing in the table is typed by hand or
read from sources: ``--check`` measures again and compares.
"""

from __future__ import annotations

import argparse
import base64
import json
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tools._environments import Probe, installed, listed, order, package
from tools._releases_source import source

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

from support.flatbuffer import Node, Numbers, String, Table, Vector, module  # noqa: E402

TABLE = ROOT / "csrc" / "vmfb" / "releases.json"
SOURCE = TABLE.with_suffix(".c")
PROBE = Path(__file__).with_name("_releases_probe.py")

MACHINE = f"{platform.system()} {platform.machine()}"
WIDTH = 110


# Tags of the wheels for machines other than this one. The bytes of their files are read.
WHEELS = {
    "Linux x86_64": tuple(f"manylinux_2_{minor}_x86_64" for minor in (17, 27, 28, 31, 34)),
    "Linux aarch64": tuple(f"manylinux_2_{minor}_aarch64" for minor in (17, 27, 28, 31, 34)),
    "Darwin arm64": ("macosx_15_0_universal2", "macosx_15_0_arm64"),
    "Windows AMD64": ("win_amd64",),
}
WHEEL_PYTHONS = ("3.11", "3.10", "3.12")
BINARIES = re.compile(r"iree/.*(/iree-run-module(\.exe)?|_runtime\.[^/]*(so|pyd))")
NATIVE = re.compile(rb"(?<![\w-])(?:embedded-elf|system-elf|system-dylib|system-dll)-\w+")

# What a host may register besides the module itself. A name that is not here is unknown.
SYSTEMS = ("hal", "hal_inline", "hal_loader", "io_parameters", "vmvx", "vm", "check")
DRIVERS = ("local-sync", "local-task")
DEVICES = ("local", "local-sync", "local-task", "llvm-cpu", "vmvx", "cpu")
MACHINES = ("arm_32", "arm_64", "riscv_32", "riscv_64", "wasm_32", "wasm_64", "x86_32", "x86_64")
CONTAINERS = ("embedded-elf", "system-elf", "system-dylib", "system-dll", "system-wasm")
FORMATS = (
    *(f"{container}-{machine}" for container, machine in product(CONTAINERS, MACHINES)),
    *("vmvx-bytecode-fb", "static", "vulkan-spirv-fb", "cuda-nvptx-fb", "rocm-hsaco-fb"),
    *("metal-msl-fb", "webgpu-wgsl-fb", "amdgcn-amd-amdhsa-fb"),
)
VALUES = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "index", "ref", "opaque")
TYPES = (
    *VALUES,
    *(f"!vm.{name}" for name in ("buffer", "list", "list<i32>", "list<?>", "list<!hal.fence>")),
    *("!vm.listen", "!vm.opaque", "!vm.ref<?>", "!vm.ref<!hal.buffer>", "!vm.function"),
    "!hal.nothing",
)

WORD = re.compile(rb"(?<![a-z0-9_.])[a-z][a-z0-9_]+(?:\.[a-z0-9_]+)*(?![a-z0-9_.])")
SHARED = "ex.shared_device"  # what was before hal.devices.get
PREFIXES = {0xE0: 1, 0xE1: 2}  # bytes in front of an opcode, and the feature that they need
WRONG = b"0FFFFF_F"  # a convention that no function has


# ------------------------------------------------------------------------------ modules

DESCRIPTOR = struct.Struct("<iiIhhhh")
OPTIONAL, REQUIRED = 2, 1
MARKER = b"\x79"


def build(
    code: bytes = b"\x79\x5a\0\0",  # a block that returns nothing
    *,
    version: tuple[int, int],
    requirements: int = 0,
    types: Iterable[str] = (),
    dependencies: Iterable[tuple[str, int, int]] = (),
    imports: Iterable[tuple[str, bytes | None, int]] = (),
    rodata: Iterable[bytes] = (),
    blocks: int = 1,
    convention: bytes = b"0v_v",
    ordinal: int = 0,
) -> bytes:
    """Return a module with one function, ``main``, by default without arguments and results."""
    function = DESCRIPTOR.pack(0, len(code), requirements, 0, blocks, 16, 32)
    fields: dict[int, Node | bytes] = {
        0: String(b"probe"),
        2: struct.pack("<I", requirements),
        4: Vector([Table({0: String(name.encode())}) for name in types]),
        5: Vector([_dependency(*each) for each in dependencies]),
        6: Vector([_import(*each) for each in imports]),
        7: Vector([Table({0: String(b"main"), 1: _u32(ordinal)})]),
        8: Vector([Table({0: String(convention)})]),
        9: Vector([Table({2: Numbers(data)}) for data in rodata]),
        12: Numbers(function, DESCRIPTOR.size),
        13: struct.pack("<I", version[0] << 16 | version[1]),
        14: Numbers(code + bytes(-len(code) % 8)),
    }
    return module(Table(fields))


def _dependency(name: str, version: int, flags: int) -> Table:
    return Table({0: String(name.encode()), 1: struct.pack("<I", version), 2: _u32(flags)})


def _import(name: str, convention: bytes | None, flags: int) -> Table:
    fields: dict[int, Node | bytes] = {0: String(name.encode()), 2: _u32(flags)}
    if convention is not None:
        fields[1] = Table({0: String(convention)})
    return Table(fields)


def _u32(value: int) -> bytes:
    return struct.pack("<I", value)


Part = bytes | list[int] | tuple[int, int, int]
"""Of a block: an instruction without its lists, a list, or a `cond_br`: register, two blocks."""

RETURN: list[Part] = [b"\x5a", []]
SAY_NO: list[Part] = [struct.pack("<BiHBHH", 0x0D, 5, 0, 0x5B, 0, 2) + b"no"]  # const.i32, fail


def assemble(*blocks: list[Part]) -> bytes:
    """Return the bytecode of blocks."""
    code = bytearray()
    starts = [0] * len(blocks)
    for _ in range(2):  # sizes do not depend on the targets of branches
        code.clear()
        for number, block in enumerate(blocks):
            starts[number] = len(code)
            code += MARKER
            for part in block:
                if isinstance(part, bytes):
                    code += part
                elif isinstance(part, list):
                    _align(code)
                    code += struct.pack(f"<H{len(part)}H", len(part), *part)
                else:
                    code += struct.pack("<BH", 0x57, part[0])
                    for target in part[1:]:
                        code += struct.pack("<I", starts[target])
                        _align(code)
                        code += b"\0\0"  # no register is copied
    return bytes(code)


def _align(code: bytearray) -> None:
    code.extend(bytes(len(code) % 2))


class Code:
    """Bytecode that calls imports, with all other arguments null, zero or, for an i64, -1."""

    ZERO, ANY, REFS = 14, 12, 0x8000

    def __init__(self) -> None:
        constants = struct.pack("<BHBqH", 0x0E, self.ZERO, 0x0F, -1, self.ANY)  # both of i64
        self.parts: list[Part] = [constants]
        self.imports: list[tuple[str, bytes | None, int]] = []
        self.rodata: list[bytes] = []
        self.refs = self.REFS

    def text(self, data: bytes) -> int:
        """Return a new register with read-only data."""
        self.refs += 1
        self.parts.append(
            struct.pack("<BIH", 0x11, len(self.rodata), self.refs)
        )  # const.ref.rodata
        self.rodata.append(data)
        return self.refs

    def call(self, name: str, convention: str, references: Iterable[int] = ()) -> int:
        """Call an import with these references; return the register of its first reference, or 0.

        A variadic part is one tuple while there are references for it, and otherwise none.
        """
        arguments, _, results = convention[1:].partition("_")
        given = list(references)
        scalars = {"i": self.ZERO, "I": self.ANY}
        operands, segments = [], []
        for part in re.findall(r"C\w*?D|[iIfFr]", arguments):
            variadic = part[0] == "C"
            segments.append(int(bool(given) or "r" not in part) if variadic else 0xFFFF)
            for letter in part.strip("CD") if segments[-1] else "":
                if letter == "r":
                    operands.append(given.pop(0) if given else self.REFS)  # which stays null
                else:
                    operands.append(scalars[letter])
        opcode = 0x59 if "C" in arguments else 0x58  # call.variadic, call
        self.parts.append(struct.pack("<BI", opcode, 1 << 31 | len(self.imports)))
        if "C" in arguments:
            self.parts.append(segments)
        self.refs += "r" in results
        kinds = {"i": 0, "I": 2, "r": self.refs}
        self.parts += [operands, [kinds[result] for result in results if result in kinds]]
        self.imports.append((name, convention.encode(), REQUIRED))
        return self.refs if "r" in results else 0

    def end(self, version: tuple[int, int], *, asked: bool = False, depends: str = "") -> bytes:
        """Return the module; with `asked`, it fails with *no* where the last call returned zero."""
        parts = list(self.parts)
        if version[0] > 15:  # since then the code itself releases what its registers hold
            parts += [b"\x85", [*range(self.REFS, self.refs + 1)]]  # discard.refs
        blocks = [parts + RETURN]
        if asked:
            if b"I" in (self.imports[-1][1] or b"").partition(b"_")[2]:
                parts.append(struct.pack("<BHH", 0x52, 2, 0))  # cmp.nz.i64
            blocks = [[*parts, (0, 1, 2)], RETURN, SAY_NO]
        return build(
            assemble(*blocks),
            version=version,
            dependencies=[(depends, 0, REQUIRED)] if depends else [],
            imports=self.imports,
            rodata=self.rodata,
            blocks=len(blocks),
        )


WIDE = 22 + (1 << 33)


def arguments(version: tuple[int, int]) -> bytes:
    """Return a module whose function fails with *no* unless its i64, after an i32, is `WIDE`.

    It looks at its own where the i32 is not zero. Otherwise it calls itself with 1 and `WIDE`.
    """
    compare = struct.pack("<BqHBHHH", 0x0F, WIDE, 8, 0x4E, 2, 8, 0)  # const.i64, cmp.eq.i64
    values = struct.pack("<BiHBqH", 0x0D, 1, 4, 0x0F, WIDE, 6)  # const.i32, const.i64
    call = [values + struct.pack("<BI", 0x58, 0), [4, 6], []]
    blocks = [[(0, 1, 2)], [compare, (0, 3, 4)], [*call, *RETURN], RETURN, SAY_NO]
    code = assemble(*blocks)
    return build(code, version=version, blocks=len(blocks), convention=b"0iI_v")


def library() -> bytes:
    """Return a shared ELF object for this machine with the query of an executable's library.

    It returns null whatever version it is asked for, so the runtime says which one that is.
    """
    machine, code = {
        "x86_64": (62, b"\x31\xc0\xc3"),  # xor eax, eax; ret
        "aarch64": (183, b"\x00\x00\x80\xd2\xc0\x03\x5f\xd6"),  # mov x0, 0; ret
    }[platform.machine()]
    names = b"\0iree_hal_executable_library_query\0"
    at = {"dynamic": 0x100, "symbols": 0x200, "hash": 0x240, "names": 0x280, "code": 0x300}
    tags = ((4, at["hash"]), (5, at["names"]), (6, at["symbols"]), (10, len(names)), (11, 24))
    parts = {
        "dynamic": b"".join(struct.pack("<QQ", *tag) for tag in (*tags, (0, 0))),
        "symbols": bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, at["code"], len(code)),
        "hash": struct.pack("<5I", 1, 2, 1, 0, 0),
        "names": names,
        "code": code,
    }
    size = at["code"] + 16
    out = bytearray(size)
    identity = b"\x7fELF\2\1\1" + bytes(9)
    struct.pack_into(
        "<16sHHIQQQIHHHHHH",
        *(out, 0, identity, 3, machine, 1, 0, 64, 0x1C0, 0, 64, 56, 2, 64, 1, 0),
    )
    struct.pack_into("<IIQQQQQQ", out, 64, 1, 5, 0, 0, 0, size, size, 0x1000)  # load
    dynamic = len(parts["dynamic"])
    struct.pack_into(
        "<IIQQQQQQ", out, 120, 2, 6, at["dynamic"], at["dynamic"], 0, dynamic, dynamic, 8
    )
    for name, data in parts.items():
        out[at[name] : at[name] + len(data)] = data
    return bytes(out)


# ------------------------------------------------------------------------------ asking


class Answer(str):
    """The message of a refusal, without the file and line that it comes from; empty: loaded."""


class Release:
    """The runtime that is installed for a Python: its module, and ``iree-run-module``."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.probe = Probe(python, PROBE)
        self.folder = Path(self._output("import iree.runtime as r; print(r.__file__)")).parents[2]
        self.tool = self._find("iree/_runtime_libs/iree-run-module", "iree/runtime/iree-run-module")
        self.library = self._find("iree/_runtime_libs/_runtime*.so", "iree/_runtime*.so")

    def _output(self, code: str) -> str:
        run = subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True)
        return run.stdout.strip()

    def _find(self, *patterns: str) -> Path:
        return next(path for pattern in patterns for path in self.folder.glob(pattern))

    def ask(self, **request: Any) -> Any:
        """Return the answer of ``_releases_probe.py``, or an `Answer` for what was raised."""
        answer = self.probe.ask(request)
        if isinstance(answer, int):
            return Answer(f"ended with status {answer}")
        return answer["result"] if "result" in answer else Answer(plain(answer["error"]))

    def load(self, data: bytes, *hosts: str, driver: str = DRIVERS[0], call: str = "") -> Answer:
        """Load a module in ``iree.runtime``, beside these system modules, and call its function."""
        request: dict[str, Any] = {"verb": "load", "module": base64.b64encode(data).decode()}
        if hosts:
            request.update(hosts=hosts, driver=driver)
        if call:
            request["call"] = call
        return self.ask(**request) or Answer()

    def run(self, data: bytes, *inputs: int) -> Answer:
        """Run a module with ``iree-run-module``, which registers what the module depends on."""
        with tempfile.NamedTemporaryFile(suffix=".vmfb") as file:
            file.write(data)
            file.flush()
            command = [str(self.tool), f"--module={file.name}", "--function=main"]
            command += [f"--input={value}" for value in inputs]
            run = subprocess.run(
                [*command, f"--device={DRIVERS[0]}"], capture_output=True, text=True, timeout=60
            )
        said = run.stdout + run.stderr
        return Answer() if run.returncode == 0 else Answer(plain(said) or f"ended {run.returncode}")


def plain(message: str) -> str:
    """Return a message of the runtime without the place in its sources that it comes from."""
    return re.sub(r"^.*?(?:\.[ch]|<vm>):\d+: ", "", message.strip(), count=1, flags=re.S)


def found(pattern: str, answer: str) -> re.Match[str]:
    """Return the match in an answer, which must have it."""
    match = re.search(pattern, answer)
    if match is None:
        raise SystemExit(f"expected {pattern!r} in the answer: {answer or 'loaded'}")
    return match


# ------------------------------------------------------------------------------ measuring


def measure(python: str) -> dict[str, Any]:
    """Return what the runtime of a Python accepts: an entry of the table."""
    release = Release(python)
    try:
        return Measurement(release).entry()
    finally:
        release.probe.close()


class Unreadable(Exception):
    """A release that refuses the schema of modules itself; the text is its message."""


class Measurement:
    """The probes of one release, in the order in which each needs the answers before it."""

    def __init__(self, release: Release) -> None:
        self.release = release
        answer = release.load(build(version=(0, 0)))
        if "bytecode version" not in answer:
            raise Unreadable(answer)
        supported = found(r"runtime supports (\d+)\.(\d+)", answer)
        self.version = int(supported[1]), int(supported[2])
        self.about = release.ask(verb="about")
        self.words = {
            word.decode()
            for file in (release.tool, release.library)
            for word in WORD.findall(file.read_bytes())
        }
        # A linker keeps a text only once if it is the end of another one, as in `xor.2d.i32`.
        self.endings = {
            word[at:]
            for word in self.words
            for at in range(1, len(word) - 1)
            if word[at].isalpha() and len(word) < 32
        } - self.words

    def entry(self) -> dict[str, Any]:
        """Return the entry: plain dicts and lists, in an order that is always the same."""
        self.modules = {name: found for name in SYSTEMS if (found := self.system(name))}
        return {
            "bytecode": "{}.{}".format(*self.version),
            "features": self.features(),
            "opcodes": self.opcodes(),
            "types": dict.fromkeys(self.types(), True),
            "modules": self.modules,
            "hosts": self.hosts(),
            "executables": {
                "elf library": self.elf_library(),
                "vmvx entry": self.vmvx_entry(),
                "formats": self.formats(),
            },
            "devices": {driver: self.devices(driver) for driver in DRIVERS},
            "unknown drivers": [name for name in self.about["drivers"] if name not in DRIVERS],
            "loads": self.loads(),
            "wide arguments": self.wide_arguments(),
        }

    def build(self, code: bytes = b"\x79\x5a\0\0", **parts: Any) -> bytes:
        """Return a module of the version that the release accepts."""
        return build(code, version=self.version, **parts)

    def features(self) -> int:
        """Return the bits of required features that load, each tried alone."""
        bits = [1 << bit for bit in range(32)]
        return sum(bit for bit in bits if not self.release.load(self.build(requirements=bit)))

    def opcodes(self) -> dict[str, str]:
        """Return the numbers of instructions, by the byte in front of them, that it knows."""
        features = self.features()
        pages = {"": 0} | {
            f"{prefix:02X}": bit for prefix, bit in PREFIXES.items() if bit & features
        }
        return {page: _ranges(self._page(page, bit)) for page, bit in pages.items()}

    def _page(self, page: str, requirements: int) -> Iterator[int]:
        for number in range(256):
            if not page and number in PREFIXES:
                continue
            code = MARKER + bytes.fromhex(page) + bytes([number]) + bytes(40)
            answer = self.release.load(self.build(code, requirements=requirements))
            if not re.search(r"unrecognized opcode|unhandled ext", answer):
                yield number

    def types(self) -> list[str]:
        """Return the names of types that load in the same way in both hosts."""
        words = [f"!{word}" for word in self.words | self.endings if "." in word]
        known = [
            name
            for name in sorted({*TYPES, *words})
            if not self.release.load(self.build(types=[name]))
        ]
        mine = [name for name in words if name[1:].split(".")[0] in SYSTEMS and name not in known]
        tool = [name for name in mine if not self.release.run(self.build(types=[name]))]
        lost = [name for name in known if self.release.run(self.build(types=[name]))]
        if tool or lost:
            raise SystemExit(f"types differ between the hosts: {tool}, {lost}")
        return known

    def system(self, name: str) -> dict[str, Any] | None:
        """Return version and functions of a system module, or None where nobody has it."""
        load, names = self._loader(name)
        answer = load(self.build(dependencies=[(name, 1 << 30, REQUIRED)]))
        have = re.search(r"version mismatch; have (\d+) but require", answer)
        if have is None:
            found(r"not (registered|available)", answer)
            return None
        functions = dict(sorted(self._functions(name, names)))
        if name in self.about["modules"]:
            self._same_in_tool(name, functions)
        return {"version": int(have[1]), "functions": functions}

    def _same_in_tool(self, system: str, functions: dict[str, str]) -> None:
        """Check that the other host has the same functions, and that their names can be found.

        The functions of the systems that only that host registers are found by such names.
        """
        imports: list[tuple[str, bytes | None, int]] = [
            (f"{system}.{name}", functions[name].encode(), REQUIRED) for name in functions
        ]
        others = sorted((self.words | self.endings) - functions.keys())
        imports += [(f"{system}.{name}", WRONG, OPTIONAL) for name in others]
        dependencies = [(system, 0, REQUIRED)]
        answer = self.release.run(self.build(dependencies=dependencies, imports=imports))
        hidden = sorted(functions.keys() - self.words - self.endings)
        if answer or hidden:
            raise SystemExit(f"{system} differs between the hosts: {answer}; not found: {hidden}")

    def _loader(self, name: str) -> tuple[Callable[[bytes], Answer], list[str]]:
        if name not in self.about["modules"]:
            return self.release.run, [*sorted(self.words), *sorted(self.endings)]
        names = self.release.ask(verb="names", host=name, driver=DRIVERS[0])
        return lambda data: self.release.load(data, name), names

    def _functions(self, system: str, names: list[str]) -> Iterator[tuple[str, str]]:
        """Find the functions among names, with the convention that the runtime reports for each.

        An optional import that is absent loads, and one with another convention does not, so one
        module asks for any number of names: the first that is present is refused.
        """
        load, _ = self._loader(system)
        last = [name for name in names if name in self.endings]
        first = [name for name in names if name not in self.endings]

        def refusal(some: list[str]) -> Answer:
            imports = [(f"{system}.{name}", WRONG, OPTIONAL) for name in some]
            return load(self.build(dependencies=[(system, 0, REQUIRED)], imports=imports))

        # Most are among the words of the binary, so the many endings are asked for at last.
        for some in (first, last):
            yield from self._present(system, some, refusal)

    def _present(
        self, system: str, names: list[str], refusal: Callable[[list[str]], Answer]
    ) -> Iterator[tuple[str, str]]:
        while answer := refusal(names):
            convention = found(r"signature mismatch .*got (\w+)", answer)[1]
            low, high = 0, len(names)  # names[:low] loads, names[:high] does not
            if named := re.search(rf"import function {system}\.(\S+) signature", answer):
                high = names.index(named[1]) + 1
                low = high - 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if refusal(names[:middle]) else (middle, high)
            yield names[high - 1], convention
            names = names[high:]

    def hosts(self) -> dict[str, list[str]]:
        """Return which of the system modules each host registers for a module that needs them."""
        needs = {name: self.build(dependencies=[(name, 0, REQUIRED)]) for name in self.modules}
        return {
            "iree.runtime": [name for name in self.about["modules"] if name in needs],
            "iree-run-module": [name for name in needs if not self.release.run(needs[name])],
        }

    # -------------------------------------------------------------------------- devices

    def call(self, code: Code, system: str, name: str, references: Iterable[int] = ()) -> int:
        """Call a function of a system module with the convention that it has here."""
        return code.call(f"{system}.{name}", self.modules[system]["functions"][name], references)

    def device(self, code: Code) -> int:
        """Return a register with the device."""
        functions = self.modules["hal"]["functions"]
        return self.call(code, "hal", "devices.get" if "devices.get" in functions else SHARED)

    def query(self, driver: str, category: str, key: str) -> bool:
        """Return whether a device answers a query, such as for a format, with yes."""
        code = Code()
        texts = [self.device(code), code.text(category.encode()), code.text(key.encode())]
        self.call(code, "hal", "device.query.i64", texts)
        answer = self.release.load(
            code.end(self.version, asked=True), "hal", driver=driver, call="main"
        )
        if answer:
            found(r"NOT_FOUND; no\b", answer)
        return not answer

    def devices(self, driver: str) -> dict[str, Any]:
        """Return what a driver's device says that it is and runs."""
        return {
            key: [name for name in names if self.query(driver, category, name)]
            for key, category, names in (
                ("ids", "hal.device.id", DEVICES),
                ("formats", "hal.executable.format", FORMATS),
            )
        }

    def formats(self) -> list[str]:
        """Return the formats that ``hal_loader`` supports, for modules without a device."""
        formats = []
        for name in FORMATS:
            code = Code()
            self.call(code, "hal_loader", "executable.query_support", [code.text(name.encode())])
            data = code.end(self.version, asked=True, depends="hal_loader")
            answer = self.release.run(data)
            if answer:
                found(r"NOT_FOUND; no\b", answer)
            else:
                formats.append(name)
        return formats

    def create(self, name: str, data: bytes) -> Answer:
        """Return the answer to an executable."""
        code = Code()
        device = self.device(code)
        references = [device, code.text(name.encode()), code.text(data)]
        if "pipeline_layout.create" in self.modules["hal"]["functions"]:
            layout = self.call(code, "hal", "descriptor_set_layout.create", [device])
            pipeline = self.call(code, "hal", "pipeline_layout.create", [device, layout])
            references += [Code.REFS, pipeline]  # no constants
        self.call(code, "hal", "executable.create", references)
        return self.release.load(code.end(self.version), "hal", call="main")

    def elf_library(self) -> int:
        """Return the version that it asks a library in an embedded ELF for."""
        answer = self.create(f"embedded-elf-{platform.machine()}", library())
        return int(found(r"does not support this version of the runtime \((\w+)\)", answer)[1], 16)

    def vmvx_entry(self) -> str:
        """Return the calling convention that it wants of the functions of a VMVX executable."""
        answer = self.create("vmvx-bytecode-fb", self.build())
        return found(r"entry point does not match .* expected '(\w+)'", answer)[1]

    # -------------------------------------------------------------------------- rules

    def loads(self) -> dict[str, bool]:
        """Return what loads of the cases on which a prediction depends."""
        functions = self.modules["hal"]["functions"]
        plain = next(name for name in functions if functions[name].endswith("r_v"))
        known, convention = f"hal.{plain}", functions[plain].encode()
        imports: dict[str, tuple[str, bytes | None, int]] = {
            "import absent": ("hal.nothing", b"0v_v", REQUIRED),
            "optional import absent": ("hal.nothing", b"0v_v", OPTIONAL),
            "optional import with another convention": (known, WRONG, OPTIONAL),
            "import without a convention": (known, None, REQUIRED),
            "import with its results left out": (known, convention.removesuffix(b"v"), REQUIRED),
            "import of a module that is absent": ("nothing.at_all", b"0v_v", REQUIRED),
            "optional import of a module that is absent": ("nothing.at_all", b"0v_v", OPTIONAL),
        }
        dependencies = {
            "dependency absent": ("nothing", 0, REQUIRED),
            "optional dependency absent": ("nothing", 0, OPTIONAL),
            "dependency too old": ("hal", 1 << 30, REQUIRED),
            "optional dependency too old": ("hal", 1 << 30, OPTIONAL),
        }
        modules = {
            **{case: self.build(imports=[each]) for case, each in imports.items()},
            **{case: self.build(dependencies=[each]) for case, each in dependencies.items()},
        }
        answers = {case: not self.release.load(data, "hal") for case, data in modules.items()}
        newer = build(version=(self.version[0], self.version[1] + 1))
        both = [("hal", 0, REQUIRED), ("hal_inline", 0, REQUIRED)]
        return {
            **answers,
            "minor version above its own": not self.release.load(newer),
            "hal and hal_inline": not self.release.run(self.build(dependencies=both)),
        }

    def wide_arguments(self) -> dict[str, bool]:
        """Return where an i64 that comes after a single i32 arrives as it was given."""
        data = arguments(self.version)
        answers = {
            "invoked": self.release.run(data, 1, WIDE),
            "called": self.release.run(data, 0, 0),
        }
        for answer in filter(None, answers.values()):
            found(r"NOT_FOUND; no\b", answer)
        return {case: not answer for case, answer in answers.items()}


def _ranges(numbers: Iterable[int]) -> str:
    """Return sorted bytes as hexadecimal ranges: ``00-84 86``."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return " ".join(f"{a:02X}" if a == b else f"{a:02X}-{b:02X}" for a, b in ranges)


# ------------------------------------------------------------------------------ the table


Entry = dict[str, Any]


def patch(old: Entry, new: Entry) -> Entry:
    """Return the JSON merge patch (RFC 7396) that makes `new` of `old`; neither contains null."""
    changes: Entry = {}
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            if change := patch(before, after):
                changes[key] = change
        elif before != after:
            changes[key] = patch({}, after) if isinstance(after, dict) else after
    return changes


def patched(old: Entry, changes: Entry) -> Entry:
    """Return what a merge patch makes of `old`."""
    new = dict(old)
    for key, value in changes.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            before = new.get(key)
            new[key] = patched(before if isinstance(before, dict) else {}, value)
        else:
            new[key] = value
    return new


def read(text: str) -> dict[str, Entry]:
    """Return the entries of all releases in the text of a table, oldest first."""
    entries: dict[str, Entry] = {}
    entry: Entry = {}
    table = json.loads(text)
    for version, message in table["unreadable"].items():
        entries[version] = {"unreadable": message}
    for version, changes in table["releases"].items():
        entry = entries[version] = patched(entry, changes)
    return entries


def write(entries: dict[str, Entry]) -> str:
    """Return the text of a table: the oldest release whole, each other one as a merge patch."""
    releases: Entry = {}
    unreadable: Entry = {}
    before: Entry = {}
    for version in sorted(entries, key=order):
        entry = entries[version]
        if "unreadable" in entry:
            unreadable[version] = entry["unreadable"]
        else:
            releases[version] = patch(before, entry)
            before = entry
    table = {
        "about": "What releases of IREE's runtime answer, each as a JSON merge patch (RFC 7396) of"
        " the one before. Written by `python -m tools releases`.",
        "machine": MACHINE,
        "unreadable": unreadable,
        "releases": releases,
    }
    return "\n".join(_lines(table)) + "\n"


def save(entries: dict[str, Entry]) -> None:
    """Write the table, and the same as C."""
    TABLE.write_text(write(entries))
    SOURCE.write_text(in_c(entries))


def in_c(entries: dict[str, Entry]) -> str:
    """Return the text of the table as C, without the releases that read no module."""
    order_ = sorted(entries, key=order)
    return source({each: entries[each] for each in order_ if "unreadable" not in entries[each]})


def _lines(value: Any, name: str = "", depth: int = 0) -> list[str]:
    """Return JSON of lines that are as full as they may be."""
    indent = " " * depth
    whole = indent + name + json.dumps(value)
    if not isinstance(value, dict) or (depth and len(whole) <= WIDTH):
        return [whole]
    lines = [f"{indent}{name}{{"]
    fits = False
    for key, each in value.items():
        inner = _lines(each, f"{json.dumps(key)}: ", depth + 1)
        if len(lines) > 1:
            lines[-1] += ","
        short = len(inner) == 1 and not isinstance(each, dict)
        if fits and short and len(lines[-1]) + len(inner[0]) - depth <= WIDTH:
            lines[-1] += " " + inner[0].strip()
        else:
            lines += inner
        fits = short
    return [*lines, f"{indent}}}"]


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Describe each difference between an entry of the table and what was measured."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key), new.get(key), f"{path}/{key}")
    elif old != new:
        yield f"{path}: the table has {json.dumps(old)}, measured {json.dumps(new)}"


# ------------------------------------------------------------------------------ releases


def formats_in(wheel: Path) -> list[str]:
    """Return the formats of native executables whose names are in the binaries of a wheel."""
    with zipfile.ZipFile(wheel) as files:
        names = [name for name in files.namelist() if BINARIES.fullmatch(name)]
        found = {frozenset(NATIVE.findall(files.read(name))) for name in names}
    if len(found) != 1:
        raise SystemExit(f"{wheel.name}: formats differ between the files: {found}")
    return sorted(name.decode() for name in found.pop())


def native(version: str, machine: str) -> list[str]:
    """Return the formats of native executables of the wheel for a machine, if there is one."""
    platforms = [word for tag in WHEELS[machine] for word in ("--platform", tag)]
    for python in WHEEL_PYTHONS:
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
            wheel = ["--only-binary=:all:", "--python-version", python, *platforms]
            run = [*pip, *wheel, f"{package(version)}=={version}"]
            subprocess.run(run, capture_output=True)
            for path in Path(folder).glob("*.whl"):
                return formats_in(path)
    return []


def entry(version: str, folder: Path) -> Entry:
    """Return the measured entry of a release, with what its wheels for other machines contain.

    Reading bytes is trusted for them if it finds what the runtime answers on this machine.
    """
    try:
        measured = measure(installed(version, folder))
    except Unreadable as problem:
        return {"unreadable": str(problem)}
    machines = {machine: names for machine in WHEELS if (names := native(version, machine))}
    asked = set(measured["devices"][DRIVERS[0]]["formats"])
    here = machines.pop(MACHINE, None)
    if here is None or asked & {*FORMATS[: len(CONTAINERS) * len(MACHINES)]} != {*here}:
        raise SystemExit(f"{version}: the wheel contains {here}, but its device runs {asked}")
    return {**measured, "other machines": machines}


def main() -> int:
    """Measure the releases that the command names."""
    parser = argparse.ArgumentParser(
        prog="python -m tools releases",
        description="Measure releases of IREE's runtime, and write what they answer to "
        f"{TABLE.relative_to(ROOT)}.",
    )
    parser.add_argument("versions", metavar="VERSION", nargs="*")
    parser.add_argument("--all", action="store_true", help="all releases that the registry has")
    parser.add_argument(
        "--check", action="store_true", help="compare with the table, change nothing"
    )
    parser.add_argument("--cache", metavar="DIR", type=Path, help="keep the environments in DIR")
    arguments = parser.parse_args()
    if bool(arguments.versions) == arguments.all:
        parser.error("name releases, or give --all")
    table = read(TABLE.read_text()) if TABLE.exists() else {}
    different = False
    with tempfile.TemporaryDirectory() as scratch:
        for version in listed() if arguments.all else arguments.versions:
            folder = arguments.cache or Path(scratch, version)
            measured = entry(version, folder)
            found = list(differences(table.get(version, {}), measured))
            print(f"{version}: {'changes' if found else 'as in the table'}", flush=True)
            if not arguments.cache:
                shutil.rmtree(folder)
            if arguments.check:
                different |= bool(found)
                print(*found, sep="\n", end="\n" * bool(found))
            else:
                table[version] = measured
                save(table)
    return int(different)
