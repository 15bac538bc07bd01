"""Completion, in the shells themselves: TAB is pressed, and the line is read that comes of it."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fnabi import library
from fnabi.cli import main
from fnabi.cli._candidates import FILES
from fnabi.cli._parser import parser_of
from fnabi.cli.verbs import VERBS
from support.callee import path_of
from support.paths import ROOT

CLASSIFIER = ROOT / "examples" / "classifier.vmfb"
_START = {
    "bash": (["--norc", "--noprofile", "-i"], "bind 'set bell-style none'"),
    "zsh": (["-f", "-i"], "bindkey -e; unsetopt prompt_cr prompt_sp beep"),
}
_PATIENCE = 120
"""Seconds after which a shell that shows nothing has failed."""


def alone(folder: Path) -> dict[str, str]:
    """Return the environment of a user who has only the command, which is the one tested here."""
    tested = {
        name: text
        for name, text in os.environ.items()
        if name.startswith("COVERAGE_") or name == "PYTHONPATH"
    }
    return tested | {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(folder)}


class Terminal:
    """A shell in a terminal, in a folder, after its completions were turned on."""

    def __init__(self, shell: str, folder: Path) -> None:
        pty = pytest.importorskip("pty")
        program = shutil.which(shell)
        if program is None:
            pytest.skip(f"no {shell}")
        options, prepare = _START[shell]
        self.list_keys = "\t\t" if shell == "bash" else "\t"
        self._seen = ""
        self._process, self._end = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            environment = alone(folder)
            environment |= {"TERM": "xterm", "COLUMNS": "400", "LC_ALL": "C.UTF-8"}
            os.execve(program, [shell, *options], environment)
        show = "show() { printf '<%s>' \"$@\"; echo '|end'; }"
        self.send(f"stty cols 400; {prepare}; {show}\r")
        self.send(f'eval "$(fnabi completion {shell})"; echo on"line"\r')
        self.until("online")

    def send(self, keys: str) -> None:
        os.write(self._end, keys.encode())

    def until(self, pattern: str) -> str:
        """Return what the terminal shows up to a pattern."""
        late = time.monotonic() + _PATIENCE
        while not (found := re.search(pattern, self._seen, re.S)):
            ready, _, _ = select.select([self._end], [], [], max(0, late - time.monotonic()))
            assert ready, self._seen
            self._seen += os.read(self._end, 1 << 16).decode(errors="replace")
        shown, self._seen = self._seen[: found.end()], self._seen[found.end() :]
        return shown

    def complete(self, line: str) -> list[str]:
        """Press TAB after a line, and return the words of the command that comes of it."""
        self.send(f"{line}\t\x01show \r")
        shown = self.until(r"<fnabi>.*?>\|end")
        return re.split("><", shown[shown.rindex("<fnabi>") : -len(">|end")])[1:]

    def close(self) -> None:
        os.close(self._end)
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module, a folder, and the command in `bin`."""
    made = tmp_path_factory.mktemp("completion")
    (made / "bin").mkdir()
    command = made / "bin" / "fnabi"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nfrom fnabi.cli import main\nsys.exit(main())\n"
    )
    command.chmod(0o755)
    shutil.copy(CLASSIFIER, made / "my module.vmfb")
    (made / "weights").mkdir()
    shutil.copy(CLASSIFIER, made / "weights" / "other.vmfb")
    return made


