"""The exports of a VM bytecode module, with their signatures and the texts of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, overload

import msgspec

from fnabi._base import core, records
from fnabi._base.lane import RecordDecoder
from fnabi._base.text import did_you_mean, one_line, quoted
from fnabi._fnabi import ffi, lib
from fnabi.abi.iree_abi import Signature as IreeAbiSignature
from fnabi.abi.raw import parse as parse_raw
from fnabi.abi.sip import Signature as SipSignature
from fnabi.errors import CallError, FormatError, MissingKeyError, excerpt
from fnabi.types import Named, Signature, Type, decoder
from fnabi.vmfb._bytes import KnownProofs, ModuleBytes
from fnabi.vmfb._infer import Difference, Proofs, accepted, buffers, differences, passable
from fnabi.vmfb._records import Attributes, Record

if TYPE_CHECKING:
    from fnabi.abi.declaration import Declaration
    from fnabi.vmfb.needs import Transients

_T = TypeVar("_T")

Source: TypeAlias = Literal["iree.abi", "iree.abi.declaration", "f", "bytecode", "cconv"]
"""What a signature can be read from, the best first."""

UNTYPED: tuple[Source, ...] = ("bytecode", "cconv")
"""The sources that are no texts: they may lack types, and their ``ref<?>`` may be any reference."""


_Code: TypeAlias = Annotated[int, msgspec.Meta(ge=1, lt=lib.FNABI_CODE_COUNT)]
"""A ``fnabi_code``; a damaged record may have any number."""


class _Problem(Record, frozen=True):
    code: _Code
    offset: int
    expected: str | None
    path: str
    key: str | None  # None: the calling convention


class _Rest(Record, frozen=True):
    """The rarely used parts of an export, kept as a message until one is used."""

    texts: tuple[str, ...]  # keys and values in turn
    source: Source | None
    ambiguity: Literal["arity", "names", "type"] | None
    problem: _Problem | None
    sip: SipSignature | None
    sip_problem: _Problem | None
    is_async: bool


_rest_decoder = core.Decoder(_Rest)


class Export(Record, frozen=True):
    """A function that a module exports.

    Attributes:
        name: The name, without that of the module.
        ordinal: The index among the internal functions of the module.
        calling_convention: The VM calling convention, such as ``"0rIi_r"``.
        signature: The typed signature, from the first text that the module has for this function
            of ``iree.abi``, ``iree.abi.declaration`` and ``f`` (the raw ABI). Without one it is
            what the bytecode proves, or else the calling convention; `source` names it. These are
            not merged, and may differ: see `disagreements` and `proofs`. From bytecode it has all
            arguments of the calling convention, including the fences of an asynchronous function,
            and ``ref<?>`` for what is not proven. A malformed declaration is ignored, because
            frontends may put any text there. If another text is malformed or has another version,
            `signature` raises FormatError, with an offset in the value of the attribute and a path
            such as ``exports[2].attrs["f"].inputs[0]``.

    """

    name: str
    ordinal: int
    calling_convention: str
    signature: IreeAbiSignature
    _message: bytes
    _bytes: ModuleBytes

    @property
    def _rest(self) -> _Rest:
        return core.build(_rest_decoder, self._message)

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the function."""
        texts = iter(self._rest.texts)
        return Attributes(tuple(zip(texts, texts, strict=True)))

    @property
    def source(self) -> Source | None:
        """What `signature` was read from; None if that is a malformed text."""
        return self._rest.source

    @property
    def ambiguity(self) -> Literal["arity", "names", "type"] | None:
        """The ambiguity of the declaration that `signature` was read from, or None.

        The values are those of `declaration.Declaration.ambiguity`.
        """
        return self._rest.ambiguity

    @property
    def declaration(self) -> Declaration | None:
        """The parsed ``iree.abi.declaration``, with its attributes; None without it.

        Raises:
            FormatError: when it is not a declaration.

        """
        text = self.attrs.get("iree.abi.declaration")
        if text is None:
            return None
        known = self.calling_convention.startswith("0")
        arguments, _, results = self.calling_convention[1:].partition("_")
        inputs, outputs = (
            side if known and (side == "v" or not side.strip("iIfFr")) else None
            for side in (arguments, results)
        )
        from fnabi.abi.declaration import parse

        return parse(text, inputs=inputs, results=outputs)

    @property
    def problem(self) -> FormatError | None:
        """The fault of a text that `signature` would have been read from, or None."""
        problem = self._rest.problem
        return None if problem is None else self._error(problem)

    @property
    def disagreements(self) -> tuple[str, ...]:
        """Differences of `signature` and the calling convention, as texts.

        Compared are the numbers of values and the types of registers. The fences of an
        asynchronous function are left out, a type without a known register agrees with any, and
        malformed texts are not compared.
        """
        if self.source is None or self.source in UNTYPED:
            return ()
        from fnabi.vmfb._agreement import disagreements

        return tuple(
            disagreements(self.signature, self.source, self.calling_convention, self.is_async)
        )

    @property
    def is_async(self) -> bool:
        """Whether the function is asynchronous: its last two arguments are fences."""
        return self._rest.is_async

    @property
    def proofs(self) -> Proofs | None:
        """What the bytecode proves of the function, whatever `source` is.

        It has a type for each argument and result, aliases, fences, and the dims that are the same
        value. `signature` does not contain it unless `source` is ``"bytecode"``; see
        `differences`. It is decoded at the first use, with that of all functions of the module.
        None where nothing is known, as for `Module.bytecode_types`, or the bytecode cannot be
        read.

        Raises:
            FormatError: when the file has changed.
            CallError: when the module was closed before the first use.

        """
        return self._bytes.proofs(self.ordinal)

    @property
    def signature_text(self) -> str:
        """The signature as text. From bytecode, dims that are the same value share a letter.

        Raises as `signature` does, and as `proofs` where `source` is ``"bytecode"``.
        """
        proofs = self.proofs if self.source == "bytecode" else None
        return str(self.signature if proofs is None else proofs)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The values of which the bytecode says more than `signature`, or something else.

        Raises as `proofs` and `signature` do.
        """
        proofs = None if self.source == "bytecode" else self.proofs
        return () if proofs is None else tuple(differences(self.signature, proofs))

    @property
    def raw(self) -> Signature | None:
        """The signature of the raw ABI in ``f`` (version ``fv``), also when `source` is another.

        Raises:
            FormatError: when the attribute is malformed or of another version, as for `signature`.

        """
        rest = self._rest
        if rest.source == "f":
            return self.signature
        if rest.source is None and rest.problem is not None and rest.problem.key in ("f", "fv"):
            raise self._error(rest.problem)
        attrs = self.attrs
        if "f" not in attrs:
            return None
        if attrs.get("fv", "1") != "1":
            code = lib.FNABI_VERSION
            raise FormatError(
                core.code_name(code),
                0,
                'attrs["fv"]',
                reason=core.code_text(code),
                expected='"1"',
            )
        try:
            return parse_raw(core.text_bytes(attrs["f"]))
        except FormatError as problem:
            problem.path = f'attrs["f"].{problem.path}'.rstrip(".")
            raise

    @property
    def sip(self) -> SipSignature | None:
        """The SIP signature in ``sip`` (version ``sipv``), or None.

        The earlier attributes, ``abi`` and the version in ``abiv``, are accepted as well.

        Raises:
            FormatError: as for `signature`.

        """
        rest = self._rest
        if rest.sip_problem is not None:
            raise self._error(rest.sip_problem)
        return rest.sip

    @property
    def result_allocator(self) -> str | None:
        """The name of the function that allocates results of dynamic shape (``fbr``), or None."""
        return self.attrs.get("fbr")

    def example_arrays(self, dim: int = 4) -> tuple[Any, ...]:
        """Make a value for each argument: NumPy zeros, nested as the signature says.

        `example.example_values` describes them. Where the bytecode says more of an argument than
        the signature, or something else, they are as the bytecode says.

        Args:
            dim: The example for each dynamic dim, in elements.

        Raises:
            CallError: when NumPy is not installed, or has no such dtype.
            RangeError: when NumPy has no arrays of such a shape.
            MemoryError: when there is no memory for one.
            FormatError: as for `signature`.

        """
        from fnabi.vmfb.example import example_values

        return example_values(self._accepted()[0], dim)

    def runner_inputs(self, dim: int = 4) -> list[str]:
        """Write the arguments as ``--input=`` flags of ``iree-run-module``.

        `example.runner_inputs` describes them; they follow the bytecode as `example_arrays` do.

        Args:
            dim: The example for each dynamic dim, in elements.

        Raises:
            CallError: If the runner has no notation for a type.
            FormatError: as for `signature`.

        """
        from fnabi.vmfb.example import runner_inputs

        return runner_inputs(*self._accepted(), dim)

    @property
    def unknown_shapes(self) -> list[str]:
        """What `runner_inputs` makes up: a line for each input of unknown rank or type.

        Raises:
            FormatError: as for `signature`.

        """
        from fnabi.vmfb.example import unknown_shapes

        return unknown_shapes(*self._accepted())

    @property
    def transients(self) -> Transients | None:
        """The memory that callers provide for the time of a call, or None."""
        if _TRANSIENTS not in self._message:  # saves making the attributes
            return None
        from fnabi.vmfb.needs import transients_of

        return transients_of(self.name, self.attrs)

    @property
    def result_storage(self) -> dict[int, int]:
        """The results that the function writes into buffers of its caller.

        By the index of the argument that is the buffer, the index of the result
        (``iree.abi.output`` in the declaration).
        """
        try:
            declaration = self.declaration
        except FormatError:
            return {}
        found = {}
        for index, value in enumerate(declaration.inputs if declaration is not None else ()):
            result = dict(value.attributes).get("iree.abi.output", "").partition(":")[0].strip()
            if result.isdecimal() and len(result) < 10:
                found[index] = int(result)
        return found

    def _accepted(self) -> tuple[Signature, dict[int, Type]]:
        """The signature with what the bytecode proves where it says more, or something else.

        A text with other numbers of values than the calling convention is not used. And what
        buffers must have room for, by the arguments that are such buffers: the results that they
        are the storage of, or a number of bytes.
        """
        signature: Signature = self.signature
        proofs = self.proofs
        stored: dict[int, Type] = {}
        if proofs is not None:
            if not passable(signature, proofs):
                signature = self._passable(proofs)
            signature = accepted(signature, proofs)
            stored = buffers(proofs)
        results = signature.results
        for index, result in self.result_storage.items():
            if result < len(results):
                stored[index] = results[result]
        return signature, stored

    def _passable(self, proofs: Proofs) -> Signature:
        """The declaration where it fits the calling convention; else what the bytecode proves."""
        with suppress(FormatError):
            declared = self.declaration
            if declared is not None:
                sides = declared.inputs, declared.results
                types = (tuple(Named(each.name, each.type) for each in side) for side in sides)
                signature = Signature(*types)
                if passable(signature, proofs):
                    return signature
        inputs, results = proofs.signature.inputs, proofs.signature.results
        return Signature(inputs[:-2] if self.is_async and inputs else inputs, results)

    def __reduce__(self) -> tuple[type[Export], tuple[object, ...]]:
        try:
            held: ModuleBytes = KnownProofs(self.proofs)
        except (CallError, FormatError):
            held = ModuleBytes()
        signature = None if self.source is None else self.signature
        fields = self.name, self.ordinal, self.calling_convention, signature, self._message, held
        return type(self), fields

    def _error(self, problem: _Problem) -> FormatError:
        text = self.calling_convention
        if problem.key is not None:
            text = self.attrs.get(problem.key, "")  # a damaged record may have another key
        return FormatError(
            core.code_name(problem.code),
            problem.offset,
            problem.path,
            reason=core.code_text(problem.code),
            expected=problem.expected,
            excerpt=excerpt(core.text_bytes(text), problem.offset),
        )

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import ROWS, code, escaped, fact_table

        facts = [
            ("name", code(self.name)),
            ("signature", code(self._shown())),
            ("source", escaped(self.source)),
            ("calling convention", code(self.calling_convention)),
            *((key, code(value)) for key, value in islice(self.attrs.items(), ROWS)),
        ]
        return fact_table(facts)

    def _shown(self) -> str:
        try:
            return self.signature_text
        except ValueError as problem:
            return f"unreadable: {problem}"

    def __repr__(self) -> str:
        return f"<Export {self.name!r} {self.signature}>"


class UnreadableExport(Export, frozen=True):
    """An export whose best text is malformed or has another version."""

    @property  # type: ignore[misc]
    def signature(self) -> IreeAbiSignature:
        """Raise the FormatError of that text."""
        problem = self._rest.problem
        assert problem is not None
        raise self._error(problem)

    def __repr__(self) -> str:
        return f"<Export {self.name!r} {self.calling_convention}>"


_TRANSIENTS = b"iree.abi.transients.size"

_SHOWN = 8
"""The number of names that the `repr` of exports shows."""


class Exports(Mapping[str, Export]):
    """The exports of a module by name, in their order.

    It iterates over the names. A module may have a name twice: ``exports["mm"]`` is the first
    export of that name, while `len`, iteration, `values` and `items` have all of them.
    ``exports.values()[0]`` is the first export of the module.

    Example:
        >>> from fnabi import vmfb
        >>> exports = vmfb.open("examples/classifier.vmfb").exports
        >>> list(exports), exports["dense"].calling_convention
        (['normalize', 'dense', 'version', '__init'], '0rrr_r')

    """

    def __init__(self, exports: tuple[Export, ...] = ()) -> None:
        self._all = exports

    @cached_property
    def _by_name(self) -> dict[str, Export]:
        return {export.name: export for export in reversed(self._all)}

    def __getitem__(self, name: str, /) -> Export:
        try:
            return self._by_name[name]
        except KeyError:
            hint = did_you_mean(name, self._by_name) if isinstance(name, str) else ""
            raise MissingKeyError(f"the module has no export {quoted(name)}{hint}") from None

    @overload
    def get(self, key: str) -> Export | None: ...
    @overload
    def get(self, key: str, default: Export | _T) -> Export | _T: ...
    def get(self, key: str, default: Export | _T | None = None) -> Export | _T | None:
        """Return the first export of a name, or `default`."""
        return self._by_name.get(key, default)

    def __contains__(self, name: object, /) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return (export.name for export in self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __eq__(self, other: object) -> bool:
        return self._all == other._all if isinstance(other, Exports) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all)

    def keys(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the names, in the order of the module; a name may occur twice."""
        return tuple(self)

    def values(self) -> tuple[Export, ...]:  # type: ignore[override]
        """Return the exports, in the order of the module."""
        return self._all

    def items(self) -> tuple[tuple[str, Export], ...]:  # type: ignore[override]
        """Return pairs of name and export."""
        return tuple((export.name, export) for export in self._all)

    def _ipython_key_completions_(self) -> list[str]:
        return [*dict.fromkeys(self)]

    def __repr__(self) -> str:
        names = ", ".join(map(one_line, islice(self, _SHOWN)))
        more = f", and {len(self) - _SHOWN} more" if len(self) > _SHOWN else ""
        return f"<Exports {names}{more}>" if self else "<Exports, none>"

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import code, escaped, table

        rows = (
            (code(each.name), code(each._shown()), escaped(each.source)) for each in self.values()
        )
        return table(("name", "signature", "source"), rows, len(self))


