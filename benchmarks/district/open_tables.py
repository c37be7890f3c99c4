"""Measures queries on the open tables of a large district.

    .venv/bin/python -m benchmarks.district.open_tables [--schools 500] [--semesters 6] [--home FOLDER]

Two schools of 2,000 students and two semesters are written into a lake, and published with open tables. Then
links to their files become the tables of `--schools` schools and `--semesters` semesters: 500 and 6 have 3.6
billion records of attendance. So all schools have the same rows, and the page cache has all files; a cold
disk takes longer. `campus sql` answers ten questions. Needs 3 GB of disk, and 250,000 names of files.
"""

import argparse
import os
import tempfile
import time
from datetime import datetime
from functools import partial
from pathlib import Path

import duckdb
import obstore
import pyarrow as pa
from msgspec.structs import replace

from benchmarks.district.shards import CAMPUS, configure, measure_builds, measured, prepare
from pipelines.settings.settings import load_settings
from warehouse.publish.tables.commit import publish_tables
from warehouse.published.catalog import FILES, catalog_sql, encoded_files, read_catalog, read_files
from warehouse.published.manifest import Manifest, Shard
from warehouse.published.shards import Shards, change, read_manifest

#: Questions of docs/how-to/analysts.md, and some about single schools and students.
QUERIES = {
    "count all records": "SELECT count(*) FROM core.fct_attendance",
    "one student's records": (
        "SELECT date, lesson, status FROM core.fct_attendance "
        "WHERE school_id = 7 AND semester_id = 71 AND student_id = 1000007 ORDER BY 1, 2"
    ),
    "one school's days": (
        "SELECT date, count(*) FILTER (WHERE is_absent) FROM core.fct_attendance "
        "WHERE school_id = 7 AND semester_id = 71 GROUP BY 1"
    ),
    "one semester of all schools": (
        "SELECT school_id, avg(is_present::INT) FROM core.fct_attendance "
        "WHERE semester_id % 10 = 1 AND school_id <= 50 GROUP BY 1"
    ),
    "warnings of all students": ("SELECT school_id, level, count(*) FROM marts.early_warning GROUP BY 1, 2"),
    "absent day after day": (
        "SELECT school_id, student_id, current_absence_streak FROM marts.attendance_student_semester "
        "ORDER BY current_absence_streak DESC, days_absent DESC LIMIT 20"
    ),
    "chronic by cohort": (
        "SELECT school_id, cohort_name, count(*) FILTER (WHERE is_chronic), count(*) "
        "FROM marts.attendance_student_semester WHERE recorded > 0 GROUP BY 1, 2"
    ),
    "failed courses": (
        "SELECT school_id, count(*) FROM marts.grade_student_semester WHERE failed_courses > 0 GROUP BY 1"
    ),
    "students by school": (
        "SELECT school_name, count(*) FROM core.dim_student JOIN core.dim_school USING (school_id) GROUP BY 1"
    ),
    "attendance and marks": (
        "SELECT round(a.attendance_rate, -1) AS tier, count(*), avg(g.weighted_mean) "
        "FROM marts.attendance_student_semester AS a JOIN marts.grade_student_semester AS g "
        "USING (school_id, semester_id, student_id) GROUP BY 1 ORDER BY 1"
    ),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--schools", type=int, default=500)
    parser.add_argument("--semesters", type=int, default=6)
    parser.add_argument("--home", type=Path, help="folder to keep; default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home: Path = options.home or Path(scratch)
        os.environ |= {"CAMPUS_HOME": str(home), "DAGSTER_HOME": str(home / "dagster")}
        prepare(home, 2, 2)
        configure(home, 2, None, has_tables=True)
        measure_builds(None)
        shards = load_settings().shards
        assert shards
        spread(shards, options.schools, options.semesters)
        report(shards)
        for label, query in QUERIES.items():
            for _ in range(2):
                print(f"{label:30}{measured([CAMPUS, 'sql', query])}", flush=True)


def spread(shards: Shards, schools: int, semesters: int) -> None:
    """Make the manifest name one shard with links to the built files as the files of many schools."""
    [shard] = read_manifest(shards).shards
    assert shard.published
    built = read_files(shards, shard.published.table_files).to_pylist()
    root, began = Path(shards.root), time.monotonic()
    rows = [row for row in built if row["path"] is None]
    for school_id in range(1, schools + 1):
        for row in built:
            if row["path"] is None or row["school_id"] != 1 + school_id % 2:
                continue
            semester_id = row["semester_id"]
            numbers = [0] if semester_id is None else range(1 - semester_id % 2, semesters, 2)
            for number in numbers:
                copied = {**row, "school_id": school_id}
                path = row["path"].replace(f"school_id={row['school_id']}/", f"school_id={school_id}/")
                if semester_id is not None:
                    copied["semester_id"] = school_id * 10 + number
                    path = path.replace(
                        f"semester_id={semester_id}/", f"semester_id={copied['semester_id']}/"
                    )
                copied["path"] = path = path.replace(".parquet", "_linked.parquet")
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                if not (root / path).exists():
                    os.link(root / row["path"], root / path)
                rows.append(copied)
    name = "shards/1001/linked.tables.parquet"
    obstore.put(shards.objects, name, encoded_files(pa.Table.from_pylist(rows, schema=FILES)))
    ids = tuple(range(1, schools + 1))
    linked = Shard("1001", ids, replace(shard.published, schools=ids, table_files=name))
    change(shards, partial(_with, linked), clock=datetime.now)
    print(f"{len(rows):,} files of {schools} schools linked in {time.monotonic() - began:.0f} s")


def _with(shard: Shard, manifest: Manifest) -> Manifest:
    return replace(manifest, shards=(shard,))


def report(shards: Shards) -> None:
    """Commit the tables, and say what of them a query of one school and semester opens."""
    began, cpu = time.monotonic(), time.process_time()
    publish_tables(shards)
    took = f"{time.monotonic() - began:.1f} s, {time.process_time() - cpu:.1f} CPU s"
    catalog, _ = read_catalog(shards)
    print(f"{len(catalog.versions)} tables committed in {took}")
    with duckdb.connect() as con:
        began = time.monotonic()
        con.execute("\n".join(catalog_sql(shards, catalog)))
        print(f"district.sql read in {time.monotonic() - began:.1f} s")
        began = time.monotonic()
        query = QUERIES["one school's days"]
        plan = con.execute(f"EXPLAIN ANALYZE {query}").fetchall()[0][1]
        [scanned] = [line.strip(" │") for line in plan.splitlines() if "Scanning Files" in line]
        print(f"one school's days in this session: {scanned}, {time.monotonic() - began:.2f} s")


if __name__ == "__main__":
    main()
