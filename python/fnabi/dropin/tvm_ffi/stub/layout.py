"""Whether the memory of objects is known from what libraries register of their fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fnabi.dropin.tvm_ffi.stub.utils import NamedTypeSchema, ObjectInfo

OBJECT_HEADER_ALIGNMENT = 8


@dataclass(frozen=True)
class ByteRange:
    """The bytes of an object from `start` to before `end`."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"[{self.start}, {self.end})"


@dataclass(frozen=True)
class FieldBytes:
    """Where a field is."""

    name: str
    offset: int
    size: int
    alignment: int

    @property
    def end(self) -> int:
        """The offset after it."""
        return self.offset + self.size


@dataclass
class Verdict:
    """Whether fields fill the memory of a type.

    Attributes:
        type_key: The key of the type.
        verdict: ``"complete"`` or ``"opaque"``.
        reason: Why it is opaque, in a word; None for a complete type.
        detail: The same in a sentence.
        ancestors: The keys of the types that it derives from, ``ffi.Object`` first.
        total_size: The size of an object in bytes, or None.
        is_final: Whether no type derives from it, or None.
        alignment: The alignment of an object in bytes.
        own_bytes: The bytes after those of the type that it derives from, or None.
        fields: Its own fields, by offset.
        uncovered: Bytes that no field has and that no alignment explains.
        padding: Bytes that alignment explains.

    """

    type_key: str
    verdict: str = "complete"
    reason: str | None = None
    detail: str = ""
    ancestors: list[str] = field(default_factory=list)
    total_size: int | None = None
    is_final: bool | None = None
    alignment: int = OBJECT_HEADER_ALIGNMENT
    own_bytes: ByteRange | None = None
    fields: list[FieldBytes] = field(default_factory=list)
    uncovered: list[ByteRange] = field(default_factory=list)
    padding: list[ByteRange] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether fields and alignment explain each byte."""
        return self.verdict == "complete"

    def refuse(self, reason: str, detail: str) -> None:
        """Make it opaque."""
        self.verdict, self.reason, self.detail = "opaque", reason, detail

    def gap(self, start: int, alignment: int, end: int) -> None:
        """Record the bytes between fields."""
        if start < end:
            explained = _aligned(start, alignment) == end
            (self.padding if explained else self.uncovered).append(ByteRange(start, end))


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def classify(
    infos: Mapping[str, ObjectInfo],
    *,
    forced_opaque: Collection[str] = (),
    unmirrored: Collection[str] = (),
    field_renderable: Callable[[NamedTypeSchema], bool] | None = None,
) -> dict[str, Verdict]:
    """Return a verdict for each type, by its key.

    Args:
        infos: The types; those that they derive from have to be among them.
        forced_opaque: Types that are opaque even where their memory is known.
        unmirrored: Types that are opaque whatever their fields are.
        field_renderable: Whether a field has a type in the language that is written.

    Raises:
        KeyError: A type derives from one that is not given.

    """
    found: dict[str, Verdict] = {}

    def judge(key: str) -> Verdict:
        if key not in found:
            info = infos[key]
            parent = judge(info.parent_type_key) if info.parent_type_key else None
            made = Verdict(key, ancestors=info.ancestors)
            made.total_size, made.is_final = info.total_size, info.is_final
            if key in unmirrored:
                made.refuse("no-mirror", "the runtime of the language has the memory of the type")
            else:
                _lay_out(made, info, parent)
                if made.is_complete and key in forced_opaque:
                    made.refuse("by-directive", "a directive makes the type opaque")
                _check_renderable(made, info, field_renderable)
            found[key] = made
        return found[key]

    for key in infos:
        judge(key)
    return found


def _check_renderable(
    made: Verdict, info: ObjectInfo, renderable: Callable[[NamedTypeSchema], bool] | None
) -> None:
    for each in info.fields if made.is_complete and renderable is not None else ():
        if renderable is not None and not renderable(each):
            made.refuse("unrenderable-field", f"no type for field {each.name!r}: {each}")
            return


def _lay_out(made: Verdict, info: ObjectInfo, parent: Verdict | None) -> None:
    """Find out what each byte of a type is."""
    unknown = None
    for each in info.fields:
        if each.size is None or each.alignment is None or each.offset is None:
            unknown = f"there is no size or offset of field {each.name!r}"
        else:
            made.fields.append(FieldBytes(each.name, each.offset, each.size, each.alignment))
    made.fields.sort(key=lambda each: each.offset)
    inherited = parent.alignment if parent else OBJECT_HEADER_ALIGNMENT
    made.alignment = max([inherited, *(each.alignment for each in made.fields)])
    if made.total_size is None:
        unknown = "the library does not tell the size of objects"
    if unknown is not None:
        made.refuse("layout-unknown", unknown)
    elif parent is None:
        made.own_bytes = ByteRange(made.total_size or 0, made.total_size or 0)
        made.detail = f"the object header, [0, {made.total_size}), is that of the C ABI"
        return
    elif parent.is_complete:
        _fill(made, parent.total_size or 0, made.total_size or 0)
    if parent is not None and not parent.is_complete and unknown is None:
        made.refuse("parent-opaque", f"{parent.type_key!r} is opaque ({parent.reason})")


def _fill(made: Verdict, start: int, end: int) -> None:
    """Compare the fields of a type with its own bytes."""
    made.own_bytes = ByteRange(start, end)
    fault = ""
    for each in made.fields:
        if each.offset < start and not fault:
            fault = f"field {each.name!r} at {ByteRange(each.offset, each.end)}"
            fault += f" starts before byte {start}"
        made.gap(start, each.alignment, each.offset)
        start = max(start, each.end)
    if start > end:
        fault = fault or f"fields extend to byte {start}, past total_size {end}"
    made.gap(start, made.alignment, end)
    if fault:
        made.refuse("field-overlap", fault)
    elif made.uncovered:
        gaps = ", ".join(map(str, made.uncovered))
        made.refuse("uncovered-bytes", f"no field has the bytes {gaps} of {made.own_bytes}")
    else:
        made.detail = f"fields fill {made.own_bytes}"
        if made.padding:
            made.detail += f" with padding in {', '.join(map(str, made.padding))}"


def coverage_report(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """Return verdicts as JSON, by key."""

    def pairs(ranges: list[ByteRange]) -> list[list[int]]:
        return [[each.start, each.end] for each in ranges]

    return {
        key: {
            "verdict": each.verdict,
            "reason": each.reason,
            "detail": each.detail,
            "parent": each.ancestors[-1] if each.ancestors else None,
            "ancestors": each.ancestors,
            "total_size": each.total_size,
            "is_final": each.is_final,
            "own_bytes": None if each.own_bytes is None else pairs([each.own_bytes])[0],
            "fields": [
                {
                    "name": one.name,
                    "offset": one.offset,
                    "size": one.size,
                    "alignment": one.alignment,
                }
                for one in each.fields
            ],
            "uncovered": pairs(each.uncovered),
            "padding": pairs(each.padding),
        }
        for key, each in sorted(verdicts.items())
    }


def write_coverage_report(path: Path, verdicts: Mapping[str, Verdict]) -> None:
    """Write verdicts to a file of JSON."""
    text = json.dumps(coverage_report(verdicts), indent=2)
    path.write_text(text + "\n", encoding="utf-8")
