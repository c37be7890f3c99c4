"""Finds the teaching weeks of a school, its present day, and the weeks of attendance that are due."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from campus.attendance.calendar import MONDAY, Calendar, WeekCondition, WeeksBegin, platform_day, weekday_of
from campus.registry import ATTENDANCE, RESOURCES
from loading.semesters import ConfiguredPairs, Semesters, day_1_of, read_semesters, weeks_of
from loading.tables import TABLES, read_rows, slice_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import SliceStatus, SliceStatuses, now, slice_status
from warehouse.load.whole_readings import oldest_due


@dataclass(frozen=True)
class AttendanceSettings:
    """How attendance is read."""

    #: A night finds what a teacher marks so long after a session.
    window: timedelta = timedelta(days=14)
    weeks_begin: WeeksBegin = "auto"
    week_condition: WeekCondition = "within"
    #: Pairs of semesters of v1 and v3, as campus.yaml has them.
    semester_pairs: ConfiguredPairs = field(default_factory=dict)


@dataclass(frozen=True)
class Timeline:
    """The semesters of a school in time."""

    semesters: Semesters
    #: Of semesters with dates, by the ids that requests to v1 name, in the order of time.
    calendars: Mapping[int, Calendar]
    #: By the platform's clock.
    today: date
    #: The weekday (1 is Monday) of the platform's day 1.
    day_1_is: int = MONDAY

    @property
    def school_id(self) -> int:
        return self.semesters.school_id

    @property
    def weeks(self) -> list[tuple[int, int]]:
        """All teaching weeks of all semesters, future weeks included: semester and week."""
        return [
            (semester_id, week)
            for semester_id, calendar in self.calendars.items()
            for week in range(1, calendar.week_count + 1)
        ]

    @property
    def begun(self) -> list[tuple[int, int]]:
        """The teaching weeks that have begun."""
        return [
            (semester_id, week)
            for semester_id, week in self.weeks
            if week in self.calendars[semester_id].weeks_until(self.today)
        ]


def timeline_of(lake: Lake, school_id: int, settings: AttendanceSettings) -> Timeline:
    """Read the timeline of a school from the lake."""
    return timeline_in(lake, read_semesters(lake, school_id, settings.semester_pairs), settings)


def timeline_in(lake: Lake, semesters: Semesters, settings: AttendanceSettings) -> Timeline:
    """The timeline of semesters that are read already. v1 has the teaching days and the current week. v3 has
    the dates of semesters that v1 lacks."""
    school_id = semesters.school_id
    decision = weeks_of(lake, school_id, settings.weeks_begin)
    day_1_is = day_1_of(lake, school_id)
    in_v1 = {row["id"]: row for row in semesters.v1}
    calendars: dict[int, Calendar] = {}
    for semester_id in semesters.ids_of_v1:
        days = semesters.days(semester_id)
        lesson_days = in_v1.get(semester_id, {}).get("lesson_days") or ()
        if days and days[0] <= days[1]:
            calendars[semester_id] = Calendar(
                semester_id,
                *days,
                frozenset(weekday_of(day, day_1_is) for day in lesson_days if day),
                decision.rule,
                settings.week_condition,
                decision.others,
                semesters.days_in_v3(semester_id),
            )
    ordered = dict(sorted(calendars.items(), key=lambda item: (item[1].first, item[0])))
    current = next((in_v1[id] for id in ordered if in_v1.get(id, {}).get("is_current")), None)
    if current is None:
        return Timeline(semesters, ordered, now().date(), day_1_is)
    marked = [weekday_of(day, day_1_is) for day in _days_of_today(lake, school_id, current["id"])]
    today = platform_day(ordered[current["id"]], current["current_week"], marked, now().date())
    return Timeline(semesters, ordered, today, day_1_is)


def weeks_of_night(
    lake: Lake, timeline: Timeline, statuses: SliceStatuses, settings: AttendanceSettings, whole_days: int
) -> dict[tuple[int, int], date | None]:
    """The weeks of a school that a night reads, by semester and week, with the first day that is read: the
    due weeks, and all of the weeks of semesters whose last whole reading is old.

    One request a student returns a whole semester, so the weeks of a semester are read whole together."""
    read_on: defaultdict[int, dict[int, date]] = defaultdict(dict)
    for semester_id, week in timeline.begun:
        both = _statuses_of(statuses, timeline, semester_id, week)
        # Weeks that were never read, or have rows in quarantine, are due by themselves.
        if _read_on(both) is not None:
            whole_at = min(status.whole_at or datetime.min for status in both)
            read_on[semester_id][week] = whole_at.date()
    today = now().date()
    oldest = {semester_id: min(days.values()) for semester_id, days in read_on.items()}
    whole = [
        (semester_id, week)
        for semester_id in oldest_due(oldest, whole_days, today)
        for week, day in read_on[semester_id].items()
        # Weeks that were read whole lately can wait for the next reading of their semester.
        if 2 * (today - day).days >= whole_days
    ]
    return due_weeks(lake, timeline, statuses, settings) | dict.fromkeys(whole)


def due_weeks(
    lake: Lake, timeline: Timeline, statuses: SliceStatuses, settings: AttendanceSettings
) -> dict[tuple[int, int], date | None]:
    """The weeks of a school with sessions that were not read since their window, by semester and week, with
    the first day that is read.

    None, all of the week: it was never loaded, or the dates of its semester have moved. Otherwise a teacher
    may have marked sessions since. Sessions are settled once they were read later than the window after them,
    so that a night makes up for a missed one.

    Args:
        statuses: The slice statuses of the school."""
    due: dict[tuple[int, int], date | None] = dict.fromkeys(_moved(lake, timeline))
    for semester_id, week in timeline.begun:
        if (semester_id, week) in due:
            continue
        last_read = _read_on(_statuses_of(statuses, timeline, semester_id, week))
        if last_read is None:
            due[semester_id, week] = None
            continue
        since = timeline.today - (now().date() - last_read) - settings.window
        if since < timeline.calendars[semester_id].beginning_of(week + 1):
            due[semester_id, week] = since
    return due


def in_spans(weeks: Iterable[int]) -> str:
    """Weeks in words, e.g. `1-5, 7`."""
    spans: list[tuple[int, int]] = []
    for week in sorted(weeks):
        if spans and week == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], week)
        else:
            spans.append((week, week))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _days_of_today(lake: Lake, school_id: int, semester_id: int) -> list[int]:
    spec = RESOURCES["timetable_days"]
    days = read_rows(lake, spec, slice_of(spec, school_id, semester_id), ["day", "is_current"])
    return [row["day"] for row in days if row["is_current"] and row["day"]]


def _moved(lake: Lake, timeline: Timeline) -> set[tuple[int, int]]:
    """The weeks of semesters whose dates have moved, so that sessions count as other weeks than they are
    stored as: weeks that have begun, and others with sessions."""
    columns = ["_semester_id", "_week", "date"]
    sessions = lake.read(TABLES["attendance_sessions"], Slice.of(_school_id=timeline.school_id), columns)
    days = sessions.group_by(columns).aggregate([]).to_pylist()
    stored = {(row["_semester_id"], row["_week"], row["date"]) for row in days}
    planned = set(timeline.weeks)
    moved = {
        semester_id
        for semester_id, week, day in stored
        if (semester_id, week) in planned and timeline.calendars[semester_id].week_of(day) != week
    }
    return {
        week for week in {*timeline.begun, *(place[:2] for place in stored)} & planned if week[0] in moved
    }


def _statuses_of(
    statuses: SliceStatuses, timeline: Timeline, semester_id: int, week: int
) -> list[SliceStatus]:
    """The statuses of a week's sessions and records."""
    slice = slice_of(ATTENDANCE[0], timeline.school_id, semester_id, week)
    return [slice_status(statuses, spec.name, slice) for spec in ATTENDANCE]


def _read_on(both: Sequence[SliceStatus]) -> date | None:
    """The day by our clock on which a week was last read with nothing missing, sessions and records. None:
    never, or rows of it are in quarantine."""
    times = [status.complete_at for status in both if status.complete_at and not status.quarantined]
    return min(times).date() if len(times) == len(both) else None
