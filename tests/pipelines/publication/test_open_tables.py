"""Open tables of a district: its nights publish what the shards have, and `campus sql` reads it."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import dagster as dg
import polars as pl
import pyarrow as pa
import pytest

from assets.publication.shards import OPEN_TABLES, tables_asset
from pipelines.cli.actions.catalog import run_catalog
from pipelines.cli.actions.load import run_build
from pipelines.cli.actions.sql import run_sql
from tests.kits.exports.open_tables import (
    MODELS,
    NO_OTHER_PROGRAMS,
    OTHER_PROGRAMS,
    open_table,
    write_number,
)
from tests.kits.programs import old_duckdb
from tests.kits.worlds.shards import District
from tests.kits.worlds.world import World
from warehouse.files import STORAGE_VERSION
from warehouse.identifiers import quoted
from warehouse.load.logs.load_log import now
from warehouse.publish.shards.publication import deal
from warehouse.published import catalog as catalogue
from warehouse.published.catalog import Catalog, catalog_sql, opened_for, read_catalog, read_files
from warehouse.published.manifest import ShardFile, with_file
from warehouse.published.reading import opened
from warehouse.published.shards import Shards, change

pytestmark = pytest.mark.slow

COUNTS = "SELECT count(*), count(COLUMNS(*)) FROM {}"
#: Reads statements, and prints the version and the counts of each view that they make.
READER = f"""
import json, sys, duckdb
con = duckdb.connect()
con.execute(sys.stdin.read())
views = con.execute("SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal").fetchall()
names = map(".".join, views)
counts = {{name: con.execute("{COUNTS}".format(name)).fetchone() for name in names}}
print(json.dumps([duckdb.__version__, counts]))
"""
#: Reads the tables of a root with Daft, and writes each as a file of Arrow into a folder.
READER_BY_DAFT = """
import json, sys, daft, pyarrow as pa
root, folder = sys.argv[1:]
for name, version in json.load(open(f"{root}/catalog.json"))["versions"].items():
    rows = daft.read_deltalake(f"{root}/tables/{name.replace('.', '/')}", version=version).to_arrow()
    with pa.ipc.new_file(f"{folder}/{name}.arrow", rows.schema) as file:
        file.write_table(rows)
