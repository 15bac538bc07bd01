"""``fnabi inspect --dispatches --style``: graphs, as their languages' own programs read them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fnabi.cli import main
from fnabi.cli.verbs.inspect._diagram import diagram
from fnabi.vmfb._graph import read_graphs
from fnabi.vmfb.program import Block, BufferRange, Dispatch, FunctionCall, Program
from support.pages import HOSTILE
from support.paths import DATA

CHAIN = DATA / "program" / "chain.vmfb"
LAYERS = DATA / "program" / "layers.vmfb"
MERMAID = "mermaid@11.17.2"
PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<script src="mermaid.js"></script>
<p id="place">"""
DRAW = """
  const [text, done] = arguments;
  mermaid.initialize({ startOnLoad: false });
  mermaid.render('drawn', text).then(({ svg }) => {
    document.getElementById('place').innerHTML = svg;
    done(null);
  }, (problem) => done(String(problem)));
"""

Draw = Callable[[str], tuple[list[str], int]]

NAMES = (
    *HOSTILE,
    'a"] --> b; end\nsubgraph x["y"',
    'a", color=red]; } graph { b [label="\\N \\l \\G',
    "%%{init: {}}%% $$x^2$$ `code` #quot; &amp; fa:fa-user",
    "1. first",
    "- _x_ **y** [z](javascript:alert(1))",
    "end",
    "\\",
)


def hostile() -> Program:
    steps = []
    for index, name in enumerate(NAMES):
        steps += [
            Dispatch(2 * index, name, None, (), 0, (BufferRange("t0"),)),
            FunctionCall(2 * index + 1, name, None),
        ]
    return Program(0, NAMES[0], (Block(0, False, tuple(steps), (), "return"),), ())


def shown(name: str) -> str:
    """Return a name as a diagram has it."""
    from fnabi._base.text import one_line

    name = one_line(name)
    return f"{name[:191]}..." if len(name) > 191 else name


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["inspect", "--dispatches", *arguments]) == 0
    return capsys.readouterr().out


# -------------------------------------------------------------------------------------------- text


def test_what_repeats_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    for style in ("dot", "mermaid"):
        text = run(capsys, f"--style={style}", "--function", "main", str(LAYERS))
        assert "24 times, the first shown" in text
        assert text.count("\n") < 50
        assert text.count("dispatch main_dispatch") == 9
        assert "allocate 128" in text
        assert "input0 has dims Ax32" in text


def test_edges_join_nodes_that_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--style=dot", str(CHAIN))
    nodes = re.findall(r"^ *(\w+) \[label=", text, re.MULTILINE)
    ends = re.findall(r"^ *(\w+) -> (\w+)", text, re.MULTILINE)
    assert {end for pair in ends for end in pair} <= {*nodes}


def test_a_block_that_follows_itself() -> None:
    steps = (Dispatch(0, "d", None, (), 0, ()),)
    loop = Block(0, True, steps, (0, 9), "condition"), Block(9, False, (), (), "return")
    (graph,) = read_graphs([Program(0, "f", loop, ())])
    assert graph is not None
    text = diagram([graph], "dot")
    assert "  f0n0 -> f0n0 [constraint=false, style=dashed]\n" in text
    assert "  f0n0 -> f0n1 [style=dashed]\n" in text


def test_a_line_of_more_than_200_characters_is_cut() -> None:
    lines = ["dispatch " + "d" * count for count in (191, 192)]
    steps = tuple(Dispatch(0, each[9:], None, (), 0, ()) for each in lines)
    graphs = [*read_graphs([Program(0, "f", (Block(0, False, steps, (), "return"),), ())])]
    text = diagram([each for each in graphs if each is not None], "dot")
    assert re.findall(r"dispatch d+(?:\.\.\.)?", text) == [
        lines[0],
        f"{lines[0]}...",
    ]


