"""Types that bytecode proves, over modules whose sources state them."""

from __future__ import annotations

import json
import pickle
import re
import struct
from pathlib import Path
from typing import Any

import msgspec
import numpy
import pytest

from fnabi import bytecode, compat, vmfb
from fnabi.abi.iree_abi import Signature
from fnabi.compat._caller import Callee, Value
from fnabi.errors import CallError, FormatError
from fnabi.types import Buffer, DType, Ref, Scalar, Type
from fnabi.vmfb._infer import Alias, Difference, Fences, Proofs, contradictions, symbol_name
from support import flatbuffer
from support.bytecode_template import REF, Part, assemble, call
from support.paths import DATA, ROOT
from support.sealed import sealed

FOLDER = DATA / "bytecode_types"
MODULES = sorted(FOLDER.glob("*.vmfb"))
COMPILED = [path for path in MODULES if "@" in path.name]
SOURCES: dict[str, dict[str, Any]] = json.loads((FOLDER / "types.json").read_text())
EXAMPLES = DATA / "vmfb"

each_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
each_compiled = pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)


def values(path: Path) -> list[tuple[str, str, Type | None]]:
    """Return where each tensor of the source is, its type there, and what the bytecode proves."""
    found: list[tuple[str, str, Type | None]] = []
    module = vmfb.open(path, lenient=True)
    for export in module.exports.values():
        source = SOURCES[path.name.split("@")[0]].get(export.name.removesuffix("$async"))
        if source is None:
            continue
        types = module.bytecode_types[export.ordinal]
        assert types is not None
        for side in ("inputs", "results"):
            proven = getattr(types.signature, side)
            assert len(proven) - len(source[side]) in (0, 2)  # two fences
            for index, text in enumerate(source[side]):
                if "[" in text:
                    where = f"{side}[{index}]"
                    unpinned = where in source.get("unpinned", {})
                    found.append((where, text, None if unpinned else proven[index]))
    return found


def same_dtype(text: str, dtype: DType) -> bool:
    """Compilers drop whether integers are signed."""
    return re.sub(r"^u?int(\d)", r"i\1", text) == re.sub(r"^u?int(\d)", r"i\1", str(dtype))


@each_compiled
def test_no_type_is_wrong(path: Path) -> None:
    for where, text, proven in values(path):
        if not isinstance(proven, Buffer):
            continue
        dtype, shape = text[:-1].split("[")
        dims = shape.split("x") if shape else []
        assert same_dtype(dtype, proven.dtype), (where, text, proven)
        assert proven.shape is not None
        assert len(dims) == len(proven.shape), (where, text, proven)
        for dim, found in zip(dims, proven.shape, strict=True):
            assert dim == "?" or found in (None, int(dim)), (where, text, proven)


def test_what_is_pinned_is_stated() -> None:
    pinned = typed = 0
    for path in COMPILED:
        for _, text, proven in values(path):
            pinned += proven is not None
            dims = text[:-1].split("[")[1]
            whole = isinstance(proven, Buffer) and proven.shape is not None
            # A static dim of the source is static.
            typed += whole and dims.count("?") >= str(proven).count("?")
    assert pinned > 500
    assert typed >= 0.95 * pinned
    assert typed == pinned  # today


@each_compiled
def test_what_nothing_pins_is_untyped(path: Path) -> None:
    module = vmfb.open(path, lenient=True)
    for export in module.exports.values():
        source = SOURCES[path.name.split("@")[0]].get(export.name.removesuffix("$async"), {})
        types = module.bytecode_types[export.ordinal]
        for where in source.get("unpinned", {}):
            side, index = re.fullmatch(r"(\w+)\[(\d+)\]", where).groups()  # type: ignore[union-attr]
            assert types is not None
            assert isinstance(getattr(types.signature, side)[int(index)], Ref)


@each_module
def test_every_export_has_the_proofs_of_its_function(path: Path) -> None:
    module = vmfb.open(path, lenient=True)
    for export in module.exports.values():
        types = module.bytecode_types[export.ordinal]
        assert types is not None
        assert types == export.proofs
        if export.source == "bytecode":
            assert export.signature.inputs == types.signature.inputs
            assert export.signature.results == types.signature.results
            assert export.signature_text == str(types)
            assert export.differences == ()


def test_an_export_of_no_function_has_no_proofs() -> None:
    module = vmfb.open(ROOT / "examples" / "classifier.vmfb")
    export = module.exports["dense"]
    assert export.proofs is not None
    count = len(module.functions)
    for ordinal in (count, count + 1):
        assert msgspec.structs.replace(export, ordinal=ordinal).proofs is None


@each_module
def test_no_module_contradicts_itself(path: Path) -> None:
    module = vmfb.open(path, lenient=True)
    assert [module.contradictions(export) for export in module.exports.values()] == [()] * len(
        module.exports
    )


def test_the_modules_with_a_declaration_do_not_contradict_it() -> None:
    compared = 0
    for path in sorted(EXAMPLES.glob("*.vmfb")):
        module = vmfb.open(path, lenient=True)
        for export in module.exports.values():
            if export.source == "iree.abi.declaration":
                compared += 1
                assert module.contradictions(export) == (), (path.name, export.name)
    assert compared > 250


# ------------------------------------------------------------------------------------ torch


def text_of(name: str, function: str) -> str:
    module = vmfb.open(FOLDER / f"{name}.vmfb", lenient=True)
    export = module.exports[function]
    types = module.bytecode_types[export.ordinal]
    assert types is not None
    return str(types)


