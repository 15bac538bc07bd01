"""Files of parameters, and modules held against them."""

from __future__ import annotations

import json
import os
import re
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnabi import CallError, FormatError, parameters, vmfb
from fnabi.cli import main
from fnabi.vmfb.needs import Parameter
from support.paths import DATA

NEEDS = DATA / "needs"
ARCHIVE = NEEDS / "params.irpa"
GGUF = NEEDS / "params.gguf"
MODULE = NEEDS / "params_vmvx.vmfb"
INDEX = {"layer.weight": 48, "layer.bias": 12, "scale": 16}


def archive(
    *entries: tuple[bytes, bytes, int], count: int | None = None, following: int = 0
) -> bytes:
    """An archive of entries, each with a name, what follows its head, and its type."""
    table, names = b"", b""
    for name, body, kind in entries:
        size = 60 + len(body)
        head = struct.pack("<QIQ5Q", size, kind, 0, len(names), len(name), 0, 0, 0)
        table += head + body + b"\0" * (-size % 16)
        names += name
    at = 96
    end = at + len(table) + len(names)
    header = struct.pack(
        "<4sHHQQQQ6Q",
        *(b"IRPA", 0, 0, 88, following, 0, len(entries) if count is None else count),
        *(at, len(table), at + len(table), len(names), end, 64),
    )
    return header + b"\0" * 8 + table + names + b"\0" * 64


def edited(at: int, data: bytes) -> bytes:
    """An archive of one entry, in which bytes are others."""
    whole = archive(data_entry(b"d", 0, 3))
    return whole[:at] + data + whole[at + len(data) :]


def data_entry(name: bytes, offset: int, size: int) -> tuple[bytes, bytes, int]:
    return name, struct.pack("<QQ", offset, size), 2


def test_an_archive_of_the_official_tool() -> None:
    assert parameters.read(ARCHIVE) == INDEX


def test_every_type_of_entry() -> None:
    splat = b"s", struct.pack("<Q16sB", 8, b"", 1), 1
    external = b"e", struct.pack("<4Q", 0, 0, 5, 77), 3
    skipped = b"x", b"", 0
    data = archive(data_entry(b"d", 0, 64), splat, external, skipped)
    assert parameters.read_archive(data) == {"d": 64, "s": 8, "e": 77}
    first = archive(data_entry(b"d", 0, 3), splat)
    padding = -len(first) % 16
    linked = archive(data_entry(b"d", 0, 3), splat, following=len(first) + padding)
    assert parameters.read_archive(linked + b"\0" * padding + data) == {"d": 64, "s": 8, "e": 77}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"IRPA", "irpa-size"),
        (b"IRPB" + archive()[4:], "irpa-header"),
        (b"IRPA\1" + archive()[5:], "irpa-version"),
        (archive(count=1), "irpa-range"),
        (archive(count=2**63), "irpa-range"),
        (archive(data_entry(b"d", 0, 65)), "irpa-range"),
        (archive(data_entry(b"d", 2**64 - 1, 2)), "irpa-range"),
        (archive((b"d", b"", 2)), "irpa-range"),
        (archive((b"d", b"", 9)), "irpa-entry"),
        (archive(following=8), "irpa-header"),
        (archive(following=2**64 - 16), "irpa-size"),
        (archive(following=96), "irpa-size"),
        (edited(6, b"\1"), "irpa-version"),
        (edited(8, b"\0"), "irpa-header"),
        (edited(8, b"\x60"), "irpa-header"),
        (edited(96 + 44, b"\xff"), "irpa-range"),
        (archive((b"s", struct.pack("<Q16sB", 8, b"", 17), 1)), "irpa-range"),
    ],
)
def test_damaged_archives(data: bytes, code: str) -> None:
    with pytest.raises(FormatError) as caught:
        parameters.read_archive(data)
    assert caught.value.code == code
    assert caught.value.offset <= len(data)


def test_empty_parameters_are_anywhere() -> None:
    """As for IREE's runtime, which looks at no offset of what is empty."""
    assert parameters.read_archive(archive(data_entry(b"d", 2**63, 0))) == {"d": 0}
    assert parameters.read_archive(edited(96 + 36, b"\xff" * 8)) == {"d": 3}


