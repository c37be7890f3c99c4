"""Which teaching weeks a school has, which day it is there, and which weeks of attendance are due."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from campus.attendance.calendar import Calendar, WeekCondition, platform_day
from campus.attendance.week_days import MONDAY, weekday_of
from campus.attendance.week_rules import WeeksBegin
from campus.registry import ATTENDANCE, RESOURCES
from loading.semesters import Semesters, ToldPairs, day_1_of, read_semesters, weeks_of
from loading.tables import TABLES, slice_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.load_log import SliceStatuses, now, slice_status


@dataclass(frozen=True)
class AttendanceSettings:
    """How attendance is read. `window`: how long after a session a teacher may mark it and a night still
    finds it. `semester_pairs`: what campus.yaml says of semesters of v1 and v3. For the others see
    campus.attendance."""

    window: timedelta = timedelta(days=14)
    weeks_begin: WeeksBegin = "auto"
    week_condition: WeekCondition = "within"
    semester_pairs: ToldPairs = field(default_factory=dict)


@dataclass(frozen=True)
class Timeline:
    """A school's semesters that have dates, by the ids that v1 is asked with, in the order of time, and today
    by the platform's clock. `day_1_is`: which weekday (1 is Monday) its day 1 is."""

    semesters: Semesters
    calendars: Mapping[int, Calendar]
    today: date
    day_1_is: int = MONDAY

    @property
    def school_id(self) -> int:
        return self.semesters.school_id

    @property
    def weeks(self) -> list[tuple[int, int]]:
        """All teaching weeks of all semesters, those to come too: semester and week."""
        return [
            (semester_id, week)
            for semester_id, calendar in self.calendars.items()
            for week in range(1, calendar.week_count + 1)
        ]

    @property
    def begun(self) -> list[tuple[int, int]]:
        """Those of them that have begun."""
        return [
            (semester_id, week)
            for semester_id, week in self.weeks
            if week in self.calendars[semester_id].weeks_until(self.today)
        ]


def timeline_of(lake: Lake, school_id: int, settings: AttendanceSettings) -> Timeline:
    """What the lake holds of a school's time."""
    return timeline_in(lake, read_semesters(lake, school_id, settings.semester_pairs), settings)


def timeline_in(lake: Lake, semesters: Semesters, settings: AttendanceSettings) -> Timeline:
    """The same for semesters that are read already. The v1 interface tells teaching days and the current
    week; semesters that it has not told of have their dates from v3."""
    school_id = semesters.school_id
    decision = weeks_of(lake, school_id, settings.weeks_begin)
    day_1_is = day_1_of(lake, school_id)
    told = {row["id"]: row for row in semesters.v1}
    calendars: dict[int, Calendar] = {}
    for semester_id in semesters.ids_of_v1:
        days = semesters.days(semester_id)
        lesson_days = told.get(semester_id, {}).get("lesson_days") or ()
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
    current = next((told[each] for each in ordered if told.get(each, {}).get("is_current")), None)
    if current is None:
        return Timeline(semesters, ordered, now().date(), day_1_is)
    marked = [weekday_of(day, day_1_is) for day in _days_of_today(lake, school_id, current["id"])]
    today = platform_day(ordered[current["id"]], current["current_week"], marked, now().date())
    return Timeline(semesters, ordered, today, day_1_is)


def due_weeks(
    lake: Lake, timeline: Timeline, known: SliceStatuses, settings: AttendanceSettings
) -> dict[tuple[int, int], date | None]:
    """The weeks of a school that a night asks for, by semester and week: those that have begun and were never
    loaded, or whose semester has moved (None), and those of which somebody may since have marked a session:
    from which day on. `known`: the slice statuses of the school.

    Sessions are settled once they were read later than the window after them, so a night that was missed is
    made up for by the next one."""
    due: dict[tuple[int, int], date | None] = dict.fromkeys(_moved(lake, timeline))
    for semester_id, week in timeline.begun:
        if (semester_id, week) in due:
            continue
        last_read = _read_on(known, slice_of(ATTENDANCE[0], timeline.school_id, semester_id, week))
        if last_read is None:
            due[semester_id, week] = None
            continue
        since = timeline.today - (now().date() - last_read) - settings.window
        if since < timeline.calendars[semester_id].beginning_of(week + 1):
            due[semester_id, week] = since
    return due


def _days_of_today(lake: Lake, school_id: int, semester_id: int) -> list[int]:
    spec = RESOURCES["timetable_days"]
    days = lake.read(
        TABLES[spec.name], slice_of(spec, school_id, semester_id), ["day", "is_current"]
    ).to_pylist()
    return [row["day"] for row in days if row["is_current"] and row["day"]]


def _moved(lake: Lake, timeline: Timeline) -> set[tuple[int, int]]:
    """The weeks of the semesters whose dates have moved, so that sessions count as other weeks now than those
    that they are held as: weeks that have begun, and others that hold any."""
    columns = ["_semester_id", "_week", "date"]
    sessions = lake.read(TABLES["attendance_sessions"], Slice.of(_school_id=timeline.school_id), columns)
    days = sessions.group_by(columns).aggregate([]).to_pylist()
    held = {(row["_semester_id"], row["_week"], row["date"]) for row in days}
    planned = set(timeline.weeks)
    moved = {
        semester_id
        for semester_id, week, day in held
        if (semester_id, week) in planned and timeline.calendars[semester_id].week_of(day) != week
    }
    return {each for each in {*timeline.begun, *(one[:2] for one in held)} & planned if each[0] in moved}


def _read_on(known: SliceStatuses, slice: Slice) -> date | None:
    """The day by our clock on which a week was last read with nothing missing, sessions and records. None:
    never, or rows of it are in quarantine."""
    both = [slice_status(known, spec.name, slice) for spec in ATTENDANCE]
    times = [each.complete_at for each in both if each.complete_at and not each.quarantined]
    return min(times).date() if len(times) == len(both) else None
