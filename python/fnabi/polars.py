"""Signatures in columns of polars; needs ``pip install polars``.

Importing it gives expressions and series the namespace ``fnabi``:

>>> import polars as pl, fnabi.polars
>>> frame = pl.scan_parquet("signatures/*.parquet")
>>> frame.with_columns(pl.col("signature").fnabi.decode("raw").alias("decoded")).collect()

Type checkers do not see namespaces; `decode` is the same as a function.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from fnabi._base.arguments import argument_error
from fnabi.errors import MissingPackageError
from fnabi.many import _engine as engine
from fnabi.many.columns import decode_columns
from fnabi.many.columns._part import Abi, AnyAbi, check_abi

if TYPE_CHECKING:
    import polars as pl

__all__ = ["decode"]


def __dir__() -> list[str]:
    return __all__


_Texts = TypeVar("_Texts", "pl.Expr", "pl.Series")


def decode(texts: _Texts, abi: AnyAbi = "raw") -> _Texts:
    """Decode the signatures in a column; ``texts.fnabi.decode(abi)`` is the same.

    Args:
        texts: An expression, of which polars knows the result's type before it runs, or a series:
            strings, binaries, categories or enums.
        abi: The ABI of the texts, as for `decode_columns`.

    Returns:
        An expression or a series of the same name: structs of the columns that
        `fnabi.arrow.decode` adds, null where the text is.

    Raises:
        CallError: when an argument is invalid, or polars is not installed. A column of other
            values is found when the expression runs.

    Example:
        >>> import fnabi, polars as pl
        >>> texts = pl.Series(["I4!S1!R1!", "I1!"])
        >>> fnabi.polars.decode(texts, "raw").struct.field("status").to_list()
        ['ok', 'raw-results']

    """
    polars = _load()
    abi = check_abi("polars.decode", abi)
    if isinstance(texts, polars.Expr):
        decode = partial(_decode, abi=abi)
        return texts.map_batches(decode, return_dtype=_dtype(abi), is_elementwise=True)
    if isinstance(texts, polars.Series):
        return _decode(texts, abi)
    raise argument_error("polars.decode: texts", "an expression or a series of polars", texts)


def _decode(texts: pl.Series, abi: Abi) -> pl.Series:
    table = texts.to_frame(engine.TEXT)
    found = engine.decode_alone("polars.decode: texts", table, abi, "decoded")
    return found.to_series().alias(texts.name)


@cache
def _dtype(abi: Abi) -> pl.DataType:
    return _load().Series(decode_columns([], abi).plain()).dtype


class _Namespace:
    """The namespace ``fnabi`` of expressions and series."""

    def __init__(self, texts: Any) -> None:
        self._texts = texts

    def decode(self, abi: AnyAbi = "raw") -> Any:
        """Decode the signatures: see `fnabi.polars.decode`."""
        return decode(self._texts, abi)


def _load() -> Any:
    try:
        import polars
    except ImportError as problem:
        raise engine.missing("polars", "polars", problem) from None
    return polars


def _register() -> None:
    try:
        api = _load().api
    except MissingPackageError:  # `decode` reports it
        return
    api.register_expr_namespace("fnabi")(_Namespace)
    api.register_series_namespace("fnabi")(_Namespace)


_register()
