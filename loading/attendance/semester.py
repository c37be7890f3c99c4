"""Reads from the lake what the requests for a semester's attendance are made from, and finds changes of class
members, which make attendance of settled weeks doubtful.

A platform may show a student's attendance of a class from before the student joined, and hide it once the
student has left. So a night reads the students or classes of such changes again, in all weeks that it does
not read whole anyway. The stamps of stored rows show the changes. Each week records up to when its changes
were read again (`followed_at`), so that a night that ends early loses none.

A member whose student or class failed to load cannot be requested. So a week does not count as followed until
the list of students or classes was loaded in full after the member. A whole reading finds members that no
list has.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from campus.attendance.calendar import Calendar, ClassTimes, Session, meetings_of
from campus.attendance.plan import AttendancePlan
from campus.attendance.routes import StudentSubset
from campus.attendance.semester import Semester
from campus.contracts.fields import column_names
from campus.contracts.v1_attendance import AttendanceSession
from campus.contracts.v1_people import STUDENT
from campus.registry import ATTENDANCE, RESOURCES
from loading.attendance.weeks import Timeline, timeline_of, weeks_of_night
from loading.connection.runtime import Runtime
from loading.partition_keys import keys_by_school, week_key
from loading.slices.stage import forgotten_ids
from loading.tables import TABLES, read_rows, slice_of, values
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.history.earlier_rows import earlier_rows
from warehouse.load.logs.load_log import SliceStatuses, slice_status, slice_statuses

Row = dict[str, Any]
#: A class and a student.
Pair = tuple[int, int]
#: By semester and week, the first day that is read. None: all of the week.
DueWeeks = Mapping[tuple[int, int], date | None]


@dataclass(frozen=True)
class ChangedMembers:
    """Students who joined or left a class of a semester, or changed as its member."""

    #: When a load found the change.
    moments: Mapping[Pair, datetime] = field(default_factory=dict)
    #: Other members have changed whose student or class is in a list that was not loaded since.
    awaits: bool = False
    #: Why earlier lists cannot be read. Members who may be new then count as new.
    damage: str = ""


@dataclass(frozen=True)
class MembershipChanges:
    """The classes and students of changes in one semester."""

    classes: frozenset[int] = frozenset()
    students: frozenset[int] = frozenset()
    #: Weeks whose attendance is doubtful.
    weeks: tuple[int, ...] = ()
    #: A reading of these students or classes has followed all changes.
    follows: bool = True
    #: Why earlier lists cannot be read. Members who may be new then count as new.
    damage: str = ""


def read_semester(lake: Lake, timeline: Timeline, statuses: SliceStatuses, semester_id: int) -> Semester:
    """One semester as the lake has it. `statuses`: the slice statuses of the school."""
    calendar, school_id = timeline.calendars[semester_id], timeline.school_id
    tables = _SemesterTables(lake, school_id, semester_id, timeline.semesters.in_v3(semester_id))
    classes = tables.rows("v1_classes", ["id", "start_at", "end_in", "week_type", "schedules"])
    users = tables.rows("v1_users", ["id", "usin", "role"])
    enrolled = tables.rows(
        "v1_class_students", ["class_id", "student_id", "usin", "_deleted_at"], alive=False
    )
    # The substitutes of the forgotten are unknown to the platform.
    forgotten = forgotten_ids(lake, school_id)
    students = {row["id"] for row in users if row["role"] == STUDENT} - forgotten
    in_classes = {row["student_id"] for row in enrolled if row["_deleted_at"] is None} - forgotten
    times = [_times(row, timeline.day_1_is) for row in classes]
    sessions = tables.sessions(calendar)
    semester = Semester(
        school_id=school_id,
        calendar=calendar,
        today=timeline.today,
        classes=times,
        members=_members(tables, enrolled, users),
        askable=frozenset(students | in_classes),
        unlisted=frozenset(in_classes - students),
        usins={row["student_id"]: row["usin"] for row in enrolled}
        | {row["id"]: row["usin"] for row in users if row["usin"]},
        stored=sessions,
        lacks_members=tables.has_refused(statuses, "students", "class_members"),
        others=[(other.first, other.last) for other in timeline.calendars.values() if other is not calendar],
    )
    # Stored sessions beyond the schedules took place, whatever the weeks of their class say.
    beyond = {session for week in sessions.values() for session, row in week.items() if not row.scheduled}
    return semester.with_attended(beyond | _in_session(classes, times, timeline))


def student_subset(lake: Lake, plan: AttendancePlan) -> StudentSubset | None:
    """The students of a plan, with the stored records of all other students as counts by session and status.
    None: the plan is of all students."""
    students = plan.students
    if students is None:
        return None
    columns = ["student_id", "class_id", "checked_at", "lesson", "status"]
    calendar = plan.semester.calendar
    slice_ = Slice.of(_school_id=plan.semester.school_id, _semester_id=calendar.semester_id)
    stored = lake.read(TABLES["attendance_records"], slice_, columns)
    is_theirs = pc.is_in(stored["student_id"], value_set=pa.array(sorted(students), pa.int64()))
    further = stored.filter(pc.invert(is_theirs)).group_by(columns[1:]).aggregate([([], "count_all")])
    statuses: dict[Session, Counter[str | None]] = defaultdict(Counter)
    for row in further.to_pylist():
        session = Session(row["class_id"], row["checked_at"], row["lesson"])
        if None not in session and calendar.week_of(session.day) in plan.weeks:
            statuses[session][row["status"]] = row["count_all"]
    classes = frozenset(values(stored.filter(is_theirs), "class_id"))
    return StudentSubset(students, statuses, classes.difference([None]))


def changed_members(
    lake: Lake, timeline: Timeline, statuses: SliceStatuses, semester_id: int, since: datetime
) -> ChangedMembers:
    """The changes of members that were found after `since`, without the forgotten.

    A row of v1 also changes with the photo or grade of its student. So it counts only if v3 does not show
    the change, and the student is new in the list of the class or gone from it."""
    tables = _SemesterTables(lake, timeline.school_id, semester_id, timeline.semesters.in_v3(semester_id))
    if not any(tables.has_changed(name, since) for name in ("v1_class_students", "class_members")):
        return ChangedMembers()
    columns = ["_synced_at", "_deleted_at"]
    enrolled = tables.rows("v1_class_students", ["class_id", "student_id", "usin", *columns], alive=False)
    users = tables.rows("v1_users", ["id", "usin", "role"])
    classes, students = _v1_classes(tables), _v1_students(tables, enrolled, users)
    rows = tables.rows("class_members", ["class_id", "type", "reflection_id", *columns], alive=False)
    of_students = {row["type"] for row in rows if row["reflection_id"] in students}
    moments = defaultdict[Pair, datetime](lambda: datetime.min)
    members: set[Pair] = set()
    former: set[Pair] = set()
    awaits = False
    for row in rows:
        moment = row["_synced_at"]
        lists = ("v1_classes", row["class_id"] in classes), ("students", row["reflection_id"] in students)
        missing = [name for name, has_it in lists if not has_it]
        if missing:
            # A teacher, a class that v1 does not have, or a row that failed to load.
            is_change = moment > since and row["type"] in of_students
            awaits |= is_change and any(tables.is_awaited(statuses, name, moment) for name in missing)
            continue
        pair = classes[row["class_id"]], students[row["reflection_id"]]
        (members if row["_deleted_at"] is None else former).add(pair)
        if moment > since:
            moments[pair] = max(moment, moments[pair])
    listed: dict[Pair, datetime] = {}
    for row in enrolled:
        pair, moment = (row["class_id"], row["student_id"]), row["_synced_at"]
        if moment <= since:
            continue
        if row["_deleted_at"] is None and pair not in members:
            listed[pair] = moment
        elif row["_deleted_at"] is not None and pair not in former - members:
            moments[pair] = max(moment, moments[pair])
    joined, damage = tables.new_members(listed, since)
    for pair, moment in joined.items():
        moments[pair] = max(moment, moments[pair])
    forgotten = forgotten_ids(lake, timeline.school_id)
    return ChangedMembers(
        {pair: moment for pair, moment in moments.items() if pair[1] not in forgotten}, awaits, damage
    )


class _SemesterTables:
    """The lake's tables, limited to one semester of one school. `in_v3`: its id in v3. None: it has none."""

    def __init__(self, lake: Lake, school_id: int, semester_id: int, in_v3: int | None) -> None:
        self._lake, self._school_id = lake, school_id
        self._semester_id, self._in_v3 = semester_id, in_v3

    def rows(self, name: str, columns: list[str], *, alive: bool = True) -> list[Row]:
        spec = RESOURCES[name]
        semester_id = self._semester_id if spec.is_v1 else self._in_v3
        if semester_id is None and spec.sliced_by == "semester":
            return []
        return read_rows(self._lake, spec, slice_of(spec, self._school_id, semester_id), columns, alive=alive)

    def has_refused(self, statuses: SliceStatuses, *names: str) -> bool:
        """Whether any of these resources of v3 was asked for, and never came whole."""
        own_statuses = [
            slice_status(statuses, name, slice_of(RESOURCES[name], self._school_id, self._in_v3))
            for name in names
            if self._in_v3 is not None or RESOURCES[name].sliced_by == "school"
        ]
        return any(status.failed and status.complete_at is None for status in own_statuses)

    def has_changed(self, name: str, since: datetime) -> bool:
        """Whether any row of a resource has changed."""
        rows = self.rows(name, ["_synced_at"], alive=False)
        return any(row["_synced_at"] > since for row in rows)

    def is_awaited(self, statuses: SliceStatuses, name: str, moment: datetime) -> bool:
        """Whether a list may still bring the student or class of a member that was found at a moment: it was
        loaded before, and not in full since."""
        slice = slice_of(RESOURCES[name], self._school_id, self._semester_id)
        complete_at = slice_status(statuses, name, slice).complete_at
        return complete_at is not None and complete_at <= moment

    def new_members(
        self, listed: Mapping[Pair, datetime], since: datetime
    ) -> tuple[dict[Pair, datetime], str]:
        """The listed members that an earlier list of v1 lacks, and when a load found them first. Where an
        earlier list is damaged, members whom it leaves open count as new, and the reason is returned."""
        joined: dict[Pair, datetime] = {}
        rest = dict(listed)
        if not rest:
            return joined, ""
        spec = RESOURCES["v1_class_students"]
        table, slice = TABLES[spec.name], slice_of(spec, self._school_id, self._semester_id)
        columns = ["class_id", "student_id", "_synced_at"]
        try:
            for rows in earlier_rows(self._lake, table, slice, columns):
                before = {(row["class_id"], row["student_id"]): row["_synced_at"] for row in rows.to_pylist()}
                joined |= {pair: moment for pair, moment in rest.items() if pair not in before}
                rest = {pair: before[pair] for pair in rest if before.get(pair, datetime.min) > since}
                if not rest:
                    break
        except DeltaError as error:
            return joined | rest, f"an earlier version of lake table {table.name} cannot be read: {error}"
        return joined, ""

    def sessions(self, calendar: Calendar) -> dict[int, dict[Session, AttendanceSession]]:
        """Stored sessions by the week that they count as now. Where the dates of the semester have moved,
        they were loaded as another week."""
        semester = Slice.of(_school_id=self._school_id, _semester_id=self._semester_id)
        columns = column_names(AttendanceSession)
        by_week: dict[int, dict[Session, AttendanceSession]] = defaultdict(dict)
        for sent in self._lake.read(TABLES["attendance_sessions"], semester, columns).to_pylist():
            row = AttendanceSession(**sent)
            if row.class_id is not None and row.date is not None and row.lesson is not None:
                by_week[calendar.week_of(row.date)][Session(row.class_id, row.date, row.lesson)] = row
        return by_week


