"""district.duckdb: what all shards have by class and by school, in one file without persons.

The models that go in say so in their yml (`meta: {district: true}`). Columns that name a person are left out
of these, too."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path

import duckdb
import msgspec

from warehouse.files import STORAGE_VERSION
from warehouse.identifiers import listed, literal, quoted, relation
from warehouse.load.load_log import now
from warehouse.publish.compiled_models import read_project
from warehouse.publish.dbt_project import Build, compiled
from warehouse.published.manifest import NAME, DistrictFile, Manifest
from warehouse.published.reading import opened_shards
from warehouse.published.shards import Shards, change, clean, put

FILE = "district.duckdb"
#: Columns that tell who a person is.
OF_A_PERSON = re.compile(r"(^|_)(student|teacher|person|user|member|evaluator)_(id|ids|name|names|number)$")
#: What goes in beside the models: how the shards were loaded and checked, and what the columns mean.
ACCOUNT = ("quality.publication", "quality.check_results", "quality.load_log", "quality.dictionary")


def is_stale(found: Manifest) -> bool:
    """Whether district.duckdb is not made of the shards' present files."""
    made_of = found.district.made_of if found.district else {}
    return bool(found.files_of_shards) and made_of != found.files_of_shards


def publish_district(shards: Shards, build: Build) -> DistrictFile:
    """Make district.duckdb of the shards that are published, all of one manifest, and name it there. `build`:
    the home's, with what DuckDB may use.

    Raises PublicationBroken, FileNotFoundError, duckdb.Error."""
    models = (model.name for model in read_project(compiled()).models if model.for_district)
    file = build.home / "build" / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    for old in (file, file.with_name(f"{file.name}.wal")):
        old.unlink(missing_ok=True)
    made_of = _fill(shards, file, [*models, *ACCOUNT], build)
    name = now().strftime(NAME)
    done = DistrictFile(name, f"district/{name}.duckdb", file.stat().st_size, made_of)
    put(shards, file, done.file)
    change(shards, partial(msgspec.structs.replace, district=done), clock=now)
    _show(shards, done)
    clean(shards)
    return done


def _fill(shards: Shards, file: Path, tables: list[str], build: Build) -> dict[str, str]:
    """Copy the tables; by shard the file that they came from."""
    with opened_shards(shards, build.config(file.parent / "spill")) as (con, found):
        con.execute(f"ATTACH {literal(str(file))} AS district (STORAGE_VERSION '{STORAGE_VERSION}')")
        for table in tables:
            _copy(con, table)
        con.execute("DETACH district")
        return found.files_of_shards


def _copy(con: duckdb.DuckDBPyConnection, table: str) -> None:
    found = con.execute(f"FROM {relation(table)} LIMIT 0").description or ()
    names = [name for name, *_ in found if not OF_A_PERSON.search(name)]
    con.execute(f"CREATE SCHEMA IF NOT EXISTS district.{quoted(table.partition('.')[0])}")
    con.execute(f"CREATE TABLE district.{relation(table)} AS SELECT {listed(names)} FROM {relation(table)}")


def _show(shards: Shards, done: DistrictFile) -> None:
    """On a disk, have the file under a name that stays, too, for who opens it without asking the manifest."""
    if shards.is_remote:
        return
    root = Path(shards.root)
    unfinished = root / f"{FILE}.{os.getpid()}"
    os.link(root / done.file, unfinished)
    unfinished.replace(root / FILE)