@pytest.mark.parametrize("version", ["3.0.0", "3.4.0", "3.10.0", "3.12.0", "3.13.0"])
def test_a_torch_module(version: str) -> None:
    module = vmfb.open(FOLDER / f"torch_mlp@{version}@vmvx.vmfb")
    main, asynchronous = module.exports["main"], module.exports["main$async"]
    assert main.source == asynchronous.source == "bytecode"
    assert str(main.signature) == "(float32[?x4]) -> (float32[?x2])"
    assert main.proofs is not None
    assert str(main.proofs) == "(float32[Ax4]) -> (float32[Ax2])"
    assert main.proofs.fences == Fences(None, None)
    assert not main.is_async
    fence = Ref("!hal.fence")
    assert asynchronous.signature.inputs == (*main.signature.inputs, fence, fence)
    assert asynchronous.proofs is not None
    assert asynchronous.proofs.fences == Fences(1, 2)
    assert asynchronous.is_async
    assert main.disagreements == asynchronous.disagreements == ()


@pytest.mark.parametrize("version", ["3.4.0", "3.10.0", "3.13.0"])
def test_functions_that_keep_state_are_asynchronous(version: str) -> None:
    # They also wait for the fence that they signal, or store it for the next call.
    path = FOLDER / f"torch_state@{version}@vmvx.vmfb"
    exports = vmfb.open(path).exports
    assert len(exports) == 11
    for export in exports.values():
        assert export.is_async == export.name.endswith("$async"), export.name
        if export.is_async:
            assert export.proofs is not None
            assert export.proofs.fences.signal == len(export.signature.inputs) - 1
    assert exports["both$async"].proofs is not None
    assert exports["both$async"].proofs.fences == Fences(1, 2)
    rows = {row.function: row.is_async for row in vmfb.scan([path]).rows()}
    assert rows == {name: export.is_async for name, export in exports.items()}


VIEWS = {
    "static": "(float32[4x3]) -> (float32[4x3])",
    "dynamic": "(i32[Ax3]) -> (i32[Ax3])",
    "rank0": "(i64[]) -> (i64[])",
    "unsigned": "(uint8[4]) -> (uint8[4])",
    "pass": "(ref<?>) -> (ref<?>)",
    "buffer": "(ref<!hal.buffer>) -> (float32[5x7])",
    "storage": "(float32[64x3], ref<!hal.buffer>) -> (float32[64x3])",
}
INPUTS = {
    "static": ["4x3xf32"],
    "dynamic": ["4x3xi32"],
    "rank0": ["i64=0"],
    "unsigned": ["4xui8"],
    "pass": ["4xf32"],
    "buffer": ["'&140xi8'"],
    "storage": ["64x3xf32", "'&768xi8'"],
}


@pytest.mark.parametrize("version", ["3.4.0", "3.10.0", "3.13.0"])
def test_declared_functions_have_proofs(version: str) -> None:
    exports = vmfb.open(FOLDER / f"declared_views@{version}@vmvx.vmfb").exports
    for name, text in VIEWS.items():
        export = exports[name]
        assert export.source == "iree.abi.declaration"
        assert export.signature_text == str(export.signature)
        declared = export.signature.without_names().inputs
        assert {*declared} <= {Ref("!hal.buffer_view"), Ref("!hal.buffer")}
        assert str(export.proofs) == text
        assert export.runner_inputs() == [f"--input={each}" for each in INPUTS[name]]
    made_up = ["input 0: shape and type are not known, one dim of float32 is an example"]
    assert {name: exports[name].unknown_shapes for name in VIEWS if name != "pass"} == {
        name: [] for name in VIEWS if name != "pass"
    }
    assert exports["pass"].unknown_shapes == made_up
    (array,) = exports["dynamic"].example_arrays(2)
    assert (array.shape, array.dtype) == ((2, 3), numpy.int32)
    assert exports["buffer"].proofs is not None
    assert exports["buffer"].proofs.lengths == (140,)


def test_where_the_bytecode_says_more_than_a_declaration() -> None:
    exports = vmfb.open(FOLDER / "declared_views@3.13.0@vmvx.vmfb").exports
    view = Ref("!hal.buffer_view")
    both = Buffer(I32, (None, 3))
    assert exports["dynamic"].differences == (
        Difference("inputs", 0, view, both, "i32[Ax3]", False),
        Difference("results", 0, view, both, "i32[Ax3]", False),
    )
    fixed = exports["fixed"]
    assert str(fixed.signature) == "(input0: float32[?x3]) -> (output0: float32[2x3])"
    (difference,) = fixed.differences
    assert (difference.side, difference.text) == ("inputs", "float32[2x3]")
    assert fixed.runner_inputs() == ["--input=2x3xf32"]
    assert exports["pass"].differences == exports["buffer"].differences == ()


