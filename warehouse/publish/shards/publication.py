"""A shard's file on its way: what it goes on from, how it is published, and what is said where it is not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import duckdb

from warehouse.load.load_log import now
from warehouse.publish.build import carried_by, is_loose
from warehouse.publish.fill import contents_of, days_of
from warehouse.publish.frozen import FrozenBuild
from warehouse.publish.publish import sealed
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


def carried(shards: Shards, shard: Shard, version: str) -> Path | None:
    """The published file of a shard to go on from, on this machine, as `carried_by` has it for a home."""
    if shard.published is None or shard.published.models != version:
        return None
    try:
        [file] = fetched(shards, [shard.published.file])
    except FileNotFoundError:
        return None
    return carried_by(file, version)


def carried_frozen(shards: Shards, shard: Shard, version: str) -> Path | None:
    """The same of the file of its closed semesters."""
    if shard.published is None or shard.published.models != version or shard.published.frozen is None:
        return None
    try:
        [file] = fetched(shards, [shard.published.frozen.file])
        return None if is_loose(file) else file
    except (FileNotFoundError, duckdb.Error):
        # It is gone or damaged, and made anew.
        return None


def publish_shard(
    shards: Shards,
    shard: Shard,
    file: Path,
    *,
    models: str,
    versions: Mapping[str, int],
    frozen: FrozenBuild | None = None,
    mixed: Collection[int] = (),
    age: timedelta = IN_USE,
) -> ShardFile:
    """Publish the finished file of a shard, with that of its closed semesters where there is a new one, and
    name both in the manifest at once. Then files go that nobody reads any more, `age` old at least. A crash
    leaves the shard as it was. `mixed`: schools of which nothing could be frozen.

    Raises PublicationBroken."""
    at = now()
    name = at.strftime(NAME)
    sealed(file, name, at, models)
    held = shard.published.frozen if shard.published else None
    closed = None if frozen is None else _put_frozen(shards, shard, name, frozen) or held
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
    )
    put(shards, file, published.file)
    change(shards, partial(with_file, name=shard.name, file=published), clock=now)
    clean(shards, age)
    return published


def _put_frozen(shards: Shards, shard: Shard, name: str, made: FrozenBuild) -> FrozenFile | None:
    """Put the file of closed semesters where nothing names it yet; None: the published one holds the same."""
    if not made.file.exists():
        return None
    put_there = FrozenFile(
        generation=name,
        file=f"shards/{shard.name}/{name}.frozen.duckdb",
        bytes=made.file.stat().st_size,
        contents=contents_of(made.file),
    )
    put(shards, made.file, put_there.file)
    return put_there


def note_shard(shards: Shards, name: str, problem: str) -> None:
    """Write down why a shard was not published; empty: nothing is wrong with it. Raises PublicationBroken."""
    change(shards, partial(with_problem, name=name, problem=problem), clock=now)


def problems_of(manifest: Manifest) -> list[str]:
    """Why shards were not published when they were last built, and whose rows are older for that."""
    return [
        f"shard {shard.name} (schools {', '.join(map(str, shard.schools))}): {shard.problem}"
        for shard in manifest.shards
        if shard.problem
    ]
