"""What functions do, as graphs in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from fnabi import bytecode, html, vmfb
from support.paths import DATA

pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from support.browser import DESKTOP, PHONE, Browser, violations

CHAIN = DATA / "program" / "chain.vmfb"
LAYERS = DATA / "program" / "layers.vmfb"


def show(
    browser: Browser,
    function: str,
    path: Path = CHAIN,
    width: int = DESKTOP,
    theme: str = "light",
) -> None:
    with vmfb.open(path) as module:
        browser.open(html.render(module, path.name), width, theme, f"#{function}")
    browser.wait("document.querySelector('.edge') !== null")


def titles(browser: Browser) -> list[str]:
    return browser.contents(".step > .name")


def edges(browser: Browser, kind: str = ".edge") -> list[tuple[int, int]]:
    found = browser.run(
        """return [...document.querySelectorAll(arguments[0])]
          .map((each) => [Number(each.dataset.source), Number(each.dataset.target)])""",
        kind,
    )
    return sorted((source, target) for source, target in found)


# --------------------------------------------------------------------------------------- drawing


def test_steps_and_what_connects_them_are_drawn(browser: Browser) -> None:
    show(browser, "rows")
    dispatch = "dispatch rows_dispatch_0_matmul_Dx64x64_f32"
    assert titles(browser) == [
        *("t0 = allocate 256*A bytes", "t1 = allocate 256*A bytes"),
        *(dispatch, dispatch, "release t1", "wait", "return t0"),
    ]
    assert browser.texts(".buffers") == ["input0, input1, t1", "t1, input1, t0"]
    assert browser.texts(".barrier") == ["barrier", "barrier"]
    assert browser.texts(".detail p.code") == ["input0 has dims Ax64"]
    expected = [(0, 1), (0, 4), (1, 2), (2, 4), (4, 6), (4, 8), (6, 7), (7, 8)]
    assert edges(browser) == expected
    assert edges(browser, ".edge.order") == [(0, 1), (6, 7), (7, 8)]


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_edges_end_at_their_steps(width: int, browser: Browser) -> None:
    show(browser, "main", LAYERS, width)
    assert (
        browser.run(
            """const rect = (each) => each.getBoundingClientRect();
        const boxes = [...document.querySelectorAll('.node')].map(rect);
        const isAt = ({ x, y }, side) => boxes.some((box) =>
          x > box.left && x < box.right && Math.abs(y - box[side]) < 3);
        const isInside = ({ x, y }) => boxes.some((box) =>
          x > box.left + 1 && x < box.right - 1 && y > box.top + 3 && y < box.bottom - 3);
        const isWrong = (edge) => {
          const frame = rect(edge.ownerSVGElement);
          const length = edge.getTotalLength();
          const point = (at) => {
            const { x, y } = edge.getPointAtLength(at);
            return { x: x + frame.left, y: y + frame.top };
          };
          if (!isAt(point(0), 'bottom') || !isAt(point(length), 'top')) return true;
          for (let at = 0; at < length; at += 5) if (isInside(point(at))) return true;
          return false;
        };
        return [...document.querySelectorAll('.edge')].filter(isWrong).map((e) => e.outerHTML)"""
        )
        == []
    )


def test_branches_and_loops_are_drawn(browser: Browser) -> None:
    show(browser, "loop")
    assert browser.texts(".part h4") == ["Block 1, in a loop", "Block 2, in a loop", "Block 3"]
    assert browser.texts(".next") == ["goes to block 2 or block 3", "goes to block 1"]
    assert len(browser.all(".edge")) == 5 + 3
    browser.all(".next .link")[1].click()
    assert browser.focused().text == "Block 3"


def test_commands_that_may_run_at_the_same_time_are_side_by_side(browser: Browser) -> None:
    show(browser, "main", LAYERS)
    rows = browser.run(
        """return [...document.querySelectorAll('.row')]
          .map((row) => new Set([...row.children].map((each) => each.getBoundingClientRect().top)))
          .map((tops, index, all) => tops.size)"""
    )
    assert set(rows) == {1}
    counts = browser.run(
        "return [...document.querySelectorAll('.row')].map((e) => e.children.length)"
    )
    assert counts == [1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]


# --------------------------------------------------------------------------------------- folding


def test_what_repeats_is_folded_and_unfolds(browser: Browser) -> None:
    show(browser, "main", LAYERS)
    assert len(titles(browser)) == 14
    assert browser.texts(".times strong") == ["24 times"]
    assert (16, 2) in edges(browser)  # to the next layer
    button = browser.one(".times button")
    assert (button.text, button.get_attribute("aria-expanded")) == ("Show each", "false")
    button.click()
    assert len(titles(browser)) == 221
    assert browser.contents(".turn")[23] == "24 of 24"
    button = browser.focused()
    assert (button.text, button.get_attribute("aria-expanded")) == ("Fold", "true")
    assert all(source < target for source, target in edges(browser))
    button.click()
    assert len(titles(browser)) == 14


# ---------------------------------------------------------------------------------------- search


def current(browser: Browser) -> str:
    text: str = browser.one(".current").text
    return text


def test_search_finds_steps(browser: Browser) -> None:
    show(browser, "main", LAYERS)
    assert browser.texts(".find .status") == ["221 steps"]
    box = browser.one(".find input")
    box.send_keys("SOFTMAX")
    assert browser.texts(".find .status") == ["24 of 221 steps"]
    assert len(browser.all(".found")) == 1
    assert "main_dispatch_4_softmax" in current(browser)
    assert browser.run(
        """const box = document.querySelector('.current').getBoundingClientRect();
        return box.top > 0 && box.bottom < innerHeight"""
    )
    box.send_keys(Keys.ESCAPE)
    assert browser.all(".found") == []
    box.send_keys("main_dispatch_0_matmul")
    assert len(browser.all(".found")) == 3
    assert "global2" in current(browser)
    box.send_keys(Keys.ENTER)
    assert "global3" in current(browser)
    box.send_keys(Keys.SHIFT, Keys.ENTER)
    assert "global2" in current(browser)
    box.send_keys(Keys.SHIFT, " no such step")
    assert browser.texts(".find .status") == ["0 of 221 steps"]


def test_search_unfolds_what_hides_a_step(browser: Browser) -> None:
    show(browser, "main", LAYERS)
    box = browser.one(".find input")
    box.send_keys("global80")
    assert "global80" in current(browser)
    assert len(titles(browser)) == 221
    assert browser.focused() == box
    assert browser.run(
        """const box = document.querySelector('.current').getBoundingClientRect();
        return box.top > 0 && box.bottom < innerHeight"""
    )


# --------------------------------------------------------------------------------------- details


def test_details_of_a_step_are_shown_at_the_pointer(browser: Browser) -> None:
    show(browser, "rows")
    assert browser.all("[role=tooltip]") == []
    step = browser.all(".step")[2]
    browser.run("arguments[0].scrollIntoView({ block: 'center' })", step)
    ActionChains(browser.driver).move_to_element(step).perform()
    tip = browser.one("[role=tooltip]")
    assert step.get_attribute("aria-describedby") == tip.get_attribute("id")
    assert "Workgroups\n-(-A // 64), 1, 1" in tip.text
    assert "binding 1\ninput1 16384 bytes" in tip.text.replace("binding 1 ", "binding 1\n")
    assert edges(browser, ".edge.on") == [(1, 2), (2, 4)]
    ActionChains(browser.driver).move_to_element(tip).perform()
    assert len(browser.all("[role=tooltip]")) == 1  # the pointer may go there
    ActionChains(browser.driver).move_to_element(browser.one("h1")).perform()
    assert browser.all("[role=tooltip]") == []
    assert edges(browser, ".edge.on") == []


def test_details_of_a_step_are_shown_at_the_focus(browser: Browser) -> None:
    show(browser, "rows")
    browser.run("document.querySelector('.step').focus()")
    browser.press(Keys.TAB, Keys.TAB)
    assert browser.focused().text.startswith("dispatch rows_dispatch_0")
    assert "16384 bytes" in browser.one("[role=tooltip]").text
    browser.press(Keys.ESCAPE)
    assert browser.all("[role=tooltip]") == []
    assert len(browser.all("tr.detail")) == 1  # which the next Escape closes
    browser.press(Keys.ENTER)
    assert browser.focused().get_attribute("aria-expanded") == "true"
    about = browser.one(".about")
    assert about.get_attribute("id") == browser.focused().get_attribute("aria-controls")
    assert "256*A bytes" in about.text
    browser.press(Keys.ENTER)
    assert browser.all(".about") == []


def links(browser: Browser, step: int) -> dict[str, object]:
    browser.run("arguments[0].click()", browser.all(".step")[step])
    return {each.text.partition(" ")[0]: each for each in browser.all(".about .link")}


def test_links_lead_to_the_bytecode(browser: Browser) -> None:
    show(browser, "rows")
    with vmfb.open(CHAIN) as module:
        text = bytecode.disassemble(module, "rows")
    (link,) = (each for name, each in links(browser, 3).items() if name == "Bytecode")
    offset = link.text.removeprefix("Bytecode at ")
    browser.run("arguments[0].click()", link)
    browser.wait("document.activeElement.parentElement.className === 'listing'")
    dispatches = [line for line in text.split("\n") if "command_buffer.dispatch" in line]
    assert browser.focused().text.strip() == dispatches[1].strip()
    assert dispatches[1].split()[0] == offset
    browser.run("arguments[0].click()", link)  # the listing is there already
    assert len(browser.all(".listing")) == 1


def test_links_lead_to_functions_executables_and_steps(browser: Browser) -> None:
    show(browser, "main")
    found = links(browser, 2)
    browser.run("arguments[0].click()", found["t1"])
    assert browser.focused().text == "t1 = allocate 32768 bytes"
    browser.run("arguments[0].click()", found["Function"])
    assert browser.focused().text.startswith("function[0]")
    assert browser.focused().get_attribute("aria-expanded") == "true"
    browser.open(html.render(vmfb.open(CHAIN), "chain.vmfb"), anchor="#rows")
    found = links(browser, 2)
    browser.run("arguments[0].click()", found["Executable"])
    assert browser.one("[role=tab][aria-selected=true]").text.startswith("Needs")
    assert "rows_dispatch_0_matmul_Dx64x64_f32" in browser.focused().text


def test_places_in_the_sources_are_shown(browser: Browser) -> None:
    show(browser, "mixed", DATA / "bytecode_types" / "func_abi@3.0.0@vmvx.vmfb")
    links(browser, 0)
    assert "src/func_abi.mlir:22:10" in browser.one(".about").text


# --------------------------------------------------------------------------------- accessibility


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_checker_finds_no_violation(width: int, theme: str, unguarded: Browser, axe: str) -> None:
    browser = unguarded
    show(browser, "main", LAYERS, width, theme)
    browser.one(".find input").send_keys("matmul_Dx32x32")
    for each in browser.all(".step")[:4]:
        browser.run("arguments[0].click()", each)
    assert violations(browser, axe) == []
    browser.run("document.querySelector('.times button').click()")
    browser.run("document.querySelectorAll('.step')[9].dispatchEvent(new Event('pointermove'))")
    assert len(browser.all("[role=tooltip]")) == 1
    assert violations(browser, axe) == []


def test_nothing_scrolls_sideways_on_a_phone(browser: Browser) -> None:
    show(browser, "main", LAYERS, PHONE)
    browser.run("for (const each of document.querySelectorAll('.step')) each.click()")
    browser.run("document.querySelector('.times button').click()")
    browser.run("document.querySelectorAll('.step')[90].dispatchEvent(new Event('pointermove'))")
    outside = browser.run(
        """return [...document.querySelectorAll('main *')]
          .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
          .map((each) => each.outerHTML.slice(0, 200))"""
    )
    assert outside == []
    assert browser.run("return document.documentElement.scrollWidth") == PHONE


# --------------------------------------------------------------------------------------- hostile


def test_hostile_names_are_text(browser: Browser) -> None:
    name = b"rows_dispatch_0_matmul_Dx64x64_f32"
    hostile = "</script><img src=x>\u202e\n\"'&lt;".encode()
    data = CHAIN.read_bytes().replace(name, hostile.ljust(len(name), b"!"))
    with vmfb.from_buffer(data) as module:
        browser.open(html.render(module, "chain.vmfb"), anchor="#rows")
    browser.wait("document.querySelector('.edge') !== null")
    browser.run("for (const each of document.querySelectorAll('.step')) each.click()")
    title = r"""dispatch </script><img src=x>\u202e\n"'&lt;"""
    assert titles(browser)[2].startswith(title)
    assert browser.run("return document.querySelector('img')") is None


def test_many_steps_are_drawn_when_they_are_wanted(unguarded: Browser) -> None:
    browser = unguarded
    with vmfb.open(LAYERS) as module:
        text = html.render(module, "layers.vmfb")
    browser.open(text.replace("STEPS_AT_ONCE = 1000", "STEPS_AT_ONCE = 100"), anchor="#main")
    browser.wait("document.querySelector('.edge') !== null")
    browser.one(".times button").click()
    assert len(titles(browser)) == 100
    browser.one("section > .more").click()
    assert len(titles(browser)) == 221
    assert browser.all("section > .more") == []
