"""Row groups of Parquet files that are encoded apart, and their footers."""

from __future__ import annotations

import threading
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi.many._table import TableFile, _footer
from fnabi.many._table import _write as table_write

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("abi", ["raw", "sip", "iree.abi"])
@pytest.mark.parametrize("rows", [0, 1, 4, 5, 23])
def test_groups_encoded_apart_are_those_of_one_writer(
    abi: Any, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_write, "_GROUP", 4)
    text = {
        "raw": b"I8!B4!d1d2R1!",
        "sip": b"I4!S3!k0_0R1!_0",
        "iree.abi": b'{"v":1,"a":["f32"],"r":[["i64"]]}',
    }[abi]
    columns = fnabi.decode_columns([text, b"?"] * (rows // 2) + [text] * (rows % 2), abi)
    with TableFile(str(tmp_path / "out.parquet"), columns, "f") as file:
        file.write(columns)
    table = pyarrow.table(columns)
    size = -(-rows // max(-(-rows // 4), 1)) or 1
    one = tmp_path / "one.parquet"
    with parquet.ParquetWriter(one, table.schema, compression="zstd") as writer:
        for start in range(0, rows, size):
            writer.write_table(table.slice(start, size))
    assert (tmp_path / "out.parquet").read_bytes() == one.read_bytes()


def test_a_footer_moves_by_more_than_32_bits() -> None:
    rows = [{"number": 1.5, "is": True, "texts": ["a", None]}, {"number": None, "is": False}]
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
    _, footer = _footer.split(sink.getvalue())
    distance = (5 << 32) + 3

    def read(footer: bytes) -> Any:
        return parquet.read_metadata(BytesIO(_footer.MAGIC + _footer.tail(footer))).to_dict()

    expected = read(footer)
    del expected["serialized_size"]
    for column in expected["row_groups"][0]["columns"]:
        for name in ("data_page_offset", "dictionary_page_offset", "file_offset"):
            column[name] = column[name] and column[name] + distance
    found = read(_footer.moved(footer, distance))
    del found["serialized_size"]
    assert found == expected
    assert _footer.moved(footer, 0) == footer


def test_a_failed_write_leaves_no_thread(tmp_path: Path) -> None:
    columns = fnabi.decode_columns([b"I4!B0!R0!"], "raw")

    def write() -> None:
        with TableFile(str(tmp_path / "out.parquet"), columns, "f") as file:
            file.write(columns)
            raise KeyError

    with pytest.raises(KeyError):
        write()
    assert not (tmp_path / "out.parquet").exists()
    assert not [each for each in threading.enumerate() if each.name.startswith("fnabi-table")]
