"""Raw rows of schools in which cohorts move up for three academic years.

SENIOR names its grades in each v1 semester, JUNIOR in the structures of today, SILENT nowhere. FOUR_YEARS is
a junior school of four years: by the default levels of its grade names, nobody would graduate from grade 9.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

SENIOR, SILENT, JUNIOR, FOUR_YEARS = 1, 2, 3, 4
#: The first day of each autumn semester. The semester's id is the year in which its academic year begins.
FIRST_DAYS = {2023: date(2023, 9, 4), 2024: date(2024, 9, 2), 2025: date(2025, 9, 1)}
WEEKS = (1, 2, 3)
STUDENTS = 4
#: The names of the grades, the last first.
NAMES = {
    SENIOR: ("高三", "高二", "高一"),
    SILENT: ("C", "B", "A"),
    JUNIOR: ("初三", "初二", "初一"),
    FOUR_YEARS: ("初四", "初三", "初二", "初一"),
}

Row = Mapping[str, object]


def cohorts(school: int, year: int) -> range:
    """The years of graduation of the cohorts at a school in an academic year."""
    return range(year + 1, year + 1 + len(NAMES[school]))


def is_present(student: int, year: int, week: int) -> bool:
    return (student * student + week * student + year) % 7 > 1


def score(student: int, year: int) -> int:
    return 40 + (student * 13 + year * 7) % 60


def students(graduates_in: int) -> range:
    return range(graduates_in * 10, graduates_in * 10 + STUDENTS)


def tables() -> Mapping[str, Sequence[Row]]:
    """The rows by table."""
    made: dict[str, list[Row]] = {}
    for school in NAMES:
        for table, row in _rows(school):
            made.setdefault(table, []).append({"_school_id": school, **row})
    return made


def _rows(school: int) -> Iterator[tuple[str, Row]]:
    last_year = max(FIRST_DAYS)
    yield "schools", {"id": school, "name": f"学校{school}"}
    yield "terms", {"id": 200, "type": "system.semester_category", "name": "上学期", "parent_id": 0}
    for graduates_in in sorted({cohort for year in FIRST_DAYS for cohort in cohorts(school, year)}):
        name = str(graduates_in)
        yield (
            "terms",
            {"id": graduates_in - 2000, "type": "system.graduates_in", "name": name, "label": f"{name}届"},
        )
        members = ", ".join(f"{{'id': {student}}}" for student in students(graduates_in))
        yield (
            "admin_classes",
            {"id": graduates_in, "name": "1班", "graduates_in_id": graduates_in - 2000}
            | {"students": f"[{members}]"},
        )
        for student in students(graduates_in):
            yield (
                "students",
                {"id": student, "name": f"学生{student}", "role": "student", "usin": str(student)}
                | {"graduates_in_id": graduates_in - 2000},
            )
    for year, first_day in FIRST_DAYS.items():
        yield (
            "terms",
            {"id": year, "type": "system.academic_year", "name": f"{year}-{year + 1}", "parent_id": 0},
        )
        last_day = first_day + timedelta(days=7 * 18 - 1)
        semester = {"id": year, "name": f"{year}-{year + 1}上", "is_current": year == last_year}
        yield "semesters", {**semester, "academic_year_id": year, "category_id": 200}
        names = dict(zip(NAMES[school], cohorts(school, year), strict=True))
        grade_maps = ", ".join(f"{name}={cohort}" for name, cohort in names.items())
        yield (
            "v1_semesters",
            {**semester, "start_at": str(first_day), "end_in": str(last_day)}
            | {"grade_maps": f"{{{grade_maps}}}" if school in (SENIOR, FOUR_YEARS) else None},
        )
        for name, cohort in names.items():
            if school == JUNIOR and year == last_year:
                yield (
                    "structures",
                    {"id": cohort, "type": "grade", "name": name, "status": "normal"}
                    | {"graduates_in_id": cohort - 2000},
                )
            yield from _class(year, first_day, cohort)


def _class(year: int, first_day: date, graduates_in: int) -> Iterator[tuple[str, Row]]:
    """A course class of a cohort in a semester, with its attendance and grades."""
    key = year * 100 + graduates_in - 2000
    named = {"id": key, "semester_id": year, "csin": f"M-{key}", "name": "数学"}
    yield "classes", named
    yield "v1_classes", named
    yield "assessments", {"id": key, "class_id": key, "semester_id": year, "full_score": "100"}
    for student in students(graduates_in):
        yield "class_members", {"class_id": key, "type": "student", "reflection_id": student}
        mark = str(score(student, year))
        yield (
            "grades",
            {"id": year * 100_000 + student, "source_id": key, "source": "class", "owner_id": student}
            | {"semester_id": year, "full_score": "100", "score": mark, "real_score": mark}
            | {"status": "published"},
        )
        for week in WEEKS:
            day = str(first_day + timedelta(days=7 * week - 6))
            yield (
                "attendance_records",
                {"id": (year * 10 + week) * 100_000 + student, "class_id": key, "student_id": student}
                | {"checked_at": day, "created_date": day, "created_time": "08:05", "lesson": 1}
                | {"status": "normal" if is_present(student, year, week) else "absent"},
            )
