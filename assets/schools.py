"""Discovery: which schools there are, which semesters, datasets and reports they have, and so which
partitions."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta

import dagster as dg
import pyarrow as pa
import uvloop
from sqlalchemy.exc import SQLAlchemyError

from assets import base_data, v1
from assets.drift_checks import in_lines, sources_of, tell_drift
from assets.partition_names import partitions_in_words
from assets.partition_renames import put_in_order
from assets.partitions import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    PARTITIONS,
    REPORT_RESULTS,
    SCHOOL_SEMESTERS,
    V1_SEMESTERS,
)
from assets.resource_assets import asset_key, described, materialized, raise_failed, raw_asset
from assets.run_retention import forget_old_runs
from campus.attendance.week_rules import decide, together
from campus.decoding.page import batch_schema
from campus.extract.batches import Collector
from campus.extract.requests import Where
from campus.extract.slice import read
from campus.http.client import Client
from campus.http.errors import CampusError, Halt
from campus.http.events import Event
from campus.registry import (
    ATTENDANCE,
    BASE_DATA,
    DATASET_METADATA,
    DATASETS,
    REPORT_QUERIES,
    RESOURCES,
    SCHOOLS,
    V1_DATA,
    ResourceSpec,
)
from loading.attendance.weeks import timeline_in
from loading.commit import Loaded, in_words
from loading.datasets.plans import plan_datasets
from loading.names import names_of
from loading.outage import connected
from loading.partition_keys import (
    keys_by_school,
    partition_key,
    partitions_of,
    semesters_by_school,
    week_key,
    weeks_by_school,
)
from loading.reports import plans as report_plans
from loading.reports.plans import plan_reports
from loading.runtime import Cause, Runtime, cause_of, told
from loading.semesters import Semesters, contradiction, read_semesters, seen_now, sightings_of
from loading.slice_loader import Loader
from loading.tables import TABLES, slice_of, values
from warehouse.load.dataset_plans import read_plans
from warehouse.load.load_log import committed, now
from warehouse.load.log_writer import batched, write
from warehouse.load.week_evidence import record_sightings

SEMESTERS, SEMESTERS_OF_V1 = RESOURCES["semesters"], RESOURCES["v1_semesters"]
# What else is read or retired here has no partitions, or loses them with what it held.
PARTITIONED = {spec.name for spec in (*BASE_DATA, *V1_DATA, *ATTENDANCE)}


@dataclass
class Found:
    """What discovery found: the semesters that v3 and v1 are asked for, and keys of weeks, dataset segments
    and results of reports, by school; the outcome of each slice, what an operator should know, what stood in
    the way, and why schools, or all of them, were looked at no further."""

    semesters: dict[int, list[int]] = field(default_factory=dict)
    v1_semesters: dict[int, list[int]] = field(default_factory=dict)
    weeks: dict[int, list[str]] = field(default_factory=dict)
    segments: dict[int, list[str]] = field(default_factory=dict)
    results: dict[int, list[str]] = field(default_factory=dict)
    loaded: list[Loaded] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    halts: list[Halt] = field(default_factory=list)


@dataclass(frozen=True)
class Known:
    """The partition keys that there are, by school."""

    semesters: dict[int, list[str]]
    v1_semesters: dict[int, list[str]]
    weeks: dict[int, list[str]]
    segments: dict[int, list[str]]
    results: dict[int, list[str]]

    @classmethod
    def of(cls, instance: dg.DagsterInstance) -> "Known":
        return cls(*(keys_by_school(instance.get_dynamic_partitions(kind.name or "")) for kind in PARTITIONS))

    def semesters_of(self, school_id: int) -> list[int]:
        """The semesters that v3 was asked for."""
        return semesters_by_school(self.semesters.get(school_id, [])).get(school_id, [])

    def v1_semesters_of(self, school_id: int) -> list[int]:
        """Those that v1 was asked for. An earlier version asked it for v3's, and had no keys of its own."""
        keys = self.v1_semesters.get(school_id) or self.semesters.get(school_id, [])
        return semesters_by_school(keys).get(school_id, [])


def _asset_spec(spec: ResourceSpec, group: str) -> dg.AssetSpec:
    return raw_asset(spec, group, [asset_key(SCHOOLS.name)] if spec is not SCHOOLS else [])


