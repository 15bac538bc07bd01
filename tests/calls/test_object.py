"""Compare layouts and objects of the core with the headers and library of the package tvm_ffi."""

from __future__ import annotations

import ctypes
import gc
import struct
import subprocess

import pytest

from fnabi._fnabi import ffi
from support.callee import tvm_ffi_folder
from support.programs import found
from support.sanitizers import FOREIGN_FREE

tvm_ffi = pytest.importorskip("tvm_ffi")

HEADER = 24
# Each struct of fnabi.h, its counterpart in tvm_ffi's headers, its offset, and the field names.
STRUCTS = {
    "fnabi_any": ("TVMFFIAny", 0, "type_index zero_padding:small_size v_int64:v_int"),
    "fnabi_byte_array": ("TVMFFIByteArray", 0, "data size"),
    "fnabi_dl_dtype": ("DLDataType", 0, "code bits lanes"),
    "fnabi_dl_device": ("DLDevice", 0, "device_type:type device_id:id"),
    "fnabi_dl_tensor": ("DLTensor", 0, "data device ndim dtype shape strides byte_offset"),
    "fnabi_object": (
        "TVMFFIObject",
        0,
        "combined_ref_count:counts type_index __padding:padding deleter",
    ),
    "fnabi_bytes_object": ("TVMFFIByteArray", HEADER, ""),
    "fnabi_shape_object": ("TVMFFIShapeCell", HEADER, "data:dims size:ndim"),
    "fnabi_error_object": (
        "TVMFFIErrorCell",
        HEADER,
        "kind message backtrace update_backtrace cause_chain:cause extra_context:context",
    ),
    "fnabi_function_object": ("TVMFFIFunctionCell", HEADER, "safe_call:call cpp_call"),
    "fnabi_tensor_object": ("DLTensor", HEADER, ""),
    "fnabi_seq_object": ("TVMFFISeqCell", HEADER, "data size capacity data_deleter"),
    "fnabi_opaque_object": ("TVMFFIOpaqueObjectCell", HEADER, "handle"),
    "fnabi_type_metadata": (
        "TVMFFITypeMetadata",
        0,
        "doc creator total_size structural_eq_hash_kind:equality",
    ),
    "fnabi_type_info": (
        "TVMFFITypeInfo",
        0,
        "type_index type_depth:depth type_key:key type_ancestors:ancestors type_key_hash:key_hash"
        " num_fields:field_count num_methods:method_count fields methods metadata",
    ),
    "fnabi_field_info": (
        "TVMFFIFieldInfo",
        0,
        "name doc metadata flags size alignment offset getter setter"
        " default_value_or_factory:default_value field_static_type_index:static_type_index",
    ),
    "fnabi_method_info": ("TVMFFIMethodInfo", 0, "name doc metadata flags method"),
    "fnabi_type_column": ("TVMFFITypeAttrColumn", 0, "data size begin_index:begin"),
}
# Not in tvm_ffi's C headers: the private layout of maps, and the size before the words.
OWN = {"fnabi_map_object", "fnabi_big_int_object"}
INDEXES = {
    "OBJECT": "StaticObjectBegin",
    "DLTENSOR": "DLTensorPtr",
    "POINTER": "OpaquePtr",
    "DTYPE": "DataType",
    "BYTE_ARRAY": "ByteArrayPtr",
    "RVALUE": "ObjectRValueRef",
    "DYNAMIC": "DynObjectBegin",
    "OPAQUE_PY": "OpaquePyObject",
}


def test_layouts_are_those_of_the_headers(tmp_path) -> None:
    declared = {name for name in ffi.list_types()[0] if ffi.typeof(name).kind == "struct"}
    objects = {name for name in declared if name.endswith("_object")}
    assert objects <= STRUCTS.keys() | OWN
    lines = []
    expected = []
    for name, (theirs, start, fields) in STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({theirs}));')
        expected.append(f"{name} {ffi.sizeof(name) - start}")
        for field in fields.split():
            their, _, own = field.partition(":")
            lines.append(
                f'printf("{name}.{their} %zu %zu\\n", offsetof({theirs}, {their}),'
                f" sizeof((({theirs}*)0)->{their}));"
            )
            declaration = dict(ffi.typeof(name).fields)[own or their]
            offset = ffi.offsetof(name, own or their) - start
            expected.append(f"{name}.{their} {offset} {ffi.sizeof(declaration.type)}")
    elements = ffi.typeof("fnabi_type_index").elements
    for number, name in elements.items():
        short = name.removeprefix("FNABI_INDEX_")
        theirs = INDEXES.get(short) or "".join(part.capitalize() for part in short.split("_"))
        lines.append(f'printf("{name} %d\\n", (int)kTVMFFI{theirs});')
        expected.append(f"{name} {number}")
    text = (
        "#include <stddef.h>\n#include <stdio.h>\n#include <tvm/ffi/c_api.h>\n"
        "int main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
    )
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text(text)
    subprocess.run(
        [found("cc"), f"-I{tvm_ffi_folder()}/include", "-o", program, source], check=True
    )
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == expected


