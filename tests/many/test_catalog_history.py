"""What catalogs keep of earlier updates: logs, searches as of a time, and comparisons with then."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import CallError, catalog_diff
from fnabi._base import moment
from fnabi.cli import main
from fnabi.many.catalog import _history, _read, _update
from fnabi.many.catalog._history import next_time
from support.paths import DATA, ROOT

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

RELEASES = ROOT / "examples" / "releases"
SMALL = sorted(each for each in DATA.glob("vmfb/*.vmfb") if each.stat().st_size < 8_000)
NIGHT = datetime(2026, 10, 1, 3)
UPDATED = "SELECT value FROM catalog WHERE key = 'updated'"


class Clock:
    """A clock of updates, in UTC and without the zone."""

    def __init__(self) -> None:
        self.now = NIGHT

    def __call__(self, last: datetime | None, now: datetime | None = None) -> datetime:
        return next_time(last, self.now.replace(tzinfo=UTC))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(_update, "next_time", made)
    monkeypatch.setattr("fnabi.many.catalog.next_time", made)
    monkeypatch.setattr(moment, "now", lambda: made.now)
    monkeypatch.setenv("TZ", "UTC")
    __import__("time").tzset()
    return made


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules in the current folder."""
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "fleet"
    fill(made, "1.0")
    return made


