"""``python -m tools NAME``: run one of the commands of this folder."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

NAMES = sorted(path.stem.replace("_", "-") for path in Path(__file__).parent.glob("[!_]*.py"))


def main() -> int:
    """Run the command that the first argument names, with the other arguments."""
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        print(f"usage: python -m tools {{{','.join(NAMES)}}}", file=sys.stderr)
        return 2
    name = sys.argv.pop(1)
    sys.argv[0] = f"python -m tools {name}"
    status: int = import_module(f"tools.{name.replace('-', '_')}").main()
    return status


if __name__ == "__main__":
    sys.exit(main())
