"""What functions say to calls of which only dtypes and shapes are known, beside the runtime."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fnabi import DType, FormatError, Signature, vmfb
from fnabi.compat._caller import Answer, Callee, Value
from fnabi.run.invoke import element_type
from fnabi.types import Buffer, Scalar, Unknown
from support.each import each
from support.installed_runtime import exports_that_load, runtime
from support.paths import DATA

CALLS = DATA / "calls"


def value(text: str) -> Value:
    """Return the value of a text: ``float32[2x3]``, or ``int32`` of a number."""
    name, _, dims = text.rstrip("]").partition("[")
    return Value(DType(name), tuple(map(int, filter(None, dims.split("x")))))


def asked(file: str, function: str, *values: str) -> Answer:
    with vmfb.open(DATA / file) as module:
        return Callee(module.exports[function]).answer([*map(value, values)])


def told(answer: Answer) -> list[str]:
    return [answer.verdict, *(reason.text for reason in answer.reasons)]


# ------------------------------------------------------------------------------- beside the runtime


class Loaded:
    """A module in a context of the installed runtime, whose functions get any values."""

    def __init__(self, path: Path) -> None:
        self.runtime = runtime()
        self.device = self.runtime.get_device("local-sync")
        instance = self.runtime.VmInstance()
        hal = self.runtime.create_hal_module(instance, self.device)
        self.module = self.runtime.VmModule.copy_buffer(instance, path.read_bytes())
        self.context = self.runtime.VmContext(instance, [hal, self.module])

    def view(self, given: Value) -> Any:
        """Return a buffer view of zeros; integers are signless, signed or unsigned as they are."""
        bits = 8 if given.dtype.kind == "bool" else given.dtype.bits
        size = max(1, math.prod(given.shape) * bits // 8)
        buffer = self.device.allocator.allocate_buffer_copy(
            memory_type=self.runtime.MemoryType.DEVICE_LOCAL,
            allowed_usage=self.runtime.BufferUsage.DEFAULT,
            device=self.device,
            buffer=bytearray(size),
        )
        element = self.runtime.HalElementType(element_type(given.dtype))
        return self.runtime.HalBufferView(buffer, given.shape, element)

    def call(self, export: vmfb.Export, numbers: list[bool], values: list[Value]) -> Any:
        """Call a function, and return its result; `numbers`: which values are numbers.

        Numbers are 3: a float of less than 32 bits is passed as it is, and not as its bits.
        """
        rt = self.runtime
        packed = rt.VmVariantList(len(values) + 2)
        for index, given in enumerate(values):
            is_number = index < len(numbers) and numbers[index] and given.shape == ()
            if not is_number:
                packed.push_ref(self.view(given))
            elif given.dtype.kind in ("float", "bfloat"):
                packed.push_float(3.0)
            else:
                packed.push_int(3)
        done = None
        if export.is_async:
            done = rt.HalFence.create_at(self.device.create_semaphore(0), 1)
            packed.push_ref(rt.HalFence(0))
            packed.push_ref(done)
        results = rt.VmVariantList(1)
        self.context.invoke(self.module.lookup_function(export.name), packed, results)
        if done is not None:
            done.wait()
        return results.get_variant(0) if len(results) else None


DTYPES = (
    *("bool", "i8", "int8", "uint8", "i16", "int16", "uint16", "i32", "int32", "uint32"),
    *("i64", "int64", "uint64", "float16", "bfloat16", "float32", "float64"),
    *("float8_e4m3fn", "float8_e5m2", "complex64", "complex128", "i4", "int4", "uint4"),
)


def of_elements() -> Iterator[tuple[str, vmfb.Export]]:
    runtime()
    with vmfb.open(CALLS / "elements.vmfb") as module:
        exports = [export for export in module.exports.values() if export.name[:2] != "__"]
        assert len(exports) == 16
        for export in exports:
            yield export.name, export


@each(of_elements)
def test_elements_are_accepted_as_the_runtime_accepts_them(export: vmfb.Export) -> None:
    loaded, callee = Loaded(CALLS / "elements.vmfb"), Callee(export)
    accepted = []
    for name in DTYPES:
        values = [Value(DType(name), (4,))] * len(export.signature.inputs)
        answer = callee.answer(values)
        if answer.verdict == "refused":
            assert answer.reasons[0].kind == "dtype"
            with pytest.raises(ValueError, match="element type mismatch"):
                loaded.call(export, [], values)
        else:
            assert told(answer) == ["accepted"], name
            loaded.call(export, [], values)
            accepted.append(name)
    assert accepted


NUMBERS = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "index")
WIDTHS = {"bool": 1, "index": 64}


@pytest.mark.parametrize("function", NUMBERS)
def test_numbers_are_accepted_as_the_runtime_passes_them(function: str) -> None:
    """What is refused for its kind becomes 0; what is unknown may arrive, or not."""
    loaded = Loaded(CALLS / "values.vmfb")
    with vmfb.open(CALLS / "values.vmfb") as module:
        export = module.exports[function]
        callee = Callee(export)
        (scalar,) = export.signature.without_names().inputs
        dtype = scalar.dtype
        assert dtype is not None
        takes_float = dtype.kind in ("float", "bfloat")
        for name in (*DTYPES[:17], "index"):
            given = Value(DType(name), ())
            is_float = given.dtype.kind in ("float", "bfloat")
            answer = callee.answer([given])
            if answer.verdict == "refused":
                assert told(answer)[1].endswith("for which iree.runtime passes 0")
                assert loaded.call(export, [True], [given]) == 0
                assert is_float != takes_float
            elif answer.verdict == "accepted":
                assert is_float == takes_float
                if dtype.bits >= 32 or not takes_float:  # others get bits, which callers make
                    assert loaded.call(export, [True], [given]) == 3
            else:
                wide = WIDTHS.get(given.dtype.kind, given.dtype.bits)
                assert wide > dtype.bits or (dtype.bits < 32 and takes_float and not is_float)
            array = Value(given.dtype, (1,)) if name != "index" else None
            if array is not None:
                assert callee.answer([array]).verdict == "refused"
                with pytest.raises(RuntimeError, match="FAILED_PRECONDITION"):
                    loaded.call(export, [True], [array])


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (("float32[2x8]", "int32"), "accepted"),
        (("float64[2x8]", "int32"), "unknown"),
        (("bool[2x8]", "float32"), "unknown"),
        (("float32[2x7]", "int32"), "refused"),
        (("float32[16]", "int32"), "refused"),
        (("float32[2x8]", "int32[1]"), "refused"),
        (("float32[2x8]",), "refused"),
    ],
)
def test_callers_that_follow_iree_abi_convert(given: tuple[str, ...], verdict: str) -> None:
    """The invoker of iree.runtime converts dtypes, which other callers do not."""
    numpy = pytest.importorskip("numpy")
    rt = runtime()
    assert asked("calls/values.vmfb", "converted", *given).verdict == verdict
    config = rt.Config("local-sync")
    context = rt.SystemContext(config=config)
    context.add_vm_module(rt.VmModule.mmap(config.vm_instance, str(CALLS / "values.vmfb")))
    arrays = [numpy.zeros(each.shape, each.dtype.to_numpy()) for each in map(value, given)]
    if verdict == "refused":
        with pytest.raises((ValueError, RuntimeError)):
            context.modules["values"]["converted"](*arrays)
    else:
        context.modules["values"]["converted"](*arrays)


def variants(values: list[Value]) -> Iterator[list[Value]]:
    """Yield calls that differ in one value, or in their number."""
    yield values
    yield [*values, Value(DType("float32"), (2,))]
    if values:
        yield values[:-1]
    for index, given in enumerate(values):
        before, after = values[:index], values[index + 1 :]
        for name in ("float32", "float64", "int32", "uint32", "i32", "bool", "bfloat16", "int64"):
            yield [*before, given._replace(dtype=DType(name)), *after]
        shapes = [given.shape[1:], (*given.shape, 1)]
        for axis, dim in enumerate(given.shape):
            shapes.append((*given.shape[:axis], dim + 1, *given.shape[axis + 1 :]))
        for shape in shapes:
            yield [*before, given._replace(shape=shape), *after]


def example(callee: Callee) -> list[Value] | None:
    """Return values that a function takes, with 4 for each dynamic dim, or None."""
    found = []
    for slot in callee._slots:
        shape: tuple[int | None, ...] = ()
        if isinstance(slot.type, Buffer):
            shape = (4,) if slot.type.shape is None else slot.type.shape
        elif not isinstance(slot.type, Scalar):
            return None
        if isinstance(slot.proven, Unknown):  # in a list, which is one value for the runtime
            return None
        dims = tuple(4 if dim is None else dim for dim in shape)
        found.append(Value(slot.type.dtype, dims))
    is_small = sum(math.prod(each.shape) for each in found) < 1 << 22
    return found if callee._problem is None and is_small else None


def test_every_function_answers_as_the_runtime_does() -> None:
    """What is accepted runs, and what is refused does not, in all modules that load here.

    The dims of what is accepted stay equal: kernels read what is outside of smaller arrays.
    """
    runtime()
    counts: Counter[str] = Counter()
    path, loaded = None, None
    for file, export in exports_that_load(hosts=()):
        callee = Callee(export)
        values = example(callee)
        if values is None:
            continue
        if file != path:
            path, loaded = file, Loaded(file)
        assert loaded is not None
        numbers = [isinstance(slot.type, Scalar) for slot in callee._slots]
        for given in variants(values):
            answer = callee.answer(given)
            is_like = [each.shape for each in given] == [each.shape for each in values]
            if answer.verdict == "unknown" or (answer.verdict == "accepted" and not is_like):
                continue
            if answer.reasons and answer.reasons[0].kind == "number":
                continue  # of which the runtime makes 0
            try:
                loaded.call(export, numbers, given)
                ran = ""
            except (ValueError, RuntimeError, IndexError) as problem:
                ran = str(problem)
            counts[answer.verdict] += 1
            where = f"{file.name} {export.name} {[*map(str, given)]}: {told(answer)}: {ran}"
            assert (answer.verdict == "refused") == bool(ran), where
    assert counts["accepted"] > 400
    assert counts["refused"] > 1000


# -------------------------------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        ("mixed", "float32[2x3] int32 float32 float32[]", ["accepted"]),
        ("mixed", "float32[0x3] i8 float64 float32[]", ["accepted"]),
        (
            "mixed",
            "float32[3] int32 float32 float32[]",
            ["refused", "input 0: float32[3], expected float32[?x3]"],
        ),
        (
            "mixed",
            "float32[2x4] float32 float32 float32[]",
            [
                "refused",
                "input 0: float32[2x4], expected float32[?x3]",
                "input 1: float32, expected i32, for which iree.runtime passes 0",
            ],
        ),
        (
            "mixed",
            "float32[2x3] int64 float32 float32[1]",
            ["refused", "input 3: float32[1], expected float32[]"],
        ),
        (
            "mixed",
            "float32[2x3] int64 float32 float32[]",
            ["unknown", "input 1: int64, expected i32, which may not hold it"],
        ),
        (
            "mixed",
            "float32[2x3] complex64 float32 float32[]",
            [
                "unknown",
                "input 1: complex64, expected i32, which is no number of the calling convention",
            ],
        ),
        ("mixed", "float32[2x3] int32 float32", ["refused", "3 inputs, expected 4"]),
        ("f32", "", ["refused", "0 inputs, expected 1"]),
        ("f32", "float32 float32", ["refused", "2 inputs, expected 1"]),
        (
            "f16",
            "int32",
            ["unknown", "input 0: int32, expected float16, and it may be the bits of the other"],
        ),
        (
            "unchecked",
            "float64[4]",
            [
                "unknown",
                "input 0: float64[4], expected float32[4], which the code is not seen to check",
            ],
        ),
        ("unused", "float32[7] int64[3]", ["unknown", "input 1: int64[3], expected i32[3], which"]),
        ("unused", "float32[7] uint32[3]", ["accepted"]),
        ("equal", "float32[2x8] float32[2x8]", ["accepted"]),
        (
            "equal",
            "float32[2x8] float32[3x8]",
            ["refused", "input 1: float32[3x8], expected float32[Ax8], where A is 2 by input 0"],
        ),
        (
            "equal",
            "float32[2x7] float32[3x8]",
            ["refused", "input 0: float32[2x7], expected float32[Ax8]"],
        ),
        (
            "converted",
            "float64[2x8] int32",
            ["unknown", "input 0: float64[2x8], expected float32[?x8], which callers that follow"],
        ),
    ],
)
def test_reasons(function: str, given: str, expected: list[str]) -> None:
    found = told(asked("calls/values.vmfb", function, *given.split()))
    assert len(found) == len(expected)
    for text, start in zip(found, expected, strict=True):
        assert text.startswith(start)


def test_a_reason_has_its_parts() -> None:
    (reason,) = asked(
        "calls/values.vmfb", "mixed", "float32[3]", "i32", "float32", "float32[]"
    ).reasons
    assert (reason.kind, reason.input) == ("shape", 0)
    assert (reason.got, reason.expected) == ("float32[3]", "float32[?x3]")


@pytest.mark.parametrize(
    ("file", "function", "given", "expected"),
    [
        # without the fences of an asynchronous function
        ("vmfb/async_fences", "scalar_in", "int32[4] int64 float32", ["accepted"]),
        ("vmfb/async_fences", "noop", "", ["accepted"]),
        ("vmfb/async_fences", "plus", "float32[1]", ["refused", "1 input, expected 2"]),
        ("bytecode_types/torch_mlp@3.13.0@vmvx", "main$async", "float32[2x4]", ["accepted"]),
        ("bytecode_types/torch_state@3.13.0@vmvx", "get$async", "", ["accepted"]),
        # the code is narrower than the text, which is a buffer view or a dynamic dim
        (
            "bytecode_types/declared_views@3.13.0@vmvx",
            "static",
            "float32[4x4]",
            ["refused", "input 0: float32[4x4], expected float32[4x3]"],
        ),
        ("bytecode_types/declared_views@3.13.0@vmvx", "fixed", "float32[2x3]", ["accepted"]),
        (
            "bytecode_types/declared_views@3.13.0@vmvx",
            "fixed",
            "float32[3x3]",
            ["refused", "input 0: float32[3x3], expected float32[2x3]"],
        ),
        # what nobody says
        (
            "bytecode_types/declared_views@3.13.0@vmvx",
            "pass",
            "float32[2]",
            [
                "unknown",
                "input 0: float32[2], expected ref<!hal.buffer_view>,"
                " of which the module does not show what it takes",
            ],
        ),
        (
            "bytecode_types/declared_views@3.13.0@vmvx",
            "buffer",
            "float32[2]",
            [
                "unknown",
                "input 0: float32[2], expected ref<!hal.buffer>,"
                " of which the module does not show what it takes",
            ],
        ),
        (
            "bytecode_types/vm_flow",
            "two_ranks",
            "i32 float32[2]",
            [
                "unknown",
                "input 1: float32[2], expected float32[*],"
                " of which the code checks more than is known",
            ],
        ),
        (
            "bytecode_types/vm_flow",
            "caller",
            "i64 i32[5x3] float32[4x4]",
            ["refused", "input 2: float32[4x4], expected float32[Ax4], where A is 3 by input 1"],
        ),
        # the calling convention alone
        ("vmfb/vm_sigs", "a_all", "i32 i32 float64", ["refused", "3 inputs, expected 6"]),
        ("vmfb/vm_sigs", "a_i32", "i32 bool", ["accepted"]),
        (
            "vmfb/vm_sigs",
            "a_i32",
            "float16 float32",
            ["refused", "input 1: float32, expected i32, for which iree.runtime passes 0"],
        ),
        (
            "vmfb/vm_sigs",
            "a_i32",
            "float16 i32",
            ["unknown", "input 0: float16, expected i32, and it may be the bits of the other"],
        ),
        (
            "vmfb/vm_sigs",
            "a_ref",
            "f32[] f32[2] i32 i32",
            [
                "unknown",
                *(
                    f"input {index}: {text}, expected ref<?>, of which the module does not show"
                    " what it takes"
                    for index, text in enumerate(("float32[]", "float32[2]", "i32[]", "i32[]"))
                ),
            ],
        ),
        ("vmfb/abi_broken", "bad_nul", "i32", ["accepted"]),
        # a text that the calling convention contradicts, and lists of any length
        (
            "vmfb/abi_records",
            "prims",
            "i32",
            ["unknown", "its signature does not fit its calling convention 0i_i"],
        ),
        (
            "vmfb/res_types",
            "lst32",
            "i32 i32",
            ["unknown", "it takes a list of any length, or an empty slot"],
        ),
    ],
)
def test_what_is_known_of_functions(
    file: str, function: str, given: str, expected: list[str]
) -> None:
    given = given.replace("f32[", "float32[") if "float32" not in given else given
    assert told(asked(f"{file}.vmfb", function, *given.split())) == expected


def test_structures_are_flat() -> None:
    file = "calls/values.vmfb"
    assert told(asked(file, "flat", "i32", "float32[4]")) == ["accepted"]
    assert asked(file, "flat", "i32", "float32[5]").verdict == "refused"
    assert told(asked(file, "flat", "float32[4]")) == ["refused", "1 input, expected 2"]
    # a dict is one reference to a list, of which the code proves nothing
    assert told(asked(file, "nested", "float32[4]", "int32")) == ["accepted"]
    assert asked(file, "nested", "float32[3]", "int32").verdict == "unknown"
    assert asked(file, "nested", "int32").verdict == "refused"


class Exported:
    """A replacement for an export: what a function asks of one."""

    calling_convention = "0ri_v"
    source = "iree.abi.declaration"
    ambiguity: str | None = None
    is_async = False
    disagreements: tuple[str, ...] = ()
    signature = Signature.parse("(float32[?x4], i32) -> ()")
    proofs: Any = None

    def __init__(self, **changes: Any) -> None:
        vars(self).update(changes)

    def answer(self, *values: str) -> Answer:
        export: Any = self
        return Callee(export).answer([*map(value, values)])


class Unread(Exported):
    """One whose code cannot be read."""

    @property
    def proofs(self) -> Any:  # type: ignore[override]
        raise FormatError("bytecode", 0)


@pytest.mark.parametrize("kind", [Exported, Unread])
def test_a_text_alone(kind: type[Exported]) -> None:
    """Without the code, a text says what is accepted, but not what is refused."""
    assert told(kind().answer("float32[2x4]", "int32")) == ["accepted"]
    assert kind().answer("float32[2x5]", "int32").verdict == "unknown"
    assert kind().answer("float64[2x4]", "int32").verdict == "unknown"
    assert kind().answer("float32[2x4]", "int32[1]").verdict == "refused"
    assert kind().answer("float32[2x4]").verdict == "refused"


def test_a_text_that_is_ambiguous_is_not_used() -> None:
    export = Exported(ambiguity="names")
    assert export.answer("float32[2x4]", "int32").verdict == "unknown"
    assert export.answer("float32[2x4]").verdict == "refused"
    assert export.answer("float32[2x4]", "float32").verdict == "refused"


def test_a_text_that_does_not_fit_the_calling_convention() -> None:
    export = Exported(disagreements=("inputs: 2 in iree.abi.declaration, 1",))
    assert export.answer("float32[2x4]", "int32").verdict == "unknown"


@pytest.mark.parametrize("convention", ["0x_v", "0rCiD_v"])
def test_a_calling_convention_that_says_nothing(convention: str) -> None:
    answer = Exported(calling_convention=convention, source="cconv").answer("int32")
    text = f"the calling convention {convention} cannot be read"
    assert told(answer) == ["unknown", text]


def test_a_call_of_many_values_has_few_reasons() -> None:
    many = Exported(
        calling_convention=f"0{'f' * 1000}_v",
        signature=Signature((Scalar(DType("float32")),) * 1000, ()),
    )
    assert len(many.answer(*["int32"] * 1000).reasons) == 8
    assert len(many.answer(*["complex64"] * 1000).reasons) == 8


def test_lanes_and_handles_are_no_numbers() -> None:
    export = Exported(calling_convention="0f_v", signature=Signature.parse("(float32) -> ()"))
    for name in ("float32x2", "handle", "complex64"):
        assert export.answer(name).verdict == "unknown"
