"""Pages of HTML, without a browser: their parts, their data, and the command that writes them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fnabi
from fnabi import CallError, FormatError, bytecode, compat, html, library, sip, vmfb
from fnabi._base.text import cut
from fnabi.calls.schema import parse_type
from fnabi.cli import main
from fnabi.compat import compare_folders
from fnabi.html import _code as code
from fnabi.html import _limits as limits
from fnabi.html import _values as values
from fnabi.html._diff_data import folders_data
from fnabi.many.catalog import Catalog
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    Ref,
    RefArray,
    Scalar,
    Signature,
    Tuple,
    Unknown,
)
from support.callee import built, interop_library
from support.pages import HOSTILE, fleet, hostile_module, large_module
from support.paths import ROOT
from support.sanitizers import examples

DATA = ROOT / "tests" / "data"
MODULES = sorted(
    path
    for folder in ("vmfb", "needs", "bytecode_types", "program")
    for path in (DATA / folder).glob("*.vmfb")
    if "@2023" not in path.name  # of a schema that is not read
)
CLASSIFIER = ROOT / "examples" / "classifier.vmfb"


class Page(HTMLParser):
    """The elements of a page, and the text of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        if tag in ("script", "style", "title"):
            self._inside = found.get("id") or tag
            assert self._inside not in self.texts, "an element occurs twice"
            self.texts[self._inside] = ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[self._inside] += data

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.texts["data"])
        return found

    @property
    def policy(self) -> str:
        (policy,) = (attrs["content"] for tag, attrs in self.elements if "http-equiv" in attrs)
        assert policy is not None
        return policy

    def code(self) -> list[str]:
        """Return the texts of all blocks."""
        found: list[str] = []
        for index in range(len(self.data["code"]) - 1):
            assert len(found) == self.data["code"][index]
            found += json.loads(zlib.decompress(base64.b64decode(self.texts[f"block-{index}"])))
        return found


def page_of(*arguments: Any) -> Page:
    return Page(html.render(*arguments))


# --------------------------------------------------------------------------------- the page


@pytest.mark.parametrize("kind", ["module", "library", "diff", "folders"])
def test_a_page_is_complete_and_its_policy_forbids_to_load(kind: str) -> None:
    module = vmfb.open(CLASSIFIER)
    if kind == "module":
        text = html.render(module, "classifier.vmfb")
    elif kind == "diff":
        text = html.render_diff(module, module, ("a", "b"))
    elif kind == "folders":
        text = html.render_folders([])
    else:
        text = html.render(library.read(interop_library("c_plain")), "libplain.so")
    page = Page(text)
    assert text.isascii()
    assert {tag for tag, _ in page.elements} <= {
        *("html", "head", "meta", "link", "title", "style", "body", "noscript", "p", "script"),
        *("main", "h1", "table", "caption", "thead", "tbody", "tr", "th", "td"),
    }
    loading = [attrs for _, attrs in page.elements if "src" in attrs or "href" in attrs]
    assert loading == [{"rel": "icon", "href": "data:,"}]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text)
    assert page.policy.startswith("default-src 'none';")
    assert "unsafe" not in page.policy
    for name in ("script", "style"):
        digest = hashlib.sha256(page.texts[name].encode()).digest()
        assert f"{name}-src 'sha256-{base64.b64encode(digest).decode()}'" in page.policy
    assert page.data["kind"] == kind
    assert page.data["version"] == fnabi.__version__
    assert page.data["left_out"] == []


