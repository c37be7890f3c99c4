"""Assets of the platform's resources: one asset a resource, in the order that the interface recommends.

All of a group are one step of one run: a step would cost seconds for each, and inside one step a failed slice
is noted while the others go on. What loaded is recorded partition by partition as it commits.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import dagster as dg
import pyarrow.compute as pc
import uvloop

from assets.committing import Loaded, in_words
from assets.loading import Loader
from assets.partitions import SCHOOL_SEMESTERS, partitions_of, semesters_by_school
from assets.runtime import Cause, Runtime, cause_of, told
from assets.tables import TABLES, slice_of, values
from assets.users import STUDENT, users_spec
from campus.client import Client
from campus.contract import fields
from campus.parts import together_with
from campus.questions import Where
from campus.resources import RESOURCES, ResourceSpec
from warehouse.quality import committed

LOADED_WHOLE = "loaded_whole"
# Chains of two semesters overlap one's commits with the other's requests; more would only hold more memory.
SEMESTERS_AT_A_TIME = 2


def asset_key(name: str) -> dg.AssetKey:
    """The asset of a raw table; dbt's sources have the same key."""
    return dg.AssetKey(["raw", name])


def resource_assets(name: str, group: str, specs: Sequence[ResourceSpec]) -> dg.AssetsDefinition:
    """The assets of some resources, loaded together for any schools and semesters."""

    @dg.multi_asset(
        name=name,
        specs=[_asset_spec(spec, group) for spec in specs],
        check_specs=[whole_spec(asset_key(spec.name)) for spec in specs],
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run(),
        required_resource_keys={"campus"},
        pool="platform",
    )
    def load(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult]:
        runtime = told(context.resources.campus, context.log)
        cause = cause_of(context.run.run_id, context.run.tags)
        names = {key.path[-1] for key in context.selected_asset_keys}
        selected = [spec for spec in specs if spec.name in names]
        loaded = uvloop.run(_load_all(context, runtime, cause, selected))
        for spec in selected:
            mine = (one for one in loaded if one.spec.name == spec.name)
            yield loaded_whole(asset_key(spec.name), mine)
        raise_failed(loaded)

    return load


def raise_failed(loaded: Sequence[Loaded], problems: Sequence[str] = ()) -> None:
    """End the run as failed where a slice has, saying which and why. `problems`: what else went wrong."""
    failed = [one for one in loaded if one.status == "failed"]
    words = [f"{len(failed)} failed; their last good rows stay.\n{in_words(failed)}"] if failed else []
    if problems or failed:
        raise dg.Failure(description="\n".join([*problems, *words]), allow_retries=False)


def _asset_spec(spec: ResourceSpec, group: str) -> dg.AssetSpec:
    parent = spec.embedded_in or spec.child_of or ("semesters" if spec.name != "semesters" else "schools")
    return raw_asset(spec, group, [asset_key(parent)], SCHOOL_SEMESTERS)


def raw_asset(
    spec: ResourceSpec,
    group: str,
    deps: Iterable[dg.AssetKey | dg.AssetDep],
    partitions: dg.PartitionsDefinition | None = None,
) -> dg.AssetSpec:
    """The asset of a resource's raw table."""
    return dg.AssetSpec(
        asset_key(spec.name),
        deps=deps,
        description=TABLES[spec.name].comment,
        group_name=group,
        kinds={"deltalake"},
        skippable=True,
        partitions_def=partitions,
        metadata=_of_resource(spec),
    )


def _of_resource(spec: ResourceSpec) -> dict[str, object]:
    """What the UI shows of a resource's asset."""
    columns = [dg.TableColumn(f.name, str(f.arrow_type), f.description) for f in fields(spec.contract)]
    return {
        "dagster/column_schema": dg.TableSchema(columns),
        "path": spec.path,
        "scope": " or ".join(spec.scopes) or "none",
        "slice": f"one {spec.sliced_by}",
    }


async def _load_all(
    context: dg.AssetExecutionContext, runtime: Runtime, cause: Cause, selected: Sequence[ResourceSpec]
) -> list[Loaded]:
    loaded: list[Loaded] = []
    done = committed(runtime.lake, cause.sync_id)
    scopes = [spec.scopes for spec in selected if spec.scopes]
    async with Client(runtime.client, scopes, runtime.listener) as client:
        loader = Loader(runtime, client, cause, done)
        for school_id, semesters in semesters_by_school(context.partition_keys).items():
            async for one in _load_school(loader, school_id, semesters, selected):
                record(context, one, semesters)
                loaded.append(one)
    return loaded


async def _load_school(
    loader: Loader, school_id: int, semesters: list[int], selected: Sequence[ResourceSpec]
) -> AsyncIterator[Loaded]:
    runtime = loader.runtime
    where = Where(
        school_id, term_types=runtime.term_types, devices=runtime.device_ids, cards=runtime.card_ids
    )
    async for one in _load_chain(loader, where, [spec for spec in selected if spec.sliced_by == "school"]):
        yield one
    of_semester = [spec for spec in selected if spec.sliced_by == "semester"]
    places = asyncio.Semaphore(SEMESTERS_AT_A_TIME)

    async def in_turn(semester_id: int) -> list[Loaded]:
        async with places:
            here = replace(where, semester_id=semester_id)
            return [one async for one in _load_chain(loader, here, of_semester)]

    for chain in asyncio.as_completed([in_turn(semester_id) for semester_id in semesters]):
        for one in await chain:
            yield one