def _times(row: Row, day_1_is: int) -> ClassTimes:
    return ClassTimes(
        row["id"],
        meetings_of(((entry["day"], entry["lesson"]) for entry in row["schedules"] or ()), day_1_is),
        row["start_at"] or None,
        row["end_in"] or None,
        row["week_type"] or 0,
    )


def _in_session(rows: Iterable[Row], times: Iterable[ClassTimes], timeline: Timeline) -> set[Session]:
    """Sessions this week at times that the platform marks as current, whatever the weeks of the class are."""
    marked = {
        row["id"]: meetings_of(
            ((entry["day"], entry["lesson"]) for entry in row["schedules"] or () if entry["is_current"]),
            timeline.day_1_is,
        )
        for row in rows
    }
    monday = timeline.today - timedelta(days=timeline.today.weekday())
    return {
        Session(class_times.class_id, monday + timedelta(days=meeting.weekday - 1), meeting.lesson)
        for class_times in times
        for meeting in marked[class_times.class_id]
    }


def _members(
    tables: _SemesterTables, enrolled: Iterable[Row], users: Iterable[Row]
) -> dict[int, dict[int, date]]:
    """By student and class, the student's last day in the class.

    Only v3 shows who has left, as deleted members of classes."""
    members: dict[int, dict[int, date]] = defaultdict(dict)

    def add(student: int, class_id: int, left_at: date | None) -> None:
        last_day = left_at or date.max
        members[student][class_id] = max(last_day, members[student].get(class_id, date.min))

    for row in enrolled:
        add(row["student_id"], row["class_id"], _day(row))
    classes, students = _v1_classes(tables), _v1_students(tables, enrolled, users)
    for row in tables.rows("class_members", ["class_id", "reflection_id", "_deleted_at"], alive=False):
        if row["class_id"] in classes and row["reflection_id"] in students:
            add(students[row["reflection_id"]], classes[row["class_id"]], _day(row))
    return dict(members)


