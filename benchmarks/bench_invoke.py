"""Calls of compiled modules: fnabi's invokers beside the runtime's own, in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

runtime = pytest.importorskip("iree.runtime")

from iree.runtime.function import FunctionInvoker as Theirs  # noqa: E402

from fnabi.dropin.iree_runtime import FunctionInvoker  # noqa: E402
from fnabi.run.invoke import Invoker  # noqa: E402

MODULE = Path(__file__).parents[1] / "examples" / "releases" / "1.0" / "project.vmfb"
INVOKERS: dict[str, Callable[..., Any]] = {
    "fnabi, drop-in": FunctionInvoker,
    "fnabi, Invoker": Invoker,
    "iree.runtime": Theirs,
}
ARRAYS = np.ones((2, 6), np.float32), np.full((6, 3), 0.5, np.float32)


@pytest.mark.parametrize("who", INVOKERS)
@pytest.mark.parametrize("kind", ["NumPy", "device"])
def test_call(benchmark: BenchmarkFixture, kind: str, who: str) -> None:
    """A call of a small function; fnabi's `Invoker` also copies the result to the host."""
    config = runtime.Config("local-sync")
    module = runtime.VmModule.copy_buffer(config.vm_instance, MODULE.read_bytes())
    context = runtime.SystemContext(config=config)
    context.add_vm_module(module)
    call = INVOKERS[who](context.vm_context, config.device, module.lookup_function("main"))
    arrays = ARRAYS
    if kind == "device":
        arrays = tuple(runtime.asdevicearray(config.device, each) for each in ARRAYS)
    assert np.asarray(call(*arrays)).tolist() == [[3.0] * 3] * 2
    benchmark.group = f"a call with two {kind} arrays"
    benchmark(call, *arrays)
