"""The header, the binding that is made from it, and the Python names beside its numbers."""

from __future__ import annotations

import re
import subprocess
import sys
from enum import IntEnum

import pytest

from fnabi import ComponentType, types
from fnabi._base import core
from fnabi._fnabi import ffi, lib
from fnabi.dropin.signature_mangle import Description, ScalarType
from support import grammar
from support.paths import ROOT

CSRC = ROOT / "csrc"
FENCED = (CSRC / "fnabi.h").read_text().split("/* cdef: begin */")[1].split("/* cdef: end */")[0]
CODE = re.sub(r"/\*.*?\*/", "", FENCED, flags=re.DOTALL)

STRUCT_SIZES = {
    "fnabi_error": 4 + 4 + 8 + 8 + 8 + 128,
    "fnabi_component": 4 * 4 + 3 * 8,
    "fnabi_any": 16,
    "fnabi_arrow_source": 5 * 8,
    "fnabi_byte_array": 16,
    "fnabi_dl_dtype": 4,
    "fnabi_dl_device": 8,
    "fnabi_dl_tensor": 48,
    "fnabi_object": 24,
    "fnabi_bytes_object": 24 + 16,
    "fnabi_shape_object": 24 + 16,
    "fnabi_error_object": 24 + 72,
    "fnabi_function_object": 24 + 16,
    "fnabi_tensor_object": 24 + 48,
    "fnabi_seq_object": 24 + 32,
    "fnabi_map_object": 24 + 32,
    "fnabi_opaque_object": 24 + 8,
    "fnabi_big_int_object": 24 + 8,
    "fnabi_type_metadata": 16 + 8 + 2 * 4,
    "fnabi_type_info": 2 * 4 + 16 + 2 * 8 + 2 * 4 + 3 * 8,
    "fnabi_field_info": 3 * 16 + 4 * 8 + 2 * 8 + 16 + 8,
    "fnabi_method_info": 3 * 16 + 8 + 16,
    "fnabi_type_column": 8 + 2 * 4,
}

CODES: dict[str, int] = {name: number for number, name in ffi.typeof("fnabi_code").elements.items()}
COUNT = CODES.pop("FNABI_CODE_COUNT")


def test_every_declared_function_is_there() -> None:
    declared = re.findall(r"FNABI_API [^;()]*?(\w+)\(", CODE)
    assert len(declared) == len(set(declared)) == CODE.count("FNABI_API")
    functions = [name for name in dir(lib) if callable(getattr(lib, name))]
    recipe = (CSRC / "ffi_build.py").read_text()
    more = re.findall(r"cdef\([^\n]*\n +\"{3}(.*?)\"{3}", recipe, flags=re.DOTALL)
    given = re.findall(r"(\w+)\(.*;", "".join(more))
    assert sorted(functions) == sorted(declared + given)


def test_nothing_is_declared_without_its_prefix() -> None:
    assert re.findall(r"^\w.*\w+\(", CODE, flags=re.MULTILINE) == re.findall(
        r"^FNABI_API .*\w+\(", CODE, flags=re.MULTILINE
    )
    for name in dir(lib):
        assert re.fullmatch(r"fnabi_\w+|FNABI_[A-Z0-9_]+", name)


def test_structs_have_their_sizes() -> None:
    # A struct that is added to the header is added here: its size is part of the contract.
    assert set(re.findall(r"typedef struct (\w+) \{", CODE)) == set(STRUCT_SIZES)
    for name, size in STRUCT_SIZES.items():
        assert ffi.sizeof(name) == size
        assert bytes(ffi.buffer(ffi.new(f"{name} *"))) == bytes(size)
    error = ffi.new("fnabi_error *")
    assert ffi.sizeof(error.path) == lib.FNABI_PATH_SIZE
    assert error.expected == error.found == ffi.NULL


def enumerators(enum: str, prefix: str) -> dict[str, int]:
    elements = ffi.typeof(enum).elements
    assert all(name.startswith(prefix) for name in elements.values())
    return {name.removeprefix(prefix): number for number, name in elements.items()}


def members(enum: type[IntEnum]) -> dict[str, int]:
    return {member.name: member.value for member in enum}


def test_component_types() -> None:
    assert members(ComponentType) == enumerators("fnabi_component_type", "FNABI_COMPONENT_")


