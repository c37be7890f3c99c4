"""Publication in shards: which of them are to be built, the target of each, and the district's own file."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from assets.model_inputs import inputs_of
from assets.targets import Closed, Target
from campus.registry import RESOURCES
from loading.attendance.weeks import AttendanceSettings
from loading.partition_keys import NO_SCHOOL
from loading.runtime import Runtime
from loading.semesters import closed_semesters
from warehouse.lake.delta import Lake
from warehouse.lake.of_schools import LakeOfSchools, Moment
from warehouse.load.load_log import now
from warehouse.load.log_writer import standing_rows
from warehouse.publish.build import models_version
from warehouse.publish.dbt_project import Build
from warehouse.publish.fill import OF_EVERY_SYNC, days_have_moved, differences, frozen_contents
from warehouse.publish.frozen import DIVIDED, FrozenBuild
from warehouse.publish.frozen import FILE as FROZEN_FILE
from warehouse.publish.shards.district import is_stale, publish_district
from warehouse.publish.shards.proof import prove_shards
from warehouse.publish.shards.publication import carried, carried_frozen, deal, note_shard, publish_shard
from warehouse.published.manifest import Manifest, Shard
from warehouse.published.shards import Shards, manifest

#: A partition is a shard, by its name in the manifest.
SHARDS = dg.DynamicPartitionsDefinition(name="shards")
DISTRICT = dg.AssetKey(["district_duckdb"])
NONE_CHANGED = "Nothing has changed since the last publication: the shards stay as they are."


def of_shard(
    runtime: Runtime, build: Build, shards: Shards, version: str, mixed: Collection[int] = ()
) -> Target:
    """The file of one shard, which `build` names. `mixed`: schools of which nothing can be frozen, beside
    those that are known. Raises dg.Failure where there is no such shard any more."""
    found = {shard.name: shard for shard in manifest(shards).shards if shard.schools}
    if build.shard not in found:
        raise dg.Failure(
            f"there is no shard {build.shard} any more; there are: {', '.join(found) or 'none'}",
            allow_retries=False,
        )
    shard = found[build.shard]
    mixed = {*mixed, *_mixed(shard, version)}
    divided = _divided(Moment(runtime.lake), shard, shards, runtime.attendance, mixed)
    lake = divided.lake
    standings = standing_rows(runtime.lake, shard.schools)
    frozen = FrozenBuild(carried_frozen(shards, shard, version), build.file.with_name(FROZEN_FILE))
    frozen.forget()
    closed = Closed(divided.closed, divided.semesters, frozen) if divided.closed else None
    # A shard whose closed semesters come back is another file, though they may have no rows.
    thawed = closed is None and shard.published is not None and shard.published.frozen is not None

    def published(file: Path) -> Mapping[str, Any]:
        done = publish_shard(
            shards,
            shard,
            file,
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
        carried=None if thawed else carried(shards, shard, version),
        publish=published,
        note_problem=note_problem,
        note_unchanged=lambda: prove_shards(shards, [shard.name], standings),
        nothing_published=f"shard {shard.name} (schools {whose}) was not published, and its last good file "
        "stays; the other shards are published on their own",
        closed=closed,
    )


@dataclass(frozen=True)
class _Divided:
    """What the files of a shard are filled from. `closed`: that of its closed `semesters`, which are those of
    the models; None: there are none."""

    lake: LakeOfSchools
    closed: LakeOfSchools | None = None
    semesters: frozenset[tuple[int, int]] = frozenset()


def _divided(
    moment: Moment, shard: Shard, shards: Shards, settings: AttendanceSettings, mixed: Collection[int]
) -> _Divided:
    whole = LakeOfSchools(moment, shard.schools)
    if shards.freeze_after is None:
        return _Divided(whole)
    schools = set(shard.schools).difference(mixed)
    closed = closed_semesters(whole, schools, settings.semester_pairs, (now() - shards.freeze_after).date())
    if not closed.core:
        return _Divided(whole)
    slices = {name: closed.v1 if RESOURCES[name].is_v1 else closed.v3 for name in DIVIDED}
    return _Divided(
        LakeOfSchools(moment, shard.schools, without=slices),
        LakeOfSchools(moment, shard.schools, only=slices),
        closed.core,
    )


def _mixed(shard: Shard, version: str) -> tuple[int, ...]:
    """The schools of which these models could not freeze anything."""
    return shard.published.mixed if shard.published and shard.published.models == version else ()


@dataclass(frozen=True)
class Looked:
    """What came of a look at some shards. `due`: those whose file is not what the lake holds, as these models
    make it; `last`: the last one that was looked at; None: none is left after these."""

    due: list[str]
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
    """Look at the shards after that of this name, `at_most` of them (None: all), each school dealt to one.
    Of those that are not due it is written down that they are what the lake holds.

    Raises PublicationBroken."""
    standings = standing_rows(lake)
    schools = {row["_school_id"] for row in standings} - {NO_SCHOOL}
    found = deal(shards, schools, schools_per_shard)
    moment, version = Moment(lake), models_version(home)
    left = [shard for shard in found.shards if shard.schools and shard.name > after]
    mine = left[:at_most]
    due = [shard.name for shard in mine if _is_due(shard, shards, moment, settings, home, version)]
    _note_unchanged(shards, found, {shard.name for shard in mine}.difference(due), standings)
    return Looked(due, mine[-1].name if len(mine) < len(left) else None)


def _is_due(
    shard: Shard, shards: Shards, moment: Moment, settings: AttendanceSettings, home: Path, version: str
) -> bool:
    published = shard.published
    if published is None or published.models != version or set(published.schools) != set(shard.schools):
        return True
    divided = _divided(moment, shard, shards, settings, published.mixed)
    lake = divided.lake
    tables, more = inputs_of(lake, settings, home, shard.schools)
    frozen = published.frozen.contents if published.frozen else None
    if divided.closed is not None:
        if frozen_contents(divided.closed, tables, divided.semesters) != frozen:
            return True
    elif frozen is not None:
        return True
    changed = differences(lake, tables, published.contents, home / "build" / shard.name / "spill", **more)
    return not changed <= OF_EVERY_SYNC or days_have_moved(lake, published.days)


def _note_unchanged(
    shards: Shards, found: Manifest, unchanged: Collection[str], standings: list[dict[str, Any]]
) -> None:
    for name in unchanged:
        if found.shard(name).problem:
            note_shard(shards, name, "")
    prove_shards(shards, unchanged, standings)


def district_asset(build: Build, shards: Shards) -> dg.AssetsDefinition:
    """district.duckdb as an asset: class and school grain of all shards, without students and teachers."""

    @dg.asset(
        key=DISTRICT,
        group_name="published",
        description="district.duckdb: what the shards have by class and school, and quality; nobody's rows.",
        kinds={"duckdb"},
        pool="duckdb_build",
        output_required=False,
    )
    def district_duckdb(context: dg.AssetExecutionContext) -> Any:
        if not is_stale(manifest(shards)):
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