def test_a_page_has_what_the_module_has() -> None:
    module = vmfb.open(CLASSIFIER)
    page = page_of(module, "classifier.vmfb")
    data = page.data
    assert page.texts["title"] == "classifier.vmfb - fnabi"
    assert [each["name"] for each in data["exports"]] == [*module.exports]
    assert [each["source"] for each in data["exports"]] == [
        each.source for each in module.exports.values()
    ]
    assert [each["name"] for each in data["imports"]] == [each.full_name for each in module.imports]
    assert data["file_size"] == CLASSIFIER.stat().st_size
    parts = data["storage"]["parts"]
    embedded = sum(each["size"] for each in data["storage"]["segments"])
    assert sum(parts.values()) + embedded == data["file_size"]
    ordinals = {each["ordinal"] for each in data["exports"] + data["internal"]}
    assert ordinals == set(range(len(module.functions)))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_module_has_a_page(path: Path) -> None:
    module = vmfb.open(path, lenient=True)
    page = page_of(module, path.name)
    data = page.data
    for each, shown in zip(module.exports.values(), data["exports"], strict=True):
        assert ("signature" in shown) == (each.source is not None)
    if module.bytecode_version[0] in (15, 16, 17):
        texts = page.code()
        assert len(texts) == len(module.functions)
        for ordinal in range(0, len(texts), max(1, len(texts) // 5)):
            assert texts[ordinal] == bytecode.disassemble(module, ordinal)


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(CallError, match=r"html\.render: shown: expected Module, .*, got str"):
        html.render("model.vmfb")  # type: ignore[arg-type]
    module = vmfb.open(CLASSIFIER)
    module.close()
    with pytest.raises(CallError, match="closed"):
        html.render(module)


# ------------------------------------------------------------------------------ hostile input


def test_hostile_names_stay_data() -> None:
    text = html.render(hostile_module(), HOSTILE[0])
    page = Page(text)
    assert text.isascii()
    assert [each["name"] for each in page.data["exports"]] == list(HOSTILE)
    assert page.texts["title"] == f"{HOSTILE[0]} - fnabi"
    assert text.count("<script") == text.count("</script") == 2
    assert "<img" not in text
    assert Page(html.render(hostile_module(), HOSTILE[8])).texts["title"] == (
        r"control \x00\x07\x1b[31m\r\n\t\x7f\x85\u2028\u2029 - fnabi"
    )


def test_hostile_names_of_a_comparison_stay_data() -> None:
    hostile = hostile_module()
    text = html.render_diff(hostile, vmfb.open(CLASSIFIER), (HOSTILE[0], HOSTILE[1]))
    page = Page(text)
    names = [each["name"] for each in page.data["changed"]]
    assert {cut(name, 500) for name in HOSTILE} <= set(names)
    assert text.count("<script") == text.count("</script") == 2


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1, max_size=5))
def test_a_damaged_module_has_a_page_or_a_format_error(edits: list[tuple[int, int]]) -> None:
    data = bytearray((DATA / "vmfb" / "std_llvmcpu.vmfb").read_bytes())
    for place, byte in edits:
        data[place % len(data)] = byte
    with suppress(FormatError):
        html.render(vmfb.from_buffer(bytes(data), lenient=True))


def test_a_module_whose_exports_cannot_be_read_has_a_page_with_the_finding() -> None:
    module = vmfb.open(DATA / "vmfb" / "malformed" / "crash_439_metadata.vmfb", lenient=True)
    data = page_of(module, "").data
    assert (data["exports"], data["functions"]) == ([], [0, len(module.functions)])
    assert len(data["internal"]) == len(module.functions)
    assert [code for _, code, _ in data["checks"]] == ["module-ordinal", "module-checksum"]


# ------------------------------------------------------------------------------------ limits


def test_a_large_module_has_a_small_page(tmp_path: Path) -> None:
    module = large_module(tmp_path / "large.vmfb", 2000, 100)
    assert module.layout.file_size > 100 << 20
    text = html.render(module, "large.vmfb")
    assert len(text) < 3_000_000
    page = Page(text)
    assert len(page.data["exports"]) == 2000
    assert [each["kind"] for each in page.data["storage"]["segments"][:2]] == ["raw", "splat"]
    assert page.data["left_out"] == []


def test_rows_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROWS_MAX", 2)
    data = page_of(vmfb.open(DATA / "vmfb" / "many_300.vmfb")).data
    assert len(data["exports"]) == 2
    assert "298 of 300 exported functions. fnabi inspect shows them all." in data["left_out"]
    assert data["functions"][0] == 300
    module = vmfb.open(DATA / "vmfb" / "rodata_mixed.vmfb")
    storage = page_of(module).data["storage"]
    shown = sum(each["size"] for each in storage["segments"])
    assert shown + sum(storage["parts"].values()) == module.layout.file_size
    broken = page_of(vmfb.open(DATA / "vmfb" / "raw_v0.vmfb")).data
    assert (len(broken["checks"]), broken["errors"]) == (2, 3)


def test_the_buffers_of_a_call() -> None:
    """A span has no size of its own: the page says that it takes more."""
    data = CLASSIFIER.read_bytes()
    for convention, sizes in (b"0rrr_r", [48, 16, False]), (b"0CrD_r", [8, 16, True]):
        module = vmfb.from_buffer(data.replace(b"0rrr_r", convention))
        exports = page_of(module, "classifier.vmfb").data["exports"]
        (dense,) = (row for row in exports if row["name"] == "dense")
        assert dense["sizes"] == sizes


