"""Code and documents that are generated for compiled modules."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from fnabi import ArgumentTypeError, CallError, NotFoundError, vmfb
from fnabi.run.client import Client
from fnabi.stub import FORMATS
from support.command import Run, run
from support.flatbuffer import String, Table, Vector, module
from support.generated import check, imported, write
from support.paths import DATA, ROOT
from support.programs import found
from support.runner import RUNNER

CLASSIFIER = ROOT / "examples" / "classifier.vmfb"
MODULES = DATA / "vmfb"

HOSTILE = [
    b"class",
    b'a"b',
    b"*/ #error /*",
    b"ends with \\",
    b"??/",
    b'"""; import os; os._exit(3)',
    b"line\nbreak",
    b"\xff\xfe",
    b"",
    b"nul\0nul",
    b"$(exit 3); `exit 3` 'x",
    b"{a}/../%2e",
    b"\xe2\x80\xaereversed",
    b"SIGNATURES",
    b"_call",
    b"_invokers",
    b"_context",
    b"call",
    b"int",
    b"errno",
    b"x-y",
    b"x.y",
    b"x_y",
    b"UINT8_MAX",
]
"""Names of functions, arguments and keys."""

TYPE = ["sdict", *([name.decode("utf-8", "replace"), "f32"] for name in HOSTILE)]


def attributes(**pairs: bytes) -> Vector:
    keys = {"abi": b"iree.abi", "model": b"iree.abi.model"}
    return Vector([Table({0: String(keys[key]), 1: String(pairs[key])}) for key in pairs])


def exporting(*functions: tuple[bytes, bytes, Vector], name: bytes = b"m") -> bytes:
    """Return a module with functions: their names, calling conventions and attributes."""
    exports = [
        Table({0: String(each), 1: index.to_bytes(4, "little")})
        for index, (each, _, _) in enumerate(functions)
    ]
    signatures = [Table({0: String(each), 1: attrs}) for _, each, attrs in functions]
    return module(Table({0: String(name), 7: Vector([*exports]), 8: Vector([*signatures])}))


def hostile(tmp_path: Path) -> Path:
    named = [["named", name.decode("utf-8", "replace"), "f32"] for name in HOSTILE]
    arguments = json.dumps({"a": named, "r": [TYPE, ["ndarray", "f32", 2, 3, None]]}).encode()
    convention = b"0" + b"f" * len(HOSTILE) + b"_rr"
    many = [(name, convention, attributes(abi=arguments)) for name in HOSTILE]
    plain = [(b"__init", b"0v_v", attributes()), (b"class", b"0v_v", attributes())]
    path = tmp_path / "ho stile;.vmfb"
    path.write_bytes(exporting(*many, *plain, name=b'm*/"\n#error'))
    return path


def stubs(path: Path) -> Iterator[tuple[str, Any]]:
    with vmfb.open(path) as opened:
        for format, generate in FORMATS.items():
            yield format, generate(opened, str(path))


def text_of(format: str, path: Path, **options: Any) -> str:
    with vmfb.open(path) as opened:
        return FORMATS[format](opened, str(path), **options).text


SOME = [
    CLASSIFIER,
    *(MODULES / f"{name}.vmfb" for name in ("abi_records", "scalars", "res_types", "vm_sigs")),
    *(MODULES / f"{name}.vmfb" for name in ("async_fences", "raw_v0", "elem_complex")),
    *(MODULES / f"{name}.vmfb" for name in ("elem_small_floats", "many_300", "attr_text")),
    DATA / "bytecode_types" / "torch_params@3.13.0@vmvx.vmfb",
]


# --------------------------------------------------------------------------------------- hostile


def test_hostile_names_in_python(tmp_path: Path) -> None:
    path = hostile(tmp_path)
    text = text_of("python", path)
    write(tmp_path, "client.py", text)
    check(tmp_path, "client.py")
    client = imported(tmp_path / "client.py").MError
    assert list(client.SIGNATURES) == [name.decode("utf-8", "surrogateescape") for name in HOSTILE]
    assert all(line.isprintable() for line in text.splitlines())
    made = client.__new__(client)
    calls: list[Any] = []
    result = dict.fromkeys((key for key, _ in TYPE[1:]), 0.5), np.zeros((3, 7), np.float32)
    made._invokers = {
        name: lambda *args, name=name: calls.append((name, len(args))) or result
        for name in client.SIGNATURES
    }
    methods = [name for name, value in vars(client).items() if callable(value)]
    for name in methods:
        assert getattr(made, name)(*[0.5] * len(HOSTILE)) is result
    assert calls == [(name, len(HOSTILE)) for name in client.SIGNATURES]


def test_hostile_names_in_c(tmp_path: Path) -> None:
    write(tmp_path, "m.h", text_of("c-header", hostile(tmp_path)))
    compile_header(tmp_path, "m.h")


