"""The formats of tables as files, by the names of these."""

from __future__ import annotations

import os

from fnabi._base.text import did_you_mean

FORMATS = (".parquet", ".arrow", ".jsonl", ".csv")
"""The extensions of file names."""

PACKED = (".gz", ".zst")
"""What may follow the extension of a text: it is compressed by gzip or Zstandard."""

_TEXTS = (".jsonl", ".csv")


def format_of(path: str, format: str | None = None) -> tuple[str, str]:
    """Return the format of an output, and its compression: one of `PACKED`, or nothing.

    Args:
        path: The file's name.
        format: One of `FORMATS`, or None for the extension of the name.

    Raises:
        ValueError: when the name has another extension, or the format is not compressed.

    """
    packed = next((each for each in PACKED if path.endswith(each)), "")
    name = path.removesuffix(packed)
    if format is None:
        format = next((each for each in FORMATS if name.endswith(each)), None)
    if format is None:
        hint = did_you_mean(os.path.splitext(name)[1], FORMATS)
        raise ValueError(f"an unknown extension, expected {', '.join(FORMATS)}{hint}")
    if packed and format not in _TEXTS:
        raise ValueError(f"{format}{packed}, expected {packed} only after {' or '.join(_TEXTS)}")
    return format, packed
