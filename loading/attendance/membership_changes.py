"""Finds changes of class members, which make attendance of settled weeks doubtful.

A platform may show a student's attendance of a class from before the student joined, and hide it once the
student has left. So a night reads the students or classes of such changes again, in all weeks that it does
not read whole anyway. The stamps of stored rows show the changes. Each week records up to when its changes
were read again (`followed_at`), so that a night that ends early loses none.

A member whose student or class failed to load cannot be requested. So a week does not count as followed until
the list of students or classes was loaded in full after the member. A whole reading finds members that no
list has.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from campus.registry import ATTENDANCE
from loading.attendance.semester import changed_members
from loading.attendance.weeks import Timeline, timeline_of, weeks_of_night
from loading.connection.runtime import Runtime
from loading.partition_keys import keys_by_school, week_key
from loading.tables import slice_of
from warehouse.lake.delta import Lake
from warehouse.load.logs.load_log import SliceStatuses, slice_status, slice_statuses

#: By semester and week, the first day that is read. None: all of the week.
DueWeeks = Mapping[tuple[int, int], date | None]


@dataclass(frozen=True)
class MembershipChanges:
    """The classes and students of changes in one semester."""

    classes: frozenset[int] = frozenset()
    students: frozenset[int] = frozenset()
    #: Weeks whose attendance is doubtful.
    weeks: tuple[int, ...] = ()
    #: A reading of these students or classes has followed all changes.
    follows: bool = True
    #: As `ChangedMembers` has it.
    damage: str = ""


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
    for school_id, own in keys_by_school(keys).items():
        timeline = timeline_of(lake, school_id, settings)
        statuses = slice_statuses(lake, school_id)
        due = weeks_of_night(lake, timeline, statuses, settings, runtime.incremental.whole_days)
        weeks = set(due)
        for semester_id in timeline.calendars:
            changes = membership_changes(lake, timeline, statuses, semester_id, due)
            weeks.update((semester_id, week) for week in changes.weeks)
        wanted = {week_key(school_id, *week) for week in (weeks.union(timeline.begun) if full else weeks)}
        selected += [key for key in own if key in wanted]
    return selected