def _day(row: Row) -> date | None:
    return row["_deleted_at"].date() if row["_deleted_at"] else None


def _v1_classes(tables: _SemesterTables) -> dict[int, int]:
    """The v1 id of each class of v3, paired as in the models: the same id unless the codes differ, else the
    one class of the same code or name, else the same id."""
    columns = ["id", "csin", "name", "class_name"]
    v1_rows, v3_rows = tables.rows("v1_classes", columns), tables.rows("classes", columns, alive=False)
    codes = {row["id"]: row["csin"] for row in v1_rows}
    by_code, by_name = _sole(v1_rows, _code), _sole(v1_rows, _name)
    sole_names = _sole(v3_rows, _name)
    v1_ids = {}
    for row in v3_rows:
        own, name = row["id"], _name(row)
        is_named = sole_names.get(name) == own and name in by_name
        if own in codes and codes[own] in (None, "", row["csin"]):
            v1_ids[own] = own
        elif row["csin"] in by_code:
            v1_ids[own] = by_code[row["csin"]]
        elif is_named or own in codes:
            v1_ids[own] = by_name[name] if is_named else own
    return v1_ids


def _code(row: Row) -> str:
    return row["csin"] or ""


def _name(row: Row) -> str:
    return " ".join(part for column in ("name", "class_name") if (part := (row[column] or "").strip()))


