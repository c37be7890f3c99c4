"""Open published files for reading: a single file, or shards shown as one database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import obstore
import pyarrow as pa
from pyarrow import parquet

from warehouse.age import PROVEN
from warehouse.files import NO_PROGRESS_BAR
from warehouse.published.manifest import Manifest, schools_to_read
from warehouse.published.shards import Published, Shards, fetched, read_manifest
from warehouse.published.union import show_as_one

Config = Mapping[str, str | bool | int | float | list[str]]

#: Attempts to read a manifest and its files. A process that slept for hours may find that the files are gone.
ATTEMPTS = 3


@contextmanager
def opened(published: Published, config: Config | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the published file or shards read-only. A publication meanwhile does not change what is read.

    `config`: DuckDB's.

    Raises duckdb.Error, FileNotFoundError, PublicationBroken."""
    if isinstance(published, Path):
        with closing(duckdb.connect(str(published), read_only=True, config=dict(config or {}))) as con:
            con.execute(NO_PROGRESS_BAR)
            yield con
        return
    with opened_shards(published, config) as (con, _):
        yield con


@contextmanager
def opened_shards(
    shards: Shards, config: Config | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Manifest]]:
    """Open shards read-only. Yields the connection and the manifest."""
    con, manifest = _attached(shards, config)
    with closing(con):
        yield con, manifest


def _attached(shards: Shards, config: Config | None) -> tuple[duckdb.DuckDBPyConnection, Manifest]:
    """A connection to the files of one manifest. The files may be deleted after the manifest is read."""
    for attempt in range(1, ATTEMPTS + 1):
        manifest, files = _files(shards)
        con = duckdb.connect(config=dict(config or {}))
        con.execute(NO_PROGRESS_BAR)
        try:
            show_as_one(con, manifest, files)
        except duckdb.IOException:
            con.close()
            if attempt == ATTEMPTS or all(file.exists() for file in files.values()):
                raise
        else:
            return con, manifest
    raise AssertionError("the last attempt returns or raises")


@dataclass(frozen=True)
class Part:
    """Schools, and the local files with their published rows."""

    schools: list[int]
    file: Path
    #: The file with the closed semesters of the schools; None: all rows are in `file`.
    frozen: Path | None = None


def parts_of(published: Published, schools: Sequence[int]) -> list[Part]:
    """The files with the published rows of some schools, and the schools of each file."""
    if isinstance(published, Path):
        return [Part(list(schools), published)]
    manifest, files = _files(published)
    parts = []
    for name, ids in schools_to_read(manifest).items():
        in_shard = [school for school in schools if school in ids]
        frozen = manifest.frozen_files.get(name)
        parts += [Part(in_shard, files[manifest.files_of_shards[name]], files[frozen] if frozen else None)]
    return [part for part in parts if part.schools]


def standings_of(shards: Shards) -> list[dict[str, Any]]:
    """The status of each slice when the published file of its shard last equalled the lake. Schools whose
    published file is newer have no rows."""
    try:
        stored = obstore.get(shards.objects, PROVEN)
    except FileNotFoundError:
        return []
    rows: list[dict[str, Any]] = parquet.read_table(pa.BufferReader(bytes(stored.bytes()))).to_pylist()
    published = (shard.published for shard in read_manifest(shards).shards)
    generations = {file.generation for file in published if file}
    return [row for row in rows if row["generation"] in generations]


def proven_by(published: Published, scratch: Path) -> Path:
    """The path of the file with the slice statuses for which the published data last equalled the lake. The
    file may be missing.

    For shards, the file is made in `scratch`, with the manifest's generation."""
    if isinstance(published, Path):
        return published.with_name(PROVEN)
    generation = read_manifest(published).generation
    if rows := [{**row, "generation": generation} for row in standings_of(published)]:
        parquet.write_table(pa.Table.from_pylist(rows), scratch / PROVEN)
    return scratch / PROVEN


def _files(shards: Shards) -> tuple[Manifest, dict[str, Path]]:
    """The manifest, and local paths of its shards' files by their names in the manifest."""
    for _ in range(ATTEMPTS - 1):
        manifest = read_manifest(shards)
        try:
            return manifest, _fetched(shards, manifest)
        except FileNotFoundError:
            continue
    manifest = read_manifest(shards)
    return manifest, _fetched(shards, manifest)


def _fetched(shards: Shards, manifest: Manifest) -> dict[str, Path]:
    names = [*manifest.files_of_shards.values(), *manifest.frozen_files.values()]
    return dict(zip(names, fetched(shards, names), strict=True))


def cache_folder(published: Published) -> Path:
    """A local folder for files that can be made anew from the published data."""
    return published.parent if isinstance(published, Path) else published.cache


def records(
    con: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The rows of a query, by column."""
    result = con.execute(query, parameters or {})
    names = [name for name, *_ in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