def test_an_asserted_size_that_the_declared_type_has() -> None:
    """The storage of a result is declared, and the code asserts no more than its bytes."""
    path = FOLDER / "func_abi@3.13.0@vmvx.vmfb"
    export = vmfb.open(path).exports["output"]
    assert str(export.proofs) == "(float32[4], ref<!hal.buffer_view>) -> (float32[4])"
    assert export.proofs is not None
    assert export.proofs.lengths == (None, 16)
    assert export.runner_inputs() == ["--input=4xf32"] * 2
    array, storage = export.example_arrays()
    assert (storage.shape, storage.dtype) == ((4,), numpy.float32)
    callee = Callee(export)
    given = Value(DType("float32"), (4,))
    assert callee.answer([given, given]).verdict == "accepted"
    assert callee.answer([given, Value(DType("float32"), (2,))]).verdict == "unknown"
    rt = pytest.importorskip("iree.runtime")
    config = rt.Config("local-sync")
    loaded = rt.load_vm_module(rt.VmModule.mmap(config.vm_instance, str(path)), config)
    array += 1.5
    assert loaded.output(array, storage).to_host().tolist() == [3.0] * 4


def test_proofs_are_read_when_they_are_needed() -> None:
    path = FOLDER / "declared_views@3.13.0@vmvx.vmfb"
    with vmfb.open(path) as module:
        known, unknown = module.exports["static"], vmfb.open(path).exports["static"]
        assert known == unknown
        assert str(known.proofs) == VIEWS["static"]
        copy = pickle.loads(pickle.dumps(known))
        late = vmfb.open(path)
        closed = late.exports["static"]
        late.close()
    assert (str(known.proofs), str(copy.proofs)) == (VIEWS["static"],) * 2
    assert copy == known
    assert copy.runner_inputs() == ["--input=4x3xf32"]
    assert str(unknown.proofs) == VIEWS["static"]  # it holds the bytes
    with pytest.raises(CallError, match="the module is closed"):
        _ = closed.proofs


@pytest.mark.parametrize(
    ("name", "function", "text"),
    [
        ("torch_square@3.13.0@vmvx", "main", "(float32[AxB]) -> (float32[3xAxB], float32[BxA])"),
        (
            "torch_matmul@3.8.0@vmvx",
            "main",
            "(float32[Ax6], float32[6xB]) -> (float32[AxB], float32[B])",
        ),
        ("onnx_gather@3.13.0@vmvx", "onnx_gather", "(i64[AxB]) -> (float32[AxBx4], i32[AxB])"),
        ("onnx_concat@3.4.0@vmvx", "onnx_concat", "(float32[?x2], float32[?x2]) -> (float32[?x2])"),
        (
            "torch_unused@3.10.0@vmvx",
            "main",
            "(float32[2x4], ref<?>, ref<?>) -> (float32[2x4], ref<?>)",
        ),
        ("torch_mlp_transients", "main", "(float32[Ax4], ref<!hal.buffer>) -> (float32[Ax2])"),
        ("torch_hand@3.13.0@vmvx", "scalars", "(i64[2], i64, float64, i32) -> (i64[2], i64)"),
        ("linalg_basic@3.13.0@vmvx", "mm", "(float32[Ax?], float32[?xB]) -> (float32[AxB])"),
        ("util_calls@3.13.0@vmvx", "through_helper", "(ref<?>, i32[2x3]) -> (i32[2x3], ref<?>)"),
        ("hal_views@3.13.0@vmvx", "two_sizes", "(i32, float32[?]) -> (float32[?])"),
        (
            "hal_views@3.13.0@vmvx",
            "two_types",
            "(i32, ref<!hal.buffer_view>) -> (ref<!hal.buffer_view>)",
        ),
        ("hal_views@3.13.0@vmvx", "conditional", "(i32, ref<!hal.buffer_view>) -> (ref<?>)"),
        ("hal_views@3.13.0@vmvx", "custom_in", "(ref<?>) -> (ref<?>)"),
        (
            "func_abi@3.10.0@vmvx",
            "async",
            "(float32[Ax2], ref<!hal.fence>, ref<!hal.fence>) -> (float32[Ax2])",
        ),
    ],
)
def test_types_with_symbols(name: str, function: str, text: str) -> None:
    assert text_of(name, function) == text


@pytest.mark.parametrize(
    ("name", "function", "aliases"),
    [
        ("torch_views@3.13.0@vmvx", "main", (Alias(0, "storage"), None, Alias(0, "storage"), None)),
        ("onnx_identity@3.10.0@vmvx", "onnx_identity", (Alias(0, "whole"), None)),
        ("func_abi@3.0.0@vmvx", "output", (Alias(1, "storage"),)),
        ("torch_cache@3.8.0@vmvx", "main", (None,)),
    ],
)
def test_aliases(name: str, function: str, aliases: tuple[Alias | None, ...]) -> None:
    module = vmfb.open(FOLDER / f"{name}.vmfb", lenient=True)
    types = module.bytecode_types[module.exports[function].ordinal]
    assert types is not None
    assert types.aliases == aliases


# ------------------------------------------------------------------------------------- flow


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("one_path", "(i32, ref<!hal.buffer_view>) -> ()"),
        ("other_path_fails", "(i32, float32[4]) -> ()"),
        ("two_shapes", "(i32, float32[?x6]) -> ()"),
        ("two_ranks", "(i32, float32[*]) -> ()"),
        ("compared", "(float16[?x4]) -> ()"),
        ("loop", "(i64, float32[3x3]) -> (float32[?x3])"),
        ("loop_dims", "(i64, ref<!hal.buffer>) -> (float32[?], float32[?])"),
        ("even", "(i32, ref<!hal.buffer_view>) -> (ref<?>)"),
        ("odd", "(i32, float32[4]) -> (ref<?>)"),
        ("caller", "(i64, i32[5xA], float32[Ax4]) -> (i32[Bx5], float32[Bx?])"),
        ("impossible", "(i32, float32[4]) -> ()"),
        (
            "chosen",
            "(i32, bfloat16[4x2], ref<!hal.buffer>) -> (bfloat16[4x?], bfloat16[4x2], ref<?>)",
        ),
    ],
)
def test_paths_loops_and_calls(function: str, text: str) -> None:
    assert text_of("vm_flow", function) == text


