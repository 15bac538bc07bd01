"""The accessor of pandas: frames with the index of the series."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import fnabi.pandas
from fnabi import CallError, arrow
from support.checkers import CHECKERS
from support.texts import EVERY, RAW

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

SIGNATURES = [None if text is None else text.decode() for text in RAW]


def decoded_by_arrow(texts: list[Any], abi: Any) -> Any:
    table = arrow.decode(pa.table({"t": texts}), "t", abi, drop=True)
    return table.to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.parametrize("abi", EVERY)
def test_each_abi(abi: Any) -> None:
    texts = pd.Series(EVERY[abi], dtype=object, name="sig")
    found = texts.fnabi.decode(abi)
    pd.testing.assert_frame_equal(found, decoded_by_arrow(EVERY[abi], abi))
    assert found["status"].isna().tolist() == [text is None for text in EVERY[abi]]
    pd.testing.assert_frame_equal(found, fnabi.pandas.decode(texts, abi))


TYPES = {
    "object": object,
    "string": "string",
    "string[python]": "string[python]",
    "string[pyarrow]": "string[pyarrow]",
    "str": "str",
    "category": "category",
    "string of Arrow": pd.ArrowDtype(pa.string()),
    "large_string of Arrow": pd.ArrowDtype(pa.large_string()),
    "dictionary of Arrow": pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())),
    "binary of Arrow": pd.ArrowDtype(pa.binary()),
}


@pytest.mark.parametrize("type", TYPES)
def test_types_of_texts(type: str) -> None:
    index = pd.Index([5, 5, 6, 7, 8, 9], name="key")
    if isinstance(TYPES[type], pd.ArrowDtype):
        array = pa.array(SIGNATURES).cast(TYPES[type].pyarrow_dtype)
        texts = pd.Series(pd.arrays.ArrowExtensionArray(array), index)
    else:
        texts = pd.Series(SIGNATURES, index, dtype=TYPES[type])
    expected = decoded_by_arrow(SIGNATURES, "raw").set_index(index)
    pd.testing.assert_frame_equal(texts.fnabi.decode("raw"), expected)
    pd.testing.assert_frame_equal(texts.iloc[1:4].fnabi.decode("raw"), expected.iloc[1:4])
    pd.testing.assert_frame_equal(texts.iloc[::-2].fnabi.decode("raw"), expected.iloc[::-2])
    pd.testing.assert_frame_equal(texts.iloc[:0].fnabi.decode("raw"), expected.iloc[:0])


INDEXES = {
    "default": None,
    "names of new columns": pd.Index(range(6), name="status"),
    "duplicates": pd.Index([7, 7, 8, 7, 9, 8]),
    "several levels": pd.MultiIndex.from_product([[1, 2], list("abc")], names=["x", None]),
    "times": pd.date_range("2020-01-01", periods=6, tz="Europe/Paris", name="when"),
    "nothing": pd.Index([None] * 6),
}


@pytest.mark.parametrize("kind", INDEXES)
def test_the_index_is_kept(kind: str) -> None:
    texts = pd.Series(SIGNATURES, INDEXES[kind], name="sig")
    frame = pd.DataFrame({"sig": texts})
    for found in (texts.fnabi.decode("raw"), frame.sig.fnabi.decode("raw")):
        pd.testing.assert_index_equal(found.index, texts.index, exact=True)
        assert [*found.columns] == ["status", "error_offset", "inputs", "results"]
    assert list(frame.columns) == ["sig"]
    both = pd.concat([frame, frame.sig.fnabi.decode("raw")], axis=1)
    assert both.loc[both["status"] == "raw-inputs", "sig"].tolist() == ["x"]


def test_nothing_but_missing_values() -> None:
    """For pandas they are floats."""
    texts = pd.Series([float("nan")] * 2, [3, 4])
    expected = decoded_by_arrow([None, None], "raw").set_index(texts.index)
    pd.testing.assert_frame_equal(texts.fnabi.decode("raw"), expected)
    with pytest.raises(CallError, match="unsupported Arrow type"):
        pd.Series([1.5, float("nan")]).fnabi.decode("raw")


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "datetime64[ns]", "string"])
def test_missing_values_of_any_type(dtype: str) -> None:
    texts = pd.Series([None] * 3, dtype=dtype)
    pd.testing.assert_frame_equal(texts.fnabi.decode(), decoded_by_arrow([None] * 3, "raw"))
    found = arrow.decode(texts.to_frame("sig"), "sig")
    pd.testing.assert_series_equal(found["sig"], texts.rename("sig"))


def test_categories_that_are_all_missing() -> None:
    """Without a text, pandas makes floats of these too."""
    for texts in (pd.Series([None] * 2, dtype="category"), pd.Series([None]).astype("category")):
        expected = decoded_by_arrow([None] * len(texts), "raw")
        pd.testing.assert_frame_equal(texts.fnabi.decode("raw"), expected)
    with pytest.raises(CallError, match="unsupported Arrow type"):
        pd.Series([1.5, None], dtype="category").fnabi.decode("raw")


def test_any_name_of_a_new_column() -> None:
    frame = pd.DataFrame({"sig": SIGNATURES}, index=[7] * 6)
    given = frame.copy()
    for name in ("self", "kwargs", "", "\N{SNOWMAN}"):
        found = arrow.decode(frame, "sig", into=name or "axis")
        assert [*found.columns] == ["sig", name or "axis"]
        assert [*arrow.encode(arrow.decode(frame, "sig"), name)][-2:] == [name, "error"]
    pd.testing.assert_frame_equal(frame, given)


def test_what_is_no_text() -> None:
    with pytest.raises(CallError, match=r"^pandas.decode: texts: unsupported Arrow type, expecte"):
        pd.Series([1]).fnabi.decode()
    for bad in ([{1}, "a"], [None, 2**70], ["\ud800"]):
        with pytest.raises(CallError, match=r"^pandas.decode: texts: no Arrow type has these obj"):
            pd.Series(bad, dtype=object).fnabi.decode()
    with pytest.raises(CallError, match=r"^pandas.decode: abi: expected one of raw, .* got 'odd'"):
        pd.Series(["a"]).fnabi.decode("odd")
    with pytest.raises(CallError, match=r"^pandas.decode: texts: expected a Series of pandas, got"):
        fnabi.pandas.decode(pd.DataFrame({"sig": ["a"]}))


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_a_package_is_missing(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pd.Series(["I1!R1!"])
    monkeypatch.setitem(sys.modules, package, None)
    fnabi.pandas._register()
    with pytest.raises(ImportError, match=r"^fnabi.pandas: pandas, or pyarrow, is not installed"):
        fnabi.pandas.decode(texts)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKERS)
def test_type_checkers_see_the_function(check: Any, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import fnabi.pandas\n"
        "import pandas as pd\n"
        "decoded = fnabi.pandas.decode(pd.Series(['I1!R1!']), 'raw')\n"
        "print(decoded['status'])\n"
    )
    check(program)