async def _load_chain(loader: Loader, where: Where, specs: Sequence[ResourceSpec]) -> AsyncIterator[Loaded]:
    """Load resources of one school or semester in order; what a resource is asked with is read back from the
    lake."""
    loaded: dict[str, Loaded] = {}
    for spec in specs:
        if spec.name in loaded:
            continue
        group = together_with(spec, specs)
        parent = loaded.get(spec.child_of or "")
        if parent and parent.status == "failed" and parent.outcome is None:
            results = [loader.not_asked(one, where) for one in group]
        else:
            again = parent is not None and parent.status != "skipped"
            asked = tuple(_as_the_school_has_it(loader.runtime, one, where) for one in group)
            results = await loader.load(asked, _with_parents(loader, spec, where), again=again)
        for one in results:
            loaded[one.spec.name] = one
            yield one


def _as_the_school_has_it(runtime: Runtime, spec: ResourceSpec, where: Where) -> ResourceSpec:
    """A resource whose fields differ from school to school, with those of this one."""
    assert where.school_id is not None
    return users_spec(runtime, where.school_id) if spec.name == "v1_users" else spec


def _with_parents(loader: Loader, spec: ResourceSpec, where: Where) -> Where:
    """Add the ids that the questions name: those of the semester's classes, of its assessment items, or of
    the school's students.

    Members are asked for of deleted classes too: a platform that lists a semester's members as a whole shows
    them, and what is read must not depend on the way of asking."""
    if spec.child_of is None:
        return where
    assert where.school_id is not None
    parent = RESOURCES["classes"] if spec.asked == "by_class_batch" else RESOURCES[spec.child_of]
    rows = loader.runtime.lake.read(
        TABLES[parent.name],
        slice_of(parent, where.school_id, where.semester_id),
        ["id", "role"] if spec.asked == "by_student" else ["id"],
        alive=spec.asked != "members",
    )
    if spec.asked == "by_student":
        rows = rows.filter(pc.field("role") == STUDENT)
    return replace(where, parents=tuple(sorted(values(rows, "id"))))


def record(
    context: dg.AssetExecutionContext,
    one: Loaded,
    semesters: Sequence[int] = (),
    more: Mapping[str, dg.MetadataValue] | None = None,
) -> None:
    """Tell Dagster what became of a slice, as soon as it is committed. `semesters`: those that a slice of a
    whole school counts for; `more`: what else is worth knowing of it."""
    metadata = {**described(one), **(more or {})}
    materialized(context, one, asset_key(one.spec.name), partitions_of(one.slice, semesters), metadata)


def materialized(
    context: dg.AssetExecutionContext,
    one: Loaded,
    asset: dg.AssetKey,
    partitions: Iterable[str],
    metadata: Mapping[str, dg.MetadataValue],
) -> None:
    """Log what became of a slice, and unless it failed, that it made these partitions of an asset."""
    label = f"{one.spec.name} {one.slice}"
    if one.status == "failed":
        context.log.error(f"{label} failed: {one.message}")
        return
    context.log.info(f"{label}: {one.status} {one.message}".rstrip())
    for partition in partitions:
        context.log_event(dg.AssetMaterialization(asset, partition=partition, metadata=metadata))


def described(one: Loaded) -> dict[str, dg.MetadataValue]:
    """What Dagster shows of a loaded slice."""
    if one.outcome is None:
        return {"status": dg.MetadataValue.text(one.message)}
    tally = one.outcome.tally
    counts = {
        "dagster/partition_row_count": tally.are_alive,
        "received": one.outcome.received,
        "new": tally.new,
        "changed": tally.changed,
        "vanished": tally.vanished,
        "returned": tally.returned,
        "quarantined": one.outcome.quarantined,
        **(one.traffic or {}),
        "rows/s": round(one.outcome.received / one.seconds) if one.seconds else 0,
    }
    return {
        "status": dg.MetadataValue.text(one.status),
        **{name: dg.MetadataValue.int(count) for name, count in counts.items()},
    }


def whole_spec(asset: dg.AssetKey) -> dg.AssetCheckSpec:
    """What is said of the check `loaded_whole` of an asset."""
    return dg.AssetCheckSpec(
        LOADED_WHOLE,
        asset=asset,
        description="Every slice of the run loaded, nothing failed and nothing is in quarantine.",
    )


def loaded_whole(
    asset: dg.AssetKey, loaded: Iterable[Loaded], problems: Sequence[str] = ()
) -> dg.AssetCheckResult:
    """The check that every slice of an asset loaded whole. `problems`: why some could not be asked for."""
    troubled = [one for one in loaded if one.status in ("failed", "warning")]
    failed = problems or any(one.status == "failed" for one in troubled)
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=LOADED_WHOLE,
        passed=not troubled and not problems,
        severity=dg.AssetCheckSeverity.ERROR if failed else dg.AssetCheckSeverity.WARN,
        metadata={f"{one.spec.name} {one.slice}": one.message for one in troubled},
    )
