"""The two paths from the core to Python, the lane's and msgspec's, return the same results.

The lane is a fast path of some decoders and encoders. Each has a plain equivalent, which crosses by
cffi and a message; it also serves where the lane must not fill a class in place.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnabi import (
    CallError,
    FormatError,
    RangeError,
    bytecode,
    cconv,
    columns,
    iree_abi,
    raw,
    signature,
    sip,
    types,
    vmfb,
)
from fnabi._base import core, lane, records
from fnabi.errors import LayoutWarning
from fnabi.vmfb._bytes import ModuleBytes
from fnabi.vmfb._export import Export, _exports_by_message, decode_exports
from fnabi.vmfb._infer import Alias, Fences, Proofs, _types_by_message, decode_types
from fnabi.vmfb._instructions import _findings_by_message
from fnabi.vmfb._records import FunctionSignature, _signatures_by_message, decode_signatures
from support.crossings import CROSSINGS, Crossing
from support.layouts import KINDS, differing, differs
from support.paths import DATA, TESTS
from support.strategies import (
    conventions,
    iree_abi_signatures,
    mutated,
    mutated_json,
    nearly_iree_abi,
    nearly_raw,
    raw_signatures,
    sip_signatures,
)
from support.vectors import inputs

MODULES = sorted(DATA.rglob("*.vmfb"))


RECORDS = [
    *(types.DType, *get_args(types.Type), types.Signature, iree_abi.Signature, Export),
    *(Alias, Fences, Proofs, FunctionSignature),
]
"""Every class that the lane fills in place."""


@pytest.mark.parametrize("crossing", CROSSINGS, ids=lambda crossing: crossing.lane)
def test_both_ways_are_there(crossing: Crossing) -> None:
    found: Any = lane
    for name in crossing.lane.split("."):
        found = getattr(found, name)
    module, _, name = crossing.plain.rpartition(".")
    assert callable(found)
    assert callable(getattr(import_module(f"fnabi.{module}"), name))
    assert crossing.lane in (records.__doc__ or "")
    assert crossing.plain in (records.__doc__ or "")


def test_the_fast_ways_are_taken() -> None:
    assert types.decoder is not None
    assert raw._parse == types.decoder.raw
    assert iree_abi._parse == types.decoder.iree_abi
    assert vmfb._verify == types.decoder.verify
    assert decode_exports is not _exports_by_message
    assert decode_types is not _types_by_message
    assert decode_signatures is not _signatures_by_message
    assert records._differing == []


# ------------------------------------------------------------------------------- equal answers


def outcome(run: Callable[..., Any], *arguments: Any) -> Any:
    """Return all parts of a function's result, or of its exception."""
    try:
        value = run(*arguments)
    except (FormatError, CallError) as error:
        return type(error), str(error), vars(error)
    return type(value), value, parts(value)


def parts(value: Any) -> Any:
    """Return the types of a value's parts; equal values may differ in them."""
    if isinstance(value, tuple):
        return [parts(item) for item in value]
    if hasattr(value, "__struct_fields__"):
        names = value.__struct_fields__ if not isinstance(value, Export) else ("name", "_message")
        return type(value), [parts(getattr(value, name)) for name in names]
    return type(value)


def same_raw(text: bytes) -> None:
    assert types.decoder is not None
    fast = outcome(types.decoder.raw, text, raw._layout)
    assert fast == outcome(raw._parse_by_message, text)


def same_iree_abi(text: bytes | str) -> None:
    assert types.decoder is not None
    fast = outcome(types.decoder.iree_abi, text, iree_abi._layout)
    assert fast == outcome(iree_abi._parse_by_message, text)


def same_module(data: bytes) -> None:
    assert types.decoder is not None
    for lenient in (False, True):
        fast = outcome(types.decoder.verify, data, lenient)
        assert fast == outcome(vmfb._verify_by_cffi, data, lenient)
    fast, plain = (
        outcome(decode, data, ModuleBytes(data)) for decode in (decode_exports, _exports_by_message)
    )
    assert fast == plain
    if fast[0] is tuple:
        assert list(map(repr, fast[1])) == list(map(repr, plain[1]))
        assert [export.attrs.pairs for export in fast[1]] == [
            export.attrs.pairs for export in plain[1]
        ]
    assert outcome(decode_types, data) == outcome(_types_by_message, data)
    fast, plain = outcome(decode_signatures, data), outcome(_signatures_by_message, data)
    assert fast == plain
    if fast[0] is tuple:
        assert list(map(repr, fast[1])) == list(map(repr, plain[1]))
        assert list(map(hash, fast[1])) == list(map(hash, plain[1]))
    same_findings(data)


def same_findings(data: bytes) -> None:
    assert types.decoder is not None
    try:
        module = vmfb.from_buffer(data, lenient=True)
    except FormatError:
        return
    plain = outcome(_findings_by_message, data)
    assert types.decoder.sound(data) == (plain[1] == ())
    assert outcome(bytecode.verify, module) == plain