NOT_KNOWN = "(i32, ref<?>, ref<!hal.buffer>) -> (ref<?>)"
BOTH_NOT_KNOWN = "(i32, ref<?>, ref<!hal.buffer>) -> (ref<?>, ref<?>)"


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("items", "(i32, float32[4], ref<!hal.buffer>) -> (float32[4], float32[3])"),
        ("overwritten", "(i32, ref<?>, ref<!hal.buffer>) -> (float32[4x3])"),
        ("unknown_index", NOT_KNOWN),
        ("unknown_item", NOT_KNOWN),
        ("escaped_to_call", BOTH_NOT_KNOWN),
        ("escaped_to_global", NOT_KNOWN),
        ("escaped_to_list", NOT_KNOWN),
        ("chosen", BOTH_NOT_KNOWN),
        ("met", BOTH_NOT_KNOWN),
        ("joined", "(i32, ref<?>, ref<!hal.buffer>) -> (float32[?x4], ref<?>)"),
        ("resized", NOT_KNOWN),
        ("number", "(i32, ref<?>, ref<!hal.buffer>) -> (ref<?>, float32[3])"),
        ("other_type", "(i32, ref<?>, ref<?>) -> (ref<?>, float32[3], ref<?>)"),
        ("loop", "(i32, ref<?>, ref<!hal.buffer>) -> (float32[?x4], float32[3x4])"),
        ("many_lists", BOTH_NOT_KNOWN),
        ("far", "(i32, ref<?>, ref<!hal.buffer>) -> (float32[3], ref<?>)"),
    ],
)
def test_lists(function: str, text: str) -> None:
    assert text_of("vm_lists", function) == text


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("own_view", "ref<?>, ref<!hal.buffer>) -> (float32[4x?x2], float32[4x?])"),
        (
            "unknown_view",
            "ref<?>, ref<!hal.buffer>) -> (float32[*], ref<!hal.buffer_view>,"
            " ref<!hal.buffer_view>, ref<?>, float32[*])",
        ),
        (
            "folded",
            "ref<?>, ref<!hal.buffer>) -> (float32[12x4x32x0x12x12], float32[12x4x32x0x12x12])",
        ),
        ("selected", "ref<?>, ref<!hal.buffer>) -> (float32[8x4xAx8x?xAx8x4])"),
        ("compared", "ref<?>, ref<!hal.buffer>) -> (float32[0x1x1x1x0x1x1])"),
        ("negated", "float32[?x?], ref<?>) -> ()"),
        ("negated_other", "float32[*], ref<?>) -> ()"),
        ("negated_ne", "float32[?x?], ref<?>) -> ()"),
        ("negated_nz", "float32[], ref<?>) -> ()"),
        ("dim_eq", "float32[?], ref<?>) -> ()"),
        ("dim_ne", "float32[4], ref<?>) -> ()"),
        ("dim_nz", "float32[0], ref<?>) -> ()"),
        ("less", "float32[*], ref<?>) -> ()"),
        ("known", "float32[8], ref<!hal.buffer>) -> ()"),
        ("dim_first", "ref<!hal.buffer_view>, ref<?>) -> ()"),
        ("dim_outside", "float32[?], ref<?>) -> ()"),
        ("two_dims", "float32[8x4], ref<?>) -> ()"),
        ("bit_eq", "float32[*], ref<!hal.buffer>) -> ()"),
        ("bit_ne", "float32[?x?], ref<!hal.buffer>) -> ()"),
        ("bit_nz", "float32[], ref<!hal.buffer>) -> ()"),
        ("bit_dim_eq", "float32[?], ref<!hal.buffer>) -> ()"),
        ("bit_dim_ne", "float32[4], ref<!hal.buffer>) -> ()"),
        ("bit_dim_nz", "float32[0], ref<!hal.buffer>) -> ()"),
        ("bit_of_a_number", "float32[*], ref<!hal.buffer>) -> ()"),
        ("many_negations", "float32[*], ref<!hal.buffer>) -> ()"),
        ("number_first", "float32[?], ref<!hal.buffer>) -> ()"),
        ("encoding", "ref<!hal.buffer_view>, ref<?>) -> (i32)"),
        ("asked", "ref<?>, ref<!hal.buffer>) -> (float32[1x?], float32[*])"),
        ("asked_in_a_loop", "ref<?>, ref<!hal.buffer>) -> (float32[?x4])"),
        ("type_of_callee", "float32[?x?], ref<?>) -> ()"),
        ("table", "float32[4x?], ref<?>) -> ()"),
        ("table_apart", "ref<!hal.buffer_view>, ref<?>) -> ()"),
        ("yields", "float32[4], ref<!hal.buffer>) -> (float32[4])"),
        ("breaks", "float32[4], ref<!hal.buffer>) -> (float32[4])"),
        ("floats", "float32[4], ref<?>) -> (ref<?>, ref<?>, float32[4])"),
    ],
)
def test_values_that_are_known(function: str, text: str) -> None:
    """Each function has a number of each width before these arguments."""
    assert text_of("vm_terms", function) == "(i32, i64, " + text