def fill(folder: Path, release: str) -> None:
    """Put the modules of a release into a folder, and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(RELEASES / release, folder)
    for file in folder.iterdir():
        os.utime(file, (1_000_000_000 + float(release),) * 2)


def put(file: Path, source: Path, second: int) -> None:
    shutil.copyfile(source, file)
    os.utime(file, (1_000_000_000 + second,) * 2)


def lines(catalog: fnabi.Catalog, *arguments: Any, **named: Any) -> list[str]:
    return [
        f"{event.time:%d %H:%M} {event.kind} {os.path.basename(event.file)} {event.function}"
        f" {event.old} => {event.new} {os.path.basename(event.moved_from or '')}".rstrip()
        for event in catalog.log(*arguments, **named)
    ]


# ------------------------------------------------------------------------------------------ logs


def test_what_appears_changes_and_leaves(fleet: Path, clock: Clock) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        assert catalog.update(fleet).time == NIGHT.replace(tzinfo=UTC)
        clock.now += timedelta(days=1)
        fill(fleet, "2.0")
        catalog.update()
        clock.now += timedelta(days=1)
        assert catalog.update().time is None
        rank, vision = "(float32[?x6]) -> (i64[?])", "(float32[?x3x224x224], float32[3x10])"
        assert lines(catalog, "main", since=NIGHT + timedelta(seconds=1)) == [
            "02 03:00 left project.vmfb main (float32[?x6], float32[6x?]) -> (float32[?x?])"
            " => None",
            f"02 03:00 changed rank.vmfb main {rank} => (i32[?x6]) -> (i64[?])",
            "02 03:00 appeared scale.vmfb main None =>"
            " (float32[?x8], float32[?x8]) -> (float32[?x8])",
            "02 03:00 changed vision.vmfb main (float32[1x3x224x224], float32[3x10]) ->"
            f" (float32[1x10]) => {vision} -> (float32[?x10])",
        ]
        assert len(lines(catalog)) == 12 + 10
        assert lines(catalog, "main", module="r*", until=NIGHT) == [
            f"01 03:00 appeared rank.vmfb main None => {rank}"
        ]
        assert len(lines(catalog, file="*rank*")) == 5
        assert lines(catalog, "none") == []
        for key, wrong in (("function", 1), ("module", b""), ("file", [])):
            with pytest.raises(CallError, match=f"Catalog.log: {key}: expected str, got"):
                catalog.log(**{key: wrong})  # type: ignore[arg-type]


def test_what_stays_is_no_event(fleet: Path, clock: Clock) -> None:
    """A module may change, and the signatures of its functions stay."""
    put(fleet / "rank.vmfb", RELEASES / "1.0" / "rank.vmfb", 5)
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        clock.now += timedelta(days=1)
        put(fleet / "embed.vmfb", RELEASES / "2.0" / "embed.vmfb", 6)
        assert catalog.update().changed == 1
        assert lines(catalog, since="2026-10-02") == []
        rows = catalog.sql("SELECT count(*), count(DISTINCT since) FROM functions").fetchall()
        assert rows == [(12, 1)]


def test_return_of_a_file(fleet: Path, clock: Clock) -> None:
    """Its functions leave, and appear again."""
    kept = (fleet / "rank.vmfb").read_bytes()
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        clock.now += timedelta(days=1)
        (fleet / "rank.vmfb").unlink()
        catalog.update()
        clock.now += timedelta(days=1)
        (fleet / "rank.vmfb").write_bytes(kept)
        os.utime(fleet / "rank.vmfb", (1, 1))
        catalog.update()
        kinds = [event.kind for event in catalog.log("main", module="rank")]
        assert kinds == ["appeared", "left", "appeared"]
        clock.now += timedelta(days=1)
        found = [len(catalog.find(module="rank", at=f"2026-10-0{day} 04:00")) for day in (1, 2, 3)]
        assert found == [3, 0, 3]
        digests = catalog.sql(
            "SELECT digest FROM signatures UNION ALL FROM (SELECT digest FROM past_signatures)"
        ).fetchall()
        assert len({*digests}) == len(digests)


def test_a_renamed_file(fleet: Path, clock: Clock) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        clock.now += timedelta(days=1)
        (fleet / "rank.vmfb").rename(fleet / "order.vmfb")
        catalog.update()
        signature = "(float32[?x6]) -> (i64[?])"
        moved = f"02 03:00 moved order.vmfb main {signature} => {signature} rank.vmfb"
        for pattern in ("*", "*rank*", "*order*"):
            assert lines(catalog, "main", file=pattern, since="2026-10-02") == [moved]
        assert [each.verdict for each in catalog.diff("2026-10-01 04:00")] == [
            "added",
            "removed",
        ]


def test_the_same_function_in_several_files(fleet: Path, clock: Clock) -> None:
    """Each has a history of its own; as many move as have come."""
    for name in ("a", "b"):
        put(fleet / f"{name}.vmfb", RELEASES / "1.0" / "rank.vmfb", 1)
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        clock.now += timedelta(days=1)
        put(fleet / "a.vmfb", RELEASES / "2.0" / "rank.vmfb", 2)
        (fleet / "b.vmfb").unlink()
        (fleet / "rank.vmfb").rename(fleet / "c.vmfb")
        catalog.update()
        found = lines(catalog, "main", module="rank", since="2026-10-02")
        assert [each.partition(" (")[0] for each in found] == [
            "02 03:00 changed a.vmfb main",
            "02 03:00 moved c.vmfb main",
            "02 03:00 left rank.vmfb main",
        ]
        assert found[1].endswith("b.vmfb")


def test_a_file_that_is_broken_for_a_night(fleet: Path, clock: Clock) -> None:
    good = (fleet / "rank.vmfb").read_bytes()
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        for day, content in ((2, b"no module"), (3, good)):
            clock.now += timedelta(days=1)
            (fleet / "rank.vmfb").write_bytes(content)
            os.utime(fleet / "rank.vmfb", (day, day))
            catalog.update()
            verdicts = [each.verdict for each in catalog.diff(f"2026-10-0{day - 1} 04:00")]
            assert verdicts == ["unreadable" if day == 2 else "added"]
        assert [each.verdict for each in catalog.diff("2026-10-01 04:00")] == ["compatible"]
        assert [event.kind for event in catalog.log("main", module="rank")] == [
            "appeared",
            "left",
            "appeared",
        ]


def test_a_file_that_cannot_be_looked_at_has_no_event(fleet: Path, clock: Clock) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        clock.now += timedelta(days=1)
        fleet.rename("away")
        assert catalog.update().stale == 4
        assert lines(catalog, since="2026-10-02") == []
        assert {match.stale for match in catalog.find()} != {None}
        assert {match.stale for match in catalog.find(at=clock.now)} == {None}


def test_paths_that_are_removed(fleet: Path, clock: Clock) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        clock.now += timedelta(days=1)
        assert catalog.remove(fleet / "rank.vmfb") == 1
        assert [event.kind for event in catalog.log("main", since="2026-10-02")] == ["left"]
        assert len(catalog.find(at="2026-10-01 04:00")) == 12


def test_a_catalog_in_memory(fleet: Path, clock: Clock) -> None:
    with fnabi.Catalog(None) as catalog:
        catalog.update(fleet)
        clock.now += timedelta(days=1)
        fill(fleet, "2.0")
        catalog.update()
        assert len(lines(catalog)) == 22
        assert {each.verdict for each in catalog.diff(NIGHT.replace(tzinfo=UTC))} == {
            "incompatible",
            "removed",
            "compatible",
            "added",
        }


# -------------------------------------------------------------------------------------- as of then


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_every_night_is_as_it_was(
    fleet: Path, clock: Clock, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random changes and updates that end early: searches find what they found in each night."""
    choose = random.Random(seed)
    monkeypatch.setattr(_read, "_CHUNK", 1)
    shutil.rmtree(fleet)
    fleet.mkdir()
    searches = ({}, {"pattern": "*, f32[*], * -> *"}, {"target": "*llvm*"}, {"runtime": "3.13.0"})
    nights = []
    times: set[tuple[str]] = set()
    for night in range(12):
        clock.now = NIGHT + timedelta(days=night)
        with fnabi.Catalog("c.duckdb") as catalog, fnabi.Catalog(None) as fresh:
            for _ in range(choose.choice((0, 0, 1, 2, 3))):
                change(fleet, choose)
                end_early(catalog, fleet, choose.randrange(4))
                if os.path.exists("c.duckdb"):
                    times.update(catalog.sql(UPDATED).fetchall())
                clock.now += timedelta(minutes=1)
            change(fleet, choose)
            catalog.update(fleet)
            time = clock.now
            times.update(catalog.sql(UPDATED).fetchall())
            fresh.update(fleet)
            copy = f"{night}.duckdb"
            shutil.copyfile("c.duckdb", copy)
            nights.append((time, copy, [key_of(fresh.find(**each)) for each in searches]))
    clock.now += timedelta(days=1)
    with fnabi.Catalog("c.duckdb") as catalog:
        for time, copy, expected in nights:
            for when in (time, time + timedelta(hours=20)):
                assert [key_of(catalog.find(at=when, **each)) for each in searches] == expected
            since = {each.file: each for each in catalog.diff(time)}
            with fnabi.Catalog(copy) as old:
                whole = {each.file: each for each in catalog_diff.compare_catalogs(old, catalog)}
            for file, each in since.items():
                if each.verdict != "added" or whole[file].verdict != "unreadable":
                    assert whole[file] == each
            for file in whole.keys() - since.keys():  # as it was, whether it can be read or not
                assert whole[file].verdict in ("compatible", "unreadable")
        check_spans(catalog)
        # what was complete, but has not come into place, has never been
        seen = {(each.time.replace(tzinfo=None).isoformat(sep=" "),) for each in catalog.log()}
        assert seen <= times