def _sole(rows: Sequence[Row], mark: Callable[[Row], str]) -> dict[str, int]:
    """The ids of rows by a mark that is unique among the rows."""
    times = Counter(map(mark, rows))
    return {mark(row): row["id"] for row in rows if mark(row) and times[mark(row)] == 1}


def _v1_students(tables: _SemesterTables, enrolled: Iterable[Row], users: Iterable[Row]) -> dict[int, int]:
    """The v1 id of each student of v3: the same id, or the id of the same number. v1 does not have students
    who have left, so they keep their id."""
    ids = {row["id"] for row in users} | {row["student_id"] for row in enrolled}
    by_usin: dict[str | None, int] = {row["usin"]: row["id"] for row in users if row["usin"]}
    return {
        row["id"]: row["id"] if row["id"] in ids else by_usin.get(row["usin"]) or row["id"]
        for row in tables.rows("students", ["id", "usin"], alive=False)
    }


def membership_changes(
    lake: Lake, timeline: Timeline, statuses: SliceStatuses, semester_id: int, due: DueWeeks
) -> MembershipChanges:
    """The changes since the weeks of a semester were last read whole, or followed.
    `statuses`: the slice statuses of the school."""
    calendar = timeline.calendars[semester_id]
    since = {}
    for week in calendar.weeks_until(timeline.today):
        day = due.get((semester_id, week), date.max)
        if day is not None and day > calendar.beginning_of(week):
            slice = slice_of(ATTENDANCE[0], timeline.school_id, semester_id, week)
            since[week] = min(slice_status(statuses, spec.name, slice).agrees_as_of for spec in ATTENDANCE)
    if not since:
        return MembershipChanges()
    moved = changed_members(lake, timeline, statuses, semester_id, min(since.values()))
    last = max(moved.moments.values(), default=None)
    weeks = {week: moment for week, moment in since.items() if last is not None and last > moment}
    if not weeks:
        return MembershipChanges()
    first = min(weeks.values())
    pairs = [pair for pair, moment in moved.moments.items() if moment > first]
    return MembershipChanges(
        frozenset(class_id for class_id, _ in pairs),
        frozenset(student for _, student in pairs),
        tuple(weeks),
        follows=not moved.awaits,
        damage=moved.damage,
    )


def weeks_to_ask(runtime: Runtime, keys: Iterable[str], *, full: bool) -> list[str]:
    """The partition keys among `keys` that a night loads: of due weeks, and of weeks that changes of members
    made doubtful. `full`: of all weeks that have begun."""
    lake, settings = runtime.lake, runtime.attendance
    selected: list[str] = []
    for school_id, of_school in keys_by_school(keys).items():
        timeline = timeline_of(lake, school_id, settings)
        statuses = slice_statuses(lake, school_id)
        due = weeks_of_night(lake, timeline, statuses, settings, runtime.incremental.whole_days)
        weeks = set(due)
        for semester_id in timeline.calendars:
            changes = membership_changes(lake, timeline, statuses, semester_id, due)
            weeks.update((semester_id, week) for week in changes.weeks)
        due_keys = {week_key(school_id, *week) for week in (weeks.union(timeline.begun) if full else weeks)}
        selected += [key for key in of_school if key in due_keys]
    return selected