def test_changed_archives_are_read_as_by_the_runtime(tmp_path: Path) -> None:
    runtime = pytest.importorskip("iree.runtime")
    splat = b"s", struct.pack("<Q16sB", 8, b"\1", 1), 1
    good = archive(data_entry(b"d", 0, 64), splat, (b"x", b"", 0))
    path = tmp_path / "p.irpa"

    def official() -> parameters.Index | None:
        index = runtime.ParameterIndex()
        try:
            index.load(str(path))
        except Exception:  # of a class for each status
            return None
        return {name: entry.length for name, entry in index.items()}

    def own() -> parameters.Index | None:
        try:
            return parameters.read(path)
        except FormatError:
            return None

    for at in range(4, 96 + 3 * 64):
        for value in (good[at] ^ 1, 0x7F):
            path.write_bytes(good[:at] + bytes([value]) + good[at + 1 :])
            assert own() == official(), (at, value)


def fault(data: bytes) -> int:
    """The offset of what is wrong, 0 for nothing."""
    try:
        parameters.read_archive(data)
    except FormatError as problem:
        return problem.offset
    return 0


def test_every_byte_of_an_archive() -> None:
    data = bytearray(ARCHIVE.read_bytes()[:1024])
    for at in range(512):
        for value in (0, 1, 0x7F, 0xFF, data[at] ^ 0x10):
            kept, data[at] = data[at], value
            assert fault(bytes(data)) <= len(data)
            data[at] = kept


@given(st.binary(max_size=300))
def test_random_archives(rest: bytes) -> None:
    for data in (rest, b"IRPA\0\0\0\0" + rest):
        assert fault(data) <= len(data)


def test_headers_that_share_entries_are_bounded() -> None:
    """Each header of a chain refers to the same large table."""
    count, entries = 3000, 3000
    table = struct.pack("<QIQ5Q", 60, 0, 0, 0, 0, 0, 0, 0).ljust(64, b"\0") * entries
    end = count * 96
    headers = b""
    for index in range(count):
        following = 96 if index + 1 < count else 0
        place = end - index * 96
        headers += struct.pack(
            "<4sHHQQQQ6Q8x",
            *(b"IRPA", 0, 0, 88, following, 0, entries),
            *(place, len(table), place, 0, place, 0),
        )
    with pytest.raises(FormatError) as caught:
        parameters.read_archive(headers + table)
    assert caught.value.code == "work"


def test_other_formats(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = {"layer.weight": np.zeros((3, 4), np.float32), "scale": np.zeros(4, np.float16)}
    path = tmp_path / "p.safetensors"
    safetensors.save_file(arrays, path)
    assert parameters.read(path) == {"layer.weight": 48, "scale": 8}
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(FormatError, match="damaged safetensors file"):
        parameters.read(path)


def test_types_of_safetensors(tmp_path: Path) -> None:
    """The sizes of all dtypes that the package knows are those of the data."""
    safetensors = pytest.importorskip("safetensors")
    path = tmp_path / "p.safetensors"

    def write(dtype: str, size: int) -> None:
        entry = {"dtype": dtype, "shape": [8], "data_offsets": [0, size]}
        header = json.dumps({"x": entry}).encode()
        path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))

    write("?", 8)
    with pytest.raises(safetensors.SafetensorError) as caught:
        safetensors.safe_open(path, framework="numpy")
    known = re.findall("`([A-Z]+[0-9A-Z_]*)`", str(caught.value).partition("expected")[2])
    assert {"F32", "U8"} <= {*known}
    for dtype in known:
        bits = 8 if dtype == "BOOL" else int(re.findall("[0-9]+", dtype)[0])
        write(dtype, bits)
        assert parameters.read(path) == {"x": bits}


