"""The timetable of a semester, without conflicts of classes, teachers or rooms.

Core subjects have the first seven lessons of a day, and electives the last two. So the students of an
administrative class, who choose different electives, have no conflicts either.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

from simulator.school.courses import Course, Semester
from simulator.school.rows import KEYS, Values, semester_of
from simulator.school.timetable.weeks import LESSON_DAYS, TeachingDay

CORE_SLOTS = tuple((day, lesson) for lesson in range(1, 8) for day in LESSON_DAYS)
ELECTIVE_SLOTS = tuple((day, lesson) for lesson in (8, 9) for day in LESSON_DAYS)
# lessons per week by subject code, if the teacher has time
WEEKLY = {"CHN": 5, "MAT": 5, "ENG": 5, "PHY": 3, "CHE": 3, "HIS": 3, "PED": 3, "MUS": 2, "ELE": 2}
IN_THE_TEACHERS_ROOM = ("PHY", "CHE", "PED", "MUS", "ELE")
HOME_ROOMS, TEACHERS_ROOMS = 900_000, 910_000
MOVED_AFTER_WEEK = 6
WITHOUT_TIME = (9, 30)


class Lesson(NamedTuple):
    """A weekly meeting, in weeks from `first` to `last`."""

    day: int
    lesson: int
    room_id: int
    first: int
    last: int


@dataclass(frozen=True)
class Plan:
    """The times and rooms of a class. `lessons`: its schedule; `past`: lessons before it was moved."""

    class_id: int
    start_at: int
    end_in: int
    week_type: int
    rooms: tuple[int, ...]
    lessons: tuple[Lesson, ...] = ()
    past: tuple[Lesson, ...] = ()
    timeless: tuple[Values, ...] = ()  # schedule entries with day or lesson 0, which have no time

    def schedules(self) -> list[Values]:
        """The schedule entries as the platform sends them."""
        entries = [{"day": m.day, "lesson": m.lesson, "location_id": m.room_id} for m in self.lessons]
        return [*entries, *self.timeless]

    def meetings(self, days: list[TeachingDay]) -> Iterator[tuple[TeachingDay, int]]:
        """Every teaching day and lesson on which the class meets, in order."""
        by_weekday: dict[int, list[Lesson]] = {}
        for meeting in sorted((*self.lessons, *self.past)):
            by_weekday.setdefault(meeting.day, []).append(meeting)
        for day in days:
            if self.is_on(day.week):
                for meeting in by_weekday.get(day.weekday, ()):
                    if meeting.first <= day.week <= meeting.last:
                        yield day, meeting.lesson

    def is_on(self, week: int) -> bool:
        """Whether the class meets in a week."""
        return in_week(self.start_at, self.end_in, self.week_type, week)


def in_week(start_at: int, end_in: int, week_type: int, week: int) -> bool:
    """Whether a class meets in a week: within its span, and in odd (1) or even (2) weeks if limited."""
    return start_at <= week <= end_in and (week_type == 0 or week % 2 == week_type % 2)


def room_name(room_id: int) -> str:
    """The name of a room: rooms of administrative classes and rooms of teachers."""
    if room_id >= TEACHERS_ROOMS:
        return f"综合楼{room_id - TEACHERS_ROOMS}室"
    return f"教学楼{room_id - HOME_ROOMS}室"


def build(seed: int, semester: Semester, weeks: int, double_booked: int = 0) -> dict[int, Plan]:
    """The plans of all classes of a semester. `double_booked`: one of so many classes meets once a week in a
    room that another class uses then."""
    homes = {row.key: row.values["admin_class_ids"] for row in semester.classes}
    drafts = {
        key: _Draft.of(course, homes[key], Random(f"{seed}/timetable/{key}"))
        for key, course in semester.courses.items()
    }
    taken: set[tuple[int, int, str]] = set()
    # A lesson per round for each class, so that a teacher of many classes is shared evenly.
    for round_ in range(max(WEEKLY.values())):
        for draft in drafts.values():
            if round_ < draft.wanted:
                draft.take(taken)
    for draft in drafts.values():
        if draft.is_moved:
            draft.take(taken)
    plans = {key: draft.plan(key, weeks) for key, draft in drafts.items()}
    for key in list(plans)[double_booked - 1 :: double_booked] if double_booked else ():
        plans[key] = _double_booked(plans[key], plans.values())
    return plans


def _double_booked(plan: Plan, others: Iterable[Plan]) -> Plan:
    """The plan with its first lesson in a room that another class uses then; unchanged if there is none."""
    if not plan.lessons:
        return plan
    first = plan.lessons[0]
    rooms = [
        lesson.room_id
        for other in others
        for lesson in other.lessons
        if (lesson.day, lesson.lesson) == (first.day, first.lesson) and lesson.room_id not in plan.rooms
    ]
    if not rooms:
        return plan
    lessons = (first._replace(room_id=rooms[0]), *plan.lessons[1:])
    return replace(plan, lessons=lessons, rooms=(*plan.rooms, rooms[0]))


@dataclass
class _Draft:
    code: str
    parties: tuple[str, ...]  # teachers and classes that must not have conflicts
    slots: list[tuple[int, int]]
    wanted: int
    home_room: int
    teachers_room: int
    is_moved: bool
    assigned: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, course: Course, admin_class_ids: list[int], rng: Random) -> "_Draft":
        code = course.csin.split("-")[1]
        elective = code == "ELE"
        slots = list(ELECTIVE_SLOTS if elective else CORE_SLOTS)
        rng.shuffle(slots)
        parties = [f"teacher {teacher.id}" for teacher in course.teachers]
        if not elective:
            parties += [f"class {key}" for key in admin_class_ids]
        return cls(
            code,
            tuple(parties),
            slots,
            0 if _number(course.id) % 41 in WITHOUT_TIME else WEEKLY[code],
            HOME_ROOMS + admin_class_ids[0] % 10_000,
            TEACHERS_ROOMS + course.teachers[0].id % 1_000_000,
            not elective and _number(course.id) % 19 == 2,
        )

    def take(self, taken: set[tuple[int, int, str]]) -> None:
        """Assign a slot in which all parties are free, if any, on a new day if possible."""
        days = {day for day, _ in self.assigned}
        free = [s for s in self.slots if not any((*s, party) in taken for party in self.parties)]
        if free:
            slot = min(free, key=lambda s: s[0] in days)
            self.assigned.append(slot)
            taken.update((*slot, party) for party in self.parties)

    def plan(self, key: int, weeks: int) -> Plan:
        number = _number(key)
        start_at = min(3, weeks - 1) if number % 17 == 3 else 1
        end_in = max(weeks - 4, 2) if number % 17 in (3, 4) else weeks
        week_type = {5: 1, 6: 2}.get(number % 13, 0)
        rooms = [self.home_room] if self.code != "ELE" else []
        if self.code in IN_THE_TEACHERS_ROOM:
            rooms.append(self.teachers_room)
        lessons = [
            Lesson(day, lesson, rooms[n % len(rooms)], start_at, end_in)
            for n, (day, lesson) in enumerate(self.assigned)
        ]
        past: list[Lesson] = []
        if self.is_moved and len(lessons) > 1 and len(self.assigned) > self.wanted:
            past = [lessons[0]._replace(last=MOVED_AFTER_WEEK)]
            lessons = [*lessons[1:-1], lessons[-1]._replace(first=MOVED_AFTER_WEEK + 1)]
        return Plan(
            class_id=key,
            start_at=start_at,
            end_in=end_in,
            week_type=week_type,
            rooms=tuple(rooms),
            lessons=tuple(lessons),
            past=tuple(past),
            timeless=_timeless(number, rooms[0]),
        )


def _number(class_id: int) -> int:
    """The number of a class in its semester, which gives a few classes the same peculiarities in every
    semester."""
    return class_id - KEYS["classes"].key(semester_of(class_id), 0)


def _timeless(number: int, room_id: int) -> tuple[Values, ...]:
    """The schedule entries without a time, of a few classes."""
    entries: dict[int, Values] = {9: {"day": 0, "lesson": 0}, 10: {"day": 3, "lesson": 0}}
    entry = entries.get(number % 41)
    return ({**entry, "location_id": room_id},) if entry else ()
