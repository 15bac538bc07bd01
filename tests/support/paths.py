"""Where things are in a checkout."""

from pathlib import Path

__all__ = ["DATA", "RELEASES", "ROOT", "TESTS"]

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
DATA = TESTS / "data"
RELEASES = ROOT / "examples" / "releases"
