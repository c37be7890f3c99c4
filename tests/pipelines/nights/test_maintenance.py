"""The maintenance that follows each night: on the disk, in the published file, and in what operators read."""

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from simulator.process import RunningSimulator, running
from tests.kits.programs.moved_clock import NEEDS_FAKETIME, age_new_files, days_ahead
from tests.kits.programs.processes import environment_for

CAMPUS = Path(sys.executable).parent / "campus"
OPTIONS = "retention: {personal_days: 30, history_days: 30}\nschedule: {keep_loads_days: 60}\n"


def campus(home: Path, platform: RunningSimulator, days: int, *arguments: str) -> str:
    """What `campus` prints when its clock is days ahead."""
    environment = environment_for(home, platform, HOME=str(home), **days_ahead(days))
    began = time.time()
    ended = subprocess.run([CAMPUS, *arguments], cwd=home, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    age_new_files(home, began - 1, days)
    return ended.stdout


def sync(home: Path, platform: RunningSimulator, days: int) -> None:
    campus(home, platform, days, "sync", "--select", 'group:"base_data"')


def on_disk(home: Path) -> set[Path]:
    return set((home / "lake").rglob("*.parquet")) - set((home / "lake").rglob("_delta_log/*"))


def active(home: Path) -> set[Path]:
    """The files of the present version of each table of the lake."""
    tables = [DeltaTable(str(log.parent)) for log in (home / "lake").rglob("_delta_log")]
    return {Path(uri.removeprefix("file://")) for table in tables for uri in table.file_uris()}


def select(file: Path, query: str, *values: object) -> list[Any]:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        return con.execute(query, values).fetchall()


@pytest.mark.slow
@NEEDS_FAKETIME
def test_nights_keep_the_terms_of_retention_on_the_disk_and_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "campus.yaml").write_text(OPTIONS)
    published, lake = tmp_path / "campus.duckdb", tmp_path / "lake"
    with running(schools=1, students=6, semesters=1, today="2025-03-07") as platform:
        sync(tmp_path, platform, 0)
        student, *_ = (row["row"] for row in platform.rows("students", 101))
        score, *_ = (row["row"] for row in platform.rows("scores", 101))
        platform.destroy("students", student["id"])
        platform.update("scores", score["id"], review="first")
        sync(tmp_path, platform, 1)
        platform.update("scores", score["id"], review="second")
        sync(tmp_path, platform, 2)
        of_student = ("SELECT name FROM raw.students WHERE id = ?", student["id"])
        assert select(published, *of_student) == [(student["name"],)]
        assert select(published, "SELECT count(*) FROM quality.past_rows WHERE row IS NOT NULL") != [(0,)]
        before = select(published, "SELECT count(*) FROM quality.load_log")

        sync(tmp_path, platform, 130)
        assert select(published, *of_student) == [(None,)], "the same night's file"
        assert select(published, "SELECT count(*) FROM quality.past_rows WHERE row IS NOT NULL") == [(0,)]
        assert select(published, "SELECT count(*) FROM quality.load_log") < before
        [removed] = select(
            published,
            "SELECT personal_rows > 0, history_rows > 0, loads > 0 FROM quality.maintenance "
            "ORDER BY started_at DESC LIMIT 1",
        )
        assert removed == (True, True, True)

        unneeded = on_disk(tmp_path) - active(tmp_path)
        assert any("students" in str(path) for path in unneeded), "for seven more days"
        sync(tmp_path, platform, 138)
        assert not unneeded & on_disk(tmp_path)
        for table in ("students", "past_rows"):
            files = [
                str(path) for path in (lake / table).rglob("*.parquet") if "_delta_log" not in path.parts
            ]
            rows = select(
                published,
                "SELECT count(*) FROM read_parquet($1, union_by_name => true) AS r "
                "WHERE contains(CAST(r AS VARCHAR), $2)",
                files,
                student["name"],
            )
            assert rows == [(0,)], table
        assert len(list(DeltaTable(str(lake / "past_rows")).file_uris())) <= len(
            DeltaTable(str(lake / "past_rows")).partitions()
        )
        status = campus(tmp_path, platform, 139, "status")
        assert "Last maintenance of the lake: " in status and "not maintained" not in status