def test_texts_beyond_the_limit_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TEXT_MAX", 1000)
    data = page_of(hostile_module()).data
    assert data["exports"][HOSTILE.index("x" * 3000)]["name"] == (
        "x" * 1000 + "\N{HORIZONTAL ELLIPSIS} and 2,000 more characters"
    )
    assert re.fullmatch(r"\d+ texts are cut, most at 1,000 characters\.", data["left_out"][-1])
    monkeypatch.setattr(limits, "TEXT_MAX", 3000)
    assert (
        page_of(hostile_module()).data["exports"][HOSTILE.index("x" * 3000)]["name"] == "x" * 3000
    )
    monkeypatch.setattr(limits, "TEXTS_MAX", 100)
    assert len(json.dumps(page_of(hostile_module()).data)) < 50_000


def test_bytecode_beyond_the_limit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "CODE_MAX", 1 << 20)
    monkeypatch.setattr(code, "_AT_ONCE", 1000)  # function by function
    module = vmfb.open(DATA / "vmfb" / "many_vm_2000.vmfb")
    whole = page_of(module)
    assert len(whole.code()) == len(module.functions)
    monkeypatch.setattr(code, "CODE_MAX", 10_000)
    page = page_of(module)
    shown = len(page.code())
    assert 0 < shown < len(module.functions)
    assert page.code() == whole.code()[:shown]
    (sentence,) = page.data["left_out"]
    assert sentence.startswith(f"The bytecode of {len(module.functions) - shown:,} of ")


def test_a_damaged_function_shows_its_error() -> None:
    data = bytearray((DATA / "vmfb" / "std_llvmcpu.vmfb").read_bytes())
    module = vmfb.from_buffer(bytes(data))
    broken = module.functions[module.exports["mm"].ordinal]
    start = bytes(data).index(bytes(module.bytecode)) + broken.bytecode_offset
    data[start : start + 4] = b"\xff\xff\xff\xff"
    texts = page_of(vmfb.from_buffer(bytes(data))).code()
    assert texts[broken.ordinal].startswith("error: ")
    assert sum(text.startswith("error: ") for text in texts) == 1


# ------------------------------------------------------------------------------------ values


def test_types_as_data() -> None:
    f32 = DType("float32")
    types = (
        Scalar(f32),
        Buffer(f32, (None, 4)),
        Buffer(f32, None),
        Ref(),
        Ref("!x"),
        RefArray(Null(), (2,)),
        List((Scalar(f32), Null())),
        Tuple((Unknown(),)),
        Dict((("k", Scalar(f32)),)),
        HomogeneousList(Scalar(f32)),
        Named("n", Scalar(f32)),
    )
    scalar = ["scalar", "float32"]
    assert values.signature_value(Signature(types, ())) == [
        [
            scalar,
            ["buffer", "float32", (None, 4)],
            ["buffer", "float32", None],
            ["ref", None],
            ["ref", "!x"],
            ["array", ["null"], (2,)],
            ["list", [scalar, ["null"]]],
            ["tuple", [["unknown"]]],
            ["dict", [["k", scalar]]],
            ["many", scalar],
            ["named", "n", scalar],
        ],
        [],
    ]
    written = [values.type_text(each) for each in values.signature_value(Signature(types, ()))[0]]
    assert written == [
        "float32",
        "float32[?x4]",
        "float32[*]",
        "ref<?>",
        "ref<!x>",
        "array<null>[2]",
        "[float32, null]",
        "(?,)",
        "{k: float32}",
        "list<float32>",
        "n: float32",
    ]


def test_numbers_that_scripts_would_round_are_texts() -> None:
    large = Buffer(DType("float32"), (2**53 - 1, 2**53, 2**63 - 1, None))
    (value,) = values.signature_value(Signature((large,), ()))[0]
    assert value == ["buffer", "float32", (2**53 - 1, str(2**53), str(2**63 - 1), None)]
    assert values.type_text(value) == str(large)


def test_dims_that_are_equal_have_a_letter() -> None:
    path = DATA / "bytecode_types" / "torch_attention@3.13.0@llvm-cpu.vmfb"
    data = page_of(vmfb.open(path)).data
    inputs, results = data["exports"][0]["signature"]
    assert inputs[0] == ["buffer", "float32", ["A", "B", 8]]
    assert results[0] == ["buffer", "float32", ["A", "B", 8]]


