"""Pages of HTML in a browser: Chromium without a window, driven by selenium.

Every test ends with a look at the console and at the requests: there must be no message, and no
request but that for the page itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import unicodedata
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fnabi
from fnabi import FormatError, bytecode, html, library, pattern, vmfb
from fnabi.compat import FileComparison, compare_folders
from fnabi.html._values import signature_text, signature_value
from fnabi.many.catalog import Catalog
from support.callee import built, interop_library
from support.pages import HOSTILE, fleet, hostile_module, large_module
from support.paths import ROOT
from support.pattern_cases import cases
from support.pattern_match import differences

pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from support.browser import DESKTOP, PHONE, Browser, violations

DATA = ROOT / "tests" / "data"


def page(name: str) -> str:
    return html.render(vmfb.open(DATA / "vmfb" / f"{name}.vmfb"), f"{name}.vmfb")


def comparison() -> str:
    old, new = (
        vmfb.open(ROOT / "examples" / "releases" / release / "vision.vmfb")
        for release in ("1.0", "2.0")
    )
    return html.render_diff(old, new, ("1.0/vision.vmfb", "2.0/vision.vmfb"))


def folders() -> str:
    found = [*compare_folders(*(ROOT / "examples" / "releases" / each for each in ("1.0", "2.0")))]
    found.append(FileComparison(HOSTILE[1], "unreadable", problem=HOSTILE[0]))
    return html.render_folders(found, ("1.0", "2.0"))


def fleet_page() -> str:
    pytest.importorskip("duckdb")
    with TemporaryDirectory() as folder, Catalog(f"{folder}/fleet.duckdb") as catalog:
        catalog.update(fleet(Path(folder) / "fleet"))
        return html.render_catalog(catalog, "fleet.duckdb")


def kernels() -> str:
    source = str(ROOT / "examples" / "kernels.c")
    path = built("kernels", "cc", f"-I{fnabi.get_include()}", source, "-lm")
    return html.render(fnabi.load_module(path), "libkernels.so")


PAGES = {
    "module": lambda: page("std_llvmcpu"),
    "structures": lambda: page("abi_records"),
    "errors": lambda: page("raw_v0"),
    "constants": lambda: page("rodata_mixed"),
    "parameters": lambda: html.render(vmfb.open(DATA / "needs" / "params_llvm-cpu.vmfb"), "params"),
    "program": lambda: html.render(vmfb.open(DATA / "program" / "chain.vmfb"), "chain.vmfb"),
    "hostile": lambda: html.render(hostile_module(), HOSTILE[0]),
    "comparison": comparison,
    "folders": folders,
    "catalog": fleet_page,
    "library": kernels,
}

OPEN_ALL = """
  for (const tab of document.querySelectorAll('[role=tab]')) tab.click();
  for (const each of document.querySelectorAll('.toggle')) each.click();
  for (const panel of document.querySelectorAll('[role=tabpanel]')) panel.hidden = false;
