"""Publish the file of a shard: the file to start from, the publication, and problems of the last build."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import duckdb

from warehouse.load.logs.load_log import now
from warehouse.publish.build import carried_by, is_loose
from warehouse.publish.fill import contents_of, days_of
from warehouse.publish.frozen import FrozenBuild
from warehouse.publish.models.dbt_project import Build
from warehouse.publish.publish import record_publication
from warehouse.publish.tables.files import write_table_files
from warehouse.published.manifest import (
    NAME,
    FrozenFile,
    Manifest,
    Shard,
    ShardFile,
    assigned,
    with_file,
    with_problem,
)
from warehouse.published.shards import IN_USE, Shards, change, clean, fetched, put


def deal(shards: Shards, schools: Collection[int], schools_per_shard: int) -> Manifest:
    """Give each school its shard. Raises PublicationBroken."""
    return change(shards, partial(assigned, schools=schools, schools_per_shard=schools_per_shard), clock=now)


def carried_shard(shards: Shards, shard: Shard, version: str) -> Path | None:
    """The published file of a shard that an incremental build starts from, on this machine (`carried_by`)."""
    if shard.published is None or shard.published.models != version:
        return None
    try:
        [file] = fetched(shards, [shard.published.file])
    except FileNotFoundError:
        return None
    return carried_by(file, version)


def carried_frozen(shards: Shards, shard: Shard, version: str) -> Path | None:
    """The same for the file of its closed semesters."""
    if shard.published is None or shard.published.models != version or shard.published.frozen is None:
        return None
    try:
        [file] = fetched(shards, [shard.published.frozen.file])
        return None if is_loose(file) else file
    except (FileNotFoundError, duckdb.Error):
        # A file that is gone or damaged is made anew.
        return None


def publish_shard(
    shards: Shards,
    shard: Shard,
    build: Build,
    *,
    models: str,
    versions: Mapping[str, int],
    frozen: FrozenBuild | None = None,
    mixed: Collection[int] = (),
    age: timedelta = IN_USE,
) -> ShardFile:
    """Publish the finished file of a shard, with a new file of its closed semesters if there is one, and the
    files of its open tables.

    The manifest names all at once; a crash leaves the shard as it was. Then unused files are deleted that
    are at least `age` old. `mixed`: schools of which nothing could be frozen.

    Raises PublicationBroken, NotImplementedError."""
    file, at = build.file, now()
    name = at.strftime(NAME)
    record_publication(file, name, at, models)
    before = shard.published.frozen if shard.published else None
    last = shard.table_files_of(models)
    table_files = _write_tables(shards, shard, build, name, last, frozen) if shards.has_tables else ""
    closed = None if frozen is None else _put_frozen(shards, shard, name, frozen) or before
    published = ShardFile(
        generation=name,
        file=f"shards/{shard.name}/{name}.duckdb",
        schools=shard.schools,
        models=models,
        bytes=file.stat().st_size,
        versions=dict(versions),
        contents=contents_of(file),
        days=days_of(file),
        frozen=closed,
        mixed=tuple(sorted(mixed)),
        table_files=table_files,
    )
    put(shards, file, published.file)
    change(shards, partial(with_file, name=shard.name, file=published), clock=now)
    clean(shards, age)
    return published


def _write_tables(
    shards: Shards, shard: Shard, build: Build, generation: str, last: str, frozen: FrozenBuild | None
) -> str:
    closed = None if frozen is None else frozen.file if frozen.file.exists() else frozen.published
    config = build.config(build.file.parent / "spill")
    return write_table_files(shards, shard.name, (build.file, closed), generation, last, config)


def _put_frozen(shards: Shards, shard: Shard, name: str, made: FrozenBuild) -> FrozenFile | None:
    """Upload a new file of closed semesters, which no manifest names yet; None: the published file stays."""
    if not made.file.exists():
        return None
    file = FrozenFile(
        generation=name,
        file=f"shards/{shard.name}/{name}.frozen.duckdb",
        bytes=made.file.stat().st_size,
        contents=contents_of(made.file),
    )
    put(shards, made.file, file.file)
    return file


def note_shard(shards: Shards, name: str, problem: str) -> None:
    """Record why a shard was not published; empty: nothing is wrong with it. Raises PublicationBroken."""
    change(shards, partial(with_problem, name=name, problem=problem), clock=now)


def problems_of(manifest: Manifest) -> list[str]:
    """Why the last builds of shards were not published, with the schools whose rows are older."""
    return [
        f"shard {shard.name} (schools {', '.join(map(str, shard.schools))}): {shard.problem}"
        for shard in manifest.shards
        if shard.problem
    ]