@pytest.fixture(scope="module", params=["bash", "zsh"])
def terminal(request: pytest.FixtureRequest, folder: Path) -> Iterator[Terminal]:
    made = Terminal(request.param, folder)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("line", "last"),
    [
        ("fnabi ins", "inspect"),
        ("fnabi hel", "help"),
        ("fnabi --ver", "--version"),
        ("fnabi help cat", "catalog"),
        ("fnabi inspect --disas", "--disassemble"),
        ("fnabi inspect my", "my module.vmfb"),
        ("fnabi inspect my\\ mo", "my module.vmfb"),
        ('fnabi inspect "my mo', "my module.vmfb"),
        ("fnabi verify weights/o", "weights/other.vmfb"),
        ("fnabi verify weights/other.vmfb my", "my module.vmfb"),
        ("fnabi verify -- my", "my module.vmfb"),
        ("fnabi diff - my", "my module.vmfb"),
        ("fnabi diff - b my", "my"),  # which has two arguments
        ("fnabi diff -- -a my", "my module.vmfb"),
        ("fnabi diff -- -a b my", "my"),
        ("fnabi inspect --json my", "my module.vmfb"),
        ("fnabi stub --output my", "my module.vmfb"),
        ("fnabi stub --output=my", "--output=my module.vmfb"),
        ("fnabi verify --against=scope=my", "--against=scope=my module.vmfb"),
        ("fnabi diff --style mark", "markdown"),
        ("fnabi diff --style=mark", "--style=markdown"),
        ("fnabi diff a --style=mark", "--style=markdown"),
        ("fnabi diff a --sty=mark", "--sty=markdown"),
        ("fnabi diff a --style=no-such", "--style=no-such"),
        ("fnabi call lib.so f @my", "@my module.vmfb"),
        ("fnabi call lib.so f 1 @weights/o", "@weights/other.vmfb"),
        ("fnabi call lib.so f my", "my"),
        ("fnabi inspect @m", "@m"),
        ("fnabi catalog rem", "remove"),
        ("fnabi catalog --threads 1 rem", "remove"),
        ("fnabi catalog update --threads 1 my", "my module.vmfb"),
        ("fnabi completion z", "zsh"),
        ("fnabi inspect 'my module.vmfb' --function norm", "normalize"),
        ("fnabi inspect my\\ module.vmfb --function=norm", "--function=normalize"),
        ("fnabi inspect ~/my\\ module.vmfb --function norm", "normalize"),
        ('fnabi inspect "my module.vmfb" --function "norm', "normalize"),
        ("fnabi stub my\\ module.vmfb --function dense --function=norm", "--function=normalize"),
        ("fnabi inspect no-such.vmfb --function norm", "norm"),
        ("fnabi inspect weights --function norm", "norm"),
        ("no=1 fnabi diff --style=mark", "--style=markdown"),
        ("fnabi verify --runtime inst", "installed"),
        ("fnabi verify --runtime=3.12", "--runtime=3.12.0"),
        ("fnabi verify --runtime 3.9.0,3.12", "3.9.0,3.12.0"),
        ("fnabi find models --runtime=3.9.0..3.12", "--runtime=3.9.0..3.12.0"),
        ("fnabi verify --runtime 3.13.0..", "3.13.0..3.13.0"),
        ("fnabi verify --runtime 3.9.0..inst", "3.9.0..inst"),
        ("fnabi verify --runtime nothing..3.1", "nothing..3.1"),
    ],
)
def test_tab(terminal: Terminal, line: str, last: str) -> None:
    assert terminal.complete(line)[-1] == last


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("fnabi ", [verb.name for verb in VERBS]),
        ("fnabi help ", [verb.name for verb in VERBS]),
        ("fnabi diff --style=", ["text", "json", "markdown", "github", "sarif"]),
        ("fnabi diff --style ", ["text", "json", "markdown", "github", "sarif"]),
        ("fnabi verify --runtime ", ["3.9.0", "3.12.0", "installed"]),
        ("fnabi inspect my\\ module.vmfb --function ", ["normalize", "dense", "version"]),
        ("fnabi inspect ", ["weights/", "vmfb"]),
    ],
)
def test_tab_lists(terminal: Terminal, line: str, shown: list[str]) -> None:
    """What can be there is listed: bash needs a second TAB for it."""
    terminal.send(line + terminal.list_keys)
    seen = ""
    for each in shown:
        if each not in seen:
            seen += terminal.until(re.escape(each))
    terminal.send("\x15")
    assert terminal.complete("fnabi ins") == ["inspect"]


def test_functions_of_a_file_after_the_cursor(terminal: Terminal) -> None:
    line = "fnabi inspect --function=norm"
    after = " my\\ module.vmfb"
    terminal.send(f"{line}{after}{chr(2) * len(after)}\t\x01show \r")
    shown = terminal.until(r"<fnabi>.*?\|end")
    assert "<inspect><--function=normalize><my module.vmfb>" in shown


HOSTILE = [
    b"n$(>pwn)x",
    b"n`>pwned`",
    b"n;>pwned;",
    b"n'or\"mal$",
    b"n&& a|b\\#",
    b"n \\*?[a]~",
    b"n:o:r=m@l",
]