def test_what_a_package_quotes_of_a_file(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    path = tmp_path / "p.safetensors"
    dtype = "\n\x1b[31m\u202e" + "x" * 1000
    entry = {"dtype": dtype, "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps({"x": entry}, ensure_ascii=False).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(FormatError, match=r"\\n\\x1b\[31m\\u202exxx.*\.\.\.") as caught:
        parameters.read(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def gguf(*pairs: bytes, tensors: bytes = b"", count: int = 0, order: str = "<") -> bytes:
    """A GGUF file of these pairs of metadata and infos of tensors, with 64 bytes of data."""
    head = b"GGUF" + struct.pack(f"{order}IQQ", 3, count, len(pairs)) + b"".join(pairs) + tensors
    return head + bytes(-len(head) % 32) + bytes(64)


def text(data: bytes, order: str = "<") -> bytes:
    """A string of GGUF."""
    return struct.pack(f"{order}Q", len(data)) + data


def pair(kind: int, value: bytes) -> bytes:
    return text(b"a") + struct.pack("<I", kind) + value


def tensor(
    *dims: int, kind: int = 0, offset: int = 0, name: bytes = b"t", order: str = "<"
) -> bytes:
    """The info of a tensor in GGUF."""
    numbers = struct.pack(f"{order}I{len(dims)}QIQ", len(dims), *dims, kind, offset)
    return text(name, order) + numbers


def test_gguf() -> None:
    assert parameters.read(GGUF) == {**INDEX, "quantized": 136}
    assert parameters.read_gguf(gguf()) == {}
    aligned = text(b"general.alignment") + struct.pack("<II", 4, 64)
    assert parameters.read_gguf(gguf(aligned, tensors=tensor(), count=1)) == {"t": 4}
    swapped = gguf(tensors=tensor(2, 8, offset=0, order=">"), count=1, order=">")
    assert parameters.read_gguf(swapped) == {"t": 64}
    both = tensor(0, 2**40, name=b"\xff") + tensor(32, kind=8, offset=30)
    assert parameters.read_gguf(gguf(tensors=both, count=2)) == {"\udcff": 0, "t": 34}
    nested = b"".join(struct.pack("<IQ", 9, 1) for _ in range(63)) + struct.pack("<IQ", 8, 0)
    assert parameters.read_gguf(gguf(pair(9, nested))) == {}


def test_types_of_gguf() -> None:
    """The sizes of all types of tensors are those of the official package."""
    constants = pytest.importorskip("gguf.constants")
    sizes = {int(kind): each for kind, each in constants.GGML_QUANT_SIZES.items()}
    assert sizes == {kind: each for kind, each in parameters._BLOCKS.items() if kind in sizes}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GGUF", "4 bytes are outside the file"),
        (b"GGUF" + struct.pack("<IQQ", 4, 0, 0), "unknown version 4"),
        (gguf(count=2**63), f"{2**63} tensors are outside the file"),
        (gguf(tensors=tensor(), count=6), "6 tensors are outside the file"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63),
            f"{2**63} pairs of metadata are outside the file",
        ),
        (gguf(struct.pack("<Q", 2**40)), f"{2**40} bytes are outside the file"),
        (gguf(pair(8, struct.pack("<Q", 2**40))), f"{2**40} bytes are outside the file"),
        (gguf(pair(9, struct.pack("<IQ", 0, 2**40))), f"{2**40} bytes are outside the file"),
        (gguf(pair(9, struct.pack("<IQ", 8, 2**40))), f"{2**40} values are outside the file"),
        (gguf(pair(9, struct.pack("<IQ", 9, 2**40))), f"{2**40} values are outside the file"),
        (
            gguf(pair(9, struct.pack("<IQ", 9, 1) * 1000)),
            "more than 64 arrays inside of each other",
        ),
        (gguf(pair(13, b"")), "unknown type 13"),
        (gguf(tensors=tensor(*[1] * 65), count=1), "tensor has 65 dims, expected at most 64"),
        (gguf(tensors=tensor(1, kind=4), count=1), "unknown tensor type 4"),
        (gguf(tensors=tensor(33, kind=8), count=1), "the first dim is not a multiple of 32"),
        (gguf(tensors=tensor() * 2, count=2), "two tensors have one name"),
        (gguf(tensors=tensor(17), count=1), "tensor outside the file"),
        (gguf(tensors=tensor(*[2**63] * 64), count=1), "tensor outside the file"),
        (gguf(tensors=tensor(offset=2**63), count=1), "tensor outside the file"),
    ],
)
def test_damaged_gguf(data: bytes, reason: str) -> None:
    """Counts and sizes that the file does not have are refused before anything is made of them."""
    with pytest.raises(FormatError, match=f"damaged GGUF file: {reason}") as caught:
        parameters.read_gguf(data)
    assert caught.value.code == "gguf"
    assert caught.value.offset <= len(data)


LONG_NAME = edited(64, struct.pack("<Q", 2**39))
"""An archive whose names take so much."""


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"GGUF" + struct.pack("<IQQ", 3, 2**35, 0), "gguf"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**35), "gguf"),
        (gguf(text(b"a") + struct.pack("<IIQ", 9, 8, 2**35)), "gguf"),
        (gguf(tensors=struct.pack("<Q", 2**39), count=1), "gguf"),
        (LONG_NAME[:124] + struct.pack("<Q", 2**39) + LONG_NAME[132:], "work"),
    ],
)
def test_sparse_files(tmp_path: Path, head: bytes, code: str) -> None:
    """What is made of a file is bounded where it has more bytes than were ever written."""
    path = tmp_path / "x"
    path.write_bytes(head)
    os.truncate(path, 2**40)
    start = time.process_time()
    with pytest.raises(FormatError) as caught:
        parameters.read(path)
    assert caught.value.code == code
    assert time.process_time() - start < 1


