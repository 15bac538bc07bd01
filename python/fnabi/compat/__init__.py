r"""Compatibility of modules: whether callers of one can use another in its place.

`compare` lists the differences of two modules, with their severity for callers that call the old
module's functions by name::

    >>> from fnabi import compat, vmfb
    >>> found = compat.compare(vmfb.open("old.vmfb"), vmfb.open("new.vmfb"))
    >>> found.compatible
    False
    >>> print(*found.changes, sep="\n")
    notice    bytecode_version changed: 15.0 => 17.0
    breaking  mm: inputs[1].shape[0] narrowed: float32[?x8] => float32[4x8]

A change is *breaking* if a caller may fail or misread results. It is *widening* if everything that
was accepted still is, and nothing new is returned. It is *unknown* if the modules do not show
whether it affects callers, so that nobody can call them compatible. Otherwise it is a *notice*.
A module is compatible with one of the same bytes, and with its own baseline, whatever it shows;
what releases that the caller names and nobody has measured make of it stays unknown.

Types
    A dynamic dim is wider than a static one, an unknown rank wider than a known one, a reference
    to any object wider than one to a named type. Inputs may become wider and results narrower;
    the reverse is breaking. The same holds for the items of a List, a Tuple, a Dict, a
    HomogeneousList or a RefArray. All other changes are breaking: of the dtype, the rank, a static
    dim, the kind of type, the number of values, the keys of a Dict or their order, which is the
    order in which values are passed. Dims are compared one by one if there are at most 8.

    What cannot be compared is *unknown*, on either side and on both: an Unknown, and a reference
    in a signature that is read from the bytecode or the calling convention, which does not show
    what it refers to. Integers of the same width that are signless on one side are a notice,
    because their bits are the same. A change from signed to unsigned is breaking.

    A name that is now at another position has *moved*, and so have the values at both positions:
    a caller that passes values by position passes them to other arguments, and reads results as
    other ones. That is breaking for inputs, for results and for the items of a structure, whatever
    texts the signatures come from.

    In a signature from ``iree.abi``, `iree.runtime` takes an argument with a name as a keyword, and
    no other way, so a changed, removed or added name is breaking, also where ``iree.abi`` itself is
    new. In other signatures, and for results, names that are new or gone are notices. They are not
    compared if the signatures come from different texts.

Functions
    A removed function is breaking, an added one widening. Of several exports of one name the first
    is compared, since callers use that one; a change of their number is a notice. Functions whose
    names begin with two underscores, such as ``__init``, are called by the runtime, and all their
    changes are notices. The order of functions is ignored.

    A change of the calling convention is always breaking. So is one of ``iree.abi.model``, because
    asynchronous functions have two fences as further arguments.

    Typed signatures are compared type by type. A number in a signature from the bytecode or the
    calling convention is compared by the calling convention alone, which is all that these show.
    Removing the text of a signature is breaking if callers convert values by
    it: ``iree.abi`` and ``f``. The structures of ``sip`` must be equal: kinds, keys, the order of a
    dict's keys, and indexes.

    A signature or structure that has become malformed is breaking. If the old one is malformed,
    that is a notice, and the calling convention alone decides.

    All other attributes are notices. Attributes of a signature are left out if the differences of
    the signature itself are listed.

    A result that is written into a buffer of the caller (``iree.abi.output``) is breaking unless
    both functions do so. If one of them has no text, the results that share the memory of an
    argument by the bytecode's proofs count as well, on both sides: bytecode does not show whether
    such a result was written or passed through. What a text declares and neither bytecode proves
    is unknown. Transient memory must be as it was: a smaller constant size is widening,
    every other change is breaking.

Needs
    A device, an alternative for one, or an executable format that is no longer served is breaking,
    as are a device that is needed besides, and features that a processor must have now. The
    reverse is widening. A changed processor is a notice, and so is a changed target triple of the
    same architecture.

    A parameter that is needed now is breaking, as is one of another size, or one that is written
    now; the reverse of the first and the last is widening. Parameters that the code does not name
    are unknown, and so are needs that cannot be read.

Modules
    A change of the module's name is breaking, because functions are looked up by it too. So is a
    lower version, because other modules may require the old one. So is a module that the host must
    register now, as a dependency or for an import that is not optional, such as ``custom``,
    ``hal_inline`` or ``io_parameters``. Of modules that are not IREE's, so are a function that is
    required now, another calling convention of one, and a higher minimum version, because the host
    may not have them. Notices are a higher version of the module, attributes, and what else the
    file requires of a runtime: the version of the bytecode, features, all other changes of
    dependencies, and those of imports, but for imports from a module of IREE's that is required in
    another version. Releases of the runtime decide about the modules ``vm`` and ``hal``, and about
    versions and functions of IREE's other ones.

Releases of the runtime
    Releases of IREE's runtime that load the old module and refuse the new one are *removed*, those
    of the reverse *added*, as ``runtime``, with the cause of the refusal. `vmfb.Module.runs_on` has
    what is known of them. Both are notices, unless the caller names the releases it has: then it is
    breaking that one of them is removed, and unknown if it is not known whether it loads the new
    module. It is always breaking that no release accepts the new one, because it is damaged, and
    unknown if what it demands of them cannot be read. What is unknown of both modules for the same
    reason is no difference, unless it is unknown because a release that the caller names was not
    measured. Releases that load both, and call functions of one of them wrongly, are
    *changed*: a notice, or breaking if they are named and it is the new one.

Damage
    Bytes of the new module that differ from the checksums that its compiler wrote, and a ZIP
    directory that has been cut off, are breaking, whatever releases make of them, unless the old
    module is damaged too.

`compare_folders` compares all modules of two folders, file by file.
"""

from fnabi.compat._change import Change, ChangeKind, Severity
from fnabi.compat._compare import Comparison, Compatibility, compare, compare_signatures
from fnabi.compat._folders import FileComparison, FileCompatibility, compare_folders
from fnabi.compat._runtime import Releases

__all__ = [
    "Change",
    "ChangeKind",
    "Comparison",
    "Compatibility",
    "FileComparison",
    "FileCompatibility",
    "Releases",
    "Severity",
    "compare",
    "compare_folders",
    "compare_signatures",
]


def __dir__() -> list[str]:
    return __all__
