"""district.duckdb: models by class and by school over all shards, in a single file without persons.

A model is included if its yml has `meta: {district: true}`. Its columns that name a person are left out."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path

import duckdb
import msgspec

from warehouse.files import STORAGE_VERSION
from warehouse.identifiers import listed, literal, quoted, relation
from warehouse.load.logs.load_log import now
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import Build, compiled
from warehouse.published.manifest import NAME, DistrictFile, Manifest
from warehouse.published.reading import opened_shards
from warehouse.published.shards import Shards, change, clean, put

FILE = "district.duckdb"
#: Names of columns that identify a person.
PERSONAL = re.compile(r"(^|_)(student|teacher|person|user|member|evaluator)_(id|ids|name|names|number)$")
#: The tables beside the models: what the file says of itself, of loads and of checks.
ACCOUNT = (
    *("quality.publication", "quality.check_results", "quality.load_log"),
    *("quality.dictionary", "quality.relations", "quality.lineage", "quality.metrics"),
)


def is_district_stale(manifest: Manifest) -> bool:
    """Whether district.duckdb is not made from the shards' present files."""
    made_of = manifest.district.made_of if manifest.district else {}
    return bool(manifest.files_of_shards) and made_of != manifest.files_of_shards


def publish_district(shards: Shards, build: Build) -> DistrictFile:
    """Make district.duckdb from the published shards of the present manifest, and name it in the manifest.

    `build`: the home's, with DuckDB's limits.

    Raises PublicationBroken, FileNotFoundError, duckdb.Error."""
    models = (model.name for model in read_project(compiled()).models if model.for_district)
    file = build.home / "build" / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    for old in (file, file.with_name(f"{file.name}.wal")):
        old.unlink(missing_ok=True)
    made_of = _fill(shards, file, [*models, *ACCOUNT], build)
    name = now().strftime(NAME)
    published = DistrictFile(name, f"district/{name}.duckdb", file.stat().st_size, made_of)
    put(shards, file, published.file)
    change(shards, partial(msgspec.structs.replace, district=published), clock=now)
    if not shards.is_remote:
        _link(Path(shards.root), published)
    clean(shards)
    return published


def _fill(shards: Shards, file: Path, tables: list[str], build: Build) -> dict[str, str]:
    """Copy the tables; returns the file of each shard that they came from."""
    with opened_shards(shards, build.config(file.parent / "spill")) as (con, manifest):
        con.execute(f"ATTACH {literal(str(file))} AS district (STORAGE_VERSION '{STORAGE_VERSION}')")
        for table in tables:
            _copy(con, table)
        con.execute("DETACH district")
        return manifest.files_of_shards


def _copy(con: duckdb.DuckDBPyConnection, table: str) -> None:
    columns = con.execute(f"FROM {relation(table)} LIMIT 0").description or ()
    names = [name for name, *_ in columns if not PERSONAL.search(name)]
    con.execute(f"CREATE SCHEMA IF NOT EXISTS district.{quoted(table.partition('.')[0])}")
    con.execute(f"CREATE TABLE district.{relation(table)} AS SELECT {listed(names)} FROM {relation(table)}")


def _link(root: Path, published: DistrictFile) -> None:
    """Link the file under a fixed name, for readers that do not read the manifest."""
    unfinished = root / f"{FILE}.{os.getpid()}"
    os.link(root / published.file, unfinished)
    unfinished.replace(root / FILE)
