"""``fnabi --version``: what is installed."""

from __future__ import annotations

from fnabi import __version__


def show_versions() -> None:
    print(f"fnabi {__version__}")
