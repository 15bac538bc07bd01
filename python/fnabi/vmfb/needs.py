r"""What a module needs to load and run: targets, executables, parameters, transient memory.

The needs are decoded from the bytecode of the functions that set up the module; nothing is run::

    >>> from fnabi import vmfb
    >>> module = vmfb.open("model.vmfb")
    >>> print(*module.targets)
    local embedded-elf-x86_64
    >>> print(*module.parameters, sep="\n")
    model::layer.weight 48 bytes, load
    model::layer.bias 12 bytes, load

An operand whose value the code does not contain, such as a computed one, is None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from fnabi._base import core
from fnabi._fnabi import lib
from fnabi.errors import FnabiError, FormatError
from fnabi.vmfb._records import Record

if TYPE_CHECKING:
    from fnabi.vmfb.rodata import RodataSegment

__all__ = [
    "LOADER",
    "Access",
    "Executable",
    "ExecutableTarget",
    "Needs",
    "Parameter",
    "Target",
    "Transients",
]


def __dir__() -> list[str]:
    return __all__


Access: TypeAlias = Literal["load", "gather", "scatter", "read", "write"]
"""How a parameter is used; ``"scatter"`` and ``"write"`` change it."""

LOADER = "hal_loader"
"""The module of the host that loads executables where no device does."""


class ExecutableTarget(msgspec.Struct, frozen=True, gc=False):
    """A target that executables were compiled for.

    Attributes:
        backend: The compiler backend, such as ``"llvm-cpu"``.
        format: The format of the executables, such as ``"embedded-elf-x86_64"``.
        config: The other settings of the target in order, with their values as MLIR prints them,
            but strings without quotes.

    """

    backend: str
    format: str
    config: tuple[tuple[str, str], ...] = ()

    def _setting(self, name: str) -> str | None:
        return dict(self.config).get(name)

    @property
    def triple(self) -> str | None:
        """The target triple of LLVM, such as ``"x86_64-unknown-unknown-eabi-elf"``, or None."""
        return self._setting("target_triple")

    @property
    def cpu(self) -> str | None:
        """The processor or the GPU's architecture, such as ``"znver4"`` or ``"gfx942"``."""
        return self._setting("cpu") or self._info("arch")

    @property
    def features(self) -> tuple[str, ...]:
        """The required features, such as ``"+avx2"`` or ``"cap:Shader"``."""
        text = self._setting("cpu_features")
        if text is None:
            text = self._info("features")
        return tuple(text.split(",")) if text else ()

    def _info(self, name: str) -> str | None:
        found = re.search(rf'\b{name} = "([^"]*)"', self._setting("iree_codegen.target_info") or "")
        return found[1] if found else None

    def __str__(self) -> str:
        detail = self.cpu or self.triple
        return f"{self.format} ({detail})" if detail else self.format


class Target(msgspec.Struct, frozen=True, gc=False):
    """A device that a module needs, or the loader of its host.

    Attributes:
        device: The name of the driver or the kind of device, such as ``"local"`` or ``"vulkan"``.
            ``"hal_loader"`` if the module uses no device, but has its host load executables in the
            process itself (``--iree-execution-model=inline-dynamic``).
        executables: The targets of the executables. The device must support one of them; the
            module uses the first that it supports.
        name: The name of the device in the module; targets with the same name are alternatives.

    """

    device: str
    executables: tuple[ExecutableTarget, ...]
    name: str = ""

    @property
    def formats(self) -> tuple[str, ...]:
        """The executable formats that the device may receive, without duplicates."""
        return tuple(dict.fromkeys(each.format for each in self.executables))

    def __str__(self) -> str:
        return " ".join((self.device, *map(str, self.executables)))


class Executable(msgspec.Struct, frozen=True, gc=False):
    """Device code in a module, for one format.

    Attributes:
        format: The name of the format, such as ``"vulkan-spirv-fb"``.
        segment: The index of its data among the segments of read-only data.
        name: The name of that segment in the ZIP directory.
        size: The size of the data in bytes.
        isa: The instruction set, such as ``"x86_64"``, ``"vmvx"`` or ``"spir-v"``.
        target: The target that it was compiled for, if the module contains it.
        features: The required features: those of the target, or the capabilities that SPIR-V
            declares.
        entry_points: The names of its functions, from its container or from the module's lookups;
            empty if neither has them.

    """

    format: str | None
    segment: int | None
    name: str | None
    size: int | None
    isa: str | None
    target: ExecutableTarget | None
    features: tuple[str, ...]
    entry_points: tuple[str, ...]

    def __str__(self) -> str:
        parts = [self.format or "unknown format"]
        if self.isa is not None:
            parts.append(self.isa)
        if self.size is not None:
            parts.append(f"{self.size} bytes")
        return ", ".join(parts)


