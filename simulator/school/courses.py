"""The course classes of a semester and their members."""

from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random

from simulator.school import names
from simulator.school.base import AdminClass, School
from simulator.school.calendar import Term, moment, stamp
from simulator.school.people import Person
from simulator.school.rows import KEYS, Row, Values
from simulator.settings import Size

ELECTIVE_SIZE = 33
DROPPED_SHARE = 0.015  # of members, within a semester
EVERY_NTH_ELECTIVE_CANCELLED = 12
EVERY_NTH_WITHOUT_ASSESSMENT = 17


def credit(class_id: int) -> float:
    """The credit of a course class, the same in v1 and v3."""
    return 1 + class_id % 3 if class_id % 7 else 0.5


@dataclass(frozen=True)
class Course:
    """A course class, with the input for its assessment."""

    id: int
    school_id: int
    semester_id: int
    term: Term
    name: str
    csin: str
    teachers: list[Person]
    students: list[int]  # the live members
    has_assessment: bool
    today: date

    @property
    def last_day(self) -> date:
        return min(self.term.end, self.today)


@dataclass
class Semester:
    """The rows of a semester's classes; members by class."""

    classes: list[Row] = field(default_factory=list)
    members: dict[int, list[Row]] = field(default_factory=dict)
    courses: dict[int, Course] = field(default_factory=dict)


@dataclass(frozen=True)
class _Offer:
    """The plan of a course class."""

    name: str
    code: str
    class_name: str
    subject_id: int | None
    domain_id: int | None
    admin_classes: list[AdminClass]
    students: list[Person]
    teachers: list[Person]
    cancelled: bool = False


def build(size: Size, school: School, semester_id: int) -> Semester:
    """Generate a semester: core subjects by administrative class, and a mixed elective per student."""
    rng = Random(f"{size.seed}/semester/{semester_id}")
    term = school.semesters[semester_id]
    made = Semester()
    for number, offer in enumerate([*_core(size, school, term), *_electives(rng, school)], 1):
        key = KEYS["classes"].key(semester_id, number)
        _add(made, rng, size, school, semester_id, key, offer)
    return made


def _core(size: Size, school: School, term: Term) -> list[_Offer]:
    subjects = {name: (code, domain) for name, code, domain, _ in names.SUBJECTS}
    years_ago = max(t.year for t in school.semesters.values()) - term.year
    return [
        _Offer(
            name=f"{names.GRADES[max(admin.grade.index - years_ago, 0)]}{subject}",
            code=subjects[subject][0],
            class_name=f"{admin.number}班",
            subject_id=school.subject_ids[subject],
            domain_id=school.domain_ids[subjects[subject][1]],
            admin_classes=[admin],
            students=admin.students,
            teachers=[_teacher(school, subject, admin.id)],
        )
        for admin in school.admin_classes
        for subject in names.CORE_SUBJECTS[: size.core_subjects]
    ]


def _teacher(school: School, subject: str, number: int) -> Person:
    staff = [t for t in school.teachers[subject] if t.left is None] or school.teachers[subject]
    return staff[number % len(staff)]


def _electives(rng: Random, school: School) -> list[_Offer]:
    """Classes across the administrative classes of a grade. Some have two teachers, a few are cancelled."""
    offers: list[_Offer] = []
    by_grade: dict[int, list[AdminClass]] = {}
    for admin in school.admin_classes:
        by_grade.setdefault(admin.grade.index, []).append(admin)
    for admins in by_grade.values():
        students = [s for admin in admins for s in admin.students]
        rng.shuffle(students)
        home = {s.id: admin for admin in admins for s in admin.students}
        for start in range(0, len(students), ELECTIVE_SIZE):
            chosen = students[start : start + ELECTIVE_SIZE]
            number = len(offers)
            teachers = [
                _teacher(school, subject, number)
                for subject in rng.sample(names.CORE_SUBJECTS, 1 + number % 2)
            ]
            offers.append(
                _Offer(
                    name=names.ELECTIVES[number % len(names.ELECTIVES)],
                    code="ELE",
                    class_name=f"选修{number + 1}班",
                    subject_id=None,
                    domain_id=school.domain_ids[-1] if number % 3 else None,
                    admin_classes=sorted(
                        {home[s.id].id: home[s.id] for s in chosen}.values(), key=lambda c: c.id
                    ),
                    students=chosen,
                    teachers=teachers,
                    cancelled=number % EVERY_NTH_ELECTIVE_CANCELLED == 5,
                )
            )
    return offers