def test_the_highest_rank() -> None:
    fours, symbols = "x".join(["4"] * 128), "x".join(["A"] * 128)
    expected = f"(i64, float32[{fours}], float32[{symbols}], float32[{fours}]) -> ()"
    assert text_of("vm_terms", "large") == expected


def test_aliases_through_lists() -> None:
    module = vmfb.open(FOLDER / "vm_lists.vmfb", lenient=True)
    aliases = {}
    for export in module.exports.values():
        types = module.bytecode_types[export.ordinal]
        assert types is not None
        aliases[export.name] = types.aliases
    assert aliases["items"] == (Alias(1, "whole"), Alias(2, "storage"))
    # The runtime reads an item as null if it is of another type.
    assert aliases["other_type"] == (None, None, None)


def test_the_order_of_the_exports_does_not_matter() -> None:
    """Each function of a module that has only that one has the same types."""
    data = (FOLDER / "vm_flow.vmfb").read_bytes()
    module = vmfb.from_buffer(data)
    for export in module.exports.values():
        again = vmfb.from_buffer(data).exports[export.name]
        assert again.signature == export.signature


# ------------------------------------------------------------------------------ other verbs


def test_scan_agrees_with_the_exports() -> None:
    rows = {(row.file, row.ordinal): row for row in vmfb.scan(FOLDER, lenient=True).rows()}
    assert len(rows) > 200
    for path in MODULES:
        for export in vmfb.open(path, lenient=True).exports.values():
            row = rows[str(path), export.ordinal]
            assert (row.source, row.signature) == (export.source, export.signature)


def test_modules_of_other_types_are_not_compatible() -> None:
    def module(name: str) -> vmfb.Module:
        return vmfb.open(FOLDER / f"{name}@3.13.0@vmvx.vmfb")

    where, gather = module("onnx_where"), module("onnx_add")
    assert where.exports["onnx_where"].source == gather.exports["onnx_add"].source == "bytecode"
    rank0, views = module("torch_rank0"), module("torch_matmul")  # (r, r) -> (r, r)
    found = compat.compare(rank0, views)
    assert not found.compatible
    paths = {change.path for change in found.changes if change.function == "main"}
    assert "inputs[0].shape" in paths


def test_bytecode_of_an_unknown_version() -> None:
    data = bytearray((FOLDER / "torch_mlp@3.13.0@vmvx.vmfb").read_bytes())
    at = data.index((17 << 16).to_bytes(4, "little"))
    data[at + 2] = 99
    module = vmfb.from_buffer(data)
    assert module.bytecode_version == (99, 0)
    assert module.exports["main"].source == "cconv"
    assert str(module.exports["main"].signature) == "(ref<?>) -> (ref<?>)"
    with pytest.raises(FormatError, match=r"15\.0, 16\.0 or 17\.0"):
        _ = module.bytecode_types


@pytest.mark.parametrize(
    "name", ["torch_mlp@3.13.0@vmvx", "vm_flow", "vm_lists", "torch_topk@3.0.0@vmvx"]
)
def test_edited_bytecode_is_read_or_untyped(name: str) -> None:
    data = bytearray((FOLDER / f"{name}.vmfb").read_bytes())
    whole = vmfb.from_buffer(bytes(data))
    code = whole._field(14, vmfb._range)
    assert code is not None
    begin, size = code
    for at in range(begin, begin + size, 3):
        for bit in (0, 3, 7):
            data[at] ^= 1 << bit
            module = vmfb.from_buffer(bytes(data))
            assert len(module.bytecode_types) == len(whole.functions)
            assert len(module.exports) == len(whole.exports)
            data[at] ^= 1 << bit


# ---------------------------------------------------------------------- the official runtime

LOADED = [
    path
    for path in COMPILED
    if re.search(r"@3\.1[123]\.0@(vmvx|llvm-cpu)", path.name)
    and not path.name.startswith(("hal_views", "torch_params"))  # these need another module
]


class Caller:
    """Calls a function of a module with arrays of the types that its bytecode proves."""

    def __init__(self, path: Path, name: str, types: Proofs) -> None:
        runtime = pytest.importorskip("iree.runtime")
        config = runtime.Config("local-sync")
        context = runtime.SystemContext(config=config)
        module = runtime.VmModule.copy_buffer(context.instance, path.read_bytes())
        context.add_vm_module(module)
        self.function = context.modules[module.name][name]
        self.types = types
        self.sizes: dict[int, int] = {}  # of symbols

    def size(self, symbol: int | None) -> int:
        return 3 if symbol is None else self.sizes.setdefault(symbol, 3 + len(self.sizes))

    def argument(self, index: int, wrong: str = "") -> Any:
        """Return an array of the type of an argument, or of one that is wrong in some way."""
        type, symbols = self.types.signature.inputs[index], self.types.dims[0][index]
        if isinstance(type, Scalar):
            return 1.0 if type.dtype.kind == "float" else 1
        if not isinstance(type, Buffer):
            return numpy.zeros((2, 3), "f4")
        assert type.shape is not None
        dtype = type.dtype.to_numpy()
        shape = [
            self.size(symbol) if dim is None else dim
            for dim, symbol in zip(type.shape, symbols or (None,) * 99, strict=False)
        ]
        if wrong == "dtype":
            dtype = numpy.dtype("f4" if dtype == numpy.int32 else "i4")
        if wrong == "rank":
            shape.append(1)
        if wrong == "dim":
            shape[[*map(bool, type.shape)].index(True)] += 1
        return numpy.ones(shape, dtype)

    def call(self, **wrong: Any) -> list[Any]:
        arguments = [
            wrong.get(f"argument_{index}", self.argument(index))
            for index in range(len(self.types.signature.inputs))
        ]
        results = self.function(*arguments)
        if results is None:
            return []
        return list(results) if isinstance(results, (list, tuple)) else [results]

    def check(self, results: list[Any]) -> None:
        """Check that results are of their types, and that equal symbols are equal sizes."""
        types = self.types.signature.results
        for type, symbols, result in zip(types, self.types.dims[1], results, strict=True):
            if not isinstance(type, Buffer):
                continue
            array = numpy.asarray(result.to_host())
            assert type.shape is not None
            assert array.dtype.itemsize == type.dtype.itemsize
            assert len(array.shape) == len(type.shape)
            for dim, size in zip(type.shape, array.shape, strict=True):
                assert dim in (None, size)
            for symbol, size in zip(symbols or (), array.shape, strict=False):
                assert symbol is None or self.sizes.setdefault(symbol, size) == size