"""


# ------------------------------------------------------------------------------- what is shown


def test_a_module_is_shown(browser: Browser) -> None:
    browser.open(page("std_llvmcpu"))
    assert browser.driver.title == "std_llvmcpu.vmfb - fnabi"
    assert browser.names() == ["addup", "mm", "__init"]
    signature = "(input0: float32[8\N{MULTIPLICATION SIGN}16], input1: float32[16"
    assert browser.texts(".signature")[1].startswith(signature)
    assert browser.texts("h1") == ["std_llvmcpu.vmfb"]
    assert "local embedded-elf-x86_64" in browser.one("header.page").text


def test_search(browser: Browser) -> None:
    browser.open(page("many_300"))
    assert browser.texts(".status") == ["300 functions"]
    box = browser.one("input[type=search]")
    name = vmfb.open(DATA / "vmfb" / "many_300.vmfb").exports.values()[222].name
    box.send_keys(name.upper())
    found = browser.names()
    assert name in found
    assert browser.texts(".status") == [f"{len(found)} of 300 functions"]
    box.send_keys(" nothing like it")
    assert browser.names() == []
    assert browser.texts(".status") == ["0 of 300 functions"]
    assert browser.texts(".empty") == ["No function matches. Esc in the search clears it."]
    box.send_keys(Keys.ESCAPE)
    assert browser.texts(".status") == ["300 functions"]


def test_search_by_type(browser: Browser) -> None:
    browser.open(page("abi_records"))
    browser.one("input[type=search]").send_keys("list<float32[?")
    assert browser.names() == ["homog"]


SEARCHES = {
    "mm": ["mm", "gemm", "F32_mm"],
    "f32": ["mm", "gemm", "pool", "F32_mm", "nested"],
    "F32": ["mm", "gemm", "pool", "F32_mm", "nested"],
    "f16": [],
    "bf16": ["half"],
    "i1": [],
    "i16": ["words"],
    "f32[64x10]": ["mm", "nested"],
    "float32[64,10]": ["mm", "nested"],
    "f32[64, 10]": ["mm", "nested"],
    "f32[64\N{MULTIPLICATION SIGN}10]": ["mm", "nested"],
    "f32[64x1": ["mm", "gemm", "nested"],
    "?x64": ["mm", "gemm"],
    "?\N{MULTIPLICATION SIGN}64": ["mm", "gemm"],
    "64x10": ["mm", "nested", "half"],
    "f32[_,64]": ["mm", "gemm"],
    "f32[*,3,*]": ["pool"],
    "any[64x10]": ["mm", "nested", "half"],
    "int[?]": ["words"],
    "list<f32[": ["nested"],
    "mm bf16": [],
    "/^(ge)?mm$/": ["mm", "gemm"],
    "/\\[1x\\d+x/": ["pool"],
    "f32[?,64], * -> *": ["mm", "gemm"],
    "f32[7,64], * -> *": ["mm", "gemm"],
    "* \N{RIGHTWARDS ARROW} f32[_,10]": ["mm"],
    "f32[B,*], * -> f32[B,*]": ["mm", "gemm", "pool"],
    "x: any -> *": ["pool"],
    "* -> bf16[*]": ["half"],
    "i16[4], * -> *": ["words"],
    "9007199254740993": ["large"],
    "9007199254740992": [],
    "f64[?,9007199254740993] -> *": ["large"],
    "f64[?,9007199254740992] -> *": [],
}


def search_page() -> str:
    texts = {
        "mm": "(float32[?x64], float32[64x10]) -> (float32[?x10])",
        "gemm": "(float32[?x64], float32[64x128]) -> (float32[?x128])",
        "pool": "(x: float32[1x3x224x224]) -> (float32[1x3x112x112])",
        "F32_mm": "(float32) -> (float32)",
        "nested": "([list<float32[640]>]) -> ({a: float32[64x10]})",
        "half": "() -> (bfloat16[64x10])",
        "words": "(i16[?], bool) -> ()",
        "large": "(float64[?x9007199254740993]) -> ()",
    }
    data = html._module_data.module_data(vmfb.open(DATA / "vmfb" / "no_io.vmfb"))[0]
    (row, *_) = data["exports"]
    data["exports"] = [
        row | {"name": name, "signature": signature_value(fnabi.Signature.parse(text))}
        for name, text in texts.items()
    ]
    return html._page("module", data | {"runner": "", "internal": []}, "search.vmfb")


def test_the_search_knows_types_expressions_and_patterns(browser: Browser) -> None:
    browser.open(search_page())
    box = browser.one("input[type=search]")
    for query, expected in SEARCHES.items():
        browser.run(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
            box,
            query,
        )
        assert browser.contents("#functions tbody th .name") == expected, query
        assert browser.all(".hint.error") == []


@pytest.mark.parametrize(
    ("query", "problem", "expected"),
    [
        ("/(/", "Not a regular expression.", []),
        ("f32[?,64 -> *", 'Not a pattern: expected "," at "-> *".', []),
        ("f33x[2] -> *", 'Not a pattern: expected a type at "f33x[2] -> *".', []),
        ("mm ->", 'Not a pattern: expected a type at "mm ->".', ["mm", "gemm", "F32_mm"]),
        (
            "f32[ ->",
            'Not a pattern: expected a dim: a number, "?", "_", "*" or a variable at "->".',
            [],
        ),
        ("f32[nx6] -> *", 'Not a pattern: expected "," between dims at "] -> *".', []),
    ],
)
def test_the_search_says_what_is_wrong(
    query: str, problem: str, expected: list[str], browser: Browser
) -> None:
    """The words of such a query are still looked for, as it may be one that is being typed."""
    browser.open(search_page())
    browser.one("input[type=search]").send_keys(query)
    assert browser.texts(".hint.error") == [problem]
    assert browser.contents("#functions tbody th .name") == expected
    browser.press(Keys.ESCAPE)
    assert browser.texts(".hint")[0].startswith("Words, f32, f32[64x10]")


def test_sizes_of_values(browser: Browser) -> None:
    """Compiled code demands 40 bytes of `tensor<8x5xi3>`, 20 of `i4`, 10 of `i2`."""
    browser.open(search_page())
    sizes = {"i4": 20, "i2": 10, "bool": 40, "bfloat16": 80, "complex64": 320, "float8_e4m3fn": 40}
    sizes |= {"float32x4": 640, "i1": None, "i3": None, "i12": None, "i24": None, "index": None}
    values = [["buffer", dtype, [8, 5]] for dtype in sizes]
    found = browser.run("return arguments[0].map(sizeOf)", values)
    assert dict(zip(sizes, found, strict=True)) == sizes


def test_a_pattern_matches_as_for_find(browser: Browser) -> None:
    """The slow matcher, which the query of `find` is compared with, too."""
    browser.open(search_page())
    script = """const [text, signatures, untold] = arguments;
      const made = parsePattern(text);
      return signatures.map((each) => matchesPattern(made, each, untold));"""

    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(cases(), st.booleans())
    def check(case: tuple[pattern.Pattern, list[fnabi.Signature]], untold: bool) -> None:
        made, signatures = case
        try:
            pattern.parse(str(made))
        except FormatError:  # of too many stars
            return
        values = [signature_value(each) for each in signatures]
        expected = [differences(made, each, untold) is not None for each in signatures]
        assert browser.run(script, str(made), values, untold) == expected
        texts = browser.run("return arguments[0].map(signatureText)", values)
        assert texts == [signature_text(each) for each in values]

    check()


def test_patterns_are_refused_as_by_find(browser: Browser) -> None:
    browser.open(search_page())
    script = """try { parsePattern(arguments[0]); return true; }
      catch (problem) { if (problem instanceof PatternError) return false; throw problem; }"""
    texts = [
        *("f32[?x3]->i1", "(?, [?], {a: i8}) -> (list<?>)", "f32[A1xA2x?xB] -> f32[2 x A1, _xB]"),
        *("((f32)) -> ((f32,))", "bf16, si8, ui16, c64, f8E4M3FN -> index", '"a\\"b": f32 -> *'),
        *("array<ref<!x<y>>>[2] -> null", "*, *, * -> *", "f32[*,1,*] -> *", "ref<?> -> ref"),
        *("f32", "f32 ->", "-> f32", "f32[ -> *", "f32[1 -> *", "f32[1,] -> *", "f32, -> *"),
        *("f32,, f32 -> *", "f31x[1] -> *", "{f32} -> *", "[f32 -> *", "ref<> -> *", "ref<a -> *"),
        *("* -> * x", "f32[nx6] -> *", "f32[axb] -> *", "list<f32 -> *", "list<*> -> *", "a: -> *"),
        *("(f32,) -> ()", "(f32, f32,) -> ()", "[f32,] -> ()", "* -> *, *" + ", f32, *" * 7),
    ]
    for text in texts:
        try:
            pattern.parse(text)
            expected = True
        except FormatError:
            expected = False
        assert browser.run(script, text) is expected, text


def test_all_rows_come_without_a_click(browser: Browser, tmp_path: Path) -> None:
    module = large_module(tmp_path / "large.vmfb", 2000, 1)
    browser.open(html.render(module, "large.vmfb"))
    browser.wait("document.querySelectorAll('#functions tbody').length === 2000")
    assert browser.all(".more") == []
    assert browser.run("return window.find('layer_1999')")  # the browser's own search
    assert browser.run("return getSelection().toString()") == "layer_1999"


def test_further_rows_come_where_they_are_near(browser: Browser, tmp_path: Path) -> None:
    module = large_module(tmp_path / "large.vmfb", 1350, 1)
    text = html.render(module, "large.vmfb")
    parts = "const IDLE_ROWS = 5000;", "const IDLE_ROWS = 1000;"
    assert parts[0] in text
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    hashes = [html._hash(each) for each in (script, script.replace(*parts))]
    browser.open(text.replace(*parts).replace(*hashes))
    count = "document.querySelectorAll('#functions tbody').length"
    browser.wait(f"{count} === 1300")
    assert browser.texts(".more") == ["50 more below"]
    for _ in range(4):
        browser.run("document.querySelector('.more').scrollIntoView()")
        before = browser.run(f"return {count}")
        browser.wait(f"{count} > {before} || {count} === 1350")
    assert browser.run(f"return {count}") == 1350


def test_sort(browser: Browser) -> None:
    browser.open(page("std_llvmcpu"))
    order = ["addup", "mm", "__init"]
    name, code = (browser.all("thead button")[index] for index in (0, 2))
    heads = [each.find_element(By.XPATH, "..") for each in (name, code)]

    def state() -> tuple[list[str], list[str]]:
        return browser.names(), [each.get_attribute("aria-sort") for each in heads]

    assert state() == (order, ["none", "none"])
    name.click()
    assert state() == (["__init", "addup", "mm"], ["ascending", "none"])
    name.click()
    assert state() == (["mm", "addup", "__init"], ["descending", "none"])
    name.click()
    assert state() == (order, ["none", "none"])
    code.click()
    assert state() == (["__init", "addup", "mm"], ["none", "descending"])


def test_filters(browser: Browser) -> None:
    browser.open(page("raw_v0"))
    errors, notices = browser.all(".filter")
    assert (errors.text, notices.text) == ("Errors 3", "Notices 4")
    errors.click()
    assert browser.names() == ["ver2", "truncated", "badlen"]
    assert errors.get_attribute("aria-pressed") == "true"
    notices.click()
    assert len(browser.names()) == 7
    browser.open(page("std_llvmcpu"))
    browser.one(".filter").click()
    assert len(browser.names()) == 4
    assert browser.texts(".status") == ["4 functions"]


def test_an_internal_function_without_types_is_no_error(browser: Browser) -> None:
    module = vmfb.open(DATA / "bytecode" / "template.vmfb")
    assert module.bytecode_types == (None, None)
    browser.open(html.render(module))
    (internal,) = browser.all(".filter")
    assert internal.text == "Internal 1"
    internal.click()
    assert browser.names() == ["main", "function[1]"]
    assert browser.texts("tbody .badge") == ["internal"]


def test_a_row_opens(browser: Browser) -> None:
    browser.open(page("std_llvmcpu"))
    button = browser.all(".toggle")[1]
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    detail = browser.one("tr.detail")
    assert detail.get_attribute("id") == button.get_attribute("aria-controls")
    assert "sync func @mm(%input0: tensor<8x16xf32>" in detail.text
    assert "512 bytes" in detail.text
    assert "--function=mm" in detail.text
    browser.all("tbody td")[0].click()  # the whole row is a target for the mouse
    assert len(browser.all("tr.detail")) == 2
    button.click()
    assert len(browser.all("tr.detail")) == 1


def test_bytecode_is_shown_on_demand(browser: Browser) -> None:
    browser.open(page("std_llvmcpu"))
    browser.all(".toggle")[1].click()
    show = browser.all(".detail button[aria-expanded]")[-1]
    assert browser.all(".listing") == []
    show.click()
    browser.wait("document.querySelector('.listing') !== null")
    shown = browser.run("return document.querySelector('.listing').textContent")
    module = vmfb.open(DATA / "vmfb" / "std_llvmcpu.vmfb")
    assert shown == bytecode.disassemble(module, "mm") + "\n"
    show.click()
    assert browser.all(".listing") == []


def test_source_locations_are_shown(browser: Browser) -> None:
    path = DATA / "bytecode_types" / "func_abi@3.0.0@vmvx.vmfb"
    browser.open(html.render(vmfb.open(path)))
    browser.one("input[type=search]").send_keys("src/func_abi.mlir:10")
    (toggle,) = browser.all(".toggle")
    toggle.click()
    assert "src/func_abi.mlir:10:3" in browser.one("tr.detail").text


def test_structures_are_trees(browser: Browser) -> None:
    browser.open(page("abi_records"))
    browser.all(".toggle")[4].click()
    trees = browser.texts(".trees > div")
    assert trees[0] == "inputs[0]\n[0] i32\n[1] null\n[2] float32[2]"
    assert trees[2].startswith("inputs[2]\na i32\nb i32[2")


def test_sizes_are_a_picture(browser: Browser) -> None:
    browser.open(page("rodata_mixed"))
    browser.all("[role=tab]")[1].click()
    picture = browser.one(".picture svg[role=img]")
    module = vmfb.open(DATA / "vmfb" / "rodata_mixed.vmfb")
    assert "Constants of equal elements 12.9 KiB" in picture.get_attribute("aria-label")
    boxes = picture.find_elements(By.TAG_NAME, "rect")
    widths = [float(each.get_attribute("width")) for each in boxes]
    assert len(widths) == len(module.rodata) + 3
    assert 990 < sum(widths) <= 1000
    largest = max(segment.size for segment in module.rodata)
    assert max(widths) == pytest.approx(1000 * largest / module.layout.file_size, abs=1.5)


def test_a_comparison_is_shown(browser: Browser) -> None:
    browser.open(comparison())
    assert browser.names() == ["main$async", "main"]
    assert "incompatible" in browser.driver.title
    assert "results[0].shape[0] widened" in browser.texts(".change")[0]
    browser.all(".toggle")[1].click()
    assert len(browser.all(".detail .changed")) == 4
    browser.all("[role=tab]")[1].click()
    assert "hal.device.queue.execute.indirect" in browser.texts(".change")[0]


def test_a_comparison_of_folders_is_shown(browser: Browser) -> None:
    browser.open(folders())
    assert browser.contents("tbody th .name")[:3] == ["rank.vmfb", "vision.vmfb", "project.vmfb"]
    assert browser.texts(".filter")[:3] == ["Incompatible 2", "Removed 1", "Unreadable 1"]
    assert "and 3 other changes" in browser.all("tbody")[1].text
    browser.all(".toggle")[1].click()
    assert len(browser.all(".detail .change")) == 7
    browser.one("input[type=search]").send_keys("scale")
    assert browser.texts("tbody td") == ["Only the new side has this file."]


def test_a_catalog_is_shown(browser: Browser) -> None:
    browser.open(fleet_page())
    targets = browser.texts(".tally")[0].split("\n")
    assert targets[1] == "local vmvx-bytecode-fb 21 modules"
    browser.all("[role=tab]")[1].click()
    assert browser.texts(".filter") == ["Errors 1"]
    browser.one("input[type=search]").send_keys("2.0-vision")
    (toggle,) = browser.all(".toggle")
    toggle.click()
    assert "main$async" in browser.one("tr.detail").text
    browser.all("[role=tab]")[2].click()
    browser.one("input[type=search]").send_keys("float32[?x3x224x224] main$")
    assert browser.names() == ["main$async"]
    assert browser.run("return window.hacked === undefined")


RUNNER = shutil.which("iree-run-module") or shutil.which(
    "iree-run-module", path=str(Path(np.__file__).parents[4] / "bin")
)


@pytest.mark.skipif(RUNNER is None, reason="iree-run-module is not installed")
@pytest.mark.parametrize("name", ["m.vmfb", "m@2.vmfb", "m .so", " m.vmfb"])
def test_a_command_of_a_page_runs(browser: Browser, name: str, tmp_path: Path) -> None:
    assert RUNNER is not None
    classifier = ROOT / "examples" / "classifier.vmfb"
    (tmp_path / name).write_bytes(classifier.read_bytes())
    with vmfb.open(classifier) as module:
        browser.open(html.render(module, name), anchor="#version")
    (command,) = browser.contents("tr.detail pre.command")
    environment = os.environ | {"PATH": f"{os.path.dirname(RUNNER)}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        timeout=60,
    )
    assert (done.returncode, b"i32=3" in done.stdout) == (0, True)


def test_a_library_is_shown(browser: Browser) -> None:
    browser.open(kernels())
    assert browser.names() == ["axpy", "norm"]
    assert browser.texts(".signature")[1] == "(ffi.Tensor) \N{RIGHTWARDS ARROW} float"
    browser.all(".toggle")[1].click()
    assert "norm(arg0: Tensor, /) -> float" in browser.one("tr.detail").text
    assert "fnabi call ./libkernels.so norm @arg0.npy" in browser.one("tr.detail").text
    browser.all(".toggle")[0].click()
    command = "fnabi call ./libkernels.so axpy 1.0 @arg1.npy @arg2.npy"
    assert command in browser.texts("tr.detail")[0]


def test_a_library_that_registers_by_name_says_where_to_look(browser: Browser) -> None:
    path = interop_library("reflected")
    browser.open(html.render(library.read(path), "libreflected.so"))
    assert browser.texts("#functions > p") == [
        "The library registers types by name when it is loaded. fnabi inspect --run lists them."
    ]


# ---------------------------------------------------------------------------------- keyboard


def test_the_keyboard_suffices(browser: Browser) -> None:
    browser.open(page("abi_records"))
    browser.press("/")
    assert browser.focused() == browser.one("input[type=search]")
    browser.press("n", "d", "_", Keys.ARROW_DOWN)
    assert browser.focused().text.startswith("nd_unknown_rank")
    browser.press(Keys.ARROW_DOWN)
    assert browser.focused().text.startswith("nd_unknown_dims")
    browser.press(Keys.ENTER)
    assert len(browser.all("tr.detail")) == 1
    browser.press(Keys.TAB)
    assert browser.focused().find_element(By.XPATH, "ancestor::tr[contains(@class, 'detail')]")
    browser.press(Keys.ESCAPE)
    assert browser.all("tr.detail") == []
    assert browser.focused().text.startswith("nd_unknown_dims")
    browser.press(Keys.ESCAPE)
    assert browser.focused() == browser.one("input[type=search]")
    browser.press(Keys.ESCAPE)
    assert len(browser.names()) == 8
    browser.press(Keys.ENTER)
    assert browser.focused().get_attribute("aria-expanded") == "true"
    browser.press(Keys.END)
    assert browser.focused().text.startswith("empty")
    browser.press(Keys.HOME, Keys.ARROW_UP)
    assert browser.focused() == browser.one("input[type=search]")


def test_arrows_walk_through_all_rows(browser: Browser) -> None:
    browser.open(page("many_300"))
    browser.wait("document.querySelectorAll('.toggle').length === 300")
    browser.press("/", Keys.ARROW_DOWN, Keys.END)
    assert browser.focused() == browser.all(".toggle")[299]
    browser.press(Keys.ARROW_DOWN)
    assert browser.focused() == browser.all(".toggle")[299]


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_arrows_work_at_once(width: int, browser: Browser) -> None:
    browser.open(page("many_300"), width)
    browser.press(Keys.ARROW_DOWN)
    assert browser.focused() == browser.all(".toggle")[0]
    browser.press(Keys.ARROW_DOWN, Keys.ENTER)
    assert browser.focused() == browser.all(".toggle")[1]
    assert len(browser.all("tr.detail")) == 1
    browser.press(Keys.ARROW_DOWN)
    assert browser.focused() == browser.all(".toggle")[2]
    browser.run("document.activeElement.blur(); scrollTo(0, 5000)")
    browser.press(Keys.ARROW_DOWN)  # from the first row in view
    row = browser.focused().rect["y"] - browser.run("return scrollY")
    assert 0 <= row < 300
    browser.all("[role=tab]")[0].click()
    browser.press(Keys.ARROW_DOWN)
    assert browser.focused().get_attribute("class") == "toggle"


def test_tabs_by_keyboard(browser: Browser) -> None:
    browser.open(page("std_llvmcpu"))
    first, second, *_, last = browser.all("[role=tab]")
    first.click()
    browser.press(Keys.ARROW_RIGHT)
    assert browser.focused() == second
    assert second.get_attribute("aria-selected") == "true"
    assert browser.one("[role=tabpanel]").get_attribute("aria-labelledby") == "tab-storage"
    browser.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert browser.focused() == last


def test_focus_is_visible(browser: Browser) -> None:
    browser.open(page("std_llvmcpu"))
    for _ in range(8):
        browser.press(Keys.TAB)
        outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", browser.focused().text


# ------------------------------------------------------------------------------ accessibility


@pytest.mark.parametrize("name", PAGES)
def test_landmarks_and_names(name: str, browser: Browser) -> None:
    browser.open(PAGES[name]())
    browser.run(OPEN_ALL)
    for landmark in ("header", "main", "footer", "h1"):
        assert len(browser.driver.find_elements(By.TAG_NAME, landmark)) == 1
    unnamed = browser.run(
        """return [...document.querySelectorAll('button, input, [role=img], [role=group]')]
          .filter((each) => !(each.textContent.trim() || each.getAttribute('aria-label')))
          .filter((each) => each.className !== 'toggle')
          .map((each) => each.outerHTML)"""
    )
    assert unnamed == []
    ids = browser.run("return [...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))
    referred = browser.run(
        """return [...document.querySelectorAll('[aria-controls][aria-expanded=true]')]
          .map((each) => each.getAttribute('aria-controls'))"""
    )
    assert set(referred) <= set(ids)
    captions = browser.run(
        "return [...document.querySelectorAll('table')].every((each) => each.caption)"
    )
    assert captions


def test_a_phone_has_the_roles_of_a_table(browser: Browser) -> None:
    """Browsers take the roles of tables away where their parts are shown as blocks."""
    found = {}
    for width in (DESKTOP, PHONE):
        browser.open(page("std_llvmcpu"), width)
        nodes = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = [each["role"]["value"] for each in nodes if "role" in each]
        found[width] = {
            role: roles.count(role) for role in ("table", "row", "rowheader", "cell", "tab", "main")
        }
    expected = {"table": 1, "row": 4, "rowheader": 3, "cell": 9, "tab": 6, "main": 1}
    assert found == {DESKTOP: expected, PHONE: expected}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("name", PAGES)
def test_a_checker_finds_no_violation(
    name: str, width: int, theme: str, unguarded: Browser, axe: str
) -> None:
    browser = unguarded
    browser.open(PAGES[name](), width, theme)
    assert violations(browser, axe) == []
    for tab in browser.all("[role=tab]") or [None]:
        if tab is not None:
            tab.click()
        browser.run("for (const each of document.querySelectorAll('.toggle')) each.click()")
        assert violations(browser, axe) == []


def test_the_checker_finds_violations(unguarded: Browser, axe: str) -> None:
    unguarded.open(page("std_llvmcpu").replace('<html lang="en">', "<html>"))
    assert [each.partition(":")[0] for each in violations(unguarded, axe)] == ["html-has-lang"]


def test_headings_are_in_order(browser: Browser) -> None:
    browser.open(PAGES["parameters"]())
    for tab in browser.all("[role=tab]"):
        tab.click()
        for toggle in browser.all(".toggle")[:2]:
            browser.run("arguments[0].click()", toggle)
        headings = browser.driver.find_elements(By.CSS_SELECTOR, "h1, h2, h3, h4, h5, h6")
        levels = [int(each.tag_name[1]) for each in headings if each.is_displayed()]
        assert levels[:2] == [1, 2]
        assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("width", [DESKTOP, 820, PHONE])
def test_the_search_does_not_cover_the_row_in_focus(width: int, browser: Browser) -> None:
    text = page("many_300")
    name = vmfb.open(DATA / "vmfb" / "many_300.vmfb").exports.values()[150].name
    browser.open(text, width, anchor=f"#{name}")
    covered = """const bar = document.querySelector('.tools > .search').getBoundingClientRect();
      return document.activeElement.getBoundingClientRect().top < bar.bottom"""
    assert browser.focused().text.startswith(f"{name} ")
    assert not browser.run(covered)
    for _ in range(12):
        browser.press(Keys.ARROW_UP)
        assert not browser.run(covered)


CONTRASTS = """
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  function numbers(colour) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  }
  function luminance([r, g, b]) {
    const [x, y, z] = [r, g, b].map((each) => each / 255)
      .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  }
  function ground(element) {
    for (let each = element; each; each = each.parentElement) {
      const found = numbers(getComputedStyle(each).backgroundColor);
      if (found[3] === 255) return found;
    }
    throw new Error('no background');
  }
  const poor = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest('script, noscript, .skip')) continue;
    const [one, other] = [numbers(getComputedStyle(element).color), ground(element)].map(luminance);
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.add(`${element.className} ${ratio} ${walker.currentNode.data}`);
  }
  return [...poor];
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_contrast(name: str, theme: str, browser: Browser) -> None:
    """Every text has the contrast that WCAG 2 asks for at level AA, 4.5 to 1."""
    browser.open(PAGES[name](), theme=theme)
    browser.run(OPEN_ALL)
    for button in browser.all(".filter")[:1]:
        button.click()
    assert browser.run(CONTRASTS) == []


