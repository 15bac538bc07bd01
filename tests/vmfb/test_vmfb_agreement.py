"""Signatures held against calling conventions."""

from __future__ import annotations

import pytest

from fnabi.types import DType, Named, Scalar, Signature
from fnabi.vmfb._agreement import disagreements


@pytest.mark.parametrize("kind", ["float", "bfloat"])
@pytest.mark.parametrize(("register", "agree"), [("i", True), ("f", True), ("I", False)])
def test_half_floats_travel_as_f32_or_as_bits(kind: str, register: str, agree: bool) -> None:
    """As f32 in what compilers up to 3.10 wrote, in an i32 since."""
    half = Scalar(DType(kind, 16))  # type: ignore[arg-type]
    signature = Signature((Named("x", half),), (half,))
    found = list(disagreements(signature, "iree.abi", f"0{register}_{register}", False))
    assert (found == []) == agree


@pytest.mark.parametrize(("count", "shown"), [(97, "i" * 97 + "_v"), (98, "i" * 98 + "_...")])
def test_long_conventions_are_cut(count: int, shown: str) -> None:
    signature = Signature((Scalar(DType("float", 32)),) * count, ())
    found = list(disagreements(signature, "iree.abi", f"0{'i' * count}_v", False))
    assert len(found) == count
    assert found[0] == f"inputs[0]: float32 in iree.abi, i32 in the calling convention 0{shown}"