def callers(path: Path) -> list[Caller]:
    module = vmfb.open(path)
    found = []
    for export in module.exports.values():
        types = module.bytecode_types[export.ordinal]
        named = export.name.startswith("__") or export.name.endswith("$async")
        if types is None or named:
            continue
        arrays = [type for type in types.signature.inputs if isinstance(type, Buffer)]
        if any(type.dtype.bits == 4 for type in arrays):  # which the runtime has no arrays for
            continue
        if not {Ref("!hal.fence"), Ref("!hal.buffer")} & set(types.signature.inputs):
            found.append(Caller(path, export.name, types))
    return found


@pytest.mark.parametrize("path", LOADED, ids=lambda path: path.stem)
def test_the_runtime_accepts_what_is_stated_and_nothing_else(path: Path) -> None:
    for caller in callers(path):
        caller.check(caller.call())
        for index, type in enumerate(caller.types.signature.inputs):
            if not isinstance(type, Buffer):
                continue
            for wrong in ("dtype", "rank", *(["dim"] if any(type.shape or ()) else [])):
                with pytest.raises((ValueError, RuntimeError)):
                    caller.call(**{f"argument_{index}": caller.argument(index, wrong)})


# ------------------------------------------------------------------------ hostile bytecode

IMPORTS = (
    ("hal.buffer_view.assert", "0rriiCID_v"),
    ("hal.buffer_view.dim", "0ri_I"),
)


def module_of(
    code: bytes, functions: list[tuple[int, int, int, int, int]], convention: str
) -> vmfb.Module:
    """Make a module of functions: offset, size, blocks, and registers by bank."""
    descriptors = b"".join(
        struct.pack("<iiIhhhh", offset, size, 0, 0, *counts) for offset, size, *counts in functions
    )
    signature = flatbuffer.Table({0: flatbuffer.String(convention.encode())})
    exports: list[flatbuffer.Node | None] = [
        flatbuffer.Table({0: flatbuffer.String(b"f%d" % i), 1: struct.pack("<i", i)})
        for i in range(len(functions))
    ]
    imports: list[flatbuffer.Node | None] = [
        flatbuffer.Table(
            {
                0: flatbuffer.String(name.encode()),
                1: flatbuffer.Table({0: flatbuffer.String(each.encode())}),
            }
        )
        for name, each in IMPORTS
    ]
    root = flatbuffer.Table(
        {
            0: flatbuffer.String(b"hostile"),
            6: flatbuffer.Vector(imports),
            7: flatbuffer.Vector(exports),
            8: flatbuffer.Vector([signature] * len(functions)),
            12: flatbuffer.Numbers(descriptors, 20),
            13: struct.pack("<I", 17 << 16),
            14: flatbuffer.Numbers(code),
        }
    )
    return vmfb.from_buffer(flatbuffer.module(root))


def branches(count: int) -> bytes:
    """Return blocks that each branch to the next one, and back to the first."""
    code = b"".join(
        b"\x79\x57\0\0" + struct.pack("<IHIH", 16 * (i + 1), 0, 0, 0) for i in range(count)
    )
    return code + b"\x79\x5a\0\0"


def chain(count: int) -> tuple[bytes, list[tuple[int, int, int, int, int]]]:
    """Return functions that each call the next one, and the last one the first."""
    call = b"".join(
        b"\x79\x58" + struct.pack("<IHHH", (i + 1) % count, 1, 0x8000, 0) + b"\x5a\0\0\0"
        for i in range(count)
    )
    return call, [(16 * i, 16, 1, 2, 2) for i in range(count)]


def test_a_long_chain_of_calls() -> None:
    module = module_of(*chain(20_000), "0r_v")
    assert len(module.bytecode_types) == 20_000
    assert None not in module.bytecode_types
    assert module.exports.values()[0].source == "cconv"


@pytest.mark.parametrize("registers", [(8, 8), (32767, 16383)])
def test_many_blocks(registers: tuple[int, int]) -> None:
    code = branches(30_000)
    module = module_of(code, [(0, len(code), 30_001, *registers)], "0rr_v")
    assert (module.bytecode_types[0] is None) == (registers[0] > 8)  # which is too much
    assert str(module.exports.values()[0].signature) == "(ref<?>, ref<?>) -> ()"


def test_functions_that_share_their_code() -> None:
    code = branches(1000)
    module = module_of(code, [(0, len(code), 1001, 8, 8)] * 2000, "0rr_v")
    known = [types for types in module.bytecode_types if types is not None]
    assert 100 < len(known) < 2000