class Parameter(msgspec.Struct, frozen=True, gc=False):
    """The use of a parameter, or a part of one, that a module receives at run time.

    Attributes:
        access: How the parameter is used.
        scope: The scope of its name, or ``""``.
        key: The name in the scope. None, as are the sizes, if the code does not contain it.
        offset: The offset in bytes of the part that is used.
        size: The size of that part in bytes.

    """

    access: Access
    scope: str | None
    key: str | None
    offset: int | None
    size: int | None

    @property
    def full_name(self) -> str:
        """Scope and key in the form of command line flags: ``"model::layer.weight"``."""
        key = "?" if self.key is None else self.key
        return f"{'?' if self.scope is None else self.scope}::{key}" if self.scope != "" else key

    @property
    def required_size(self) -> int | None:
        """The minimum size of the parameter in bytes."""
        return None if self.offset is None or self.size is None else self.offset + self.size

    def __str__(self) -> str:
        size = "" if self.size is None else f" {self.size} bytes"
        at = f" at {self.offset}" if self.offset else ""
        return f"{self.full_name}{size}{at}, {self.access}"


class Transients(msgspec.Struct, frozen=True, gc=False):
    """Memory that the caller of a function provides during the call.

    Attributes:
        function: The name of the function.
        size: The size in bytes, if it does not depend on the arguments.
        size_function: The name of the exported function that accepts the same arguments and
            returns the size.

    """

    function: str
    size: int | None
    size_function: str | None

    def __str__(self) -> str:
        if self.size is not None:
            return f"{self.function} {self.size} bytes"
        return f"{self.function} bytes as {self.size_function} returns"


class Needs(msgspec.Struct, frozen=True, gc=False):
    """All needs of a module; see the attributes of `vmfb.Module` with the same names."""

    targets: tuple[Target, ...]
    executables: tuple[Executable, ...]
    parameters: tuple[Parameter, ...]


class _Query(Record, frozen=True):
    function: int
    offset: int
    category: str | None
    key: str | None


class _Creation(Record, frozen=True):
    function: int
    offset: int
    format: str | None
    segment: int | None


class _Lookup(Record, frozen=True):
    function: int
    offset: int
    executable: int | None
    name: str | None


class _Access(Record, frozen=True):
    function: int
    offset: int
    access: Access
    scope: str | None
    keys: tuple[tuple[str, int, int, int], ...] | None


class _Failure(Record, frozen=True):
    function: int
    offset: int
    text: str


class Rows(Record, frozen=True):
    """What the core decoded from the bytecode of a module."""

    queries: tuple[_Query, ...]
    creations: tuple[_Creation, ...]
    lookups: tuple[_Lookup, ...]
    accesses: tuple[_Access, ...]
    failures: tuple[_Failure, ...]
    missing: tuple[int, ...]


rows = core.Decoder(Rows)


_SHARED = 32
"""The most texts of all executables, for each byte of a file."""

_FEW = 8
"""Executables that have no more texts than that, whatever they share."""


def _size(texts: Collection[str]) -> int:
    return sum(map(len, texts)) + 8 * len(texts)


