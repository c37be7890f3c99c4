"""Changes of who is in which class: they make attendance doubtful that no night would ask for again.

A platform may show a student's attendance of a class from before the student joined, and hide it once the
student has left. So a night reads the students or classes of such changes again, in all weeks that it does
not read whole anyway. What has changed follows from the stamps of the rows that are held. Which of it was
read again is known of each week (`followed_at`), so that a night which ends early loses none of it.

A member whose own student or class failed to load cannot be asked for. So a week does not count as followed
until the list of students or classes has come in full after the member. Whoever is in no such list is not
waited for any longer: a whole reading of the week finds them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from campus.registry import ATTENDANCE
from loading.attendance.semester import changed_members
from loading.attendance.weeks import AttendanceSettings, Timeline, due_weeks, timeline_of
from loading.partition_keys import keys_by_school, week_key
from loading.tables import slice_of
from warehouse.lake.delta import Lake
from warehouse.load.load_log import SliceStatuses, slice_status, slice_statuses

#: Weeks by semester and number, each with the day from which on it is read; None: all of it.
DueWeeks = Mapping[tuple[int, int], date | None]


@dataclass(frozen=True)
class MembershipChanges:
    """The classes and students of changes in one semester, and the weeks of attendance that they concern.
    `follows`: whoever reads them again has followed all changes; `damage`: as `ChangedMembers` has it."""

    classes: frozenset[int] = frozenset()
    students: frozenset[int] = frozenset()
    weeks: tuple[int, ...] = ()
    follows: bool = True
    damage: str = ""


def membership_changes(
    lake: Lake, timeline: Timeline, known: SliceStatuses, semester_id: int, due: DueWeeks
) -> MembershipChanges:
    """What was found to have changed since the weeks of a semester were last read whole, or followed.
    `known`: the slice statuses of the school."""
    calendar = timeline.calendars[semester_id]
    since = {}
    for week in calendar.weeks_until(timeline.today):
        day = due.get((semester_id, week), date.max)
        if day is not None and day > calendar.beginning_of(week):
            slice = slice_of(ATTENDANCE[0], timeline.school_id, semester_id, week)
            since[week] = min(slice_status(known, spec.name, slice).agrees_as_of for spec in ATTENDANCE)
    if not since:
        return MembershipChanges()
    moved = changed_members(lake, timeline, known, semester_id, min(since.values()))
    last = max(moved.found.values(), default=None)
    weeks = {week: moment for week, moment in since.items() if last is not None and last > moment}
    if not weeks:
        return MembershipChanges()
    first = min(weeks.values())
    pairs = [pair for pair, moment in moved.found.items() if moment > first]
    return MembershipChanges(
        frozenset(class_id for class_id, _ in pairs),
        frozenset(student for _, student in pairs),
        tuple(weeks),
        follows=not moved.awaits,
        damage=moved.damage,
    )


def weeks_to_ask(lake: Lake, settings: AttendanceSettings, keys: Iterable[str], *, full: bool) -> list[str]:
    """The partition keys among `keys` that a night asks for: those of due weeks, and of weeks that changes of
    members concern; `full`: of all that have begun."""
    asked: list[str] = []
    for school_id, own in keys_by_school(keys).items():
        timeline = timeline_of(lake, school_id, settings)
        known = slice_statuses(lake, school_id)
        due = due_weeks(lake, timeline, known, settings)
        weeks = set(due)
        for semester_id in timeline.calendars:
            changes = membership_changes(lake, timeline, known, semester_id, due)
            weeks.update((semester_id, week) for week in changes.weeks)
        wanted = {week_key(school_id, *each) for each in (weeks.union(timeline.begun) if full else weeks)}
        asked += [key for key in own if key in wanted]
    return asked