def test_types_have_the_tags_of_the_core() -> None:
    tags = {
        name: item.__struct_config__.tag
        for name, item in vars(types).items()
        if name in types.__all__ and getattr(item, "__struct_config__", None)
    }
    assert tags.pop("DType") is None
    assert tags.pop("Signature") is None
    in_c = {re.sub("(?<=[a-z])(?=[A-Z])", "_", name).upper(): tag for name, tag in tags.items()}
    assert in_c == enumerators("fnabi_type", "FNABI_TYPE_")


def test_description_types() -> None:
    tags = enumerators("fnabi_type", "FNABI_TYPE_")
    assert members(Description.Type) == {
        "BUFFER": tags["BUFFER"],
        "SCALAR": tags["SCALAR"],
        "REF_OBJECT": tags["REF"],
        "UNRECOGNIZED": tags["UNKNOWN"],
    }


def test_scalar_types() -> None:
    assert len(ScalarType) == lib.FNABI_SCALAR_TYPE_COUNT == len(grammar.SCALAR_TYPES)
    assert [int(item) for item in ScalarType] == list(range(12))
    assert [item.name.split("_")[-1].lower() for item in ScalarType] == [
        name for name, _ in grammar.SCALAR_TYPES
    ]
    assert [str(item) for item in ScalarType] == [name for name, _ in grammar.SCALAR_TYPES]
    assert [item.dtype for item in ScalarType] == grammar.DTYPES
    assert [item.itemsize for item in ScalarType] == [4, 2, 8, 2, 1, 2, 4, 8, 1, 2, 4, 8]


@pytest.mark.parametrize("number", [-1, 12, 2**31 - 1, -(2**31)])
def test_no_other_scalar_types(number: int) -> None:
    assert lib.fnabi_raw_scalar_name(number) == ffi.NULL
    assert lib.fnabi_raw_scalar_size(number) == 0
    assert lib.fnabi_raw_scalar_dtype(number, ffi.NULL, 0) == -1


def test_codes_have_names_and_texts() -> None:
    assert sorted(CODES.values()) == list(range(COUNT))
    for name, number in CODES.items():
        assert core.code_name(number) == name.removeprefix("FNABI_").lower().replace("_", "-")
        assert core.code_text(number)
    texts = [core.code_text(number) for number in range(COUNT)]
    assert len(set(texts)) == COUNT
    for number in (-1, COUNT, 2**31 - 1, -(2**31)):
        assert lib.fnabi_code_name(number) == ffi.NULL
        assert lib.fnabi_code_text(number) == ffi.NULL
        assert lib.fnabi_code_remedy(number) == ffi.NULL


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("FNABI_SYNTAX", "Syntax error in signature"),
        ("FNABI_RAW_INPUTS", "Inputs span not found"),
        ("FNABI_RAW_RESULTS", "Results span not found"),
        ("FNABI_RAW_TAG", "Unrecognized raw tag"),
        ("FNABI_RAW_BUFFER_FIELD", "Unrecognized buffer field tag"),
        ("FNABI_RAW_SCALAR_FIELD", "Unrecognized scalar field tag"),
        ("FNABI_RAW_REF_FIELD", "Unrecognized ref object field tag"),
        ("FNABI_RAW_SCALAR_TYPE", "Illegal ScalarType code"),
        ("FNABI_SIP_INPUTS", "Inputs struct not found"),
        ("FNABI_SIP_RESULTS", "Results struct not found"),
        ("FNABI_SIP_KEY", "Struct key not allowed here"),
        ("FNABI_SIP_VALUE", "Value not allowed here"),
        ("FNABI_SIP_TAG", "Unrecognized tag"),
    ],
)
def test_texts_that_programs_compare(name: str, text: str) -> None:
    assert core.code_text(CODES[name]) == text


def test_importing_loads_nothing_that_is_not_used() -> None:
    code = (
        "import sys, fnabi\n"
        "assert not {'msgspec', 'numpy', 'fnabi._fnabi'} & set(sys.modules)\n"
        "assert set(fnabi.__all__) <= set(dir(fnabi))\n"
        "accessors = {'pandas', 'polars'}  # which add to those packages\n"
        "for name in {*fnabi.__all__} - accessors: getattr(fnabi, name)\n"
        "assert not {'duckdb', 'pyarrow', 'pyspark', 'ray', *accessors} & set(sys.modules)\n"
        "assert fnabi.FormatError is fnabi.errors.FormatError\n"
        "assert 'numpy' not in sys.modules and 'ml_dtypes' not in sys.modules\n"
        "try: fnabi.nothing\n"
        "except AttributeError: pass\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
