"""The weights of a module: those inside, and the sizes of those outside."""

from __future__ import annotations

from fnabi.vmfb import Module
from fnabi.vmfb.rodata import RodataSegment


def weights(module: Module) -> tuple[RodataSegment, ...]:
    """Return the segments that `fnabi.costs.weights` describes."""
    executables = {each.segment for each in module.executables}
    found = [each for each in module.rodata if each.index not in executables and _may_weigh(each)]
    if not found:
        return ()
    from fnabi.vmfb._program import ModuleReader  # slow

    others = ModuleReader(module).given(_UPLOADS)
    return tuple(each for each in found if each.index not in others)


_UPLOADS = (
    "hal.allocator.import",
    "hal.command_buffer.update_buffer",
    "hal.device.queue.update",
    "hal.ex.file.from_memory",
    "hal_inline.buffer.wrap",
)
"""The imports that make buffers of a segment, or copy it to one."""


def _may_weigh(segment: RodataSegment) -> bool:
    """Return whether a segment may be weights, without reading one outside the FlatBuffer."""
    return segment.size > 0 and (segment.external or segment.kind != "string table")


def parameter_sizes(module: Module) -> dict[str | None, int]:
    """Return the sizes that `fnabi.costs.parameters` describes."""
    sizes: dict[tuple[str | None, str | None], int] = {}
    for each in module.parameters:
        name = each.scope, each.key
        size = 0 if each.key is None else each.required_size or 0
        sizes[name] = max(sizes.get(name, 0), size)
    found: dict[str | None, int] = {}
    for (scope, _), size in sizes.items():
        found[scope] = found.get(scope, 0) + size
    return found