def test_options(capsys: pytest.CaptureFixture[str]) -> None:
    as_json = run(capsys, "--style=json", str(CHAIN))
    assert json.loads(as_json)["schema"] == "fnabi.dispatches/1"
    assert as_json == run(capsys, "--json", str(CHAIN))
    assert run(capsys, "--style=text", str(CHAIN)) == run(capsys, str(CHAIN))
    for wrong in (
        ["--style=dot"],
        ["--dispatches", "--json", "--style=dot"],
        ["--html", "--dispatches"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["inspect", *wrong, str(CHAIN)])
        assert ended.value.code == 2
    assert "--dispatches is not allowed with --html" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------- graphviz


def dot(text: str) -> dict[str, object]:
    if shutil.which("dot") is None:
        pytest.skip("could not find the program 'dot'")
    done = subprocess.run(
        ["dot", "-Tjson"], input=text.encode(), capture_output=True, check=True, timeout=60
    )
    assert done.stderr == b""
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("path", [CHAIN, LAYERS], ids=lambda path: path.stem)
def test_graphviz_draws_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = dot(run(capsys, "--style=dot", str(path)))
    objects = found["objects"]
    assert isinstance(objects, list)
    labels = [each["label"] for each in objects]
    assert "wait" in labels
    title = "24 times, the first shown" if path == LAYERS else "block 2, in a loop"
    assert title in labels
    assert r"dispatch main_dispatch_0" in "".join(labels)
    assert isinstance(found["edges"], list)


def test_graphviz_reads_hostile_names_as_text() -> None:
    graphs = [each for each in read_graphs([hostile()]) if each is not None]
    found = dot(diagram(graphs, "dot"))
    objects = found["objects"]
    assert isinstance(objects, list)
    nodes = [each for each in objects if "nodes" not in each]
    assert len(nodes) == 2 * len(NAMES) + 1
    labels = [each["label"] for each in nodes]
    for index, name in enumerate(NAMES):
        escaped = shown(name).replace("\\", "\\\\").replace("&", "&amp;")
        assert labels[2 * index].startswith(f"dispatch {escaped or '?'}"), name
    assert all("color" not in each for each in objects)


# ----------------------------------------------------------------------------------------- mermaid


@pytest.fixture(scope="module")
def draw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Draw]:
    """Return a function that draws a diagram, and gives its labels and the number of edges."""
    pytest.importorskip("selenium.webdriver")
    from support.browser import npm_file, started

    folder = tmp_path_factory.mktemp("mermaid")
    script = npm_file(folder, MERMAID, "dist/mermaid.min.js")
    (folder / "mermaid.js").write_text(script, "utf-8")
    with started(folder) as browser:

        def drawn(text: str) -> tuple[list[str], int]:
            browser.open(PAGE)
            problem = browser.driver.execute_async_script(DRAW, text)
            assert problem is None
            assert browser.run("return window.hacked === undefined")
            assert browser.run("return document.querySelector('img, #place script') === null")
            labels = browser.run(
                "return [...document.querySelectorAll('.nodeLabel')].map((e) => e.innerText)"
            )
            edges = "return document.querySelectorAll('.flowchart-link').length"
            return labels, browser.run(edges)

        yield drawn


@pytest.mark.parametrize("path", [CHAIN, LAYERS], ids=lambda path: path.stem)
def test_mermaid_draws_it(path: Path, draw: Draw, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "--style=mermaid", str(path))
    labels, edges = draw(text)
    title = "24 times, the first shown" if path == LAYERS else "block 2, in a loop"
    assert title in labels
    dispatch = "[-(-A // 64), 1, 1]\n" + ("t1, global6, t1" if path == LAYERS else "t1, input1, t0")
    assert any(each.endswith(dispatch) for each in labels)
    assert edges >= sum(" --> " in line or " -.-> " in line for line in text.split("\n"))


def test_mermaid_reads_hostile_names_as_text(draw: Draw) -> None:
    graphs = [each for each in read_graphs([hostile()]) if each is not None]
    labels, edges = draw(diagram(graphs, "mermaid"))
    assert edges == 2 * len(NAMES) + len(NAMES) - 1

    def words(text: str) -> str:
        return "".join(text.split())

    found = [words(each) for each in labels]
    for name in NAMES:
        assert words(f"call {shown(name)}")[:190] in "".join(found), name
