"""The modules of a catalog by the names that logs of calls have for them."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from fnabi._base.text import did_you_mean, known_names, one_line, quoted
from fnabi.compat._caller import Answer, Callee, Value, because
from fnabi.compat._record import RecordedModule
from fnabi.errors import ArgumentTypeError, ArgumentValueError, FormatError, type_name
from fnabi.many.catalog._table import UNREAD

Rows: TypeAlias = Callable[..., list[Any]]
"""Runs a query over the tables of a catalog, as `Catalog._rows` does."""

_EXTENSION = ".vmfb"
_PARTS_MOST = 64
"""The most parts of the name of a file that a model has, unless it is the whole name."""

_FILES_MOST = 16
"""The most different modules that a model may name and that are asked."""

_FUNCTIONS_MOST = 1 << 15
"""The number of functions of modules that are kept."""

_HINTS_MOST = 10_000
"""The most names that are compared with one that is not there."""


class Entry(NamedTuple):
    """A file of a catalog.

    Attributes:
        file: Its name.
        module: The name of its module, or None.
        digest: What is equal for equal modules, or None.
        error: Why it cannot be read, or None.
        stale: Why it may be another by now, or None.

    """

    file: str
    module: str | None
    digest: bytes | None
    error: str | None
    stale: str | None


class Modules:
    """The modules that models name.

    A model is the end of the name of a file, from a slash on, with or without ``.vmfb``; or, if no
    file has such a name, the name of a module.

    Args:
        rows: Runs queries.
        pattern: The end of the names of files, from a slash on, with ``{model}`` in the place of
            the model and ``*`` for any text without a slash; or None for the rule above.
        where: The function and the argument that an error about the pattern names.

    Raises:
        CallError: when `pattern` is none.
        FormatError: when there is no catalog.

    """

    def __init__(self, rows: Rows, pattern: str | None, where: str) -> None:
        self._rows = rows
        self._pattern = None if pattern is None else compile_pattern(pattern, where)
        self._named: dict[str, list[Entry]] = {}
        self._names: list[str] = []
        self._hints: dict[tuple[str, str, str], str] = {}
        self._records: dict[bytes, bytes | None] = {}
        self._read: OrderedDict[bytes, _Functions] = OrderedDict()
        self._kept = 0
        self._unlisted: str | None = None
        self.stale = 0
        """The number of files that models name and the last update could not look at."""
        rows("SELECT file FROM files LIMIT 0")  # refuses what is no catalog, before calls are read

    def find(self, models: Iterable[str]) -> None:
        """Look up which files models name."""
        wanted = {*map(_bare, models)}
        by_file: dict[str, list[Entry]] = {}
        by_module: dict[str, list[Entry]] = {}
        names: dict[str, None] = {}
        query = "SELECT file, module, digest, error, stale FROM files ORDER BY file"
        for entry in self._rows(query, Entry):
            found = [*self._names_of(entry.file)]
            for name in found:
                if name in wanted:
                    by_file.setdefault(name, []).append(entry)
            if self._pattern is None and entry.module in wanted:
                by_module.setdefault(entry.module, []).append(entry)
            if len(names) < _HINTS_MOST:
                names |= dict.fromkeys(found[:1])
        self._named = by_module | by_file
        self._names = [*names]
        self._unlisted = self._first_unlisted()
        named = {each for entries in self._named.values() for each in entries}
        self.stale = sum(each.stale is not None for each in named)

    def _first_unlisted(self) -> str | None:
        """Return which folder could not be listed, and why; None where all could."""
        query = (
            f"SELECT file, error FROM files WHERE error_code = '{UNREAD}'"
            f" AND NOT ends_with(file, '{_EXTENSION}') ORDER BY file LIMIT 1"
        )
        found = self._rows(query, tuple[str, str])
        return "{} cannot be read: {}".format(*found[0]) if found else None

    def _names_of(self, file: str) -> Iterator[str]:
        """Yield the models that name a file, the shortest first."""
        file = file if os.sep == "/" or "://" in file else file.replace(os.sep, "/")
        bare = _bare(file)
        if self._pattern is not None:
            match = self._pattern.search(file)
            if match is not None:
                yield _bare(match["model"])
            return
        at = len(bare)
        for _ in range(_PARTS_MOST):
            at = bare.rfind("/", 0, at)
            if at < 0:
                break
            yield bare[at + 1 :]
        yield bare

    def load(self, models: Iterable[str]) -> None:
        """Read the records of the modules that some models name, before they are asked."""
        wanted = {
            entry.file: entry.digest
            for model in models
            for entry in self._different(model)
            if entry.digest is not None and entry.digest not in self._read
        }
        self._records = self._fetch(wanted)

    def _fetch(self, wanted: dict[str, bytes]) -> dict[bytes, bytes | None]:
        if not wanted:
            return {}
        query = "SELECT file, record FROM files WHERE file IN (SELECT unnest($files))"
        found = self._rows(query, tuple[str, bytes | None], files=[*wanted])
        return {wanted[file]: record for file, record in found}

    def entries(self, model: str) -> list[Entry]:
        """Return the files that a model names."""
        return self._named.get(_bare(model), [])

    def digests(self, model: str) -> frozenset[bytes | None]:
        """Return what is equal for equal modules, of the files that a model names."""
        return frozenset(entry.digest for entry in self.entries(model))

    def _different(self, model: str) -> list[Entry]:
        """Return the files that a model names, one for each different module; none of too many."""
        found = {entry.digest or entry.file: entry for entry in reversed(self.entries(model))}
        return [*reversed(found.values())] if len(found) <= _FILES_MOST else []

    def answer(self, model: str, function: str, values: Sequence[Value]) -> Answer:
        """Return whether the module that a model names accepts a call."""
        count = len(self.entries(model))
        if count == 0:
            text = f"no model is named {model!r}"
            if self._unlisted is not None:  # which may have one
                return because("unknown", "unreadable", f"{text}, and {self._unlisted}")
            return because("refused", "model", text)
        answers = [(each, self._asked(each, function, values)) for each in self._different(model)]
        if not answers:
            return because("unknown", "model", f"{count} files have this name")
        if len({answer.verdict for _, answer in answers}) == 1:
            return answers[0][1]
        told = ", ".join(f"{_VERBS[answer.verdict]} by {each.file}" for each, answer in answers)
        return because("unknown", "model", f"several files have this name: {told}")

    def _asked(self, entry: Entry, function: str, values: Sequence[Value]) -> Answer:
        error = entry.error
        if error is None and entry.digest is None:
            error = "damaged catalog: no digest of the module"
        if error is None:
            try:
                callee = self._functions(entry).get(function)
                if callee is None:
                    return because("refused", "function", f"no function is named {function!r}")
                return callee.answer(values)
            except FormatError as problem:
                error = str(problem).partition("\n")[0]
        return because("unknown", "unreadable", f"{entry.file} cannot be read: {error}")

    def _functions(self, entry: Entry) -> _Functions:
        assert entry.digest is not None
        found = self._read.get(entry.digest)
        if found is None:
            if entry.digest not in self._records:
                self._records |= self._fetch({entry.file: entry.digest})
            record = self._records.get(entry.digest)
            found = self._read[entry.digest] = _Functions(RecordedModule(record))
            self._kept += found.size
            while self._kept > _FUNCTIONS_MOST and len(self._read) > 1:
                self._kept -= self._read.popitem(last=False)[1].size
        self._read.move_to_end(entry.digest)
        return found

    def hint(self, kind: str, model: str, function: str) -> str:
        """Return the end of a text about a model or a function that is not there: like names."""
        asked = kind, model, function if kind == "function" else ""
        if asked not in self._hints:
            self._hints[asked] = self._hint(*asked)
        return self._hints[asked]

    def _hint(self, kind: str, model: str, function: str) -> str:
        if kind == "model" and not self.entries(model):
            return one_line(did_you_mean(_bare(model), self._names))
        if kind != "function":
            return ""
        names = (name for each in self._different(model) for name in self._functions(each).names())
        return known_names(function, [*dict.fromkeys(names)][:_HINTS_MOST])


class _Functions:
    """The functions of a module, and what those take that were asked for."""

    def __init__(self, module: RecordedModule) -> None:
        self._module = module
        self._exports = module.exports
        self._callees: dict[str, Callee] = {}
        self.size = 1 + len(self._exports)

    def names(self) -> Iterator[str]:
        """Yield the names of functions that are not the compiler's own."""
        return (name for name in self._exports if not name.startswith("__"))

    def get(self, name: str) -> Callee | None:
        """Return a function by its name, which may begin with that of the module and a dot."""
        callee = self._callees.get(name)
        if callee is None:
            export = self._exports.get(name)
            if export is None and name.startswith(f"{self._module.name}."):
                export = self._exports.get(name[len(self._module.name) + 1 :])
            if export is None:
                return None
            callee = self._callees[name] = Callee(export)
        return callee


_VERBS = {"accepted": "accepted", "refused": "refused", "unknown": "not known"}


def _bare(name: str) -> str:
    return name.removesuffix(_EXTENSION)


_MODEL = "{model}"


def compile_pattern(pattern: object, where: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern; no text makes it search back for long.

    Raises:
        CallError: when it has not one ``{model}``, or two wildcards between slashes.

    """
    if not isinstance(pattern, str):
        raise ArgumentTypeError(f"{where}: expected str, got {type_name(pattern)}")
    if pattern.count(_MODEL) != 1:
        raise ArgumentValueError(
            f"{where}: {quoted(pattern)}, expected one {_MODEL}, as in '{_MODEL}/*'"
        )
    parts = []
    for part in pattern.split("/"):
        wild = re.split(r"(\{model\}|\*)", part)
        if len(wild) > 3:
            text = f"expected one * or {_MODEL} between two slashes"
            raise ArgumentValueError(f"{where}: {quoted(pattern)}, {text}")
        parts.append("".join(_WILD.get(each) or re.escape(each) for each in wild))
    return re.compile(rf"(?:^|(?<=/)){'/'.join(parts)}\Z")


_WILD = {_MODEL: "(?P<model>[^/]+)", "*": "[^/]*"}
