"""Check an installed package on the machine that it is installed on: no pytest, no extras.

`.ci/run wheel` and cibuildwheel run it with the wheels that they build.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import fnabi
from fnabi._base import files

MODULE = Path(__file__).parent / "data" / "bytecode_types" / "torch_dtypes@3.13.0@llvm-cpu.vmfb"
SIGNATURE = b"I15!B11!d10d128d64R1!"
TEXT = "(Buffer<float32[10x128x64]>) -> ()"


def main() -> None:
    assert fnabi.raw.to_string(SIGNATURE) == TEXT
    assert (
        str(fnabi.types.Signature.parse("(float32[?x4]) -> (int32)")) == "(float32[?x4]) -> (int32)"
    )

    rows = [SIGNATURE] * 1000  # through the decoder for this processor
    columns = fnabi.decode_columns(rows, abi="raw")
    assert len(columns) == 1000
    assert columns[999] == fnabi.raw.parse(SIGNATURE)

    module = fnabi.vmfb.open(MODULE)
    assert [export.signature for export in module.exports.values()]
    assert len(list(fnabi.vmfb.scan([MODULE]).rows())) == len(module.exports)

    function = fnabi.Function(lambda x: x + 1)
    assert function(41) == 42
    assert fnabi.Any("text").value == "text"

    assert files.read_or_map(Path(__file__))[0]
    print(platform.platform(), sys.version.split()[0], fnabi.raw.to_string(SIGNATURE))


if __name__ == "__main__":
    main()
