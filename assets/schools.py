"""Discovery: which schools there are, which semesters, datasets and reports they have, and so which
partitions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
import uvloop
from sqlalchemy.exc import SQLAlchemyError

from assets.drift_checks import sources_of, tell_drift
from assets.partition_names import partitions_in_words
from assets.partitions import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    PARTITIONS,
    REPORT_RESULTS,
    SCHOOL_SEMESTERS,
    V1_SEMESTERS,
    remove_unknown,
)
from assets.resource_assets import (
    asking_runtime,
    asset_key,
    described,
    materialized,
    raise_failed,
    raw_asset,
)
from assets.run_retention import forget_old_runs
from campus.http.events import Event
from campus.registry import (
    ATTENDANCE,
    BASE_DATA,
    DATASET_METADATA,
    DATASETS,
    REPORT_QUERIES,
    SCHOOLS,
    V1_DATA,
    ResourceSpec,
)
from loading.discovery.found import Found, Known
from loading.discovery.schools import discover
from loading.names import names_of
from loading.partition_keys import keys_by_school, partition_key, partitions_of
from loading.reports import plans as report_plans
from loading.runtime import cause_of
from warehouse.load.dataset_plans import read_plans
from warehouse.load.drift import in_lines
from warehouse.load.log_writer import batched, write

# What else is read or retired here has no partitions, or loses them with what it held.
PARTITIONED = {spec.name for spec in (*BASE_DATA, *V1_DATA, *ATTENDANCE)}


def _asset_spec(spec: ResourceSpec) -> dg.AssetSpec:
    return raw_asset(spec, "discovery", [asset_key(SCHOOLS.name)] if spec is not SCHOOLS else [])


@dg.multi_asset(
    name="discover",
    specs=[_asset_spec(spec) for spec in (SCHOOLS, *DATASET_METADATA, *report_plans.METADATA)],
    required_resource_keys={"campus"},
    pool="platform",
)
def discovery(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
    """Load the schools, their semesters and the metadata of their datasets and reports; add partitions for
    what is new, retire those of what is gone."""
    runtime = asking_runtime(context)
    cause = cause_of(context.run.run_id, context.run.tags)
    try:
        forget_old_runs(context.instance, runtime.keep_runs, context.run.run_id)
    except SQLAlchemyError as error:
        context.log.warning(f"old runs could not be deleted: {error}")
    for words in remove_unknown(context.instance):
        if runtime.listener:
            runtime.listener(Event("note", words))
    known = Known(
        *(keys_by_school(context.instance.get_dynamic_partitions(kind.name or "")) for kind in PARTITIONS)
    )
    with batched(runtime.lake):
        found = uvloop.run(discover(runtime, cause, known))
        # What is retired is written down before its partitions go, which nothing else remembers.
        if _retires(known, found):
            write(runtime.lake)
    new = _partition_all(context.instance, known, found)
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
    of_schools = _of_schools(found, new) | {
        "partitions": partitions_in_words(found.semesters, found.v1_semesters, names_of(runtime.lake))
    }
    yield dg.MaterializeResult(asset_key=asset_key(SCHOOLS.name), metadata=of_schools)
    planned: dict[ResourceSpec, dict[str, str | int]] = {
        DATASETS: {
            "segments": _total(found.segments),
            "new segments": new[DATASET_SEGMENTS],
            **({"notes": "\n".join(found.notes)} if found.notes else {}),
        },
        REPORT_QUERIES: {"results": _total(found.results), "new results": new[REPORT_RESULTS]},
    }
    for spec in (*DATASET_METADATA, *report_plans.METADATA):
        outcomes = [one.outcome for one in found.loaded if one.spec is spec and one.outcome is not None]
        rows = sum(outcome.counts.loaded for outcome in outcomes)
        yield dg.MaterializeResult(
            asset_key=asset_key(spec.name), metadata={"dagster/row_count": rows, **planned.get(spec, {})}
        )
    raise_failed(context, problems=found.problems, halts=found.halts)


def _of_schools(found: Found, new: dict[dg.DynamicPartitionsDefinition, int]) -> dict[str, Any]:
    return {
        "schools": len(found.semesters),
        "semesters": _total(found.semesters),
        "new partitions": new[SCHOOL_SEMESTERS],
        "weeks": _total(found.weeks),
        "new weeks": new[ATTENDANCE_WEEKS],
    }


def _total(by_school: Mapping[int, Sequence[Any]]) -> int:
    return sum(map(len, by_school.values()))


def _before_and_after(
    known: Known, found: Found
) -> Iterator[tuple[dg.DynamicPartitionsDefinition, dict[int, list[str]], dict[int, list[str]]]]:
    """The partitions of each kind by school: those that there are, and those that were found."""
    none: dict[int, list[str]] = {school_id: [] for school_id in found.ghosts}
    yield SCHOOL_SEMESTERS, known.semesters, none | _semester_keys(found.semesters)
    yield V1_SEMESTERS, known.v1_semesters, none | _semester_keys(found.v1_semesters)
    yield ATTENDANCE_WEEKS, known.weeks, none | found.weeks
    yield DATASET_SEGMENTS, known.segments, none | found.segments
    yield REPORT_RESULTS, known.results, none | found.results


def _retires(known: Known, found: Found) -> bool:
    """Whether partitions go."""
    return any(
        set(before.get(school_id, [])) - set(keys)
        for _, before, after in _before_and_after(known, found)
        for school_id, keys in after.items()
    )


def _partition_all(
    instance: dg.DagsterInstance, known: Known, found: Found
) -> dict[dg.DynamicPartitionsDefinition, int]:
    """Make the partitions those that were found; how many of each kind are new."""
    return {
        kind: _partition(instance, kind, before, after)
        for kind, before, after in _before_and_after(known, found)
    }


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
