"""Text of any origin, escaped so that it can be shown."""

from __future__ import annotations

__all__ = ["one_line", "plain"]


def plain(text: str) -> str:
    """Return a text with unprintable characters escaped, except newlines."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def one_line(text: str) -> str:
    """Return a text with unprintable characters and newlines escaped."""
    return plain(text).replace("\n", "\\n")


def _escape(character: str) -> str:
    byte = ord(character) - 0xDC00  # of a surrogate escape
    return f"\\x{byte:02x}" if 128 <= byte < 256 else ascii(character)[1:-1]