class Text(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t))


def test_type_keys(objects) -> None:
    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    known = set(ffi.typeof("fnabi_type_index").elements) - {128}
    for number in known - {-1}:
        key = objects.type_key(number)
        index = ctypes.c_int32(-1)
        text = Text(key.encode(), len(key))
        assert library.TVMFFITypeKeyToIndex(ctypes.byref(text), ctypes.byref(index)) == 0
        assert index.value == number
    assert [n for n in range(-1, 300) if objects.type_key(n) is not None] == sorted(known)


@pytest.mark.parametrize("text", ["", "seven l", "eight by", "with \0 inside", "ein längerer Text"])
def test_texts(objects, text: str) -> None:
    assert objects.string_new(text) == text
    assert objects.bytes_new(text.encode()) == text.encode()


def test_shapes(objects) -> None:
    assert objects.shape_new(2, 3, -1) == (2, 3, -1)
    assert objects.shape_new() == ()


@pytest.mark.parametrize(
    "value", [0, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64, -(2**64), 2**200, -(3**300)]
)
@pytest.mark.parametrize("extra", [0, 3])
def test_big_ints(objects, value: int, extra: int) -> None:
    size = value.bit_length() // 64 + 1 + extra
    made = objects.int_new(value.to_bytes(8 * size, "little", signed=True))
    assert made == value
    assert objects.equal(made, value)
    assert objects.hash(made) == objects.hash(value)


def test_functions(objects) -> None:
    add = objects.function_new()
    assert [add(1), add(2, 3), add()] == [1, 6, 6]


def test_errors(objects) -> None:
    error = objects.error_new("ValueError", "no such thing", '  File "a.c", line 3, in f\n')
    assert (error.kind, error.message) == ("ValueError", "no such thing")
    assert "a.c" in error.backtrace
    error.update_backtrace('  File "b.c", line 4, in g\n')
    assert "b.c" in error.backtrace


def test_arrays(objects) -> None:
    array = objects.array_new(1, "a string object", b"", None, 2.5, objects.array_new())
    assert isinstance(array, tvm_ffi.Array)
    assert list(array)[:5] == [1, "a string object", b"", None, 2.5]
    assert len(array[5]) == 0
    assert list(objects.list_items(array))[:3] == [1, "a string object", b""]


@pytest.mark.unsanitized(FOREIGN_FREE)
def test_lists_are_changed_by_both(objects) -> None:
    for made in (objects.list_new(1, 2), tvm_ffi.List([1, 2])):
        model = [1, 2]
        for step in range(300):
            at = step * 7 % (len(model) + 1)
            if step % 3:
                value = f"value number {step}"
                (objects.list_insert if step % 2 else type(made).insert)(made, at, value)
                model.insert(at, value)
            elif at < len(model):
                if step % 2:
                    objects.list_erase(made, at, 1)
                else:
                    made.pop(at)
                del model[at]
            assert list(made) == model == list(objects.list_items(made))
        objects.list_erase(made, 1, len(made) - 1)
        assert list(made) == model[:1]


def counts(objects, value) -> tuple[int, int]:
    weak, strong = divmod(objects.counts(value), 1 << 32)
    return strong, weak


def test_counts(objects) -> None:
    value = objects.string_new("a string object")
    before = counts(objects, value)
    holders = [
        objects.array_new(value, value),
        objects.list_new(value),
        objects.map_new(72, value, value),
        objects.map_new(76, value, 1, 2, value, 3, 4, 5, 6, 7, 8),
    ]
    assert counts(objects, value) == (before[0] + 7, before[1])
    objects.map_set(holders[3], value, value)
    objects.map_erase(holders[3], 2)
    objects.list_insert(holders[1], 0, value)
    assert counts(objects, value) == (before[0] + 8, before[1])
    del holders
    gc.collect()
    assert counts(objects, value) == before


def test_equality_and_hash(objects) -> None:
    assert objects.equal("abc", objects.own("abc"))
    assert not objects.equal("abc", b"abc")
    assert not objects.equal(1, True)
    assert objects.hash(1.5) == combine(3, struct.unpack("<Q", struct.pack("<d", 1.5))[0])


def combine(index: int, payload: int) -> int:
    word = (payload + 0x9E3779B9 + (index << 6) + (index >> 2)) % 2**64 ^ index
    return word - 2**64 if word >= 2**63 else word
