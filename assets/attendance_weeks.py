"""Which teaching weeks a school has, which day it is there, and which weeks of attendance are due."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from assets.partitions import keys_by_school, week_key
from assets.tables import TABLES, slice_of
from campus.attendance.calendar import Calendar, WeekCondition, WeeksBegin, platform_day
from campus.resources import ATTENDANCE, RESOURCES
from warehouse.lake import Lake
from warehouse.quality import now, standings
from warehouse.tables import Slice


@dataclass(frozen=True)
class AttendanceSettings:
    """How attendance is read. `window`: how long after a session a teacher may mark it and a night still
    finds it. For the others see campus.attendance.calendar."""

    window: timedelta = timedelta(days=14)
    weeks_begin: WeeksBegin = "monday"
    week_condition: WeekCondition = "within"


@dataclass(frozen=True)
class Timeline:
    """A school's semesters that have dates, in the order of time, and today by the platform's clock."""

    calendars: Mapping[int, Calendar]
    today: date

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
    """What the lake holds of a school's time. The v1 interface tells teaching days and the current week;
    semesters that it has not told of have their dates from v3."""
    rows = lake.read(
        TABLES["semesters"], slice_of(RESOURCES["semesters"], school_id), ["id", "start_at", "end_at"]
    ).to_pylist()
    v1_semesters = RESOURCES["v1_semesters"]
    columns = ["id", "start_at", "end_in", "lesson_days", "is_current", "current_week"]
    told = {
        row["id"]: row
        for row in lake.read(
            TABLES[v1_semesters.name], slice_of(v1_semesters, school_id), columns
        ).to_pylist()
    }
    calendars: dict[int, Calendar] = {}
    for row in rows:
        own = told.get(row["id"], {})
        first, last = own.get("start_at") or row["start_at"], own.get("end_in") or row["end_at"]
        if first and last and first <= last:
            calendars[row["id"]] = Calendar(
                row["id"],
                first.date(),
                last.date(),
                frozenset(own.get("lesson_days") or ()),
                settings.weeks_begin,
                settings.week_condition,
            )
    ordered = dict(sorted(calendars.items(), key=lambda item: (item[1].first, item[0])))
    current = next((row for row in told.values() if row["is_current"] and row["id"] in calendars), None)
    if current is None:
        return Timeline(ordered, now().date())
    marked = _weekdays_of_today(lake, school_id, current["id"])
    return Timeline(
        ordered, platform_day(calendars[current["id"]], current["current_week"], marked, now().date())
    )


def due_weeks(
    lake: Lake, school_id: int, timeline: Timeline, settings: AttendanceSettings
) -> dict[tuple[int, int], date | None]:
    """The weeks of a school that a night asks for, by semester and week: those that have begun and were never
    loaded, or whose semester has moved (None), and those of which somebody may since have marked a session:
    from which day on.

    Sessions are settled once they were read later than the window after them, so a night that was missed is
    made up for by the next one."""
    read_on = _read_on(lake, school_id)
    due: dict[tuple[int, int], date | None] = dict.fromkeys(_moved(lake, school_id, timeline))
    for semester_id, week in timeline.begun:
        if (semester_id, week) in due:
            continue
        last_read = read_on.get(f"{school_id}|{semester_id}|{week}")
        if last_read is None:
            due[semester_id, week] = None
            continue
        since = timeline.today - (now().date() - last_read) - settings.window
        if since < timeline.calendars[semester_id].beginning_of(week + 1):
            due[semester_id, week] = since
    return due


def weeks_to_ask(lake: Lake, settings: AttendanceSettings, keys: Iterable[str], *, full: bool) -> list[str]:
    """The partition keys among `keys` that a night asks for: those of due weeks; `full`: of all that have
    begun."""
    asked: list[str] = []
    for school_id, own in keys_by_school(keys).items():
        timeline = timeline_of(lake, school_id, settings)
        due = due_weeks(lake, school_id, timeline, settings)
        weeks = [*due, *timeline.begun] if full else due
        wanted = {week_key(school_id, *each) for each in weeks}
        asked += [key for key in own if key in wanted]
    return asked


def _weekdays_of_today(lake: Lake, school_id: int, semester_id: int) -> list[int]:
    spec = RESOURCES["timetable_days"]
    days = lake.read(
        TABLES[spec.name], slice_of(spec, school_id, semester_id), ["day", "is_current"]
    ).to_pylist()
    return [row["day"] for row in days if row["is_current"]]


def _moved(lake: Lake, school_id: int, timeline: Timeline) -> set[tuple[int, int]]:
    """The weeks of the semesters whose dates have moved, so that sessions count as other weeks now than those
    that they are held as: weeks that have begun, and others that hold any."""
    columns = ["_semester_id", "_week", "date"]
    sessions = lake.read(TABLES["attendance_sessions"], Slice.of(_school_id=school_id), columns)
    days = sessions.group_by(columns).aggregate([]).to_pylist()
    held = {(row["_semester_id"], row["_week"], row["date"]) for row in days}
    planned = set(timeline.weeks)
    moved = {
        semester_id
        for semester_id, week, day in held
        if (semester_id, week) in planned and timeline.calendars[semester_id].week_of(day) != week
    }
    return {each for each in {*timeline.begun, *(one[:2] for one in held)} & planned if each[0] in moved}


def _read_on(lake: Lake, school_id: int) -> dict[str, date]:
    """On which day by our clock each week was last read with nothing missing, sessions and records."""
    known = standings(lake, school_id)
    sessions, records = (known.get(spec.name, {}) for spec in ATTENDANCE)
    both = {
        slice: (sessions[slice].complete_at, records[slice].complete_at)
        for slice in sessions.keys() & records.keys()
    }
    return {slice: min(one, other).date() for slice, (one, other) in both.items() if one and other}