IN_HEADERS = [
    *("int32_t", "size_t", "iree_runtime_call_t", "iree_runtime_call_initialize_by_name"),
    *("iree_status_is_ok", "iree_vm_value_make_i32", "fnabi_stub_push", "fnabi_stub_value_at"),
    *("functions", "functions_", "values-1", "values_1", "values_1_", "shape_2", "t"),
    *(
        "C",
        "FUNCTION_COUNT",
        "MODULE_NAME",
        "vm_value_make_i32",
        "stub_push",
        "y",
        "y_value",
        "errno",
        "call",
    ),
]
"""Names that a C header has itself, or the headers before it, also after a prefix."""


@pytest.mark.parametrize(
    "name", ["m", "M", "iree", "IREE", "fnabi_stub", "fnabi", "int32", "INT64"]
)
def test_names_of_c_headers(name: str, tmp_path: Path) -> None:
    arguments = [["named", each, "i32"] for each in IN_HEADERS]
    results = [["y", "i32"], ["y_value", "i32"], ["z", ["ndarray", "f32", 1, 3]]]
    described = json.dumps({"a": arguments, "r": [["sdict", *results]]}).encode()
    convention = b"0" + b"i" * len(IN_HEADERS) + b"_iir"
    functions = [(each.encode(), convention, attributes(abi=described)) for each in IN_HEADERS]
    with vmfb.from_buffer(exporting(*functions, name=name.encode())) as opened:
        text = FORMATS["c-header"](opened, "m").text
    write(tmp_path, "m.h", text)
    compile_header(tmp_path, "m.h")
    prefix = f"module_{name}" if name.lower().startswith(("iree", "fnabi")) else name
    assert f" {prefix}_functions_" in text
    assert f"static inline iree_status_t {prefix}_call(" in text


@pytest.mark.parametrize("names", [["run.v2", "run_v2"], ["call.", "call_"], ["t", "t_"]])
def test_names_that_need_no_change_are_kept(names: list[str]) -> None:
    altered, kept = names
    same = json.dumps({"a": [["named", each, "i32"] for each in names], "r": []}).encode()
    functions = [(each.encode(), b"0ii_v", attributes(abi=same)) for each in names]
    for made in (functions, functions[::-1]):
        with vmfb.from_buffer(exporting(*made)) as opened:
            stubs = {format: generate(opened, "m").text for format, generate in FORMATS.items()}
        if altered != "t":  # which is a name of C alone
            methods = stubs["python"].split(f"def {kept}(")[1].split("def ")
            assert f'self._call("{kept}", ' in methods[0]
        header = stubs["c-header"].split(f"iree_status_t m_{kept}(")[1]
        assert f'M_MODULE_NAME ".{kept}"' in header.split("static inline")[0]


def test_c_headers_have_a_long_name_of_a_module_once(tmp_path: Path) -> None:
    """Names of functions begin with it, so that many would multiply it."""
    name = "n" * 4000  # a C compiler need not take more than 4095
    functions = [(each.encode(), b"0v_v", attributes()) for each in ("f", "g", "h?")]
    with vmfb.from_buffer(exporting(*functions, name=name.encode())) as opened:
        text = FORMATS["c-header"](opened, "m").text
    assert text.count(name) == 2  # with the comment
    write(tmp_path, "m.h", text)
    compile_header(tmp_path, "m.h")


KEYWORDS = re.findall(
    r"\w+",
    """
    _Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Float32 _Fract _Generic
    _Imaginary _Noreturn _Pragma _Static_assert _Thread_local alignas alignof and and_eq asm
    auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue
    decltype default delete do double dynamic_cast else enum explicit export extern false float
    for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
    operator or or_eq private protected public register reinterpret_cast requires restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned
    using virtual void volatile wchar_t while xor xor_eq
    """,
)
"""Of C23, C++26 and their compilers."""


def test_arguments_named_as_keywords_of_c(tmp_path: Path) -> None:
    arguments = [["named", each, "i32"] for each in KEYWORDS]
    results = ["sdict", *([each, "i32"] for each in KEYWORDS)]
    takes = json.dumps({"a": arguments, "r": []}).encode()
    gives = json.dumps({"a": [], "r": [results]}).encode()
    registers = b"i" * len(KEYWORDS)
    functions = (
        (b"takes", b"0" + registers + b"_v", attributes(abi=takes)),
        (b"gives", b"0v_" + registers, attributes(abi=gives)),
    )
    with vmfb.from_buffer(exporting(*functions)) as opened:
        write(tmp_path, "m.h", FORMATS["c-header"](opened, "m").text)
    compile_header(tmp_path, "m.h")
    compile_header(tmp_path, "m.h", standards=("gnu2x", "c++20"))


