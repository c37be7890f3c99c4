"""Compares formats for open tables: ours on Delta, DuckLake with its catalogue in Postgres, Iceberg.

    .venv/bin/python benchmarks/district/table_formats.py widen SHARD.duckdb WIDE.duckdb
    .venv/bin/python benchmarks/district/table_formats.py delta WIDE.duckdb FOLDER
    OTHER/bin/python benchmarks/district/table_formats.py ducklake WIDE.duckdb FOLDER "host=... dbname=..."
    OTHER/bin/python benchmarks/district/table_formats.py iceberg WIDE.duckdb FOLDER postgresql://...
    OTHER/bin/python benchmarks/district/table_formats.py queries FOLDER/views.sql

`widen` makes 16 schools and 6 semesters of one school of a small published shard; rows of two semesters are
in each. OTHER is an environment with duckdb 1.5.5, duckdb_extension_ducklake,
duckdb_extension_postgres_scanner and pyiceberg[sql-postgres,pyarrow] 0.12.0: the project uses none of them.
Each format writes ten tables as two publications of 8 schools, one after the other and then both at once in
two processes. Then ten queries run in DuckDB 1.5.5, the median of three; `delta` writes views.sql for that.
Iceberg's files are read without its own reader, which is a further extension.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb

TABLES = (
    *("core.dim_school", "core.dim_student", "core.fct_attendance", "core.fct_score"),
    *("marts.attendance_student_semester", "marts.early_warning", "marts.grade_student_semester"),
    *("marts.attendance_heatmap", "marts.attendance_group_week", "marts.attendance_unrecorded"),
)
HALVES = (range(1, 9), range(9, 17))
QUERIES = (
    "SELECT count(*) FROM core.fct_attendance",
    "SELECT status, count(*) FROM core.fct_attendance WHERE school_id = 7 AND semester_id = 72 GROUP BY 1",
    "SELECT school_id, avg(is_present::INT) FROM core.fct_attendance WHERE semester_id % 10 = 1 GROUP BY 1",
    "SELECT school_id, count(*) FROM core.fct_score GROUP BY 1",
    "SELECT school_name, count(*) FROM core.dim_student JOIN core.dim_school USING (school_id) GROUP BY 1",
    "SELECT school_id, level, count(*) FROM marts.early_warning GROUP BY 1, 2",
    "SELECT school_id, student_id FROM marts.attendance_student_semester ORDER BY days_absent DESC LIMIT 20",
    "SELECT school_id, max(failed_courses) FROM marts.grade_student_semester GROUP BY 1",
    "SELECT weekday, sum(recorded) FROM marts.attendance_heatmap GROUP BY 1",
    "SELECT week, avg(attendance_rate) FROM marts.attendance_group_week GROUP BY 1",
)


def widen(source: str, target: str) -> None:
    """Write a file with the rows of one school and semester as those of 16 schools and 6 semesters."""
    with closing(duckdb.connect(target, config={"storage_compatibility_version": "v1.2.0"})) as con:
        con.execute(f"ATTACH '{source}' AS shard (READ_ONLY)")
        [(first,)] = con.execute("SELECT min(school_id) FROM shard.core.dim_school").fetchall()
        con.execute("CREATE SCHEMA core; CREATE SCHEMA marts; CREATE SCHEMA quality")
        con.execute("CREATE TABLE quality.dictionary AS FROM shard.quality.dictionary")
        for table in TABLES:
            columns = [name for name, *_ in con.execute(f"FROM shard.{table} LIMIT 0").description or ()]
            semester = ", s * 10 + n AS semester_id" if "semester_id" in columns else ""
            con.execute(
                f"CREATE TABLE {table} AS SELECT t.* REPLACE (s AS school_id{semester}) "
                f"FROM shard.{table} AS t, range(1, 17) AS schools(s), "
                f"range({6 if semester else 1}) AS semesters(n) "
                f"WHERE t.school_id = {first}"
            )


class Delta:
    """Ours: files by school and semester, a commit a table, and a catalogue."""

    def __init__(self, wide: str, folder: str, _: str = "") -> None:
        from warehouse.published.shards import Shards

        self.wide, self.shards = wide, Shards(folder, Path(folder) / "cache", has_tables=True)

    def publish(self, schools: range) -> None:
        """Publish a shard with some schools."""

        from warehouse.publish.tables.commit import publish_tables
        from warehouse.publish.tables.files import write_table_files
        from warehouse.published.manifest import NAME, Shard, ShardFile
        from warehouse.published.shards import change

        name = f"{schools.start:04}"
        file = Path(self.shards.root) / f"build-{name}" / "campus.duckdb"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        with closing(duckdb.connect(str(file))) as con:
            con.execute("SET enable_progress_bar = false")
            con.execute(f"ATTACH '{self.wide}' AS wide (READ_ONLY)")
            con.execute("CREATE SCHEMA core; CREATE SCHEMA marts; CREATE SCHEMA quality")
            con.execute("CREATE TABLE quality.dictionary AS FROM wide.quality.dictionary")
            for table in TABLES:
                con.execute(f"CREATE TABLE {table} AS FROM wide.{table} WHERE {_within(schools)}")
        began = _clock()
        generation = datetime.now().strftime(NAME)
        files = write_table_files(self.shards, name, (file, None), generation, "", {"threads": 2})
        published = ShardFile(generation, f"{name}.duckdb", tuple(schools), "m", 1, table_files=files)

        def named(manifest: Any) -> Any:
            others = tuple(shard for shard in manifest.shards if shard.name != name)
            return type(manifest)(shards=(*others, Shard(name, tuple(schools), published)))

        change(self.shards, named, clock=datetime.now)
        publish_tables(self.shards)
        _say("publication without the copy of the shard", began)


class DuckLake:
    """DuckLake: one transaction a publication."""

    def __init__(self, wide: str, folder: str, catalogue: str) -> None:
        self.wide, self.folder, self.catalogue = wide, folder, catalogue

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection in which the queries run."""
        import duckdb_extension_ducklake
        import duckdb_extension_postgres_scanner

        con = duckdb.connect(config={"allow_unsigned_extensions": False, "threads": 2})
        for extension in (duckdb_extension_ducklake, duckdb_extension_postgres_scanner):
            [path] = Path(str(extension.__file__)).parent.rglob("*.duckdb_extension")
            con.execute(f"INSTALL '{path}'; LOAD '{path}'")
        files = f"{self.folder}/ducklake"
        con.execute(f"ATTACH 'ducklake:postgres:{self.catalogue}' AS lake (DATA_PATH '{files}')")
        con.execute("USE lake")
        return con

    def publish(self, schools: range) -> None:
        """Publish some schools."""
        with closing(self.connect()) as con:
            con.execute("SET enable_progress_bar = false")
            con.execute(f"ATTACH '{self.wide}' AS wide (READ_ONLY)")
            rows = con.execute(
                "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake'"
            )
            existing = {".".join(row) for row in rows.fetchall()}
            for table in TABLES:
                if table not in existing:
                    self._create(con, table)
            began, retries = _clock(), 0
            while True:
                con.execute("BEGIN")
                for table in TABLES:
                    con.execute(f"DELETE FROM lake.{table} WHERE {_within(schools)}")
                    con.execute(f"INSERT INTO lake.{table} FROM wide.{table} WHERE {_within(schools)}")
                try:
                    con.execute("COMMIT")
                    break
                except duckdb.TransactionException:
                    retries += 1
            _say(f"publication, {retries} retries", began)

    def _create(self, con: duckdb.DuckDBPyConnection, table: str) -> None:
        columns = [name for name, *_ in con.execute(f"FROM wide.{table} LIMIT 0").description or ()]
        by = ", ".join(name for name in ("school_id", "semester_id") if name in columns)
        con.execute(f"CREATE SCHEMA IF NOT EXISTS lake.{table.partition('.')[0]}")
        con.execute(f"CREATE TABLE IF NOT EXISTS lake.{table} AS FROM wide.{table} LIMIT 0")
        con.execute(f"ALTER TABLE lake.{table} SET PARTITIONED BY ({by})")


