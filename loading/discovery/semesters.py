"""Discovers the semesters and teaching weeks of a school, and retires semesters and weeks that are gone."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import timedelta

from campus.attendance.calendar import combine_sightings, decide
from campus.registry import ATTENDANCE, BASE_DATA, V1_DATA, ResourceSpec
from loading.attendance.weeks import timeline_in
from loading.discovery.results import DiscoveryResults, ExistingPartitions
from loading.partition_keys import week_key, weeks_by_school
from loading.semesters import Semesters, contradiction, read_semesters, seen_now, sightings_of
from loading.slices.commit import Loaded, retire_slice
from loading.slices.load_slice import Loader
from loading.tables import slice_of
from warehouse.load.logs.load_log import now
from warehouse.load.logs.week_evidence import record_sightings

#: The resources that are loaded by semester, of both interfaces.
OF_V3 = tuple(spec for spec in BASE_DATA if spec.sliced_by == "semester")
OF_V1 = tuple(spec for spec in V1_DATA if spec.sliced_by == "semester")


def discover_semesters(
    loader: Loader, school_id: int, existing: ExistingPartitions, results: DiscoveryResults
) -> Semesters:
    """Add the semesters of a school to the results, as the lake has them, and retire semesters that are
    gone."""
    semesters = read_semesters(loader.runtime.lake, school_id, loader.runtime.attendance.semester_pairs)
    results.problems += semesters.unclear
    results.notes += filter(None, [semesters.of_v1_alone])
    results.semesters[school_id], retired = _retire_gone(
        loader,
        school_id,
        OF_V3,
        existing.semesters_of(school_id),
        semesters.ids_of_v3,
        {row["id"] for row in semesters.v3},
    )
    results.loaded += retired
    results.v1_semesters[school_id], retired = _retire_gone(
        loader,
        school_id,
        OF_V1,
        existing.v1_semesters_of(school_id),
        semesters.ids_of_v1,
        {row["id"] for row in semesters.v1},
    )
    results.loaded += retired
    return semesters


def _retire_gone(
    loader: Loader,
    school_id: int,
    specs: Sequence[ResourceSpec],
    existing: Iterable[int],
    semesters: list[int],
    ever: Collection[int],
) -> tuple[list[int], list[Loaded]]:
    """Empty the slices of the semesters that are gone. Returns the semesters that are left, and the outcomes.

    Args:
        existing: The semesters with partitions.
        ever: All semesters that the interface has or had. If it has any, other ids belong to no semester."""
    left, loaded = list(semesters), list[Loaded]()
    for gone in sorted(set(existing) - set(semesters)):
        retired = _retire(loader, specs, school_id, gone, ever)
        if any(result.status == "failed" for result in retired):
            left.append(gone)
        loaded += retired
    return left, loaded


def _retire(
    loader: Loader,
    specs: Sequence[ResourceSpec],
    school_id: int,
    semester_id: int,
    ever: Collection[int],
    week: int | None = None,
) -> list[Loaded]:
    """Empty the slices of a semester or week that is gone. Where the guard stops this, the partition stays
    until a person has looked. `ever`: as `_retire_gone` has it."""
    is_sure = bool(ever) and semester_id not in ever
    slices = {spec: slice_of(spec, school_id, semester_id, week) for spec in specs}
    return [retire_slice(loader.context(spec, slice), is_sure=is_sure) for spec, slice in slices.items()]


def record_week_sightings(
    loader: Loader, semesters: Semesters, clock_skew: float | None, results: DiscoveryResults
) -> None:
    """Record where current_week shows that teaching weeks begin, and note a changed rule of weeks."""
    lake, setting = loader.runtime.lake, loader.runtime.attendance.weeks_begin
    school_id = semesters.school_id
    before = sightings_of(lake, school_id)
    sightings = {sighting.semester_id: sighting for sighting in before}
    for seen in seen_now(semesters, now() + timedelta(seconds=clock_skew or 0)):
        sightings[seen.semester_id] = combine_sightings(sightings.get(seen.semester_id), seen)
    after = list(sightings.values())
    if after != before:
        record_sightings(lake, school_id, [asdict(sighting) for sighting in after])
    was, is_now = decide(setting, before), decide(setting, after)
    if is_now.contradicts:
        results.notes.append(f"school {school_id}: {contradiction(is_now)}")
    elif was.rule != is_now.rule:
        results.notes.append(
            f"school {school_id}: teaching weeks begin by the rule {is_now.rule!r}, as the platform's "
            f"current_week shows; they were counted by {was.rule!r}. Attendance is filed by its new weeks."
        )


def plan_weeks(loader: Loader, semesters: Semesters, existing: list[str], results: DiscoveryResults) -> None:
    """Plan the teaching weeks of all semesters, including future ones, and retire weeks that are gone.

    Args:
        existing: The present partition keys of the school's weeks."""
    runtime, school_id = loader.runtime, semesters.school_id
    timeline = timeline_in(runtime.lake, semesters, runtime.attendance)
    planned, ever = timeline.weeks, {row["id"] for row in timeline.semesters.v1}
    for semester_id, weeks in weeks_by_school(existing).get(school_id, {}).items():
        for week in weeks:
            if (semester_id, week) in timeline.weeks:
                continue
            retired = _retire(loader, ATTENDANCE, school_id, semester_id, ever, week)
            if any(result.status == "failed" for result in retired):
                planned.append((semester_id, week))
            results.loaded += retired
    results.weeks[school_id] = [week_key(school_id, *week) for week in planned]
