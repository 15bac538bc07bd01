"""Signatures in queries of DataFusion; needs ``pip install datafusion pyarrow``.

>>> import datafusion, fnabi.datafusion
>>> context = datafusion.SessionContext()
>>> fnabi.datafusion.register(context)
>>> context.sql("SELECT fnabi_decode_raw(signature)['status'] FROM 'signatures.parquet'")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fnabi._base.arguments import check_attribute
from fnabi.many import _engine as engine

if TYPE_CHECKING:
    from datafusion import SessionContext

__all__ = ["register"]


def __dir__() -> list[str]:
    return __all__


def register(context: SessionContext) -> None:
    """Add functions to SQL that decode signatures, one for each ABI, such as `fnabi_decode_raw`.

    Each returns structs of the columns that `fnabi.arrow.decode` adds, null where the text is.
    DataFusion converts binaries to strings, so their bytes have to be UTF-8.

    Args:
        context: The context.

    Raises:
        CallError: when an argument is invalid, or DataFusion or pyarrow is not installed.

    Example:
        >>> import datafusion, fnabi
        >>> context = datafusion.SessionContext()
        >>> fnabi.datafusion.register(context)
        >>> context.sql("SELECT fnabi_decode_raw('I4!S1!R1!')['status'] AS s").to_pydict()
        {'s': ['ok']}

    """
    try:
        import datafusion
        import pyarrow
    except ImportError as problem:
        raise engine.missing("DataFusion, or pyarrow,", "datafusion", problem) from None
    check_attribute("datafusion.register: context", context, "register_udf", "a SessionContext")
    text = pyarrow.string_view()
    for name, decode in engine.FUNCTIONS.items():
        made = decode(pyarrow.array([], text)).type
        context.register_udf(datafusion.udf(decode, [text], made, "immutable", name))
