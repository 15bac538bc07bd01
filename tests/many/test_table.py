"""Tables from hostile files: long lines, bombs, and damage, through ``fnabi decode --column``."""

from __future__ import annotations

import csv
import gzip
import io
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fnabi.cli import main
from fnabi.many._table import _read as table_read

pytest.importorskip("pyarrow")

GOOD = "I11!B8!d-1d200R4!S1!"

LIMITED = """
import resource, sys
from fnabi.cli import main
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    status = main(sys.argv[1:])
except SystemExit as end:
    status = end.code
with open("/proc/self/status") as lines:  # unlike ru_maxrss, not that of the parent
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
sys.exit(status)
"""

measured = pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux does")


def run(folder: Path, *argv: str | Path) -> tuple[int, str, int]:
    """Run the command with 4 GiB of memory: its status, its errors, and its peak in KiB."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, argv)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2), done.stderr
    return done.returncode, done.stderr, int(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("form", "line"), [("csv", b"name\n" + b"f\n" * 9999), ("json", b'{"name": "f"}\n' * 9999)]
)
def test_threads_that_outlive_the_interpreter_have_no_object_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, line: bytes
) -> None:
    """A thread of pyarrow may let go of a text last: the process is aborted if Python made it."""
    pyarrow, module = pytest.importorskip("pyarrow"), pytest.importorskip(f"pyarrow.{form}")
    reading, sizes = getattr(module, f"read_{form}"), []

    def read(file: Any, *args: Any, **options: Any) -> Any:
        sizes.append(pyarrow.total_allocated_bytes() - before)
        return reading(file, *args, **options)

    monkeypatch.setattr(module, f"read_{form}", read)
    path = tmp_path / "in"
    path.write_bytes(line)
    with path.open("rb") as file:
        before = pyarrow.total_allocated_bytes()
        table = table_read.open_table(table_read.Source(file, "in", "test"))
        assert sum(batch.num_rows for batch in table.batches) == 9999
    assert min(sizes) >= 9999 * 2


# ------------------------------------------------------------------------------------ long lines


@measured
@pytest.mark.unsanitized("a sanitizer keeps what is freed")
@pytest.mark.parametrize(
    ("head", "options"),
    [
        (b"", []),
        (b"", ["-o", "o.parquet"]),
        (b'{"sig":"', ["--column=sig", "-o", "o.parquet"]),
        (b'{"sig":"x"}\n{"sig":"', ["--column=sig", "-o", "o.parquet"]),
        (b"sig\n", ["--column=sig", "-o", "o.parquet"]),
        (b"sig,", ["--column=sig", "-o", "o.parquet"]),
        (b'"sig\n', ["--column=sig", "-o", "o.parquet"]),
    ],
)
def test_a_line_of_gigabytes(tmp_path: Path, head: bytes, options: list[str]) -> None:
    """A small file may be one line that memory has no room for."""
    member = gzip.compress(b"x" * (1 << 24), 1)
    (tmp_path / "in.gz").write_bytes(gzip.compress(head) + member * 128)
    status, problem, peak = run(tmp_path, "decode", "--input=in.gz", *options)
    assert status == 1
    begin = head.rfind(b"\n") + 1 if head[:1] != b'"' else 0
    assert problem == (
        f"fnabi: in.gz: line too long at byte {begin}, expected at most 67108864 bytes"
        " (--max-line=BYTES allows more)\n"
    )
    assert peak < 600_000
    assert os.listdir(tmp_path) == ["in.gz"]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 50, 1 << 22])
def test_rows_of_csv_wherever_blocks_end(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines in quotes, quotes in quotes, both ends of lines, and a last line without one."""
    monkeypatch.setattr(table_read, "_BLOCK", block)
    cells = ["", "a", "b\nc", '"', '""\r\n"', "\n", ",", '\n"\n', "x" * 60]
    rng = random.Random(block)
    for end in ("\n", "\r\n"):
        for _ in range(20):
            rows = [[rng.choice(cells) or "-", rng.choice(cells)] for _ in range(rng.randrange(9))]
            text = io.StringIO(newline="")
            writer = csv.writer(text, lineterminator=end)
            writer.writerows([["a\nb", "sig"], *rows])
            (tmp_path / "in").write_bytes(text.getvalue()[: rng.choice([None, -len(end)])].encode())
            with open(tmp_path / "in", "rb") as file:
                table = table_read.open_table(table_read.Source(file, "in", "test"))
                found = [list(row.values()) for each in table.batches for row in each.to_pylist()]
            assert table.schema.names == ["a\nb", "sig"]
            assert [["" if cell is None else cell for cell in row] for row in found] == rows


@pytest.mark.parametrize("output", [None, "o.jsonl"])
def test_the_longest_line(
    tmp_path: Path, output: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(f"{GOOD}\n{GOOD}{GOOD[:1]}\r\n{GOOD}".encode())
    options = [] if output is None else ["-o", str(tmp_path / output)]
    for most in (1, len(GOOD), len(GOOD) + 1, "1KiB", "2 k", "1g"):
        assert main(["decode", f"--max-line={most}", f"--input={lines}", *options]) == 1
        problem = capsys.readouterr().err
        if most in (1, len(GOOD)):
            begin = 0 if most == 1 else len(GOOD) + 1
            assert f"lines: line too long at byte {begin}, expected at most {most} b" in problem
        else:
            assert problem.startswith("fnabi: line 2: component not allowed here")
    for most in ("0", "-1", "x", "1.5", "", "9" * 30):
        with pytest.raises(SystemExit) as ended:
            main(["decode", f"--max-line={most}", f"--input={lines}", *options])
        assert ended.value.code == 2
        assert "--max-line: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ['"sig",x\n', '{"sig":"I1!R1!"}\n', '{"sig":"I1!R1!"}\r\n{"sig":"I1!R1!"}']
)
def test_the_longest_line_of_a_table(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_bytes(text.encode())
    longest = max(map(len, text.splitlines()))
    out = str(tmp_path / "o.jsonl")
    for most, status in ((longest, 0), (longest - 1, 1)):
        argv = ["decode", "--column=sig", f"--max-line={most}", str(tmp_path / "in"), "-o", out]
        assert main(argv) == status
    assert f"line too long at byte 0, expected at most {longest - 1}" in capsys.readouterr().err