def test_raw_over_all_vectors() -> None:
    texts = set(inputs("raw", "sip", "tokens"))
    assert len(texts) > 1000
    for text in texts:
        same_raw(text)


@given(raw_signatures.map(raw.encode) | nearly_raw() | mutated(nearly_raw()) | st.binary())
def test_raw(text: bytes) -> None:
    same_raw(text)


def test_iree_abi_over_all_texts_of_the_official_package() -> None:
    for group in json.loads((DATA / "iree_abi" / "official.json").read_text()).values():
        for text in group:
            same_iree_abi(text)
            same_iree_abi(text.encode())


@given(
    iree_abi_signatures.map(iree_abi.encode)
    | nearly_iree_abi()
    | mutated_json(nearly_iree_abi())
    | st.binary()
)
def test_iree_abi(text: bytes | str) -> None:
    same_iree_abi(text)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_module(path: Path) -> None:
    same_module(path.read_bytes())


@given(
    st.sampled_from([path.read_bytes() for path in MODULES if 0 < path.stat().st_size < 10_000]),
    st.lists(st.tuples(st.integers(0), st.binary(min_size=1, max_size=8)), max_size=4),
)
def test_any_edit_of_a_module(data: bytes, edits: list[tuple[int, bytes]]) -> None:
    edited = bytearray(data)
    for at, new in edits:
        at %= len(data)
        edited[at : at + len(new)] = new
    same_module(bytes(edited))


ENCODERS: dict[str, Any] = {"raw": raw, "sip": sip, "iree_abi": iree_abi, "cconv": cconv}


@given(
    st.sampled_from([*ENCODERS]),
    raw_signatures | sip_signatures | iree_abi_signatures | conventions | st.integers(),
)
def test_texts_of_values(abi: str, value: Any) -> None:
    """Of values of each ABI, most of which the others refuse."""
    try:
        plain = ENCODERS[abi]._encode_by_cffi(value)
    except (CallError, RangeError):
        plain = None
    assert getattr(records.encoder, abi)(value) == plain


def test_long_texts_of_values() -> None:
    for count in (1, 100, 400, 40_000):
        value = types.Signature((types.Buffer(types.DType("float", 32), (7,)),) * count, ())
        text = raw.encode(value)
        assert text == raw._encode_by_cffi(value)
        assert raw.parse(text) == value


def test_an_encoder_is_used_while_it_encodes() -> None:
    value = types.Signature((types.Scalar(types.DType("float", 32)),), ())

    def write(value: object, message: bytearray) -> None:
        if isinstance(value, list):
            assert encoder.raw(value.pop()) == raw.encode(other)
        core.encode_into(value if value is other else types.Signature((), ()), message)

    other, encoder = value, lane.RecordEncoder(write)
    assert encoder.raw([other]) == b"I1!R1!"
    assert encoder.raw(other) == raw.encode(other)


def test_an_encoder_without_memory() -> None:
    def write(value: object, message: bytearray) -> None:
        raise MemoryError if value is None else ValueError

    encoder = lane.RecordEncoder(write)
    assert encoder.raw(1) is None
    with pytest.raises(MemoryError):
        encoder.raw(None)
    with pytest.raises(TypeError, match="no keyword arguments"):
        lane.RecordEncoder(write=write)  # type: ignore[call-arg]


tags = st.characters(max_codepoint=0x17F) | st.sampled_from(["_", "a", "z", "A", "Z", "", "ab"])


def appended(method: str, *arguments: Any) -> bytes | None:
    """Return what the lane appends, or None where it leaves that to the plain path."""
    builder = lane.SignatureBuilder()._append(b"_5")
    try:
        assert getattr(builder, method)(*arguments) is builder
    except AttributeError:  # the class derived from it has the plain path
        assert builder.encoded == b"_5"
        return None
    return builder.encoded.removeprefix(b"_5")


@given(st.integers(-(2**33), 2**33), tags)
def test_integers(value: int, tag: str) -> None:
    try:
        plain = signature._encode_integer(value, tag)
    except (CallError, RangeError):
        plain = None
    assert appended("integer", value, tag) == plain


@given(st.binary(max_size=300) | st.text(max_size=300), tags)
def test_spans(contents: bytes | str, tag: str) -> None:
    try:
        plain = signature._encode_span(contents, tag)
    except CallError:
        plain = None
    fast = appended("span", contents, tag)
    assert fast == plain or (fast is None and isinstance(contents, str))


