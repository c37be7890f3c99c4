"""Discovery: which schools there are, which semesters they have, and so which partitions."""

from dataclasses import dataclass, field

import dagster as dg
import pyarrow as pa
import uvloop

from assets.base_data import GROUP, SEMESTER_LEVEL, asset_key, record
from assets.loading import Loaded, Loader, in_words
from assets.partitions import SCHOOL_SEMESTERS, partition_key, semesters_by_school
from assets.runtime import Cause, Runtime, cause_of, told
from assets.tables import TABLES, slice_of, values
from campus.client import Client
from campus.collect import Collector
from campus.decode import batch_schema
from campus.errors import CampusError
from campus.questions import Where
from campus.read import read
from campus.resources import RESOURCES, SCHOOLS
from warehouse.quality import committed

SEMESTERS = RESOURCES["semesters"]


@dataclass
class Found:
    """What discovery found: semesters by school, what became of each slice, and what stood in the way."""

    semesters: dict[int, list[int]] = field(default_factory=dict)
    loaded: list[Loaded] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dg.asset(
    key=asset_key("schools"),
    description=f"{TABLES['schools'].comment} Finds the semesters of each, which are the partitions.",
    group_name=GROUP,
    kinds={"deltalake"},
    required_resource_keys={"campus"},
    pool="platform",
)
def schools(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    """Load the schools and their semesters; add partitions for new semesters, retire those that are gone."""
    runtime = told(context.resources.campus, context.log)
    cause = cause_of(context.run.run_id, context.run.tags)
    known = semesters_by_school(context.instance.get_dynamic_partitions(SCHOOL_SEMESTERS.name or ""))
    found = uvloop.run(_discover(runtime, cause, known))
    new = [
        partition_key(school_id, semester_id)
        for school_id, semesters in found.semesters.items()
        for semester_id in semesters
        if semester_id not in known.get(school_id, [])
    ]
    context.instance.add_dynamic_partitions(SCHOOL_SEMESTERS.name or "", new)
    for school_id, semesters in found.semesters.items():
        for gone in set(known.get(school_id, [])) - set(semesters):
            context.instance.delete_dynamic_partition(
                SCHOOL_SEMESTERS.name or "", partition_key(school_id, gone)
            )
    for one in found.loaded:
        record(context, one, found.semesters.get(one.slice.school_id, []))
    if found.problems:
        raise dg.Failure(description="\n".join(found.problems), allow_retries=False)
    return dg.MaterializeResult(
        metadata={
            "schools": len(found.semesters),
            "semesters": sum(len(semesters) for semesters in found.semesters.values()),
            "new partitions": len(new),
        }
    )


async def _discover(runtime: Runtime, cause: Cause, known: dict[int, list[int]]) -> Found:
    found = Found()
    async with Client(runtime.client, [SCHOOLS.scopes, SEMESTERS.scopes], runtime.listener) as client:
        loader = Loader(runtime, client, cause, committed(runtime.lake, cause.sync_id))
        listed = await _list_schools(client, runtime, found)
        for school_id in runtime.school_ids or values(listed, "id"):
            loaded = await loader.load((SEMESTERS,), Where(school_id), again=False)
            if loaded[0].status != "failed":
                # A school that does not answer may not exist; one that does has a row, be it only an id.
                loaded += _load_school(loader, school_id, listed)
            semesters = _semesters(runtime, school_id)
            for gone in sorted(set(known.get(school_id, [])) - set(semesters)):
                retired = [loader.retire(spec, slice_of(spec, school_id, gone)) for spec in SEMESTER_LEVEL]
                if any(one.status == "failed" for one in retired):
                    # The guard stopped it: the partition stays until somebody has looked.
                    semesters.append(gone)
                loaded += retired
            found.loaded += loaded
            found.semesters[school_id] = semesters
    failed = [one for one in found.loaded if one.status == "failed"]
    found.problems += [in_words(failed)] if failed else []
    return found


async def _list_schools(client: Client, runtime: Runtime, found: Found) -> pa.Table:
    """The rows of the schools list. That it cannot be read is a problem only where the settings name no
    schools."""
    batches: list[pa.RecordBatch] = []
    collector = Collector(SCHOOLS, "", batches.append)
    header = runtime.school_ids[0] if runtime.school_ids else None
    try:
        await read(client, SCHOOLS, Where(header), collector)
    except CampusError as error:
        if not runtime.school_ids:
            found.problems.append(f"the list of schools cannot be read: {error} Or set CAMPUS_SCHOOL_IDS.")
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


def _semesters(runtime: Runtime, school_id: int) -> list[int]:
    """The semesters that the lake holds of a school: those just read, or the last good ones."""
    rows = runtime.lake.read(TABLES["semesters"], slice_of(SEMESTERS, school_id), ["id", "start_at"])
    return values(rows.sort_by([("start_at", "ascending"), ("id", "ascending")]), "id")
