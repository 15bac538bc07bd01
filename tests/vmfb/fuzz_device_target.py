"""The device targets in a text of MLIR are parts of it, in their order, each with its settings."""

from __future__ import annotations

from fnabi.vmfb.needs import parse_targets

SEEDS = (
    b'#hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64",'
    b' {cpu = "generic", features = "+avx2,-sse", data_layout = "e-m:e", n = 16 : i64}>]>',
    b'#hal.device.target<"vulkan", {a = [1, 2]}, [#hal.executable.target<"vulkan-spirv",'
    b' "vulkan-spirv-fb">, #hal.executable.target<"b", "c", {d = "}>\\""}>]> : !hal.device',
    b"#hal.device.target<#hal.device.target<[",
    b'#hal.device.target<"a", [x -> y]>#hal.device.target<"b", []>',
)
WORDS = (
    *(b"#hal.device.target<", b"#hal.executable.target<", b'"', b"\\", b"->", b" = ", b", ", b">"),
    *(b"[", b"]", b"{", b"}", b"(", b")", b"<"),
)


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    text = data.decode("utf-8", "replace")
    at = 0
    for target in parse_targets(text):
        at = text.index(target.device, at)
        for each in target.executables:
            assert each.backend in text
            assert each.format in text
            for name, value in each.config:
                assert name in text
                assert value in text
    known = text.encode()
    assert list(parse_targets(known.decode())) == list(parse_targets(text))
