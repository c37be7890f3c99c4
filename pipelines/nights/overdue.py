"""Slices that the last night should have loaded and has not even tried, since a run of it died or never came.
The load log knows nothing of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from campus.registry import ATTENDANCE, BASE_DATA, V1_DATA, ResourceSpec
from loading.attendance.weeks import due_weeks, timeline_of
from loading.partition_keys import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    NO_SCHOOL,
    REPORT_RESULTS,
    SCHOOL_SEMESTERS,
    V1_SEMESTERS,
    keys_by_school,
    partition_key,
    segments_by_school,
    semesters_by_school,
    weeks_by_school,
)
from loading.reports.tables import results_of
from loading.runtime import cause_of
from loading.tables import TABLES, slice_of
from pipelines.automation import EVERY_SEMESTER_TAG, is_being_asked_for, last_discovery, runs_under_way
from pipelines.definitions import DISCOVERY
from pipelines.due import SELECTED_TAG, current_keys, schools_in
from pipelines.interrupted import NEVER_STARTED_TAG, PROCESS_TAG
from pipelines.launches import is_of_a_command
from pipelines.resources import attendance_settings, wanted_reports
from pipelines.settings import Settings
from pipelines.writers import living
from warehouse.age import RETIRED, STALE
from warehouse.lake.delta import Lake
from warehouse.lake.tables import PLATFORM_ZONE
from warehouse.load.load_log import slice_statuses

Row = Mapping[str, Any]
#: A table and a slice (as text).
Place = tuple[str, str]

#: The tables that say which semesters and weeks there are.
CALENDAR = ("semesters", "v1_semesters", "timetable_days", *(spec.name for spec in ATTENDANCE))
#: How far back the last night of a school is looked for, and how many discoveries are read at a time.
LOOKED_BACK, PAGE = 2 * STALE, 100


@dataclass(frozen=True)
class Night:
    """A night, or a sync."""

    #: When it began, by the platform's wall clock.
    began: datetime
    #: The schools that it was limited to; empty: none.
    schools: tuple[int, ...]
    #: Whether it loads the older semesters again.
    every_semester: bool
    has_ended: bool

    def concerns(self, school_id: int) -> bool:
        """Whether it loads the school."""
        return not self.schools or school_id in self.schools


@dataclass(frozen=True)
class Overdue:
    """What the last nights have left out."""

    #: By school when its last ended night began, and the slices; schools that lack nothing are not in it.
    left_out: dict[int, tuple[datetime, list[Place]]] = field(default_factory=dict)
    #: The schools whose last night has not ended. `left_out` has what the night before has left out.
    not_ended: set[int] = field(default_factory=set)
    #: The schools of which no night is found within LOOKED_BACK.
    not_known: set[int] = field(default_factory=set)


def look_for_overdue(
    settings: Settings, lake: Lake, instance: dg.DagsterInstance, standings: Sequence[Row]
) -> Overdue:
    """What the last night of each school should have loaded and has not tried. `standings`: as
    `log_writer.standing_rows` has them."""
    found = Overdue()
    # The next load makes the tables that an earlier version did not have.
    if not all(lake.holds(TABLES[name]) for name in CALENDAR):
        return found
    nights = nights_of(settings, instance)
    keys = {
        kind: keys_by_school(instance.get_dynamic_partitions(kind))
        for kind in (SCHOOL_SEMESTERS, V1_SEMESTERS, ATTENDANCE_WEEKS, DATASET_SEGMENTS, REPORT_RESULTS)
    }
    current = {
        SCHOOL_SEMESTERS: current_keys(lake, "semesters"),
        V1_SEMESTERS: current_keys(lake, "v1_semesters"),
    }
    tried = {(row["resource"], row["slice"]): row for row in standings}
    schools = {school_id for by_school in keys.values() for school_id in by_school} - {NO_SCHOOL}
    for school_id in sorted(schools.intersection(settings.school_ids or schools)):
        of_school = [night for night in nights if night.concerns(school_id)]
        if not of_school:
            found.not_known.add(school_id)
        elif not of_school[0].has_ended:
            found.not_ended.add(school_id)
        night = next((night for night in of_school if night.has_ended), None)
        if night is None:
            continue
        own = {kind: by_school.get(school_id, []) for kind, by_school in keys.items()}
        missing = [
            place
            for place, is_nightly in _expected(settings, lake, school_id, night, own, current)
            if _is_missing(tried.get(place), night.began if is_nightly else None)
        ]
        if missing:
            found.left_out[school_id] = night.began, missing
    return found


def nights_of(settings: Settings, instance: dg.DagsterInstance) -> list[Night]:
    """The nights and syncs of LOOKED_BACK, the last one first. Those of chosen assets are none."""
    under_way = {cause_of(run.run_id, run.tags).sync_id for run in runs_under_way(instance)}
    last = last_discovery(instance, DISCOVERY)
    if last is not None and is_being_asked_for(instance, DISCOVERY):
        under_way.add(cause_of(last.run_id, last.tags).sync_id)
    alive = {writer.name for writer in living(settings)}
    nights: list[Night] = []
    began: dict[str, datetime] = {}
    for record in reversed(list(_discoveries(instance))):
        run = record.dagster_run
        cause = cause_of(run.run_id, run.tags).sync_id
        at = record.create_timestamp.astimezone(PLATFORM_ZONE).replace(tzinfo=None)
        # Another try has the cause of the first one, and does not load again what that has loaded.
        began.setdefault(cause, at)
        if SELECTED_TAG in run.tags or run.tags.get(NEVER_STARTED_TAG):
            continue
        every = is_of_a_command(run.tags) or run.tags.get(EVERY_SEMESTER_TAG) == "true"
        has_ended = cause not in under_way and run.tags.get(PROCESS_TAG) not in alive
        nights.append(Night(began[cause], tuple(schools_in(run.tags)), every, has_ended))
    return nights[::-1]


def _discoveries(instance: dg.DagsterInstance) -> Iterator[dg.RunRecord]:
    """The discoveries of LOOKED_BACK, the last one first."""
    recent = dg.RunsFilter(job_name=DISCOVERY, created_after=datetime.now(UTC) - LOOKED_BACK)
    cursor = None
    while page := instance.get_run_records(recent, limit=PAGE, cursor=cursor):
        yield from page
        cursor = page[-1].dagster_run.run_id


def _is_missing(tried: Row | None, since: datetime | None) -> bool:
    """Whether a slice was never tried, or not since; None: once is enough."""
    if tried is None:
        return True
    return since is not None and tried["status"] != RETIRED and tried["finished_at"] < since


def _expected(
    settings: Settings,
    lake: Lake,
    school_id: int,
    night: Night,
    keys: Mapping[str, Sequence[str]],
    current: Mapping[str, Collection[str]],
) -> Iterator[tuple[Place, bool]]:
    """What a night loads of a school, and whether it loads that each time."""
    for kind, specs in ((SCHOOL_SEMESTERS, BASE_DATA), (V1_SEMESTERS, V1_DATA)):
        semesters = semesters_by_school(keys[kind]).get(school_id, [])
        for spec in specs if semesters else ():
            if spec.sliced_by == "school":
                yield _place(spec, school_id), True
                continue
            for semester_id in semesters:
                is_current = partition_key(school_id, semester_id) in current[kind]
                yield _place(spec, school_id, semester_id), night.every_semester or is_current
    if keys[ATTENDANCE_WEEKS]:
        for week in _due_weeks(settings, lake, school_id, night, keys[ATTENDANCE_WEEKS]):
            for spec in ATTENDANCE:
                yield _place(spec, school_id, *week), True
    if settings.options.datasets.include:
        for table, segments in segments_by_school(keys[DATASET_SEGMENTS]).get(school_id, {}).items():
            for segment in segments:
                yield (f"datasets.{table}", partition_key(school_id, segment)), True
    if wanted_reports(settings):
        for result in results_of(keys[REPORT_RESULTS]):
            yield (f"reports.{result.table_name}", str(result.slice)), True


def _due_weeks(
    settings: Settings, lake: Lake, school_id: int, night: Night, keys: Sequence[str]
) -> list[tuple[int, int]]:
    """The weeks that were due by then: those that have begun since are for the next night."""
    attendance = attendance_settings(settings)
    timeline = timeline_of(lake, school_id, attendance)
    known = weeks_by_school(keys).get(school_id, {})
    # The day of the night by the platform, whose calendar may be another one than ours.
    since = timeline.today - (datetime.now(PLATFORM_ZONE).date() - night.began.date())
    return [
        (semester_id, week)
        for semester_id, week in due_weeks(lake, timeline, slice_statuses(lake, school_id), attendance)
        if week in known.get(semester_id, ()) and timeline.calendars[semester_id].beginning_of(week) <= since
    ]


def _place(
    spec: ResourceSpec, school_id: int, semester_id: int | None = None, week: int | None = None
) -> Place:
    return spec.name, str(slice_of(spec, school_id, semester_id, week))