def test_gguf_that_is_cut() -> None:
    data = GGUF.read_bytes()
    for size in range(4, len(data) - 24):  # before the padding at the end
        with pytest.raises(FormatError, match="damaged GGUF file"):
            parameters.read_gguf(data[:size])


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data in (b"", b"text", MODULE.read_bytes()):
        path.write_bytes(data)
        with pytest.raises(FormatError, match="not a file of parameters"):
            parameters.read(path)


def test_compare() -> None:
    needed = vmfb.open(MODULE).parameters
    assert parameters.compare(needed, {None: INDEX}) == ()
    assert parameters.compare(needed, {"model": INDEX, "": {"scale": 16}}) == ()
    found = parameters.compare(needed, {"model": {"layer.weight": 96, "layer.bias": 12}})
    assert [str(each) for each in found] == [
        'error: parameter has 96 bytes, expected 48 in parameters["model::layer.weight"]',
        'error: parameter is missing, expected 16 bytes in parameters["scale"]',
    ]
    parts = [Parameter("gather", "", "k", 0, 8), Parameter("gather", "", "k", 8, 8)]
    assert parameters.compare(parts, {None: {"k": 16}}) == ()
    unknown = [Parameter("scatter", "s", None, None, None)]
    (notice,) = parameters.compare(unknown, {None: {}})
    assert (notice.severity, notice.code) == ("notice", "parameter-unknown")


@pytest.mark.parametrize("index", [INDEX, {"model": None}, {None: 5}, {"model": ["scale"]}])
def test_an_index_without_its_scope(index: Any) -> None:
    """It would have no parameter of any scope."""
    needed = [Parameter("load", "model", "scale", 0, 16)]
    with pytest.raises(
        TypeError, match=r"^parameters\.compare: given\[.*\]: expected the sizes"
    ) as caught:
        parameters.compare(needed, index)
    assert isinstance(caught.value, CallError)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module, archived = str(MODULE), str(ARCHIVE)
    assert main(["verify", f"--against={archived}", module]) == 0
    assert capsys.readouterr().out == f"{module}: ok\n"
    assert main(["verify", f"--against=model={archived}", module]) == 1
    text = 'error: parameter is missing, expected 16 bytes in parameters["scale"]'
    assert capsys.readouterr().out == f"{module}: {text}\n"
    other = tmp_path / "other.irpa"
    other.write_bytes(archive(data_entry(b"scale", 0, 12)))
    assert main(["verify", f"--against=model={archived}", f"--against={other}", module]) == 1
    assert "parameter has 12 bytes, expected 16" in capsys.readouterr().out
    assert main(["verify", "--json", f"--against={other}", module]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [each["code"] for each in found] == [*["parameter-missing"] * 2, "parameter-size"]
    other.write_bytes(b"IRPA")
    assert main(["verify", f"--against={other}", module]) == 1
    reason = f"the file ends before the header at byte 0 in {other}"
    assert capsys.readouterr().err == f"fnabi: {reason}\n"
    assert main(["verify", f"--against={tmp_path / 'none'}", module]) == 1
    assert "No such file" in capsys.readouterr().err
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert main(["verify", f"--against={tmp_path / 'pipe'}", module]) == 1
        reason = f"{tmp_path / 'pipe'}: a FIFO, expected a regular file"
        assert capsys.readouterr().err == f"fnabi: {reason}\n"


def test_names_with_equals_signs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first one ends the scope, which may be empty, as for the tools of IREE."""
    file = tmp_path / "a=b.irpa"
    file.write_bytes(ARCHIVE.read_bytes())
    for scopes in ([""], ["model=", "="], ["other=", ""]):
        given = [f"--against={scope}{file}" for scope in scopes]
        assert main(["verify", *given, str(MODULE)]) == 0, scopes
    capsys.readouterr()
    assert main(["verify", f"--against=={file}", str(MODULE)]) == 1
    assert "model::layer.weight" in capsys.readouterr().out


def test_the_package_of_a_format_is_missing(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="needs the package no_such, which is not installed"):
        parameters._package("no_such", tmp_path)
