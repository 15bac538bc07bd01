"""Signatures in series of pandas; needs ``pip install pandas pyarrow``.

Importing it gives series the accessor ``fnabi``:

>>> import pandas as pd, fnabi.pandas
>>> frame = pd.read_parquet("signatures.parquet")
>>> frame.signature.fnabi.decode("raw")

Type checkers do not see accessors; `decode` is the same as a function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fnabi._base.arguments import argument_error
from fnabi.errors import MissingPackageError
from fnabi.many import _engine as engine
from fnabi.many.columns._part import AnyAbi, check_abi

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["decode"]


def __dir__() -> list[str]:
    return __all__


def decode(texts: pd.Series, abi: AnyAbi = "raw") -> pd.DataFrame:
    """Decode the signatures in a series; ``texts.fnabi.decode(abi)`` is the same.

    Args:
        texts: A series of strings or binaries, whichever type holds them, or of categories.
        abi: The ABI of the texts, as for `decode_columns`.

    Returns:
        A frame with the index of the series and the columns that `fnabi.arrow.decode` adds, which
        have Arrow's types; all are null where the text is.

    Raises:
        CallError: when an argument is invalid, or pandas or pyarrow is not installed.

    Example:
        >>> import fnabi, pandas as pd
        >>> texts = pd.Series(["I4!S1!R1!", "I1!"], index=["good", "bad"])
        >>> fnabi.pandas.decode(texts, "raw").status.to_dict()
        {'good': 'ok', 'bad': 'raw-results'}

    """
    pandas = _load()
    abi = check_abi("pandas.decode", abi)
    if not isinstance(texts, pandas.Series):
        raise argument_error("pandas.decode: texts", "a Series of pandas", texts)
    return engine.decode_alone("pandas.decode: texts", texts.to_frame(engine.TEXT), abi)


class _Accessor:
    """The accessor ``fnabi`` of series."""

    def __init__(self, texts: Any) -> None:
        self._texts = texts

    def decode(self, abi: AnyAbi = "raw") -> Any:
        """Decode the signatures: see `fnabi.pandas.decode`."""
        return decode(self._texts, abi)


def _load() -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError as problem:
        raise engine.missing("pandas, or pyarrow,", "pandas", problem) from None
    return pandas


def _register() -> None:
    try:
        extensions = _load().api.extensions
    except MissingPackageError:  # `decode` reports it
        return
    extensions.register_series_accessor("fnabi")(_Accessor)


_register()