class Iceberg:
    """Iceberg by pyiceberg: a commit a table. Its SQL catalogue has no commit over several tables."""

    def __init__(self, wide: str, folder: str, catalogue: str) -> None:
        from pyiceberg.catalog.sql import SqlCatalog

        self.wide = wide
        self.catalogue = SqlCatalog("lake", uri=catalogue, warehouse=f"file://{folder}/iceberg")

    def publish(self, schools: range) -> None:
        """Publish some schools."""
        from pyiceberg.exceptions import CommitFailedException
        from pyiceberg.expressions import And, GreaterThanOrEqual, LessThan

        began, retries = _clock(), 0
        with closing(duckdb.connect(self.wide, read_only=True)) as con:
            for table in TABLES:
                rows = con.execute(f"FROM {table} WHERE {_within(schools)}").to_arrow_table()
                within = And(
                    GreaterThanOrEqual("school_id", schools.start), LessThan("school_id", schools.stop)
                )
                while True:
                    try:
                        self._table(table, rows).overwrite(rows, overwrite_filter=within)
                        break
                    except CommitFailedException:
                        retries += 1
        _say(f"publication, {retries} retries", began)

    def _table(self, name: str, rows: Any) -> Any:
        from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError

        try:
            return self.catalogue.load_table(name)
        except NoSuchTableError:
            self.catalogue.create_namespace_if_not_exists(name.partition(".")[0])
        try:
            table = self.catalogue.create_table(name, schema=rows.schema)
            with table.update_spec() as spec:
                for column in ("school_id", "semester_id"):
                    if column in rows.schema.names:
                        spec.add_identity(column)
        except TableAlreadyExistsError:
            return self.catalogue.load_table(name)
        return table

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection in which the queries run: DuckDB's own reader is an extension to download."""
        con = duckdb.connect(config={"threads": 2})
        con.execute("CREATE SCHEMA core; CREATE SCHEMA marts")
        for name in TABLES:
            tasks = self.catalogue.load_table(name).scan().plan_files()
            files = [task.file.file_path.removeprefix("file://") for task in tasks]
            con.execute(f"CREATE VIEW {name} AS FROM read_parquet({files}, hive_partitioning = false)")
        return con