def _add(
    made: Semester, rng: Random, size: Size, school: School, semester_id: int, key: int, offer: _Offer
) -> None:
    term = school.semesters[semester_id]
    last_day = min(term.end, size.today)
    created = stamp(term.start, 21_600 + rng.randrange(3600))
    cancelled = stamp(min(term.start + timedelta(days=10), last_day), 61_200) if offer.cancelled else None
    members = _members(rng, term, last_day, key, offer, created, cancelled)
    if size.rejoined and not cancelled:
        members = _with_rejoined(members, size.rejoined, term, last_day, key)
    students = [
        m.values["reflection_id"] for m in members if m.values["type"] == "student" and not m.deleted_at
    ]
    csin = f"{term.year}{term.half}-{offer.code}-{key % 100_000:05d}"
    values: Values = {
        "id": key,
        "school_id": school.id,
        "semester_id": semester_id,
        "csin": csin,
        "name": offer.name,
        "class_name": offer.class_name,
        "grade_ids": [offer.admin_classes[0].grade.structure_id] if rng.random() > 0.02 else None,
        "subject_id": offer.subject_id,
        "domain_id": offer.domain_id,
        "structure_ids": [offer.admin_classes[0].grade.structure_id] if offer.subject_id else None,
        "admin_class_ids": [c.id for c in offer.admin_classes],
        "teachers": [t.id for t in offer.teachers],
        "students": students,
        "created_at": created,
        "updated_at": cancelled or max(created, moment(rng, term.start, last_day)),
    }
    made.classes.append(Row(key, values, values["updated_at"], cancelled))
    made.members[key] = members
    made.courses[key] = Course(
        id=key,
        school_id=school.id,
        semester_id=semester_id,
        term=term,
        name=offer.name,
        csin=csin,
        teachers=offer.teachers,
        students=students,
        has_assessment=not cancelled and key % EVERY_NTH_WITHOUT_ASSESSMENT != 7,
        today=size.today,
    )


def _members(
    rng: Random, term: Term, last_day: date, class_id: int, offer: _Offer, created: str, cancelled: str | None
) -> list[Row]:
    """Teachers and students. Members who left the school or the class are deleted rows."""
    rows: list[Row] = []
    people = [("teacher", t) for t in offer.teachers] + [("student", s) for s in offer.students]
    for type_, someone in people:
        if someone.left and someone.left < term.start:
            continue
        deleted = cancelled
        if someone.left and someone.left <= last_day:
            deleted = cancelled or stamp(someone.left, 64_800)
        elif type_ == "student" and not cancelled and rng.random() < DROPPED_SHARE:
            deleted = moment(rng, term.start + timedelta(days=1), last_day)
        values: Values = {
            "type": type_,
            "reflection_id": someone.id,
            "class_together": rng.choice((True, True, False, None)) if type_ == "student" else None,
            "deleted_at": deleted,
            "created_at": created,
            "updated_at": deleted or created,
        }
        key = KEYS["class_members"].key(class_id, len(rows) + 1)
        rows.append(Row(key, values, values["updated_at"], deleted))
    return rows


def _with_rejoined(members: list[Row], every: int, term: Term, last_day: date, class_id: int) -> list[Row]:
    """Let one of so many students leave the class and join it again, and every second of them twice. Earlier
    memberships are deleted rows with the same type and reflection_id."""

    def day(number: int) -> str:
        return stamp(min(term.start + timedelta(days=number), last_day), 43_200)

    rows = list(members)
    live = [i for i, m in enumerate(members) if m.values["type"] == "student" and not m.deleted_at]
    for place, index in enumerate(live[::every]):
        times = 1 + place % 2
        for number in range(times):
            left = day(2 * number + 1)
            joined = members[index].values["created_at"] if number == 0 else day(2 * number)
            earlier = {"created_at": joined, "deleted_at": left, "updated_at": left}
            key = KEYS["class_members"].key(class_id, len(rows) + 1)
            rows.append(Row(key, members[index].values | earlier, left, left))
        back = {"created_at": day(2 * times), "updated_at": day(2 * times)}
        rows[index] = Row(members[index].key, members[index].values | back, back["updated_at"])
    return rows
