"""Run a fuzz target in Python by atheris: ``python -m tools._fuzz_python NAME FOLDER …``.

The seeds and the dictionary of the target are written into the folder. The other arguments are
libFuzzer's. Coverage is that of `fnabi` in Python and of the
parser of HTML; of its core, the targets in C have it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

from tools._fuzz_targets import load, targets


def main() -> None:
    """Fuzz the target that the first argument names; never returns."""
    target = targets()[sys.argv[1]]
    folder = Path(sys.argv[2])
    seeds, words = folder / "seeds", folder / "words.dict"
    seeds.mkdir(parents=True, exist_ok=True)
    covered = ["fnabi", "html.parser", "_markupbase"]
    with atheris.instrument_imports(include=covered, enable_loader_override=False):
        module = load(target)
        for number, seed in enumerate(module.SEEDS):
            (seeds / f"{number:03}").write_bytes(seed)
            module.check(seed)  # which imports what is imported when it is needed
    quoted = ("".join(f"\\x{byte:02x}" for byte in word) for word in module.WORDS)
    words.write_text("".join(f'"{word}"\n' for word in quoted))
    options = [each for each in sys.argv[3:] if each.startswith("-")]
    inputs = [each for each in sys.argv[3:] if not each.startswith("-")]
    replays = inputs and Path(inputs[0]).is_file()
    more = [] if replays else [f"-dict={words}"] if module.WORDS else []
    folders = inputs if replays else [*inputs, str(seeds)]
    atheris.Setup([sys.argv[0], *options, *more, *folders], module.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
