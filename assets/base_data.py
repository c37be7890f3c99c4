"""Base data, semesters through grades: one asset a resource, in the order that the interface recommends.

All of them are one step of one run: a step would cost seconds for each, and inside one step a failed slice is
noted while the others go on. What loaded is recorded partition by partition as it commits.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import dagster as dg
import uvloop

from assets.committing import Loaded, in_words
from assets.loading import ASSESSMENTS, ITEMS, Loader
from assets.partitions import SCHOOL_SEMESTERS, partition_key, semesters_by_school
from assets.runtime import Cause, Runtime, cause_of, told
from assets.tables import TABLES, slice_of, values
from campus.client import Client
from campus.contract import fields
from campus.questions import Where
from campus.resources import BASE_DATA, RESOURCES, ResourceSpec
from warehouse.quality import committed

GROUP = "base_data"
LOADED_WHOLE = "loaded_whole"
SCHOOL_LEVEL = tuple(spec for spec in BASE_DATA if spec.sliced_by == "school")
SEMESTER_LEVEL = tuple(spec for spec in BASE_DATA if spec.sliced_by == "semester")
# Chains of two semesters overlap one's commits with the other's requests; more would only hold more memory.
SEMESTERS_AT_A_TIME = 2


def asset_key(name: str) -> dg.AssetKey:
    """The asset of a raw table; dbt's sources have the same key."""
    return dg.AssetKey(["raw", name])


def _asset_spec(spec: ResourceSpec) -> dg.AssetSpec:
    parent = spec.embedded_in or spec.child_of or ("semesters" if spec.name != "semesters" else "schools")
    return dg.AssetSpec(
        asset_key(spec.name),
        deps=[asset_key(parent)],
        description=TABLES[spec.name].comment,
        group_name=GROUP,
        kinds={"deltalake"},
        skippable=True,
        partitions_def=SCHOOL_SEMESTERS,
        metadata={
            "dagster/column_schema": dg.TableSchema(
                [
                    dg.TableColumn(field.name, str(field.arrow_type), field.description)
                    for field in fields(spec.contract)
                ]
            ),
            "path": spec.path,
            "scope": " or ".join(spec.scopes),
            "slice": f"one {spec.sliced_by}",
        },
    )


@dg.multi_asset(
    name="load_base_data",
    specs=[_asset_spec(spec) for spec in BASE_DATA],
    check_specs=[
        dg.AssetCheckSpec(
            LOADED_WHOLE,
            asset=asset_key(spec.name),
            description="Every slice of the run loaded, nothing failed and nothing is in quarantine.",
        )
        for spec in BASE_DATA
    ],
    can_subset=True,
    backfill_policy=dg.BackfillPolicy.single_run(),
    required_resource_keys={"campus"},
    pool="platform",
)
def base_data(context: dg.AssetExecutionContext) -> Iterator[dg.AssetCheckResult]:
    """Load the selected resources of the run's schools and semesters."""
    runtime = told(context.resources.campus, context.log)
    cause = cause_of(context.run.run_id, context.run.tags)
    selected = {key.path[-1] for key in context.selected_asset_keys}
    loaded = uvloop.run(_load_all(context, runtime, cause, selected))
    for spec in BASE_DATA:
        if spec.name in selected:
            yield _check(spec, [one for one in loaded if one.spec is spec])
    failed = [one for one in loaded if one.status == "failed"]
    if failed:
        raise dg.Failure(
            description=f"{len(failed)} failed; their last good rows stay.\n{in_words(failed)}",
            allow_retries=False,
        )


async def _load_all(
    context: dg.AssetExecutionContext, runtime: Runtime, cause: Cause, selected: set[str]
) -> list[Loaded]:
    loaded: list[Loaded] = []
    done = committed(runtime.lake, cause.sync_id)
    scopes = [spec.scopes for spec in BASE_DATA if spec.name in selected]
    async with Client(runtime.client, scopes, runtime.listener) as client:
        loader = Loader(runtime, client, cause, done)
        for school_id, semesters in semesters_by_school(context.partition_keys).items():
            async for one in _load_school(loader, school_id, semesters, selected):
                record(context, one, semesters)
                loaded.append(one)
    return loaded


