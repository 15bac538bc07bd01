"""The base of generated clients of compiled modules, which call functions in ``iree.runtime``.

``fnabi stub model.vmfb`` writes a subclass with a method for each function::

    >>> from model import Model
    >>> model = Model("model.vmfb")
    >>> model.predict(np.zeros((4, 64), np.float32))

Arguments and results are checked: an array has exactly the dtype and the dims of the signature.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from typing import Any, ClassVar

from fnabi import vmfb
from fnabi._base.arguments import check_items, check_type
from fnabi._base.files import path_text
from fnabi._base.packages import why_unusable
from fnabi._base.text import one_line, quoted
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CallError,
    FormatError,
    Mismatch,
    MissingPackageError,
    NotFoundError,
    RangeError,
    type_name,
)
from fnabi.run.invoke import Invoker, number_fits, stored, unfit_number
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    Scalar,
    Signature,
    Tuple,
    Type,
)
from fnabi.vmfb._export import UNTYPED

__all__ = ["Client", "without_fences"]


def __dir__() -> list[str]:
    return __all__


_FENCES = 2


class Client:
    """A compiled module that is loaded into ``iree.runtime``.

    Args:
        path: The path of the module.
        driver: The driver of the device that runs it, such as ``"local-task"`` or ``"cuda"``; by
            default the one that the module was compiled for.
        modules: Modules of the runtime (``VmModule``) to load before it, such as its parameters.

    Raises:
        CallError: If ``iree.runtime`` or NumPy is not installed, the module has another signature
            for a function of the client, or the runtime refuses the driver or the module.
        NotFoundError: If the module lacks a function of the client. It is a `LookupError`.
        FormatError: If the module is damaged.
        OSError: If the file cannot be read.

    Example:
        >>> import iree.runtime
        >>> from fnabi import Signature, client
        >>> class Classifier(client.Client):
        ...     SIGNATURES = {"version": Signature.parse("() -> (output0: i32)")}
        ...     def version(self) -> int:
        ...         return self._call("version")
        >>> Classifier("examples/classifier.vmfb", "local-sync").version()
        3

    """

    SIGNATURES: ClassVar[Mapping[str, Signature]] = {}
    """The signature of each function, by its name in the module; without fences."""

    ASYNCHRONOUS: ClassVar[Collection[str]] = ()
    """The names of the asynchronous functions. A call of one waits until it is done."""

    DRIVER: ClassVar[str] = "local-task"
    """The driver of the device that the module was compiled for."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        driver: str | None = None,
        modules: Iterable[object] = (),
    ) -> None:
        if path is None:
            text = "client.Client: path: missing, expected that of the .vmfb file"
            raise ArgumentTypeError(text)
        path = path_text("client.Client: path", path)
        conventions = self._check_functions(path)
        try:
            runtime: Any = import_module("iree.runtime")
        except ImportError as problem:
            why = why_unusable(problem, "iree-base-runtime")
            raise MissingPackageError(f"client.Client: iree.runtime {why}") from None
        if driver is not None:
            check_type("client.Client: driver", driver, str)
        needed = check_items("client.Client: modules", modules, runtime.VmModule)
        config = _by_runtime("client.Client: driver", runtime.Config, driver or self.DRIVER)
        where = f"{type(self).__name__}: {os.fspath(path)}"
        context = runtime.SystemContext(config=config)
        for each in needed:
            _by_runtime("client.Client: modules", context.add_vm_module, each)
        module = _by_runtime(where, runtime.VmModule.mmap, config.vm_instance, os.fspath(path))
        _by_runtime(where, context.add_vm_module, module)
        self._context = context
        self._invokers = {
            name: Invoker(
                context.vm_context,
                config.device,
                module.lookup_function(name),
                signature,
                name in self.ASYNCHRONOUS,
                conventions[name],
            )
            for name, signature in self.SIGNATURES.items()
        }
        for name, invoker in self._invokers.items():
            invoker._name = f"{type(self).__name__}.{name}"

    def _check_functions(self, path: str | os.PathLike[str]) -> dict[str, str]:
        """Return the calling convention of each function of the client."""
        conventions = {}
        with vmfb.open(path) as module:
            exports = module.exports
            for name, expected in self.SIGNATURES.items():
                where = f"{type(self).__name__}: {os.fspath(path)}"
                if name not in exports:
                    raise NotFoundError(f"{where}: no function is named {quoted(name)}")
                export = exports[name]
                try:
                    found: Signature | None = without_fences(export)
                except FormatError:
                    found = None
                is_async = name in self.ASYNCHRONOUS
                if found != expected or export.is_async != is_async:
                    raise ArgumentValueError(
                        f"{where}: {name}: expected the signature {expected}, got"
                        f" {found or 'a malformed one'}; generate the client again"
                    )
                conventions[name] = export.calling_convention
        return conventions

    def _call(self, function: str, *args: Any) -> Any:
        """Call a function, with its arguments and results checked."""
        signature = self.SIGNATURES[function]
        where = f"{type(self).__name__}.{function}"
        for index, (type_, value) in enumerate(zip(signature.inputs, args, strict=True)):
            _check(type_, value, f"{where}: argument {_label(type_, index)}")
        result = self._invokers[function](*args)
        results = signature.results
        values = (result,) if len(results) == 1 else () if result is None else result
        for index, (type_, value) in enumerate(zip(results, values, strict=True)):
            _check(type_, value, f"{where}: result {_label(type_, index)}")
        return result


