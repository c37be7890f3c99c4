"""The pivot of grades: a row per class or cohort, and columns for the marks of a semester's subjects."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from simulator.reports.definitions import Field, Parameter, Query, Report, semester_parameter
from simulator.reports.figures import Figures, hundredths, mean
from simulator.school.assessments import FULL_SCORE
from simulator.school.rows import Values

TOTAL = "学期成绩"
PARTS = ("期中考试", "期末考试", TOTAL)
PASSED = 60  # percent of the full score


class Mark(NamedTuple):
    """A student's points and the full score, in hundredths of a point."""

    student_id: int
    points: int
    full: int


class Column(NamedTuple):
    """A column of the pivot."""

    name: str
    kind: str
    path: Sequence[str]
    measure: Callable[[list[Mark]], str | float | None]


Marks = dict[tuple[int, str], list[Mark]]  # by subject and part


def _parameters(figures: Figures) -> Sequence[Parameter]:
    return (
        semester_parameter(figures, required=True, current=False),
        Parameter("multi-select", "subject", "学科", options=figures.subjects),
    )


def _marks(figures: Figures, semester_id: int) -> Marks:
    marks: Marks = {}
    for scored in figures.scores(semester_id):
        subject, part = scored.course.subject_id, scored.item["name"]
        full = hundredths(scored.item["full_score"])
        if subject in figures.subjects and part in PARTS and scored.points is not None and full:
            marks.setdefault((subject, part), []).append(Mark(scored.student_id, scored.points, full))
    for student_id, grades in figures.grades(semester_id).items():
        for course, points in grades:
            if course.subject_id in figures.subjects:
                marks.setdefault((course.subject_id, TOTAL), []).append(Mark(student_id, points, FULL_SCORE))
    return marks


def _columns(figures: Figures, subject_id: int, part: str) -> list[Column]:
    subject, number = figures.subjects[subject_id], 1 + PARTS.index(part)
    if part == TOTAL:
        return [Column(f"{subject}.{number}", "decimal", (subject, part), _mean)]
    return [
        Column(f"{subject}.{number}.mean", "decimal", (subject, part, "平均分"), _mean),
        Column(f"{subject}.{number}.pass_rate", "float", (subject, part, "及格率"), _pass_rate),
    ]


def _mean(marks: list[Mark]) -> str | None:
    return mean([mark.points for mark in marks])


def _pass_rate(marks: list[Mark]) -> float | None:
    passed = sum(100 * mark.points >= PASSED * mark.full for mark in marks)
    return round(passed / len(marks), 4) if marks else None


def _fields(heads: Sequence[Field], figures: Figures) -> Sequence[Field]:
    """The fields of all semesters. Each semester shows the fields with marks."""
    semesters: dict[tuple[int, str], list[int]] = {}
    for semester, row in figures.semesters.items():
        for key in _marks(figures, row.key):
            semesters.setdefault(key, []).append(semester)
    fields = [*heads, STUDENTS]
    for subject_id, part in sorted(semesters, key=lambda key: (key[0], PARTS.index(key[1]))):
        shown_for = {"semester": semesters[subject_id, part], "subject": [subject_id]}
        for column in _columns(figures, subject_id, part):
            label = column.path[-1]
            fields.append(Field(column.kind, column.name, label, column.path, True, shown_for))
    return fields


def _rows(heads: Sequence[Field], figures: Figures) -> Iterator[Values]:
    """A row for each semester and each group of students with equal `heads`."""
    marks = {semester: _marks(figures, row.key) for semester, row in figures.semesters.items()}
    columns = {key: _columns(figures, *key) for semester_marks in marks.values() for key in semester_marks}
    nothing = dict.fromkeys(column.name for cell_marks in columns.values() for column in cell_marks)
    groups: dict[tuple[str, ...], set[int]] = {}
    for pupil in figures.pupils:
        groups.setdefault(tuple(getattr(pupil, head.name) for head in heads), set()).add(pupil.id)
    for semester, semester_marks in marks.items():
        for group, student_ids in groups.items():
            cells = {
                column.name: column.measure([mark for mark in cell_marks if mark.student_id in student_ids])
                for key, cell_marks in semester_marks.items()
                for column in columns[key]
            }
            named = {head.name: value for head, value in zip(heads, group, strict=True)}
            yield {"semester": semester, **named, "students": len(student_ids), **nothing, **cells}


GRADE = Field("enum", "grade_name", "年级")
CLASS = Field("string", "class_name", "班级")
STUDENTS = Field("int", "students", "人数")
BY_CLASS, BY_COHORT = (GRADE, CLASS), (GRADE,)

GRADE_PIVOT = Report(
    "成绩透视表",
    "成绩透视表",
    _parameters,
    [
        Query("班级成绩", partial(_fields, BY_CLASS), partial(_rows, BY_CLASS)),
        Query("年级成绩", partial(_fields, BY_COHORT), partial(_rows, BY_COHORT)),
    ],
)
