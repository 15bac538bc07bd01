"""What `compat` reads of a module, recorded, so that modules can be compared without their files.

A record has the messages of the core from which the parts of a module are built, compressed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from fnabi._base import core
from fnabi._fnabi import lib
from fnabi.errors import FormatError
from fnabi.vmfb import Module, needs
from fnabi.vmfb._bytes import ModuleBytes, message
from fnabi.vmfb._export import UNTYPED, Exports, exports_message, exports_of
from fnabi.vmfb._infer import Proofs, types_of
from fnabi.vmfb._records import FunctionSignature
from fnabi.vmfb._verdict import Answers, answers_to

_T = TypeVar("_T")

_LARGEST = 1 << 28
"""The most bytes of a record that are decompressed."""

_EXPANSION = 64
"""The most bytes that each byte of a record expands to, beside `_FREE`."""

_FREE = 1 << 20
"""The number of bytes that any record may expand to."""

_READS: dict[tuple[Any, ...], str] = {
    (lib.fnabi_vmfb_head,): "head",
    (lib.fnabi_vmfb_field, 5): "dependencies",
    (lib.fnabi_vmfb_field, 6): "imports",
    (lib.fnabi_vmfb_needs,): "needs",
    (lib.fnabi_bytecode_signatures,): "types",
    (lib.fnabi_vmfb_demands,): "demands",
}
"""The parts that are recorded, by the function of the core that reads them."""

_DEBUG = 15
"""The field of the debug database."""

_NIL = b"\xc0"


class _Record(msgspec.Struct, frozen=True, array_like=True):
    digest: bytes
    bytecode: bytes
    exports: bytes
    parts: dict[str, bytes]
    problems: dict[str, tuple[str, int, str, str, str | None]]


_decoder = msgspec.msgpack.Decoder(_Record)


def has_debug(module: Module) -> bool:
    """Return whether a module has a debug database, without building it."""
    return module._decode(lib.fnabi_vmfb_field, message, _DEBUG) != _NIL


def digest(module: Module) -> bytes:
    """Return a digest of what a module is, up to the values of its constants."""
    if isinstance(module, RecordedModule):
        return module._record.digest
    layout = module.layout
    begin, size = layout.flatbuffer_offset, layout.flatbuffer_size
    return _hash(module._bytes(begin, size))


def _hash(data: Any) -> bytes:
    from hashlib import blake2b  # which few comparisons need

    return blake2b(data, digest_size=16).digest()


def demands(module: Module) -> bytes:
    """Return what a module demands of the runtime that loads it, as the message of the core.

    Raises:
        FormatError: when the bytecode cannot be read, or a record lacks it.

    """
    return module._message(lib.fnabi_vmfb_demands)


def record(module: Module, known: bytes | None = None, demanded: bytes | None = None) -> bytes:
    """Record the parts of a module that `compat` reads.

    What the bytecode proves is recorded if an export has no text of its signature.

    Args:
        module: The module.
        known: Its `digest`, if that is known.
        demanded: Its `demands`, if those are known.

    Raises:
        FormatError: when an export refers to a function that the module does not have.

    """
    if isinstance(module, RecordedModule):
        return _packed(module._record)
    layout = module.layout
    source = bytes(module._bytes(0, layout.flatbuffer_offset + layout.flatbuffer_size))
    parts: dict[str, bytes] = {}
    problems = {}
    typed = all(each.source not in UNTYPED for each in module.exports.values())
    for (read, *arguments), name in _READS.items():
        if name == "types" and typed:
            continue
        try:
            known_demands = demanded if name == "demands" else None
            parts[name] = known_demands or module._message(read, *arguments)
        except FormatError as problem:
            told = problem.code, problem.offset, problem.path, problem.reason, problem.expected
            problems[name] = told
    made = _Record(
        known or digest(module), _hash(module.bytecode), exports_message(source), parts, problems
    )
    return _packed(made)


def _packed(made: _Record) -> bytes:
    packed = core.pack(made)
    compressed = zlib.compress(packed, 1)
    return compressed if len(packed) <= _capacity(compressed) else zlib.compress(packed, 0)


def _capacity(compressed: bytes) -> int:
    """Return the most bytes that a record may expand to."""
    return min(_LARGEST, _FREE + _EXPANSION * len(compressed))


class _RecordedTypes(ModuleBytes):
    """What exports of a recorded module hold, instead of its bytes."""

    __slots__ = ("_record",)

    def __init__(self, recorded: _Record) -> None:
        super().__init__()
        self._record = recorded

    def types(self) -> tuple[Proofs | None, ...]:
        """Return what the bytecode proves; raises FormatError where it is not recorded."""
        if self._types is None:
            try:
                self._types = _built(types_of, _message(self._record, "types"))
            except FormatError as problem:
                self._types = problem
        return super().types()


class RecordedModule(Module):
    """A module that is built from its record; it has the parts that `compat` reads.

    Others raise a `FormatError`.
    """

    _view: Any = b""  # it is not closed

    def __init__(self, recorded: bytes | None) -> None:
        recorded = recorded or b""
        try:
            inflate = zlib.decompressobj()
            self._record = _decoder.decode(inflate.decompress(recorded, _capacity(recorded)))
        except (zlib.error, ValueError, TypeError) as problem:
            raise _damaged(problem) from problem
        self._kept = _RecordedTypes(self._record)

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordedModule, (record(self),)

    @cached_property
    def exports(self) -> Exports:
        """The exported functions."""

        def build(message: bytes) -> Exports:
            found = Exports(exports_of(message, self._held))
            for each in found.values():
                _ = each.attrs  # which are built when they are read
            return found

        return _built(build, self._record.exports)

    @property
    def signatures(self) -> tuple[FunctionSignature, ...]:
        """Fail: a record has them with the exports alone."""
        found: tuple[FunctionSignature, ...] = self._source()
        return found

    @property
    def bytecode(self) -> memoryview:
        """The digest of the code, which is equal for the same code."""
        return memoryview(self._record.bytecode)

    @cached_property
    def _needs(self) -> needs.Needs:
        rows = self._decode(lib.fnabi_vmfb_needs, needs.rows)
        return needs.needs_of(msgspec.structs.replace(rows, creations=()))

    def _answers(self, driver: str | None = None, machine: str | None = None) -> Answers:
        demanded = demands(self)
        try:
            return answers_to(demanded, driver, machine)
        except FormatError as problem:
            raise _damaged(problem) from problem

    def _damage(self) -> None:
        """Return None: a record does not have the bytes of the file."""

    def _source(self) -> Any:
        return _message(self._record, "")  # which it does not have

    def _message(self, read: Any, *arguments: object) -> bytes:
        return self._decode(read, message, *arguments)

    def _decode(self, read: Any, decoder: core.Decoder[_T], *arguments: object) -> _T:
        message = _message(self._record, _READS.get((read, *arguments), ""))
        return _built(lambda data: core.build(decoder, data), message)

    def _bytes(self, offset: int, size: int) -> memoryview:
        return memoryview(self._record.digest)

    def __repr__(self) -> str:
        return f"<RecordedModule {self.name!r}>"


def _message(recorded: _Record, name: str) -> bytes:
    if name in recorded.problems:
        code, offset, path, reason, expected = recorded.problems[name]
        raise FormatError(code, offset, path, reason=reason, expected=expected)
    if name == "demands" and name not in recorded.parts:
        reason = "made by an earlier fnabi, without what releases of the runtime are asked for"
        expected = "a baseline that fnabi check-abi --update has written"
        raise FormatError("baseline", 0, reason=reason, expected=expected)
    if name not in recorded.parts:
        raise FormatError("catalog", 0, reason=f"the record has no {name or 'such part'}")
    return recorded.parts[name]


def _built(build: Callable[[bytes], _T], message: bytes) -> _T:
    try:
        return build(message)
    except (ValueError, TypeError, IndexError, RecursionError) as problem:
        raise _damaged(problem) from problem


def _damaged(problem: Exception) -> FormatError:
    return FormatError("catalog", 0, reason=f"damaged record of a module: {problem}")