def _by_runtime(where: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of ``iree.runtime``; what it refuses is an error about an argument."""
    try:
        return function(*args)
    except (ValueError, RuntimeError) as problem:
        reason = problem.__cause__ or problem  # the last driver's, of which the error names none
        raise ArgumentValueError(f"{where}: {one_line(str(reason))}") from problem


def without_numpy(client: str, problem: ImportError) -> MissingPackageError:
    """Return the error of a generated client, whose hints need NumPy."""
    return MissingPackageError(f"{client}: NumPy {why_unusable(problem, 'numpy')}")


def without_fences(export: vmfb.Export) -> Signature:
    """Return the signature of a function, for an asynchronous one without its two fences.

    Example:
        >>> from fnabi import client, vmfb
        >>> module = vmfb.open("examples/releases/1.0/project.vmfb")
        >>> print(module.exports["main$async"].signature)
        (float32[?x6], float32[6x?], ref<!hal.fence>, ref<!hal.fence>) -> (float32[?x?])
        >>> print(client.without_fences(module.exports["main$async"]))
        (float32[?x6], float32[6x?]) -> (float32[?x?])

    """
    check_type("client.without_fences: export", export, vmfb.Export)
    signature = export.signature
    inputs = signature.inputs
    if export.is_async and export.source in UNTYPED:
        inputs = inputs[:-_FENCES]
    return Signature(inputs, signature.results)


def _label(type_: Type, index: int) -> str:
    return repr(type_.name) if isinstance(type_, Named) else str(index)


def _check(type_: Type, value: Any, where: str) -> None:
    try:
        _fit(type_, value)
    except Mismatch as problem:
        path = problem.path
        raise problem.kind(f"{where}: {path and path + ': '}{problem.reason}") from None


def _fit(type_: Type, value: Any) -> None:
    """Raise Mismatch unless a value has a type; its number of slots is checked elsewhere."""
    match type_:
        case Named():
            _fit(type_.type, value)
        case Buffer():
            _fit_array(type_, value)
        case Scalar(dtype):
            _fit_number(dtype, value)
        case Null():
            if value is not None:
                raise Mismatch(f"expected None, got {type_name(value)}", kind=ArgumentTypeError)
        case List(items) | Tuple(items) if isinstance(value, (list, tuple)):
            for index, (item, slot) in enumerate(zip(items, value, strict=False)):
                _inside(item, slot, index)
        case Dict(pairs) if isinstance(value, Mapping):
            for key, item in pairs:
                if key in value:
                    _inside(item, value[key], key)
        case HomogeneousList(element) if isinstance(value, (list, tuple)):
            for index, slot in enumerate(value):
                _inside(element, slot, index)


def _inside(type_: Type, value: Any, key: int | str) -> None:
    try:
        _fit(type_, value)
    except Mismatch as problem:
        problem.keys.append(key)
        raise


def _fit_array(buffer: Buffer, value: Any) -> None:
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        raise Mismatch(f"expected {buffer}, got {type_name(value)}", kind=ArgumentTypeError)
    try:
        dtype = DType.from_numpy(value.dtype)
    except CallError:
        raise Mismatch(
            f"expected {buffer}, got {type_name(value)} of {value.dtype}",
            kind=ArgumentTypeError,
        ) from None
    found = Buffer(dtype, tuple(value.shape))
    if not _same_elements(buffer.dtype, dtype):
        raise Mismatch(f"expected {buffer}, got {found}", kind=ArgumentTypeError)
    if not _same_dims(buffer.shape, value.shape):
        raise Mismatch(f"expected {buffer}, got {found}")


def _same_elements(expected: DType, found: DType) -> bool:
    if expected.kind == "signless":  # of which the module does not say the sign
        return found.kind in ("signed", "unsigned") and found.bits == expected.bits
    return found == stored(expected)


def _same_dims(expected: tuple[int | None, ...] | None, found: tuple[int, ...]) -> bool:
    if expected is None:
        return True
    return len(expected) == len(found) and all(
        dim in (None, size) for dim, size in zip(expected, found, strict=True)
    )


def _fit_number(dtype: DType, value: Any) -> None:
    try:
        if hasattr(value, "__len__"):
            raise TypeError
        fits = number_fits(dtype, value)
    except TypeError:
        raise Mismatch(
            f"expected {dtype}, got {type_name(value)}", kind=ArgumentTypeError
        ) from None
    if not fits:
        raise Mismatch(unfit_number(dtype, value), kind=RangeError)