def test_hostile_names_in_schemas(tmp_path: Path) -> None:
    path = hostile(tmp_path)
    schema = json.loads(text_of("json-schema", path))
    names = [name.decode("utf-8", "surrogateescape") for name in HOSTILE]
    assert [*schema["$defs"]][: len(names)] == names
    inputs = schema["$defs"]["class"]["properties"]["inputs"]
    assert inputs["required"] == [name.decode("utf-8", "replace") for name in HOSTILE]


def test_hostile_names_on_command_lines(tmp_path: Path) -> None:
    path = hostile(tmp_path)
    with vmfb.open(path) as opened:
        stub = FORMATS["iree-run-module"](opened, str(path))
    lines = [shlex.split(line) for line in stub.text.splitlines() if line[:1] not in ("#", "")]
    functions = [line[2].removeprefix("--function=") for line in lines]
    texts = [name.decode("utf-8", "surrogateescape") for name in HOSTILE]
    assert functions == [name for name in texts if name and name.isprintable()]
    assert all(line[1] == f"--module={path}" for line in lines)
    for name in texts:
        spelled = name in functions
        assert spelled or any(ascii(name)[1:-1] in each for each in stub.notices)
    script = f"iree-run-module() {{ :; }}\n{stub.text}"
    assert subprocess.run(["bash", "-c", script], capture_output=True).returncode == 0


def test_nothing_is_left_out_silently(tmp_path: Path) -> None:
    path = hostile(tmp_path)
    for format, stub in stubs(path):
        twice = [each for each in stub.notices if each.startswith('"class" is exported twice')]
        assert len(twice) == 1, format
        assert "exported twice" in stub.text or format == "iree-run-module"
    done = run("stub", path)
    assert done.err == ('fnabi: notice: "class" is exported twice; the first one is called\n')
    broken = MODULES / "abi_broken.vmfb"
    for format, stub in stubs(broken):
        assert sum("has a description that is malformed" in each for each in stub.notices) > 5
        assert "bad_blank" in stub.text, format
    for format, stub in stubs(MODULES / "async_fences.vmfb"):
        assert stub.notices == (), format
    fences = text_of("c-header", MODULES / "async_fences.vmfb")
    assert "iree_hal_fence_t* wait_fence,\n    iree_hal_fence_t* signal_fence," in fences
    stub = FORMATS["c-header"](vmfb.open(MODULES / "abi_records.vmfb"), "m")
    notice = '"prims" has no C function: its description has 5 arguments, and its calling'
    assert stub.notices[0] == f"{notice} convention 1"
    assert f"/* {stub.notices[0]}. */" in stub.text
    same = json.dumps({"a": [["named", "x", "i32"], ["named", "x", "i32"]], "r": []}).encode()
    data = exporting((b"f", b"0ii_v", attributes(abi=same)))
    stub = FORMATS["json-schema"](vmfb.from_buffer(data), "m")
    assert stub.notices == ('"f" has two values named "x"; the second is "x_2"',)
    assert [*json.loads(stub.text)["$defs"]["f"]["properties"]["inputs"]["properties"]] == [
        "x",
        "x_2",
    ]


def described(arguments: list[Any], results: list[Any]) -> Vector:
    return attributes(abi=json.dumps({"a": arguments, "r": results}).encode())


def test_functions_that_a_target_cannot_express() -> None:
    data = exporting(
        (b"variadic", b"0CiD_v", described(["i32"], [])),
        (b"bad", b"0qq", described(["i32"], [])),
        (b"deep", b"0r_v", described([["slist", "i32"]], [])),
        (b"short", b"0ii_i", described(["i32"], ["i32"])),
        (b"long", b"0i_i", described(["i32"], ["i32", "f32"])),
    )
    stubs = {each: FORMATS[each](vmfb.from_buffer(data), "m") for each in FORMATS}
    for target, what in (("c-header", "C function"), ("python", "method")):
        assert stubs[target].notices == (
            f'"variadic" has no {what}: it is variadic',
            f'"bad" has no {what}: its calling convention is malformed: unknown register type at'
            " byte 1 in arguments[0], expected 'i', 'I', 'f', 'F', 'r', 'C' or '_'",
            f'"short" has no {what}: its description has 1 arguments, and its calling convention 2',
            f'"long" has no {what}: its description has 2 results, and its calling convention 1',
        )
    assert "def deep(self" in stubs["python"].text
    assert "def short(self" not in stubs["python"].text
    assert stubs["iree-run-module"].notices == (
        '"deep": iree-run-module has no notation for [i32]',
    )
    assert stubs["json-schema"].notices == ()