def test_equal_functions_share_their_types() -> None:
    data = (FOLDER.parent / "vmfb" / "many_vm_2000.vmfb").read_bytes()
    types = vmfb.from_buffer(data).bytecode_types
    assert len(types) == 2000
    assert all(each is types[0] for each in types)


def test_equal_code_with_other_register_counts_is_not_shared() -> None:
    """The code is out of range in the second function, so that nothing is known about it."""
    code = b"\x79\x5a\x01\0\x01\x80"
    functions = [(0, 6, 1, 2, 2), (0, 6, 1, 2, 1), (0, 6, 1, 2, 2)]
    first, second, third = module_of(code, functions, "0rr_r").bytecode_types
    assert str(first) == "(ref<?>, ref<?>) -> (ref<?>)"
    assert second is None
    assert third is first


@pytest.mark.parametrize("byte", [b"", b"\0", b"\x5a", b"\x79", b"\xff"])
def test_an_unused_byte_leaves_the_types(byte: bytes) -> None:
    code = b"\x79\x5a\x01\0\x01\x80" + byte
    (types,) = module_of(code, [(0, len(code), 1, 2, 2)], "0rr_r").bytecode_types
    assert str(types) == "(ref<?>, ref<?>) -> (ref<?>)"


def test_functions_that_call_are_not_shared() -> None:
    """What a function returns that calls itself is unknown, but not to a function of its code."""
    code = b"\x79\x58" + struct.pack("<IHHHH", 0, 1, 0x8000, 1, 0x8001) + b"\x5a\0\x01\0\x01\x80"
    functions = [(0, len(code), 1, 2, 2)] * 2
    first, second = module_of(code, functions, "0r_r").bytecode_types
    assert str(first) == str(second) == "(ref<?>) -> (ref<?>)"
    assert first is not second


def test_lists_that_are_changed_often() -> None:
    """Functions that set the last item that counts to one argument and the other, and so on."""
    begin = b"\x79\x12" + struct.pack("<IHH", 0, 0, 0x8002)  # list.alloc
    begin += b"\x0d" + struct.pack("<IH", 63, 0)  # const.i32
    change = b"".join(b"\x1b" + struct.pack("<HHH", 0x8002, 0, ref) for ref in (0x8000, 0x8001))
    code = begin + 100_000 * change + b"\x5a\0\0"
    module = module_of(code, [(0, len(code), 1, 4, 4)] * 20, "0rr_v")
    assert None not in module.bytecode_types


def const_i32(value: int, register: int) -> bytes:
    return b"\x0d" + struct.pack("<iH", value, register)


@pytest.mark.parametrize("negations", [0, 1, 2])
@pytest.mark.parametrize(("condition", "index"), [(0, 1), (1, 0), (2, 0), (-1, 0)])
def test_only_one_path_of_a_constant_condition_counts(
    condition: int, index: int, negations: int
) -> None:
    """The path of a condition that is not zero returns one argument, and the other one another."""
    code = b"\x79" + const_i32(condition, 0)
    if negations:
        code += b"\x4d" + struct.pack("<HH", 0, 0)  # cmp.nz.i32
        code += const_i32(1, 1) + negations * (b"\x35" + struct.pack("<HHH", 0, 1, 0))  # xor.i32
    if len(code) % 2 == 0:  # lists of operands are at even offsets
        code += const_i32(0, 1)
    true = len(code) + 15
    code += b"\x57" + struct.pack("<HIHIH", 0, true, 0, true + 6, 0)  # cond_br
    for argument in (0x8000, 0x8001):
        code += b"\x79\x5a" + struct.pack("<HH", 1, argument)  # return
    module = module_of(code, [(0, len(code), 3, 2, 2)], "0rr_r")
    assert bytecode.verify(module) == ()
    (types,) = module.bytecode_types
    assert types is not None
    assert types.aliases == (Alias((index + negations) % 2, "whole"),)


def test_dims_that_are_asserted_to_be_equal_have_one_name() -> None:
    """Where the dim that was read last is the one that the others are asserted to have."""

    def asserted(view: int, dim: int) -> tuple[Part, ...]:
        sizes, operands = [0xFFFF] * 4 + [1], [REF | view, REF | 3, 1, 6, dim]
        return (b"\x59", struct.pack("<I", 1 << 31), sizes, operands, [])

    code = assemble(
        ("all",),
        (const_i32(0, 0) + const_i32(0x21000020, 1) + const_i32(1, 6),),
        call(1, [REF, 0], [2]),
        call(1, [REF | 1, 0], [4]),
        asserted(0, 4),
        asserted(1, 4),
        asserted(2, 2),
        (b"\x5a", []),
    )
    module = module_of(code, [(0, len(code), 1, 8, 4)], "0rrrr_v")
    assert bytecode.verify(module) == ()
    text = "(float32[A], float32[A], float32[A], ref<?>) -> ()"
    assert str(module.bytecode_types[0]) == text


# ------------------------------------------------------------------------------------ texts

F32, F16, I32, U32 = (
    DType("float", 32),
    DType("float", 16),
    DType("signless", 32),
    DType("unsigned", 32),
)


def proven(one: Type, other: Type) -> Proofs:
    unknown = ((None,), (None,)), (None,), Fences(None, None), ()
    return Proofs(Signature((one,), (other,)), *unknown)


