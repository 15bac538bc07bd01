"""The base of generated clients; tests/stub/test_stub_module.py has generated ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from fnabi import ArgumentValueError, CallError, MissingPackageError, NotFoundError, iree_abi
from fnabi.errors import RangeError
from fnabi.run.client import Client
from fnabi.types import Buffer, DType, Named, Signature
from support.flatbuffer import String, Table, Vector, module
from support.paths import DATA

PARAMETERS = DATA / "needs" / "params_vmvx.vmfb"


class Parameterized(Client):
    SIGNATURES: ClassVar = {
        "run": Signature(
            (Named("input0", Buffer(DType("float", 32), (4,))),),
            (Named("output0", Buffer(DType("float", 32), (3,))),),
        )
    }

    def run(self, x: Any) -> Any:
        return self._call("run", x)


def called(types: list[Any], *args: Any) -> Any:
    """Call a function of some arguments, which returns nothing, without a runtime."""

    class Made(Client):
        SIGNATURES: ClassVar = {"f": iree_abi.parse(json.dumps({"a": types, "r": []}))}

    made = Made.__new__(Made)
    made._invokers = {"f": lambda *_: None}  # type: ignore[dict-item]
    return made._call("f", *args)


def test_modules_that_a_client_needs() -> None:
    rt = pytest.importorskip("iree.runtime")
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    bias = np.array([1, 2, 3], np.float32)
    scopes = {"model": rt.ParameterIndex(), "": rt.ParameterIndex()}
    scopes["model"].add_buffer("layer.weight", weight.tobytes())
    scopes["model"].add_buffer("layer.bias", bias.tobytes())
    scopes[""].add_buffer("scale", np.full(4, 2, np.float32).tobytes())
    providers = (index.create_provider(scope=scope) for scope, index in scopes.items())
    parameters = rt.create_io_parameters_module(rt.Config("local-task").vm_instance, *providers)
    x = np.array([1, 2, 3, 4], np.float32)
    model = Parameterized(PARAMETERS, modules=[parameters])
    assert model.run(x).tolist() == (weight @ (2 * x) + bias).tolist()
    with pytest.raises(ArgumentValueError, match="required module 'io_parameters' not registered"):
        Parameterized(PARAMETERS)


@pytest.mark.parametrize(
    ("driver", "modules", "reason"),
    [
        ("nothing", (), "driver: No device found from list"),
        ("cuda", (), r"driver: .*libcuda\.so"),
        (5, (), "driver: expected str, got int"),
        (None, 5, "modules: expected .*, got int"),
        (None, [5], r"modules\[0\]: expected VmModule, got int"),
    ],
)
def test_what_the_runtime_refuses(driver: Any, modules: Any, reason: str) -> None:
    pytest.importorskip("iree.runtime")
    with pytest.raises(CallError, match=rf"^client\.Client: {reason}"):
        Parameterized(PARAMETERS, driver, modules)


def test_a_module_that_the_runtime_refuses() -> None:
    pytest.importorskip("iree.runtime")
    path = DATA / "vmfb" / "vm_sigs@2.9.0.vmfb"
    made = type("Made", (Client,), {"SIGNATURES": {}})
    with pytest.raises(ArgumentValueError, match=r"^Made: .*bytecode version mismatch"):
        made(path)


def test_the_runtime_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "iree.runtime", None)
    with pytest.raises(MissingPackageError, match=r"^client\.Client: iree\.runtime is not"):
        Parameterized(PARAMETERS)


def test_a_module_without_a_function_of_the_client() -> None:
    made = type("Made", (Client,), {"SIGNATURES": {"gone": Signature((), ())}})
    with pytest.raises(NotFoundError, match=r"^Made: .*: no function is named 'gone'$") as caught:
        made(PARAMETERS)
    assert not isinstance(caught.value, CallError)
    assert "NotFoundError: If the module lacks a function" in str(Client.__doc__)


def test_a_module_whose_signature_is_malformed(tmp_path: Path) -> None:
    attributes = Vector([Table({0: String(b"iree.abi"), 1: String(b'{"a":["i3')})])
    function = {
        7: Vector([Table({0: String(b"run"), 1: bytes(4)})]),
        8: Vector([Table({0: String(b"0r_r"), 1: attributes})]),
    }
    path = tmp_path / "module.vmfb"
    path.write_bytes(module(Table({0: String(b"m")} | function)))
    with pytest.raises(CallError, match=r": run: expected the signature .*, got a malformed one;"):
        Parameterized(path)


def test_homogeneous_lists() -> None:
    types = [["py_homogeneous_list", "i32"]]
    for good in ([], [1, 2, 3], (4,)):
        assert called(types, good) is None
    with pytest.raises(CallError, match=r"^Made\.f: argument 0: \[2\]: expected i32, got str$"):
        called(types, [1, 2, "3"])


def test_arrays_of_any_rank() -> None:
    types = [["ndarray", "f32", None]]
    for shape in ((), (0,), (2, 3)):
        assert called(types, np.zeros(shape, np.float32)) is None
    with pytest.raises(CallError, match=r"expected float32.*, got int64"):
        called(types, np.zeros(2, np.int64))


def test_arrays_of_indexes() -> None:
    """They are int64, as in the runtime."""

    class Made(Client):
        SIGNATURES: ClassVar = {"f": Signature((Buffer(DType("index"), (None,)),), ())}

    made = Made.__new__(Made)
    made._invokers = {"f": lambda *_: None}  # type: ignore[dict-item]
    assert made._call("f", np.zeros(2, np.int64)) is None
    for other in (np.uint64, np.int32, np.float64):
        with pytest.raises(CallError, match=r"expected index\[\?\], got "):
            made._call("f", np.zeros(2, other))


def test_bools() -> None:
    for good in (True, 1, np.True_, np.int8(1)):
        assert called(["i1"], good) is None
    with pytest.raises(CallError, match=r"argument 0: expected bool, got float$"):
        called(["i1"], 1.0)
    with pytest.raises(CallError, match="argument 0: expected i32, got bool"):
        called(["i32"], np.True_)


def test_numbers_that_do_not_fit() -> None:
    for type, value in (("i8", 300), ("i1", 2), ("f16", 1e6), ("f64", 10**400)):
        with pytest.raises(RangeError, match=r"^Made\.f: argument 'x': .* does not fit in "):
            called([["named", "x", type]], value)
    with pytest.raises(CallError, match="argument 0: expected float64, got str"):
        called(["f64"], "1")
