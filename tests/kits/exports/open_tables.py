"""Shards with open tables, in which each school has the number of the publication in two tables."""

from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import duckdb
import polars as pl
from deltalake import DeltaTable

from warehouse.load.logs.load_log import now
from warehouse.publish.tables.commit import publish_tables
from warehouse.publish.tables.files import write_table_files
from warehouse.published.catalog import Catalog, read_catalog
from warehouse.published.manifest import NAME, ShardFile, with_file
from warehouse.published.shards import Shards, change, read_manifest

#: The environment of other programs that read what is published, of tests/other_programs.lock.
OTHER_PROGRAMS = Path(__file__).parents[3] / ".other-programs" / "bin"
#: What a missing environment means.
NO_OTHER_PROGRAMS = "no other programs: `make other-programs`"
#: Files are deleted as soon as no kept snapshot names them.
NO_AGE = timedelta(0)
#: The version of the models.
MODELS = "models"
DICTIONARY = """
    CREATE SCHEMA quality;
    CREATE TABLE quality.dictionary AS
    SELECT schema_name, table_name, column_name, 'Meaning of ' || column_name AS description,
        CASE WHEN column_name = 'number' THEN 'publications' END AS unit, column_name = 'school_id' AS is_key,
        CASE WHEN column_name = 'school_id' THEN 'core.dim_school.school_id' END AS refers_to
    FROM duckdb_columns() WHERE schema_name IN ('core', 'marts')
"""


def write_tables(shards: Shards, name: str, sql: str, tmp_path: Path) -> str:
    """Write the open tables of a shard with the tables of `sql`, and name them in the manifest. Returns the
    list of files."""
    generation = now().strftime(NAME)
    file = tmp_path / f"{name}-{generation}" / "campus.duckdb"
    file.parent.mkdir()
    with duckdb.connect(str(file)) as con:
        con.execute("CREATE SCHEMA core; CREATE SCHEMA marts")
        con.execute(sql)
        con.execute(DICTIONARY)
    shard = read_manifest(shards).shard(name)
    last = shard.table_files_of(MODELS)
    files = write_table_files(shards, name, (file, None), generation, last, {})
    published = ShardFile(generation, f"{name}.duckdb", shard.schools, MODELS, 1, table_files=files)
    change(shards, partial(with_file, name=name, file=published), clock=datetime.now)
    return files


def publish_number(shards: Shards, name: str, number: int, tmp_path: Path) -> Catalog:
    """Publish a number for each school of a shard, in two tables and two semesters."""
    write_number(shards, name, number, tmp_path)
    return publish_tables(shards)


def write_number(shards: Shards, name: str, number: int, tmp_path: Path) -> None:
    """Write the files for `publish_number`, and name them in the manifest."""
    schools = list(read_manifest(shards).shard(name).schools)
    rows = (
        f"SELECT school_id, semester_id, {number} AS number "
        f"FROM unnest({schools}) AS a(school_id), unnest([10, 20]) AS b(semester_id)"
    )
    sql = f"CREATE TABLE core.first AS {rows}; CREATE TABLE marts.second AS {rows}"
    write_tables(shards, name, sql, tmp_path)


def open_table(shards: Shards, catalog: Catalog, name: str) -> DeltaTable:
    """A table at the version that belongs to a catalogue."""
    location = f"{shards.root}/tables/{name.replace('.', '/')}"
    return DeltaTable(location, version=catalog.versions[name])


def table_numbers(shards: Shards, name: str) -> set[tuple[int, int]]:
    """School and number in a table of the present catalogue, as polars reads it."""
    table = open_table(shards, read_catalog(shards)[0], name)
    return set(pl.scan_delta(table).select("school_id", "number").collect().rows())
