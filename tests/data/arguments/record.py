"""Call every function of the modules here in the runtime beside this Python: see README.md."""

import json
import warnings
from pathlib import Path

from iree import runtime as rt

BIG = 8589934614
CALLS = {
    "wide": ([1, BIG], [BIG]),
    "mixed": ([1, BIG, 3, BIG + 1], [1, BIG, 3, BIG + 1]),
    "floats": ([0.5, BIG], [BIG]),
    "chosen": ([5, BIG, 6], [42]),
    "aligned": ([1, 2, BIG, 4], [BIG, 4]),
    "unread": ([9, BIG], [9]),
    "calls_second": ([BIG, BIG + 1], [BIG + 1]),
    "calls_negative": ([-1], [1]),
    "calls_big": ([5], [8589934597]),
    "calls_narrow": ([5, 3], [2]),
}
"""The arguments of each function, and what it returns."""


def wrong(data: bytes) -> "list[str] | None":
    """Return the functions whose results are wrong; None if the module does not load."""
    instance = rt.VmInstance()
    read = getattr(rt.VmModule, "copy_buffer", rt.VmModule.from_flatbuffer)
    try:
        module = read(instance, data)
        context = rt.VmContext(instance, [module])
    except (RuntimeError, ValueError):
        return None
    found = []
    for name, (arguments, expected) in CALLS.items():
        inputs, results = rt.VmVariantList(len(arguments)), rt.VmVariantList(len(expected))
        for each in arguments:
            (inputs.push_float if isinstance(each, float) else inputs.push_int)(each)
        context.invoke(module.lookup_function(name), inputs, results)
        if [results.get_variant(i) for i in range(results.size)] != expected:
            found.append(name)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder = Path(__file__).parent
    answers = {file.name: wrong(file.read_bytes()) for file in sorted(folder.glob("*.vmfb"))}
    print(json.dumps(answers))
