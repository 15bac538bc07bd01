"""How a function is shown: its call in words, and its view for notebooks."""

from __future__ import annotations

from fnabi._base.lane import Function


def call_text(function: Function) -> str:
    """Return how a function is called, or "" if it says nothing of it."""
    signature = getattr(function, "__signature__", None)
    if signature is None and function.names:
        return f"({', '.join(function.names)})"
    return "" if signature is None else str(signature)


def first_line(function: Function) -> str:
    """Return the first line of what a library says of a function, not of what a Function is."""
    return str(vars(function).get("__doc__") or "").split("\n")[0]


def function_view(function: Function) -> str:
    """Return the view of a function for notebooks."""
    from fnabi._base.notebook import code, escaped, fact_table, title

    facts = (
        ("signature", code(call_text(function)) if call_text(function) else ""),
        ("type", code(function.schema) if function.schema else ""),
        ("about", escaped(first_line(function))),
    )
    return title(function) + fact_table((name, value) for name, value in facts if value)
