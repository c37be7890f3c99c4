"""Measures over the files of shards."""

from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from warehouse.publish.metrics import macro_of
from warehouse.published.manifest import Manifest, Shard, ShardFile
from warehouse.published.union import show_as_one

ROLLS = """
    CREATE TABLE marts.attendance_class_session AS SELECT
        {school} AS school_id, 'School {school}' AS school_name, 1 AS semester_id, 'Autumn' AS semester_name,
        'Maths' AS subject_name, 'Maths' AS course_name, 11 AS course_class_id, '1' AS class_name,
        [50, 51] AS teacher_ids, DATE '2026-09-01' AS date, 1 AS week, 2 AS weekday, lesson,
        CASE WHEN lesson <= {taken} THEN 'recorded' ELSE 'unrecorded' END AS state
    FROM range(1, 5) AS lessons(lesson)
"""
TEACHERS = """
    CREATE TABLE core.dim_teacher AS
    SELECT {school} AS school_id, unnest([50, 51]) AS teacher_id, unnest(['Ann', 'Bob']) AS teacher_name
"""
SEMESTERS = """
    CREATE TABLE core.dim_semester AS
    SELECT {school} AS school_id, 1 AS semester_id, 'School {school}' AS school_name, true AS is_current
"""


def write(file: Path, school: int, taken: int) -> None:
    """Make a shard's file: four rolls of a class with two teachers, of which some were taken."""
    with closing(duckdb.connect(str(file))) as con:
        for schema in ("core", "marts", "quality"):
            con.execute(f"CREATE SCHEMA {schema}")
        con.execute(ROLLS.format(school=school, taken=taken))
        con.execute(TEACHERS.format(school=school))
        con.execute(SEMESTERS.format(school=school))
        con.execute(macro_of("recording_rate"))
        con.execute("CREATE TABLE quality.metrics (metric VARCHAR, macro VARCHAR)")
        con.execute("INSERT INTO quality.metrics VALUES ('recording_rate', ?)", [macro_of("recording_rate")])


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ("", [Decimal("62.50")]),
        ("\"by\" := ['school']", [Decimal("100.00"), Decimal("25.00")]),
        ("\"by\" := ['teacher'], schools := [2], since := '2026-09-01'", [Decimal("25.00")] * 2),
    ],
)
def test_a_measure_reads_all_shards(tmp_path: Path, arguments: str, values: list[Decimal]) -> None:
    shards, files = [], {}
    for name, school, taken in (("001", 1, 4), ("002", 2, 1)):
        files[name] = tmp_path / f"{name}.duckdb"
        write(files[name], school, taken)
        shards.append(Shard(name, (school,), ShardFile(f"20260901T020{school}", name, (school,), "m", 1)))
    with closing(duckdb.connect()) as con:
        show_as_one(con, Manifest(shards=tuple(shards)), files)
        rows = con.execute(f"SELECT value FROM marts.metric_recording_rate({arguments})").fetchall()
        assert [value for (value,) in rows] == values
        assert con.execute("SELECT count(*) FROM quality.metrics").fetchall() == [(1,)]
