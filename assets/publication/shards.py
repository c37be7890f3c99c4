"""Publication in shards: due shards, the target of a shard, and the district's file."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from assets.publication.model_inputs import inputs_of
from assets.publication.targets import Closed, Target
from campus.registry import RESOURCES
from loading.attendance.weeks import AttendanceSettings
from loading.connection.runtime import Runtime
from loading.partition_keys import NO_SCHOOL
from loading.semesters import closed_semesters
from warehouse.lake.delta import Lake
from warehouse.lake.school_subset import LakeSnapshot, SchoolSubset
from warehouse.load.logs.load_log import now
from warehouse.load.logs.writer import standing_rows
from warehouse.publish.build import models_version
from warehouse.publish.fill import OF_EVERY_SYNC, days_have_moved, differences, frozen_contents
from warehouse.publish.frozen import DIVIDED, FrozenBuild
from warehouse.publish.frozen import FILE as FROZEN_FILE
from warehouse.publish.models.dbt_project import Build
from warehouse.publish.shards.district import is_district_stale, publish_district
from warehouse.publish.shards.proof import prove_shards
from warehouse.publish.shards.publication import (
    carried_frozen,
    carried_shard,
    deal,
    note_shard,
    publish_shard,
)
from warehouse.publish.tables.commit import delete_tables, publish_tables, tables_are_stale
from warehouse.published.catalog import CATALOG
from warehouse.published.manifest import Manifest, Shard
from warehouse.published.shards import Shards, read_manifest

#: A partition is a shard, by its name in the manifest.
SHARDS = dg.DynamicPartitionsDefinition(name="shards")
DISTRICT, OPEN_TABLES = dg.AssetKey(["district_duckdb"]), dg.AssetKey(["open_tables"])
NONE_CHANGED = "Nothing has changed since the last publication: the shards stay as they are."


def shard_target(
    runtime: Runtime, build: Build, shards: Shards, version: str, mixed: Collection[int] = ()
) -> Target:
    """The target of the shard that `build` names. Raises dg.Failure where the shard no longer exists.

    Args:
        mixed: Further schools whose semesters cannot be frozen."""
    by_name = {shard.name: shard for shard in read_manifest(shards).shards if shard.schools}
    if build.shard not in by_name:
        raise dg.Failure(
            f"there is no shard {build.shard} any more; there are: {', '.join(by_name) or 'none'}",
            allow_retries=False,
        )
    shard = by_name[build.shard]
    mixed = {*mixed, *_mixed(shard, version)}
    divided = _divided(LakeSnapshot(runtime.lake), shard, shards, runtime.attendance, mixed)
    lake = divided.lake
    standings = standing_rows(runtime.lake, shard.schools)
    frozen = FrozenBuild(carried_frozen(shards, shard, version), build.file.with_name(FROZEN_FILE))
    frozen.forget()
    closed = Closed(divided.closed, divided.semesters, frozen) if divided.closed else None
    # A shard whose closed semesters reopen is another file, even if they have no rows.
    thawed = closed is None and shard.published is not None and shard.published.frozen is not None

    def published() -> Mapping[str, Any]:
        done = publish_shard(
            shards,
            shard,
            build,
            models=version,
            versions=lake.used,
            frozen=closed.build if closed else None,
            mixed=mixed,
        )
        return {
            **({"frozen": f"{shards.root}/{done.frozen.file}"} if done.frozen else {}),
            "file": f"{shards.root}/{done.file}",
            "generation": done.generation,
            "bytes": done.bytes,
            "schools": ", ".join(map(str, shard.schools)),
        }

    def note_problem(problem: str) -> None:
        note_shard(shards, shard.name, problem)

    whose = ", ".join(map(str, shard.schools))
    return Target(
        build=build,
        lake=lake,
        inputs=inputs_of(lake, runtime.attendance, runtime.home, shard.schools),
        previous=None if thawed or _lacks_tables(shards, shard) else carried_shard(shards, shard, version),
        publish=published,
        note_problem=note_problem,
        note_unchanged=lambda: prove_shards(shards, [shard.name], standings),
        nothing_published=f"shard {shard.name} (schools {whose}) was not published, and its last good file "
        "stays; the other shards are published on their own",
        closed=closed,
    )


@dataclass(frozen=True)
class _Divided:
    """The sources of the files of a shard."""

    lake: SchoolSubset
    #: The source of the file of closed semesters. None: there are none.
    closed: SchoolSubset | None = None
    #: The closed semesters, as in the models.
    semesters: frozenset[tuple[int, int]] = frozenset()


def _divided(
    moment: LakeSnapshot, shard: Shard, shards: Shards, settings: AttendanceSettings, mixed: Collection[int]
) -> _Divided:
    whole = SchoolSubset(moment, shard.schools)
    if shards.freeze_after is None:
        return _Divided(whole)
    schools = set(shard.schools).difference(mixed)
    closed = closed_semesters(whole, schools, settings.semester_pairs, (now() - shards.freeze_after).date())
    if not closed.core:
        return _Divided(whole)
    slices = {name: closed.v1 if RESOURCES[name].is_v1 else closed.v3 for name in DIVIDED}
    return _Divided(
        SchoolSubset(moment, shard.schools, without=slices),
        SchoolSubset(moment, shard.schools, only=slices),
        closed.core,
    )


def _mixed(shard: Shard, version: str) -> tuple[int, ...]:
    """The schools whose semesters these models could not freeze."""
    return shard.published.mixed if shard.published and shard.published.models == version else ()


def _lacks_tables(shards: Shards, shard: Shard) -> bool:
    """Whether open tables are wanted, and the published shard has none."""
    return shards.has_tables and shard.published is not None and not shard.published.table_files


@dataclass(frozen=True)
class Looked:
    """The result of a look at some shards."""

    #: The shards whose file is out of date.
    due: list[str]
    #: The last shard of the look. None: no further shards.
    last: str | None


def due_shards(
    lake: Lake,
    settings: AttendanceSettings,
    home: Path,
    shards: Shards,
    schools_per_shard: int,
    *,
    after: str = "",
    at_most: int | None = None,
) -> Looked:
    """Find shards whose file is out of date, after dealing every school to a shard. Records that the other
    files are up to date.

    Args:
        after: Looks at the shards after this name.
        at_most: The number of shards to look at. None: all.

    Raises:
        PublicationBroken: The manifest cannot be read."""
    standings = standing_rows(lake)
    schools = {row["_school_id"] for row in standings} - {NO_SCHOOL}
    dealt = deal(shards, schools, schools_per_shard)
    moment, version = LakeSnapshot(lake), models_version(home)
    left = [shard for shard in dealt.shards if shard.schools and shard.name > after]
    mine = left[:at_most]
    due = [shard.name for shard in mine if _is_due(shard, shards, moment, settings, home, version)]
    _note_unchanged(shards, dealt, {shard.name for shard in mine}.difference(due), standings)
    return Looked(due, mine[-1].name if len(mine) < len(left) else None)


def _is_due(
    shard: Shard, shards: Shards, moment: LakeSnapshot, settings: AttendanceSettings, home: Path, version: str
) -> bool:
    published = shard.published
    if published is None or published.models != version or set(published.schools) != set(shard.schools):
        return True
    if _lacks_tables(shards, shard):
        return True
    divided = _divided(moment, shard, shards, settings, published.mixed)
    lake = divided.lake
    tables, options = inputs_of(lake, settings, home, shard.schools)
    frozen = published.frozen.contents if published.frozen else None
    if divided.closed is not None:
        if frozen_contents(divided.closed, tables, divided.semesters) != frozen:
            return True
    elif frozen is not None:
        return True
    changed = differences(lake, tables, published.contents, home / "build" / shard.name / "spill", **options)
    return not changed <= OF_EVERY_SYNC or days_have_moved(lake, published.days)


def _note_unchanged(
    shards: Shards, dealt: Manifest, unchanged: Collection[str], standings: list[dict[str, Any]]
) -> None:
    for name in unchanged:
        if dealt.shard(name).problem:
            note_shard(shards, name, "")
    prove_shards(shards, unchanged, standings)


def is_stale(shards: Shards, manifest: Manifest) -> bool:
    """Whether district.duckdb or the open tables are not made from the shards' present files.

    Raises PublicationBroken."""
    return is_district_stale(manifest) or tables_are_stale(shards, manifest)


def district_asset(build: Build, shards: Shards) -> dg.AssetsDefinition:
    """district.duckdb as an asset: data of all shards by class and school, without students and teachers."""

    @dg.asset(
        key=DISTRICT,
        group_name="published",
        description="district.duckdb: data of the shards by class and school, and quality, without persons.",
        kinds={"duckdb"},
        pool="duckdb_build",
        output_required=False,
    )
    def district_duckdb(context: dg.AssetExecutionContext) -> Any:
        if not is_district_stale(read_manifest(shards)):
            context.log.info("No shard has changed since the last one: district.duckdb stays as it is.")
            return
        done = publish_district(shards, build)
        yield dg.Output(
            None,
            metadata={
                "file": f"{shards.root}/{done.file}",
                "generation": done.generation,
                "bytes": done.bytes,
                "shards": len(done.made_of),
            },
        )

    return district_duckdb


def tables_asset(shards: Shards) -> dg.AssetsDefinition:
    """The open tables as an asset: the models of all shards as Delta tables, and their catalogue."""

    @dg.asset(
        key=OPEN_TABLES,
        group_name="published",
        description="The models of all shards as Delta tables, which any engine reads, and catalog.json, "
        "which names the versions that belong together. Only with publish.tables of campus.yaml.",
        kinds={"deltalake"},
        pool="duckdb_build",
        output_required=False,
    )
    def open_tables(context: dg.AssetExecutionContext) -> Any:
        if not tables_are_stale(shards, read_manifest(shards)):
            context.log.info(
                "No shard has changed since the last catalogue: the open tables stay as they are."
            )
        elif shards.has_tables:
            catalog = publish_tables(shards)
            if missing := read_manifest(shards).without_table_files:
                context.log.warning(
                    f"The open tables lack the schools of the shards {', '.join(missing)}, which were not "
                    "published since publish.tables is set: see `campus status`, and run `campus build`."
                )
            yield dg.Output(
                None,
                metadata={
                    "catalog": f"{shards.root}/{CATALOG}",
                    "generation": catalog.generation,
                    "tables": len(catalog.versions),
                    "shards": len(catalog.made_of),
                },
            )
        else:
            delete_tables(shards)
            context.log.info("publish.tables is not set any more: the open tables are deleted.")

    return open_tables
