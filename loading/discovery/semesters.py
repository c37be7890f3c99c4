"""The semesters and teaching weeks of a school: those that there are, and those that are gone."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import timedelta

from campus.attendance.week_rules import decide, together
from campus.registry import ATTENDANCE, BASE_DATA, V1_DATA, ResourceSpec
from loading.attendance.weeks import timeline_in
from loading.commit import Loaded, retire_slice
from loading.discovery.found import Found, Known
from loading.load_slice import Loader
from loading.partition_keys import week_key, weeks_by_school
from loading.semesters import Semesters, contradiction, read_semesters, seen_now, sightings_of
from loading.tables import slice_of
from warehouse.load.load_log import now
from warehouse.load.week_evidence import record_sightings

#: What is loaded semester by semester, of either interface.
OF_V3 = tuple(spec for spec in BASE_DATA if spec.sliced_by == "semester")
OF_V1 = tuple(spec for spec in V1_DATA if spec.sliced_by == "semester")


def take_semesters(loader: Loader, school_id: int, known: Known, found: Found) -> Semesters:
    """Take down which semesters a school has, as the lake holds them now, and retire those that are gone."""
    semesters = read_semesters(loader.runtime.lake, school_id, loader.runtime.attendance.semester_pairs)
    found.problems += semesters.unclear
    found.notes += filter(None, [semesters.of_v1_alone])
    found.semesters[school_id], retired = _retire_gone(
        loader,
        school_id,
        OF_V3,
        known.semesters_of(school_id),
        semesters.ids_of_v3,
        {row["id"] for row in semesters.v3},
    )
    found.loaded += retired
    found.v1_semesters[school_id], retired = _retire_gone(
        loader,
        school_id,
        OF_V1,
        known.v1_semesters_of(school_id),
        semesters.ids_of_v1,
        {row["id"] for row in semesters.v1},
    )
    found.loaded += retired
    return semesters


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
        retired = _retire(loader, specs, school_id, gone, ever)
        if any(one.status == "failed" for one in retired):
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
    """Empty the slices of a semester, or of a week of it, that is gone. Where the guard stops one, its
    partition stays until somebody has looked. `ever`: as `_retire_gone` has it."""
    is_sure = bool(ever) and semester_id not in ever
    slices = {spec: slice_of(spec, school_id, semester_id, week) for spec in specs}
    return [retire_slice(loader.context(spec, slice), is_sure=is_sure) for spec, slice in slices.items()]


def see_weeks(loader: Loader, semesters: Semesters, clock_skew: float | None, found: Found) -> None:
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


def plan_weeks(loader: Loader, semesters: Semesters, known: list[str], found: Found) -> None:
    """Plan the teaching weeks of all semesters, those to come too, and retire the weeks that are gone."""
    runtime, school_id = loader.runtime, semesters.school_id
    timeline = timeline_in(runtime.lake, semesters, runtime.attendance)
    planned, ever = timeline.weeks, {row["id"] for row in timeline.semesters.v1}
    for semester_id, weeks in weeks_by_school(known).get(school_id, {}).items():
        for week in weeks:
            if (semester_id, week) in timeline.weeks:
                continue
            retired = _retire(loader, ATTENDANCE, school_id, semester_id, ever, week)
            if any(one.status == "failed" for one in retired):
                planned.append((semester_id, week))
            found.loaded += retired
    found.weeks[school_id] = [week_key(school_id, *each) for each in planned]