@pytest.mark.parametrize("name", [*HOSTILE, b"n!! a|b!$"])
@pytest.mark.parametrize("spelling", ["--function n", "--function=n", '--function "n'])
def test_names_are_quoted(terminal: Terminal, folder: Path, name: bytes, spelling: str) -> None:
    """What a module calls its functions is completed as it is, and never run."""
    if b"!" in name and '"' in spelling:
        pytest.skip("bash has no spelling for it")
    (folder / "hostile.vmfb").write_bytes(CLASSIFIER.read_bytes().replace(b"normalize", name))
    found = terminal.complete(f"fnabi inspect hostile.vmfb {spelling}")
    assert found[-1] == ("--function=" if "=" in spelling else "") + name.decode()
    assert not [each for each in folder.iterdir() if each.name.startswith("pwn")]


@pytest.mark.parametrize(
    "name", [b"n\x1b]0;abc\x07", b"n\nab\ncdef", b"n\tabcdefg", b"n\xe2\x80\xaeabcde", b"--json  x"]
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_that_are_no_text_are_left_out(
    shell: str, name: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hostile.vmfb"
    path.write_bytes(CLASSIFIER.read_bytes().replace(b"normalize", name))
    line = ["inspect", str(path), "--function", ""]
    breaks = " \t\n\"'@><=;|&(:"
    words = [breaks, " ".join(["fnabi", *line]), ""] if shell == "bash" else ["4", "fnabi", *line]
    assert main(["completion", shell, "--", *words]) == 0
    found, error = capfd.readouterr()
    assert error == ""
    assert [each.rstrip("\t") for each in found.splitlines()[1:]] == ["dense", "version", "__init"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("fnabi ins", ["inspect"]),
        ("fnabi help cata", ["catalog"]),
        ("fnabi diff --style=mark", ["--style=markdown"]),
        ("fnabi diff --style mark", ["markdown"]),
        ("fnabi inspect --disas", ["--disassemble"]),
        ("fnabi inspect my", ["my module.vmfb"]),
        ("fnabi stub --output=my", ["--output=my module.vmfb"]),
        ("fnabi verify weights/o", ["weights/other.vmfb"]),
        ("fnabi diff -- -a weights/o", ["weights/other.vmfb"]),
        ("fnabi diff -- -a b weights/o", []),
        ("fnabi inspect my\\ module.vmfb --function norm", ["normalize"]),
        ("fnabi inspect my\\ module.vmfb --function=norm", ["--function=normalize"]),
        ("fnabi inspect hostile.vmfb --function n", ["n$(>pwn)x"]),
        ("fnabi inspect no-such.vmfb --function n", []),
        ("fnabi call lib.so f @weights/o", ["@weights/other.vmfb"]),
        ("fnabi inspect @my", []),
        ("fnabi inspect ~/weights/o", ["~/weights/other.vmfb"]),
        ("fnabi inspect $HOME/weights/o", ["$HOME/weights/other.vmfb"]),
        ('fnabi inspect "weights/o', ["weights/other.vmfb"]),
        ("fnabi inspect 'my m", ["my module.vmfb"]),
        ("fnabi inspect my\\ m", ["my module.vmfb"]),
        ("fnabi stub --output=my\\ m", ["--output=my module.vmfb"]),
    ],
)
def test_fish(folder: Path, line: str, found: list[str]) -> None:
    """What fish itself says that it completes."""
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("no fish")
    (folder / "hostile.vmfb").write_bytes(CLASSIFIER.read_bytes().replace(b"normalize", HOSTILE[0]))
    program = "fnabi completion fish | source; complete -C $argv[1]"
    environment = alone(folder)
    done = subprocess.run(
        [fish, "--no-config", "-c", program, line],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=environment,
    )
    assert done.stderr == ""
    assert [each.partition("\t")[0] for each in done.stdout.splitlines()] == found
    assert not [each for each in folder.iterdir() if each.name.startswith("pwn")]


def test_zsh_loads_the_script_from_a_file(folder: Path) -> None:
    """As ``fnabi completion zsh > "${fpath[1]}/_fnabi"`` leaves it."""
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("no zsh")
    (folder / "functions").mkdir()
    done = subprocess.run([folder / "bin" / "fnabi", "completion", "zsh"], capture_output=True)
    (folder / "functions" / "_fnabi").write_bytes(done.stdout)
    terminal = Terminal("zsh", folder)
    terminal.send("exec zsh -f -i\r")
    terminal.send("bindkey -e; fpath=(~/functions $fpath); autoload -Uz compinit; compinit -D\r")
    terminal.send("show() { printf '<%s>' \"$@\"; echo '|end'; }; echo on\"line\"\r")
    terminal.until("online")
    assert terminal.complete("fnabi ins") == ["inspect"]
    assert terminal.complete("fnabi inspect my") == ["inspect", "my module.vmfb"]
    terminal.close()


def test_every_argument_has_a_kind() -> None:
    """Each argument is a file, has choices, or is known to be neither."""
    texts = {"NAME", "FUNCTION", "PATTERN", "GLOB", "N", "N|P%", "BYTES", "PREFIX", "ARG", "WORD"}
    texts |= {"RELEASE", "TIME", "PART=NAME"}
    for verb in VERBS:
        for action in parser_of(verb)._actions:
            kind = action.metavar
            is_flag = action.nargs == 0
            known = action.choices is not None or is_flag or kind in FILES | texts
            assert known or isinstance(kind, tuple), (verb.name, action.dest, kind)


@pytest.mark.parametrize(
    "words", [["x"], ["0", "fnabi", "a"], ["3", "fnabi", "a"], ["²", "f", "a"]]
)
def test_wrong_words(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "zsh", "--", *words])
    assert ended.value.code == 2
    assert "expected the index of a word" in capsys.readouterr().err