def test_themes(browser: Browser) -> None:
    text = page("std_llvmcpu")

    def is_dark() -> bool:
        found = browser.run("return getComputedStyle(document.documentElement).backgroundColor")
        return sum(map(int, found[4:-1].split(","))) < 3 * 128

    for theme in ("light", "dark"):
        browser.open(text, theme=theme)
        assert is_dark() == (theme == "dark")
        button = browser.one(".theme")
        seen = []
        for _ in range(3):
            button.click()
            seen.append((button.text, is_dark()))
        assert seen == [
            ("Theme: light", False),
            ("Theme: dark", True),
            ("Theme: auto", theme == "dark"),
        ]


@pytest.mark.parametrize("name", PAGES)
def test_no_page_scrolls_sideways_on_a_phone(name: str, browser: Browser) -> None:
    browser.open(PAGES[name](), PHONE)
    browser.run(OPEN_ALL)
    for button in browser.all(".detail button[aria-expanded]")[:2]:
        browser.run("arguments[0].click()", button)
    outside = browser.run(
        """return [...document.querySelectorAll('main *, header *')]
          .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
          .filter((each) => !each.closest('.listing, .skip'))
          .map((each) => each.outerHTML.slice(0, 200))"""
    )
    assert outside == []
    assert browser.run("return document.documentElement.scrollWidth") == PHONE