FORMATS = {"delta": Delta, "ducklake": DuckLake, "iceberg": Iceberg}


def compare(name: str, *places: str) -> None:
    """Measure one format, and print."""
    make = FORMATS[name]
    for half in HALVES:
        make(*places).publish(half)
    began, spawn = _clock(), get_context("spawn")
    writers = [spawn.Process(target=_publish, args=(name, places, half)) for half in HALVES]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    statuses = [writer.exitcode for writer in writers]
    print(f"both at once: {time.monotonic() - began[0]:.1f} s, ended with {statuses}")
    if name == "delta":
        from warehouse.published.catalog import catalog_sql, read_catalog

        shards = Delta(*places).shards
        (Path(places[1]) / "views.sql").write_text("\n".join(catalog_sql(shards, read_catalog(shards)[0])))
        return
    began = _clock()
    con = make(*places).connect()
    _say("opening", began)
    ask(con)


def ask(con: duckdb.DuckDBPyConnection) -> None:
    """Answer the queries, and print the medians."""
    with closing(con):
        medians = [1000 * statistics.median(_times(con, query)) for query in QUERIES]
    print("queries, ms:", ", ".join(f"{ms:.0f}" for ms in medians), f"in all {sum(medians):.0f}")


def _publish(name: str, places: tuple[str, ...], schools: range) -> None:
    FORMATS[name](*places).publish(schools)


def _times(con: duckdb.DuckDBPyConnection, query: str) -> Iterator[float]:
    for _ in range(3):
        began = time.monotonic()
        con.execute(query).fetchall()
        yield time.monotonic() - began


def _within(schools: range) -> str:
    return f"school_id >= {schools.start} AND school_id < {schools.stop}"


def _clock() -> tuple[float, float]:
    return time.monotonic(), time.process_time()


def _say(what: str, began: tuple[float, float]) -> None:
    print(
        f"{what}: {time.monotonic() - began[0]:.1f} s, {time.process_time() - began[1]:.1f} CPU s", flush=True
    )


if __name__ == "__main__":
    if sys.argv[1] == "widen":
        widen(*sys.argv[2:4])
    elif sys.argv[1] == "queries":
        views = duckdb.connect(config={"threads": 2})
        views.execute(Path(sys.argv[2]).read_text())
        ask(views)
    else:
        compare(sys.argv[1], *sys.argv[2:])