def test_functions_come_at_once() -> None:
    """A shell waits for them, so nothing slow is imported."""
    code = (
        "import sys; from fnabi.cli import main\n"
        "words = ['4', 'fnabi', 'inspect', sys.argv[1], '--function', '']\n"
        "main(['completion', 'zsh', '--', *words])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, CLASSIFIER]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["words", "normalize", "dense", "version", "__init"]
    slow = {"importlib.metadata", "email", "rich", "numpy", "duckdb", "pyarrow", "asyncio", "ssl"}
    assert not slow & {*done.stderr.split()}


@pytest.mark.parametrize(
    ("breaks", "before", "found"),
    [
        (" =:", "no=1 fnabi diff --style=mark", ["words", "markdown"]),
        (" =:", 'fnabi diff --style="mark', ["words", "markdown"]),
        (" =:", "fnabi diff --sty mark", ["words", "markdown"]),
        (" =:", "fnabi diff --s mark", ["files"]),
        (" =:", "fnabi diff --style='mark", ["words", "markdown"]),
        (" =:", 'fnabi nothing "a\\$b" ', ["words"]),
        (" =:", 'fnabi inspect "a\\"b', ["files"]),
        (" =:", "fnabi call lib.so f @a", ["files@"]),
        (" =:", "fnabi call lib.so f a", ["words"]),
        (" =:", "fnabi diff old new le", ["words"]),
        (" =:", "fnabi diff old new --len", ["words", "--lenient"]),
    ],
)
def test_lines_of_bash(
    breaks: str, before: str, found: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash", "--", breaks, before, ""]) == 0
    assert capsys.readouterr().out.splitlines() == found


def test_names_with_quotes_in_single_quotes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bash has no spelling for a quote inside of them."""
    path = tmp_path / "m.vmfb"
    path.write_bytes(CLASSIFIER.read_bytes().replace(b"normalize", b"n'ormaliz"))
    for begin, found in (("'", ["dense", "version", "__init"]), ("", ["n\\'ormaliz", "dense"])):
        line = f"fnabi inspect {path} --function {begin}"
        assert main(["completion", "bash", "--", " =", line, ""]) == 0
        assert capsys.readouterr().out.splitlines()[1:][: len(found)] == found


def test_functions_of_libraries_and_of_broken_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.vmfb"
    broken.write_bytes(CLASSIFIER.read_bytes()[:200])
    for file, names in (
        (path_of("changing"), [*library.read(path_of("changing")).functions]),
        (broken, []),
    ):
        words = ["4", "fnabi", "inspect", str(file), "--function", ""]
        assert main(["completion", "zsh", "--", *words]) == 0
        found = [each.rstrip("\t") for each in capsys.readouterr().out.splitlines()]
        assert found == ["words", *names]