def test_a_structure_as_the_only_result_is_an_output_for_each_slot() -> None:
    data = exporting(
        (b"listed", b"0v_if", described([], [["slist", "i32", "f32"]])),
        (b"keyed", b"0v_if", described([], [["sdict", ["a", "i32"], ["b", "f32"]]])),
    )
    text = FORMATS["c-header"](vmfb.from_buffer(data), "m").text
    session = "    iree_runtime_session_t* session,\n"
    assert f"m_listed(\n{session}    int32_t* result0_0,\n    float* result0_1) {{" in text
    assert f"m_keyed(\n{session}    int32_t* a,\n    float* b) {{" in text


def test_arrays_of_structures() -> None:
    data = exporting((b"f", b"0r_v", described([["ndarray", ["slist", "i32"], 2, 3, None]], [])))
    opened = vmfb.from_buffer(data)
    schema = json.loads(FORMATS["json-schema"](opened, "m").text)
    inputs = schema["$defs"]["f"]["properties"]["inputs"]
    rows = inputs["properties"]["input0"]
    assert rows.pop("description") == "array<[i32]>[3x?]"
    item = {"type": "array", "prefixItems": [{"$ref": "#/$defs/i32"}], "minItems": 1, "maxItems": 1}
    columns = {"type": "array", "items": item}
    index = {"x-fnabi-index": 0}
    assert rows == {"type": "array", "items": columns, "minItems": 3, "maxItems": 3} | index
    text = FORMATS["python"](opened, "m").text
    assert (
        'types.RefArray(types.List((types.Scalar(types.DType("signless", 32)),)), (3, None)),'
        in text
    )
    assert "def f(self, input0: Any) -> None:" in text


def test_a_client_of_a_module_at_a_url() -> None:
    with vmfb.open(CLASSIFIER) as opened:
        text = FORMATS["python"](opened, "https://host/m.vmfb", output="client.py").text
    assert '    MODULE = "https://host/m.vmfb"\n' in text


@pytest.mark.parametrize("format", FORMATS)
def test_chosen_functions(format: str) -> None:
    text = text_of(format, CLASSIFIER, only=["dense"])
    assert "dense" in text
    assert "normalize" not in text
    done = run("stub", f"--language={format}", "--function=none", CLASSIFIER)
    text = "no function is named 'none', expected normalize, dense, version, __init"
    assert done == Run(1, "", f"fnabi: {CLASSIFIER}: {text}\n")


# ---------------------------------------------------------------------------------------- client