_text, _ordinal = core.Decoder(str), core.Decoder(int)
_signature: core.Decoder[IreeAbiSignature | None] = core.Decoder(IreeAbiSignature | None)
_rows = core.Decoder(list[list[msgspec.Raw]])
_copy = core.Decoder(bytes)
_copy.decode = bytes  # the message itself, which the scratch memory does not keep
_ARRAY_OF_SEVEN = b"\x97"


def _exports_by_message(source: bytes, held: ModuleBytes) -> tuple[Export, ...]:
    """Decode a message of the core with msgspec: the plain equivalent of the fast path."""
    return exports_of(exports_message(source), held)


def exports_message(source: bytes) -> bytes:
    """Return the message of the core from which `exports_of` builds the exports."""
    return core.decode(lib.fnabi_vmfb_exports, _copy, ffi.from_buffer(source))


def exports_of(message: bytes, held: ModuleBytes) -> tuple[Export, ...]:
    """Build exports from their message; they hold the bytes of the module."""
    return tuple(_export_of(row, held) for row in _rows.decode(message))


def _export_of(row: list[msgspec.Raw], held: ModuleBytes) -> Export:
    """The export of its part of the message, of which the rest is joined as it came."""
    name, ordinal, convention, texts, source, signature, *rest = map(bytes, row)
    typed = core.build(_signature, signature)
    fields = (
        core.build(_text, name),
        core.build(_ordinal, ordinal),
        core.build(_text, convention),
        typed,
        b"".join((_ARRAY_OF_SEVEN, texts, source, *rest)),
        held,
    )
    made: type[Any] = UnreadableExport if typed is None else Export
    export: Export = made(*fields)
    return export


def _fastest(fast: RecordDecoder | None) -> Callable[[bytes, ModuleBytes], tuple[Export, ...]]:
    export, signature = records.layout(Export), records.layout(IreeAbiSignature)
    if fast is None or export is None or signature is None:
        return _exports_by_message
    return partial(fast.exports, export, signature, UnreadableExport)


decode_exports = _fastest(decoder)
"""Decode the exports of a verified module, whose file is given up to its FlatBuffer's end, and let
them hold its bytes."""