@pytest.mark.parametrize("abi", ["raw", "sip"])
def test_lists_of_texts(abi: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[Any] = [*inputs(abi), None, "I1!R1!"]
    fast = columns.decode_columns(texts, abi=abi)
    monkeypatch.setattr(lane, "columns_add", lambda *_: 0)
    plain = columns.decode_columns(texts, abi=abi)
    assert fast.bad == plain.bad > 0
    assert fast.errors == plain.errors
    wrong = {error.row for error in fast.errors}
    good = [row for row in range(len(texts)) if row not in wrong]
    assert [fast[row] for row in good] == [plain[row] for row in good]


# ------------------------------------------------------------------------- layouts of classes


def name_of(value: type | str) -> str:
    return value if isinstance(value, str) else f"{value.__module__}.{value.__name__}"


@pytest.mark.parametrize(
    ("struct", "kind"),
    [(struct, kind) for struct in RECORDS for kind in KINDS if differs(struct, kind)],
    ids=name_of,
)
def test_a_class_with_another_layout_is_refused(struct: type, kind: str) -> None:
    assert lane.record(struct) is not None
    with pytest.raises(TypeError, match="fields of an instance are not at the expected"):
        lane.record(differing(struct, kind))


def test_a_class_that_fails_is_refused() -> None:
    class Failing:
        __slots__ = ("field",)
        __struct_fields__ = ("field",)

        def __init__(self, field: object) -> None:
            raise ValueError("no instances")

    with pytest.raises(TypeError, match="fields of an instance are not at the expected"):
        lane.record(Failing)


def test_a_refusal_that_fails_is_reported() -> None:
    def refuse(*_: object) -> Any:
        raise LookupError("no refusal")

    tags = sorted(get_args(types.Type), key=lambda type: type.__struct_config__.tag)
    decoder = lane.RecordDecoder((types.DType, *tags), refuse)
    assert raw._layout is not None
    with pytest.raises(LookupError, match="no refusal"):
        decoder.raw(b"?", raw._layout)


def test_a_decoder_lets_go_of_its_refusal() -> None:
    class Refusal:
        def __call__(self, *_: object) -> Any:
            raise LookupError

    tags = sorted(get_args(types.Type), key=lambda type: type.__struct_config__.tag)
    refuse = Refusal()
    gone = weakref.ref(refuse)
    decoder = lane.RecordDecoder((types.DType, *tags), refuse)
    del decoder, refuse
    gc.collect()
    assert gone() is None


def test_exports_are_of_bytes_alone() -> None:
    data: Any = bytearray((DATA / "vmfb" / "scalars.vmfb").read_bytes())
    with pytest.raises(TypeError, match="expected bytes, bytearray found"):
        decode_exports(data, None)  # type: ignore[arg-type]


def answers() -> list[str]:
    """Return the results of each decoder for some inputs."""
    module = vmfb.from_buffer((DATA / "vmfb" / "abi_records.vmfb").read_bytes())
    broken = vmfb.from_buffer((DATA / "vmfb" / "abi_broken.vmfb").read_bytes())
    return [
        repr(raw.parse(b"I15!B11!d10d128d64R15!B11!t6d32d8d64")),
        repr(iree_abi.parse('{"a":[["named","x",["sdict",["k","i32"]]]],"r":[null],"v":1}')),
        *(repr((export, export.attrs.pairs, export.source)) for export in module.exports.values()),
        *(repr((export, export.attrs.pairs, export.source)) for export in broken.exports.values()),
        *(str(outcome(parse, "x"))[:200] for parse in (raw.parse, iree_abi.parse, vmfb.verify)),
    ]


SIMULATED = """
import json, sys, warnings
sys.path[:0] = sys.argv[3:]
from fnabi._base import lane
from support.crossings import CROSSINGS, Crossing
from support.layouts import differing
genuine = lane.record
def record(struct):
    if f"{struct.__module__}.{struct.__name__}" != sys.argv[1]:
        return genuine(struct)
    return genuine(differing(struct, sys.argv[2]))
lane.record = record
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from test_crossing import answers
    print(json.dumps([answers(), [[w.category.__name__, str(w.message)] for w in caught]]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("struct", RECORDS, ids=name_of)
def test_a_differing_msgspec_costs_speed_and_a_warning(struct: type) -> None:
    name = name_of(struct)
    command = [
        sys.executable,
        "-c",
        SIMULATED,
        name,
        "another field",
        str(TESTS),
        str(Path(__file__).parent),
    ]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    given, ((category, text),) = json.loads(found.stdout)
    assert given == answers()
    assert category == LayoutWarning.__name__
    assert f"stores the fields of {name} differently" in text
    assert "Install a version of msgspec" in text


def test_without_a_difference_there_is_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(records.layout(struct) is not None for struct in RECORDS)


@pytest.mark.parametrize("name", ["scalars", "std_llvmcpu"])
def test_edited_bytecode(name: str) -> None:
    """One byte of the code has another value."""
    data = (DATA / "vmfb" / f"{name}.vmfb").read_bytes()
    code = bytes(vmfb.from_buffer(data).bytecode)
    start = data.index(code)
    for at in range(0, len(code), len(code) // 20):
        edited = bytearray(data)
        edited[start + at] ^= 0x41
        same_findings(bytes(edited))
        assert outcome(decode_types, bytes(edited)) == outcome(_types_by_message, bytes(edited))