def test_client(tmp_path: Path) -> None:
    pytest.importorskip("iree.runtime")
    module = tmp_path / "classifier.vmfb"
    module.write_bytes(CLASSIFIER.read_bytes())
    output = tmp_path / "classifier.py"
    assert run("stub", "-o", output, module) == Run(0, "", "")
    write(
        tmp_path,
        "use.py",
        "import numpy as np\nfrom classifier import Classifier\n"
        "model = Classifier(Classifier.MODULE)\n"
        "version: int = model.version()\n"
        "x = model.normalize(np.ones((2, 64), np.uint8), 2.0)\n"
        "logits = model.dense(x, np.ones((64, 10), np.float32), np.ones(10, np.float32))\n"
        "print(version, logits.shape, logits.dtype)\n",
    )
    check(tmp_path, "classifier.py", "use.py")
    done = subprocess.run(
        [sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.returncode) == ("3 (2, 10) float32\n", 0)
    write(
        tmp_path,
        "wrong.py",
        "import numpy as np\nfrom classifier import Classifier\n"
        "Classifier('m').normalize(np.ones((2, 64), np.float32), 2.0)\n",
    )
    with pytest.raises(AssertionError, match=r'Argument 1 to "normalize" .* has incompatible'):
        check(tmp_path, "wrong.py")


def test_client_without_numpy(tmp_path: Path) -> None:
    output = tmp_path / "classifier.py"
    assert run("stub", "-o", output, CLASSIFIER) == Run(0, "", "")
    for missing, why in (
        ("raise ModuleNotFoundError(name='numpy')", "is not installed (pip install numpy)"),
        ("raise ImportError('damaged')", "cannot be imported: damaged"),
    ):
        write(tmp_path, "numpy.py", missing)
        done = subprocess.run(
            [sys.executable, output], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.stderr.endswith(f"MissingPackageError: __main__: NumPy {why}\n")
        assert "During handling" not in done.stderr


def test_client_checks_arguments(tmp_path: Path) -> None:
    pytest.importorskip("iree.runtime")
    generated = imported(write(tmp_path, "c.py", text_of("python", CLASSIFIER)))
    model = generated.Classifier(CLASSIFIER)
    kernel, bias = np.ones((64, 10), np.float32), np.ones(10, np.float32)
    x = np.ones((2, 64), np.float32)
    for args, text in (
        ((np.ones((2, 64)), kernel, bias), "'input0': expected float32[?x64], got float64[2x64]"),
        ((x[:, :63], kernel, bias), "'input0': expected float32[?x64], got float32[2x63]"),
        ((x[0], kernel, bias), "'input0': expected float32[?x64], got float32[64]"),
        ((x, [1], bias), "'input1': expected float32[64x10], got list"),
        (
            (x, kernel, np.array([{}] * 10)),
            "'input2': expected float32[10], got ndarray of object",
        ),
    ):
        with pytest.raises(CallError) as caught:
            model.dense(*args)
        assert str(caught.value) == f"Classifier.dense: argument {text}"
    with pytest.raises(CallError, match=r"^Classifier\.dense: argument 0: the array has a mask"):
        model.dense(np.ma.array(x, mask=x > 0), kernel, bias)
    bytes_ = np.ones((2, 64), np.uint8)
    for value, kind in (("1", "str"), (bias, "ndarray"), (None, "NoneType")):
        with pytest.raises(CallError) as caught:
            model.normalize(bytes_, value)
        assert str(caught.value) == (
            f"Classifier.normalize: argument 'input1': expected float32, got {kind}"
        )
    assert model.normalize(bytes_.view(np.int8), np.float32(2)).shape == (2, 64)


def test_client_of_asynchronous_functions(tmp_path: Path) -> None:
    pytest.importorskip("iree.runtime")
    path = DATA / "bytecode_types" / "torch_mlp@3.13.0@vmvx.vmfb"
    generated = imported(write(tmp_path, "c.py", text_of("python", path)))
    assert generated.Mlp.ASYNCHRONOUS == ["main$async"]
    model = generated.Mlp(path)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert model.main_async(x).tolist() == model.main(x).tolist()
    with pytest.raises(CallError, match=r"^Mlp.main\$async: argument 0: expected float32\[\?x4\]"):
        model.main_async(x[0])
    fences = imported(write(tmp_path, "f.py", text_of("python", MODULES / "async_fences.vmfb")))
    plus = fences.Module(MODULES / "async_fences.vmfb").plus
    one = np.ones(3, np.float32)
    assert plus(one, one).tolist() == [2.0, 2.0, 2.0]


def test_client_passes_small_floats(tmp_path: Path) -> None:
    pytest.importorskip("iree.runtime")
    pytest.importorskip("ml_dtypes")
    path = DATA / "bytecode_types" / "func_abi@3.13.0@vmvx.vmfb"
    generated = imported(write(tmp_path, "c.py", text_of("python", path)))
    given = (True, 2, 3, 4, 5, 1.5, -2.5, 6.5, 7.5, 8)
    assert generated.FuncAbi(path).scalars(*given) == given
    older = generated.FuncAbi.__new__(generated.FuncAbi)
    conventions = older._check_functions(DATA / "bytecode_types" / "func_abi@3.10.0@vmvx.vmfb")
    assert conventions["scalars"] == "0iiiiIfffFI_iiiiIfffFI"


def test_client_of_another_module(tmp_path: Path) -> None:
    generated = imported(write(tmp_path, "c.py", text_of("python", CLASSIFIER)))
    with pytest.raises(NotFoundError, match=r"^Classifier: .*: no function is named 'normalize'$"):
        generated.Classifier(MODULES / "scalars.vmfb")
    data = CLASSIFIER.read_bytes().replace(b"tensor<64x10xf32>", b"tensor<64x11xf32>")
    (tmp_path / "other.vmfb").write_bytes(data)
    with pytest.raises(CallError, match=r": dense: expected the signature .*64x10.*, got .*64x11"):
        generated.Classifier(tmp_path / "other.vmfb")


def test_client_checks_structures(tmp_path: Path) -> None:
    abi = json.loads(vmfb.open(MODULES / "abi_records.vmfb").exports["structs"].attrs["iree.abi"])
    data = exporting((b"structs", b"0rrr_f", described(abi["a"], abi["r"])))
    text = FORMATS["python"](vmfb.from_buffer(data), "m").text
    model: type[Client] = imported(write(tmp_path, "c.py", text)).M
    with pytest.raises(
        CallError, match=r"^client\.Client: path: missing, expected that of the \.vmfb file"
    ):
        model()
    made: Any = model.__new__(model)
    made._invokers = {"structs": lambda *args: {"out": 1.5}}
    array = np.zeros(2, np.float32)
    square = np.zeros((2, 2), np.int32)
    good = [1, None, array], (1.0, 2.0), {"a": 1, "b": square}
    assert made.structs(*good) == {"out": 1.5}
    for place, value, text in (
        (0, [1, None, array[:1]], "0: [2]: expected float32[2], got float32[1]"),
        (0, [1, 2, array], "0: [1]: expected None, got int"),
        (1, (1.0, "x"), "1: [1]: expected float64, got str"),
        (2, {"a": 1.5, "b": square}, "2: ['a']: expected i32, got float"),
    ):
        args = [*good]
        args[place] = value
        with pytest.raises(CallError) as caught:
            made.structs(*args)
        assert str(caught.value) == f"M.structs: argument {text}"
    made._invokers = {"structs": lambda *args: {"out": "x"}}
    with pytest.raises(CallError, match=r"^M.structs: result 0: \['out'\]: expected float32"):
        made.structs(*good)


def test_clients_pass_the_type_checker(tmp_path: Path) -> None:
    files = []
    for index, path in enumerate(SOME):
        files.append(f"client{index}.py")
        write(tmp_path, files[-1], text_of("python", path))
        imported(tmp_path / files[-1])
    check(tmp_path, *files)


def test_a_method_does_not_hide_the_class_of_a_structure(tmp_path: Path) -> None:
    """Hints in a class name what the class has before they name what the module has."""
    pair = [["named", "p", ["sdict", ["x", "i32"]]]]
    signature = described(pair, ["i32"])
    named = [(name, b"0r_i", signature) for name in (b"h", b"HP", b"M", b"last")]
    text = FORMATS["python"](vmfb.from_buffer(exporting(*named)), "m").text
    assert "class M(Client):" in text
    write(tmp_path, "client.py", text)
    check(tmp_path, "client.py")


# --------------------------------------------------------------------------------------- schemas


def test_json_schema_describes_the_arguments() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    with vmfb.open(CLASSIFIER) as opened:
        examples = {export.name: export.example_arrays() for export in opened.exports.values()}
    schema = json.loads(text_of("json-schema", CLASSIFIER))
    validator = jsonschema.Draft202012Validator
    validator.check_schema(schema)

    def errors(function: str, inputs: dict[str, Any]) -> list[Any]:
        reference = {"$ref": f"#/$defs/{function}/properties/inputs"}
        return list(validator(schema | reference).iter_errors(inputs))

    inputs = {f"input{index}": each.tolist() for index, each in enumerate(examples["dense"])}
    assert errors("dense", inputs) == []
    assert errors("dense", inputs | {"input2": ["NaN", "-Infinity", *[1] * 8]}) == []
    for bad in (
        {"input2": [1.0] * 9},
        {"input2": ["nan"] * 10},
        {"input2": [[1.0]] * 10},
        {"input3": 1},
    ):
        assert len(errors("dense", inputs | bad)) >= 1
    assert errors("dense", {key: inputs[key] for key in ("input0", "input1")}) != []
    scale = {"input0": [[-128] * 64, [255] * 64], "input1": 1}
    assert errors("normalize", scale) == []
    assert errors("normalize", scale | {"input0": [[256] * 64]}) != []


@pytest.mark.parametrize("dims", [32, 33, 3000])
def test_schemas_of_many_dims(dims: int) -> None:
    """What takes the array says so of any number of dims, within a bound of text."""
    abi = b'{"a":[["ndarray","f32",%d%s]],"r":[]}' % (dims, b",2" * dims)
    data = exporting((b"f", b"0r_v", attributes(abi=abi)))
    stub = FORMATS["json-schema"](vmfb.from_buffer(data), "m")
    assert len(stub.text) < 64 * len(data)
    whole = dims == 32
    why = '"f": "input0": more than 32 dims; the schema has the first alone'
    assert stub.notices == (() if whole else (why,))
    inputs = json.loads(stub.text)["$defs"]["f"]["properties"]["inputs"]
    found, levels = inputs["properties"]["input0"], 0
    while found.get("type") == "array":
        assert found["minItems"] == found["maxItems"] == 2
        found, levels = found["items"], levels + 1
    assert (levels, found) == ((32, {"$ref": "#/$defs/float32"}) if whole else (1, {}))


def test_schemas_of_empty_structures() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    abi = b'{"a":[["stuple"],["slist"],["sdict"]],"r":[]}'
    data = exporting((b"f", b"0rrr_v", attributes(abi=abi)))
    schema = json.loads(FORMATS["json-schema"](vmfb.from_buffer(data), "m").text)
    jsonschema.Draft202012Validator.check_schema(schema)
    inputs = schema["$defs"]["f"]["properties"]["inputs"]
    good: dict[str, Any] = {"input0": [], "input1": [], "input2": {}}
    jsonschema.Draft202012Validator(inputs).validate(good)
    for bad in {"input0": [1]}, {"input1": [1]}, {"input2": {"a": 1}}:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(inputs).validate(good | bad)


@pytest.mark.parametrize("bits", [4096, 4097, 16777215])
def test_schemas_of_large_integers(bits: int) -> None:
    """Python writes no int of so many digits."""
    data = exporting((b"f", b"0i_v", attributes(abi=b'{"a":["i%d"],"r":[]}' % bits)))
    stub = FORMATS["json-schema"](vmfb.from_buffer(data), "m")
    schema = json.loads(stub.text)["$defs"]
    found = schema["f"]["properties"]["inputs"]["properties"]["input0"]
    why = f'"f": "input0": i{bits} has more than 4096 bits; the schema has no bounds'
    if bits > 4096:
        assert (found, stub.notices) == ({"type": "integer", "x-fnabi-index": 0}, (why,))
    else:
        assert schema["i4096"]["maximum"] == 2**4096 - 1
        assert stub.notices == ()


def test_schemas_are_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for path in SOME:
        schema = json.loads(text_of("json-schema", path))
        jsonschema.Draft202012Validator.check_schema(schema)


# -------------------------------------------------------------------------------------- C headers


def compile_header(
    folder: Path, *headers: str, standards: tuple[str, str] = ("c11", "c++17")
) -> None:
    lines = [f'#include "{name}"' for name in headers]
    alone = "\n".join([*lines, "int main(void) { return 0; }"])
    calls = '#include "iree/runtime/api.h"\n' + alone
    iree = f"-I{DATA / 'stub'}"
    strict = ("-Wall", "-Wextra", "-Werror", "-fsyntax-only")
    for text, flags in ((alone, ["-Wpedantic"]), (calls, [iree])):
        for compiler, standard, name in zip(("cc", "c++"), standards, ("u.c", "u.cc"), strict=True):
            write(folder, name, text)
            command = [found(compiler), f"-std={standard}", *strict, *flags, name]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, "")


def test_headers_compile(tmp_path: Path) -> None:
    for index, path in enumerate(SOME):
        write(tmp_path, f"m{index}.h", text_of("c-header", path))
        compile_header(tmp_path, f"m{index}.h")
    compile_header(tmp_path, "m0.h", f"m{len(SOME) - 1}.h")


def test_headers_of_modules_with_one_name_do_not_hide_each_other(tmp_path: Path) -> None:
    """Modules are named ``module`` unless their compiler is told something else."""
    for name, source in ("a", "scalars"), ("b", "vm_sigs"):
        opened = vmfb.open(MODULES / f"{source}.vmfb")
        opened._head = replace(opened._head, name="module")
        write(tmp_path, f"{name}.h", FORMATS["c-header"](opened, name).text)
    command = [found("cc"), "-Wall", "-Werror", "-c", "main.c"]
    for second, status in ("a", 0), ("b", 1):
        write(tmp_path, "main.c", f'#include "a.h"\n#include "{second}.h"\n')
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        assert ("the header of another module with the same name" in done.stderr) is bool(status)


def test_what_a_header_describes(tmp_path: Path) -> None:
    write(tmp_path, "classifier.h", text_of("c-header", CLASSIFIER))
    program = r"""
#include <stdio.h>
#include "classifier.h"
int main(void) {
  for (int i = 0; i < CLASSIFIER_FUNCTION_COUNT; i++) {
    const fnabi_stub_function* f = &classifier_functions[i];
    printf("%s %zu %s", f->name, f->name_size, f->calling_convention);
    for (size_t j = 0; j < f->input_count; j++) {
      const fnabi_stub_value* v = &f->inputs[j];
      printf(" %s:%d:%#x", v->name, (int)v->kind, (unsigned)v->element_type);
      for (int d = 0; d < v->rank; d++) printf("[%lld]", (long long)v->shape[d]);
    }
    puts("");
  }
  return 0;
}
"""
    write(tmp_path, "main.c", program)
    subprocess.run([found("cc"), "-Wall", "-Werror", "main.c"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "a.out"], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "classifier.normalize 20 0rf_r input0:1:0x10000008[-1][64] input1:0:0x21000020",
        "classifier.dense 16 0rrr_r input0:1:0x21000020[-1][64] input1:1:0x21000020[64][10]"
        " input2:1:0x21000020[10]",
        "classifier.version 18 0v_i",
    ]


def test_calls_of_a_header(tmp_path: Path) -> None:
    write(tmp_path, "registers.h", text_of("c-header", MODULES / "vm_sigs.vmfb"))
    write(tmp_path, "asynchronous.h", text_of("c-header", MODULES / "async_fences.vmfb"))
    source = DATA / "stub" / "calls.c"
    flags = ["-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    command = [found("cc"), *flags, f"-I{tmp_path}", f"-I{source.parent}", source]
    subprocess.run([*command, "-o", tmp_path / "calls"], check=True)
    done = subprocess.run([tmp_path / "calls"], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "sigs.a_all i32:1 i64:2 f32:3.5 f64:4.5 ref i32:6",
        "1 0.5 1.5 -7 8 out",
        "sigs.a_all i32:1 i64:2 f32:3.5 f64:4.5 ref i32:6",
        "0 0 0 1",
        "module.plus view0 view1 fence fence",
        "1 sum",
        "module.plus view0 view1 fence fence",
        "0 1",
        "0 open, 0 live",
    ]


def test_functions_of_a_header() -> None:
    text = text_of("c-header", CLASSIFIER)
    assert (
        """\
static inline iree_status_t classifier_normalize(
    iree_runtime_session_t* session,
    iree_hal_buffer_view_t* input0,
    float input1,
    iree_hal_buffer_view_t** output0) {
"""
        in text
    )
    assert "    int32_t* output0) {\n" in text  # of version


# ----------------------------------------------------------------------------------- command lines


@pytest.mark.skipif(RUNNER is None, reason="iree-run-module is not installed")
def test_command_lines_run(tmp_path: Path) -> None:
    assert RUNNER is not None
    done = run("stub", "--language=iree-run-module", "--dim=2", CLASSIFIER)
    assert (done.status, done.err) == (0, "")
    folder = os.path.dirname(RUNNER)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "-e", "-c", done.out], capture_output=True, text=True, env=environment
    )
    assert (ran.returncode, ran.stdout.count("EXEC @")) == (0, 3)
    assert "2x10xf32=" in ran.stdout


