"""Makes each few lines that are decoded a part, in a process that imports this."""

from __future__ import annotations

from fnabi.cli.verbs.decode import _table
from fnabi.many._table import _parts

_parts.SECONDS = 0
_table._BATCH_BYTES = 1 << 9