@dg.multi_asset(
    name="discover",
    specs=[
        _asset_spec(SCHOOLS, base_data.GROUP),
        *(_asset_spec(spec, "datasets") for spec in DATASET_METADATA),
        *(_asset_spec(spec, "reports") for spec in report_plans.METADATA),
    ],
    required_resource_keys={"campus"},
    pool="platform",
)
def discovery(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
    """Load the schools, their semesters and the metadata of their datasets and reports; add partitions for
    what is new, retire those of what is gone."""
    runtime = told(context.resources.campus, context.log)
    cause = cause_of(context.run.run_id, context.run.tags)
    try:
        forget_old_runs(context.instance, runtime.keep_runs, context.run.run_id)
    except SQLAlchemyError as error:
        context.log.warning(f"old runs could not be deleted: {error}")
    for words in put_in_order(context.instance):
        if runtime.listener:
            runtime.listener(Event("note", words))
    known = Known.of(context.instance)
    # What is retired is written down before its partitions go, which nothing else remembers.
    with batched(runtime.lake):
        found = uvloop.run(_discover(runtime, cause, known))
        write(runtime.lake)
    new = _partition(context.instance, SCHOOL_SEMESTERS, known.semesters, _semester_keys(found.semesters))
    _partition(context.instance, V1_SEMESTERS, known.v1_semesters, _semester_keys(found.v1_semesters))
    new_weeks = _partition(context.instance, ATTENDANCE_WEEKS, known.weeks, found.weeks)
    new_segments = _partition(context.instance, DATASET_SEGMENTS, known.segments, found.segments)
    new_results = _partition(context.instance, REPORT_RESULTS, known.results, found.results)
    for note in found.notes:
        if runtime.listener:
            runtime.listener(Event("note", note))
    datasets = {
        (f"datasets.{plan.table}", plan.school_id)
        for plan in read_plans(runtime.lake)
        if plan.school_id in found.segments
    }
    found.notes += in_lines(tell_drift(runtime, cause, sources_of(found.loaded) | datasets))
    for one in found.loaded:
        semesters = (found.v1_semesters if one.spec.is_v1 else found.semesters).get(one.slice.school_id, [])
        partitions = partitions_of(one.slice, semesters) if one.spec.name in PARTITIONED else []
        materialized(context, one, asset_key(one.spec.name), partitions, described(one))
    yield dg.MaterializeResult(
        asset_key=asset_key(SCHOOLS.name),
        metadata={
            "schools": len(found.semesters),
            "semesters": sum(len(semesters) for semesters in found.semesters.values()),
            "new partitions": new,
            "weeks": sum(map(len, found.weeks.values())),
            "new weeks": new_weeks,
            "partitions": partitions_in_words(found.semesters, found.v1_semesters, names_of(runtime.lake)),
        },
    )
    planned: dict[ResourceSpec, dict[str, str | int]] = {
        DATASETS: {
            "segments": sum(map(len, found.segments.values())),
            "new segments": new_segments,
            **({"notes": "\n".join(found.notes)} if found.notes else {}),
        },
        REPORT_QUERIES: {"results": sum(map(len, found.results.values())), "new results": new_results},
    }
    for spec in (*DATASET_METADATA, *report_plans.METADATA):
        outcomes = [one.outcome for one in found.loaded if one.spec is spec and one.outcome is not None]
        rows = sum(outcome.counts.loaded for outcome in outcomes)
        yield dg.MaterializeResult(
            asset_key=asset_key(spec.name), metadata={"dagster/row_count": rows, **planned.get(spec, {})}
        )
    raise_failed(context, problems=found.problems, halts=found.halts)


def _partition(
    instance: dg.DagsterInstance,
    definition: dg.DynamicPartitionsDefinition,
    known: dict[int, list[str]],
    found: dict[int, list[str]],
) -> int:
    """Make the partitions of the schools that were found those that they have; how many are new."""
    name = definition.name or ""
    new = [key for school_id, keys in found.items() for key in keys if key not in known.get(school_id, [])]
    instance.add_dynamic_partitions(name, new)
    for school_id, keys in found.items():
        for gone in set(known.get(school_id, [])) - set(keys):
            instance.delete_dynamic_partition(name, gone)
    return len(new)


def _semester_keys(semesters: dict[int, list[int]]) -> dict[int, list[str]]:
    return {
        school_id: [partition_key(school_id, each) for each in found]
        for school_id, found in semesters.items()
    }


async def _discover(runtime: Runtime, cause: Cause, known: Known) -> Found:
    found = Found()
    scopes = [SCHOOLS.scopes, SEMESTERS.scopes, SEMESTERS_OF_V1.scopes]
    if runtime.datasets.selection.include:
        scopes.append(DATASETS.scopes)
    if runtime.reports:
        scopes.append(REPORT_QUERIES.scopes)
    async with connected(runtime, scopes) as client:
        loader = Loader(runtime, client, cause, committed(runtime.lake, cause.sync_id))
        listed = await _list_schools(client, runtime, found)
        names = {plan.dataset: plan.table for plan in read_plans(runtime.lake)}
        for school_id in runtime.school_ids or values(listed, "id"):
            if client.health.down:
                break
            try:
                await _discover_all(loader, client, cause, school_id, listed, known, names, found)
            except Halt as halt:
                found.halts.append(halt)
    failed = [one for one in found.loaded if one.status == "failed" and not _is_left_to_its_load(one)]
    found.problems += [in_words(failed)] if failed else []
    return found


async def _discover_all(
    loader: Loader,
    client: Client,
    cause: Cause,
    school_id: int,
    listed: pa.Table,
    known: Known,
    names: dict[str, str],
    found: Found,
) -> None:
    """Find all that a school has. What was found before a Halt is taken; the rest stays as it is known."""
    loaded, semesters = await _discover_school(loader, school_id, listed, known, found)
    found.loaded += loaded
    _see_weeks(loader, semesters, client.clock_skew, found)
    found.loaded += _plan_weeks(loader, semesters, known.weeks.get(school_id, []), found)
    await _discover_datasets(loader, client, cause, school_id, names, found)
    planned = await plan_reports(loader, client, cause, school_id, known.results.get(school_id, []))
    found.loaded += planned.loaded
    found.results[school_id] = planned.partitions
    found.problems += planned.problems


async def _discover_school(
    loader: Loader, school_id: int, listed: pa.Table, known: Known, found: Found
) -> tuple[list[Loaded], Semesters]:
    """Load a school and its semesters, those of either interface, and retire the semesters that are gone."""
    loaded = [
        one
        for spec in (SEMESTERS, SEMESTERS_OF_V1)
        for one in await loader.load((spec,), Where(school_id), again=False)
    ]
    if any(one.status != "failed" for one in loaded):
        # A school that does not answer may not exist; one that does has a row, be it only an id.
        loaded += _load_school(loader, school_id, listed)
    found.notes += [f"school {school_id}: {one.message}" for one in loaded if _is_left_to_its_load(one)]
    semesters = read_semesters(loader.runtime.lake, school_id, loader.runtime.attendance.semester_pairs)
    found.problems += semesters.unclear
    found.notes += filter(None, [semesters.of_v1_alone])
    found.semesters[school_id], retired = _retire_gone(
        loader,
        school_id,
        base_data.SEMESTER_LEVEL,
        known.semesters_of(school_id),
        semesters.ids_of_v3,
        {row["id"] for row in semesters.v3},
    )
    loaded += retired
    found.v1_semesters[school_id], retired = _retire_gone(
        loader,
        school_id,
        v1.SEMESTER_LEVEL,
        known.v1_semesters_of(school_id),
        semesters.ids_of_v1,
        {row["id"] for row in semesters.v1},
    )
    return loaded + retired, semesters


def _is_left_to_its_load(one: Loaded) -> bool:
    """Whether that v1's semesters are refused is for the load of v1 to say: base data does not need them."""
    return one.refused and one.spec is SEMESTERS_OF_V1


def _retire_gone(
    loader: Loader,
    school_id: int,
    specs: Sequence[ResourceSpec],
    known: Iterable[int],
    semesters: list[int],
    ever: Collection[int],
) -> tuple[list[int], list[Loaded]]:
    """Empty the slices of the semesters that are gone. `ever`: those that the interface has or had; where it
    shows some, what was asked of it by another id is nobody's. Which semesters are left, and what became of
    the others."""
    left, loaded = list(semesters), list[Loaded]()
    for gone in sorted(set(known) - set(semesters)):
        is_sure = bool(ever) and gone not in ever
        retired = [loader.retire(spec, slice_of(spec, school_id, gone), is_sure=is_sure) for spec in specs]
        if any(one.status == "failed" for one in retired):
            # The guard stopped it: the partition stays until somebody has looked.
            left.append(gone)
        loaded += retired
    return left, loaded


def _see_weeks(loader: Loader, semesters: Semesters, clock_skew: float | None, found: Found) -> None:
    """Take down what current_week shows of where teaching weeks begin, and say what follows from it."""
    lake, setting = loader.runtime.lake, loader.runtime.attendance.weeks_begin
    school_id = semesters.school_id
    before = sightings_of(lake, school_id)
    held = {one.semester_id: one for one in before}
    for seen in seen_now(semesters, now() + timedelta(seconds=clock_skew or 0)):
        held[seen.semester_id] = together(held.get(seen.semester_id), seen)
    after = list(held.values())
    if after != before:
        record_sightings(lake, school_id, [asdict(one) for one in after])
    was, is_now = decide(setting, before), decide(setting, after)
    if is_now.contradicts:
        found.notes.append(f"school {school_id}: {contradiction(is_now)}")
    elif was.rule != is_now.rule:
        found.notes.append(
            f"school {school_id}: teaching weeks begin by the rule {is_now.rule!r}, as the platform's "
            f"current_week shows; they were counted by {was.rule!r}. Attendance is filed by its new weeks."
        )


def _plan_weeks(loader: Loader, semesters: Semesters, known: list[str], found: Found) -> list[Loaded]:
    """Plan the teaching weeks of all semesters, those to come too, and retire the weeks that are gone."""
    runtime, school_id, loaded = loader.runtime, semesters.school_id, list[Loaded]()
    timeline = timeline_in(runtime.lake, semesters, runtime.attendance)
    planned, ever = timeline.weeks, {row["id"] for row in timeline.semesters.v1}
    for semester_id, weeks in weeks_by_school(known).get(school_id, {}).items():
        for week in weeks:
            if (semester_id, week) in timeline.weeks:
                continue
            is_sure = bool(ever) and semester_id not in ever
            slices = {spec: slice_of(spec, school_id, semester_id, week) for spec in ATTENDANCE}
            retired = [loader.retire(spec, slice, is_sure=is_sure) for spec, slice in slices.items()]
            if any(one.status == "failed" for one in retired):
                # The guard stopped it: the partition stays until somebody has looked.
                planned.append((semester_id, week))
            loaded += retired
    found.weeks[school_id] = [week_key(school_id, *each) for each in planned]
    return loaded


async def _discover_datasets(
    loader: Loader, client: Client, cause: Cause, school_id: int, names: dict[str, str], found: Found
) -> None:
    """Load the metadata of a school's datasets and plan their segments. `names`: the tables that datasets of
    this name have had in any school, to which the school's are added.

    Where the settings want none of them, nothing is asked: the credentials may not cover datasets."""
    if not loader.runtime.datasets.selection.include:
        found.segments[school_id] = []
        return
    planned = await plan_datasets(loader, client, loader.runtime, cause, school_id, names)
    names |= {plan.dataset: plan.table for plan in read_plans(loader.runtime.lake, school_id)}
    found.loaded += planned.loaded
    found.segments[school_id] = planned.partitions
    found.notes += [f"school {school_id}, {note}" for note in planned.notes]
    found.problems += planned.problems


async def _list_schools(client: Client, runtime: Runtime, found: Found) -> pa.Table:
    """The rows of the schools list. That it cannot be read is a problem only where the settings name no
    schools."""
    batches: list[pa.RecordBatch] = []
    collector = Collector(SCHOOLS, "", batches.append)
    header = runtime.school_ids[0] if runtime.school_ids else None
    try:
        await read(client, SCHOOLS, Where(header), collector)
    except Halt as halt:
        # One school's refusal is told where the school itself is looked at.
        found.halts += [halt] if halt.school_id is None else []
    except CampusError as error:
        if not runtime.school_ids:
            found.problems.append(f"the list of schools cannot be read: {error} Or set CAMPUS_SCHOOL_IDS.")
    else:
        if not collector.account.received and not runtime.school_ids:
            found.problems.append(
                "the platform lists no schools. Ask its operator, or set CAMPUS_SCHOOL_IDS."
            )
    found.problems += [f"a row of the schools list: {bad.reason}" for bad in collector.account.bad]
    return pa.Table.from_batches(batches, batch_schema(SCHOOLS.contract))


def _load_school(loader: Loader, school_id: int, listed: pa.Table) -> list[Loaded]:
    """Store a school as the list has it; one that is not listed keeps its row, or gets its id alone."""
    slice = slice_of(SCHOOLS, school_id)
    rows = [row for row in listed.to_pylist() if row["id"] == school_id]
    if not rows and loader.runtime.lake.read(TABLES["schools"], slice, ["id"]).num_rows:
        return []
    rows = rows or [{"id": school_id, "_trashed": False}]
    return [loader.store(SCHOOLS, slice, pa.Table.from_pylist(rows, schema=listed.schema))]
