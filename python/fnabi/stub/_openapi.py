"""Generate an OpenAPI document with an operation for each function of a module.

A function ``f`` is ``POST /functions/f``, whose request body has the inputs and whose response has
the results, both in JSON as `_json_schema` describes it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any
from urllib.parse import quote

from fnabi.stub._code import Stub
from fnabi.stub._interface import read
from fnabi.stub._json_schema import Definitions, comment
from fnabi.vmfb import Module

__all__ = ["openapi"]


def openapi(
    module: Module,
    path: str,
    *,
    output: str | None = None,
    only: Collection[str] | None = None,
) -> Stub:
    """Generate an OpenAPI 3.1 document.

    Args:
        module: The open module.
        path: The path of its file.
        output: Not used: the document does not refer to the file.
        only: The names of the functions to generate for; all without it.

    """
    interface = read(module, path, only)
    notices = list(interface.omitted)
    definitions = Definitions("#/components/schemas/")
    paths: dict[str, Any] = {}
    for entry in interface.entries:
        name = quote(entry.export.name, safe="", errors="surrogateescape")
        paths[f"/functions/{name}"] = {
            "post": {
                "operationId": entry.identifier,
                "summary": entry.export.name,
                "description": entry.title,
                "requestBody": {
                    "required": True,
                    "content": _json(definitions.values(entry, entry.inputs, notices)),
                },
                "responses": {
                    "200": {
                        "description": "The results",
                        "content": _json(definitions.values(entry, entry.results, notices)),
                    }
                },
            }
        }
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": interface.name,
            "version": str(module.version),
            "description": comment(interface.file, notices, interface.internal),
        },
        "paths": paths,
        "components": {"schemas": definitions.found},
    }
    return Stub(json.dumps(document, indent=2) + "\n", tuple(notices))


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