# ------------------------------------------------------------------------------------ hostile


def test_hostile_names_are_text(browser: Browser) -> None:
    browser.open(html.render(hostile_module(), HOSTILE[0]))
    browser.run(OPEN_ALL)
    assert browser.run("return window.hacked === undefined")
    assert browser.driver.find_elements(By.CSS_SELECTOR, "img, iframe, a:not(.skip)") == []
    assert browser.run("return document.scripts.length") == 2
    assert browser.run("return document.querySelector('h1').textContent") == HOSTILE[0]
    names = browser.contents("#functions .toggle > .name")
    assert names == [
        *HOSTILE[:7],
        r"bidi \u202eevil\u2066\u200f\u061c",
        r"control \x00\x07\x1b[31m\r\n\t\x7f\x85\u2028\u2029",
        "invisible \\u200b\\ufeff\\xad\\U000e0041\u3164",
        HOSTILE[10],
        r"bytes \xff\x80",
        *HOSTILE[12:-1],
        "(no name)",
    ]
    assert r"\u202e" in browser.contents("#functions .toggle .escape")
    shown = browser.run("return document.body.innerText")
    assert {c for c in shown if unicodedata.category(c) in ("Cc", "Cf")} <= {"\n", "\t"}


@pytest.mark.parametrize("name", ["comparison", "catalog"])
def test_hostile_names_are_text_on_other_pages(browser: Browser, tmp_path: Path, name: str) -> None:
    """Nothing of them runs or is requested, and what nobody sees of them is shown."""
    hostile = hostile_module()
    if name == "comparison":
        other = vmfb.open(ROOT / "examples" / "classifier.vmfb")
        text = html.render_diff(hostile, other, (HOSTILE[0], HOSTILE[1]))
    else:
        pytest.importorskip("duckdb")
        data = bytes(hostile._bytes(0, hostile.layout.file_size))
        for each in HOSTILE:
            if len(each) < 200:
                (tmp_path / f"{each.replace('/', '|').replace(chr(0), '')}.vmfb").write_bytes(data)
        (tmp_path / f"{HOSTILE[1]}damaged.vmfb").write_bytes(data[:100])
        with Catalog(None) as catalog:
            catalog.update(tmp_path)
            text = html.render_catalog(catalog, HOSTILE[0])
    browser.open(text)
    browser.run(OPEN_ALL)
    assert browser.run("return window.hacked === undefined")
    assert browser.driver.find_elements(By.CSS_SELECTOR, "img, iframe, svg[onload]") == []
    assert browser.run("return document.scripts.length") == 2
    shown = browser.run("return document.body.innerText")
    assert {c for c in shown if unicodedata.category(c) in ("Cc", "Cf")} <= {"\n", "\t"}
    assert "<img src=x onerror=" in shown


