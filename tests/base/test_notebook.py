"""Views for notebooks and shells: short, escaped, and complete about what they leave out."""

from __future__ import annotations

import html.parser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fnabi
from fnabi import compat, iree_abi, raw, sip, vmfb
from fnabi._base import notebook
from support import callee
from support.callee import built
from support.documents import ROOT
from support.unknown_bytecode import unknown_bytecode

EXAMPLES = ROOT / "examples"
KERNELS = str(EXAMPLES / "kernels.c")
HOSTILE = "<script>alert(1)</script>\x1b[31m"


class Checker(html.parser.HTMLParser):
    """Holds the text of a view, and fails where elements are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows = 0
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in ["table", "thead", "tbody", "tr", "th", "td", "p", "b", "code", "span"]
        self.open.append(tag)
        self.rows += tag == "tr"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def view(value: Any) -> Checker:
    return Checker(value._repr_html_())


@pytest.fixture
def classifier() -> vmfb.Module:
    return vmfb.open(EXAMPLES / "classifier.vmfb")


def test_a_module_and_its_exports(classifier: vmfb.Module) -> None:
    shown = view(classifier)
    assert "classifier" in shown.text
    assert "(input0: i8[?x64], input1: float32) -> (output0: float32[?x64])" in shown.text
    assert "vmvx-bytecode-fb" in shown.text
    assert repr(classifier.exports) == "<Exports normalize, dense, version, __init>"
    assert view(classifier.exports).rows == 1 + len(classifier.exports)
    classifier.close()
    assert view(classifier).text == "Module closed"


def test_a_module_whose_bytecode_cannot_be_read() -> None:
    shown = view(vmfb.from_buffer(unknown_bytecode()))
    assert "bytecode 99.0" in shown.text
    assert shown.rows == 2


def test_the_symbols_of_bytecode_are_shown() -> None:
    module = vmfb.open(EXAMPLES / "releases/1.0/project.vmfb")
    assert "(float32[Ax6], float32[6xB]) -> (float32[AxB])" in view(module).text


def test_exports_are_a_mapping_too(classifier: vmfb.Module) -> None:
    exports = classifier.exports
    assert exports.keys() == ("normalize", "dense", "version", "__init")
    assert [*exports] == [each.name for each in exports.values()]
    assert isinstance(exports, Mapping)
    assert len(exports) == len(exports.items()) == 4
    assert dict(exports.items())["dense"] is exports["dense"]
    assert exports.get("dense") is exports["dense"]
    assert exports.get("no such") is None
    assert exports.get("no such", 7) == 7
    assert exports._ipython_key_completions_() == [*exports.keys()]


def test_long_exports_are_cut() -> None:
    module = vmfb.open(ROOT / "tests/data/vmfb/many_300.vmfb")
    assert repr(module.exports).endswith(f", and {len(module.exports) - 8} more>")
    shown = view(module)
    assert shown.rows < 30
    assert f"… {len(module.exports) - 20} more" in shown.text


def test_rows_that_are_all_shown_have_no_rest() -> None:
    rows = [["x"]] * notebook.ROWS
    assert "more" not in notebook.table(["name"], rows, notebook.ROWS)
    assert "… 1 more" in notebook.table(["name"], [*rows, ["x"]], notebook.ROWS + 1)


def test_an_export_and_a_signature(classifier: vmfb.Module) -> None:
    shown = view(classifier.exports["dense"])
    assert "0rrr_r" in shown.text
    assert "{params: {bias: $2" not in shown.text
    assert "sipv" in shown.text
    assert view(classifier.exports["dense"].signature).rows == 5


def test_names_are_escaped() -> None:
    name = HOSTILE.replace("\x1b", "\\u001b")
    text = f'{{"a": [["named", "{name}", "i32"]], "r": []}}'
    signature = iree_abi.parse(text)
    assert "<script>" not in signature._repr_html_()
    assert "\x1b" not in signature._repr_html_()
    assert "<script>" in view(signature).text


def test_columns() -> None:
    columns = fnabi.decode_columns(["I1!R1!", "x", *["I1!R1!"] * 40], abi="raw")
    shown = view(columns)
    assert "42 raw texts, 1 with errors" in shown.text
    assert "\N{BLACK CIRCLE} Inputs span not found at byte 0, expected 'I'2" in shown.text
    assert "… 22 more" in shown.text


def test_a_scan(tmp_path: Path) -> None:
    scan = vmfb.scan([EXAMPLES, tmp_path])
    assert repr(scan) == f"<Scan of {EXAMPLES}, {tmp_path}>"
    assert str(tmp_path) in view(scan).text
    assert repr(vmfb.scan(iter(["x"]))) == "<Scan of the paths of an iterator>"
    assert "2 more" in repr(vmfb.scan(list("abcdef")))


def test_a_comparison() -> None:
    old, new = (vmfb.open(EXAMPLES / f"releases/{name}/rank.vmfb") for name in ("1.0", "2.0"))
    found = compat.compare(old, new)
    assert repr(found) == "<Comparison incompatible: 2 breaking>"
    assert view(found).rows == 3
    assert "\N{BLACK CIRCLE} breaking" in view(found).text
    same = compat.compare(old, old)
    assert repr(same) == "<Comparison compatible: no changes>"
    assert view(same).text == "compatible"


def test_dots_stand_out_in_light_and_dark() -> None:
    """WCAG asks for a contrast of 3 to 1 where colour is not that of text."""

    def luminance(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for color in notebook._COLORS.values():
        assert 1.05 / (luminance(color) + 0.05) >= 3
        assert (luminance(color) + 0.05) / (luminance("#111111") + 0.05) >= 3


def test_a_function() -> None:
    library = fnabi.load_module(built("kernels", "cc", f"-I{fnabi.get_include()}", KERNELS, "-lm"))
    shown = view(library.axpy)
    assert "fnabi.Function axpy" in shown.text
    assert "(float, ffi.Tensor, ffi.Tensor) -> None" in shown.text
    assert "Add a times x to y, in place." in shown.text
    changing = fnabi.load_module(callee.path_of("changing"))
    assert "(really: Any, y: Any) -> Any" in view(changing.twice).text
    own = fnabi.Function(lambda: None)
    assert view(own).rows == 0
    own.names = ["a", "b"]
    assert "(a, b)" in view(own).text
    own.__dict__["__doc__"] = HOSTILE
    assert HOSTILE.replace("\x1b", "\\x1b") in view(own).text


def test_the_structures_of_sip() -> None:
    text = sip.encode(sip.Signature(_dict, sip.Leaf(0)))
    shown = view(sip.parse(text))
    assert shown.rows == 1 + 3 + 1
    assert f"input[{HOSTILE!r}][1]2" in shown.text
    assert view(_dict).rows == 1 + 3
    assert view(sip.Sequence(())).rows == 1
    assert view(sip.Signature(None, None)).rows == 1


_dict = sip.Dict(
    (("a", sip.Leaf(0)), (HOSTILE, sip.Sequence(((0, sip.Leaf(1)), (1, sip.Leaf(2))))))
)


def test_the_rows_of_a_scan(tmp_path: Path) -> None:
    (tmp_path / "bad.vmfb").write_text("x")
    scan = vmfb.scan([EXAMPLES / "classifier.vmfb", tmp_path])
    shown = view(scan)
    assert shown.rows == 1 + 4 + 1
    assert "dense(" in shown.text
    assert "\N{BLACK CIRCLE} file ends before the module does" in shown.text
    assert "the first" not in shown.text
    assert len([*scan.rows()]) == 5  # it can be read afterwards
    many = view(vmfb.scan(ROOT / "tests/data/vmfb/many_300.vmfb"))
    assert many.rows == 1 + notebook.ROWS
    assert many.text.endswith("the first 20 rows")
    once = vmfb.scan(iter([EXAMPLES / "classifier.vmfb"]))
    assert view(once).rows == 0
    assert len([*once.rows()]) == 4
    assert view(vmfb.scan("s3://bucket/folder")).text == "Scan of s3://bucket/folder"


def test_verdicts() -> None:
    module = vmfb.open(ROOT / "tests/data/needs/params_vmvx@3.0.0.vmfb")
    for release, mark, answer in (
        ("3.0.0", "widening", "loads if the host registers io_parameters"),
        ("3.13.0", "breaking", "does not load"),
        ("9.9.9", "unknown", "unknown"),
    ):
        found = module.runs_on(release)
        shown = view(found)
        assert f"IREE {release}\N{BLACK CIRCLE} {answer}" in shown.text
        assert shown.rows == 1 + len(found.causes)
        assert notebook._COLORS[mark] in found._repr_html_()
    wrong = vmfb.open(ROOT / "tests/data/arguments/calls@3.9.0.vmfb").runs_on("3.9.0")
    assert notebook._COLORS["unknown"] in wrong._repr_html_()
    assert view(wrong).rows == 1 + len(wrong.warnings) > 1


def test_a_module_whose_exports_cannot_be_read_says_why() -> None:
    path = ROOT / "tests/data/vmfb/malformed/crash_439_metadata.vmfb"
    shown = view(vmfb.open(path, lenient=True))
    assert shown.text.startswith("Module ")
    assert "ordinal outside its table at byte 340 in exported_functions[1]" in shown.text


def test_comparisons_of_folders() -> None:
    found = {
        each.file: each
        for each in compat.compare_folders(*(EXAMPLES / f"releases/{n}" for n in ("1.0", "2.0")))
    }
    shown = view(found["rank.vmfb"])
    assert shown.text.startswith("rank.vmfb: incompatible")
    assert shown.rows == 3
    unread = compat.FileComparison("a.vmfb", "unreadable", problem=HOSTILE)
    assert view(unread).text.endswith(HOSTILE.replace("\x1b", "\\x1b"))
    assert view(compat.FileComparison("a.vmfb", "added")).text == "a.vmfb: added"


def test_checked_calls() -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    with fnabi.Catalog(None) as catalog:
        catalog.update(EXAMPLES / "releases/1.0")
        found = catalog.check_calls(EXAMPLES / "releases/calls.jsonl")
    shown = view(found)
    assert "CheckedCalls incompatible: 12 broken" in shown.text
    assert shown.rows == 1 + len(found.found)
    assert "vision" in shown.text
    assert "expected float32[1x3x224x224]" in shown.text


def test_a_tensor() -> None:
    tensor = fnabi.from_dlpack(np.zeros((2, 3)))
    assert view(tensor).text == "fnabi.Tensor of shape (2, 3), float64 on cpu:0"


def test_a_library() -> None:
    plain = fnabi.load_module(callee.callee_library())
    shown = view(plain)
    assert all(name in shown.text for name in list(plain.functions)[:5])
    assert view(plain.functions).rows == 1 + min(20, len(plain.functions))


def test_a_function_of_a_module_is_shown_without_its_bytes(classifier: vmfb.Module) -> None:
    assert repr(classifier.functions[0]).startswith("<VmFunction 0 0")
    assert "ModuleBytes" not in repr(classifier.functions[0])


def test_views_of_raw_signatures() -> None:
    assert view(raw.parse(b"I1!R1!")).rows == 1


def test_a_long_text_is_cut() -> None:
    text = "a < " * 100
    assert notebook.escaped(text) == "a &lt; " * 75 + "…"
