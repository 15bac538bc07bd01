"""Provoke failures of the runtime that is installed beside this Python: JSON lines in and out.

``tools/failures.py`` runs this file with the Python of each release, so it imports nothing but the
standard library, NumPy and ``iree.runtime``, and uses what all releases since 2023 have.
"""

from __future__ import annotations

import base64
import ctypes
import json
import sys
import traceback
import warnings
from typing import Any

import iree.runtime
import numpy
from iree.runtime import _binding

INSTANCE = _binding.VmInstance()


def read(request: dict[str, Any]) -> Any:
    """Return the module of a request, from its bytes or, with `mmap`, from a file."""
    if "mmap" in request:
        return _binding.VmModule.mmap(INSTANCE, request["mmap"])
    data = base64.b64decode(request["module"])
    copy = getattr(_binding.VmModule, "copy_buffer", _binding.VmModule.from_flatbuffer)
    return copy(INSTANCE, data)


def host(request: dict[str, Any], name: str, device: Any) -> Any:
    """Return a system module."""
    if name == "hal":
        return _binding.create_hal_module(INSTANCE, device)
    index = iree.runtime.ParameterIndex()
    for key in request.get("keys", ()):
        index.add_splat(key, numpy.float32(1), 4)
    provider = index.create_provider(request.get("scope", "scope"))
    return _binding.create_io_parameters_module(INSTANCE, provider)


def value(description: Any) -> Any:
    """Return an argument: a list of dtype and shape is an array; what else there is, itself."""
    if isinstance(description, list):
        return numpy.ones(description[1], description[0])
    return description


def load(request: dict[str, Any]) -> None:
    """Load a module beside system modules; call the function that is named, with arguments."""
    device = iree.runtime.get_device(request.get("driver", "local-sync"))
    module = read(request)
    if "hosts" not in request:
        return
    systems = [host(request, name, device) for name in request["hosts"]]
    context = _binding.VmContext(INSTANCE, [*systems, module])
    if "call" in request:
        function = module.lookup_function(request["call"])
        if request.get("plain"):
            lists = [_binding.VmVariantList(0), _binding.VmVariantList(0)]
            for each in request["arguments"]:
                lists[0].push_int(each)
            context.invoke(function, *lists)
            return
        try:
            invoke = iree.runtime.FunctionInvoker(context, device, function)
        except TypeError:  # it had one more argument in 2023
            invoke = iree.runtime.FunctionInvoker(context, device, function, None)
        found = invoke(*map(value, request["arguments"]))
        for each in found if isinstance(found, (list, tuple)) else [found]:
            if hasattr(each, "to_host"):
                each.to_host()


def driver(request: dict[str, Any]) -> None:
    """Open a device by its URI."""
    iree.runtime.get_device(request["uri"])


def devices(request: dict[str, Any]) -> None:
    """Open the first of some devices that can be opened."""
    iree.runtime.system_setup.get_first_device(request["uris"])


def view(request: dict[str, Any]) -> None:
    """Read a module in place that begins at an odd address."""
    data = base64.b64decode(request["module"])
    memory = ctypes.create_string_buffer(len(data) + 129)
    odd = 1 + -ctypes.addressof(memory) % 64
    memory[odd : odd + len(data)] = data
    _binding.VmModule.wrap_buffer(INSTANCE, memoryview(memory)[odd : odd + len(data)])


VERBS = {"load": load, "driver": driver, "devices": devices, "view": view}


def main() -> None:
    """Answer each request with what was raised, as Python shows it, or with null."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        request = json.loads(line)
        answer = None
        try:
            VERBS[request["verb"]](request)
        except Exception as error:
            answer = "".join(traceback.format_exception_only(type(error), error))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