def test_a_script_in_the_page_cannot_run(browser: Browser) -> None:
    """The policy stops what escaping would miss."""
    text = page("std_llvmcpu").replace("</body>", "<script>window.hacked = 1</script></body>")
    browser.open(text)
    assert browser.run("return window.hacked === undefined")
    (message,) = browser.driver.get_log("browser")
    assert "Content Security Policy" in message["message"]


def test_an_address_opens_its_function(browser: Browser) -> None:
    text = page("many_300")
    name = vmfb.open(DATA / "vmfb" / "many_300.vmfb").exports.values()[250].name
    browser.open(text, anchor=f"#{name}")
    assert browser.focused().text == name
    assert len(browser.all("tr.detail")) == 1
    browser.focused().click()
    browser.open(text, anchor="#%ff%3Cb%3E")
    assert browser.all("tr.detail") == []


def test_a_change_of_the_address_opens_its_function(browser: Browser) -> None:
    names = [*vmfb.open(DATA / "vmfb" / "many_300.vmfb").exports]
    browser.open(page("many_300"), anchor=f"#{names[3]}")
    browser.run("document.getElementById('tab-details').click()")
    for name in (names[250], names[7]):
        browser.run("location.hash = arguments[0]", name)
        browser.wait(f"document.activeElement.textContent === '{name}'")
    assert len(browser.all("tr.detail")) == 3