def needs_of(
    found: Rows,
    segments: Sequence[RodataSegment] = (),
    functions: Callable[[memoryview], Iterable[str]] = lambda module: (),
    file_size: int = 0,
) -> Needs:
    """Combine the rows that the core decoded from a module's bytecode.

    Args:
        found: The rows.
        segments: The read-only data of the module, of which some are executables.
        functions: Returns the names that a module inside an executable exports.
        file_size: The size of the module, by which the texts of its executables are limited.

    """
    targets = tuple(_targets(found))
    fitting: dict[str | None, list[ExecutableTarget]] = {}
    for compiled in dict.fromkeys(each for target in targets for each in target.executables):
        fitting.setdefault(compiled.format, []).append(compiled)
    lookups: dict[int | None, dict[str, None]] = {}
    for lookup in found.lookups:
        if lookup.name is not None:
            lookups.setdefault(lookup.executable, {})[lookup.name] = None
    # Any number of creations may use a segment or a target, and segments may overlap: each is read
    # once, and equal texts are one object.
    known: dict[str | None, tuple[ExecutableTarget | None, tuple[str, ...]]] = {}
    containers: dict[int | None, _Container] = {}
    sizes: dict[tuple[int | None, str | None], int] = {}
    texts: dict[str, str] = {}
    executables = []
    room = _SHARED * file_size
    for index, creation in enumerate(found.creations):
        place, format = creation.segment, creation.format
        segment = segments[place] if place is not None and place < len(segments) else None
        name = None if segment is None else segment.name
        if place not in containers:
            containers[place] = _container(segment, functions, texts)
        if format not in known:
            alone = fitting.get(format, ())
            known[format] = (alone[0], alone[0].features) if len(alone) == 1 else (None, ())
        isa, capabilities, names = containers[place]
        target, features = known[format]
        asked = tuple(lookups[index]) if index in lookups else ()
        if len(found.creations) > _FEW:
            if (place, format) not in sizes:
                settings = () if target is None else target.config
                shared = (format or "", name or ""), capabilities, names, *settings
                sizes[place, format] = sum(map(_size, shared))
            room -= sizes[place, format] + _size(asked)
            if room < 0:
                code = lib.FNABI_WORK
                raise FormatError(core.code_name(code), 0, "", reason=core.code_text(code))
        executables.append(
            Executable(
                format=format,
                segment=place,
                name=name,
                size=None if segment is None else segment.size,
                isa=isa,
                target=target,
                features=features or capabilities,
                entry_points=names or asked,
            )
        )
    return Needs(targets, tuple(executables), tuple(dict.fromkeys(_parameters(found.accesses))))


def _parameters(accesses: Iterable[_Access]) -> Iterator[Parameter]:
    for row in accesses:
        if row.keys is None:
            yield Parameter(row.access, row.scope, None, None, None)
        for key, offset, _, size in row.keys or ():
            yield Parameter(row.access, row.scope, key, offset, size)


# ---------------------------------------------------------------------------------- targets


_NAME = re.compile(r"HAL device `([^`]*)`")


def _targets(found: Rows) -> Iterator[Target]:
    """Return the targets that failure messages name, or else those of the device queries."""
    texts = [each.text for each in found.failures if "not found or unavailable" in each.text]
    targets = dict.fromkeys(
        msgspec.structs.replace(target, name=name[1] if name else "")
        for text, name in ((text, _NAME.match(text)) for text in texts)
        for target in _parsed_targets(text)
    )
    yield from targets
    devices: dict[str, dict[str, None]] = {}
    for query in found.queries:
        if query.key is None:
            continue
        if query.category == LOADER:
            devices.setdefault(LOADER, {})[query.key] = None
        elif targets:
            continue
        elif query.category == "hal.device.id":
            devices.setdefault(query.key.rstrip("*"), {})
        elif query.category == "hal.executable.format" and len(devices) == 1:
            next(iter(devices.values()))[query.key] = None
    for device, formats in devices.items():
        yield Target(device, tuple(ExecutableTarget("", each) for each in formats))


@lru_cache(256)
def _parsed_targets(text: str) -> tuple[Target, ...]:
    """Parse a text that many modules of a fleet have."""
    return tuple(parse_targets(text))


def parse_targets(text: str) -> Iterator[Target]:
    """Parse the device targets in a text: ``#hal.device.target<"local", [...]>``."""
    for inner in _attributes(text, "#hal.device.target<"):
        parts = list(_split(inner))
        lists = [part for part in parts[1:] if part.startswith("[")]
        if not parts or not lists:
            continue
        executables = []
        for each in _attributes(lists[-1], "#hal.executable.target<"):
            fields = list(_split(each))
            if len(fields) >= 2:
                config = fields[2] if len(fields) > 2 else "{}"
                executables.append(
                    ExecutableTarget(_unquoted(fields[0]), _unquoted(fields[1]), _settings(config))
                )
        yield Target(_unquoted(parts[0]), tuple(executables))


def _settings(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for part in _split(text.strip().removeprefix("{").removesuffix("}")):
        name, _, value = part.partition(" = ")
        found.append((name, _unquoted(value)))
    return tuple(found)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|\Z)|->|[][<>(){},]', re.DOTALL)
"""The tokens that structure an attribute's text; ``->`` is not a closing bracket."""


def _attributes(text: str, start: str) -> Iterator[str]:
    """Return the text between the brackets of each attribute that starts with `start`."""
    at = text.find(start)
    while at >= 0:
        begin, depth = at + len(start), 1
        for token in _TOKEN.finditer(text, begin):
            if token[0] in ("<", "[", "(", "{"):
                depth += 1
            elif token[0] in (">", "]", ")", "}"):
                depth -= 1
            if depth == 0:
                yield text[begin : token.start()]
                at = text.find(start, token.end())
                break
        else:
            return