CHANGED_BY_THE_RUNNER = [
    *("m@2.vmfb", "@", "folder@2/m.vmfb", " before.vmfb", "after.vmfb ", "tab\t"),
    *("m.so", "m.dll", "m.dylib", 'it\'s @ "m".so', "\ta", "\x1bit's@\\n"),
]
"""Paths that ``iree-run-module --module=`` takes for others."""


@pytest.mark.skipif(RUNNER is None, reason="iree-run-module is not installed")
@pytest.mark.parametrize(
    "path", [*CHANGED_BY_THE_RUNNER, "-m.vmfb", "a=b,c.vmfb", "\x1b.vmfb", "m.so.1"]
)
def test_command_lines_run_whatever_the_path(path: str, tmp_path: Path) -> None:
    assert RUNNER is not None
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(CLASSIFIER.read_bytes())
    environment = os.environ | {"PATH": f"{os.path.dirname(RUNNER)}:{os.environ['PATH']}"}
    with vmfb.open(file) as opened:
        text = FORMATS["iree-run-module"](opened, path, only=["version"]).text
    assert text.replace("\n", "").isprintable()
    words = shlex.split(text.splitlines()[-1])
    assert (words[1] == "--module=-") == (path in CHANGED_BY_THE_RUNNER)
    if path.isprintable() and path not in CHANGED_BY_THE_RUNNER:
        assert words[1] == f"--module={path}"
    shells = [["bash", "-e", "-c", text]]
    if words[1] == "--module=-":  # and the plain spelling is refused
        shells.append([RUNNER, f"--module={path}", "--function=version"])
    codes = []
    for shell in shells:
        done = subprocess.run(
            shell, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60
        )
        codes.append((done.returncode == 0, "i32=3" in done.stdout))
    assert codes == [(True, True), (False, False)][: len(codes)]