def test_the_link_to_the_contents_is_no_address_of_a_function(browser: Browser) -> None:
    text = html.render(vmfb.open(ROOT / "examples/releases/2.0/vision.vmfb"))
    assert "main" in vmfb.open(ROOT / "examples/releases/2.0/vision.vmfb").exports
    browser.open(text)
    browser.press(Keys.TAB, Keys.ENTER)
    assert browser.focused().tag_name == "main"
    assert browser.run("return location.hash") == ""
    assert browser.all("tr.detail") == []


# -------------------------------------------------------------------------------------- size


def test_a_large_module_is_quick(browser: Browser, tmp_path: Path) -> None:
    module = large_module(tmp_path / "large.vmfb", 2000, 100)
    browser.open(html.render(module, "large.vmfb"))
    assert browser.texts(".status") == ["2,000 functions"]
    elapsed = browser.run(
        """const box = document.querySelector('input[type=search]');
        const start = performance.now();
        box.value = 'layer_19';
        box.dispatchEvent(new Event('input'));
        document.body.getBoundingClientRect();
        return performance.now() - start;"""
    )
    assert browser.texts(".status") == ["111 of 2,000 functions"]
    assert elapsed < 1000
    browser.wait("[...CSS.highlights.get('search')].length === 111")
    browser.all("[role=tab]")[1].click()
    assert "Constants of equal elements 99.0 MiB 99%" in browser.one("figcaption").text
    assert len(browser.names()) == 0
    assert len(browser.all("[role=tabpanel] tbody")) == 100


