"""What is published, opened to be read: a file as it is, shards as if they were one file."""

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
from warehouse.published.shards import Published, Shards, fetched, manifest
from warehouse.published.union import show_as_one

Config = Mapping[str, str | bool | int | float | list[str]]

#: Times that a manifest is read anew as files are gone that it names: whoever read it has slept for hours.
ATTEMPTS = 3


@contextmanager
def opened(published: Published, config: Config | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Read what is published, of one manifest; what is replaced meanwhile stays as it was for this reader.
    Nothing that is published can be changed by it. `config`: DuckDB's.

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
    """The same of shards, and the manifest that is read."""
    con, found = _attached(shards, config)
    with closing(con):
        yield con, found


def _attached(shards: Shards, config: Config | None) -> tuple[duckdb.DuckDBPyConnection, Manifest]:
    """A connection to the files of one manifest. Between its reading and theirs they may go."""
    for attempt in range(1, ATTEMPTS + 1):
        found, files = _files(shards)
        con = duckdb.connect(config=dict(config or {}))
        con.execute(NO_PROGRESS_BAR)
        try:
            show_as_one(con, found, files)
        except duckdb.IOException:
            con.close()
            if attempt == ATTEMPTS or all(file.exists() for file in files.values()):
                raise
        else:
            return con, found
    raise AssertionError("the last attempt returns or raises")


@dataclass(frozen=True)
class Part:
    """Published files on this machine that `schools` are read of. `frozen`: closed semesters of theirs."""

    schools: list[int]
    file: Path
    frozen: Path | None = None


def parts_of(published: Published, schools: Sequence[int]) -> list[Part]:
    """The files that some schools are read of, and which of them of each."""
    if isinstance(published, Path):
        return [Part(list(schools), published)]
    found, files = _files(published)
    parts = []
    for name, held in schools_to_read(found).items():
        mine = [school for school in schools if school in held]
        frozen = found.frozen_files.get(name)
        parts += [Part(mine, files[found.files_of_shards[name]], files[frozen] if frozen else None)]
    return [part for part in parts if part.schools]


def standings_of(shards: Shards) -> list[dict[str, Any]]:
    """How the slices of each school stood when the published file of its shard was last proven to hold what
    the lake does; none: that file is newer."""
    try:
        held = obstore.get(shards.objects, PROVEN)
    except FileNotFoundError:
        return []
    rows: list[dict[str, Any]] = parquet.read_table(pa.BufferReader(bytes(held.bytes()))).to_pylist()
    generations = {shard.published.generation for shard in manifest(shards).shards if shard.published}
    return [row for row in rows if row["generation"] in generations]


def proven_by(published: Published, scratch: Path) -> Path:
    """Where the standings are by which what is published was last proven, as of its generation; there may be
    no such file. Of shards it is made in `scratch`."""
    if isinstance(published, Path):
        return published.with_name(PROVEN)
    rows, generation = standings_of(published), manifest(published).generation
    if rows:
        told = [{**row, "generation": generation} for row in rows]
        parquet.write_table(pa.Table.from_pylist(told), scratch / PROVEN)
    return scratch / PROVEN


def _files(shards: Shards) -> tuple[Manifest, dict[str, Path]]:
    """A manifest and the files of its shards on this machine, by their names in it."""
    for _ in range(ATTEMPTS - 1):
        found = manifest(shards)
        try:
            return found, _fetched(shards, found)
        except FileNotFoundError:
            continue
    found = manifest(shards)
    return found, _fetched(shards, found)


def _fetched(shards: Shards, found: Manifest) -> dict[str, Path]:
    names = [*found.files_of_shards.values(), *found.frozen_files.values()]
    return dict(zip(names, fetched(shards, names), strict=True))


def kept_beside(published: Published) -> Path:
    """A folder of this machine for what is made again by itself of what is published."""
    return published.parent if isinstance(published, Path) else published.cache
