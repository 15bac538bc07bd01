"""Signatures and modules in Spark; needs ``pip install 'pyspark>=4.1' pandas pyarrow``.

>>> import fnabi.spark
>>> frame = spark.read.parquet("signatures/")
>>> fnabi.spark.decode(frame, "signature", "raw").write.parquet("decoded/")
>>> fnabi.spark.register(spark)
>>> spark.sql("SELECT fnabi_decode_raw(signature).status FROM parquet.`signatures/`")
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from fnabi._base.arguments import check_attribute
from fnabi._base.files import Options
from fnabi._base.text import quoted
from fnabi.errors import ArgumentTypeError, ArgumentValueError
from fnabi.many import _engine as engine
from fnabi.many.columns._part import AnyAbi
from fnabi.vmfb._walk import Path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["decode", "register", "scan"]


def __dir__() -> list[str]:
    return __all__


def decode(
    frame: DataFrame,
    column: str,
    abi: AnyAbi = "raw",
    *,
    drop: bool = False,
    prefix: str = "",
    into: str | None = None,
) -> DataFrame:
    """Decode the signatures in a column of a data frame, and add the result as columns.

    Args:
        frame: The data frame.
        column: The column with the texts; case counts where it does in Spark.
        abi: The ABI of the texts, as for `decode_columns`.
        drop: Whether the column with the texts is left out.
        prefix: What the names of the new columns begin with, as for `fnabi.arrow.decode`.
        into: The name of one new column that has all of them, a struct; or None.

    Returns:
        A data frame with the columns of `fnabi.arrow.decode`; it runs when it is consumed.

    Raises:
        CallError: when an argument is invalid, or Spark or pyarrow is not installed.
        NotFoundError: when the frame has no column of that name. It is a `LookupError`.

    Example:
        >>> import fnabi
        >>> from pyspark.sql import SparkSession
        >>> session = SparkSession.builder.getOrCreate()
        >>> frame = session.createDataFrame([("I4!S1!R1!",), ("I1!",)], ["sig"])
        >>> [row.status for row in fnabi.spark.decode(frame, "sig").collect()]
        ['ok', 'raw-results']

    """
    types = _types()
    check_attribute("spark.decode: frame", frame, "sparkSession", "a DataFrame of Spark")
    cased = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    column = column if cased else _resolve(frame.columns, column)
    given = _arrow_schema(types, frame.schema)
    function = engine.decoder("spark.decode: frame", column, abi, drop, given, prefix, into)
    schema = _types().from_arrow_schema(function(given.empty_table()).schema)
    kept = [field for field in frame.schema.fields if not drop or field.name != column]
    added = schema.fields[len(kept) :]
    if not cased:
        _refuse_names([field.name for field in kept], [field.name for field in added])
    # those of the frame as they are, because Arrow's types do not have all that Spark's have
    return frame.mapInArrow(partial(_each, function), type(schema)(kept + added))


def _arrow_schema(types: Any, schema: Any) -> pa.Schema:
    """Return the columns of a frame as Arrow has them; refuse those that Spark cannot pass."""
    zone = _zone(types)
    for field in schema.fields:
        try:
            types.to_arrow_schema(type(schema)([field]), **zone)
        except TypeError:  # of pyspark
            kind = field.dataType.simpleString()
            raise ArgumentTypeError(
                f"spark.decode: frame: {field.name!r} is {kind}, which Spark has no Arrow data for"
            ) from None
    return types.to_arrow_schema(schema, **zone)


def _resolve(names: list[str], column: str) -> str:
    """Return the name of a column as the frame has it, where Spark ignores case."""
    if not isinstance(column, str):  # `decoder` reports it
        return column
    found = [name for name in names if name.lower() == column.lower()]
    if len(found) > 1:
        raise ArgumentValueError(
            f"spark.decode: column: several columns have the name {quoted(column)}, expected one"
        )
    return found[0] if found else column


def _refuse_names(kept: list[str], added: list[str]) -> None:
    """Refuse columns that Spark could not tell apart, because it ignores case."""
    names = {name.lower() for name in added}
    for name in kept:
        if name.lower() in names:
            other = "prefix= or into= gives what is added other names"
            raise ArgumentValueError(f"spark.decode: frame: already has a column {name!r}; {other}")


def register(session: SparkSession) -> None:
    """Add functions to SQL that decode signatures, one for each ABI, such as `fnabi_decode_raw`.

    Each accepts strings and binaries, and returns structs of the columns that
    `fnabi.arrow.decode` adds, null where the text is.

    Args:
        session: The session, which alone has them.

    Raises:
        CallError: when an argument is invalid, or Spark 4.1 or newer, or pyarrow is not installed.

    Example:
        >>> import fnabi
        >>> from pyspark.sql import SparkSession
        >>> session = SparkSession.builder.getOrCreate()
        >>> fnabi.spark.register(session)
        >>> session.sql("SELECT fnabi_decode_raw('I1!').status").collect()
        [Row(fnabi_decode_raw(I1!).status='raw-results')]

    """
    types = _types()
    check_attribute("spark.register: session", session, "udf", "a SparkSession")
    import pyarrow
    from pyspark.sql.functions import arrow_udf

    for name, decode in engine.FUNCTIONS.items():
        made = types.from_arrow_type(decode(pyarrow.array([], pyarrow.string())).type)
        session.udf.register(name, arrow_udf(decode, made))


def scan(
    session: SparkSession,
    paths: Path | Iterable[Path],
    *,
    lenient: bool = False,
    storage_options: Options = None,
) -> DataFrame:
    """Return the exports of the modules in files, folders and stores as a data frame.

    The files are listed here and read by the workers, to whom the paths must lead as well.

    Args:
        session: The session.
        paths: As for `vmfb.scan`.
        lenient: As for `vmfb.scan`.
        storage_options: As for `vmfb.scan`.

    Raises:
        CallError: when an argument is invalid, or Spark or pyarrow is not installed.

    Example:
        >>> import fnabi
        >>> from pyspark.sql import SparkSession
        >>> session = SparkSession.builder.getOrCreate()
        >>> frame = fnabi.spark.scan(session, "examples/releases/1.0")
        >>> sorted({row.module for row in frame.collect()})
        ['embed', 'project', 'rank', 'vision']

    """
    types = _types()
    check_attribute("spark.scan: session", session, "createDataFrame", "a SparkSession")
    schema = types.from_arrow_schema(engine.scan_group(b"").schema)
    hidden = engine.hide("spark.scan", storage_options)
    groups = engine.group_files(paths, "spark.scan", storage_options)
    listed = session.createDataFrame([(group,) for group in groups], "files binary")
    spread = listed.repartition(max(1, len(groups)))
    return spread.mapInArrow(partial(_scan, lenient=lenient, options=hidden), schema)


def _types() -> Any:
    try:
        import pyarrow  # noqa: F401
        from pyspark.sql.functions import arrow_udf  # noqa: F401
        from pyspark.sql.pandas import types
    except ImportError as problem:
        raise engine.missing("Spark 4.1 or newer, or pyarrow,", "spark", problem) from None
    return types


def _zone(types: Any) -> dict[str, str]:
    """Return the time zone that Arrow's timestamps have, which Spark 4.2 and newer ask for."""
    named = inspect.signature(types.to_arrow_schema).parameters
    return {"timezone": "UTC"} if "timezone" in named else {}


def _each(function: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return map(function, batches)


def _scan(
    batches: Iterable[pa.RecordBatch], lenient: bool, options: Options
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for group in batch["files"].to_pylist():
            yield from engine.scan_group(group, lenient, options).to_batches()