async def _load_school(
    loader: Loader, school_id: int, semesters: list[int], selected: set[str]
) -> AsyncIterator[Loaded]:
    for spec in SCHOOL_LEVEL:
        if spec.name in selected:
            where = Where(school_id, term_types=loader.runtime.term_types)
            for one in await loader.load((spec,), where, again=False):
                yield one
    places = asyncio.Semaphore(SEMESTERS_AT_A_TIME)

    async def in_turn(semester_id: int) -> list[Loaded]:
        async with places:
            return await _load_semester(loader, Where(school_id, semester_id), selected)

    for chain in asyncio.as_completed([in_turn(semester_id) for semester_id in semesters]):
        for one in await chain:
            yield one


async def _load_semester(loader: Loader, where: Where, selected: set[str]) -> list[Loaded]:
    """Load one semester's resources in order; what a resource is asked with is read back from the lake."""
    loaded: dict[str, Loaded] = {}
    for spec in SEMESTER_LEVEL:
        if spec.name not in selected or spec.name in loaded:
            continue
        together = tuple(one for one in (ASSESSMENTS, ITEMS) if one.name in selected)
        specs = together if spec in together else (spec,)
        parent = loaded.get(spec.child_of or "")
        if parent and parent.status == "failed" and parent.outcome is None:
            results = [loader.not_asked(one, where) for one in specs]
        else:
            again = parent is not None and parent.status != "skipped"
            results = await loader.load(specs, _with_parents(loader, spec, where), again=again)
        loaded |= {one.spec.name: one for one in results}
    return list(loaded.values())


def _with_parents(loader: Loader, spec: ResourceSpec, where: Where) -> Where:
    """Add the ids that the questions name: those of the semester's classes, or of its assessment items.

    Members are asked for of deleted classes too: a platform that lists a semester's members as a whole shows
    them, and what is read must not depend on the way of asking."""
    if spec.child_of is None:
        return where
    assert where.school_id is not None
    parent = RESOURCES["classes"] if spec.asked == "by_class_batch" else RESOURCES[spec.child_of]
    rows = loader.runtime.lake.read(
        TABLES[parent.name],
        slice_of(parent, where.school_id, where.semester_id),
        ["id"],
        alive=spec.asked != "members",
    )
    return Where(where.school_id, where.semester_id, tuple(sorted(values(rows, "id"))))


def record(context: dg.AssetExecutionContext, one: Loaded, semesters: list[int]) -> None:
    """Tell Dagster what became of a slice, as soon as it is committed."""
    label = f"{one.spec.name} {one.slice}"
    if one.status == "failed":
        context.log.error(f"{label} failed: {one.message}")
        return
    context.log.info(f"{label}: {one.status} {one.message}".rstrip())
    school_id, semester_id = one.slice.school_id, one.slice.semester_id
    for semester in semesters if semester_id is None else [semester_id]:
        context.log_event(
            dg.AssetMaterialization(
                asset_key(one.spec.name),
                partition=partition_key(school_id, semester),
                metadata=_metadata(one),
            )
        )


def _metadata(one: Loaded) -> dict[str, dg.MetadataValue]:
    if one.outcome is None:
        return {"status": dg.MetadataValue.text(one.message)}
    tally = one.outcome.tally
    counts = {
        "dagster/partition_row_count": tally.loaded,
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


def _check(spec: ResourceSpec, loaded: list[Loaded]) -> dg.AssetCheckResult:
    troubled = [one for one in loaded if one.status in ("failed", "warning")]
    return dg.AssetCheckResult(
        asset_key=asset_key(spec.name),
        check_name=LOADED_WHOLE,
        passed=not troubled,
        severity=(
            dg.AssetCheckSeverity.ERROR
            if any(one.status == "failed" for one in troubled)
            else dg.AssetCheckSeverity.WARN
        ),
        metadata={str(one.slice): one.message for one in troubled},
    )