def test_a_name_that_the_runner_would_strip_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "m.vmfb"
    path.write_bytes(exporting(*((name, b"0v_v", attributes()) for name in (b" a", b"b ", b"a@b"))))
    done = run("stub", "--language=iree-run-module", path)
    assert done.err == "".join(
        f'fnabi: notice: "{name}" has no spelling on a command line\n' for name in (" a", "b ")
    )
    assert [line for line in done.out.splitlines() if line.startswith("iree-run-module")] == [
        f"iree-run-module --module={path} --function=a@b"
    ]


def test_command_lines_for_a_url_are_for_a_copy() -> None:
    with vmfb.open(CLASSIFIER) as opened:
        stub = FORMATS["iree-run-module"](opened, "https://host/a@b/m.vmfb", only=["version"])
    assert " --module=m.vmfb " in stub.text
    assert stub.notices == (
        "iree-run-module opens no URLs; these command lines are for a copy, m.vmfb",
    )


def test_command_lines_name_devices_and_parameters() -> None:
    text = text_of("iree-run-module", DATA / "bytecode_types" / "torch_params@3.13.0@vmvx.vmfb")
    assert " --device=local-task --parameters=model=model.irpa --function=main " in text


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((None, "m"), "module: expected Module, got NoneType"),
        ((..., b"m"), "path: expected str or os.PathLike, got bytes"),
        ((..., "m", 3), "output: expected str or os.PathLike, got int"),
        ((..., "m", None, "version"), "only: expected an iterable of str, got str"),
        ((..., "m", None, [3]), "only[0]: expected str, got int"),
    ],
)
def test_arguments_are_checked(format: str, words: tuple[Any, ...], text: str) -> None:
    names = ("output", "only")
    with vmfb.open(CLASSIFIER) as opened:
        given: list[Any] = [opened if each is ... else each for each in words]
        with pytest.raises(ArgumentTypeError, match=re.escape(f"stub.FORMATS: {text}")):
            FORMATS[format](*given[:2], **dict(zip(names, given[2:], strict=False)))