def _split(text: str) -> Iterator[str]:
    """Split a text at the commas outside brackets."""
    begin = depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("<", "[", "(", "{"):
            depth += 1
        elif token[0] in (">", "]", ")", "}"):
            depth -= 1
        elif token[0] == "," and depth == 0:
            yield text[begin : token.start()].strip()
            begin = token.end()
    if text[begin:].strip():
        yield text[begin:].strip()


# ------------------------------------------------------------------------------ executables


_Container: TypeAlias = tuple[str | None, tuple[str, ...], tuple[str, ...]]
"""The instruction set, the features and the entry points in a container."""


def _container(
    segment: RodataSegment | None,
    functions: Callable[[memoryview], Iterable[str]],
    texts: dict[str, str],
) -> _Container:
    if segment is None:
        return None, (), ()
    try:
        content = segment.content
        if content.identifier == "IREE":
            names = [name for name in functions(segment.data) if not name.startswith("__")]
            return "vmvx", (), tuple(texts.setdefault(name, name) for name in names)
        if content.kind == "spir-v" or content.identifier in _SPIRV_SCHEMAS:
            return ("spir-v", *_spirv(segment.data, texts))
    except FnabiError:  # damaged, which the module itself may survive
        return None, (), ()
    return content.isa or _ISAS.get(content.identifier or ""), (), ()


_SPIRV_SCHEMAS = ("VKE1", "SPVE", "SPV1")
_ISAS = {"HIP1": "amdgpu", "ROCM": "amdgpu", "CUDA": "ptx", "MTL1": "metal", "WGSL": "wgsl"}

_SPIRV_MAGIC = b"\x03\x02\x23\x07"
_ENTRY_POINT, _CAPABILITY, _FUNCTION = 15, 17, 54
_CAPABILITIES = {
    1: "Shader",
    6: "Kernel",
    9: "Float16",
    10: "Float64",
    11: "Int64",
    22: "Int16",
    39: "Int8",
    61: "GroupNonUniform",
    63: "GroupNonUniformArithmetic",
    64: "GroupNonUniformBallot",
    65: "GroupNonUniformShuffle",
    4433: "StorageBuffer16BitAccess",
    4434: "UniformAndStorageBuffer16BitAccess",
    4448: "StorageBuffer8BitAccess",
    4449: "UniformAndStorageBuffer8BitAccess",
    5345: "VulkanMemoryModel",
    5347: "PhysicalStorageBufferAddresses",
    6017: "DotProductInputAll",
    6018: "DotProductInput4x8Bit",
    6019: "DotProduct",
    6022: "CooperativeMatrixKHR",
}


def _spirv(data: memoryview, texts: dict[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the capabilities and the entry points of the SPIR-V modules in a container."""
    code = bytes(data)
    capabilities: dict[str, None] = {}
    names: dict[str, None] = {}
    at = code.find(_SPIRV_MAGIC)
    while at >= 0:
        place = at + 20  # after the header of five words
        while place + 4 <= len(code):
            word = int.from_bytes(code[place : place + 4], "little")
            size, opcode = 4 * (word >> 16), word & 0xFFFF
            if size == 0 or opcode == _FUNCTION or place + size > len(code):
                break
            if opcode == _CAPABILITY and size == 8:
                number = int.from_bytes(code[place + 4 : place + 8], "little")
                capability = _CAPABILITIES.get(number, f"capability {number}")
                capabilities[texts.setdefault(capability, capability)] = None
            elif opcode == _ENTRY_POINT and size > 12:
                entry = code[place + 12 : place + size].partition(b"\0")[0]
                name = entry.decode("utf-8", "surrogateescape")
                names[texts.setdefault(name, name)] = None
            place += size
        at = code.find(_SPIRV_MAGIC, max(place, at + 4))
    return tuple(capabilities), tuple(names)


_NUMBER = re.compile(r"[0-9]{1,20}")


def transients_of(name: str, attrs: Mapping[str, str]) -> Transients | None:
    """Return the memory that callers of a function with these attributes provide, or None."""
    constant = attrs.get("iree.abi.transients.size.constant")
    function = attrs.get("iree.abi.transients.size")
    if constant is None and function is None:
        return None
    size = int(constant) if constant is not None and _NUMBER.fullmatch(constant) else None
    return Transients(name, size, function)
