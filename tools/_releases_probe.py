"""Ask the runtime that is installed beside this Python: a line of JSON in, a line of JSON out.

``tools/releases.py`` runs this file with the Python of each release, so it imports nothing but the
standard library and ``iree.runtime``, and uses what all releases since 2023 have.
"""

from __future__ import annotations

import base64
import json
import sys
import warnings
from typing import Any

import iree.runtime
from iree.runtime import _binding

INSTANCE = _binding.VmInstance()
DEVICES: dict[str, Any] = {}


def device(driver: str) -> Any:
    """Return the device of a driver, made once."""
    if driver not in DEVICES:
        DEVICES[driver] = iree.runtime.get_device(driver)
    return DEVICES[driver]


def host(name: str, driver: str) -> Any:
    """Return a new system module, as a program makes it that registers it."""
    if name == "hal":
        return _binding.create_hal_module(INSTANCE, device(driver))
    if name == "io_parameters":
        provider = iree.runtime.ParameterIndex().create_provider("scope")
        return _binding.create_io_parameters_module(INSTANCE, provider)
    raise ValueError(f"no way to register {name}")


def about() -> dict[str, Any]:
    """Return what the package says about itself."""
    systems = [n[7:-7] for n in dir(_binding) if n.startswith("create_") and n.endswith("_module")]
    return {"drivers": sorted(iree.runtime.query_available_drivers()), "modules": sorted(systems)}


def names(request: dict[str, Any]) -> list[str]:
    """Return the functions that a system module lists."""
    return sorted(host(request["host"], request["driver"]).function_names)


def load(request: dict[str, Any]) -> None:
    """Load a module beside system modules; then call the function of no arguments that is named."""
    data = base64.b64decode(request["module"])
    read = getattr(_binding.VmModule, "copy_buffer", _binding.VmModule.from_flatbuffer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = read(INSTANCE, data)
    if "hosts" not in request:
        return
    systems = [host(name, request["driver"]) for name in request["hosts"]]
    context = _binding.VmContext(INSTANCE, [*systems, module])
    if "call" in request:
        lists = _binding.VmVariantList(0), _binding.VmVariantList(1)
        context.invoke(module.lookup_function(request["call"]), *lists)


VERBS = {"about": lambda request: about(), "names": names, "load": load}


def main() -> None:
    """Answer each request with its result, or with the message of what was raised."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": VERBS[request["verb"]](request)}
        except Exception as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