def test_a_declaration_and_what_the_bytecode_says() -> None:
    path = DATA / "bytecode_types" / "declared_views@3.13.0@vmvx.vmfb"
    found = {each["name"]: each for each in page_of(vmfb.open(path)).data["exports"]}
    dynamic = found["dynamic"]
    view = ["ref", "!hal.buffer_view"]
    assert dynamic["signature"] == [[["named", "input0", view]], [["named", "output0", view]]]
    assert dynamic["proven"] == [[["buffer", "i32", ["A", 3]]]] * 2
    assert dynamic["run"] == ["--input=4x3xi32"]
    assert "proven" not in found["pass"]


def test_structures_as_data() -> None:
    signature = sip.parse("I12!S9!k0_0k1_1R10!D7!K2!a_0")
    assert values.sip_value(signature.inputs) == ["sequence", [[0, ["leaf", 0]], [1, ["leaf", 1]]]]
    assert values.sip_value(signature.results) == ["dict", [["a", ["leaf", 0]]]]
    assert values.sip_value(None) is None


def test_schemas_as_data() -> None:
    inner = {"type": "ffi.Array", "args": [{"type": "int"}, 3]}
    text = json.dumps({"type": "ffi.Function", "args": [{"type": "None"}, inner]})
    function = parse_type(text)
    assert values.schema_value(function) == [
        "function",
        [["schema", "ffi.Array", [["schema", "int", []], 3]]],
        ["schema", "None", []],
    ]
    assert values.schema_text(values.schema_value(function)) == "(ffi.Array<int, 3>) -> None"


# ---------------------------------------------------------------------------- comparison


def test_a_comparison_as_data() -> None:
    old, new = (
        vmfb.open(ROOT / "examples" / "releases" / release / "vision.vmfb")
        for release in ("1.0", "2.0")
    )
    found = compat.compare(old, new)
    data = Page(html.render_diff(old, new)).data
    assert data["verdict"] == found.verdict == "incompatible"
    shown = [*data["own"], *(change for row in data["changed"] for change in row["changes"])]
    assert [(each["severity"], each["path"]) for each in shown] == [
        (each.severity, each.path) for each in found.changes
    ]
    changed = {row["name"]: row for row in data["changed"]}
    assert changed["main"]["changes"][0]["old"] == ["type", ["buffer", "float32", [1, 3, 224, 224]]]
    names = {export.name for module in (old, new) for export in module.exports.values()}
    assert {*changed, *data["unchanged"]} == names


