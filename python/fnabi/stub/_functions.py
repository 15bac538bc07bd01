"""Generated Python functions that call functions of a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fnabi._base.lane import Function
from fnabi._base.names import Names
from fnabi.calls import schema
from fnabi.stub._code import docstring, function
from fnabi.stub._hints import RESERVED, ModuleSpelling


class Parameters(NamedTuple):
    """The parameters of a generated function, and the expressions that pass them on."""

    declared: list[str]
    passed: list[str]
    names: Names


def parameters(
    described: schema.Schema | None,
    names: Sequence[str] | None,
    spelling: ModuleSpelling,
    skip: int = 0,
    taken: Sequence[str] = (),
) -> Parameters:
    """Return the parameters of a function.

    Args:
        described: The type of the function, or None if it is unknown.
        names: The names of the parameters; without them they are positional, or ``*args`` if
            their number is unknown.
        spelling: How their types are spelled.
        skip: The number of parameters that are left out, 1 for the object of a method.
        taken: Names that no parameter may have.

    """
    params = described.params if isinstance(described, schema.FunctionSchema) else None
    if params is not None:
        params = params[skip:]
    if names is not None and params is not None and len(names) != len(params):
        names = None
    if params is None and names is None:
        return Parameters(["*args: Any"], ["*args"], Names(["args"], reserved=RESERVED))
    if params is None:
        hints = ["Any"] * len(names or ())
    else:
        hints = [spelling.hint(each, False) for each in params]
    given = [f"arg{index}" for index in range(len(hints))] if names is None else names
    scope = Names(taken, reserved=RESERVED, expected=given)
    made = [scope.add(name, "arg") for name in given]
    declared = [f"{name}: {hint}" for name, hint in zip(made, hints, strict=True)]
    if names is None and declared:
        declared.append("/")
    return Parameters(declared, made, scope)


def result_hint(described: schema.Schema | None, spelling: ModuleSpelling) -> str:
    if isinstance(described, schema.FunctionSchema):
        return spelling.hint(described.result, True)
    return "Any"


def own_text(function: Function, name: str) -> str:
    """Return an attribute of a function that is a text, and not that of its class."""
    found = function.__dict__.get(name)
    return found if isinstance(found, str) else ""


def thin_function(
    name: str,
    target: str | None,
    called: str,
    function_: Function,
    spelling: ModuleSpelling,
) -> list[str]:
    """Return the lines of a function that calls a function of a library.

    Args:
        name: Its name, an identifier.
        target: The variable with the `Function` to call, or None for an interface.
        called: The function's name in the library, for the docstring.
        function_: The function itself.
        spelling: How types are spelled.

    """
    described = function_.schema
    taken = [] if target is None else [target]
    found = parameters(described, function_.names, spelling, taken=taken)
    result = result_hint(described, spelling)
    call = f"{target}({', '.join(found.passed)})"
    if target is None:
        body = []
    elif result == "None":
        body = [call]
    elif result == "Any":
        body = [f"return {call}"]
    else:
        variable = found.names.add("result")
        body = [f"{variable}: {result} = {call}", f"return {variable}"]
    about = f"``{called}`` of the library: {'types unknown' if described is None else described}"
    doc = docstring(own_text(function_, "__doc__"), f"{about}.")
    return function(name, found.declared, result, body, doc)
