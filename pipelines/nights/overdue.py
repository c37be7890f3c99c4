"""Slices that nights should have loaded and did not try: a run died or never started, or no night loads all
assets. The load log lacks such slices."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from campus.registry import ATTENDANCE, BASE_DATA, V1_DATA, ResourceSpec
from loading.attendance.weeks import Timeline, due_weeks, timeline_of
from loading.connection.runtime import cause_of
from loading.partition_keys import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    PATTERNS,
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
from loading.tables import TABLES, slice_of
from pipelines.nights.run_state import (
    awaits_load_requests,
    last_discovery,
    runs_under_way,
)
from pipelines.platform import attendance_settings, wanted_reports
from pipelines.runs.jobs import DISCOVERY
from pipelines.runs.launchers import NEVER_STARTED_TAG, PROCESS_TAG, is_of_a_command
from pipelines.runs.partition_selection import SELECTED_TAG, current_keys, schools_in
from pipelines.runs.writer_locks import is_of_this_machine, live_processes
from pipelines.settings.settings import Settings
from warehouse.age import FAILED, RETIRED, STALE
from warehouse.lake.delta import Lake
from warehouse.lake.tables import PLATFORM_ZONE
from warehouse.load.logs.load_log import now, slice_statuses
from warehouse.load.whole_readings import is_due_whole

Row = Mapping[str, Any]
#: A table, and a slice as text.
TableSlice = tuple[str, str]

#: The tables that list semesters and weeks.
CALENDAR = ("semesters", "v1_semesters", "timetable_days", *(spec.name for spec in ATTENDANCE))
#: How far back the last night of a school may be, and how many discoveries are read at a time.
LOOKBACK, PAGE = 2 * STALE, 100


@dataclass(frozen=True)
class Night:
    """A night, or a sync."""

    #: The start, by the platform's wall clock.
    began: datetime
    #: The schools of a limited night; empty: all schools.
    schools: tuple[int, ...]
    #: Whether it was a `campus sync`, which reloads older semesters, due or not.
    is_sync: bool
    has_ended: bool

    def loads(self, school_id: int) -> bool:
        """Whether the night loads the school."""
        return not self.schools or school_id in self.schools


@dataclass(frozen=True)
class Overdue:
    """The slices that the last nights left out."""

    #: By school that lacks slices: its last ended night, and the slices.
    left_out: dict[int, tuple[Night, list[TableSlice]]] = field(default_factory=dict)
    #: By school without a night under way: the standings of slices that were not read whole for more than
    #: `incremental.whole_days`, failed loads aside.
    not_whole: dict[int, list[Row]] = field(default_factory=dict)
    #: The schools whose last night has not ended. `left_out` is then about the night before.
    not_ended: set[int] = field(default_factory=set)
    #: The schools without a night within LOOKBACK.
    not_known: set[int] = field(default_factory=set)


def look_for_overdue(
    settings: Settings, lake: Lake, instance: dg.DagsterInstance, standings: Sequence[Row]
) -> Overdue:
    """The slices that the last night of each school should have loaded and did not try, and slices that no
    night read whole in time. `standings`: rows of `warehouse.load.logs.writer.standing_rows`."""
    overdue = Overdue()
    # The first load makes the tables.
    if not all(lake.holds(TABLES[name]) for name in CALENDAR):
        return overdue
    nights = nights_of(settings, instance)
    keys = {
        # A person may have added another key in the UI.
        kind: keys_by_school(filter(pattern.fullmatch, instance.get_dynamic_partitions(kind)))
        for kind, pattern in PATTERNS.items()
    }
    current = {
        SCHOOL_SEMESTERS: current_keys(lake, "semesters"),
        V1_SEMESTERS: current_keys(lake, "v1_semesters"),
    }
    tried = {(row["resource"], row["slice"]): row for row in standings}
    schools = {school_id for by_school in keys.values() for school_id in by_school}
    schools &= {row["_school_id"] for row in standings}
    for school_id in sorted(schools.intersection(settings.school_ids or schools)):
        school_keys = {kind: by_school.get(school_id, []) for kind, by_school in keys.items()}
        timeline = timeline_of(lake, school_id, attendance_settings(settings))
        slices = dict(_slices(settings, school_id, school_keys, current))
        school_nights = [night for night in nights if night.loads(school_id)]
        if not school_nights:
            overdue.not_known.add(school_id)
        elif not school_nights[0].has_ended:
            overdue.not_ended.add(school_id)
        begun = _of_weeks(school_id, timeline.begun)
        rows = [tried[slice_] for slice_ in (*slices, *begun) if slice_ in tried]
        not_whole = [row for row in rows if _is_not_whole(row, settings.options.incremental.whole_days)]
        if not_whole and school_id not in overdue.not_ended:
            overdue.not_whole[school_id] = not_whole
        night = next((night for night in school_nights if night.has_ended), None)
        if night is None:
            continue
        due = _due_weeks(settings, lake, timeline, night, school_keys[ATTENDANCE_WEEKS])
        slices |= dict.fromkeys(_of_weeks(school_id, due), True)
        missing = [
            slice_
            for slice_, is_nightly in slices.items()
            if _is_missing(tried.get(slice_), night.began if night.is_sync or is_nightly else None)
        ]
        if missing:
            overdue.left_out[school_id] = night, missing
    return overdue


def nights_of(settings: Settings, instance: dg.DagsterInstance) -> list[Night]:
    """The nights and syncs within LOOKBACK, latest first, without syncs of selected assets."""
    alive = live_processes(settings)
    under_way = {
        cause_of(run.run_id, run.tags).sync_id
        for run in runs_under_way(instance)
        if not _is_killed(run.tags.get(PROCESS_TAG, ""), alive)
    }
    last = last_discovery(instance, DISCOVERY)
    if last is not None and awaits_load_requests(instance, DISCOVERY):
        under_way.add(cause_of(last.run_id, last.tags).sync_id)
    nights: list[Night] = []
    began: dict[str, datetime] = {}
    for record in reversed(list(_discoveries(instance))):
        run = record.dagster_run
        cause = cause_of(run.run_id, run.tags).sync_id
        at = record.create_timestamp.astimezone(PLATFORM_ZONE).replace(tzinfo=None)
        # A retry has the cause of the first try, and skips the slices that the first try loaded.
        began.setdefault(cause, at)
        if SELECTED_TAG in run.tags or run.tags.get(NEVER_STARTED_TAG):
            continue
        has_ended = cause not in under_way and run.tags.get(PROCESS_TAG) not in alive
        nights.append(Night(began[cause], tuple(schools_in(run.tags)), is_of_a_command(run.tags), has_ended))
    return nights[::-1]


def _is_killed(process: str, alive: Collection[str]) -> bool:
    """Whether the process of a run was of this machine, and is gone. The next command closes the run."""
    return is_of_this_machine(process) and process not in alive


def _discoveries(instance: dg.DagsterInstance) -> Iterator[dg.RunRecord]:
    """The discoveries within LOOKBACK, latest first."""
    recent = dg.RunsFilter(job_name=DISCOVERY, created_after=datetime.now(UTC) - LOOKBACK)
    cursor = None
    while page := instance.get_run_records(recent, limit=PAGE, cursor=cursor):
        yield from page
        cursor = page[-1].dagster_run.run_id


def _is_missing(tried: Row | None, since: datetime | None) -> bool:
    """Whether a slice was never tried, or not since the given time. `since` None: one try suffices."""
    if tried is None:
        return True
    return since is not None and tried["status"] != RETIRED and tried["finished_at"] < since


def _is_not_whole(tried: Row, whole_days: int) -> bool:
    """Whether a slice was read whole longer ago than nights should let it be. A failed load has its own
    message, as has a slice that was never read whole."""
    if tried["status"] in (FAILED, RETIRED) or tried["whole_at"] is None:
        return False
    # The day on which a slice becomes due has its night still to come.
    return is_due_whole(tried["whole_at"], whole_days + 1, now())


def _slices(
    settings: Settings,
    school_id: int,
    keys: Mapping[str, Sequence[str]],
    current: Mapping[str, Collection[str]],
) -> Iterator[tuple[TableSlice, bool]]:
    """The slices of a school except attendance, and whether every night loads the slice."""
    for kind, specs in ((SCHOOL_SEMESTERS, BASE_DATA), (V1_SEMESTERS, V1_DATA)):
        semesters = semesters_by_school(keys[kind]).get(school_id, [])
        for spec in specs if semesters else ():
            if spec.sliced_by == "school":
                yield _table_slice(spec, school_id), True
                continue
            for semester_id in semesters:
                is_current = partition_key(school_id, semester_id) in current[kind]
                yield _table_slice(spec, school_id, semester_id), is_current
    if settings.options.datasets.include:
        for table, segments in segments_by_school(keys[DATASET_SEGMENTS]).get(school_id, {}).items():
            for segment in segments:
                yield (f"datasets.{table}", partition_key(school_id, segment)), True
    if wanted_reports(settings):
        for result in results_of(keys[REPORT_RESULTS]):
            yield (f"reports.{result.table_name}", str(result.slice)), True


def _due_weeks(
    settings: Settings, lake: Lake, timeline: Timeline, night: Night, keys: Sequence[str]
) -> list[tuple[int, int]]:
    """The weeks that were due at that night. Weeks that began later are due at the next night."""
    attendance, school_id = attendance_settings(settings), timeline.school_id
    existing = weeks_by_school(keys).get(school_id, {})
    # The day of the night by the platform's calendar, which may differ from ours.
    night_day = timeline.today - (datetime.now(PLATFORM_ZONE).date() - night.began.date())
    return [
        (semester_id, week)
        for semester_id, week in due_weeks(lake, timeline, slice_statuses(lake, school_id), attendance)
        if week in existing.get(semester_id, ())
        and timeline.calendars[semester_id].beginning_of(week) <= night_day
    ]


def _of_weeks(school_id: int, weeks: Iterable[tuple[int, int]]) -> list[TableSlice]:
    """The slices of attendance of some weeks: semester and week."""
    return [_table_slice(spec, school_id, *week) for week in weeks for spec in ATTENDANCE]


def _table_slice(
    spec: ResourceSpec, school_id: int, semester_id: int | None = None, week: int | None = None
) -> TableSlice:
    return spec.name, str(slice_of(spec, school_id, semester_id, week))