# ------------------------------------------------------------------ without JavaScript, on paper


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_without_javascript_has_a_table(name: str, width: int, browser: Browser) -> None:
    text = PAGES[name]()
    switch = "Emulation.setScriptExecutionDisabled"
    browser.driver.execute_cdp_cmd(switch, {"value": True})
    try:
        browser.open(text, width)
        shown = browser.one("main").text
        assert browser.one("h1").text
        assert len(browser.all("table.plain")) == 1 + (name in ("catalog", "folders"))
        assert "Search, details and bytecode need JavaScript" in shown
        rows = browser.texts("table.plain tbody tr")
        assert rows
    finally:
        browser.driver.execute_cdp_cmd(switch, {"value": False})
    expected = {
        "module": "mm (input0: float32[8x16], input1: float32[16x4]) -> (output0: float32[8x4])",
        "library": "norm (ffi.Tensor) -> float The Euclidean norm of a vector.",
        "comparison": "widening main inputs[0].shape[0] widened: float32[1x3x224x224] => ",
        "folders": "project.vmfb removed",
        "catalog": "main$async (",
    }
    if width == DESKTOP and name in expected:
        assert any(row.startswith(expected[name]) for row in rows), rows[:9]
    assert browser.run("return window.hacked === undefined")


def test_on_a_phone_rows_are_sorted_by_buttons(browser: Browser) -> None:
    browser.open(page("std_llvmcpu"), PHONE)
    assert browser.texts("thead th") == ["Function", "Types from", "Bytecode"]
    tops = {each.rect["y"] for each in browser.all("thead th button")}
    assert len(tops) == 1
    assert all(each.rect["height"] >= 24 for each in browser.all("thead th button"))
    browser.all("thead th button")[2].click()
    assert browser.names() == ["__init", "addup", "mm"]
    assert browser.texts("thead th[aria-sort=descending]") == ["Bytecode"]


def test_a_printed_page_is_whole(browser: Browser, tmp_path: Path) -> None:
    module = large_module(tmp_path / "large.vmfb", 300, 1)
    browser.open(html.render(module, "large.vmfb"), theme="dark")
    browser.all(".toggle")[1].click()
    browser.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    for selector in (".tools", ".tabs", ".theme", ".keys", "footer .keys", ".more"):
        assert browser.all(selector) == []
    background = browser.run("return getComputedStyle(document.documentElement).backgroundColor")
    assert background == "rgb(255, 255, 255)"  # light, whatever the screen is
    assert len(browser.all("#functions .toggle")) == 300
    assert len(browser.all("tr.detail")) == 1
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