@pytest.mark.parametrize(
    ("stated", "found", "differ"),
    [
        (Buffer(F32, (4,)), Buffer(F32, (4,)), False),
        (Buffer(F32, (None,)), Buffer(F32, (4,)), False),
        (Buffer(F32, (4,)), Buffer(F32, (None,)), False),
        (Buffer(F32, None), Buffer(F32, (4,)), False),
        (Buffer(I32, (4,)), Buffer(U32, (4,)), False),
        (Buffer(F32, (4,)), Ref(), False),
        (Ref("!hal.buffer_view"), Buffer(F32, (4,)), False),
        (Scalar(F16), Scalar(F32), False),
        (Buffer(F32, (4,)), Buffer(F16, (4,)), True),
        (Buffer(F32, (4,)), Buffer(I32, (4,)), True),
        (Buffer(F32, (4,)), Buffer(F32, (5,)), True),
        (Buffer(F32, (4,)), Buffer(F32, (4, 1)), True),
    ],
)
def test_contradictions(stated: Type, found: Type, differ: bool) -> None:
    text = Signature((stated,), (Buffer(F32, ()),))
    assert list(contradictions(text, "f", proven(found, Buffer(F32, ())))) == (
        [f"inputs[0]: {stated} in f, {found} in the bytecode"] if differ else []
    )


def test_a_text_that_contradicts_the_bytecode_is_a_notice() -> None:
    data = (EXAMPLES / "front_stablehlo.vmfb").read_bytes()
    old, new = b"tensor<2x3xui8>}, %input1", b"tensor<2x4xui8>}, %input1"
    assert data.count(old) == 1
    module = vmfb.from_buffer(data.replace(old, new))
    findings = [finding for finding in module.check() if finding.code == "contradiction"]
    assert [str(finding) for finding in findings] == [
        "notice: inputs[0]: uint8[2x4] in iree.abi.declaration, uint8[2x3] in the bytecode"
        " in exports[0]"
    ]


def test_names_of_symbols() -> None:
    assert [symbol_name(i) for i in (0, 25, 26, 52)] == ["A", "Z", "A1", "A2"]


def test_every_function_that_verifies_is_followed() -> None:
    for path in MODULES:
        module = vmfb.open(path, lenient=True)
        if not [each for each in bytecode.verify(module) if each.severity == "error"]:
            assert None not in module.bytecode_types, path.name


# ------------------------------------------------------------------------------- comparison


def stripped(name: str) -> tuple[vmfb.Module, vmfb.Module]:
    """Return a module, and the same without the declarations of its functions."""
    data = (FOLDER / f"{name}.vmfb").read_bytes()
    # The keys of attributes stay as long as they are.
    other = data.replace(b"iree.abi.declaration", b"iree.abi.declaratiom")
    assert other != data
    return vmfb.from_buffer(data), vmfb.from_buffer(sealed(other))


@pytest.mark.parametrize(
    "name",
    ["func_abi@3.10.0@vmvx", "linalg_basic@3.13.0@vmvx", "stablehlo_basic@3.13.0@vmvx"],
)
def test_a_text_does_not_break_with_the_bytecode_of_the_same_function(name: str) -> None:
    texts, bare = stripped(name)
    sources = {export.source for export in bare.exports.values() if export.name != "__init"}
    assert "bytecode" in sources
    assert compat.compare(texts, texts).changes == ()
    for old, new in ((texts, bare), (bare, texts)):
        assert compat.compare(old, new).of("breaking") == ()


def test_types_are_compared_across_text_and_bytecode() -> None:
    texts, bare = stripped("stablehlo_basic@3.13.0@vmvx")
    data = (FOLDER / "stablehlo_basic@3.13.0@vmvx.vmfb").read_bytes()
    old, new = b"%input0: tensor<?x4xf32>", b"%input0: tensor<?x8xf32>"
    assert data.count(old) == 1
    changed = vmfb.from_buffer(sealed(data.replace(old, new)))
    found = compat.compare(changed, bare).of("breaking")
    assert [(change.function, change.path) for change in found] == [
        ("negate", "inputs[0].shape[1]")
    ]
    assert compat.compare(texts, bare).of("breaking") == ()


def test_what_is_not_proven_is_unknown() -> None:
    texts, bare = stripped("linalg_basic@3.13.0@vmvx")
    found = compat.compare(texts, bare)
    unknown = {(change.function, change.path) for change in found.of("unknown")}
    assert found.verdict == "unknown"
    assert ("unused", "inputs[1]") in unknown
    assert ("pass", "inputs[0]") in unknown
    assert ("reshape", "inputs[0]") not in unknown


def test_a_result_in_the_memory_of_an_argument_is_compared_without_a_text() -> None:
    new, written = (
        vmfb.open(FOLDER / f"storage_{name}@3.13.0@vmvx.vmfb") for name in ("new", "written")
    )
    assert new.exports["main"].source == written.exports["main"].source == "bytecode"
    for one, other, kind in ((new, written, "added"), (written, new, "removed")):
        found = compat.compare(one, other)
        assert [(change.kind, change.function, change.path) for change in found.of("breaking")] == [
            (kind, "main", "inputs[1].storage")
        ]
        assert found.of("unknown") == ()
    # Other bytes, and both have it.
    data = bytearray((FOLDER / "storage_written@3.13.0@vmvx.vmfb").read_bytes())
    assert compat.compare(written, vmfb.from_buffer(bytes(data) + bytes(64))).compatible