def test_folders_as_data(tmp_path: Path) -> None:
    releases = ROOT / "examples" / "releases"
    (tmp_path / "bad.vmfb").write_bytes(bytes(64))
    for file in (releases / "2.0").glob("*.vmfb"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    found = list(compare_folders(releases / "1.0", tmp_path))
    data = Page(html.render_folders(found, ("1.0", "2.0"))).data
    assert data["verdict"] == "incompatible"
    assert [(row["file"], row["verdict"], len(row["changes"])) for row in data["files"]] == [
        ("rank.vmfb", "incompatible", 2),
        ("vision.vmfb", "incompatible", 7),
        ("project.vmfb", "removed", 0),
        ("bad.vmfb", "unreadable", 0),
        ("scale.vmfb", "added", 0),
        ("embed.vmfb", "compatible", 0),
    ]
    assert data["files"][0]["changes"][0]["function"] == "main$async"
    (tmp_path / "embed.vmfb").write_bytes(bytes(64))
    found = list(compare_folders(releases / "1.0", tmp_path))
    bad = [row for row in folders_data(found)["files"] if row["verdict"] == "unreadable"]
    assert [row["file"] for row in bad] == ["bad.vmfb", "embed.vmfb"]
    assert "embed.vmfb: not an IREE module" in bad[1]["problem"]
    assert folders_data([])["verdict"] == "compatible"


# ------------------------------------------------------------------------------- libraries


def kernels() -> str:
    source = str(ROOT / "examples" / "kernels.c")
    return built("kernels", "cc", f"-I{fnabi.get_include()}", source, "-lm")


def test_a_library_as_data() -> None:
    path = kernels()
    read = page_of(library.read(path), "libkernels.so").data
    assert [each["name"] for each in read["functions"]] == ["axpy", "norm"]
    assert all(each["described"] and "schema" not in each for each in read["functions"])
    loaded = page_of(fnabi.load_module(path), "libkernels.so").data
    axpy = loaded["functions"][0]
    assert axpy["schema"][0] == "function"
    assert axpy["schema"][2] == ["schema", "None", []]
    assert axpy["doc"] == "Add a times x to y, in place."
    assert axpy["python"] == "(arg0: float, arg1: Tensor, arg2: Tensor, /) -> None"


# -------------------------------------------------------------------------------- catalogs


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    with Catalog(tmp_path / "fleet.duckdb") as opened:
        opened.update(fleet(tmp_path / "fleet"))
        yield opened


def test_a_catalog_as_data(catalog: Catalog, tmp_path: Path) -> None:
    page = Page(html.render_catalog(catalog, "fleet.duckdb"))
    data = page.data
    assert page.texts["title"] == "fleet.duckdb - fnabi"
    assert str(tmp_path) not in page.texts["data"]
    assert data["counts"]["files"] == len(data["files"]) == 22
    assert data["counts"]["failed"] == 1
    assert data["counts"]["functions"] == len(data["functions"]) + data["unread"]
    files = {each["file"]: each for each in data["files"]}
    assert "not an IREE module" in files["damaged.vmfb"]["error"]
    vision = files["1.0-vision.vmfb"]
    assert vision["targets"] == ["local vmvx-bytecode-fb"]
    assert vision["size"] == (tmp_path / "fleet" / "1.0-vision.vmfb").stat().st_size
    place = data["files"].index(vision)
    (row,) = (row for row in data["functions"] if row[:2] == [place, "main"])
    main_function = vmfb.open(tmp_path / "fleet" / "1.0-vision.vmfb").exports["main"]
    expected = json.loads(json.dumps(values.signature_value(main_function.signature)))
    assert data["signatures"][row[2]] == expected
    assert row[3] == main_function.source


def test_a_catalog_beyond_the_limit(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROWS_MAX", 5)
    data = Page(html.render_catalog(catalog)).data
    assert len(data["files"]) == 5
    assert data["counts"]["files"] == 22
    assert "17 of 22 modules. fnabi catalog sql lists them." in data["left_out"]
    assert data["left_out"][1].endswith("functions. fnabi find searches all of them.")


def test_an_empty_catalog(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    (tmp_path / "none").mkdir()
    with Catalog(tmp_path / "empty.duckdb") as opened:
        opened.update(tmp_path / "none")
        data = Page(html.render_catalog(opened)).data
    assert (data["files"], data["functions"]) == ([], [])


# ------------------------------------------------------------------------------ the command


def test_inspect_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "page.html"
    assert main(["inspect", "--html", str(CLASSIFIER), "-o", str(target)]) == 0
    text = target.read_text("ascii")
    assert text == html.render(vmfb.open(CLASSIFIER), "classifier.vmfb")
    assert main(["inspect", str(CLASSIFIER), "--html"]) == 0
    assert capsys.readouterr() == (text, "")


def test_diff_writes_a_page(tmp_path: Path) -> None:
    files = [str(ROOT / "examples" / "releases" / each / "vision.vmfb") for each in ("1.0", "2.0")]
    target = tmp_path / "page.html"
    assert main(["diff", "--html", *files, "-o", str(target)]) == 1
    page = Page(target.read_text("ascii"))
    assert page.data["file"] == "1.0/vision.vmfb \N{RIGHTWARDS ARROW} 2.0/vision.vmfb"
    assert main(["diff", "--html", files[0], files[0], "-o", str(target)]) == 0
    assert Page(target.read_text("ascii")).data["verdict"] == "compatible"
    folders = [str(Path(file).parent) for file in files]
    assert main(["diff", "--html", *folders, "-o", str(target)]) == 1
    assert Page(target.read_text("ascii")).data["file"] == "1.0 \N{RIGHTWARDS ARROW} 2.0"


def test_inspect_writes_a_page_about_a_library(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    for option, loaded in (([], False), (["--metadata"], True)):
        assert main(["inspect", "--html", kernels(), *option, "-o", str(target)]) == 0
        assert Page(target.read_text("ascii")).data["loaded"] is loaded


def test_inspect_writes_a_page_about_a_catalog(catalog: Catalog, tmp_path: Path) -> None:
    catalog.close()
    target = tmp_path / "page.html"
    titles = []
    for many in ("fleet.duckdb", "fleet"):
        assert main(["inspect", "--html", str(tmp_path / many), "-o", str(target)]) == 0
        page = Page(target.read_text("ascii"))
        titles.append(page.texts["title"])
        assert page.data["counts"]["files"] == 22
    assert titles == ["fleet.duckdb - fnabi", "fleet - fnabi"]


@pytest.mark.parametrize(
    ("argv", "fault"),
    [
        (["inspect", str(CLASSIFIER), "-o", "x"], "--output is only allowed with --html"),
        (["inspect", str(CLASSIFIER), "--html", "--json"], "--json is not allowed with --html"),
        (["inspect", str(CLASSIFIER), "--html", "--needs"], "--needs is not allowed with --html"),
        (["inspect", str(CLASSIFIER), "--html", "--run"], "--run is not allowed with --html"),
        (["inspect", str(CLASSIFIER), "--html", "--metadata"], "only allowed for libraries"),
        (["diff", ".", ".", "--html", "--json"], "--json is not allowed with --html"),
        (["inspect", str(CLASSIFIER), "--html", "-o", str(CLASSIFIER)], "--output is FILE itself"),
        (["diff", str(CLASSIFIER), "x", "--html", "-o", str(CLASSIFIER)], "--output is OLD itself"),
        (["diff", "x", str(CLASSIFIER), "--html", "-o", str(CLASSIFIER)], "--output is NEW itself"),
    ],
)
def test_wrong_usage(argv: list[str], fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert fault in " ".join(capsys.readouterr().err.split())


def test_bad_input_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.vmfb"
    bad.write_bytes(bytes(64))
    target = tmp_path / "page.html"
    assert main(["inspect", "--html", str(bad), "-o", str(target)]) == 1
    assert "neither an IREE module" in capsys.readouterr().err
    assert main(["inspect", "--html", str(CLASSIFIER), "-o", str(tmp_path / "no" / "page")]) == 1
    assert "No such file or directory" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["bad.vmfb"]


def test_a_page_has_what_functions_do() -> None:
    with vmfb.open(DATA / "program" / "chain.vmfb") as module:
        data = page_of(module).data
    rows = {row["name"]: row for row in data["exports"]}
    assert rows["main"]["memory"] == "49152 bytes at the peak, 16384 of them in results"
    memory = "512*A bytes at the peak, 256*A of them in results, where input0 has dims Ax64"
    assert rows["rows"]["memory"] == memory
    assert rows["loop"]["memory"] == "unknown"
    steps = rows["rows"]["steps"]
    words = data["words"]
    assert [words[each] for each in steps["dims"]] == ["input0 has dims Ax64"]
    titles = [words[texts[0]] for _, _, texts, *_ in steps["nodes"]]
    assert titles[:2] == ["t0 = allocate 256*A bytes", "t1 = allocate 256*A bytes"]
    assert titles.count("dispatch rows_dispatch_0_matmul_Dx64x64_f32") == 2
    _, _, texts, details = steps["nodes"][2]
    assert words[texts[1]] == "[-(-A // 64), 1, 1]"
    ranges = [[words[each] for each in part] for part in details["ranges"]]
    assert ranges == [["input0", "0", "256*A"], ["input1", "0", "16384"], ["t1", "0", "256*A"]]
    assert data["needs"]["executables"][details["executable"]]["entry_points"]
    assert [each[:2] for each in steps["edges"]][:3] == [[0, 1], [0, 4], [1, 2]]
    assert len(words) == len({*words})


def test_a_page_has_the_steps_of_some_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fnabi.html._graph_data.STEPS_MAX", 20)
    with vmfb.open(DATA / "program" / "chain.vmfb") as module:
        data = page_of(module).data
    shown = [each for each in data["exports"] + data["internal"] if "steps" in each]
    assert len(shown) == 2
    remedy = "fnabi inspect --dispatches shows them."
    assert data["left_out"] == [f"8 of 10 functions with steps. {remedy}"]


def test_a_page_has_what_repeats() -> None:
    with vmfb.open(DATA / "program" / "layers.vmfb") as module:
        page = page_of(module)
    (main_,) = (each for each in page.data["exports"] if each["name"] == "main")
    assert main_["steps"]["sections"] == [[0, 0, 0, 389, [], [[2, 16, 24]]]]
    assert len(page.texts["data"]) < 60_000
