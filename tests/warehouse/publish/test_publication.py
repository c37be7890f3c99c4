"""The published file: what is in it, and that nobody ever sees half of it."""

import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from importlib import metadata
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from campus.account import BadRow
from tests.kits.lake.small_lake import MARKS, at, lake_at, row, sync
from tests.kits.waiting import PATIENCE, until
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Column, Slice
from warehouse.publish import fill
from warehouse.publish.fill import build_raw
from warehouse.publish.publish import Generation, generations, publish, record_checks

SPAWN = multiprocessing.get_context("spawn")
EMPTY = replace(MARKS, name="empty", comment="A table that's never loaded")


def build(lake: Lake, home: Path) -> Path:
    lake.ensure([EMPTY])
    file = home / "build" / "campus.duckdb"
    build_raw(lake, [MARKS, EMPTY], file)
    return file


def ask(file: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        return con.execute(query).fetchall()


def test_raw_is_the_lake_with_its_types_and_comments(lake: Lake, tmp_path: Path) -> None:
    sync(lake, 0, [row(1, Decimal("1.10"), tags=[{"name": "优"}], _extra='{"score": ""}'), row(2)])
    sync(lake, 1, [row(1, Decimal("1.10"), tags=[{"name": "优"}], _extra='{"score": ""}')])
    publish(build(lake, tmp_path), tmp_path)
    file = tmp_path / "campus.duckdb"
    types = ask(file, "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'marks'")
    assert types == [
        ("id", "BIGINT"),
        ("kind", "VARCHAR"),
        ("class_id", "BIGINT"),
        ("score", "DECIMAL(38,18)"),
        ("tags", 'STRUCT("name" VARCHAR)[]'),
        ("updated_at", "TIMESTAMP"),
        ("_school_id", "BIGINT"),
        ("_synced_at", "TIMESTAMP"),
        ("_deleted_at", "TIMESTAMP"),
        ("_extra", "JSON"),
    ]
    assert ask(file, "DESCRIBE raw.empty") == ask(file, "DESCRIBE raw.marks")
    values = "id, score::VARCHAR, tags[1].name, _extra->>'score', _school_id, _deleted_at"
    assert ask(file, f"SELECT {values} FROM raw.marks ORDER BY id") == [
        (1, "1.100000000000000000", "优", "", 101, None),
        (2, None, None, None, 101, at(1)),
    ]
    comments = dict(ask(file, "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'marks'"))
    assert comments["updated_at"] == 'Last update, the teacher\'s "own" one'
    assert comments["_deleted_at"].startswith("When the platform deleted the row")
    [(comment,)] = ask(file, "SELECT comment FROM duckdb_tables() WHERE table_name = 'empty'")
    assert comment == EMPTY.comment


def test_files_from_before_a_column_was_added(lake: Lake, tmp_path: Path) -> None:
    wider = replace(MARKS, columns=(Column("rank", pa.int64(), "Rank"), *MARKS.columns))
    for school in (101, 102):
        sync(lake, 0, [row(1), row(2)], slice=Slice.of(_school_id=school, _semester_id=20))
    lake.ensure([wider])
    sync(lake, 1, [row(1, rank=1)], table=wider, slice=Slice.of(_school_id=102, _semester_id=20))
    build_raw(lake, [wider], tmp_path / "campus.duckdb")
    rows = ask(tmp_path / "campus.duckdb", "SELECT _school_id, id, rank FROM raw.marks ORDER BY ALL")
    assert rows == [(101, 1, None), (101, 2, None), (102, 1, 1), (102, 2, None)]


def test_quality_shows_each_sync_once(lake: Lake, tmp_path: Path) -> None:
    bad = BadRow((9, "raw"), "score: text in a number", '{"id": 9}')
    sync(lake, 0, [row(1)], bad=[bad], run_id="first try")
    sync(lake, 0, [row(1)], bad=[bad], run_id="second try")
    sync(lake, 1, [row(1)], bad=[bad])
    file = build(lake, tmp_path)
    with closing(duckdb.connect(str(file))) as con:
        record_checks(con, [{"name": "unique_marks", "model": "marks", "status": "warn", "failures": 1}])
        record_checks(con, [{"name": "unique_marks", "model": "marks", "status": "pass", "failures": 0}])
    publish(file, tmp_path)
    published = tmp_path / "campus.duckdb"
    log = ask(published, 'SELECT sync_id, run_id, slice, "new", unchanged FROM quality.load_log ORDER BY 1')
    # What the first try did is told of the sync, though the second found nothing left to do.
    assert log == [("night-0", "second try", "101:20", 1, 0), ("night-1", "run of night-1", "101:20", 0, 1)]
    assert ask(published, "SELECT resource, slice, raw FROM quality.quarantine") == [
        ("marks", "101:20", '{"id": 9}')
    ]
    [(checked_at, status)] = ask(published, "SELECT checked_at, status FROM quality.check_results")
    assert status == "pass"
    assert checked_at is not None
    for table in ("differences", "stated_counts"):
        assert ask(published, f"SELECT count(*) FROM quality.{table}") == [(0,)]


def test_a_build_is_as_of_its_start(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync(lake, 0, [row(1)])
    fill_raw = fill._fill_raw

    def interrupted(*args: Any) -> None:
        sync(lake, 1, [row(1), row(2)])
        fill_raw(*args)

    monkeypatch.setattr(fill, "_fill_raw", interrupted)
    file = build(lake, tmp_path)
    assert ask(file, "SELECT count(*) FROM raw.marks") == [(1,)]
    assert ask(file, "SELECT count(*) FROM quality.load_log") == [(1,)]


def test_generations_are_kept_and_pruned(lake: Lake, tmp_path: Path) -> None:
    made = []
    for number in range(4):
        sync(lake, number, [row(id) for id in range(number + 1)])
        made.append(publish(build(lake, tmp_path), tmp_path, keep=3))
    assert generations(tmp_path) == made[:0:-1]
    for generation in made[1:]:
        [(name, published_at, version)] = ask(
            generation.path, "SELECT generation, published_at, version FROM quality.publication"
        )
        assert f"{published_at:%Y%m%dT%H%M%S.%f}" == name == generation.name
        assert version == metadata.version("campus-warehouse")
    counts = [ask(generation.path, "SELECT count(*) FROM raw.marks") for generation in generations(tmp_path)]
    assert counts == [[(4,)], [(3,)], [(2,)]]
    assert stat.S_IMODE((tmp_path / "campus.duckdb").stat().st_mode) == 0o440
    assert list((tmp_path / "build").iterdir()) == []


def read_on(home: str, start: Barrier, stop: Event, problems: Any) -> None:
    """An analyst who asks again and again: each file must hold one sync, whole."""
    start.wait()
    while not stop.wait(0.01):  # a reader without a pause takes a whole core
        try:
            [(rows, values, logged)] = ask(
                Path(home) / "campus.duckdb",
                "SELECT count(*), count(DISTINCT score), (FROM (SELECT count(*) FROM quality.load_log)) "
                "FROM raw.marks",
            )
            if (rows, values) != (100, 1) or not logged:
                problems.put(f"{rows} rows, {values} values, {logged} loads")
        except duckdb.Error as error:
            problems.put(str(error))


def test_an_analyst_never_sees_half_a_load(lake: Lake, tmp_path: Path) -> None:
    start, stop, problems = SPAWN.Barrier(3), SPAWN.Event(), SPAWN.Queue()
    sync(lake, 0, [row(id, 0) for id in range(100)])
    publish(build(lake, tmp_path), tmp_path)
    readers = [SPAWN.Process(target=read_on, args=(str(tmp_path), start, stop, problems)) for _ in range(2)]
    for reader in readers:
        reader.start()
    start.wait(PATIENCE)
    with closing(duckdb.connect(str(tmp_path / "campus.duckdb"), read_only=True)) as held_open:
        for number in range(1, 9):
            sync(lake, number, [row(id, number) for id in range(100)])
            publish(build(lake, tmp_path), tmp_path)
        assert held_open.execute("SELECT max(score) FROM raw.marks").fetchall() == [(0,)]
    stop.set()
    for reader in readers:
        reader.join(PATIENCE)
        assert reader.exitcode == 0
    assert problems.empty(), problems.get()
    assert ask(tmp_path / "campus.duckdb", "SELECT max(score) FROM raw.marks") == [(8,)]


def build_and_publish(root: str, home: str) -> None:
    while True:
        publish(build(lake_at(root), Path(home)), Path(home))


def wait_for_publication(home: Path, latest: Generation) -> None:
    until(lambda: generations(home)[0] != latest, "a newer generation is published")


@pytest.mark.slow
def test_killed_while_building_and_publishing(lake: Lake, tmp_path: Path) -> None:
    sync(lake, 0, [row(id, 0) for id in range(100)])
    publish(build(lake, tmp_path), tmp_path)
    for delay in range(8):
        latest = generations(tmp_path)[0]
        process = SPAWN.Process(target=build_and_publish, args=(lake.root, str(tmp_path)))
        process.start()
        wait_for_publication(tmp_path, latest)
        time.sleep(delay * 0.03)  # A moment of its own for each kill.
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(PATIENCE)
        for file in (tmp_path / "campus.duckdb", *(generation.path for generation in generations(tmp_path))):
            assert ask(file, "SELECT count(*) FROM raw.marks") == [(100,)]
    publish(build(lake, tmp_path), tmp_path)
    assert len(generations(tmp_path)) == 3


@pytest.mark.parametrize("what", ["connect(scratch=home)", "opened(home / 'any.duckdb')"])
def test_duckdb_draws_no_bar_into_a_log(what: str, tmp_path: Path) -> None:
    """It does in a process without a script, as Dagster's runs are."""
    duckdb.connect(str(tmp_path / "any.duckdb")).close()
    code = (
        "from contextlib import nullcontext; from pathlib import Path; "
        "from warehouse.lake.sql import connect; from warehouse.published.reading import opened; "
        f"home = Path({str(tmp_path)!r}); found = {what}; "
        "con = found.__enter__(); "
        "print(con.execute(\"SELECT current_setting('enable_progress_bar')\").fetchall())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[(False,)]"