"""


@pytest.fixture(scope="module")
def world(load_world: Callable[..., World]) -> World:
    """Three small schools with a closed semester."""
    return load_world("shards", select=None)


@pytest.fixture(scope="module")
def district(world: World) -> District:
    """Their publication in two shards, with frozen files and open tables."""
    district = District(world, freeze_after_days=1, tables="delta")
    assert [end.problem for end in district.build()] == [None, None, None]
    return district


def test_open_tables_have_the_rows_of_shards(district: District) -> None:
    catalog, _ = read_catalog(district.shards)
    assert district.manifest.frozen_files, "closed semesters are in files of their own"
    assert catalog.made_of == district.manifest.table_files
    with opened(district.shards) as shards:
        for name in catalog.versions:
            query = f"FROM {name}"
            with opened_for(district.shards, query) as tables:
                shards.register("open_rows", tables.sql(query).to_arrow_table())
            for first, second in ((name, "open_rows"), ("open_rows", name)):
                assert shards.execute(f"FROM {first} EXCEPT ALL FROM {second}").fetchall() == [], name
        models = "SELECT count(*) FROM duckdb_views() WHERE schema_name IN ('core', 'marts') AND NOT internal"
        assert shards.execute(models).fetchall() == [(len(catalog.versions),)]
    assert len(catalog.versions) > 80


Tables = Iterator[tuple[str, pa.Table]]


def by_polars(shards: Shards, catalog: Catalog, _folder: Path) -> Tables:
    for name in catalog.versions:
        yield name, pl.scan_delta(open_table(shards, catalog, name)).collect().to_arrow()


def by_deltalake(shards: Shards, catalog: Catalog, _folder: Path) -> Tables:
    for name in catalog.versions:
        yield name, pa.RecordBatchReader.from_stream(open_table(shards, catalog, name).scan()).read_all()


def by_daft(shards: Shards, catalog: Catalog, folder: Path) -> Tables:
    if not OTHER_PROGRAMS.exists():
        pytest.skip(NO_OTHER_PROGRAMS)
    subprocess.run(
        [OTHER_PROGRAMS / "python", "-c", READER_BY_DAFT, shards.root, folder],
        env={"DO_NOT_TRACK": "true", "DAFT_PROGRESS_BAR": "0", "PATH": os.environ["PATH"]},
        check=True,
    )
    for name in catalog.versions:
        yield name, pa.ipc.open_file(folder / f"{name}.arrow").read_all()


@pytest.mark.parametrize("read", [by_polars, by_deltalake, by_daft])
def test_each_engine_reads_the_rows_of_each_table(
    district: District, tmp_path: Path, read: Callable[[Shards, Catalog, Path], Tables]
) -> None:
    """DuckDB reads the files of the same tables in the test before."""
    catalog, _ = read_catalog(district.shards)
    differing, tables = [], 0
    with opened(district.shards) as shards:
        for name, rows in read(district.shards, catalog, tmp_path):
            shards.register("engine_rows", rows)
            columns = shards.sql(f"FROM {name} LIMIT 0").columns
            texts = ", ".join(f"{quoted(column)}::VARCHAR" for column in columns)
            queries = [f"SELECT {texts} FROM {source}" for source in (name, "engine_rows")]
            excess = (
                f"({queries[0]} EXCEPT ALL {queries[1]}) UNION ALL ({queries[1]} EXCEPT ALL {queries[0]})"
            )
            if shards.execute(excess).fetchall():
                differing.append(name)
            tables += 1
    assert differing == [] and tables == len(catalog.versions)


def test_a_night_commits_the_school_that_changed(district: District) -> None:
    before, _ = read_catalog(district.shards)
    assert run_build(district.settings) == 0
    assert read_catalog(district.shards)[0] == before, "nothing has changed"
    platform = district.world.platform
    student = platform.rows("students", 103)[0]["key"]
    platform.update("students", student, name="Another name")
    assert district.world.load(select='key:"raw/students"').problems == []
    assert {end.problem for end in district.build()} == {None}
    after, _ = read_catalog(district.shards)
    assert after.versions["core.dim_student"] == before.versions["core.dim_student"] + 1
    assert after.versions["core.fct_attendance"] == before.versions["core.fct_attendance"]
    assert _schools_of_new_files(district, before, after) == {103}


def test_sql_reads_open_tables_if_they_suffice(district: District, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT count(DISTINCT school_id) AS schools FROM core.dim_student"
    with monkeypatch.context() as patch:
        patch.setattr(catalogue, "opened", None)
        assert _printed(district, query) == ["schools", "3"]
    raw = "SELECT count(DISTINCT _school_id) AS schools FROM raw.students"
    assert _printed(district, raw) == ["schools", "3"]


def test_the_command_prints_views_of_some_schools(district: District) -> None:
    with redirect_stdout(io.StringIO()) as said:
        assert run_catalog(district.shards, [101]) == 0
    catalog, _ = read_catalog(district.shards)
    assert said.getvalue() == "".join(f"{line}\n" for line in catalog_sql(district.shards, catalog, [101]))
    assert run_catalog(None, []) == 2


@pytest.mark.skipif(not old_duckdb.FOLDER.exists(), reason=old_duckdb.MISSING)
def test_an_older_duckdb_reads_all_rows_of_the_views(district: District) -> None:
    catalog, _ = read_catalog(district.shards)
    done = subprocess.run(
        [sys.executable, "-c", READER],
        env={"PYTHONPATH": str(old_duckdb.FOLDER)},
        input="\n".join(catalog_sql(district.shards, catalog)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    version, counts = json.loads(done.stdout)
    assert version == STORAGE_VERSION.removeprefix("v")
    assert counts.keys() == catalog.versions.keys()
    with opened(district.shards) as shards:
        for name in counts:
            assert tuple(counts[name]) == shards.execute(COUNTS.format(name)).fetchone(), name


def test_dagster_knows_the_tables_until_they_go(world: World, district: District) -> None:
    assert world.instance.get_latest_materialization_event(OPEN_TABLES)
    off = District(world, freeze_after_days=1)
    assert run_build(off.settings) == 0
    assert read_catalog(off.shards) == (Catalog(), None)
    assert run_build(district.settings) == 0
    assert len(read_catalog(district.shards)[0].versions) > 80


def test_a_shard_without_tables_is_a_warning(tmp_path: Path) -> None:
    """Its last build failed, or its file is older than the option."""
    shards = Shards(str(tmp_path / "published"), tmp_path / "cache", has_tables=True)
    deal(shards, [1, 2], 1)
    write_number(shards, "0001", 1, tmp_path)
    without_tables = ShardFile("20260901T000000.000000", "0002.duckdb", (2,), MODELS, 1)
    change(shards, partial(with_file, name="0002", file=without_tables), clock=now)
    with dg.DagsterInstance.ephemeral() as instance:
        run = dg.materialize([tables_asset(shards)], instance=instance)
        messages = [entry.user_message for entry in instance.all_logs(run.run_id)]
    [warning] = [message for message in messages if "lack the schools" in message]
    assert "of the shards 0002, which were not published since publish.tables is set" in warning


def _schools_of_new_files(district: District, before: Catalog, after: Catalog) -> set[int]:
    old, new = (
        {(row["path"], row["school_id"]) for row in read_files(district.shards, catalog.files).to_pylist()}
        for catalog in (before, after)
    )
    return {school for path, school in new - old if path}


def _printed(district: District, query: str) -> list[str]:
    with redirect_stdout(io.StringIO()) as said:
        assert run_sql(district.shards, query, "csv") == 0
    return said.getvalue().split()