def change(folder: Path, choose: random.Random) -> None:
    """Add, replace and remove some modules of a folder, or none."""
    for index in choose.sample(range(10), choose.choice((0, 1, 3))):
        file = folder / f"{index}.vmfb"
        if file.exists() and choose.random() < 0.4:
            file.unlink()
        else:
            put(file, choose.choice(SMALL), choose.randrange(1_000_000))


def end_early(catalog: fnabi.Catalog, folder: Path, count: int) -> None:
    """Begin an update, which ends after some files, or before it comes into place."""
    real, left = _read._read, [count]

    def replace(*_: str) -> None:
        raise KeyboardInterrupt

    def read(files: Any, reading: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(files, reading)

    with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(_read, "_read", read)
        if count == 3:
            left[0] = 1 << 30
            patch.setattr(os, "replace", replace)
        catalog.update(folder)


def key_of(matches: Any) -> list[Any]:
    return sorted(
        (each.file, each.module, each.function, str(each.signature), each.source, each.differences)
        for each in matches
    )


def check_spans(catalog: fnabi.Catalog) -> None:
    """Check that spans are not empty, and those of a function do not overlap."""
    for table in ("files", "functions"):
        key = "file" if table == "files" else "file, module, function, signature_id"
        assert catalog.sql(f"FROM {table} WHERE since IS NULL").fetchall() == []
        assert (
            catalog.sql(
                f"FROM past_{table} WHERE since >= until OR since IS NULL OR until IS NULL"
            ).fetchall()
            == []
        )
        overlaps = catalog.sql(
            f"SELECT * FROM (SELECT until, lead(since) OVER (PARTITION BY {key} ORDER BY since) AS"
            f" next FROM (SELECT {key}, since, until FROM past_{table} UNION ALL"
            f" SELECT {key}, since, NULL FROM {table})) WHERE until IS NULL AND next IS NOT NULL"
            " OR next < until"
        )
        if table == "files":
            assert overlaps.fetchall() == []
    kept = "SELECT signature_id FROM past_functions WHERE signature_id NOT IN"
    assert (
        catalog.sql(
            f"{kept} (SELECT id FROM signatures UNION ALL SELECT id FROM past_signatures)"
        ).fetchall()
        == []
    )


COMMANDS = (
    (["find", "c.duckdb", "--at"], 3),
    (["diff", "--catalog", "c.duckdb", "--since"], 3),
    (["catalog", "log", "c.duckdb", "--until"], 1),
)
"""Commands about a time that comes last, with their statuses for bad input."""


def test_times_before_the_first_update(fleet: Path, clock: Clock, capfd: Any) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        text = (
            r"2026-10-01 02:59:59\+00:00 is before the first update that the catalog knows,"
            r" expected 2026-10-01 03:00:00\+00:00 or later"
        )
        before = NIGHT - timedelta(seconds=1)
        for work in (catalog.find, catalog.diff):
            name = work.__name__
            with pytest.raises(ValueError, match=text) as caught:
                work(**{"at" if name == "find" else "since": before})  # type: ignore[operator]
            assert isinstance(caught.value, CallError)
            assert str(caught.value).startswith(f"Catalog.{name}: ")
        with pytest.raises(ValueError, match=rf"Catalog\.log: until: {text}"):
            catalog.log(until=before)
        assert lines(catalog, since=before) == lines(catalog)
    for words, status in COMMANDS:
        assert main([*words, "2026-10-01"]) == status
        err = " ".join(capfd.readouterr().err.split())
        assert err.startswith("fnabi: ")
        assert "is before the first update that the catalog knows" in err


def test_times_in_the_future(fleet: Path, clock: Clock, capfd: Any) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        clock.now += timedelta(hours=1)
        soon = clock.now + timedelta(minutes=1)
        assert len(catalog.find(at=soon)) == len(catalog.find())
        assert catalog.diff(soon) == catalog.log(since=soon, until=soon) == []
        late = soon + timedelta(seconds=1)
        text = r"2026-10-01 04:01:01\+00:00 is in the future, expected now or earlier"
        for work, name in (
            (catalog.find, "at"),
            (catalog.diff, "since"),
            (catalog.log, "since"),
            (catalog.log, "until"),
        ):
            with pytest.raises(ValueError, match=text) as caught:
                work(**{name: late})  # type: ignore[operator]
            assert str(caught.value).startswith(f"Catalog.{work.__name__}: {name}: ")
        clock.now -= timedelta(days=1)  # the clock was ahead when the catalog was made
        assert len(catalog.find(at=NIGHT)) == len(catalog.find())
        with pytest.raises(ValueError, match="is in the future"):
            catalog.find(at=soon)
    capfd.readouterr()
    for words, status in COMMANDS:
        assert main([*words, "2030-01-01"]) == status
        err = " ".join(capfd.readouterr().err.split())
        assert err.endswith("2030-01-01 00:00:00+00:00 is in the future, expected now or earlier")


def test_a_range_without_times(fleet: Path, clock: Clock, capfd: Any) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        clock.now += timedelta(days=3)
        with pytest.raises(CallError, match=r"^Catalog\.log: since: 2026-.* is after until, 2026-"):
            catalog.log(since="1d", until="2d")
    assert main(["catalog", "log", "c.duckdb", "--since=1d", "--until=2d"]) == 1
    assert " ".join(capfd.readouterr().err.split()) == (
        "fnabi: since: 2026-10-03 03:00:00+00:00 is after until, 2026-10-02 03:00:00+00:00"
    )


# ------------------------------------------------------------------------------------------- times


def test_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    __import__("time").tzset()
    try:
        for value, expected in (
            ("2026-10-01", datetime(2026, 9, 30, 22)),
            (date(2026, 10, 1), datetime(2026, 9, 30, 22)),
            ("2026-10-01 14:00", datetime(2026, 10, 1, 12)),
            ("2026-12-01T14:00:05", datetime(2026, 12, 1, 13, 0, 5)),
            ("2026-10-01T14:00Z", datetime(2026, 10, 1, 14)),
            (" 2026-10-01 14:00+03:00 ", datetime(2026, 10, 1, 11)),
            (datetime(2026, 10, 1, 14), datetime(2026, 10, 1, 12)),
            (datetime(2026, 10, 1, tzinfo=timezone(timedelta(hours=1))), datetime(2026, 9, 30, 23)),
        ):
            assert moment.parse_moment(value, "f") == expected, value
        assert moment.shown_moment(datetime(2026, 10, 1, 12)) == "2026-10-01 14:00:00+02:00"
        now = datetime.now(UTC).replace(tzinfo=None)
        for text, ago in (
            ("7d", timedelta(days=7)),
            ("12 h", timedelta(hours=12)),
            ("30min", timedelta(minutes=30)),
            ("2w", timedelta(weeks=2)),
        ):
            assert abs(now - moment.parse_moment(text, "f") - ago) < timedelta(seconds=60)
        for wrong in (
            "",
            "yesterday",
            "7",
            "7 days",
            "-7d",
            "2026-13-01",
        ):
            with pytest.raises(CallError, match="f: expected a date, a time such as"):
                moment.parse_moment(wrong, "f")
        for far in ("999999999w", "99999999w", "0001-01-01", "0001-01-01T00:00+01:00"):
            with pytest.raises(CallError, match=f"f: '{re.escape(far)}' is out of range, .* from"):
                moment.parse_moment(far, "f")
        for other in (7, None, b"7d", 1.5):
            with pytest.raises(TypeError, match="f: expected str, datetime or date, got"):
                moment.parse_moment(other, "f")  # type: ignore[arg-type]
    finally:
        monkeypatch.undo()
        __import__("time").tzset()


def test_times_of_updates() -> None:
    noon = datetime(2026, 10, 1, 12, 0, 0, 400_000, tzinfo=UTC)
    last = datetime(2026, 10, 1, 12)
    assert next_time(None, noon) == last  # whole seconds
    assert next_time(last, noon) == datetime(2026, 10, 1, 12, 0, 0, 1)
    assert next_time(last - timedelta(days=1), noon) == last
    assert next_time(last + timedelta(days=1), noon) == datetime(2026, 10, 2, 12, 0, 0, 1)
    assert abs(next_time(None) - datetime.now(UTC).replace(tzinfo=None)) < timedelta(seconds=60)


@pytest.mark.parametrize("step", [timedelta(days=-400), timedelta(days=-1), timedelta(days=4000)])
def test_a_clock_that_steps(fleet: Path, clock: Clock, step: timedelta, capfd: Any) -> None:
    """Spans are never empty or negative, and the command says so."""
    assert main(["catalog", "update", "c.duckdb", "fleet"]) == 0
    clock.now += step
    fill(fleet, "2.0")
    assert main(["catalog", "update", "c.duckdb"]) == 0
    clock.now -= step
    fill(fleet, "1.0")
    assert main(["catalog", "update", "c.duckdb"]) == 0
    err = capfd.readouterr().err
    behind = "fnabi: the clock is behind the update before, and this one has the time 20"
    assert (behind in " ".join(err.split())) is (step > timedelta())
    with fnabi.Catalog("c.duckdb") as catalog:
        check_spans(catalog)
        times = sorted({event.time for event in catalog.log()})
        assert len(times) == 3
        counts = [len(catalog.find("f32[?,6] -> *", at=time)) for time in times]
        assert counts == [1, 0, 1]


# -------------------------------------------------------------------------------------------- size


def test_an_update_without_a_change_adds_nothing(fleet: Path, clock: Clock) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        content = Path("c.duckdb").read_bytes()
        clock.now += timedelta(days=1)
        assert catalog.update().time is None
        assert Path("c.duckdb").read_bytes() == content


def test_the_size_is_that_of_the_changes(fleet: Path, clock: Clock) -> None:
    """A file that is read again and is the same adds nothing; a change adds its functions."""
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        for night in range(1, 6):
            clock.now += timedelta(days=1)
            for file in fleet.iterdir():
                os.utime(file, (night, night))
            assert catalog.update().changed == 4
            put(fleet / "rank.vmfb", RELEASES / f"{1 + night % 2}.0" / "rank.vmfb", night)
            clock.now += timedelta(hours=1)
            assert catalog.update().changed == 1
            counts = catalog.sql(
                "SELECT (SELECT count(*) FROM past_files), (SELECT count(*) FROM past_functions),"
                " (SELECT count(*) FROM past_signatures)"
            )
            assert counts.fetchall() == [(night, 2 * night, 2)]  # main and main$async
        check_spans(catalog)


def test_signatures_that_the_past_needs_are_kept(fleet: Path, clock: Clock) -> None:
    """In a table of their own, which searches of now do not read; others are dropped."""
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        before = catalog.sql("SELECT id, message FROM signatures").fetchall()
        clock.now += timedelta(days=1)
        fill(fleet, "2.0")
        catalog.update()
        assert catalog.sql("SELECT count(*) FROM signatures").fetchall() == [(9,)]
        kept = (
            "SELECT id, message FROM signatures UNION ALL SELECT id, message FROM past_signatures"
        )
        assert {*before} <= {*catalog.sql(kept).fetchall()}
        assert catalog.sql(
            "SELECT count(*), count(DISTINCT id) FROM past_signatures"
        ).fetchall() == [(6, 6)]


# ----------------------------------------------------------------------------------------- command


def test_log(fleet: Path, clock: Clock, capfd: Any) -> None:
    main(["catalog", "update", "c.duckdb", "fleet"])
    clock.now += timedelta(days=1)
    put(fleet / "rank.vmfb", RELEASES / "2.0" / "rank.vmfb", 3)
    (fleet / "embed.vmfb").rename(fleet / "words.vmfb")
    (fleet / "project.vmfb").unlink()
    put(fleet / "scale.vmfb", RELEASES / "2.0" / "scale.vmfb", 3)
    main(["catalog", "update", "c.duckdb"])
    capfd.readouterr()
    assert main(["catalog", "log", "c.duckdb", "main", "--since=2026-10-02"]) == 0
    assert capfd.readouterr().out == (
        "2026-10-02 03:00:00+00:00\n"
        "  fleet/project.vmfb\n"
        "    left      main  (float32[?x6], float32[6x?]) -> (float32[?x?])\n"
        "  fleet/rank.vmfb\n"
        "    changed   main  (float32[?x6]) -> (i64[?]) => (i32[?x6]) -> (i64[?])\n"
        "  fleet/scale.vmfb\n"
        "    appeared  main  (float32[?x8], float32[?x8]) -> (float32[?x8])\n"
        "  fleet/words.vmfb\n"
        "    moved     main  from fleet/embed.vmfb\n"
        "4 events of 4 functions\n"
    )
    assert main(["catalog", "log", "c.duckdb", "--module=rank", "--json"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert len(rows) == 5
    assert {row["schema"] for row in rows} == {"fnabi.catalog-log/1"}
    changed = next(row for row in rows if row["kind"] == "changed")
    assert changed["time"] == "2026-10-02T03:00:00Z"
    assert changed["old"]["text"] == "(float32[?x6]) -> (i64[?])"
    assert changed["new"]["value"]["inputs"][0]["dtype"] == "i32"
    assert rows[0]["old"] is None
    assert main(["catalog", "log", "c.duckdb", "--file=*none*", "--until=1h"]) == 0
    assert capfd.readouterr().out == "0 events of 0 functions\n"
    assert main(["catalog", "show", "c.duckdb"]) == 0
    out = " ".join(capfd.readouterr().out.split())
    assert "updated 2026-10-02 03:00:00+00:00" in out
    history = "history since 2026-10-01 03:00:00+00:00:"
    assert f"{history} 3 earlier modules, 8 earlier functions" in out
    assert main(["catalog", "show", "c.duckdb", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["history"] == {
        "first": "2026-10-01T03:00:00Z",
        "updated": "2026-10-02T03:00:00Z",
        "files": 3,
        "functions": 8,
    }


def test_find_at(fleet: Path, clock: Clock, capfd: Any) -> None:
    main(["catalog", "update", "c.duckdb", "fleet"])
    clock.now += timedelta(days=1)
    fill(fleet, "2.0")
    main(["catalog", "update", "c.duckdb"])
    capfd.readouterr()
    assert main(["find", "c.duckdb", "f32[?,6] -> *"]) == 1
    assert main(["find", "c.duckdb", "--at", "2026-10-02 02:00", "f32[?,6] -> *"]) == 0
    assert "fleet/rank.vmfb\n" in capfd.readouterr().out
    assert main(["find", "c.duckdb", "--at", "2026-10-02 02:00", "--sql"]) == 0
    query = capfd.readouterr().out
    with fnabi.Catalog("c.duckdb") as catalog:
        assert len(catalog.sql(query).fetchall()) == 12


def test_diff_since(fleet: Path, clock: Clock, capfd: Any, tmp_path: Path) -> None:
    """Text, JSON, pages and reports are those of two catalogs, and so is the status."""
    main(["catalog", "update", "c.duckdb", "fleet"])
    shutil.copyfile("c.duckdb", "old.duckdb")
    clock.now += timedelta(days=1)
    fill(fleet, "2.0")
    main(["catalog", "update", "c.duckdb"])
    capfd.readouterr()
    outputs: dict[str, list[str]] = {}
    for words in (["old.duckdb", "c.duckdb"], ["c.duckdb", "--since", "2026-10-01 03:00"]):
        for style in ("text", "json", "markdown", "github", "sarif"):
            assert main(["diff", "--catalog", *words, f"--style={style}"]) == 1
            outputs.setdefault(style, []).append(capfd.readouterr().out)
        page = f"{len(words)}.html"
        assert main(["diff", "--catalog", *words, "--html", "-o", page]) == 1
        outputs.setdefault("html", []).append(Path(page).read_text())
    for style in ("markdown", "github", "sarif"):
        assert outputs[style][0] == outputs[style][1]
    since = " since 2026-10-01 03:00:00+00:00"
    assert outputs["text"][1].replace(since, "") == outputs["text"][0]
    two, one = (json.loads(each) for each in outputs["json"])
    assert one.pop("since") == "2026-10-01T03:00:00Z"
    assert one == two
    names = "old.duckdb", "c.duckdb at 2026-10-01 03:00:00+00:00"
    assert names[0] in outputs["html"][0]
    assert names[1] in outputs["html"][1]
    clock.now += timedelta(hours=2)
    assert main(["diff", "--catalog", "c.duckdb", "--since", "2026-10-02 04:00"]) == 0
    out = capfd.readouterr().out
    assert out == "compatible since 2026-10-02 04:00:00+00:00: no file has changed\n"
    for words in (["c.duckdb"] * 2, ["c.duckdb", "--since=2026-10-02 04:00"]):
        assert main(["diff", "--catalog", *words, "--runtime=3.13.0"]) == 0
        assert "unknown" not in capfd.readouterr().out
        assert main(["diff", "--catalog", *words, "--runtime=3.99.0"]) == 4
        out = capfd.readouterr().out.replace(" since 2026-10-02 04:00:00+00:00", "")
        assert re.search(r"unknown: (\d+) files: \1 unknown\n\Z", out)
    assert main(["diff", "--catalog", "none.duckdb", "--since", "7d"]) == 3


@pytest.mark.parametrize(
    "words",
    [
        ["diff", "c.duckdb", "--since=7d"],
        ["diff", "--catalog", "c.duckdb"],
        ["diff", "--catalog", "c.duckdb", "c.duckdb", "--since=7d"],
        ["diff", "--catalog", "fleet", "--since=7d"],
        ["diff", "--catalog", "c.duckdb", "--since=soon"],
        ["find", "fleet", "--at=7d"],
        ["find", "c.duckdb", "--at=7"],
        ["catalog", "log", "c.duckdb", "main", "other"],
        ["catalog", "show", "c.duckdb", "--since=7d"],
        ["catalog", "update", "c.duckdb", "--until=7d"],
        ["catalog", "sql", "c.duckdb", "SELECT 1", "--module=m"],
        ["catalog", "show", "c.duckdb", "--file=m"],
    ],
    ids=" ".join,
)
def test_wrong_usage(words: list[str], fleet: Path, capfd: Any) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "error: " in capfd.readouterr().err


def test_names_of_another_release_are_answered_for_the_past(fleet: Path, clock: Clock) -> None:
    """Who loads modules of before is asked again, as for those of now."""
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update(fleet)
        clock.now += timedelta(days=1)
        fill(fleet, "2.0")
        catalog.update()
    with duckdb.connect("c.duckdb") as connection:
        connection.execute("UPDATE past_files SET runs_on = NULL")
        connection.execute("UPDATE catalog SET value = '0.0' WHERE key = 'fnabi'")
    with fnabi.Catalog("c.duckdb") as catalog:
        assert catalog.find(at=NIGHT, runtime="3.13.0") == []
        catalog.update()
        assert len(catalog.find(at=NIGHT, runtime="3.13.0")) == 12


def test_the_past_has_the_columns_of_its_tables() -> None:
    """So that what `as_of` selects is there in both."""
    query = _history.as_of(NIGHT)
    with fnabi.Catalog(None) as catalog:
        for table in ("files", "functions", "signatures"):
            catalog.sql(f"WITH {query} FROM {table}").fetchall()
